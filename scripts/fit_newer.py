"""Fit the model of `ranking/arranging/newer.py`: of two hits about the same thing, does the lower one come first?

    python scripts/fit_newer.py DATA [--cache FOLDER] [--embedding bundled minilm e5] [--raised LOGIT] [--write]

Everything comes from live recalls: of the small stores in DATA/everyday and in benchmarks/facts/taught/stores, of the
scenes in benchmarks/facts/taught/scenes (values that change, beside other things; each in a scope of its own, a quarter
without dates), and of stores of sets whose licences allow it, small ones drawn from them (`SMALL`) and whole ones
(`WHOLE`), which teach the model to keep still. A pair is right where the lower one answers and the upper one does not.
Prints the first hits that are right before and after, per set and category, by models that have not seen the scopes
that they judge (five folds of scopes). `--write` fits on all and writes `newer.json`; the first value of `--raised` is
taken off its logits. What ships was written with `--embedding bundled minilm e5 --raised 0.1`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models_as_json import logistic_data
from small_stores import (
    CONTRAST,
    SCENES,
    SMALL,
    TAUGHT,
    SmallStore,
    of_everyday,
    of_scenes,
    of_small,
    of_taught,
    of_whole,
)

from benchmarks.everyday.embeddings import embedding_of
from benchmarks.shared.embedding_cache import CachedEmbedding
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.ranking.arranging.newer import SHIPPED, PairModel, names_of, surer, wanted
from recall_integrations.ranking.arranging.pairs import INPUTS, Compared, compared
from recall_integrations.ranking.calibration import Hidden, Logistic
from recall_integrations.recall.runner import RecallState, Stage, Turn

FOLDS = 5
ASKED_SCENES = 0.35  # share of the scenes that is asked
# Sets whose stores are asked as they are, and how many questions of each: chats teach the model to keep still.
WHOLE, ASKED = ("projects", "talk", "phone", "hotpotqa", "musique", "made up: people"), 150
# What a pair counts in which neither or both answer, one of a scene, one of a contrast, and one of a small store.
NEUTRAL, WORTH_SCENES, WORTH_CONTRAST, WORTH_SMALL = 0.3, 0.3, 2.0, 0.15
MODELS, HIDDEN, WORDS = 3, 48, 8  # models whose mean is taken, units of each, directions of words that each looks at
EPOCHS, BATCH, RATE, DECAY, DROPPED, CLIP = 30, 512, 6e-3, 0.3, 0.25, 4.0
BUDGET_MS = 60_000.0
VERSION = "newer-4"


@dataclass
class Asked:
    """A recall: the candidates in order, which of them answer, and the pairs that were compared.

    The model learns from all pairs; those that share a word of the query, or one that links them, may also change
    places. `surer` says how much surer it has to be.
    """

    dataset: str
    category: str
    group: str
    right: list[bool]
    pairs: Compared | None
    surer: float = 0.0
    targets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class Catching(Stage):
    """Stands before `arrange`, and keeps the pairs that it will compare."""

    name = "catching"
    after = "rewrite"

    def __init__(self) -> None:
        self.seen: tuple[list[str], Compared | None, float] | None = None
        self.spread = 1.0

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """The same state."""
        view, fused, query = state.scope, state.candidates, state.query
        ids = [view.ids[row] for row in fused.rows.tolist()]
        pairs, more = None, 0.0
        if view.text is not None and len(ids) > 1:
            until, window = to_micros(state.request.as_of or state.request.now), query.temporal_window
            inside = None if window is None else asked_mask(view, window)
            pairs = compared(fused, view, view.text, query, self.spread, until, inside, teaching=True)
            more = surer(len(ids), view.text.kind)
        self.seen = ids, pairs, more
        return state


def recalls(wanted: Iterator[SmallStore], embedding: object) -> list[Asked]:
    """Store each in a scope of its own, and ask it."""
    asked: list[Asked] = []
    catching = Catching()
    config = RecallConfig.from_mapping({"facts": {"read": False}})
    with (
        MemoryStore.open(embedding=embedding) as store,
        closing(QueryOptimizer(store, stages=[catching], config=config)) as optimizer,
    ):
        for one in wanted:
            scope = Scope(user_id=f"{one.part}{one.group}")
            store.remember_many(one.memories, scope=scope)
            catching.spread = store.cosine_spread
            for question in one.asked:
                if not question.relevant:
                    continue
                catching.seen = None
                optimizer.recall(question.text, k=10, scope=scope, now=question.now, time_budget_ms=BUDGET_MS)
                if catching.seen is None:
                    continue
                ids, pairs, more = catching.seen
                right = [key in question.relevant for key in ids]
                if any(right):
                    group, targets = f"{one.part}{one.group}", _targets(right, pairs)
                    asked.append(Asked(one.dataset, question.category, group, right, pairs, more, targets))
    return asked


def _targets(right: Sequence[bool], pairs: Compared | None) -> NDArray[np.int64]:
    """1 where the lower one answers and the upper one does not, −1 the other way round, 0 otherwise."""
    if pairs is None:
        return np.empty(0, dtype=np.int64)
    answers = np.asarray(right, dtype=np.int64)
    return answers[pairs.lower] - answers[pairs.upper]


def fit(some: Sequence[Asked]) -> PairModel:
    """Fit models that were begun elsewhere, and give their mean."""
    used = [a for a in some if a.pairs is not None]
    x = np.concatenate([_inputs(a) for a in used])
    y = np.concatenate([a.targets for a in used])
    kind = {SCENES: WORTH_SCENES, CONTRAST: WORTH_CONTRAST}
    worth = np.concatenate(
        [
            np.full(
                len(a.targets), 1.0 if a.dataset.startswith(("everyday", TAUGHT)) else kind.get(a.dataset, WORTH_SMALL)
            )
            for a in used
        ]
    )
    worth *= np.where(y == 0, NEUTRAL, 1.0)
    models = [_fit(x, y > 0, worth / worth.mean(), seed) for seed in range(MODELS)]
    size = len(INPUTS)
    into = np.zeros((MODELS * HIDDEN, size + MODELS * WORDS))
    for i, (one, _) in enumerate(models):
        rows, own = slice(i * HIDDEN, (i + 1) * HIDDEN), slice(size + i * WORDS, size + (i + 1) * WORDS)
        assert one.hidden is not None
        into[rows, :size], into[rows, own] = one.hidden.into[:, :size], one.hidden.into[:, size:]
    layers = [one.hidden for one, _ in models if one.hidden is not None]
    pairs = Logistic(
        names=names_of(MODELS * WORDS),
        weights=np.concatenate(
            [
                np.mean([one.weights[:size] for one, _ in models], axis=0),
                *(one.weights[size:] / MODELS for one, _ in models),
            ]
        ),
        low=np.concatenate([models[0][0].low[:size], *(one.low[size:] for one, _ in models)]),
        high=np.concatenate([models[0][0].high[:size], *(one.high[size:] for one, _ in models)]),
        bias=float(np.mean([one.bias for one, _ in models])),
        hidden=Hidden(
            into=into,
            bias=np.concatenate([own.bias for own in layers]),
            out=np.concatenate([own.out for own in layers]) / MODELS,
        ),
    )
    return PairModel(pairs=pairs, words=np.concatenate([words for _, words in models]), version=VERSION)


def _fit(
    x: NDArray[np.float32], yes: NDArray[np.bool_], worth: NDArray[np.float64], seed: int
) -> tuple[Logistic, NDArray[np.float64]]:
    """Fit one model with a hidden layer, and the directions of words that it looks at, by AdamW with dropout."""
    torch.manual_seed(seed)
    size, vectors = len(INPUTS), x.shape[1] - len(INPUTS)
    mean, deviation = x[:, :size].mean(axis=0), np.maximum(x[:, :size].std(axis=0), 1e-3)
    of_words = float(np.maximum(x[:, size:].std(axis=0), 1e-3).mean())
    inputs = torch.tensor(((x[:, :size] - mean) / deviation).clip(-CLIP, CLIP))
    words = torch.tensor((x[:, size:] / of_words).clip(-CLIP, CLIP))
    truth, weight = torch.tensor(yes.astype(np.float32)), torch.tensor(worth.astype(np.float32))
    view = torch.nn.Linear(vectors, WORDS, bias=False)
    straight = torch.nn.Linear(size + WORDS, 1)
    into, out = torch.nn.Linear(size + WORDS, HIDDEN), torch.nn.Linear(HIDDEN, 1, bias=False)
    drop = torch.nn.Dropout(DROPPED)
    parameters = [p for part in (view, straight, into, out) for p in part.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, weight_decay=DECAY)
    steps = math.ceil(len(x) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        for begin in range(0, len(x), BATCH):
            rows = order[begin : begin + BATCH]
            seen = drop(torch.cat([inputs[rows], view(drop(words[rows]))], 1))
            logits = (straight(seen) + out(drop(torch.tanh(into(seen)))))[:, 0]
            every = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth[rows], reduction="none")
            optimizer.zero_grad()
            (weight[rows] * every).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    rows_of_words = view.weight.detach().numpy().astype(np.float64) / of_words
    seen_words = x[:, size:].astype(np.float64) @ rows_of_words.T
    center = np.concatenate([mean, np.zeros(WORDS)]).astype(np.float64)
    scale = np.concatenate([deviation, np.ones(WORDS)]).astype(np.float64)
    own = straight.weight.detach().numpy()[0] / scale
    hidden = into.weight.detach().numpy() / scale
    model = Logistic(
        names=names_of(WORDS),
        weights=own,
        low=np.concatenate([mean - CLIP * deviation, seen_words.min(axis=0)]),
        high=np.concatenate([mean + CLIP * deviation, seen_words.max(axis=0)]),
        bias=float(straight.bias.item() - own @ center),
        hidden=Hidden(
            into=hidden,
            bias=into.bias.detach().numpy() - hidden @ center,
            out=out.weight.detach().numpy()[0].astype(np.float64),
        ),
    )
    return model, rows_of_words


def _inputs(a: Asked) -> NDArray[np.float32]:
    """The inputs and the vectors of words, of the pairs from which the model learns."""
    assert a.pairs is not None
    every: NDArray[np.float32] = np.hstack([a.pairs.inputs, a.pairs.alone, a.pairs.told], dtype=np.float32)
    return every


def first(asked: Asked, model: PairModel, raised: float) -> int:
    """Place of the candidate that comes first after the pairs have moved."""
    if asked.pairs is None:
        return 0
    both, linked = (asked.pairs.column(name) > 0 for name in ("both_hold", "linked"))
    logits = model.logits(asked.pairs) - asked.surer - raised - np.where(both | linked, wanted(asked.pairs), math.inf)
    order = list(range(len(asked.right)))
    for pair in np.argsort(-logits, kind="stable").tolist():
        if logits[pair] <= 0:
            break
        upper, lower = order.index(int(asked.pairs.upper[pair])), order.index(int(asked.pairs.lower[pair]))
        if upper < lower:
            order.insert(upper, order.pop(lower))
    return order[0]


def judge(some: Sequence[Asked], raised: Sequence[float]) -> dict[float, dict[str, list[int]]]:
    """Right first hits before and after, by set and category, by models of other scopes.

    Args:
        some: all recalls.
        raised: taken off the logit; what has to be surer moves less.
    """
    groups = sorted({a.group for a in some})
    random.Random(1).shuffle(groups)
    fold = {group: i % FOLDS for i, group in enumerate(groups)}
    found: dict[float, dict[str, list[int]]] = {value: defaultdict(lambda: [0, 0, 0]) for value in raised}
    for number in range(FOLDS):
        model = fit([a for a in some if fold[a.group] != number])
        for a in some:
            if fold[a.group] == number:
                for value in raised:
                    after = first(a, model, value)
                    for key in dict.fromkeys((a.dataset, f"{a.dataset} {a.category}".strip())):
                        row = found[value][key]
                        row[0] += a.right[0]
                        row[1] += a.right[after]
                        row[2] += 1
    return found


def main() -> None:
    """Fit, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedding", nargs="+", default=["bundled"], choices=["bundled", "minilm", "e5"])
    parser.add_argument("--cache", type=Path, default=None, help="folder for vectors of minilm and e5")
    parser.add_argument("--raised", type=float, nargs="+", default=[0.0], help="taken off the logit (default 0)")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, default=None, help="file that keeps the recalls between runs")
    given = parser.parse_args()
    some = _kept(given)
    for raised, counts in judge(some, given.raised).items():
        print(f"raised {raised:g}")
        for name, (before, after, n) in sorted(counts.items()):
            print(f"  {name:40} {n:5} {before / n:.3f} -> {after / n:.3f}")
    if given.write:
        model = fit(some)
        pairs = replace(model.pairs, bias=model.pairs.bias - given.raised[0])
        kept = {
            "version": VERSION,
            "pairs": logistic_data(pairs),
            "words": [[round(w, 4) for w in row] for row in model.words.tolist()],
        }
        SHIPPED.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


def _cached(name: str, folder: Path | None) -> object:
    made = embedding_of(name)
    if made is None or folder is None:
        return made
    return CachedEmbedding(made, folder)


def _kept(given: argparse.Namespace) -> list[Asked]:
    import pickle

    if given.keep is not None and given.keep.exists():
        found: list[Asked] = pickle.loads(given.keep.read_bytes())
        return found
    some: list[Asked] = []
    for name in given.embedding:
        embedding = _cached(name, given.cache)
        made = recalls(of_everyday(given.data), embedding)
        for a in made:
            a.dataset = a.dataset if name == "bundled" else f"{a.dataset} ({name})"
        some += made
        if name == "bundled":
            some += recalls(of_taught(), embedding)
            some += recalls(of_scenes(ASKED_SCENES), embedding)
            for small in SMALL:
                some += recalls(of_small(given.data, small), embedding)
            for whole in WHOLE:
                some += recalls(of_whole(given.data, whole, ASKED), embedding)
        print(f"{name}: {len(some)} recalls", flush=True)
    if given.keep is not None:
        given.keep.write_bytes(pickle.dumps(some))
    return some


if __name__ == "__main__":
    main()
