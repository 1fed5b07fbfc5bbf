"""The lexical index for a process that does not keep it: its committed state, and the rest of the journal.

Another process writes tantivy's files and is a moment behind the database. The memories in between are few; they are
read one by one, so that the writes of any process are found, and count, at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from recall_integrations.indexes.words import LexicalIndex
from recall_integrations.store import journal
from recall_integrations.text import stems

AT_ONCE = 2_000
FIRST = np.float32(np.finfo(np.float32).max)  # so that what the index lacks is looked at by whoever asks for the best


class _Tail(NamedTuple):
    """The changes of a scope that the index lacks."""

    new: Mapping[int, frozenset[str]]  # the stems of memories that are not in the index, by number
    gone: Sequence[int]  # numbers of removed memories that are in the index
    head: int  # the last entry of the journal that was read


class TailedWords:
    """Reads like a `LexicalIndex`. Good until something else is committed to the database."""

    def __init__(self, index: LexicalIndex, engine: Engine, cursor: int) -> None:
        self._index, self._engine, self._cursor = index, engine, cursor
        self._tails: dict[int, _Tail] = {}

    def _tail(self, scope_id: int) -> _Tail:
        found = self._tails.get(scope_id)
        if found is None:
            found = self._tails[scope_id] = self._read(scope_id)
        return found

    def _read(self, scope_id: int) -> _Tail:
        new: dict[int, frozenset[str]] = {}
        gone: list[int] = []
        after = self._cursor
        with self._engine.connect() as connection:
            head = journal.last_seq(connection)
            while batch := journal.pending_in(connection, after, AT_ONCE, scope_id):
                after = batch[-1].seq
                for change in batch:
                    if change.content is not None and not self._index.has(change.num):
                        new[change.num] = frozenset(stems(change.content, change.language))
                    elif change.op == "del" and self._index.has(change.num):
                        gone.append(change.num)
        return _Tail(new, tuple(gone), head)

    def document_frequency(self, scope_id: int, term: str) -> int:
        """Count the memories with a term: see `LexicalIndex`."""
        tail = self._tail(scope_id)
        more = sum(term in said for said in tail.new.values())
        return self._index.document_frequency(scope_id, term) + more - self._index.holding(scope_id, term, tail.gone)

    def vocabulary(self, scope_id: int) -> tuple[list[tuple[str, int]], int]:
        """Return the vocabulary, see `LexicalIndex`, and its last change. Words just removed may count still."""
        tail = self._tail(scope_id)
        counted = Counter(dict(self._index.vocabulary(scope_id)[0]))
        for said in tail.new.values():
            counted.update(said)
        return sorted(counted.items()), tail.head

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
