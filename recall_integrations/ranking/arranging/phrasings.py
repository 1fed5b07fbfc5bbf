"""Merging of other phrasings' hits into those of the query itself: added, never above its best.

A memory counts with its best score over the query and its phrasings (max-score merging of query variants). Those of
phrasings are discounted, and none is put above the first hits of the query itself: other words may be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.ranking.arranging.moves import HAIR, REWRITE, moved, sums
from recall_integrations.ranking.fusion import Fused

POOL = 20  # candidates of each phrasing, or twice as many as hits are wanted


def with_phrasings(
    fused: Fused, found: Sequence[Fused], view: ScopeView, *, k: int, trust: float, keep_first: int
) -> tuple[Fused, Mapping[int, int]]:
    """Merge the candidates of all, and return row → the place in `found` of the phrasing that lifted it.

    Args:
        fused: candidates of the query itself, best first.
        found: candidates of each phrasing.
        view: the scope.
        k: hits that are wanted.
        trust: factor of the scores of phrasings, in [0, 1].
        keep_first: so many of the query's own first hits keep their places.
    """
    own = len(fused.rows)
    top = float(fused.scores[min(keep_first, own) - 1]) if own else 1.0
    best: dict[int, tuple[float, int]] = {}  # row → its best score over the phrasings, and which gave it
    n = max(POOL, 2 * k)
    for which, other in enumerate(found):
        for row, score in zip(other.rows[:n].tolist(), other.scores[:n].tolist(), strict=True):
            if score > best.get(row, (0.0, 0))[0]:
                best[row] = score, which
    lifted = {row: min(trust * score, top) for row, (score, _) in best.items()}
    scores = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
    kept = set(fused.rows[: min(keep_first, own)].tolist())
    ways = {row: best[row][1] for row, value in lifted.items() if row not in kept and value > scores.get(row, 0.0)}
    if not ways:
        return fused, {}
    wider = _with_rows(fused, sorted(set(ways) - set(scores)))
    value = np.asarray([lifted[r] if r in ways else scores[r] for r in wider.rows.tolist()], dtype=np.float32)
    stays: Mask = np.asarray([r not in ways for r in wider.rows.tolist()], dtype=np.bool_)
    ids = [view.ids[row] if row in ways else "" for row in wider.rows.tolist()]
    # Of equals, what the query itself found comes first, in its own order.
    order = np.asarray(
        sorted(range(len(wider.rows)), key=lambda i: (-value[i], not stays[i], i if stays[i] else 0, ids[i])),
        dtype=np.int64,
    )
    own_scores = np.asarray([best[r][0] if r in ways else np.nan for r in wider.rows.tolist()], dtype=np.float32)
    return moved(wider, order, value[order], REWRITE, stays[order], {REWRITE: own_scores}), ways


def first_of_the_query(fused: Fused, own: Sequence[int]) -> Fused:
    """Put the query's own first hits in front again, where a stage after merging has moved them; the others score no
    more than they do.

    Args:
        fused: all candidates, arranged.
        own: rows of these hits, best first.
    """
    place = {row: i for i, row in enumerate(fused.rows.tolist())}
    front = [place[row] for row in own if row in place]
    if front == list(range(len(front))):
        return fused
    chosen = set(front)
    order = np.asarray([*front, *(i for i in range(len(fused.rows)) if i not in chosen)], dtype=np.int64)
    stays: Mask = np.zeros(len(order), dtype=np.bool_)
    stays[len(front) :] = True
    told = np.array(fused.raw.get(REWRITE, np.full(len(order), np.nan)), dtype=np.float32)
    told[front] = fused.scores[front]  # what moves a hit is shown, with a score
    return moved(fused, order, np.minimum.accumulate(fused.scores[order]), REWRITE, stays, {REWRITE: told})


def _with_rows(fused: Fused, rows: Sequence[int]) -> Fused:
    """Add candidates without evidence, below all others."""
    if not rows:
        return fused
    n = len(rows)
    last = float(sums(fused)[-1]) - HAIR if len(fused.rows) else 0.0

    def longer(values: np.ndarray, fill: float) -> np.ndarray:
        return np.concatenate([values, np.full(n, fill, dtype=values.dtype)])

    none = np.zeros(len(fused.rows), dtype=np.float32)
    added = {name: longer(part, 0) for name, part in fused.added.items()}
    below = np.full(n, last, dtype=np.float64)
    return replace(
        fused,
        rows=np.concatenate([fused.rows, np.asarray(rows, dtype=fused.rows.dtype)]),
        scores=longer(fused.scores, 0),
        added={**added, REWRITE: np.concatenate([fused.added.get(REWRITE, none).astype(np.float64), below])},
        raw={name: longer(part, np.nan) for name, part in fused.raw.items()},
        ranks={name: longer(part, 0) for name, part in fused.ranks.items()},
    )
