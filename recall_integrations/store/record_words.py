"""The words of a scope for a process that does not keep the lexical index.

In a directory, another process writes tantivy's files and is a moment behind the database: the memories in between are
read one by one (`TailedWords`). In PostgreSQL there is no lexical index: words are read from the record, exactly, in a
time that grows with the scope (`RecordWords`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from recall_integrations.database import schema
from recall_integrations.database.portable import streamed
from recall_integrations.database.sending import reading
from recall_integrations.indexes import word_rows
from recall_integrations.indexes.words import LexicalIndex
from recall_integrations.store import journal
from recall_integrations.text import stems

AT_ONCE = 2_000
FIRST = np.float32(np.finfo(np.float32).max)  # so that what the index lacks is looked at by whoever asks for the best


class _Tail(NamedTuple):
    """The changes of a scope that the index lacks."""

    new: Mapping[int, frozenset[str]]  # the stems of memories that are not in the index, by number
    gone: Sequence[int]  # numbers of removed memories that are in the index


class TailedWords:
    """Reads like a `LexicalIndex`. Good until something else is committed to the database."""

    def __init__(self, index: LexicalIndex, engine: Engine, cursor: int) -> None:
        self._index, self._engine, self._cursor = index, engine, cursor
        self._tails: dict[int, _Tail] = {}

    @cachedmethod(attrgetter("_tails"))
    def _tail(self, scope_id: int) -> _Tail:
        new: dict[int, frozenset[str]] = {}
        gone: list[int] = []
        after = self._cursor
        with self._engine.connect() as connection:
            while batch := journal.pending_in(connection, after, AT_ONCE, scope_id):
                after = batch[-1].seq
                for change in batch:
                    if change.content is not None and not self._index.has(change.num):
                        new[change.num] = frozenset(stems(change.content, change.language))
                    elif change.op == "del" and self._index.has(change.num):
                        gone.append(change.num)
        return _Tail(new, tuple(gone))

    def document_frequency(self, scope_id: int, term: str) -> int:
        tail = self._tail(scope_id)
        more = sum(term in said for said in tail.new.values())
        return self._index.document_frequency(scope_id, term) + more - self._index.holding(scope_id, term, tail.gone)

    def vocabulary(self, scope_id: int) -> list[tuple[str, int]]:
        """Return the vocabulary, see `LexicalIndex`. Words just removed may count still."""
        tail = self._tail(scope_id)
        counted = Counter(dict(self._index.vocabulary(scope_id)))
        for said in tail.new.values():
            counted.update(said)
        return sorted(counted.items())

    def search(
        self,
        scope_id: int,
        terms: Sequence[str],
        scope_count: int,
        limit: int,
        frequency: Callable[[str], int] | None = None,
        weaker: Sequence[str] = (),
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Search as `LexicalIndex`. Memories that it lacks come first, with equal scores: callers score them."""
        tail = self._tail(scope_id)
        known = self.document_frequency if frequency is None else None
        nums, scores = self._index.search(
            scope_id, terms, scope_count, limit, (lambda term: known(scope_id, term)) if known else frequency, weaker
        )
        if tail.gone:
            there = ~np.isin(nums, tail.gone)
            nums, scores = nums[there], scores[there]
        wanted = {*terms, *weaker}
        more = sorted(num for num, said in tail.new.items() if not wanted.isdisjoint(said))
        return (
            np.concatenate([np.asarray(more, dtype=np.int64), nums]),
            np.concatenate([np.full(len(more), FIRST, dtype=np.float32), scores]),
        )


ROWS_AT_ONCE = 2_000
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
        """Return the vocabulary, see `LexicalIndex`."""
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
