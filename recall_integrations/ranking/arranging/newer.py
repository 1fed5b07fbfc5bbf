"""Of two memories that are nearly the same and contradict each other, the newer first, where the query asks how things
are and no slot tells it: "my marathon time is 3:50", later "… 3:42"."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.patterns import regex
from recall_integrations.ranking.arranging.moves import NEWER, moved
from recall_integrations.ranking.fusion import Fused

# Set by hand: what people would call the same sentence with another value in it.
CLOSE = 0.8  # cosine
SHARED = 0.4  # of all words of the two
SOFTLY = 0.5  # of the older one's score, which the newer one must have
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


def newer_first(fused: Fused, view: ScopeView, text: TextColumns, k: int) -> Fused:
    """Among the best 2·k, each that contradicts an older one of the same person directly above it."""
    n = min(len(fused.rows), 2 * k)
    rows = fused.rows[:n]
    vectors = view.vectors_of(rows) if n > 1 else None
    if vectors is None:
        return fused
    cosines = np.einsum("id,jd->ij", vectors, vectors)
    close = np.argwhere(np.triu(cosines >= CLOSE, 1))
    order = list(range(n))
    for above, below in close.tolist():
        if _contradicts(fused, view, text, rows, above, below) and order.index(above) < order.index(below):
            order.remove(below)
            order.insert(order.index(above), below)
    if order == list(range(n)):
        return fused
    places = np.concatenate([np.asarray(order, dtype=np.int64), np.arange(n, len(fused.rows))])
    return moved(fused, places, fused.scores, NEWER)


def _contradicts(fused: Fused, view: ScopeView, text: TextColumns, rows: Rows, above: int, below: int) -> bool:
    """Whether the lower one is newer, and says something else in nearly the same words."""
    old, new = int(rows[above]), int(rows[below])
    if text.actors[old] != text.actors[new] or not (view.dated[old] and view.dated[new]):
        return False
    if view.at[new] <= view.at[old] or fused.scores[below] < SOFTLY * fused.scores[above]:
        return False
    one, other = _stems(text, old), _stems(text, new)
    shared = len(one & other)
    return bool(one - other and other - one) and shared >= SHARED * len(one | other)


def _stems(text: TextColumns, row: int) -> set[int]:
    words = text.words[int(text.starts[row]) : int(text.starts[row + 1])]
    return set(text.lexicon.stems[words].tolist())
