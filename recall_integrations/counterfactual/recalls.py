"""Recalls with something left out, beside the recall with everything in it.

    found = counterfactuals(optimizer, "who manages Sam?", scope=Scope(user_id="u1"))
    for one in found.without:
        print(one.label, one.summary)

Everything else stays as it is: the same store, the same settings, the same moment. The time read from the query and
the filters are left out by not giving them, arms by not asking them, evidence by taking what it added out of the sum.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recall_integrations.counterfactual.leaving_out import Places, Unplanned, Unread, Without, settings
from recall_integrations.counterfactual.parts import ARM, FEATURE, RULE, Part, acting, members, names, part_of
from recall_integrations.errors import InvalidArgument
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.ranking.rankers.feature_sum import Ranker, known_of
from recall_integrations.records import record
from recall_integrations.types import RecallResult, ScopeLike
from recall_integrations.types.numbers import is_number

BUDGET_MS = 5_000.0
PARTS_MAX = 64  # recalls of one call, besides the whole one
_ARGUMENTS = frozenset(
    {
        "k",
        "scope",
        "filters",
        "now",
        "time_budget_ms",
        "tokens_max",
        "privacy",
        "window",
        "timezone",
        "score_min",
        "as_of",
    }
)


@record(frozen=True, slots=True, kw_only=True)
class Move:
    """Where a memory stands with everything, and without what was left out.

    Args:
        id: of the memory.
        before, after: its place among the hits, counted from 1; beyond them its place among the candidates, as far as
            the first 200; `None` = it is no candidate.
        hit_before, hit_after: whether it is one of the hits.
        score_before, score_after: of the hit; `None` where it is none.
    """

    id: str
    before: int | None
    after: int | None
    hit_before: bool
    hit_after: bool
    score_before: float | None
    score_after: float | None

    @property
    def moved(self) -> bool:
        """Whether it stands elsewhere."""
        return (self.before, self.hit_before) != (self.after, self.hit_after)


@record(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A recall with something left out.

    Args:
        parts: what was left out.
        result: what was returned; `None` = there was no time left for it.
        moves: every memory that is a hit with everything or without, in the order of the places before.
    """

    parts: tuple[Part, ...]
    result: RecallResult | None
    moves: tuple[Move, ...] = ()

    @property
    def label(self) -> str:
        """What was left out, as people call it."""
        return ", ".join(part.label for part in self.parts)

    @property
    def gone(self) -> int:
        """How many hits are none any more."""
        return sum(move.hit_before and not move.hit_after for move in self.moves)

    @property
    def come(self) -> int:
        """How many hits were none before."""
        return sum(move.hit_after and not move.hit_before for move in self.moves)

    @property
    def shifted(self) -> int:
        """How many hits are at another place."""
        return sum(move.moved and move.hit_before and move.hit_after for move in self.moves)

    @property
    def effect(self) -> float:
        """How much of the answer hangs on it: 0 = nothing, 1 = all. Places count for 1 / log2(1 + place)."""
        every = [move.before for move in self.moves if move.hit_before and move.before is not None]
        if not every:
            return 1.0 if self.come else 0.0
        lost = sum(
            max(0.0, _worth(m.before) - (_worth(m.after) if m.hit_after else 0.0)) for m in self.moves if m.hit_before
        )
        return round(lost / sum(map(_worth, every)), 6)

    @property
    def summary(self) -> str:
        """What changes, in words."""
        if self.result is None:
            return "not tried: there was no time left"
        before, after = _first(self.moves, after=False), _first(self.moves, after=True)
        if not (self.gone or self.come or self.shifted):
            return "nothing changes"
        said = [
            f"{count} {verb[count != 1]}"
            for count, verb in (
                (self.gone, ("hit leaves", "hits leave")),
                (self.come, ("comes in", "come in")),
                (self.shifted, ("changes place", "change places")),
            )
            if count
        ]
        said.append("the first stays first" if before == after else "another comes first" if after else "none is left")
        return ", ".join(said)


@record(frozen=True, slots=True, kw_only=True)
class Counterfactuals:
    """What a recall returns, and what it would have.

    Args:
        whole: the recall with everything.
        parts: what can be left out of it: whatever had a hand in it.
        without: a recall for each thing that was left out, in the order in which they were asked for.
        took_ms: all of them together.
    """

    whole: RecallResult
    parts: tuple[Part, ...]
    without: tuple[LeftOut, ...]
    took_ms: float

    @property
    def not_reached(self) -> tuple[LeftOut, ...]:
        """Those that there was no time for."""
        return tuple(one for one in self.without if one.result is None)


def counterfactuals(
    optimizer: QueryOptimizer,
    query: str,
    *,
    leave_out: Sequence[str | Sequence[str]] | None = None,
    budget_ms: float = BUDGET_MS,
    **asked: Any,
) -> Counterfactuals:
    """Recall a query, and again without each of its parts. Observers of the optimizer are told of none of it.

    Args:
        optimizer: whose recalls they are.
        query: the question.
        leave_out: keys of what to leave out (`arm:lexical`, `feature:words`, `rule:time`, docs/page.md); those in a
            list of their own are left out together. Default: each part that had a hand in the recall, by itself.
        budget_ms: for all of them together. Those that it does not suffice for are there without a result.
        asked: arguments of `QueryOptimizer.recall`: k, scope, filters, now, time_budget_ms, tokens_max, privacy,
            window, timezone, score_min, as_of.

    Raises:
        InvalidArgument: there is no such part, too many are given, or an argument has no meaning here.
        RecallError: what `QueryOptimizer.recall` raises.
    """
    began = time.monotonic()
    if unknown := sorted(set(asked) - _ARGUMENTS):
        raise InvalidArgument(f"{unknown[0]!r} has no meaning here. Known: {', '.join(sorted(_ARGUMENTS))}.")
    if not is_number(budget_ms) or not 1 <= budget_ms < math.inf:
        raise InvalidArgument(f"budget_ms must be a number of at least 1, not {budget_ms!r}.")
    trial = _Trial(optimizer, query, asked, lambda: budget_ms - (time.monotonic() - began) * 1e3)
    wanted = None if leave_out is None else [trial.parts(one) for one in _listed(leave_out)]
    whole, places = trial.recalled(())
    known = trial.acting(whole)
    without = [trial.left_out(parts, whole, places) for parts in ([(p,) for p in known] if wanted is None else wanted)]
    took = (time.monotonic() - began) * 1e3
    return Counterfactuals(whole=whole, parts=known, without=tuple(without), took_ms=round(took, 3))


def parts_of(
    optimizer: QueryOptimizer, result: RecallResult, scope: ScopeLike | None = None, *, filtered: bool = False
) -> tuple[Part, ...]:
    """What can be left out of a recall: arms that were asked, evidence that counted in a hit, rules that applied.

    Args:
        optimizer: whose recall it is.
        result: of it.
        scope: that was searched.
        filtered: whether it was asked with filters.
    """
    ranker = optimizer.ranker or resolve_ranker(optimizer.config_of(scope).ranking)
    return acting(result, known_of(ranker), filtered=filtered, weighed=_is_sum(ranker))


def _is_sum(ranker: Ranker | None) -> bool:
    """Whether its order is a sum of features, so that one can be taken out of it."""
    return ranker is not None and ranker.name != "trees"


class _Trial:
    """One query, asked again and again with less.

    Args:
        optimizer: of `counterfactuals`, as `query` and `asked`.
        remaining_ms: of the budget.
    """

    def __init__(
        self, optimizer: QueryOptimizer, query: str, asked: dict[str, Any], remaining_ms: Callable[[], float]
    ) -> None:
        self._optimizer, self._query, self._asked = optimizer, query, dict(asked)
        self._remaining_ms = remaining_ms
        self._config = optimizer.config_of(asked.get("scope"))
        self._ranker: Ranker | None = optimizer.ranker or resolve_ranker(self._config.ranking)
        self._features = known_of(self._ranker)
        self._weighed = _is_sum(self._ranker)
        self._took_ms = 0.0

    def parts(self, keys: Iterable[str]) -> tuple[Part, ...]:
        """What is to be left out together."""
        found = tuple(dict.fromkeys(part_of(key, self._features, self._optimizer.arms) for key in keys))
        if not self._weighed and any(part.kind == FEATURE for part in found):
            raise InvalidArgument(
                "Nothing can be taken out of an order that is no sum of features (ranking.strategy). Leave out arms "
                "and rules."
            )
        return found

    def acting(self, whole: RecallResult) -> tuple[Part, ...]:
        """What had a hand in the whole recall."""
        filters = self._asked.get("filters")
        return acting(whole, self._features, filtered=bool(filters), weighed=self._weighed)

    def recalled(self, parts: tuple[Part, ...]) -> tuple[RecallResult, dict[str, int]]:
        """The recall without some parts, and the places of its candidates."""
        arms, rules = names(parts, ARM), names(parts, RULE)
        gone = [name for part in parts if part.kind == FEATURE for name in members(part.name, self._features)]
        places, own = Places(), self._optimizer.ranker is not None
        other = self._optimizer.varied(
            config=settings(self._config, arms, rules),
            ranker=Without(self._ranker, gone, may_hang=own) if gone and self._ranker is not None else None,
            stages=(Unread(rules), Unplanned(arms, rules), places),
        )
        asked = dict(self._asked)
        if "filters" in rules:
            asked.pop("filters", None)
        if "time" in rules:
            asked["window"] = False
        own_ms = asked.get("time_budget_ms", self._config.limits.time_budget_ms)
        if self._took_ms and is_number(own_ms):
            asked["time_budget_ms"] = max(1.0, min(own_ms, self._remaining_ms()))
        result = other.recall(self._query, **asked)
        if "now" not in asked or asked["now"] is None:
            self._asked["now"] = result.query.now  # the same moment for all
        self._took_ms = self._took_ms or result.timings_ms["total"]
        return result, places.of

    def left_out(self, parts: tuple[Part, ...], whole: RecallResult, places: dict[str, int]) -> LeftOut:
        """The recall without some parts beside the whole one; without a result where there is no time for it."""
        if self._remaining_ms() < self._took_ms:
            return LeftOut(parts=parts, result=None)
        result, own = self.recalled(parts)
        return LeftOut(parts=parts, result=result, moves=tuple(_moves(whole, result, places, own)))


def _listed(leave_out: Sequence[str | Sequence[str]]) -> list[list[str]]:
    if isinstance(leave_out, str):
        raise InvalidArgument(f"leave_out must be a list of keys, not {leave_out!r}: leave_out=[{leave_out!r}].")
    if len(leave_out) > PARTS_MAX:
        raise InvalidArgument(f"At most {PARTS_MAX} things can be left out in one call, not {len(leave_out)}.")
    listed = [[one] if isinstance(one, str) else list(one) for one in leave_out]
    for keys in listed:
        if not keys or len(keys) > PARTS_MAX or not all(isinstance(key, str) for key in keys):
            raise InvalidArgument(f"What is left out together must be 1 to {PARTS_MAX} keys, not {keys!r:.80}.")
    return listed


def _moves(whole: RecallResult, less: RecallResult, before: dict[str, int], after: dict[str, int]) -> Iterable[Move]:
    """Of each hit of either where it stands in both."""
    old = {str(hit.memory.id): (place, hit.score) for place, hit in enumerate(whole.hits, start=1)}
    new = {str(hit.memory.id): (place, hit.score) for place, hit in enumerate(less.hits, start=1)}
    for key in dict.fromkeys((*old, *new)):
        yield Move(
            id=key,
            before=old[key][0] if key in old else before.get(key),
            after=new[key][0] if key in new else after.get(key),
            hit_before=key in old,
            hit_after=key in new,
            score_before=old[key][1] if key in old else None,
            score_after=new[key][1] if key in new else None,
        )


def _worth(place: int | None) -> float:
    return 0.0 if place is None else 1 / math.log2(1 + place)


def _first(moves: Iterable[Move], *, after: bool) -> str | None:
    """The id of the first hit."""
    for move in moves:
        if (move.after == 1 and move.hit_after) if after else (move.before == 1 and move.hit_before):
            return move.id
    return None
