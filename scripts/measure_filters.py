"""How well scores behind filters tell a memory that answers from one that does not.

    python scripts/measure_filters.py FOLDER [FOLDER ...] [--hits-alone]

FOLDER is one that `recall bench everyday` takes. Each question is asked behind a filter that 1, 2, 3, 5 and 9 memories
of its store meet, and 30, 50 and 80 % of them, drawn at random (seed: the question's id): once with one that answers
among them, and once without. Prints how many first hits reach .2 where they answer ("kept") and where nothing does
("false"), and the area under the ROC curve between the two. `--hits-alone` takes the model of hits whatever the filter.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.data import Collection
from benchmarks.everyday.figures import SCORE_MIN
from benchmarks.everyday.stores import read
from benchmarks.shared.calibrating import auroc
from recall_integrations import Filters, MemoryStore, QueryOptimizer, Scope
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.calibration import Calibration
from recall_integrations.ranking.feature_sum import FixedWeights

SIZES = (1, 2, 3, 5, 9, 0.3, 0.5, 0.8)  # memories that meet the filter, or their share of the store


class Ranker(FixedWeights):
    """The shipped ranker, with another calibration where one is given."""

    calibration: Any = None


class HitsAlone:
    """A calibration that does not look at the share of the scope that meets a filter."""

    def __init__(self, calibration: Calibration) -> None:
        self._shipped = replace(calibration, sole=calibration.hit)

    def confidence(self, *given: Any, **options: Any) -> float:
        return self._shipped.confidence(*given, **options)

    def probabilities(self, *given: Any) -> Any:
        return self._shipped.probabilities(*given[:4])


def asked(store: Collection, question: Question) -> Iterator[tuple[float, bool, list[str]]]:
    """The filters: how many memories meet it, whether one of them answers, and their ids."""
    rng = random.Random(question.id)
    others = [str(m.id) for m in store.memories if m.id not in question.relevant]
    for size in SIZES:
        count = int(size) if size >= 1 else int(size * len(others))
        if 0 < count <= len(others) and (size >= 1 or count > 1):
            drawn = rng.sample(others, count)
            if question.relevant:
                yield size, True, [question.relevant[0], *drawn[1:]]
            yield size, False, drawn


def main() -> None:
    """Ask and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path, nargs="+")
    arguments.add_argument("--hits-alone", action="store_true", help="whatever the filter, by the model of hits")
    given = arguments.parse_args()
    ranker = Ranker()
    shipped = Calibration.load(ranker.name)
    if given.hits_alone and shipped is not None:
        ranker.calibration = HitsAlone(shipped)
    found: dict[tuple[float, bool], list[float]] = defaultdict(list)
    for data in (one for folder in given.folder for one in read(folder)):
        with MemoryStore.open() as opened, closing(QueryOptimizer(opened, ranker=ranker)) as optimizer:
            for number, store in enumerate(data.collections):
                scope = Scope(user_id=str(number))
                opened.remember_many([replace(m, metadata={"key": m.id}) for m in store.memories], scope=scope)
                for question in store.questions:
                    for size, answered, ids in asked(store, question):
                        filters = Filters(metadata={"key": {"$in": ids}})
                        hits = optimizer.recall(
                            question.text, k=1, scope=scope, now=question.asked_at, filters=filters
                        ).hits
                        if hits and (hits[0].memory.id in question.relevant) == answered:
                            found[size, answered].append(hits[0].score)
    for size in SIZES:
        right, wrong = (np.asarray(found[size, side]) for side in (True, False))
        kept, false = (right >= SCORE_MIN).mean(), (wrong >= SCORE_MIN).mean()
        auc = auroc(right, wrong)
        print(f"{size:4}: {len(right)} and {len(wrong)}; kept {kept:.3f}, false {false:.3f}, AUC {auc:.3f}")


if __name__ == "__main__":
    main()
