"""Of two memories that are nearly the same and contradict each other, the newer first, where the query asks how things
are and no slot tells it: "my marathon time is 3:50", later "… 3:42"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.patterns import regex
from recall_integrations.ranking.arranging.moves import NEWER, moved
from recall_integrations.ranking.fusion import Fused

# Set by hand: what people would call the same sentence with another value in it.
CLOSE = 0.8  # cosine
ROUNDED = 1e-3  # more than two ways to sum up a cosine differ by
SHARED = 0.4  # of all words of the two
SOFTLY = 0.5  # of the older one's score, which the newer one must have
# What says that something is not as it was, as stems.
CUES = tuple(
    "chang updat adjust increas decreas reduc rais lower extend shorten reschedul postpon move switch replac reach"
    " grown rise recent latest bump shift revis improv drop new".split()
)
# Chosen as what costs no right answer of `assistant` (`recall bench facts --assistant`).
CHANGES = 3  # best candidates among which a change is looked for
WORDS_MIN, WORDS_SHARE = 2, 1.0  # words of the query that both hold
CHANGED_SOFTLY = 0.3  # of the older one's score
_ASKS = regex(r"(?:what|where|which|who|whose|how|when)\b|(?:is|are|am|do|does|has|have|can)\b", 2)
_PRESENT = regex(
    r"\b(?:is|are|am|do|does|has|have|can|what['’]?s|who['’]?s|where['’]?s|current(?:ly)?|now(?:adays)?|latest|still)\b",
    2,
)
_PAST = regex(r"\b(?:did|was|were|had|used to|ever|first|ago|previous(?:ly)?|before|old|originally|initially)\b", 2)


def asks_present(text: str) -> bool:
    """Whether a query asks how things are: in the present tense, and nothing of the past."""
    start = text.lstrip()[:300]
    return _ASKS.match(start) is not None and _PRESENT.search(start) is not None and _PAST.search(start) is None


def newer_first(fused: Fused, view: ScopeView, text: TextColumns, terms: Sequence[str], k: int) -> Fused:
    """Among the best 2·k, each that contradicts an older one of the same person directly above it.

    Args:
        fused: the candidates, best first.
        view, text: of the scope.
        terms: of the query.
        k: hits that are wanted.
    """
    n = min(len(fused.rows), 2 * k)
    if n < 2:
        return fused
    rows = fused.rows[:n]
    pairs = [*_alike(fused, view, text, rows), *_changed(fused, view, text, rows[:CHANGES], terms)]
    if not pairs:
        return fused
    order = list(range(n))
    for above, below in sorted(pairs):
        if order.index(above) < order.index(below):
            order.remove(below)
            order.insert(order.index(above), below)
    places = np.concatenate([np.asarray(order, dtype=np.int64), np.arange(n, len(fused.rows))])
    return moved(fused, places, fused.scores, NEWER)


def _alike(fused: Fused, view: ScopeView, text: TextColumns, rows: Rows) -> Iterator[tuple[int, int]]:
    """Places of two that say something else in nearly the same words, the newer one below."""
    vectors = view.vectors_of(rows)
    if vectors is None:
        return
    near = vectors @ vectors.T
    np.fill_diagonal(near, 0)
    if near.max() < CLOSE - ROUNDED:  # mostly: and the sum below takes ten times as long
        return
    close = np.einsum("id,jd->ij", vectors, vectors) >= CLOSE
    for above, below in np.argwhere(close).tolist():
        if above >= below:  # each with itself, mostly
            continue
        old, new = int(rows[above]), int(rows[below])
        if not _newer(view, text, old, new) or fused.scores[below] < SOFTLY * fused.scores[above]:
            continue
        one, other = _stems(text, old), _stems(text, new)
        if one - other and other - one and len(one & other) >= SHARED * len(one | other):
            yield above, below


def _changed(
    fused: Fused, view: ScopeView, text: TextColumns, rows: Rows, terms: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Places of two that hold the same words of the query, where the newer one, below, says that something changed."""
    cues = _cues(text)
    changed = [i for i, row in enumerate(rows.tolist()) if i and not cues.isdisjoint(_words(text, row))]
    held = text.held(rows.tolist(), terms) if changed else []
    for below in changed:
        if len(held[below]) < WORDS_MIN:
            continue
        for above in range(below):
            enough = fused.scores[below] >= CHANGED_SOFTLY * fused.scores[above]
            enough = enough and len(held[above] & held[below]) >= WORDS_SHARE * len(held[above])
            if enough and _newer(view, text, int(rows[above]), int(rows[below])):
                yield above, below
                break


def _cues(text: TextColumns) -> frozenset[int]:
    """Numbers of `CUES`; one that had none when the snapshot was made stands in none of its rows."""
    found: frozenset[int] | None = text.memo.get("change_cues")
    if found is None:
        numbers = map(text.lexicon.stem_of, CUES)
        found = text.memo["change_cues"] = frozenset([number for number in numbers if number >= 0])
    return found


def _newer(view: ScopeView, text: TextColumns, old: int, new: int) -> bool:
    """Whether the same person said it later: by its time, and where that is the same by its place in the thread."""
    if text.actors[old] != text.actors[new] or not (view.dated[old] and view.dated[new]):
        return False
    if view.at[new] != view.at[old]:
        return bool(view.at[new] > view.at[old])
    return bool(text.threads[old] == text.threads[new] >= 0 and new > old)


def _stems(text: TextColumns, row: int) -> set[int]:
    return set(_words(text, row))


def _words(text: TextColumns, row: int) -> list[int]:
    """Stems of a row's words, in order."""
    words = text.words[text.starts.item(row) : text.starts.item(row + 1)]
    stems: list[int] = text.lexicon.stems[words].tolist()
    return stems
