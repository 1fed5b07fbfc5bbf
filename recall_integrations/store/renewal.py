"""Making derived data anew from the memories; and `compact`, which removes forgotten memories from every file.

Each step of `compact` is complete in itself; the end of all is noted last, so that a stopped call can be repeated.
"""

from __future__ import annotations

import logging
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, exists, or_, select

from recall_integrations.database import schema
from recall_integrations.database.engine import write_anew
from recall_integrations.database.schema import OWED, get_meta, put_meta
from recall_integrations.facts import by_llm
from recall_integrations.facts import rows as facts
from recall_integrations.indexes import word_rows as words
from recall_integrations.observability.progress import counted
from recall_integrations.records import record
from recall_integrations.resilience.breaker import CACHE_FILE
from recall_integrations.store import journal, languages, rows
from recall_integrations.store.asking import measure_all
from recall_integrations.store.collections import Progress
from recall_integrations.store.directory import DATABASE
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.removing import Removing
from recall_integrations.text import ANALYSER_VERSION

logger = logging.getLogger("recall_integrations")
REEMBEDDING = "reembedding"  # key in `meta`: the embedding that vectors are being made anew with
FACTS = "facts"  # key in `meta`: what made the rows of facts; empty = they are not kept
ANALYSER = "analyser"  # key in `meta`: the version of the analyser that cut all words
RECUT_SHOWN = 5_000  # memories from which cutting their words anew shows a bar: a second or two


def reindex(parts: StoreParts, progress: Progress | None) -> None:
    """Make all words and indexes anew, and every vector with the embedding of the open store."""
    with parts.write_lock, parts.errors(), parts.revisions.writing(None):
        parts.directory.check_alone("to make its indexes anew")
        parts.column_files.remove()
        with parts.engine.begin() as connection:
            languages.recount(connection)
            words.refill(connection)
            _tell_anew(parts, connection)
        try:
            reembed(parts, progress, changing=False)
        finally:
            parts.views.drop()


def reembed(parts: StoreParts, progress: Progress | None, *, changing: bool) -> None:
    """Make every vector anew; with another embedding, a mark says until the end that they may be of two kinds."""
    parts.column_files.remove()
    if changing:
        with parts.engine.begin() as connection:
            put_meta(connection, REEMBEDDING, parts.asking.fingerprint)
    parts.indexes.rebuild(embed=True, progress=progress)
    parts.worth.anew()
    measure_all(parts)
    with parts.engine.begin() as connection:
        put_meta(connection, "embedding", parts.asking.fingerprint)
        measured = parts.worth.note(connection)
        connection.execute(delete(schema.meta).where(schema.meta.c.key == REEMBEDDING))
    parts.worth.noted(measured)
    parts.stamped = True


def recut(parts: StoreParts) -> None:
    """Cut all words anew where another analyser cut them. The version is noted last, so a crash costs only time."""
    with parts.engine.connect() as connection:
        made_by = get_meta(connection, ANALYSER)
        count = rows.count_all(connection)
    if made_by == str(ANALYSER_VERSION):
        return
    if count:
        parts.directory.check_alone("to read its words anew, as this version does,")
        logger.info("The words of %d memories are cut anew: this version reads them by their language.", count)
        parts.column_files.remove()
        with counted("Reading words", count, count >= RECUT_SHOWN) as advance, parts.engine.begin() as connection:
            languages.recount(connection)
            words.refill(connection, advance)
    with parts.engine.begin() as connection:
        put_meta(connection, ANALYSER, str(ANALYSER_VERSION))


def retell(parts: StoreParts) -> None:
    """Read facts and times anew from the memories, where other rules or another schema read them."""
    made_by = "" if parts.slots is None else facts.fingerprint(parts.slots)
    with parts.engine.connect() as connection:
        if (get_meta(connection, FACTS) or "") == made_by:
            return
    parts.directory.check_alone("to read facts anew, by other settings of `facts` than it was written with,")
    with parts.engine.begin() as connection:
        _tell_anew(parts, connection)


def _tell_anew(parts: StoreParts, connection: Connection) -> None:
    count = rows.count_all(connection)
    if parts.slots is None:
        facts.clear(connection)
    else:
        with counted("Reading facts", count, count >= RECUT_SHOWN) as advance:
            facts.refill(connection, parts.slots, advance)
        by_llm.give_way(connection)
    put_meta(connection, FACTS, "" if parts.slots is None else facts.fingerprint(parts.slots))


ALONE = "to remove for good what was forgotten"
COMPACTED = "compacted"  # key in `meta`: the last change when the store was last compacted


@record(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The result of `MemoryStore.compact`.

    Args:
        ended: number of memories removed because they had ended.
        rebuilt: whether anything was forgotten since the last time, so that indexes and database were made anew.
        bytes_before, bytes_after: size of the directory.
        left: files that only their owner may remove: memories that a repair of the store put aside, as it found them.
            They may hold forgotten memories.
    """

    ended: int
    rebuilt: bool
    bytes_before: int
    bytes_after: int
    left: tuple[Path, ...] = ()


def compact(parts: StoreParts, progress: Progress | None) -> Compacted:
    """Compact a store: see `MemoryStore.compact`."""
    from recall_integrations.store.doctor.findings import PUT_ASIDE

    before = parts.directory.size()
    with parts.write_lock, parts.errors():
        parts.directory.check_alone(ALONE)
    with parts.errors():
        ended = Removing(parts).remove_ended(all_of_them=True)  # without the lock: this may ask the embedding
    with parts.write_lock, parts.errors(), parts.revisions.writing(None):
        parts.check_open()
        parts.directory.check_alone(ALONE)
        needed = _sweep(parts)
        if needed:
            _make_anew(parts, progress)
        (parts.path / CACHE_FILE).unlink(missing_ok=True)  # phrasings of queries, kept for minutes
        aside = parts.path / PUT_ASIDE
        return Compacted(
            ended=ended,
            rebuilt=needed,
            bytes_before=before,
            bytes_after=parts.directory.size(),
            left=(aside,) if aside.is_file() else (),
        )


def _sweep(parts: StoreParts) -> bool:
    """Remove names and scopes without a memory; say whether anything was removed since the last time."""
    with parts.engine.begin() as connection:
        count = _orphans(connection)
        empty = _empty(connection)
        for scope_id in empty:
            rows.remove_scope(connection, scope_id)
        count += len(empty)
        c = schema.changes.c
        done = int(get_meta(connection, COMPACTED) or 0)
        gone = connection.execute(select(c.seq).where(c.op == "del", c.seq > done).limit(1)).first()
        needed = bool(count) or gone is not None or journal.pruned(connection).seq > done
        needed = needed or bool(get_meta(connection, OWED))
        if count:
            put_meta(connection, OWED, "1")
    for scope_id in empty:
        for scope in [scope for scope, number in parts.scopes.items() if number == scope_id]:
            del parts.scopes[scope]
        parts.shown.pop(scope_id, None)
    if needed:
        for scope_id in [*parts.scopes.values(), *empty]:
            parts.catalog.drop(scope_id)
    return needed


def _orphans(connection: Connection) -> int:
    """Remove names seen only in removed memories, and sums that are zero; return how many."""
    e, n, g, a, t = schema.entities.c, schema.mentions.c, schema.edges.c, schema.aliases.c, schema.languages.c
    held = [
        exists().where(n.scope_id == e.scope_id, n.ent == e.ent),
        exists().where(g.scope_id == e.scope_id, or_(g.src == e.ent, g.dst == e.ent)),
        exists().where(a.scope_id == e.scope_id, a.ent == e.ent),
    ]
    count = connection.execute(delete(schema.entities).where(e.declared == 0, ~or_(*held))).rowcount
    count += connection.execute(delete(schema.languages).where(t.told == 0, t.hints == 0, t.votes == 0)).rowcount
    return int(count)


def _empty(connection: Connection) -> list[int]:
    s, e, m = schema.scopes.c, schema.entities.c, schema.memories.c
    named = exists().where(e.scope_id == s.scope_id)
    full = exists().where(m.scope_id == s.scope_id)
    return list(connection.execute(select(s.scope_id).where(~named, ~full).order_by(s.scope_id)).scalars())


def _make_anew(parts: StoreParts, progress: Progress | None) -> None:
    try:
        parts.indexes.collections.clear()
    finally:
        parts.views.drop()
    if parts.engine.dialect.name == "postgresql":
        _free_rows(parts.engine)
    else:
        write_anew(parts.engine, parts.path / DATABASE)
    with parts.engine.begin() as connection:
        put_meta(connection, COMPACTED, str(journal.last_seq(connection)))
        put_meta(connection, OWED, "")


def _free_rows(engine: Engine) -> None:
    """Make the room of deleted rows free, and count anew what queries are planned by. Others read and write meanwhile.

    The server does both by itself after many changes; the files do not grow smaller.
    """
    with engine.connect() as connection:
        outside = connection.execution_options(isolation_level="AUTOCOMMIT")  # it may not be part of a transaction
        quoted = engine.dialect.identifier_preparer.quote
        names = ", ".join(quoted(table.name) for table in schema.metadata.sorted_tables)
        outside.exec_driver_sql(f"VACUUM (ANALYZE) {names}")
