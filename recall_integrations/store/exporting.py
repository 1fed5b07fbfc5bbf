"""Memories as JSON Lines, which an import reads back as the same memories."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import TextIOBase
from pathlib import Path
from typing import IO, Any

from recall_integrations.adapters.rows import SCOPE_KEYS, row_of
from recall_integrations.errors import InvalidArgument
from recall_integrations.store.listing import Listing
from recall_integrations.types import Filters, Scope


def export(
    listing: Listing,
    target: str | os.PathLike[str] | IO[str] | IO[bytes],
    scopes: Iterable[Scope],
    filters: Filters | None,
    directory: Path,
    advance: Callable[[int], None],
) -> int:
    """Export memories: see `MemoryStore.export`."""
    if not isinstance(target, str | os.PathLike):
        if not callable(getattr(target, "write", None)):
            raise InvalidArgument(f"target must be a path or an open file, not {type(target).__name__}.")
        return _write(listing, _writer(target), scopes, filters, advance)
    path = Path(target)
    try:
        special = path.exists() and not path.is_file()
        place = path if special else path.resolve()  # follow a link, so that the link stays
    except (OSError, ValueError) as e:  # ValueError: a NUL in it
        raise InvalidArgument(f"Cannot write {str(path)!r}: {getattr(e, 'strerror', None) or e}.") from e
    if place.is_relative_to(directory.resolve()):
        raise InvalidArgument(f"{path} lies in the store itself. Give a path outside of {directory}.")
    try:
        if special:  # a pipe or a device is written to, never replaced
            with path.open("wb") as file:
                return _write(listing, file.write, scopes, filters, advance)
        return _in_place(listing, place, scopes, filters, advance)
    except OSError as e:
        raise InvalidArgument(f"Cannot write {path}: {e.strerror or e}.") from e


def _in_place(
    listing: Listing, path: Path, scopes: Iterable[Scope], filters: Filters | None, advance: Callable[[int], None]
) -> int:
    """Write a file, and replace the old one when all of it is on disk."""
    number, beside = tempfile.mkstemp(prefix=".recall-export.", dir=path.parent)  # readable by its owner only
    try:
        with os.fdopen(number, "wb") as file:
            count = _write(listing, file.write, scopes, filters, advance)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
    return count


def _writer(target: IO[str] | IO[bytes]) -> Callable[[bytes], object]:
    """Return a function that writes bytes to a file, whether that takes bytes or text."""
    if isinstance(target, TextIOBase):
        return lambda raw: target.write(raw.decode("ascii"))
    write: Any = target.write
    return write  # type: ignore[no-any-return]


def _write(
    listing: Listing,
    write: Callable[[bytes], object],
    scopes: Iterable[Scope],
    filters: Filters | None,
    advance: Callable[[int], None],
) -> int:
    count = 0
    for scope in scopes:
        where = {key: getattr(scope, key) for key in SCOPE_KEYS if getattr(scope, key)}
        for memory in listing.all_of(scope, filters):
            write(json.dumps({**where, **row_of(memory)}).encode("ascii") + b"\n")
            count += 1
            advance(1)
    return count
