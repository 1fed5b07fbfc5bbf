"""Feedback on recalls: checked, kept at once, and replayed a moment later in a thread of its own.

A replay asks a judged query again: by the rules, by every other plan, without each arm, and by what was learned. It is
made of recalls of the same store, without an LLM or a reranker, which would cost money or time. It keeps the numbers of
the memories that they find, and the features of the best candidates.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.errors import InvalidArgument, NotFound, RecallError, StoreClosed
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.making import learnable
from recall_integrations.learning.measuring import PLAN, VERSION, WITHOUT
from recall_integrations.learning.versions import BY_RULES, Served, Shelf, Version, signature_of, to_replay
from recall_integrations.privacy.door import told
from recall_integrations.ranking.feature_sum import FixedWeights, Ranking, entered
from recall_integrations.ranking.features.compute import Features
from recall_integrations.recall.looking import RESULTS_MAX, Lately, Recalled
from recall_integrations.recall.runner import FunctionStage, RecallState
from recall_integrations.records import changed
from recall_integrations.resilience import forking
from recall_integrations.types import RecallResult, Scope, ScopeLike, checked_scope
from recall_integrations.types.judged import CANDIDATES_MAX, GAINS_MAX, ORDER_MAX, RULES, Gain, Judged, Order, Replay
from recall_integrations.types.numbers import is_number
from recall_integrations.types.observing import Feedback, RecallRequest
from recall_integrations.types.query import PLANS

Recalling = Any  # a `QueryOptimizer`, which is made above this room
K_MIN = 10  # hits of a replay: an order is compared to the fifth place, and hits that are moved up come from behind
TIME_BUDGET_MS = 5_000.0
OPTIMIZERS_KEPT = 8  # of scopes with settings of their own


class _Watching(FixedWeights):
    """The fixed sum, which keeps the features that it scored last."""

    may_hang = False

    def __init__(self) -> None:
        super().__init__()
        self.seen: Features | None = None

    def score(self, features: Features) -> Ranking:
        self.seen = features
        return super().score(features)


class _Replaying:
    """The optimizer that makes replays of one configuration, and what it notes of the last one."""

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
        self._optimizer = optimizer.varied(config=config, stages=stages, outside=False)

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
        text: str,
        asked: dict[str, Any],
        *,
        plan: str = "",
        gone: Collection[str] = (),
        served: Served = BY_RULES,
    ) -> tuple[RecallResult, Order | None]:
        """Recall by a plan, without arms, or by a version; return the result and the first memories."""
        self._served, self._plan, self._gone, self._first = served, plan, frozenset(gone), None
        return self._optimizer.recall(text, **asked), self._first

    def close(self) -> None:
        self._optimizer.close()


class Replays:
    """Makes replays, one at a time. Threads share it."""

    def __init__(self, optimizer: Recalling, shelf: Shelf) -> None:
        self._optimizer, self._shelf = optimizer, shelf
        self._lock = threading.Lock()
        self._kept: dict[str, _Replaying] = {}

    def of(self, request: RecallRequest, scope: Scope, judged: Iterable[int]) -> Replay | None:
        """Return what the query finds, and would have found; `None` where the scope has nothing any more."""
        with self._lock:
            replaying = self._replaying(scope)
            asked = _asked(request, scope)
            result, rules = replaying.recalled(request.text, asked, served=Served(ranker=replaying.ranker))
            if not rules:
                return None
            orders: dict[str, Order] = {RULES: rules}
            best = self._best(replaying, result.plan.arms, scope, set(judged))
            ways: dict[str, dict[str, Any]] = {
                f"{PLAN}{name}": {"plan": name} for name in PLANS if name != result.plan.name
            }
            if len(result.plan.arms) > 1:
                ways |= {f"{WITHOUT}{arm.name}": {"gone": (arm.name,)} for arm in result.plan.arms}
            ways |= {f"{VERSION}{one.label}": {"served": one} for one in to_replay(self._shelf, scope)}
            for name, way in ways.items():
                _, order = replaying.recalled(request.text, asked, **way)
                if order is not None:
                    orders[name] = order
            return Replay(plan=result.plan.name, orders=orders, **best)

    def close(self) -> None:
        with self._lock:
            for replaying in self._kept.values():
                replaying.close()
            self._kept.clear()

    def _replaying(self, scope: Scope) -> _Replaying:
        settings = self._optimizer.config_of(scope)
        found = self._kept.get(settings.fingerprint)
        if found is None:
            while len(self._kept) >= OPTIMIZERS_KEPT:
                self._kept.pop(next(iter(self._kept))).close()
            values = {"mode": "rule", "cache": CacheConfig(), "scopes": ()}
            watching = self._optimizer.ranker is None and settings.ranking.strategy == FixedWeights.name
            config = settings.with_settings(values.items())
            found = self._kept[settings.fingerprint] = _Replaying(self._optimizer, config, watching=watching)
        return found

    def _best(self, replaying: _Replaying, arms: Iterable[Any], scope: Scope, judged: set[int]) -> dict[str, Any]:
        """Return the best candidates, and those that were judged, with their features."""
        seen = None if replaying.ranker is None else replaying.ranker.seen
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
        nums = view.nums[replaying.rows].tolist()
        kept = [
            i
            for i, (row, num) in enumerate(zip(replaying.rows.tolist(), nums, strict=True))
            if row in place and (i < CANDIDATES_MAX or num in judged)
        ]
        rows = replaying.rows[kept].tolist()
        return {
            "nums": tuple(nums[i] for i in kept),
            "offset": replaying.sums[kept].astype(np.float32),
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


logger = logging.getLogger("recall_integrations")
# How sure each kind of feedback is: a person pointed at the memory; the answer quotes it; a thumb for the whole answer;
# the user asked again at once.
SAID, CITED, RATED, AGAIN = 1.0, 0.5, 0.3, 0.2
WAITING_MAX = 64  # replays that wait, each in a thread; who judges one more makes the next itself
CLOSE_S = 5.0  # seconds that the end of an optimizer waits for them
Waiting = tuple[RecallRequest, Scope, str, tuple[int, ...]]


class Judging:
    """Keeps feedback on an optimizer's recalls. Threads share it."""

    def __init__(self, optimizer: Recalling, lately: Lately, shelf: Shelf) -> None:
        self._optimizer, self._lately = optimizer, lately
        self._replays = Replays(optimizer, shelf)
        self._begin()

    def _begin(self) -> None:
        self._depth = forking.depth()
        self._waiting: deque[Waiting] = deque()
        self._doing = threading.Lock()

    def feedback(
        self,
        result: RecallResult | str,
        *,
        rating: float | bool | None,
        asked_again: bool,
        scope: ScopeLike | None,
        query: str | None,
        now: datetime | None,
        privacy: str,
        **ids: Iterable[str],
    ) -> Feedback:
        """Keep feedback as `QueryOptimizer.feedback` does; `ids` are `helpful`, `wrong` and `cited`."""
        given = {name: ids_of(of_name, name) for name, of_name in ids.items()}
        named = len(dict.fromkeys(one for ids in given.values() for one in ids))
        if named > GAINS_MAX:
            raise InvalidArgument(
                f"helpful, wrong and cited may name at most {GAINS_MAX} memories together, not {named}."
            )
        stars = _rating(rating)
        if both := sorted(set(given["helpful"] + given["cited"]) & set(given["wrong"])):
            raise InvalidArgument(f"The memory {both[0]!r} cannot be both helpful (or cited) and wrong.")
        if not any(given.values()) and stars is None and not asked_again:
            raise InvalidArgument("Say something: helpful=[ids], wrong=[ids], cited=[ids], rating or asked_again.")
        result_id, asked, anew = self._asked(result, scope, query, now, privacy)
        said = _said(asked.shown, given, stars, again=asked_again, default=asked.request.scope)
        gains: dict[Scope, dict[str, float]] = {}
        ignored: list[str] = []
        for where, of_ids in said.items():
            gains[where], unknown = self._kept(result_id, asked, where, of_ids, anew=anew)
            ignored += unknown
        kinds = [name for name, ids in given.items() if ids]
        kinds += ["rating"] * (stars is not None) + ["asked_again"] * asked_again
        return Feedback(result_id=result_id, gains=gains, ignored=tuple(ignored), anew=anew, kinds=tuple(kinds))

    def scopes_of(self, result_id: str) -> tuple[Scope, ...]:
        found = self._lately.get(result_id)
        return () if found is None else found.request.scopes or (found.request.scope,)

    def flush(self, timeout: float | None = None) -> bool:
        """Make the replays that wait; say whether all of them were made in the time."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._waiting:
            if end is not None and time.monotonic() >= end:
                return False
            self._next()
        with self._doing:
            return True

    def close(self) -> None:
        """Make the replays that wait, for `CLOSE_S` seconds at most."""
        if self._depth != forking.depth():
            return
        if not self.flush(CLOSE_S):
            logger.warning("%d judged recalls were not replayed: nothing is learned from them.", len(self._waiting))
            self._waiting.clear()
        self._replays.close()

    # -- the recall --------------------------------------------------------------------------------------------------

    def _asked(
        self,
        result: RecallResult | str,
        scope: ScopeLike | None,
        query: str | None,
        now: datetime | None,
        privacy: str,
    ) -> tuple[str, Recalled, bool]:
        """Return the id of the result, its recall, and whether that had to be made up from the query."""
        if not isinstance(result, RecallResult | str) or (isinstance(result, str) and not result.strip()):
            raise InvalidArgument(f"result must be a RecallResult or its id, not {result!r:.60}.")
        result_id = result if isinstance(result, str) else result.id
        if len(result_id) > 200:
            raise InvalidArgument("The id of a result has at most 200 characters.")
        found = self._lately.get(result_id)
        where = None if scope is None else checked_scope(scope)
        if found is not None:
            scopes = found.request.scopes or (found.request.scope,)
            if where is None or where in scopes:
                return result_id, found, False
            found = None  # nobody may learn whose recall it is
        if query is None:
            raise NotFound(
                f"There is no recall {result_id!r} here: the last {RESULTS_MAX:,} of this "
                "optimizer are remembered, and each process has its own. "
                "Give its query= and scope= as well."
            )
        request = self._optimizer.checked_request(query, scope=scope, now=now, mode=privacy)
        parsed = self._optimizer.parse(request.text, scope=request.scope, now=request.now)
        shown: tuple[tuple[Scope, str], ...] = ()
        if isinstance(result, RecallResult):
            shown = tuple((hit.scope or request.scope, hit.memory.id or "") for hit in result.hits)
        made = Recalled(request=request, shown=shown, version=RULES, signature=lambda: signature_of(parsed))
        return result_id, made, True

    def _kept(
        self, result_id: str, asked: Recalled, scope: Scope, said: dict[str, tuple[float, float]], *, anew: bool
    ) -> tuple[dict[str, float], list[str]]:
        """Keep what was said of the memories of a scope; return the gains that are kept, and ids of what is not there.

        Of many hits that a rating is against, the first `GAINS_MAX` count.
        """
        store = self._optimizer.store
        nums = store.numbers(scope, list(said))
        places = {one: place for place, (where, one) in enumerate(asked.shown, start=1) if where == scope}
        gains = [
            Gain(num=nums[one], gain=gain, sure=sure, place=places.get(one, 0))
            for one, (gain, sure) in said.items()
            if one in nums
        ][:GAINS_MAX]
        if not gains:
            return {}, list(said)
        request, learned = asked.request, self._optimizer.config.learned
        judged = Judged(
            result_id=result_id,
            at=to_micros(store.clock()),
            signature=asked.signature(),
            version=RULES if anew else asked.version,
            gains=tuple(gains),
        )
        kept = store.judgements.put(scope, judged, settings=learned)
        if not kept:
            return {}, list(said)
        own = tuple(gain.num for gain in gains if gain.num in kept)
        if own:
            self._add((request, scope, result_id, own))
        return (
            {one: gain for one, (gain, _) in said.items() if nums.get(one) in own},
            [one for one in said if one not in nums],
        )

    # -- replays -----------------------------------------------------------------------------------------------------

    def _add(self, waiting: Waiting) -> None:
        if self._depth != forking.depth():
            self._begin()
        self._waiting.append(waiting)
        if len(self._waiting) > WAITING_MAX:
            self._next()
            return
        try:
            threading.Thread(target=self._next, name="recall-replaying", daemon=True).start()
        except RuntimeError:  # no thread can be started
            self._next()

    def _next(self) -> None:
        with self._doing:
            try:
                request, scope, result_id, nums = self._waiting.popleft()
            except IndexError:
                return
            try:
                replay = self._replays.of(request, scope, nums)
                if replay is not None:
                    self._optimizer.store.judgements.replayed(scope, result_id, replay)
            except StoreClosed:
                self._waiting.clear()
            except RecallError as e:
                logger.warning("A judged recall could not be replayed: %s", told(e))


def ids_of(given: Iterable[str], name: str) -> tuple[str, ...]:
    """Check ids of memories, and return each once."""
    if isinstance(given, str):
        raise InvalidArgument(f"{name} must be a list of ids, not {given!r}: {name}=[{given!r}].")
    try:
        ids = tuple(dict.fromkeys(given))
    except TypeError as e:
        raise InvalidArgument(f"{name} must be a list of ids, not {type(given).__name__}.") from e
    if not all(isinstance(one, str) and one for one in ids):
        raise InvalidArgument(f"{name} must be a list of ids, which are text.")
    if len(ids) > GAINS_MAX:
        raise InvalidArgument(f"{name} may name at most {GAINS_MAX} memories, not {len(ids)}.")
    return ids


def _rating(given: float | bool | None) -> float | None:
    """Return a rating from 0 (of no use) to 1 (just what was asked for); a thumb is 0 or 1."""
    if given is None:
        return None
    if isinstance(given, bool):
        return float(given)
    if not is_number(given) or not 0 <= given <= 1:
        raise InvalidArgument(f"rating must be a number from 0 to 1, True (thumbs up) or False, not {given!r}.")
    return float(given)


def _said(
    shown: Sequence[tuple[Scope, str]], given: dict[str, Any], rating: float | None, *, again: bool, default: Scope
) -> dict[Scope, dict[str, tuple[float, float]]]:
    """Return scope → memory → (gain, how sure), from all that was said of it; the surest counts."""
    home = {one: where for where, one in reversed(shown)}
    said: dict[Scope, dict[str, tuple[float, float]]] = {}

    def say(one: str, gain: float, sure: float, where: Scope | None = None) -> None:
        of_scope = said.setdefault(where or home.get(one, default), {})
        if one not in of_scope or of_scope[one][1] < sure:
            of_scope[one] = (gain, sure)

    for name, gain, sure in (("helpful", 1.0, SAID), ("wrong", 0.0, SAID), ("cited", 1.0, CITED)):
        for one in given[name]:
            say(one, gain, sure)
    if rating is not None and rating < 0.5:
        for where, one in shown:
            say(one, 0.0, RATED, where)
    elif rating is not None and not given["helpful"] and not given["cited"] and shown:
        say(shown[0][1], rating, RATED, shown[0][0])  # the first hit is the likeliest one meant
    if again:
        for where, one in shown:
            say(one, 0.0, AGAIN, where)
    return said
