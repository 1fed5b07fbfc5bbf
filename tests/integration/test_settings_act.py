"""Every number that can be set does something: turned, it changes an answer, a plan, or how often a model is asked."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation
from recall_integrations.errors import RecallError
from recall_integrations.resilience.breaker import BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE
from recall_integrations.types.numbers import is_number

NOW = datetime(2026, 6, 17, 12, tzinfo=timezone.utc)  # a Wednesday
PEOPLE = ("Priya", "Sam", "Henrietta", "Tomas", "Ines")
SAID = (
    "The Kestrel launch moved to June",
    "The Kestrel launch moved to June!",
    "Kestrel needs a new budget",
    "The budget for the garden was cut by half",
    "I prefer tea to coffee in the garden",
    "The deployment of ABC-123 failed",
    "Please water the garden on Fridays",
    "The rollout of the frontend took all night",
)
TYPES = ("fact", "preference", "event", "observation")
QUESTIONS = (
    "What about Kestrel?",
    "What did Priya say about the budget, not the launch?",
    "What happened last week?",
    "Tell me something",
    "my preferences for the garden",
    "What is new with the deplyment?",
    "ABC-123",
    "Who manages Sam, and the deployment of the frontend?",
    "how are you",
    "What did Bartholomew tell Zebulon Quark?",
    "What did Ines say about ABC-123 on June 15 regarding the frontend deployment event?",
)


class Model:
    """Counts how often it is asked; as a reranker it likes short texts, as a language model it says
    the long words of the query, one by one."""

    def __init__(self, *, slow: float = 0.0, fails: bool = False) -> None:
        self.slow, self.fails, self.calls, self.pairs = slow, fails, 0, 0

    def rerank(self, _query: str, texts: list[str]) -> list[float]:
        self.ask("")
        self.pairs += len(texts)
        return [1.0 / len(text) for text in texts]

    def ask(self, prompt: str) -> str:
        self.calls += 1
        time.sleep(self.slow)
        if self.fails:
            raise RuntimeError("no answer")
        asked = next((line for line in prompt.splitlines() if line.startswith("Request:")), "")
        words = sorted(re.findall(r"[a-z]{6,}", asked), key=lambda word: (-len(word), word))
        return "\n".join(words)


@dataclass(frozen=True)
class Turn:
    """Another value of a setting, and what must be set besides for it to matter.

    Args:
        value: what it is turned to.
        base: other settings, on both sides.
        model: arguments of the model; `None` = there is none.
        as_llm: whether the model rewrites; else it reranks.
        own_store: whether the store is opened with the settings.
    """

    value: Any
    base: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    as_llm: bool = False
    own_store: bool = False


EXPLORATORY = {"planner.exploratory_threshold": 1.0, "planner.precise_threshold": 1.0}
RERANKED: dict[str, Any] = {"base": {**EXPLORATORY, "rerank.regret_max": 0.0}, "model": {}}
REWRITTEN = {"rewriting.mode": "full"}
FAILING: dict[str, Any] = {**RERANKED, "model": {"fails": True}}
TURNED: dict[str, Turn] = {
    "week_start": Turn(6),
    "query.spelling_threshold": Turn(1.0, own_store=True),
    "planner.precise_threshold": Turn(0.41),
    "planner.exploratory_threshold": Turn(0.0),
    "planner.entity_confidence_min": Turn(1.0),
    "planner.entity_weight": Turn(5.0),
    "planner.arm_limit": Turn(2),
    "planner.lexical_limit": Turn(1),
    "ranking.recency_half_life_days": Turn(1.0),
    "retrieval.cache_mb": Turn(0, own_store=True),
    "retrieval.graph_hops": Turn(1),
    "retrieval.graph_hop_factor": Turn(0.0),
    "ranking.negation_threshold": Turn(1.0),
    "rerank.top_n": Turn(2, **RERANKED),
    "rerank.regret_max": Turn(100.0, **RERANKED),
    "rerank.threshold": Turn(0.03, **RERANKED),
    "ranking.diversity_lambda": Turn(0.1, EXPLORATORY),
    "ranking.duplicate_similarity": Turn(2.0),
    "ranking.abstain_below": Turn(1.0),
    "ranking.score_min": Turn(1.0),
    "breakers.failures_max": Turn(1, **FAILING),
    "breakers.open_s": Turn(0.0, **FAILING),
    "limits.time_budget_ms": Turn(0.1),
    "rewriting.timeout_ms": Turn(1.0, REWRITTEN, model={"slow": 0.1}, as_llm=True),
    "limits.rerank_budget_ms": Turn(1.0, RERANKED["base"], model={"slow": 0.1}),
    "cache.ttl_seconds": Turn(0.001, {"mode": "cached"}),
    "cache.max_entries": Turn(1, {"mode": "cached"}),
}
# What a test this small cannot see.
UNSEEN = {
    "retrieval.exact_max": "where vectors are kept; exact and approximate search agree on so few",
    "facts.llm_calls_per_hour": "how a model is asked; here is none (tests/unit/store/test_fact_reading.py)",
    "rewriting.cache_s": "what is kept for minutes; each question is asked once",
    **{
        f"learned.{name}": "what becomes of feedback; here is none (tests/unit/learning, tests/unit/judging)"
        for name in (
            "keep_days",
            "min_queries_per_signature",
            "traffic_fraction_for_new_weights",
        )
    },
    "postgres.pool_size": "how many connections there are (tests/integration/test_postgres_connections.py)",
    "vectors.timeout_ms": "how long a server is waited for; here is none (tests/unit/indexes/test_vector_server.py)",
    "limits.load_wait_ms": "how long a cold scope is waited for (tests/unit/recall/test_looked_at.py)",
}


def settings() -> dict[str, object]:
    """Every setting that is a number, by its dotted name, with its default."""
    found: dict[str, object] = {}
    default = RecallConfig()
    for part in dataclasses.fields(default):
        section = getattr(default, part.name)
        if not dataclasses.is_dataclass(section):
            found.update({part.name: section} if is_number(section) else {})
            continue
        numbers = (
            own.name
            for own in dataclasses.fields(section)
            if is_number(getattr(section, own.name)) or own.default is None
        )
        found.update((f"{part.name}.{name}", getattr(section, name)) for name in numbers)
    return found


def config_of(changes: Mapping[str, Any]) -> RecallConfig:
    config = RecallConfig()
    sections: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        section, _, own = name.rpartition(".")
        sections.setdefault(section, {})[own] = value
    own = sections.pop("", {})
    return replace(config, **own, **{name: replace(getattr(config, name), **v) for name, v in sections.items()})


def filled(config: RecallConfig) -> MemoryStore:
    store = MemoryStore.open(config=config)
    store.remember_many(
        Memory(
            SAID[i % len(SAID)],
            id=f"m{n:02}",
            type=TYPES[i % 3],
            actor=PEOPLE[i % len(PEOPLE)],
            thread=f"chat-{i // 8}",
            position=i % 8,
            importance=(i % 7) / 7,
            entities=("Kestrel",) if "Kestrel" in SAID[i % len(SAID)] else (),
            relations=(Relation(PEOPLE[i % 5], "manages", PEOPLE[(i + 1) % 5]),) if i % 4 == 0 else (),
            event_at=NOW - timedelta(hours=9 * i),
        )
        for n, i in enumerate([*range(60), 16])  # one is said twice at once
    )
    return store


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with filled(RecallConfig()) as opened:
        yield opened


def seen(store: MemoryStore, config: RecallConfig, turn: Turn) -> list[object]:
    """What people and models see of a few recalls."""
    model = None if turn.model is None else Model(**turn.model)
    brought: dict[str, Any] = {} if model is None else {"llm": model.ask} if turn.as_llm else {"reranker": model.rerank}
    found: list[object] = []
    for name in (BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE):  # what another setting has led to
        (store.path / name).unlink(missing_ok=True)
    with closing(QueryOptimizer(store, config=config, **brought)) as optimizer:
        for question in (*QUESTIONS, *QUESTIONS[-2:]):
            try:
                result = optimizer.recall(question, k=5, now=NOW)
            except RecallError as e:
                found.append(type(e).__name__)
                continue
            parsed, rerank = result.query, result.rerank
            found.append(result.cache.strategy)
            found.append([(hit.memory.id, round(hit.score, 6), len(hit.duplicates)) for hit in result.hits])
            found.append([(arm.name, arm.weight, arm.limit) for arm in result.plan.arms])
            found.append(
                (result.plan.name, result.plan.rewrite, result.plan.window_filter, round(parsed.specificity, 6))
            )
            found.append((parsed.temporal_window, parsed.conversational, parsed.rewrites))
            found.append((rerank.reason, rerank.candidates, result.rewrite.reason))
            found.append(sorted((d.stage, d.reason) for d in result.degraded))
    return [*found, None if model is None else (model.calls, model.pairs)]


def test_every_number_is_turned_or_said_not_to_be_seen() -> None:
    assert not set(TURNED) & set(UNSEEN)
    assert set(TURNED) | set(UNSEEN) == set(settings())


@pytest.mark.parametrize("name", TURNED)
def test_a_turned_setting_is_seen(store: MemoryStore, name: str) -> None:
    turn = TURNED[name]
    before, after = config_of(turn.base), config_of({**turn.base, name: turn.value})
    assert before != after
    plain = seen(store, before, turn)
    if turn.own_store:
        with filled(after) as other:
            assert seen(other, after, turn) != plain
    else:
        assert seen(store, after, turn) != plain


@pytest.mark.parametrize("model", [None, {}])
def test_what_is_not_turned_is_seen_the_same(store: MemoryStore, model: Mapping[str, Any] | None) -> None:
    """Else the tests above would be about chance."""
    turn = Turn(None, model=model)
    config = config_of(RERANKED["base"])
    assert seen(store, config, turn) == seen(store, config, turn)
