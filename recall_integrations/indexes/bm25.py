"""BM25 of a scope's memories, from the scope's own numbers alone: its frequencies, its count, its average length.

`idf · 2.2·tf / (tf + K)`, `K = 1.2·(.25 + .75·len / average)` (Robertson and Zaragoza 2009), over what `words` indexes:
the stems of the actor's name and of the text. Texts shorter than `PIVOT` count as that long, in the average as well.
Only living memories count.

Where the words of a scope are at hand, every memory that holds a stem is scored, or, in a large scope, every one
that can be among the best (`best_rows`). Where they are not, tantivy says
which memories to look at, and these are scored by the words that the store keeps of them. Its own scores depend on all
scopes (they share one average length), so it is asked until no memory that it has not named can be among the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.best_rows import Entries, best_rows
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.indexes.vector_column import lower_bound
from recall_integrations.indexes.words import TERMS_MAX, WEAKER, WordIndex
from recall_integrations.records import record
from recall_integrations.text import idf
from recall_integrations.text.bm25 import K1, PIVOT, B

Scores = NDArray[np.float64]
Frequency = Callable[[str], int]
MORE = 4  # times as many are asked of the index when those that it named were not enough
UNSURE = 1.25  # the index's own idf may be so much off: forgotten memories count in it until segments merge
_EXACT_LENGTHS = 40
_NORMS, _TABLE = "bm25.norms", "bm25.k"
LARGE = 200_000  # rows from which not all are added up, and not all have their `K` at hand, made anew after a write


def _rounded_lengths() -> NDArray[np.int64]:
    """Return the lengths that tantivy tells apart in a byte: exact up to 40, then in eight steps a doubling."""
    lengths, step = list(range(_EXACT_LENGTHS + 1)), 2
    while len(lengths) < 256:
        last = lengths[-1]
        lengths.extend(last + step * i for i in range(1, 9))
        step *= 2
    return np.asarray(lengths[:256], dtype=np.int64)


LENGTHS = _rounded_lengths()
_USUAL = LENGTHS[np.searchsorted(LENGTHS, np.arange(4_096), side="right") - 1]


def frequency_of(view: ScopeView, index: Callable[[], WordIndex]) -> Frequency:
    """Return a function that counts the living memories with a stem, in memory or, failing that, by the index.

    The function raises `IndexUnavailable` where it needs the index and the index fails.
    """
    if view.text is not None:
        return view.text.frequency
    return lambda term: index().document_frequency(view.scope_id, term)


@record(frozen=True)
class Bm25:
    """BM25 of one query in one scope."""

    view: ScopeView  # the scope
    terms: Sequence[str]  # stems to look for
    # stems of other forms of the words, each of which gives `WEAKER` of what it would give as a term
    weaker: Sequence[str]
    frequency: Frequency  # counts the memories of the scope that hold a stem
    index: Callable[[], WordIndex]  # looks up memories where the words are not in memory

    @cached_property
    def weights(self) -> dict[str, float]:
        """Largest gain of each stem that a memory holds."""
        distinct = list(dict.fromkeys(self.terms))[:TERMS_MAX]
        others = [term for term in dict.fromkeys(self.weaker) if term not in distinct][:TERMS_MAX]
        count, found = self.view.count, {}
        for term, weight in (*((term, 1.0) for term in distinct), *((term, WEAKER) for term in others)):
            if held := self.frequency(term):
                found[term] = weight * (K1 + 1) * idf(held, count)
        return found

    def search(
        self, limit: int, allowed: Mask | None = None, check_time: Callable[[], None] = lambda: None
    ) -> tuple[Rows, NDArray[np.float32]]:
        """Return living, allowed rows that hold a stem, at least the best of them, and their scores, in order of row."""
        if not self.weights:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if self.view.text is not None:
            rows, scores = self._scan(limit, allowed)
        else:
            living = self.view.alive if allowed is None else self.view.alive & allowed
            rows, scores = self._ask(limit, living, check_time)
        return rows, scores.astype(np.float32)

    def _scan(self, limit: int, living: Mask | None) -> tuple[Rows, Scores]:
        """Score all rows that hold a stem; forgotten rows are in no list."""
        text, view = self.view.text, self.view
        assert text is not None
        if view.size > LARGE:
            return self._best(text, limit, living)
        held = [text.holding(term) for term in self.weights]
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

    def _best(self, text: TextColumns, limit: int, allowed: Mask | None) -> tuple[Rows, Scores]:
        """Score only the rows that can be among the best, as `_scan` does."""
        if not text.whole:
            allowed = text.alive if allowed is None else text.alive & allowed
        lowest, lists = float(self._of_lengths(np.asarray([0]))[0]), []
        for term, weight in self.weights.items():
            parts, most = text.entries(term)
            lists.append(Entries(parts, weight, most, self._k, lowest))
        return best_rows(lists, self.view.size, limit, allowed)

    def _ask(self, limit: int, living: Mask, check_time: Callable[[], None]) -> tuple[Rows, Scores]:
        """Ask the index for ever more rows, until it cannot name one of the best any more, and score them."""
        view, index = self.view, self.index()
        wanted = 2 * limit
        while True:
            nums, theirs = index.search(view.scope_id, self.terms, view.count, wanted, self.frequency, self.weaker)
            rows = view.rows_of(nums)
            rows = rows[living[rows]]
            scores = self._of(rows)
            if len(nums) < wanted or wanted >= view.size:
                break
            best = np.sort(scores)[::-1]
            if len(best) >= limit and best[limit - 1] > self._ratio * UNSURE * float(theirs[-1]):
                break
            check_time()
            wanted = min(MORE * wanted, view.size)
        order = np.argsort(rows)
        return rows[order], scores[order]

    @cached_property
    def _ratio(self) -> float:
        """Largest ratio of our score to the index's, whose average length is taken as the least possible, `PIVOT`."""
        own = self._norms
        theirs: Scores = K1 * (1 - B + B * rounded(self.view.lengths) / PIVOT)
        return float(((1 + theirs) / (1 + own)).max(initial=1.0))

    def _of(self, rows: Rows) -> Scores:
        """Score rows by the words that the store keeps."""
        view, scores = self.view, np.zeros(len(rows))
        if view.spelled is None:
            raise IndexUnavailable("The words of the memories can neither be found in memory nor in the store.")
        counted, k = view.spelled(view.nums[rows], tuple(self.weights)), self._k(rows)
        for counts, weight in zip(counted, self.weights.values(), strict=True):
            scores += weight * counts / (counts + k)
        return scores

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
    """Return lengths as they count: at least `PIVOT`, and rounded as the index rounds them."""
    padded = np.maximum(lengths, PIVOT)
    found: NDArray[np.int64] = _USUAL[np.minimum(padded, len(_USUAL) - 1)]
    long = np.flatnonzero(padded >= len(_USUAL))
    found[long] = LENGTHS[np.searchsorted(LENGTHS, padded[long], side="right") - 1]
    return found
