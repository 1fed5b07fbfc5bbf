"""Digests of what two recalls must share to have one answer: no query stays in memory for it.

Two recalls share an answer where all their arguments but `now` and the time budget are the same, and their days. Where
only the letters differ, by case, white space or punctuation at the ends (`loosely`), both are read, and must read the
same (`meaning`): "US" is not "us" where that is a name, and "ABC-1" never "abc-1".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import CacheConfig
from recall_integrations.indexes.times import to_micros
from recall_integrations.text import tokenize
from recall_integrations.types import EntityRef, Filters, ParsedQuery, Scope, TemporalWindow
from recall_integrations.types.request import RecallRequest

# Stripped at the query's ends only; quotes, brackets and a minus are left out, as they mean something to the parser.
ENDING = "?!.,;:…¿¡。？！，；："
_SPACE = re.compile(r"\s+")
_BYTES = 16


class Key(NamedTuple):
    """Key of an answer in the cache."""

    scope: Scope
    digest: bytes


def exactly(request: RecallRequest, fingerprint: str, zone: ZoneInfo) -> Key:
    """Return the key of a recall."""
    return _key(request, request.text, fingerprint, zone)


def loosely(request: RecallRequest, fingerprint: str, zone: ZoneInfo, settings: CacheConfig) -> Key:
    """Return a key that is the same for all ways of writing a query that may mean the same."""
    return _key(request, loose(request.text, settings), fingerprint, zone)


def loose(text: str, settings: CacheConfig) -> str:
    """Return a query in normal form: single spaces, and as `settings` says without case and punctuation at the ends."""
    spaced = _SPACE.sub(" ", text).strip()
    if settings.normalize_punctuation:
        spaced = spaced.strip(ENDING + " ") or spaced
    return spaced.casefold() if settings.normalize_casing else spaced


def meaning(parsed: ParsedQuery, vector: NDArray[np.float32] | None) -> bytes:
    """Return a digest of a parsed query as the stages read it, without places in its text."""
    window = parsed.temporal_window
    bare = replace(
        parsed,
        original="",
        entity_refs=tuple(map(_named, parsed.entity_refs)),
        temporal_window=None if window is None else replace(window, span=(0, 0)),
        session=None if parsed.session is None else replace(parsed.session, span=(0, 0)),
        identifiers=tuple(replace(i, span=(0, 0)) for i in parsed.identifiers),
        tokens=(),
        type_hints=(),  # they follow from the rest
        now=None,
    )
    tokens = [(token.stem, token.roles, token.rarity) for token in parsed.tokens]
    words = [token.word for token in tokenize(parsed.original)]
    return _digest((repr(bare), tokens, words, None if vector is None else vector.tobytes()))


def _named(ref: EntityRef) -> EntityRef:
    return replace(ref, mention=_SPACE.sub(" ", ref.mention).casefold(), span=(0, 0))


def _key(request: RecallRequest, text: str, fingerprint: str, zone: ZoneInfo) -> Key:
    where = request.zone or zone
    parts = (
        fingerprint,
        text,
        (request.k, request.part),
        _filters(request.filters),
        request.privacy,
        _window(request.window) if isinstance(request.window, TemporalWindow) else request.window,
        where.key,
        day(request.now, where),
        request.context,
        request.tokens_max,
        request.score_min,
        _plain(request.as_of),
        None if request.vector is None else request.vector.tobytes(),
    )
    return Key(request.scope, _digest(parts))


def day(moment: datetime, zone: ZoneInfo) -> str:
    """Return the date of a moment in a zone; where the calendar ends, the moment itself in ISO format."""
    try:
        return moment.astimezone(zone).date().isoformat()
    except OverflowError:
        return moment.isoformat()


def _filters(filters: Filters) -> tuple[object, ...]:
    names: Iterable[str] = (name for name in Filters.__dataclass_fields__ if name not in ("metadata", "condition"))
    return (*(_plain(getattr(filters, name)) for name in names), repr(filters.condition))


def _window(window: TemporalWindow) -> tuple[object, ...]:
    return (_plain(window.start), _plain(window.end), window.span, window.confidence)


def _plain(value: object) -> object:
    """Return a time as its instant: two times of one zone compare equal in the hour that a clock shows twice."""
    return to_micros(value) if isinstance(value, datetime) else value


def _digest(parts: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
