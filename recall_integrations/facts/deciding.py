"""Decides where a query asks how things are, were, or changed: which memories come first, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Protocol

from recall_integrations.facts.question import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.said import RULE, alike, same
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.facts.timeline import PAST, Stretch, held_at
from recall_integrations.indexes.times import day_of, to_micros
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED, RETRACTED

Key = tuple[str, str]  # (subject, slot)
FIRST_MAX = 20  # memories that are put first, at most


class Facts(Protocol):
    """The facts of a scope."""

    slots: Slots

    def has(self, key: Key) -> bool:
        """Say whether anything was ever told of a key, under this name of the subject, which no two people share."""
        ...

    def timeline(self, key: Key) -> tuple[Stretch, ...]:
        """Return which values held when, by all that is told under any name of the subject."""
        ...

    def slots_of(self, subject: str) -> list[str]:
        """Return names of the slots that anything was told of, under any name of the subject."""
        ...


@record(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision on which memories come first. Memories are numbers of the store."""

    key: Key  # subject and slot
    mode: str  # the question: `now`, `then`, `previous`, `history`, `when`
    at: int  # the time of the question, in microseconds
    first: tuple[int, ...]  # memories that come first, in this order
    # memories of the slot that come after all of these: what they say did not hold then
    beneath: frozenset[int] = frozenset()
    stretches: tuple[Stretch, ...] = ()  # all that is known of the slot
    confidence: float = 0.9  # probability that `first` is what is asked for, in [0, 1]


def decide(
    asked: StateAsked,
    facts: Facts,
    subjects: Iterable[str],
    now: datetime,
    windows: Iterable[tuple[datetime | None, datetime | None]] = (),
) -> Decided | None:
    """Return the decision; `None` where nothing is known of the slot, or the search alone finds it."""
    key = _key(asked, facts, subjects)
    if key is None:
        return None
    stretches = facts.timeline(key)
    if not stretches or (
        asked.mode == NOW and len(stretches) == 1 and not stretches[0].ended and stretches[0].by == RULE
    ):
        return None  # nothing ended, and the memory says it in words: the search finds it
    at = to_micros(now)
    spans: list[Window] = [_micros(start, end) for start, end in windows] or [None]
    if asked.mode == THEN and asked.before:
        spans = [_of_value(asked, key, facts)]
        if spans == [None]:
            return None
    chosen = [found for span in spans for found in _CHOICES[asked.mode](asked, stretches, at, span)]
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
    )


def _key(asked: StateAsked, facts: Facts, subjects: Iterable[str]) -> Key | None:
    """Return subject and slot of which something is known."""
    who = list(dict.fromkeys(subjects))
    for slot in asked.slots:
        for subject in who:
            if facts.has((subject, slot)):
                return subject, slot
    for slot in asked.slots:  # slots that the schema lacks, in other words
        for subject in who:
            for known in facts.slots_of(subject):
                if not (slot.startswith(OPEN) or known.startswith(OPEN)) or not facts.has((subject, known)):
                    continue  # told under another name, which is among these
                if alike(facts.slots.called(slot), facts.slots.called(known)):
                    return subject, known
    return None


def _of_value(asked: StateAsked, key: Key, facts: Facts) -> Window:
    """Return the time before a value held, in this slot or in another one of the subject; `None` = unknown."""
    for slot in (key[1], *facts.slots_of(key[0])):
        named = [s for s in _true(facts.timeline((key[0], slot))) if same(s.value, asked.before)]
        if named:
            return PAST, named[0].start
    return None


Window = tuple[int, int] | None
Chosen = list[tuple[Stretch, tuple[int, ...]]]


def _micros(start: datetime | None, end: datetime | None) -> tuple[int, int]:
    return (PAST if start is None else to_micros(start), 2**62 if end is None else to_micros(end))


def _true(stretches: Sequence[Stretch]) -> list[Stretch]:
    return [s for s in stretches if s.ended != CORRECTED]


def _newest(stretch: Stretch) -> tuple[int, ...]:
    """Return memories that say a value, the newest first: it says that the value still holds."""
    return stretch.nums[::-1]


def _now(asked: StateAsked, stretches: Sequence[Stretch], at: int, _window: Window) -> Chosen:
    held = held_at(stretches, at)
    if asked.value:  # "do I still live in Berlin?": the value that holds, and what was said of Berlin
        named = [s for s in _true(stretches) if same(s.value, asked.value) and s not in held]
        return [(s, _newest(s)) for s in (*held, *named)]
    if held:
        return [(s, _newest(s)) for s in held]
    ended = sorted((s for s in _true(stretches) if s.ended), key=lambda s: (s.stop or 0, s.start))
    if not ended:
        return []
    last = ended[-1]  # nothing holds: the memory that ended the last value comes first
    by = () if last.ended_by is None else (last.ended_by,)
    return [(last, (*by, *_newest(last)))]


def _then(asked: StateAsked, stretches: Sequence[Stretch], at: int, window: Window) -> Chosen:
    if window is None:
        return _previous(asked, stretches, at, window)
    start, end = window
    true = _true(stretches)
    if start == PAST:  # "before May": the last value that held in it
        return [(s, s.nums) for s in held_at(true, end - 1)]
    within = [s for s in true if s.start < end and (s.stop is None or s.stop > start)]
    # The value that held longest in it comes first; of equals the later one.
    within.sort(key=lambda s: (-_overlap(s, start, end), -s.start, s.nums[0]))
    return [(s, s.nums) for s in within]


def _overlap(stretch: Stretch, start: int, end: int) -> int:
    stop = end if stretch.stop is None else min(stretch.stop, end)
    return stop - max(stretch.start, start)


def _previous(_asked: StateAsked, stretches: Sequence[Stretch], at: int, _window: Window) -> Chosen:
    held = held_at(stretches, at)
    true = _true(stretches)
    ended = [s for s in true if s not in held and s.start <= at and not any(same(s.value, h.value) for h in held[:1])]
    ended.sort(key=lambda s: (min(s.stop or at, at), s.start, s.told_at, s.nums[0]))
    return [(s, s.nums) for s in ended[::-1][:1]]


def _history(_asked: StateAsked, stretches: Sequence[Stretch], _at: int, _window: Window) -> Chosen:
    """Return what happened, in order: what began to hold, and what was said to hold no longer."""
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
    return [(s, s.nums) for s in held_at(true, at) or true[-1:]]


_CHOICES: dict[str, Callable[[StateAsked, Sequence[Stretch], int, Window], Chosen]] = {
    NOW: _now,
    THEN: _then,
    PREVIOUS: _previous,
    HISTORY: _history,
    WHEN: _when,
}


def words_for(
    num: int, stretches: Sequence[Stretch], id_of: Callable[[int], str], at: int, zone: tzinfo | None = None
) -> str:
    """Return a reason for a memory that tells a value: since when it holds, what it is newer than, what ended it."""
    saying = [s for s in stretches if num in s.nums]
    own = next((s for s in saying if s.holds_at(at)), saying[0] if saying else None)
    if own is None:
        ended = [s for s in stretches if s.ended_by == num]
        return f"says that it no longer holds: {id_of(ended[-1].nums[0])}" if ended else ""
    if not own.holds_at(at):
        return _no_longer(own, id_of, at, zone)
    parts = []
    if own.start != PAST:
        parts.append(f"holds since {day_of(own.start, zone)}")
    older = [s for s in stretches if s.stop is not None and s.stop <= own.start and s.ended != CORRECTED]
    older = [s for s in older if num not in s.nums]  # "I used to live in Rome, now in Lisbon"
    if older:
        last = max(older, key=lambda s: (s.stop or 0, s.start))
        parts.append(f"newer than {id_of(last.nums[0])} of {day_of(last.told_at, zone)}")
    wrong = [s for s in stretches if s.ended == CORRECTED and s.ended_by in own.nums]
    if wrong:
        parts.append(f"corrects {id_of(wrong[-1].nums[0])}")
    if len(own.nums) > 1:
        others = [n for n in own.nums if n != num]
        parts.append(f"{'said again' if num == own.nums[0] else 'also said'} in {', '.join(map(id_of, others[:3]))}")
    return "; ".join(parts)


def _no_longer(own: Stretch, id_of: Callable[[int], str], at: int, zone: tzinfo | None) -> str:
    if own.start > at:
        return f"holds only from {day_of(own.start, zone)} on"
    by = "" if own.ended_by is None else f" by {id_of(own.ended_by)}"
    if own.ended == CORRECTED:
        return f"was corrected{by}"
    until = "" if own.stop is None else f" until {day_of(own.stop, zone)}"
    return f"held{until}, {'taken back' if own.ended == RETRACTED else 'superseded'}{by}"
