"""Reads into memory what a recall needs of a scope, beside the recall: for a large scope that takes seconds."""

from __future__ import annotations

import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from recall_integrations.config import RecallConfig
from recall_integrations.indexes import lexicon
from recall_integrations.indexes.bm25 import frequency_of
from recall_integrations.indexes.scope_view import ScopeView
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
from recall_integrations.types import Degradation, EntityRef, ParsedQuery, Scope, utc_now
from recall_integrations.types.observing import RecallRequest, Window
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
        with _nothing_collected():
            self._store.entities(scope_id)
            self._store.reader.languages(scope_id)
            self._store.view(scope_id)
            self._prepare()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Stop Python's garbage collection inside: what is loaded stays, and a walk over all objects takes 80 ms.

    Where two threads are inside at once, the first to leave starts it again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
            counts = _Counts(frequency_of(view, lambda: self._store.indexes.lexical))
            if text is not None:  # an index changes while a view stays; and what it is asked by holds the view
                view.memo[_COUNTS] = counts
        return ScopeKnowledge(
            entities=index,
            frequency=counts.__getitem__,
            # Which sentence is beside the point would tell what hidden words stand together.
            rows=None if text is None or not door.open else lambda stem: text.holding(stem)[0],
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
