"""Move a store to another place, between directories and databases, while it is read and written.

    copy    scope by scope; a scope is done when the target has its version
    again   with the source's writers kept out: the scopes that were written to meanwhile, and what has no version
    end     the journal and the notes of the store about itself; then the target is whole, and can be opened

Rows keep their numbers, so the target answers as the source does. Scopes that are done are left alone, so a move that
was stopped or killed goes on when it is called again. The source is never changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, true
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.connections import translated
from recall_integrations.database.schema import check_version, get_meta, put_meta
from recall_integrations.database.sending import insert_rows, streamed
from recall_integrations.errors import InvalidArgument, RecallError, StorePathError
from recall_integrations.indexes.vectors import NO_HOME
from recall_integrations.observability.progress import Told, telling
from recall_integrations.records import record
from recall_integrations.store import entities, journal
from recall_integrations.store.directory import DATABASE, Held, hold
from recall_integrations.store.journal import MOVED
from recall_integrations.store.opening import MOVING, is_address
from recall_integrations.store.renewal import COMPACTED

Place = str | os.PathLike[str]

AT_ONCE = 2_000  # rows
# Of one engine or one directory, and made by the target itself.
_OWN_META = ("schema_version", "semantic_epoch", COMPACTED, MOVING, MOVED)
_OWN_OF_SCOPES = {"vector_home": NO_HOME, "vector_until": 0}


@record(frozen=True, slots=True, kw_only=True)
class Moved:
    """The result of a move.

    Args:
        scopes, memories: their numbers in the target.
        went_on: whether it continued an earlier move.
        seconds: duration of the move.
        held_s: the part of `seconds` in which writers of the source waited.
    """

    scopes: int
    memories: int
    went_on: bool
    seconds: float
    held_s: float


def move(
    source: Place, target: Place, *, progress: bool | Told = False, stopped: Callable[[], None] = lambda: None
) -> Moved:
    """Copy a store to another place; it also stays where it was.

    Args:
        source: a directory, or the address of a database. Others may read and write it meanwhile; writers wait during
            the last step.
        target: an empty place, or one to which the same store was moved and to which nobody has written since: then
            only later changes are copied.
        progress: whether to show the progress, or an object that is told of it.
        stopped: called between two steps; an error from it ends the move, which can be continued later.

    Raises:
        InvalidArgument: the target holds something else, or is the source. Nothing was changed.
        StoreLocked: another process has the target open.
        StorePathError: the source does not exist.
        StoreVersionError: another version of this package made one of them.
        StoreError: one of them cannot be read or written. The rows copied so far stay.
    """
    began = time.monotonic()
    with held(source, made=False) as one:
        if _same_place(one, target):
            raise InvalidArgument("The target is the source. Give another place.")
        with held(target, made=True) as other, other.turn, _errors(one, other), telling(progress) as tell:
            went_on = _begin(one, other)
            _copy_scopes(one, other, tell, stopped)
            with one.turn:
                waited = time.monotonic()
                _copy_scopes(one, other, tell, stopped)
                _end(one, other)
                held_s = time.monotonic() - waited
            s = schema.scopes.c
            with other.engine.connect() as connection:
                query = select(func.count(), func.coalesce(func.sum(s.memories), 0))
                scopes, memories = map(int, connection.execute(query).one())
    seconds = time.monotonic() - began
    return Moved(scopes=scopes, memories=memories, went_on=went_on, seconds=seconds, held_s=held_s)


# -- steps -------------------------------------------------------------------------------------------------------------


def _begin(source: Held, target: Held) -> bool:
    """Note in the target which store is moved to it; say whether that was begun before."""
    target.check_alone("while a store is moved to it")
    with source.engine.connect() as left, target.engine.begin() as right:
        mine, begun, whole = identity(left, source.name), get_meta(right, MOVING), get_meta(right, MOVED)
        there = None if begun is None else json.loads(begun)["from"]
        if there is None and whole is not None:
            finished = json.loads(whole)
            there = mine if (finished["from"], finished["at"]) == (mine, journal.last_seq(right)) else None
        if there is None and right.execute(select(func.count()).select_from(schema.scopes)).scalar_one():
            raise InvalidArgument(
                f"{target.name} holds memories already, and not only what was moved there from this store. Give an "
                "empty place: stores are not mixed."
            )
        if there not in (None, mine):
            raise InvalidArgument(
                f"Another store was begun to be moved to {target.name}. Give an empty place, or go on with that one."
            )
        put_meta(right, MOVING, json.dumps({"from": mine}))
    return there is not None


def _copy_scopes(source: Held, target: Held, tell: Told, stopped: Callable[[], None]) -> None:
    """Make the scopes of the target those of the source; those of the same version have the same rows.

    The version is read before the rows: what is written between the two is brought by the next call.
    """
    with source.engine.connect() as left, target.engine.connect() as right:
        wanted, there = _versions(left), _versions(right)
        late = _counts(left, schema.vectors).items() ^ _counts(right, schema.vectors).items()  # no version tells of it
    changed = {one for one in wanted.keys() | there.keys() if wanted.get(one) != there.get(one)}
    changed |= {scope_id for scope_id, _ in late}
    done, total = 0, sum(memories for _, memories in wanted.values())
    for scope_id in sorted(changed, key=lambda one: (one in wanted, one)):
        with source.engine.connect() as left:
            scope = left.execute(select(schema.scopes).where(schema.scopes.c.scope_id == scope_id)).mappings().first()
            for table in schema.OF_SCOPES:
                stopped()
                copied(left, target, table, table.c.scope_id == scope_id)
        with target.engine.begin() as right:
            right.execute(delete(schema.scopes).where(schema.scopes.c.scope_id == scope_id))
            if scope is not None:
                insert_rows(right, schema.scopes, [{**scope, **_OWN_OF_SCOPES}])
        done += wanted.get(scope_id, (0, 0))[1]
        tell("Copying memories", done, total)
    with source.engine.connect() as left:
        copied(left, target, schema.judged, true())  # written by who only asks


def _end(source: Held, target: Held) -> None:
    """Copy the journal, what was learned, and the notes; no process writes to the source."""
    c, m = schema.changes.c, schema.meta
    with source.engine.connect() as left, target.engine.begin() as right:
        known = right.execute(select(func.max(c.seq))).scalar() or 0
        right.execute(delete(schema.changes).where(c.seq <= journal.pruned(left).seq))
        for part in read(left, schema.changes, c.seq > known):
            insert_rows(right, schema.changes, part)
        right.execute(delete(schema.cursors))
        _, semantic = journal.reached(left)
        journal.move(right, journal.SEMANTIC, semantic)
        right.execute(delete(m).where(m.c.key.not_in(_OWN_META)))
        for key, value in left.execute(select(m.c.key, m.c.value)):
            if key not in _OWN_META:
                right.execute(insert(m).values(key=key, value=value))
        mine = identity(left, source.name)
        put_meta(right, MOVED, json.dumps({"from": mine, "at": journal.last_seq(right)}))
        right.execute(delete(m).where(m.c.key == MOVING))


# -- rows --------------------------------------------------------------------------------------------------------------


def _versions(connection: Connection) -> dict[int, tuple[int, int]]:
    """Return version and number of memories of each scope."""
    s = schema.scopes.c
    return {int(i): (int(v), int(n)) for i, v, n in connection.execute(select(s.scope_id, s.version, s.memories))}


def _counts(connection: Connection, table: Table) -> dict[int, int]:
    query = select(table.c.scope_id, func.count()).group_by(table.c.scope_id)
    return {int(scope_id): int(count) for scope_id, count in connection.execute(query)}


def read(connection: Connection, table: Table, where: ColumnElement[bool]) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield rows in the order of their keys, `AT_ONCE` at a time."""
    query = select(table).where(where).order_by(*table.primary_key.columns)
    for part in connection.execute(streamed(query, AT_ONCE)).mappings().partitions(AT_ONCE):
        yield [dict(row) for row in part]


def copied(source: Connection, target: Held, table: Table, where: ColumnElement[bool]) -> None:
    """Replace rows of the target by those of the source, `AT_ONCE` in a transaction."""
    with target.engine.begin() as right:
        right.execute(delete(table).where(where))
    for part in read(source, table, where):
        with target.engine.begin() as right:
            insert_rows(right, table, part)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


class Digest(NamedTuple):
    """The number of rows, and a number that another row would change."""

    rows: int
    said: int


def digest(connection: Connection, table: Table, scope_id: int) -> Digest:
    """Digest a scope's rows in a table, the same in any order and on any engine."""
    total = count = 0
    names = sorted(column.name for column in table.columns)
    for part in read(connection, table, table.c.scope_id == scope_id):
        count += len(part)
        for row in part:
            said = repr([_plain(row[name]) for name in names]).encode("utf-8", "surrogatepass")
            total += int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big")
    return Digest(count, total % 2**64)


# -- places ------------------------------------------------------------------------------------------------------------


@contextmanager
def held(place: Place, *, made: bool) -> Iterator[Held]:
    """Open the record at a directory or an address; with `made`, make its tables where it is empty."""
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
            with _errors(opened), opened.engine.connect() as connection:
                version = get_meta(connection, "schema_version")
            check_version(version, f"The store {opened.name}")
        finally:
            opened.turn.release()
        yield opened
    finally:
        opened.release()


def identity(connection: Connection, name: str) -> str:
    """Return a digest by which a store is recognised, wherever it is; refuse a store that was never opened."""
    key = entities.kept_key(connection)
    if not key:
        raise InvalidArgument(f"{name} holds nothing that could be moved.")
    return hashlib.blake2b(key, digest_size=16).hexdigest()


def _same_place(source: Held, target: Place) -> bool:
    given = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
    if is_address(given):
        from recall_integrations.database.postgres import parsed

        return parsed(given) == source.engine.url
    return Path(given).resolve() == source.path.resolve()


def _errors(*ends: Held) -> AbstractContextManager[None]:
    """Translate errors of a database into those of this package, with its name."""

    def mapped(error: BaseException) -> RecallError | None:
        given = error.orig if isinstance(error, DBAPIError) else None
        own = (one for one in ends if isinstance(given, one.engine.dialect.loaded_dbapi.Error))
        return next(own, ends[-1]).mapped(error) if isinstance(error, SQLAlchemyError) else None

    return translated(mapped)
