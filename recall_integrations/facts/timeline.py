"""What of one slot of one subject held when: pure, from what memories say.

    told (each with its time) ─ in order ─▶ stretches: [value, from, to), who says it, what ended it

What was told is looked at in the order in which it was told; what is to hold from a later time on, at that time
(`Told.order`). The rules:

- of a slot with one value, another value ends what held; the same value again is said again, and may tell an earlier
  `since` (after what held before it) and an `until`;
- `NOT` and `WAS` end what they name; `NOT` that names nothing, whatever holds. What had ended before is said again.
  "From … to …" tells of a time of its own, unless it held at some of that time.
  What nobody had told of held before: of a slot with one value, before all that is known, and where it has a `since`,
  only where nothing else is known. Neither ends what is told later;
- what corrects makes the value that it names wrong from its beginning, and takes its place from there on; of a slot
  with one value, where nothing such is known, the value that holds;
- of a slot with many values, a value ends only by `NOT` or `WAS`, or by being named in `instead_of`;
- who says since when is believed over what was said before of that time;
- what is to end later holds until then, and may be said again or ended before.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count

from recall_integrations.facts import values
from recall_integrations.facts.said import IS, NOT, WAS
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED, RETRACTED, SUPERSEDED

PAST = -(2**62)  # before all times: of what held before, and nobody says since when
NEVER = 2**62  # after all times
ALIKE_MAX = 64  # values that hold at once, up to which "Lisbon" is found in "Lisbon, Portugal"
AGO = 366 * 86_400_000_000  # "until March" may mean all of March, "until last year" all of that year
SPOKEN_MAX = 100  # memories that are listed as saying the same


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """What one memory says of the slot. Times are microseconds since 1970-01-01T00:00Z.

    Args:
        num: of the memory.
        place: in the memory.
        value, op, instead_of, corrects, confidence, by: as in `said.Said` and the table `facts`.
        at: time of the memory.
        since, until: where the text says so.
    """

    num: int
    place: int
    value: str
    op: str
    at: int
    instead_of: str = ""
    corrects: bool = False
    since: int | None = None
    until: int | None = None
    confidence: float = 0.9
    by: str = "rule"

    @property
    def begins(self) -> int:
        """When it began to hold, as far as anybody says."""
        return self.at if self.since is None else self.since

    @property
    def ranged(self) -> bool:
        """Whether the text says from when to when."""
        return self.since is not None and self.until is not None

    @property
    def order(self) -> tuple[int, int, int, int]:
        """What is looked at first. Who says that something holds says it of the time of saying, whenever it began."""
        return (max(self.begins, self.at) if self.op == IS else self.at, self.at, self.num, self.place)


@record(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A value, from when to when.

    Args:
        value: as it was first told.
        nums: memories that say it, in the order of their times; of one that has ended, also those that say so again.
        start: microseconds; `PAST` where it held before, and nobody says since when.
        stop: exclusive; `None` = it holds, and nobody says until when.
        told_at: when it was first told.
        ended: `superseded`, `retracted`, `corrected`; empty = nothing ends it. What only ever is told as past is
            `superseded`. It is told of what ends in the future, too: whether it holds, `holds_at` says.
        ended_by: number of the memory that ended it; `None` = none did.
        confidence, by: of the first memory.
    """

    value: str
    nums: tuple[int, ...]
    start: int
    stop: int | None = None
    told_at: int
    ended: str = ""
    ended_by: int | None = None
    confidence: float = 0.9
    by: str = "rule"

    def holds_at(self, when: int) -> bool:
        """Whether it held then."""
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
        self.before: _Growing | None = None  # what it follows and may not overlap

    @property
    def reach(self) -> int:
        """Up to when it holds, as far as is known."""
        return NEVER if self.stop is None else self.stop

    @property
    def wrong(self) -> bool:
        """Whether it never held."""
        return self.ended == CORRECTED

    def again(self, told: Told) -> None:
        """The same value is said again; the longer words stay."""
        if told.num not in self.nums[-1:] and len(self.nums) < SPOKEN_MAX:
            self.nums.append(told.num)
        if len(told.value) > len(self.value):
            self.value = told.value
        self.sure = max(self.sure, told.confidence)
        if told.op == IS:
            self.said = max(self.said, told.at)

    def follow(self, before: _Growing | None, told: Told) -> None:
        """It begins behind another; who says since when is believed over what was said before of that time."""
        while before is not None and (before.wrong or before.reach > self.start):
            if not before.wrong:
                before.end(self.start, SUPERSEDED, told.num)
                if before.reach <= self.start:
                    break
            before = before.before
        self.before = before

    def since(self, start: int) -> None:
        """It began earlier than was known, though not before what it follows had ended."""
        while self.before is not None and self.before.wrong:
            self.before = self.before.before
        self.start = min(self.start, start if self.before is None else max(start, self.before.reach))

    def end(self, at: int, why: str, by: int | None) -> None:
        """It holds no longer."""
        self.stop, self.ended, self.ended_by = max(at, self.start), why, by

    def done(self) -> Stretch:
        """As it is kept."""
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
    """Stretches as they grow.

    Args:
        one: whether one value holds at a time.
        speaking: memories that say what holds.
    """

    def __init__(self, *, one: bool, speaking: Container[int]) -> None:
        self.one, self.speaking = one, speaking
        self.now = PAST  # what is told is looked at in order: up to here
        self.open: dict[str, _Growing] = {}  # those that hold now, by the normal form of their value
        self.closed: list[_Growing] = []  # those that have ended, and those that are only told as past
        self.pasts: list[_Growing] = []  # of `closed` those that are only told as past
        self._last: dict[str, _Growing] = {}  # of `closed` the last of each value
        self._newest: _Growing | None = None  # the last that began
        self._ending: list[tuple[int, int, _Growing]] = []  # a heap: those of `open` that end later
        self._tick = count()

    def go_on(self, now: int) -> None:
        """Time goes by: what was to end by then has ended."""
        self.now = now
        while self._ending and self._ending[0][0] <= now:
            stop, _, stretch = heappop(self._ending)
            if stretch.stop == stop and self.open.get(stretch.norm) is stretch:
                self._close(stretch)

    def named(self, value: str) -> list[_Growing]:
        """Those that hold and are of this value; of very many, those that say it in the same words."""
        exact = self.open.get(values.norm(value))
        if exact is not None:
            return [exact]
        return [s for s in self.open.values() if values.same(s.value, value)] if len(self.open) <= ALIKE_MAX else []

    def ended(self, value: str) -> _Growing | None:
        """The last of this value that has ended; of many, one of the last, or one that says it in the same words."""
        exact = self._last.get(values.norm(value))
        if exact is not None:
            return exact
        return next((s for s in self.closed[: -ALIKE_MAX - 1 : -1] if values.same(s.value, value)), None)

    def _at_its_time(self, told: Told) -> _Growing | None:
        """One of the last of this value that has ended and held at some time of those that are told."""
        since, until = told.begins, told.at if told.until is None else told.until
        return next(
            (
                s
                for s in self.closed[: -ALIKE_MAX - 1 : -1]
                if not s.wrong and values.same(s.value, told.value) and s.start < until and since < s.reach
            ),
            None,
        )

    def begin(self, told: Told, start: int) -> _Growing:
        """A value begins to hold."""
        norm = values.norm(told.value)
        made = self.open[norm] = _Growing(told, norm, start)
        made.follow(self._newest if self.one else self._last.get(norm), told)
        self._newest = made
        return made

    def end(self, stretches: Iterable[_Growing], at: int, why: str, by: int | None) -> None:
        """These hold no longer, or will not from a time on that is still to come."""
        for stretch in stretches:
            stretch.end(at, why, by)
            if stretch.wrong or stretch.reach <= self.now:
                self._close(stretch)
            else:
                heappush(self._ending, (stretch.reach, next(self._tick), stretch))

    def correct(self, stretches: Iterable[_Growing], at: int, by: int) -> int:
        """These never held. From when on another takes their place; `NEVER` = from no time that they tell."""
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
        """What ended before it was told: it is said again, or, if nobody had told of it, it held before."""
        known = self._at_its_time(told) if told.ranged else self.ended(told.value)
        if known is None:
            made = _Growing(told, values.norm(told.value), PAST if told.since is None else min(told.since, at))
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
    """The stretches, in the order in which they began, equal ones by the number of their first memory.

    Args:
        told: what memories say.
        one: whether one value holds at a time.
    """
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
    """End what a value takes the place of, itself (`held`) left out; from when on it holds."""
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
    """What is corrected where nothing that holds is named: what has ended, else what holds instead, if one does.

    Who says of a value that holds already that it is no old one (`held`) only says it again.
    """
    if told.instead_of and held is None and not values.same(told.instead_of, told.value):
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
    """Those that may have ended when a text says so: of what was said to hold long after, it tells another time."""
    return held if told.until is None else [s for s in held if told.until > s.said - AGO]


def _was(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    held = line.named(told.value)
    ended = _not_long_before(held, told)
    line.end(ended, at, SUPERSEDED, told.num)
    if not ended and any(s.start < at for s in held):  # it held then, and does
        return
    if not ended:
        line.past(told, at, SUPERSEDED)


_STEPS = {IS: _is, NOT: _not, WAS: _was}


def _fit(pasts: Sequence[_Growing], known: Sequence[_Growing]) -> None:
    """Of a slot with one value, what is only told as past gives way: it stands where nothing else is known."""
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
    """Those that held then, the latest to begin first."""
    return sorted((s for s in stretches if s.holds_at(when)), key=lambda s: (-s.start, -s.told_at, s.nums[0]))
