"""Filters as callers give them: ours, a mapping as vector stores take it, or LlamaIndex's `MetadataFilters`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from recall_integrations.errors import InvalidFilter
from recall_integrations.types import Filters
from recall_integrations.types.messages import iso
from recall_integrations.types.numbers import shown

FIELDS = tuple(name for name in Filters.__dataclass_fields__ if name != "condition")
_DEPTH_MAX = 50
# LlamaIndex's operators, by their values. `contains` and `any` look into lists and texts, as they do there.
_OPERATORS = {
    "==": "$eq",
    "!=": "$ne",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "nin": "$nin",
    "any": "$contains_any",
    "all": "$contains_all",
    "contains": "$contains",
    "text_match": "$text_match",
    "text_match_insensitive": "$text_match_insensitive",
    "is_empty": "$empty",
}
_CONDITIONS = {"and": "$and", "or": "$or", "not": "$nor"}


class FilterSet(Protocol):
    """LlamaIndex's `MetadataFilters`, or an object with the same attributes."""

    @property
    def filters(self) -> Sequence[Any]: ...

    @property
    def condition(self) -> Any: ...


FiltersLike = Filters | Mapping[str, Any] | FilterSet | None


def as_filters(value: FiltersLike | object) -> Filters:
    """Return `Filters` from the filters that a caller gave.

    Args:
        value: `Filters`; a mapping; LlamaIndex's `MetadataFilters`, or one `MetadataFilter`; `None` = no filter.

    In a mapping the names of our fields (`types`, `actors`, `after`, …) are fields; other keys are conditions on
    metadata: `{"types": ["fact"], "source": "wiki", "year": {"$gte": 2020}}`. A key of the metadata that has the name
    of a field is asked for under `metadata`: `{"metadata": {"types": "invoice"}}`. `after` and `before` may be texts
    as JSON has them: `"2026-03-01T00:00:00Z"`.

    Raises:
        InvalidFilter: `value` cannot be mapped; the message names the part.
    """
    if value is None:
        return Filters()
    if isinstance(value, Filters):
        return value
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if _is_set(value) or _is_one(value):
        return Filters(metadata=_of_set(value, 0) if _is_set(value) else _of_one(value))
    hint = " A function cannot be looked up: write the conditions." if callable(value) else ""
    raise InvalidFilter(
        f"filters must be Filters, a mapping such as {{'source': 'wiki'}}, or LlamaIndex's MetadataFilters, not "
        f"{type(value).__name__}.{hint}"
    )


def _of_mapping(given: Mapping[Any, Any]) -> Filters:
    fields = {name: given[name] for name in FIELDS if name in given}
    others = {key: given[key] for key in given if key not in fields}
    for name, value in fields.items():
        operators = isinstance(value, Mapping) and any(isinstance(k, str) and k.startswith("$") for k in value)
        if operators and name != "metadata":
            raise InvalidFilter(
                f"filters[{name!r}] is a field of Filters and takes no operators. If it is a key of the metadata, "
                f"write {{'metadata': {{{name!r}: ...}}}}."
            )
    for name in ("after", "before"):
        if isinstance(text := fields.get(name), str):
            fields[name] = iso(text)
            if fields[name] is None:
                raise InvalidFilter(
                    f"filters[{name!r}] is {text!r}. Write a time with an offset, such as '2026-03-01T12:00:00+00:00', "
                    "or give a datetime."
                )
    if not others:
        return Filters(**fields)
    own = fields.pop("metadata", None)
    if own is None:
        metadata: Mapping[str, Any] = others
    elif isinstance(own, Mapping):
        metadata = {"$and": [others, own]}
    else:
        raise InvalidFilter(f"filters['metadata'] must be a mapping, not {type(own).__name__}.")
    return Filters(**fields, metadata=metadata)


def _is_set(value: object) -> bool:
    return isinstance(getattr(value, "filters", None), Sequence) and hasattr(value, "condition")


def _is_one(value: object) -> bool:
    return hasattr(value, "key") and hasattr(value, "operator") and hasattr(value, "value")


def _named(value: object) -> str:
    return str(getattr(value, "value", value))


def _of_set(given: Any, depth: int) -> dict[str, Any]:
    if depth > _DEPTH_MAX:
        raise InvalidFilter(f"MetadataFilters lie deeper than {_DEPTH_MAX} in each other. Flatten them.")
    condition = "and" if given.condition is None else _named(given.condition)
    if condition not in _CONDITIONS:
        known = ", ".join(_CONDITIONS)
        raise InvalidFilter(f"MetadataFilters.condition {condition!r} cannot be mapped. Use one of: {known}.")
    parts = [_of_set(part, depth + 1) if _is_set(part) else _of_one(part) for part in given.filters]
    return {_CONDITIONS[condition]: parts} if parts else {}


def _of_one(given: Any) -> dict[str, Any]:
    if not _is_one(given):
        raise InvalidFilter(
            f"MetadataFilters holds {shown(given)}, a {type(given).__name__}. It takes MetadataFilter and "
            "MetadataFilters."
        )
    operator, key = _named(given.operator), given.key
    if operator not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise InvalidFilter(f"The operator {operator!r} of {key!r} in MetadataFilters cannot be mapped, only {known}.")
    if operator == "is_empty":
        return {key: {"$empty": True}}
    if given.value is None and operator not in ("==", "!="):
        raise InvalidFilter(f"{key!r} {operator} in MetadataFilters has no value. Give it one, or use 'is_empty'.")
    return {key: {_OPERATORS[operator]: given.value}}
