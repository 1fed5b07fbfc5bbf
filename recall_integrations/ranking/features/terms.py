"""Features of the query itself, and of its rarest stems one by one: only trees, which combine them, look at these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature
from recall_integrations.ranking.features.match import Match

NTH = ("", "second ", "third ", "fourth ")


def of_rarest(match: Match, nth: int, values: Callable[[int], Values]) -> Values | None:
    """Return values of the nth rarest stem of the query; `None` where it has fewer."""
    rarest = np.argsort(-match.idf, kind="stable")[: len(NTH)].tolist()
    return values(rarest[nth]) if nth < len(rarest) else None


def same_for_all(match: Match, value: float) -> Values:
    """Return a column about the query, the same for all candidates."""
    return np.full(len(match.rows), value, dtype=np.float32)


def _soft(nth: int) -> Feature:
    return Feature(
        name=f"t{nth}",
        formula=f"soft of the {NTH[nth]}rarest stem",
        of=lambda match: of_rarest(match, nth, lambda term: match.soft[term, match.at[0]]),
        group="term",
        detail=True,
        rising=True,
    )


def _near(nth: int) -> Feature:
    return Feature(
        name=f"w{nth}",
        formula=f"near of the {NTH[nth]}rarest stem, best of ±1",
        of=lambda match: of_rarest(match, nth, lambda term: match.near_w1[term]),
        group="term",
        detail=True,
        rising=True,
    )


def _idf(nth: int) -> Feature:
    return Feature(
        name=f"i{nth}",
        formula=f"idf of the {NTH[nth]}rarest stem",
        of=lambda match: of_rarest(match, nth, lambda term: same_for_all(match, float(match.idf[term]))),
        group="term",
        detail=True,
    )


TERMS = (
    Feature(
        name="query_stems",
        formula="stems in the query",
        of=lambda match: same_for_all(match, len(match.idf)),
        group="query",
        detail=True,
    ),
    Feature(
        name="query_mean_idf",
        formula="mean idf of the query's stems",
        of=lambda match: same_for_all(match, match.total / max(len(match.idf), 1)),
        group="query",
        detail=True,
    ),
    *map(_soft, range(len(NTH))),
    *map(_near, range(len(NTH))),
    *map(_idf, range(len(NTH))),
)
