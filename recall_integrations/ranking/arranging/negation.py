"""Negation: candidates that the query excludes go to the bottom of the list, and nothing is removed.

Every candidate is scored against every negated term with BM25 (rank-bm25 over the candidates alone: they are few, and
the index lives for one query). BM25 has no upper end and depends on the other candidates, so the scale is fixed:

- The length normaliser is a fixed pivot, not the average length of the candidates: what a text gets does not depend on
  what else was found. Lengths are in stems, without stop words.
- Scores are divided by the term's ceiling `(k1 + 1)·Σ idf`, which an endless, ever-repeating text would reach. For a
  term of one word that leaves `tf / (tf + k1·(1 − b + b·length / pivot))`, and the IDF drops out.
- With k1 = 1.2, b = .75 and a pivot of 30, one mention reaches .6 in a text of up to 12 stems (a sentence that is about
  it), two in up to 33, five in up to 101; one mention in 30 stems is .45, in 100 stems .23.
- Words of a longer term are weighted by a smoothed IDF that cannot be zero or negative (Okapi's is, for a word in more
  than half of so few texts). A word that no candidate has keeps its full weight, so half a phrase stays half a match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.text import is_character, language_of, length_in_words, stems
from recall_integrations.text.analyser import K1, PIVOT, B, beginnings

THRESHOLD = 0.6


class Demoted(NamedTuple):
    """Result of `demote`, all in the *new* ranking, best first, shape `(n,)`."""

    order: NDArray[np.intp]  # indices into the given ranking
    # unchanged for what was not demoted; for what was, lower than or equal to everything above
    scores: NDArray[np.float64]
    matched: NDArray[np.intp]  # how many negated terms each item matched; 0 = not demoted


def negation_scores(texts: Sequence[str], terms: Sequence[str], language: str = "en") -> NDArray[np.float64]:
    """Rate how much each text is about each negated term."""
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
