"""Features of a memory: the words and vectors of its text and of those beside it; times, links, importance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.indexes.columns import Rows
from recall_integrations.indexes.kernels import (
    PIVOT_1,
    PIVOT_2,
    Values,
    distinct,
    heads,
    length_term,
    saturated,
    undamped,
    weighted,
)
from recall_integrations.indexes.scope_view import WORTH
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import in_micros, told_shares
from recall_integrations.ranking.features.feature import Of
from recall_integrations.ranking.features.match import FeatureInput, Match
from recall_integrations.text import idf
from recall_integrations.text.analyser import K1, PIVOT

_HOUR = 3_600_000_000
TOGETHER_HOURS = 36.0  # memories of a scope without exchanges that belong together
FEEDBACK = 5  # best candidates whose words say what else a long question is about
FEEDBACK_WORDS = 15  # of each of them that count, the heaviest: more bring in what it speaks of besides
STEM_BITS = 32
COSINE_SHARE = 0.4  # of z(cosine) beside z(bm25_counted) in the choice of those that give feedback


def near_in_time(match: Match) -> Values | None:
    """Find the best match near in time: records of one matter come in runs, in any thread (app, mailbox)."""
    at, size, dated = match.given.at, len(match.rows), match.given.dated
    if at is None or size < 2 or (dated is not None and not dated[match.rows].all()):
        return None
    times = at[match.rows].astype(np.float64) / _HOUR
    order = np.argsort(times, kind="stable")
    rising, worth = times[order], z_scores(match.bm25_counted)[order]
    if rising[-1] - rising[0] < 1:  # all at once: times say nothing
        return None
    begins = np.searchsorted(rising, rising - TOGETHER_HOURS, side="left")
    ends = np.searchsorted(rising, rising + TOGETHER_HOURS, side="right")
    places, least = np.arange(size), np.minimum.reduce(worth)
    padded = np.append(worth, least)
    found = np.full(size, least, dtype=np.float32)
    for first, last in ((begins, places), (places + 1, ends)):  # those before it, and those behind it
        best = np.maximum.reduceat(padded, np.stack([first, last], axis=1).reshape(-1))[::2]
        found[order] = np.maximum(found[order], np.where(first < last, best, least))
    return found


def feedback(match: Match) -> Values | None:
    """Compute pseudo relevance feedback (Rocchio 1971) with each giver's vector of BM25 weights as a unit.

    Words are weighed by their idf in the scope. A candidate gives no feedback to itself.
    """
    size = len(match.rows)
    if size < FEEDBACK:
        return None
    base = z_scores(match.bm25_counted) + np.float32(COSINE_SHARE) * z_scores(match.cosines[:size])
    givers = (-base).argsort(kind="stable")[:FEEDBACK]
    share = np.exp(base[givers] - base[givers[0]]).astype(np.float64)
    said, text, term, tf = _occurrences(match, givers)
    if not len(said):
        return np.zeros(size, dtype=np.float32)
    own = saturated(tf, length_term(match.lengths[:size], PIVOT).take(text))
    own *= _rarities(match, said).take(term)
    # In float64: stems are numbered as they come, from whatever scope, and the order of a sum must not be seen.
    worth = own.astype(np.float64)
    gives = np.zeros((FEEDBACK, len(said)))
    begins, ends = text.searchsorted(givers).tolist(), text.searchsorted(givers, side="right").tolist()
    for vector, begin, end in zip(gives, begins, ends, strict=True):
        vector[term[begin:end]] = worth[begin:end]
    few = len(said) <= FEEDBACK_WORDS
    heavy = gives * (few or gives >= np.partition(gives, -FEEDBACK_WORDS, axis=1)[:, -FEEDBACK_WORDS, None])
    heavy *= (share / np.maximum(np.sqrt(np.add.reduce(heavy * heavy, axis=1)), 1e-9))[:, None]
    worth *= np.add.reduce(heavy).take(term)
    total, given = np.bincount(text, weights=worth, minlength=size), np.full(size, np.add.reduce(share))
    total[givers] -= np.add.reduce(gives * heavy, axis=1)  # none to itself
    given[givers] -= share
    mean: Values = (np.maximum(total, 0) / np.maximum(given, 1e-9)).astype(np.float32)
    return mean


def _occurrences(match: Match, givers: Rows) -> tuple[Rows, Rows, Rows, Values]:
    """Return the stems that `givers` hold; candidate, place of the stem, and the stem's count in it, rising by both."""
    lexicon = match.columns.lexicon
    stems = lexicon.stems.take(match.tokens[match.mine])
    begins, counts = match.begins.take(givers).tolist(), match.counts.take(givers).tolist()
    own = [stems[begin : begin + count] for begin, count in zip(begins, counts, strict=True)]
    said = distinct(np.concatenate(own).astype(np.int64))
    place = np.full(lexicon.stem_count, -1, dtype=np.int64)
    place[said] = np.arange(len(said))
    terms = place.take(stems)
    held = (terms >= 0).nonzero()[0]
    keys = match.mine_of.take(held)
    keys <<= STEM_BITS
    keys |= terms.take(held)
    keys.sort()
    first = heads(keys)
    counted = np.empty(len(first), dtype=np.float32)
    counted[:-1] = first[1:] - first[:-1]
    counted[-1:] = len(keys) - first[-1:]
    keys = keys[first]
    return said, keys >> STEM_BITS, keys & ((1 << STEM_BITS) - 1), counted


def _rarities(match: Match, stems: Rows) -> Values:
    """Return the idf of stems in the scope."""
    given, lexicon = match.given, match.columns.lexicon
    if given.frequencies is None:
        held = np.asarray([given.frequency(lexicon.stem_text(number)) for number in stems.tolist()])
    else:
        held = given.frequencies(stems)
    rare: Values = np.log1p((np.maximum(given.count - held, 0) + 0.5) / (held + 0.5)).astype(np.float32)  # as `idf`
    return rare


def z_scores(values: Values) -> Values:
    """Compute `(value − mean) / standard deviation` over the candidates."""
    size = np.float32(len(values))
    centred = values - np.add.reduce(values) / size
    z: Values = centred / np.float32(max(math.sqrt(float(np.add.reduce(centred * centred) / size)), 1e-6))
    return z


AFTER_WINDOW = 0.6  # worth of a memory just after the window: people tell of things later
AFTER_DAYS = (3.0, 30.0)  # shortest and longest time in which that fades
DAY = 86_400_000_000


def date_match(match: Match) -> Values:
    """Rate how far each candidate lies in the window that is asked for, or is told after it."""
    given = match.given
    window = given.query.window
    if window is None or given.at is None:
        return match.nothing
    at = given.at[given.rows].astype(np.float64)
    inside = np.zeros(len(at))
    for start, end in in_micros(window):
        first, last = -np.inf if start is None else start, np.inf if end is None else end
        length = min(max((last - first) / DAY, AFTER_DAYS[0]), AFTER_DAYS[1])
        later = AFTER_WINDOW * np.exp(-np.maximum(at - last, 0) / DAY / length)
        inside = np.maximum(inside, np.where(at < first, 0.0, np.where(at < last, 1.0, later)))
    inside *= is_dated(given)
    if given.told is not None:
        inside = np.maximum(inside, WORTH * told_shares(given.told(), window).take(given.rows))
    return (window.confidence * inside).astype(np.float32)


def told_asked(match: Match) -> Values:
    """Flag texts that tell a time, which may be the answer where the query asks when something was."""
    given = match.given
    if given.told is None or not given.query.dating or given.query.window is not None:
        return match.nothing
    return given.told().tells().take(given.rows).astype(np.float32)


def date_words_asked(match: Match) -> Values:
    """Return the words of dates where the query asks for a time, else 0: they are no answer then."""
    return match.date_words if match.given.query.when else match.nothing


def is_dated(given: FeatureInput) -> NDArray[np.bool_] | bool:
    """Flag the candidates whose times say when they were."""
    return True if given.dated is None else given.dated.take(given.rows)


def graph(match: Match) -> Values | None:
    """Return the score of the entity graph; `None` where it was not asked."""
    found = match.given.graph
    return found if found is None or np.isfinite(found).all() else np.nan_to_num(found)


def recency(match: Match) -> Values | None:
    """Compute recency, which halves with every half-life."""
    given = match.given
    if given.at is None or given.now is None:
        return None
    before = np.minimum(given.at.take(given.rows) - to_micros(given.now), 0) * (1 / (DAY * given.half_life_days))
    np.exp2(before, out=before)
    before *= is_dated(given)
    return before.astype(np.float32)


OF_RECORD: Mapping[str, Of] = {
    "feedback": feedback,
    "near_in_time": near_in_time,
    "date_words_asked": date_words_asked,
    "told_asked": told_asked,
    "date_match": date_match,
    "graph": graph,
    "recency": recency,
    "importance": lambda match: (
        None if match.given.importance is None else match.given.importance.take(match.given.rows)
    ),
}


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
