"""The second hop in the order: documents that the best candidates lead to (`arms.second_hop`).

    approach(d) = WEIGHTS[place of a] · value(a to d) · (1 + MISSING · share)

for each of the first candidates `a`; `share`: of the query's idf, what d holds and a does not. The best counts. It
brings a document close to the one that led to it, and never past it, nor past others of the first that the query
names: from NEAR below on, the rest of the way gets ever harder. Only documents that were looked at lead anywhere: the
best lexical hits, and the best candidate. The constants, here and in `second_hop`, were chosen on HotpotQA and MuSiQue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.second_hop import SecondHop
from recall_integrations.indexes.columns import Rows, TextColumns
from recall_integrations.indexes.kernels import Values
from recall_integrations.indexes.lexicon import TERMS_MAX
from recall_integrations.records import record
from recall_integrations.text import idf

WEIGHTS = (1.0, 0.5, 0.25)
MISSING = 3.0
NEAR = 0.5


@record(frozen=True, slots=True, kw_only=True)
class Bridge:
    """Contribution of the second hop."""

    added: Values  # float32 `(candidates,)`, at least 0, in a ranker's units
    before: Rows  # int64 `(candidates,)`: row that led to each; -1 = none did


def bridged(
    hop: SecondHop,
    text: TextColumns,
    rows: Rows,
    scores: Values,
    terms: Sequence[str],
    frequency: Callable[[str], int],
    count: int,
    named: Values | None = None,
    worth: float = 1.0,
) -> Bridge:
    """Compute the second hop from the best candidates."""
    added, before = np.zeros(len(rows), dtype=np.float32), np.full(len(rows), -1, dtype=np.int64)
    hop.look(_best(hop, rows, scores))
    links = hop.links
    if not len(links.rows) or not len(rows):
        return Bridge(added=added, before=before)
    first, goals = hop.view.top(rows, scores, len(WEIGHTS))
    if named is not None:
        goals = np.minimum(goals, goals[named[np.searchsorted(rows, first)] > 0].min(initial=np.inf))
    place = np.full(len(links.rows), -1, dtype=np.int64)
    for i, row in enumerate(first.tolist()):
        place[links.starts == row] = i
    to = np.minimum(np.searchsorted(rows, links.rows), len(rows) - 1)
    led = np.flatnonzero((place >= 0) & (rows[to] == links.rows))
    place, to, values = place[led], to[led], links.values[led]
    held, shares = _held(text, np.concatenate([first, rows[to]]), terms[:TERMS_MAX], frequency, count)
    missing = np.einsum("i,ij->j", shares, held[:, len(first) :] & ~held[:, place])
    wanted = scores[to] + np.asarray(WEIGHTS, dtype=np.float32)[place] * np.float32(worth) * values * (
        1 + MISSING * missing
    )
    gain = _approach(wanted, goals[place]) - scores[to]
    rising = np.lexsort((-place, gain))
    rising = rising[gain[rising] > 0]
    added[to[rising]] = gain[rising]  # of several ways to a candidate the last one stays: the highest gain
    before[to[rising]] = first[place[rising]]
    return Bridge(added=added, before=before)


def _best(hop: SecondHop, rows: Rows, scores: Values) -> Rows:
    """Return the best candidate."""
    best: Rows = rows[scores == np.maximum.reduce(scores, initial=-np.inf)]
    return best if len(best) < 2 else hop.view.top(best, np.zeros(len(best), dtype=np.float32), 1)[0]


def _approach(wanted: NDArray[np.floating], goals: NDArray[np.floating]) -> NDArray[np.floating]:
    """Keep scores below `goals`: as wanted up to NEAR below, then ever closer."""
    beyond = np.maximum(wanted - (goals - NEAR), 0) / NEAR
    return np.where(beyond > 0, goals - NEAR / (1 + beyond), wanted)


def _held(
    text: TextColumns, rows: Rows, terms: Sequence[str], frequency: Callable[[str], int], count: int
) -> tuple[NDArray[np.bool_], Values]:
    """Flag the terms that each row holds, `(terms, rows)`, and return each term's share in the idf of all."""
    known = {number: term for term in terms if (number := text.lexicon.stem_of(term)) >= 0}
    worth = np.asarray([idf(frequency(term), count) for term in known.values()], dtype=np.float32)
    stems = text.lexicon.stems
    which = np.full(text.lexicon.stem_count, -1, dtype=np.int8)
    which[list(known)] = np.arange(len(known))
    begins, counts = text.starts[rows], text.starts[rows + 1] - text.starts[rows]
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(begins - (ends - counts), counts)
    said = which[stems[text.words[places]]]
    found = np.flatnonzero(said >= 0)
    held = np.zeros((len(known), len(rows)), dtype=np.bool_)
    held[said[found], np.searchsorted(ends, found, side="right")] = True
    return held, worth / max(float(worth.sum()), 1e-9)
