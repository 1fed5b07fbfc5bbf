"""What is there to run nodes with: nothing of it can be started here, so that what it names is there is looked at."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from starlette.testclient import TestClient

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.cli import main
from recall_integrations.config.loading import settings_in
from recall_integrations.indexes.vector_server import MAJOR
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from recall_integrations.serving.start import STOP_S
from recall_integrations.serving.tokens import Tokens
from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
IMAGE = "recall-integrations"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
OBJECTS: dict[str, dict[str, Any]] = {
    one["kind"]: one
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == IMAGE}
PODS = {kind: OBJECTS[kind]["spec"]["template"]["spec"] for kind in ("Deployment",)}
CONTAINERS = {
    f"{kind} {one['name']}": one
    for kind, pod in PODS.items()
    for one in [*pod.get("initContainers", []), *pod["containers"]]
}
NODES = [name for name in OURS if name.startswith("node-")]


def commands() -> Iterator[tuple[str, list[str]]]:
    for name, one in OURS.items():
        yield name, one["command"]
    for name, one in CONTAINERS.items():
        if "args" in one:
            yield name, [re.sub(r"\$\((\w+)\)", lambda m: OBJECTS["ConfigMap"]["data"][m[1]], a) for a in one["args"]]
    for line in re.findall(r"run --rm -T node-1 ([^>)\n]+)", (DEPLOY / "compose.yaml").read_text(encoding="utf-8")):
        yield "the comment", line.replace("'", "").split()


COMMANDS = list(commands())


@each_row(("_name", "words"), COMMANDS)
def test_every_command_is_one_of_ours(_name: str, words: list[str]) -> None:
    command: click.Command = main
    rest = list(words)
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), name := rest.pop(0))
        assert found is not None, name
        command = found
    with command.make_context(command.name or "", rest, resilient_parsing=False) as made:
        assert made.params


@each_row("words", [words for _, words in COMMANDS if words[0] == "serve"])
def test_nodes_listen_for_others_with_tokens(words: list[str]) -> None:
    serve = main.commands["serve"]
    with serve.make_context("serve", list(words[1:])) as made:
        assert (made.params["host"], made.params["port"]) == ("0.0.0.0", 8765)
        assert str(made.params["tokens"]) == "/tokens/tokens.json"
        assert "recall" in str(made.params["store"]) and ":***" not in str(made.params["store"])  # and no password


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, str]]:
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "tokens.json")
    token, _ = tokens.add(scopes=["metrics"], rights=["admin"])
    with MemoryStore.open() as store:
        app = create_app(Served(store=store, optimizer=QueryOptimizer(store), tokens=tokens))
        yield TestClient(app, base_url="http://10.1.2.3:8765"), token


def probed() -> list[str]:
    node = CONTAINERS["Deployment recall"]
    paths = [node[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    check = OURS[NODES[0]]["healthcheck"]["test"][-1]
    compile(check, "healthcheck", "exec")
    return [*paths, *re.findall(r"http://127\.0\.0\.1:8765([\w/]+)", check)]


@pytest.mark.parametrize("path", sorted(set(probed())))
def test_probes_are_answered_without_a_token(asked: tuple[TestClient, str], path: str) -> None:
    client, _ = asked
    assert client.get(path).status_code == 200


def test_prometheus_is_answered_with_the_token_it_has(asked: tuple[TestClient, str]) -> None:
    client, token = asked
    config = yaml.safe_load((DEPLOY / "prometheus" / "nodes.yaml").read_text(encoding="utf-8"))
    (job,) = config["scrape_configs"]
    assert client.get(job["metrics_path"]).status_code == 401
    found = client.get(job["metrics_path"], headers={"authorization": f"Bearer {token}"})
    assert found.status_code in (200, 404)  # 404: the extra `metrics` is not installed here
    assert sorted(job["static_configs"][0]["targets"]) == sorted(f"{node}:8765" for node in NODES)
    assert all((DEPLOY / "prometheus" / name).is_file() for name in config["rule_files"])
    secret = job["authorization"]["credentials_file"].removeprefix("/run/secrets/")
    assert secret in COMPOSE["secrets"] and secret in SERVICES["prometheus"]["secrets"]
    named = SERVICES["prometheus"]["command"][0].removeprefix("--config.file=/etc/prometheus/")
    assert named == "nodes.yaml"


def test_what_is_mounted_is_there() -> None:
    made_by_hand = {one["file"].removeprefix("./") for one in COMPOSE["secrets"].values()}
    assert made_by_hand <= set((DEPLOY / ".gitignore").read_text(encoding="utf-8").split())
    for name, one in SERVICES.items():
        for mounted in one.get("volumes", []):
            source = mounted.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), (name, source)
            else:
                assert source.startswith("/") or source in COMPOSE["volumes"], (name, source)
        for other in one.get("depends_on", []):
            assert other in SERVICES
        if "build" in one:
            assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "recall.yaml").read_text())["providers"]
    host, port = source["url"].removeprefix("http://").split(":")
    assert host in SERVICES and SERVICES[host]["ports"] == [f"127.0.0.1:{port}:{port}"]
    mounted = [volume.split(":")[1] for volume in SERVICES["grafana"]["volumes"]]
    assert any(str(Path(path).parent) == provider["options"]["path"] for path in mounted)


@pytest.mark.parametrize("name", sorted(OURS))
def test_composed_services_may_do_as_little_as_they_need(name: str) -> None:
    one = OURS[name]
    assert one["read_only"] and one["cap_drop"] == ["ALL"] and "/tmp" in one["volumes"]
    given = {"RECALL_VECTORS__ADDRESS", "RECALL_RETRIEVAL__CACHE_MB"}
    # Not in the address, which is in the list of processes.
    assert set(one["environment"]) == {"PGPASSWORD", *(given if name in NODES else ())}
    assert all(port.startswith("127.0.0.1:") for port in one.get("ports", []))


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    given = dict(OBJECTS["ConfigMap"]["data"]) if "envFrom" in container else {}
    for one in container.get("env", []):
        key = one["valueFrom"]["secretKeyRef"]
        assert key["name"] == OBJECTS["Secret"]["metadata"]["name"]
        given[one["name"]] = OBJECTS["Secret"]["stringData"][key["key"]]
    return given


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_containers_may_do_as_little_as_they_need(name: str) -> None:
    one = CONTAINERS[name]
    least = one["securityContext"]
    assert least["readOnlyRootFilesystem"] and not least["allowPrivilegeEscalation"]
    assert least["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} <= one["resources"]["requests"].keys() and "memory" in one["resources"]["limits"]
    assert one["image"] == IMAGE
    assert not settings_in(environment(one))[1]  # a name that begins with RECALL_ and is no setting is refused


def limited() -> Iterator[tuple[str, Mapping[str, str]]]:
    """What may take so much memory and no more: its name and its environment."""
    for name, one in OURS.items():
        if "mem_limit" in one:
            yield name, one["environment"]
    for name, one in CONTAINERS.items():
        if "args" in one and "memory" in one["resources"]["limits"]:  # without, it runs another program
            yield name, environment(one)


LIMITED = dict(limited())


def test_nodes_have_a_limit_of_memory() -> None:
    assert {*NODES, *(name for name in CONTAINERS if name.endswith(" recall"))} <= LIMITED.keys()


@each_row("name", sorted(LIMITED))
def test_what_has_a_limit_of_memory_keeps_little_of_scopes(name: str) -> None:
    settings = settings_in(LIMITED[name])[0]
    assert settings["retrieval.cache_mb"] == 128  # the default is half of a node's limit: it would be killed


@each_row("name", sorted(SERVICES))
def test_services_come_back(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_settings_of_the_cluster_are_settings() -> None:
    settings = environment(CONTAINERS["Deployment recall"])
    assert settings_in(settings)[0] == {"retrieval.cache_mb": 128}
    assert settings["PGPASSWORD"] and "PGPASSWORD" not in settings["STORE"]


@pytest.mark.parametrize("kind", sorted(PODS))
def test_pods(kind: str) -> None:
    pod, docker = PODS[kind], (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert pod["securityContext"]["runAsNonRoot"]
    assert f"USER {pod['securityContext']['runAsUser']}\n" in docker
    assert pod["automountServiceAccountToken"] is False
    # The Service is called `recall`: its links would be names in the environment that begin with RECALL_.
    assert pod["enableServiceLinks"] is False
    volumes = {one["name"] for one in pod["volumes"]}
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        assert {one["name"] for one in container["volumeMounts"]} <= volumes


def test_nodes_are_found_and_stay() -> None:
    deployment = OBJECTS["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert OBJECTS["Service"]["spec"]["selector"] == labels
    assert OBJECTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert 0 < OBJECTS["PodDisruptionBudget"]["spec"]["minAvailable"] < deployment["replicas"]
    ports = {one["name"]: one["containerPort"] for one in CONTAINERS["Deployment recall"]["ports"]}
    assert ports == {"http": 8765} and OBJECTS["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    assert deployment["template"]["spec"]["terminationGracePeriodSeconds"] > STOP_S + 5
    assert int(SERVICES[NODES[0]]["stop_grace_period"].removesuffix("s")) > STOP_S


def test_everything_of_the_cluster_is_applied_but_the_secret() -> None:
    listed = set(OBJECTS["Kustomization"]["resources"])
    there = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert there - listed == {"kustomization.yaml", "secret.yaml"}
    assert OBJECTS["Namespace"]["metadata"]["name"] == OBJECTS["Kustomization"]["namespace"]
    assert OBJECTS["Secret"]["metadata"]["namespace"] == OBJECTS["Kustomization"]["namespace"]


def test_the_image_is_made_of_what_is_there() -> None:
    docker = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    tomllib: Any = importlib.import_module("tomllib")  # mypy reads the tests as 3.10, which has it not
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kept = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {word for line in re.findall(r"^COPY (?!--from)(.+)$", docker, re.MULTILINE) for word in line.split()[:-1]}
    assert copied == kept and all((ROOT / one).exists() for one in copied)
    assert {project["readme"], *project["license-files"]} <= copied
    (extras,) = re.findall(r'"\.\[([\w,]+)\]"', docker)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    (entry,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', docker, re.MULTILINE)
    assert entry in project["scripts"]


# -- a Chroma server ---------------------------------------------------------------------------------------------------

CHROMA = DEPLOY / "kubernetes-chroma"


def test_nodes_ask_the_chroma_server_that_is_composed() -> None:
    settings, unknown = settings_in(OURS[NODES[0]]["environment"])[:2]
    assert set(settings) == {"vectors.address", "retrieval.cache_mb"} and not unknown
    host, _, port = settings["vectors.address"].removeprefix("http://").partition(":")
    assert port == "8000" and not SERVICES[host].get("ports"), "it has no users: nobody else reaches it"
    assert SERVICES[host]["image"].partition(":")[2].partition(".")[0] == MAJOR


def test_a_chroma_server_of_the_cluster() -> None:
    whole = yaml.safe_load((CHROMA / "kustomization.yaml").read_text(encoding="utf-8"))
    assert all((CHROMA / name).exists() for name in whole["resources"])
    (added,) = yaml.safe_load(whole["patches"][0]["patch"])
    name = added["path"].rpartition("/")[2]
    assert settings_in({name: added["value"]})[0] == {"vectors.address": "http://chroma:8000"}
    made = {one["kind"]: one for one in yaml.safe_load_all((CHROMA / "chroma.yaml").read_text(encoding="utf-8"))}
    pod = made["StatefulSet"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["image"] == SERVICES["chroma"]["image"]
    assert pod["spec"]["enableServiceLinks"] is False and pod["spec"]["securityContext"]["runAsNonRoot"]
    assert made["Service"]["metadata"]["name"] == "chroma" and made["Service"]["spec"]["ports"][0]["port"] == 8000
    assert made["Service"]["spec"]["selector"] == pod["metadata"]["labels"]
    (allowed,) = made["NetworkPolicy"]["spec"]["ingress"]
    assert allowed["from"][0]["podSelector"]["matchLabels"] == OBJECTS["Deployment"]["spec"]["selector"]["matchLabels"]
    volumes = {one["name"] for one in pod["spec"]["volumes"]} | {"data"}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
