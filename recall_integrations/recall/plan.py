"""`parse`, `plan`, `facts`: read the query, decide how it is answered, which rows it is about, and what holds now.

Before that, a thread reads into memory what a recall needs of a scope: for a large one that takes seconds.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from recall_integrations.arms.retrievers import ArmSpec, with_own
from recall_integrations.collector import paused
from recall_integrations.config import RecallConfig
from recall_integrations.facts.deciding import Decided, decide
from recall_integrations.facts.question import THEN, state_asked
from recall_integrations.facts.said import ME, USER, name_key, subject_key
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes import lexicon
from recall_integrations.indexes.scope_view import Mask, ScopeView, of_types
from recall_integrations.indexes.times import from_micros
from recall_integrations.learning.versions import BY_RULES, Served, signature_of
from recall_integrations.patterns import regex
from recall_integrations.planning.planner import Decided as Chosen
from recall_integrations.planning.planner import asked_for, make_plan, settled
from recall_integrations.privacy.door import Door
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.query.findings import ScopeKnowledge, Settled, implicit_user
from recall_integrations.query.parser import QueryParser
from recall_integrations.recall.runner import RecallState, Stage, Turn
from recall_integrations.records import changed
from recall_integrations.resilience.admission import RECENT_SECONDS
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import TIMEOUT, Bulkhead, Busy, Pace
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.analyser import Spans
from recall_integrations.text.shortening import READ_CHARS_MAX
from recall_integrations.types import (
    Degradation,
    EntityRef,
    Note,
    ParsedQuery,
    RetrievalPlan,
    Scope,
    TemporalWindow,
    utc_now,
)
from recall_integrations.types.observing import RecallRequest, Window
from recall_integrations.types.result import Decision
from recall_integrations.types.roles import Role

SCOPES_AT_ONCE = 4


class Loader:
    """Reads scopes in threads of its own. Threads share it."""

    def __init__(
        self,
        store: MemoryStore,
        prepare: Callable[[], object],
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._store, self._prepare, self._waiting = store, prepare, waiting
        self._threads = Bulkhead("load", SCOPES_AT_ONCE, hanging_max=0)
        self._lock = threading.RLock()  # a call may end before its callback is attached
        self._under_way: dict[int, Future[None]] = {}

    def loaded(self, scope_id: int, deadline: Deadline) -> bool:
        """Say whether the scope is in memory now. If not, a thread reads it for a later recall."""
        if self._store.in_memory(scope_id):
            return True
        with self._lock:
            loading = self._under_way.get(scope_id)
            begins = loading is None or loading.done()
            if loading is None or begins:
                loading = self._under_way[scope_id] = self._threads.submit(self._load, scope_id)
        if begins:
            loading.add_done_callback(lambda ended: self._over(scope_id, ended))
        with self._waiting():
            if not deadline.wait_for(loading):
                return False
        error = loading.exception()
        if isinstance(error, Busy):
            return False  # as many scopes as may be are being read; the next recall asks again
        if error is not None:
            raise error
        return True

    def _over(self, scope_id: int, ended: Future[None]) -> None:
        with self._lock:
            if self._under_way.get(scope_id) is ended:
                del self._under_way[scope_id]

    def _load(self, scope_id: int) -> None:
        with paused():  # what is loaded stays, and a walk over all objects takes 80 ms
            self._store.entities(scope_id)
            self._store.reader.languages(scope_id)
            self._store.view(scope_id)
            self._prepare()


OPEN = Door()
_ASKING, _COUNTS = "parse.asking", "parse.counts"
COUNTS_MAX = 8_192  # stems of queries whose number of memories is kept
LONG_CHARS = 2_000  # shorter texts are read in a few milliseconds at most
CHAR_MS = 0.02  # milliseconds for a character, until some long texts were read
LOADING = "The memories of this scope are still being read into memory. Ask again, or give it more time."
SHARE_BEFORE_ARMS = 0.6  # share of the time left, for what may be slow before the arms are asked; the rest is theirs


class _Counts(dict[str, int]):
    """Number of memories that hold a stem, asked once for each stem of a view."""

    def __init__(self, frequency: Callable[[str], int]) -> None:
        self._frequency = frequency

    def __missing__(self, term: str) -> int:
        count = self[term] = self._frequency(term)
        return count


class Parse(Stage):
    """Reads the query."""

    name = "parse"
    share = SHARE_BEFORE_ARMS
    essential = True

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        unsure: EntityFallback | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._store, self._config, self._unsure = store, config, unsure
        self._parser = QueryParser(config)
        self._pace = Pace(RECENT_SECONDS)
        self.loader = Loader(store, self._prepare, waiting)

    def applies(self, _state: RecallState) -> bool:
        """Return true: every recall has a query to read."""
        return True

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `parsed`, `frequency` and `loading`."""
        request = state.request
        scope_id = self._store.scope_id(request.scope)
        problems: list[Degradation] = []
        if scope_id is not None and not self.loader.loaded(scope_id, turn.deadline):
            state, scope_id = changed(state, loading=True), None
            problems.append(Degradation(stage="load", reason=TIMEOUT, detail=LOADING))
        known = self._knowledge(request.scope, scope_id, turn.deadline, state.door)
        text = self._readable(request.text, turn.deadline, problems)
        began = time.perf_counter()
        # While the scope is being read, the grammar of dates may be too; and there is nothing to search yet.
        window = False if state.loading and request.window is None else request.window
        parsed, more = self._parser.parse(text, request.now, known, window=window, zone=request.zone)
        if len(request.text) >= LONG_CHARS:
            self._pace.record((time.perf_counter() - began) * 1e3, work=min(len(text), READ_CHARS_MAX))
        return changed(state, parsed=parsed, frequency=known.frequency).degraded_by(*problems, *more)

    @functools.cached_property
    def _prepared(self) -> bool:
        self._parser.parse("what happened last week", utc_now(), ScopeKnowledge())
        return True

    def _prepare(self) -> bool:
        """Load the grammar of dates."""
        return self._prepared

    def _readable(self, text: str, deadline: Deadline, problems: list[Degradation]) -> str:
        """Return as much of a long text as there is time to read; reading cannot be stopped once it has begun."""
        if len(text) < LONG_CHARS:
            return text
        usual = self._pace.estimate()
        each_ms = CHAR_MS if usual is None else usual.median_ms
        fits = int(deadline.remaining_ms() / each_ms) if each_ms else len(text)
        if min(len(text), READ_CHARS_MAX) <= fits:
            return text
        kept = text[: max(LONG_CHARS, fits)]
        kept = kept[: kept.rfind(" ")] if " " in kept else kept
        detail = f"There was time to read {len(kept)} of {len(text)} characters."
        problems.append(Degradation(stage=self.name, reason="partial", detail=detail))
        return kept

    def read(self, text: str, now: datetime, scope: Scope, window: Window, zone: ZoneInfo | None) -> ParsedQuery:
        """Read a query by itself, without a recall and without a time limit."""
        known = self._knowledge(scope, self._store.scope_id(scope))
        return self._parser.parse(text, now, known, window=window, zone=zone)[0]

    def phrase(self, text: str, request: RecallRequest) -> ParsedQuery:
        """Read a phrasing of a recall's query by itself, without a correction of the spelling and without the LLM."""
        known = self._knowledge(request.scope, self._store.scope_id(request.scope))
        known = replace(known, speller=ScopeKnowledge().speller, unsure=None)
        return self._parser.parse(text, request.now, known, zone=request.zone)[0]

    def _knowledge(
        self, scope: Scope, scope_id: int | None, deadline: Deadline | None = None, door: Door = OPEN
    ) -> ScopeKnowledge:
        if scope_id is None:
            return ScopeKnowledge(user=implicit_user(scope, key=self._store.entity_key))
        index, settings = self._store.entities(scope_id).index, self._config.query
        fallback = self._unsure

        def unsure(text: str, refs: tuple[EntityRef, ...], reserved: Spans) -> Settled:
            if fallback is None:
                return refs, ()
            return fallback.resolve(
                text,
                refs,
                index,
                scope_id=scope_id,
                threshold=self._config.planner.entity_confidence_min,
                deadline=Deadline.after(None) if deadline is None else deadline,
                reserved=reserved,
                door=door,
            )

        view = self._store.view(scope_id)
        user, assistant = self._asking(scope, view, index)
        text = view.text
        counts: _Counts | None = view.memo.get(_COUNTS)
        if counts is None or len(counts) > COUNTS_MAX:
            counts = view.memo[_COUNTS] = _Counts(text.frequency)
        return ScopeKnowledge(
            entities=index,
            frequency=counts.__getitem__,
            # Which sentence is beside the point would tell what hidden words stand together.
            rows=(lambda stem: text.holding(stem)[0]) if door.open else None,
            memories=view.count,
            speller=self._store.speller_of(scope_id) if settings.spelling else lambda: None,
            user=user,
            assistant=assistant,
            alike=lexicon.shared().alike,
            spoken=self._store.reader.languages(scope_id),
            unsure=None if fallback is None else unsure,
        )

    def _asking(self, scope: Scope, view: ScopeView, index: EntityIndex) -> tuple[EntityRef, bool]:
        """Return the user of the scope, and whether an assistant speaks in it; kept until memories or names change."""
        kept: tuple[EntityIndex, int, Scope, EntityRef, bool] | None = view.memo.get(_ASKING)
        revision = index.revision
        if kept is not None and kept[0] is index and kept[1] == revision and kept[2] == scope:
            return kept[3], kept[4]
        user = implicit_user(scope, index, view.speakers(Role.USER), self._store.entity_key)
        assistant = bool(view.speakers(Role.ASSISTANT))
        view.memo[_ASKING] = index, revision, scope, user, assistant
        return user, assistant


READING = "What the filters look at is still being read into memory. Ask again, or give it more time."
READING_SHARE = 0.6  # share of the time that is left, as for the memories themselves
READ_AT_ONCE = 4
_FIELDS = frozenset({"type", "actor", "role", "channel", "thread"})


class Plan(Stage):
    """Decides about arms, filters and rows."""

    name = "plan"
    essential = True

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        arms: tuple[ArmSpec, ...],
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._store, self._config, self._arms, self._waiting = store, config, arms, waiting
        self._threads = Bulkhead("filters", READ_AT_ONCE, hanging_max=0)

    def applies(self, _state: RecallState) -> bool:
        """Return true: every recall has a plan."""
        return True

    def made(self, parsed: ParsedQuery, served: Served = BY_RULES) -> RetrievalPlan:
        """Return the plan of a parsed query. Pure."""
        version = served.version
        given = None if version is None or not version.plans else version.plans.get(signature_of(parsed))
        plan = make_plan(parsed, self._config) if given is None else make_plan(parsed, self._config, given=given)
        if version is not None:
            plan = version.applied(plan)
            reason = plan.reason.replace(f"{given}: given", f"{given}: learned from use ({served.label})", 1)
            plan = plan if given is None else replace(plan, reason=reason)
        return with_own(plan, parsed, self._arms, self._config.planner.arm_limit)

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `planned`, `view`, `allowed`, `searched`, `wanted`, `asked` and `trust`."""
        request = state.request
        scope_id = self._store.scope_id(request.scope)
        view = None if scope_id is None or state.loading else self._store.view(scope_id)
        parsed, session = settled(state.query, view)
        plan = self.made(parsed, state.served)
        if parsed.type_hints != plan.type_hints:
            parsed = changed(parsed, type_hints=plan.type_hints)
        if view is None:
            detail = f"Nothing was ever remembered in the scope {request.scope}."
            unknown = (Note(reason="scope.unknown", detail=detail),) if scope_id is None else ()
            return changed(state, parsed=parsed, planned=plan, notes=unknown)
        allowed: Mask | None = None
        notes: tuple[Note, ...] = ()
        if request.filters or not view.count:
            if not self.filters_read(view, request, turn.deadline.child(turn.deadline.remaining_ms() * READING_SHARE)):
                late = Degradation(stage="filters", reason=TIMEOUT, detail=READING)
                return changed(state, parsed=parsed, planned=plan, loading=True).degraded_by(late)
            allowed = self._store.reader.filter_mask(view, request.filters, request.now, request.as_of)
            notes = tuple(self._notes(view, allowed, request))
        limit = max(self._config.planner.arm_limit, request.k)
        decided = asked_for(parsed, plan, session, view, allowed, limit)
        searched = None if decided.asked is None else decided.asked.searched(request.k)
        state = changed(
            state,
            parsed=parsed,
            view=view,
            planned=self._affordable(decided, request.k),
            allowed=allowed,
            searched=allowed if searched is None else searched,
            asked=decided.asked,
            trust=decided.trust,
            notes=notes,
        )
        return _typed(state).degraded_by(*self._lag(view.scope_id))

    def _affordable(self, decided: Chosen, k: int) -> RetrievalPlan:
        """Return the plan without the semantic arm where embedding costs a call, and time alone decides on k hits."""
        plan, asked = decided.plan, decided.asked
        if not (self._config.retrieval.semantic_remote and plan.in_order and asked is not None and asked.count >= k):
            return plan
        arms = tuple(arm for arm in plan.arms if arm.name != "semantic")
        return replace(plan, arms=arms, reason=f"{plan.reason}; no embedding")

    def filters_read(self, view: ScopeView, request: RecallRequest, deadline: Deadline) -> bool:
        """Say whether the columns of the filters are in memory. If not, a thread reads them for a later recall."""
        if self._store.reader.filters_ready(view, request.filters):
            return True
        reading = self._threads.submit(
            self._store.reader.filter_mask, view, request.filters, request.now, request.as_of
        )
        with self._waiting():
            if not deadline.wait_for(reading):
                return False
        error = reading.exception()
        if error is not None and not isinstance(error, Busy):
            raise error
        return error is None

    def _notes(self, view: ScopeView, allowed: Mask | None, request: RecallRequest) -> Iterator[Note]:
        """Yield notes that explain why little is found, or nothing."""
        where = request.scope
        if not view.count:
            yield Note(reason="scope.empty", detail=f"Nothing is left in the scope {where}: all of it was forgotten.")
            return
        for key in self._store.reader.absent_keys(view, request.filters):
            hint = f" For the field of a memory there is Filters({key}s=[...])." if key in _FIELDS else ""
            detail = f"No memory in the scope {where} has {key!r} in its metadata.{hint}"
            yield Note(reason="filters.key", detail=detail)
        if allowed is not None and not (allowed & view.alive).any():
            yield Note(reason="filters.nothing", detail=f"No memory in the scope {where} meets the filters.")

    def _lag(self, scope_id: int) -> list[Degradation]:
        return [
            Degradation(stage=name, reason="index.behind", detail=f"{lag} changes not applied yet.")
            for name, lag in self._store.behind(scope_id).items()
        ]


def _typed(state: RecallState) -> RecallState:
    """Search memories of the plan's types alone, if there are k of them; else mark them to be put first."""
    plan, view = state.plan, state.scope
    if not plan.type_filter:
        return state
    wanted = of_types(view, plan.type_hints)
    allowed = wanted if state.searched is None else wanted & state.searched
    count = int((allowed & view.alive).sum())
    if count >= state.request.k:
        return changed(state, searched=allowed)
    return changed(state, wanted=wanted if count else None)


SHORT = timedelta(days=20)  # for a shorter time that is over, a query asks what happened in it
# What is known to ask for a past state: "I've got" and "when was she born" are no past.
PAST = regex(
    r"\b(?:did|(?:was|were)\b(?!.*\bborn)|had|went|been)\b|(?<!'ve\s)(?<!\bhave\s)(?<!\bhas\s)(?<!'s\s)\bgot\b", 2
)
_WEEKLY = regex(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekend", 2)
_DATED = regex(r"\d|\b(?:last|past|previous)\b", 2)


def other_time(state: RecallState) -> TemporalWindow | None:
    """Return the time that a query asks for, if that is not now; `None` = it asks for now, or for no time."""
    window, request = state.query.temporal_window, state.request
    if window is None or request.window is not None:
        return window  # a window that the caller gives is meant
    text, (start, end) = state.query.original, window.span
    if PAST.search(text):
        return window
    return None if _goes_on(window, text[start:end], request.as_of or request.now) else window


def is_short(window: TemporalWindow) -> bool:
    """Say whether the window is so short that the query asks what happened in it."""
    return window.start is not None and window.end is not None and window.end - window.start < SHORT


def _goes_on(window: TemporalWindow, words: str, now: datetime) -> bool:
    """Say whether the window has begun and is not over, is short and still to come, or is a day that each week has."""
    begun, ended = window.start is None or window.start <= now, window.end is not None and window.end <= now
    if not ended:
        return begun or is_short(window)
    return is_short(window) and _WEEKLY.search(words) is not None and _DATED.search(words) is None


class Facts(Stage):
    """Decides which memories the arms' candidates get in addition, and which come first; without it, none do."""

    name = "facts"

    def __init__(self, store: MemoryStore, slots: Slots | None) -> None:
        self._store, self._slots = store, slots

    def applies(self, state: RecallState) -> bool:
        """Say whether facts are kept."""
        return self._slots is not None and state.view is not None

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `held`."""
        assert self._slots is not None
        parsed, view = state.query, state.scope
        facts = self._store.facts_in(view)
        if facts is None or not facts:  # then nothing need be read from the query
            return state
        window = other_time(state)
        named = (0, 0) if parsed.temporal_window is None else parsed.temporal_window.span
        asked = state_asked(parsed.point, self._slots, windowed=window is not None, named=named)
        if asked is None:
            return state
        now = state.request.as_of or state.request.now
        times = () if window is None or asked.mode != THEN else window.times
        subjects = self._subjects(asked.subject, parsed, view)
        decided = decide(asked, facts, subjects, now, times)
        return state if decided is None else changed(state, held=decided)

    def _subjects(self, subject: str, parsed: ParsedQuery, view: ScopeView) -> list[str]:
        """Return the keys of whom is asked: as written, then the entity's other names. Empty for a name of several."""
        if subject == ME:
            return [USER, *map(name_key, view.speakers(Role.USER))]
        key = subject_key(subject)
        if key is None:
            return []
        found = [key]
        owner, of, rest = key.partition("'s ")
        refs = [ref for ref in parsed.entity_refs if ref.entity_id and name_key(ref.mention) in (owner, key)]
        ids = list(dict.fromkeys(ref.entity_id for ref in refs))
        if len(ids) > 1:
            return []  # two people have this name: what is said of it may be of either
        if ids:
            names = self._store.entities(view.scope_id).index.names(ids[0])
            found += [f"{name_key(name)}{of}{rest}" for name in names]
        if any(name_key(name) == owner for name in view.speakers(Role.USER)):
            found.append(f"{USER}{of}{rest}")
        return found


def decision(held: Decided, view: ScopeView, door: Door) -> Decision:
    """Return what was decided, as a result carries it: without names that privacy withholds."""
    subject, slot = held.key
    return Decision(
        subject=door.said(subject),
        slot=door.said(slot),
        mode=held.mode,
        at=from_micros(held.at),
        first=tuple(view.ids[row] for row in view.rows_of(held.first).tolist()),
        beneath=tuple(view.ids[row] for row in view.rows_of(sorted(held.beneath)).tolist()),
        confidence=held.confidence,
    )
