"""BM25 of a scope's memories, from the scope's own numbers alone.

`idf · 2.2·tf / (tf + K)`, `K = 1.2·(.25 + .75·len / average)` (Robertson and Zaragoza 2009) over the stems of the
actor's name and the text; texts shorter than `PIVOT` count as that long. Of many: MaxScore (Turtle and Flood 1995).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations import text
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.indexes.vector_column import lower_bound
from recall_integrations.records import record
from recall_integrations.text.analyser import K1, PIVOT, B

Scores = NDArray[np.float64]
Frequency = Callable[[str], int]
_FEW = 64  # so many entries of a list are passed over in the time in which one row is looked up in it
_SLACK = 1e-6  # share of a score that float32 cannot tell apart, and more
TERMS_MAX = 64  # distinct stems of a query that are looked up
WEAKER = 0.6  # of what a stem gives, for a form of the word that differs from the one that was asked for


def idf(frequency: int, documents: int) -> float:
    """Return `text.idf`, at least a tenth of a nat: a word that all memories hold still tells them from none."""
    return max(0.1, text.idf(frequency, documents))


def weighted(terms: Sequence[str], weaker: Sequence[str]) -> list[tuple[str, float]]:
    """Return the distinct stems that are looked up, each with its share of a gain."""
    distinct = list(dict.fromkeys(terms))[:TERMS_MAX]
    others = [term for term in dict.fromkeys(weaker) if term not in distinct][:TERMS_MAX]
    return [*((term, 1.0) for term in distinct), *((term, WEAKER) for term in others)]


def ceiling(terms: Sequence[str], frequency: Frequency, documents: int) -> float:
    """Return the score that BM25 approaches for a text full of every term: `(k1 + 1) * sum idf`."""
    distinct = list(dict.fromkeys(terms))[:TERMS_MAX]
    return (K1 + 1) * sum(idf(frequency(term), documents) for term in distinct)


@record(frozen=True)
class Entries:
    """Gains of one word for the rows that hold it: `weight · count / (count + k)`."""

    # rows that hold the word, rising, and their counts; the rows of each part lie above those before
    parts: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]
    weight: float  # upper limit of a gain
    most: int  # the largest of the counts
    k: Callable[[NDArray[Any]], Scores]  # returns `k` of rows
    lowest: float  # the smallest `k`

    def __len__(self) -> int:
        return sum([len(rows) for rows, _ in self.parts])

    @cached_property
    def bound(self) -> float:
        """Largest gain of a row."""
        return self.weight * self.most / (self.most + self.lowest) * (1 + _SLACK)

    def gains(self, rows: NDArray[Any], counts: NDArray[np.int32]) -> Scores:
        """Return the gains of rows that hold the word `counts` times."""
        found = np.multiply(self.weight, counts, dtype=np.float64)
        found /= counts + self.k(rows)
        return found

    def looked_up(self, rows: NDArray[np.int32]) -> Scores:
        """Return the gains of any rows; 0 for a row without the word."""
        counts = np.zeros(len(rows), dtype=np.int32)
        for own, often in self.parts:
            if len(own):
                at = own.searchsorted(rows)
                at[at == len(own)] = 0
                counts += np.where(own[at] == rows, often[at], np.int32(0))
        return self.gains(rows, counts)


def best_rows(
    lists: Sequence[Entries], size: int, limit: int, allowed: NDArray[np.bool_] | None
) -> tuple[Rows, Scores]:
    """Return rows that may be among the best `limit` by the sum of their gains, rising, and the sums.

    All rows that share the score of the last of the best are among them. Gains are added in the order of `lists`.
    """
    sums: Scores = np.zeros(size)
    falling = sorted(lists, key=lambda one: one.bound, reverse=True)
    left, bar = sum(one.bound for one in falling), 0.0
    read: list[NDArray[np.int32]] = []
    while falling and left >= bar:
        one = falling.pop(0)
        left = sum(other.bound for other in falling)
        for held, often in one.parts:
            kept = slice(None) if allowed is None else allowed[held]
            rows, counts = held[kept], often[kept]
            now = sums[rows]
            now += one.gains(rows, counts)
            sums[rows] = now
            read.append(rows)
            bar = max(bar, lower_bound(now, limit) * (1 - _SLACK))
    near = _reaching(read, sums, bar - left)
    known = sums[near]
    for place, one in enumerate(falling):
        left = sum(other.bound for other in falling[place + 1 :])
        if len(near) * _FEW < len(one):
            known = known + one.looked_up(near)
        else:
            for rows, counts in one.parts:
                sums[rows] += one.gains(rows, counts)
            known = sums[near]
        sums[near] = known
        bar = max(bar, lower_bound(known, limit) * (1 - _SLACK))
        kept = known >= bar - left
        near, known = near[kept], known[kept]
    total: Scores = np.zeros(len(near))
    for one in lists:
        total += one.looked_up(near)
    return near.astype(np.int64), total


def _reaching(read: Sequence[NDArray[np.int32]], sums: Scores, bar: float) -> NDArray[np.int32]:
    """Return the distinct rows of some lists whose sums reach the bar, rising."""
    found = [rows[sums[rows] >= bar] for rows in read]
    if len(found) == 1:
        return found[0]
    merged = np.concatenate(found) if found else np.empty(0, dtype=np.int32)
    merged.sort()
    return merged[np.diff(merged, prepend=-1) > 0]


_EXACT_LENGTHS = 40
_NORMS, _TABLE = "bm25.norms", "bm25.k"
LARGE = 200_000  # rows from which not all are added up, and not all have their `K` at hand, made anew after a write


def _rounded_lengths() -> NDArray[np.int64]:
    """Return the lengths that are told apart, as in an index of Lucene: exact up to 40, then eight steps a doubling."""
    lengths, step = list(range(_EXACT_LENGTHS + 1)), 2
    while len(lengths) < 256:
        last = lengths[-1]
        lengths.extend(last + step * i for i in range(1, 9))
        step *= 2
    return np.asarray(lengths[:256], dtype=np.int64)


LENGTHS = _rounded_lengths()
_USUAL = LENGTHS[np.searchsorted(LENGTHS, np.arange(4_096), side="right") - 1]


@record(frozen=True)
class Bm25:
    """BM25 of one query in one scope."""

    view: ScopeView  # the scope
    terms: Sequence[str]  # stems to look for
    # stems of other forms of the words, each of which gives `WEAKER` of what it would give as a term
    weaker: Sequence[str]
    frequency: Frequency  # counts the memories of the scope that hold a stem

    @cached_property
    def weights(self) -> dict[str, float]:
        """Largest gain of each stem that a memory holds."""
        count, found = self.view.count, {}
        for term, weight in weighted(self.terms, self.weaker):
            if held := self.frequency(term):
                found[term] = weight * (K1 + 1) * idf(held, count)
        return found

    def search(self, limit: int, allowed: Mask | None = None) -> tuple[Rows, NDArray[np.float32]]:
        """Return living, allowed rows that hold a stem, at least the best `limit`, and their scores, by row."""
        if not self.weights:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        rows, scores = self._scan(limit, allowed)
        return rows, scores.astype(np.float32)

    def _scan(self, limit: int, living: Mask | None) -> tuple[Rows, Scores]:
        """Score all rows that hold a stem; forgotten rows are in no list."""
        words, view = self.view.text, self.view
        if view.size > LARGE:
            return self._best(words, limit, living)
        held = [words.holding(term) for term in self.weights]
        lengths = [len(rows) for rows, _ in held]
        rows = np.concatenate([rows for rows, _ in held])
        counts = np.concatenate([counts for _, counts in held])
        gains = np.repeat(list(self.weights.values()), lengths)
        gains *= counts
        gains /= counts + self._k(rows)
        # Row by row the gains are added in the order of the terms.
        scores: Scores = np.bincount(rows, gains, minlength=view.size).astype(np.float64, copy=False)
        if living is not None:
            scores *= living
        bound = np.float32(lower_bound(scores, limit))
        # What float32 cannot tell from the last of the best is among them.
        best: Rows = (scores >= np.nextafter(bound, np.float32(0)) if bound > 0 else scores > 0).nonzero()[0]
        return best, scores[best]

    def _best(self, words: TextColumns, limit: int, allowed: Mask | None) -> tuple[Rows, Scores]:
        """Score only the rows that can be among the best, as `_scan` does."""
        if not words.whole:
            allowed = words.alive if allowed is None else words.alive & allowed
        lowest, lists = float(self._of_lengths(np.asarray([0]))[0]), []
        for term, weight in self.weights.items():
            parts, most = words.entries(term)
            lists.append(Entries(parts, weight, most, self._k, lowest))
        return best_rows(lists, self.view.size, limit, allowed)

    def _k(self, rows: NDArray[Any]) -> Scores:
        if self.view.size > LARGE:
            return self._of_lengths(self.view.lengths[rows])
        k: Scores = self._norms[rows]
        return k

    @property
    def _norms(self) -> Scores:
        """`K` of each row, which depends on nothing but lengths."""
        norms: Scores | None = self.view.memo.get(_NORMS)
        if norms is None:
            norms = self.view.memo[_NORMS] = self._of_lengths(self.view.lengths)
        return norms

    def _of_lengths(self, lengths: NDArray[Any]) -> Scores:
        """Return `K` of texts by their lengths."""
        table: Scores | None = self.view.memo.get(_TABLE)
        if table is None:
            table = self.view.memo[_TABLE] = k_of(np.arange(len(_USUAL)), self.view.mean_length)
        found: Scores = table.take(lengths, mode="clip")
        long = np.flatnonzero(lengths >= len(_USUAL))
        if len(long):
            found[long] = k_of(lengths[long], self.view.mean_length)
        return found


def k_of(lengths: NDArray[Any], mean: float) -> Scores:
    """Return `K` of texts by their lengths and the scope's mean length."""
    return np.asarray(K1 * (1 - B + B * (rounded(lengths) / mean)), dtype=np.float64)


def rounded(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return lengths as they count: at least `PIVOT`, and rounded to `LENGTHS`."""
    padded = np.maximum(lengths, PIVOT)
    found: NDArray[np.int64] = _USUAL[np.minimum(padded, len(_USUAL) - 1)]
    long = np.flatnonzero(padded >= len(_USUAL))
    found[long] = LENGTHS[np.searchsorted(LENGTHS, padded[long], side="right") - 1]
    return found
