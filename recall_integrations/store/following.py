"""Following the writes of other processes: at every call, and at the beginning of every own write.

A thread that writes has followed when its turn began, and no other process writes until it is over: so nothing is
looked for meanwhile, and this process never meets its own writes here.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, bindparam, case, func, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.connections import remaining
from recall_integrations.database.schema import EMBEDDING, LAST, PRUNED, get_meta
from recall_integrations.database.sending import begun, send
from recall_integrations.database.turns import Reached
from recall_integrations.errors import RecallError, StoreClosed, StoreError, StorePathError
from recall_integrations.indexes.times import ends
from recall_integrations.privacy.door import told
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.journal import SEMANTIC, TOUCH, Change, Point
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.database.turns import Committed, Watch
    from recall_integrations.store.parts import StoreParts

logger = logging.getLogger("recall_integrations")

_C, _S, _M, _AT, _META = (schema.changes.c, schema.scopes.c, schema.memories.c, schema.cursors.c, schema.meta.c)
_known = bindparam("known", type_=_C.seq.type)
_DIGEST = select(_C.digest).where(_C.seq == _known)
_NEWEST = select(_C.seq, _C.digest).order_by(_C.seq.desc()).limit(1)
_CURSOR = select(_AT.seq).where(_AT.name == SEMANTIC)
_NOTES = select(_META.key, _META.value).where(_META.key.in_([PRUNED, LAST, EMBEDDING]))
_SINCE = (
    select(_C.scope_id, func.max(_C.seq).label("last"), func.max(case((_C.op == TOUCH, 1), else_=0)).label("touched"))
    .where(_C.seq > _known)
    .group_by(_C.scope_id)
    .subquery()
)
_WRITTEN = select(_S.scope_id, _S.user_id, _S.agent_id, _S.namespace, _S.version, _SINCE.c.last, _SINCE.c.touched).join(
    _SINCE, _SINCE.c.scope_id == _S.scope_id
)
_ENDING = select(_M.scope_id, func.min(_M.expires_at)).where(ends(), _M.num > _known).group_by(_M.scope_id)
_MADE = select(_AT.seq).where(_AT.name == SEMANTIC).scalar_subquery()
_LATE = (
    select(_C.scope_id)
    .where(_C.seq > bindparam("semantic", type_=_C.seq.type), _C.seq <= _known, _C.seq <= _MADE)
    .distinct()
)
LOOK_S = 1.0  # between two looks of a process that nobody asks anything


@record(frozen=True, slots=True, kw_only=True)
class _News:
    """The writes of other processes."""

    head: Point  # the last entry of the journal
    semantic: int  # the last entry whose vectors are made
    made_by: str | None  # the embedding that makes them; `None` = there are none
    written: Mapping[int, tuple[Scope, int, int, bool]]
    ending: Mapping[int, int]  # the next end of a new memory of a scope, in microseconds
    late: Sequence[int]  # scopes whose memories got their vectors after they were written


class Followed:
    """The place up to which this process has followed the journal. Threads share it."""

    def __init__(self, watch: Watch | Committed | None) -> None:
        self.watch = watch
        self.lock = threading.Lock()
        self.at = -1  # version that the watch gave
        self.head = Point()  # the last entry of the journal that was committed
        self.semantic = 0  # the last entry whose vectors were made
        self.mine = False  # whether it is this process's turn to write
        self.last: tuple[Point, int] | None = None  # what was committed in this turn: as `head` and `semantic`
        self.failed = ""  # what went wrong when it was looked at last
        self.again_at = 0.0  # when it is looked at again then, in monotonic seconds

    def begin(self, parts: StoreParts) -> None:
        """Follow at the beginning of a turn to write: no other process has one."""
        if self.watch is None:
            return
        with self.lock:
            self._follow(parts, self.watch.turn_began())
            self.mine, self.last = True, None

    def committed(self, last: Change, *, embedded: bool) -> None:
        """Note that this process has committed entries of the journal, in its turn."""
        self.last = Point(last.seq, last.digest), last.seq if embedded else self.semantic

    def end(self, parts: StoreParts) -> None:
        """Note the end of a turn: all writes since its beginning are this process's."""
        if self.watch is None:
            return
        with self.lock:
            self.mine = False
            try:
                now = self.watch.turn_ends()
                if now.head is not None:
                    self.head, self.semantic = Point(*now.head), now.semantic
                elif now.version != self.at:
                    with parts.engine.connect() as connection:
                        self.head, self.semantic = journal.reached(connection)
                parts.next_seq = self.head.seq + 1  # the numbers of a failed write are given again, by any process
                self.at = now.version
                self.again_at = 0.0  # the server answers: calls that gave up look again
            except (sqlite3.Error, SQLAlchemyError, RecallError):  # the server is away, or the store is being closed
                if self.last is not None:  # it is shown, and may be lost: the next look finds out
                    (self.head, self.semantic), self.at = self.last, -1

    def newest(self, next_seq: int) -> Point | None:
        """Return the last entry of the journal before anything is written in this turn; `None` = unknown."""
        known = self.watch is not None and self.mine and 0 < self.head.seq == next_seq - 1
        return self.head if known else None

    def look(self, parts: StoreParts) -> None:
        """Follow all that was committed before this call."""
        if self.watch is None:
            return
        before = self.at
        if (now := self.watch.now()).version == before:
            return
        left = remaining()
        # A write of this process that waits for a standby holds the lock while that is away.
        if not self.lock.acquire(timeout=-1 if left == math.inf else left):
            raise StoreError(
                f"A write or a look of this process at {parts.directory.name} is not over yet. If that goes on, see "
                "whether the server waits for a standby that is away (wait_event SyncRep in pg_stat_activity)."
            )
        try:
            if not self.mine:  # and if nobody else has taken notice of more meanwhile
                self._follow(parts, now if self.at == before else self.watch.now())
        finally:
            self.lock.release()

    def _follow(self, parts: StoreParts, now: Reached) -> None:
        """Take notice of all up to a version, which was asked for before: what comes meanwhile is met the next time."""
        if now.version == self.at:
            return
        news = _news(parts.engine, self.head, self.semantic)
        if news is None:
            with parts.engine.connect() as connection:
                self.head, self.semantic = _begin_anew(parts, connection)
            self.at = now.version
            return
        if news.written:  # the first of them may have noted which embedding makes the vectors
            parts.stamped = news.made_by is not None
            if not parts.worth.bundled:
                with parts.engine.connect() as connection:
                    parts.worth.load(connection, news.made_by)
        _take(parts, news)
        self.head, self.semantic, self.at = news.head, news.semantic, now.version


def _news(engine: Engine, known: Point, semantic: int) -> _News | None:
    """Read the news since the known entry and vectors; `None` = the journal does not go on from that entry."""
    since = {"known": known.seq}
    with begun(engine) as connection:
        there = send(connection, _DIGEST, since)
        newest = send(connection, _NEWEST)
        cursor = send(connection, _CURSOR)
        noted = send(connection, _NOTES)
        written = send(connection, _WRITTEN, since)
        ending = send(connection, _ENDING, since)
        late = send(connection, _LATE, {"known": known.seq, "semantic": semantic})
    notes = {str(key): str(value) for key, value in noted.rows()}
    pruned = journal.point_of(notes.get(PRUNED))
    if known.seq and known not in (Point(known.seq, there.value()), pruned):
        return None
    # Where all entries were pruned, the last number is noted.
    head = next(
        (Point(*row) for row in newest.rows()), Point(max(pruned.seq, int(notes.get(LAST) or 0)), pruned.digest)
    )
    return _News(
        head=head,
        semantic=int(cursor.value() or 0),
        made_by=notes.get(EMBEDDING),
        written={
            scope_id: (Scope(user, agent, namespace), int(version), int(last), bool(touched))
            for scope_id, user, agent, namespace, version, last, touched in written.rows()
        },
        ending={int(scope_id): int(at) for scope_id, at in ending.rows()},
        late=sorted(int(scope_id) for (scope_id,) in late.rows()),
    )


def _take(parts: StoreParts, news: _News) -> None:
    """Take the writes of others into use: from here on, recalls find them."""
    for scope_id in news.late:
        scope = parts.expiry.scope_of(scope_id)
        with parts.revisions.writing(scope):
            parts.views.drop(scope_id)
    for scope_id, (scope, version, last, touched) in sorted(news.written.items()):
        with parts.revisions.writing(scope):
            parts.scopes[scope] = scope_id
            if touched:
                parts.facts.drop(scope_id)
            parts.expiry.note(scope_id, news.ending.get(scope_id))
            parts.catalog.drop(scope_id)
            parts.shown[scope_id] = (version, last)
    parts.indexes.others_wrote(news.written, news.head.seq - news.semantic)
    parts.next_seq = news.head.seq + 1


def _begin_anew(parts: StoreParts, connection: Connection) -> tuple[Point, int]:
    """Forget all that was read, and read the store anew; return the last entry of its journal, and of vectors."""
    logger.warning("The journal of %s does not go on from what was read of it: all is read anew.", parts.directory.name)
    with parts.revisions.writing(None):
        head, semantic = read_scopes(parts, connection)
        parts.views.drop()
        parts.catalog.drop()
        parts.facts.drop()
        parts.spellers.forget()
        for forget in parts.forgets:
            if (known := forget()) is not None:
                known()
        parts.indexes.others_wrote(parts.shown, head.seq - semantic)
    return head, semantic


def read_scopes(parts: StoreParts, connection: Connection) -> tuple[Point, int]:
    """Read the scopes and the notes about them; return the last entry of the journal, and that of vectors."""
    s = schema.scopes
    head, semantic = journal.reached(connection)
    found = connection.execute(select(s).order_by(s.c.scope_id)).all()
    scopes = {Scope(row.user_id, row.agent_id, row.namespace): row.scope_id for row in found}
    parts.shown.update({row.scope_id: (row.version, head.seq) for row in found})
    parts.scopes.update(scopes)  # in place, and never empty: others recall meanwhile
    for scope in [scope for scope in parts.scopes if scope not in scopes]:
        parts.shown.pop(parts.scopes.pop(scope), None)
    parts.opened_at = {row.scope_id: row.version for row in found}
    parts.stamped = get_meta(connection, EMBEDDING) is not None
    parts.expiry.load(connection)
    parts.next_seq = head.seq + 1
    return head, semantic


def connect(parts: StoreParts) -> None:
    """Follow the writes of others from now on; under the write lock, when the store is ready for use."""
    watch = parts.followed.watch
    if watch is None:
        return
    of = weakref.ref(parts)  # the turn's holder outlives the store
    parts.write_lock.begun = lambda: _of(of, lambda known: known.turn_begins())
    parts.write_lock.ending = lambda: _of(of, lambda known: known.followed.end(known))
    parts.followed.at = -1  # makes the end of the turn read the state of the store
    parts.followed.mine = True  # until the end of the turn in which the store was opened
    thread = threading.Thread(target=_look_on, args=(of,), name="recall-following", daemon=True)
    with contextlib.suppress(RuntimeError):  # the process can start no more threads: its calls look
        thread.start()


def _of(of: weakref.ref[StoreParts], call: Callable[[StoreParts], None]) -> None:
    parts = of()
    if parts is not None:
        call(parts)


def _look_on(of: weakref.ref[StoreParts]) -> None:
    """Look every second, where no call does: the process that keeps the indexes adds the writes of others."""
    while True:
        time.sleep(LOOK_S)
        parts = of()
        if parts is None or not parts.usable:
            return
        try:
            parts.up_to_date(again=True)
        except (StoreClosed, StorePathError, OSError):  # or its directory is gone
            return
        except RecallError as e:
            logger.debug("What others wrote is looked for again: %s", told(e))
        del parts
