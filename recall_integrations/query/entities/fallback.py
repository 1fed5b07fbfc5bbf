"""When a language model is asked about open mentions: time, failures, calls under way, remembered answers.

What is asked, and what an answer may choose, is in `choice`.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.query.entities.choice import (
    Answers,
    Question,
    Refs,
    parse_answer,
    prompt_for,
    questions_for,
    settled,
)
from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.resilience.daemons import Busy
from recall_integrations.types import Degradation

STAGE = "parse.entities.llm"
FAILURES_MAX = 3
OFF_SECONDS = 60.0
DURATIONS_REMEMBERED = 32


# -- when it is asked --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Call:
    """A call that is under way."""

    key: tuple[bytes, ...]
    over: threading.Event = field(default_factory=threading.Event)
    answers: Answers = field(default_factory=dict)
    reason: str = ""  # why there are no answers
    detail: str = ""
    late: bool = False  # counted as a failure already


class EntityFallback:
    """Asks a language model about open mentions, within bounds. Never raises; threads may share one.

    An answer in time is used, a late one is there for the next query. Answers are kept by scope, mention, candidates
    and the telling words around: a name that is added to the scope or leaves it makes another question only where it
    is a candidate. Who asks what is under way waits for that call.

    What went wrong comes back as a `Degradation` of stage `parse.entities.llm`: `timeout`; `error`, the model raised;
    `failure.answer`, it said something else than was asked for; `skip.budget`, there is less time than recent calls
    took (each refusal forgets one of them, so that a slow start is not held against it for ever); `skip.breaker`, off
    for 60 seconds after three failures in a row; `skip.busy`, enough calls are under way.

    Args:
        llm: from prompt to answer (see `resolve_llm`); `None` = off.
        submit: starts a call beside the caller, such as `DaemonThreads.submit`.
        timeout_ms: longest wait.
        cache_max: answers that are kept; the least recently used leaves.
        candidates_max: names that one prompt may hold.
        concurrent_max: calls under way at once.
        clock: monotonic seconds.

    Raises:
        InvalidArgument: a bound is not a positive number (`cache_max` may be 0).
    """

    def __init__(
        self,
        llm: Callable[[str], str] | None,
        submit: Callable[..., Future[Any]],
        *,
        timeout_ms: float,
        cache_max: int = 1_000,
        candidates_max: int = 20,
        concurrent_max: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value, low in (
            ("timeout_ms", timeout_ms, 1),
            ("cache_max", cache_max, 0),
            ("candidates_max", candidates_max, 1),
            ("concurrent_max", concurrent_max, 1),
        ):
            if not low <= value <= 1e9:
                raise InvalidArgument(f"{name} must be a number from {low} on, not {value!r}.")
        self._llm, self._submit, self._clock = llm, submit, clock
        self._timeout_ms, self._cache_max, self._candidates_max = float(timeout_ms), cache_max, candidates_max
        self._lock = threading.Lock()
        self._free = concurrent_max
        self._under_way: dict[tuple[bytes, ...], _Call] = {}
        self._cache: OrderedDict[bytes, str | None] = OrderedDict()
        self._took_ms: deque[float] = deque(maxlen=DURATIONS_REMEMBERED)
        self._failures = 0
        self._off_until = float("-inf")

    def resolve(
        self,
        text: str,
        refs: Refs,
        index: EntityIndex,
        *,
        scope_id: Hashable,
        threshold: float,
        budget_ms: float,
        reserved: Sequence[tuple[int, int]] = (),
    ) -> tuple[Refs, tuple[Degradation, ...]]:
        """The references to use instead of `refs`, and what went wrong.

        Args:
            text: the query.
            refs: what `index.resolve` found in it.
            index: names of the scope.
            scope_id: tells scopes apart in the cache.
            threshold: confidence above which a reference is sure.
            budget_ms: time there is for it; no more than `timeout_ms` of it is used.
            reserved: spans that are not entities (dates, negations), as given to `index.resolve`.
        """
        if self._llm is None:
            return refs, ()
        try:
            questions = questions_for(
                text,
                refs,
                index,
                scope_id=scope_id,
                threshold=threshold,
                candidates_max=self._candidates_max,
                reserved=reserved,
            )
            answers = self._remembered(questions)
            left = [q for q in questions if q.key not in answers]
            problem = None
            if left:
                fresh, problem = self._ask(left, min(budget_ms, self._timeout_ms))
                answers.update(fresh)
            return settled(text, refs, questions, answers), () if problem is None else (problem,)
        except Exception as e:  # noqa: BLE001 - the given references are a good answer; the failure is named beside them
            return refs, (
                Degradation(stage=STAGE, reason="error", detail=f"{type(e).__name__} in the entity fallback."),
            )

    def _remembered(self, questions: Sequence[Question]) -> Answers:
        with self._lock:
            found = {q.key: self._cache[q.key] for q in questions if q.key in self._cache}
            for key in found:
                self._cache.move_to_end(key)
            return found

    def _ask(self, questions: Sequence[Question], budget_ms: float) -> tuple[Answers, Degradation | None]:
        if not budget_ms > 0:
            return {}, Degradation(stage=STAGE, reason="skip.budget", detail="No time is left.")
        key = tuple(q.key for q in questions)
        with self._lock:
            call = self._under_way.get(key)
            begins = call is None
            if call is None:
                refused = self._refusal(budget_ms)
                if refused:
                    return {}, Degradation(stage=STAGE, reason=refused[0], detail=refused[1])
                call = self._under_way[key] = _Call(key)
                self._free -= 1
        if begins:
            self._start(call, questions)
        if not call.over.wait(budget_ms / 1e3) and self._given_up(call, counts=begins):
            return {}, Degradation(stage=STAGE, reason="timeout", detail=f"No answer within {budget_ms:.0f} ms.")
        problem = Degradation(stage=STAGE, reason=call.reason, detail=call.detail) if call.reason else None
        return call.answers, problem

    def _refusal(self, budget_ms: float) -> tuple[str, str] | None:
        """Why no call may begin now. With the lock held."""
        if self._clock() < self._off_until:
            return (
                "skip.breaker",
                f"{FAILURES_MAX} calls in a row failed; asked again {OFF_SECONDS:.0f} s after the last.",
            )
        if self._free < 1:
            return "skip.busy", "As many calls as are allowed are under way."
        if self._took_ms and (median := statistics.median(self._took_ms)) > budget_ms:
            self._took_ms.popleft()
            return "skip.budget", f"Recent calls took {median:.0f} ms; there are {budget_ms:.0f}."
        return None

    def _start(self, call: _Call, questions: Sequence[Question]) -> None:
        try:
            future = self._submit(self._answer, questions)
        except Exception as e:  # noqa: BLE001 - a pool that is shut down, no thread to be had: as if the call had failed
            future = Future()
            future.set_exception(e)
        # However a call ends, run or not, its place is given back.
        future.add_done_callback(partial(self._ended, call))

    def _answer(self, questions: Sequence[Question]) -> tuple[Answers, float]:
        assert self._llm is not None
        begin = self._clock()
        answers = parse_answer(self._llm(prompt_for(questions)), questions)
        return answers, (self._clock() - begin) * 1e3

    def _ended(self, call: _Call, future: Future[tuple[Answers, float]]) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        with self._lock:
            self._under_way.pop(call.key, None)
            self._free += 1
            if isinstance(error, Busy):
                call.reason, call.detail = "skip.busy", "No thread is free."
            elif error is not None:
                # Not its message: it may quote the prompt, and with it names that the caller may not see.
                call.reason = "error"
                call.detail = f"The language model raised {type(error.__cause__ or error).__name__}."
            else:
                call.answers, took_ms = future.result()
                self._took_ms.append(took_ms)
                self._remember(call.answers)
                if not call.answers:
                    call.reason, call.detail = "failure.answer", "The language model chose none of what it was offered."
            if not call.late and call.reason != "skip.busy":
                self._count(failed=bool(call.reason))
        call.over.set()

    def _remember(self, answers: Answers) -> None:
        for key, entity_id in answers.items():
            self._cache[key] = entity_id
            self._cache.move_to_end(key)
        while len(self._cache) > self._cache_max:
            self._cache.popitem(last=False)

    def _given_up(self, call: _Call, *, counts: bool) -> bool:
        """Whether a call is late; false if it has just ended. It counts for whoever began it: others had less time."""
        with self._lock:
            if self._under_way.get(call.key) is not call:
                return False
            if counts:
                call.late = True
                self._count(failed=True)
            return True

    def _count(self, *, failed: bool) -> None:
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= FAILURES_MAX:
            self._off_until = self._clock() + OFF_SECONDS
            self._failures = FAILURES_MAX - 1  # the first call after the pause is a trial
