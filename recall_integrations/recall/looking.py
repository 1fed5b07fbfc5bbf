"""Who looks on at recalls: observers of whole recalls, watchers; and the last recalls, on which feedback may come.

`Looking` tells observers (`types.observing`) about each recall; `Watched` tells a watcher (`recall(watch=…)`) what one
does, a step at a time. Their errors cannot cost the answer. Without them nothing of it is made or called.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import itertools
import logging
import secrets
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from recall_integrations.errors import RecallError
from recall_integrations.privacy.door import Door, told
from recall_integrations.records import changed, record
from recall_integrations.resilience import forking
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import TIMEOUT
from recall_integrations.types import Degradation, RecallResult, Scope
from recall_integrations.types.judged import RULES
from recall_integrations.types.observing import (
    ArmSeen,
    Look,
    PartSeen,
    RecallEvent,
    RecallObserver,
    RecallRequest,
    Step,
)

if TYPE_CHECKING:
    from recall_integrations.arms.base import ArmResult
    from recall_integrations.recall.runner import RecallState


PAUSE_SECONDS = 0.05  # seconds between two rounds
ROUNDS_MAX = 40  # rounds without work, after which the thread ends
WAITING_MAX = 1_024  # calls that wait; a thread that brings one more does them itself
Call = Callable[[], object]


class Later:
    """Does calls in their order, a moment later, in a thread that ends when there are none. They must not raise.

    Threads share it. The work of observers takes as long as a tenth of a recall. Amid the work of recalls each of these
    calls finds the processor's caches filled with other things; many in a row take a third of the time, and no caller
    waits for them.

    Calls that wait are done too when this object goes, and when the process ends as it should.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._work = work = _Work()
        weakref.finalize(self, work.do)  # when this goes, or the process ends

    def add(self, call: Call) -> None:
        """Add a call. Return at once."""
        if not self._work.own:
            self._begin()
        work = self._work
        work.waiting.append(call)
        if len(work.waiting) > WAITING_MAX:
            work.do()
        elif not work.running:
            work.start()

    def flush(self) -> None:
        """Do the calls that wait, and wait for those that are being done."""
        self._work.do()


class _Work:
    """The waiting calls of one process: a forked child has the parent's, whose lock a thread of the parent may hold."""

    def __init__(self) -> None:
        self._depth = forking.depth()
        self.waiting: deque[Call] = deque()
        self.running = False
        self._doing = threading.RLock()  # a call may bring others
        self._starting = threading.Lock()

    @property
    def own(self) -> bool:
        """True where it belongs to this process."""
        return self._depth == forking.depth()

    def start(self) -> None:
        with self._starting:
            if self.running:
                return
            self.running = True
        try:
            threading.Thread(target=self._rounds, name="recall-observers", daemon=True).start()
        except RuntimeError:  # no thread can be started: the process ends, or has too many
            self.running = False
            self.do()

    def do(self, pause: Callable[[], None] | None = None) -> None:
        """Do all calls that wait; a thread that comes meanwhile waits for that."""
        if not self.own:
            return
        with self._doing:
            while self.waiting:
                call = self.waiting.popleft()
                call()
                if pause is not None:
                    pause()

    def _rounds(self) -> None:
        idle = 0
        breathe = functools.partial(time.sleep, 0)  # recalls come first
        while True:
            time.sleep(PAUSE_SECONDS)
            idle = 0 if self.waiting else idle + 1
            self.do(breathe)
            if idle < ROUNDS_MAX:
                continue
            self.running = False
            if not self.waiting:  # a thread that adds a call from here on sees that nothing runs
                return
            self.running, idle = True, 0


RESULTS_MAX = 2_000  # recalls of an optimizer that are remembered for feedback
_PREFIX_BYTES = 6


@record(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A recall that was answered."""

    request: RecallRequest  # the recall's arguments
    shown: tuple[tuple[Scope, str], ...]  # scope and id of each hit, in order
    version: str = RULES  # name of the version that answered: `rules`, `v3`
    signature: Callable[[], str]  # makes the signature of the query when somebody asks


class Lately:
    """Remembers recalls. Threads share it. A forked child begins other ids, and remembers nothing yet."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._depth = forking.depth()
        self._prefix, self._counter = secrets.token_hex(_PREFIX_BYTES), itertools.count(1)
        self._kept: OrderedDict[str, Recalled] = OrderedDict()
        self._lock = threading.Lock()

    def new_id(self) -> str:
        """Return the id of a result: distinct from all that were ever given."""
        if self._depth != forking.depth():
            self._begin()
        return f"{self._prefix}-{next(self._counter):x}"

    def note(
        self, result_id: str, request: RecallRequest, result: RecallResult, version: str, signature: Callable[[], str]
    ) -> None:
        """Remember a recall."""
        where = request.scope
        shown = tuple([(hit.scope or where, hit.memory.id or "") for hit in result.hits])
        if request.watch is not None:  # whoever watches is not kept alive
            request = changed(request, watch=None)
        kept = Recalled(request=request, shown=shown, version=version, signature=signature)
        with self._lock:
            self._kept[result_id] = kept
            if len(self._kept) > RESULTS_MAX:
                self._kept.popitem(last=False)

    def get(self, result_id: str) -> Recalled | None:
        """Return a recall; `None` = it is not remembered, or not any more."""
        with self._lock:
            return self._kept.get(result_id)

    def forget(self) -> None:
        """Forget all recalls."""
        with self._lock:
            self._kept.clear()


logger = logging.getLogger("recall_integrations")
ARMS = "arms"
DIGEST_BYTES = 8
Searching = tuple[str, float, float]  # an arm, when it began, when it ended


class Looking:
    """The observers of one optimizer. Threads share it."""

    def __init__(self, observers: Sequence[RecallObserver], key: bytes) -> None:
        self.observers, self._key = tuple(observers), key[:64]
        self.later = Later()
        self._complained: set[str] = set()

    def tell_later(self, what: str, value: object) -> None:
        """Tell observers in the thread for that; `what` is `refused`, `learned` or `judged`."""
        context = contextvars.copy_context()
        for observer in self.observers:
            call = functools.partial(getattr(observer, what), value)
            self.later.add(functools.partial(context.run, self.tell, observer, call))

    def tell(self, observer: RecallObserver, call: Callable[[], object]) -> None:
        """Tell an observer. If it raises, log that once for each kind of error."""
        try:
            call()
        except failures() as e:
            kind = f"{type(observer).__name__} raised {type(e).__name__}"
            if kind not in self._complained:
                self._complained.add(kind)
                logger.warning("The observer %s: %s. It is told of further recalls.", kind, told(e))

    def digest(self, scope: str) -> str:
        """Return the digest of a scope under the key of this store."""
        return hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=DIGEST_BYTES, key=self._key).hexdigest()


class Looked:
    """One recall that is observed. Work that can wait is done when observers are told."""

    def __init__(self, looking: Looking, request: RecallRequest, thresholds: Mapping[str, float]) -> None:
        self._looking, self.request, self._thresholds = looking, request, thresholds
        self._context = contextvars.copy_context()
        self.began_s = self._stage_s = time.perf_counter()
        self._parts: list[Callable[[], PartSeen]] = []
        self._searched: list[_Searched] = []
        self._raised: list[BaseException] = []
        self._of = [(observer, self._begun(observer)) for observer in looking.observers]
        self._looks = [look for _, look in self._of if look is not None]

    def stage(self, name: str) -> None:
        """Tell the observers that a stage begins."""
        self._stage_s = time.perf_counter()
        for look in self._looks:
            self._asked(look.stage, name)

    def ended(
        self, name: str, state: RecallState, failed: bool, degraded: Sequence[Degradation], searching: list[Searching]
    ) -> None:
        """Tell the observers that a stage has ended."""
        if name == ARMS:
            late = [problem.stage for problem in degraded if problem.reason == TIMEOUT]
            self._searched.append(_Searched(searching, late, self._stage_s, time.perf_counter()))
        if self._looks:
            told = state.door.degradations(degraded) if degraded else ()
            for look in self._looks:
                self._asked(look.ended, name, failed, told)

    def computed(self, state: RecallState, hydrated: int, read: int) -> None:
        """Note the figures of one scope, all stages of which have ended."""
        fused = state.fused
        first = () if fused is None else fused.rows[: len(state.hits)].tolist()
        searched, self._searched = self._searched, []
        candidates = 0 if fused is None else len(fused.rows)
        # Nothing that is kept until observers are told holds the scope's columns.
        arms = functools.partial(_arms, searched, state.results, frozenset(first))
        figures = {"level": state.level, "candidates": candidates, "hydrated": hydrated, "read": read}
        self._parts.append(lambda: PartSeen(arms=arms(), **figures))

    def answered(self, result: RecallResult, door: Door, error: BaseException | None = None) -> RecallResult:
        """Tell the observers of the answer, and return it with a note on observers that raised."""
        self._over(result, error)
        if not self._raised:
            return result
        e = self._raised[0]
        named = Degradation(stage="observer", reason="error", detail=f"{type(e).__name__}: {e}")
        return replace(result, degraded=(*result.degraded, *door.degradations((named,))))

    def failed(self, error: BaseException) -> None:
        """Tell the observers that the recall failed."""
        self._over(None, error)

    def _over(self, result: RecallResult | None, error: BaseException | None) -> None:
        took_ms = (time.perf_counter() - self.began_s) * 1e3
        for look in self._looks:
            self._asked(look.over)
        self._looking.later.add(functools.partial(self._context.run, self._tell, took_ms, result, error))

    def _tell(self, took_ms: float, result: RecallResult | None, error: BaseException | None) -> None:
        request = self.request
        event = RecallEvent(
            took_ms=took_ms,
            privacy=request.privacy,
            k=request.k,
            scopes=tuple(self._looking.digest(str(scope)) for scope in request.scopes or (request.scope,)),
            thresholds=self._thresholds,
            parts=tuple(part() for part in self._parts),
            result=result,
            error=error,
        )
        for observer, look in self._of:
            self._looking.tell(observer, functools.partial(observer.recalled, event, look))

    def _begun(self, observer: RecallObserver) -> Look | None:
        try:
            return observer.begin()
        except failures() as e:  # as in `_asked`
            self._raised.append(e)
            return None

    def _asked(self, call: Callable[..., object], *args: object) -> None:
        try:
            call(*args)
        except failures() as e:  # an observer must not cost the answer; the result names it
            self._raised.append(e)


class _Searched(NamedTuple):
    """A run of the arms: those that searched, those that were given up, its begin and its end."""

    searching: list[Searching]
    late: list[str]
    began_s: float
    ended_s: float


def _arms(runs: Sequence[_Searched], results: Sequence[ArmResult], first: frozenset[int]) -> tuple[ArmSeen, ...]:
    """Return the arms of each run in the order in which they began; those that were given up last."""
    by_name, arms = {found.arm: found for found in results}, []
    for run in runs:
        last = {one[0]: one for one in run.searching}  # an arm that lacked something in memory was asked again
        for name, began, ended in sorted(last.values(), key=lambda one: one[1]):
            found, took_ms = by_name.get(name), (ended - began) * 1e3
            if found is None:
                arms.append(ArmSeen(name=name, began_s=began, took_ms=took_ms))
                continue
            arms.append(
                ArmSeen(
                    name=name,
                    began_s=began,
                    took_ms=took_ms,
                    found=len(found.rows),
                    placed=len(first.intersection(found.rows.tolist())),
                    seeds=found.seeds,
                    edges=found.edges,
                    by=found.note if name == "semantic" else "",
                )
            )
        took_ms = (run.ended_s - run.began_s) * 1e3
        arms += [ArmSeen(name=n, began_s=run.began_s, took_ms=took_ms) for n in run.late if n not in last]
    return tuple(arms)


FIRST = 10  # number of candidates whose ids are told
Told = Mapping[str, Any]


class Watched:
    """A step that a watcher is told: it ends once, and errors of the watcher are kept. Threads share it."""

    def __init__(self, step: Step | None, raised: list[BaseException], door: Door) -> None:
        self._step, self._raised, self._door = step, raised, door
        self._ended, self._lock = False, threading.Lock()

    def begin(self, name: str, inputs: Told) -> Watched:
        """Begin a step inside of this one."""
        inner: Step | None = None
        if self._step is not None:
            try:
                inner = self._step.begin(name, inputs if self._door.open else {})
            except failures() as e:  # a watcher must not cost the answer; the result names it
                self._raised.append(e)
        return Watched(inner, self._raised, self._door)

    def end(self, outputs: Told, error: BaseException | None = None) -> None:
        """End the step; what comes after that, from a thread that was given up, is not told."""
        with self._lock:
            over, self._ended = self._ended, True
        if over or self._step is None:
            return
        told = outputs if self._door.open else {k: v for k, v in outputs.items() if k == "degraded"}
        try:
            if isinstance(error, Exception):
                error = self._door.error(error)
            self._step.end(told, error)
        except failures() as e:  # as above
            self._raised.append(e)


def outputs(stage: str, state: RecallState, degraded: tuple[Degradation, ...]) -> Told:
    """Return a stage's output and its problems, as JSON has them."""
    if not degraded:
        return shown(stage, 1, state)
    problems = [{"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in degraded]
    return {**shown(stage, 1, state), "degraded": problems}


def failure(stage: str, degraded: tuple[Degradation, ...]) -> RecallError | None:
    """Return the error of a stage whose fallback was taken; `None` where it was left out on purpose."""
    said = next((d for d in degraded if d.stage == stage), None)
    return None if said is None else RecallError(f"{said.reason}: {said.detail}")


def _parsed(state: RecallState) -> Told:
    parsed = state.parsed
    if parsed is None:
        return {}
    window = parsed.temporal_window
    return {
        "language": parsed.language,
        "specificity": round(parsed.specificity, 3),
        "terms": list(parsed.terms),
        "entities": [ref.name for ref in parsed.entity_refs],
        "types": [str(hint) for hint in parsed.type_hints],
        "negations": list(parsed.negations),
        "window": None
        if window is None
        else [None if t is None else t.isoformat() for t in (window.start, window.end)],
    }


def _candidates(state: RecallState) -> Told:
    fused, view = state.fused, state.view
    if fused is None or view is None:
        return {}
    rows, scores = fused.rows[:FIRST].tolist(), fused.scores[:FIRST].tolist()
    best = [{"id": view.ids[row], "score": float(score)} for row, score in zip(rows, scores, strict=True)]
    return {"candidates": len(fused.rows), "best": best, "confidence": state.confidence}


def shown(stage: str, which: int, state: RecallState) -> Told:
    """Return the input (0) or the output (1) of a stage that we know; those of users are told by their names."""
    both = _TOLD.get(stage)
    return {} if both is None else both[which](state)


_Show = Callable[["RecallState"], Told]


def _planned(state: RecallState) -> Told:
    plan = state.planned
    return {} if plan is None else {"plan": plan.name, "arms": [a.name for a in plan.arms], "reason": plan.reason}


def _query(state: RecallState) -> Told:
    return {"query": state.request.text}


def _found(state: RecallState) -> Told:
    return {"found": {result.arm: len(result.rows) for result in state.results}}


def _hits(state: RecallState) -> Told:
    return {"hits": [{"id": hit.memory.id, "score": hit.score} for hit in state.hits], "confidence": state.confidence}


# The input and the output of each stage that we know.
_TOLD: Mapping[str, tuple[_Show, _Show]] = {
    "parse": (_query, _parsed),
    "plan": (_parsed, _planned),
    "embed": (_query, lambda _: {}),
    "arms": (_planned, _found),
    "rank": (_found, _candidates),
    "rewrite": (
        _query,
        lambda state: {
            "strategy": state.rewrite.strategy,
            "reason": state.rewrite.reason,
            "phrasings": list(state.query.rewrites) if state.rewrite.used else [],
        },
    ),
    "rerank": (
        _candidates,
        lambda state: {
            "reranker": state.rerank.reranker,
            "reason": state.rerank.reason,
            "scored": state.rerank.scored,
            **_candidates(state),
        },
    ),
    "arrange": (_candidates, _candidates),
    "deliver": (
        lambda state: {"k": state.request.k, "tokens_max": state.request.tokens_max, **_candidates(state)},
        _hits,
    ),
    "cache": (_query, _hits),
}


def watched(state: RecallState, raised: list[BaseException]) -> Watched | None:
    """Return the watcher of a recall; `None` = nobody watches."""
    watch = state.request.watch
    return None if watch is None else Watched(watch, raised, state.door)
