"""An embedding that hangs or cannot be reached: others write, read and close; the store opens; all is right later."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import BreakerConfig
from recall_integrations.errors import EmbeddingMismatch, StoreClosed
from recall_integrations.store import asking
from recall_integrations.testing import HashEmbedding


class Remote:
    """A callable embedding whose calls can be made to hang, or to fail."""

    remote = True

    def __init__(self, fingerprint: str = "remote-model") -> None:
        self.fingerprint = fingerprint
        self.down = False
        self.hangs: Callable[[str], bool] = lambda _text: False
        self.let_go, self.reached = threading.Event(), threading.Event()

    def __call__(self, texts: list[str]) -> object:
        if any(map(self.hangs, texts)):
            self.reached.set()
            self.let_go.wait(60)
        if self.down:
            raise ConnectionError("no route to host")
        return HashEmbedding(16).embed_documents(texts) + 1e-3


CONFIG = RecallConfig(breakers=BreakerConfig(failures_max=100))


@pytest.fixture
def remote() -> Remote:
    return Remote()


def in_thread(act: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    came: list[object] = []

    def run() -> None:
        try:
            came.append(act())
        except Exception as e:
            came.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, came


def test_a_hung_embedding_holds_nobody_else(open_store: Callable[..., MemoryStore], remote: Remote) -> None:
    store = open_store(embedding=remote, config=CONFIG)
    store.remember(Memory("the kestrel flew", id="a"))
    remote.hangs = lambda text: "hang" in text
    writing, came = in_thread(lambda: store.remember(Memory("do hang", id="h"), scope=Scope("one")))
    assert remote.reached.wait(10)
    others = [
        lambda: store.remember(Memory("the kestrel sleeps", id="b"), scope=Scope("two")),
        lambda: store.forget("a"),
        lambda: store.add_entity("Priya", scope=Scope("two")),
        lambda: len(QueryOptimizer(store).recall("kestrel", scope=Scope("two"), time_budget_ms=10_000).hits),
    ]
    for act, expected in zip(others, ["b", True, None, 1], strict=True):
        thread, gave = in_thread(act)
        thread.join(20)
        assert gave and not isinstance(gave[0], Exception), gave
        assert expected is None or gave[0] == expected
    assert writing.is_alive()
    closing, gave = in_thread(store.close)
    closing.join(20)
    assert gave == [None]
    remote.let_go.set()
    writing.join(20)
    assert isinstance(came[0], StoreClosed)  # not acknowledged, and not stored
    again = open_store(embedding=remote, config=CONFIG)
    assert again.count(scope=Scope("one")) == 0 and again.count(scope=Scope("two")) == 1


def test_a_call_that_hangs_too_long_is_left_behind(
    open_store: Callable[..., MemoryStore], remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(embedding=remote, config=CONFIG)
    store.remember(Memory("the kestrel flew", id="a"))
    monkeypatch.setattr(store._parts.asking, "_limit_s", 0.2)
    remote.hangs = lambda _text: True
    assert store.remember(Memory("the kestrel sleeps", id="b")) == "b"
    assert store.stats()["index_lag"]["semantic"] == 1
    assert "did not answer within 0.2 s" in store.stats()["notices"][-1]
    remote.hangs = lambda _text: False
    remote.let_go.set()
    store.remember(Memory("the kestrel eats", id="c"))
    assert store.stats()["index_lag"]["semantic"] == 0


@pytest.mark.parametrize("how", ["down", "hung"])
def test_a_store_opens_while_its_embedding_is_away(
    open_store: Callable[..., MemoryStore], remote: Remote, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(embedding=remote, config=CONFIG) as store:
        store.remember_many([Memory(f"the kestrel flew to place {i}", id=f"m{i}") for i in range(4)])
        wanted = QueryOptimizer(store).recall("kestrel", k=9, time_budget_ms=20_000).hits
    monkeypatch.setattr(asking, "OPEN_S", 0.3)
    monkeypatch.setattr(asking, "HUNG_S", 0.1)
    away = Remote()
    away.down, away.hangs = how == "down", (lambda _text: how == "hung")
    store = open_store(embedding=away, config=CONFIG)
    assert store.stats()["embedding"] == "remote-model:16"
    optimizer = QueryOptimizer(store)
    result = optimizer.recall("kestrel", k=9, time_budget_ms=2_000)
    assert {h.memory.id for h in result.hits} == {f"m{i}" for i in range(4)}
    assert {"embed", "semantic"} <= {d.stage for d in result.degraded}
    assert store.remember(Memory("the kestrel sleeps", id="kept")) == "kept"
    result = optimizer.recall("sleeps", time_budget_ms=2_000)
    assert result.hits[0].memory.id == "kept" and any(d.reason == "index.behind" for d in result.degraded)
    away.down, away.hangs = False, lambda _text: False
    away.let_go.set()
    store.remember(Memory("something else", id="other"))
    assert store.stats()["index_lag"]["semantic"] == 0
    assert store.forget("kept") and store.forget("other")
    result = optimizer.recall("kestrel", k=9, time_budget_ms=20_000)
    assert not result.degraded
    assert [(h.memory.id, h.score) for h in result.hits] == [(h.memory.id, h.score) for h in wanted]


def test_another_embedding_is_refused_although_it_is_away(open_store: Callable[..., MemoryStore]) -> None:
    with open_store(embedding=Remote()) as store:
        store.remember("the kestrel flew")
    other = Remote("another-model")
    other.down = True
    with pytest.raises(EmbeddingMismatch, match="cannot be reached"):
        open_store(embedding=other)
