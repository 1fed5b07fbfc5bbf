"""Filters under `redact` and `block`: conditions act on what the caller may see, so that none reads out the rest.

{"pin": {"$gte": 5000}}      refused under both: the key says that its value is a secret
{"note": {"$contains": "…"}} under `redact` asked of the redacted note; refused under `block`, which shows none
actors=["+49 170 1234567"]   refused under `redact`: it names what is hidden there; under `block`, as all actors
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from recall_integrations.errors import InvalidFilter
from recall_integrations.privacy.door import Door, Own
from recall_integrations.types.conditions import Condition, Every, Opposite, Some, Test, keys_of
from recall_integrations.types.filters import Filters

NAMES = ("entities", "actors", "channels", "threads")
WITHHELD = ("entities", "actors", "roles", "channels", "metadata")  # under `block`
VALUES_KEPT = 65_536  # values of which it is known how they are shown


@dataclass(frozen=True, slots=True)
class ShownValue:
    """Show the value of a metadata key as `redact` does."""

    key: str
    own: Own  # patterns of the user

    def __call__(self, value: Any) -> Any:
        try:
            return _shown(self.key, value, tuple(self.own))
        except TypeError:  # a list
            return _shown.__wrapped__(self.key, value, tuple(self.own))


@lru_cache(maxsize=VALUES_KEPT, typed=True)
def _shown(key: str, value: Any, own: Own) -> Any:
    from recall_integrations.privacy.redactor import Redactor

    return Redactor(own).value_of(key, value)


def screened(filters: Filters, door: Door) -> Filters:
    """Return filters that act on what may be seen.

    Raises:
        InvalidFilter: they ask for what the caller may not see; the message names the field.
    """
    if door.open or not filters:
        return filters
    for name in WITHHELD if door.blocked else ():
        if getattr(filters, name):
            raise _refused(f"Filters.{name}", door, "withholds it")
    for name in NAMES:
        if any(map(door.hides, getattr(filters, name))):
            raise _refused(f"Filters.{name}", door, "hides such a name")
    if filters.condition is None:
        return filters
    from recall_integrations.privacy.redactor import hides_values

    for key in keys_of(filters.condition):
        if hides_values(key) or door.hides(key):
            raise _refused(f"Filters.metadata[{key!r}]", door, "hides its values")
    seen = copy.copy(filters)
    object.__setattr__(seen, "condition", _seen(filters.condition, door.own))
    return seen


def screened_name(name: str | None, field: str, door: Door) -> str | None:
    """Return a name by which is looked up; `field` says in the message where it was given.

    Raises:
        InvalidFilter: the caller may not see such names.
    """
    if name and (door.blocked or door.hides(name)):
        raise _refused(field, door, "withholds it" if door.blocked else "hides such a name")
    return name


def _refused(field: str, door: Door, why: str) -> InvalidFilter:
    return InvalidFilter(f"{field} cannot be filtered on under privacy={door.mode!r}, which {why}. Leave it out.")


def _seen(condition: Condition, own: Own) -> Condition:
    if isinstance(condition, Test):
        return replace(condition, shown=ShownValue(condition.key, own))
    if isinstance(condition, Opposite):
        return Opposite(_seen(condition.part, own))
    parts = tuple(_seen(part, own) for part in condition.parts)
    return Every(parts) if isinstance(condition, Every) else Some(parts)
