"""Turns records of `types/` into JSON and back, with nothing lost: for a `RecallClient`.

pydantic reads a record by its annotations: no field is named here, so that a new one travels too. Fields with their
default are left out. A number that JSON lacks travels as text, a time with its offset instead of its zone's name.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import CoreSchema, SchemaValidator

from recall_integrations.delivery.highlights import Marking
from recall_integrations.errors import ServerError
from recall_integrations.types import (
    Hit,
    Memory,
    ParsedQuery,
    RecallResult,
    hit_marked_later,
    marks_of,
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
        return cast(T, _reader(cast(Any, kind)).validate_python(data))
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        wrong = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        raise ServerError(
            f"The reply holds no {kind.__name__} of this version ({wrong}). "
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
        parsed, names = marks.made_of
        query = None if parsed == result.query else packed_record(parsed)
        makers.append({"query": query, "names": packed_record(names)})
    return {"makers": makers, "of": [None if marks is None else distinct.index(marks) for marks in found]}


def with_marks(result: RecallResult, data: Any) -> RecallResult:
    """Return the result with highlights that are made when somebody reads them."""
    try:
        makers = [_marking(result, one["query"], one["names"]) for one in data["makers"]]
        hits = [
            hit if which is None else hit_marked_later(hit, makers[which])
            for hit, which in zip(result.hits, data["of"], strict=True)
        ]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as e:
        raise ServerError(f"The reply does not say what highlights are made of ({type(e).__name__}).") from e
    return replace(result, hits=tuple(hits))


def _marking(result: RecallResult, query: Any, names: Mapping[str, Sequence[str]]) -> Marking:
    return Marking(result.query if query is None else record_of(ParsedQuery, query), names)


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
def _reader(kind: Any) -> SchemaValidator:
    """Return the reader of a record, made once. Memories are taken as they were sent: a withheld one has no text."""
    return SchemaValidator(cast(CoreSchema, _unchecked(TypeAdapter(kind).core_schema)))


def _unchecked(schema: Any) -> Any:
    """Return pydantic's schema without the checks that a new `Memory` makes."""
    if isinstance(schema, dict):
        skips = {"post_init": False} if schema.get("cls") is Memory else {}
        return {name: _unchecked(part) for name, part in schema.items()} | skips
    return [_unchecked(part) for part in schema] if isinstance(schema, list) else schema
