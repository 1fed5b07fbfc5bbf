"""A made-up cast, memories that mention it, and queries of all kinds about it, for `parsing`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.speed.synthetic import synthetic_memories, synthetic_queries, vocabulary
from recall_integrations.types import Memory

_ONSETS = "b br ch d dr f g gr h j k kl l m n p pr r s sh st t tr v w z".split()
_VOWELS = "a e i o u ai ea ia io".split()
_ENDS = "n s ra la ko mi ndt lin rez sen".split()


def cast(n: int, seed: int = 0) -> list[str]:
    """`n` different names of people, projects and firms; those of a longer list with the same seed begin the same."""
    rng = random.Random(f"cast/{seed}")
    firsts = [_made_up(rng, 2) for _ in range(600)]
    found: dict[str, None] = {}
    while len(found) < n:
        last = _made_up(rng, 3)
        form = rng.random()
        person = f"{rng.choice(firsts)} {last}"
        found.setdefault(person if form < 0.7 else f"Project {last}" if form < 0.9 else f"{last} Labs")
    return list(found)


def _made_up(rng: random.Random, syllables: int) -> str:
    word = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
    return (word + (rng.choice(_ENDS) if rng.random() < 0.5 else "")).capitalize()


def populated(n: int, names: Sequence[str], seed: int = 0) -> Iterator[Memory]:
    """`n` synthetic memories, each with one name of the cast in turn."""
    for i, memory in enumerate(synthetic_memories(n, seed)):
        name = names[i % len(names)]
        yield replace(memory, text=f"{memory.text} {name} was told.", entities=(*memory.entities, name))


def mixed_queries(n: int, names: Sequence[str], seed: int = 0) -> list[tuple[str, str]]:
    """`n` queries with their kinds, all kinds as often, in a mixed order. To be read against `END`."""
    rng = random.Random(f"mixed/{seed}")
    kinds = list(_KINDS.items())
    return [(kind, make(rng, names)) for kind, make in (kinds[i % len(kinds)] for i in range(n))]


def _topic(rng: random.Random) -> str:
    return vocabulary()[min(int(rng.expovariate(1 / 60)), len(vocabulary()) - 1)]


def _mistyped(rng: random.Random, word: str) -> str:
    """The word with two neighbouring letters swapped, or one lost."""
    at = rng.randrange(1, max(2, len(word) - 1))
    return (
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if rng.random() < 0.5
        else word[:at] + word[at + 1 :]
    )


def _synthetic(rng: random.Random, kind: str) -> str:
    return synthetic_queries(kind, 1, seed=rng.randrange(10**9))[0]


def _entity(rng: random.Random, names: Sequence[str]) -> str:
    one, other = rng.choice(names), rng.choice(names)
    return rng.choice(
        (
            f"What did {one} say about the {_topic(rng)}?",
            f"who works with {one.lower()} on {other}",
            f"Where does {one.rpartition(' ')[2]} keep the {_topic(rng)} for {other}?",
            f"Who is {one.partition(' ')[0]}'s manager?",
        )
    )


def _typo(rng: random.Random, names: Sequence[str]) -> str:
    first, _, last = rng.choice(names).partition(" ")
    return rng.choice(
        (
            f"the {_mistyped(rng, _topic(rng))} and the {_mistyped(rng, _topic(rng))} we talked about",
            f"what has {first} {_mistyped(rng, last)} got on the {_topic(rng)}?",
            f"{_mistyped(rng, first)} {last} {_mistyped(rng, _topic(rng))}",
        )
    )


def _date(rng: random.Random, names: Sequence[str]) -> str:
    day, year = rng.randint(1, 27), rng.choice((2024, 2025))
    return rng.choice(
        (
            _synthetic(rng, "temporal"),
            f"What happened with the {_topic(rng)} between {day} March and {day} June {year}?",
            f"Did {rng.choice(names)} finish the {_topic(rng)} before last Christmas?",
            f"{_topic(rng)} on {year}-0{rng.randint(1, 9)}-{day:02d} or the weekend before",
        )
    )


def _negation(rng: random.Random, names: Sequence[str]) -> str:
    return rng.choice(
        (
            f"What did we plan for the {_topic(rng)} that wasn't related to the {_topic(rng)}?",
            f"{_topic(rng)} notes without the {_topic(rng)} or {rng.choice(names)}",
            f"everything about {_topic(rng)} except {_topic(rng)}, not {_topic(rng)}",
        )
    )


def _identifier(rng: random.Random, names: Sequence[str]) -> str:
    number = rng.randint(100, 9_999)
    return rng.choice(
        (
            f"what is the state of {rng.choice('ABCDEF')}PI-{number}?",
            f"who changed src/{_topic(rng)}/{_topic(rng)}.py in #{number}",
            f"ERR_{_topic(rng).upper()}_{number} after the release of v2.{number % 40}.1",
            f"Which {_topic(rng)} did {rng.choice(names)} mean by get_{_topic(rng)}_id()?",
        )
    )


def _vague(rng: random.Random, _names: Sequence[str]) -> str:
    return rng.choice(
        (_synthetic(rng, "exploratory"), f"what are my {_topic(rng)} preferences?", "how is it all going?")
    )


def _long(rng: random.Random, names: Sequence[str]) -> str:
    return (
        f"I was talking to {rng.choice(names)} last week about the {_topic(rng)} and the {_topic(rng)}, and one "
        f"of us said that {rng.choice(names)} had moved the {_topic(rng)} to {rng.choice(names)}; I forget when that "
        f"was, but it was not the {_topic(rng)} from March, so which {_topic(rng)} did we mean by it?"
    )


_KINDS: Mapping[str, Callable[[random.Random, Sequence[str]], str]] = {
    "entity": _entity,
    "typo": _typo,
    "date": _date,
    "negation": _negation,
    "identifier": _identifier,
    "vague": _vague,
    "long": _long,
}
