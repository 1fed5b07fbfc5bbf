"""The command as a process of its own: what it imports, the demonstration, an interrupt in the middle of an import."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.cli import main

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "chromadb", "langchain_core", "llama_index", "torch", "numpy", "sqlalchemy", "rich", "dateparser",
    "model2vec", "sentence_transformers", "recall_integrations.types", "recall_integrations.config",
)  # fmt: skip


def environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {
        k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "RECALL_DEBUG", "RECALL_EMBEDDING")
    }
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def recall(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "recall_integrations.cli", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, encoding="utf-8", check=False, timeout=120
    )


def here(*arguments: object) -> Result:
    """The command in this process: where what is looked at is its answer."""
    return CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["explain", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from recall_integrations.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        f"print('LOADED', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_the_demonstration_needs_no_checkout_and_leaves_nothing(tmp_path: Path) -> None:
    done = recall("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout and max(map(len, done.stdout.splitlines())) <= 80
    for first in ("Sarah reports to Diego", "My badge number is", "In general I prefer", "Mei is working"):
        assert first in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_store(tmp_path: Path) -> Path:
    rows = [
        {"text": "Priya: the deployment of Kestrel is done", "id": "a", "event_at": "2026-03-03T09:00:00Z"},
        {"text": "the deployment of Inbox3 waits", "id": "b", "entities": ["Inbox3"]},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = here("import", path, "--format", "jsonl", tmp_path / "s", "--scope", "ann")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "s"


def test_explain_is_plain_text_in_a_pipe(tmp_path: Path, small_store: Path) -> None:
    question = "what of the deplyment of Inbox3 yesterday, not Kestrel?"
    options = ("--scope", "ann", "--now", "2026-03-04T10:00:00Z")
    done = recall("explain", small_store, question, *options, "--k", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout and max(map(len, done.stdout.splitlines())) <= 80
    for words in (
        f"  {question}\n", "deplyment → deployment", "pass: chosen", "from 2026-03-03 to before 2026-03-04", "Inbox3 ←",
    ):  # fmt: skip
        assert words in done.stdout
    assert re.findall(r"\n *(\d) +0\.\d\d ", done.stdout) == ["1"]
    assert ", learned)" not in done.stdout  # it was new, though the question is asked twice
    planned = here("explain", small_store, question, *options, "--no-search")
    assert planned.exit_code == 0 and "nothing was searched" in planned.stdout


def test_explain_as_json_reads_dates_in_the_zone_that_is_given(small_store: Path) -> None:
    options = ("--scope", "ann", "--now", "2026-03-04T23:30:00Z", "--timezone", "Europe/Berlin", "--json")
    done = here("explain", small_store, "Inbox3 yesterday", *options)
    data = json.loads(done.stdout)
    assert data["parsed"]["window"]["start"] == "2026-03-04T00:00:00+01:00" and data["now"].endswith("+01:00")
    assert data["searched"] is True and data["k"] == 3 and len(data["hits"]) == 2
    assert [t["text"] for t in data["tokens"]] == ["Inbox3", "yesterday"]
    done = here("explain", small_store, "x", "--scope", "ann", "--timezone", "Nowhere")
    assert done.exit_code == 1 and "time zone 'Nowhere'" in done.stderr


@pytest.mark.slow
def test_an_interrupted_import_leaves_a_sound_store_and_continues(tmp_path: Path) -> None:
    count = 15_000
    rows, store = tmp_path / "rows.jsonl", tmp_path / "store"
    rows.write_text("".join(json.dumps({"text": f"memory number {i}", "id": f"m{i}"}) + "\n" for i in range(count)))
    command = [sys.executable, "-m", "recall_integrations.cli", "import", str(rows), "--format", "jsonl", str(store)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (store / "recall.db-wal").exists() or (store / "recall.db-wal").stat().st_size < 2_000_000:
        assert process.poll() is None and time.monotonic() < deadline, "the import ended before it could be interrupted"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Run the command again to continue" in err and "Interrupted" in err and "Traceback" not in err
    with MemoryStore.open(store) as opened:
        stored = opened.count()
        assert 0 < stored < count
        assert opened.stats()["index_lag"] == {"semantic": 0}
    done = recall("import", rows, "--format", "jsonl", store, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Memories: {count - stored:,} new, 0 replaced, {stored:,} unchanged in -/-/-.\n"
    with MemoryStore.open(store) as opened:
        assert opened.count() == count
        # A first search on a busy machine may not get through in the default time.
        (hit,) = QueryOptimizer(opened).recall(f"memory number {count - 1}", k=1, time_budget_ms=60_000).hits
    assert hit.memory.id == f"m{count - 1}"
