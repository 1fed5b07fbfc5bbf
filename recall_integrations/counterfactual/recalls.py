"""Recalls without some parts, beside the recall with all of them.

Everything else stays as it is: the same store, the same settings, the same moment. The time read from the query and
the filters are left out by not giving them, arms by not asking them, evidence by subtracting its terms from the sum.
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


@record(frozen=True, slots=True, kw_only=True)
class Move:
    """The place of a memory with all parts, and without those left out."""

    id: str
    before: int | None
    after: int | None
    hit_before: bool  # whether it is one of the hits
    hit_after: bool
    score_before: float | None  # score of the hit; `None` where it is none
    score_after: float | None

    @property
    def moved(self) -> bool:
        """True if the memory has another place."""
        return (self.before, self.hit_before) != (self.after, self.hit_after)


@record(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A recall without some parts."""

    parts: tuple[Part, ...]  # the parts left out
    result: RecallResult | None  # the result; `None` = there was no time left for it
    # Every memory that is a hit with or without the parts, in the order of the places before.
    moves: tuple[Move, ...] = ()

    @property
    def label(self) -> str:
        """Names of the parts left out, for people."""
        return ", ".join(part.label for part in self.parts)

    @property
    def effect(self) -> float:
        """Share of the answer that depends on the parts: 0 = nothing, 1 = all. Places count for 1 / log2(1 + place)."""
        before = [move for move in self.moves if move.hit_before]
        if not before:
            return float(bool(self.moves))
        lost = sum(max(0.0, _worth(m.before) - (_worth(m.after) if m.hit_after else 0.0)) for m in before)
        return round(lost / sum(_worth(m.before) for m in before), 6)

    @property
    def summary(self) -> str:
        """The changes, in words."""
        if self.result is None:
            return "not tried: there was no time left"
        gone = sum(move.hit_before and not move.hit_after for move in self.moves)
        come = sum(move.hit_after and not move.hit_before for move in self.moves)
        shifted = sum(move.moved and move.hit_before and move.hit_after for move in self.moves)
        if not (gone or come or shifted):
            return "nothing changes"
        said = [
            f"{count} {verb[count != 1]}"
            for count, verb in (
                (gone, ("hit leaves", "hits leave")),
                (come, ("comes in", "come in")),
                (shifted, ("changes place", "change places")),
            )
            if count
        ]
        before = next((move.id for move in self.moves if move.hit_before and move.before == 1), None)
        after = next((move.id for move in self.moves if move.hit_after and move.after == 1), None)
        said.append("the first stays first" if before == after else "another comes first" if after else "none is left")
        return ", ".join(said)


@record(frozen=True, slots=True, kw_only=True)
class Counterfactuals:
    """A recall, and the same recall without some of its parts."""

    whole: RecallResult  # the recall with all parts
    parts: tuple[Part, ...]  # the parts that can be left out: those with an effect on it
    without: tuple[LeftOut, ...]  # a recall for each list of parts left out, in the order of the request


def counterfactuals(
    optimizer: QueryOptimizer,
    query: str,
    *,
    leave_out: Sequence[Sequence[str]] | None = None,
    budget_ms: float = BUDGET_MS,
    **asked: Any,
) -> Counterfactuals:
    """Recall with all parts, and again with fewer."""
    began = time.monotonic()
    trial = _Trial(optimizer, query, asked, lambda: budget_ms - (time.monotonic() - began) * 1e3)
    wanted = None if leave_out is None else [trial.parts(keys) for keys in leave_out]
    whole, places = trial.recalled(())
    known = parts_of(optimizer, whole, asked.get("scope"), filtered=bool(asked.get("filters")))
    without = [trial.left_out(parts, whole, places) for parts in ([(p,) for p in known] if wanted is None else wanted)]
    return Counterfactuals(whole=whole, parts=known, without=tuple(without))


def parts_of(
    optimizer: QueryOptimizer, result: RecallResult, scope: ScopeLike | None = None, *, filtered: bool = False
) -> tuple[Part, ...]:
    """Return the parts that can be left out: arms asked, evidence that counted in a hit, rules that applied."""
    ranker = optimizer.ranker or resolve_ranker(optimizer.config_of(scope).ranking)
    return acting(result, known_of(ranker), filtered=filtered, weighed=_is_sum(ranker))


def _is_sum(ranker: Ranker | None) -> bool:
    """Say whether a ranker's order is a sum of features, so that one can be left out."""
    return ranker is not None and ranker.name != "trees"


class _Trial:
    """One query, asked again and again with fewer parts."""

    def __init__(
        self, optimizer: QueryOptimizer, query: str, asked: dict[str, Any], remaining_ms: Callable[[], float]
    ) -> None:
        self._optimizer, self._query, self._asked = optimizer, query, dict(asked)
        self._remaining_ms = remaining_ms
        self._config = optimizer.config_of(asked.get("scope"))
        self._ranker: Ranker | None = optimizer.ranker or resolve_ranker(self._config.ranking)
        self._features = known_of(self._ranker)
        self._took_ms = 0.0

    def parts(self, keys: Iterable[str]) -> tuple[Part, ...]:
        """Find the parts to leave out together."""
        found = tuple(dict.fromkeys(part_of(key, self._features, self._optimizer.arms) for key in keys))
        if not _is_sum(self._ranker) and any(part.kind == FEATURE for part in found):
            raise InvalidArgument(
                "Nothing can be taken out of an order that is no sum of features (ranking.strategy). Leave out arms "
                "and rules."
            )
        return found

    def recalled(self, parts: tuple[Part, ...]) -> tuple[RecallResult, dict[str, int]]:
        """Recall without some parts; return the result, and the places of its candidates."""
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
        """Recall without some parts, and compare with the whole; without a result where there is no time for it."""
        if self._remaining_ms() < self._took_ms:
            return LeftOut(parts=parts, result=None)
        result, own = self.recalled(parts)
        return LeftOut(parts=parts, result=result, moves=tuple(_moves(whole, result, places, own)))


def _moves(whole: RecallResult, less: RecallResult, before: dict[str, int], after: dict[str, int]) -> Iterable[Move]:
    """Yield the places of each hit of either recall in both."""
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
