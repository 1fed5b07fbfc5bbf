"""Order of occurrences: the first or the last time that the same happened first, where the query asks for that one."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.query.occurrences import Occurrence
from recall_integrations.ranking.arranging.moves import TIME_FIRST, moved
from recall_integrations.ranking.fusion import Fused

ALIKE = 0.4  # half the overlap of two texts' words and half their cosine: they tell of the same
SOFTLY = 0.3  # of the best one's score, which another one must have to answer as well


def occurrence_first(
    fused: Fused, view: ScopeView, asked: Occurrence, terms: tuple[str, ...], k: int, now: int, inside: Mask | None
) -> Fused:
    """Put the earliest candidate first of those in the best 2·k that tell of the same as the best and answer as well.

    They keep their places and the scores of these among all candidates, and the others stay where they are.

    Args:
        fused: the candidates, best first.
        view: view of the scope.
        asked: occurrence asked for; where it is the last, the latest comes first.
        terms: stems of the query.
        k: hits that are wanted.
        now: microseconds; what is still to come counts only where nothing has been.
        inside: rows of the time that is asked for, the only ones that are looked at; `None` = all.
    """
    places = np.arange(min(len(fused.rows), 2 * k))
    if inside is not None:
        places = places[inside[fused.rows[places]]]
    rows, scores = fused.rows[places], fused.scores[places]
    vectors, text = view.vectors_of(rows), view.text
    if len(rows) < 2 or vectors is None or text is None:
        return fused
    stems = [set(text.lexicon.stems[text.words[text.starts[row] : text.starts[row + 1]]].tolist()) for row in rows]
    if text.held(rows[:1].tolist(), list(asked.words))[0]:
        return fused
    held = text.held(rows.tolist(), terms)
    overlap = np.asarray([len(stems[0] & own) / max(1, min(len(stems[0]), len(own))) for own in stems])
    same = (overlap + vectors @ vectors[0]) / 2 >= ALIKE
    same &= np.asarray([held[0] <= own for own in held]) & (scores >= SOFTLY * scores[0])
    same &= view.dated[rows]
    if same.sum() < 2 or not same[0]:
        return fused
    own = places[same]
    at = dict(zip(own.tolist(), view.at[rows[same]].tolist(), strict=True))
    over = [place for place in at if at[place] <= now] or list(at)
    in_time = sorted(over, key=lambda place: (at[place], fused.rows[place]))
    chosen = in_time[-1 if asked.last else 0]
    order = np.arange(len(fused.rows))
    order[own] = [chosen, *own[own != chosen]]
    return moved(fused, order, fused.scores, TIME_FIRST)
