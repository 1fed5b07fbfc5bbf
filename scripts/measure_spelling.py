"""What misspelt questions lose, and how much of it corrections bring back, on LoCoMo (Maharana et al., 2024).

    python scripts/measure_spelling.py DATA_DIR [--share 0.1] [--draws 5] [--whole] [--speed]

DATA_DIR holds `locomo/locomo10.json` and `spelling/dev.tsv` (misspelling, tab, correction). A tenth of the questions'
content words of four letters and more is misspelt: with a pair of that list where it has one for the word, otherwise by
an edit (a swap, a neighbouring key, a letter lost or doubled). Which words and which edits follows from a hash of the
draw, the question's id and the word's place, so every run is the same. Recall@5 is that of BM25 alone over the terms
of the parsed query, with `--whole` also that of `QueryOptimizer.recall`. Prints figures only.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.datasets.data import Collection
from benchmarks.datasets.locomo import load_locomo
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.config import QueryConfig, RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.indexes.bm25 import Bm25
from recall_integrations.query.spelling import LETTERS_MIN, Vocabulary, is_known
from recall_integrations.query.spelling import similarity as mean_similarity
from recall_integrations.text import STOP_WORDS, stem, stems, tokenize

K = 5
KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)


def read_pairs(path: Path) -> dict[str, list[str]]:
    """Misspellings by the word that is meant, in lower case."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        wrong, right = line.lower().split("\t")[:2]
        if wrong.isalpha() and right.isalpha() and wrong != right:
            found[right].append(wrong)
    return found


def number(*parts: object) -> int:
    """A number that depends on nothing but its arguments."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def misspell(word: str, seed: int) -> str:
    """One slip of the fingers; never the word itself."""
    for attempt in range(16):
        kind, place = number(seed, attempt) % 4, number(seed, attempt, "place") % len(word)
        made = _slip(word, kind, place, seed)
        if made != word:
            return made
    return word + word[-1]


def _slip(word: str, kind: int, place: int, seed: int) -> str:
    head, letter, tail = word[:place], word[place], word[place + 1 :]
    if kind == 0:
        return head + tail[:1] + letter + tail[1:]
    if kind == 1:
        return head + tail
    if kind == 2:
        return head + letter + letter + tail
    row = next((row for row in KEYS if letter in row), "")
    around = [row[i] for i in (row.find(letter) - 1, row.find(letter) + 1) if 0 <= i < len(row)]
    return head + (around[seed % len(around)] if around else letter) + tail


def misspelt(question: Question, pairs: Mapping[str, list[str]], share: float, draw: int = 0) -> str:
    """The question's text with about `share` of its content words misspelt."""
    text = question.text
    for place, token in reversed(list(enumerate(tokenize(text)))):
        surface = text[token.start : token.end]
        eligible = token.word.isalpha() and len(token.word) >= LETTERS_MIN and token.word not in STOP_WORDS
        seed = number(draw, question.id, place)
        if not eligible or seed % 10_000 >= share * 10_000:
            continue
        listed = pairs.get(token.word)
        wrong = listed[seed // 10_000 % len(listed)] if listed else misspell(token.word, seed)
        wrong = wrong.capitalize() if surface[0].isupper() else wrong
        text = text[: token.start] + wrong + surface[len(token.word) :] + text[token.end :]
    return text


class Run:
    """A store with all conversations, and recall@5 over any wording of the questions."""

    def __init__(self, collections: Sequence[Collection], *, whole: bool) -> None:
        self.collections, self.whole = collections, whole
        self.store = MemoryStore.open()
        off = RecallConfig(query=QueryConfig(spelling=False))
        self.optimizers = {True: QueryOptimizer(self.store), False: QueryOptimizer(self.store, config=off)}
        self.made = 0
        for c in collections:
            self.store.remember_many(c.memories, scope=c.scope)
            self.store.warm(scope=c.scope)

    def close(self) -> None:
        for optimizer in self.optimizers.values():
            optimizer.close()
        self.store.close()

    def recalls(self, wording: Callable[[Question], str], *, correct: bool) -> np.ndarray[Any, Any]:
        """Recall@5 of each question with gold memories."""
        found = []
        for c in self.collections:
            for question in c.questions:
                if question.relevant:
                    ids = (self._whole if self.whole else self._bm25)(question, wording(question), correct)
                    found.append(len(set(ids) & set(question.relevant)) / len(question.relevant))
        return np.asarray(found)

    def _whole(self, question: Question, text: str, correct: bool) -> list[str]:
        result = self.optimizers[correct].recall(
            text, k=K, scope=question.scope, now=question.asked_at, time_budget_ms=60_000
        )
        self.made += len(result.query.corrections)
        return [hit.memory.id or "" for hit in result.hits]

    def _bm25(self, question: Question, text: str, correct: bool) -> list[str]:
        parsed = self.optimizers[correct].parse(text, scope=question.scope, now=question.asked_at)
        self.made += len(parsed.corrections)
        scope_id = self.store.scope_id(question.scope)
        assert scope_id is not None
        view = self.store.view(scope_id)
        best, _ = view.top(*Bm25(view, parsed.terms, (), view.text.frequency).search(64), K)
        return [view.ids[row] for row in best.tolist()]


def report(
    collections: Sequence[Collection], pairs: Mapping[str, list[str]], share: float, draws: int, *, whole: bool
) -> None:
    run = Run(collections, whole=whole)
    try:
        clean = run.recalls(lambda q: q.text, correct=False)
        after = run.recalls(lambda q: q.text, correct=True)
        moved = f"{int((after > clean).sum())} questions better, {int((after < clean).sum())} worse"
        print(f"{'whole recall' if whole else 'BM25 alone'}: recall@5 over {len(clean)} questions")
        print(f"  clean {clean.mean():.4f}, with corrections {after.mean():.4f}: {run.made} made, {moved}")
        lost, back = [], []
        for draw in range(draws):
            run.made = 0
            wrong = run.recalls(lambda q, draw=draw: misspelt(q, pairs, share, draw), correct=False).mean()  # type: ignore[misc]
            right = run.recalls(lambda q, draw=draw: misspelt(q, pairs, share, draw), correct=True).mean()  # type: ignore[misc]
            lost.append(clean.mean() - wrong)
            back.append(right - wrong)
            print(
                f"  draw {draw}: misspelt {wrong:.4f}, with corrections {right:.4f}: {run.made} made, "
                f"{back[-1] / lost[-1]:.1%} of the loss comes back",
                flush=True,
            )
        print(f"  all draws: {sum(back) / sum(lost):.1%} comes back", flush=True)
    finally:
        run.close()


def report_pairs(collections: Sequence[Collection], pairs: Mapping[str, list[str]]) -> None:
    """Print how often the best match of a misspelling is the word that was meant, by measure of similarity."""
    from rapidfuzz.distance import OSA, JaroWinkler

    from recall_integrations.query import spelling as module

    measures: list[tuple[str, float, Callable[[str, str], float]]] = [
        ("mean of both", 0.80, mean_similarity),
        ("alignment (OSA)", 0.80, OSA.normalized_similarity),
        ("alignment (OSA)", 0.75, OSA.normalized_similarity),
        ("Jaro-Winkler", 0.80, JaroWinkler.normalized_similarity),
        ("Jaro-Winkler", 0.90, JaroWinkler.normalized_similarity),
    ]
    known = {s for c in collections for m in c.memories for s in stems(m.text)}
    vocabulary = Vocabulary((s, 1) for s in sorted(known | {stem(right) for right in pairs}))
    asked = [(w, stem(r)) for r, ws in sorted(pairs.items()) for w in ws if len(w) >= LETTERS_MIN]
    asked = [(w, s) for w, s in asked if not vocabulary.frequency(stem(w))]
    print(
        f"{len(asked)} listed misspellings, {len(vocabulary)} stems; {sum(is_known(w) for w, _ in asked)} pass as words"
    )
    for name, threshold, measure in measures:
        module.similarity = measure
        best = [(vocabulary.close_to(w, threshold=threshold)[:1], s) for w, s in asked]
        right = sum(bool(m) and m[0].stem == s for m, s in best)
        wrong = sum(bool(m) and m[0].stem != s for m, s in best)
        print(f"  {name:16} from {threshold:.2f}  right {right / len(asked):.3f}  wrong {wrong / len(asked):.3f}")
    module.similarity = mean_similarity


def report_speed(collections: Sequence[Collection], pairs: Mapping[str, list[str]], size: int = 50_000) -> None:
    """Building and asking a vocabulary of 50,000 stems: real ones, and halves of real ones put together."""
    real = sorted({s for c in collections for m in c.memories for s in stems(m.text) if s.isalpha()})
    terms = dict.fromkeys(real)
    i = 0
    while len(terms) < size:
        one, other = real[number(i) % len(real)], real[number(i, "b") % len(real)]
        terms[one[: max(2, len(one) // 2 + 1)] + other[len(other) // 2 :]] = None
        i += 1
    is_known("warm")  # the lexicon
    Vocabulary([("warm", 1)])
    builds = [_ms(lambda: Vocabulary((t, 1) for t in terms)) for _ in range(3)]
    vocabulary = Vocabulary((t, 1) for t in terms)
    words = [w for ws in pairs.values() for w in ws]
    asks = [_ms(lambda w=w: vocabulary.close_to(w)) for w in words]
    adds = [_ms(lambda i=i: vocabulary.update([(f"novelstem{i}", 1)])) for i in range(200)]
    print(
        f"{len(vocabulary)} stems: build {np.median(builds):.0f} ms, close_to mean {np.mean(asks):.3f} ms, median "
        f"{np.median(asks):.3f}, p95 {np.quantile(asks, 0.95):.3f}, add one {np.median(adds):.4f} ms"
    )


def _ms(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with locomo/ and spelling/")
    parser.add_argument("--share", type=float, default=0.1, help="of the content words that is misspelt; default 0.1")
    parser.add_argument("--draws", type=int, default=5, help="different choices of misspelt words; default 5")
    parser.add_argument("--whole", action="store_true", help="also through QueryOptimizer.recall")
    parser.add_argument("--speed", action="store_true", help="only build and look up")
    given = parser.parse_args(None if arguments is None else list(arguments))
    collections = load_locomo(given.data).collections
    pairs = read_pairs(given.data / "spelling" / "dev.tsv")
    report_speed(collections, pairs)
    if given.speed:
        return
    report_pairs(collections, pairs)
    for whole in (False, True)[: 1 + given.whole]:
        report(collections, pairs, given.share, given.draws, whole=whole)


if __name__ == "__main__":
    main()
