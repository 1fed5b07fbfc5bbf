"""Finds the passage of a long text that speaks most for it: the window of sentences with most of the query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.sentences import sentence_ends, word_ends
from recall_integrations.indexes.kernels import heads

LONG_CHARS = 480  # a text that is no longer is a passage itself
PASSAGE_CHARS = 320
UNIT_CHARS = (80, 240)  # shorter sentences are joined, longer ones are cut at words
UNITS_MAX = PASSAGE_CHARS // UNIT_CHARS[0]
SURE = 0.25  # share of the query that a passage holds at least
BETTER = 1.1  # factor by which a longer passage must say more than a shorter one

Values = NDArray[np.float32]


class Passage(NamedTuple):
    """A passage's place, and the share of the query that it holds, in [0, 1]."""

    start: int
    end: int
    share: float


def best_passage(text: str, starts: NDArray[np.int64], worth: Values) -> Passage | None:
    """Return the passage that holds most of the query; `None` where the text is short or no part of it says enough.

    Args:
        text: a memory's text.
        starts: places where its content words begin, rising.
        worth: how far each content word says each word of the query, `(query words, content words)`; a column adds up
            to at most 1 over all words of the query.
    """
    if len(text) <= LONG_CHARS or not len(starts) or not len(worth):
        return None
    ends = np.asarray(units(text), dtype=np.int64)
    held = np.searchsorted(ends, starts, side="right")
    first = heads(held)
    said = np.zeros((len(worth), len(ends)), dtype=np.float32)
    said[:, held[first]] = np.maximum.reduceat(worth, first, axis=1)
    begins = np.concatenate(([0], ends[:-1]))
    best, found = SURE / BETTER, None
    window = said.copy()
    for size in range(1, min(UNITS_MAX, len(ends)) + 1):
        if size > 1:
            window = np.maximum(window[:, :-1], said[:, size - 1 :])
        fits = ends[size - 1 :] - begins[: len(ends) - size + 1] <= PASSAGE_CHARS + size
        total = np.where(fits | (size == 1), window.sum(axis=0), 0)
        place = int(total.argmax())
        if float(total[place]) >= best * BETTER:
            best = float(total[place])
            found = int(begins[place]), int(ends[place + size - 1])
    return None if found is None else _trimmed(text, *found, best)


def units(text: str) -> list[int]:
    """Return the ends of the parts that make up passages, the last with the text: sentences, short ones joined."""
    least, most = UNIT_CHARS
    ends: list[int] = []
    at = 0
    for end in (*sentence_ends(text), len(text)):
        if end - at > most:
            ends.extend(_cut(text, at, end, most))
            at = end
        elif end - at >= least or end == len(text):
            ends.append(end)
            at = end
    return ends


def _cut(text: str, start: int, end: int, most: int) -> Iterator[int]:
    """Yield the ends of parts of a long sentence, at words as far as there are any."""
    at = last = start
    for stop in (*(start + place for place in word_ends(text[start:end])), end):
        while stop - at > most:
            at = last if last > at else at + most
            yield at
        last = stop
    yield end


def _trimmed(text: str, start: int, end: int, share: float) -> Passage:
    shown = text[start:end]
    return Passage(start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip()), min(share, 1.0))
