"""Documents that say a name: an index of the words, and pairs of neighbouring words, of a scope's documents.

A name is looked up by its word, or by its first two. Made from the columns in memory when a recall first asks, and
kept: rows are only ever added. New rows are a small index of their own until they are many; then the two are merged.
Of what many documents say only so many are kept that it is seen to be common.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.kernels import changes
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView, of_types
from recall_integrations.types import MemoryType

WORDS_MAX = 2_000_000  # content words of a scope; a larger one has no such index
LATE_MIN, LATE_SHARE = 10_000, 0.05  # words of new rows: so many, or this share of those before
COMMON = 4.0  # times √documents: so many rows are kept of a key
Keys = NDArray[np.uint64]

# A key has 32 bits: the number of a stem, or, with the highest bit set, 31 bits of two stems mixed (Fibonacci hashing).
_PAIR, _PAIR_BITS, _MIX = np.uint64(1 << 31), np.uint64((1 << 31) - 1), np.uint64(0x9E3779B97F4A7C15)
_ROW_BITS, _ROW = np.uint64(32), np.uint64((1 << 32) - 1)


class _Part(NamedTuple):
    """Index of rows from `first` to `end`.

    Args:
        entries: a key and, in the lower half, a row that says it; rising, each once.
        heads: key of the first word and of the first two of each row, `(2, rows)`; 0 = it has not so many.
    """

    first: int
    end: int
    entries: Keys
    heads: Keys


class NamePostings:
    """Name index of the documents of a view with text. Threads may share one.

    Args:
        view: the scope.
        before: index that `begins` the view, to be extended.
    """

    def __init__(self, view: ScopeView, before: NamePostings | None = None) -> None:
        self._ends = (int(view.nums[0]), int(view.nums[-1])) if view.size else (0, 0)
        self._words = len(text_of(view).words)
        whole = _part(view, 0) if before is None else _merged(before._main, before._upto(view))
        self._main: _Part = whole._replace(entries=_cut(whole.entries, documents(view)))
        self._late: _Part = _Part(view.size, view.size, self._main.entries[:0], self._main.heads)

    def begins(self, view: ScopeView) -> bool:
        """Say whether a view begins with these rows."""
        n = self._main.end
        # Numbers rise and never come again: if the first and the last are where they were, so are all between them.
        return 0 < n <= view.size and self._ends == (int(view.nums[0]), int(view.nums[n - 1]))

    def serves(self, view: ScopeView) -> bool:
        """Say whether a view begins with these rows, and has not many more."""
        added = len(text_of(view).words) - self._words
        return self.begins(view) and added <= max(LATE_MIN, LATE_SHARE * self._words)

    def find(self, view: ScopeView, keys: Keys, most: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the living documents that say keys: index of the key and row, each pair once, in no order.

        Args:
            view: view that this index serves.
            keys: keys of names.
            most: a key that more documents say is left out.
        """
        first = keys << _ROW_BITS
        parts = [part for part in (self._main.entries, self._upto(view).entries) if len(part)]
        spans = [(part.searchsorted(first), part.searchsorted(first + _ROW, side="right")) for part in parts]
        count = np.zeros(len(keys), dtype=np.int64)
        for left, right in spans:
            count += right - left
        chosen = ((count > 0) & (count <= most)).nonzero()[0]
        if not len(chosen):
            return chosen, chosen
        said, rows = [], []
        for part, (left, right) in zip(parts, spans, strict=True):
            counts = (right - left)[chosen]
            ends = counts.cumsum()
            places = (left[chosen] - (ends - counts)).repeat(counts)
            places += np.arange(len(places))
            said.append(chosen.repeat(counts))
            rows.append(part[places] & _ROW)
        names, found = np.concatenate(said), np.concatenate(rows).astype(np.int64)
        alive = view.alive[found]
        return names[alive], found[alive]

    def heads(self, view: ScopeView) -> Keys:
        """Return the keys of the first word and of the first two of each row, `(2, view.size)`; 0 = it has fewer."""
        return self._upto(view).heads

    def _upto(self, view: ScopeView) -> _Part:
        """Return the part with later rows, as far as the view goes; its `heads` are those of all rows."""
        late = self._late
        if late.end != view.size:
            late = _part(view, self._main.end)
            late = late._replace(heads=np.concatenate([self._main.heads, late.heads], axis=1))
            self._late = late
        return late


def keys_of(stems: NDArray[np.int32]) -> Keys:
    """Compute the keys of names, given as the numbers of their stems `(names, words)`, filled up with -1."""
    several: Keys = _pair(stems[:, 0], np.maximum(stems[:, 1], 0))
    return np.where(stems[:, 1] < 0, _single(stems[:, 0]), several)


def documents(view: ScopeView) -> Mask:
    """Flag the rows that are documents: `chunk` memories."""
    return of_types(view, (MemoryType.CHUNK,))


def text_of(view: ScopeView) -> TextColumns:
    """Return the text columns of a view that has them."""
    assert view.text is not None
    return view.text


def _single(stems: NDArray[np.int32]) -> Keys:
    keys: Keys = stems.astype(np.uint64) + np.uint64(1)
    return keys


def _pair(first: NDArray[np.int32], second: NDArray[np.int32]) -> Keys:
    mixed = ((first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)) * _MIX
    keys: Keys = ((mixed >> np.uint64(32)) & _PAIR_BITS) | _PAIR
    return keys


def _part(view: ScopeView, first: int) -> _Part:
    """Index the rows from `first` on."""
    text, wanted = text_of(view), documents(view)[first:]
    counts = np.diff(text.starts[first:])
    heads = np.zeros((2, len(counts)), dtype=np.uint64)
    for k in range(2):
        long = np.flatnonzero(counts > k)
        begun = text.lexicon.stems[text.words[text.starts[first:-1][long, None] + np.arange(k + 1)]]
        heads[k, long] = _pair(begun[:, 0], begun[:, 1]) if k else _single(begun[:, 0])
    # The words of documents only: where they are few, nearly nothing has to be read.
    own = np.flatnonzero(wanted)
    begins = np.repeat(text.starts[first:-1][own] - np.cumsum(counts[own]) + counts[own], counts[own])
    stems = text.lexicon.stems[text.words[begins + np.arange(len(begins))]]
    rows = np.repeat(own.astype(np.uint64) + np.uint64(first), counts[own])
    inside = rows[1:] == rows[:-1]
    single, pair = _single(stems) << _ROW_BITS, _pair(stems[:-1], stems[1:])[inside] << _ROW_BITS
    entries = np.concatenate([single | rows, pair | rows[1:][inside]])
    entries.sort()
    return _Part(first, view.size, entries[changes(entries)], heads)


def _merged(before: _Part, after: _Part) -> _Part:
    """Merge two parts; `heads` of the second are those of both."""
    entries = np.concatenate([before.entries, after.entries])
    entries.sort(kind="stable")  # which sees that these are two sorted runs
    return _Part(before.first, after.end, entries, after.heads)


def _cut(entries: Keys, wanted: Mask) -> Keys:
    """Keep the first `COMMON` · √documents rows of each key."""
    most = max(COMMON * math.sqrt(np.count_nonzero(wanted)), 1)
    begins = np.flatnonzero(changes(entries >> _ROW_BITS))
    sizes = np.diff(begins, append=len(entries))
    if sizes.max(initial=0) <= most:
        return entries
    kept: Keys = entries[np.arange(len(entries)) - np.repeat(begins, sizes) < most]
    return kept
