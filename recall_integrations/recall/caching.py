"""Recalls that may be answered from the result cache, by digests: no query stays in memory for it.

Two recalls share an answer where all their arguments but `now` and the time budget are the same, and their days. Where
only the letters differ, by case, white space or punctuation at the ends (`loose`), both are read, and must read the
same (`meaning`): "US" is not "us" where that is a name, and "ABC-1" never "abc-1". Question marks at the ends do not
count, although the embedding of the query has them: the answer of either way is given.
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
from cachetools import TTLCache
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig
from recall_integrations.delivery.showing import ASKED_FOR, withheld
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.privacy.door import Door
from recall_integrations.query.asking import asks_state, small_talk
from recall_integrations.ranking.arranging.pairs import names_in
from recall_integrations.recall.runner import RecallState
from recall_integrations.records import record
from recall_integrations.resilience.admission import FULL
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.text import tokenize
from recall_integrations.types import (
    CacheOutcome,
    Filters,
    Hit,
    ParsedQuery,
    RecallResult,
    Scope,
    TemporalWindow,
    copied_memory,
    hit_like,
)
from recall_integrations.types.observing import RecallRequest

# Stripped at the query's ends only; quotes, brackets and a minus are left out, as they mean something to the parser.
ENDING = "?!.,;:…¿¡。？！，；："
ASKING = "¿?？!！ "
# Reasons of the reranker and the rewriter that may change a moment later; so may all that begin with "failure".
UNSETTLED = frozenset(
    {"skip.budget", "skip.slow", "skip.slo", "skip.busy", "skip.cold", "skip.breaker", "success.partial"}
    | {"circuit_open"}
)
_SPACE = re.compile(r"\s+")
_BYTES = 16
Reader = Callable[[RecallRequest, datetime], ParsedQuery | None]


class Key(NamedTuple):
    """Key of an answer in the cache."""

    scope: Scope
    digest: bytes


class Asked(NamedTuple):
    """A recall for which there may be an answer, and the scope's revision before it."""

    request: RecallRequest
    key: Key
    revision: Revision | None


@record(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer in the cache."""

    result: RecallResult  # the answer as it was given, after privacy and packing
    now: int  # `now` of the recall that it answers, in microseconds since 1970
    made_at: float  # by the cache's timer, in seconds
    letters: bytes = b""  # digest of the query as it was written
    meaning: bytes | None = None  # digest of how the query reads; `None` where nobody may ask it in other letters


def key_of(request: RecallRequest, fingerprint: str, zone: ZoneInfo, *, loosely: bool = False) -> Key:
    """Return the key of a recall; `loosely` it is the same for all ways of writing a query that may mean the same.

    `fingerprint` is that of the configuration; `zone` is the zone of dates where the request names none.
    """
    where = request.zone or zone
    parts = (
        fingerprint,
        loose(request.text) if loosely else request.text,
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


def loose(text: str) -> str:
    """Return a query in normal form: single spaces, without case and without punctuation at its ends."""
    spaced = _SPACE.sub(" ", text).strip()
    return (spaced.strip(ENDING + " ") or spaced).casefold()


def meaning(parsed: ParsedQuery, vector: NDArray[np.float32] | None) -> bytes:
    """Return a digest of a parsed query as the stages read it, without places in its text.

    Words count in normal form; identifiers, negations and readings count as they are written. `vector` is the
    embedding of the query without question marks at its ends; `None` where the caller gave it.
    """
    window = parsed.temporal_window
    bare = replace(
        parsed,
        original="",
        entity_refs=tuple(
            replace(ref, mention=_SPACE.sub(" ", ref.mention).casefold(), span=(0, 0)) for ref in parsed.entity_refs
        ),
        temporal_window=None if window is None else replace(window, span=(0, 0)),
        session=None if parsed.session is None else replace(parsed.session, span=(0, 0)),
        identifiers=tuple(replace(i, span=(0, 0)) for i in parsed.identifiers),
        tokens=(),
        type_hints=(),  # they follow from the rest
        now=None,
    )
    tokens = [(token.stem, token.roles, token.rarity) for token in parsed.tokens]
    words = [token.word for token in tokenize(parsed.original)]
    names, point, language = sorted(names_in(parsed)), parsed.point, parsed.language
    wish = small_talk(point, language), asks_state(point, language)
    return _digest((repr(bare), tokens, words, names, wish, None if vector is None else vector.tobytes()))


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
    return (*(_plain(at) for each in window.times for at in each), window.span, window.confidence)


def _plain(value: object) -> object:
    """Return a time as its instant: two times of one zone compare equal in the hour that a clock shows twice."""
    return to_micros(value) if isinstance(value, datetime) else value


def _digest(parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


def copied(result: RecallResult) -> RecallResult:
    """Return the answer with memories of its own: a change of their metadata changes no other answer."""

    def own(hit: Hit) -> Hit:
        return hit_like(hit, memory=copied_memory(hit.memory), context=tuple(map(copied_memory, hit.context)))

    return replace(result, hits=tuple(map(own, result.hits)))


class ResultCache:
    """Answers by key: the least recently used leave first, and a write drops those of its scope. Threads share it."""

    def __init__(
        self,
        revisions: Revisions,
        ttl_s: float = 30.0,
        entries_max: int = 1_000,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._revisions, self._ttl_s = revisions, ttl_s
        self._lock = threading.RLock()  # the garbage collector may run a write in the thread that holds the lock
        self._kept: TTLCache[Key, Kept] = TTLCache(entries_max, ttl_s, timer)
        revisions.watch(self)

    def __len__(self) -> int:
        with self._lock:
            self._kept.expire()
            return len(self._kept)

    def get(self, key: Key, request: RecallRequest) -> Kept | None:
        """Return the answer for a recall, unless it was made for a later `now` or is older than the time it is kept."""
        with self._lock:
            kept = self._kept.get(key)
        return kept if kept is not None and 0 <= to_micros(request.now) - kept.now <= self._ttl_s * 1e6 else None

    def put(self, key: Key, kept: Kept, revision: Revision | None) -> bool:
        """Keep an answer and say so, unless its scope was written to since that revision, the one before the recall."""
        with self._lock:
            if revision is None or self._revisions.of(key.scope) != revision:
                return False
            self._kept[key] = kept
            return True

    def drop(self, scope: Scope | None) -> None:
        """Forget the answers of a scope; `None` = of all."""
        with self._lock:
            for key in tuple(self._kept):
                if scope is None or key.scope == scope:
                    self._kept.pop(key, None)


class Caching:
    """The result cache of an optimizer. Threads share it."""

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        read: Reader,  # reads a query as a recall at that time would; returns `None` where that may take long
        results: ResultCache,
        *,
        literal: bool,  # whether something that a user brought (a model, an arm, a stage) sees the letters of a query
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._config, self._read, self._literal, self._timer = store, config, read, literal, timer
        self._fingerprint, self._zone = config.fingerprint, ZoneInfo(config.timezone)
        self._bundled = isinstance(store.embedding, StaticEmbedding)
        self._results = results

    def asked(self, request: RecallRequest) -> Asked:
        """Return the key and the scope's revision, before a recall."""
        key = key_of(request, self._fingerprint, self._zone, loosely=self._loosely(request))
        return Asked(request=request, key=key, revision=self._store.revisions.of(request.scope))

    def found(self, asked: Asked) -> RecallResult | None:
        """Return the answer that is kept for a recall, as a copy that the caller may change."""
        kept = None if asked.revision is None else self._results.get(asked.key, asked.request)
        if kept is None:
            return None
        result, reason = kept.result, "same"
        if kept.letters != _digest(asked.request.text):
            query = self._reads_alike(asked.request, kept)
            if query is None:
                return None
            result, reason = replace(result, query=query), "alike"
        age_ms = max(0.0, (self._timer() - kept.made_at) * 1e3)
        return replace(copied(result), cache=CacheOutcome(strategy="hit", reason=reason, age_ms=round(age_ms, 3)))

    def kept(self, asked: Asked, state: RecallState, result: RecallResult) -> RecallResult:
        """Keep an answer if it may be kept, and return it with a note on that."""
        return replace(result, cache=CacheOutcome(strategy="miss", reason=self._keep(asked, state, result)))

    def _keep(self, asked: Asked, state: RecallState, result: RecallResult) -> str:
        request = asked.request
        if state.level != FULL or any(problem.reason not in ASKED_FOR for problem in result.degraded):
            return "degraded"
        if not self._settled(request, result):
            return "unsettled"
        kept = Kept(
            result=copied(result),
            now=to_micros(request.now),
            made_at=self._timer(),
            letters=_digest(request.text),
            meaning=meaning(state.query, self._vector(request)) if self._loosely(request) else None,
        )
        return "kept" if self._results.put(asked.key, kept, asked.revision) else "written"

    def _settled(self, request: RecallRequest, result: RecallResult) -> bool:
        """Say whether the same recall would do the same things in a moment."""
        reasons = (result.rerank.reason, result.rewrite.reason)
        if any(reason in UNSETTLED or reason.startswith("failure") for reason in reasons):
            return False
        scope_id = self._store.scope_id(request.scope)
        return scope_id is None or not self._config.query.spelling or self._store.speller(scope_id) is not None

    def _reads_alike(self, request: RecallRequest, kept: Kept) -> ParsedQuery | None:
        """Return a query that is written differently and reads the same, as it may be seen; `None` = it does not."""
        parsed = self._read(request, from_micros(kept.now))
        if parsed is None or meaning(parsed, self._vector(request)) != kept.meaning:
            return None
        plan = kept.result.plan
        door = Door(request.privacy, self._config.privacy.compiled)
        return withheld(replace(parsed, type_hints=plan.type_hints), plan, door)[0]

    def _loosely(self, request: RecallRequest) -> bool:
        """Say whether other ways of writing the query may share its answer."""
        return not self._literal and (self._bundled or request.vector is not None)

    def _vector(self, request: RecallRequest) -> NDArray[np.float32] | None:
        if request.vector is not None:
            return None
        return self._store.embedding.embed_query(request.text.strip(ASKING) or request.text)
