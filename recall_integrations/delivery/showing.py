"""Redacts texts as a privacy mode asks, in the time there is: a text that could not be checked is not shown.

And tells "nothing is known" from "nothing could be looked at", for whoever shows an answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from recall_integrations.config import ARMS
from recall_integrations.errors import (
    DegradationFailed,
    IndexUnavailable,
    NotSearched,
    PrivacyViolation,
    RecallError,
    RecallTimeout,
)
from recall_integrations.facts.slots import OPEN
from recall_integrations.privacy.door import SAID_MIN, WITHHELD, WORD, Door, Seen
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.findings import USER
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Bulkhead, Busy
from recall_integrations.types import (
    Degradation,
    EntityRef,
    Memory,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    unchecked_memory,
)
from recall_integrations.types.facts import Fact
from recall_integrations.types.query import Identifier, QueryFeatures
from recall_integrations.types.result import NOT_SEARCHED

R = TypeVar("R")
T = TypeVar("T")
AT_ONCE_CHARS = 2_000  # number of characters that are checked in milliseconds, whatever they are
EACH = 100  # characters that a name, a reference or a relation counts for: each is checked by itself
FEATURES = tuple(QueryFeatures.__dataclass_fields__)
STAGE = "privacy"
BUSY_SECONDS = 0.005
QUERY_SHARE = 0.25  # share of the time that is left, to redact a long query: without it nothing is known yet


class Showing:
    """Threads in which long texts are redacted. Threads of recalls share it."""

    def __init__(self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.threads = Bulkhead("redact", 4, hanging_max=4)
        self.waiting = waiting


class Shown:
    """Redacts what is shown of one recall."""

    def __init__(self, door: Door, deadline: Deadline, beside: Showing) -> None:
        self._door, self._deadline, self._beside = door, deadline, beside
        self._late = self._failed = 0
        self._told: list[Degradation] = []

    def of(self, memory: Memory) -> Memory:
        """Return the memory as it may be seen. A memory that takes too long to redact is blocked instead."""
        door = self._door
        if door.open:
            return memory
        shown = self._timed(_size(memory, texts=not door.blocked), door.memory, memory, self._deadline)
        return door.bare(_few(memory)) if shown is None else shown

    def text(self, text: str) -> str:
        """Return the text as it may be seen; empty where that takes too long."""
        if self._door.open:
            return text
        return self._timed(len(text), self._door.text, text, self._deadline) or ""

    def query(self, text: str) -> None:
        """Redact the query, which comes before everything else; where that takes too long, nothing of it is shown."""
        if self._door.open:
            return
        own = self._deadline.child(self._deadline.remaining_ms() * QUERY_SHARE)
        if self._timed(len(text), self._door.query, text, own) is None:
            self._door.withhold(text)
            reason = "error" if self._failed else "timeout"
            self._late = self._failed = 0
            detail = "The query could not be redacted in time; it is not shown."
            self._told.append(Degradation(stage=STAGE, reason=reason, detail=detail))

    def _timed(self, size: int, function: Callable[[T], R], given: T, deadline: Deadline) -> R | None:
        """Return what the door lets through; `None` where it took too long, or failed."""
        if size <= AT_ONCE_CHARS:
            return function(given)
        with self._beside.waiting():
            checking = self._checking(function, given, deadline)
            done = deadline.wait_for(checking)
        if done and checking.exception() is None:
            return checking.result()
        self._beside.threads.give_up(checking)
        self._failed += done and not isinstance(checking.exception(), Busy)
        self._late += not done or isinstance(checking.exception(), Busy)
        return None

    def _checking(self, function: Callable[[T], R], given: T, deadline: Deadline) -> Future[R]:
        """Start a redaction and return its future; while all threads are busy, wait."""
        while True:
            checking = self._beside.threads.submit(function, given)
            if not (checking.done() and isinstance(checking.exception(), Busy)) or deadline.wait(BUSY_SECONDS):
                return checking

    @property
    def problems(self) -> list[Degradation]:
        """Problems of texts that were withheld."""
        said = (("timeout", self._late, "There was no time to redact"), ("error", self._failed, "It failed to redact"))
        return [
            *self._told,
            *(
                Degradation(stage=STAGE, reason=why, detail=f"{what} {n} memories; they are shown without their text.")
                for why, n, what in said
                if n
            ),
        ]


def _few(memory: Memory) -> Memory:
    """Return a memory without what even a blocked memory would have to redact."""
    return memory if len(memory.refs) * EACH <= AT_ONCE_CHARS else replace(memory, refs=())


def _size(memory: Memory, *, texts: bool) -> int:
    if not texts:
        return EACH * (1 + len(memory.refs))
    listed = len(memory.entities) + len(memory.refs) + 3 * len(memory.relations)
    return len(memory.text) + EACH * listed + (len(str(memory.metadata)) if memory.metadata else 0)


_SUBJECT = "of whom"


def shown_facts(facts: Iterable[Fact], memories: Mapping[str, Memory], showed: Shown) -> list[Fact]:
    """Return facts as they may be seen, in order; those whose memory is gone are left out.

    A value alone does not always look like what it is: "hunter22" is a password only because of the words before it.
    So it goes through the door with its memory and the name of its slot, and a part hidden there is hidden here.
    """
    bare = [(fact, _with(memories[fact.memory_id], fact)) for fact in facts if fact.memory_id in memories]
    return [_shown(fact, memory, showed.of(memory)) for fact, memory in bare]


def _with(memory: Memory, fact: Fact) -> Memory:
    """Return the memory with a fact's words in its metadata: the door redacts them with its text."""
    said = {"metadata": {fact.slot.removeprefix(OPEN): fact.value, _SUBJECT: fact.subject}, "entities": ()}
    return unchecked_memory(**{name: getattr(memory, name) for name in Memory.__dataclass_fields__} | said)


def _shown(fact: Fact, memory: Memory, seen: Memory) -> Fact:
    if seen is memory:
        return fact
    (slot, value), (_, subject) = [*seen.metadata.items(), ("", ""), ("", "")][:2]
    value = str(value)
    if value == fact.value and _hidden(value, memory.text, seen.text):
        value = WITHHELD
    named = fact.slot if not fact.slot.startswith(OPEN) else f"{OPEN}{slot}"
    return replace(fact, slot=named, value=value, subject=str(subject))


def _hidden(value: str, text: str, seen: str) -> bool:
    """Say whether a value stands in a text and no longer in what may be seen of it."""
    folded = value.casefold()
    return folded in text.casefold() and folded not in seen.casefold()


def withheld(parsed: ParsedQuery, plan: RetrievalPlan, door: Door) -> tuple[ParsedQuery, RetrievalPlan]:
    """Return the query and its plan as the door lets them through.

    Under `redact` the query is redacted, and everything that was read from it speaks of the redacted one: spans are
    places in it, and words, stems and names that are hidden in it are nowhere else. What comes from memories and not
    from the query (corrections, words of other forms) is left out. Under `block` no words are left, only counts
    and decisions.
    """
    if door.open:
        return parsed, plan
    if door.blocked:
        return _counted(parsed), _decided(plan)
    door.query(parsed.original)
    names = {r.name: _name(r, door) for r in parsed.entity_refs if r.stage != IMPLICIT}
    query = seen_query(parsed, door)

    def said(text: str) -> str:
        for name in sorted(names, key=lambda n: (-len(n), n)):
            text = text.replace(name, names[name])
        return door.said(text)

    if plainly(parsed, door):
        return query, plan
    reason = said(plan.reason)
    router = replace(query.router, reason=said(parsed.router.reason))
    verdict = replace(query.conversational, because=said(parsed.conversational.because))
    checks = tuple(replace(check, because=said(check.because)) for check in plan.checks)
    return replace(query, router=router, conversational=verdict), replace(plan, reason=reason, checks=checks)


def seen_query(parsed: ParsedQuery, door: Door) -> ParsedQuery:
    """Return the query under `redact`; from here on the door says nothing that is hidden in it."""
    found = door.query(parsed.original)
    for token in parsed.tokens:
        if found.hides(token.span):
            door.hide({token.stem} if len(token.stem) >= SAID_MIN else ())
    return _redacted(parsed, found, door)


def plainly(parsed: ParsedQuery, door: Door) -> bool:
    """Say whether nothing of the query or its names is hidden: then our words about them need no second look."""
    if door.query(parsed.original).text != parsed.original:
        return False
    return all(_name(ref, door) == ref.name for ref in parsed.entity_refs if ref.stage != IMPLICIT)


def _name(ref: EntityRef, door: Door) -> str:
    return USER if ref.stage == IMPLICIT else door.said(ref.name)


def _redacted(parsed: ParsedQuery, found: Seen, door: Door) -> ParsedQuery:
    """Return the parsed query with everything that was read from it, as far as it may be seen."""
    tokens, window, session = parsed.tokens, parsed.temporal_window, parsed.session
    if found.text != parsed.original:
        tokens = tuple(replace(t, span=found.span(t.span)) for t in tokens if not found.hides(t.span))
    stems = {token.stem for token in tokens}
    words = {m[0].casefold() for m in WORD.finditer(found.text)}
    verdict = parsed.conversational

    def placed(span: tuple[int, int]) -> tuple[str, tuple[int, int]]:
        now = found.span(span)
        return found.text[slice(*now)], now

    def entity(ref: EntityRef) -> EntityRef:
        """Return an entity as it may be seen: a hidden name takes its id along."""
        name, (mention, span) = _name(ref, door), placed(ref.span)
        return replace(ref, name=name, entity_id=ref.entity_id if name == ref.name else "", mention=mention, span=span)

    def identifier(one: Identifier) -> Identifier:
        text, span = placed(one.span)
        return replace(one, text=text, span=span)

    if window is not None:  # where the date is hidden the window is, too, as it would say it
        window = None if found.hides(window.span) else replace(window, span=found.span(window.span))
    return replace(
        parsed,
        original=found.text,
        rewrites=tuple(map(door.said, parsed.rewrites)),
        entity_refs=tuple(map(entity, parsed.entity_refs)),
        temporal_window=window,
        negations=tuple(
            n for n in parsed.negations if {m[0].casefold() for m in WORD.finditer(n)} <= words and door.said(n) == n
        ),
        terms=tuple(t for t in parsed.terms if t in stems),
        stems=tuple((word, root) for word, root in parsed.stems if root in stems),
        weaker_terms=(),
        corrections=(),  # corrections come from the memories
        corrected_query=None,
        tokens=tokens,
        identifiers=tuple(identifier(i) for i in parsed.identifiers if not found.hides(i.span)),
        conversational=replace(verdict, rare=tuple(r for r in verdict.rare if r in stems)),
        session=None
        if session is None or found.hides(session.span)
        else replace(
            session, span=found.span(session.span), found=door.said(session.found), because=door.said(session.because)
        ),
    )


# -- block -------------------------------------------------------------------------------------------------------------


def _counted(parsed: ParsedQuery) -> ParsedQuery:
    """Return decisions and counts, without a word: nothing that is not named here is shown."""
    window, session = parsed.temporal_window, parsed.session
    return ParsedQuery(
        original="",
        temporal_window=None if window is None else replace(window, span=(0, 0)),
        type_hints=parsed.type_hints,
        # To more digits a rarity counts the memories that have a word.
        specificity=round(parsed.specificity, 1),
        features=QueryFeatures(**{name: round(getattr(parsed.features, name), 1) for name in FEATURES}),
        type_cues=parsed.type_cues,
        type_filters=parsed.type_filters,
        router=replace(parsed.router, reason=""),
        conversational=replace(parsed.conversational, rare=(), because=""),
        now=parsed.now,
        asked_role=parsed.asked_role,
        asked_role_strength=parsed.asked_role_strength,
        session=None if session is None else replace(session, span=(0, 0), found="", because=""),
        talk=parsed.talk,
        language=parsed.language,
        unread=parsed.unread,
        memories_in=parsed.memories_in,
    )


def _decided(plan: RetrievalPlan) -> RetrievalPlan:
    checks = tuple(replace(check, because="", margin=_rounded(check.margin)) for check in plan.checks)
    return replace(plan, reason="", checks=checks, runner_up_margin=_rounded(plan.runner_up_margin))


def _rounded(margin: float | None) -> float | None:
    """Round how far a rarity is from its threshold, as it is rounded itself."""
    return None if margin is None else round(margin, 1)


ASKED_FOR = frozenset({"abstain", "budget.tokens", "query.long", "score_min"})  # the caller wanted it so
logger = logging.getLogger("recall_integrations")
_told: set[str] = set()  # causes that this process has logged
_telling = threading.Lock()


def not_searched(result: RecallResult) -> NotSearched | None:
    """Return the error for an answer that says nothing of what is remembered; `None` where memories were searched."""
    if result.searched:
        return None
    problems = [p for p in result.degraded if p.reason != NOT_SEARCHED and p.reason not in ASKED_FOR]
    why = " ".join(dict.fromkeys(p.detail or f"{p.stage}: {p.reason}." for p in problems))
    error = NotSearched(f"Memory is not available yet: nothing could be searched ({causes(result)}). {why}".strip())
    error.result = result
    return error


def checked(result: RecallResult) -> RecallResult:
    """Return an answer in which no hits mean that nothing is known."""
    error = not_searched(result)
    if error is not None:
        raise error
    return result


def causes(result: RecallResult) -> str:
    """Say in codes why nothing was searched: `embed: timeout, semantic: skip.no_vector`."""
    problems = (p for p in result.degraded if p.reason != NOT_SEARCHED and p.reason not in ASKED_FOR)
    return ", ".join(dict.fromkeys(f"{p.stage}: {p.reason}" for p in problems))


def warn_once(result: RecallResult) -> None:
    """Log that nothing could be searched, once in a process for each cause. No text of a memory or query is in it."""
    cause = causes(result)
    with _telling:
        fresh = cause not in _told
        _told.add(cause)
    if fresh:
        logger.warning(
            "Nothing could be searched (%s), so the result is empty. That says nothing about what is remembered. "
            "Ask again, or give recalls more time; `result.searched` tells the two apart. Said once for each cause.",
            cause,
        )


LATE = frozenset(
    {"timeout", "cancelled", "partial", "skip.budget", "skip.slow", "skip.busy", "skip.no_vector", "reduced_top_k"}
    | {"simplified_scoring", "minimal", NOT_SEARCHED}
)  # a missing vector or an unsearched scope is named beside its cause
INDEX = frozenset({"index.behind", "index_unavailable", "vectors.away", "vectors_away", "vectors_refused"})
OPTIONS = ("retry_with_reduced_scope", "skip_experience_path", "return_minimal")
_SUGGESTIONS = {
    RecallTimeout: ("Increase time_budget_ms", "Reduce k", "Use simpler filters"),
    IndexUnavailable: ("Run `recall doctor STORE`",),
    PrivacyViolation: ("Increase time_budget_ms", 'Use privacy="block"'),
    DegradationFailed: ("Look at error.result.degraded and optimizer.health()",),
}


def complaint(result: RecallResult, time_budget_ms: float) -> RecallError | None:
    """Return the error for a result that is not whole; `None` where it is.

    The worst problem decides: `PrivacyViolation`, `IndexUnavailable`, `RecallTimeout`, else `DegradationFailed`. The
    error holds the result.
    """
    problems = [problem for problem in result.degraded if problem.reason not in ASKED_FOR]
    if not problems:
        return None
    kind = _kind(problems)
    said = "; ".join(f"{p.stage}: {p.reason}" + (f" ({p.detail})" if p.detail else "") for p in problems)
    error = kind(f"The recall was not whole. {said}")
    error.details = {
        "effective_timeout_ms": time_budget_ms,
        "degradation_steps_applied": list(result.degradation_steps),
        "retry_suggestions": list(_SUGGESTIONS[kind]),
    }
    error.options = OPTIONS
    error.stats = {"partial_results": len(result.hits), "time_elapsed_ms": result.timings_ms.get("total", 0.0)}
    error.result = result
    return error


def _kind(problems: Iterable[Degradation]) -> type[RecallError]:
    problems = list(problems)
    if any(p.stage == STAGE for p in problems):
        return PrivacyViolation
    if any(p.reason in INDEX or (p.stage in ARMS and p.reason not in LATE) for p in problems):
        return IndexUnavailable
    return RecallTimeout if all(p.reason in LATE for p in problems) else DegradationFailed
