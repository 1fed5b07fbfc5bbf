"""Evidence for each candidate, as named columns: what the rankers add up.

Computed once per query in numpy over the candidates and, where threads are known, their neighbours. `FORMULAS` says
what each column is. Common symbols:

- `q`: the distinct stems of the query; `df`: memories of the scope that hold a stem, `N`: memories of the scope.
- `idf(q) = ln(1 + (N − df + .5) / (df + .5))`; `Σ`: over `q`; `share(q) = idf(q) / Σ idf`.
- `len`: content words; `K(len, p) = 1.2·(.25 + .75·max(len, p)/p)`: BM25's length term with an absolute pivot `p`
  instead of the average length, k1 = 1.2, b = .75 (Robertson and Zaragoza 2009). Texts shorter than the pivot are
  treated alike: in chat a short turn is not better evidence for being short.
- `soft(q, d)`: the best cosine, at least 0, of the query word with any word of the text, by the bundled static vectors,
  times what these are worth in the language of the query; 1 where the text holds the stem. `near(q, d)`: the same, 0
  below .5.

Evidence that is absent (no thread, actor, time or vector) makes a constant column, which orders nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import WORDS_MAX, Rows, TextColumns
from recall_integrations.indexes.lexicon import Ids, QueryTerms
from recall_integrations.indexes.times import to_micros
from recall_integrations.ranking.features import exchange, nearby
from recall_integrations.ranking.features.bm25 import (
    PIVOT_1,
    PIVOT_2,
    Values,
    length_term,
    saturated,
    weighted,
)
from recall_integrations.text import idf, is_character, length_in_words
from recall_integrations.text.bm25 import K1, PIVOT

SESSION_LENGTH = 3.0  # K of a thread's candidates taken together, whatever they hold
NEAR = 0.5
PAIRS_MAX = 1_048_576  # query stem × word of the pool; larger pools give the beginning of each text, 32 words at least
DATE_WORDS_MAX = 3
AFTER_WINDOW = 0.6  # worth of a memory just after the window: people tell of things later
AFTER_DAYS = (3.0, 30.0)  # shortest and longest time in which that fades
_DAY = 86_400_000_000


BLOCK = 16  # content words; a passage is two blocks beside each other
LEAD = 12  # content words that a text begins with


FORMULAS: Mapping[str, str] = {
    "bm25": "BM25: Σ idf · 2.2·tf / (tf + K(len, 30))",
    "bm25_counted": "the same, each stem as often as the query says it",
    "passage_match": "the best Σ share · soft of a passage: 32 words of the text, from every 16th on",
    "char_bm25": "BM25 of the runs of four letters of the query's words, K(len, mean len of the candidates and their "
    "neighbours, at least 30 words), idf among these; computed where the gate `spelling` is open",
    "lead_match": "Σ share of the stems among the first 12 words of the text",
    "feedback": "how much of the words of the five best other candidates by z(bm25_counted) + .4·z(cosine) the text "
    "holds",
    "near_in_time": "the best z(bm25_counted) of another candidate of the 36 hours around it",
    "exchange_bm25": "the best bm25_counted among the candidates of the thread",
    "asking_share": "share of the text's words that stand in sentences that ask",
    "asked_before": "near_match of the sentences that ask in the text before it, where that is by another actor",
    "by_user": "1 where the user of an assistant said it",
    "by_asked_role": "strength · 1 where it was said by the role whose words the query asks for",
    "cast_present": "share of the actors named in the query who speak in its thread",
    "bm25_of_best": "bm25 / the best bm25 among the candidates",
    "bm25_of_ceiling": "bm25 / (2.2·Σ idf)",
    "idf_coverage": "Σ share of the stems that the text holds",
    "soft_match": "Σ share · soft, times 2.2 / (1 + K(len, 30))",
    "near_match": "Σ share · near",
    "near_match_w1": "Σ share · max of near over the text and its neighbours at ±1, times 2.2 / (1 + K(len of all, "
    "75))",
    "near_match_w2": "the same over ±2, K(len of all, 120)",
    "speaker_prior_match": "the better near_match of the two texts before it that are by the same actor",
    "previous_question_match": "near_match of the text before it, where that is a question of another actor",
    "exchange_match": "Σ share · the best near of the text, of another's question before it, and of the actor's text "
    "two before",
    "is_question": "1 where the text asks something",
    "previous_is_question": "1 where the text before it asks something",
    "log_length": "ln(1 + len) − its mean over the scope",
    "previous_log_length": "ln(1 + len) of the text before it",
    "bigram_match": "idf of the query's neighbouring stem pairs that stand side by side in the text, as a share of all",
    "date_words": "date words in the text, at most 3",
    "date_words_asked": "date_words where the query asks for a time, else 0",
    "speaker_named": "1 where the query names the actor, or speaks in the first person and the actor is who asks",
    "names_speaker": "1 where the text names an actor whom the query names",
    "thread_bm25": "Σ idf · 2.2·tf / (tf + 3.6) of all candidates of the thread taken as one text",
    "thread_best_bm25": "the best bm25_of_best among the candidates of the thread",
    "thread_best_soft_match": "the best soft_match among the candidates of the thread",
    "cosine": "cosine of the query with the text, by the store's embedding",
    "cosine_w1": "mean of the cosine over the text and its neighbours at ±1",
    "date_match": "window confidence · (1 inside; .6·exp(−days past the end / length of the window) after it; 0 "
    "before, "
    "and where no time is known)",
    "graph": "score of the entity graph, 0 where it has none",
    "recency": "2^(−age in days / half-life), 0 where no time is known",
    "importance": "the memory's importance",
}

# What only trees look at besides: the query itself, and terms and neighbours one by one.
DETAIL: Mapping[str, str] = {
    "soft_match_w1": "as near_match_w1 with soft instead of near",
    "bm25_w1": "BM25 of the text and its neighbours at ±1 taken as one text, K(len of all, 75)",
    "near_match_before": "near_match of the text before",
    "near_match_after": "near_match of the text after",
    "near_match_before_2": "near_match of the text two before",
    "near_match_after_2": "near_match of the text two after",
    "next_log_length": "ln(1 + len) of the text after",
    "next_is_question": "1 where the text after it asks something",
    "cosine_before": "cosine of the text before, 0 = none",
    "cosine_after": "cosine of the text after, 0 = none",
    "thread_best_cosine": "the best cosine among the candidates of the thread",
    "thread_size": "candidates in the thread",
    "thread_idf_coverage": "Σ share of the stems that the candidates of the thread hold together",
    "cosine_w2": "mean of the cosine over the text and its neighbours at ±2",
    "age": "place of its time between the earliest and the latest candidate, 0 to 1",
    "query_stems": "stems in the query",
    "query_mean_idf": "mean idf of the query's stems",
    "query_speakers": "actors that the query names",
    **{f"t{i}": f"soft of the {n} rarest stem" for i, n in enumerate(("", "second", "third", "fourth"))},
    **{f"w{i}": f"near of the {n} rarest stem, best of ±1" for i, n in enumerate(("", "second", "third", "fourth"))},
    **{f"i{i}": f"idf of the {n} rarest stem" for i, n in enumerate(("", "second", "third", "fourth"))},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureInput:
    """A query, its candidates, and the statistics of the scope.

    Args:
        columns: texts of the scope.
        rows: the candidates, distinct.
        query: the terms.
        frequency: memories of the scope that hold a stem.
        count: living memories of the scope.
        at: int64 `(n,)`: time of every row, microseconds UTC (`ScopeView.at`).
        dated: bool `(n,)`: whether `at` says when a row was (`ScopeView.dated`); `None` = of all.
        cosine: cosine of rows with the query, by the store's embedding; may give `None`.
        graph: the entity graph's score of each candidate; NaN or 0 = none.
        importance: of every row of the scope, in [0, 1].
        now: for recency.
        half_life_days: of recency.
        detail: also compute `DETAIL`.
        cosine_worth: what a cosine of the store's embedding is worth in the language of the query, 1 = as much as one
            of the bundled model in English.
        word_worth: what a cosine of the bundled word vectors is worth in the language of the query, 0 = nothing,
            1 = as much as in English.
    """

    columns: TextColumns
    rows: Rows
    query: QueryTerms
    frequency: Callable[[str], int]
    count: int
    at: NDArray[np.int64] | None = None
    dated: NDArray[np.bool_] | None = None
    cosine: Callable[[Rows], Values | None] | None = None
    graph: Values | None = None
    importance: Values | None = None
    now: datetime | None = None
    half_life_days: float = 30.0
    detail: bool = False
    cosine_worth: float = 1.0
    word_worth: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Columns by name, each float32 `(candidates,)`, finite.

    Args:
        rows: of the scope, one for each candidate.
        columns: the features.
        links: candidate before, after, two before, two after each in its thread, `(4, candidates)`; -1 = none.
        session: candidates of one thread have one number; -1 = no thread.
        gates: factors of `kind.GATES`, for this scope and this query.
        cosine_worth: see `FeatureInput`.
    """

    rows: Rows
    columns: Mapping[str, Values]
    links: NDArray[np.int64]
    session: NDArray[np.int64]
    gates: Mapping[str, float] = field(default_factory=dict)
    cosine_worth: float = 1.0

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.rows)

    def __getitem__(self, name: str) -> Values:
        """The column; zeros where the name was not computed."""
        found = self.columns.get(name)
        return np.zeros(self.size, dtype=np.float32) if found is None else found

    def matrix(self, names: Sequence[str]) -> Values:
        """The columns side by side, `(candidates, names)`."""
        return np.stack([self[name] for name in names], axis=1) if names else np.empty((self.size, 0), np.float32)


def compute(given: FeatureInput) -> Features:
    """All features of all candidates."""
    match = Match(given)
    columns: dict[str, Values] = {}
    match.text(columns)
    match.windows(columns)
    match.people(columns)
    match.sessions(columns)
    match.dense(columns)
    sequence = given.query.sequence
    asked = length_in_words(sequence)
    # Of words that are cut into characters and pairs, runs are the same again: they count once for a word.
    unread = (1 - given.word_worth) * asked / max(len(sequence), 1)
    gates = given.columns.kind.gates(asked, match.rarity(), given.count, unread=unread)
    if gates["spelling"]:
        columns["char_bm25"] = match.char_bm25()
    exchange.told(match, columns)
    exchange.roles(match, columns)
    if gates["crowd"]:
        exchange.cast(match, columns)
    if gates["roles"]:
        exchange.exchange(match, columns)
    if gates["apart"]:
        nearby.together(match, columns)
    if gates["long"] or gates["documents"]:
        nearby.feedback(match, columns)
    _outside(given, columns)
    if given.detail:
        match.detail(columns)
    made = {name: np.asarray(values, dtype=np.float32) for name, values in columns.items()}
    return Features(
        rows=match.rows,
        columns=made,
        links=match.links(),
        session=np.where(match.threaded, match.session, -1),
        gates=gates,
        cosine_worth=given.cosine_worth,
    )


class Match:
    """The query against the pool: the candidates and their neighbours up to ±2, each once.

    Tables over the pool are `(query stems, pool + 1)`; the last column stands for "no such neighbour" and is 0.
    `at[0]` are the columns of the candidates, `at[1:5]` those of the text before, after, two before, two after.
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
            close = np.maximum(lexicon.cosines(words, lexicon.vectors_of(given.query.words)), 0)
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
        self.mt = weighted(self.share, self.near)
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

    def _bm25(self, tf: Values, k: Values) -> Values:
        return weighted(self.idf, saturated(tf, k))

    def links(self) -> NDArray[np.int64]:
        """Which candidate stands before, after, two before, two after each candidate, `(4, candidates)`; -1 = none."""
        candidate = np.full(len(self.pool) + 1, -1, dtype=np.int64)
        candidate[self.at[0]] = np.arange(len(self.rows))
        links: NDArray[np.int64] = candidate[self.at[1:]]
        return links

    def text(self, out: dict[str, Values]) -> None:
        """The text itself."""
        me = self.at[0]
        self.bm = self._bm25(self.tf[:, me], length_term(self.lengths[me], PIVOT))
        out["bm25"] = self.bm
        often = np.asarray(self.given.query.counts or [1] * len(self.idf), dtype=np.float32)
        self.bmq = self.bm
        if (often > 1).any():
            self.bmq = weighted(self.idf * often, saturated(self.tf[:, me], length_term(self.lengths[me], PIVOT)))
        out["bm25_counted"] = self.bmq
        out["bm25_of_best"] = self.bm / max(float(self.bm.max(initial=0)), 1e-9)
        out["bm25_of_ceiling"] = self.bm / np.float32((K1 + 1) * self.total)
        out["idf_coverage"] = weighted(self.share, (self.tf[:, me] > 0).astype(np.float32))
        out["soft_match"] = weighted(self.share, self.soft[:, me]) * self.damping[me]
        out["near_match"] = self.mt[me]
        out["passage_match"] = self.passage[me]
        out["lead_match"] = self._lead()[me]
        asked = np.bincount(self.text_of[self.asked], minlength=len(self.pool) + 1)[me]
        out["asking_share"] = asked / np.maximum(np.append(self.counts, 0)[me], 1)
        out["is_question"] = self.asks[me]
        out["log_length"] = np.log1p(self.lengths[me]) - np.float32(self.columns.mean_log_length)
        out["bigram_match"] = self._pairs()[me]
        dated = np.bincount(self.text_of[self.columns.lexicon.dated[self.tokens]], minlength=len(self.pool) + 1)
        out["date_words"] = np.minimum(dated, DATE_WORDS_MAX)[me].astype(np.float32)
        out["date_words_asked"] = out["date_words"] * np.float32(self.given.query.when)

    def char_bm25(self) -> Values:
        """BM25 over runs of four letters, of the candidates.

        How many of the pool hold a run takes the place of how many memories do: no run is counted in the scope.
        """
        runs, me = self.columns.lexicon.runs, self.at[0]
        flat, counts = runs.of(self.distinct)
        asked = runs.numbers_of(self.given.query.words)
        place = np.full(len(runs), -1, dtype=np.int64)
        place[asked] = np.arange(len(asked))
        held = place[flat]
        matched = np.flatnonzero(held >= 0)
        # Of each distinct word, its runs that are asked for: where they begin in `matched`, and how many.
        many = np.bincount(np.repeat(np.arange(len(counts)), counts)[matched], minlength=len(counts))
        begins = np.cumsum(many) - many
        width = len(self.pool) + 1
        of_token = many[self.token]
        ends = np.cumsum(of_token)
        total = int(ends[-1]) if len(ends) else 0
        which = matched[np.arange(total) + np.repeat(begins[self.token] - (ends - of_token), of_token)]
        key = held[which] * width + np.repeat(self.text_of, of_token)
        tf = np.bincount(key, minlength=len(asked) * width).astype(np.float32).reshape(len(asked), width)
        lengths = np.bincount(self.text_of, weights=counts[self.token], minlength=width).astype(np.float32)
        # The mean of the pool, but thirty words at least: a short turn is not better for being short.
        of_word = float(counts[self.token].mean()) if len(self.token) else 1.0
        pivot = max(float(lengths[:-1].mean()) if len(self.pool) else 0.0, PIVOT * of_word)
        worth = [idf(n, len(self.pool)) for n in (tf > 0).sum(axis=1).tolist()]
        k = length_term(lengths[me], pivot)
        return weighted(np.asarray(worth, dtype=np.float32), saturated(tf[:, me], k))

    def _lead(self) -> Values:
        early = self.place[self.places] < LEAD
        held = np.zeros((len(self.idf), len(self.pool) + 1), dtype=np.float32)
        held[self.said[early], self.said_in[early]] = 1
        return weighted(self.share, held)

    def _pairs(self) -> Values:
        order = {s: i for i, s in enumerate(self.given.query.stems)}
        said = [order.get(s, -1) for s in self.given.query.sequence]
        pairs = {(a, b) for a, b in pairwise(said) if a >= 0 and b >= 0 and a != b}
        found = np.zeros(len(self.pool) + 1, dtype=np.float32)
        if not pairs:
            return found
        beside = (np.diff(self.places) == 1) & (self.said_in[1:] == self.said_in[:-1])
        first, second, text = self.said[:-1][beside], self.said[1:][beside], self.said_in[1:][beside]
        whole = 0.0
        for a, b in sorted(pairs):
            worth = float(self.idf[a] + self.idf[b])
            whole += worth
            hits = text[(first == a) & (second == b)]
            if len(hits):
                found[np.unique(hits)] += np.float32(worth)
        found /= np.float32(max(whole, 1e-9))
        return found

    def windows(self, out: dict[str, Values]) -> None:
        """The text with its neighbours in the thread."""
        at, near = self.at, self.near
        one = np.maximum(np.maximum(near[:, at[0]], near[:, at[1]]), near[:, at[2]])
        two = np.maximum(np.maximum(one, near[:, at[3]]), near[:, at[4]])
        lengths = self.lengths[at]
        out["near_match_w1"] = (
            weighted(self.share, one) * np.float32(K1 + 1) / (1 + length_term(lengths[:3].sum(0), PIVOT_1))
        )
        out["near_match_w2"] = (
            weighted(self.share, two) * np.float32(K1 + 1) / (1 + length_term(lengths.sum(0), PIVOT_2))
        )
        self.near_1, self.lengths_at = one, lengths
        out["previous_is_question"] = self.asks[at[1]]
        out["previous_log_length"] = np.log1p(lengths[1])
        actors = np.append(self.columns.actors[self.pool], -1)[at]
        known = actors[0] >= 0
        same = known & (actors == actors[0])
        out["speaker_prior_match"] = np.maximum(self.mt[at[1]] * same[1], self.mt[at[3]] * same[3])
        asked = self.asks[at[1]] * (known & (actors[1] >= 0) & ~same[1])
        out["previous_question_match"] = self.mt[at[1]] * asked
        answer = np.maximum(near[:, at[0]], np.maximum(near[:, at[1]] * asked, near[:, at[3]] * same[3]))
        out["exchange_match"] = weighted(self.share, answer)

    def people(self, out: dict[str, Values]) -> None:
        """Who spoke, and who is spoken of."""
        columns, query = self.columns, self.given.query
        lexicon = columns.lexicon
        asked = [lexicon.stem_of(s) for s in dict.fromkeys((*query.stems, *query.sequence))]
        asked.extend(lexicon.stem_of(s) for s in query.asker)
        groups = [columns.actor_words[number] for number in dict.fromkeys(asked) if number in columns.actor_words]
        self.cast = groups  # actors by the words of the query that name them
        named = {code for group in groups for code in group}
        self.named = len(named)
        actors = columns.actors[self.rows]
        is_named = np.zeros(len(columns.actor_names) + 1, dtype=np.float32)  # the last is that of -1, no actor
        is_named[list(named)] = 1
        out["speaker_named"] = is_named[actors]
        people = [i for i, number in enumerate(self.numbers.tolist()) if number in columns.actor_words]
        me = self.at[0]
        out["names_speaker"] = (self.tf[people][:, me].sum(0) > 0) if people else np.zeros(len(me), dtype=np.float32)

    def sessions(self, out: dict[str, Values]) -> None:
        """The candidates of the same thread; a candidate without a thread stands alone and gets 0."""
        threads = self.columns.threads[self.rows]
        self.threaded = threads >= 0
        alone = -2 - np.arange(len(threads))
        self.codes, self.session = np.unique(np.where(self.threaded, threads, alone), return_inverse=True)
        tf = np.zeros((len(self.idf), len(self.codes)), dtype=np.float32)
        for i, row in enumerate(self.tf[:, self.at[0]]):
            tf[i] = np.bincount(self.session, weights=row, minlength=len(self.codes))
        self.session_tf = tf
        out["thread_bm25"] = self._of_session(self._bm25(tf, np.float32(K1 * SESSION_LENGTH)))
        out["thread_best_bm25"] = self._of_session(self._best(out["bm25_of_best"]))
        out["thread_best_soft_match"] = self._of_session(self._best(out["soft_match"]))

    def _best(self, values: Values) -> Values:
        best = np.zeros(len(self.codes), dtype=np.float32)
        np.maximum.at(best, self.session, values)
        return best

    def _of_session(self, values: Values) -> Values:
        spread: Values = np.where(self.threaded, values[self.session], np.float32(0))
        return spread

    def dense(self, out: dict[str, Values]) -> None:
        """Cosines by the store's embedding."""
        self.cosines = np.zeros(len(self.pool) + 1, dtype=np.float32)
        found = self.given.cosine(self.pool) if self.given.cosine is not None and len(self.pool) else None
        if found is not None:
            self.cosines[:-1] = found
            self.cosines[np.isnan(self.cosines)] = 0
        at = self.at[:3]
        out["cosine"] = self.cosines[at[0]]
        there = (at >= 0) & (at < len(self.pool))
        out["cosine_w1"] = self.cosines[at].sum(0) / np.maximum(there.sum(0), 1)

    def detail(self, out: dict[str, Values]) -> None:
        """What `DETAIL` lists."""
        at = self.at
        soft = np.maximum(np.maximum(self.soft[:, at[0]], self.soft[:, at[1]]), self.soft[:, at[2]])
        k = length_term(self.lengths_at[:3].sum(0), PIVOT_1)
        out["soft_match_w1"] = weighted(self.share, soft) * np.float32(K1 + 1) / (1 + k)
        out["bm25_w1"] = self._bm25(self.tf[:, at[0]] + self.tf[:, at[1]] + self.tf[:, at[2]], k)
        for i, name in enumerate(("before", "after", "before_2", "after_2"), 1):
            out[f"near_match_{name}"] = self.mt[at[i]]
        out["next_log_length"] = np.log1p(self.lengths_at[2])
        out["next_is_question"] = self.asks[at[2]]
        out["cosine_before"], out["cosine_after"] = self.cosines[at[1]], self.cosines[at[2]]
        out["thread_best_cosine"] = self._of_session(self._best(out["cosine"]))
        out["thread_size"] = self._of_session(np.bincount(self.session, minlength=len(self.codes)).astype(np.float32))
        out["thread_idf_coverage"] = self._of_session(weighted(self.share, (self.session_tf > 0).astype(np.float32)))
        there = (at >= 0) & (at < len(self.pool))
        out["cosine_w2"] = self.cosines[at].sum(0) / np.maximum(there.sum(0), 1)
        size = len(self.rows)
        out["age"] = np.zeros(size, dtype=np.float32)
        if self.given.at is not None and size:
            time = self.given.at[self.rows]
            out["age"] = (time - time.min()) / max(float(time.max() - time.min()), 1.0)
        for name, value in (
            ("query_stems", len(self.idf)),
            ("query_mean_idf", self.total / max(len(self.idf), 1)),
            ("query_speakers", self.named),
        ):
            out[name] = np.full(size, value, dtype=np.float32)
        rarest = np.argsort(-self.idf, kind="stable")[:4].tolist()
        for i, term in enumerate(rarest):
            out[f"t{i}"] = self.soft[term, at[0]]
            out[f"w{i}"] = self.near_1[term]
            out[f"i{i}"] = np.full(size, self.idf[term], dtype=np.float32)


def _outside(given: FeatureInput, out: dict[str, Values]) -> None:
    """What is known of a memory besides its text."""
    out["date_match"] = _date_match(given)
    if given.graph is not None:
        out["graph"] = np.nan_to_num(given.graph)
    if given.importance is not None:
        out["importance"] = given.importance[given.rows]
    if given.at is not None and given.now is not None:
        age = np.maximum(to_micros(given.now) - given.at[given.rows], 0) / _DAY
        out["recency"] = np.exp2(-age / given.half_life_days) * _dated(given)


def _date_match(given: FeatureInput) -> Values:
    window = given.query.window
    if window is None or given.at is None:
        return np.zeros(len(given.rows), dtype=np.float32)
    at = given.at[given.rows].astype(np.float64)
    start = -np.inf if window.start is None else to_micros(window.start)
    end = np.inf if window.end is None else to_micros(window.end)
    length = np.clip((end - start) / _DAY, *AFTER_DAYS)
    later = AFTER_WINDOW * np.exp(-np.maximum(at - end, 0) / _DAY / length)
    inside = np.where(at < start, 0.0, np.where(at < end, 1.0, later))
    return (window.confidence * inside * _dated(given)).astype(np.float32)


def _dated(given: FeatureInput) -> NDArray[np.bool_] | bool:
    """Where the candidates' times say when they were."""
    return True if given.dated is None else given.dated[given.rows]
