"""Features of the words and vectors of a text, and of the texts beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np

from recall_integrations.embeddings.static import bundled
from recall_integrations.indexes.kernels import distinct
from recall_integrations.ranking.features.bm25 import (
    PIVOT_1,
    PIVOT_2,
    Values,
    length_term,
    saturated,
    undamped,
    weighted,
)
from recall_integrations.ranking.features.feature import Of
from recall_integrations.ranking.features.match import Match
from recall_integrations.text import idf
from recall_integrations.text.analyser import K1, PIVOT

LEAD = 12  # content words that a text begins with
PLAIN_LENGTH = 200.0  # of the static vector of a word that says little
WEIGHTY = 0.5  # of the highest idf: stems from there on are what a query is about


def idf_coverage(match: Match) -> Values:
    """Return the share of the query's Σ idf that a text holds."""
    return weighted(match.share, (match.tf_own > 0).astype(np.float32))


def lead_match(match: Match) -> Values:
    """Match the query with the first words of a text: a text that is about something begins with it."""
    early = (match.place_of(match.places) < LEAD).nonzero()[0]
    held = np.zeros((len(match.idf), len(match.pool) + 1), dtype=np.float32)
    held[match.said.take(early), match.said_in.take(early)] = 1
    return weighted(match.share, held[:, : len(match.rows)])


@lru_cache(maxsize=4_096)
def telling(word: str) -> float:
    """Rate how telling a word is: the longer its static vector, the rarer it is in the language; at least .05."""
    model = bundled()
    ids = np.asarray(model.ids_of(word), dtype=np.int64)
    length = float(np.linalg.norm(np.add.reduce(model.weighted(ids), axis=0))) if len(ids) else 0.0
    return min(max(length / PLAIN_LENGTH - 1, 0.05), 3.0)


@lru_cache(maxsize=256)
def telling_of(words: tuple[str, ...]) -> Values:
    """Rate each of the words."""
    return np.asarray([telling(word) for word in words], dtype=np.float32)


def _telling(match: Match) -> Values:
    return telling_of(tuple(match.given.query.words))


def weakest(match: Match) -> Values:
    """Return the least match of the words that matter; an answer has them all, and a word in no memory matters most."""
    if not len(match.idf):
        return match.nothing
    weighty = (match.idf >= WEIGHTY * match.idf.max()).nonzero()[0]
    least: Values = np.minimum.reduce(match.soft[:, : len(match.rows)].take(weighty, axis=0), axis=0)
    return least


def focal_match(match: Match) -> Values:
    """Match words weighed by `telling`: in a handful of memories every word is rare."""
    if not len(match.idf):
        return match.nothing
    worth = _telling(match)
    return weighted(worth / np.add.reduce(worth), match.soft[:, : len(match.rows)])


def focal_word(match: Match) -> Values:
    """Match the most telling word alone, which is mostly what is asked about."""
    if not len(match.idf):
        return match.nothing
    found: Values = match.soft[int(_telling(match).argmax()), : len(match.rows)]
    return found


def focus(match: Match) -> Values:
    """Return the worth of the query's most telling word: small talk has none."""
    return np.full(len(match.rows), np.maximum.reduce(_telling(match), initial=0), dtype=np.float32)


def bigram_match(match: Match) -> Values:
    """Match stems that stand side by side in the query, which are one thing more often than not."""
    order = {s: i for i, s in enumerate(match.given.query.stems)}
    said = [order.get(s, -1) for s in match.given.query.sequence]
    pairs = sorted({(a, b) for a, b in pairwise(said) if a >= 0 and b >= 0 and a != b})
    places, stems = match.places, len(order)
    after = ((places[1:] - places[:-1] == 1).nonzero()[0] + 1) if pairs else places[:0]
    if not len(after):
        return match.nothing
    text = match.said_in.take(after)
    pair = match.said.take(after - 1) * stems
    pair += match.said.take(after)
    pair[match.said_in.take(after - 1) != text] = -1
    idf_of = match.idf.tolist()
    worths = [idf_of[a] + idf_of[b] for a, b in pairs]
    worth = np.zeros(stems * stems + 1, dtype=np.float32)  # the last is that of -1, no pair
    worth[[a * stems + b for a, b in pairs]] = worths
    width = len(match.pool) + 1
    asked = worth.take(pair, mode="wrap").nonzero()[0]
    cells = distinct(pair.take(asked) * width + text.take(asked))  # of a text that says it twice: once
    found, whole = np.zeros(width, dtype=np.float32), sum(worths)
    np.add.at(found, cells % width, worth.take(cells // width))
    share: Values = found[: len(match.rows)]
    share /= np.float32(max(whole, 1e-9))
    return share


def char_bm25(match: Match) -> Values:
    """Compute BM25 over runs of four letters, of the candidates.

    Texts of the pool that hold a run are counted in place of memories: no run is counted in the scope.
    """
    runs, me = match.columns.lexicon.runs, match.at[0]
    flat, counts = runs.of(match.distinct)
    asked = runs.numbers_of(match.given.query.words)
    place = np.full(len(runs), -1, dtype=np.int64)
    place[asked] = np.arange(len(asked))
    held = place[flat]
    matched = np.flatnonzero(held >= 0)
    # Of each distinct word, its runs that are asked for: where they begin in `matched`, and how many.
    many = np.bincount(np.repeat(np.arange(len(counts)), counts)[matched], minlength=len(counts))
    begins = np.cumsum(many) - many
    width = len(match.pool) + 1
    of_token = many[match.token]
    ends = np.cumsum(of_token)
    total = int(ends[-1]) if len(ends) else 0
    which = matched[np.arange(total) + np.repeat(begins[match.token] - (ends - of_token), of_token)]
    key = held[which] * width + np.repeat(match.text_of, of_token)
    tf = np.bincount(key, minlength=len(asked) * width).astype(np.float32).reshape(len(asked), width)
    lengths = np.bincount(match.text_of, weights=counts[match.token], minlength=width).astype(np.float32)
    # The mean of the pool, but thirty words at least: a short turn is not better for being short.
    of_word = float(counts[match.token].mean()) if len(match.token) else 1.0
    pivot = max(float(lengths[:-1].mean()) if len(match.pool) else 0.0, PIVOT * of_word)
    worth = [idf(n, len(match.pool)) for n in (tf > 0).sum(axis=1).tolist()]
    k = length_term(lengths[me], pivot)
    return weighted(np.asarray(worth, dtype=np.float32), saturated(tf.take(me, axis=1), k))


def near_match_w1(match: Match) -> Values:
    """Match the query with a text and its neighbours at ±1: what is asked may stand in the next text."""
    return undamped(weighted(match.share, match.near_w1), match.length_w1, PIVOT_1)


def near_match_w2(match: Match) -> Values:
    """Match the query with a text and its neighbours at ±2."""
    two = np.maximum.reduce(match.near_at, axis=1)
    return undamped(weighted(match.share, two), np.add.reduce(match.lengths_at), PIVOT_2)


def cosine_w1(match: Match) -> Values:
    """Average the cosines of a text and its neighbours at ±1, which say what it is about."""
    at = match.at
    mean: Values = np.add.reduce(match.cosines[at[:3]]) / (1 + np.add.reduce(at[1:3] < len(match.pool)))
    return mean


OF_TEXTS: Mapping[str, Of] = {
    "bm25": lambda match: match.bm25,
    "bm25_counted": lambda match: match.bm25_counted,
    "bm25_of_ceiling": lambda match: match.bm25 / np.float32((K1 + 1) * match.total),
    "idf_coverage": idf_coverage,
    "passage_match": lambda match: match.passage[: len(match.rows)],
    "char_bm25": char_bm25,
    "lead_match": lead_match,
    "soft_match": lambda match: match.soft_match,
    "near_match": lambda match: match.near_match[: len(match.rows)],
    "weakest": weakest,
    "focal_match": focal_match,
    "focal_word": focal_word,
    "focus": focus,
    "bigram_match": bigram_match,
    "near_match_w1": near_match_w1,
    "near_match_w2": near_match_w2,
    "thread_best_soft_match": lambda match: match.best_of_thread(match.soft_match),
    "cosine": lambda match: match.cosines[: len(match.rows)],
    "cosine_w1": cosine_w1,
}
