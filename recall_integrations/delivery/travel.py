"""Turns records of `types/` into JSON and back, with nothing lost: for a `RecallClient`.

The annotations of a record say how it is read: no field is named here, so that a new one travels too. Fields with
their default are left out. A number that JSON lacks travels as text, a time with its offset instead of its zone's name.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from recall_integrations.delivery.highlights import Marking
from recall_integrations.errors import ServerError
from recall_integrations.types import (
    Hit,
    Memory,
    ParsedQuery,
    RecallResult,
    hit_marked_later,
    marks_of,
    unchecked_memory,
)

T = TypeVar("T")
_PLAIN = (str, int, bool, type(None))


def packed_record(value: Any) -> Any:
    """Return a record, or a value in one, as plain data."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): packed_record(item) for key, item in value.items()}
    if is_dataclass(value):
        later = "highlights" if isinstance(value, Hit) and _made_elsewhere(value) is not None else ""
        return {
            name: packed_record(held)
            for name, default in _shape(cast(Any, type(value)))
            if name != later
            and (held := getattr(value, name)) is not default
            and (default is MISSING or held != default)
        }
    if isinstance(value, Sequence):
        return [packed_record(item) for item in value]
    raise TypeError(f"{type(value).__name__} does not travel.")


def record_of(kind: type[T], data: Any) -> T:
    """Return the record of a class that `packed_record` turned into these data."""
    try:
        return cast(T, _reader(cast(Any, kind))(data))
    except ServerError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as e:
        raise ServerError(
            f"The reply holds no {kind.__name__} of this version ({type(e).__name__}: {e}). "
            "Use the same version of recall-integrations on both sides."
        ) from e


def packed_marks(result: RecallResult) -> dict[str, Any]:
    """Return what the highlights of a result are made of, if nobody has read them yet: each once, and its hits.

    So they are made where they are read. Where something was redacted, the result itself has them.
    """
    found = [_made_elsewhere(hit) for hit in result.hits]
    distinct = list(dict.fromkeys(marks for marks in found if marks is not None))
    makers = []
    for marks in distinct:
        assert marks.made_of is not None
        parsed, names, near = marks.made_of
        query = None if parsed == result.query else packed_record(parsed)
        makers.append({"query": query, "names": packed_record(names), "near": near})
    return {"makers": makers, "of": [None if marks is None else distinct.index(marks) for marks in found]}


def with_marks(result: RecallResult, data: Any) -> RecallResult:
    """Return the result with highlights that are made when somebody reads them."""
    try:
        makers = [_marking(result, one["query"], one["names"], one["near"]) for one in data["makers"]]
        hits = [
            hit if which is None else hit_marked_later(hit, makers[which])
            for hit, which in zip(result.hits, data["of"], strict=True)
        ]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as e:
        raise ServerError(f"The reply does not say what highlights are made of ({type(e).__name__}).") from e
    return replace(result, hits=tuple(hits))


def _marking(result: RecallResult, query: Any, names: Mapping[str, Sequence[str]], near: bool) -> Marking:
    return Marking(result.query if query is None else record_of(ParsedQuery, query), names, near=near)


def _made_elsewhere(hit: Hit) -> Marking | None:
    marks = marks_of(hit)
    return marks if isinstance(marks, Marking) and marks.made_of is not None else None


@functools.cache
def _shape(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return name and default of each field that a record is made with."""
    return tuple(
        (f.name, f.default if f.default is not MISSING else _made(f.default_factory)) for f in fields(kind) if f.init
    )


def _made(factory: Any) -> Any:
    return MISSING if factory is MISSING else factory()


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the reader of values of an annotation, made once: a result has thousands of them."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):  # `X | None` and the like: a value has the first type that is not `None`
        of = _reader(next(one for one in get_args(kind) if one is not type(None)))
        return lambda data: None if data is None else of(data)
    if origin is Literal or kind is Any:
        return _as_it_is
    if origin is tuple:
        return _tuple_reader(get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        of = _reader(get_args(kind)[1])
        return lambda data: {key: of(item) for key, item in data.items()}
    if is_dataclass(kind):
        return functools.partial(_record, cast(type, kind))
    return _value_reader(kind)


def _as_it_is(data: Any) -> Any:
    return data


def _tuple_reader(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        of = _reader(kinds[0])
        return lambda data: tuple([of(item) for item in data])
    each = [_reader(kind) for kind in kinds]
    return lambda data: tuple([read(item) for read, item in zip(each, data, strict=True)])


def _value_reader(kind: Any) -> Callable[[Any], Any]:
    if kind is float:
        return _float
    if kind is datetime:
        return datetime.fromisoformat
    if issubclass(kind, Enum):
        return cast("Callable[[Any], Any]", kind)

    def checked(data: Any) -> Any:
        if type(data) is not kind and (not isinstance(data, kind) or (kind is int and isinstance(data, bool))):
            raise TypeError(f"{data!r:.40} is no {kind.__name__}")
        return data

    return checked


def _float(data: Any) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float | str):
        raise TypeError(f"{data!r:.40} is no float")
    return float(data)


@functools.cache
def _readers(kind: type) -> dict[str, Callable[[Any], Any]]:
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items()}


def _record(kind: type, data: Any) -> Any:
    readers = _readers(kind)
    given = {name: readers[name](held) for name, held in data.items() if name in readers}
    if kind is not Memory:
        return kind(**given)
    return unchecked_memory(**_memory_defaults() | given)  # a memory that is withheld has no text


def _memory_defaults() -> dict[str, Any]:
    return {f.name: f.default if f.default is not MISSING else _made(f.default_factory) for f in fields(Memory)}
