"""Evidence from other texts near a candidate without a conversation between them: in time, and in its words."""

from __future__ import annotations

import math

import numpy as np

from recall_integrations.indexes.columns import Rows
from recall_integrations.indexes.kernels import distinct, heads
from recall_integrations.ranking.features.bm25 import Values, length_term, saturated
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match
from recall_integrations.text import idf
from recall_integrations.text.bm25 import PIVOT

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
    text, stem, tf = _occurrences(match)
    begins, ends = text.searchsorted(givers).tolist(), text.searchsorted(givers, side="right").tolist()
    # Only words of those that give feedback count.
    said = distinct(np.concatenate([stem[begin:end] for begin, end in zip(begins, ends, strict=True)]))
    if not len(said):
        return np.zeros(size, dtype=np.float32)
    k = length_term(match.lengths[me], PIVOT)
    rare = _rarities(match, said)
    total, given = np.zeros(size), np.full(size, sum(share))
    # In float64: stems are numbered as they come, from whatever scope, and the order of a sum must not be seen.
    worth_of = np.zeros(len(said))
    for giver, weight, begin, end in zip(givers.tolist(), share, begins, ends, strict=True):
        term = said.searchsorted(stem[begin:end])
        own = (saturated(tf[begin:end], k[giver]) * rare[term]).astype(np.float64)
        heavy = own
        if len(own) > FEEDBACK_WORDS:
            heavy = np.where(own < np.partition(own, -FEEDBACK_WORDS)[-FEEDBACK_WORDS], 0, own)
        heavy = heavy * (weight / max(math.sqrt(float((heavy * heavy).sum())), 1e-9))
        worth_of[term] += heavy
        total[giver] -= float((own * heavy).sum())  # none to itself
        given[giver] -= weight
    term = np.minimum(said.searchsorted(stem), len(said) - 1)
    shared = (said[term] == stem).nonzero()[0]
    text, term = text[shared], term[shared]
    worth = (saturated(tf[shared], k[text]) * rare[term]).astype(np.float64) * worth_of[term]
    total += np.bincount(text, weights=worth, minlength=size)
    mean: Values = (np.maximum(total, 0) / np.maximum(given, 1e-9)).astype(np.float32)
    return mean


def _occurrences(match: Match) -> tuple[Rows, Rows, Values]:
    """Return candidate, stem, and the stem's count in it; rising by the first two."""
    stems = match.columns.lexicon.stems[match.tokens[match.mine]].astype(np.int64)
    keys = np.sort((match.mine_of << STEM_BITS) | stems)
    first = heads(keys)
    counts = np.empty(len(first), dtype=np.float32)
    counts[:-1] = first[1:] - first[:-1]
    counts[-1:] = len(keys) - first[-1:]
    keys = keys[first]
    return keys >> STEM_BITS, keys & ((1 << STEM_BITS) - 1), counts


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


NEARBY = (
    Feature(
        name="feedback",
        formula="how much of the words of the five best other candidates by z(bm25_counted) + .4·z(cosine) the text "
        "holds",
        of=feedback,
        group="feedback",
        weight={"long": 0.8, "documents": 2.5, "strong_documents": -1.0},
        floor=1.0,
        arm="lexical",
        label=Label("shares words with what matches best", place=3),
        gated=True,
        rising=True,
    ),
    Feature(
        name="near_in_time",
        formula="the best z(bm25_counted) of another candidate of the 36 hours around it",
        of=near_in_time,
        group="neighbour",
        weight={"apart": 0.5, "notes": -0.5},
        floor=0.3,
        arm="lexical",
        label=Label("close in time to what matches", place=2),
        gated=True,
    ),
)
