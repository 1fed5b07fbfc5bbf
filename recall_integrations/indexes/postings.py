"""Postings: texts of a scope that hold a stem, and how often, as input of BM25 with the scope's own numbers only.

`Postings` covers a range of rows and never changes. A scope has a few, each at least twice as large as the next one
(as in a log-structured merge tree): rows that are new become a small one, which swallows those that it has outgrown. So
a write costs what was added, a few times over, and a look-up asks a handful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scratch import Scratch, held
from recall_integrations.records import record

Rows = NDArray[np.int64]
Counts = NDArray[np.int32]
_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1
MERGED = 2  # a part is swallowed by the next one when it is not larger than this many times it


@record(frozen=True, slots=True, kw_only=True)
class Postings:
    """Postings of rows `first` to `end` of a scope."""

    first: int  # with `end`: the rows that are covered, `end` exclusive
    end: int
    stems: NDArray[np.int32]  # int32, rising: numbers of the stems that occur
    begins: Rows  # int64 `(len(stems) + 1,)`: where the entries of each begin in the other two
    rows: NDArray[np.int32]  # int32: rows that hold the stem, rising
    counts: Counts  # int32, beside `rows`: how often they hold it
    tops: Counts  # int32, beside `stems`: the largest of the counts of each

    @property
    def bytes(self) -> int:
        """Bytes of memory for the postings; entries in a file are read here and there, and need none."""
        return int(self.stems.nbytes + self.begins.nbytes + self.tops.nbytes + held(self.rows) + held(self.counts))

    def moved(self, scratch: Scratch) -> Postings:
        """Return the postings with their entries out of memory where they are many."""
        return replace(self, rows=scratch.moved(self.rows), counts=scratch.moved(self.counts))

    def count(self, stem: int) -> int:
        """Count the rows that hold a stem."""
        at = int(self.stems.searchsorted(np.int32(stem)))
        if at == len(self.stems) or self.stems[at] != stem:
            return 0
        return int(self.begins[at + 1]) - int(self.begins[at])

    def most(self, stem: int) -> int:
        """Return the largest count of a stem in a row."""
        at = int(self.stems.searchsorted(np.int32(stem)))
        return int(self.tops[at]) if at < len(self.stems) and self.stems[at] == stem else 0

    def of(self, stem: int) -> tuple[NDArray[np.int32], Counts]:
        """Return the rows that hold a stem, and their counts."""
        at = int(self.stems.searchsorted(np.int32(stem)))  # of another type, all stems would be copied into that one
        if at == len(self.stems) or self.stems[at] != stem:
            return self.rows[:0], self.counts[:0]
        part = slice(int(self.begins[at]), int(self.begins[at + 1]))
        return self.rows[part], self.counts[part]

    def spans(self, stems: Rows) -> tuple[Rows, Rows]:
        """Return the begin and end of each stem's entries."""
        if not len(self.stems):
            return np.zeros_like(stems), np.zeros_like(stems)
        at = np.minimum(self.stems.searchsorted(stems), len(self.stems) - 1)
        begins = self.begins[at]
        return begins, np.where(self.stems[at] == stems, self.begins[at + 1], begins)


def made(first: int, end: int, occurrences: Sequence[tuple[NDArray[np.int32], Rows]]) -> Postings:
    """Build the postings of rows."""
    packed = [(stems.astype(np.int64) << _ROW_BITS) | rows for stems, rows in occurrences]
    keys = np.concatenate(packed) if packed else np.empty(0, dtype=np.int64)
    keys.sort()
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[heads]
    counts = np.diff(heads, append=len(keys)).astype(np.int32)
    numbers = (distinct >> _ROW_BITS).astype(np.int32)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    return Postings(
        first=first,
        end=end,
        stems=numbers[begins],
        begins=np.append(begins, len(distinct)),
        rows=(distinct & _ROW_MASK).astype(np.int32),
        counts=counts,
        tops=np.maximum.reduceat(counts, begins) if len(begins) else counts,
    )


def first_to_read(parts: Sequence[Postings], end: int) -> tuple[tuple[Postings, ...], int]:
    """Return the parts that stay once rows up to `end` exist, and the row from which to read a new part."""
    kept = list(parts)
    first = kept[-1].end if kept else 0
    while kept and first < end and kept[-1].end - kept[-1].first <= MERGED * (end - first):
        first = kept.pop().first
    return tuple(kept), first
