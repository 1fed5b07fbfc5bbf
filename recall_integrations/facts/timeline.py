"""Finds which value of one slot of one subject held when: pure, from what memories say.

    told (each with its time) ─ in order ─▶ stretches: [value, from, to), who says it, what ended it

Statements are read in the order in which they were told; a statement that is to hold from a later time on, at that
time (`Told.order`). The rules:

- in a slot with one value, another value ends the one that held; the same value again is said again, and may tell an
  earlier `since` (after what held before it) and an `until`;
- `NOT` and `WAS` end the value that they name; `NOT` without a value ends whatever holds. A value that had ended before
  is said again. "From … to …" tells of a time of its own, unless the value held at some of that time. A value that
  nobody had told of held before: in a slot with one value, before all that is known, and where it has a `since`, only
  where nothing else is known. Neither ends what is told later;
- a correction makes the value that it names wrong from its beginning, and takes its place from there on; in a slot with
  one value, where no such value is known, the value that holds;
- in a slot with many values, a value ends only by `NOT` or `WAS`, or by being named in `instead_of`;
- a statement with a `since` is believed over what was said before of that time;
- a value that is to end later holds until then, and may be said again or ended before.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count

from recall_integrations.facts.said import IS, NOT, WAS, norm, same
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED, RETRACTED, SUPERSEDED

PAST = -(2**62)  # before all times: start of a value that held before, if nobody says since when
NEVER = 2**62  # after all times
ALIKE_MAX = 64  # values that hold at once, up to which "Lisbon" is found in "Lisbon, Portugal"
AGO = 366 * 86_400_000_000  # "until March" may mean all of March, "until last year" all of that year
SPOKEN_MAX = 100  # memories that are listed as saying the same


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """A statement of one memory about the slot. Times are microseconds since 1970-01-01T00:00Z."""

    num: int  # number of the memory
    place: int  # place in the memory
    value: str  # value, op, instead_of, corrects, confidence, by: as in `said.Said` and the table `facts`
    op: str
    at: int  # time of the memory
    instead_of: str = ""
    corrects: bool = False
    since: int | None = None  # since, until: limits of the time, where the text gives them
    until: int | None = None
    confidence: float = 0.9
    by: str = "rule"

    @property
    def begins(self) -> int:
        """Time at which it began to hold, as far as anybody says."""
        return self.at if self.since is None else self.since

    @property
    def ranged(self) -> bool:
        """True where the text says from when to when."""
        return self.since is not None and self.until is not None

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Key of the reading order. A statement that something holds counts when it was said, whenever that began."""
        return (max(self.begins, self.at) if self.op == IS else self.at, self.at, self.num, self.place)


@record(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A value with the time in which it held."""

    value: str  # the value as it was first told
    # memories that say it, in the order of their times; after its end, also those that say so again
    nums: tuple[int, ...]
    start: int  # microseconds; `PAST` where it held before, and nobody says since when
    stop: int | None = None  # microseconds, exclusive; `None` = it holds, and nobody says until when
    told_at: int  # when it was first told, microseconds
    # `superseded`, `retracted`, `corrected`; empty = nothing ends it. A value that is only told as past is
    # `superseded`. A value that ends in the future has it too: `holds_at` says whether it holds
    ended: str = ""
    ended_by: int | None = None  # number of the memory that ended it; `None` = none did
    confidence: float = 0.9  # confidence, by: the best confidence, and the reader of the first memory
    by: str = "rule"

    def holds_at(self, when: int) -> bool:
        """Say whether it held then."""
        return self.ended != CORRECTED and self.start <= when and (self.stop is None or when < self.stop)


class _Growing:
    """A stretch while it grows."""

    __slots__ = ("before", "ended", "ended_by", "first", "norm", "nums", "said", "start", "stop", "sure", "value")

    def __init__(self, told: Told, norm: str, start: int) -> None:
        self.first, self.norm, self.start = told, norm, start
        self.value, self.nums, self.sure = told.value, [told.num], told.confidence
        self.said = told.at  # when it was last said to hold
        self.stop: int | None = None
        self.ended = ""
        self.ended_by: int | None = None
        self.before: _Growing | None = None  # the stretch that it follows and may not overlap

    @property
    def reach(self) -> int:
        """Time up to which it holds, as far as is known."""
        return NEVER if self.stop is None else self.stop

    @property
    def wrong(self) -> bool:
        """True where it never held."""
        return self.ended == CORRECTED

    def again(self, told: Told) -> None:
        """Note that the same value is said again; the longer words stay."""
        if told.num not in self.nums[-1:] and len(self.nums) < SPOKEN_MAX:
            self.nums.append(told.num)
        if len(told.value) > len(self.value):
            self.value = told.value
        self.sure = max(self.sure, told.confidence)
        if told.op == IS:
            self.said = max(self.said, told.at)

    def follow(self, before: _Growing | None, told: Told) -> None:
        """Begin it behind another; a `since` is believed over what was said before of that time."""
        while before is not None and (before.wrong or before.reach > self.start):
            if not before.wrong:
                before.end(self.start, SUPERSEDED, told.num)
                if before.reach <= self.start:
                    break
            before = before.before
        self.before = before

    def since(self, start: int) -> None:
        """Move its start back, though not before the end of the stretch that it follows."""
        while self.before is not None and self.before.wrong:
            self.before = self.before.before
        self.start = min(self.start, start if self.before is None else max(start, self.before.reach))

    def end(self, at: int, why: str, by: int | None) -> None:
        """End it."""
        self.stop, self.ended, self.ended_by = max(at, self.start), why, by

    def done(self) -> Stretch:
        """Return it as a finished stretch."""
        return Stretch(
            value=self.value,
            nums=tuple(self.nums),
            start=self.start,
            stop=self.stop,
            told_at=self.first.at,
            ended=self.ended,
            ended_by=self.ended_by,
            confidence=self.sure,
            by=self.first.by,
        )


class _Line:
    """Stretches as they grow."""

    def __init__(self, *, one: bool, speaking: Container[int]) -> None:
        self.one, self.speaking = one, speaking
        self.now = PAST  # statements are read in order: up to here
        self.open: dict[str, _Growing] = {}  # stretches that hold now, by the normal form of their value
        self.closed: list[_Growing] = []  # stretches that have ended, and those that are only told as past
        self.pasts: list[_Growing] = []  # stretches of `closed` that are only told as past
        self._last: dict[str, _Growing] = {}  # the last stretch of each value in `closed`
        self._newest: _Growing | None = None  # the stretch that began last
        self._ending: list[tuple[int, int, _Growing]] = []  # a heap: stretches of `open` that end later
        self._tick = count()

    def go_on(self, now: int) -> None:
        """Close stretches that end by `now`."""
        self.now = now
        while self._ending and self._ending[0][0] <= now:
            stop, _, stretch = heappop(self._ending)
            if stretch.stop == stop and self.open.get(stretch.norm) is stretch:
                self._close(stretch)

    def named(self, value: str) -> list[_Growing]:
        """Return stretches that hold and have this value; among very many, those with the same words."""
        exact = self.open.get(norm(value))
        if exact is not None:
            return [exact]
        return [s for s in self.open.values() if same(s.value, value)] if len(self.open) <= ALIKE_MAX else []

    def ended(self, value: str) -> _Growing | None:
        """Return the last stretch of this value that has ended; among many, a late one or one with the same words."""
        exact = self._last.get(norm(value))
        if exact is not None:
            return exact
        return next((s for s in self.closed[: -ALIKE_MAX - 1 : -1] if same(s.value, value)), None)

    def _at_its_time(self, told: Told) -> _Growing | None:
        """Return a late stretch of this value that has ended and held at some of the time that is told."""
        since, until = told.begins, told.at if told.until is None else told.until
        return next(
            (
                s
                for s in self.closed[: -ALIKE_MAX - 1 : -1]
                if not s.wrong and same(s.value, told.value) and s.start < until and since < s.reach
            ),
            None,
        )

    def begin(self, told: Told, start: int) -> _Growing:
        """Open a stretch of a value."""
        key = norm(told.value)
        made = self.open[key] = _Growing(told, key, start)
        made.follow(self._newest if self.one else self._last.get(key), told)
        self._newest = made
        return made

    def end(self, stretches: Iterable[_Growing], at: int, why: str, by: int | None) -> None:
        """End these stretches at a time, which may be still to come."""
        for stretch in stretches:
            stretch.end(at, why, by)
            if stretch.wrong or stretch.reach <= self.now:
                self._close(stretch)
            else:
                heappush(self._ending, (stretch.reach, next(self._tick), stretch))

    def correct(self, stretches: Iterable[_Growing], at: int, by: int) -> int:
        """Mark these stretches as never true; return the start of what replaces them, `NEVER` = they tell none."""
        start = NEVER
        for stretch in stretches:
            if stretch.start != PAST and (not self.one or stretch is self._newest):
                start = min(start, stretch.start)
            if self.open.get(stretch.norm) is stretch:
                self.end([stretch], at, CORRECTED, by)
            else:
                stretch.ended, stretch.ended_by = CORRECTED, by
        return start

    def past(self, told: Told, at: int, why: str) -> None:
        """Note a value that ended before it was told: said again, or, if nobody had told of it, held before."""
        known = self._at_its_time(told) if told.ranged else self.ended(told.value)
        if known is None:
            made = _Growing(told, norm(told.value), PAST if told.since is None else min(told.since, at))
            made.end(at, why, None)
            self.pasts.append(made)
            self._closed(made)
            for later in () if self.one else self.named(told.value):  # nor may that begin earlier than this ended
                if later.before is None or later.before.reach <= made.start:
                    later.before, made.before = made, later.before
        elif told.num not in self.speaking:  # else it speaks of what holds
            known.again(told)
            if self.one and told.ranged and known in self.pasts and known.start != PAST:
                known.start = min(known.start, told.begins)  # what else is known of that time stays (`_fit`)
                known.stop = max(known.reach, at)

    def _close(self, stretch: _Growing) -> None:
        del self.open[stretch.norm]
        self._closed(stretch)

    def _closed(self, stretch: _Growing) -> None:
        self.closed.append(stretch)
        last = self._last.get(stretch.norm)
        if last is None or last.wrong or last.reach <= stretch.reach:
            self._last[stretch.norm] = stretch


def timeline(told: Iterable[Told], *, one: bool) -> tuple[Stretch, ...]:
    """Return the stretches, in the order in which they began, equal ones by the number of their first memory."""
    ordered = sorted(told, key=lambda t: t.order)
    line = _Line(one=one, speaking={t.num for t in ordered if t.op == IS})
    for each in ordered:
        line.go_on(each.order[0])
        _STEPS[each.op](line, each)
    found = [*line.closed, *line.open.values()]
    if one and line.pasts:
        only_past = set(map(id, line.pasts))
        _fit(line.pasts, [s for s in found if id(s) not in only_past and not s.wrong and s.start < s.reach])
    found.sort(key=lambda s: (s.start, s.first.at, s.nums[0]))
    return tuple(s.done() for s in found)


def _is(line: _Line, told: Told) -> None:
    held = next(iter(line.named(told.value)), None)
    start = _take_place(line, told, held)
    if held is None:
        held = line.begin(told, start)
    else:
        held.again(told)
        held.since(start)
    if told.until is not None and told.until > held.start:
        line.end([held], told.until, SUPERSEDED, None)


def _take_place(line: _Line, told: Told, held: _Growing | None) -> int:
    """End the stretches that a value replaces, except its own (`held`); return the start of the value."""
    start = told.begins
    named = [s for s in line.named(told.instead_of) if s is not held] if told.instead_of else []
    if told.corrects:
        start = min(start, line.correct(named or _wrong(line, told, held), start, told.num))
    else:
        line.end(named, start, SUPERSEDED, told.num)
    if line.one:
        line.end([s for s in line.open.values() if s is not held], start, SUPERSEDED, told.num)
    return start


def _wrong(line: _Line, told: Told, held: _Growing | None) -> list[_Growing]:
    """Return what is corrected if no stretch that holds is named: an ended one, else what holds instead, if one does.

    A speaker who says of a value that already holds that it is no old one (`held`) only says it again.
    """
    if told.instead_of and held is None and not same(told.instead_of, told.value):
        ended = line.ended(told.instead_of)
        if ended is not None and not ended.wrong:
            return [ended]
    return [s for s in line.open.values() if s is not held] if line.one else []


def _not(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    known = line.named(told.value) if told.value else list(line.open.values())
    held = known if told.corrects else _not_long_before(known, told)
    if told.corrects:
        line.correct(held, at, told.num)
    else:
        line.end(held, at, RETRACTED, told.num)
    if not held and told.value and not any(s.start < at for s in known):
        line.past(told, at, RETRACTED)


def _not_long_before(held: list[_Growing], told: Told) -> list[_Growing]:
    """Return stretches that may have ended when a text says so: if said to hold long after, it tells another time."""
    return held if told.until is None else [s for s in held if told.until > s.said - AGO]


def _was(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    held = line.named(told.value)
    ended = _not_long_before(held, told)
    line.end(ended, at, SUPERSEDED, told.num)
    if not ended and any(s.start < at for s in held):  # it held then, and still does
        return
    if not ended:
        line.past(told, at, SUPERSEDED)


_STEPS = {IS: _is, NOT: _not, WAS: _was}


def _fit(pasts: Sequence[_Growing], known: Sequence[_Growing]) -> None:
    """Shorten stretches only told as past, in a slot with one value: they stand where nothing else is known."""
    rising = sorted(known, key=lambda s: s.start)
    bounds = [s.start for s in rising[:1]]
    reach, i = PAST, 0
    for past in sorted((s for s in pasts if s.start != PAST and not s.wrong), key=lambda s: s.start):
        while i < len(rising) and rising[i].start <= past.start:
            reach = max(reach, rising[i].reach)
            i += 1
        following = rising[i].start if i < len(rising) else NEVER
        start, stop = max(past.start, reach), min(past.reach, following)
        if start < stop:
            past.start, past.stop, reach = start, stop, stop
            bounds.append(start)
        else:
            past.stop = past.start
    for past in pasts:
        if past.start == PAST:
            past.stop = min([past.reach, *bounds])


def held_at(stretches: Sequence[Stretch], when: int) -> list[Stretch]:
    """Return the stretches that held then, the latest to begin first."""
    return sorted((s for s in stretches if s.holds_at(when)), key=lambda s: (-s.start, -s.told_at, s.nums[0]))
