"""Fit what turns a ranker's scores into probabilities, and measure how well they hold.

    python scripts/fit_calibration.py DATA [--ranker unlearned|linear|trees] [--write FILE] [--json FILE]

DATA holds `locomo/` and `multihop/`. Queries without an answer are made from those that have one:

- wrong: a LoCoMo question asked of another conversation; renamed: the same, the speakers' names replaced by those of
  that conversation; unnamed: the names left out, asked of the right and of the wrong conversation.
- removed: a question asked of its own scope without the memories that answer it (LoCoMo: reported, not fitted to).

Each LoCoMo question also comes once degraded: without vectors, as plain documents (no actors, threads, positions),
both, or in a scope of one session. Everything is reported on what was not fitted to: five folds, each two LoCoMo
conversations (a wrong conversation is the other of its pair, so both are left out) and a fifth of the multi-hop
questions; learned rankers are fitted without the fold too. Prints figures only. `--write` fits on everything and puts
the ranker's entry into FILE.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recall_integrations.embeddings.static import bundled
from recall_integrations.evaluation.datasets import Collection, EvaluationData, Question, load_locomo, load_multihop
from recall_integrations.ranking.calibration import (
    HIT,
    RESULT,
    Calibration,
    Doubles,
    K,
    Logistic,
    from_json,
    hit_inputs,
    result_inputs,
    to_json,
    unknown_share,
)
from recall_integrations.ranking.columns import TextColumns, window_rows
from recall_integrations.ranking.features import FeatureInput, Features, Values, compute
from recall_integrations.ranking.lexicon import query_terms
from recall_integrations.ranking.ranker import Ranker, Ranking, Unlearned
from recall_integrations.ranking.training import Example, fit_linear, fit_trees
from scripts.measure_ranking import DENSE, LEXICAL, NOW, WINDOW, Scope, table

FOLDS = 5
VARIANTS = ("no vectors", "plain", "plain, no vectors", "one session")
HOPS = ("hotpotqa", "musique")
ANSWERABLE = 2 / 3  # share of the queries that have an answer: what the probabilities assume
PLACES = 30  # candidates of a query that are fitted to: the best, and one in `EVERY` of the others
EVERY = 10
RIDGE = 3.0  # on standardised inputs; weights sum to the number of rows
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A query with its candidates. `fold`: what it is left out with; `kind`: right, wrong, renamed or removed."""

    dataset: str
    fold: int
    kind: str
    variant: str
    features: Features
    relevant: Bools
    unknown: float

    @property
    def right(self) -> bool:
        return self.kind == "right"


# --- queries ----------------------------------------------------------------------------------------------------


def gather(
    scope: Scope, question: Question, *, gone: Sequence[int] = (), vectors: bool = True, detail: bool = False
) -> tuple[FeatureInput, float]:
    """Candidates of a question as in `measure_ranking`, without the rows in `gone`; the share that is unknown."""
    removed, lost = np.asarray(sorted(gone), dtype=np.int64), set(gone)

    def frequency(term: str) -> int:
        held = scope.postings.get(term, {})
        return len(held) - sum(row in held for row in lost)

    columns = without(scope.columns, removed) if lost else scope.columns
    parsed, _ = scope.parser.parse(question.text, question.asked_at or NOW, scope.known)
    scores = scope.bm25(parsed.terms)
    scores[removed] = 0
    hits = np.argsort(-scores, kind="stable")[:LEXICAL]
    hits = hits[scores[hits] > 0]
    found = [hits, window_rows(columns, hits, scores[hits], WINDOW)]
    cosines = np.vecdot(scope.vectors, bundled().embed_query(question.text))
    if vectors:
        near = cosines.copy()
        near[removed] = -np.inf
        found.append(np.argsort(-near, kind="stable")[:DENSE])
    terms = query_terms(parsed)
    count = len(scope.ids) - len(removed)
    given = FeatureInput(
        columns=columns,
        rows=np.setdiff1d(np.concatenate(found), removed),
        query=terms,
        frequency=frequency,
        count=count,
        at=scope.at,
        cosine=(lambda rows: cosines[rows]) if vectors else None,
        detail=detail,
    )
    return given, unknown_share(terms.stems, frequency, count)


def without(columns: TextColumns, rows: NDArray[np.int64]) -> TextColumns:
    """The columns with `rows` taken out of their threads; their neighbours become ends."""
    dead = np.zeros(columns.size, dtype=np.bool_)
    dead[rows] = True

    def cut(links: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where((links >= 0) & ~dead[np.maximum(links, 0)], links, -1)

    return replace(columns, before=cut(columns.before), after=cut(columns.after))


def plain(collection: Collection) -> Collection:
    bare = (replace(m, actor=None, thread=None, position=None, entities=()) for m in collection.memories)
    return replace(collection, memories=tuple(bare))


class Maker:
    """Makes the items of a data set."""

    def __init__(self, dataset: str, detail: bool) -> None:
        self.dataset, self.detail = dataset, detail

    def item(
        self, scope: Scope, question: Question, fold: int, kind: str, variant: str = "full", gone: Sequence[int] = ()
    ) -> Item:
        vectors = "no vectors" not in variant
        given, unknown = gather(scope, question, gone=gone, vectors=vectors, detail=self.detail)
        wanted = [scope.row[i] for i in question.relevant if i in scope.row] if kind == "right" else []
        return Item(
            dataset=self.dataset,
            fold=fold,
            kind=kind,
            variant=variant,
            features=compute(given),
            relevant=np.isin(given.rows, wanted),
            unknown=unknown,
        )

    def locomo(self, data: EvaluationData) -> Iterator[Item]:
        talks = [_Talk(c) for c in data.collections]
        for number, talk in enumerate(talks):
            other = talks[number ^ 1]
            names = re.compile("|".join(rf"\b{re.escape(p)}\b" for p in talk.people))
            for n, question in enumerate(q for q in talk.collection.questions if q.relevant):
                moved = replace(question, asked_at=other.asked_at)
                swapped = names.sub(lambda m: other.people[talk.people.index(m[0])], question.text)  # noqa: B023
                unnamed = names.sub(" ", question.text)
                variant, fold = VARIANTS[n % len(VARIANTS)], number // 2
                asked = (("right", question, talk), ("wrong", moved, other))
                for kind, q, at in (*asked, ("renamed", replace(moved, text=swapped), other)):
                    yield self.item(at.scope, q, fold, kind)
                    yield self.item(at.degraded(variant, q, n), q, fold, kind, variant)
                if unnamed != question.text:
                    for kind, q, at in asked:
                        yield self.item(at.scope, replace(q, text=unnamed), fold, kind, "unnamed")
                gone = [talk.scope.row[i] for i in question.relevant]
                yield self.item(talk.scope, question, fold, "removed", gone=gone)

    def multihop(self, data: EvaluationData) -> Iterator[Item]:
        (collection,) = data.collections
        scope = Scope(collection)
        for n, question in enumerate(collection.questions):
            fold, gone = n * FOLDS // len(collection.questions), [scope.row[i] for i in question.relevant]
            for variant in ("full", "no vectors") if gone else ():
                yield self.item(scope, question, fold, "right", variant)
                yield self.item(scope, question, fold, "removed", variant, gone)


class _Talk:
    """A LoCoMo conversation and its degraded forms."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.scope, self.bare = collection, Scope(collection), Scope(plain(collection))
        self.people = sorted({m.actor for m in collection.memories if m.actor})
        self.asked_at = collection.questions[0].asked_at
        sessions: dict[str, list[Any]] = {}
        for memory in collection.memories:
            sessions.setdefault(memory.thread or "", []).append(memory)
        self.sessions = [Scope(replace(collection, memories=tuple(some))) for some in sessions.values()]
        self.session_of = {i: session for session in self.sessions for i in session.ids}

    def degraded(self, variant: str, question: Question, number: int) -> Scope:
        if variant == "one session":
            mine = question.relevant and question.scope == self.collection.scope
            return self.session_of[question.relevant[0]] if mine else self.sessions[number % len(self.sessions)]
        return self.bare if "plain" in variant else self.scope


def read(folder: Path, detail: bool) -> list[Item]:
    items = list(Maker("locomo", detail).locomo(load_locomo(folder)))
    for name in HOPS:
        items.extend(Maker(name, detail).multihop(load_multihop(folder, name)))
    return items


# --- rankers ----------------------------------------------------------------------------------------------------


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

    def __call__(self, item: Item, left_out: frozenset[int]) -> Ranking:
        own = frozenset({item.fold}) if item.dataset == "locomo" else frozenset()
        return self.fitted(left_out | own).score(item.features)


# --- fitting ----------------------------------------------------------------------------------------------------


def logistic(x: Doubles, y: Bools, weight: Doubles, names: Sequence[str]) -> Logistic:
    """Weighted maximum likelihood with a ridge on standardised, clipped inputs; Newton's method."""
    low, high = np.percentile(x, (0.2, 99.8), axis=0)
    x = np.clip(x, low, high)
    weight = weight / weight.mean()
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    full = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    ridge = np.append(np.full(x.shape[1], RIDGE), 1e-9)
    w = np.zeros(full.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(full @ w, -30, 30)))
        curvature = (full * (weight * p * (1 - p))[:, None]).T @ full + np.diag(ridge)
        step = np.linalg.solve(curvature, full.T @ (weight * (p - y)) + ridge * w)
        w -= step
        if np.abs(step).max() < 1e-6:
            break
    weights = np.where(deviation > 1e-9, w[:-1] / scale, 0.0)
    return Logistic(names=tuple(names), weights=weights, low=low, high=high, bias=float(w[-1] - weights @ mean))


def weigh(items: Sequence[Item]) -> Doubles:
    """So that `ANSWERABLE` of the queries have an answer, and all multi-hop questions count a quarter of LoCoMo's."""
    hop, right = np.asarray([i.dataset != "locomo" for i in items]), np.asarray([i.right for i in items])
    weight = np.zeros(len(items))
    for part, worth in ((hop, 0.25 if (~hop).any() else 1.0), (~hop, 1.0)):
        for side, share in ((right, ANSWERABLE), (~right, 1 - ANSWERABLE)):
            weight[part & side] = worth * share / max(int((part & side).sum()), 1)
    return weight * len(items)


def fit(items: Sequence[Item], rankings: Sequence[Ranking], ranker: Ranker, about: Mapping[str, Any]) -> Calibration:
    some = [(i, r, w) for i, r, w in zip(items, rankings, weigh(items), strict=True) if i.features.size]
    weight = np.asarray([w for _, _, w in some])
    orders = [np.argsort(-r.scores, kind="stable") for _, r, _ in some]
    x = np.stack([result_inputs(i.features, r.scores, i.unknown) for i, r, _ in some])
    found = [i.relevant[o] for (i, _, _), o in zip(some, orders, strict=True)]
    result = logistic(x, np.asarray([f[:K].any() for f in found]), weight, tuple(RESULT))
    logits = result.logits(x)
    per_k = slope(logits, found, weight)
    rows, labels, weights = [], [], []
    for (item, ranking, w), order, hits, logit in zip(some, orders, found, logits.tolist(), strict=True):
        kept = np.append(np.arange(min(PLACES, len(order))), np.arange(PLACES + EVERY // 2, len(order), EVERY))
        rows.append(hit_inputs(item.features, ranking.scores, order, logit)[kept])
        labels.append(hits[kept])
        weights.append(np.where(kept < PLACES, w, w * EVERY))
    hit = logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights), tuple(HIT))
    return Calibration(
        ranker=ranker.name,
        ranker_version=ranker.version,
        version=f"{ranker.name}-{date.today():%Y%m%d}",
        result=result,
        per_k=per_k,
        hit=hit,
        about=about,
    )


def slope(logits: Doubles, found: Sequence[Bools], weight: Doubles) -> tuple[float, float]:
    """`per_k`: maximum likelihood over k = 1, 2, 3, 5, 7, 20, the logits at k = 10 given."""
    value = np.asarray([0.5, 0.0])
    parts = []
    for k in (1, 2, 3, 5, 7, 20):
        z = np.log(np.asarray([min(k, len(f)) for f in found]) / K)
        parts.append((np.stack([z, z * z], axis=1), np.asarray([f[:k].any() for f in found])))
    for _ in range(20):
        first, second = np.zeros(2), np.zeros((2, 2))
        for z, y in parts:
            p = 1 / (1 + np.exp(-(logits + z @ value)))
            first += z.T @ (weight * (p - y))
            second += (z * (weight * p * (1 - p))[:, None]).T @ z
        value -= np.linalg.solve(second, first)
    return max(0.0, float(value[0])), min(0.0, float(value[1]))


# --- measuring --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a calibration that did not see an item says of it. `scores`, `hits`: of the first ten, best first."""

    item: Item
    by_k: Mapping[int, float]
    found: Mapping[int, bool]
    scores: Values
    hits: Bools


KS = (1, 5, 10, 20)


def judge(item: Item, ranking: Ranking, calibration: Calibration) -> Judged:
    by_k = {k: calibration.confidence(item.features, ranking, item.unknown, k=k) for k in KS}
    order = np.argsort(-ranking.scores, kind="stable")
    scores = calibration.probabilities(item.features, ranking, order, by_k[K])
    hits = item.relevant[order]
    found = {k: bool(hits[:k].any()) for k in KS}
    return Judged(item=item, by_k=by_k, found=found, scores=scores[order[:10]], hits=hits[:10])


def ece(p: Doubles, y: Bools, weight: Doubles | None = None, *, mass: bool = False) -> float:
    """Expected calibration error over 10 bins of equal width, or of equal weight."""
    w = np.ones(len(p)) if weight is None else weight
    order = np.argsort(p, kind="stable")
    p, y, w = p[order], y[order].astype(np.float64), w[order]
    place = (np.cumsum(w) - w / 2) / max(w.sum(), 1e-12) if mass else p
    bins = np.minimum((place * 10).astype(np.int64), 9)
    return float(sum(abs((w * (p - y))[bins == b].sum()) for b in range(10)) / max(w.sum(), 1e-12))


def auroc(p: Doubles, y: Bools) -> float:
    """Probability that a right one scores above a wrong one; ties count half (Mann-Whitney)."""
    values, code, counts = np.unique(p, return_inverse=True, return_counts=True)
    del values
    rank = (np.cumsum(counts) - (counts - 1) / 2)[code]
    n, m = int(y.sum()), int((~y).sum())
    return float((rank[y].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


Select = Callable[[Item], bool]


def chosen(judged: Sequence[Judged], dataset: str, kinds: Sequence[str], variant: str = "full") -> list[Judged]:
    wanted = (dataset,) if dataset != "multi-hop" else HOPS
    return [j for j in judged if j.item.dataset in wanted and j.item.kind in kinds and j.item.variant == variant]


def mixed(some: Sequence[Judged]) -> Doubles:
    """Weights with which `ANSWERABLE` of the queries have an answer; all equal where only one side is there."""
    right = np.asarray([j.item.right for j in some])
    if right.all() or not right.any():
        return np.ones(len(some))
    return np.where(right, ANSWERABLE / right.sum(), (1 - ANSWERABLE) / (~right).sum()) * len(some)


def figures(some: Sequence[Judged]) -> dict[str, float]:
    """Calibration of hits and confidence, and how well the confidence sees whether there is an answer."""
    weight = mixed(some)
    sizes = [len(j.scores) for j in some]
    p, y = np.concatenate([j.scores for j in some]).astype(np.float64), np.concatenate([j.hits for j in some])
    w = np.repeat(weight, sizes)
    full = [j for j in some if len(j.scores)]
    first = np.asarray([j.scores[0] for j in full], dtype=np.float64), np.asarray([j.hits[0] for j in full])
    out = {
        "queries": float(len(some)),
        "hits ECE width": ece(p, y, w),
        "hits ECE mass": ece(p, y, w, mass=True),
        "first hit ECE": ece(*first, mixed(full)),
        "hits AUROC": auroc(p, y),
        "mean p − share": float((w * (p - y)).sum() / w.sum()),
    }
    for k in KS:
        c, f = np.asarray([j.by_k[k] for j in some]), np.asarray([j.found[k] for j in some])
        out[f"confidence ECE k={k}"] = ece(c, f, weight)
        if k == K:
            out["confidence ECE mass"] = ece(c, f, weight, mass=True)
    out["AUROC"] = auroc(np.asarray([j.by_k[K] for j in some]), np.asarray([j.item.right for j in some]))
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


def report(title: str, judged: Sequence[Judged]) -> dict[str, dict[str, float]]:
    out = {name: figures(some) for name, row in ROWS.items() if (some := chosen(judged, *row))}
    heads = list(next(iter(out.values())))
    table(title, ["", *heads], [[n, *(f"{v[h]:.3f}".replace(".000", "") for h in heads)] for n, v in out.items()])
    return out


def abstain(judged: Sequence[Judged], keep: float = 0.95) -> dict[str, dict[str, float]]:
    """The threshold that keeps `keep` of the answerable questions, and what it refuses."""
    out = {}
    for k in (5, 10):
        own = np.asarray([j.by_k[k] for j in chosen(judged, "locomo", ("right",))])
        row = {"abstain_below": float(np.quantile(own, 1 - keep))}
        for name, part in (
            ("wrong", chosen(judged, "locomo", ("wrong",))),
            ("renamed", chosen(judged, "locomo", ("renamed",))),
            ("unnamed, wrong", chosen(judged, "locomo", ("wrong",), "unnamed")),
            ("unnamed, own", chosen(judged, "locomo", ("right",), "unnamed")),
            ("multi-hop", chosen(judged, "multi-hop", ("right",))),
            ("multi-hop, removed", chosen(judged, "multi-hop", ("removed",))),
        ):
            row[f"refused: {name}"] = float(np.mean([j.by_k[k] < row["abstain_below"] for j in part]))
        out[f"k = {k}"] = row
    heads = list(out["k = 5"])
    table(
        f"Abstaining, {keep:.0%} of answerable kept",
        ["", *heads],
        [[n, *(f"{v:.3f}" for v in r.values())] for n, r in out.items()],
    )
    return out


def reliability(judged: Sequence[Judged]) -> None:
    """What is behind the error: bins of the hits' scores and of the confidence."""
    some = chosen(judged, "locomo", ("right", "wrong", "renamed"))
    weight = mixed(some)
    hits = np.concatenate([j.scores for j in some]), np.concatenate([j.hits for j in some])
    conf = np.asarray([j.by_k[K] for j in some]), np.asarray([j.found[K] for j in some])
    rows = []
    for low in range(10):
        cells = [f"{low / 10:.1f}–{(low + 1) / 10:.1f}"]
        for p, y, w in ((*hits, np.repeat(weight, [len(j.scores) for j in some])), (*conf, weight)):
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
    judged: list[Judged] = []
    for fold in range(FOLDS):
        left_out = frozenset({fold})
        train = [i for i in items if i.fold != fold and fitted_on(i)]
        rankings = [scorer(i, left_out) for i in train]
        calibration = fit(train, rankings, scorer.fitted(left_out), {})
        judged.extend(judge(i, scorer(i, left_out), calibration) for i in items if i.fold == fold)
    out: dict[str, Any] = {
        "left out": report(f"{name}: fitted without the two conversations (fifth of multi-hop)", judged)
    }
    reliability(judged)
    out["abstain"] = abstain(judged)
    named = chosen(judged, "locomo", ("right", "wrong"))
    right = np.asarray([j.item.right for j in named])
    sp = np.asarray([float(j.item.features["sp"].any()) for j in named])
    out["AUROC of a name alone"] = auroc(sp, right)
    out["AUROC of unknown alone"] = auroc(np.asarray([-j.item.unknown for j in named]), right)
    print(
        f"\nAUROC, own and wrong: {out['AUROC of a name alone']:.3f} by whether a candidate's actor is named, "
        f"{out['AUROC of unknown alone']:.3f} by the unknown share alone"
    )
    none: frozenset[int] = frozenset()
    for source, target in (("locomo", HOPS), ("multi-hop", ("locomo",))):
        train = [i for i in items if (i.dataset == "locomo") == (source == "locomo") and fitted_on(i)]
        calibration = fit(train, [scorer(i, none) for i in train], scorer.fitted(none), {})
        other = [judge(i, scorer(i, none), calibration) for i in items if i.dataset in target]
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
    calibration = fit(train, [scorer(i, none) for i in train], scorer.fitted(none), about)
    there = from_json(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json({**there, calibration.ranker: calibration}), encoding="utf-8")


if __name__ == "__main__":
    main()
