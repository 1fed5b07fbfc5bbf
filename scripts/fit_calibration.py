"""Fit what turns a ranker's scores into probabilities, and measure how well they hold.

    python scripts/fit_calibration.py DATA [--ranker unlearned|linear|trees] [--write FILE] [--json FILE]

DATA holds `locomo/` and `multihop/`; `calibration_queries.py` says which queries are made of them. Everything is
reported on what was not fitted to: five folds, each two LoCoMo conversations (a wrong conversation is the other of its
pair, so both are left out) and a fifth of the multi-hop questions; learned rankers are fitted without the fold too.
LoCoMo questions whose answer was removed are reported, not fitted to. Prints figures only. `--write` fits on everything
and puts the ranker's entry into FILE. `recall train` fits the calibration of its own weights to the user's queries.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recall_integrations.ranking.calibration import Calibration, Doubles, from_json, to_json
from recall_integrations.ranking.calibration_fit import fit_calibration, judge
from recall_integrations.ranking.features import Values
from recall_integrations.ranking.ranker import Ranker, Unlearned
from recall_integrations.ranking.training import Example, fit_linear
from recall_integrations.ranking.training_trees import fit_trees
from scripts.calibration_queries import FOLDS, HOPS, Item, read
from scripts.calibration_tables import ANSWERABLE, KS, Verdict, abstain, chosen, reliability, report, separated


class Scorer:
    """Scores items by rankers that were fitted without some folds of LoCoMo, and without the item's own fold."""

    def __init__(self, name: str, items: Sequence[Item]) -> None:
        self.name = name
        self.fitted = cache(self._fit)
        self.items = items

    def _fit(self, left_out: frozenset[int]) -> Ranker:
        if self.name == "unlearned":
            return Unlearned()
        examples = [
            Example(features=i.features, relevant=i.relevant, group=str(i.fold))
            for i in self.items
            if i.dataset == "locomo" and i.right and i.variant == "full" and i.fold not in left_out
        ]
        if self.name == "linear":
            return fit_linear(examples)
        return fit_trees(examples, threads=2)

    def __call__(self, item: Item, left_out: frozenset[int]) -> Values:
        own = frozenset({item.fold}) if item.dataset == "locomo" else frozenset()
        return self.fitted(left_out | own).score(item.features).scores


def weigh(items: Sequence[Item]) -> Doubles:
    """So that `ANSWERABLE` of the queries have an answer, and all multi-hop questions count a quarter of LoCoMo's."""
    hop, right = np.asarray([i.dataset != "locomo" for i in items]), np.asarray([i.right for i in items])
    weight = np.zeros(len(items))
    for part, worth in ((hop, 0.25 if (~hop).any() else 1.0), (~hop, 1.0)):
        for side, share in ((right, ANSWERABLE), (~right, 1 - ANSWERABLE)):
            weight[part & side] = worth * share / max(int((part & side).sum()), 1)
    return weight * len(items)


def fit(items: Sequence[Item], scorer: Scorer, left_out: frozenset[int], about: Mapping[str, Any]) -> Calibration:
    ranker = scorer.fitted(left_out)
    return fit_calibration(
        [i.outcome(scorer(i, left_out), weight) for i, weight in zip(items, weigh(items).tolist(), strict=True)],
        ranker=ranker.name,
        ranker_version=ranker.version,
        version=f"{ranker.name}-{date.today():%Y%m%d}",
        about=about,
    )


def verdict(item: Item, scorer: Scorer, left_out: frozenset[int], calibration: Calibration) -> Verdict:
    return Verdict(item=item, said=judge(item.outcome(scorer(item, left_out)), calibration, KS))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--ranker", choices=("unlearned", "linear", "trees"), default="unlearned")
    arguments.add_argument("--write", type=Path, help="fit on everything and put it into this file")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    if given.write and given.ranker != "unlearned":
        arguments.error("--write is for the un-learned ranker: the package ships no weights of the others")
    items = read(given.data, detail=given.ranker == "trees")
    out = measure(items, Scorer(given.ranker, items), given.ranker)
    if given.json:
        given.json.write_text(json.dumps(out, indent=2) + "\n", encoding="utf-8")
    if given.write:
        write(given.write, items, Scorer(given.ranker, items), out)


def fitted_on(item: Item) -> bool:
    return item.dataset != "locomo" or item.kind != "removed"


def measure(items: Sequence[Item], scorer: Scorer, name: str) -> dict[str, Any]:
    judged: list[Verdict] = []
    for fold in range(FOLDS):
        left_out = frozenset({fold})
        train = [i for i in items if i.fold != fold and fitted_on(i)]
        calibration = fit(train, scorer, left_out, {})
        judged.extend(verdict(i, scorer, left_out, calibration) for i in items if i.fold == fold)
    out: dict[str, Any] = {
        "left out": report(f"{name}: fitted without the two conversations (fifth of multi-hop)", judged)
    }
    reliability(judged)
    out["abstain"] = abstain(judged)
    named = chosen(judged, "locomo", ("right", "wrong"))
    right = np.asarray([j.item.right for j in named])
    sp = np.asarray([float(j.item.features["sp"].any()) for j in named])
    out["AUROC of a name alone"] = separated(sp, right)
    out["AUROC of unknown alone"] = separated(np.asarray([-j.item.unknown for j in named]), right)
    print(
        f"\nAUROC, own and wrong: {out['AUROC of a name alone']:.3f} by whether a candidate's actor is named, "
        f"{out['AUROC of unknown alone']:.3f} by the unknown share alone"
    )
    none: frozenset[int] = frozenset()
    for source, target in (("locomo", HOPS), ("multi-hop", ("locomo",))):
        train = [i for i in items if (i.dataset == "locomo") == (source == "locomo") and fitted_on(i)]
        calibration = fit(train, scorer, none, {})
        other = [verdict(i, scorer, none, calibration) for i in items if i.dataset in target]
        out[f"fitted on {source}"] = report(f"{name}: fitted on {source} only", other)
    return out


def write(path: Path, items: Sequence[Item], scorer: Scorer, measured: Mapping[str, Any]) -> None:
    """Fit on everything; the figures in it are of what was left out."""
    none: frozenset[int] = frozenset()
    train = [i for i in items if fitted_on(i)]
    kept = measured["left out"]
    about = {
        "data": "LoCoMo (locomo10.json, 10 conversations), samples of HotpotQA and MuSiQue; with unanswerable forms",
        "licence": "LoCoMo: CC BY-NC 4.0; HotpotQA, MuSiQue: their own; the weights hold no text",
        "split": "figures: two conversations and a fifth of multi-hop left out; these weights: everything",
        "answerable": round(ANSWERABLE, 3),
        "figures": {
            "hits ECE, own conversation": round(kept["own conversation only"]["hits ECE width"], 4),
            "hits ECE, mixed": round(kept["own and both"]["hits ECE width"], 4),
            "confidence ECE, mixed": round(kept["own and both"]["confidence ECE k=10"], 4),
            "AUROC, wrong conversation": round(kept["own and wrong"]["AUROC"], 4),
            "AUROC, wrong conversation, names swapped": round(kept["own and renamed"]["AUROC"], 4),
        },
        "abstain_below": {k: round(row["abstain_below"], 3) for k, row in measured["abstain"].items()},
        "fitted_by": f"scripts/fit_calibration.py DATA --ranker {scorer.name} --write FILE",
    }
    calibration = fit(train, scorer, none, about)
    there = from_json(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json({**there, calibration.ranker: calibration}), encoding="utf-8")


if __name__ == "__main__":
    main()
