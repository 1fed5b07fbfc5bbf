"""What held when: the states of one slot of somebody, and which memories answer a question about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What answers a question.

    Args:
        first: ids of which one has to be the first hit.
        stale: ids that are superseded (or were wrong, or are retracted) at the time that is asked for.
        needed: of each of these, one id has to be among the first hits.
        ordered: whether they have to come in this order.
    """

    first: frozenset[str]
    stale: frozenset[str] = frozenset()
    needed: tuple[frozenset[str], ...] = ()
    ordered: bool = False


@dataclass(slots=True, kw_only=True)
class State:
    """A value, in one stretch of time.

    Args:
        value: what held.
        start: from then on; `None` = told only as having been before.
        end: exclusive; `None` = it holds.
        ids: of the memories that say so, the first one made it hold.
        mentions: of other memories that hold the value: "changed from X to Y".
        wrong: whether it was corrected: it never held.
        corrects: whether it corrected another: from when on it held is not said.
    """

    value: str
    start: datetime | None
    end: datetime | None = None
    ids: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    wrong: bool = False
    corrects: bool = False

    @property
    def all(self) -> frozenset[str]:
        """Every memory that holds the value as having held."""
        return frozenset((*self.ids, *self.mentions))

    def meets(self, begin: datetime, end: datetime) -> bool:
        """Whether it held in a part of the window."""
        return self.start is not None and self.start < end and (self.end is None or self.end > begin)


@dataclass(slots=True)
class Timeline:
    """The states of one slot, in order.

    Args:
        one: whether one value holds at a time.
        states: what held.
        retraction: id of the memory that says that none holds any more; of a slot of one value.
    """

    one: bool
    states: list[State] = field(default_factory=list)
    retraction: str | None = None

    @property
    def held(self) -> list[State]:
        """Without what never did."""
        return [state for state in self.states if not state.wrong]

    @property
    def live(self) -> list[State]:
        """What holds at the end."""
        return [state for state in self.held if state.start is not None and state.end is None]

    def now(self) -> Gold | None:
        """What answers a question for how it is; `None` = nothing does."""
        live = self.live
        if not live:
            if self.retraction is None:
                return None
            said = frozenset({self.retraction})
            return Gold(first=said, stale=self._ids(self.states) - said, needed=(said,))
        return self._holding(live, self.states)

    def at(self, begin: datetime, end: datetime) -> Gold | None:
        """What answers a question for a window; `None` = it has no single answer."""
        met = [state for state in self.states if state.meets(begin, end)]
        if not met or any(state.wrong for state in met):
            return None
        if self.one:
            if len(met) > 1 or (met[0].corrects and self._begins_in(met[0], begin)):
                return None
        elif any(begin < edge < end for s in self.states for edge in (s.start, s.end) if edge is not None):
            return None
        return self._holding(met, [s for s in self.states if s.start is None or s.start < end])

    def before(self, state: State) -> Gold | None:
        """What answers what held before this state; `None` = nothing is told of."""
        held = self.held
        place = held.index(state)
        if not self.one or place == 0:
            return None
        return Gold(first=held[place - 1].all, needed=(held[place - 1].all,))

    def history(self) -> Gold | None:
        """What answers how it came to be as it is; `None` = there was one state only."""
        if len(self.held) < 2:
            return None
        needed = tuple(state.all for state in self.held)
        first = frozenset().union(*needed, {self.retraction} if self.retraction else ())
        return Gold(first=first, needed=needed, ordered=True)

    def began(self, state: State) -> Gold | None:
        """What answers when this state began; `None` = that is not told, or happened twice."""
        again = [other for other in self.held if other.value == state.value]
        if state.start is None or state.wrong or state.corrects or len(again) > 1:
            return None
        said = frozenset(state.ids[:1])
        return Gold(first=said, needed=(said,))

    def _holding(self, live: list[State], known: list[State]) -> Gold:
        values = {state.value for state in live}
        right = [state for state in self.held if state.value in values]  # one that came back was said before, too
        first = self._ids(right)
        stale = self._ids([state for state in known if state.value not in values]) - first
        return Gold(first=first, stale=stale, needed=tuple(frozenset(s.ids) for s in live))

    @staticmethod
    def _begins_in(state: State, begin: datetime) -> bool:
        return state.start is not None and state.start > begin

    @staticmethod
    def _ids(states: list[State]) -> frozenset[str]:
        return frozenset(one for state in states for one in state.ids)
