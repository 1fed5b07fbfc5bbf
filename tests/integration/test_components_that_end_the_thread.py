"""`CancelledError`, `SystemExit` and `KeyboardInterrupt` of a component: its failure in a thread of ours, and named."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import ERROR, Guard

KINDS = [asyncio.CancelledError, SystemExit, KeyboardInterrupt]


class Raising:
    """An embedding that works until it is told not to."""

    fingerprint, dimensions, remote = "raising:8", 8, False

    def __init__(self) -> None:
        self.error: type[BaseException] | None = None

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        if self.error is not None:
            raise self.error("out of order")
        rows = np.ones((len(texts), 8), dtype=np.float32) + np.asarray([[len(t) % 7] * 8 for t in texts])
        rows[:, 0] += 1
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed_documents([text])[0]


def raising(kind: type[BaseException]) -> Callable[..., str]:
    def call(*_: object, **__: object) -> str:
        raise kind("out of order")

    return call


def in_a_thread(act: Callable[[], object]) -> object:
    """What `act` gives in a thread that is not the main one; `BaseException`s come out."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(act())
        except BaseException as e:
            came.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return came[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_answers_whatever_is_raised(kind: type[BaseException]) -> None:
    for attempts in (1, 2):
        answer = Guard("part", attempts=attempts).call(Deadline.after(10_000), raising(kind))
        assert answer.reason == ERROR and kind.__name__ in answer.detail


def test_the_main_thread_keeps_what_a_signal_may_have_raised() -> None:
    assert not issubclass(KeyboardInterrupt, failures()) and not issubclass(SystemExit, failures())
    assert issubclass(asyncio.CancelledError, failures())
    elsewhere = in_a_thread(failures)
    assert all(issubclass(kind, elsewhere) for kind in KINDS)  # type: ignore[arg-type]
    assert not issubclass(GeneratorExit, elsewhere)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedding(open_store: Callable[..., MemoryStore], kind: type[BaseException]) -> None:
    model = Raising()
    store = open_store(embedding=model)
    store.remember(Memory("the kestrel flew", id="a"))
    model.error = kind
    store.remember(Memory("the kestrel sleeps", id="b"))  # kept; its vector follows
    result = QueryOptimizer(store).recall("kestrel", time_budget_ms=20_000)
    assert {h.memory.id for h in result.hits} == {"a", "b"}
    assert any(d.stage == "embed" and kind.__name__ in d.detail for d in result.degraded)
    assert store.stats()["index_lag"]["semantic"] == 1
    model.error = None
    store.remember(Memory("the kestrel eats", id="c"))
    assert store.stats()["index_lag"]["semantic"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_llm_and_a_reranker(store: MemoryStore, kind: type[BaseException]) -> None:
    store.remember_many([Memory(f"the kestrel flew to place {i}", id=f"m{i}") for i in range(30)])
    plain = QueryOptimizer(store).recall("what about the kestrel", time_budget_ms=20_000)
    config = RecallConfig.model_validate({}) if hasattr(RecallConfig, "model_validate") else RecallConfig()
    optimizer = QueryOptimizer(store, llm=raising(kind), reranker=raising(kind), config=config)
    result = optimizer.recall("what about the kestrel", time_budget_ms=20_000)
    assert [h.memory.id for h in result.hits] == [h.memory.id for h in plain.hits]


@pytest.mark.parametrize("kind", KINDS)
def test_an_extractor(
    open_store: Callable[..., MemoryStore], kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(extractor=raising(kind))
    with caplog.at_level(logging.WARNING):
        assert in_a_thread(lambda: store.remember(Memory("the kestrel flew", id="a"))) == "a"
    assert kind.__name__ in caplog.text
    if kind is asyncio.CancelledError:
        assert store.remember(Memory("the kestrel sleeps", id="b")) == "b"
    else:
        with pytest.raises(kind):  # it may be Ctrl-C: nothing was stored
            store.remember(Memory("the kestrel sleeps", id="b"))
        assert store.count() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer(store: MemoryStore, kind: type[BaseException]) -> None:
    store.remember(Memory("the kestrel flew", id="a"))
    optimizer = QueryOptimizer(store, observers=[raising(kind)])
    result = in_a_thread(lambda: optimizer.recall("kestrel", time_budget_ms=20_000))
    assert [h.memory.id for h in result.hits] == ["a"]  # type: ignore[attr-defined]
    assert any(d.stage == "observer" and kind.__name__ in d.detail for d in result.degraded)  # type: ignore[attr-defined]
    later = asyncio.run(optimizer.arecall("kestrel", time_budget_ms=20_000))
    assert [h.memory.id for h in later.hits] == ["a"]
    if kind is not asyncio.CancelledError:
        with pytest.raises(kind):
            optimizer.recall("kestrel", time_budget_ms=20_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clock(open_store: Callable[..., MemoryStore], store: MemoryStore, kind: type[BaseException]) -> None:
    optimizer = QueryOptimizer(store, clock=raising(kind))  # type: ignore[arg-type]
    found = in_a_thread(lambda: optimizer.recall("kestrel"))
    assert isinstance(found, InvalidArgument) and kind.__name__ in str(found)
