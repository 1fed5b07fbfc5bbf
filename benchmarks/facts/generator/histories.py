"""Making histories: what is told of a slot over three years, what else is said meanwhile, and questions with answers.

Seeded: the same arguments give the same histories. Halves: slots are of `dev` or of `test` (`slots.py`), and so are
phrasings (`dev.txt`, `test.txt`); a history has a slot of one half and is worded in one, and so are its questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from benchmarks.facts.generator.chatter import AFTER, BEFORE, REPLIES, chat
from benchmarks.facts.generator.phrasings import (
    ACTOR,
    CHANGE,
    HISTORY,
    ITEM,
    KIN,
    KINDS,
    ME,
    MYSELF,
    NAMED,
    NOW,
    PREVIOUS,
    QUESTIONS,
    THEN,
    WHEN,
    YOURSELF,
    Subject,
    asides,
    phrasings,
    worded,
)
from benchmarks.facts.generator.slots import DEV, FREE, SLOTS, TEST, THING, FactSlot
from benchmarks.facts.generator.timeline import Gold, State, Timeline
from benchmarks.facts.generator.windows import window
from recall_integrations.types import Memory, Scope

CELLS = {
    "dev slots, dev words": (DEV, DEV),
    "dev slots, test words": (DEV, TEST),
    "test slots, dev words": (TEST, DEV),
    "test slots, test words": (TEST, TEST),
    "dev slots, free words": (DEV, FREE),
    "test slots, free words": (TEST, FREE),
}
SPLITS = {DEV: tuple(CELLS)[:1], TEST: tuple(CELLS)[1:4], FREE: tuple(CELLS)[4:], "all": tuple(CELLS)[:4]}
IN_A_SCOPE = 3
MEMORIES_MIN = 20
BEGIN, END = datetime(2023, 1, 2, tzinfo=timezone.utc), datetime(2026, 1, 1, tzinfo=timezone.utc)
APART = timedelta(days=25)

HE, SHE, IT = ("he", "his", "him"), ("she", "her", "her"), ("it", "its", "it")
PEOPLE = tuple(
    [(name, SHE) for name in ("Priya", "Nora", "Mei", "Aisha", "Clara", "Henrietta", "Ingrid", "Sofia")]
    + [(name, HE) for name in ("Sam", "Elias", "Tom", "Ruben", "Dmitri", "Oscar", "Hassan", "Liam")]
)
RELATED = (
    ("my sister", SHE), ("my brother", HE), ("my mother", SHE), ("my uncle", HE), ("my flatmate", SHE),
    ("my neighbour", HE), ("my cousin", SHE), ("my colleague", HE),
)  # fmt: skip
ITEMS = tuple(
    (name, IT)
    for name in (
        "Project Kestrel", "Project Osprey", "Inbox3", "the summer fair", "the weekly review", "the newsletter",
        "the Lighthouse workshop", "the Harbour app",
    )
)  # fmt: skip

ONE = (
    "is", "is new", "is new", "is again new", "is new again", "is new new", "is new new again", "is fix", "is new fix",
    "is no", "is new no", "is no is", "was is", "was is new", "is new was", "is new back",
)  # fmt: skip
FIXED = ("is", "is again", "is fix", "is again fix")
MANY = ("is is", "is is is", "is again is", "is is no", "is is no is", "is no is is", "is is is no", "is is is again")
ASKED_MAX = 3  # questions about a history
TRIES = 1_000
RESTATED = 0.35  # of the changes are told as if it were for the first time


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question.

    Args:
        id: of its history and its number in it.
        text: the query.
        kind: one of `KINDS`.
        gold: what answers it.
    """

    id: str
    text: str
    kind: str
    gold: Gold


@dataclass(frozen=True, slots=True, kw_only=True)
class FactHistory:
    """What is told of one slot of somebody.

    Args:
        id: unique.
        slot: what is told.
        subject: of whom; `actor` speaks for himself, and is asked for by name.
        cell: of `CELLS`.
        told: what happened, in order (`ONE`, `FIXED`, `MANY`).
        questions: about it.
    """

    id: str
    slot: FactSlot
    subject: Subject
    cell: str
    told: tuple[str, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A scope: some histories, what else is said in it, and when it is asked.

    Args:
        scope: of its own.
        memories: in the order in which they are written.
        histories: of different slots.
        now: after all of it.
    """

    scope: Scope
    memories: tuple[Memory, ...]
    histories: tuple[FactHistory, ...]
    now: datetime


@dataclass(slots=True, kw_only=True)
class _Making:
    """A room while it is made.

    Args:
        random: of this room.
        name: prefix of its ids.
        style: of phrasings.
        group: whether people talk to each other; else one user writes.
        user: what the user's memories have for an actor; `None` or "user".
        memories: made so far.
        taken: subjects that are spoken of.
    """

    random: random.Random
    name: str
    style: str
    group: bool
    user: str | None
    memories: list[Memory] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def tell(self, text: str, at: datetime, actor: str | None = None) -> str:
        """Add a memory and return its id."""
        one = f"{self.name}-{len(self.memories):02}"
        who = actor if actor is not None else self.user
        self.memories.append(Memory(text, id=one, actor=who, event_at=at, created_at=at))
        return one

    def speaker(self, subject: Subject) -> str | None:
        """Who tells something of somebody."""
        if subject.kind == ACTOR:
            return subject.name
        return self.random.choice(PEOPLE)[0] if self.group else None

    def some(self, of: str, kinds: Sequence[str]) -> Subject:
        """Somebody (or something) that was not spoken of before."""
        kind = ITEM if of == THING else self.random.choice(kinds)
        if kind == ME:
            if ME not in self.taken:
                self.taken.add(ME)
                return MYSELF
            kind = NAMED
        pool = {KIN: RELATED, ITEM: ITEMS}.get(kind, PEOPLE)
        name, pronouns = self.random.choice([each for each in pool if each[0] not in self.taken])
        self.taken.add(name)
        return Subject(kind=kind, name=name, pronouns=pronouns)

    def put(self, template: str, subject: Subject, words: dict[str, str]) -> str:
        """A statement in words, sometimes with a clause before or after it."""
        if not template.startswith("~"):
            if self.random.random() < 0.25:
                template = self.random.choice(BEFORE[asides(self.style)]) + template
            if self.random.random() < 0.15:
                stop = "" if template[-1] in ".!?" else "."
                template += stop + self.random.choice(AFTER[asides(self.style)])
        return worded(template, MYSELF if subject.kind == ACTOR else subject, words)

    def moment(self) -> datetime:
        """Some time in these years."""
        minutes = self.random.randrange(int((END - BEGIN).total_seconds() // 60))
        return BEGIN + timedelta(minutes=minutes)


def rooms(histories: int = 2_000, *, split: str = "all", seed: int = 0) -> Iterator[Room]:
    """Scopes with histories.

    Args:
        histories: how many in all; each cell of the split gets the same number, but for one room.
        split: `dev`, `test`, `free` or `all` (the first two).
        seed: of everything.
    """
    cells = SPLITS[split]
    made = 0
    while made < histories:
        number = made // IN_A_SCOPE
        cell = cells[number % len(cells)]
        count = min(IN_A_SCOPE, histories - made)
        yield _room(f"{seed}.{number}", cell, count)
        made += count


def _room(name: str, cell: str, count: int) -> Room:
    half, style = CELLS[cell]
    return room(name, cell, [each for each in SLOTS if each.half == half], style, count)


def room(
    name: str,
    cell: str,
    among: Sequence[FactSlot],
    style: str,
    count: int,
    *,
    least: int = MEMORIES_MIN,
    chatter: Callable[[random.Random], str] = chat,
) -> Room:
    """A scope with histories.

    Args:
        name: of the room: part of ids, and of the seed.
        cell: what its histories say of where they are from.
        among: slots of which they may be.
        style: of phrasings (`phrasings.sections`).
        count: of histories.
        least: memories; what is missing is chatter.
        chatter: makes something about nothing that is asked for.
    """
    rng = random.Random(f"facts {name} {cell}")
    group = rng.random() < 0.3
    making = _Making(
        random=rng, name=f"m{name}", style=style, group=group, user=None if group else rng.choice((None, "user"))
    )
    now = END + timedelta(days=rng.randint(3, 90), hours=rng.randint(0, 23))
    slots: list[FactSlot] = []
    while len(slots) < count:
        slot = rng.choice(among)
        if slot.group not in {each.group for each in slots}:
            slots.append(slot)
    told = []
    for slot in slots:
        subject = making.some(slot.of, (ACTOR, ACTOR, NAMED) if group else (ME, ME, NAMED, KIN))
        told.append((slot, subject, *_told(making, slot, subject)))
    for slot, _, _, values, _ in told:
        _distract(making, slot, values)
    while len(making.memories) < least:
        _chat(making, chatter)
    found = []
    for number, (slot, subject, timeline, _, script) in enumerate(told):
        asked = tuple(_questions(making, f"{name}/{number}", slot, subject, timeline, now))
        found.append(
            FactHistory(id=f"{name}/{number}", slot=slot, subject=subject, cell=cell, told=script, questions=asked)
        )
    memories = making.memories
    if rng.random() < 0.1:  # imported later, in no order
        rng.shuffle(memories)
    else:
        memories.sort(key=lambda m: (m.event_at or BEGIN, m.id))
    return Room(scope=Scope(user_id=f"facts-{name}"), memories=tuple(memories), histories=tuple(found), now=now)


# -- what is told ------------------------------------------------------------------------------------------------------


def _told(making: _Making, slot: FactSlot, subject: Subject) -> tuple[Timeline, list[str], tuple[str, ...]]:
    """Tell a history of the slot; what held when, all values that were said, and what happened."""
    script = making.random.choice(FIXED if slot.fixed else ONE if slot.one else MANY).split()
    times = _times(making, len(script))
    values = slot.distinct(len(script), making.random)
    timeline = Timeline(slot.one)
    teller = _Teller(making, slot, subject, timeline, making.speaker(subject))
    for op, at, value in zip(script, times, values, strict=True):
        getattr(teller, f"{op}_" if op == "is" else op)(at, value)
    return timeline, values, tuple(script)


def _times(making: _Making, count: int) -> list[datetime]:
    """Times of the events of a history, some weeks apart."""
    while True:
        times = sorted(making.moment() for _ in range(count))
        if all(b - a >= APART for a, b in pairwise(times)):
            return times


@dataclass(slots=True)
class _Teller:
    """Tells one history, event by event."""

    making: _Making
    slot: FactSlot
    subject: Subject
    timeline: Timeline
    actor: str | None

    def is_(self, at: datetime, value: str) -> None:
        """A statement as if it were the first."""
        self._begin(value, at, "is")

    def new(self, at: datetime, value: str) -> None:
        """Another value from now on."""
        self._begin(value, at, "is" if self.making.random.random() < RESTATED else "new")

    def back(self, at: datetime, _value: str) -> None:
        """The first value again."""
        self._begin(self.timeline.states[0].value, at, "new")

    def again(self, at: datetime, _value: str) -> None:
        """What holds is said again, now and then by the assistant."""
        state = self.timeline.states[-1]
        answered = self.making.user == "user" and self.subject.kind == ME and self.slot.one and self.slot.noun
        if answered and self.making.random.random() < 0.4:
            text = worded("Noted: {my} {n} is {v}.", YOURSELF, self._words(state.value))
            state.ids.append(self.making.tell(text, at, "assistant"))
            return
        key = "is" if self.making.random.random() < 0.4 else "again"
        state.ids.append(self._say(key, at, state.value)[0])

    def fix(self, at: datetime, value: str) -> None:
        """What was said was wrong from the beginning."""
        wrong = self.timeline.states[-1]
        said, _ = self._say("fix", at, value, wrong.value)
        wrong.end, wrong.wrong = at, True
        self.timeline.states.append(State(value=value, start=at, ids=[said], corrects=True))

    def no(self, at: datetime, _value: str) -> None:
        """It holds no longer; of a slot of many values, one of them does not."""
        if self.slot.one:
            state = self.timeline.states[-1]
            said, mentions = self._say("no", at, state.value, state.value)
            self.timeline.retraction = said
        else:
            state = self.making.random.choice(self.timeline.live)
            said, mentions = self._say("no", at, state.value, state.value)
        state.end = at
        if mentions:
            state.mentions.append(said)

    def was(self, at: datetime, value: str) -> None:
        """What held before what holds; the value before it, if one was told."""
        held = self.timeline.held
        if len(held) > 1:
            held[-2].mentions.append(self._say("was", at, held[-2].value)[0])
            return
        self.timeline.states.insert(0, State(value=value, start=None, ids=[self._say("was", at, value)[0]]))

    def _begin(self, value: str, at: datetime, key: str) -> None:
        live = self.timeline.live if self.slot.one else []
        if key == "new" and not live:
            key = "is"
        said, mentions = self._say(key, at, value, live[-1].value if live else "")
        for state in live:
            state.end = at
            if mentions:
                state.mentions.append(said)
        self.timeline.retraction = None
        self.timeline.states.append(State(value=value, start=at, ids=[said]))

    def _say(self, key: str, at: datetime, value: str, old: str = "") -> tuple[str, bool]:
        """The id of the memory, and whether it holds the old value."""
        ways = phrasings(self.slot, self.making.style, key)
        template = self.making.random.choice(ways or phrasings(self.slot, self.making.style, "is"))
        text = self.making.put(template, self.subject, {**self._words(value), "old": old})
        mentions = "old}" in template or (key == "no" and "{v}" in template)
        return self.making.tell(text, at, self.actor), mentions

    def _words(self, value: str) -> dict[str, str]:
        return {"v": value, "n": self.slot.noun, "ns": self.slot.nouns}


def _distract(making: _Making, slot: FactSlot, values: Sequence[str]) -> None:
    """The same of others, and the same words without a fact."""
    rng = making.random
    words = {"n": slot.noun, "ns": slot.nouns}
    kinds = (ACTOR, NAMED) if making.group else (NAMED, KIN, ME)
    for _ in range(rng.choice((1, 2, 2))):
        other = making.some(slot.of, kinds)
        template = rng.choice(phrasings(slot, making.style, "is"))
        text = making.put(template, other, {**words, "v": _other(slot, values, rng)})
        making.tell(text, making.moment(), making.speaker(other))
    ways = phrasings(slot, making.style, "non")
    for template in rng.sample(ways, min(len(ways), rng.choice((1, 2)))):
        if slot.of == THING and "{my}" in template:
            continue
        speaker = rng.choice(PEOPLE)[0] if making.group else None
        making.tell(worded(template, MYSELF, {**words, "x": _other(slot, values, rng)}), making.moment(), speaker)


def _other(slot: FactSlot, values: Sequence[str], rng: random.Random) -> str:
    """A value that is none of these."""
    for _ in range(TRIES):  # a slot may have few
        value = slot.value(rng)
        if value not in values:
            break
    return value


def _chat(making: _Making, chatter: Callable[[random.Random], str]) -> None:
    at = making.moment()
    if making.user == "user" and making.random.random() < 0.3:
        making.tell(making.random.choice(REPLIES), at, "assistant")
    else:
        making.tell(chatter(making.random), at, making.random.choice(PEOPLE)[0] if making.group else None)


# -- what is asked -----------------------------------------------------------------------------------------------------


def _questions(
    making: _Making,
    name: str,
    slot: FactSlot,
    subject: Subject,
    timeline: Timeline,
    now: datetime,
) -> Iterator[Asked]:
    """Questions about a history: how it is, and some of the other kinds that it can answer."""
    asker = _Asker(making, slot, subject, timeline, now)
    others = [asker.then, asker.previous, asker.history, asker.change, asker.when]
    making.random.shuffle(others)
    found = [each for ask in (asker.now, *others) if (each := ask()) is not None]
    for number, (kind, text, gold) in enumerate(found[:ASKED_MAX]):
        yield Asked(id=f"{name}/{number}", text=text, kind=kind, gold=gold)


_KEYS = {kind: key for key, kind in QUESTIONS.items()}
assert set(_KEYS) == set(KINDS)
Found = tuple[str, str, Gold]


@dataclass(slots=True)
class _Asker:
    """Asks about one history."""

    making: _Making
    slot: FactSlot
    subject: Subject
    timeline: Timeline
    at: datetime

    def now(self) -> Found | None:
        """How it is."""
        gold = self.timeline.now()
        return None if gold is None else self._put(NOW, self._template(NOW), gold)

    def then(self) -> Found | None:
        """How it was at some time, or before what followed."""
        if self.slot.fixed:
            return None
        template = self._template(THEN)
        if "{next}" in template:
            held = [state for state in self.timeline.held if state.start is not None]
            if len(held) < 2 or held[0].value == held[1].value or len({s.value for s in held}) < len(held):
                return None
            until = Gold(first=held[0].all, needed=(frozenset(held[0].ids),))
            return self._put(THEN, template, until, next=held[1].value)
        for _ in range(40):
            found = window(asides(self.making.style), self.making.moment(), self.at, self.making.random)
            gold = None if found is None else self.timeline.at(found[1], found[2])
            if found is not None and gold is not None:
                return self._put(THEN, template, gold, when=found[0])
        return None

    def previous(self) -> Found | None:
        """What it was before."""
        live = self.timeline.live
        gold = self.timeline.before(live[0]) if self.slot.one and live else None
        return None if gold is None else self._put(PREVIOUS, self._template(PREVIOUS), gold, next=live[0].value)

    def history(self) -> Found | None:
        """All that it was, in order."""
        gold = self.timeline.history()
        return None if gold is None else self._put(HISTORY, self._template(HISTORY), gold)

    def change(self) -> Found | None:
        """How it changed."""
        gold = self.timeline.history()
        return None if gold is None else self._put(CHANGE, self._template(CHANGE), gold)

    def when(self) -> Found | None:
        """When a value began to hold."""
        if self.slot.fixed:
            return None
        state = self.making.random.choice(self.timeline.states)
        gold = self.timeline.began(state)
        return None if gold is None else self._put(WHEN, self._template(WHEN), gold, v=state.value)

    def _template(self, kind: str) -> str:
        return self.making.random.choice(phrasings(self.slot, self.making.style, _KEYS[kind]))

    def _put(self, kind: str, template: str, gold: Gold, **words: str) -> Found:
        text = worded(template, self.subject, {"n": self.slot.noun, "ns": self.slot.nouns, **words})
        return kind, text, gold
