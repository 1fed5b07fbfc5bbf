"""The words of a scope in PostgreSQL, which has no lexical index: read from the record, in a time that grows with it.

Only scopes whose words do not fit into memory are asked for here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from recall_integrations.database import schema
from recall_integrations.database.sending import reading, streamed
from recall_integrations.indexes import word_rows

ROWS_AT_ONCE = 2_000
FIRST = np.float32(np.finfo(np.float32).max)  # so that all are looked at by whoever asks for the best
KEPT = 8  # scopes whose document frequencies are in memory


class RecordWords:
    """Reads like a `LexicalIndex`. Good until something else is committed to the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._counted: LRUCache[int, Counter[str]] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def document_frequency(self, scope_id: int, term: str) -> int:
        return self._frequencies(scope_id)[term]

    def vocabulary(self, scope_id: int) -> list[tuple[str, int]]:
        return sorted(self._frequencies(scope_id).items())

    def search(
        self,
        scope_id: int,
        terms: Sequence[str],
        scope_count: int,
        limit: int,
        frequency: Callable[[str], int] | None = None,
        weaker: Sequence[str] = (),
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return every memory with one of the stems, with equal scores: callers score the named memories."""
        wanted = {*terms, *weaker}
        found = [num for num, said in self._said(scope_id) if not wanted.isdisjoint(said)] if wanted else []
        return np.asarray(found, dtype=np.int64), np.full(len(found), FIRST, dtype=np.float32)

    @cachedmethod(attrgetter("_counted"), lock=attrgetter("_lock"))
    def _frequencies(self, scope_id: int) -> Counter[str]:
        counted: Counter[str] = Counter()
        for _, said in self._said(scope_id):
            counted.update(said)
        return counted

    def _said(self, scope_id: int) -> Iterator[tuple[int, set[str]]]:
        w = schema.words.c
        query = select(w.num, w.words, w.more).where(w.scope_id == scope_id).order_by(w.num)
        with reading(self._engine) as connection:
            first = connection.execute(query.limit(ROWS_AT_ONCE)).all()
        yield from map(_stems, first)
        if len(first) == ROWS_AT_ONCE:
            with self._engine.connect() as connection:
                rest = streamed(query.where(w.num > first[-1].num), ROWS_AT_ONCE)
                yield from map(_stems, connection.execute(rest))


def _stems(row: Any) -> tuple[int, set[str]]:
    return row.num, set(word_rows.stems_of({"words": row.words, "more": row.more}))
