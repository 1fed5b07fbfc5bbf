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


class _Growing:
    """A stretch while it grows."""

    __slots__ = ("ended", "ended_by", "first", "norm", "nums", "start", "stop", "sure", "value")

    def __init__(self, told: Told, norm: str, start: int) -> None:
        self.first, self.norm, self.start = told, norm, start
        self.value, self.nums, self.sure = told.value, [told.num], told.confidence
        self.stop: int | None = None
        self.ended = ""
        self.ended_by: int | None = None

    def again(self, told: Told) -> None:
        """The same value is said again; the longer words stay."""
        if told.num not in self.nums[-1:] and len(self.nums) < SPOKEN_MAX:
            self.nums.append(told.num)
        if len(told.value) > len(self.value):
            self.value = told.value
        self.sure = max(self.sure, told.confidence)

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
    """Stretches as they grow: those that hold by the normal form of their value, and those that have ended."""

    def __init__(self, *, one: bool) -> None:
        self.one = one
        self.open: dict[str, _Growing] = {}
        self.closed: list[_Growing] = []

    def named(self, value: str) -> list[_Growing]:
        """Those that hold and are of this value; of very many, those that say it in the same words."""
        exact = self.open.get(values.norm(value))
        if exact is not None:
            return [exact]
        return [s for s in self.open.values() if values.same(s.value, value)] if len(self.open) <= ALIKE_MAX else []

    def begin(self, told: Told, start: int) -> _Growing:
        """A value begins to hold."""
        norm = values.norm(told.value)
        made = self.open[norm] = _Growing(told, norm, start)
        return made

    def end(self, stretches: Sequence[_Growing], at: int, why: str, by: int) -> Sequence[_Growing]:
        """These hold no longer."""
        for stretch in stretches:
            del self.open[stretch.norm]
            stretch.end(at, why, by)
            self.closed.append(stretch)
        return stretches

    def past(self, told: Told, stop: int, why: str) -> None:
        """What held before, and nobody had told of."""
        made = _Growing(told, "", PAST if told.since is None else min(told.since, stop))
        made.end(stop, why, None)
        self.closed.append(made)


def timeline(told: Iterable[Told], *, one: bool) -> tuple[Stretch, ...]:
    """The stretches, in the order in which they began, equal ones by the number of their first memory.

    Args:
        told: what memories say.
        one: whether one value holds at a time.
    """
    line = _Line(one=one)
    for each in sorted(told, key=lambda t: t.order):
        _STEPS[each.op](line, each)
    found = [*line.closed, *line.open.values()]
    found.sort(key=lambda s: (s.start, s.first.at, s.nums[0]))
    return tuple(s.done() for s in found)


def _is(line: _Line, told: Told) -> None:
    start = told.begins
    again = line.named(told.value)
    if again:
        again[0].again(told)
        return
    if told.corrects:
        wrong = line.named(told.instead_of) if told.instead_of else []
        if not wrong and line.open:
            wrong = [max(line.open.values(), key=lambda s: (s.start, s.nums[0]))]
        line.end(wrong, start, CORRECTED, told.num)
        start = min([start, *(s.start for s in wrong)])
    elif told.instead_of:
        line.end(line.named(told.instead_of), start, SUPERSEDED, told.num)
    if line.one:
        line.end(list(line.open.values()), start, SUPERSEDED, told.num)
    made = line.begin(told, start)
    if told.until is not None and told.until > start:
        del line.open[made.norm]
        made.stop, made.ended = told.until, SUPERSEDED
        line.closed.append(made)


def _not(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    held = line.named(told.value) if told.value else list(line.open.values())
    ended = line.end(held, at, CORRECTED if told.corrects else RETRACTED, told.num)
    if not ended and told.value:  # nobody had told of it: it held before
        line.past(told, at, RETRACTED)


def _was(line: _Line, told: Told) -> None:
    at = told.at if told.until is None else told.until
    if any(values.same(s.value, told.value) for s in line.closed[-ALIKE_MAX:]):
        return
    if not line.end(line.named(told.value), at, SUPERSEDED, told.num):
        after = [s.start for s in line.open.values() if line.one]
        line.past(told, min([at, *after]), SUPERSEDED)


_STEPS = {IS: _is, NOT: _not, WAS: _was}


def held_at(stretches: Sequence[Stretch], when: int) -> list[Stretch]:
    """Those that held then, the latest to begin first."""
    return sorted((s for s in stretches if s.holds_at(when)), key=lambda s: (-s.start, -s.told_at, s.nums[0]))
