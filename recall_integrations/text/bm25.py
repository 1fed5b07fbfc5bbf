"""The constants of BM25, shared by the index, the ranking features and all other scores by BM25."""

from __future__ import annotations

K1, B = 1.2, 0.75
PIVOT = 30  # stems; shorter texts count as this long, so that a three-word turn does not beat a telling one
