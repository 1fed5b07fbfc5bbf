"""Features of a memory besides its text: times, links, importance, and what matches near it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows
from recall_integrations.indexes.kernels import distinct, heads
from recall_integrations.indexes.scope_view import WORTH
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import in_micros, told_shares
from recall_integrations.ranking.features.bm25 import Values, length_term, saturated
from recall_integrations.ranking.features.feature import Of
from recall_integrations.ranking.features.match import FeatureInput, Match
from recall_integrations.text.analyser import PIVOT

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
