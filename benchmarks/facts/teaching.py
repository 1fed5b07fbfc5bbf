"""Teaches the slot reader that ships (`recall_integrations.facts.reader`).

    python -m benchmarks.facts.teaching ../shared/data            makes its file anew
    python -m benchmarks.facts.teaching ../shared/data --check    teaches it with each hand left out, and says what it
                                                                  reads of that

It is taught from phrasings that were written for it (`taught/*.txt`, a file for each hand; the format is that of
`generator/dev.txt`), from questions and statements that are about no slot (`taught/others.txt`), and from the scenes
and questions of `talk`, which may be used for that, as more of the same. No phrasing by which `recall bench facts`
measures is in it. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.facts.generator.chatter import chat
from benchmarks.facts.generator.phrasings import KIN, MYSELF, NAMED, Subject, sections_of, worded
from benchmarks.facts.generator.slots import THING
from benchmarks.facts.taught_slots import OTHERS, TaughtSlot, hands, taught_slot
from benchmarks.facts.taught_values import GIVEN
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

TIMES = 3  # each phrasing, with other values and people
CHATS = 300
C = 20.0  # of the regression: chosen with each hand left out
ITERATIONS = 120  # of it: with more, it reads no better of a hand that is left out
# What texts about no slot count together, to the rest: there are many more of them, and every question would be one.
OTHERS_SHARE = 0.15
_THINGS = ("Project Heron", "the newsletter", "the spring fair", "Atlas", "the Orion app", "the workshop")
_KIN = "sister brother mum dad aunt boyfriend roommate colleague".split()
_WHEN = ("in March", "last year", "in May 2024", "back then", "two years ago")
_SAYS = {"is": STATES, "new": STATES, "fix": STATES, "again": STATES, "no": ENDS, "was": WAS, "non": NOTHING}


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


def examples(files: Iterable[Path], seed: int = 0) -> Iterator[Example]:
    """What is learned from phrasings, each put for somebody and with values.

    Args:
        files: of phrasings.
        seed: of values and people.
    """
    rng = random.Random(f"taught {seed}")
    for file in files:
        for name, keys in sections_of(file).items():
            slot = taught_slot(name, file.stem)
            for key, templates in keys.items():
                for template in (each for each in templates for _ in range(TIMES)):
                    yield from _of(name, key, _put(template, slot, rng))


def given(files: Iterable[Path], data: Path, without: Sequence[str] = ()) -> Iterator[Example]:
    """Everything that is learned from.

    Args:
        files: of phrasings.
        data: the directory that has `talk`.
        without: names of sets that are left out; of `talk` it matters.
    """
    yield from examples(files)
    yield from of_others(None if "talk" in without else data)


def of_others(data: Path | None, seed: int = 0) -> Iterator[Example]:
    """Questions and statements about no slot.

    Args:
        data: the directory that has `talk`; `None` = without it.
        seed: of the chatter.
    """
    rng = random.Random(f"others {seed}")
    for _ in range(CHATS):
        yield from _about_nothing(chat(rng))
    for line in OTHERS.read_text(encoding="utf-8").splitlines():
        key, _, text = line.partition(": ")
        if key in ("q", "s"):
            yield from _about_nothing(text) if key == "s" else _asking_nothing(text)
    if data is None:
        return
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


def _put(template: str, slot: TaughtSlot, rng: random.Random) -> str:
    words = {name: slot.value(rng) for name in ("v", "old", "next", "x")}
    words |= {"n": slot.noun, "ns": slot.nouns, "when": rng.choice(_WHEN)}
    return worded(template, _subject(slot, rng), words)


def _subject(slot: TaughtSlot, rng: random.Random) -> Subject:
    pronouns = rng.choice((("she", "her", "her"), ("he", "his", "him")))
    if slot.of == THING:
        return Subject(kind="thing", name=rng.choice(_THINGS), pronouns=("it", "its", "it"))
    share = rng.random()
    if share < 0.7:
        return MYSELF
    if share < 0.87:
        return Subject(kind=NAMED, name=rng.choice(GIVEN), pronouns=pronouns)
    return Subject(kind=KIN, name=f"my {rng.choice(_KIN)}", pronouns=pronouns)


def taught(learned: Iterable[Example]) -> dict[str, Part]:
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
    for example in learned:
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
        model = LogisticRegression(C=C, max_iter=ITERATIONS).fit(features, labels, sample_weight=_weights(labels))
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
        reader = SlotReader(taught(given([file for file in files if file != left_out], data)))
        own = [e for e in examples([left_out], seed=1) if e.label in reader.slots]
        if not own:
            yield f"{left_out.name} left out: nobody else wrote of its slots"
            continue
        yield f"{left_out.name} left out: {_read(reader, own)}"


def _read(reader: SlotReader, found: Sequence[Example]) -> str:
    said = []
    for part in (ASKED, TOLD):
        own = [example for example in found if example.part == part]
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
    told = parser.parse_args()
    if told.check:
        for line in check(hands(), told.data):
            print(line, flush=True)
        return
    parts = taught(given(hands(), told.data))
    save(parts, told.out)
    print(f"{told.out.name}: {len(parts[ASKED].classes) - 1} slots, {told.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
