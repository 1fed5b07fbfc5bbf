"""The hard conditions on hits. `store/filtering.py` applies each to the rows of a scope.

Conditions on metadata are read from a mapping, and checked as a whole:

    {"year": {"$gte": 2020, "$lt": 2024}, "$or": [{"source": "wiki"}, {"tags": {"$contains": "draft"}}]}

Only this module says what each operator means. The index (`store/filtering.py`) asks the same of many memories at
once: each `Test` once of every value that there is. Any condition that is true of a missing key negates a test.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from recall_integrations.errors import InvalidFilter, refuse_unknown
from recall_integrations.records import record
from recall_integrations.types.memory import (
    MemoryType,
    checked_id,
    checked_role,
    checked_time,
    checked_type,
    listed,
    names_of,
)
from recall_integrations.types.numbers import is_number, real, shown, whole
from recall_integrations.types.roles import Role

TESTS_MAX = 1_000  # tests in one filter
DEPTH_MAX = 50  # depth of `$and`, `$or` and `$not` in each other
JOINING = ("$and", "$or", "$nor", "$not")
ORDER: Mapping[str, Callable[[Any, Any], Any]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
# The opposite of the operator behind it, so true of a missing key as well.
_OPPOSITE = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
_LISTS = ("$in", "$contains_any", "$contains_all")
_TEXTS = ("$text_match", "$text_match_insensitive")
OPERATORS = (
    *("$eq", "$ne", "$in", "$nin", *ORDER, "$exists", "$empty", "$contains", "$not_contains"),
    *("$contains_any", "$contains_all", *_TEXTS, "$not"),
)
_EMPTY: tuple[Any, ...] = (None, "", [])
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


@record(frozen=True, slots=True)
class Instant:
    """A time in microseconds since 1970, with which values are compared: texts in ISO 8601."""

    micros: int


@record(frozen=True, slots=True)
class Test:
    """A test of a value. Never true of a missing key."""

    __test__ = False  # no test of pytest

    key: str  # of the metadata
    op: str  # `$exists`, or an operator that needs a value
    operand: Any = None  # as it was given, in Python's own types; times are `Instant`s
    shown: Callable[[Any], Any] | None = None  # what makes the tested value of a stored one; `None` = that itself

    @property
    def predicate(self) -> Callable[[Any], bool]:
        """Function that says whether a value passes the test."""
        return _predicate(self.op, self.operand)


@record(frozen=True, slots=True)
class Every:
    """A condition that holds where all parts hold."""

    parts: tuple[Condition, ...]


@record(frozen=True, slots=True)
class Some:
    """A condition that holds where at least one part holds."""

    parts: tuple[Condition, ...]


@record(frozen=True, slots=True)
class Opposite:
    """A condition that holds where its part does not."""

    part: Condition


Condition = Test | Every | Some | Opposite


def tests_of(condition: Condition) -> Iterator[Test]:
    """Yield all tests in a condition."""
    if isinstance(condition, Test):
        yield condition
    elif isinstance(condition, Opposite):
        yield from tests_of(condition.part)
    else:
        for part in condition.parts:
            yield from tests_of(part)


def keys_of(condition: Condition) -> tuple[str, ...]:
    """Return the keys that a condition asks for, each once."""
    return tuple(dict.fromkeys(test.key for test in tests_of(condition)))


# -- reading ---------------------------------------------------------------------------------------------------------


def conditions_of(given: Mapping[Any, Any], what: str = "Filters.metadata") -> Condition:
    """Read a mapping: keys of metadata with a value or with operators, and `$and`, `$or`, `$nor`, `$not`.

    Parts of a mapping come in the order of their names, so that two which say the same are the same.
    """
    found = _mapping(given, what, 0)
    if sum(1 for _ in tests_of(found)) > TESTS_MAX:
        raise InvalidFilter(f"{what} has more than {TESTS_MAX:,} conditions. Write lists as {{'$in': [...]}}.")
    return found


def _mapping(given: object, what: str, depth: int) -> Condition:
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"{what} must be a mapping of keys to values or conditions, not {type(given).__name__}.")
    if depth > DEPTH_MAX:
        raise InvalidFilter(f"{what} lies deeper than {DEPTH_MAX} conditions in each other. Flatten them.")
    parts = []
    for key in sorted(given, key=repr):
        if key in JOINING:
            parts.append(_joined(key, given[key], what, depth))
            continue
        checked_id(key, f"A key of {what}", InvalidFilter)
        parts.append(_of_key(key, given[key], f"{what}[{key!r}]", depth))
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _joined(name: str, given: object, what: str, depth: int) -> Condition:
    where = f"{what}[{name!r}]"
    if name == "$not":
        return Opposite(_mapping(given, where, depth + 1))
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
        raise InvalidFilter(f"{where} must be a list of conditions, not {shown(given)}.")
    parts = tuple(_mapping(part, f"{where}[{i}]", depth + 1) for i, part in enumerate(given))
    if name == "$and":
        return Every(parts)
    return Some(parts) if name == "$or" else Opposite(Some(parts))


def _of_key(key: str, given: object, where: str, depth: int) -> Condition:
    if depth > DEPTH_MAX:
        raise InvalidFilter(f"{where} lies deeper than {DEPTH_MAX} conditions in each other. Flatten them.")
    if isinstance(given, Mapping):
        if not given:
            raise InvalidFilter(f"{where} is empty. Give a value, or an operator: {{'$exists': true}}.")
        parts = tuple(_operator(key, name, given[name], where, depth) for name in sorted(given, key=repr))
        return parts[0] if len(parts) == 1 else Every(parts)
    if key.startswith("$") and key[1:].isalpha():
        raise InvalidFilter(
            f"{where}: there is no {key}. Conditions are joined by {', '.join(JOINING)}; a key of the metadata that is "
            f"called {key!r} is asked for as {{{key!r}: {{'$eq': ...}}}}."
        )
    if isinstance(given, list | tuple | set | frozenset | np.ndarray):
        raise InvalidFilter(f"{where} is a list. Write {{'$in': [...]}} for one of them, {{'$eq': [...]}} for a list.")
    if given is None:
        raise InvalidFilter(f"{where} is null. Write {{'$exists': false}} for no such key, {{'$eq': null}} for null.")
    return Test(key, "$eq", _scalar(given, where))


def _operator(key: str, name: object, operand: Any, where: str, depth: int) -> Condition:
    if name not in OPERATORS:
        hint = "" if isinstance(name, str) and name.startswith("$") else " A value that is a mapping: {'$eq': {...}}."
        raise InvalidFilter(f"{where}: {name!r} is no operator. There are {', '.join(OPERATORS)}.{hint}")
    op, where = str(name), f"{where}[{name!r}]"
    if op == "$not":
        return Opposite(_of_key(key, operand, where, depth + 1))
    if op in _OPPOSITE:
        return Opposite(_operator(key, _OPPOSITE[op], operand, where, depth))
    if op in ("$exists", "$empty"):
        wanted = operand.item() if isinstance(operand, np.bool_) else operand
        if not isinstance(wanted, bool):
            raise InvalidFilter(f"{where} must be true or false, not {shown(operand)}.")
        there: Condition = Test(key, "$exists")
        if op == "$empty":
            there = Every((there, Opposite(Test(key, "$in", list(_EMPTY)))))
        return there if wanted == (op == "$exists") else Opposite(there)
    return Test(key, op, _operand(op, operand, where))


def _operand(op: str, given: Any, where: str) -> Any:
    if op in _LISTS:
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        if not isinstance(listed, list | tuple | set | frozenset):
            raise InvalidFilter(f"{where} must be a list of values, not {shown(given)}.")
        items = listed if isinstance(listed, list | tuple) else sorted(listed, key=repr)
        return [_value(item, where) for item in items]
    if op in _TEXTS:
        if not isinstance(given, str):
            raise InvalidFilter(f"{where} must be text, not {shown(given)}.")
        return given
    if op in ORDER:
        bound = _scalar(given, where)
        if bound is None or isinstance(bound, bool):
            raise InvalidFilter(f"{where} must be a number, a text or a time, not {shown(given)}.")
        if isinstance(bound, str) and (micros := instant(bound)) is not None:
            return Instant(micros)
        return bound
    return _value(given, where)


def _value(given: Any, where: str, depth: int = 0) -> Any:
    """Return any value that metadata can hold, to be compared as a whole."""
    if depth > DEPTH_MAX:
        raise InvalidFilter(f"{where} is nested deeper than {DEPTH_MAX} levels. Filter by a part of it.")
    if isinstance(given, list | tuple):
        return [_value(item, where, depth + 1) for item in given]
    if isinstance(given, Mapping):
        keys = {key: checked_id(key, f"A key of {where}", InvalidFilter) for key in given}
        return {name: _value(given[key], where, depth + 1) for key, name in keys.items()}
    return _scalar(given, where)


def _scalar(given: Any, where: str) -> Any:
    if isinstance(given, datetime):
        return Instant(_micros(checked_time(given, where, InvalidFilter)))
    if isinstance(given, date):
        return Instant(_micros(datetime(given.year, given.month, given.day, tzinfo=timezone.utc)))
    plain = given.item() if isinstance(given, np.bool_ | np.floating) else whole(given)
    if plain is not None and not isinstance(plain, str | int | float | bool):
        raise InvalidFilter(f"{where} must be text, a number, a boolean, a time or null, not {shown(given)}.")
    if isinstance(plain, float) and math.isnan(plain):
        raise InvalidFilter(f"{where} must be a number, not NaN: nothing equals it. Write {{'$exists': false}}.")
    return plain


# -- asking ----------------------------------------------------------------------------------------------------------


def token(value: Any) -> Hashable:
    """Return a key that equal values share: 1 and 1.0 are the same, 1, true and "1" are not."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (repr(value),)
    if isinstance(value, list | tuple):
        return ("list", *map(token, value))
    if isinstance(value, Mapping):
        return ("map", frozenset((key, token(item)) for key, item in value.items()))
    number: Hashable = value
    return number


def instant(value: Any) -> int | None:
    """Return the time of a text in ISO 8601, in microseconds since 1970; `None` = it is no such text.

    A date is its first moment; where no zone is said, it is UTC.
    """
    found = _ISO.fullmatch(value) if isinstance(value, str) and value[4:5] == "-" else None
    if found is None:
        return None
    day, time, zone = found.groups()
    try:
        return _micros(datetime.fromisoformat(f"{day}T{time or '00:00'}{(zone or 'Z').upper()}"))
    except ValueError:  # the 30th of February
        return None


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _same_as(operand: Any) -> Callable[[Any], bool]:
    if isinstance(operand, Instant):
        return lambda value: instant(value) == operand.micros
    wanted = token(operand)
    return lambda value: token(value) == wanted


def _one_of(operand: Sequence[Any]) -> Callable[[Any], bool]:
    wanted = {token(item) for item in operand if not isinstance(item, Instant)}
    times = {item.micros for item in operand if isinstance(item, Instant)}
    return lambda value: token(value) in wanted or (bool(times) and instant(value) in times)


def _ordered(op: str, bound: Any) -> Callable[[Any], bool]:
    compare = ORDER[op]
    if isinstance(bound, Instant):
        micros = bound.micros
        return lambda value: (found := instant(value)) is not None and bool(compare(found, micros))
    if isinstance(bound, str):
        return lambda value: isinstance(value, str) and bool(compare(value, bound))
    return lambda value: is_number(value) and bool(compare(value, bound))


def _holding(operand: Any) -> Callable[[Any], bool]:
    same = _same_as(operand)

    def holds(value: Any) -> bool:
        if isinstance(value, list):
            return any(map(same, value))
        return isinstance(value, str) and isinstance(operand, str) and operand in value

    return holds


def _predicate(op: str, operand: Any) -> Callable[[Any], bool]:
    if op in ORDER:
        return _ordered(op, operand)
    if op == "$eq":
        return _same_as(operand)
    if op == "$in":
        return _one_of(operand)
    if op == "$exists":
        return lambda _value: True
    if op == "$text_match":
        return lambda value: isinstance(value, str) and operand in value
    if op == "$text_match_insensitive":
        folded = operand.casefold()
        return lambda value: isinstance(value, str) and folded in value.casefold()
    if op == "$contains":
        return _holding(operand)
    each = [_holding(item) for item in operand]
    if op == "$contains_any":
        return lambda value: any(holds(value) for holds in each)
    return lambda value: isinstance(value, str | list) and all(holds(value) for holds in each)


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
    condition = conditions_of(given)  # which bounds how deep it is
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
    # The condition of `metadata`, or `None`. Models of pydantic look into types, and need not check what we made.
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
