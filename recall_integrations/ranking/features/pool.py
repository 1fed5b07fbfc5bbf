"""Texts that features look at for a query: its candidates and their neighbours, with their words as one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.given import FeatureInput
from recall_integrations.ranking.features.once import once

PAIRS_MAX = 1_048_576  # query stem × word of the pool; larger pools give the beginning of each text, 32 words at least


class Pool:
    """The candidates and their neighbours up to ±2, each once.

    The candidates come first: `at[0]`, their places in the pool, counts them. `at[1:5]` are those of the text before,
    after, two before, two after. Texts at ±1 come before those at ±2: with the candidates they are the first `close`.
    The place after the last stands for "no such neighbour".

    Text by text: `lengths`, `asks` (whether it asks). Word by word, one text after the other: `tokens`, `text_of`,
    `place`, `asked`; of the candidates alone `mine` (the first places of `tokens`) and `mine_of` (which candidate).

    Args:
        given: the query, its candidates, their scope.
    """

    def __init__(self, given: FeatureInput) -> None:
        self.given = given
        columns, rows = given.columns, np.asarray(given.rows, dtype=np.int64)
        self.columns, self.rows = columns, rows
        size, none = len(rows), columns.size
        every = np.empty((5, size), dtype=np.int64)
        every[0] = rows
        if size:
            every[1:3] = columns.beside(rows)
            two = columns.beside(every[1:3].reshape(-1)).reshape(2, 2, size)
            every[3], every[4] = two[0, 0], two[1, 1]
        self._number(every, none)
        self._gather()

    def _number(self, every: Rows, none: int) -> None:
        """Number each row once, in the order of first occurrence; `at` holds the number of each of them."""
        size, flat = every.shape[1], every.reshape(-1)
        places = np.arange(len(flat), dtype=np.int32)
        # Where each row comes first: of several places that are written, the last one stays. Blank memory otherwise.
        first_of = np.empty(none + 1, dtype=np.int32)
        first_of[flat[::-1]] = places[::-1]
        first_of[none] = -1
        first = first_of[flat]
        came = (first == places).nonzero()[0]
        self.pool: Rows = flat[came]
        number = np.empty(len(flat) + 1, dtype=np.int64)
        number[came] = places[: len(came)]
        number[-1] = len(came)  # "none" is the last column
        self.at: Rows = number[first].reshape(5, size)
        # The candidates and their neighbours at ±1 are the first so many.
        self.close = int(came.searchsorted(3 * size))

    def _gather(self) -> None:
        """Gather the words of the pool, one text after the other."""
        columns, pool = self.columns, self.pool
        first = columns.starts.take(pool)
        counts = columns.starts.take(pool + 1)
        counts -= first
        ends = counts.cumsum()
        total, room = int(ends[-1]) if len(ends) else 0, PAIRS_MAX // max(len(self.given.query.stems), 8)
        if total > room:
            counts = np.minimum(counts, max(32, room // len(counts)))
            ends = counts.cumsum()
            total = int(ends[-1])
        self.counts = counts
        self.begins = ends - counts
        self.kept = np.arange(total)  # where the words stand in the columns
        first -= self.begins
        self.kept += first.repeat(counts)
        self.tokens: Rows = columns.words.take(self.kept).astype(np.int64)  # as what they index
        self.text_of = np.arange(len(pool)).repeat(counts)
        # Of each word in its text, in words: of Chinese, characters and pairs of them are three for a word.
        lengths = columns.lengths.take(pool)
        self.shares: NDArray[np.float64] | None = None
        if np.logical_or.reduce(lengths < counts):
            self.shares = np.minimum(lengths / np.maximum(counts, 1), 1)
        self.lengths = np.zeros(len(pool) + 1, dtype=np.float32)
        self.lengths[:-1] = lengths
        # The words of the candidates stand before those of their neighbours.
        size = len(self.rows)
        self.mine = slice(0, int(ends[size - 1]) if size else 0)
        self.mine_of = self.text_of[self.mine]

    @once
    def asks(self) -> Values:
        """1 for each text that asks something, else 0."""
        found = np.zeros(len(self.pool) + 1, dtype=np.float32)
        found[:-1] = self.columns.questions[self.pool]
        return found

    def place_of(self, positions: Rows) -> Rows:
        """Return the places in their texts of the words at these places of `tokens`, in words."""
        texts = self.text_of[positions]
        place: Rows = positions - self.begins[texts]
        return place if self.shares is None else (place * self.shares[texts]).astype(np.int64)

    @once
    def place(self) -> Rows:
        """Place of each word in its text, in words."""
        return self.place_of(np.arange(len(self.tokens)))

    @once
    def asked(self) -> NDArray[np.bool_]:
        """Flag of each word whose sentence asks."""
        return self.columns.asked[self.kept]

    def links(self) -> NDArray[np.int64]:
        """Return the candidates before, after, two before, two after each candidate, `(4, candidates)`; -1 = none."""
        beside = self.at[1:]
        links: NDArray[np.int64] = np.where(beside < len(self.rows), beside, -1)  # candidates come first in the pool
        return links

    @once
    def threaded(self) -> NDArray[np.bool_]:
        """Flag of each candidate that has a thread."""
        found: NDArray[np.bool_] = self.threads >= 0
        return found

    @once
    def threads(self) -> NDArray[np.int32]:
        """Thread of each candidate, -1 = none."""
        return self.columns.threads.take(self.rows)

    @once
    def session(self) -> Rows:
        """Place of one candidate of its thread, the same for all of them; all without a thread share one."""
        places = np.arange(len(self.rows))
        one_of = np.empty(len(self.columns.thread_names) + 1, dtype=np.int64)  # the last is that of -1, no thread
        one_of[self.threads] = places
        return one_of[self.threads]

    def best_of_thread(self, values: Values) -> Values:
        """Return the best value among the candidates of its thread, for each candidate; 0 without a thread."""
        best = np.zeros(len(self.rows), dtype=np.float32)
        np.maximum.at(best, self.session, values)
        return self.of_thread(best)

    def of_thread(self, values: Values) -> Values:
        """Spread values of threads by `session` to each candidate; 0 without a thread."""
        spread: Values = values[self.session]
        spread *= self.threaded
        return spread

    @once
    def nothing(self) -> Values:
        """Zeros for the candidates: absent evidence."""
        return np.zeros(len(self.rows), dtype=np.float32)

    @once
    def roles(self) -> NDArray[np.int8]:
        """Role of each candidate, as in `ROLE_CODES`."""
        return self.columns.roles.take(self.rows)

    @once
    def lengths_at(self) -> Values:
        """Lengths of the candidates and their neighbours, `(5, candidates)`."""
        return self.lengths[self.at]

    @once
    def length_w1(self) -> Values:
        """Length of each candidate with its neighbours at ±1, taken as one text."""
        summed: Values = np.add.reduce(self.lengths_at[:3])
        return summed

    @once
    def actors_at(self) -> NDArray[np.int32]:
        """Actors of the candidates and their neighbours, `(5, candidates)`; -1 = none."""
        actors = np.full(len(self.pool) + 1, -1, dtype=np.int32)
        actors[:-1] = self.columns.actors[self.pool]
        return actors[self.at]

    @once
    def there(self) -> NDArray[np.bool_]:
        """Flag of each neighbour that exists, `(5, candidates)`."""
        found: NDArray[np.bool_] = self.at < len(self.pool)
        return found
