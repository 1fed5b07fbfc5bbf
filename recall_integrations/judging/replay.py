"""Replays a judged query: by the rules, by every other plan, without each arm, and by what was learned.

A replay is made of recalls of the same store, without an LLM or a reranker, which would cost money or time. It keeps
the numbers of the memories that they find, and the features of the best candidates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.learning.making import learnable
from recall_integrations.learning.measuring import PLAN, VERSION, WITHOUT
from recall_integrations.learning.serving import BY_RULES, Served, to_replay
from recall_integrations.learning.shelf import Shelf
from recall_integrations.learning.version import Version, signature_of
from recall_integrations.ranking.feature_sum import FixedWeights, Ranking, entered
from recall_integrations.ranking.features.compute import Features
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.records import changed
from recall_integrations.types import RecallResult, Scope
from recall_integrations.types.judged import CANDIDATES_MAX, ORDER_MAX, RULES, Order, Replay
from recall_integrations.types.observing import RecallRequest
from recall_integrations.types.query import PLANS

Recalling = Any  # a `QueryOptimizer`, which is made above this room
K_MIN = 10  # hits of a replay: an order is compared to the fifth place, and hits that are moved up come from behind
TIME_BUDGET_MS = 5_000.0
PAIRS_KEPT = 8  # pairs of optimizers, of scopes with settings of their own


class FunctionStage(Stage):
    """A stage of one function of the state, which only computes."""

    may_hang = False

    def __init__(
        self, name: str, after: str, function: Callable[[RecallState], RecallState], *, essential: bool = False
    ) -> None:
        self.name, self.after, self.essential, self._function = name, after, essential, function

    def applies(self, state: RecallState) -> bool:
        return self.essential or super().applies(state)

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        return self._function(state)


class _Watching(FixedWeights):
    """The fixed sum, which keeps the features that it scored last."""

    may_hang = False

    def __init__(self) -> None:
        super().__init__()
        self.seen: Features | None = None

    def score(self, features: Features) -> Ranking:
        self.seen = features
        return super().score(features)


class _Pair:
    """The optimizers that make replays of one configuration: one that notes features, and one without."""

    def __init__(self, optimizer: Recalling, config: RecallConfig, *, watching: bool) -> None:
        self._served, self._plan, self._gone = BY_RULES, "", frozenset[str]()
        self._first: Order | None = None
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)
        self.sums: NDArray[np.float32] = np.empty(0, np.float32)  # of each candidate
        stages = (
            FunctionStage("replay.serve", "parse", self._serve, essential=True),
            FunctionStage("replay.drop", "plan", self._drop, essential=True),
            FunctionStage("replay.sums", "rank", self._note_sums),
            FunctionStage("replay.order", "arrange", self._note_order),
        )
        self.ranker = _Watching() if watching else None
        self.plain = optimizer.varied(config=config, stages=stages, outside=False)
        self.watched = self.plain
        if watching:
            self.watched = optimizer.varied(config=config, ranker=self.ranker, stages=stages, outside=False)

    def _serve(self, state: RecallState) -> RecallState:
        served = self._served
        if self._plan:
            served = Served(version=Version(id="v0", plans={signature_of(state.query): self._plan}))
        return changed(state, served=served)

    def _drop(self, state: RecallState) -> RecallState:
        arms = tuple(arm for arm in state.plan.arms if arm.name not in self._gone)
        return changed(state, planned=changed(state.plan, arms=arms)) if self._gone else state

    def _note_sums(self, state: RecallState) -> RecallState:
        fused = state.candidates
        self.rows, self.sums = fused.rows, np.zeros(len(fused.rows), dtype=np.float32)
        for added in fused.added.values():
            self.sums = self.sums + added
        return state

    def _note_order(self, state: RecallState) -> RecallState:
        self._first = tuple(state.scope.nums[state.candidates.rows[:ORDER_MAX]].tolist())
        return state

    def recalled(
        self,
        optimizer: Recalling,
        text: str,
        asked: dict[str, Any],
        *,
        plan: str = "",
        gone: Collection[str] = (),
        served: Served = BY_RULES,
    ) -> tuple[RecallResult, Order | None]:
        """Recall by a plan, without arms, or by a version; return the result and the first memories."""
        self._served, self._plan, self._gone, self._first = served, plan, frozenset(gone), None
        return optimizer.recall(text, **asked), self._first

    def close(self) -> None:
        self.plain.close()
        self.watched.close()


class Replays:
    """Makes replays, one at a time. Threads share it."""

    def __init__(self, optimizer: Recalling, shelf: Shelf) -> None:
        self._optimizer, self._shelf = optimizer, shelf
        self._lock = threading.Lock()
        self._pairs: dict[str, _Pair] = {}

    def of(self, request: RecallRequest, scope: Scope, judged: Iterable[int]) -> Replay | None:
        """Return what the query finds, and would have found; `None` where the scope has nothing any more."""
        with self._lock:
            pair = self._pair(scope)
            asked = _asked(request, scope)
            result, rules = pair.recalled(pair.watched, request.text, asked)
            if not rules:
                return None
            orders: dict[str, Order] = {RULES: rules}
            best = self._best(pair, result.plan.arms, scope, set(judged))
            ways: dict[str, dict[str, Any]] = {
                f"{PLAN}{name}": {"plan": name} for name in PLANS if name != result.plan.name
            }
            if len(result.plan.arms) > 1:
                ways |= {f"{WITHOUT}{arm.name}": {"gone": (arm.name,)} for arm in result.plan.arms}
            ways |= {f"{VERSION}{one.label}": {"served": one} for one in to_replay(self._shelf, scope)}
            for name, way in ways.items():
                _, order = pair.recalled(pair.plain, request.text, asked, **way)
                if order is not None:
                    orders[name] = order
            return Replay(plan=result.plan.name, orders=orders, **best)

    def close(self) -> None:
        with self._lock:
            for pair in self._pairs.values():
                pair.close()
            self._pairs.clear()

    def _pair(self, scope: Scope) -> _Pair:
        settings = self._optimizer.config_of(scope)
        found = self._pairs.get(settings.fingerprint)
        if found is None:
            while len(self._pairs) >= PAIRS_KEPT:
                self._pairs.pop(next(iter(self._pairs))).close()
            values = {"mode": "rule", "cache": CacheConfig(), "scopes": ()}
            watching = self._optimizer.ranker is None and settings.ranking.strategy == FixedWeights.name
            config = settings.with_settings(values.items())
            found = self._pairs[settings.fingerprint] = _Pair(self._optimizer, config, watching=watching)
        return found

    def _best(self, pair: _Pair, arms: Iterable[Any], scope: Scope, judged: set[int]) -> dict[str, Any]:
        """Return the best candidates, and those that were judged, with their features."""
        seen = None if pair.ranker is None else pair.ranker.seen
        scope_id = self._optimizer.store.scope_id(scope)
        if seen is None or scope_id is None or not seen.size:
            return {}
        names, view = learnable(), self._optimizer.store.view(scope_id)
        x = entered(seen, names).T
        for arm in arms:
            own = [names.index(name) for name in seen.known.evidence.get(arm.name, ()) if name in names]
            if arm.weight != 1 and own:
                x[:, own] *= np.float32(arm.weight)
        place = {int(row): i for i, row in enumerate(seen.rows)}
        nums = view.nums[pair.rows].tolist()
        kept = [
            i
            for i, (row, num) in enumerate(zip(pair.rows.tolist(), nums, strict=True))
            if row in place and (i < CANDIDATES_MAX or num in judged)
        ]
        rows = pair.rows[kept].tolist()
        return {
            "nums": tuple(nums[i] for i in kept),
            "offset": pair.sums[kept].astype(np.float32),
            "names": names,
            "x": x[[place[row] for row in rows]].astype(np.float32),
        }


def _asked(request: RecallRequest, scope: Scope) -> dict[str, Any]:
    """Return the arguments of a replay: those of the recall, but for those of its delivery."""
    return {
        "k": max(request.k, K_MIN),
        "scope": scope,
        "filters": request.filters,
        "now": request.now,
        "window": request.window,
        "timezone": None if request.zone is None else request.zone.key,
        "query_vector": request.vector,
        "as_of": request.as_of,
        "time_budget_ms": TIME_BUDGET_MS,
        "score_min": 0.0,
    }
