"""What of one slot of one subject held when: pure, from what memories say.

    told (each with its time) ─ in order ─▶ stretches: [value, from, to), who says it, what ended it

What was told is looked at in the order in which it was told; what is to hold from a later time on, at that time
(`Told.order`). The rules:

- of a slot with one value, another value ends what held; the same value again is said again;
- `NOT` ends what it names, or, if it names nothing, whatever holds;
- `WAS` held before it was told, or before `until`; it ends nothing that was told later;
- what corrects (`corrects`, `instead_of` that is corrected) makes the value before it wrong from its beginning, and
  takes its place from there on;
- of a slot with many values, a value ends only by `NOT`, or by being named in `instead_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from recall_integrations.facts import values
from recall_integrations.facts.said import IS, NOT, WAS
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED, RETRACTED, SUPERSEDED

PAST = -(2**62)  # before all times: of what held before, and nobody says since when
ALIKE_MAX = 64  # values that hold at once, up to which "Lisbon" is found in "Lisbon, Portugal"
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
    def order(self) -> tuple[int, int, int, int]:
        """What is looked at first. Who says that something holds says it of the time of saying, whenever it began."""
        return (max(self.begins, self.at) if self.op == IS else self.at, self.at, self.num, self.place)


@record(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A value, from when to when.

    Args:
        value: as it was first told.
        nums: memories that say it, in the order of their times.
        start: microseconds; `PAST` where it held before, and nobody says since when.
        stop: exclusive; `None` = it holds.
        told_at: when it was first told.
        ended: `superseded`, `retracted`, `corrected`; empty = it holds. What only ever is told as past is `superseded`.
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


@record(slots=True, kw_only=True)
class _Line:
    """Stretches as they grow."""

    one: bool
    open: dict[str, Stretch] = field(default_factory=dict)  # by the normal form of the value
    closed: list[Stretch] = field(default_factory=list)

    def named(self, value: str) -> list[Stretch]:
        """Those that hold and are of this value; of very many, those that say it in the same words."""
        exact = self.open.get(values.norm(value))
        if exact is not None:
            return [exact]
        return [s for s in self.open.values() if values.same(s.value, value)] if len(self.open) <= ALIKE_MAX else []

    def begin(self, stretch: Stretch) -> None:
        self.open[values.norm(stretch.value)] = stretch

    def end(self, stretch: Stretch, at: int, why: str, by: int) -> None:
        del self.open[values.norm(stretch.value)]
        self.closed.append(replace(stretch, stop=max(at, stretch.start), ended=why, ended_by=by))

    def end_named(self, value: str, at: int, why: str, by: int) -> list[Stretch]:
        """End those of this value, or all where it is empty; what was ended."""
        named = self.named(value) if value else list(self.open.values())
        for stretch in named:
            self.end(stretch, at, why, by)
        return named


def timeline(told: Iterable[Told], *, one: bool) -> tuple[Stretch, ...]:
    """The stretches, in the order in which they began, equal ones by the number of their first memory.

    Args:
        told: what memories say.
        one: whether one value holds at a time.
    """
    line = _Line(one=one)
    for each in sorted(told, key=lambda t: t.order):
        _STEPS[each.op](line, each)
    return tuple(sorted((*line.closed, *line.open.values()), key=lambda s: (s.start, s.told_at, s.nums[0])))


def _is(line: _Line, told: Told) -> None:
    start = told.begins
    again = next(iter(line.named(told.value)), None)
    if again is not None:
        del line.open[values.norm(again.value)]
        nums = again.nums if told.num in again.nums else (*again.nums, told.num)[:SPOKEN_MAX]
        longer = told.value if len(told.value) > len(again.value) else again.value
        line.begin(replace(again, nums=nums, value=longer, confidence=max(again.confidence, told.confidence)))
        return
    if told.corrects:
        wrong = line.end_named(told.instead_of, start, CORRECTED, told.num)
        if not wrong and line.open:
            latest = max(line.open.values(), key=lambda s: (s.start, s.nums[0]))
            line.end(latest, start, CORRECTED, told.num)
            wrong = [latest]
        start = min([start, *(s.start for s in wrong)])
    elif told.instead_of:
        line.end_named(told.instead_of, start, SUPERSEDED, told.num)
    if line.one:
        line.end_named("", start, SUPERSEDED, told.num)
    stop = told.until
    made = Stretch(
        value=told.value,
        nums=(told.num,),
        start=start,
        told_at=told.at,
        confidence=told.confidence,
        by=told.by,
    )
    if stop is not None and stop > start:
        line.closed.append(replace(made, stop=stop, ended=SUPERSEDED))
    else:
        line.begin(made)


def _not(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    ended = line.end_named(told.value, at, CORRECTED if told.corrects else RETRACTED, told.num)
    if not ended and told.value:  # nobody had told of it: it held before
        line.closed.append(_past(told, at, RETRACTED))


def _was(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    if any(values.same(s.value, told.value) for s in line.closed[-ALIKE_MAX:]):
        return
    held = line.end_named(told.value, at, SUPERSEDED, told.num)
    if not held:
        after = [s.start for s in line.open.values() if line.one]
        line.closed.append(_past(told, min([at, *after]), SUPERSEDED))


def _past(told: Told, stop: int, why: str) -> Stretch:
    start = PAST if told.since is None else min(told.since, stop)
    return Stretch(
        value=told.value,
        nums=(told.num,),
        start=start,
        stop=stop,
        told_at=told.at,
        ended=why,
        ended_by=None,
        confidence=told.confidence,
        by=told.by,
    )


_STEPS = {IS: _is, NOT: _not, WAS: _was}


def held_at(stretches: Sequence[Stretch], when: int) -> list[Stretch]:
    """Those that held then, the latest to begin first."""
    return sorted((s for s in stretches if s.holds_at(when)), key=lambda s: (-s.start, -s.told_at, s.nums[0]))
