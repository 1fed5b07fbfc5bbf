"""A store is brought to another place while it is read and written.

    copy     scope by scope, some memories at a time; how far it is stands in the target, committed with the rows
    follow   what the source's journal has beyond the beginning, until little is left
    end      the source's turn to write is taken: the rest of the journal, small tables, and it is whole

Rows keep their numbers, so the target answers as the source does. It cannot be opened until it is whole; a move that
was stopped goes on where it was. The source is never changed.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.database.meta import put_meta
from recall_integrations.errors import InvalidArgument, StoreError
from recall_integrations.indexes.vectors import NO_HOME
from recall_integrations.observability.progress import Told, telling
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.compacting import COMPACTED
from recall_integrations.store.held import Held
from recall_integrations.store.journal import LEXICAL, TOUCH
from recall_integrations.store.learned_rows import BEFORE
from recall_integrations.store.moving import tables
from recall_integrations.store.moving.places import MOVED, Noted, Place, brought, held, identity, is_empty, noted
from recall_integrations.store.opening import MOVING, is_address

FEW = 500  # changes that may be left when the source's writers are kept out
ALL = 2**62  # beyond every scope: all of them are copied
ROUNDS = 20  # of following, at most: they may write as fast as it goes
# Of one engine or one directory, and made by the target itself.
_OWN_META = ("schema_version", f"{LEXICAL}_epoch", "semantic_epoch", COMPACTED, MOVING, MOVED)


@record(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a move did.

    Args:
        scopes, memories: that the target holds.
        went_on: whether it went on where another one had stopped.
        seconds: that it took.
        held_s: of these, how long writers of the source waited.
    """

    scopes: int
    memories: int
    went_on: bool
    seconds: float
    held_s: float


def move(
    source: Place,
    target: Place,
    *,
    progress: bool | Told = False,
    stopped: Callable[[], None] = lambda: None,
) -> Moved:
    """Bring a store to another place; it stays where it was, too.

    Args:
        source: a directory, or the address of a database. Others may read and write it meanwhile; for the last step
            who writes waits.
        target: where it goes: an empty place, or one to which the same store was moved and nobody has written since:
            then what came since is brought.
        progress: whether to show how far it is, or who is told.
        stopped: called between two steps; what it raises ends the move, which can be taken up again.

    Raises:
        InvalidArgument: the target holds something else, or is the source. Nothing was changed.
        StoreLocked: somebody else has the target open.
        StorePathError: there is no source.
        StoreVersionError: another version of this package made one of them.
        StoreError: one of them cannot be read or written. What was brought stays.
    """
    began = time.monotonic()
    with held(source, made=False) as one:
        if _same(one, target):
            raise InvalidArgument("The target is the source. Give another place.")
        with held(target, made=True) as other, other.turn, _errors(one, other), telling(progress) as tell:
            return _Move(one, other, tell, stopped, began).run()


@contextmanager
def _errors(*ends: Held) -> Iterator[None]:
    """Inside, errors of a database are ours, and name it."""
    try:
        yield
    except SQLAlchemyError as e:
        one = next((one for one in ends if isinstance(e, DBAPIError) and _of(one, e)), ends[-1])
        mapped = one.mapped(e)
        if mapped is None:
            raise
        raise mapped from e


def _of(one: Held, error: DBAPIError) -> bool:
    return isinstance(error.orig, one.engine.dialect.loaded_dbapi.Error)


def _same(source: Held, target: Place) -> bool:
    given = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
    if is_address(given):
        from recall_integrations.database.postgres import parsed

        return parsed(given) == source.engine.url
    return Path(given).resolve() == source.path.resolve()


class _Move:
    def __init__(self, source: Held, target: Held, tell: Told, stopped: Callable[[], None], began: float) -> None:
        self.source, self.target = source, target
        self.tell, self.stopped, self.began = tell, stopped, began
        self.went_on = False
        self.held_s = 0.0
        self.noted: Noted = {}

    def run(self) -> Moved:
        self._begin()
        self._copy()
        for _ in range(ROUNDS):
            if self._follow() <= FEW:
                break
        self._journal()
        with self.source.turn:
            waited = time.monotonic()
            self._follow()
            self._end()
            self.held_s = time.monotonic() - waited
        with self.target.engine.connect() as connection:
            s = schema.scopes.c
            scopes, memories = connection.execute(select(func.count(), func.coalesce(func.sum(s.memories), 0))).one()
        return Moved(
            scopes=int(scopes),
            memories=int(memories),
            went_on=self.went_on,
            seconds=time.monotonic() - self.began,
            held_s=self.held_s,
        )

    def _begin(self) -> None:
        self.target.check_alone("while a store is moved to it")
        with self.source.engine.connect() as source, self.target.engine.begin() as target:
            mine, there = identity(source, self.source.name), noted(target)
            if there is None and (whole := brought(target)) is not None and whole["from"] == mine:
                there = {**whole, "scope": ALL, "num": 0}
            if there is None:
                if not is_empty(target):
                    raise InvalidArgument(
                        f"{self.target.name} holds memories already, and not only what was moved there from this "
                        "store. Give an empty place: stores are not mixed."
                    )
            elif there["from"] != mine:
                raise InvalidArgument(
                    f"Another store was begun to be moved to {self.target.name}. Give an empty place, or go on with "
                    "that one."
                )
            lost = there is not None and journal.pruned(source).seq > int(there["at"])
            if there is None or lost:  # what was removed since it began is not told any more
                head, _ = journal.reached(source)
                there = {"from": mine, "at": head.seq, "scope": 0, "num": 0}
            else:
                self.went_on = True
            self._note(target, there)

    def _note(self, target: Connection, there: Noted) -> None:
        put_meta(target, MOVING, json.dumps(there))
        self.noted = there

    # -- copying -----------------------------------------------------------------------------------------------------

    def _copy(self) -> None:
        s = schema.scopes.c
        with self.source.engine.connect() as source:
            found = source.execute(select(s.scope_id, s.memories).order_by(s.scope_id)).all()
        done, total = 0, sum(row.memories for row in found)
        for scope_id, memories in found:
            if scope_id >= int(self.noted["scope"]):
                self._copy_scope(scope_id, done, total)
            done += memories
            self.tell("Copying memories", done, total)

    def _copy_scope(self, scope_id: int, done: int, total: int) -> None:
        m = schema.memories.c
        after = int(self.noted["num"]) if scope_id == self.noted["scope"] else 0
        last = False
        while not last:
            self.stopped()
            with self.source.engine.connect() as source, self.target.engine.begin() as target:  # one state of each
                query = select(m.num).where(m.scope_id == scope_id, m.num > after).order_by(m.num)
                nums = source.execute(query.limit(tables.AT_ONCE)).scalars().all()
                last = len(nums) < tables.AT_ONCE
                upto = journal.last_seq(source) if last else nums[-1]
                for table in tables.OF_MEMORIES:
                    tables.copy(source, target, table, *tables.between(table, scope_id, after, upto))
                if last:
                    for table in tables.OF_SCOPES:
                        tables.copy(source, target, table, table.c.scope_id == scope_id)
                at = {"scope": scope_id + 1, "num": 0} if last else {"scope": scope_id, "num": upto}
                self._note(target, {**self.noted, **at})
            done += len(nums)
            after = upto
            self.tell("Copying memories", min(done, total), total)

    # -- following ---------------------------------------------------------------------------------------------------

    def _follow(self) -> int:
        """Do what the source's journal has by now beyond what was done; how much that was."""
        count = 0
        with self.source.engine.connect() as source:
            upto = journal.last_seq(source)
        while int(self.noted["at"]) < upto:
            self.stopped()
            with self.source.engine.connect() as source, self.target.engine.begin() as target:
                c = schema.changes.c
                query = select(c.seq, c.scope_id, c.op, c.num).where(c.seq > int(self.noted["at"])).order_by(c.seq)
                changes = source.execute(query.limit(tables.AT_ONCE)).all()
                if journal.pruned(source).seq > int(self.noted["at"]):
                    raise StoreError(
                        f"So much was written to {self.source.name} that its journal no longer tells all of it. Ask "
                        "for the same again: it begins anew."
                    )
                if not changes:
                    break
                puts: dict[int, list[int]] = defaultdict(list)
                gone: dict[int, list[int]] = defaultdict(list)
                touched = set()
                for _, scope_id, op, num in changes:
                    if op == TOUCH:
                        touched.add(scope_id)
                    else:
                        (puts if op == "put" else gone)[scope_id].append(num)
                for scope_id, nums in gone.items():
                    tables.remove(target, scope_id, nums)
                for scope_id, nums in puts.items():  # of those that are gone by now there is nothing
                    tables.put(source, target, scope_id, nums)
                for scope_id in touched:  # names or facts were written, of memories that were there
                    for table in (*tables.OF_MEMORIES, *tables.OF_SCOPES):
                        if table not in tables.WRITTEN_ONCE and table is not schema.vectors:
                            tables.copy(source, target, table, table.c.scope_id == scope_id)
                self._note(target, {**self.noted, "at": changes[-1].seq})
            count += len(changes)
            self.tell("Following what is written meanwhile", count, None)
        return count

    def _journal(self) -> None:
        """Bring the journal as far as it goes, so that little of it is left for the end."""
        c = schema.changes.c
        with self.source.engine.connect() as source, self.target.engine.begin() as target:
            known = target.execute(select(func.max(c.seq))).scalar() or 0
            pruned = journal.pruned(source).seq
            target.execute(delete(schema.changes).where(c.seq <= pruned))
            for part in tables.read(source, schema.changes, c.seq > known):
                self.stopped()
                insert_rows(target, schema.changes, part)

    # -- the end -----------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Nobody writes to the source: what no journal tells of, and what the store notes of itself."""
        self._journal()
        with self.source.engine.connect() as source, self.target.engine.begin() as target:
            for table in tables.TABLES:
                self.tell(f"Comparing {table.name}", 0, None)
                wanted, there = tables.counts(source, table), tables.counts(target, table)
                for scope_id in sorted(wanted.keys() | there.keys()):
                    if wanted.get(scope_id) != there.get(scope_id):
                        tables.copy(source, target, table, table.c.scope_id == scope_id)
            target.execute(delete(schema.scopes))
            for part in tables.read(source, schema.scopes):
                fresh = [{**row, "vector_home": NO_HOME, "vector_until": 0} for row in part]
                insert_rows(target, schema.scopes, fresh)
            target.execute(delete(schema.cursors))
            head, semantic = journal.reached(source)
            journal.move(target, LEXICAL, head.seq)  # an index that is not there is made of what the store holds
            journal.move(target, journal.SEMANTIC, semantic)
            self._meta(source, target)
        kept, mine = self.source.learned, self.target.learned
        for name in kept.names():
            for of in kept.texts(name):
                text = kept.read(name, of)
                if text is not None:
                    mine.put(name, of, text)
        with self.target.engine.begin() as target:
            put_meta(target, MOVED, json.dumps({"from": self.noted["from"], "at": journal.last_seq(target)}))
            target.execute(delete(schema.meta).where(schema.meta.c.key == MOVING))

    def _meta(self, source: Connection, target: Connection) -> None:
        m = schema.meta
        target.execute(delete(m).where(m.c.key.not_in(_OWN_META), m.c.key.not_like(f"{BEFORE}%")))
        for key, value in source.execute(select(m.c.key, m.c.value)):
            if key not in _OWN_META and not key.startswith(BEFORE):
                target.execute(insert(m).values(key=key, value=value))
