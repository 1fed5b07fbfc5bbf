"""Call a language model about open mentions: one call for equal questions under way, answers cached.

`choice` writes the questions and reads the answers; the guard decides whether the model is asked at all, within which
time and in which thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from cachetools import LRUCache

from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.door import Door
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
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import EMPTY, ERROR, SUCCESS, TIMEOUT, Answer, Call, Guard
from recall_integrations.types import Degradation

STAGE = "parse.entities.llm"
OPEN = Door()


class EntityFallback:
    """Asks a language model about open mentions, within bounds. Never raises; threads may share one.

    An answer in time is used, a late one is there for the next query. Answers are kept by scope, mention, candidates
    and the telling words around: a name that is added to the scope or leaves it makes another question only if it is
    a candidate. A caller whose question is under way waits for that call.

    A failure comes back as a `Degradation` of stage `parse.entities.llm` with a reason of the guard (`guard.Answer`);
    `failure.answer`: the model's answer chose none of the offered names.

    Args:
        llm: function from prompt to answer (see `resolve_llm`); `None` = off.
        guard: runs the calls.
        cache_max: answers that are kept; the least recently used leaves.
        candidates_max: names that one prompt may hold.

    Raises:
        InvalidArgument: a bound is not a positive number (`cache_max` may be 0).
    """

    def __init__(
        self, llm: Callable[[str], str] | None, guard: Guard, *, cache_max: int = 1_000, candidates_max: int = 20
    ) -> None:
        for name, value, low in (("cache_max", cache_max, 0), ("candidates_max", candidates_max, 1)):
            if not low <= value <= 1e9:
                raise InvalidArgument(f"{name} must be a number from {low} on, not {value!r}.")
        self._llm, self._guard = llm, guard
        self._candidates_max = candidates_max
        self._lock = threading.RLock()  # a call may end before `begin` is back
        self._under_way: dict[tuple[bytes, ...], Call[Answers]] = {}
        self._cache: LRUCache[bytes, str | None] = LRUCache(cache_max)

    def resolve(
        self,
        text: str,
        refs: Refs,
        index: EntityIndex,
        *,
        scope_id: Hashable,
        threshold: float,
        deadline: Deadline,
        reserved: Sequence[tuple[int, int]] = (),
        door: Door = OPEN,
    ) -> tuple[Refs, tuple[Degradation, ...]]:
        """Return the references to use instead of `refs`, and the failures.

        Args:
            text: the query.
            refs: references that `index.resolve` found in it.
            index: names of the scope.
            scope_id: tells scopes apart in the cache.
            threshold: confidence above which a reference is sure.
            deadline: deadline of the caller.
            reserved: spans that are not entities (dates, negations), as given to `index.resolve`.
            door: filter of the prompt; under `block` the model is not asked, but its earlier answers count.
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
            if left and not door.blocked:
                fresh, problem = self._ask(left, deadline, door)
                answers.update(fresh)
            return settled(text, refs, index, questions, answers), () if problem is None else (problem,)
        except Exception as e:  # noqa: BLE001 - the given references are a good answer; the failure is named beside them
            return refs, (
                Degradation(stage=STAGE, reason="error", detail=f"{type(e).__name__} in the entity fallback."),
            )

    def _remembered(self, questions: Sequence[Question]) -> Answers:
        with self._lock:
            return {q.key: self._cache[q.key] for q in questions if q.key in self._cache}

    def _ask(self, questions: Sequence[Question], deadline: Deadline, door: Door) -> tuple[Answers, Degradation | None]:
        key = tuple(q.key for q in questions)
        with self._lock:
            call = self._under_way.get(key)
            mine = call is None
            if call is None:
                begun = self._guard.begin(deadline, self._answer, questions, door)
                if isinstance(begun, Answer):
                    return _told(begun)
                call = self._under_way[key] = begun
        if mine:
            call.future.add_done_callback(lambda _: self._over(key))  # a late answer is waited for by whoever asks next
            return _told(self._guard.ended(call, _nothing))
        return _told(self._joined(call, key, deadline))

    def _joined(self, call: Call[Answers], key: tuple[bytes, ...], deadline: Deadline) -> Answer[Answers]:
        """Wait for a call that somebody else began. If it is late, that counts for the one who began it."""
        answer = self._guard.joined(call, deadline, _nothing)
        if answer.reason == TIMEOUT and call.limit.over:  # it may hang for ever: the next asks anew
            self._over(key)
        return answer

    def _over(self, key: tuple[bytes, ...]) -> None:
        with self._lock:
            self._under_way.pop(key, None)

    def _answer(self, questions: Sequence[Question], door: Door) -> Answers:
        assert self._llm is not None
        answers = parse_answer(self._llm(prompt_for(questions, door.said)), questions)
        with self._lock:
            if self._cache.maxsize:
                self._cache.update(answers)
        return answers


def _nothing(answers: Answers) -> bool:
    return not answers


def _told(answer: Answer[Answers]) -> tuple[Answers, Degradation | None]:
    if answer.reason == SUCCESS:
        return answer.value or {}, None
    reason, detail = answer.reason, answer.detail
    if reason == EMPTY:
        reason, detail = "failure.answer", "The language model chose none of what it was offered."
    elif reason == ERROR:
        # Not its message: it may quote the prompt, and with it names that the caller may not see.
        error = answer.error
        cause = type(error if error is None or error.__cause__ is None else error.__cause__)
        detail = f"The language model raised {cause.__name__}."
    return {}, Degradation(stage=STAGE, reason=reason, detail=detail)
