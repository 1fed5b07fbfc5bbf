"""The hard conditions on hits. `store/filtering.py` applies each to the rows of a scope."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from recall_integrations.errors import InvalidFilter, refuse_unknown
from recall_integrations.records import record
from recall_integrations.types.memory import MemoryType, checked_role, checked_time, checked_type, listed, names_of
from recall_integrations.types.numbers import is_number, real, shown, whole
from recall_integrations.types.roles import Role

if TYPE_CHECKING:
    from recall_integrations.types.conditions import Condition

KEYS_MAX = 100  # keys of metadata, side by side: more are a mistake


def _read(given: Mapping[Any, Any]) -> tuple[dict[str, Any], Condition | None]:
    """Return a copy of what was given, as Python's own values where they are plain ones, and its condition."""
    if len(given) > KEYS_MAX:
        raise InvalidFilter(
            f"Filters.metadata has {len(given):,} keys; the limit is {KEYS_MAX:,}. Filter by fewer keys, and compare "
            "the rest in what comes back."
        )
    if not given:
        return {}, None
    from recall_integrations.types.conditions import conditions_of  # who filters by no metadata loads none of it

    condition = conditions_of(given)
    return {key: _plain(value) for key, value in given.items()}, condition


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.bool_ | np.floating) else whole(value)


@record(frozen=True, slots=True, kw_only=True)
class Filters:
    """Hard conditions that every hit must meet. Several fields are combined with *and*, items of one with *or*.

    Args:
        types: memory types.
        entities: names or aliases; a memory must mention at least one.
        actors: who said or did it, whatever the case of the letters.
        roles: roles of the actor in a conversation with an assistant: `Role`s or their names.
        channels: where it was said.
        threads: conversations or documents.
        after: `event_at` (or `created_at` where there is none) at or after this time.
        before: `event_at` (or `created_at`) strictly before this time.
        recency_days: not older than this many days before `now`; may be fractional.
        current_only: leave out memories that tell of slots, if all of it had ended by `as_of` or `now` (docs/facts.md).
        metadata: keys of the metadata with the value that they must have, or with conditions: `{"year": {"$gte": 2020},
            "$or": [{"source": "wiki"}, {"tags": {"$contains": "draft"}}]}` (docs/filters.md).

    Raises:
        InvalidFilter: a field cannot be applied.
    """

    types: tuple[MemoryType, ...] = ()
    entities: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    channels: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    recency_days: float | None = None
    current_only: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # The condition of `metadata`, or `None`. Models of pydantic look into types, and would not find `Condition`.
    condition: Any = field(default=None, init=False, repr=False, compare=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            types: Sequence[MemoryType | str] | str = (),
            entities: Sequence[str] = (),
            actors: Sequence[str] = (),
            roles: Sequence[Role | str] | str = (),
            channels: Sequence[str] = (),
            threads: Sequence[str] = (),
            after: datetime | None = None,
            before: datetime | None = None,
            recency_days: float | None = None,
            current_only: bool = False,
            metadata: Mapping[str, Any] = ...,
        ) -> None: ...

    else:

        def __new__(cls, *_given: Any, **named: Any) -> Filters:
            refuse_unknown("Filters", named, _NAMES, "metadata={...}")
            return object.__new__(cls)

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, what in (("types", "memory types"), ("roles", "roles")):
            given: object = getattr(self, name)
            if not isinstance(given, str | Sequence | set | frozenset):
                raise InvalidFilter(f"Filters.{name} must be a list of {what}, not {type(given).__name__}.")
        roles = (checked_role(r, "An item of Filters.roles", InvalidFilter) for r in listed(self.roles))
        put(self, "types", tuple(dict.fromkeys(checked_type(t, InvalidFilter) for t in listed(self.types))))
        put(self, "roles", tuple(dict.fromkeys(roles)))
        for name in ("entities", "actors", "channels", "threads"):
            put(self, name, names_of(getattr(self, name), f"Filters.{name}", InvalidFilter))
        for name in ("after", "before"):
            if getattr(self, name) is not None:
                checked_time(getattr(self, name), f"Filters.{name}", InvalidFilter)
        if self.after is not None and self.before is not None and self.after >= self.before:
            raise InvalidFilter("Filters.after must lie before Filters.before; nothing could match.")
        days = real(self.recency_days)
        if days is not None and (not is_number(days) or not 0 < days < math.inf):
            raise InvalidFilter(f"Filters.recency_days must be a positive number, not {shown(self.recency_days)}.")
        put(self, "recency_days", days)
        if not isinstance(self.current_only, bool):
            raise InvalidFilter(f"Filters.current_only must be true or false, not {shown(self.current_only)}.")
        if not isinstance(self.metadata, Mapping):
            raise InvalidFilter(f"Filters.metadata must be a mapping, not {type(self.metadata).__name__}.")
        metadata, condition = _read(self.metadata)
        put(self, "metadata", metadata)
        put(self, "condition", condition)

    def __bool__(self) -> bool:
        lists = (self.types, self.entities, self.actors, self.roles, self.channels, self.threads)
        times = (self.after, self.before, self.recency_days)
        return any((*lists, self.metadata, self.current_only)) or any(value is not None for value in times)


_NAMES = frozenset(each.name for each in fields(Filters) if each.init)
