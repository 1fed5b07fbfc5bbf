"""Features of a thread, from its candidates together."""

from __future__ import annotations

import numpy as np

from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.ranking.features.feature import Feature
from recall_integrations.ranking.features.match import Match
from recall_integrations.ranking.features.words import bm25_of_best
from recall_integrations.text.bm25 import K1

LENGTH = 3.0  # K of a thread's candidates taken together, whatever they hold


def held_together(match: Match) -> Values:
    """Count each stem in the candidates of each thread, `(stems, candidates)`: see `Pool.session`."""
    tf = np.zeros((len(match.idf), len(match.rows)), dtype=np.float32)
    for i, row in enumerate(match.tf_own):
        tf[i] = np.bincount(match.session, weights=row, minlength=len(match.rows))
    return tf


def thread_bm25(match: Match) -> Values:
    """Compute BM25 of the candidates of a thread as one text."""
    return match.of_thread(match.bm25_of(held_together(match), np.float32(K1 * LENGTH)))


def thread_size(match: Match) -> Values:
    """Count the candidates of each thread."""
    return match.of_thread(np.bincount(match.session, minlength=len(match.rows)).astype(np.float32))


def thread_idf_coverage(match: Match) -> Values:
    """Return the share of the query's Σ idf that a thread holds."""
    return match.of_thread(weighted(match.share, (held_together(match) > 0).astype(np.float32)))


THREADS = (
    Feature(
        name="thread_bm25",
        formula="Σ idf · 2.2·tf / (tf + 3.6) of all candidates of the thread taken as one text",
        of=thread_bm25,
        group="thread",
        floor=1.0,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="thread_best_bm25",
        formula="the best bm25_of_best among the candidates of the thread",
        of=lambda match: match.best_of_thread(bm25_of_best(match)),
        group="thread",
        floor=0.1,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="thread_best_soft_match",
        formula="the best soft_match among the candidates of the thread",
        of=lambda match: match.best_of_thread(match.soft_match),
        group="thread",
        weight={"always": 0.2},
        floor=0.05,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="thread_best_cosine",
        formula="the best cosine among the candidates of the thread",
        of=lambda match: match.best_of_thread(match.cosines[match.at[0]]),
        group="thread",
        detail=True,
        rising=True,
    ),
    Feature(
        name="thread_size",
        formula="candidates in the thread",
        of=thread_size,
        group="thread",
        detail=True,
    ),
    Feature(
        name="thread_idf_coverage",
        formula="Σ share of the stems that the candidates of the thread hold together",
        of=thread_idf_coverage,
        group="thread",
        detail=True,
    ),
)
