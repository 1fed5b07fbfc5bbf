"""What `kubectl apply -k` would send to a cluster, as kubectl itself puts it together."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from recall_integrations.config.loading import settings_in
from tests.needs import required

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
NODES = {
    ("Namespace", "recall"),
    ("ConfigMap", "recall"),
    ("Deployment", "recall"),
    ("Service", "recall"),
    ("PodDisruptionBudget", "recall"),
}
CHROMA = {("StatefulSet", "chroma"), ("Service", "chroma"), ("NetworkPolicy", "chroma")}
EXPECTED = {"kubernetes": NODES, "kubernetes-chroma": NODES | CHROMA}
Objects = dict[tuple[str, str], dict[str, Any]]


@cache
def rendered(folder: str) -> Objects:
    """What a folder comes to, by kind and name."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        # `.ci/run` does not install it.
        required("needs kubectl, which renders what it applies: https://kubernetes.io/docs/tasks/tools", of_ci=False)
    command = [kubectl, "kustomize", str(DEPLOY / folder)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    made = list(yaml.safe_load_all(done.stdout))
    objects = {(one["kind"], one["metadata"]["name"]): one for one in made}
    assert len(objects) == len(made), "two of the same kind and name"
    return objects


@pytest.mark.parametrize("folder", sorted(EXPECTED))
def test_it_is_what_it_should_be(folder: str) -> None:
    assert rendered(folder).keys() == EXPECTED[folder]


@pytest.mark.parametrize("folder", sorted(EXPECTED))
def test_all_of_it_is_in_one_namespace(folder: str) -> None:
    outside = {kind for (kind, _), one in rendered(folder).items() if one["metadata"].get("namespace") != "recall"}
    assert outside == {"Namespace"}


@pytest.mark.parametrize("folder", sorted(EXPECTED))
def test_containers_have_what_the_files_say_once(folder: str) -> None:
    node = rendered(folder)["Deployment", "recall"]["spec"]["template"]["spec"]
    containers = [*node["initContainers"], *node["containers"]]
    assert {one["image"] for one in containers} == {"recall-integrations:latest"}
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers)  # said once, by an anchor


@pytest.mark.parametrize(("folder", "vectors"), [("kubernetes", None), ("kubernetes-chroma", "http://chroma:8000")])
def test_nodes_know_the_chroma_server_that_is_there(folder: str, vectors: str | None) -> None:
    settings = settings_in(rendered(folder)["ConfigMap", "recall"]["data"])[0]
    assert settings.get("vectors.address") == vectors
    assert settings["retrieval.cache_mb"] == 128
