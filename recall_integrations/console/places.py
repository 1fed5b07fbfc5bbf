"""The place of a store: a directory, or the address of a database.

An address may hold a password, so what is printed of one shows none. `libpq` reads `PGPASSWORD` and a password file,
which no list of processes shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.errors import InvalidArgument


class Address:
    """The address of a database; as text it is without its password."""

    def __init__(self, given: str) -> None:
        from recall_integrations.database.postgres import parsed
        from recall_integrations.database.postgres_errors import shown

        self.given = given
        self._shown = shown(parsed(given))

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"Address({self._shown!r})"


Place = Path | Address


if TYPE_CHECKING:
    _Param = click.ParamType[Place]
else:
    _Param = click.ParamType  # not to be subscripted in older releases


class _PlaceType(_Param):
    name = "store"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Place:
        if isinstance(value, Path | Address):
            return value
        return Address(value) if "://" in value else Path(value)


PLACE = _PlaceType()


def opens(place: Place) -> Path | str:
    """Return the argument of `MemoryStore.open` for a place."""
    return place.given if isinstance(place, Address) else place


def directory(place: Place, command: str, instead: str) -> Path:
    """Return the directory of a store, for a command that is about files."""
    if isinstance(place, Address):
        raise InvalidArgument(f"`{command}` is for a store in a directory; {place} is a database. {instead}")
    return place
