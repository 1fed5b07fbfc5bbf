"""What the bundled static model is trained on: texts, and questions with the texts that answer them.

Questions with answers are the scenes of `benchmarks/facts/taught` and the meanings of WordNet 3.0. Of the made-up sets
and of the sets of DATA whose licences allow fitting (`SETS`), texts and questions are read, but not which text answers
which question: that measures. No text of these goes into the package.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TAUGHT = ROOT / "benchmarks" / "facts" / "taught"
MADE_UP = ROOT / "benchmarks" / "made_up"
# Sets, and of how many pieces of their texts the teacher is asked. LoCoMo, assistant, preferences and everyday measure.
SETS = {
    **{"phone": 3_000, "projects": 5_000, "talk": 3_000, "documents": 2_000, "claims": 2_500, "code": 3_500},
    **{"languages/de": 600, "languages/es": 600, "languages/ru": 300},
}
MADE_UP_SETS = {"assistant": 1_000, "people": 1_100, "notes": 500}
EXAMPLES, MEANINGS = 8_000, 6_000  # of WordNet that the teacher is asked of
PIECE_CHARS = 400
_SCENE = re.compile(r"\? \w+ (.*)")
_SAID_BY = re.compile(r"<([^<>]+)> ")
_QUERY = re.compile(r"(?:now|other|then) (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question with what answers it.

    Args:
        question: what is asked; of WordNet, words that mean the same.
        answers: each of them answers it.
        beside: texts about the same that do not answer it.
    """

    question: str
    answers: tuple[str, ...]
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """All that is learned from.

    Args:
        scenes: questions with what answers them.
        meanings: words with what they mean.
        texts: whose nearness to each other the teacher tells; no text twice.
    """

    scenes: tuple[Pair, ...]
    meanings: tuple[Pair, ...]
    texts: tuple[str, ...]


def corpus(data: Path, wordnet: Path, seed: int = 0) -> Corpus:
    """Read all of it, in an order that depends on nothing but the seed.

    Args:
        data: folder of the evaluation data.
        wordnet: folder with `data.noun` and the like, as Debian's package `wordnet-base` has them.
        seed: of what is drawn.
    """
    rng = random.Random(seed)
    scenes = [pair for file in sorted((TAUGHT / "scenes").glob("*.txt")) for pair in _scenes(file)]
    texts = [text for pair in scenes for text in (pair.question, *pair.answers, *pair.beside)]
    texts += [
        found[1]
        for file in sorted((TAUGHT / "queries").glob("*.txt"))
        for found in map(_QUERY.match, _lines(file))
        if found
    ]
    for folder, names in ((data, SETS), (MADE_UP, MADE_UP_SETS)):
        for name, most in names.items():
            pieces, questions = _set(folder / name)
            texts += [*questions, *_drawn(pieces, most, rng)]
    texts += _multihop(data / "multihop")
    meanings, examples = _wordnet(wordnet, rng)
    texts += [text for pair in meanings[:MEANINGS] for text in (pair.question, *pair.answers)]
    texts += _drawn(examples, EXAMPLES, rng)
    kept = list(dict.fromkeys(text for text in map(_plain, texts) if len(text) > 2))
    rng.shuffle(kept)
    return Corpus(scenes=tuple(scenes), meanings=tuple(meanings), texts=tuple(kept))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(file)]


def _drawn(texts: Sequence[str], most: int, rng: random.Random) -> list[str]:
    return rng.sample(texts, min(most, len(texts)))


def _scenes(file: Path) -> Iterator[Pair]:
    """Each question, with the lines that tell it, now or at another time, and those that do not."""
    for part in file.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = part.splitlines()
        asked = _SCENE.match(first)
        told = [(line[0], _SAID_BY.sub(r"\1: ", line[2:])) for line in rest if line[:2] in ("+ ", "- ", "~ ")]
        answers = tuple(_plain(text) for mark, text in told if mark != "~")
        if asked and answers:
            beside = tuple(_plain(text) for mark, text in told if mark == "~")
            yield Pair(question=asked[1], answers=answers, beside=beside)


def _set(folder: Path) -> tuple[list[str], list[str]]:
    """Pieces of its texts, and its questions."""
    rows = _rows(folder / "memories.jsonl")
    texts = [f"{row['actor']}: {row['text']}" if row.get("actor") else row["text"] for row in rows]
    pieces = [piece for text in texts for piece in _pieces(text)]
    return pieces, [row["query"] for row in _rows(folder / "questions.jsonl")]


def _pieces(text: str) -> Iterator[str]:
    """Whole sentences that are `PIECE_CHARS` long together: the teacher was made for no longer ones."""
    held = ""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        if held and len(held) + len(sentence) > PIECE_CHARS:
            yield held
            held = ""
        held = f"{held} {sentence}".strip()[: 2 * PIECE_CHARS]
    if held:
        yield held


def _multihop(folder: Path) -> Iterator[str]:
    """Questions and passages."""
    for name in ("hotpotqa", "musique"):
        for row in json.loads((folder / f"{name}_train.json").read_text(encoding="utf-8")):
            yield row["question"]
        passages = json.loads((folder / f"{name}_train_corpus.json").read_text(encoding="utf-8"))
        if isinstance(passages, dict):
            passages = [{"title": title, "text": " ".join(lines)} for title, lines in passages.items()]
        for row in passages:
            yield f"{row['title']}. {row['text'][:500]}"


def _wordnet(folder: Path, rng: random.Random) -> tuple[list[Pair], list[str]]:
    """Words of one meaning with what they mean, and sentences that use them."""
    meanings, examples = [], []
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            head, _, gloss = line.partition(" | ")
            if line.startswith("  ") or not gloss:
                continue
            fields = head.split()
            words = [
                re.sub(r"\(.*\)", "", word).replace("_", " ") for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            ]
            meaning = _plain(gloss.split('; "')[0]).strip(";")
            meanings.append(Pair(question=", ".join(words[:3]), answers=(meaning,)))
            examples += [text for text in re.findall(r'"([^"]+)"', gloss) if len(text) > 12]
    rng.shuffle(meanings)
    return meanings, examples
