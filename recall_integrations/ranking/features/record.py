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
from recall_integrations.ranking.features.bm25 import Values, length_term, saturated
from recall_integrations.ranking.features.feature import Of
from recall_integrations.ranking.features.match import FeatureInput, Match
from recall_integrations.text import idf
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
    places = np.arange(size)
    inside = (places >= begins[:, None]) & (places < ends[:, None]) & (places != places[:, None])
    best = np.where(inside, worth, worth.min()).max(axis=1)
    found = np.empty(size, dtype=np.float32)
    found[order] = best
    return found


def feedback(match: Match) -> Values | None:
    """Compute pseudo relevance feedback (Rocchio 1971) with each giver's vector of BM25 weights as a unit.

    Words are weighed by their idf in the scope. A candidate gives no feedback to itself.
    """
    size = len(match.rows)
    if size < FEEDBACK:
        return None
    me = match.at[0]
    base = z_scores(match.bm25_counted) + np.float32(COSINE_SHARE) * z_scores(match.cosines[me])
    givers = np.argsort(-base, kind="stable")[:FEEDBACK]
    share = np.exp(base[givers] - base[givers[0]]).tolist()
    said, text, term, tf = _occurrences(match, givers)
    if not len(said):
        return np.zeros(size, dtype=np.float32)
    begins, ends = text.searchsorted(givers).tolist(), text.searchsorted(givers, side="right").tolist()
    k = length_term(match.lengths[me], PIVOT)
    rare = _rarities(match, said)
    total, given = np.zeros(size), np.full(size, sum(share))
    # In float64: stems are numbered as they come, from whatever scope, and the order of a sum must not be seen.
    worth_of = np.zeros(len(said))
    for giver, weight, begin, end in zip(givers.tolist(), share, begins, ends, strict=True):
        of_giver = term[begin:end]
        own = (saturated(tf[begin:end], k[giver]) * rare[of_giver]).astype(np.float64)
        heavy = own
        if len(own) > FEEDBACK_WORDS:
            heavy = np.where(own < np.partition(own, -FEEDBACK_WORDS)[-FEEDBACK_WORDS], 0, own)
        heavy = heavy * (weight / max(math.sqrt(float((heavy * heavy).sum())), 1e-9))
        worth_of[of_giver] += heavy
        total[giver] -= float((own * heavy).sum())  # none to itself
        given[giver] -= weight
    worth = (saturated(tf, k[text]) * rare[term]).astype(np.float64) * worth_of[term]
    total += np.bincount(text, weights=worth, minlength=size)
    mean: Values = (np.maximum(total, 0) / np.maximum(given, 1e-9)).astype(np.float32)
    return mean


def _occurrences(match: Match, givers: Rows) -> tuple[Rows, Rows, Rows, Values]:
    """Return the stems that `givers` hold; candidate, place of the stem, and the stem's count in it, rising by both."""
    stems = match.columns.lexicon.stems.take(match.tokens[match.mine])
    gives = np.zeros(len(match.rows), dtype=np.bool_)
    gives[givers] = True
    place = np.full(int(stems.max(initial=-1)) + 1, -1, dtype=np.int64)
    said = distinct(stems[gives.take(match.mine_of)].astype(np.int64))
    place[said] = np.arange(len(said))
    terms = place.take(stems)
    held = (terms >= 0).nonzero()[0]
    keys = np.sort((match.mine_of.take(held) << STEM_BITS) | terms.take(held))
    first = heads(keys)
    counts = np.empty(len(first), dtype=np.float32)
    counts[:-1] = first[1:] - first[:-1]
    counts[-1:] = len(keys) - first[-1:]
    keys = keys[first]
    return said, keys >> STEM_BITS, keys & ((1 << STEM_BITS) - 1), counts


def _rarities(match: Match, stems: Rows) -> Values:
    """Return the idf of stems in the scope."""
    given, lexicon = match.given, match.columns.lexicon
    if given.frequencies is None:
        held = [given.frequency(lexicon.stem_text(number)) for number in stems.tolist()]
    else:
        held = given.frequencies(stems).tolist()
    return np.asarray([idf(count, given.count) for count in held], dtype=np.float32)


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
    start = -np.inf if window.start is None else to_micros(window.start)
    end = np.inf if window.end is None else to_micros(window.end)
    length = min(max((end - start) / DAY, AFTER_DAYS[0]), AFTER_DAYS[1])
    later = AFTER_WINDOW * np.exp(-np.maximum(at - end, 0) / DAY / length)
    inside = np.where(at < start, 0.0, np.where(at < end, 1.0, later)) * is_dated(given)
    if given.told is not None:
        told = given.told().shares(
            None if window.start is None else to_micros(window.start),
            None if window.end is None else to_micros(window.end),
        )
        inside = np.maximum(inside, WORTH * told.take(given.rows))
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
