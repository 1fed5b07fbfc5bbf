"""How well calibrations hold that did not see what they are judged by: the tables of `fit_calibration.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recall_integrations.evaluation.abstention import auroc
from recall_integrations.ranking.calibration import Doubles, K
from recall_integrations.ranking.calibration_fit import Bools, Judged, ece
from scripts.calibration_queries import HOPS, VARIANTS, Item
from scripts.measure_ranking import table

ANSWERABLE = 2 / 3  # share of the queries that have an answer: what the probabilities assume
KS = (1, 5, 10, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a calibration that did not see an item says of it."""

    item: Item
    said: Judged


def separated(p: Doubles, y: Bools) -> float:
    """AUROC of those that are `y` against the others; not a number where there is one side only."""
    return auroc(p[y], p[~y]) if y.any() and not y.all() else float("nan")


def chosen(judged: Sequence[Verdict], dataset: str, kinds: Sequence[str], variant: str = "full") -> list[Verdict]:
    wanted = (dataset,) if dataset != "multi-hop" else HOPS
    return [j for j in judged if j.item.dataset in wanted and j.item.kind in kinds and j.item.variant == variant]


def mixed(some: Sequence[Verdict]) -> Doubles:
    """Weights with which `ANSWERABLE` of the queries have an answer; all equal where only one side is there."""
    right = np.asarray([j.item.right for j in some])
    if right.all() or not right.any():
        return np.ones(len(some))
    return np.where(right, ANSWERABLE / right.sum(), (1 - ANSWERABLE) / (~right).sum()) * len(some)


def figures(some: Sequence[Verdict]) -> dict[str, float]:
    """Calibration of hits and confidence, and how well the confidence sees whether there is an answer."""
    weight = mixed(some)
    sizes = [len(j.said.scores) for j in some]
    p, y = np.concatenate([j.said.scores for j in some]).astype(np.float64), np.concatenate([j.said.hits for j in some])
    w = np.repeat(weight, sizes)
    full = [j for j in some if len(j.said.scores)]
    first = np.asarray([j.said.scores[0] for j in full], dtype=np.float64), np.asarray([j.said.hits[0] for j in full])
    out = {
        "queries": float(len(some)),
        "hits ECE width": ece(p, y, w),
        "hits ECE mass": ece(p, y, w, mass=True),
        "first hit ECE": ece(*first, mixed(full)),
        "hits AUROC": separated(p, y),
        "mean p − share": float((w * (p - y)).sum() / w.sum()),
    }
    for k in KS:
        c, f = np.asarray([j.said.confidence[k] for j in some]), np.asarray([j.said.found[k] for j in some])
        out[f"confidence ECE k={k}"] = ece(c, f, weight)
        if k == K:
            out["confidence ECE mass"] = ece(c, f, weight, mass=True)
    out["AUROC"] = separated(np.asarray([j.said.confidence[K] for j in some]), np.asarray([j.item.right for j in some]))
    return out


ROWS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "own conversation only": ("locomo", ("right",), "full"),
    "own and wrong": ("locomo", ("right", "wrong"), "full"),
    "own and renamed": ("locomo", ("right", "renamed"), "full"),
    "own and both": ("locomo", ("right", "wrong", "renamed"), "full"),
    "own and evidence removed": ("locomo", ("right", "removed"), "full"),
    "names left out, own and wrong": ("locomo", ("right", "wrong"), "unnamed"),
    **{f"{v}, own only": ("locomo", ("right",), v) for v in VARIANTS},
    **{f"{v}, own and both": ("locomo", ("right", "wrong", "renamed"), v) for v in VARIANTS},
    "multi-hop": ("multi-hop", ("right",), "full"),
    "multi-hop and removed": ("multi-hop", ("right", "removed"), "full"),
    "multi-hop, no vectors, and removed": ("multi-hop", ("right", "removed"), "no vectors"),
}


def report(title: str, judged: Sequence[Verdict]) -> dict[str, dict[str, float]]:
    out = {name: figures(some) for name, row in ROWS.items() if (some := chosen(judged, *row))}
    heads = list(next(iter(out.values())))
    table(title, ["", *heads], [[n, *(f"{v[h]:.3f}".replace(".000", "") for h in heads)] for n, v in out.items()])
    return out


def abstain(judged: Sequence[Verdict], keep: float = 0.95) -> dict[str, dict[str, float]]:
    """The threshold that keeps `keep` of the answerable questions, and what it refuses."""
    out = {}
    for k in (5, 10):
        own = np.asarray([j.said.confidence[k] for j in chosen(judged, "locomo", ("right",))])
        row = {"abstain_below": float(np.quantile(own, 1 - keep))}
        for name, part in (
            ("wrong", chosen(judged, "locomo", ("wrong",))),
            ("renamed", chosen(judged, "locomo", ("renamed",))),
            ("unnamed, wrong", chosen(judged, "locomo", ("wrong",), "unnamed")),
            ("unnamed, own", chosen(judged, "locomo", ("right",), "unnamed")),
            ("multi-hop", chosen(judged, "multi-hop", ("right",))),
            ("multi-hop, removed", chosen(judged, "multi-hop", ("removed",))),
        ):
            row[f"refused: {name}"] = float(np.mean([j.said.confidence[k] < row["abstain_below"] for j in part]))
        out[f"k = {k}"] = row
    heads = list(out["k = 5"])
    table(
        f"Abstaining, {keep:.0%} of answerable kept",
        ["", *heads],
        [[n, *(f"{v:.3f}" for v in r.values())] for n, r in out.items()],
    )
    return out


def reliability(judged: Sequence[Verdict]) -> None:
    """What is behind the error: bins of the hits' scores and of the confidence."""
    some = chosen(judged, "locomo", ("right", "wrong", "renamed"))
    weight = mixed(some)
    hits = np.concatenate([j.said.scores for j in some]), np.concatenate([j.said.hits for j in some])
    conf = np.asarray([j.said.confidence[K] for j in some]), np.asarray([j.said.found[K] for j in some])
    rows = []
    for low in range(10):
        cells = [f"{low / 10:.1f}–{(low + 1) / 10:.1f}"]
        for p, y, w in ((*hits, np.repeat(weight, [len(j.said.scores) for j in some])), (*conf, weight)):
            inside = np.minimum((p * 10).astype(np.int64), 9) == low
            part = w[inside].sum()
            cells.append(
                f"{(w * p)[inside].sum() / part:.3f} / {(w * y)[inside].sum() / part:.3f} ({part / w.sum():.1%})"
                if part
                else ""
            )
        rows.append(cells)
    table(
        "Reliability, own and both: mean probability / share that is relevant (share of all)",
        ["", "hits", "confidence"],
        rows,
    )
