"""Changes of the order after ranking: types first, diversity, negation, repeats. No candidate is lost by any of it, but
for repeats, which are listed with the hit that they repeat. Every moved candidate has a contribution that says so
(`moves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.planning.planner import Asked
from recall_integrations.ranking.arranging.diversify import mmr
from recall_integrations.ranking.arranging.duplicates import fold
from recall_integrations.ranking.arranging.moves import (
    DIVERSITY,
    FACTS,
    NEGATION,
    TIME_FIRST,
    TYPE_FIRST,
    longest_falling,
    moved,
    sums,
)
from recall_integrations.ranking.arranging.negation import demote, negation_scores
from recall_integrations.ranking.fusion import Fused, Scores
from recall_integrations.types import Memory

FOLD_POOL = 200  # candidates among which repeats are looked for, where many repeat each other
NEGATION_POOL = 50  # candidates whose text is compared with the negated terms

Texts = Callable[[Rows], list[str]]
Memories = Callable[[Rows], Sequence[tuple[int, Memory]]]  # rows with their memories, without those that are gone
_NO_ROWS: Rows = np.empty(0, dtype=np.int64)
ENDED_SHARE = 0.5  # of the first score, for a memory that held once and is not asked for


def wanted_first(fused: Fused, wanted: Mask) -> Fused:
    """Put the wanted rows first, in their order; the others score no more than the last of them."""
    inside = wanted[fused.rows]
    order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
    return moved(fused, order, np.minimum.accumulate(fused.scores[order]), TYPE_FIRST, inside[order])


def diversified(fused: Fused, view: ScopeView, k: int, relevance_share: float) -> Fused:
    """Order the best `max(2·k, 20)` candidates by maximal marginal relevance, if vectors are in memory."""
    n = min(len(fused.rows), max(2 * k, 20))
    if view.vectors is None or n < 3:
        return fused
    vectors = view.vectors.of(fused.rows[:n])
    order = mmr(_relevance(fused.scores[:n]), vectors, n, relevance_share)
    return moved(fused, np.concatenate([order, np.arange(n, len(fused.rows))]), fused.scores, DIVERSITY)


def demote_negated(
    fused: Fused, terms: Sequence[str], texts: Texts, k: int, threshold: float, language: str = "en"
) -> tuple[Fused, frozenset[int]]:
    """Put candidates about a negated term, of a query in `language`, below the others; return the demoted rows too."""
    n = min(len(fused.rows), max(NEGATION_POOL, 2 * k))
    if not terms or not n:
        return fused, frozenset()
    against = negation_scores(texts(fused.rows[:n]), terms, language)
    lower = demote(fused.scores[:n], against, threshold)
    order = np.concatenate([lower.order, np.arange(n, len(fused.rows))])
    scores = np.concatenate([lower.scores, np.minimum(fused.scores[n:], lower.scores.min())]).astype(np.float32)
    about = np.full(len(fused.rows), np.nan, dtype=np.float32)  # of those that are about a negated term: how much
    about[:n] = np.where((against > threshold).any(axis=1), against.max(axis=1), np.nan)
    denied = ~np.isnan(about)
    if not denied.any():
        return fused.take(order, scores), frozenset()
    arranged = moved(fused, order, scores, NEGATION, ~denied[order], {NEGATION: about})
    return arranged, frozenset(fused.rows[denied].tolist())


def folded(
    fused: Fused, view: ScopeView, memories: Memories, k: int, threshold: float
) -> tuple[Fused, dict[int, list[int]]]:
    """Fold candidates into better ones that they repeat, as far down as k hits need; and map leader row → folded rows.

    Where there is nothing else, repeats fill the places up to k: the best of them stay where they are.
    """
    if len(fused.rows) < 2 or threshold > 1:
        return fused, {}
    n = min(len(fused.rows), 2 * k)
    while True:
        leaders = _leaders(view, fused.rows[:n], memories, threshold)
        kept = sum(leader == place for place, leader in enumerate(leaders))
        if kept >= k or n >= min(len(fused.rows), max(FOLD_POOL, 2 * k)):
            break
        n = min(len(fused.rows), 2 * n)
    missing = max(0, k - kept - (len(fused.rows) - n))
    again = [place for place, leader in enumerate(leaders) if leader != place][missing:]
    into: dict[int, list[int]] = {}
    for place in again:
        into.setdefault(int(fused.rows[leaders[place]]), []).append(int(fused.rows[place]))
    order = np.setdiff1d(np.arange(len(fused.rows)), again)
    return (fused.take(order, fused.scores[order]) if again else fused), into


def _leaders(view: ScopeView, rows: Rows, memories: Memories, threshold: float) -> list[int]:
    vectors = view.vectors_of(rows)
    if vectors is None or not _any_close(vectors, threshold):
        return list(range(len(rows)))
    found = dict(memories(rows))
    return fold([found.get(row) for row in rows.tolist()], vectors, threshold)


def _any_close(vectors: NDArray[np.float32], threshold: float) -> bool:
    """Say whether any two rows reach the threshold: nearly always not, and then no text need be read."""
    cosines = np.einsum("id,jd->ij", vectors, vectors)
    np.fill_diagonal(cosines, -1)
    return bool((cosines >= threshold - 1e-6).any())


def _relevance(scores: Scores) -> Scores:
    """Scale falling scores from 1 to 0 to weigh against a cosine: by log odds, for probabilities are mostly small and
    would all be alike beside it.
    """
    bounded = np.clip(np.asarray(scores, dtype=np.float64), 1e-6, 1 - 1e-6)
    odds = np.log(bounded / (1 - bounded))
    spread = odds.max() - odds.min()
    return np.asarray((odds - odds.min()) / spread if spread > 0 else np.ones_like(odds), dtype=np.float32)


def asked_first(fused: Fused, asked: Asked) -> Fused:
    """Put the rows of the time or session asked for first, in the order of the conversation or in their own; the others
    score no more than they do.

    A query that asks for nothing in particular is answered by all that is said then: such rows score the confidence of
    the reading.
    """
    rows, scores = fused.rows, fused.scores
    inside = asked.mask[rows]
    own = np.flatnonzero(inside)
    if asked.order is not None and len(own):
        places = np.full(len(asked.mask), len(asked.order), dtype=np.int64)
        places[asked.order] = np.arange(len(asked.order))
        own = own[np.argsort(places[rows[own]], kind="stable")]
        scores = np.where(inside, np.float32(asked.confidence), scores)
    order = np.concatenate([own, np.flatnonzero(~inside)])
    stays = np.zeros(len(order), dtype=np.bool_)
    stays[: len(own)] = longest_falling(sums(fused)[own])
    return moved(fused, order, np.minimum.accumulate(scores[order]), TIME_FIRST, stays)


def held_first(fused: Fused, first: Rows, confidence: float, beneath: Rows = _NO_ROWS) -> Fused:
    """Put the rows that say what is asked first, in their order, with a score of at least `confidence`; the others
    follow in their order. Rows that no longer hold (`beneath`) score at most half of the first of all.
    """
    places = {row: place for place, row in enumerate(fused.rows.tolist())}
    own = [places[row] for row in first.tolist() if row in places]
    if not own:
        return fused
    chosen = np.zeros(len(fused.rows), dtype=np.bool_)
    chosen[own] = True
    order = np.concatenate([np.asarray(own, dtype=np.int64), np.flatnonzero(~chosen)])
    scores = np.where(chosen, np.maximum(fused.scores, np.float32(confidence)), fused.scores)
    most = np.float32(ENDED_SHARE) * scores[own[0]]
    scores = np.where(~chosen & np.isin(fused.rows, beneath), np.minimum(scores, most), scores)
    stays = np.zeros(len(order), dtype=np.bool_)
    stays[: len(own)] = longest_falling(sums(fused)[own])
    said = {}
    if FACTS in fused.raw:  # what the arm of facts has not seen, since no fact was read of it, is said to be moved too
        own_scores = fused.raw[FACTS]
        said[FACTS] = np.where(chosen & np.isnan(own_scores), np.float32(confidence), own_scores)
    return moved(fused, order, np.minimum.accumulate(scores[order]), FACTS, stays, said)
