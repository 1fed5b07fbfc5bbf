"""Fit what turns the default ranker's scores into probabilities, and measure how well they hold.

    python scripts/fit_calibration.py DATA [--write FILE]

Everything comes from live recalls: candidates, features, what plans lift and the second hop are those that users
get. Fitted to sets whose licences allow it (`FREE`: in DATA, and the made-up ones in benchmarks/made_up), each of the
same weight; LoCoMo and the long chats with an assistant are only judged. Each question is also asked of a scope that
does not hold its answer: the next one of its set, or, where a set has one scope, that of the next set.

Prints, for each set, the expected calibration error (ECE) of the first ten hits and of the confidence at k = 10: by a
calibration that has not seen half of its questions (`half`), and by one that has not seen the kind (`kind`). `--write`
fits on all of `FREE` and puts it into FILE. `recall train` fits the calibration of its own weights.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.abstention import auroc
from recall_integrations.evaluation.datasets.loading import load
from recall_integrations.evaluation.datasets.questions import Collection, EvaluationData, Question
from recall_integrations.ranking.calibration.model import Calibration, K, from_json, to_json, unknown_share
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranking
from recall_integrations.training.calibrate import weighed
from recall_integrations.training.calibration import Outcome, ece, fit_calibration, judge
from recall_integrations.types import Scope

MADE_UP = Path(__file__).resolve().parents[1] / "benchmarks" / "made_up"
# Set → kind: what is left out together.
FREE = {
    "made up: people": "people",
    "made up: assistant": "assistant",
    "made up: notes": "notes",
    "projects": "assistant",
    "phone": "records",
    "documents": "documents",
    "talk": "people",
    "hotpotqa": "encyclopaedia",
    "musique": "encyclopaedia",
}
JUDGED = {"locomo": "people", "assistant": "assistant"}
ANSWERABLE = 0.8  # of the queries have an answer in their scope
BUDGET_MS = 60_000.0
SHOWN_MAX = 400  # questions of a set


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall: what the confidence looks at, and what the scores do (with the second hop)."""

    dataset: str
    half: int
    right: bool
    direct: Outcome
    final: Outcome


class Watching:
    """Stands where a calibration does, and keeps what it is asked about."""

    def __init__(self) -> None:
        self.seen: tuple[Features, Ranking, Ranking, float] | None = None

    def confidence(self, features: Features, ranking: Ranking, unknown: float, *, k: int = K) -> float:
        self.seen = (features, ranking, ranking, unknown)
        return 0.5

    def probabilities(
        self, features: Features, ranking: Ranking, order: Any, confidence: float, *, k: int = K
    ) -> NDArray[np.float32]:
        assert self.seen is not None
        self.seen = (features, self.seen[1], ranking, self.seen[3])
        falling = np.empty(features.size, dtype=np.float32)
        falling[np.asarray(order, dtype=np.int64)] = np.linspace(0.9, 0.1, features.size)
        return falling


def read(path: Path, name: str) -> EvaluationData:
    if name.startswith("made up: "):
        return load(MADE_UP / name.removeprefix("made up: "), "jsonl")
    return load(path, name)


def recalls(path: Path, names: Sequence[str]) -> list[Asked]:
    """All sets in one store, each set's scopes with its name in front."""
    sets = {name: _named(read(path, name), name) for name in names}
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder, MemoryStore.open(folder) as store:
        for data in sets.values():
            for collection in data.collections:
                store.remember_many(collection.memories, scope=collection.scope)
        watching, ranker = Watching(), FixedWeights()
        ranker.calibration = watching  # type: ignore[attr-defined]
        with closing(QueryOptimizer(store, ranker=ranker)) as optimizer:
            for name, data in sets.items():
                for n, (question, elsewhere) in enumerate(_questions(name, data, sets)):
                    for right, scope in ((True, question.scope), (False, elsewhere)):
                        made = _ask(optimizer, watching, replace(question, scope=scope), right)
                        if made is not None:
                            asked.append(Asked(dataset=name, half=n % 2, right=right, direct=made[0], final=made[1]))
                print(f"{name}: {sum(a.dataset == name for a in asked)} recalls", flush=True)
    return asked


def _named(data: EvaluationData, name: str) -> EvaluationData:
    def moved(scope: Scope) -> Scope:
        return replace(scope, namespace=f"{name} {scope.namespace}")

    def own(collection: Collection) -> Collection:
        questions = tuple(replace(q, scope=moved(q.scope)) for q in collection.questions)
        return replace(collection, scope=moved(collection.scope), questions=questions)

    return replace(data, collections=tuple(own(c) for c in data.collections))


def _questions(name: str, data: EvaluationData, sets: dict[str, EvaluationData]) -> list[tuple[Question, Scope]]:
    """Questions evenly spread, each with a scope that does not hold its answer."""
    names = list(sets)
    following = sets[names[(names.index(name) + 1) % len(names)]].collections[0].scope
    scopes = [c.scope for c in data.collections]
    users = list(dict.fromkeys(s.user_id.split("-")[0] for s in scopes))

    def elsewhere(scope: Scope) -> Scope:
        if len(users) < 2:
            return following
        other = users[(users.index(scope.user_id.split("-")[0]) + 1) % len(users)]
        return next(s for s in scopes if s.user_id.split("-")[0] == other)

    usable = [q for c in data.collections for q in c.questions if q.relevant]
    count = min(SHOWN_MAX, len(usable))
    return [(q, elsewhere(q.scope)) for q in (usable[i * len(usable) // count] for i in range(count))]


def _ask(
    optimizer: QueryOptimizer, watching: Watching, question: Question, right: bool
) -> tuple[Outcome, Outcome] | None:
    watching.seen = None
    result = optimizer.recall(question.text, k=K, scope=question.scope, now=question.asked_at, time_budget_ms=BUDGET_MS)
    seen = watching.seen
    scope_id = optimizer.store.scope_id(question.scope)
    if seen is None or scope_id is None or not seen[0].size:
        return None
    view = optimizer.store.view(scope_id)
    features, direct, final, _ = seen
    relevant = np.asarray([right and view.ids[row] in question.relevant for row in features.rows.tolist()], dtype=bool)
    frequency = functools.partial(optimizer.store.lexical.document_frequency, scope_id)
    unknown = unknown_share(result.query.terms, frequency, view.count)
    made = [Outcome(features=features, scores=r.scores, relevant=relevant, unknown=unknown) for r in (direct, final)]
    return made[0], made[1]


def fit(some: Sequence[Asked], about: dict[str, Any]) -> Calibration:
    """Each set counts the same; `ANSWERABLE` of its weight has an answer."""
    outcomes: list[Outcome] = []
    for name in dict.fromkeys(a.dataset for a in some):
        own = [a.final for a in some if a.dataset == name and a.right]
        wrong = [a.final for a in some if a.dataset == name and not a.right]
        worth = 1_000 / (len(own) + len(wrong))
        outcomes.extend(replace(o, weight=o.weight * worth) for o in weighed(own, wrong, ANSWERABLE))
    ranker = FixedWeights()
    version = f"{ranker.name}-{date.today():%Y%m%d}"
    return fit_calibration(outcomes, ranker=ranker.name, ranker_version=ranker.version, version=version, about=about)


def judged(some: Sequence[Asked], calibration: Calibration) -> dict[str, float]:
    """ECE of scores and confidence on questions in their own scope, and both scopes mixed; AUROC of the confidence."""
    right = np.asarray([a.right for a in some])
    direct, final = [judge(a.direct, calibration) for a in some], []
    for own, first in zip(some, direct, strict=True):
        ranking = Ranking(scores=own.final.scores, added={})
        order = own.final.order
        scores = calibration.probabilities(own.final.features, ranking, order, first.confidence[K])
        final.append((scores[order[:10]].astype(np.float64), own.final.relevant[order[:10]]))
    confidence = np.asarray([j.confidence[K] for j in direct])
    found = np.asarray([bool(hits.any()) for _, hits in final])
    weight = np.where(right, ANSWERABLE / max(right.sum(), 1), (1 - ANSWERABLE) / max((~right).sum(), 1))

    def of(rows: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> tuple[float, float]:
        kept = np.flatnonzero(rows)
        p, y = (np.concatenate([final[i][part] for i in kept]) for part in (0, 1))
        spread = None if weights is None else np.repeat(weights[kept], [len(final[i][0]) for i in kept])
        return ece(p, y, spread), ece(confidence[kept], found[kept], None if weights is None else weights[kept])

    own_score, own_confidence = of(right, None)
    score, sure = of(np.ones_like(right), weight)
    return {
        "score": own_score,
        "confidence": own_confidence,
        "mixed score": score,
        "mixed confidence": sure,
        "auroc": auroc(confidence[right], confidence[~right]),
    }


def measure(asked: Sequence[Asked]) -> dict[str, dict[str, dict[str, float]]]:
    out: dict[str, dict[str, dict[str, float]]] = {}
    everything = [a for a in asked if a.dataset in FREE]
    halves = [fit([a for a in everything if a.half != half], {}) for half in (0, 1)]
    for name in dict.fromkeys(a.dataset for a in asked):
        kind = {**FREE, **JUDGED}[name]
        own = [a for a in asked if a.dataset == name]
        rows = [judged([a for a in own if a.half == half], halves[half]) for half in (0, 1)]
        out[name] = {"half": {key: (rows[0][key] + rows[1][key]) / 2 for key in rows[0]}}
        elsewhere = [a for a in everything if FREE[a.dataset] != kind]
        out[name]["kind"] = judged(own, fit(elsewhere, {}))
    print(f"\n{'ECE':20} {'half: own score / conf.':>24} {'mixed':>14} {'AUROC':>6}   {'kind: own':>14} {'mixed':>14}")
    for name, row in out.items():
        half, kind = row["half"], row["kind"]
        print(
            f"{name:20} {half['score']:15.3f} / {half['confidence']:.3f} {half['mixed score']:7.3f} / "
            f"{half['mixed confidence']:.3f} {half['auroc']:6.3f}  {kind['score']:7.3f} / {kind['confidence']:.3f} "
            f"{kind['mixed score']:7.3f} / {kind['mixed confidence']:.3f}"
        )
    return out


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--write", type=Path, help="fit on all of FREE and put it into this file")
    given = arguments.parse_args()
    asked = recalls(given.data, [*FREE, *JUDGED])
    figures = measure(asked)
    if given.write:
        about = {
            "data": "projects, phone, documents, talk, HotpotQA, MuSiQue (parts), made-up people, assistant, notes",
            "licence": "Apache-2.0, free for research, CC BY-SA 4.0, CC BY 4.0; the weights hold no text",
            "split": "figures: ECE of the first ten hits / of the confidence, on the half that was not fitted to",
            "answerable": round(ANSWERABLE, 3),
            "figures": {
                name: f"{row['half']['score']:.3f} / {row['half']['confidence']:.3f}" for name, row in figures.items()
            },
            "fitted_by": "scripts/fit_calibration.py DATA --write FILE",
        }
        calibration = fit([a for a in asked if a.dataset in FREE], about)
        try:
            there = from_json(given.write.read_text(encoding="utf-8"), str(given.write))
        except (OSError, InvalidArgument) as e:  # absent, or of another format
            print(f"{given.write} is written anew: {e}")
            there = {}
        given.write.parent.mkdir(parents=True, exist_ok=True)
        given.write.write_text(to_json({**there, calibration.ranker: calibration}), encoding="utf-8")


if __name__ == "__main__":
    main()
