"""`kill -9` at chosen and at random moments: nothing acknowledged is lost, doubled, or comes back."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.errors import StoreClosed, StoreLocked
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.doctor import examine, repair
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope
from tests import in_collections
from tests.columns import saying

CHILD = Path(__file__).with_name("crash_child.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}  # also without an install
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def load_child() -> ModuleType:
    spec = importlib.util.spec_from_file_location("crash_child", CHILD)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


child = load_child()
RANDOM_KILLS = int(os.environ.get("RECALL_KILLS", "5"))  # 200 take a quarter of an hour
Known = dict[tuple[str, str], int]  # (user, id) -> version that was acknowledged


@contextmanager
def in_memory() -> Iterator[Path]:
    """A killed process leaves the page cache as it is, so memory is as good as a disk, and faster."""
    fast = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="recall-test-", dir=fast if os.access(fast, os.W_OK) else None))
    try:
        yield path / "store"
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def directory() -> Iterator[Path]:
    with in_memory() as path:
        yield path


def start(directory: Path, task: str, *point: str, seed: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), str(directory), str(seed), task, *point]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)


def lines_until_death(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    assert process.stdout is not None and process.stdin is not None
    out = process.stdout.read()  # not communicate(): it would lose what was buffered for readline
    process.stdout.close()
    process.stdin.close()
    assert process.wait(timeout=60) == -signal.SIGKILL, f"the child ended by itself: {out[-3000:]}"
    return [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]


def acknowledged(lines: list[dict[str, Any]]) -> tuple[Known, Known, dict[str, Any] | None]:
    """Versions that stand, the last ones of what was forgotten, and the operation that nobody confirmed."""
    stand: Known = {}
    gone: Known = {}
    announced: dict[str, Any] | None = None
    for line in lines:
        if "do" in line:
            announced = line
        elif "done" in line and announced is not None:
            for memory_id in announced["ids"]:
                key = (announced["user"], memory_id)
                if announced["do"] == "put":
                    stand[key] = announced["ids"][memory_id]
                    gone.pop(key, None)
                elif key in stand:
                    gone[key] = stand.pop(key)
            announced = None
    return stand, gone, announced


def settle(store: MemoryStore, stand: Known, gone: Known, pending: dict[str, Any] | None) -> None:
    """An operation that was never confirmed has happened or not, but not by half."""
    if pending is None:
        return
    scope = Scope(user_id=pending["user"])
    happened = set()
    for memory_id in pending["ids"]:
        memory, key = store.get(memory_id, scope=scope), (pending["user"], memory_id)
        if pending["do"] == "forget":
            happened.add(memory is None)
            if memory is None and key in stand:
                gone[key] = stand.pop(key)
        else:
            version = pending["ids"][memory_id]
            new = memory is not None and memory.text == child.text_of(memory_id, version)
            happened.add(new)
            if new:
                stand[key] = version
                gone.pop(key, None)
    assert len(happened) == 1, f"half of a batch is there: {pending}"


def check(store: MemoryStore, stand: Known, gone: Known) -> None:
    """Every way of reading finds exactly what stands."""
    assert store.indexes.lag == {"semantic": 0}
    embedding = store.embedding
    for scope in (child.BIG, child.SMALL):
        mine = {i: v for (user, i), v in stand.items() if user == scope.user_id}
        assert store.count(scope=scope) == len(mine)
        scope_id = store.scope_id(scope)
        if scope_id is None:
            assert not mine
            continue
        view = store.view(scope_id)
        living = [view.ids[row] for row in np.flatnonzero(view.alive)]
        assert sorted(living) == sorted(mine)
        num_of = {view.ids[row]: int(view.nums[row]) for row in np.flatnonzero(view.alive)}
        assert store.indexes.settle(60)
        home = store.indexes.home_of(scope_id)
        held = in_collections.vectors(store, home) if home else {}
        missed = 0
        for memory_id, version in mine.items():
            memory = store.get(memory_id, scope=scope)
            assert memory is not None and memory.text == child.text_of(memory_id, version)
            assert saying(store, scope_id, child.word_of(memory_id, version)) == [num_of[memory_id]]
            vector = embedding.embed_query(f"Priya: {memory.text}")
            row = view.rows_of([num_of[memory_id]])
            similarity = view.similarity(row, vector)
            assert similarity is not None and similarity[0] > 0.99
            if home:
                assert held[num_of[memory_id]] @ vector > 0.99
                nums, cosines = store.indexes.neighbours.nearest(home, vector, 2)
                missed += not (nums[0] == num_of[memory_id] and cosines[0] > 0.99 and cosines[1] < 0.99)
        if home:  # it holds them all, each once; HNSW, which Chroma's one thread made here, finds nearly all
            assert in_collections.nums(store)[home].tolist() == sorted(num_of.values()) == sorted(held)
        assert missed <= len(mine) // 100 + 1
        graph_and_whole_recalls(store, scope, scope_id, mine, num_of)
        for (user, memory_id), version in gone.items():
            if user != scope.user_id:
                continue
            assert store.get(memory_id, scope=scope) is None
            for old in range(1, version + 1):
                assert not saying(store, scope_id, child.word_of(memory_id, old))
        for memory_id, version in mine.items():  # replaced versions do not come back
            for old in range(1, version):
                assert not saying(store, scope_id, child.word_of(memory_id, old))
    assert store.stats()["vectors"] == len(stand)
    large = [scope for scope in (child.BIG, child.SMALL) if store.indexes.home_of(store.scope_id(scope) or 0)]
    if large:
        assert in_collections.count(store) == sum(store.count(scope=scope) for scope in large)


def graph_and_whole_recalls(
    store: MemoryStore, scope: Scope, scope_id: int, mine: dict[str, int], num_of: dict[str, int]
) -> None:
    """The entity that all of them name leads to all of them; and some are looked for as a user would."""
    e, t = schema.entities, schema.mentions
    joined = t.join(e, (e.c.scope_id == t.c.scope_id) & (e.c.ent == t.c.ent))
    query = select(t.c.num).select_from(joined).where(t.c.scope_id == scope_id, e.c.norm == "priya")
    with store.engine.connect() as connection:
        assert sorted(connection.execute(query).scalars()) == sorted(num_of[i] for i in mine)
    with closing(QueryOptimizer(store)) as optimizer:
        for memory_id, version in sorted(mine.items())[:: max(1, len(mine) // 4)]:
            found = optimizer.recall(child.word_of(memory_id, version), scope=scope, k=2, time_budget_ms=60_000)
            assert [hit.memory.id for hit in found.hits].count(memory_id) == 1 and not found.degraded


def reopen(directory: Path, name: str = "child") -> MemoryStore:
    return MemoryStore.open(directory, embedding=child.ChildEmbedding(name), config=child.CONFIG)


def survives(directory: Path, lines: list[dict[str, Any]]) -> None:
    stand, gone, pending = acknowledged(lines)
    found = examine(directory)  # what the process that was killed left is no damage of the record
    wrong = {check.name for check in (*found.of("problem"), *found.of("skipped"))}
    assert wrong <= {"semantic index"}, [c for c in found.checks if c.state != "ok"]
    with reopen(directory) as store:  # also: the lock died with the process
        settle(store, stand, gone, pending)
        check(store, stand, gone)
        store.remember("the store goes on", scope=child.SMALL)
        store.forget(store.remember("and on", scope=child.BIG), scope=child.BIG)
        notices = store.stats()["notices"]
        assert not [n for n in notices if "could not" in n], notices
    with reopen(directory) as store:
        assert store.stats()["notices"] == []
        assert store.count(scope=child.BIG) + store.count(scope=child.SMALL) == len(stand) + 1
    found = examine(directory)
    assert found.clean, [c for c in found.checks if c.state != "ok"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("sql committed", 1),
        ("sql committed", 9),
        ("written", 1),
        ("written", 12),
        ("vectors stored", 6),
        ("chroma applied", 7),
        ("not entered", 11),
        ("entered", 10),
        ("chroma applied", 12),
        ("slice not noted", 1),
        ("slice not noted", 4),
        ("slice noted", 1),
        ("slice noted", 5),
    ],
)
def test_killed_at_a_chosen_moment(directory: Path, point: str, count: int) -> None:
    survives(directory, lines_until_death(start(directory, "write", point, str(count), seed=count)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
def test_killed_at_a_random_moment(directory: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines: list[dict[str, Any]] = []
    process = start(directory, "write", seed=seed)
    assert process.stdout is not None
    for _ in range(rng.randrange(4, 60)):
        lines.append(json.loads(process.stdout.readline()))
    time.sleep(rng.random() * 0.03)
    process.kill()
    lines += lines_until_death(process)
    survives(directory, lines)


@pytest.fixture(scope="module")
def written_once() -> Iterator[tuple[Path, Known, Known]]:
    """A store with a promoted scope, its writer killed: made once, for tests that each take a copy."""
    with in_memory() as made:
        process = start(made, "write", "written", "50", seed=3)
        stand, gone, pending = acknowledged(lines_until_death(process))
        with reopen(made) as store:
            settle(store, stand, gone, pending)
            assert store.indexes.home_of(store.scope_id(child.BIG) or 0)
        yield made, stand, gone


@pytest.fixture
def written(directory: Path, written_once: tuple[Path, Known, Known]) -> tuple[Known, Known]:
    """What stands and what is gone in `directory`, where a copy of that store is."""
    made, stand, gone = written_once
    shutil.copytree(made, directory)
    return dict(stand), dict(gone)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("epoch not switched", 1),
        ("epoch switched", 2),
        ("chroma applied", 1),
        ("re-embedded", 1),
    ],
)
def test_killed_while_rebuilding(directory: Path, written: tuple[Known, Known], point: str, count: int) -> None:
    stand, gone = written
    lines_until_death(start(directory, "reindex", point, str(count)))
    shutil.copytree(directory, directory.with_name("copy"))
    found = repair(directory.with_name("copy"), embedding=child.ChildEmbedding())
    assert found.clean, [c for c in found.checks if c.state != "ok"]
    for path in (directory, directory.with_name("copy")):
        with reopen(path) as store:
            check(store, stand, gone)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("batch forgotten", 1),
        ("batch forgotten", 3),
        ("names not forgotten", 1),
        ("names forgotten", 1),
        ("swept", 1),
        ("epoch not switched", 1),
        ("epoch switched", 2),
        ("database not written", 1),
        ("database written", 1),
    ],
)
def test_killed_while_forgetting_a_user_and_compacting(
    directory: Path, written: tuple[Known, Known], point: str, count: int
) -> None:
    """What is to stay stays whole, what was forgotten does not come back, and asking again forgets the rest."""
    stand, gone = written
    lines_until_death(start(directory, "forget user", point, str(count)))
    mine = {key: version for key, version in stand.items() if key[0] == child.SMALL.user_id}
    ids = {i: v for (user, i), v in stand.items() if user == child.BIG.user_id}
    with reopen(directory) as store:
        left = {memory.id for memory in store.iterate(scope=child.BIG)}
        assert left < ids.keys()
        check(store, {**mine, **{(child.BIG.user_id, i): ids[i] for i in left if i is not None}}, gone)
        assert store.forget(user_id=child.BIG.user_id) == len(left)
        store.compact()
        assert store.forget(user_id=child.BIG.user_id) == 0
        assert not store.compact().rebuilt
        assert [scope for scope, _ in store.scopes()] == [child.SMALL]
        said = [child.word_of(i, v).encode() for i, v in ids.items()]
        assert not [p for p in directory.rglob("*") if p.is_file() and any(word in p.read_bytes() for word in said)]
    assert examine(directory).clean
    with reopen(directory) as store:
        check(store, mine, {})


@pytest.mark.slow
def test_killed_while_changing_the_embedding(directory: Path, written: tuple[Known, Known]) -> None:
    stand, gone = written
    lines_until_death(start(directory, "change embedding", "re-embedded", "1"))
    # Vectors may be of two kinds now. Whichever embedding opens it, they are made anew.
    shutil.copytree(directory, directory.with_name("copy"))
    for path, name in ((directory, "other"), (directory.with_name("copy"), "child")):
        with reopen(path, name) as store:
            check(store, stand, gone)
        with reopen(path, name) as store:
            assert store.stats()["embedding"] == f"{name}:16"
            check(store, stand, gone)


def test_locks_die_with_their_holder(directory: Path) -> None:
    process = start(directory, "hold")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"open": True}
    with reopen(directory) as store:
        with pytest.raises(StoreLocked, match=f"open in process {process.pid}, and"):
            store.compact()
        process.kill()
        lines_until_death(process)
        store.remember("the first write after its death", scope=child.SMALL)
        store.compact()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_forked_child_is_refused_and_leaves_the_store_alone(directory: Path) -> None:
    with reopen(directory) as store:
        store.remember("before the fork", scope=child.SMALL)
        pid = os.fork()
        if not pid:
            signal.alarm(20)  # a child that waits for its parent's threads would wait for ever
            answer = 1
            try:
                store.count(scope=child.SMALL)
            except StoreClosed as e:
                answer = 0 if "after the fork" in str(e) else 2
            store.close()
            store._finalizer()  # what the end of the interpreter would call
            os._exit(answer)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        store.remember("after the fork", scope=child.SMALL)
        with pytest.raises(StoreLocked, match=f"open in process {os.getpid()} "), reopen(directory) as other:
            other.compact()  # the child has not unlocked it
    with reopen(directory) as store:
        assert store.count(scope=child.SMALL) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_forked_child_does_not_remove_a_temporary_store() -> None:
    with MemoryStore.open(embedding=child.ChildEmbedding()) as store:
        pid = os.fork()
        if not pid:
            signal.alarm(20)
            store.close()
            store._finalizer()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert store.path.is_dir()
        store.remember("still here")
    assert not store.path.exists()
