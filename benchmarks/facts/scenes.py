"""Scenes: a query, and what was told around it; each of another kind of thing, in words of its own.

Histories (`histories`) put values into phrasings of some hundred slots. What people ask for is more than that, and what
changes is told by what it was before ("Cancelled Netflix last night and signed up for Mubi"): scenes were written one
by one. In a file, with an empty line between them, oldest first:

    ? now which gym do I go to?                                      now, then, or other = it asks for no state
    - gym: PureGym on Harrow Rd, mornings before work                tells it, of another time
    + gym now: Fit4, Mon/Thu                                         answers the query
    ~ So sore from the gym that I took the stairs backwards.         tells nothing of it
    ~ <Ana> Mine has a pool!                                         said by somebody who has a name

`taught/scenes/` teaches; `unseen.txt`, `unseen_2.txt` and `unseen_3.txt` were written by people who had seen neither
these nor the package, and measure. In the third two people chat, and somebody is asked about by name; `small_talk` was
written by the same request. What is in the second and third nobody has looked at while anything was changed:

    python -m benchmarks.facts.scenes [FILE …] [--alone]

With `--alone` nothing else is in the store: as when somebody tries it for the first time.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.errors import InvalidArgument

FOLDER = Path(__file__).with_name("taught") / "scenes"
UNSEEN = tuple(Path(__file__).with_name(name) for name in ("unseen.txt", "unseen_2.txt", "unseen_3.txt"))
NOW, THEN, OTHER = "now", "then", "other"
ANSWERS, HELD, ELSE = "+", "-", "~"
BY_THE_WAY = "x"  # how ids of what other scenes tell begin
ASKED_AT = datetime(2026, 6, 20, 18, tzinfo=timezone.utc)
DAYS = (5, 420)  # before it, in which things were told
BESIDE = (8, 12, 20, 40)  # memories of other things
_SAID_BY = re.compile(r"<([^<>]+)> (.*\S.*)")
CHATTER = 0.4  # share of them that is other people's talk


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A query, and what was told around it.

    Args:
        kind: `now`, `then` or `other`.
        query: what is asked.
        told: mark and text, oldest first.
    """

    kind: str
    query: str
    told: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A scene among other things.

    Args:
        scene: the scene.
        scope: where its memories are.
        memories: in the order in which they were told.
        right, stale: ids of those that answer the query, and that tell it of another time.
    """

    scene: Scene
    scope: Scope
    memories: tuple[Memory, ...]
    right: frozenset[str]
    stale: frozenset[str]


def files() -> tuple[Path, ...]:
    """All files of scenes."""
    return tuple(sorted(FOLDER.glob("*.txt")))


def scenes(file: Path) -> tuple[Scene, ...]:
    """The scenes of a file.

    Raises:
        InvalidArgument: a line is none of a scene, or a scene has not one answer.
    """
    found = []
    for part in file.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = part.splitlines()
        kind, _, query = first.removeprefix("? ").partition(" ")
        told = tuple((line[:1], line[2:]) for line in rest)
        marks = [mark for mark, _ in told]
        known = first.startswith("? ") and kind in (NOW, THEN, OTHER) and all(line[1:2] == " " for line in rest)
        if not known or marks.count(ANSWERS) != 1 or not {ANSWERS, HELD, ELSE}.issuperset(marks):
            raise InvalidArgument(f"{file.name}: this is no scene: {part[:200]!r}. See benchmarks/facts/scenes.py.")
        found.append(Scene(kind=kind, query=query, told=told))
    return tuple(found)


def stages(file: Path, chatter: Sequence[str]) -> Iterator[Stage]:
    """Each scene of a file, among what other scenes tell of other things and what others talk of.

    Args:
        file: of scenes.
        chatter: lines of talk; none = only what other scenes tell.
    """
    all_of = scenes(file)
    for number, scene in enumerate(all_of):
        rng = random.Random(f"{file.stem}.{number}")
        others = [text for one in all_of if one is not scene for mark, text in one.told if _is_beside(one, mark)]
        beside = [
            rng.choice(chatter if chatter and (rng.random() < CHATTER or not others) else others)
            for _ in range(rng.choice(BESIDE) if chatter or others else 0)
        ]
        ago = sorted((rng.uniform(*DAYS) for _ in scene.told), reverse=True)
        own = [
            _memory(text, f"{mark}{place}", days)
            for place, ((mark, text), days) in enumerate(zip(scene.told, ago, strict=True))
        ]
        more = [
            _memory(text, f"{BY_THE_WAY}{place}", rng.uniform(1, DAYS[1]))
            for place, text in enumerate(dict.fromkeys(beside))
        ]
        states = scene.kind != OTHER
        yield Stage(
            scene=scene,
            scope=Scope(namespace=f"{file.stem} {number}"),
            memories=tuple(sorted([*own, *more], key=lambda memory: (memory.event_at or ASKED_AT, memory.id))),
            right=_ids(own, ANSWERS) if states else frozenset(),
            stale=_ids(own, HELD) if states else frozenset(),
        )


def by_itself(stage: Stage) -> Stage:
    """The same with nothing else in the store, in a scope of its own."""
    return replace(
        stage,
        scope=Scope(namespace=f"{stage.scope.namespace} alone"),
        memories=tuple(memory for memory in stage.memories if not str(memory.id).startswith(BY_THE_WAY)),
    )


def _memory(text: str, id: str, days: float) -> Memory:
    """What was said so many days before it is asked for, by whom a text says at its beginning."""
    found = _SAID_BY.fullmatch(text)
    name, said = found.groups() if found else (None, text)
    return Memory(said, id=id, actor=name, event_at=ASKED_AT - timedelta(days=days))


def _ids(memories: Sequence[Memory], mark: str) -> frozenset[str]:
    return frozenset(str(one.id) for one in memories if str(one.id)[:1] == mark)


def _is_beside(scene: Scene, mark: str) -> bool:
    return scene.kind == OTHER or mark == ELSE


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What came first, of scenes of a kind.

    Args:
        count: scenes.
        right: how many had the answer first.
        stale: how many had what tells it of another time.
    """

    count: int
    right: int
    stale: int


def measured(file: Path, *, facts: bool, alone: bool = False) -> dict[str, First]:
    """What comes first for the scenes of a file, by kind.

    Args:
        file: of scenes.
        facts: whether facts are read.
        alone: whether only what the scene tells is in the store.
    """
    config = RecallConfig.from_mapping({"facts": {"read": facts}})
    found: dict[str, list[str]] = {NOW: [], THEN: [], OTHER: []}
    with MemoryStore.open() as store, closing(QueryOptimizer(store, config=config)) as optimizer:
        for among in stages(file, ()):
            stage = by_itself(among) if alone else among
            store.remember_many(stage.memories, scope=stage.scope)
            result = optimizer.recall(stage.scene.query, scope=stage.scope, now=ASKED_AT)
            found[stage.scene.kind].append(str(result.hits[0].memory.id)[:1] if result.hits else "")
    return {kind: First(count=len(ids), right=ids.count(ANSWERS), stale=ids.count(HELD)) for kind, ids in found.items()}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", default=UNSEEN, help="of scenes; default: those that measure")
    parser.add_argument("--alone", action="store_true", help="nothing but the scene is in the store")
    given = parser.parse_args()
    print(f"{'':14}{'scenes':>8}{'right first':>14}{'without facts':>16}{'superseded':>13}{'without facts':>16}")
    for file in given.files:
        with_facts, without = (measured(file, facts=facts, alone=given.alone) for facts in (True, False))
        for kind, own in with_facts.items():
            other, whole = without[kind], max(1, own.count)
            shares = (own.right / whole, other.right / whole, own.stale / whole, other.stale / whole)
            print(
                f"{file.stem + ' ' + kind:14}{own.count:8}"
                + "".join(f"{share:{w}.3f}" for share, w in zip(shares, (14, 16, 13, 16), strict=True))
            )


if __name__ == "__main__":
    main()
