"""The result cache against an optimizer without one: whatever is written and asked in between, the answers are equal.

Scopes, privacy modes, configurations and ways of writing a query take turns, so that an answer given to the wrong one
of them is seen; a query is asked again often enough that most answers are hits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.config import RankingConfig
from recall_integrations.errors import InvalidFilter
from tests.quick import examples
from tests.rows import each_row

NOON = datetime(2026, 6, 17, 12, tzinfo=timezone.utc)
SCOPES = (Scope(), Scope(user_id="u1"), Scope(user_id="u1", namespace="n"))
IDS = ("a", "b", "c", "d")
NAMES = ("Priya", "US", "Will")
TEXTS = (
    "Priya said the deploy of ABC-123 failed",
    "The US team moved to June",
    "Will wrote to priya@example.com about us",
    "foo_bar needs foo bar in May",
    "I prefer tea, not coffee",
    "call +1 415 555 2671 on Friday",
)
QUESTIONS = (
    "What did Priya say?",
    "the US team",
    "ABC-123",
    'who said "foo bar"',
    "foo_bar",
    "what happened yesterday",
    "tea, not coffee",
    "will Will call in May?",
    "tell me something",
)
CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fused": {"ranking": RankingConfig(strategy="weighted")},
    "tokyo": {"timezone": "Asia/Tokyo"},
}
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "spaced": lambda text: f"\t{text.replace(' ', '  ')} ",
    "asked": lambda text: text.rstrip("?") + "?",
    "told": lambda text: text.rstrip("?"),
    "called": lambda text: text + "!!",
    "dashed": lambda text: text.replace(" ", "-"),
    "excluded": lambda text: f"-{text}",
    "quoted": lambda text: f'"{text}"',
    "joined": lambda text: text.replace(" ", "_"),
}
MODES = ("allow", "redact", "block")
FILTERS = (Filters(), Filters(types="fact"), Filters(metadata={"n": 1}), Filters(metadata={"n": True}))

asked = st.fixed_dictionaries(
    {
        "scope": st.sampled_from(SCOPES),
        "k": st.sampled_from([2, 5]),
        "privacy": st.sampled_from(MODES),
        "filters": st.sampled_from(FILTERS),
        "context": st.sampled_from([0, 0, 1]),
        "tokens_max": st.sampled_from([None, None, 12]),
        "window": st.sampled_from([None, None, False]),
        "timezone": st.sampled_from([None, None, "Europe/Berlin"]),
    }
)


def shown(result: RecallResult) -> Sequence[object]:
    """All that a caller sees of an answer, but for times, the cache and the query."""
    return (
        result.hits,
        result.plan,
        result.confidence,
        [(d.stage, d.reason) for d in result.degraded],
        result.rerank,
        result.rewrite,
    )


def assert_computed(found: RecallResult, optimizer: QueryOptimizer, query: str, **options: Any) -> None:
    """Check an answer: it is computed for the query, or for the query with or without a question mark."""
    own = optimizer.recall(query, **options)
    assert found.query == own.query
    bare = query.strip("¿?？!！ ")
    if shown(found) != shown(own):
        others = (bare, bare + "?", query.rstrip("?？!！ "))  # the last one: "?-" asked as "?-?"
        assert bare and shown(found) in [shown(optimizer.recall(text, **options)) for text in others]


class Cached(RuleBasedStateMachine):
    """Two optimizers over one store for each configuration: one keeps answers, the other computes them."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore.open()
        self.cached = {
            name: QueryOptimizer(self.store, config=RecallConfig(mode="cached", **given))
            for name, given in CONFIGS.items()
        }
        self.plain = {name: QueryOptimizer(self.store, config=RecallConfig(**given)) for name, given in CONFIGS.items()}
        self.now = NOON
        self.last: tuple[str, str, dict[str, Any]] | None = None

    def teardown(self) -> None:
        self.store.close()

    @initialize()
    def fill(self) -> None:
        for scope in SCOPES[:2]:
            self.store.remember_many(
                [Memory(t, type="fact", thread="t", metadata={"n": n < 3}) for n, t in enumerate(TEXTS)], scope=scope
            )

    @rule(scope=st.sampled_from(SCOPES), memory_id=st.sampled_from(IDS), text=st.sampled_from(TEXTS))
    def remember(self, scope: Scope, memory_id: str, text: str) -> None:
        self.store.remember(Memory(text, id=memory_id, event_at=NOON, metadata={"n": 1}), scope=scope)

    @rule(scope=st.sampled_from(SCOPES), memory_id=st.sampled_from(IDS))
    def forget(self, scope: Scope, memory_id: str) -> None:
        self.store.forget(memory_id, scope=scope)

    @rule(scope=st.sampled_from(SCOPES), name=st.sampled_from(NAMES))
    def add_entity(self, scope: Scope, name: str) -> None:
        self.store.add_entity(name, scope=scope)

    @rule(seconds=st.sampled_from([1, 20, 40, 43_200]))
    def go_on(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(
        config=st.sampled_from(sorted(CONFIGS)),
        question=st.sampled_from(QUESTIONS),
        way=st.sampled_from(sorted(WAYS)),
        options=asked,
    )
    def ask(self, config: str, question: str, way: str, options: dict[str, Any]) -> None:
        self.last = (config, question, options)
        self._ask(config, WAYS[way](question), options)

    @precondition(lambda self: self.last is not None)
    @rule(way=st.sampled_from(sorted(WAYS)))
    def ask_in_another_way(self, way: str) -> None:
        assert self.last is not None
        config, question, options = self.last
        self._ask(config, WAYS[way](question), options)

    @precondition(lambda self: self.last is not None)
    @rule(name=st.sampled_from(["scope", "privacy", "filters", "k", "context", "tokens_max"]), other=asked)
    def ask_with_another_argument(self, name: str, other: dict[str, Any]) -> None:
        assert self.last is not None
        config, question, options = self.last
        self._ask(config, question, {**options, name: other[name]})

    @precondition(lambda self: self.last is not None)
    @rule()
    def ask_for_everybody(self) -> None:
        """Whatever was asked last, of each scope, in each privacy mode and configuration."""
        assert self.last is not None
        _, question, options = self.last
        for config in CONFIGS:
            for scope, mode in itertools.product(SCOPES, MODES):
                self._ask(config, question, {**options, "scope": scope, "privacy": mode})

    @precondition(lambda self: self.last is not None)
    @rule(
        memory_id=st.sampled_from(IDS),
        text=st.sampled_from(TEXTS),
        kind=st.sampled_from(["remember", "forget", "add_entity"]),
    )
    def ask_before_and_after_a_write(self, memory_id: str, text: str, kind: str) -> None:
        assert self.last is not None
        config, question, options = self.last
        self._ask(config, question, options)
        if kind == "remember":
            self.remember(options["scope"], memory_id, text)
        elif kind == "forget":
            self.forget(options["scope"], memory_id)
        else:
            self.add_entity(options["scope"], text.split(maxsplit=1)[0])
        self._ask(config, question, options)

    def _ask(self, config: str, query: str, options: dict[str, Any]) -> None:
        long: Any = {**options, "time_budget_ms": 60_000}
        if options["privacy"] == "block" and options["filters"].metadata:
            with pytest.raises(InvalidFilter):
                self.cached[config].recall(query, now=self.now, **long)
            return
        found = self.cached[config].recall(query, now=self.now, **long)
        moment = self.now
        if found.cache.hit:  # it answers the moment that it names, which is hardly over
            assert found.query.now is not None
            moment = found.query.now
            assert timedelta(0) <= self.now - moment <= timedelta(seconds=30)
        assert_computed(found, self.plain[config], query, now=moment, **long)


TestCached = Cached.TestCase
TestCached.settings = settings(
    max_examples=examples(20),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)

_OPENED: list[tuple[MemoryStore, QueryOptimizer, QueryOptimizer]] = []


def _pair() -> tuple[MemoryStore, QueryOptimizer, QueryOptimizer]:
    """A store that nothing is written to, and an optimizer with and one without a cache."""
    if not _OPENED:
        store = MemoryStore.open()
        store.remember_many([Memory(text, thread="t") for text in TEXTS])
        for name in NAMES:
            store.add_entity(name)
        _OPENED.append((store, QueryOptimizer(store, config=RecallConfig(mode="cached")), QueryOptimizer(store)))
    return _OPENED[0]


letters = st.sampled_from(
    [*" \t\u00a0?!.,;:-_\"'#@/()", *"aAbBüÜßıİ1", *NAMES, "us", "not ", "May ", "may ", "ABC-123"]
)


@settings(max_examples=examples(200), deadline=None)
@given(text=st.lists(letters, min_size=1, max_size=12).map("".join), way=st.sampled_from(sorted(WAYS)))
@example(text="US", way="lower")
@example(text="tea ?", way="asked")
@example(text="-May ,May ?", way="spaced")
def test_two_ways_of_writing_that_share_an_answer_have_the_same(text: str, way: str) -> None:
    other = WAYS[way](text)
    if not text.strip() or not other.strip():
        return
    _, cached, plain = _pair()
    options: Any = {"now": NOON, "time_budget_ms": 60_000}
    cached.recall(text, **options)
    assert_computed(cached.recall(other, **options), plain, other, **options)


@each_row(("text", "other"), [("üüü.", ".üüü "), ("tea . us", "tea us ."), ("us .tea", "us. tea")])
def test_a_mark_elsewhere_in_the_query_changes_no_answer(text: str, other: str) -> None:
    _, cached, plain = _pair()
    options: Any = {"now": NOON, "time_budget_ms": 60_000}
    cached.recall(text, **options)
    assert_computed(cached.recall(other, **options), plain, other, **options)
