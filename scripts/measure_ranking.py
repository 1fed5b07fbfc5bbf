"""How well the fixed weights order candidates, each feature left out in turn, and the cost.

    python scripts/measure_ranking.py DATA [--json FILE] [--no-ablation]

DATA holds `locomo/` and `multihop/` (see `benchmarks.datasets`). Everything is computed from the
texts on each run. A conversation is a scope; candidates are BM25 top 100, dense top 100 (bundled static vectors) and
the 50 neighbours at ±1 of BM25 hits with the best summed score. Averages are over questions, as in `recall bench
quality`. Prints figures only. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.multihop import load_multihop
from benchmarks.quality import metrics
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.evaluation.questions import Question
from recall_integrations.indexes.columns import window_rows
from recall_integrations.indexes.kernels import Values
from recall_integrations.indexes.lexicon import query_terms, shared
from recall_integrations.indexes.times import to_micros
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker
from recall_integrations.ranking.features.compute import FEATURES, Features, compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.text import stems
from recall_integrations.types import Memory, indexed_text
from tests.columns import TextRow, columns_of

K = 10
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)  # for questions without a time of their own
LEXICAL, DENSE, WINDOW = 100, 100, 50


class Scope:
    """One collection: its columns, and the indexes that a store would have."""

    def __init__(self, collection: Collection) -> None:
        memories = collection.memories
        self.ids = [m.id or "" for m in memories]
        self.row = {memory_id: row for row, memory_id in enumerate(self.ids)}
        self.columns = columns_of(
            (
                TextRow(num=i, text=m.text, actor=m.actor, thread=m.thread, position=m.position)
                for i, m in enumerate(memories)
            ),
            shared(),
        )
        self.at = np.asarray([to_micros(m.event_at or m.created_at or NOW) for m in memories], dtype=np.int64)
        texts = [indexed_text(m.text, m.actor) for m in memories]
        self.vectors = bundled().embed_documents(texts)
        self.postings: dict[str, dict[int, int]] = {}
        lengths = np.zeros(len(texts))
        for row, text in enumerate(texts):
            listed = stems(text)
            lengths[row] = len(listed)
            for term in listed:
                held = self.postings.setdefault(term, {})
                held[row] = held.get(row, 0) + 1
        self.damping = 1.2 * (0.25 + 0.75 * np.maximum(lengths, 30) / 30)
        self.parser = QueryParser(RecallConfig())
        self.known = ScopeKnowledge(frequency=self.frequency, memories=len(texts))

    def frequency(self, term: str) -> int:
        """Memories that hold a stem."""
        return len(self.postings.get(term, ()))

    def bm25(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Score of every memory, as the lexical arm gives it."""
        scores = np.zeros(len(self.ids), dtype=np.float32)
        for term in terms:
            held = self.postings.get(term)
            if held:
                rows, tf = np.fromiter(held, dtype=np.int64), np.fromiter(held.values(), dtype=np.float64)
                idf = np.log1p((len(self.ids) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += idf * 2.2 * tf / (tf + self.damping[rows])
        return scores

    def prepare(self, question: Question) -> FeatureInput:
        """Parse the question and gather its candidates."""
        now = question.asked_at or NOW
        parsed, _ = self.parser.parse(question.text, now, self.known)
        scores = self.bm25(parsed.terms)
        cosines = np.vecdot(self.vectors, bundled().embed_query(question.text))
        hits = np.argsort(-scores, kind="stable")[:LEXICAL]
        hits = hits[scores[hits] > 0]
        near = np.argsort(-cosines, kind="stable")[:DENSE]
        beside = window_rows(self.columns, hits, scores[hits], WINDOW)
        return FeatureInput(
            columns=self.columns,
            rows=np.unique(np.concatenate([hits, near, beside])),
            query=query_terms(parsed),
            frequency=self.frequency,
            count=len(self.ids),
            at=self.at,
            cosine=lambda rows: cosines[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question with its candidates, ready to be ranked."""

    question: Question
    collection: str
    ids: list[str]
    features: Features
    relevant: NDArray[np.bool_]


Measured = Mapping[str, Mapping[str, float]]


def read(data: EvaluationData) -> list[Item]:
    items = []
    for collection in data.collections:
        scope = Scope(collection)
        for question in collection.questions:
            if not question.relevant:
                continue
            given = scope.prepare(question)
            wanted = [scope.row[memory_id] for memory_id in question.relevant]
            items.append(
                Item(
                    question=question,
                    collection=collection.name,
                    ids=[scope.ids[row] for row in given.rows.tolist()],
                    features=compute(given),
                    relevant=np.isin(given.rows, wanted),
                )
            )
    return items


def measure(items: Sequence[Item], scores: Sequence[Values]) -> Measured:
    ranked = {}
    for item, values in zip(items, scores, strict=True):
        order = sorted(range(len(item.ids)), key=lambda i: (-values[i], item.ids[i]))
        ranked[item.question.id] = [item.ids[i] for i in order[:K]]
    return metrics.score(ranked, {item.question.id: item.question.relevant for item in items})


def by(ranker: Ranker) -> Callable[[Sequence[Item]], list[Values]]:
    return lambda items: [ranker.score(item.features).scores for item in items]


def figures(measured: Measured) -> tuple[float, float]:
    values = metrics.average(measured.values()).values
    return values["recall@5"], values["ndcg@10"]


# --- tables -----------------------------------------------------------------------------------------------------


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n**{title}**\n\n| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def pair(values: tuple[float, float]) -> str:
    return f"{values[0]:.3f} / {values[1]:.3f}"


def compare(sets: Mapping[str, Sequence[Item]], scores: Mapping[str, Mapping[str, list[Values]]]) -> dict[str, Any]:
    """Recall@5 and nDCG@10 of each ranker on each set; LoCoMo by category and by conversation."""
    measured = {
        name: {key: measure(sets[key], values) for key, values in by_set.items()} for name, by_set in scores.items()
    }
    out: dict[str, Any] = {name: {key: figures(m) for key, m in by_set.items()} for name, by_set in measured.items()}
    heads = ["recall@5 / nDCG@10", *sets, "mean of multi-hop"]
    rows = []
    for name, by_set in out.items():
        cells = [pair(by_set[key]) if key in by_set else "" for key in sets]
        hops = [by_set[key] for key in sets if key != "locomo" and key in by_set]
        mean = (float(np.mean([h[0] for h in hops])), float(np.mean([h[1] for h in hops]))) if hops else None
        rows.append([name, *cells, pair(mean) if mean else ""])
    table("Rankers", heads, rows)
    items = sets["locomo"]
    for title, key in (
        ("LoCoMo by category", lambda i: i.question.category),
        ("LoCoMo by conversation", lambda i: i.collection),
    ):
        groups = {i.question.id: key(i) for i in items}
        names = sorted(set(groups.values()))
        rows = []
        for name, by_set in measured.items():
            if "locomo" in by_set:
                parts = metrics.by_category(by_set["locomo"], groups)
                cells = [pair((parts[g].values["recall@5"], parts[g].values["ndcg@10"])) for g in names]
                rows.append([name, *cells])
        table(title, ["", *names], rows)
    return out


def ablate_unlearned(sets: Mapping[str, Sequence[Item]]) -> dict[str, Any]:
    """The ranker with fixed weights without each of its features."""
    whole = {key: figures(measure(items, by(FixedWeights())(items))) for key, items in sets.items()}
    out: dict[str, Any] = {}
    for name in FEATURES.weights:
        if name in ("graph", "recency", "importance"):  # no such columns here
            continue
        ranker = by(FixedWeights({name: 0.0}))
        out[name] = {key: figures(measure(items, ranker(items))) for key, items in sets.items()}
    rows = [
        [name, gated(FEATURES[name].weight), *(_loss(parts[key], whole[key]) for key in sets)]
        for name, parts in out.items()
    ]
    table("Fixed weights, change when a feature is left out (recall@5 / nDCG@10)", ["feature", "weights", *sets], rows)
    return out


def gated(weights: Mapping[str, float]) -> str:
    """`2.4, long 8.6`: a weight without a name holds always."""
    return ", ".join(f"{weight:g}" if gate == "always" else f"{gate} {weight:g}" for gate, weight in weights.items())


def _loss(without: tuple[float, float], whole: tuple[float, float]) -> str:
    return f"{without[0] - whole[0]:+.4f} / {without[1] - whole[1]:+.4f}"


# --- cost -------------------------------------------------------------------------------------------------------


def cost(data: EvaluationData, questions: int = 150) -> dict[str, Any]:
    """Milliseconds of processor time per query for 100 candidates, in a conversation and in a scope of 15,000."""
    small = data.collections[0]
    big = replace(small, memories=tuple(_repeat(data, 15_000)))
    out: dict[str, Any] = {}
    for label, collection in (("one conversation", small), ("15,000 memories", big)):
        scope = Scope(collection)
        inputs = []
        for question in small.questions[:questions]:
            given = scope.prepare(question)
            inputs.append(replace(given, rows=given.rows[:: max(1, len(given.rows) // 100)][:100]))
        for given in inputs:
            compute(given)
        out[label] = {"features": _timed(inputs, compute)}
        found = [compute(given) for given in inputs]
        out[label]["fixed weights"] = _timed(found, FixedWeights().score)
    rows = [[label, *(f"{a:.2f} / {b:.2f}" for a, b in parts.values())] for label, parts in out.items()]
    table("Cost, 100 candidates: p50 / p95 ms of processor time", ["", *next(iter(out.values()))], rows)
    return out


def _repeat(data: EvaluationData, size: int) -> Iterator[Memory]:
    """The memories of all conversations over and over, each time with other ids and threads."""
    flat = [(c.name, m) for c in data.collections for m in c.memories]
    for number in range(size):
        again, place = divmod(number, len(flat))
        name, memory = flat[place]
        yield replace(memory, id=f"{again}/{name}/{memory.id}", thread=f"{again}/{name}/{memory.thread}")


def _timed(inputs: Sequence[Any], step: Callable[[Any], Any]) -> tuple[float, float]:
    spent = []
    for given in inputs:
        begin = time.thread_time()
        step(given)
        spent.append((time.thread_time() - begin) * 1e3)
    p50, p95 = np.percentile(spent, (50, 95))
    return float(p50), float(p95)


# --- all of it --------------------------------------------------------------------------------------------------


def alone(name: str) -> Callable[[Sequence[Item]], list[Values]]:
    def scores(items: Sequence[Item]) -> list[Values]:
        return [_column(item.features, name) for item in items]

    return scores


def _column(features: Features, name: str) -> Values:
    return features[name]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--no-ablation", action="store_true")
    given = arguments.parse_args()
    locomo = load_locomo(given.data)
    sets: dict[str, list[Item]] = {"locomo": read(locomo)}
    sets.update((name, read(load_multihop(given.data, name))) for name in ("hotpotqa", "musique"))
    found = {
        key: float(np.mean([i.relevant.sum() / len(i.question.relevant) for i in items])) for key, items in sets.items()
    }
    table("Candidates", ["", *sets], [["evidence recall", *(f"{v:.3f}" for v in found.values())]])

    scores: dict[str, dict[str, list[Values]]] = {
        name: {key: ranker(items) for key, items in sets.items()}
        for name, ranker in (
            ("BM25, absolute pivot", alone("bm25")),
            ("soft match", alone("soft_match")),
            ("dense", alone("cosine")),
            ("fixed weights", by(FixedWeights())),
        )
    }
    result: dict[str, Any] = {"candidates": found, "rankers": compare(sets, scores)}
    if not given.no_ablation:
        result["unlearned_ablation"] = ablate_unlearned(sets)
    result["cost_ms"] = cost(locomo)
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
