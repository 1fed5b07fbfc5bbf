"""How plain texts are ranked, without actors, threads and times, asked in questions of every length.

    python scripts/measure_plain.py DATA [--limit 200]

What `from_texts` and `from_documents` get. The abstracts of DATA (`documents`) are asked whole questions, the first
sentence of each, and five to nine words of each drawn at random (seed: the question's id), so that no weight fits long
questions alone. Chats and records (`assistant`, `projects`, `phone`, `talk`) are stripped to their texts: kinds that no
weight of plain documents was chosen on. Prints nDCG@10 beside stemmed BM25 and the best peer of the same run.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.peers.systems import compared
from benchmarks.quality.comparison import measure
from recall_integrations import Memory, RecallConfig
from recall_integrations.evaluation.metrics import OVERALL
from recall_integrations.evaluation.questions import Question
from recall_integrations.text import stems

STRIPPED = ("assistant", "projects", "phone", "talk")
WORDS = (5, 9)  # drawn of a question
SENTENCE_WORDS_MIN = 3
METRIC = "ndcg@10"
OURS, BM25 = "recall", "BM25 only"
_END = re.compile(r"(?<=[.?!])\s+")


def first_sentence(question: Question) -> str:
    """The first one that says something."""
    found = (s for s in _END.split(question.text) if len(stems(s)) >= SENTENCE_WORDS_MIN)
    return next(found, question.text)


def some_words(question: Question) -> str:
    """A handful of its content words, in order."""
    draw, words = random.Random(question.id), [w for w in question.text.split() if stems(w)]
    count = min(draw.randint(*WORDS), len(words))
    return " ".join(words[i] for i in sorted(draw.sample(range(len(words)), count)))


def asked(data: EvaluationData, name: str, text: Callable[[Question], str]) -> EvaluationData:
    """The same questions in other words."""
    collections = tuple(
        replace(c, questions=tuple(replace(q, text=text(q)) for q in c.questions)) for c in data.collections
    )
    return replace(data, name=name, collections=collections)


def stripped(data: EvaluationData) -> EvaluationData:
    """The same memories as nothing but texts."""
    collections = tuple(
        replace(c, memories=tuple(Memory(id=m.id, text=m.text) for m in c.memories)) for c in data.collections
    )
    return replace(data, name=f"{data.name}, texts only", collections=collections)


def variants(folder: Path) -> Iterator[EvaluationData]:
    """Everything that is measured, one after the other."""
    documents = load(folder, "documents")
    yield asked(documents, "documents, whole questions", lambda q: q.text)
    yield asked(documents, "documents, first sentence", first_sentence)
    yield asked(documents, "documents, some words", some_words)
    for name in STRIPPED:
        yield stripped(load(folder, name))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--limit", type=int, default=200, help="questions of a set")
    given = arguments.parse_args()
    console = Console()
    table = Table("nDCG@10", "ours", "BM25", "best peer", "ratio", "which")
    quiet = Console(quiet=True)
    for data in variants(given.data):
        report, _ = measure(data, quiet, RecallConfig(), limit=given.limit, others=[compared()])
        found = {system: of[OVERALL].values[METRIC] for system, of in report.averages.items()}
        ours, bm25 = found.pop(OURS), found[BM25]
        best = max(sorted(found), key=lambda system: found[system])
        cells = (f"{ours:.3f}", f"{bm25:.3f}", f"{found[best]:.3f}", f"{ours / found[best]:.2f}", best)
        table.add_row(data.name, *cells)
        console.print(data.name, *cells)
    console.print(table)


if __name__ == "__main__":
    main()
