"""The end of a move: compare the tables that no journal covers, and copy the store's notes about itself.

Before any writer has to wait, all scopes are compared and mended; when the source's writers are kept out, only those
that were written to since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, Table, delete, insert, select

from recall_integrations.database import schema
from recall_integrations.database.meta import put_meta
from recall_integrations.indexes.vectors import NO_HOME
from recall_integrations.store import journal
from recall_integrations.store.compacting import COMPACTED
from recall_integrations.store.journal import LEXICAL
from recall_integrations.store.learned_rows import BEFORE
from recall_integrations.store.moving import tables
from recall_integrations.store.moving.following import bring_journal
from recall_integrations.store.moving.places import MOVED
from recall_integrations.store.moving.way import Way
from recall_integrations.store.opening import MOVING

# Of one engine or one directory, and made by the target itself.
_OWN_META = ("schema_version", f"{LEXICAL}_epoch", "semantic_epoch", COMPACTED, MOVING, MOVED)
_NOT_TOLD = schema.judged  # written by who only asks: no journal names it
_OWN_OF_SCOPES = {"vector_home": NO_HOME, "vector_until": 0}


class Compared:
    """The place up to which both ends were compared."""

    def __init__(self, at: int, whole: bool) -> None:
        self.at, self.whole = at, whole


def compare(way: Way) -> Compared:
    """Make the rows of all scopes those of the source, where counts and sums differ.

    Tables that recalls write to are compared row by row.
    """
    at = way.at
    with way.source.engine.connect() as source:
        head, semantic = journal.reached(source)
        for table in tables.TABLES:
            way.stopped()
            way.tell(f"Comparing {table.name}", 0, None)
            with way.target.engine.begin() as target:
                if table is _NOT_TOLD:
                    tables.bring(source, target, table)
                else:
                    _mend(source, target, table)
        with way.target.engine.begin() as target:
            tables.bring(source, target, schema.scopes, instead=_OWN_OF_SCOPES)
    return Compared(at, semantic >= head.seq)


def _mend(source: Connection, target: Connection, table: Table, scopes: Sequence[int] | None = None) -> None:
    wanted, there = tables.counts(source, table, scopes), tables.counts(target, table, scopes)
    for scope_id in sorted(wanted.keys() | there.keys()):
        if wanted.get(scope_id) != there.get(scope_id):
            tables.bring(source, target, table, table.c.scope_id == scope_id)


def end(way: Way, compared: Compared) -> None:
    """Make the target whole. No process writes to the source, and its journal was followed to the end."""
    bring_journal(way)
    c = schema.changes.c
    with way.source.engine.connect() as source, way.target.engine.begin() as target:
        since = select(c.scope_id).where(c.seq > compared.at).distinct().order_by(c.scope_id)
        written = source.execute(since).scalars().all()
        for table in tables.TABLES:
            whole = table is _NOT_TOLD or (table is schema.vectors and not compared.whole)
            _mend(source, target, table, None if whole else written)
        tables.bring(source, target, schema.scopes, instead=_OWN_OF_SCOPES)
        target.execute(delete(schema.cursors))
        head, semantic = journal.reached(source)
        journal.move(target, LEXICAL, head.seq)  # a missing index is made from the stored memories
        journal.move(target, journal.SEMANTIC, semantic)
        _meta(source, target)
    kept, mine = way.source.learned, way.target.learned
    for name in kept.names():
        for of in kept.texts(name):
            text = kept.read(name, of)
            if text is not None:
                mine.put(name, of, text)
    with way.target.engine.begin() as target:
        put_meta(target, MOVED, json.dumps({"from": way.noted["from"], "at": journal.last_seq(target)}))
        target.execute(delete(schema.meta).where(schema.meta.c.key == MOVING))


def _meta(source: Connection, target: Connection) -> None:
    m = schema.meta
    target.execute(delete(m).where(m.c.key.not_in(_OWN_META), m.c.key.not_like(f"{BEFORE}%")))
    for key, value in source.execute(select(m.c.key, m.c.value)):
        if key not in _OWN_META and not key.startswith(BEFORE):
            target.execute(insert(m).values(key=key, value=value))
