"""Arguments of every bridge: a store, or an optimizer over one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import tzinfo
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from recall_integrations.adapters.shapes import DATED, format_of
from recall_integrations.delivery.explanation import SURE
from recall_integrations.errors import InvalidArgument, InvalidScope
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope, checked_scope

if TYPE_CHECKING:
    from recall_integrations.types import Hit

LINE_CHARS_MAX, CHARS_MAX = 2_000, 12_000  # of a memory, and of all of an answer, that a model is shown
# `recall bench everyday`: .15 keeps 98 % of the right first hits and answers 6 % of small talk, .3 keeps 92 % and
# answers none.
SCORE_MIN = 0.15

WhichScope = Scope | Callable[[], Scope] | None
dated = format_of(DATED)


def optimizer_of(store_or_optimizer: Any) -> QueryOptimizer:
    """Return the optimizer that was given, or one over the store that was given."""
    if isinstance(store_or_optimizer, QueryOptimizer):
        return store_or_optimizer
    if isinstance(store_or_optimizer, MemoryStore):
        return QueryOptimizer(store_or_optimizer)
    raise InvalidArgument(
        f"Give a MemoryStore or a QueryOptimizer, not {type(store_or_optimizer).__name__}: MemoryStore.open(path)."
    )


def scope_now(scope: WhichScope) -> Scope:
    """Return the scope; for a function, the scope that it returns now.

    `None` from a function is no scope: an unknown user must not get the memories of the default scope.
    """
    if not callable(scope):
        return checked_scope(scope)
    found = scope()
    if found is None:
        raise InvalidScope("The function that was given as scope returned None. Return Scope(user_id=...), or raise.")
    return checked_scope(found)


def said(hit: Hit, zone: tzinfo, *, with_id: bool = True) -> str:
    """Write a hit as a line for a model: date, actor and text, cut after `LINE_CHARS_MAX`; then its id and doubts."""
    line = dated(hit, zone)
    if (more := len(line) - LINE_CHARS_MAX) > 0:
        line = f"{line[:LINE_CHARS_MAX]} … ({more:,} characters more)"
    notes = [f"id: {hit.memory.id}"] if with_id else []
    notes += ["unsure"] if hit.score < SURE else []
    if hit.superseded_by is not None:  # a model would take it for true
        ended = "" if hit.valid_to is None else f"{hit.valid_to.astimezone(zone):%Y-%m-%d}"
        if with_id:
            until = f"until {ended}, " if ended else ""
            notes.append(f"no longer so: {until}superseded by {hit.superseded_by}")
        else:
            notes.append(f"no longer so since {ended}" if ended else "no longer so")
    return f"{line} ({'; '.join(notes)})" if notes else line


def within_chars(lines: Sequence[str]) -> list[str]:
    """Return the first lines that have `CHARS_MAX` characters together, and a line that counts the others."""
    kept = bisect_right([*accumulate(len(line) + 1 for line in lines)], CHARS_MAX)
    left = len(lines) - kept
    return [*lines[:kept], *([f"({left} more are left out: {CHARS_MAX:,} characters at most.)"] if left else ())]


def score_min_of(optimizer: QueryOptimizer, given: float | None) -> float:
    """Return the least score of what a model is shown: the given one, else the setting, else `SCORE_MIN`."""
    return given if given is not None else optimizer.config.ranking.score_min or SCORE_MIN


def zone_of(optimizer: QueryOptimizer) -> tzinfo:
    """Return the time zone of dates."""
    return ZoneInfo(optimizer.config.timezone)
