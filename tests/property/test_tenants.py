"""Nothing that a recall of one scope returns depends on another scope: not a score, not a count, not an order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.config import STRATEGIES, RetrievalConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from tests.quick import examples, only

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
MINE, THEIRS = Scope(user_id="mine"), Scope(user_id="theirs")
WORDS = (
    "kestrel launch deploy monday budget tomatoes garden invoice train lisbon coffee review owl piano doctor rent "
    "marathon recipe taxes ticket flight painting Priya Sam Lindqvist where what yesterday not prefer moved likes "
    "Fußballstadion müde gestern wir waren café señora naïve 東京 картошка"
).split()
ACTORS = ["Priya", "Sam", "user", "assistant", "Lucía", None]
QUERIES = (
    "when did Priya launch the kestrel",
    "what does Sam like about the garden budget, not the taxes?",
    "kestrle lunch",
    "coffee train lisbon yesterday",
    "wo waren wir gestern im Fußballstadion",
    "what did the assistant say about the marathon ticket and the flight to lisbon and the doctor and rent and piano",
)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
memories = st.builds(
    lambda text, actor, thread, day: Memory(
        text, actor=actor, thread=thread, event_at=None if day is None else NOW - timedelta(days=day)
    ),
    texts,
    st.sampled_from(ACTORS),
    st.sampled_from(["t1", "t2", None]),
    st.sampled_from([None, 0, 1, 9, 40]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(memories, min_size=1, max_size=8)),
        st.tuples(st.just("forget"), st.integers(0, 30)),
        st.tuples(st.just("drop"), st.none()),  # as if the neighbour needed the memory
        st.tuples(st.just("stuck"), st.lists(memories, min_size=1, max_size=3)),
    ),
    max_size=6,
)


class Failing:
    """The bundled embedding, which fails when told to."""

    def __init__(self) -> None:
        self.broken = False
        self.dimensions, self.fingerprint, self.remote = bundled().dimensions, bundled().fingerprint, False

    def embed_documents(self, texts: list[str]) -> Any:
        if self.broken:
            raise EmbeddingError("down")
        return bundled().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        return bundled().embed_query(text)


def whole(result: RecallResult) -> dict[str, Any]:
    """All that a recall says, but how long it took."""
    said = dataclasses.asdict(result)
    said.pop("timings_ms")
    return said


class Home:
    """A store, with or without a neighbour, and what is done to it."""

    def __init__(self, config: RecallConfig, neighbour: bool) -> None:
        self.embedding = Failing()
        self.store = MemoryStore.open(embedding=self.embedding, config=config, clock=lambda: NOW)
        self.store._parts.catalog.key = self.store.entity_key = (
            b"of both"  # entity ids differ from store to store: no scope is the reason
        )
        self.optimizer = QueryOptimizer(self.store, config=config)
        self.neighbour = neighbour
        self.theirs: list[str] = []
        self.mine: list[str] = []

    def mine_put(self, given: list[Memory]) -> None:
        self.embedding.broken = False
        named = [dataclasses.replace(m, id=f"m{len(self.mine) + i}") for i, m in enumerate(given)]
        self.mine += self.store.remember_many(named, scope=MINE)

    def mine_forget(self, at: int) -> None:
        self.embedding.broken = False
        if self.mine:
            self.store.forget(self.mine.pop(at % len(self.mine)), scope=MINE)

    def theirs_do(self, step: tuple[str, Any]) -> None:
        what, given = step
        if not self.neighbour:
            return
        if what in ("put", "stuck"):
            self.embedding.broken = what == "stuck"
            self.theirs += self.store.remember_many(given, scope=THEIRS)
        elif what == "forget" and self.theirs:
            self.store.forget(self.theirs.pop(given % len(self.theirs)), scope=THEIRS)
        elif what == "drop":
            self.store._views.drop()

    def recalled(self) -> list[dict[str, Any]]:
        return [
            whole(self.optimizer.recall(query, k=8, scope=MINE, now=NOW, time_budget_ms=60_000)) for query in QUERIES
        ]

    def close(self) -> None:
        self.optimizer.close()
        self.store.close()


def differing(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two results differ, but for the id that each answer has of its own."""
    if where == ".id":
        return []
    if isinstance(one, dict):
        keys = [f"{where}.{key}" for key in one.keys() ^ other.keys()]
        return keys + [p for k in one.keys() & other.keys() for p in differing(one[k], other[k], f"{where}.{k}")]
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{where}: {len(one)} and {len(other)}"]
        return [p for i, (a, b) in enumerate(zip(one, other, strict=True)) for p in differing(a, b, f"{where}[{i}]")]
    if isinstance(one, np.ndarray):
        return [] if np.array_equal(one, other) else [where]
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]


def check(config: RecallConfig, mine: list[Memory], more: list[Memory], theirs: list[Any], forgotten: int) -> None:
    homes = [Home(config, neighbour=False), Home(config, neighbour=True)]
    try:
        seen = []
        for home in homes:
            half = len(theirs) // 2
            for step in theirs[:half]:
                home.theirs_do(step)
            home.mine_put(mine)
            first = home.recalled()
            home.mine_forget(forgotten)
            home.mine_put(more)
            for step in theirs[half:]:
                home.theirs_do(step)
            seen.append((first, home.recalled()))
        for alone, beside in zip(*seen, strict=True):
            for one, other in zip(alone, beside, strict=True):
                assert one["hits"], "a test without hits shows nothing"
                assert not differing(one, other)
    finally:
        for home in homes:
            home.close()


def of_strategy(name: str) -> RecallConfig:
    return RecallConfig().with_settings([("ranking.strategy", name)])


CONFIGS: dict[str, Callable[[], RecallConfig]] = {
    **{name: partial(of_strategy, name) for name in STRATEGIES},
    "nothing fits into memory": lambda: RecallConfig(retrieval=RetrievalConfig(cache_mb=0)),
}


@pytest.mark.parametrize("name", only(CONFIGS, "fixed_weights", "nothing fits into memory"))
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    mine=st.lists(memories, min_size=12, max_size=30),
    more=st.lists(memories, min_size=1, max_size=5),
    theirs=steps,
    forgotten=st.integers(0, 30),
)
def test_a_neighbour_changes_nothing(
    name: str, mine: list[Memory], more: list[Memory], theirs: list[Any], forgotten: int
) -> None:
    check(CONFIGS[name](), mine, more, theirs, forgotten)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_neighbour_of_long_texts_changes_nothing(name: str) -> None:
    """The case that was seen: an average length over all scopes turned most orders."""
    mine = [Memory(" ".join(WORDS[(i * j) % len(WORDS)] for j in range(1, 3 + i % 40)), actor="Sam") for i in range(60)]
    long = [Memory(" ".join(WORDS[(i + j) % len(WORDS)] for j in range(300))) for i in range(80)]
    check(CONFIGS[name](), mine, mine[:3], [("put", long), ("stuck", long[:2])], 4)
