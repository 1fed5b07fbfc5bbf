"""Match of a query with its candidates and their neighbours: the base of the features, each part computed once.

Common symbols of the formulas:

- `q`: the distinct stems of the query; `df`: memories of the scope that hold a stem, `N`: memories of the scope.
- `idf(q) = ln(1 + (N − df + .5) / (df + .5))`; `Σ`: over `q`; `share(q) = idf(q) / Σ idf`.
- `len`: content words; `K(len, p) = 1.2·(.25 + .75·max(len, p)/p)`: BM25's length term with an absolute pivot `p`
  instead of the average length, k1 = 1.2, b = .75 (Robertson and Zaragoza 2009). Texts shorter than the pivot are
  treated alike: in chat a short turn is not better evidence for being short.
- `soft(q, d)`: the best cosine, at least 0, of the query word with any word of the text, by the bundled static vectors,
  times what these are worth in the language of the query; 1 where the text holds the stem. `near(q, d)`: the same, 0
  below .5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import WORDS_MAX, Rows, TextColumns
from recall_integrations.indexes.kernels import (
    Values,
    heads,
    length_term,
    maxima_of_runs,
    saturated,
    undamped,
    weighted,
)
from recall_integrations.indexes.lexicon import QueryTerms
from recall_integrations.indexes.scope_view import Told
from recall_integrations.records import record
from recall_integrations.text import idf, is_character, length_in_words
from recall_integrations.text.analyser import PIVOT

NEAR = 0.5
DATE_WORDS_MAX = 3
BLOCK = 16  # content words; a passage is two blocks beside each other
PAIRS_MAX = 1_048_576  # query stem × word of the pool; larger pools give the beginning of each text, 32 words at least
OTHER_SIGN = 0.5  # of a word in a text that says it only with another sign, as a share of its worth without a sign
T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  used as a decorator, like `property`
    """An attribute like `functools.cached_property`, which before Python 3.12 takes a lock at each first read."""

    def __init__(self, of: Callable[[Any], T]) -> None:
        self._of, self._name, self.__doc__ = of, of.__name__, of.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> once[T] | T:
        if owner is None:
            return self
        made = owner.__dict__[self._name] = self._of(owner)  # read from there from now on
        return made


@record(frozen=True, slots=True, kw_only=True)
class FeatureInput:
    """A query, its candidates, and the statistics of the scope."""

    columns: TextColumns  # texts of the scope
    rows: Rows  # the candidates, distinct
    query: QueryTerms
    frequency: Callable[[str], int]  # memories of the scope that hold a stem
    count: int  # living memories of the scope
    at: NDArray[np.int64] | None = None  # time of every row, microseconds UTC (`ScopeView.at`)
    dated: NDArray[np.bool_] | None = None  # whether `at` says when a row was (`ScopeView.dated`); `None` = of all
    told: Callable[[], Told] | None = None  # times that the rows tell; `None` = none do
    cosine: Callable[[Rows], Values | None] | None = None  # of rows with the query, by the store's embedding
    graph: Values | None = None  # the entity graph's score of each candidate; NaN or 0 = none
    importance: Values | None = None  # of every row of the scope, in [0, 1]
    now: datetime | None = None  # time of the recall, for recency
    half_life_days: float = 30.0
    cosine_worth: float = 1.0  # of the store's embedding in the query's language; 1 = as the bundled one's in English
    cosine_spread: float = 1.0  # how far apart its cosines are; 1 = as far as those of the bundled model
    word_worth: float = 1.0  # of the bundled word vectors in the query's language; 0 = nothing, 1 = as in English
    frequencies: Callable[[Rows], NDArray[np.int64]] | None = None  # `frequency` of many stems, by their numbers


class Match:
    """The query against the pool: its candidates and their neighbours up to ±2, each once.

    The candidates come first: `at[0]`, their places in the pool, counts them. `at[1:5]` are those of the text before,
    after, two before, two after. Texts at ±1 come before those at ±2: with the candidates they are the first `close`.
    The place after the last stands for "no such neighbour". Tables over the pool are `(query stems, pool + 1)`.

    Text by text: `lengths`, `asks` (whether it asks), `near_match`, `passage`. Word by word, one text after the other:
    `tokens`, `text_of`; of the candidates alone `mine` (the first places of `tokens`) and `mine_of` (which candidate).
    Stem by stem and text by text: `tf`, `near`, `soft`. Where query stems stand among the words: `places`, which stem
    is `said` there and `said_in` which text.
    """

    def __init__(self, given: FeatureInput) -> None:
        self.given = given
        columns, rows = given.columns, np.asarray(given.rows, dtype=np.int64)
        self.columns, self.rows = columns, rows
        size = len(rows)
        every = np.empty((5, size), dtype=np.int64)
        every[0] = rows
        if size:
            every[1:3] = columns.beside(rows)
            two = columns.beside(every[1:3].reshape(-1)).reshape(2, 2, size)
            every[3], every[4] = two[0, 0], two[1, 1]
        self._number(every, columns.size)
        self._gather()
        self._compare()

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

    def links(self) -> NDArray[np.int64]:
        """Return the candidates before, after, two before, two after each candidate, `(4, candidates)`; -1 = none."""
        beside = self.at[1:]
        links: NDArray[np.int64] = np.where(beside < len(self.rows), beside, -1)  # candidates come first in the pool
        return links

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
        spread: Values = best[self.session]
        spread *= self.threads >= 0
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

    def _compare(self) -> None:
        """Compute `tf`, `passage_match`, `near` of each query stem in each text of the pool."""
        given, lexicon = self.given, self.columns.lexicon
        stems = given.query.stems
        self.held = [given.frequency(stem) for stem in stems]
        self.idf = np.asarray([idf(held, given.count) for held in self.held], dtype=np.float32)
        if given.query.worth:
            self.idf *= np.asarray(given.query.worth, dtype=np.float32)
        self.total = max(float(np.add.reduce(self.idf)), 1e-9)
        self.share = self.idf / np.float32(self.total)
        self.numbers = [lexicon.stem_of(s) for s in stems]
        # Distinct words by marking, which is faster than sorting them.
        marks = np.zeros(len(lexicon), dtype=np.bool_)
        marks[self.tokens] = True
        words = marks.nonzero()[0]
        places = np.empty(len(marks), dtype=np.int64)
        places[words] = np.arange(len(words))
        if stems and given.word_worth > 0:
            # Word by word, `(distinct words, query stems)`: what is taken of a word then lies side by side.
            close = np.ascontiguousarray(lexicon.cosines(words, given.query.words).T)
            if given.word_worth < 1:
                close *= np.float32(given.word_worth)
        else:
            close = np.zeros((len(words), len(stems)), dtype=np.float32)
        stem_of = self._exact(close, words)
        # Where a word stands that is near, or has a query stem: few places, and all that is counted is counted there.
        pairs = (close.reshape(-1) >= NEAR).nonzero()[0]
        of_word = pairs // max(len(stems), 1)
        marks[:] = False
        marks[words.take(of_word)] = True
        near = marks.take(self.tokens).nonzero()[0]
        token = places.take(self.tokens.take(near))
        said = stem_of.take(token)
        has = (said >= 0).nonzero()[0]
        self.places, self.said = near.take(has), said.take(has)
        text_of_near = self.text_of.take(near)
        self.said_in = text_of_near.take(has)
        width = len(self.pool) + 1
        tf = np.bincount(self.said * width + self.said_in, minlength=len(stems) * width)
        self.tf = tf.astype(np.float32).reshape(len(stems), width)
        self.distinct, self._places = words, places
        # Each stem that is near at each of these places.
        many = np.bincount(of_word, minlength=len(words))
        often = many.take(token)
        ends = often.cumsum()
        pair = pairs.take((many.cumsum().take(token) - ends).repeat(often) + np.arange(int(often.sum())))
        cell = pair % max(len(stems), 1) * width + text_of_near.repeat(often)
        self._near = (cell, close.reshape(-1).take(pair), near.repeat(often))
        self.near = np.zeros((len(stems), width), dtype=np.float32)
        np.maximum.at(self.near.reshape(-1), *self._near[:2])
        self._passages(close, places.take(self.tokens[self.mine]))
        self._take_back()

    @once
    def token(self) -> Rows:
        """Index into the distinct words of each word of the pool."""
        return self._places.take(self.tokens)

    def _exact(self, close: Values, words: Rows) -> Rows:
        """Return the query stem of each word, -1 = none; in `close` such a word becomes 1."""
        lexicon = self.columns.lexicon
        stem_at = np.full(lexicon.stem_count + 1, -1, dtype=np.int64)  # the last is that of -1, a stem of no word
        stem_at[self.numbers] = np.arange(len(self.numbers))
        which: Rows = stem_at.take(lexicon.stems.take(words))
        same = (which >= 0).nonzero()[0]
        close[same, which.take(same)] = 1
        return which

    def rarity(self) -> float:
        """Compute the mean idf of the query's words that the scope holds, as a share of the highest; 1 for no word."""
        count = self.given.count
        worth = [
            one
            for one, held, stem in zip(self.idf.tolist(), self.held, self.given.query.stems, strict=True)
            if held > 0 and not is_character(stem)
        ]
        if not worth or not count:
            return 1.0
        rare: float = sum(worth) / len(worth) / idf(0, count)
        return min(rare, 1.0)

    @once
    def near_asked(self) -> Values | None:
        """`near` of the sentences that ask; `None` where there are none."""
        cell, near, places = self._near
        asked = self.columns.asked.take(self.kept.take(places)).nonzero()[0]
        if not len(asked):
            return None
        found = np.zeros(self.near.shape, dtype=np.float32)
        np.maximum.at(found.reshape(-1), cell.take(asked), near.take(asked))
        return found

    def _passages(self, close: Values, token: Rows) -> None:
        """Compute `soft` and the best passage of each candidate: a block of `BLOCK` words and the one after it.

        `close` is the cosine of each distinct word with each query stem, `token` which of these each word is.
        """
        width = len(self.pool) + 1
        self.soft = np.zeros((len(self.numbers), width), dtype=np.float32)
        self.passage = np.zeros(width, dtype=np.float32)
        if not len(token) or not len(self.numbers):
            return
        begins, first, texts = self._blocks()
        blocks = maxima_of_runs(close, token, begins)
        np.maximum(blocks, 0, out=blocks)
        if len(first) == len(begins):  # short texts: a block each
            self.soft[:, texts] = blocks
            self.passage[texts] = weighted(self.share, blocks)
            return
        self.soft[:, texts] = np.maximum.reduceat(blocks, first, axis=1)
        alone = first[1:] - 1  # the last block of each text
        last = blocks.take(alone, axis=1)
        np.maximum(blocks[:, :-1], blocks[:, 1:], out=blocks[:, :-1])
        blocks[:, alone] = last
        self.passage[texts] = np.maximum.reduceat(weighted(self.share, blocks), first)

    def _blocks(self) -> tuple[Rows, Rows, Rows | slice]:
        """Return the begins of the blocks of words, the first block of each text, and which texts these are."""
        if self.shares is not None:
            text_of = self.text_of[self.mine]
            begins = heads(text_of * (WORDS_MAX // BLOCK + 1) + self.place_of(np.arange(len(text_of))) // BLOCK)
            texts = text_of.take(begins)
            first = heads(texts)
            return begins, first, texts.take(first)
        size = len(self.rows)
        blocks = self.counts[:size] + (BLOCK - 1)
        blocks //= BLOCK
        ends = blocks.cumsum()
        first = ends - blocks
        begins = BLOCK * np.arange(int(ends[-1]))
        begins += (self.begins[:size] - BLOCK * first).repeat(blocks)
        filled = blocks.nonzero()[0]
        if len(filled) == size:
            return begins, first, slice(0, size)
        return begins, first.take(filled), filled

    def _take_back(self) -> None:
        """Lower the worth of a word in texts that say it only with another sign: "C" of "C++", "18" of "-18"."""
        lexicon = self.columns.lexicon
        for row, number in enumerate(self.numbers):
            others = [word for word in lexicon.signed(number) if lexicon.stems[word] not in self.numbers]
            if not others:
                continue
            often = np.bincount(self.text_of[np.isin(self.tokens, others)], minlength=len(self.passage))
            texts = ((often > 0) & (often >= self.tf[row])).nonzero()[0]
            self.passage[texts] -= self.share[row] * (1 - OTHER_SIGN) * self.soft[row, texts]
            for table in (self.tf, self.near, self.soft):
                table[row, texts] *= OTHER_SIGN

    @once
    def near_match(self) -> Values:
        """`near_match` of the texts of the pool."""
        return weighted(self.share, self.near)

    @once
    def tf_own(self) -> Values:
        """`tf` of the candidates, `(stems, candidates)`."""
        found: Values = self.tf[:, : len(self.rows)]
        return found

    @once
    def _saturated(self) -> Values:
        """BM25 of each stem in each candidate, without its idf."""
        return saturated(self.tf_own, length_term(self.lengths[: len(self.rows)], PIVOT))

    @once
    def bm25(self) -> Values:
        """`bm25` of the candidates."""
        return weighted(self.idf, self._saturated)

    @once
    def bm25_counted(self) -> Values:
        """`bm25` of the candidates, each stem as often as the query says it."""
        counts = self.given.query.counts
        if max(counts, default=1) <= 1:
            return self.bm25
        return weighted(self.idf * np.asarray(counts, dtype=np.float32), self._saturated)

    @once
    def soft_match(self) -> Values:
        """`soft_match` of the candidates."""
        size = len(self.rows)
        return undamped(weighted(self.share, self.soft[:, :size]), self.lengths[:size], PIVOT)

    @once
    def date_words(self) -> Values:
        """Number of date words in each candidate, at most `DATE_WORDS_MAX`."""
        dated = self.columns.lexicon.dated.take(self.tokens[self.mine])
        found = np.bincount(self.mine_of[dated], minlength=len(self.rows))
        counted: Values = np.minimum(found, DATE_WORDS_MAX).astype(np.float32)
        return counted

    @once
    def near_at(self) -> Values:
        """`near` of the candidates and their neighbours, `(stems, 5, candidates)`."""
        return self.near.take(self.at, axis=1)

    @once
    def near_w1(self) -> Values:
        """`near` of the candidates or a neighbour at ±1, whichever is nearer: `(stems, candidates)`."""
        found: Values = np.maximum.reduce(self.near_at[:, :3], axis=1)
        return found

    @once
    def asking_share(self) -> Values:
        """Share of the words of the candidates that stand in sentences that ask."""
        asks = self.columns.asked.take(self.kept[self.mine]).nonzero()[0]
        if not len(asks):
            return self.nothing
        asked = np.bincount(self.mine_of[asks], minlength=len(self.rows))
        share: Values = (asked / np.maximum(self.counts[: len(self.rows)], 1)).astype(np.float32)
        return share

    @once
    def cosines(self) -> Values:
        """Cosines of the candidates and their neighbours at ±1; 0 = none."""
        made = np.zeros(len(self.pool) + 1, dtype=np.float32)
        if self.given.cosine is None or not len(self.pool):
            return made
        found = self.given.cosine(self.pool[: self.close])
        if found is not None:
            made[: self.close] = found
            if math.isnan(np.add.reduce(made)):
                made[np.isnan(made)] = 0
        return made

    @once
    def cast(self) -> list[list[int]]:
        """Actors by the words of the query that name them."""
        query, columns = self.given.query, self.columns
        words = columns.actor_words
        if not words:
            return []
        numbers = map(columns.lexicon.stem_of, dict.fromkeys((*query.stems, *query.sequence, *query.asker)))
        return [list(words[n]) for n in dict.fromkeys(numbers) if n in words]

    @once
    def gates(self) -> dict[str, float]:
        """Factors of `kind.GATES`, for this scope and this query; words cut into characters count once for a word."""
        asked = length_in_words(sequence := self.given.query.sequence)
        unread = (1 - self.given.word_worth) * asked / max(len(sequence), 1)
        said = float(weighted(self.share, self.tf_own > 0).max(initial=0)) if asked else 1.0
        rarity, count, worth = self.rarity(), self.given.count, self.given.cosine_worth
        return self.columns.kind.gates(asked, rarity, count, unread=unread, said=said, worth=worth)
