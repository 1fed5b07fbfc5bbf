"""Moves of candidates as one more contribution: contributions add up to the order, whatever came after ranking.

A step that puts candidates into another order says which of them stay. These keep their sum. Any other that no longer
stands where its sum would put it gets what lifts or lowers the sum to its new place: that of the nearest candidate
whose sum it must not pass, and `HAIR` beyond it (less where there is no room).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.scope_view import Mask
from recall_integrations.ranking.fusion import Fused, Scores
from recall_integrations.text import is_character, language_of, length_in_words, stems
from recall_integrations.text.analyser import K1, PIVOT, B, beginnings

REWRITE = "rewrite"
RERANK, DIVERSITY, TYPE_FIRST, TIME_FIRST = "rerank", "diversity", "type_first", "time_first"
FACTS, NEWER = "facts", "newer"
NEGATION = "negation"
MOVERS = (
    REWRITE,
    RERANK,
    DIVERSITY,
    TYPE_FIRST,
    TIME_FIRST,
    NEWER,
    FACTS,
    NEGATION,
)  # in the order in which they act
HAIR = 1e-3  # in the ranker's units: shown, and far below what any evidence is worth

Sums = NDArray[np.float64]


def sums(fused: Fused) -> Sums:
    """Sum the contributions of each candidate. Sums never rise; a rise within the rounding of float32 is left out."""
    total = np.zeros(len(fused.rows), dtype=np.float64)
    for part in fused.added.values():
        total += part
    return np.minimum.accumulate(total)


def moved(
    fused: Fused,
    order: NDArray[np.int64],
    scores: Scores,
    source: str,
    stays: Mask | None = None,
    said: Mapping[str, Scores] | None = None,
) -> Fused:
    """Return `fused.take(order, scores)`, with the contribution that lifted or lowered each moved candidate."""
    after = fused.take(order, scores)
    if said:
        after = _with(after, raw={name: values[order] for name, values in said.items()})
    if len(order) < 2 or (order[1:] > order[:-1]).all():  # some left at most
        return after
    before = sums(fused)[order]
    if stays is None:
        stays, led = np.ones(len(order), dtype=np.bool_), len(order)
        if led == len(fused.rows):  # the last ones, which stand where they stood, fall, and are below all before them
            led = int((order != np.arange(led)).nonzero()[0][-1]) + 1
        stays[:led] = longest_falling(before[:led])
    return giving(after, source, placed(before, stays) - before)


def giving(fused: Fused, source: str, given: Sums) -> Fused:
    """Return the candidates with one more contribution, or more of it."""
    if not given.any():
        return fused
    return _with(fused, added={source: fused.added.get(source, np.float32(0)) + given})


def placed(before: Sums, stays: Mask) -> Sums:
    """Return sums that never rise along the list: those of candidates that stay stand, others change the least."""
    beneath = np.maximum.accumulate(np.where(stays, before, -np.inf)[::-1])[::-1]
    level = np.minimum.accumulate(np.maximum(before, beneath))
    return _apart(level, level != before)


def _apart(level: Sums, changed: Mask) -> Sums:
    """Move changed sums a hair above or below the sum that they were given; in every run of equals one stands."""
    n = len(level)
    if not changed.any():
        return level
    at = np.arange(n)
    starts = np.flatnonzero(np.concatenate([[True], level[1:] != level[:-1]]))
    run = np.repeat(np.arange(len(starts)), np.diff([*starts, n]))
    first = np.minimum.reduceat(np.where(changed, n, at), starts)[run]
    last = np.maximum.reduceat(np.where(changed, -1, at), starts)[run]
    above, below = np.maximum(first - at, 0), np.maximum(at - last, 0)
    # The gap above each run, and the one below the last; those at the ends have no end.
    gaps = np.concatenate([[np.inf], level[starts][:-1] - level[starts][1:], [np.inf]])
    held = np.bincount(run[above > 0], minlength=len(gaps)) + np.bincount(run[below > 0] + 1, minlength=len(gaps))
    hair = np.minimum(HAIR, gaps / (held + 1))
    apart: Sums = level + above * hair[run] - below * hair[run + 1]
    return apart


def longest_falling(values: Sums) -> Mask:
    """Mark a longest subsequence that never rises (Schensted 1961: patience sorting)."""
    tops: list[float] = []  # the greatest last value of a subsequence of each length, negated
    places: list[int] = []
    before: list[int] = []
    for place, value in enumerate((-values).tolist()):
        length = bisect_right(tops, value)
        before.append(places[length - 1] if length else -1)
        if length == len(tops):
            tops.append(value)
            places.append(place)
        else:
            tops[length], places[length] = value, place
    mask = np.zeros(len(values), dtype=np.bool_)
    at = places[-1] if places else -1
    while at >= 0:
        mask[at] = True
        at = before[at]
    return mask


def _with(
    fused: Fused, added: Mapping[str, NDArray[np.floating]] | None = None, raw: Mapping[str, Scores] | None = None
) -> Fused:
    return Fused(
        rows=fused.rows,
        scores=fused.scores,
        added={**fused.added, **(added or {})},
        raw={**fused.raw, **(raw or {})},
        ranks=fused.ranks,
        via=fused.via,
    )


THRESHOLD = 0.6


class Demoted(NamedTuple):
    """Result of `demote`, all in the *new* ranking, best first, shape `(n,)`."""

    order: NDArray[np.intp]  # indices into the given ranking
    # unchanged for what was not demoted; for what was, lower than or equal to everything above
    scores: NDArray[np.float64]
    matched: NDArray[np.intp]  # how many negated terms each item matched; 0 = not demoted


def negation_scores(texts: Sequence[str], terms: Sequence[str], language: str = "en") -> NDArray[np.float64]:
    """Rate how much each text is about each negated term.

    Every candidate is scored against every negated term with BM25 (rank-bm25 over the candidates alone: they are few,
    and the index lives for one query). BM25 has no upper end and depends on the other candidates, so the scale is
    fixed:

    - The length normaliser is a fixed pivot, not the average length of the candidates: what a text gets does not depend
      on what else was found. Lengths are in stems, without stop words.
    - Scores are divided by the term's ceiling `(k1 + 1)·Σ idf`, which an endless, ever-repeating text would reach. For
      a term of one word that leaves `tf / (tf + k1·(1 − b + b·length / pivot))`, and the IDF drops out.
    - With k1 = 1.2, b = .75 and a pivot of 30, one mention reaches .6 in a text of up to 12 stems (a sentence that is
      about it), two in up to 33, five in up to 101; one mention in 30 stems is .45, in 100 stems .23.
    - Words of a longer term are weighted by a smoothed IDF that cannot be zero or negative (Okapi's is, for a word in
      more than half of so few texts). A word that no candidate has keeps its full weight, so half a phrase stays half a
      match.
    """
    if not texts or not terms:
        return np.zeros((len(texts), len(terms)))
    own = None if language == "en" else language
    wanted = [_wanted(stems(term, own)) for term in terms]
    scores = _about([stems(text, language_of(text) or own) if _may_say(text, wanted) else [] for text in texts], wanted)
    if own is not None:  # a name keeps endings that its language's stemmer does not know: "Annas"
        english = _about([stems(text, None) for text in texts], [_wanted(stems(term, None)) for term in terms])
        scores = np.maximum(scores, english)
    return scores


def _may_say(text: str, wanted: Sequence[Sequence[str]]) -> bool:
    """Say whether a text may hold one of the stems: reading its words costs more than looking for their beginnings."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(start in lower for term in wanted for one in term for start in beginnings(one))


def _wanted(found: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct stems of a term; of Chinese, pairs of characters where it has some."""
    pairs = [stem for stem in found if not is_character(stem)]
    return tuple(dict.fromkeys(pairs or found))


def _about(texts: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Compute `negation_scores` of stems."""
    scores = np.zeros((len(texts), len(wanted)))
    if not any(wanted) or not any(texts):
        return scores
    from rank_bm25 import BM25Plus

    # BM25Plus without its delta is plain BM25; the delta would be added to texts that lack the word.
    index = BM25Plus([list(text) for text in texts], k1=K1, b=B, delta=0)
    frequency = {stem: sum(stem in counts for counts in index.doc_freqs) for term in wanted for stem in term}
    index.doc_len = [length_in_words(text) for text in texts]
    index.avgdl = PIVOT
    index.idf = {stem: math.log1p((len(texts) + 1) / (df + 0.5)) for stem, df in frequency.items()}
    for column, term in enumerate(wanted):
        if term:
            ceiling = (K1 + 1) * sum(index.idf[stem] for stem in term)
            scores[:, column] = index.get_scores(list(term)) / ceiling
    return np.clip(scores, 0.0, 1.0)


def demote(scores: NDArray[np.floating], penalties: NDArray[np.floating], threshold: float = THRESHOLD) -> Demoted:
    """Move items that match a negation below all that match none.

    An item matches a term if its penalty is *above* the threshold. Items that match more terms lie below items that
    match fewer; otherwise the given order is kept. The score of a demoted item is halved for each term it matches, and
    capped by the scores above it.
    """
    given = np.asarray(scores, dtype=np.float64)
    rows = np.asarray(penalties, dtype=np.float64)
    if given.ndim != 1 or rows.ndim != 2 or len(rows) != len(given):
        raise InvalidArgument(
            f"demote needs scores of shape (n,) and penalties of shape (n, terms), not {given.shape} and {rows.shape}."
        )
    if not 0 <= threshold <= 1:
        raise InvalidArgument(f"The negation threshold must be in [0, 1], not {threshold!r}.")
    matched = (rows > threshold).sum(axis=1).astype(np.intp)
    adjusted = given.copy()
    ceiling = math.inf
    for tier in np.unique(matched):
        members = matched == tier
        if tier:
            adjusted[members] = np.minimum(given[members] * 0.5 ** int(tier), ceiling)
        ceiling = min(ceiling, float(adjusted[members].min()))
    order = np.argsort(matched, kind="stable")
    return Demoted(order=order, scores=adjusted[order], matched=matched[order])
