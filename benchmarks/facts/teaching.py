"""Teaches the slot reader that ships (`recall_integrations.facts.reader`).

    python -m benchmarks.facts.teaching ../shared/data            makes its file anew
    python -m benchmarks.facts.teaching ../shared/data --check    teaches it with each hand left out, and says what it
                                                                  reads of that

It is taught from phrasings that were written for it (`taught/*.txt`, a file for each hand; the format is that of
`dev.txt`), from questions and statements that are about no slot (`taught/others.txt`), and from the scenes and
questions of `talk`, which may be used for that, as more of the same. No phrasing by which `recall bench facts` measures
is in it. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.facts.chatter import chat
from benchmarks.facts.phrasings import KIN, MYSELF, NAMED, Subject, sections_of, worded
from benchmarks.facts.slots import SLOTS
from benchmarks.facts.taught_values import GIVEN, value
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import MissingExtra
from recall_integrations.facts.reader.features import BUCKETS, places, rarity, weights_of
from recall_integrations.facts.reader.slot_reader import (
    ASKED,
    ENDS,
    FILE,
    NOTHING,
    OTHER,
    SAYS,
    STATES,
    TOLD,
    WAS,
    Part,
    SlotReader,
    quantised,
    save,
)
from recall_integrations.facts.shipped import SHIPPED

TAUGHT = Path(__file__).with_name("taught")
OTHERS = "others.txt"
TIMES = 3  # each phrasing, with other values and people
CHATS = 300
C = 20.0  # of the regression: chosen with each hand left out
# What texts about no slot count together, to the rest: there are many more of them, and every question would be one.
OTHERS_SHARE = 0.15
OF_THINGS = frozenset("deadline room budget owner version price status launch_date location".split())
_THINGS = ("Project Heron", "the newsletter", "the spring fair", "Atlas", "the Orion app", "the workshop")
_KIN = "sister brother mum dad aunt boyfriend roommate colleague".split()
_WHEN = ("in March", "last year", "in May 2024", "back then", "two years ago")
_SAYS = {"is": STATES, "new": STATES, "fix": STATES, "again": STATES, "no": ENDS, "was": WAS, "non": NOTHING}
_NOUNS = {slot.name: (slot.noun, slot.nouns) for slot in SLOTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text to learn from.

    Args:
        part: of the model.
        text: the text.
        label: its class.
    """

    part: str
    text: str
    label: str


def hands() -> list[Path]:
    """The files of phrasings, one for each who wrote them."""
    return sorted(path for path in TAUGHT.glob("*.txt") if path.name != OTHERS)


def examples(files: Iterable[Path], seed: int = 0) -> Iterator[Example]:
    """What is learned from phrasings, each put for somebody and with values.

    Args:
        files: of phrasings.
        seed: of values and people.
    """
    rng = random.Random(f"taught {seed}")
    for file in files:
        for slot, keys in sections_of(file).items():
            for key, templates in keys.items():
                for template in (each for each in templates for _ in range(TIMES)):
                    yield from _of(slot, key, _put(template, slot, rng))


def of_others(data: Path, seed: int = 0) -> Iterator[Example]:
    """Questions and statements about no slot.

    Args:
        data: the directory that has `talk`.
        seed: of the chatter.
    """
    rng = random.Random(f"others {seed}")
    for _ in range(CHATS):
        yield from _about_nothing(chat(rng))
    for line in (TAUGHT / OTHERS).read_text(encoding="utf-8").splitlines():
        key, _, text = line.partition(": ")
        if key in ("q", "s"):
            yield from _about_nothing(text) if key == "s" else _asking_nothing(text)
    for name, field, made in (("questions", "query", _asking_nothing), ("memories", "text", _about_nothing)):
        for line in (data / "talk" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            yield from made(json.loads(line)[field])


def _asking_nothing(text: str) -> Iterator[Example]:
    yield Example(part=ASKED, text=text, label=OTHER)


def _about_nothing(text: str) -> Iterator[Example]:
    yield Example(part=TOLD, text=text, label=OTHER)
    yield Example(part=SAYS, text=text, label=NOTHING)


def _of(slot: str, key: str, text: str) -> Iterator[Example]:
    label = slot if slot in SHIPPED else OTHER
    if key.endswith("?"):
        yield Example(part=ASKED, text=text, label=label)
        return
    yield Example(part=SAYS, text=text, label=_SAYS[key])
    if key != "non":
        yield Example(part=TOLD, text=text, label=label)
    elif label == OTHER:
        yield Example(part=TOLD, text=text, label=OTHER)


def _put(template: str, slot: str, rng: random.Random) -> str:
    noun, nouns = _NOUNS.get(slot, ("", ""))
    if not noun and slot in SHIPPED:
        named: Any = SHIPPED[slot]["nouns"]
        noun = named[0] if named else slot.replace("_", " ")
    words = {name: value(slot, rng) for name in ("v", "old", "next", "x")}
    words |= {"n": noun, "ns": nouns or f"{noun}s", "when": rng.choice(_WHEN)}
    return worded(template, _subject(slot, rng), words)


def _subject(slot: str, rng: random.Random) -> Subject:
    pronouns = rng.choice((("she", "her", "her"), ("he", "his", "him")))
    if slot in OF_THINGS:
        return Subject(kind="thing", name=rng.choice(_THINGS), pronouns=("it", "its", "it"))
    share = rng.random()
    if share < 0.7:
        return MYSELF
    if share < 0.87:
        return Subject(kind=NAMED, name=rng.choice(GIVEN), pronouns=pronouns)
    return Subject(kind=KIN, name=f"my {rng.choice(_KIN)}", pronouns=pronouns)


def taught(given: Iterable[Example]) -> dict[str, Part]:
    """The parts of a model.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    except ImportError as e:
        raise MissingExtra("The slot reader is taught with scikit-learn: pip install scikit-learn") from e
    by_part: dict[str, list[Example]] = {ASKED: [], TOLD: [], SAYS: []}
    for example in given:
        by_part[example.part].append(example)
    parts = {}
    for part, own in by_part.items():
        texts = [example.text for example in own]
        found = [places(text) for text in texts]
        rare = rarity(found)
        ends = np.cumsum([0, *map(len, found)])
        counts = np.concatenate([weights_of(one, rare) for one in found])
        hashed = csr_matrix((counts, np.concatenate(found), ends), shape=(len(texts), BUCKETS))
        features = hstack([csr_matrix(bundled().embed_documents(texts)), hashed]).tocsr()
        labels = [example.label for example in own]
        model = LogisticRegression(C=C, max_iter=500).fit(features, labels, sample_weight=_weights(labels))
        parts[part] = quantised(model.classes_.tolist(), model.coef_, model.intercept_, rare, bundled().dimensions)
    return parts


def _weights(labels: Sequence[str]) -> list[float]:
    """What each text counts: all that are about no slot together so much as `OTHERS_SHARE` of the rest."""
    others = sum(label == OTHER for label in labels)
    each = min(1.0, OTHERS_SHARE * (len(labels) - others) / others) if others else 1.0
    return [each if label == OTHER else 1.0 for label in labels]


def check(files: Sequence[Path], data: Path) -> Iterator[str]:
    """Teach with each hand left out, and say what is read of it: of questions and of statements about known slots."""
    for left_out in files:
        given = [*examples([file for file in files if file != left_out]), *of_others(data)]
        reader = SlotReader(taught(given))
        own = [e for e in examples([left_out], seed=1) if e.label in reader.slots]
        if not own:
            yield f"{left_out.name} left out: nobody else wrote of its slots"
            continue
        yield f"{left_out.name} left out: {_read(reader, own)}"


def _read(reader: SlotReader, given: Sequence[Example]) -> str:
    said = []
    for part in (ASKED, TOLD):
        own = [example for example in given if example.part == part]
        if part == ASKED:
            shares = np.asarray([reader.asked(example.text)[0] for example in own])
        else:
            shares = reader.read([example.text for example in own])[0]
        right = [reader.slots[best] == e.label for best, e in zip(shares.argmax(axis=1), own, strict=True)]
        said.append(f"{part} {np.mean(right):.3f} of {len(own):,}")
    return ", ".join(said)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the directory of evaluation data that has `talk`")
    parser.add_argument("--check", action="store_true", help="write nothing, and leave each hand out once")
    parser.add_argument("--out", type=Path, default=FILE, help="the file that is made; default: the one that ships")
    given = parser.parse_args()
    if given.check:
        for line in check(hands(), given.data):
            print(line, flush=True)
        return
    parts = taught([*examples(hands()), *of_others(given.data)])
    save(parts, given.out)
    print(f"{given.out.name}: {len(parts[ASKED].classes) - 1} slots, {given.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
