"""Arguments of every bridge: a store, or an optimizer over one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from recall_integrations.adapters.shapes import DATED, format_of
from recall_integrations.errors import InvalidArgument, InvalidScope
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope, checked_scope

if TYPE_CHECKING:
    from recall_integrations.types import Hit

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


def said(hit: Hit, zone: tzinfo) -> str:
    """Write a hit as a line for a model: date, actor, and text; the id last, so that it can be forgotten."""
    return f"{dated(hit, zone)} (id: {hit.memory.id}{_over(hit, zone)})"


def _over(hit: Hit, zone: tzinfo) -> str:
    """Say that another memory has superseded a hit: a model would take it for true. Empty if none has."""
    if hit.superseded_by is None:
        return ""
    until = "" if hit.valid_to is None else f"until {hit.valid_to.astimezone(zone):%Y-%m-%d}, "
    return f"; no longer so: {until}superseded by {hit.superseded_by}"


def zone_of(optimizer: QueryOptimizer) -> tzinfo:
    """Return the time zone of dates."""
    return ZoneInfo(optimizer.config.timezone)
