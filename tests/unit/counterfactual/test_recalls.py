"""What would be found without a part: the rest stays as it is, the whole is what a recall gives, and time is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from recall_integrations import Filters, Memory, QueryOptimizer, RecallConfig, RerankConfig, Scope
from recall_integrations.arms.base import ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.config import ARMS
from recall_integrations.console import demo as demo_data
from recall_integrations.console.demo import demo_optimizer, demo_texts
from recall_integrations.counterfactual.recalls import (
    RULES,
    Counterfactuals,
    LeftOut,
    counterfactuals,
    counterfactuals_data,
    part_of,
)
from recall_integrations.errors import InvalidArgument, InvalidQuery
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.rank import DENIAL
from tests.rows import each_row

SCOPE = demo_data.SCOPE
TUESDAY = "what did I work on last Tuesday and Wednesday?"
NOT_SAM = "Who is working on Kestral, but not Sam?"


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with demo_optimizer() as made:
        yield made


def one(found: Counterfactuals, key: str) -> LeftOut:
    return next(w for w in found.without if [part.key for part in w.parts] == [key])


def of_ones_own(optimizer: QueryOptimizer) -> QueryOptimizer:
    """An optimizer with an arm of its own, which is broken."""

    class Nothing:
        name = "mine"

        def search(self, request: object) -> ArmResult:
            raise RuntimeError("it is broken")

    spec = ArmSpec(name="mine", make=lambda _store, _config: Nothing)
    return QueryOptimizer(optimizer.store, arms=[spec], clock=lambda: demo_data.NOW)


@each_row("query", [query.text for query in demo_texts().queries])
def test_the_whole_is_what_a_recall_gives(optimizer: QueryOptimizer, query: str) -> None:
    plain = optimizer.recall(query, k=5, scope=SCOPE)
    found = counterfactuals(optimizer, query, k=5, scope=SCOPE, leave_out=[])
    assert [(h.memory.id, h.score, h.reason, h.contributions) for h in found.whole] == [
        (h.memory.id, h.score, h.reason, h.contributions) for h in plain
    ]
    assert {p.key for p in found.parts} >= {
        f"arm:{a.name}" for a in plain.plan.arms if f"arm.{a.name}" in plain.timings_ms
    }


def test_each_part_is_left_out_by_itself_and_twice_gives_the_same(optimizer: QueryOptimizer) -> None:
    first, again = (counterfactuals(optimizer, NOT_SAM, k=5, scope=SCOPE) for _ in range(2))
    assert [one.parts for one in first.without] == [(part,) for part in first.parts]
    assert [one.moves for one in first.without] == [one.moves for one in again.without]
    assert all(one.result is not None for one in first.without)


def test_what_decides_is_what_changes_the_answer(optimizer: QueryOptimizer) -> None:
    dated = counterfactuals(optimizer, TUESDAY, k=5, scope=SCOPE)
    effects = {part.key: one(dated, part.key).effect for part in dated.parts}
    assert {"rule:time", "feature:dates"} <= set(sorted(effects, key=lambda key: -effects[key])[:4])
    assert min(effects["rule:time"], effects["feature:dates"]) > 10 * max(effects["feature:words"], 0.005)
    assert one(dated, "feature:words").summary == "nothing changes"
    denied = one(counterfactuals(optimizer, NOT_SAM, k=5, scope=SCOPE), "rule:negation")
    assert denied.summary.endswith("another comes first")
    assert denied.result is not None
    assert not denied.result.query.negations
    assert not any(c.source == DENIAL for hit in denied.result for c in hit.contributions)  # nor is it read otherwise


def test_an_arm_that_is_left_out_is_not_asked(optimizer: QueryOptimizer) -> None:
    found = counterfactuals(
        optimizer, NOT_SAM, k=5, scope=SCOPE, leave_out=[["arm:semantic"], ["arm:lexical", "arm:graph"]]
    )
    first, second = (one.result for one in found.without)
    assert first is not None
    assert second is not None
    assert "arm.semantic" not in first.timings_ms
    assert "arm.lexical" in first.timings_ms
    assert "arm.lexical" not in second.timings_ms
    assert "arm.graph" not in second.timings_ms
    assert found.without[1].label == "search by words, search by names"


def test_without_every_arm_nothing_is_found(optimizer: QueryOptimizer) -> None:
    arms = [f"arm:{name}" for name in ARMS]
    (less,) = counterfactuals(optimizer, NOT_SAM, k=3, scope=SCOPE, leave_out=[arms]).without
    assert less.result is not None
    assert not less.result.hits
    assert less.effect == 1
    assert less.summary == "3 hits leave, none is left"


def test_places_beyond_the_hits_are_told(optimizer: QueryOptimizer) -> None:
    (less,) = counterfactuals(optimizer, TUESDAY, k=5, scope=SCOPE, leave_out=[["rule:time"]]).without
    left = [move for move in less.moves if move.hit_before and not move.hit_after]
    assert left
    assert all(move.after is None or move.after > 5 for move in left)
    assert any(move.before is not None and move.before > 5 for move in less.moves if not move.hit_before)


def test_filters_are_left_out_and_only_then_a_part(optimizer: QueryOptimizer) -> None:
    query = "Who is Sarah's manager?"
    found = counterfactuals(optimizer, query, k=5, scope=SCOPE, filters=Filters(types=["event"]))
    assert sum(move.hit_after and not move.hit_before for move in one(found, "rule:filters").moves) >= 3
    assert "rule:filters" not in {p.key for p in counterfactuals(optimizer, query, scope=SCOPE, leave_out=[]).parts}


def test_the_reranker_is_a_part_and_its_model_is_asked_once_more_only(optimizer: QueryOptimizer) -> None:
    asked = []

    def longest(query: str, texts: list[str]) -> list[float]:
        asked.append(query)
        return [float(len(text)) for text in texts]

    config = RecallConfig(rerank=RerankConfig(regret_max=0))
    reranked = QueryOptimizer(optimizer.store, reranker=longest, config=config, clock=lambda: demo_data.NOW)
    query = "what are my general preferences?"
    plain = optimizer.recall(query, k=5, scope=SCOPE)
    found = counterfactuals(reranked, query, k=5, scope=SCOPE, leave_out=[["rule:rerank"]])
    assert found.whole.rerank.used
    assert len(asked) == 1
    assert found.without[0].result is not None
    assert [h.memory.id for h in found.without[0].result] == [h.memory.id for h in plain]


def test_an_arm_of_ones_own_is_a_part(optimizer: QueryOptimizer) -> None:
    own = of_ones_own(optimizer)
    found = counterfactuals(own, NOT_SAM, scope=SCOPE, leave_out=[["arm:mine"]])
    assert "arm:mine" in {part.key for part in found.parts}
    assert any(problem.stage == "mine" for problem in found.whole.degraded)
    assert found.without[0].result is not None
    assert not found.without[0].result.degraded


def test_no_time_is_said_and_what_was_reached_is_kept(optimizer: QueryOptimizer) -> None:
    found = counterfactuals(optimizer, NOT_SAM, scope=SCOPE, budget_ms=1)
    assert found.whole.hits
    assert [one.result for one in found.without] == [None] * len(found.parts)
    assert len(found.parts) > 5
    assert found.without[0].summary == "not tried: there was no time left"
    assert not counterfactuals_data(found)["without"][0]["reached"]


def test_where_there_is_hardly_time_it_answers_as_a_recall_does(optimizer: QueryOptimizer) -> None:
    for _ in range(4):  # three failures in a row would switch a part off
        found = counterfactuals(optimizer, NOT_SAM, scope=SCOPE, time_budget_ms=0.2, leave_out=[["feature:words"]])
        assert found.whole.hits
    again = counterfactuals(optimizer, NOT_SAM, scope=SCOPE, leave_out=[["feature:words"]])
    assert not again.whole.degraded
    assert again.without[0].result is not None
    assert not again.without[0].result.degraded


def test_observers_are_told_of_nothing_and_one_moment_is_kept(optimizer: QueryOptimizer) -> None:
    seen: list[object] = []
    ticks = iter(range(100))
    later = QueryOptimizer(
        optimizer.store, clock=lambda: demo_data.NOW + timedelta(days=next(ticks)), observers=[seen.append]
    )
    found = counterfactuals(later, TUESDAY, scope=SCOPE, leave_out=[["arm:lexical"], ["arm:semantic"]])
    assert not seen
    assert {less.result.query.now for less in found.without if less.result is not None} == {found.whole.query.now}


def test_the_settings_of_the_scope_hold(optimizer: QueryOptimizer) -> None:
    own = {"user_id": "demo", "planner": {"arms": ["lexical"]}}
    config = RecallConfig(scopes=[own])  # type: ignore[arg-type]
    narrowed = QueryOptimizer(optimizer.store, config=config, clock=lambda: demo_data.NOW)
    plain = narrowed.recall(NOT_SAM, k=5, scope=SCOPE)
    found = counterfactuals(narrowed, NOT_SAM, k=5, scope=SCOPE)
    assert [h.memory.id for h in found.whole] == [h.memory.id for h in plain]
    assert [part.key for part in found.parts if part.kind == "arm"] == ["arm:lexical"]


@pytest.mark.parametrize("privacy", ["redact", "block"])
def test_privacy_holds(optimizer: QueryOptimizer, privacy: str) -> None:
    scope = Scope(user_id=f"secret-{privacy}")
    optimizer.store.remember(Memory(text="Write to Ana at ana@example.com about the boat."), scope=scope)
    found = counterfactuals(optimizer, "how do I write to Ana about the boat?", scope=scope, privacy=privacy)
    texts = [move["text"] for one in counterfactuals_data(found)["without"] for move in one["moves"]]
    assert texts
    assert any(texts) == (privacy == "redact")
    assert "ana@example.com" not in " ".join(texts)


@each_row(
    ("given", "says"),
    [
        ({"leave_out": [["feature:nonsense"]]}, "There is no part 'feature:nonsense'"),
        ({"leave_out": [["rule:nonsense"]]}, "There is no part"),
        ({"leave_out": [["a b"]]}, "There is no part"),
        ({"k": 0}, "k must be"),
    ],
)
def test_what_cannot_be_done_is_said(optimizer: QueryOptimizer, given: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        counterfactuals(optimizer, "x", scope=SCOPE, **given)  # type: ignore[arg-type]


def test_arms_of_ones_own_are_among_those_that_there_are(optimizer: QueryOptimizer) -> None:
    own = of_ones_own(optimizer)
    assert (optimizer.arms, own.arms) == (tuple(ARMS), (*ARMS, "mine"))
    with pytest.raises(InvalidArgument, match=r"There are: arm:.*, arm:mine, feature:words, .*, rule:repeats\."):
        counterfactuals(own, NOT_SAM, scope=SCOPE, leave_out=[["lexical"]])


def test_a_query_that_is_none_is_an_error(optimizer: QueryOptimizer) -> None:
    with pytest.raises(InvalidQuery):
        counterfactuals(optimizer, "  ", scope=SCOPE)


def test_every_part_has_a_name_for_people() -> None:
    for rule in RULES:
        assert part_of(f"rule:{rule}", FEATURES, ARMS).label == RULES[rule][0]
    assert part_of("feature:words", FEATURES, ARMS).label == "the query's words"
