"""Closing a temporary store while it is used: answers or `StoreClosed`, and nothing stays on the disk."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import RetrievalConfig
from recall_integrations.errors import StoreClosed


def ask(optimizer: QueryOptimizer, began: threading.Barrier, gave: list[int], errors: list[Exception]) -> None:
    began.wait(20)
    try:
        for _ in range(500):
            gave.append(len(optimizer.recall("where did the kestrel fly", context=1).hits))
    except Exception as e:
        errors.append(e)


@pytest.mark.parametrize("exact_max", [20_000, 0])
def test_closing_during_recalls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_max: int) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=exact_max))
    for _ in range(4):
        store = MemoryStore.open(config=config)
        store.remember_many([Memory(f"the kestrel flew to place {i}", id=f"m{i}") for i in range(50)])
        optimizer = QueryOptimizer(store)
        began = threading.Barrier(5)
        gave: list[int] = []
        errors: list[Exception] = []

        threads = [threading.Thread(target=ask, args=(optimizer, began, gave, errors)) for _ in range(4)]
        for thread in threads:
            thread.start()
        began.wait(20)
        while not gave:
            threads[0].join(0.005)
        store.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert {type(e) for e in errors} == {StoreClosed}, errors
        assert len(errors) == 4
        assert list(tmp_path.iterdir()) == []
        optimizer.close()


def test_closing_in_a_recall_does_not_wait_for_it(tmp_path: Path) -> None:
    store = MemoryStore.open(tmp_path / "s")
    store.remember("the kestrel flew")
    optimizer = QueryOptimizer(store, observers=[lambda event: store.close() if event.stage == "parse" else None])
    with pytest.raises(StoreClosed):
        optimizer.recall("kestrel", time_budget_ms=20_000)
    with MemoryStore.open(tmp_path / "s") as again:  # the lock was let go
        assert again.count() == 1


def test_async_recalls_end_as_well() -> None:
    async def run() -> list[object]:
        store = MemoryStore.open()
        store.remember("the kestrel flew")
        optimizer = QueryOptimizer(store)
        tasks = [asyncio.create_task(optimizer.arecall("kestrel")) for _ in range(40)]
        await asyncio.sleep(0.01)
        await asyncio.to_thread(store.close)
        assert not store.path.exists()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for came in asyncio.run(run()):
        assert isinstance(came, StoreClosed) or came.hits, came


def test_a_store_that_is_closed_takes_no_connection_from_another(tmp_path: Path) -> None:
    # In a process of its own: the first store of a process shares what is compiled with the others.
    code = """
from recall_integrations import MemoryStore
with MemoryStore.open() as first:
    kept = first.remember("The deploy failed")
    with MemoryStore.open() as second:
        second.remember("Tea is ready")
    engine = first.engine
    with engine.connect(), engine.connect(), engine.connect():  # more than were made by now
        pass
    assert first.get(kept).text == "The deploy failed"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
