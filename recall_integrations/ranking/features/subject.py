"""What a reply is about: evidence from the turns before the question that it answers."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.columns import Rows
from recall_integrations.indexes.replies import STEPS, elliptic
from recall_integrations.indexes.runs import heads
from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.ranking.features.exchange import asking_share
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import NEAR, Match

DECAY = 0.8  # of what was said, for each turn more that lies between
EACH_MAX = 64  # words looked at of a turn that is no neighbour of a candidate


def subject_match(match: Match) -> Values:
    """The question asks "how many?", and the turn before it says of what."""
    replies = elliptic(match.columns, match.rows)
    replies *= 1 - asking_share(match)  # who asks back does not answer
    some = replies.nonzero()[0]
    if not len(some) or not len(match.near):
        return match.nothing
    said = match.near[:, some]
    asked = match.near_asked
    if asked is not None:
        said = np.maximum(said, asked[:, match.at[1, some]])  # that is `asked_before`
    about = np.maximum(said, np.float32(DECAY) * match.near[:, match.at[3, some]])
    rows, decay = match.columns.previous(match.columns.previous(match.rows[some])), DECAY
    for _ in range(2, STEPS):
        rows, decay = match.columns.previous(rows), decay * DECAY
        there = (rows >= 0).nonzero()[0]
        if not len(there):
            break
        about[:, there] = np.maximum(about[:, there], np.float32(decay) * _near(match, rows[there]))
    found: Values = match.nothing.copy()
    about -= said
    found[some] = replies[some] * weighted(match.share, about)
    return found


def _near(match: Match, rows: Rows) -> Values:
    """How near the words of some texts come to each stem of the query, as `Match.near`: `(stems, rows)`."""
    columns, stems = match.columns, match.given.query.stems
    table = np.zeros((len(stems), len(rows)), dtype=np.float32)
    counts = np.minimum(columns.starts.take(rows + 1) - columns.starts.take(rows), EACH_MAX)
    some = counts.nonzero()[0]
    if not len(some):
        return table
    counts, rows = counts[some], rows[some]
    ends = counts.cumsum()
    kept = np.arange(int(ends[-1])) + (columns.starts.take(rows) - ends + counts).repeat(counts)
    words, token = np.unique(columns.words.take(kept), return_inverse=True)
    if match.given.word_worth > 0:
        close = columns.lexicon.cosines(words, match.given.query.words)
        close *= np.float32(match.given.word_worth)
    else:
        close = np.zeros((len(stems), len(words)), dtype=np.float32)
    close[columns.lexicon.stems.take(words) == np.asarray(match.numbers, dtype=np.int64)[:, None]] = 1
    best = np.maximum.reduceat(close[:, token], heads(np.arange(len(rows)).repeat(counts)), axis=1)
    best *= best >= NEAR
    table[:, some] = best
    return table


SUBJECT = (
    Feature(
        name="subject_match",
        formula="where the text before it, by another actor, is a question of few words: Σ share · how much nearer "
        "than the text and that question the three texts before these come, ·.8 for each turn; times 1 − asking_share",
        of=subject_match,
        group="question",
        weight={"people": 1.0, "crowd": 2.0},
        arm="lexical",
        label=Label("about what was said before", ruled=True),
        gated=True,
        rising=True,
    ),
)
