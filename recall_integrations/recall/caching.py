"""Recalls that may be answered from the result cache: the look-up before a recall, and the keeping after it.

request ─▶ same letters? ─▶ hit
              └─▶ same loose letters? ─▶ read it ─▶ reads the same? ─▶ hit
                      └─▶ the recall ─▶ whole, and nothing written? ─▶ kept
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig
from recall_integrations.delivery.searched import ASKED_FOR
from recall_integrations.delivery.withholding import withheld
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.privacy.door import Door
from recall_integrations.recall.cache_key import Key, exactly, loosely, meaning
from recall_integrations.recall.result_cache import Kept, ResultCache, copied
from recall_integrations.recall.state import RecallState
from recall_integrations.records import record
from recall_integrations.resilience.admission import FULL
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.revisions import Revision
from recall_integrations.types import CacheOutcome, ParsedQuery, RecallResult
from recall_integrations.types.request import RecallRequest

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
