"""Ranking figures of one question, counted here so that measuring one's own store needs no extra.

`recall@n` is the share of the relevant ids among the first n; `hit@n` whether there is one of them; `precision@3` the
share of the first three that are relevant, of three even where fewer came; `ndcg@k` has the grades as gains and the
discount `1 / log2(rank + 1)`, and is divided by the best order of all relevant ids; `mrr@k` is one through the rank of
the first relevant id, or 0. They are those of trec_eval, which a test compares them with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

FEW, SOME, THREE = 1, 5, 3


def names(k: int) -> tuple[str, ...]:
    """Return the names of the figures of recalls of k hits, in the order in which they are shown."""
    cuts = [cut for cut in dict.fromkeys((FEW, SOME, k)) if cut <= k]
    precision = (f"precision@{THREE}",) if k >= THREE else ()
    return (*(f"recall@{cut}" for cut in cuts), *precision, f"ndcg@{k}", f"mrr@{k}")


def hit_names(k: int) -> tuple[str, ...]:
    """Return the names of figures that need not know every relevant memory, for judges who see only the hits."""
    hits = tuple(f"hit@{cut}" for cut in dict.fromkeys((FEW, min(SOME, k))))
    return (*hits, f"precision@{THREE}", f"mrr@{k}") if k >= THREE else (*hits, f"mrr@{k}")


def figures(ids: Sequence[str], grades: Mapping[str, float], k: int) -> dict[str, float]:
    """Compute the figures of `names` and of `hit_names`, each in [0, 1]."""
    shown = list(dict.fromkeys(ids))[:k]
    places = [place for place, one in enumerate(shown) if one in grades]
    found: dict[str, float] = {}
    for cut in dict.fromkeys((FEW, SOME, k)):
        within = sum(place < cut for place in places)
        found[f"recall@{cut}"] = within / len(grades) if grades else 0.0
        found[f"hit@{cut}"] = float(within > 0)
    found[f"precision@{THREE}"] = sum(place < THREE for place in places) / THREE
    best = _gained(sorted(grades.values(), reverse=True)[:k])
    found[f"ndcg@{k}"] = _gained([grades.get(one, 0.0) for one in shown]) / best if best else 0.0
    found[f"mrr@{k}"] = 1 / (places[0] + 1) if places else 0.0
    return found


def _gained(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains) if gain)
