"""Features of a text with its neighbours in the thread, whoever said them."""

from __future__ import annotations

import numpy as np

from recall_integrations.ranking.features.bm25 import PIVOT_1, PIVOT_2, Values, length_term, undamped, weighted
from recall_integrations.ranking.features.feature import Feature
from recall_integrations.ranking.features.match import Match


def near_match_w1(match: Match) -> Values:
    """Match the query with a text and its neighbours at ±1: what is asked may stand in the next text."""
    return undamped(weighted(match.share, match.near_w1), match.length_w1, PIVOT_1)


def near_match_w2(match: Match) -> Values:
    """Match the query with a text and its neighbours at ±2."""
    two = np.maximum.reduce(match.near_at, axis=1)
    return undamped(weighted(match.share, two), np.add.reduce(match.lengths_at), PIVOT_2)


def soft_match_w1(match: Match) -> Values:
    """Match as `near_match_w1` does, with words that are not near as well."""
    at = match.at
    soft = np.maximum(np.maximum(match.soft[:, at[0]], match.soft[:, at[1]]), match.soft[:, at[2]])
    return undamped(weighted(match.share, soft), match.length_w1, PIVOT_1)


def bm25_w1(match: Match) -> Values:
    """Compute BM25 of the text and its neighbours as one text."""
    at = match.at
    k = length_term(match.length_w1, PIVOT_1)
    return match.bm25_of(match.tf[:, at[0]] + match.tf[:, at[1]] + match.tf[:, at[2]], k)


def _beside(name: str, where: str, nth: int, *, rising: bool = False) -> Feature:
    return Feature(
        name=name,
        formula=f"near_match of the text {where}",
        of=lambda match: match.near_match[match.at[nth]],
        group="neighbour",
        detail=True,
        rising=rising,
    )


NEIGHBOURS = (
    Feature(
        name="near_match_w1",
        formula="Σ share · max of near over the text and its neighbours at ±1, times 2.2 / (1 + K(len of all, 75))",
        of=near_match_w1,
        group="neighbour",
        floor=0.06,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="near_match_w2",
        formula="the same over ±2, K(len of all, 120)",
        of=near_match_w2,
        group="neighbour",
        weight={"always": 0.4, "crowd": 1.0, "notes": -0.4, "documents": -0.4},
        floor=0.07,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="previous_log_length",
        formula="ln(1 + len) of the text before it",
        of=lambda match: np.log1p(match.lengths_at[1]),
        group="length",
        floor=0.3,
    ),
    Feature(
        name="soft_match_w1",
        formula="as near_match_w1 with soft instead of near",
        of=soft_match_w1,
        group="neighbour",
        detail=True,
        rising=True,
    ),
    Feature(
        name="bm25_w1",
        formula="BM25 of the text and its neighbours at ±1 taken as one text, K(len of all, 75)",
        of=bm25_w1,
        group="neighbour",
        detail=True,
        rising=True,
    ),
    _beside("near_match_before", "before", 1),
    _beside("near_match_after", "after", 2),
    _beside("near_match_before_2", "two before", 3, rising=True),
    _beside("near_match_after_2", "two after", 4),
    Feature(
        name="next_log_length",
        formula="ln(1 + len) of the text after",
        of=lambda match: np.log1p(match.lengths_at[2]),
        group="length",
        detail=True,
    ),
)
