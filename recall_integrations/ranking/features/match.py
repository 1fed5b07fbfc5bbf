"""Match of a query with its candidates: the base of the features, each part computed once for all of them.

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

import numpy as np

from recall_integrations.indexes.columns import WORDS_MAX, Rows
from recall_integrations.indexes.kernels import heads
from recall_integrations.ranking.features.bm25 import Values, length_term, saturated, undamped, weighted
from recall_integrations.ranking.features.given import FeatureInput
from recall_integrations.ranking.features.once import once
from recall_integrations.ranking.features.other_signs import take_back
from recall_integrations.ranking.features.pool import Pool
from recall_integrations.text import idf, is_character, length_in_words
from recall_integrations.text.bm25 import PIVOT

NEAR = 0.5
DATE_WORDS_MAX = 3
BLOCK = 16  # content words; a passage is two blocks beside each other


class Match(Pool):
    """The query against the pool.

    Tables over the pool are `(query stems, pool + 1)`; the last column stands for "no such neighbour" and is 0.

    Text by text: `near_match`, `passage`. Stem by stem and text by text: `tf`, `near`, `soft`. Where query stems stand
    among the words: `places`, which stem is `said` there and `said_in` which text.
    """

    def __init__(self, given: FeatureInput) -> None:
        super().__init__(given)
        self._compare()

    def _compare(self) -> None:
        """Compute `tf`, `passage_match`, `near` of each query stem in each text of the pool."""
        given, lexicon = self.given, self.columns.lexicon
        stems = given.query.stems
        self.held = [given.frequency(stem) for stem in stems]
        self.idf = np.asarray([idf(held, given.count) for held in self.held], dtype=np.float32)
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
            close = lexicon.cosines(words, given.query.words)
            np.maximum(close, 0, out=close)
            if given.word_worth < 1:
                close *= np.float32(given.word_worth)
        else:
            close = np.zeros((len(stems), len(words)), dtype=np.float32)
        stem_of = self._exact(close, words)
        # Where a word stands that is near, or has a query stem: few places, and all that is counted is counted there.
        near, token = self.tokens[:0], self.tokens[:0]
        if stems:
            marks[words] = np.maximum.reduce(close) >= NEAR
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
        self.near = np.zeros((len(stems), width), dtype=np.float32)
        self._near = (close.take(token, axis=1), text_of_near, near)
        if len(near):
            self._best_near(self.near, *self._near[:2])
        self._passages(close, self.token if given.detail else places.take(self.tokens[self.mine]))
        take_back(self)

    @once
    def token(self) -> Rows:
        """Index into the distinct words of each word of the pool."""
        return self._places.take(self.tokens)

    def _exact(self, close: Values, words: Rows) -> Rows:
        """Return the query stem of each word, -1 = none; in `close` such a word becomes 1."""
        which = np.full(len(words), -1, dtype=np.int64)
        numbers = np.asarray(self.numbers, dtype=np.int32)[:, None]
        alike = (self.columns.lexicon.stems.take(words) == numbers).reshape(-1).nonzero()[0]  # faster than on two axes
        place, same = np.divmod(alike, max(len(words), 1))
        which[same] = place
        close[place, same] = 1
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
        near, texts, places = self._near
        asked = self.columns.asked.take(self.kept.take(places)).nonzero()[0]
        if not len(asked):
            return None
        found = np.zeros_like(self.near)
        self._best_near(found, near.take(asked, axis=1), texts.take(asked))
        return found

    def _best_near(self, table: Values, near: Values, texts: Rows) -> None:
        """Write the nearest of words, stem by stem and text by text, into `table`.

        Args:
            table: `(stems, pool + 1)`.
            near: how near each word comes, `(stems, words)`; there is one at least.
            texts: text of each word, rising.
        """
        begins = heads(texts)
        best = np.maximum.reduceat(near, begins, axis=1)
        best *= best >= NEAR
        table[:, texts.take(begins)] = best

    def _passages(self, close: Values, token: Rows) -> None:
        """Compute the `passage_match` of every text that is asked for it, and the best passage of each.

        Words are taken together in blocks of `BLOCK`; a passage is a block and the one after it.

        Args:
            close: cosine of each query stem with each distinct word, `(stems, words)`.
            token: which of the words each token is: those of the candidates, and for trees of their neighbours.
        """
        width = len(self.pool) + 1
        self.soft = np.zeros((len(close), width), dtype=np.float32)
        self.passage = np.zeros(width, dtype=np.float32)
        if not len(token) or not len(close):
            return
        begins, first, texts = self._blocks()
        blocks = np.maximum.reduceat(close.take(token, axis=1), begins, axis=1)
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
        if self.given.detail or self.shares is not None:
            text_of, place = self.text_of, self.place
            if not self.given.detail:
                text_of, place = text_of[self.mine], place[self.mine]
            begins = heads(text_of * (WORDS_MAX // BLOCK + 1) + place // BLOCK)
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

    @once
    def near_match(self) -> Values:
        """`near_match` of the texts of the pool."""
        return weighted(self.share, self.near)

    def bm25_of(self, tf: Values, k: Values | np.float32) -> Values:
        """Compute BM25 of texts that hold the stems `tf` times; `k` is their length term."""
        return weighted(self.idf, saturated(tf, k))

    @once
    def tf_own(self) -> Values:
        """`tf` of the candidates, `(stems, candidates)`."""
        found: Values = self.tf[:, : len(self.rows)]
        return found

    @once
    def k_own(self) -> Values:
        """`K(len, 30)` of the candidates."""
        return length_term(self.lengths[: len(self.rows)], PIVOT)

    @once
    def _saturated(self) -> Values:
        """BM25 of each stem in each candidate, without its idf."""
        return saturated(self.tf_own, self.k_own)

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
        """Cosines of the candidates and their neighbours at ±1, and of those at ±2 for trees; 0 = none."""
        made = np.zeros(len(self.pool) + 1, dtype=np.float32)
        if self.given.cosine is None or not len(self.pool):
            return made
        asked = self.pool if self.given.detail else self.pool[: self.close]
        found = self.given.cosine(asked)
        if found is not None:
            made[: len(asked)] = found
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
