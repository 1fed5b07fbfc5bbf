"""The comparisons of LangGraph's stores: values with filters, namespaces with conditions. As its `InMemoryStore` does.

One thing differs: a value that is missing or no number does not meet `$gt`, `$gte`, `$lt` and `$lte`,
where `InMemoryStore` raises, and the whole search with it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.frameworks.items import OWN

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_EXACT_MAX = 2**53  # whole numbers that a float holds exactly


def meets(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Say whether a value meets a filter."""
    return all(_same(value.get(key), wanted) for key, wanted in (conditions or {}).items())


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if _operates(wanted):
            return all(_applies(found, name, operand) for name, operand in wanted.items())
        return isinstance(found, Mapping) and all(_same(found.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(_same(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def _applies(found: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return bool(found == operand)
    if name == "$ne":
        return bool(found != operand)
    if name not in _ORDERED:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return _ORDERED[name](float(found), float(operand))
    except (TypeError, ValueError):
        return False


def narrowing(conditions: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a condition of `Filters.metadata` that every value which meets a filter meets, and few others.

    It is not exact: for LangGraph, 1 is equal to `True`, "3" is above 2, and a missing key is equal to `None`.
    """
    parts = [
        part
        for key, wanted in (conditions or {}).items()
        if isinstance(key, str) and key.isidentifier() and key != OWN  # under that name the item's place is kept
        for name, operand in (wanted.items() if _operates(wanted) else [("$eq", wanted)])
        if (part := _narrowed(key, name, operand)) is not None
    ]
    return {"$and": parts} if parts else {}


def _operates(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted)


def _narrowed(key: str, name: str, operand: Any) -> dict[str, Any] | None:
    number = isinstance(operand, int | float) and abs(operand) <= _EXACT_MAX
    if name in _ORDERED and number:
        numbers = {"$or": [{key: {"$gte": 0}}, {key: {"$lt": 0}}]}
        others = {"$and": [{key: {"$exists": True}}, {"$not": numbers}]}  # texts of numbers, and booleans
        return {"$or": [{key: {name: float(operand)}}, others]}
    if name == "$eq" and number and operand in (0, 1):
        return {"$or": [{key: int(operand)}, {key: bool(operand)}]}
    if name in ("$eq", "$ne") and (number or isinstance(operand, str)):
        return {key: {name: operand}}
    return None


def check_operators(conditions: Mapping[str, Any] | None) -> None:
    """Check the operators of a filter before the search."""
    if conditions is not None and not isinstance(conditions, Mapping):
        raise InvalidArgument(f"filter must be a mapping such as {{'kind': 'fact'}}, not {type(conditions).__name__}.")
    for wanted in (conditions or {}).values():
        if isinstance(wanted, Mapping):
            if _operates(wanted):
                for name in wanted:
                    _applies(None, name, None)
            else:
                check_operators(wanted)


def matches(kind: str, path: Sequence[str], namespace: Sequence[str]) -> bool:
    """Say whether a namespace begins (`prefix`) or ends (`suffix`) with a path, in which `*` stands for any label."""
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {kind}")
    if len(namespace) < len(path):
        return False
    labels = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(part in ("*", label) for part, label in zip(path, labels, strict=True))
