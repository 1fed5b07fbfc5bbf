"""The record of a store at either end of a move, without derived data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, select

from recall_integrations.database import schema
from recall_integrations.database.meta import check_version, get_meta
from recall_integrations.errors import InvalidArgument, StorePathError
from recall_integrations.store import entity_keys, journal
from recall_integrations.store.directory import DATABASE, Held, hold
from recall_integrations.store.opening import MOVING, is_address

MOVED = "moved"  # key in `meta` of a store that was brought from another place
Place = str | os.PathLike[str]
Noted = dict[str, int | str]


@contextmanager
def held(place: Place, *, made: bool) -> Iterator[Held]:
    """Open the record at a place."""
    if not isinstance(place, str | os.PathLike):
        raise InvalidArgument(f"A place is a directory or an address, not {type(place).__name__}.")
    given = os.fspath(place)
    if is_address(given):
        from recall_integrations.store.nodes import join

        opened: Held = join(given)
    else:
        if not made and not (Path(given) / DATABASE).is_file():
            raise StorePathError(f"There is no store at {given}.")
        opened = hold(given)
    try:
        try:
            if made:
                opened.make_ready()
            else:
                opened.keep_no_longer()  # whoever opens the store meanwhile keeps its indexes
            _check_version(opened)
        finally:
            opened.turn.release()
        yield opened
    finally:
        opened.release()


def _check_version(opened: Held) -> None:
    with opened.engine.connect() as connection:
        try:
            version = get_meta(connection, "schema_version")
        except Exception as e:
            mapped = opened.mapped(e)
            if mapped is None:
                raise
            raise mapped from e
    check_version(version, f"The store {opened.name}")


def identity(connection: Connection, name: str) -> str:
    """Return a digest by which a store is recognised, wherever it is."""
    key = entity_keys.kept(connection)
    if not key:
        raise InvalidArgument(f"{name} holds nothing that could be moved.")
    return hashlib.blake2b(key, digest_size=16).hexdigest()


def noted(connection: Connection) -> Noted | None:
    """Read the progress of a move to this place; `None` = none was begun."""
    said = get_meta(connection, MOVING)
    return None if said is None else dict(json.loads(said))


def brought(connection: Connection) -> Noted | None:
    """Return the source of a finished move, and its last entry; `None` without one, or after later writes."""
    said = get_meta(connection, MOVED)
    found: Noted | None = None if said is None else dict(json.loads(said))
    return found if found is not None and journal.last_seq(connection) == found["at"] else None


def is_empty(connection: Connection) -> bool:
    """Say whether nothing was ever remembered in the store."""
    return not connection.execute(select(func.count()).select_from(schema.scopes)).scalar_one()
