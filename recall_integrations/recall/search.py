"""`embed`, `arms`: the vectors of the query and of its readings, and what the arms find."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import ArmRequest, ArmResult, FanOut, InMemory
from recall_integrations.arms.retrievers import BUILT_IN, ArmSpec, MakeArm
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.ranking.arranging.newer import chain_of
from recall_integrations.recall.plan import SHARE_BEFORE_ARMS
from recall_integrations.recall.runner import RecallState, Stage, Turn, degradation
from recall_integrations.records import changed
from recall_integrations.reranking.reranking import coarse_of
from recall_integrations.resilience.admission import MINIMAL
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import Guard
from recall_integrations.store.fact_tables import ScopeFacts
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import shortened
from recall_integrations.types import ArmPlan, Degradation


class Embed(Stage):
    """Embeds the query. Without it words and graph still answer."""

    name = "embed"
    share = SHARE_BEFORE_ARMS

    def __init__(self, store: MemoryStore, guard: Guard) -> None:
        self._store, self._guard = store, guard

    def applies(self, state: RecallState) -> bool:
        """Say whether the plan asks the semantic arm."""
        return state.view is not None and state.vectors is None and state.plan.arm("semantic") is not None

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `vectors`, `(1 + readings, d)`."""
        parsed, given = state.query, state.request.vector
        readings = [] if parsed.corrected_query is None else [parsed.corrected_query]
        asked = shortened(parsed.point).text.strip()
        texts = [*([] if given is not None else [asked]), *readings]
        first = [] if given is None else [given]
        made, problem = self.vectors_of(texts, turn.deadline)
        if problem is not None:
            return self.fallback(state).degraded_by(problem)
        vectors = [*first, *made]
        return changed(state, vectors=vectors[0][None] if len(vectors) == 1 else np.stack(vectors))

    def vectors_of(
        self, texts: Sequence[str], deadline: Deadline, *, memories: bool = False
    ) -> tuple[list[NDArray[np.float32]], Degradation | None]:
        """Return the vectors of queries, or of texts that are as memories; or none, and the problem."""
        embedding = self._store.embedding

        def made() -> list[NDArray[np.float32]]:
            return list(embedding.embed_documents(texts)) if memories else list(map(embedding.embed_query, texts))

        if not texts or isinstance(embedding, StaticEmbedding):  # it takes microseconds; a thread costs more
            return made(), None
        answer = self._guard.call(deadline, made, work=len(texts))
        if answer.value is None:
            return [], Degradation(stage=self.name, reason=answer.code, detail=answer.detail)
        return list(answer.value), None


FILTERS = "filters"


def filled(results: Sequence[ArmResult], request: ArmRequest, k: int) -> ArmResult | None:
    """Return more candidates, behind those of the arms; `None` where there are k, or no more."""
    if request.allowed is None or any(len(result.rows) >= k for result in results):
        return None
    found = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(result.rows for result in results)]))
    if len(found) >= k:
        return None
    left = request.allowed & request.view.alive
    left[found] = False
    rows = np.flatnonzero(left)
    if not len(rows):
        return None
    scores = np.asarray(0.5 * request.closeness(rows), dtype=np.float32)
    rows, scores = request.view.top(rows, scores, k - len(found))
    # Where places count, what was found stands before what was not.
    first = dict.fromkeys(row for result in results for row in result.rows.tolist())
    ahead = np.linspace(1, 0.5, len(first), dtype=np.float32)
    own = np.fromiter(first, dtype=np.int64, count=len(first))
    return ArmResult(arm=FILTERS, rows=np.concatenate([own, rows]), scores=np.concatenate([ahead, scores]))


NO_VECTOR = "skip.no_vector"
FACTS = "facts"
HEIRS_OF = 20  # best candidates of each arm whose newest successor becomes a candidate, too
TOLD_MAX = 20  # number of memories that say what held before, which come as candidates
# How the time of a recall is shared out, in milliseconds of one that has 110 of them. Of what is left, a step gets the
# share that its number has among its own and those of the steps still to come. Only what hangs or is slow notices.
BUDGETS = {"lexical": 30, "semantic": 40, "graph": 15, "rank": 5, "rerank": 30, "deliver": 20}
# Words and vectors are searched side by side, the graph beside or behind them. An arm of one's own is as the semantic.
ARMS_BUDGET = max(BUDGETS["lexical"], BUDGETS["semantic"]) + BUDGETS["graph"]


def share_of(arm: str) -> float:
    """Return the share of an arm in the time of all arms, in (0, 1]. It may go on while the graph is walked."""
    own = BUDGETS[arm if arm in ("lexical", "graph") else "semantic"]
    return min(1.0, (own + BUDGETS["graph"]) / ARMS_BUDGET)


class Arms(Stage):
    """Asks the arms of the plan. Words need no vector: the lexical arm works while the vectors are compared."""

    name = "arms"
    essential = True

    def __init__(
        self,
        specs: tuple[ArmSpec, ...],
        made: Mapping[str, MakeArm],
        guards: Callable[[str], Guard],
        *,
        reranks: bool = False,
        facts: Callable[[ScopeView], ScopeFacts | None] | None = None,
    ) -> None:
        later = BUDGETS["rank"] + BUDGETS["deliver"] + (BUDGETS["rerank"] if reranks else 0)
        self.share = ARMS_BUDGET / (ARMS_BUDGET + later)
        self._specs, self._made, self._guards, self._reranks = {s.name: s for s in specs}, made, guards, reranks
        self._facts = facts

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `similarities` and `results`."""
        plan = state.plan
        if state.level >= MINIMAL:
            return self._least(state, turn)
        early: list[ArmPlan] = []
        late: list[ArmPlan] = []
        order: list[str] = []
        problems: list[Degradation] = []
        for arm in plan.arms:
            applies, problem = self._applies(arm, state)
            if applies:
                order.append(arm.name)
                (early if self._specs[arm.name].by_words else late).append(arm)
            if problem is not None:
                problems.append(problem)
        fan = self._fan_out(turn)
        fan.start([(arm.name, self._request(arm, state, turn)) for arm in early])
        scanned = changed(state, similarities=state.scope.scan(state.vectors))
        fan.start([(arm.name, self._request(arm, scanned, turn)) for arm in late])
        results, failed = fan.collect(order)
        results += [*self._filled(scanned, results, turn), *(_told(state) or self._heirs(state, results))]
        return changed(scanned, results=tuple(results)).degraded_by(*problems, *failed)

    def _fan_out(self, turn: Turn) -> FanOut:
        return FanOut(self._guards, self._made, turn.deadline, turn.timings_ms, share_of, turn.step, turn.searching)

    def _least(self, state: RecallState, turn: Turn) -> RecallState:
        """Ask one arm: the nearest by vectors, or another that is in memory; else words, with the time there is."""
        state = changed(state, similarities=state.scope.scan(state.vectors))
        built_in = {arm.name: arm for arm in state.plan.arms if self._specs[arm.name] in BUILT_IN}
        requests = {name: self._request(arm, state, turn) for name, arm in built_in.items()}
        there = [
            name for name in ("semantic", "lexical", *built_in) if name in requests and self._there(name, requests)
        ]
        fan = self._fan_out(turn)
        if there:
            fan.start([(there[0], replace(requests[there[0]], deadline=Deadline.after(None)))])
        elif requests:
            there = ["lexical" if "lexical" in requests else next(iter(requests))]
            fan.start([(there[0], requests[there[0]])])
        results, problems = fan.collect(there[:1])
        results += self._filled(state, results, turn)
        return changed(state, results=tuple(results)).degraded_by(*problems)

    def _filled(self, state: RecallState, results: list[ArmResult], turn: Turn) -> list[ArmResult]:
        """Return more candidates within the filters, if the arms found fewer than k."""
        if state.allowed is None or not state.plan.arms:
            return []
        request = replace(self._request(state.plan.arms[0], state, turn), allowed=state.searched)
        more = filled(results, request, state.request.k)
        return [] if more is None else [more]

    def _heirs(self, state: RecallState, results: list[ArmResult]) -> list[ArmResult]:
        """Return the newest of what took the place of the best candidates: it may share no word with the query."""
        view = state.scope
        facts = None if self._facts is None or state.asked is not None else self._facts(view)
        if facts is None or not facts.replaced:
            return []
        at = to_micros(state.request.as_of or state.request.now)
        heir = functools.cache(lambda row: facts.heir(row, at))
        best = {row for result in results for row in result.rows[:HEIRS_OF].tolist()}
        newest = {chain_of(row, heir)[-1] for row in best}
        rows = np.asarray(sorted(newest.difference(*(result.rows.tolist() for result in results))), dtype=np.int64)
        rows = rows[view.alive[rows] if state.allowed is None else state.allowed[rows]]
        return [ArmResult(arm=FACTS, rows=rows, scores=np.ones(len(rows), dtype=np.float32))] if len(rows) else []

    def _there(self, name: str, requests: Mapping[str, ArmRequest]) -> bool:
        made = self._made[name]
        return isinstance(made, InMemory) and made.beside is None and made.there(requests[name])

    def _applies(self, arm: ArmPlan, state: RecallState) -> tuple[bool, Degradation | None]:
        """Say whether an arm has anything to look for, or why it cannot say: an arm of the user's may raise."""
        if self._specs[arm.name].by_vector and state.vectors is None:
            return False, Degradation(stage=arm.name, reason=NO_VECTOR, detail="The query has no vector.")
        try:
            return bool(self._specs[arm.name].applies(state.query, state.plan)), None
        except failures() as e:  # an error costs that arm's results only, and is named
            return False, degradation(arm.name, e)

    def _request(self, arm: ArmPlan, state: RecallState, turn: Turn) -> ArmRequest:
        k, parsed = state.request.k, state.query
        return ArmRequest(
            parsed=parsed,
            plan=state.plan,
            view=state.scope,
            vectors=state.vectors,
            similarities=state.similarities,
            terms=parsed.terms,
            allowed=_windowed(state) if self._specs[arm.name].by_names else state.searched,
            limit=coarse_of(k, arm.limit) if self._reranks else max(arm.limit, k),
            deadline=turn.deadline,
            frequency=state.frequency,
            asked=None if state.asked is None else state.asked.mask,
        )


def _told(state: RecallState) -> list[ArmResult]:
    """Return memories that say what is asked, though no arm may find them: they may share no word with the query."""
    if state.held is None:
        return []
    view, held = state.scope, state.held
    rows = view.rows_of([*held.first, *sorted(held.beneath)[-TOLD_MAX:]])
    if state.allowed is not None:
        rows = rows[state.allowed[rows]]
    return [ArmResult(arm=FACTS, rows=rows, scores=np.linspace(1, 0.5, len(rows), dtype=np.float32))]


def _windowed(state: RecallState) -> Mask | None:
    """Return the rows in the window for an entity plan with a sure window, unless nothing lies in it.

    A query for a relation wants it whenever it was stated: "who reports to Priya since March".
    """
    window, view = state.query.temporal_window, state.scope
    if not state.plan.window_filter or window is None or state.query.predicate_hints:
        return state.searched
    inside: Mask = asked_mask(view, window)
    if state.searched is not None:
        inside &= state.searched
    return inside if bool(np.any(inside & view.alive)) else state.searched
