"""Fit the weights of the default ranker, and measure how well weights hold for a kind of memories they have not seen.

    python scripts/fit_weights.py DATA [--limit N] [--weights]

Everything comes from live recalls with the default configuration: candidates and features are those that users get.
Fitted to sets whose licences allow it (`FREE`: in DATA, and the made-up ones in benchmarks/made_up); LoCoMo and the
long chats with an assistant are only judged, by what was fitted on all of `FREE`.

Prints nDCG@10 over the candidates of a recall, for each set: by stemmed BM25, by the shipped weights, and by the terms
of `FEATURES.weights` fitted on the other kinds. All but BM25 get what a plan makes of evidence (`EVIDENCE`) and of
titles; its other lifts and the second hop are left out. `worst` is the lowest ratio to BM25 of a kind. `--weights`
prints fitted weights beside the shipped ones instead. Nothing is kept between runs. With OPENBLAS_NUM_THREADS=1 it is
several times as fast on a busy machine.

A fit is a listwise softmax (the cross entropy of a question's relevant candidates), then coordinate ascent on nDCG@10
as a multiple of what the softmax reached on each set. What `--weights` prints is the mean of such fits to bootstrap
samples of the questions.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fit_calibration

from benchmarks.datasets.data import EvaluationData
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.feature_sum import (
    FULL_SPREAD,
    FixedWeights,
    Ranker,
    floor_of,
    standardise,
)
from recall_integrations.ranking.features.compute import FEATURES, Features
from recall_integrations.ranking.rank import TITLE_LIFT, evidence_of

EVIDENCE = evidence_of(BUILT_IN)
LANGUAGES = ("languages/ru", "languages/de", "languages/zh")
# Set → kind: what is left out together.
FREE = {**fit_calibration.FREE, **dict.fromkeys(LANGUAGES, "languages")}
JUDGED = fit_calibration.JUDGED
# What a set counts in a fit, 1 where nothing is said: less where a kind has several sets.
WORTH = {
    "made up: people": 1.2,
    "made up: notes": 0.7,
    "projects": 0.7,
    "phone": 1.2,
    "documents": 2.0,
    "talk": 1.3,
    "hotpotqa": 0.5,
    "musique": 0.5,
    **dict.fromkeys(LANGUAGES, 0.25),
}
TITLE = ("title", "always")  # the lift of `stage.TITLE_LIFT`
TIES = ("recency", "importance")  # decide between equals: not fitted
TERMS = (*((k, gate) for k, gated in FEATURES.weights.items() if k not in TIES for gate in gated), TITLE)
SCALE = 2.0  # shipped weights are this many times the fitted ones, so that the plan's lifts keep their worth

K = 10
GAINS = 1 / np.log2(np.arange(K) + 2)
BUDGET_MS = 60_000.0
RIDGE, SCALE_MIN = 3e-3, 0.05  # of the softmax: penalty, and the least deviation that a term is divided by
TOP = 60  # candidates that ascent looks at: the best before each sweep
SWEEPS, ENOUGH = 4, 5e-4  # of the ascent, at most; and what a sweep must gain for another one
FACTORS, SMALL = (0.5, 0.75, 0.9, 1.1, 1.33, 2.0), 0.05  # what ascent tries on a weight
STEP_MIN, GROWTH = 1e-4, 2e-4  # least gain of a step, and what a larger weight must gain besides
SAMPLES = 8  # bootstrap samples of `--weights`

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall: its candidates with labels, what the plan makes of evidence, and the best DCG there could be.

    `title` is 1 where the query names what a document begins with, `factors` are those of the plan by feature.
    """

    dataset: str
    features: Features
    relevant: NDArray[np.bool_]
    title: NDArray[np.float32]
    factors: Mapping[str, float]
    ideal: float


def recalls(path: Path, names: Sequence[str], limit: int) -> list[Asked]:
    """Live recalls of each set, in a store of its own that holds the scopes that are asked."""
    asked: list[Asked] = []
    for name in names:
        begun, before = time.perf_counter(), len(asked)
        data = fit_calibration.read(path, name)
        questions = _questions(data, limit)
        scopes = {q.scope for q in questions}
        with tempfile.TemporaryDirectory() as folder, MemoryStore.open(folder) as store:
            for collection in data.collections:
                if collection.scope in scopes:
                    store.remember_many(collection.memories, scope=collection.scope)
            watching, ranker = fit_calibration.Watching(), FixedWeights()
            ranker.calibration = watching  # type: ignore[attr-defined]
            with closing(QueryOptimizer(store, ranker=ranker)) as optimizer:
                made = (_ask(optimizer, watching, q, name) for q in questions)
                asked.extend(own for own in made if own is not None)
        print(
            f"{name}: {len(asked) - before} recalls, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True
        )
    return asked


def _questions(data: EvaluationData, limit: int) -> list[Question]:
    """Questions with an answer, evenly spread."""
    usable = [q for c in data.collections for q in c.questions if q.relevant]
    count = min(limit, len(usable))
    return [usable[i * len(usable) // count] for i in range(count)]


def _ask(optimizer: QueryOptimizer, watching: fit_calibration.Watching, question: Question, name: str) -> Asked | None:
    """A recall, `None` where there was nothing to rank."""
    watching.seen = None
    result = optimizer.recall(question.text, k=K, scope=question.scope, now=question.asked_at, time_budget_ms=BUDGET_MS)
    scope_id = optimizer.store.scope_id(question.scope)
    if watching.seen is None or scope_id is None or not watching.seen[0].size:
        return None
    features, direct = watching.seen[:2]
    ids = optimizer.store.view(scope_id).ids
    relevant = np.asarray([ids[row] in question.relevant for row in features.rows.tolist()], dtype=np.bool_)
    return Asked(
        dataset=name,
        features=features,
        relevant=relevant,
        title=direct.added.get("title", np.zeros(features.size, dtype=np.float32)) / np.float32(TITLE_LIFT),
        factors={k: arm.weight for arm in result.plan.arms for k in EVIDENCE[arm.name]},
        ideal=float(GAINS[: len(question.relevant)].sum()),
    )


def ndcg(own: Asked, scores: NDArray[np.floating]) -> float:
    """nDCG@10 over the candidates; what is relevant and no candidate counts against it."""
    best = np.argsort(-scores, kind="stable")[:K]
    return float(GAINS[: len(best)] @ own.relevant[best]) / own.ideal


def ranked(own: Asked, ranker: Ranker) -> Values:
    """Scores by a ranker, with what the plan makes of its evidence and of titles."""
    ranking = ranker.score(own.features)
    scores = np.asarray(ranking.scores, dtype=np.float64) + TITLE_LIFT * own.title
    for name, values in ranking.added.items():
        scores += (own.factors.get(name, 1.0) - 1) * values
    return scores


def terms(own: Asked) -> NDArray[np.float32]:
    """What `TERMS` add at a weight of 1, `(candidates, terms)`."""
    features = own.features
    names = list(dict.fromkeys(k for k, _ in TERMS if k != "title" and FEATURES[k].floor is not None))
    rows = features.table(tuple(names)).copy()
    standardise(rows, [floor_of(features.known[name], features.cosine_spread) for name in names])
    spread = dict(zip(names, rows, strict=True))
    scale = min(1.0, math.sqrt(max(features.size - 1, 0)) / FULL_SPREAD)
    columns = [own.title if t == TITLE else _term(own, features, spread, scale, *t) for t in TERMS]
    return np.stack(columns, axis=1).astype(np.float32)


def _term(
    own: Asked, features: Features, spread: Mapping[str, NDArray[np.float32]], scale: float, name: str, gate: str
) -> NDArray[np.float32]:
    factor = features.gates[gate] * own.factors.get(name, 1.0)
    if gate == "always" and FEATURES[name].worth_max == math.inf:
        factor *= features.cosine_worth
    if name in spread:
        return spread[name] * np.float32(factor)
    return features[name] * np.float32(factor if name == "date_match" else factor * scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Recalls under each other: one row per candidate, of the question `question`, the first at `starts`.

    `dataset` is the number of each question's set, of `names`; `weight` of a question says how often it is there.
    """

    names: tuple[str, ...]
    dataset: NDArray[np.int64]
    weight: Values
    ideal: Values
    starts: NDArray[np.int64]
    question: NDArray[np.int64]
    matrix: NDArray[np.float32]
    relevant: NDArray[np.bool_]

    def worth(self) -> Values:
        """What a question counts in the mean over sets; all together 1."""
        sets = np.asarray([WORTH.get(name, 1.0) for name in self.names])
        each = np.bincount(self.dataset, weights=self.weight, minlength=len(sets))
        return self.weight * (sets / sets.sum() / np.maximum(each, 1))[self.dataset]


def table(some: Sequence[Asked], matrices: Mapping[int, NDArray[np.float32]]) -> Table:
    """Recalls with their terms, which are known by the recall's `id`."""
    names = tuple(dict.fromkeys(a.dataset for a in some))
    sizes = np.asarray([a.features.size for a in some])
    return Table(
        names=names,
        dataset=np.asarray([names.index(a.dataset) for a in some]),
        weight=np.ones(len(some)),
        ideal=np.asarray([a.ideal for a in some]),
        starts=np.cumsum(sizes) - sizes,
        question=np.repeat(np.arange(len(some)), sizes),
        matrix=np.concatenate([matrices[id(a)] for a in some]),
        relevant=np.concatenate([a.relevant for a in some]),
    )


def softmax(own: Table, *, signed: bool) -> Values:
    """Weights that minimise the cross entropy of the relevant candidates, with a ridge penalty on standardised terms.

    Per question `mean over its relevant of (ln Σ exp(z) − z)`, `z` = terms · weights. `signed`: no evidence that always
    counts counts against a candidate.
    """
    deviation = np.maximum(own.matrix.std(axis=0), SCALE_MIN)
    x = own.matrix / deviation
    found = np.add.reduceat(own.relevant.astype(np.float64), own.starts)
    worth = np.where(found > 0, own.worth(), 0.0)
    target = np.where(own.relevant, (worth / np.maximum(found, 1))[own.question], 0.0)

    def loss(weights: Values) -> tuple[float, Values]:
        z = (x @ weights.astype(np.float32)).astype(np.float64)
        z -= np.maximum.reduceat(z, own.starts)[own.question]
        e = np.exp(z)
        sums = np.add.reduceat(e, own.starts)
        slope = e * (worth / sums)[own.question] - target
        value = float(worth @ np.log(sums) - target @ z + RIDGE * weights @ weights)
        return value, (slope.astype(np.float32) @ x).astype(np.float64) + 2 * RIDGE * weights

    bounds = [(0.0 if signed and gate == "always" else None, None) for _, gate in TERMS]
    fitted = minimize(loss, np.zeros(len(TERMS)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    return np.asarray(fitted.x / deviation, dtype=np.float64)


class Top:
    """The best candidates of each question by some weights, for quick looks at what other weights make of them."""

    def __init__(self, own: Table, weights: Values) -> None:
        scores = (own.matrix @ weights.astype(np.float32)).astype(np.float64)
        order = np.lexsort((-scores, own.question))
        place = np.arange(len(order)) - own.starts[own.question[order]]
        kept = order[place < TOP]
        at = (own.question[kept], place[place < TOP])
        shape = (len(own.starts), TOP)
        self.ideal = own.ideal
        self.scores = np.full(shape, -1e9)
        self.scores[at] = scores[kept]
        self.relevant = np.zeros(shape, dtype=np.bool_)
        self.relevant[at] = own.relevant[kept]
        self.matrix = np.zeros((len(TERMS), *shape), dtype=np.float32)
        self.matrix[:, at[0], at[1]] = own.matrix[kept].T

    def ndcg(self, rows: NDArray[np.int64], scores: Values) -> Values:
        """nDCG@10 of some questions."""
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        best = np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable"), 1)
        gained: Values = np.take_along_axis(self.relevant[rows], best, 1) @ GAINS / self.ideal[rows]
        return gained


def ascend(own: Table, weights: Values, *, signed: bool) -> Values:
    """Weights changed one after the other, as long as that raises nDCG@10 as a multiple of what each set began with."""
    weights, worth, everything = weights.copy(), own.worth(), np.arange(len(own.starts))
    for sweep in range(SWEEPS):
        top = Top(own, weights)
        each = top.ndcg(everything, top.scores)
        if not sweep:
            began = np.bincount(own.dataset, weights=worth * each) / np.bincount(own.dataset, weights=worth)
            worth = worth / np.maximum(began, 1e-9)[own.dataset]
        reached = worth @ each
        for j in np.random.default_rng(sweep).permutation(len(TERMS)):
            each = _best_step(top, int(j), weights, each, worth, signed=signed)
        if worth @ each - reached < ENOUGH:
            break
    return weights


def _best_step(top: Top, j: int, weights: Values, each: Values, worth: Values, *, signed: bool) -> Values:
    """The best change of one weight, made in `weights` and `top`; nDCG@10 of each question after it."""
    now, rows = float(weights[j]), np.flatnonzero(top.matrix[j].any(axis=1))  # the others stay as they are
    column, scores, counted = top.matrix[j][rows], top.scores[rows], worth[rows]
    here = float(counted @ each[rows])
    best, chosen, gained = here, now, each[rows]
    for value in (*(now * f for f in FACTORS), now + SMALL, now - SMALL, 0.0):
        if value == now or (signed and value < 0 and TERMS[j][1] == "always"):
            continue
        made = top.ndcg(rows, scores + (value - now) * column)
        reached = float(counted @ made) - GROWTH * (abs(value) > abs(now))
        if reached > best + STEP_MIN:
            best, chosen, gained = reached, value, made
    if chosen != now:
        weights[j] = chosen
        top.scores[rows] = scores + (chosen - now) * column
        each = each.copy()
        each[rows] = gained
    return each


def fit(own: Table, *, signed: bool = False) -> Values:
    """Weights of `TERMS`."""
    return ascend(own, softmax(own, signed=signed), signed=signed)


def bagged(own: Table) -> tuple[Values, Values]:
    """Mean and deviation of the weights over bootstrap samples: questions are drawn within their set."""
    made = []
    for seed in range(SAMPLES):
        rng, weight = np.random.default_rng(seed), np.zeros(len(own.starts))
        for number in range(len(own.names)):
            rows = np.flatnonzero(own.dataset == number)
            np.add.at(weight, rng.choice(rows, len(rows)), 1)
        made.append(fit(_drawn(own, weight)))
    return np.mean(made, axis=0), np.std(made, axis=0)


def _drawn(own: Table, weight: Values) -> Table:
    """Without the questions of weight 0."""
    kept = weight > 0
    rows = kept[own.question]
    sizes = np.bincount(own.question)[kept]
    return Table(
        names=own.names,
        dataset=own.dataset[kept],
        weight=weight[kept],
        ideal=own.ideal[kept],
        starts=np.cumsum(sizes) - sizes,
        question=np.repeat(np.arange(len(sizes)), sizes),
        matrix=own.matrix[rows],
        relevant=own.relevant[rows],
    )


Figures = dict[str, dict[str, float]]  # row → set → nDCG@10


def measure(asked: Sequence[Asked]) -> Figures:
    """nDCG@10 of each set, by what is fixed and by what was fitted without its kind."""
    matrices = {id(a): terms(a) for a in asked}
    free = [a for a in asked if a.dataset in FREE]
    out: Figures = {}

    def keep(row: str, some: Sequence[Asked], values: Sequence[float]) -> None:
        for name in dict.fromkeys(a.dataset for a in some):
            own = [v for a, v in zip(some, values, strict=True) if a.dataset == name]
            out.setdefault(row, {})[name] = float(np.mean(own))

    def by_ranker(row: str, some: Sequence[Asked], ranker: Ranker) -> None:
        keep(row, some, [ndcg(a, ranked(a, ranker)) for a in some])

    def by_weights(row: str, some: Sequence[Asked], weights: Values) -> None:
        keep(row, some, [ndcg(a, matrices[id(a)] @ weights.astype(np.float32)) for a in some])

    keep("BM25, stemmed", asked, [ndcg(a, a.features["bm25"]) for a in asked])
    by_ranker("shipped", asked, FixedWeights())
    for kind in (*dict.fromkeys(FREE.values()), None):
        begun = time.perf_counter()
        others = [a for a in free if FREE[a.dataset] != kind]
        judged = [a for a in asked if (FREE.get(a.dataset) == kind if kind else a.dataset in JUDGED)]
        own = table(others, matrices)
        weights = fit(own)
        by_weights("the same terms, fitted without the kind", judged, weights)
        by_weights("and no `always` below 0", judged, fit(own, signed=True))
        if kind is None:
            by_weights("the same terms, fitted on all", asked, weights)
        print(
            f"without {kind or 'LoCoMo, assistant'}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True
        )
    return out


def kinds(row: Mapping[str, float]) -> dict[str, float]:
    """Means by kind; LoCoMo and the long chats with an assistant stand for themselves."""
    named = {name: name if name in JUDGED else FREE[name] + " (free)" for name in row}
    return {k: float(np.mean([row[n] for n in row if named[n] == k])) for k in dict.fromkeys(named.values())}


def shown(figures: Figures) -> str:
    """The table, as Markdown."""
    names = [name for name in (*JUDGED, *FREE) if name in figures["shipped"]]
    heads = [name.replace("made up: ", "made-up ").removeprefix("languages/") for name in names]
    lines = [f"| nDCG@10 | {' | '.join(heads)} | mean of kinds | worst ÷ BM25 |", f"|---|{'---:|' * (len(names) + 2)}"]
    base = kinds(figures["BM25, stemmed"])
    for row, by_set in figures.items():
        by_kind = kinds(by_set)
        worst = min(base, key=lambda k: by_kind[k] / base[k])
        cells = [*(f"{by_set[name]:.3f}"[1:] for name in names), f"{np.mean(list(by_kind.values())):.3f}"[1:]]
        ratio = f"{by_kind[worst] / base[worst]:.2f} ({worst.removesuffix(' (free)')})"
        lines.append(f"| {row} | {' | '.join(cells)} | {ratio if row != 'BM25, stemmed' else '1'} |")
    return "\n".join(lines)


def beside(asked: Sequence[Asked]) -> str:
    """Fitted weights beside the shipped ones."""
    free = [a for a in asked if a.dataset in FREE]
    mean, deviation = bagged(table(free, {id(a): terms(a) for a in free}))
    lines = [f"{'feature':10} {'gate':10} {'fitted':>8} {'±':>6} {'shipped':>8}"]
    for (name, gate), own, spread in zip(TERMS, SCALE * mean, SCALE * deviation, strict=True):
        shipped = TITLE_LIFT if name == "title" else FEATURES[name].weight[gate]
        lines.append(f"{name:10} {gate:10} {own:8.2f} {spread:6.2f} {shipped:8.2f}")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--limit", type=int, default=300, help="questions of a set")
    arguments.add_argument("--weights", action="store_true", help="print fitted weights beside the shipped ones")
    given = arguments.parse_args()
    if given.weights:
        print(beside(recalls(given.data, list(FREE), given.limit)))
        return
    print(shown(measure(recalls(given.data, [*JUDGED, *FREE], given.limit))))


if __name__ == "__main__":
    main()
