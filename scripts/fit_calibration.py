"""Fit what turns the default ranker's scores into probabilities, and measure how well they hold.

    python scripts/fit_calibration.py DATA [--cache FOLDER] [--keep FILE] [--sets] [--write FILE]

Everything comes from live recalls: candidates, features, what plans lift and the second hop are those that users
get. Fitted to DATA/everyday and to stores of five authors (by the bundled embedding and by E5), to stores that were
written to teach, to small ones drawn from other sets and scenes (`small_stores`), and to whole sets whose licences
allow it (`FREE`), so that each size of store counts the same. LoCoMo and the long
chats with an assistant are only judged. Questions without an answer are those of everyday, of the authors and of the
stores that were written to teach, small talk, small stores without what answers, and questions of whole sets asked of
another scope.

Prints what thresholds do and the expected calibration error (ECE) of the first ten hits and of the confidence, by size
of store and by set, of calibrations that have not seen the scope; with `--sets` also of ones that have not seen the
set or kind. `--write` fits on all and puts it into FILE. The model of a sole candidate is fitted to
DATA/everyday, by stores of one memory and by filters that one meets: one that answers, the best that does not, and
another; `--sole` fits and judges it alone.
"""

from __future__ import annotations

import argparse
import math
import pickle
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models_as_json import to_json
from scipy.optimize import minimize
from small_stores import (
    AUTHORS,
    SMALL,
    TAUGHT,
    SmallStore,
    Wanted,
    of_authors,
    of_everyday,
    of_scenes,
    of_small,
    of_taught,
    read,
    without_answers,
)

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.everyday.embeddings import BUNDLED, E5, embedding_of
from benchmarks.everyday.figures import KEPT, SCORE_MIN, is_small_talk
from benchmarks.everyday.stores import SIZES, size_of
from benchmarks.shared.calibrating import RIDGE, Bools, Fitting, Outcome, ece, fit_calibration, fit_sole, fitted
from benchmarks.shared.embedding_cache import CachedEmbedding
from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.calibration import (
    READ,
    Calibration,
    Doubles,
    Hidden,
    K,
    Logistic,
    from_json,
    hit_inputs,
    unknown_share,
    within,
)
from recall_integrations.ranking.feature_sum import FixedWeights, Ranking
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.types import Scope

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
SMALL_TALK = Path(__file__).resolve().parents[1] / "benchmarks" / "made_up" / "small_talk"
FOLDS = 5
ENOUGH = 150  # recalls of a set and a size from which the set counts in full
EVERYDAY = 6  # what a set of everyday, or the stores written to teach, count beside others
MODELS, HIDDEN, RIDGE_HIDDEN, STEPS = 8, 8, 50.0, 120
SCENES = 0.08  # share that is asked
SHOWN_MAX = 50  # questions of a set


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall: what the confidence looks at, and what the scores do (with the second hop).

    Args:
        dataset: where the memories come from.
        group: of one fold.
        memories: of the store.
        own: whether the question stands in the set like this; others are asked where nothing answers them.
        talk: whether it is small talk.
        direct, final: without and with the second hop.
    """

    dataset: str
    group: str
    memories: int
    own: bool
    talk: bool
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
        self, features: Features, ranking: Ranking, order: Any, unknown: float, share: float = 1.0
    ) -> NDArray[np.float32]:
        assert self.seen is not None
        self.seen = (features, self.seen[1], ranking, self.seen[3])
        falling = np.empty(features.size, dtype=np.float32)
        falling[np.asarray(order, dtype=np.int64)] = np.linspace(0.9, 0.1, features.size)
        return falling


def recalls(path: Path, names: Sequence[str]) -> list[Asked]:
    """All sets in one store, each set's scopes with its name in front."""
    sets = {name: _named(read(path, name), name) for name in names}
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder, MemoryStore.open(folder) as store:
        for data in sets.values():
            for collection in data.collections:
                store.remember_many(collection.memories, scope=collection.scope)
        with closing(Asking(store)) as asking:
            for name, data in sets.items():
                for n, (question, elsewhere) in enumerate(_questions(name, data, sets)):
                    for right, scope in ((True, question.scope), (False, elsewhere)):
                        wanted = frozenset(question.relevant if right else ())
                        made = asking(question.text, scope, question.asked_at, wanted)
                        if made is not None:
                            asked.append(Asked(dataset=name, group=f"{name}/{n}", own=right, talk=False, **made))
    return asked


def small_recalls(stores: Iterable[SmallStore], embedding: object = None) -> list[Asked]:
    """Small stores, each in a scope of its own: as they are, with a line of small talk, and without what answers."""
    asked: list[Asked] = []
    lines = small_talk()
    with MemoryStore.open(embedding=embedding) as store, closing(Asking(store)) as asking:
        for number, whole in enumerate(stores):
            talk = lines[number % len(lines)]
            small = Wanted(text=talk, relevant=frozenset(), now=whole.asked[0].now, category="small-talk")
            for part, one in enumerate((replace(whole, asked=(*whole.asked, small)), *without_answers(whole))):
                scope = Scope(user_id=f"{whole.group}/{part}")
                store.remember_many(one.memories, scope=scope)
                for wanted in one.asked:
                    made = asking(wanted.text, scope, wanted.now, wanted.relevant)
                    if made is not None:
                        own = part == 0 and wanted is not small
                        chat = is_small_talk(wanted.category)
                        asked.append(Asked(dataset=whole.dataset, group=whole.group, own=own, talk=chat, **made))
    return asked


def sole_recalls(stores: Iterable[SmallStore], embedding: object = None) -> list[Asked]:
    """Each question, asked where one memory can be found: one that answers, the best that does not, and any other.

    It is the only one of its store, or the only one that meets a filter: then the scope knows words that it lacks.
    """
    asked: list[Asked] = []
    with MemoryStore.open(embedding=embedding) as store, closing(Asking(store)) as asking:
        for whole in stores:
            here = Scope(user_id=f"{whole.dataset}/{whole.part}/{whole.group}")
            store.remember_many([replace(m, metadata={"key": str(m.id)}) for m in whole.memories], scope=here)
            for number, wanted in enumerate(whole.asked):
                for memory in _sole(whole, wanted, asking.found(wanted.text, here, wanted.now), number):
                    alone = Scope(user_id=f"{here.user_id}/{number}/{memory.id}")
                    store.remember(memory, scope=alone)
                    narrow = Filters(metadata={"key": str(memory.id)})
                    for scope, filters in ((alone, None), (here, narrow)):
                        made = asking(wanted.text, scope, wanted.now, wanted.relevant, filters)
                        if made is not None:
                            chat = is_small_talk(wanted.category)
                            asked.append(Asked(dataset=whole.dataset, group=whole.group, own=True, talk=chat, **made))
    return asked


def _sole(whole: SmallStore, wanted: Wanted, found: Sequence[str], number: int) -> list[Memory]:
    """One memory that answers, the best of those found that does not, and another that does not."""
    rng = random.Random(f"{whole.group}/{number}")
    right = [m for m in whole.memories if m.id in wanted.relevant]
    wrong = {str(m.id): m for m in whole.memories if m.id not in wanted.relevant}
    best = [wrong.pop(key) for key in found if key in wrong][:1]
    return [*rng.sample(right, min(1, len(right))), *best, *rng.sample(list(wrong.values()), min(1, len(wrong)))]


def small_talk() -> list[str]:
    """Lines that ask for nothing that is remembered, mixed."""
    files = sorted(SMALL_TALK.glob("talk*.txt"))
    found = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    random.Random(1).shuffle(found)
    return found


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


class Asking:
    """Recalls in a store, as a calibration sees them."""

    def __init__(self, store: MemoryStore) -> None:
        self._watching, ranker = Watching(), FixedWeights()
        ranker.calibration = self._watching  # type: ignore[attr-defined]
        config = RecallConfig.from_mapping({"facts": {"read": False}})
        self._optimizer = QueryOptimizer(store, ranker=ranker, config=config)

    def close(self) -> None:
        """End it."""
        self._optimizer.close()

    def found(self, text: str, scope: Scope, now: datetime | None) -> list[str]:
        """The ids of what is found, best first."""
        result = self._optimizer.recall(text, k=K, scope=scope, now=now, time_budget_ms=BUDGET_MS)
        return [str(hit.memory.id) for hit in result.hits]

    def __call__(
        self,
        text: str,
        scope: Scope,
        now: datetime | None,
        wanted: frozenset[str],
        filters: Filters | None = None,
    ) -> dict[str, Any] | None:
        """`direct`, `final` and `memories` of `Asked`; `None` without candidates."""
        self._watching.seen = None
        result = self._optimizer.recall(text, k=K, scope=scope, now=now, filters=filters, time_budget_ms=BUDGET_MS)
        seen, store = self._watching.seen, self._optimizer.store
        scope_id = store.scope_id(scope)
        if seen is None or scope_id is None or not seen[0].size:
            return None
        view = store.view(scope_id)
        features, direct, final, _ = seen
        relevant = np.asarray([view.ids[row] in wanted for row in features.rows.tolist()], dtype=bool)
        unknown = unknown_share(result.query.terms, view.text.frequency, view.count)
        columns = {name: features[name] for name in READ}
        kept = replace(features, columns=columns, known=FeatureSet(()))  # the features themselves cannot be kept
        made = [Outcome(features=kept, scores=r.scores, relevant=relevant, unknown=unknown) for r in (direct, final)]
        return {"direct": made[0], "final": made[1], "memories": view.count}


def weighed(some: Sequence[Asked]) -> list[Outcome]:
    """The recalls, so that each size of store counts the same, and in it each set, `EVERYDAY` those written as small
    stores; of a set, `ANSWERABLE` of the weight has an answer."""
    groups: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for a in some:
        groups[size_of(a.memories)][a.dataset].append(a.final)
    found: list[Outcome] = []
    for sets in groups.values():
        worth = {
            name: min(len(own), ENOUGH) * (EVERYDAY if name.startswith(("everyday", AUTHORS, TAUGHT)) else 1)
            for name, own in sets.items()
        }
        for name, own in sets.items():
            share = worth[name] / sum(worth.values())
            for answered, part in ((True, ANSWERABLE), (False, 1 - ANSWERABLE)):
                side = [o for o in own if o.relevant.any() == answered]
                found.extend(replace(o, weight=1_000 * share * part / len(side)) for o in side)
    return found


def layered(x: Doubles, y: Bools, weight: Doubles, names: tuple[str, ...]) -> Logistic:
    """Fit models with a hidden layer, and give their mean, which is one with all their layers.

    Where few answers are to learn from, one model says much that another, begun elsewhere, does not.
    """
    models = [_layered(x, y, weight, names, seed) for seed in range(MODELS)]
    layers = [one.hidden for one in models if one.hidden is not None]
    return replace(
        models[0],
        weights=np.mean([one.weights for one in models], axis=0),
        bias=float(np.mean([one.bias for one in models])),
        hidden=Hidden(
            into=np.concatenate([own.into for own in layers]),
            bias=np.concatenate([own.bias for own in layers]),
            out=np.concatenate([own.out for own in layers]) / MODELS,
        ),
    )


def _layered(x: Doubles, y: Bools, weight: Doubles, names: tuple[str, ...], seed: int) -> Logistic:
    """Fit one: from the model without a hidden layer, by maximum likelihood with a ridge."""
    plain = fitted(x, y, weight, names)
    x = np.clip(x, plain.low, plain.high)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.where(deviation > 1e-9, deviation, np.inf)
    z, worth = ((x - mean) / scale).astype(np.float32), (weight / weight.mean()).astype(np.float32)
    signs = np.where(y, np.float32(1), np.float32(-1))
    units, inputs = HIDDEN, len(names)
    ends = np.cumsum([units * inputs, units, units, inputs])

    def parts(v: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles, float]:
        into, bias, out, own, end = np.split(v, ends)
        return into.reshape(units, inputs), bias, out, own, float(end[0])

    def loss(v: Doubles) -> tuple[float, Doubles]:
        into, bias, out, own, end = parts(v)
        made = np.tanh(z @ into.T.astype(np.float32) + bias.astype(np.float32))
        against = -signs * (made @ out.astype(np.float32) + z @ own.astype(np.float32) + np.float32(end))
        slope = -signs * worth / (1 + np.exp(-np.clip(against, -60, 60)))
        back = slope[:, None] * out.astype(np.float32) * (1 - made * made)
        penalty = RIDGE_HIDDEN * (float((into**2).sum()) + float((out**2).sum())) + RIDGE * float((own**2).sum())
        value = float((worth * np.logaddexp(0, against)).sum()) + penalty / 2
        gradient = (
            (back.T @ z + RIDGE_HIDDEN * into).ravel(),
            back.sum(axis=0),
            slope @ made + RIDGE_HIDDEN * out,
            slope @ z + RIDGE * own,
            [slope.sum()],
        )
        return value, np.concatenate(gradient).astype(np.float64)

    rng = np.random.default_rng(seed)
    begin = np.concatenate(
        [
            rng.normal(0, 0.6 / np.sqrt(inputs), units * inputs),
            np.zeros(units),
            rng.normal(0, 0.1, units),
            plain.weights * np.where(np.isfinite(scale), scale, 0.0),
            [plain.bias + float(plain.weights @ mean)],
        ]
    )
    into, bias, out, own, end = parts(minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x)
    return replace(
        plain,
        weights=own / scale,
        bias=end - float(own / scale @ mean),
        hidden=Hidden(into=into / scale, bias=bias - into / scale @ mean, out=out),
    )


def fit(some: Sequence[Asked], sole: Logistic, about: dict[str, Any], hits: Fitting = layered) -> Calibration:
    """A calibration of the fixed weights."""
    ranker = FixedWeights()
    return fit_calibration(
        weighed(some),
        sole=sole,
        ranker=ranker.name,
        ranker_version=ranker.version,
        version=f"{ranker.name}-{date.today():%Y%m%d}",
        about=about,
        hits=hits,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a calibration that has not seen a recall says of it: of the first ten hits, and whether one answers."""

    asked: Asked
    scores: Doubles
    hits: Bools
    confidence: float


def said(some: Sequence[Asked], calibration: Calibration) -> list[Said]:
    """Of each recall."""
    found = []
    for a in some:
        ranking, order = Ranking(scores=a.final.scores, added={}), a.final.order[:K]
        scores = calibration.probabilities(a.final.features, ranking, None, a.final.unknown)[order].astype(np.float64)
        direct = Ranking(scores=a.direct.scores, added={})
        sure = within(calibration.confidence(a.direct.features, direct, a.direct.unknown), scores.tolist())
        found.append(Said(asked=a, scores=scores, hits=a.final.relevant[order], confidence=sure))
    return found


def left_out(some: Sequence[Asked], out: Callable[[Asked], object], sole: Logistic, hits: Fitting) -> list[Said]:
    """Of each recall of `some`, by a calibration of those of FREE and everyday for which `out` gives something else."""
    found: list[Said] = []
    for value in dict.fromkeys(out(a) for a in some):
        calibration = fit([a for a in some if out(a) != value and a.dataset not in JUDGED], sole, {}, hits)
        found += said([a for a in some if out(a) == value], calibration)
    return found


def errors(some: Sequence[Said]) -> tuple[float, float]:
    """ECE of the scores, and of the confidence."""
    scores, hits = np.concatenate([s.scores for s in some]), np.concatenate([s.hits for s in some])
    sure, found = np.asarray([s.confidence for s in some]), np.asarray([bool(s.hits.any()) for s in some])
    return ece(scores, hits), ece(sure, found)


def thresholds(some: Sequence[Said]) -> str:
    """What keeps `KEPT` of the right first hits, and README's threshold, do to questions without an answer."""
    right = sorted((s.scores[0] for s in some if s.hits[0]), reverse=True)
    at = float(right[math.ceil(KEPT * len(right)) - 1]) if right else 0.0
    empty = [s for s in some if not s.asked.final.relevant.any()]
    told = []
    for threshold in (at, SCORE_MIN):
        kept = np.mean([score >= threshold for score in right]) if right else math.nan
        sides = [[s.scores[0] >= threshold for s in empty if s.asked.talk == talk] for talk in (False, True)]
        false, talk = (float(np.mean(side)) if side else math.nan for side in sides)
        told.append(f"at {threshold:.3f}: kept {kept:.3f}, false {false:.3f}, small talk {talk:.3f}")
    return "; ".join(told)


def show(some: Sequence[Said], title: str) -> dict[str, str]:
    """Print how well scores hold; and the errors by set, as they are kept."""
    print(f"\n{title}")
    own = [s for s in some if s.asked.own]
    for name in dict.fromkeys(s.asked.dataset.split("/")[0].split(" (")[0] for s in some if s.asked.memories <= 100):
        for embedding in (False, True):
            rows = [
                s
                for s in (own if name == "everyday" else some)
                if s.asked.dataset.startswith(name)
                and s.asked.memories <= 100
                and s.asked.dataset.endswith(f"({E5})") == embedding
            ]
            if rows:
                print(f"  {name}{' e5' if embedding else ''}: {thresholds(rows)}")
    for large in sorted({size.name for size in SIZES}):
        for everyday in (True, False):
            rows = [
                s
                for s in own
                if size_of(s.asked.memories) == large and s.asked.dataset.startswith("everyday") == everyday
            ]
            if rows:
                score, sure = errors(rows)
                what = "everyday" if everyday else "others"
                print(f"  size {large:7} {what:9} {len(rows):5} ECE {score:.3f}, confidence {sure:.3f}")
    figures = {}
    for name in dict.fromkeys(s.asked.dataset for s in own):
        for small in (True, False):
            rows = [s for s in own if s.asked.dataset == name and (s.asked.memories <= 100) == small]
            if rows:
                score, sure = errors(rows)
                label = f"{name}, small" if small and not name.startswith("everyday") else name
                figures[label] = f"{score:.3f} / {sure:.3f}"
                print(f"  {label:28} {len(rows):5} ECE {figures[label]}")
    return figures


def gathered(given: argparse.Namespace) -> list[Asked]:
    """All recalls; those that `--keep` holds, if it does."""
    if given.keep is not None and given.keep.exists():
        kept: list[Asked] = pickle.loads(given.keep.read_bytes())
        return kept
    some = [*small_recalls(of_everyday(given.data)), *small_recalls(of_authors()), *small_recalls(of_taught())]
    for name in SMALL:
        some += small_recalls(of_small(given.data, name))
    some += small_recalls(of_scenes(SCENES))
    if E5 in given.embedding:
        shared = e5(given.cache)
        own = [*small_recalls(of_everyday(given.data), shared), *small_recalls(of_authors(), shared)]
        some += [replace(a, dataset=f"{a.dataset} ({E5})") for a in own]
    some += recalls(given.data, [*FREE, *JUDGED])
    if given.keep is not None:
        given.keep.write_bytes(pickle.dumps(some))
    return some


def soles(given: argparse.Namespace) -> list[Asked]:
    """The recalls of sole candidates, by each embedding."""
    some = sole_recalls(of_everyday(given.data))
    if E5 in given.embedding:
        own = sole_recalls(of_everyday(given.data), e5(given.cache))
        some += [replace(a, dataset=f"{a.dataset} ({E5})") for a in own]
    return some


def e5(cache: Path | None) -> object:
    """The embedding, with its vectors kept in a folder."""
    return embedding_of(E5) if cache is None else CachedEmbedding(embedding_of(E5), cache)


def sole_of(some: Sequence[Asked]) -> Logistic:
    """Fit the model of a sole candidate, so that each set counts the same."""
    sizes = Counter(a.dataset for a in some)
    return fit_sole([replace(a.final, weight=1_000 / sizes[a.dataset]) for a in some])


def judged_soles(some: Sequence[Asked], folds: Callable[[Asked], object]) -> None:
    """Print what the model of a sole candidate does for scopes that it has not seen."""
    rows: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for value in dict.fromkeys(map(folds, some)):
        model = sole_of([a for a in some if folds(a) != value])
        for a in some:
            if folds(a) == value:
                inputs = hit_inputs(a.final.features, a.final.scores, a.final.order, a.final.unknown)
                score = 1 / (1 + math.exp(-model.logit(inputs[0])))
                rows[a.dataset].append((score, bool(a.final.relevant[0])))
    print("\nSole candidates, left out: a fold of scopes")
    for name, own in rows.items():
        right, wrong = ([score >= SCORE_MIN for score, hit in own if hit == side] for side in (True, False))
        scores, hits = (np.asarray(values) for values in zip(*own, strict=True))
        print(f"  {name:28} {len(own):5} at {SCORE_MIN}: kept {np.mean(right):.3f}, false {np.mean(wrong):.3f}; "
              f"ECE {ece(scores, hits):.3f}")  # fmt: skip


def write(path: Path, calibration: Calibration) -> None:
    """Put a calibration into a file beside those of other rankers."""
    try:
        there = from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, InvalidArgument) as e:  # absent, or of another format
        print(f"{path} is written anew: {e}")
        there = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json({**there, calibration.ranker: calibration}), encoding="utf-8")


def main() -> None:
    """Fit, judge and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--embedding", nargs="+", default=[BUNDLED, E5], choices=[BUNDLED, E5])
    arguments.add_argument("--cache", type=Path, help=f"folder for vectors of {E5}")
    arguments.add_argument("--keep", type=Path, help="file that keeps the recalls between runs")
    arguments.add_argument("--plain", action="store_true", help="without a hidden layer")
    arguments.add_argument("--sets", action="store_true", help="also leave out whole sets")
    arguments.add_argument("--write", type=Path, help="fit on all of FREE and everyday, and put it into this file")
    arguments.add_argument("--sole", action="store_true", help="only the model of a sole candidate")
    given = arguments.parse_args()
    alone = soles(given)
    some = [] if given.sole else gathered(given)
    hits = fitted if given.plain else layered
    groups = sorted({a.group for a in (*some, *alone)})
    random.Random(1).shuffle(groups)
    fold = {group: i % FOLDS for i, group in enumerate(groups)}
    judged_soles(alone, lambda a: fold[a.group])
    sole = sole_of(alone)
    if given.sole:
        shipped = Calibration.load(FixedWeights().name)
        if given.write and shipped is not None:
            write(given.write, replace(shipped, sole=sole))
        return
    figures = show(left_out(some, lambda a: fold[a.group], sole, hits), f"Left out: a fold of scopes in {FOLDS}")
    if given.sets:
        kinds = {**FREE, **JUDGED}
        show(
            left_out(some, lambda a: kinds.get(a.dataset, a.dataset.split(" (")[0]), sole, hits),
            "Left out: a set of everyday, or a kind",
        )
    if given.write:
        about = {
            "data": "everyday stores, stores of five authors, stores written to teach, small stores drawn from other "
            "sets, scenes, small talk, "
            "projects, phone, documents, talk, HotpotQA, MuSiQue (parts), made-up people, assistant, notes",
            "licence": "Apache-2.0, free for research, CC BY-SA 4.0, CC BY 4.0, C-UDA; the weights hold no text",
            "split": "figures: ECE of the first ten hits / of the confidence, on scopes that were not fitted to",
            "answerable": round(ANSWERABLE, 3),
            "figures": figures,
            "fitted_by": "scripts/fit_calibration.py DATA --write FILE",
        }
        write(given.write, fit([a for a in some if a.dataset not in JUDGED], sole, about, hits))


if __name__ == "__main__":
    main()
