"""Collections of large scopes on a Chroma server or in pgvector: check that they hold exactly the living memories."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.config import VectorsConfig
from recall_integrations.config.vectors import PGVECTOR
from recall_integrations.database import schema
from recall_integrations.errors import ConfigError, VectorsAway, VectorsRefused
from recall_integrations.indexes.asked_server import CollectionServer, VectorsOver
from recall_integrations.indexes.pg_tables import has_catalogue
from recall_integrations.indexes.vectors import CollectionLost
from recall_integrations.store import homes
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.doctor.mending import SERVER
from recall_integrations.store.opening import made_server
from recall_integrations.store.served_collections import foreign

UNNAMED = "server of vectors"  # what the check of one is called that no setting names: which it is is not known
Served = Mapping[int, tuple[str, int]]
_ANEW = "`--repair` gives each of these scopes another collection, which is filled when the store is open."
_LATER = "It is filled while the store is open; what it lacks is scanned."


def examine(connection: Connection, served: Served, settings: VectorsConfig, remedy: str = _ANEW) -> Check | None:
    """Compare the collections with the record; `None` = the store has nothing on a server. It may be in use."""
    left = homes.left(connection)
    if not served and not left:
        return None
    held = counted(len(served), "large scope has its vectors", "large scopes have their vectors")
    if not settings.address:
        where, name, remedy = "on a server", UNNAMED, "Name it"
        if _in_pgvector(connection):
            where, name, remedy = "in pgvector", PGVECTOR, f"Write {PGVECTOR}"
        says = f"{held} {where}, which is not named here: they were not compared."
        return notice(name, says, f"{remedy} in RECALL_VECTORS__ADDRESS, or in the file that RECALL_CONFIG names.")
    name = PGVECTOR if settings.address == PGVECTOR else SERVER
    try:
        server = made_server(settings, _address(connection), makes=False)
    except ConfigError as e:
        return problem(name, str(e), "See to that, and look again.")
    try:
        server.check()
        wrong, lacking = _compared(connection, served, server)
    except ConfigError as e:
        return notice(name, str(e), "Look as the owner of the tables.")
    except VectorsAway as e:
        return notice(name, f"{held} on a server that was not compared: {e}", "Look again when it is back.")
    except VectorsOver as e:
        return problem(name, str(e), "See to that, and look again.")
    except VectorsRefused as e:
        return problem(
            name, str(e), "See to its address, token, tenant and database." if name == SERVER else "See to that."
        )
    finally:
        server.close()
    if wrong:
        return problem(name, f"{counted(len(wrong), 'collection')} of it cannot be used.", remedy, wrong)
    if left:
        says = f"{counted(len(left), 'collection')} that nobody needs any more may still be there."
        return notice(name, says, "They are removed while the store is open.", left)
    if lacking:
        return ok(name, f"{held} there; {counted(lacking, 'vector')} are not there yet. {_LATER}")
    return ok(name, f"{held} there, exactly those that it should.")


def _in_pgvector(connection: Connection) -> bool:
    """Say whether the database has collections of pgvector."""
    return connection.dialect.name == "postgresql" and has_catalogue(connection)


def _address(connection: Connection) -> str | None:
    """Return the address of the store of a connection; `None` = it is in a directory."""
    if connection.dialect.name != "postgresql":
        return None
    return connection.engine.url.render_as_string(hide_password=False)


def _compared(connection: Connection, served: Served, server: CollectionServer) -> tuple[list[str], int]:
    """List the faults, a sentence for each collection, and count the vectors that are not there yet."""
    wrong, lacking = [], 0
    for scope_id, (home, until) in sorted(served.items()):
        before = _nums(connection, scope_id)
        lacking += int((before > until).sum())
        if not until:
            continue  # not in use yet
        try:
            said = foreign(connection, until, server.look(home))
            held = server.nums(home)
        except CollectionLost as e:
            wrong.append(f"scope {scope_id}: {e}")
            continue
        after = _nums(connection, scope_id)  # others may have written meanwhile
        lacks = np.setdiff1d(np.intersect1d(before, after), held)
        lacks = lacks[lacks <= until]
        strange = np.setdiff1d(held, np.concatenate([before, after, _changed(connection, scope_id, until)]))
        if said is not None:
            wrong.append(f"scope {scope_id}: {home} is of another history: {said}")
        elif len(lacks) or len(strange):
            said = f"lacks {len(lacks):,} and holds {len(strange):,} that are gone"
            wrong.append(f"scope {scope_id}: {home} {said}")
    return wrong, lacking


def _nums(connection: Connection, scope_id: int) -> NDArray[np.int64]:
    v = schema.vectors.c
    return np.asarray(connection.execute(select(v.num).where(v.scope_id == scope_id)).scalars().all(), dtype=np.int64)


def _changed(connection: Connection, scope_id: int, until: int) -> NDArray[np.int64]:
    """List the nums that the collection may hold or lack, since the journal went on."""
    c = schema.changes.c
    found = connection.execute(select(c.num).where(c.scope_id == scope_id, c.seq > until)).scalars().all()
    return np.asarray(found, dtype=np.int64)
