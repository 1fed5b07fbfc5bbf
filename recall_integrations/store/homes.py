"""Names of the collections of large scopes, `<store>.<scope>.<embedding>.<random>`, and those to remove.

The last part is random: a collection is never filled a second time under the same name, so a process that asks for
this name knows how it was made. In the name of one in files, `files` stands for the store.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, select

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.database.sending import in_parts
from recall_integrations.indexes.vectors import NO_HOME, Labels

MEMORY_ID = "memory_id"  # in the metadata of a vector, where every scope is in Chroma
WITH_IDS = " with ids"  # after the fingerprint there: collections that carry ids have names of their own
FILES = "files"
STORE = "vectors_store"  # key in `meta`: the first part of the names
LEFT = "vectors_left"  # key in `meta`: collections that may still be there, and nobody needs any more
PARTS = 4


class Home(NamedTuple):
    """The collection of a scope, as the record has it."""

    name: str  # of the collection
    until: int  # the last change that it holds


NOTHING = Home(NO_HOME, 0)


class RecordLabels(Labels):
    """The scope of a collection and the memories of its vectors, read from the record."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of_collection(self, home: str) -> dict[str, str]:
        s = schema.scopes.c
        with self._engine.connect() as connection:
            query = select(s.user_id, s.agent_id, s.namespace).where(s.scope_id == scope_of(home))
            row = connection.execute(query).mappings().first()
        return {} if row is None else {str(key): str(value) for key, value in row.items()}

    def of_vectors(self, nums: Sequence[int]) -> list[dict[str, str]]:
        m = schema.memories.c
        with self._engine.connect() as connection:
            found = [connection.execute(select(m.num, m.id).where(m.num.in_(part))).all() for part in in_parts(nums)]
        ids = {row.num: row.id for part in found for row in part}
        return [{MEMORY_ID: ids.get(num, "")} for num in nums]  # "": it was removed meanwhile


def store_of(connection: Connection) -> str:
    """Return the name of the store on a server; made now if it has none yet."""
    found = get_meta(connection, STORE)
    if not found:
        found = secrets.token_hex(6)
        put_meta(connection, STORE, found)
    return found


def new(store: str, scope_id: int, fingerprint: str) -> str:
    """Make a name for a collection that does not exist yet."""
    return f"{store}.{scope_id}.{kind_of(fingerprint)}.{secrets.token_hex(3)}"


def kind_of(fingerprint: str) -> str:
    """Return the part of a name that stands for an embedding."""
    return hashlib.blake2b(fingerprint.encode(), digest_size=4).hexdigest()


def in_form(home: str) -> bool:
    """Say whether `home` is such a name; earlier versions called collections in files `scope-17`."""
    return home.count(".") == PARTS - 1


def in_files(home: str) -> bool:
    """Say whether a collection is in files, not on a server."""
    return store_part(home) == FILES


def scope_of(home: str) -> int:
    """Return the scope of a collection."""
    return int(home.split(".")[1])


def store_part(home: str) -> str:
    """Return the store of a collection."""
    return home.split(".", maxsplit=1)[0]


def fits(home: str, fingerprint: str, *, files: bool) -> bool:
    """Say whether a collection is in this place, and holds vectors of an embedding."""
    return in_form(home) and in_files(home) == files and home.split(".")[2] == kind_of(fingerprint)


def noted(connection: Connection, *, files: bool) -> dict[int, Home]:
    """Return the collection, in files or on a server, of each scope that has one, whatever it holds."""
    s = schema.scopes.c
    housed = select(s.scope_id, s.vector_home, s.vector_until).where(s.vector_home != NO_HOME).order_by(s.scope_id)
    found = {int(i): Home(str(home), int(until)) for i, home, until in connection.execute(housed)}
    return {i: home for i, home in found.items() if in_form(home.name) and in_files(home.name) == files}


def left(connection: Connection, *, files: bool) -> list[str]:
    """List the collections to remove, in files or on a server."""
    return [home for home in _left(connection) if in_files(home) == files]


def _left(connection: Connection) -> list[str]:
    try:
        found = json.loads(get_meta(connection, LEFT) or "[]")
    except ValueError:
        return []
    return [home for home in found if isinstance(home, str)] if isinstance(found, list) else []


def leave(connection: Connection, names: Iterable[str]) -> None:
    """Note, in the caller's transaction, that these collections are to be removed."""
    more = [home for home in names if in_form(home)]
    if more:
        put_meta(connection, LEFT, json.dumps(sorted({*_left(connection), *more})))


def removed(connection: Connection, names: Iterable[str]) -> None:
    """Note, in the caller's transaction, that these collections are removed."""
    if gone := set(names):
        put_meta(connection, LEFT, json.dumps(sorted(set(_left(connection)) - gone)))
