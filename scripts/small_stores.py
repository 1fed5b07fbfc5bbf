"""Small stores to fit to: those in DATA/everyday, those written to teach, and those drawn from larger sets."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.everyday.stores import read as read_folders
from benchmarks.facts import scenes
from recall_integrations import Memory

MADE_UP = Path(__file__).resolve().parents[1] / "benchmarks" / "made_up"
SMALL = ("projects", "talk", "phone", "hotpotqa", "claims", "code", "languages/de", "languages/es")
SIZES = (3, 4, 6, 8, 10, 14, 20, 30, 45, 60)
STORES = Path(__file__).resolve().parents[1] / "benchmarks" / "facts" / "taught" / "stores"
TAUGHT, AUTHORS = "taught", "authors"  # the data sets of these, and of `of_authors`
SCENES, CONTRAST = "scenes", "contrast"  # the second: a file of scenes in which much is told alike of different things
RECALLS = 60  # of each set that small stores are drawn from
# Without what holds now, what held before is an answer still; counts and denials are told by what is not there.
KEPT_WHOLE = ("changed-now", "changed-before", "count-or-first", "negation", "list-all", "repeated")
_SAID_BY = re.compile(r"\S+ (?:\S+ )?\| (user|assistant|[A-ZÀ-Þ]\w+): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A question of a small store.

    Args:
        text: the question.
        relevant: ids of what answers; empty = nothing does.
        now: when it is asked.
        category: what kind of question it is.
    """

    text: str
    relevant: frozenset[str]
    now: datetime | None
    category: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallStore:
    """Memories of one scope, and what is asked of them.

    Args:
        dataset: where they come from.
        part: of the data set.
        group: stores of one group belong to one fold.
        memories: in the order of writing.
        asked: the questions.
    """

    dataset: str
    group: str
    memories: Sequence[Memory]
    asked: Sequence[Wanted]
    part: str = ""


def read(data: Path, name: str) -> EvaluationData:
    """A set by its name: one made up, a folder in `data`, or one that `load` knows."""
    if name.startswith("made up: "):
        return load(MADE_UP / name.removeprefix("made up: "), "jsonl")
    return load(data / name, "jsonl") if name in ("claims", "code") else load(data, name)


def of_everyday(data: Path, name: str = "everyday") -> Iterator[SmallStore]:
    """Small stores as people have them, in the folders of `data / name`."""
    for found in read_folders(data / name):
        for one in found.collections:
            asked = [
                Wanted(text=q.text, relevant=frozenset(q.relevant), now=q.asked_at, category=q.category)
                for q in one.questions
            ]
            group = f"{found.name}/{one.scope.user_id}"
            yield SmallStore(dataset=f"{name}/{found.name}", group=group, memories=one.memories, asked=asked)


def of_authors() -> Iterator[SmallStore]:
    """Small stores in benchmarks/made_up/authors, each folder by another author: they ask much that nothing answers."""
    return of_everyday(MADE_UP, AUTHORS)


def of_taught() -> Iterator[SmallStore]:
    """Read the stores of benchmarks/facts/taught/stores; README.md there says how they are written."""
    for file in sorted(STORES.glob("*.txt")):
        for number, part in enumerate(file.read_text(encoding="utf-8").strip().split("\n\n")):
            lines = part.splitlines()[1:]
            speakers = Counter(said[1] for line in lines if (said := _SAID_BY.match(line)))
            memories: list[Memory] = []
            asked: list[Wanted] = []
            for line in lines:
                first, *rest = (cell.strip() for cell in line.split(" | "))
                if not first.startswith("? "):
                    memories.append(_told(str(len(memories) + 1), first, " | ".join(rest), speakers))
                    continue
                _, day, category = first.split()
                answers = frozenset(key.strip() for key in rest[-1].split(",")) - {"-"}
                if unknown := answers - {memory.id for memory in memories}:
                    raise ValueError(f"{file.name}: {line!r} names the memories {sorted(unknown)}, which are not there")
                text = " | ".join(rest[:-1])
                asked.append(Wanted(text=text, relevant=answers, now=_at(day), category=category))
            yield SmallStore(dataset=TAUGHT, group=f"{file.stem}/{number}", memories=memories, asked=asked)


def _told(key: str, at: str, text: str, speakers: Mapping[str, int]) -> Memory:
    """A memory; who begins one line only is no speaker: "Electrician: ..."."""
    when, (name, _, said) = None if at == "-" else _at(at), text.partition(": ")
    if name in ("user", "assistant") or speakers.get(name, 0) > 1:
        return Memory(said, id=key, event_at=when, actor=name, thread="t")
    return Memory(text, id=key, event_at=when)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text if " " in text else f"{text} 12:00").replace(tzinfo=timezone.utc)


def of_scenes(share: float = 1.0) -> Iterator[SmallStore]:
    """Scenes, each with a few lines of others, a quarter without dates.

    Args:
        share: of the scenes of each file but that of contrasts, of which all are given.
    """
    for file in scenes.files():
        rng = random.Random(file.stem)
        told = scenes.scenes(file)
        others = [text for scene in told for mark, text in scene.told if mark == scenes.ELSE]
        for number, scene in enumerate(told):
            if rng.random() > share and file.stem != CONTRAST:
                continue
            beside = rng.sample(others, min(len(others), rng.choice((0, 0, 2, 4, 8, 16))))
            ago = sorted((rng.uniform(5, 420) for _ in scene.told), reverse=True)
            dated = rng.random() > 0.25
            lines = [(ago[i], f"{mark}{i}", text) for i, (mark, text) in enumerate(scene.told)]
            lines += [(rng.uniform(5, 420), f"x{i}", text) for i, text in enumerate(beside)]
            memories = []
            for days, key, text in sorted(lines, reverse=True):
                at = scenes.ASKED_AT - timedelta(days=days) if dated else None
                role, _, said = text.removeprefix("<").replace("> ", ": ", text.startswith("<")).partition(": ")
                spoken = text.startswith("<") or role in ("user", "assistant")
                more: dict[str, Any] = {"actor": role, "thread": "t"} if spoken else {}
                memories.append(Memory(said if more else text, id=key, event_at=at, **more))
            right = frozenset(m.id for m in memories if m.id and m.id.startswith(scenes.ANSWERS))
            group = f"{file.stem}/{number}"
            asked = [Wanted(text=scene.query, relevant=right, now=scenes.ASKED_AT, category=scene.kind)]
            dataset = CONTRAST if file.stem == CONTRAST else SCENES
            yield SmallStore(dataset=dataset, part=file.stem, group=group, memories=memories, asked=asked)


def of_small(data: Path, name: str) -> Iterator[SmallStore]:
    """Small stores drawn from a set: some questions with what answers them, and memories beside."""
    rng = random.Random(name)
    found = read(data, name)
    count = 0
    collections = [c for c in found.collections if any(q.relevant for q in c.questions)]
    for turn in range(10 * RECALLS):
        if count >= RECALLS:
            return
        collection = collections[turn % len(collections)]
        memories = {m.id: m for m in collection.memories if m.id}
        ids = list(memories)
        size = rng.choice(SIZES)
        usable = [q for q in collection.questions if q.relevant]
        chosen = rng.sample(usable, min(len(usable), max(1, size // 5)))
        keep = {key for q in chosen for key in q.relevant if key in memories}
        if not keep or len(keep) > max(2, size * 0.7):
            continue
        if rng.random() < 0.5:  # what stands around an answer is like it
            place = ids.index(min(keep))
            keep |= set(ids[max(0, place - size // 4) : place + size // 4])
        keep |= set(rng.sample(ids, min(len(ids), max(0, size - len(keep)))))
        asked = [
            Wanted(text=q.text, relevant=frozenset(q.relevant), now=q.asked_at, category="")
            for q in chosen
            if keep & set(q.relevant)
        ]
        count += len(asked)
        own = [memories[key] for key in ids if key in keep]
        yield SmallStore(dataset=name, group=f"{name}/{turn}", memories=own, asked=asked)


def of_whole(data: Path, name: str, most: int) -> Iterator[SmallStore]:
    """The stores of a set as they are, with `most` of its questions, evenly spread."""
    found = read(data, name)
    usable = [q for c in found.collections for q in c.questions if q.relevant]
    count = min(most, len(usable))
    chosen = {usable[i * len(usable) // count].id for i in range(count)}
    for turn, collection in enumerate(found.collections):
        asked = [
            Wanted(text=q.text, relevant=frozenset(q.relevant), now=q.asked_at, category="")
            for q in collection.questions
            if q.id in chosen and q.relevant
        ]
        if asked:
            group = f"{name}/whole/{turn}"
            yield SmallStore(dataset=f"{name} (whole)", group=group, memories=collection.memories, asked=asked)


def without_answers(store: SmallStore) -> Iterator[SmallStore]:
    """The store without what answers some of its questions, which are asked of it all the same."""
    usable = [q for q in store.asked if q.relevant and q.category not in KEPT_WHOLE]
    at_once = max(1, len(store.memories) // 8)
    for start in range(0, len(usable), at_once):
        asked = usable[start : start + at_once]
        gone = frozenset[str]().union(*(q.relevant for q in asked))
        if store.dataset in (SCENES, CONTRAST):  # what held before answers, where nothing says what holds now
            gone |= {m.id for m in store.memories if m.id and m.id.startswith(scenes.HELD)}
        left = [m for m in store.memories if m.id not in gone]
        if left:
            nothing = [replace(q, relevant=frozenset()) for q in asked]
            yield replace(store, memories=left, asked=nothing)
