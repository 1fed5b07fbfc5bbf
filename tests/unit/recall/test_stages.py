"""Stages by themselves, on a state made by hand: what each of them adds to it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.arms.base import ArmResult
from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.errors import StoreClosed
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.planning.planner import Asked
from recall_integrations.ranking.fusion import Fused
from recall_integrations.ranking.rank import EXACT_POOL
from recall_integrations.recall import RecallState, Stage, Turn
from recall_integrations.recall.deliver import Deliver
from recall_integrations.recall.plan import SHARE_BEFORE_ARMS, Parse, Plan
from recall_integrations.recall.rank import Rank, Rerank, _trusted
from recall_integrations.recall.runner import Runner
from recall_integrations.recall.search import Arms, _windowed
from recall_integrations.reranking.reranking import Reranked
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Filters, ParsedQuery, RetrievalPlan, TemporalWindow
from recall_integrations.types.observing import RecallRequest
from recall_integrations.types.query import Identifier
from recall_integrations.types.result import RerankOutcome
from tests.columns import without_words
from tests.rows import each_row

NOW = datetime(2026, 6, 15, tzinfo=timezone.utc)
DAY = 86_400_000_000
REQUEST = RecallRequest(
    text="q",
    k=5,
    scope=Scope(),
    filters=Filters(),
    now=NOW,
    time_budget_ms=1_000,
    tokens_max=None,
    privacy="allow",
    window=None,
    zone=None,
    context=0,
    vector=None,
)
PLAN = RetrievalPlan(name="balanced", arms=())
TURN = Turn(Deadline.after(None))


def view(n: int) -> ScopeView:
    """`n` memories, each a day older than the one before."""
    return ScopeView(
        scope_id=1,
        version=1,
        seq=n,
        nums=np.arange(1, n + 1, dtype=np.int64),
        ids=[f"m{i:04}" for i in range(n)],
        at=to_micros(NOW) - DAY * np.arange(n, dtype=np.int64),
        dated=np.ones(n, dtype=np.bool_),
        text=without_words(n),
        types=np.zeros(n, dtype=np.int8),
        importance=np.full(n, 0.5, dtype=np.float32),
        alive=np.ones(n, dtype=np.bool_),
        vectors=None,
    )


def candidates(scores: list[float]) -> Fused:
    n, values = len(scores), np.asarray(scores, dtype=np.float32)
    return Fused(
        rows=np.arange(n, dtype=np.int64),
        scores=values,
        added={"lexical": values},
        raw={"lexical": values},
        ranks={"lexical": np.arange(1, n + 1, dtype=np.int32)},
    )


# -- parse -----------------------------------------------------------------------------------------------------------


def test_the_language_model_gets_what_is_left_of_the_time_before_the_arms() -> None:
    """And all the time there is where a query is read without a recall."""
    budgets: list[float] = []

    class Asks:
        def resolve(self, _text: str, refs: Any, _index: Any, *, deadline: Deadline, **_given: Any) -> Any:
            budgets.append(deadline.remaining_ms())
            return refs, ()

    with MemoryStore.open() as store:
        store.remember(Memory("tea", actor="Priya"))
        config = RecallConfig()
        stage = Parse(store, config, unsure=Asks())  # type: ignore[arg-type]
        stage.run(RecallState(request=REQUEST), Turn(Deadline.after(300, lambda: 0.0)))
        stage.read("who knows Prya", NOW, Scope(), None, None)
    assert budgets == [300, math.inf]
    assert Parse.share == SHARE_BEFORE_ARMS == 0.6


def test_a_closed_store_is_an_error_before_any_stage_runs() -> None:
    ran: list[str] = []

    class Reads(Stage):
        name = "parse"

        def applies(self, _state: RecallState) -> bool:
            return True

        def run(self, state: RecallState, _turn: Turn) -> RecallState:
            ran.append("parse")
            return replace(state, parsed=ParsedQuery(original="tea"))

    store = MemoryStore.open()
    optimizer = QueryOptimizer(store, stages=[Reads()])
    optimizer.recall("tea")
    store.close()
    with pytest.raises(StoreClosed):
        optimizer.recall("tea")
    assert ran == ["parse"]
    optimizer.close()


# -- what there is no answer without ---------------------------------------------------------------------------------


@each_row("name", ["parse", "plan", "arms", "deliver"])
def test_without_an_essential_stage_there_is_an_error_and_no_empty_answer(name: str) -> None:
    class Fails:
        def __getattr__(self, _name: str) -> Any:
            raise StoreClosed("gone")

    gone: Any = Fails()
    stage = {
        "parse": lambda: Parse(gone, RecallConfig()),
        "plan": lambda: Plan(gone, RecallConfig(), ()),
        "arms": lambda: Arms((), {}, gone),
        "deliver": lambda: Deliver(gone, 0.0),
    }[name]()
    state = RecallState(
        request=REQUEST,
        parsed=ParsedQuery(original="q"),
        planned=PLAN,
        view=gone if name == "arms" else view(1),
        fused=candidates([0.9]),
    )
    with pytest.raises(StoreClosed):
        Runner([stage]).run(state, Deadline.after(None))


# -- arms ------------------------------------------------------------------------------------------------------------


def test_a_sure_window_of_an_entity_plan_narrows_what_is_searched() -> None:
    columns = view(6)
    window = TemporalWindow(start=datetime(2026, 6, 13, tzinfo=timezone.utc), end=None, span=(0, 1), confidence=0.9)
    parsed = ParsedQuery(original="q", temporal_window=window)
    state = RecallState(request=REQUEST, parsed=parsed, planned=replace(PLAN, window_filter=True), view=columns)

    def rows(state: RecallState) -> list[int] | None:
        found = _windowed(state)
        return None if found is None else np.flatnonzero(found).tolist()

    assert rows(state) == [0, 1, 2]
    some = np.asarray([False, True, False, True, True, True])
    assert rows(replace(state, searched=some)) == [1], "of those that are searched, what lies in the window"
    none = np.asarray([False, False, False, True, True, True])
    assert rows(replace(state, searched=none)) == [3, 4, 5], "all that are searched, where none of them lies in it"
    assert rows(replace(state, planned=PLAN)) is None
    assert rows(replace(state, planned=PLAN, searched=some)) == [1, 3, 4, 5], "what is filtered stays so"
    related = replace(parsed, predicate_hints=("manager_of",))
    assert rows(replace(state, parsed=related)) is None, "a relation is wanted whenever it was stated"


# -- rank ------------------------------------------------------------------------------------------------------------


def test_an_order_that_was_asked_for_is_as_sure_as_its_reading() -> None:
    fused = candidates([0.8, 0.4])
    asked = Asked(mask=np.ones(2, dtype=np.bool_), count=2, order=np.arange(2), confidence=0.7, words="then")
    state = RecallState(request=REQUEST, asked=asked)
    assert _trusted(state, fused, None).confidence == 0.7
    assert _trusted(state, fused, 0.9).confidence == 0.9
    assert _trusted(state, fused, 0.2).confidence == 0.7
    assert _trusted(replace(state, asked=None), fused, 0.2).confidence == 0.2
    assert _trusted(replace(state, asked=replace(asked, order=None)), fused, 0.2).confidence == 0.2
    nothing_known = replace(asked, confidence=0.0)
    assert _trusted(replace(state, asked=nothing_known), fused, None).confidence == 0


def test_where_nothing_lies_in_what_was_asked_for_all_is_less_sure() -> None:
    state = RecallState(request=REQUEST, trust=0.5)
    found = _trusted(state, candidates([0.8, 0.4]), 0.6)
    assert found.confidence == pytest.approx(0.3)
    assert found.candidates.scores.tolist() == pytest.approx([0.4, 0.2])
    assert _trusted(state, candidates([0.8]), None).confidence is None


@pytest.mark.parametrize("k", [5, EXACT_POOL])
def test_without_a_ranker_identifiers_are_looked_for_in_the_best_twice_k_or_fifty(k: int) -> None:
    size, read = 4 * EXACT_POOL, []

    def texts(_view: ScopeView, rows: np.ndarray[Any, Any]) -> list[str]:
        read.append(len(rows))
        return ["about ABC-12" if row == 40 else "nothing" for row in rows.tolist()]

    store: Any = SimpleNamespace(cosine_worth_in=lambda *_asked: 1.0, cosine_spread=1.0)
    config = RecallConfig(planner=PlannerConfig(arms=("lexical",)))
    stage = Rank(store, config, SimpleNamespace(texts=texts), None, (), {})  # type: ignore[arg-type]
    listed = ArmResult(
        arm="lexical", rows=np.arange(size), scores=np.linspace(9, 1, size).astype(np.float32), note="told"
    )
    state = RecallState(
        request=replace(REQUEST, k=k),
        parsed=ParsedQuery(original="ABC-12", identifiers=(Identifier(text="ABC-12", kind="code", span=(0, 6)),)),
        planned=replace(PLAN, exact_match=True),
        view=view(size),
        results=(listed,),
    )
    found = stage.run(state, TURN)
    assert read == [max(2 * k, EXACT_POOL)]
    assert found.candidates.rows[0] == 40
    assert stage.run(replace(state, planned=PLAN), TURN).candidates.rows[0] == 0
    assert len(read) == 1


# -- rerank ----------------------------------------------------------------------------------------------------------


def test_scores_are_shared_out_anew_after_a_rerank() -> None:
    given: list[int] = []

    class Turns:
        """Turns the order round, and says so of the two best."""

        local = False

        def run(self, request: Any) -> Reranked:
            n = len(request.calibrated)
            given.append(n)
            assert request.texts(2) == ["text 0", "text 1"]
            told = SimpleNamespace(rank=1, score=0.9, band=None)
            return Reranked(
                order=np.arange(n)[::-1].copy(),
                outcome=RerankOutcome(),
                judged={0: told, 1: told, n: told},  # type: ignore[dict-item]
            )

    delivery = SimpleNamespace(texts=lambda _view, rows: [f"text {row}" for row in rows.tolist()])
    stage = Rerank(Turns(), delivery)  # type: ignore[arg-type]
    state = RecallState(
        request=replace(REQUEST, k=1),
        parsed=ParsedQuery(original="q"),
        planned=PLAN,
        view=view(4),
        fused=candidates([0.9, 0.8, 0.2, 0.1]),
    )
    assert stage.applies(state)
    assert not stage.applies(replace(state, view=None))
    assert not stage.applies(replace(state, planned=replace(PLAN, in_order=True)))
    found = stage.run(state, TURN)
    assert given == [4]
    assert found.candidates.rows.tolist() == [3, 2, 1, 0]
    assert found.candidates.scores.tolist() == pytest.approx([0.9, 0.8, 0.2, 0.1]), "shared out anew"
    assert set(found.reranked) == {0, 1}
    assert sum(found.candidates.added.values()).tolist() == pytest.approx([0.9, 0.8, 0.2, 0.1])  # type: ignore[union-attr]
