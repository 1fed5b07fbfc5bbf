"""A node as deploy/compose.yaml starts it, but for where it listens and where the database is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from recall_integrations.serving.tokens import Tokens

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "PGPASSWORD": "not asked for", "ANONYMIZED_TELEMETRY": "False",
    "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


def command(service: str, address: str, tokens: Path) -> list[str]:
    instead = {"--host=0.0.0.0": "--host=127.0.0.1", "--port=8765": "--port=0", "--tokens=/tokens/tokens.json":
               f"--tokens={tokens}"}  # fmt: skip
    words = [instead.get(word, word) for word in COMPOSE["services"][service]["command"]]
    return [sys.executable, "-m", "recall_integrations.cli", *(address if "://" in word else word for word in words)]


@pytest.fixture
def node(postgres_url: str, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str], Tokens]]:
    address = postgres_url.replace("+psycopg", "")
    tokens = Tokens(tmp_path / "tokens.json")
    tokens.add(scopes=["nobody"])
    environment = {**ENVIRONMENT, "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    started = subprocess.Popen(
        command("node-1", address, tokens.path), env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    said = []
    try:
        for line in started.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+$", line.strip()):
                break
        else:
            pytest.fail("".join(said))
        yield found[0], started, tokens
    finally:
        started.kill()
        started.communicate()


def test_a_node_answers_and_goes(node: tuple[str, subprocess.Popen[str], Tokens], tmp_path: Path) -> None:
    address, process, tokens = node
    token, _ = tokens.add(scopes=["u1/*"])
    watching, _ = tokens.add(scopes=["metrics"], rights=["admin"])
    with httpx.Client(base_url=address, timeout=20) as client:
        for path in ("/health/live", "/health/retrieval"):
            assert client.get(path).status_code == 200
        own = {"authorization": f"Bearer {token}"}
        memory = {"memory": "Priya moved the deploy to the evening", "scope": "u1"}
        assert client.post("/remember", json=memory).status_code == 401
        assert client.post("/remember", json=memory, headers=own).status_code == 200
        found = client.post("/recall", json={"query": "when is the deploy?", "scope": "u1"}, headers=own).json()
        assert [hit["memory"]["text"] for hit in found["hits"]] == [memory["memory"]]
        metrics = client.get("/metrics", headers={"authorization": f"Bearer {watching}"})
        assert metrics.status_code == 200 and "recall_recalls_total" in metrics.text
    process.send_signal(signal.SIGTERM)
    assert process.wait(int(COMPOSE["services"]["node-1"]["stop_grace_period"].removesuffix("s"))) == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"tokens.json", "tokens.json.lock"}  # it cleans up
