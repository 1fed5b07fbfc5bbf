"""Evidence of what stands near a candidate without a conversation between them: in time, and in its words."""

from __future__ import annotations

import numpy as np

from recall_integrations.ranking.features.bm25 import Values, length_term, saturated
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match
from recall_integrations.text import idf
from recall_integrations.text.bm25 import PIVOT

_HOUR = 3_600_000_000
TOGETHER_HOURS = 36.0  # memories of a scope without exchanges that belong together
FEEDBACK = 5  # best candidates whose words say what else a long question is about
FEEDBACK_WORDS = 15  # of each of them that count, the heaviest: more bring in what it speaks of besides
COSINE_SHARE = 0.4  # of z(cosine) beside z(bm25_counted) in the choice of those that give feedback


def near_in_time(match: Match) -> Values | None:
    """Records of one matter come in runs, whatever thread (app, mailbox) they stand in."""
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
    """Pseudo relevance feedback (Rocchio 1971) with each giver's vector of BM25 weights as a unit.

    Words are weighed by their idf in the scope. A candidate gives no feedback to itself.
    """
    size = len(match.rows)
    if size < FEEDBACK:
        return None
    place = np.full(len(match.pool), -1, dtype=np.int64)
    place[match.at[0]] = np.arange(size)
    of = place[match.text_of]
    kept = of >= 0
    stems, number = np.unique(match.columns.lexicon.stems[match.tokens[kept]], return_inverse=True)
    key, tf = np.unique(of[kept] * len(stems) + number, return_counts=True)
    text, term = np.divmod(key, len(stems))
    base = z_scores(match.bm25_counted) + np.float32(COSINE_SHARE) * z_scores(match.cosines[match.at[0]])
    givers = np.argsort(-base, kind="stable")[:FEEDBACK]
    share = np.exp(base[givers] - base[givers[0]])
    lexicon, frequency, count = match.columns.lexicon, match.given.frequency, match.given.count
    rare = np.zeros(len(stems), dtype=np.float32)
    for i in np.unique(term[np.isin(text, givers)]).tolist():
        rare[i] = idf(frequency(lexicon.stem_text(int(stems[i]))), count)
    k = length_term(match.lengths[match.at[0]], PIVOT)[text]
    # In float64: stems are numbered as they come, from whatever scope, and the order of a sum must not be seen.
    worth = (saturated(tf.astype(np.float32), k) * rare[term]).astype(np.float64)
    total, given = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    for giver, weight in zip(givers.tolist(), share.tolist(), strict=True):
        own = np.zeros(len(stems))
        mine = text == giver
        own[term[mine]] = worth[mine]
        if len(own) > FEEDBACK_WORDS:
            own[own < np.partition(own, -FEEDBACK_WORDS)[-FEEDBACK_WORDS]] = 0
        own /= max(float(np.sqrt((own**2).sum())), 1e-9)
        said = np.bincount(text, weights=worth * own[term], minlength=size).astype(np.float32)
        said[giver] = 0
        total += np.float32(weight) * said
        given += np.float32(weight) * (np.arange(size) != giver)
    mean: Values = total / np.maximum(given, np.float32(1e-9))
    return mean


def z_scores(values: Values) -> Values:
    """`(value − mean) / standard deviation` over the candidates."""
    z: Values = (values - values.mean()) / max(float(values.std()), 1e-6)
    return z


NEARBY = (
    Feature(
        name="feedback",
        formula="how much of the words of the five best other candidates by z(bm25_counted) + .4·z(cosine) the text "
        "holds",
        of=feedback,
        group="feedback",
        weight={"long": 0.8, "documents": 2.5},
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
        weight={"apart": 0.5},
        floor=0.3,
        arm="lexical",
        label=Label("close in time to what matches", place=2),
        gated=True,
    ),
)
