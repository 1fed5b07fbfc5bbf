"""Scores of the candidates around a candidate: evidence comes in runs of turns, and in threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features

# From a score `u` of all candidates; a neighbour that is no candidate counts as the worst of them.
AROUND: Mapping[str, str] = {
    "u": "u",
    "u_gap": "u − the best u",
    "u_rank": "ln(1 + candidates with a better u)",
    "u_b1": "u of the text before",
    "u_a1": "u of the text after",
    "u_b2": "u of the text two before",
    "u_a2": "u of the text two after",
    "u_win": "the best of these four",
    "u_other": "the best u of another candidate of the thread",
    "u_mean": "mean of the three best u of the thread",
    "u_top": "candidates of the thread among the 20 best",
}


def around(features: Features, u: Values) -> dict[str, Values]:
    """Compute the columns of `AROUND`, for the scores `u` of the candidates."""
    size, session = features.size, features.session
    if not size:
        return {}
    order = np.argsort(-u, kind="stable")
    place = np.searchsorted(-u[order], -u)  # equal ones have equal places
    worst = u.min()
    beside = np.append(u, worst)[features.links]  # -1, none, is the last
    out = {"u": u, "u_gap": u - u[order[0]], "u_rank": np.log1p(place)}
    out.update(zip(("u_b1", "u_a1", "u_b2", "u_a2"), beside, strict=True))
    out["u_win"] = beside.max(axis=0)
    codes = np.where(session >= 0, session, session.max(initial=0) + 1 + np.arange(size))  # no thread: on its own
    by_thread = order[np.argsort(codes[order], kind="stable")]  # thread by thread, the best first
    threads = codes[by_thread]
    heads = np.flatnonzero(np.diff(threads, prepend=-1))
    counts = np.diff(np.append(heads, size))
    of = np.repeat(np.arange(len(heads)), counts)
    nth = np.arange(size) - heads[of]
    falling = u[by_thread]
    second = np.where(counts > 1, falling[np.minimum(heads + 1, size - 1)], worst)
    other, mean, top = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    other[by_thread] = np.where(nth == 0, second[of], falling[heads][of])
    best = np.add.reduceat(np.where(nth < 3, falling, 0), heads) / np.minimum(counts, 3)
    mean[by_thread] = best[of]
    top[by_thread] = np.add.reduceat((place[by_thread] < 20).astype(np.float32), heads)[of]
    return {**out, "u_other": other, "u_mean": mean, "u_top": top}
