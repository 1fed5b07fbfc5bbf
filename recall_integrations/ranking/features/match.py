"""A query against its candidates: what features are computed from, each thing once for all of them.

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

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import WORDS_MAX
from recall_integrations.indexes.lexicon import Ids
from recall_integrations.ranking.features.bm25 import Values, length_term, saturated, weighted
from recall_integrations.ranking.features.given import FeatureInput
from recall_integrations.text import idf, is_character, length_in_words
from recall_integrations.text.bm25 import K1, PIVOT

NEAR = 0.5
PAIRS_MAX = 1_048_576  # query stem × word of the pool; larger pools give the beginning of each text, 32 words at least
DATE_WORDS_MAX = 3
BLOCK = 16  # content words; a passage is two blocks beside each other


class Match:
    """The query against the pool: the candidates and their neighbours up to ±2, each once.

    Tables over the pool are `(query stems, pool + 1)`; the last column stands for "no such neighbour" and is 0.
    `at[0]` are the columns of the candidates, `at[1:5]` those of the text before, after, two before, two after.

    Text by text: `lengths`, `asks` (whether it asks), `near_match`, `passage`, `damping` (for its length). Stem by stem
    and text by text: `tf`, `near`, `soft`. Word by word, one text after the other: `tokens`, `text_of`, `place`,
    `asked`. Where query stems stand among these: `places`, which stem is `said` there and `said_in` which text.
    """

    def __init__(self, given: FeatureInput) -> None:
        self.given = given
        columns, rows = given.columns, np.asarray(given.rows, dtype=np.int64)
        self.columns, self.rows = columns, rows
        before, after = columns.previous(rows), columns.following(rows)
        every = np.concatenate([rows, before, after, columns.previous(before), columns.following(after)])
        pool, at = np.unique(every, return_inverse=True)
        if len(pool) and pool[0] < 0:
            pool, at = pool[1:], at - 1  # -1, "none", becomes the last column
        self.pool = pool
        self.at = at.reshape(5, len(rows))
        self._gather()
        self._compare()
        self._thread()

    def _gather(self) -> None:
        """Words of the pool, one text after the other."""
        columns = self.columns
        first = columns.starts[self.pool]
        counts = columns.starts[self.pool + 1] - first
        room = PAIRS_MAX // max(len(self.given.query.stems), 8)
        if counts.sum() > room:
            counts = np.minimum(counts, max(32, room // len(counts)))
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        kept = np.arange(total) + np.repeat(first - (ends - counts), counts)
        self.tokens: Ids = columns.words[kept]
        self.asked = columns.asked[kept]
        place = np.arange(total) - np.repeat(ends - counts, counts)
        # Of each word in its text, in words: of Chinese, characters and pairs of them are three for a word.
        shares = np.minimum(columns.lengths[self.pool] / np.maximum(counts, 1), 1)
        self.place = place if not len(shares) or shares.min() == 1 else (place * np.repeat(shares, counts)).astype(int)
        self.text_of = np.repeat(np.arange(len(self.pool)), counts)
        self.counts = counts
        self.lengths = np.append(columns.lengths[self.pool], 0).astype(np.float32)
        self.asks = np.append(columns.questions[self.pool], False).astype(np.float32)

    def _compare(self) -> None:
        """`tf`, `passage_match`, `near` of each query stem in each text of the pool."""
        given, lexicon = self.given, self.columns.lexicon
        stems = given.query.stems
        self.idf = np.asarray([idf(given.frequency(s), given.count) for s in stems], dtype=np.float32)
        self.total = max(float(self.idf.sum()), 1e-9)
        self.share = self.idf / np.float32(self.total)
        self.numbers = np.asarray([lexicon.stem_of(s) for s in stems], dtype=np.int32)
        # Distinct words by marking, which is faster than sorting them.
        marks = np.zeros(len(lexicon), dtype=np.bool_)
        marks[self.tokens] = True
        words = np.flatnonzero(marks).astype(np.int32)
        places = np.empty(len(marks), dtype=np.int32)
        places[words] = np.arange(len(words), dtype=np.int32)
        token = places[self.tokens]
        asked, found = np.nonzero(self.numbers[:, None] == lexicon.stems[words][None, :])
        if stems and given.word_worth > 0:
            close = np.maximum(lexicon.cosines(words, given.query.words), 0)
            if given.word_worth < 1:
                close *= np.float32(given.word_worth)
        else:
            close = np.zeros((len(stems), len(words)), dtype=np.float32)
        close[asked, found] = 1
        stem_of = np.full(len(words), -1, dtype=np.int64)
        stem_of[found] = asked
        said = stem_of[token]
        # Where a query stem stands: few places, so what is counted of them is counted there only.
        self.places = np.flatnonzero(said >= 0)
        self.said, self.said_in = said[self.places], self.text_of[self.places]
        width = len(self.pool) + 1
        tf = np.bincount(self.said * width + self.said_in, minlength=len(stems) * width)
        self.tf = tf.astype(np.float32).reshape(len(stems), width)
        self.distinct, self.token = words, token
        self._nearest(close, token)
        self._passages(close, token)
        self.near_match = weighted(self.share, self.near)
        self.damping = np.float32(K1 + 1) / (1 + length_term(self.lengths, PIVOT))

    def rarity(self) -> float:
        """Mean idf of the query's words that the scope holds, as a share of the highest; 1 where it holds none."""
        count = self.given.count
        stems = self.given.query.stems
        held = [i for i, s in enumerate(stems) if not is_character(s) and self.given.frequency(s) > 0]
        return min(float(self.idf[held].mean()) / idf(0, count), 1.0) if held and count else 1.0

    def _nearest(self, close: Values, token: Ids) -> None:
        """`near` of all texts: few words come that near, so only they count.

        Args:
            close: cosine of each query stem with each distinct word, `(stems, words)`.
            token: which of the words each token is.
        """
        shape = (len(close), len(self.pool) + 1)
        self.near = np.zeros(shape, dtype=np.float32)
        self.near_asked: Values | None = None  # in sentences that ask
        is_near = np.any(close >= NEAR, axis=0)
        near = np.flatnonzero(is_near[token])
        if len(near):
            texts = self.text_of[near]
            begins = np.flatnonzero(np.diff(texts, prepend=-1))
            best = np.maximum.reduceat(close[:, token[near]], begins, axis=1)
            self.near[:, texts[begins]] = np.where(best >= NEAR, best, np.float32(0))
            asked = self.asked[near]
            if asked.any():
                near, texts = near[asked], texts[asked]
                begins = np.flatnonzero(np.diff(texts, prepend=-1))
                best = np.maximum.reduceat(close[:, token[near]], begins, axis=1)
                self.near_asked = np.zeros(shape, dtype=np.float32)
                self.near_asked[:, texts[begins]] = np.where(best >= NEAR, best, np.float32(0))

    def _passages(self, close: Values, token: Ids) -> None:
        """`passage_match` of every text that is asked for it, and the best passage of each.

        Words are taken together in blocks of `BLOCK`; a passage is a block and the one after it.
        """
        width = len(self.pool) + 1
        self.soft = np.zeros((len(close), width), dtype=np.float32)
        self.passage = np.zeros(width, dtype=np.float32)
        text_of, place = self.text_of, self.place
        if not self.given.detail:  # else of neighbours too
            mine = np.zeros(width, dtype=np.bool_)
            mine[self.at[0]] = True
            kept = mine[text_of]
            token, text_of, place = token[kept], text_of[kept], place[kept]
        if not len(token) or not len(close):
            return
        begins = np.flatnonzero(np.diff(text_of * (WORDS_MAX // BLOCK + 1) + place // BLOCK, prepend=-1))
        texts = text_of[begins]
        blocks = np.maximum.reduceat(close[:, token], begins, axis=1)
        first = np.flatnonzero(np.diff(texts, prepend=-1))
        self.soft[:, texts[first]] = np.maximum.reduceat(blocks, first, axis=1)
        joined = blocks.copy()
        beside = np.flatnonzero(np.diff(texts) == 0)
        joined[:, beside] = np.maximum(blocks[:, beside], blocks[:, beside + 1])
        self.passage[texts[first]] = np.maximum.reduceat(weighted(self.share, joined), first)

    def links(self) -> NDArray[np.int64]:
        """Which candidate stands before, after, two before, two after each candidate, `(4, candidates)`; -1 = none."""
        candidate = np.full(len(self.pool) + 1, -1, dtype=np.int64)
        candidate[self.at[0]] = np.arange(len(self.rows))
        links: NDArray[np.int64] = candidate[self.at[1:]]
        return links

    def _thread(self) -> None:
        """Which candidates are of the same thread; one without a thread stands alone."""
        threads = self.columns.threads[self.rows]
        self.threaded = threads >= 0
        alone = -2 - np.arange(len(threads))
        self.codes, self.session = np.unique(np.where(self.threaded, threads, alone), return_inverse=True)

    def best_of_thread(self, values: Values) -> Values:
        """The best of the candidates of its thread, for each candidate; 0 without a thread."""
        best = np.zeros(len(self.codes), dtype=np.float32)
        np.maximum.at(best, self.session, values)
        return self.of_thread(best)

    def of_thread(self, values: Values) -> Values:
        """Values of threads, for each candidate; 0 without a thread."""
        spread: Values = np.where(self.threaded, values[self.session], np.float32(0))
        return spread

    def bm25_of(self, tf: Values, k: Values | np.float32) -> Values:
        """BM25 of texts that hold the stems so often; `k` is their length term."""
        return weighted(self.idf, saturated(tf, k))

    @cached_property
    def bm25(self) -> Values:
        """Of the candidates."""
        return self.bm25_of(self.tf[:, self.at[0]], length_term(self.lengths[self.at[0]], PIVOT))

    @cached_property
    def bm25_counted(self) -> Values:
        """Of the candidates, each stem as often as the query says it."""
        often = np.asarray(self.given.query.counts or [1] * len(self.idf), dtype=np.float32)
        if not (often > 1).any():
            return self.bm25
        me = self.at[0]
        return weighted(self.idf * often, saturated(self.tf[:, me], length_term(self.lengths[me], PIVOT)))

    @cached_property
    def soft_match(self) -> Values:
        """Of the candidates."""
        worth: Values = weighted(self.share, self.soft[:, self.at[0]]) * self.damping[self.at[0]]
        return worth

    @cached_property
    def date_words(self) -> Values:
        """How many the candidates hold, at most `DATE_WORDS_MAX`."""
        found = np.bincount(self.text_of[self.columns.lexicon.dated[self.tokens]], minlength=len(self.pool) + 1)
        counted: Values = np.minimum(found, DATE_WORDS_MAX)[self.at[0]].astype(np.float32)
        return counted

    @cached_property
    def near_w1(self) -> Values:
        """`near` of the candidates or a neighbour at ±1, whichever is nearer: `(stems, candidates)`."""
        at, near = self.at, self.near
        found: Values = np.maximum(np.maximum(near[:, at[0]], near[:, at[1]]), near[:, at[2]])
        return found

    @cached_property
    def lengths_at(self) -> Values:
        """Of the candidates and their neighbours, `(5, candidates)`."""
        return self.lengths[self.at]

    @cached_property
    def actors_at(self) -> NDArray[np.int32]:
        """Of the candidates and their neighbours, `(5, candidates)`; -1 = none."""
        found: NDArray[np.int32] = np.append(self.columns.actors[self.pool], -1)[self.at]
        return found

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """Whether there is such a neighbour, `(5, candidates)`."""
        found: NDArray[np.bool_] = (self.at >= 0) & (self.at < len(self.pool))
        return found

    @cached_property
    def cosines(self) -> Values:
        """Of the texts of the pool, by the store's embedding; 0 = none."""
        made = np.zeros(len(self.pool) + 1, dtype=np.float32)
        found = self.given.cosine(self.pool) if self.given.cosine is not None and len(self.pool) else None
        if found is not None:
            made[:-1] = found
            made[np.isnan(made)] = 0
        return made

    @cached_property
    def cast(self) -> list[list[int]]:
        """Actors by the words of the query that name them."""
        query, columns = self.given.query, self.columns
        numbers = [columns.lexicon.stem_of(s) for s in dict.fromkeys((*query.stems, *query.sequence))]
        numbers.extend(columns.lexicon.stem_of(s) for s in query.asker)
        return [list(columns.actor_words[n]) for n in dict.fromkeys(numbers) if n in columns.actor_words]

    @cached_property
    def gates(self) -> dict[str, float]:
        """Factors of `kind.GATES`, for this scope and this query."""
        sequence = self.given.query.sequence
        asked = length_in_words(sequence)
        # Of words that are cut into characters and pairs, runs are the same again: they count once for a word.
        unread = (1 - self.given.word_worth) * asked / max(len(sequence), 1)
        return self.columns.kind.gates(asked, self.rarity(), self.given.count, unread=unread)
