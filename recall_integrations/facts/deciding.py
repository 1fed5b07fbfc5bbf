"""What decides where a query asks how things are, were, or how they changed: which memories come first, and why."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from recall_integrations.facts.alike import alike
from recall_integrations.facts.question import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.facts.timeline import PAST, Stretch
from recall_integrations.facts.values import same
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED, RETRACTED

Key = tuple[str, str]  # (subject, slot)
FIRST_MAX = 20  # memories that are put first, at most
# What the confidence is multiplied with where a later memory of the slot could not be read: of the dev half of
# `recall bench facts`, with half of the statements unread, the first hit was right in .87 of these questions.
DOUBTED = 0.9


class Facts(Protocol):
    """What is told in a scope."""

    slots: Slots

    def has(self, key: Key) -> bool:
        """Whether anything was ever told of it, under this name of the subject, which is of no two people."""
        ...

    def timeline(self, key: Key) -> tuple[Stretch, ...]:
        """What held when, by all that is told under any name of the subject."""
        ...

    def slots_of(self, subject: str) -> list[str]:
        """Names of the slots that anything was told of, under any name of the subject."""
        ...


@record(frozen=True, slots=True, kw_only=True)
class Decided:
    """Which memories come first. Memories are numbers of the store.

    Args:
        key: subject and slot.
        mode: what is asked: `now`, `then`, `previous`, `history`, `when`.
        at: the time at which it was looked at, microseconds.
        first: memories that come first, in this order.
        beneath: memories of the slot that come after all of these: what they say did not hold then.
        stretches: all that is known of it.
        confidence: that `first` is what is asked for, in [0, 1].
        until: time up to which a later value counts, microseconds: `at`, or the end of the time that is asked for.
        unread: of `first` those that were told later than what is held, of the same slot, in words that no rule reads.
    """

    key: Key
    mode: str
    at: int
    first: tuple[int, ...]
    beneath: frozenset[int] = frozenset()
    stretches: tuple[Stretch, ...] = ()
    confidence: float = 0.9
    until: int = 0
    unread: tuple[int, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is asked of a slot that nothing is known of.

    Args:
        asked: the question.
        subjects: keys of whom it is asked of, the likeliest first.
        until: time up to which what was told counts, microseconds.
    """

    asked: StateAsked
    subjects: tuple[str, ...]
    until: int


def sought(
    asked: StateAsked,
    subjects: Iterable[str],
    now: datetime,
    window: tuple[datetime | None, datetime | None] | None = None,
) -> Sought:
    """What to look for in memories that no rule could read, where `decide` knows nothing. Arguments as there."""
    at, span = to_micros(now), _micros(window)
    return Sought(asked=asked, subjects=tuple(dict.fromkeys(subjects)), until=at if span is None else min(at, span[1]))


def decide(
    asked: StateAsked,
    facts: Facts,
    subjects: Iterable[str],
    now: datetime,
    window: tuple[datetime | None, datetime | None] | None = None,
) -> Decided | None:
    """What decides; `None` where nothing is known of what is asked.

    Args:
        asked: the question.
        facts: of the scope.
        subjects: keys of whom it is asked of, the likeliest first: names that an entity goes by.
        now: the time of the question, or `as_of`.
        window: a time that it names, as start and end, `None` = open.
    """
    key = _key(asked, facts, subjects)
    if key is None:
        return None
    stretches = facts.timeline(key)
    if not stretches:
        return None
    at = to_micros(now)
    span = _micros(window)
    if asked.mode == THEN and (asked.before or asked.during):
        span = _of_value(asked, key, facts, at)
        if span is None:
            return None
    chosen = _CHOICES[asked.mode](asked, stretches, at, span)
    if not chosen:
        return None
    first = list(dict.fromkeys(num for stretch, nums in chosen for num in nums))[:FIRST_MAX]
    rest = frozenset(num for stretch in stretches for num in stretch.nums).difference(first)
    return Decided(
        key=key,
        mode=asked.mode,
        at=at,
        first=tuple(first),
        beneath=frozenset() if asked.mode == HISTORY else rest,
        stretches=stretches,
        confidence=asked.confidence * max(stretch.confidence for stretch, _ in chosen),
        until=at if span is None else min(at, span[1]),
    )


def at_stake(held: Decided, besides: Container[int] = ()) -> Stretch | None:
    """What a later memory that no rule could read may have ended; `None` = nothing is put first that it could be.

    Args:
        held: what decides.
        besides: memories that are not meant.
    """
    if held.mode == PREVIOUS:  # what holds is the one before, if something else does
        return next(iter(_held(held.stretches, held.at)), None)
    if held.mode not in (NOW, THEN):
        return None
    return next((s for n in held.first if n not in besides for s in held.stretches if n in s.nums), None)


def doubted(held: Decided, at_stake: Stretch, unread: Sequence[int]) -> Decided:
    """What decides where later memories of the slot could not be read: an old value is not what holds for certain.

    Args:
        held: what decides without them.
        at_stake: the value that they may have ended.
        unread: memories, the latest first.
    """
    put = _newest(at_stake) if held.mode == PREVIOUS else tuple(unread)
    first = tuple(dict.fromkeys((*put, *held.first)))[:FIRST_MAX]
    return Decided(
        key=held.key,
        mode=held.mode,
        at=held.at,
        first=first,
        beneath=held.beneath.difference(first),
        stretches=held.stretches,
        confidence=DOUBTED * held.confidence,
        until=held.until,
        unread=() if held.mode == PREVIOUS else tuple(unread),
    )


def guessed(sought: Sought, key: Key, unread: int) -> Decided:
    """What decides where nothing is known of a slot: the latest memory that may tell it.

    Args:
        sought: what is asked for.
        key: subject and slot.
        unread: the memory.
    """
    return Decided(
        key=key,
        mode=sought.asked.mode,
        at=sought.until,
        first=(unread,),
        confidence=DOUBTED * sought.asked.confidence,
        until=sought.until,
        unread=(unread,),
    )


def _key(asked: StateAsked, facts: Facts, subjects: Iterable[str]) -> Key | None:
    """Subject and slot of which something is known."""
    who = list(dict.fromkeys(subjects))
    for slot in asked.slots:
        for subject in who:
            if facts.has((subject, slot)):
                return subject, slot
    for slot in asked.slots:  # what the schema does not have, in other words
        for subject in who:
            for known in facts.slots_of(subject):
                if not (slot.startswith(OPEN) or known.startswith(OPEN)) or not facts.has((subject, known)):
                    continue  # told under another name, which is among these
                if alike(_called(slot, facts), _called(known, facts)):
                    return subject, known
    return None


def _of_value(asked: StateAsked, key: Key, facts: Facts, at: int) -> Window:
    """The time before or during which a value held, of this slot or of another one of the subject; `None` = unknown."""
    value = asked.before or asked.during
    for slot in (key[1], *facts.slots_of(key[0])):
        named = [s for s in _true(facts.timeline((key[0], slot))) if same(s.value, value)]
        if named and asked.before:
            return PAST, named[0].start
        if named:
            return named[-1].start, at + 1 if named[-1].stop is None else named[-1].stop
    return None


def _called(slot: str, facts: Facts) -> str:
    return facts.slots.called(slot)


Window = tuple[int, int] | None
Chosen = list[tuple[Stretch, tuple[int, ...]]]


def _micros(window: tuple[datetime | None, datetime | None] | None) -> Window:
    if window is None:
        return None
    start, end = window
    return (PAST if start is None else to_micros(start), 2**62 if end is None else to_micros(end))


def _true(stretches: Sequence[Stretch]) -> list[Stretch]:
    return [s for s in stretches if s.ended != CORRECTED]


def _held(stretches: Sequence[Stretch], at: int) -> list[Stretch]:
    held = [s for s in stretches if s.holds_at(at)]
    return sorted(held, key=lambda s: (-s.start, -s.told_at, s.nums[0]))


def _newest(stretch: Stretch) -> tuple[int, ...]:
    """Memories that say it, the newest first: it says that it still holds."""
    return stretch.nums[::-1]


def _now(asked: StateAsked, stretches: Sequence[Stretch], at: int, _window: Window) -> Chosen:
    held = _held(stretches, at)
    if asked.value:  # "do I still live in Berlin?": what holds, and what was said of it
        named = [s for s in _true(stretches) if same(s.value, asked.value) and s not in held]
        return [(s, _newest(s)) for s in (*held, *named)] or []
    if held:
        return [(s, _newest(s)) for s in held]
    ended = sorted((s for s in _true(stretches) if s.ended), key=lambda s: (s.stop or 0, s.start))
    if not ended:
        return []
    last = ended[-1]  # nothing holds: who ended it says so
    by = () if last.ended_by is None else (last.ended_by,)
    return [(last, (*by, *_newest(last)))]


def _then(asked: StateAsked, stretches: Sequence[Stretch], at: int, window: Window) -> Chosen:
    if window is None:
        return _previous(asked, stretches, at, window)
    start, end = window
    true = _true(stretches)
    if start == PAST:  # "before May": the last that held in it
        return [(s, s.nums) for s in _held(true, end - 1)]
    within = [s for s in true if s.start < end and (s.stop is None or s.stop > start)]
    # The one that held longest in it first; of equals the later one.
    within.sort(key=lambda s: (-_overlap(s, start, end), -s.start, s.nums[0]))
    return [(s, s.nums) for s in within]


def _overlap(stretch: Stretch, start: int, end: int) -> int:
    stop = end if stretch.stop is None else min(stretch.stop, end)
    return stop - max(stretch.start, start)


def _previous(_asked: StateAsked, stretches: Sequence[Stretch], at: int, _window: Window) -> Chosen:
    held = _held(stretches, at)
    true = _true(stretches)
    ended = [s for s in true if s not in held and s.start <= at and not any(same(s.value, h.value) for h in held[:1])]
    ended.sort(key=lambda s: (min(s.stop or at, at), s.start, s.told_at, s.nums[0]))
    return [(s, s.nums) for s in ended[::-1][:1]]


def _history(_asked: StateAsked, stretches: Sequence[Stretch], _at: int, _window: Window) -> Chosen:
    """What happened, in order: what began to hold, and what was said to hold no longer."""
    true = _true(stretches)
    events = [(s.told_at if s.start == PAST else s.start, s.nums[0], s) for s in true]
    told = {num for s in stretches for num in s.nums}
    events += [
        (s.stop or 0, s.ended_by, s)
        for s in true
        if s.ended == RETRACTED and s.ended_by is not None and s.ended_by not in told
    ]
    return [(s, (num,)) for _, num, s in sorted(events, key=lambda event: event[:2])]


def _when(asked: StateAsked, stretches: Sequence[Stretch], at: int, _window: Window) -> Chosen:
    true = [s for s in _true(stretches) if s.start <= at]
    if asked.value:  # of a value that nobody told of, nothing is known
        return [(s, s.nums) for s in true if same(s.value, asked.value)]
    return [(s, s.nums) for s in _held(true, at) or true[-1:]]


_CHOICES: dict[str, Callable[[StateAsked, Sequence[Stretch], int, Window], Chosen]] = {
    NOW: _now,
    THEN: _then,
    PREVIOUS: _previous,
    HISTORY: _history,
    WHEN: _when,
}


_GUESSES = {PREVIOUS: "may tell what was before", THEN: "the latest by then that may tell it"}


def words_of_unread(held: Decided, id_of: Callable[[int], str]) -> str:
    """What a reason says of a memory that may tell a newer value than the one that is held."""
    stake = at_stake(held, held.unread)
    if stake is None:
        return _GUESSES.get(held.mode, "the latest that may tell it")
    return f"told after {id_of(stake.nums[-1])}, may have changed what that says"


def words_for(num: int, stretches: Sequence[Stretch], id_of: Callable[[int], str], at: int) -> str:
    """What a reason says of a memory that tells a value: since when it holds, what it is newer than, what ended it."""
    saying = [s for s in stretches if num in s.nums]
    own = next((s for s in saying if s.holds_at(at)), saying[0] if saying else None)
    if own is None:
        ended = [s for s in stretches if s.ended_by == num]
        return f"says that it no longer holds: {id_of(ended[-1].nums[0])}" if ended else ""
    if not own.holds_at(at):
        return _no_longer(own, id_of, at)
    parts = []
    if own.start != PAST:
        parts.append(f"holds since {_day(own.start)}")
    older = [s for s in stretches if s.stop is not None and s.stop <= own.start and s.ended != CORRECTED]
    older = [s for s in older if num not in s.nums]  # "I used to live in Rome, now in Lisbon"
    if older:
        last = max(older, key=lambda s: (s.stop or 0, s.start))
        parts.append(f"newer than {id_of(last.nums[0])} of {_day(last.told_at)}")
    wrong = [s for s in stretches if s.ended == CORRECTED and s.ended_by in own.nums]
    if wrong:
        parts.append(f"corrects {id_of(wrong[-1].nums[0])}")
    if len(own.nums) > 1:
        others = [n for n in own.nums if n != num]
        parts.append(f"{'said again' if num == own.nums[0] else 'also said'} in {', '.join(map(id_of, others[:3]))}")
    return "; ".join(parts)


def _no_longer(own: Stretch, id_of: Callable[[int], str], at: int) -> str:
    if own.start > at:
        return f"holds only from {_day(own.start)} on"
    by = "" if own.ended_by is None else f" by {id_of(own.ended_by)}"
    if own.ended == CORRECTED:
        return f"was corrected{by}"
    until = "" if own.stop is None else f" until {_day(own.stop)}"
    return f"held{until}, {'taken back' if own.ended == RETRACTED else 'superseded'}{by}"


def _day(micros: int) -> str:
    day = from_micros(micros)
    return f"{day.day} {day:%B %Y}"
