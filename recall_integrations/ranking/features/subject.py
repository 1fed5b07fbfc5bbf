"""Subject of a reply: evidence from the turns before the question that it answers."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.columns import SHORT, Rows
from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match

DECAY = 0.8  # of what was said, for each turn more that lies between
EACH_MAX = 64  # words looked at of a turn that is no neighbour of a candidate
# Of the turns three and four before a candidate, which are no neighbours of it.
FAR = np.asarray((DECAY**2, DECAY**3), dtype=np.float32)


def subject_match(match: Match) -> Values:
    """Match the query with the turn before the question: the question asks "how many?", that turn says of what."""
    actors = match.actors_at
    asked_by = match.asks.take(match.at[1]) * (actors[0] != actors[1])
    some = asked_by.nonzero()[0]
    if not len(some) or not len(match.near):
        return match.nothing
    lengths = match.lengths_at[1, some]
    replies = np.minimum(np.maximum(2 - lengths / np.float32(SHORT), 0), 1)  # as `replies.elliptic`
    replies *= (actors[0, some] >= 0) & (actors[1, some] >= 0)
    replies *= 1 - match.asking_share.take(some)  # who asks back does not answer
    short = replies.nonzero()[0]
    if not len(short):
        return match.nothing
    some, replies = some[short], replies[short]
    said = match.near.take(some, axis=1)
    asked = match.near_asked
    if asked is not None:
        said = np.maximum(said, asked.take(match.at[1, some], axis=1))  # that is `asked_before`
    about = match.near.take(match.at[3, some], axis=1)
    about *= np.float32(DECAY)
    np.maximum(about, said, out=about)
    if match.gates["crowd"]:  # of two people it gains nothing, and is half of the work
        _from_afar(match, about, some)
    about -= said
    found: Values = match.nothing.copy()
    found[some] = replies * weighted(match.share, about)
    return found


def _from_afar(match: Match, about: Values, some: Rows) -> None:
    """Add to `about` the query's stems that the turns three and four before some candidates hold.

    Stems only: nearness in meaning would have to be compared word by word, for turns that are no neighbours.
    """
    columns, step = match.columns, match.at[3, some]
    there = (step < len(match.pool)).nonzero()[0]
    third = columns.previous(match.pool[step[there]])
    both = np.concatenate([third, columns.previous(third)])
    kept = (both >= 0).nonzero()[0]
    at = both[kept]
    if not len(at):
        return
    starts = columns.starts.take(at)
    counts = np.minimum(columns.starts.take(at + 1) - starts, EACH_MAX)
    ends = counts.cumsum()
    words = columns.words.take(np.arange(int(ends[-1])) + (starts - ends + counts).repeat(counts))
    same = columns.lexicon.stems.take(words) == np.asarray(match.numbers, dtype=np.int32)[:, None]
    stem, place = same.nonzero()
    if not len(place):
        return
    text = kept[ends.searchsorted(place, side="right")]
    decays = FAR.take((text >= len(there)).astype(np.int64))
    np.maximum.at(about, (stem, there[text % len(there)]), decays)


SUBJECT = (
    Feature(
        name="subject_match",
        formula="where the text before it, by another actor, is a question of few words: Σ share · how much more "
        "than the text and that question do the text two before (near, ·.8) and, where `crowd` is open, the two before "
        "that one (stems, ·.64, ·.51) hold; times 1 − asking_share",
        of=subject_match,
        group="question",
        weight={"people": 1.0, "crowd": 2.0},
        arm="lexical",
        label=Label("about what was said before", ruled=True),
        gated=True,
        rising=True,
    ),
)
