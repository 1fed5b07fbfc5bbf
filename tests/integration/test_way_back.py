"""A full disk, a directory that may only be read, damaged files, a lost WAL, a clock that jumps: each is a clear error
or a named degradation, never a wrong answer, and `recall doctor --repair` leads back to a clean store."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.errors import RecallError
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.doctor import Findings, examine, repair
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.testing import HashEmbedding
from recall_integrations.types import Memory, Scope
from tests.columns import saying

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
SCOPE = Scope(user_id="u")
CONFIG = RecallConfig(retrieval=RetrievalConfig(exact_max=10))
FIRST = [f"early{i}bird" for i in range(30)]
LATER = [f"late{i}owl" for i in range(30)]
EMBEDDING = HashEmbedding()


def opened(path: Path, now: datetime = NOW) -> MemoryStore:
    return MemoryStore.open(path, embedding=EMBEDDING, config=CONFIG, clock=lambda: now)


def put(store: MemoryStore, names: list[str]) -> None:
    store.remember_many([Memory(f"the {name} hovers", id=name) for name in names], scope=SCOPE)


def mended(path: Path) -> Findings:
    found = repair(path, embedding=EMBEDDING, clock=lambda: NOW)
    assert found.clean, [c for c in found.checks if c.state != "ok"]
    assert examine(path, clock=lambda: NOW).clean
    return found


def holds(path: Path, names: list[str], gone: list[str]) -> None:
    """Exactly these are there, by both indexes and by whole recalls, and nothing had to be repaired at open."""
    with opened(path) as store, closing(QueryOptimizer(store)) as optimizer:
        assert store.stats()["notices"] == []
        scope_id = store.scope_id(SCOPE)
        assert scope_id is not None and store.count(scope=SCOPE) == len(names)
        view, home = store.view(scope_id), store.indexes.home_of(scope_id)
        assert store.indexes.settle(60)
        for name in names:
            assert [view.ids[row] for row in view.rows_of(saying(store, scope_id, name))] == [name]
            nums, cosines = store.indexes.neighbours.nearest(home, EMBEDDING.embed_query(f"the {name} hovers"), 1)
            assert [view.ids[row] for row in view.rows_of(nums)] == [name] and cosines[0] > 0.99
        for name in names[::10]:
            found = optimizer.recall(f"the {name} hovers", scope=SCOPE, now=NOW, k=3, time_budget_ms=60_000)
            assert found.hits[0].memory.id == name and not found.degraded
        for name in gone[::10]:
            found = optimizer.recall(name, scope=SCOPE, now=NOW, k=3, time_budget_ms=60_000)
            assert name not in [hit.memory.id for hit in found.hits]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "store"
    with opened(path) as store:
        put(store, FIRST)
        assert store.indexes.settle(60)
    return path


@pytest.fixture
def path(original: Path, fast_path: Path) -> Path:
    return Path(shutil.copytree(original, fast_path / "copy"))


# -- files -------------------------------------------------------------------------------------------------------------


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in random.Random(3).sample(range(len(content)), max(1, len(content) // 50)):
        content[place] ^= 255
    path.write_bytes(content)


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("damage", [truncated, flipped, Path.unlink])
@pytest.mark.parametrize(
    "pattern, sealed",  # without a seal, vectors that changed show when they are asked (`test_damage`)
    [
        pytest.param("semantic.0/*/data_level0.bin", True, id="vectors-closed"),
        pytest.param("semantic.0/chroma.sqlite3", True, id="database-closed"),
        pytest.param("semantic.0/chroma.sqlite3", False, id="database-killed", marks=pytest.mark.slow),
    ],
)
def test_damaged_index_files(path: Path, pattern: str, damage: Callable[[Path], None], sealed: bool) -> None:
    damage(max(path.glob(pattern), key=lambda p: p.stat().st_size))
    index = pattern.partition(".")[0]
    if not sealed:
        (path / f"{index}.0" / "recall.seal").unlink()
    assert examine(path)[f"{index} index"].state == "problem"
    assert mended(path)[f"{index} index"].state == "mended"
    holds(path, FIRST, LATER)


@contextmanager
def killed_copy(path: Path, to: Path) -> Iterator[Path]:
    """The directory as a process leaves it that is killed after it has put the later ones."""
    with opened(path) as store:
        put(store, LATER)
        assert store.indexes.settle(60)
        shutil.copytree(path / "semantic.0", to / "semantic.0")
        for name in ("recall.db", "recall.db-wal"):
            shutil.copy2(path / name, to / name)
    yield to


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("what", ["deleted", "truncated", "cut in a frame", "flipped", "garbled"])
def test_a_damaged_wal(path: Path, tmp_path: Path, what: str) -> None:
    """SQLite goes back to the last transaction that is whole; what an index knows beyond it is not believed."""
    with killed_copy(path, tmp_path / "killed") as copy:
        wal = copy / "recall.db-wal"
        if what == "deleted":
            wal.unlink()
        elif what == "truncated":
            os.truncate(wal, 0)
        elif what == "cut in a frame":
            os.truncate(wal, wal.stat().st_size // 3 + 7)
        elif what == "flipped":
            flipped(wal)
        else:
            wal.write_bytes(b"\x55" * wal.stat().st_size)
    shutil.copytree(copy, tmp_path / "other")
    before = examine(copy)
    index = before["semantic index"]
    assert index.state == "problem" and "that the database does not have" in index.says
    mended(copy)
    holds(copy, FIRST, LATER)
    with opened(tmp_path / "other") as store:  # and without the doctor
        assert [notice.split()[1] for notice in store.stats()["notices"]] == ["semantic"]
    holds(tmp_path / "other", FIRST, LATER)


def test_a_restored_backup(path: Path, original: Path) -> None:
    with opened(path) as store:
        put(store, LATER)
        assert store.indexes.settle(60)
    shutil.copy2(original / "recall.db", path / "recall.db")
    assert "may be a backup" in examine(path)["semantic index"].says
    found = mended(path)
    assert "knows of 30 changes that the database does not have" in found["semantic index"].says
    holds(path, FIRST, LATER)


# -- the disk ----------------------------------------------------------------------------------------------------------

FULL = """
import json, resource, sys
from tests_of_recall import opened, put, SCOPE, Memory, RecallError
path, limit = sys.argv[1], int(sys.argv[2])
store = opened(path)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for i in range(3000):
    try:
        store.remember(Memory(f"the more{i}crow hovers", id=f"more{i}crow"), scope=SCOPE)
    except RecallError as e:
        print(json.dumps({"error": type(e).__name__, "says": str(e)}), flush=True)
        break
    print(json.dumps({"done": f"more{i}crow"}), flush=True)
    if store.stats()["notices"]:
        print(json.dumps({"notice": store.stats()["notices"][0]}), flush=True)
        break
store.close()
"""


def until_full(path: Path, limit: int) -> tuple[list[str], str]:
    """Memories that were acknowledged before there was no room, and what was said then."""
    code = FULL.replace("tests_of_recall", Path(__file__).stem)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
    command = [sys.executable, "-c", code, str(path), str(limit)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
    said = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert run.returncode == 0, run.stderr[-2000:]
    end = said[-1].get("says") or said[-1].get("notice") or ""
    return [line["done"] for line in said if "done" in line], end


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("room", ["little", "more"])
def test_a_file_may_not_grow(path: Path, room: str) -> None:
    largest = max(p.stat().st_size for p in path.rglob("*") if p.is_file())
    done, end = until_full(path, largest + (1_000 if room == "little" else 200_000))
    assert end, "the store neither failed nor said anything"
    mended(path)
    holds(path, [*FIRST, *done], LATER)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes, where one may be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()
    if (
        not shutil.which("mount")
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no file system may be mounted")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(original: Path, tiny: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(original, tiny / "store"))
    (tiny / "ballast").write_bytes(bytes(400_000))
    done, end = until_full(path, 0)
    assert end, "the disk was not filled"
    assert examine(path)["disk"].state == "problem"
    with opened(path) as store, closing(QueryOptimizer(store)) as optimizer:  # what is there can be read
        result = optimizer.recall(FIRST[3], scope=SCOPE, now=NOW, k=3, time_budget_ms=60_000)
        assert result.hits[0].memory.id == FIRST[3]
    roomy = Path(shutil.copytree(path, tmp_path / "roomy"))
    mended(roomy)
    holds(roomy, [*FIRST, *done], LATER)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_directory_that_may_only_be_read(path: Path) -> None:
    path.chmod(0o500)
    try:
        for found in (examine(path), repair(path)):
            assert found["directory"].state == "problem" and found["memories"].state == "ok"
        with pytest.raises(RecallError, match="permissions|writable"):
            opened(path)
    finally:
        path.chmod(0o700)
    holds(path, FIRST, LATER)


# -- the clock ---------------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_an_hour(path: Path) -> None:
    back = NOW - timedelta(hours=1)
    with opened(path, back) as store:
        put(store, LATER)
        assert store.get(LATER[0], scope=SCOPE).created_at == back  # type: ignore[union-attr]
        store.remember(Memory("the early0bird hovers", id=FIRST[0]), scope=SCOPE)  # replaces one of an hour later
        assert store.get(FIRST[0], scope=SCOPE).created_at == back  # type: ignore[union-attr]
    assert examine(path, clock=lambda: back).clean
    assert examine(path, clock=lambda: back)["clock"].state == "ok"
    holds(path, [*FIRST, *LATER], [])
