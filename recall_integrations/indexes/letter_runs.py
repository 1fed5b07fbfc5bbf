"""Runs of four letters, which words spelled alike share, for languages whose words have no vectors.

Word vectors speak English. In other languages a compound ("Fußballstadion" and "Stadion"), a form the stemmer does not
know, or a clitic meet nothing, and yet their letters say what they are. BM25 over runs of four letters finds them
(McNamee and Mayfield, "Character N-Gram Tokenization for European Language Text Retrieval", 2004). A word is taken with
a mark at each end, so that beginnings and ends count as such: `^stadion$` gives `^sta`, `stad`, … `ion$`. A word of one
or two letters is one run; so are the characters, and pairs of them, that scripts without spaces are cut into.

Numbers of runs are only ever added, like those of words (`Lexicon`), and words of queries add none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 4  # letters of a run, the marks at both ends included
SIZE_HANGUL = 3  # a syllable is a letter there, and words have two to four of them
LETTERS_MAX = 64  # of a word that are looked at: beyond that it is no word
Numbers = NDArray[np.int32]


def runs(word: str) -> list[str]:
    """Return the distinct runs of a normal form, in order."""
    marked = f"^{word[:LETTERS_MAX]}$"
    size = SIZE_HANGUL if "가" <= word[:1] <= "힣" else SIZE
    return list(dict.fromkeys(marked[i : i + size] for i in range(max(len(marked) - size + 1, 1))))


class RunTable:
    """Runs of the words of a lexicon, each word read at its first use."""

    def __init__(self, word: Callable[[int], str]) -> None:
        self._word = word
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._begins: NDArray[np.int64] = np.full(1_024, -1, dtype=np.int64)  # of a word in `_flat`; -1 = not read
        self._counts: Numbers = np.zeros(1_024, dtype=np.int32)
        self._flat: Numbers = np.empty(4_096, dtype=np.int32)
        self._used = 0

    def numbers_of(self, words: Sequence[str]) -> Numbers:
        """Return the numbers of the distinct runs of `words`, rising, without runs of no word read so far."""
        known = self._numbers
        return np.asarray(sorted({known[r] for w in words for r in runs(w) if r in known}), dtype=np.int32)

    def of(self, ids: NDArray[np.integer[Any]]) -> tuple[Numbers, Numbers]:
        """Return the runs of the words `ids`, one word after the other, and the number of runs of each."""
        with self._lock:
            top = int(ids.max(initial=-1))
            if top >= len(self._begins):
                more = max(top + 1, 2 * len(self._begins)) - len(self._begins)
                self._begins = np.concatenate([self._begins, np.full(more, -1, dtype=np.int64)])
                self._counts = np.concatenate([self._counts, np.zeros(more, dtype=np.int32)])
            unread = ids[self._begins[ids] < 0]
            if len(unread):
                self._read(np.unique(unread).tolist())
            begins, counts = self._begins[ids], self._counts[ids]
            ends = np.cumsum(counts)
            total = int(ends[-1]) if len(ends) else 0
            return self._flat[np.arange(total) + np.repeat(begins - (ends - counts), counts)], counts

    def __len__(self) -> int:
        return len(self._numbers)

    def _read(self, ids: list[int]) -> None:
        for each in ids:
            own = [self._numbers.setdefault(r, len(self._numbers)) for r in runs(self._word(each))]
            if self._used + len(own) > len(self._flat):
                self._flat = np.concatenate([self._flat, np.empty_like(self._flat)])
            self._flat[self._used : self._used + len(own)] = own
            self._begins[each], self._counts[each] = self._used, len(own)
            self._used += len(own)
