"""Changes of the order after ranking: types and times first, diversity, negation, repeats, other phrasings.

No candidate is lost by any of it, but for repeats, which are listed with the hit that they repeat. Every moved
candidate has a contribution that says so (`moves.py`).

Two memories are repeats if the cosine of their vectors *and* the overlap of their words reach the threshold, if the
same words stand in the same order, and if neither denies what the other says. The vectors alone are not enough: two
short turns about one thing ("I ran 5 km", "I ran 9 km") are as close as copies, and words alone do not tell "Sam
reports to Priya" from "Priya reports to Sam". Equal words are no repeat where they come from two sources, or tell of
two days what happened. What is so, a fact or a preference, is the same on any day.

What the phrasings of an LLM find is weighed against what the query itself finds: other words may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timezone

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.planning.planner import Asked
from recall_integrations.query.by_table.cues import Occurrence
from recall_integrations.ranking.arranging.moves import (
    DIVERSITY,
    FACTS,
    HAIR,
    NEGATION,
    REWRITE,
    TIME_FIRST,
    TYPE_FIRST,
    demote,
    longest_falling,
    moved,
    negation_scores,
    sums,
)
from recall_integrations.ranking.fusion import Fused, Scores
from recall_integrations.text.analyser import words_with_signs
from recall_integrations.types import Memory, MemoryType, indexed_text

# Similarities are rounded to this, so that equal vectors tie exactly whatever order BLAS summed them in.
_QUANTUM = 2.0**-20


def mmr(scores: NDArray[np.floating], vectors: NDArray[np.floating], k: int, lambda_: float) -> NDArray[np.intp]:
    """Return the order in which to take `k` of `n` items."""
    scores, vectors = _checked(scores, vectors, k, lambda_)
    n = len(scores)
    k = min(k, n)
    order = np.empty(k, dtype=np.intp)
    if k == 0:
        return order
    # The whole similarity matrix is one fast product, but only worth it if many of its rows are used.
    similarity = _rounded(vectors @ vectors.T) if 4 * k >= n else None
    value = lambda_ * scores
    weight = 1.0 - lambda_
    nearest = np.full(n, -np.inf)
    gain = value.copy()
    penalty = np.empty(n)
    for place in range(k):
        best = int(gain.argmax())  # the first of equals
        order[place] = best
        value[best] = -np.inf
        row = similarity[best] if similarity is not None else _rounded(vectors @ vectors[best])
        np.maximum(nearest, row, out=nearest)
        np.multiply(nearest, weight, out=penalty)
        np.subtract(value, penalty, out=gain)
    return order


def _rounded(similarity: NDArray[np.floating]) -> NDArray[np.float64]:
    scaled = np.asarray(similarity, dtype=np.float64) / _QUANTUM
    np.rint(scaled, out=scaled)
    scaled *= _QUANTUM
    return scaled


def _checked(
    scores: NDArray[np.floating], vectors: NDArray[np.floating], k: int, lambda_: float
) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
    relevance = np.asarray(scores, dtype=np.float64)
    rows = np.asarray(vectors)
    if relevance.ndim != 1 or rows.ndim != 2 or len(rows) != len(relevance):
        raise InvalidArgument(
            f"mmr needs scores of shape (n,) and vectors of shape (n, d), not {relevance.shape} and {rows.shape}."
        )
    if not np.isfinite(relevance).all() or not np.isfinite(rows).all():
        raise InvalidArgument("mmr needs finite scores and vectors; there is a NaN or an infinity among them.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InvalidArgument(f"k must be a whole number from 0 on, not {k!r}.")
    if not 0 <= lambda_ <= 1:
        raise InvalidArgument(f"lambda_ must be in [0, 1], not {lambda_!r}.")
    return relevance, rows


HAPPENS = frozenset((MemoryType.EVENT, MemoryType.OBSERVATION))  # on another day it happens again

DENIALS = frozenset(
    """
    not no never none nobody nothing neither nor without cannot can't couldn't didn't doesn't don't hadn't hasn't
    haven't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't shan't
    """.split()
)


def fold(memories: Sequence[Memory | None], vectors: NDArray[np.floating], threshold: float) -> list[int]:
    """Return for each memory the place of the first one that it repeats; its own place where it repeats none."""
    leaders = list(range(len(memories)))
    close = np.asarray(vectors, dtype=np.float32)
    words: dict[int, list[str]] = {}

    def said(place: int, memory: Memory) -> list[str]:
        if place not in words:
            words[place] = words_with_signs(indexed_text(memory.text, memory.actor))
        return words[place]

    for place in range(1, len(memories)):
        cosines = np.vecdot(close[:place], close[place])
        for earlier in np.flatnonzero(cosines >= threshold - 1e-6).tolist():
            one, other = memories[earlier], memories[place]
            if leaders[earlier] != earlier or one is None or other is None or are_two(one, other):
                continue
            if _repeats(said(earlier, one), said(place, other), threshold):
                leaders[place] = earlier
                break
    return leaders


def are_two(one: Memory, other: Memory) -> bool:
    """Say whether memories are two even in the same words: of two sources, or of two days on which it happened."""
    if (one.actor, one.channel, one.thread, one.refs) != (other.actor, other.channel, other.thread, other.refs):
        return True
    if one.event_at is None or other.event_at is None or not {one.type, other.type} <= HAPPENS:
        return False
    return one.event_at.astimezone(timezone.utc).date() != other.event_at.astimezone(timezone.utc).date()


def _repeats(one: list[str], other: list[str], threshold: float) -> bool:
    """Say whether two texts say the same: their words overlap (Dice), in one order, and the same are denied."""
    first, second = set(one), set(other)
    shared = first & second
    whole = len(first) + len(second)
    if whole and 2 * len(shared) / whole < threshold:
        return False
    if not whole or (first ^ second) & DENIALS:
        return not whole
    return [w for w in one if w in shared] == [w for w in other if w in shared]


ALIKE = 0.4  # half the overlap of two texts' words and half their cosine: they tell of the same
SOFTLY = 0.3  # of the best one's score, which another one must have to answer as well


def occurrence_first(
    fused: Fused, view: ScopeView, asked: Occurrence, terms: tuple[str, ...], k: int, now: int, inside: Mask | None
) -> Fused:
    """Put the earliest candidate first of those in the best 2·k that tell of the same as the best and answer as well.

    They keep their places and the scores of these among all candidates, and the others stay where they are.
    """
    places = np.arange(min(len(fused.rows), 2 * k))
    if inside is not None:
        places = places[inside[fused.rows[places]]]
    rows, scores = fused.rows[places], fused.scores[places]
    vectors, text = view.vectors_of(rows), view.text
    if len(rows) < 2 or vectors is None:
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


POOL = 40  # candidates of each phrasing, or twice as many as hits are wanted
LEAST = 1e-3  # probability of what was not found
WEIGHT = 0.6  # of the log odds by a phrasing, beside those by the query
FAR = 1.5  # what these log odds lose where the memory is not near the query at all

Near = Callable[[Rows], NDArray[np.floating]]


def with_phrasings(
    fused: Fused, found: Sequence[Fused], view: ScopeView, *, k: int, near: Near | None = None
) -> tuple[Fused, Mapping[int, int]]:
    """Merge the candidates of all, and return row → the place in `found` of the phrasing that lifted it.

    Without `near` a memory counts with its best score. With it, which gives the cosines of rows with the query, it
    counts with a logarithmic opinion pool (Genest and Zidek 1986): its log odds by the query, and `WEIGHT` times its
    best by a phrasing. What the query denies, or is far from, then needs much from a phrasing.
    """
    best: dict[int, tuple[float, int]] = {}  # row → its best score over the phrasings, and which gave it
    n = max(POOL, 2 * k)
    for which, other in enumerate(found):
        for row, score in zip(other.rows[:n].tolist(), other.scores[:n].tolist(), strict=True):
            if score > best.get(row, (0.0, 0))[0]:
                best[row] = score, which
    wider = _with_rows(fused, sorted(set(best).difference(fused.rows.tolist()), key=view.ids.__getitem__))
    rows, own = wider.rows.tolist(), wider.scores
    others = np.asarray([best.get(row, (0.0, 0))[0] for row in rows], dtype=np.float32)
    merits = np.maximum(own, others).astype(np.float64)
    if near is not None and rows:
        cosines = near(wider.rows).astype(np.float64)
        far = 1 - np.clip(cosines / max(float(cosines.max()), LEAST), 0, 1)
        odds = _log_odds(own) + WEIGHT * np.maximum(_log_odds(others) - FAR * far, _log_odds(np.zeros(1)))
        merits = 1 / (1 + np.exp(-odds / (1 + WEIGHT)))
    order = np.argsort(-merits, kind="stable")
    # Lifted is what moves up, what the query did not find, and what a phrasing confirms where it stands.
    lifts = [place < i or i >= len(fused.rows) or merits[i] > own[i] for place, i in enumerate(order.tolist())]
    ways = {rows[i]: best[rows[i]][1] for i, up in zip(order.tolist(), lifts, strict=True) if up and rows[i] in best}
    if not ways:
        return fused, {}
    lifted = np.asarray([row in ways for row in rows])
    # As everywhere, the scores are sorted along the order.
    scores = np.sort(np.where(lifted, np.maximum(own, merits), own))[::-1].astype(np.float32)
    told = np.where(lifted, others, np.nan).astype(np.float32)
    return moved(wider, order, scores, REWRITE, None, {REWRITE: told}), ways


def _log_odds(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    share = np.clip(np.asarray(scores, dtype=np.float64), LEAST, 1 - LEAST)
    odds: NDArray[np.float64] = np.log(share / (1 - share))
    return odds


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
    if not again:
        return fused, into
    order = np.delete(np.arange(len(fused.rows)), again)
    return fused.take(order, fused.scores[order]), into


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
