"""Fit the models of `query/asking.py`: asks a query how things are, is it small talk, do words only put a question?

    python scripts/fit_asking.py DATA [--write]

The first is fitted to queries and scenes in benchmarks/facts/taught, which say it of themselves; the second to the
lines of benchmarks/made_up/small_talk against the queries of these scenes, of everyday and of sets of DATA; the third
to benchmarks/made_up/framing against the beginnings of such queries, and sentences and beginnings of memories. Prints
the share that is told right of each source, by models that have not seen the query (five folds). `--write` fits on all,
and writes the weights beside `query/asking.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.loading import load
from benchmarks.everyday import stores
from benchmarks.everyday.figures import is_small_talk
from benchmarks.facts import scenes
from recall_integrations.embeddings.static import bundled
from recall_integrations.query.asking import (
    FRAMING,
    SMALL_TALK,
    STATE,
    bare,
    closings,
    openings,
    stripped,
    weights_file,
)

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
QUERIES = BENCHMARKS / "facts" / "taught" / "queries"
TALK = BENCHMARKS / "made_up" / "small_talk" / "talk.txt"
FRAMINGS = BENCHMARKS / "made_up" / "framing" / "framings.txt"
TEXT_CHARS = 400  # of a memory
SETS, OF_SET = ("phone", "projects", "talk", "documents", "hotpotqa", "musique", "code", "claims"), 250
FOLDS = 5
RIDGE = {STATE: 30.0, SMALL_TALK: 10.0, FRAMING: 10.0}
WORTH = {STATE: 1.0, SMALL_TALK: 2.0, FRAMING: 20.0}  # what a yes counts beside a no
Told = list[tuple[str, bool, str]]  # text, answer, source


def read_talk(data: Path) -> Told:
    """Lines of small talk, and queries that are none."""
    told: Told = [(line, True, "lines") for line in TALK.read_text(encoding="utf-8").splitlines() if line]
    for small in stores.read(data / "everyday"):
        told += [(q.text, False, "everyday") for q in small.questions if not is_small_talk(q.category)]
    every = [scene for file in scenes.files() for scene in scenes.scenes(file)]
    told += [(scene.query, False, "scenes") for scene in every]
    rng = random.Random(0)
    for name in SETS:
        queries = [question.text for question in load(data, name).questions]
        rng.shuffle(queries)
        told += [(query, False, name) for query in queries[:OF_SET]]
    return told


def read_framings(data: Path) -> Told:
    """Framings of questions, and parts of questions and memories that say what is looked for."""
    told: Told = [(line, True, "lines") for line in FRAMINGS.read_text(encoding="utf-8").splitlines() if line]
    rng = random.Random(0)
    texts = [(scene.query, "scenes") for file in scenes.files() for scene in scenes.scenes(file)]
    small = [("everyday", one, len(one.questions)) for one in stores.read(data / "everyday")]
    every = [*small, *((name, load(data, name), OF_SET) for name in SETS)]
    for name, one, most in every:
        queries = [q.text for q in one.questions if q.relevant]
        memories = [memory.text[:TEXT_CHARS] for own in one.collections for memory in own.memories]
        rng.shuffle(queries)
        rng.shuffle(memories)
        texts += [(text, name) for text in (*queries[:most], *memories[:OF_SET])]
    no: dict[str, str] = {}
    for text, source in texts:
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            parts = [sentence[:end] for end in openings(sentence, 0, len(sentence))]
            parts += [sentence[begin:] for begin in closings(sentence, 0, len(sentence))]
            for part in (*parts, " ".join(sentence.split()[: rng.randint(1, 4)])):
                no.setdefault(stripped(part), source)
    return told + [(words, False, source) for words, source in no.items() if words]


def read() -> Told:
    """Queries that say whether they ask how things are."""
    told: Told = []
    for file in sorted(QUERIES.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            kind, _, query = line.partition(" ")
            if query:
                told.append((query, kind != scenes.OTHER, file.stem))
    every = [scene for file in scenes.files() for scene in scenes.scenes(file)]
    return told + [(scene.query, scene.kind != scenes.OTHER, "scenes") for scene in every]


def fit(told: Told, model: str) -> tuple[NDArray[np.float64], float]:
    """Fit a model."""
    x = _vectors(told)
    y = np.asarray([1 if answer else -1 for _, answer, _ in told])
    return logistic(x, y, np.where(y > 0, WORTH[model], 1.0), RIDGE[model])


def _vectors(told: Told) -> NDArray[np.float64]:
    return bundled().embed_documents([bare(text) for text, _, _ in told]).astype(np.float64)


def judge(told: Told, model: str) -> None:
    """Print how well models do that have not seen a query."""
    fold = [i % FOLDS for i in range(len(told))]
    random.Random(1).shuffle(fold)
    x, right = _vectors(told), np.zeros(len(told), dtype=bool)
    for number in range(FOLDS):
        weights, bias = fit([one for one, own in zip(told, fold, strict=True) if own != number], model)
        for i, own in enumerate(fold):
            if own == number:
                right[i] = (float(x[i] @ weights) + bias > 0) == told[i][1]
    for source in dict.fromkeys(source for _, _, source in told):
        for answer in (True, False):
            those = [right[i] for i, (_, a, s) in enumerate(told) if s == source and a == answer]
            if those:
                print(f"  {source:12} {'yes' if answer else 'no':4} {len(those):5} {np.mean(those):.3f}")


def logistic(
    x: NDArray[np.float64], y: NDArray[np.int64], worth: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Weights of a logistic model, and its bias, with a ridge penalty on standardised inputs.

    Args:
        x: inputs, `(rows, inputs)`.
        y: above 0 = yes.
        worth: how much each row counts.
        ridge: the penalty.
    """
    deviation = np.maximum(x.std(axis=0), 1e-3)
    scaled = x / deviation
    signs = np.where(y > 0, 1.0, -1.0)

    def loss(v: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = signs * (scaled @ v[:-1] + v[-1])
        slope = -signs * worth / (1 + np.exp(np.clip(z, -60, 60)))
        value = float(worth @ np.logaddexp(0, -z) + (ridge * v[:-1]) @ v[:-1] / 2)
        return value, np.append(scaled.T @ slope + ridge * v[:-1], slope.sum())

    fitted = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return fitted[:-1] / deviation, float(fitted[-1])


def main() -> None:
    """Fit, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the evaluation data")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    every = ((STATE, read()), (SMALL_TALK, read_talk(given.data)), (FRAMING, read_framings(given.data)))
    for model, told in every:
        print(model)
        judge(told, model)
        if given.write:
            weights, bias = fit(told, model)
            kept = {"bias": round(bias, 4), "weights": [round(float(w), 3) for w in weights]}
            weights_file(model).write_text(json.dumps(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
