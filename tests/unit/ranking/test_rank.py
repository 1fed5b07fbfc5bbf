"""The ranking stage: what arms' weights and settings of the ranking change, and that reopening changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.config import ARMS, PlannerConfig
from recall_integrations.ranking import rank as stage
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.rank import evidence_of
from tests.rows import each_row

EVIDENCE = evidence_of(BUILT_IN)
OpenStore = Callable[..., MemoryStore]
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
CHAT = [
    ("Sam", "Which colour is the Kestrel shed, Priya?"),
    ("Priya", "Dark green. Do you like it?"),
    ("Sam", "The ticket KST-4411 says that Kestrel ships in June"),
    ("Priya", "I prefer tea in the shed"),
    ("Ann", "Kestrel needs a new logo, says Priya"),
    ("user", "What did I tell you about the Kestrel budget?"),
    ("assistant", "That the Kestrel budget is 40,000 euros"),
]
MEMORIES = [
    Memory(
        text,
        id=f"m{i}",
        actor=actor,
        thread="help" if actor in ("user", "assistant") else "t",
        position=i,
        event_at=NOW - i * DAY,
        type="preference" if "prefer" in text else "fact",
        entities=("Kestrel",) if "Kestrel" in text else (),
    )
    for i, (actor, text) in enumerate(CHAT)
] + [
    Memory(f"The gravel of heap {i} is grey", id=f"n{i}", event_at=NOW - 40 * i * DAY, type="chunk") for i in range(12)
]
CENTRIC = "What about Kestrel?"


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    opened = open_store()
    opened.remember_many(MEMORIES)
    return opened


def recalled(store: MemoryStore, query: str, **settings: object) -> RecallResult:
    config = RecallConfig(**settings)  # type: ignore[arg-type]
    with closing(QueryOptimizer(store, config=config)) as optimizer:
        return optimizer.recall(query, k=30, now=NOW, time_budget_ms=60_000)


def added(result: RecallResult) -> dict[str | None, dict[str, float]]:
    """Of every hit, what each source added."""
    return {hit.memory.id: {c.source: c.added for c in hit.contributions if c.added} for hit in result.hits}


def times(factor: float, given: Mapping[str, float], sources: tuple[str, ...]) -> dict[str, float]:
    return {name: value * (factor if name in sources else 1) for name, value in given.items()}


def test_evidence_of_the_arms_is_evidence_that_there_is() -> None:
    assert set(EVIDENCE) == set(ARMS)
    known = {name for names in EVIDENCE.values() for name in names}
    lifts = {"edge", *ARMS}  # of an arm that no feature stands for, its own score
    assert known <= {*FEATURES.names, *lifts}
    assert sum(len(names) for names in EVIDENCE.values()) == len(known)  # each of one arm
    # who spoke, how it is said and how new it is are evidence of no arm
    assert set(FEATURES.weights) - known == {
        "speaker_named",
        "cast_present",
        "is_question",
        "asking_share",
        "by_user",
        "by_asked_role",
        "date_words_asked",
        "told_asked",
        "recency",
        "importance",
    }


@each_row("weight", [0.0, 0.5, 10.0])
def test_the_weight_of_an_arm_scales_its_evidence(store: MemoryStore, weight: float) -> None:
    plain = recalled(store, CENTRIC, planner=PlannerConfig(entity_weight=1.0))
    assert plain.plan.name == "entity_centric"
    before = added(plain)
    assert any("graph" in parts for parts in before.values()) and any(
        "passage_match" in parts for parts in before.values()
    )
    after = added(recalled(store, CENTRIC, planner=PlannerConfig(entity_weight=weight)))
    for memory_id, parts in before.items():
        wanted = {name: value for name, value in times(weight, parts, EVIDENCE["graph"]).items() if value}
        assert after[memory_id] == pytest.approx(wanted, rel=1e-4), memory_id


def test_what_an_arm_weighs_changes_scores(store: MemoryStore) -> None:
    found = [
        {hit.memory.id: hit.score for hit in recalled(store, CENTRIC, planner=PlannerConfig(entity_weight=w)).hits}
        for w in (0.0, 1.0, 10.0)
    ]
    assert found[0] != found[1] != found[2]


@pytest.mark.parametrize(
    ("lift", "source", "query"),
    [
        ("EXACT_LIFT", "exact", "What is KST-4411?"),
        ("MODE_LIFT", "router", "what happened with Kestrel"),
        ("RECENCY_LIFT", "recency", "What is the latest on Kestrel?"),
    ],
)
def test_what_is_lifted_grows_with_its_lift(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, lift: str, source: str, query: str
) -> None:
    default = getattr(stage, lift)

    def lifted_by(factor: int) -> RecallResult:
        monkeypatch.setattr(stage, lift, factor * default)
        return recalled(store, query)

    none, once, twice = map(lifted_by, (0, 1, 2))
    left, base, right = added(none), added(once), added(twice)
    lifted = [one for one, parts in base.items() if parts.get(source, 0) > 0.001]
    assert lifted
    for one in base:
        rest = left[one].get(source, 0.0)  # a small weight of what is new holds always
        step = base[one].get(source, 0.0) - rest
        assert right[one].get(source, 0.0) - rest == pytest.approx(2 * step, rel=1e-4, abs=1e-6)
        assert {
            k: v for k, v in right[one].items() if k not in (source, "newer")
        } == pytest.approx(  # what moves depends on sums
            {k: v for k, v in left[one].items() if k not in (source, "newer")}, rel=1e-4
        )
    assert [hit.score for hit in none.hits] != [hit.score for hit in twice.hits]


QUERIES = (
    CENTRIC,
    "Which colour is the shed?",
    "What did Ann and Priya say about the shed?",
    "What did you tell me about the Kestrel budget?",
    "What did Dan say about the shed?",
    "What did Bob and Ann say?",
    "What is KST-4411?",
    "What is the latest on Kestrel?",
    "Which colour did Priya choose for the Kestrel shed that has a new logo, grey gravel, green paint, June tickets, "
    "heaps, a budget of euros and tea in the shed?",
)


def ranking(store: MemoryStore) -> list[list[tuple[str | None, float, dict[str, float]]]]:
    return [
        [(h.memory.id, h.score, {c.source: c.added for c in h.contributions}) for h in recalled(store, query).hits]
        for query in QUERIES
    ]


def test_a_ranking_is_the_same_live_and_reopened(open_store: OpenStore) -> None:
    store = open_store()
    store.remember_many(MEMORIES[:3])
    before = ranking(store)  # from here on, the scope is in memory and what was written is added to it
    store.remember_many([Memory("Dan waits by the shed. Does Priya know?", id="gone", actor="Dan", thread="t")])
    store.remember_many([*MEMORIES[3:9], Memory("Ann, is Kestrel late?", id="late", actor="Bob", thread="t")])
    ranking(store)
    store.forget("gone")
    for memory in MEMORIES[9:]:
        store.remember(memory)
    store.remember_many(MEMORIES[1:2])  # written anew: last in number, at its old place in the thread
    store.forget("late")
    live = ranking(store)
    assert live != before
    store.close()
    reopened = ranking(open_store())
    for query, now, then in zip(QUERIES, live, reopened, strict=True):
        assert [one for one, *_ in now] == [one for one, *_ in then], query
        for (one, score, parts), (_, score_then, parts_then) in zip(now, then, strict=True):
            assert score == pytest.approx(score_then, rel=1e-4), (query, one)
            assert parts == pytest.approx(parts_then, rel=1e-3, abs=1e-5), (query, one)


@each_row(
    ("query", "sources"),
    [
        (CENTRIC, {"graph"}),
        ("What is KST-4411?", {"exact"}),
        ("What is the latest on Kestrel?", {"recency"}),
        ("What are my preferences about tea?", {"type_filter"}),
        ("what happened with Kestrel", {"router"}),
    ],
)
def test_what_is_said_to_be_added_sums_to_the_order(store: MemoryStore, query: str, sources: set[str]) -> None:
    """With every lift of the plan: a lift that counts and is not said, or the other way round, shows here."""
    found = recalled(store, query)
    assert sources <= {c.source for hit in found.hits for c in hit.contributions if c.added}
    sums = [sum(c.added for c in hit.contributions) for hit in found.hits]
    assert len(set(sums)) > 5
    assert np.diff(sums).max() < 1e-4


def test_arms_that_weigh_more_are_said_to_and_do(store: MemoryStore) -> None:
    """An identifier raises the lexical arm: what it stands for counts one and a half times, in the order as well."""
    rules = PlannerConfig().rules
    without = tuple(rule for rule in rules if rule != "identifiers")
    query = "Which ticket of Kestrel is KST-4411?"
    plain, raised = (recalled(store, query, planner=PlannerConfig(rules=r)) for r in (without, rules))
    assert plain.plan.name == raised.plan.name
    assert {a.name: a.weight for a in raised.plan.arms if a.weight != 1} != {
        a.name: a.weight for a in plain.plan.arms if a.weight != 1
    }
    factor = 1.5 if plain.plan.arm("lexical") is not None else 1.0
    before, after = added(plain), added(raised)
    assert any(set(EVIDENCE["lexical"]) & set(parts) for parts in before.values())
    for memory_id, parts in before.items():
        left = {name: value for name, value in after[memory_id].items() if name != "exact"}
        assert left == pytest.approx(times(factor, parts, EVIDENCE["lexical"]), rel=1e-4), memory_id
