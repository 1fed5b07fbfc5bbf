"""Digests of what two recalls must share to have one answer: no query stays in memory for it.

Two recalls share an answer where all their arguments but `now` and the time budget are the same, and their days. Where
only the letters differ, by case, white space or punctuation at the ends (`loosely`), both are read, and must read the
same (`meaning`): "US" is not "us" where that is a name, and "ABC-1" never "abc-1".
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from cachetools import LRUCache, TTLCache
from numpy.typing import NDArray

from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.delivery.searched import ASKED_FOR
from recall_integrations.delivery.showing import withheld
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.privacy.door import Door
from recall_integrations.recall.state import RecallState
from recall_integrations.records import record
from recall_integrations.resilience.admission import FULL
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.text import tokenize
from recall_integrations.types import (
    CacheOutcome,
    EntityRef,
    Filters,
    Hit,
    ParsedQuery,
    RecallResult,
    Scope,
    TemporalWindow,
    copied_memory,
    hit_like,
)
from recall_integrations.types.request import RecallRequest

# Stripped at the query's ends only; quotes, brackets and a minus are left out, as they mean something to the parser.
ENDING = "?!.,;:…¿¡。？！，；："
_SPACE = re.compile(r"\s+")
_BYTES = 16


class Key(NamedTuple):
    """Key of an answer in the cache."""

    scope: Scope
    digest: bytes


def exactly(request: RecallRequest, fingerprint: str, zone: ZoneInfo) -> Key:
    """Return the key of a recall."""
    return _key(request, request.text, fingerprint, zone)


def loosely(request: RecallRequest, fingerprint: str, zone: ZoneInfo, settings: CacheConfig) -> Key:
    """Return a key that is the same for all ways of writing a query that may mean the same."""
    return _key(request, loose(request.text, settings), fingerprint, zone)


def loose(text: str, settings: CacheConfig) -> str:
    """Return a query in normal form: single spaces, and as `settings` says without case and punctuation at the ends."""
    spaced = _SPACE.sub(" ", text).strip()
    if settings.normalize_punctuation:
        spaced = spaced.strip(ENDING + " ") or spaced
    return spaced.casefold() if settings.normalize_casing else spaced


def meaning(parsed: ParsedQuery, vector: NDArray[np.float32] | None) -> bytes:
    """Return a digest of a parsed query as the stages read it, without places in its text."""
    window = parsed.temporal_window
    bare = replace(
        parsed,
        original="",
        entity_refs=tuple(map(_named, parsed.entity_refs)),
        temporal_window=None if window is None else replace(window, span=(0, 0)),
        session=None if parsed.session is None else replace(parsed.session, span=(0, 0)),
        identifiers=tuple(replace(i, span=(0, 0)) for i in parsed.identifiers),
        tokens=(),
        type_hints=(),  # they follow from the rest
        now=None,
    )
    tokens = [(token.stem, token.roles, token.rarity) for token in parsed.tokens]
    words = [token.word for token in tokenize(parsed.original)]
    return _digest((repr(bare), tokens, words, None if vector is None else vector.tobytes()))


def _named(ref: EntityRef) -> EntityRef:
    return replace(ref, mention=_SPACE.sub(" ", ref.mention).casefold(), span=(0, 0))


def _key(request: RecallRequest, text: str, fingerprint: str, zone: ZoneInfo) -> Key:
    where = request.zone or zone
    parts = (
        fingerprint,
        text,
        (request.k, request.part),
        _filters(request.filters),
        request.privacy,
        _window(request.window) if isinstance(request.window, TemporalWindow) else request.window,
        where.key,
        day(request.now, where),
        request.context,
        request.tokens_max,
        request.score_min,
        _plain(request.as_of),
        None if request.vector is None else request.vector.tobytes(),
    )
    return Key(request.scope, _digest(parts))


def day(moment: datetime, zone: ZoneInfo) -> str:
    """Return the date of a moment in a zone; where the calendar ends, the moment itself in ISO format."""
    try:
        return moment.astimezone(zone).date().isoformat()
    except OverflowError:
        return moment.isoformat()


def _filters(filters: Filters) -> tuple[object, ...]:
    names: Iterable[str] = (name for name in Filters.__dataclass_fields__ if name not in ("metadata", "condition"))
    return (*(_plain(getattr(filters, name)) for name in names), repr(filters.condition))


def _window(window: TemporalWindow) -> tuple[object, ...]:
    return (_plain(window.start), _plain(window.end), window.span, window.confidence)


def _plain(value: object) -> object:
    """Return a time as its instant: two times of one zone compare equal in the hour that a clock shows twice."""
    return to_micros(value) if isinstance(value, datetime) else value


def _digest(parts: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


@record(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer in the cache."""

    result: RecallResult  # the answer as it was given, after privacy and packing
    now: int  # `now` of the recall that it answers, in microseconds since 1970
    made_at: float  # when it was made, by the cache's timer, in seconds
    meaning: bytes | None = None  # digest of how the query reads; `None` where nobody may ask it in other letters


class ResultCache:
    """Answers by key. Threads share it; nobody waits in it for more than a few microseconds."""

    def __init__(
        self,
        revisions: Revisions,
        ttl_s: float = 30.0,
        entries_max: int = 1_000,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._revisions, self._ttl_s, self._entries_max, self._timer = revisions, ttl_s, entries_max, timer
        self._lock = threading.RLock()  # the garbage collector may run a write in the thread that holds the lock
        self._kept: TTLCache[Key, Kept] = TTLCache(entries_max, ttl_s, timer)
        self._alike: LRUCache[Key, Key] = LRUCache(entries_max)
        # Keys of each scope that may be kept: expired and evicted ones stay here until there are too many.
        self._of: dict[Scope, set[Key]] = {}
        self._noted = 0
        revisions.watch(self)

    def __len__(self) -> int:
        with self._lock:
            self._kept.expire()
            return len(self._kept)

    def get(self, key: Key, request: RecallRequest) -> Kept | None:
        """Return the answer for a recall, unless it was made for a later `now` or is older than the time it is kept."""
        now = to_micros(request.now)
        with self._lock:
            kept = self._kept.get(key)
            # An answer that was taken over under another key is as old as under its first.
            if kept is None or not 0 <= self._timer() - kept.made_at < self._ttl_s:
                return None
        return kept if 0 <= now - kept.now <= self._ttl_s * 1e6 else None

    def alike(self, loosely: Key, request: RecallRequest) -> Kept | None:
        """Return the answer for the recall that was last asked with this loose key, if any is still kept."""
        with self._lock:
            key = self._alike.get(loosely)
            return None if key is None else self.get(key, request)

    def put(self, key: Key, kept: Kept, revision: Revision | None, loosely: Key | None = None) -> bool:
        """Keep an answer and say so, unless its scope was written to since."""
        with self._lock:
            if revision is None or self._revisions.of(key.scope) != revision:
                return False
            self._kept[key] = kept
            if loosely is not None:
                self._alike[loosely] = key
            self._note(key)
            return True

    def drop(self, scope: Scope | None) -> None:
        """Forget the answers of a scope; `None` = of all."""
        with self._lock:
            if scope is None:
                self._kept.clear()
                self._alike.clear()
                self._of.clear()
                self._noted = 0
                return
            for key in self._of.pop(scope, ()):
                self._kept.pop(key, None)
                self._noted -= 1

    def _note(self, key: Key) -> None:
        keys = self._of.setdefault(key.scope, set())
        self._noted += key not in keys
        keys.add(key)
        if self._noted <= 2 * self._entries_max:
            return
        self._of.clear()
        for there in self._kept:
            self._of.setdefault(there.scope, set()).add(there)
        self._noted = sum(map(len, self._of.values()))


def copied(result: RecallResult) -> RecallResult:
    """Return the answer with memories of its own: a change of their metadata changes no other answer."""
    return replace(result, hits=tuple(map(_own, result.hits)))


def _own(hit: Hit) -> Hit:
    return hit_like(hit, memory=copied_memory(hit.memory), context=tuple(map(copied_memory, hit.context)))


# Reasons of the reranker and the rewriter that may change a moment later; so may all that begin with "failure".
UNSETTLED = frozenset(
    {"skip.budget", "skip.slow", "skip.slo", "skip.busy", "skip.cold", "skip.breaker", "success.partial"}
    | {"circuit_open"}
)
Reader = Callable[[RecallRequest, datetime], ParsedQuery | None]


@record(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall for which there may be an answer."""

    request: RecallRequest  # the recall's arguments
    key: Key  # the recall's key
    revision: Revision | None  # the scope's revision before the recall


class Caching:
    """The result cache of an optimizer. Threads share it."""

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        read: Reader,
        results: ResultCache,
        *,
        literal: bool,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._config, self._read, self._literal, self._timer = store, config, read, literal, timer
        self._fingerprint, self._zone = config.fingerprint, ZoneInfo(config.timezone)
        self._bundled = isinstance(store.embedding, StaticEmbedding)
        self._results = results

    def asked(self, request: RecallRequest) -> Asked:
        """Return the key and the scope's revision, before a recall."""
        key = exactly(request, self._fingerprint, self._zone)
        return Asked(request=request, key=key, revision=self._store.revisions.of(request.scope))

    def found(self, asked: Asked) -> RecallResult | None:
        """Return the answer that is kept for a recall, as a copy that the caller may change."""
        if asked.revision is None:
            return None
        kept, reason = self._results.get(asked.key, asked.request), "same"
        if kept is None:
            kept, reason = self._read_alike(asked), "alike"
        if kept is None:
            return None
        age_ms = max(0.0, (self._timer() - kept.made_at) * 1e3)
        return replace(copied(kept.result), cache=CacheOutcome(strategy="hit", reason=reason, age_ms=round(age_ms, 3)))

    def kept(self, asked: Asked, state: RecallState, result: RecallResult) -> RecallResult:
        """Keep an answer if it may be kept, and return it with a note on that."""
        return replace(result, cache=CacheOutcome(strategy="miss", reason=self._keep(asked, state, result)))

    def _keep(self, asked: Asked, state: RecallState, result: RecallResult) -> str:
        if state.level != FULL or any(problem.reason not in ASKED_FOR for problem in result.degraded):
            return "degraded"
        if not self._settled(asked.request, result):
            return "unsettled"
        loose = self._loosely(asked.request)
        kept = Kept(
            result=copied(result),
            now=to_micros(asked.request.now),
            made_at=self._timer(),
            meaning=None if loose is None else meaning(state.query, self._vector(asked.request)),
        )
        return "kept" if self._results.put(asked.key, kept, asked.revision, loose) else "written"

    def _settled(self, request: RecallRequest, result: RecallResult) -> bool:
        """Say whether the same recall would do the same things in a moment."""
        reasons = (result.rerank.reason, result.rewrite.reason)
        if any(reason in UNSETTLED or reason.startswith("failure") for reason in reasons):
            return False
        scope_id = self._store.scope_id(request.scope)
        return scope_id is None or not self._config.query.spelling or self._store.speller(scope_id) is not None

    def _read_alike(self, asked: Asked) -> Kept | None:
        """Return the answer to a query that is written differently and reads the same, and keep it for this one."""
        request, loose = asked.request, self._loosely(asked.request)
        kept = None if loose is None else self._results.alike(loose, request)
        if kept is None or kept.meaning is None:
            return None
        parsed = self._read(request, from_micros(kept.now))
        if parsed is None or meaning(parsed, self._vector(request)) != kept.meaning:
            return None
        plan = kept.result.plan
        door = Door(request.privacy, self._config.privacy.compiled)
        shown, _ = withheld(replace(parsed, type_hints=plan.type_hints), plan, door)
        own = replace(kept, result=replace(kept.result, query=shown))
        return own if self._results.put(asked.key, own, asked.revision) else None

    def _loosely(self, request: RecallRequest) -> Key | None:
        """Return the key that other ways of writing the query share; `None` where the letters matter."""
        if self._literal or not (self._bundled or request.vector is not None):
            return None
        return loosely(request, self._fingerprint, self._zone, self._config.cache)

    def _vector(self, request: RecallRequest) -> NDArray[np.float32] | None:
        return None if request.vector is not None else self._store.embedding.embed_query(request.text)
