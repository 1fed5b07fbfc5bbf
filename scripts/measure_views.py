"""What several vectors per memory are worth: LoCoMo, HotpotQA and MuSiQue, whole recalls.

    python scripts/measure_views.py DATA_DIR [--dataset locomo] [--seed 0]

DATA_DIR holds `locomo/` and `multihop/`. A memory's *views* are further vectors of it: its text with the neighbours in
its thread (`window`), the first words of it (`title`). A row's cosine is then the best over its views, everywhere:
in the semantic arm and in the features. Each is
measured against the default on the same questions: recall@5, nDCG@10, and the mean difference of nDCG@10 with a 95 %
bootstrap interval. Prints figures only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.multihop import load_multihop
from benchmarks.quality.metrics import average, score
from benchmarks.quality.paired import paired_difference
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.types import Memory, indexed_text

K = 10
TITLE_WORDS = 6
TIME_BUDGET_MS = 60_000.0
Vectors = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The views that a row's cosine is the best of."""

    name: str
    views: tuple[str, ...] = ()


def variants() -> list[Variant]:
    """The default first."""
    tried = (("window",), ("title",), ("window", "title"))
    return [Variant(name="default"), *(Variant(name="+ " + " + ".join(v), views=v) for v in tried)]


def window_texts(memories: Sequence[Memory]) -> list[str]:
    """Each text between those before and after it in its thread."""
    texts = [indexed_text(m.text, m.actor) for m in memories]
    found = []
    for i, memory in enumerate(memories):
        beside = [j for j in (i - 1, i, i + 1) if 0 <= j < len(memories)]
        kept = [j for j in beside if j == i or (memory.thread is not None and memories[j].thread == memory.thread)]
        found.append("\n".join(texts[j] for j in kept))
    return found


def title_texts(memories: Sequence[Memory]) -> list[str]:
    """The first words of each text."""
    return [" ".join(m.text.split()[:TITLE_WORDS]) for m in memories]


VIEWS: Mapping[str, Callable[[Sequence[Memory]], list[str]]] = {"window": window_texts, "title": title_texts}


def vectors_of(store: MemoryStore, collection: Collection, view: str) -> Vectors:
    """A row per memory, in the order of the scope's columns."""
    scope_id = store.scope_id(collection.scope)
    assert scope_id is not None
    place = {memory.id: i for i, memory in enumerate(collection.memories)}
    made = np.asarray(store.embedding.embed_documents(VIEWS[view](collection.memories)), dtype=np.float32)
    return made[[place[id_] for id_ in store.view(scope_id).ids]]


def scan_over(more: Mapping[int, Sequence[Vectors]]) -> Callable[[ScopeView, Vectors | None], Vectors | None]:
    """`ScopeView.scan` that takes the best over further vectors of each row."""
    plain = ScopeView.scan

    def scan(view: ScopeView, vectors: Vectors | None) -> Vectors | None:
        best = plain(view, vectors)
        if best is None or vectors is None:
            return best
        for matrix in more.get(view.scope_id, ()):
            for vector in vectors:
                best = np.maximum(best, matrix @ vector)
        return best

    return scan


def measure(store: MemoryStore, data: EvaluationData, variant: Variant) -> dict[str, dict[str, float]]:
    """Metrics of each question that has an answer."""
    more: dict[int, list[Vectors]] = {}
    for collection in data.collections:
        scope_id = store.scope_id(collection.scope)
        assert scope_id is not None
        more[scope_id] = [vectors_of(store, collection, view) for view in variant.views]
    plain = ScopeView.scan
    ranked: dict[str, list[str]] = {}
    relevant = {q.id: q.relevant for c in data.collections for q in c.questions if q.relevant}
    ScopeView.scan = scan_over(more)  # type: ignore[method-assign,assignment]
    try:
        with closing(QueryOptimizer(store)) as optimizer:
            for question in (q for c in data.collections for q in c.questions if q.relevant):
                result = optimizer.recall(
                    question.text, k=K, scope=question.scope, now=question.asked_at, time_budget_ms=TIME_BUDGET_MS
                )
                ranked[question.id] = [hit.memory.id or "" for hit in result.hits]
    finally:
        ScopeView.scan = plain  # type: ignore[method-assign]
    return score(ranked, relevant)


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dataset", action="append", choices=("locomo", "hotpotqa", "musique"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.dataset or ("locomo", "hotpotqa", "musique"):
        folder = given.data / ("locomo" if name == "locomo" else "multihop")
        data = load_locomo(folder) if name == "locomo" else load_multihop(folder, name)
        with tempfile.TemporaryDirectory() as place, MemoryStore.open(Path(place) / "store") as store:
            for collection in data.collections:
                store.remember_many(collection.memories, scope=collection.scope)
            print(f"\n{name}\n{'':22}{'recall@5':>10}{'nDCG@10':>10}   difference of nDCG@10")
            base: dict[str, dict[str, float]] = {}
            for variant in variants():
                found = measure(store, data, variant)
                base = base or found
                mean = average(found.values()).values
                gap = paired_difference(found, base, "ndcg@10", seed=given.seed)
                print(
                    f"{variant.name:22}{mean['recall@5']:10.3f}{mean['ndcg@10']:10.3f}   "
                    f"{gap.mean:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]",
                    flush=True,
                )


if __name__ == "__main__":
    main()
