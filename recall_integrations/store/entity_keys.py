"""The key of a store's entity ids: random, made with the store, kept in it.

An id is a digest of a name. Names are few: from an unkeyed digest, a phone number that stands for a person is found in
seconds, and two stores that know the same person show it by their ids. The key makes ids worthless outside the store,
and changes nothing inside: the same name has the same id, in every process and for ever.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, Engine, select, update

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.query.entities.state import entity_id_of_normal

META = "entity_key"
BYTES = 32


def of(engine: Engine) -> bytes:
    """Return the store's key. Where it is gone or damaged, make a new one, and new ids with it."""
    with engine.connect() as connection:
        key = kept(connection)
    if key:
        return key
    with engine.begin() as connection:
        make(connection)
        renew(connection)
        return kept(connection)


def kept(connection: Connection) -> bytes:
    """Return the key in the store; empty where there is none."""
    try:
        return bytes.fromhex(get_meta(connection, META) or "")
    except ValueError:
        return b""


def make(connection: Connection) -> None:
    """Make the key in the caller's transaction, unless there is one."""
    if not kept(connection):
        put_meta(connection, META, secrets.token_hex(BYTES))


def renew(connection: Connection) -> None:
    """Give all entities their ids under the store's key, in the caller's transaction."""
    e, key = schema.entities, kept(connection)
    named = list(connection.execute(select(e.c.scope_id, e.c.ent, e.c.norm)))
    for scope_id, ent, norm in named:
        if isinstance(norm, str) and norm:  # others are damaged, and left to `recall doctor`
            row = update(e).where(e.c.scope_id == scope_id, e.c.ent == ent)
            connection.execute(row.values(entity_id=entity_id_of_normal(norm, key)))
