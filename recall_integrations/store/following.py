"""What other processes write to a store is taken notice of: at every call, and at the beginning of every own write.

    anything committed since? (`database.watching`, microseconds) ─ no ─▶ done
      └─ yes ─▶ what the journal has beyond what is known here
                  ├─ new scopes, versions, times at which memories end
                  ├─ names and facts in memory, answers that were kept: forgotten, of the scopes written to
                  ├─ columns follow the journal when they are asked for; vocabularies are told each change
                  └─ it does not go on from where it was known (a backup was put back, a replica took over that
                     lacked something, it was pruned): all that is in memory is forgotten and read anew

A thread of this process that writes has taken notice when its turn began, and nobody else writes until it is over: so
nothing is looked for meanwhile, and what this process writes itself is never met here.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, case, func, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta
from recall_integrations.errors import RecallError, StoreClosed, StorePathError
from recall_integrations.indexes.ends import ends
from recall_integrations.privacy.logs import told
from recall_integrations.records import record
from recall_integrations.store import journal, rows
from recall_integrations.store.history import Point
from recall_integrations.store.journal import TOUCH, Change
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.store.held import Watching
    from recall_integrations.store.parts import StoreParts

logger = logging.getLogger("recall_integrations")

TOLD_MAX = 2_000  # changes that vocabularies are told one by one; after more they are made anew
LOOK_S = 1.0  # between two looks of a process that nobody asks anything


@record(frozen=True, slots=True, kw_only=True)
class _News:
    """What others wrote.

    Args:
        head: the last entry of the journal.
        semantic: how far vectors are made.
        written: of each scope written to its name, version, last change, and whether it was touched otherwise.
        ending: when the next new memory of a scope ends, in microseconds.
        late: scopes whose memories got their vectors after they were written.
        changes: what vocabularies in memory have to follow; `None` = too many to be told.
    """

    head: Point
    semantic: int
    written: Mapping[int, tuple[Scope, int, int, bool]]
    ending: Mapping[int, int]
    late: Sequence[int]
    changes: Sequence[Change] | None


class Followed:
    """How far this process has taken notice. Threads share it.

    Args:
        watch: says whether anything was committed; `None` = nobody else can write to the store.
    """

    def __init__(self, watch: Watching | None) -> None:
        self.watch = watch
        self.lock = threading.Lock()
        self.at = -1  # what the watch said
        self.head = Point()  # the last entry of the journal that was committed
        self.semantic = 0  # how far vectors were made
        self.mine = False  # whether it is this process's turn to write
        self.failed = ""  # what went wrong when it was looked at last
        self.again_at = 0.0  # when it is looked at again then, in monotonic seconds

    def begin(self, parts: StoreParts) -> None:
        """A turn to write begins: nobody else has one."""
        if self.watch is None:
            return
        with self.lock:
            self._follow(parts)
            self.mine = True

    def end(self, parts: StoreParts) -> None:
        """It ends: what was written since it began was written here."""
        if self.watch is None:
            return
        with self.lock:
            self.mine = False
            with contextlib.suppress(sqlite3.Error, SQLAlchemyError, RecallError):  # the store is being closed
                now = self.watch.version()
                if now != self.at:
                    with parts.engine.connect() as connection:
                        self.head, self.semantic = journal.reached(connection)
                parts.next_seq = self.head.seq + 1  # the numbers of a write that failed are given again, by whomever
                self.at = now

    def look(self, parts: StoreParts) -> None:
        """Take notice of what was committed before this call."""
        if self.watch is None or self.watch.version() == self.at:
            return
        with self.lock:
            if not self.mine:
                self._follow(parts)

    def _follow(self, parts: StoreParts) -> None:
        assert self.watch is not None
        now = self.watch.version()  # before reading: what comes meanwhile is met the next time
        if now == self.at:
            return
        with parts.engine.connect() as connection:  # one snapshot
            if not journal.continues(connection, self.head):
                self.head, self.semantic = _begin_anew(parts, connection)
                self.at = now
                return
            news = _read(connection, self.head.seq, self.semantic, parts.spellers.hold)
            if news.written:  # the first of them may have noted which embedding makes the vectors
                made_by = get_meta(connection, "embedding")
                parts.stamped = made_by is not None
                parts.worth.load(connection, made_by)
        _take(parts, news)
        self.head, self.semantic, self.at = news.head, news.semantic, now


def _read(connection: Connection, known: int, semantic: int, told_of: Callable[[Iterable[int]], bool]) -> _News:
    """What the database holds beyond what is known here.

    Args:
        connection: a snapshot of it.
        known: the last entry of the journal that is known.
        semantic: how far vectors were made then.
        told_of: whether somebody wants to be told of changes of some scopes, one by one.
    """
    c, s, m = schema.changes.c, schema.scopes.c, schema.memories.c
    head, cursor = journal.reached(connection)
    late: list[int] = []
    if cursor > semantic and semantic < known:
        made = select(c.scope_id).where(c.seq > semantic, c.seq <= min(cursor, known)).distinct()
        late = sorted(connection.execute(made).scalars())
    if head.seq <= known:
        return _News(head=head, semantic=cursor, written={}, ending={}, late=late, changes=())
    grouped = (
        select(c.scope_id, func.max(c.seq), func.max(case((c.op == TOUCH, 1), else_=0)))
        .where(c.seq > known)
        .group_by(c.scope_id)
    )
    newest = {scope_id: (last, bool(touched)) for scope_id, last, touched in connection.execute(grouped)}
    written = {}
    for part in rows.in_parts(sorted(newest)):
        query = select(s.scope_id, s.user_id, s.agent_id, s.namespace, s.version).where(s.scope_id.in_(part))
        for scope_id, user, agent, namespace, version in connection.execute(query):
            written[scope_id] = (Scope(user, agent, namespace), int(version), *newest[scope_id])
    first = select(m.scope_id, func.min(m.expires_at)).where(ends(), m.num > known).group_by(m.scope_id)
    ending = {int(scope_id): int(at) for scope_id, at in connection.execute(first)}
    changes = journal.pending_in(connection, known, TOLD_MAX + 1) if told_of(newest) else []
    return _News(
        head=head,
        semantic=cursor,
        written=written,
        ending=ending,
        late=late,
        changes=changes if len(changes) <= TOLD_MAX else None,
    )


def _take(parts: StoreParts, news: _News) -> None:
    """From here on, what others wrote is found."""
    for scope_id in news.late:
        scope = parts.expiry.scope_of(scope_id)
        with parts.revisions.writing(scope):
            parts.views.drop(scope_id)
    for scope_id, (scope, version, last, touched) in sorted(news.written.items()):
        with parts.revisions.writing(scope):
            parts.scopes[scope] = scope_id
            if touched:
                parts.facts.drop(scope_id)
                parts.spellers.forget(scope_id)
            parts.expiry.note_micros(scope_id, news.ending.get(scope_id))
            parts.catalog.drop(scope_id)
            parts.shown[scope_id] = (version, last)
    changes = news.changes
    if changes is not None and not changes and parts.spellers.hold(news.written):
        changes = None  # one was begun meanwhile, and may have read an older state
    parts.indexes.others_wrote(news.written, changes, news.head.seq, news.head.seq - news.semantic)
    parts.next_seq = news.head.seq + 1


def _begin_anew(parts: StoreParts, connection: Connection) -> tuple[Point, int]:
    """Forget all that was read, and read what the store holds; the last entry of its journal, and of vectors."""
    logger.warning("The journal of %s does not go on from what was read of it: all is read anew.", parts.directory.name)
    s = schema.scopes
    with parts.revisions.writing(None):
        head, semantic = journal.reached(connection)
        found = connection.execute(select(s).order_by(s.c.scope_id)).all()
        scopes = {Scope(row.user_id, row.agent_id, row.namespace): row.scope_id for row in found}
        parts.shown.update({row.scope_id: (row.version, head.seq) for row in found})
        parts.scopes.update(scopes)  # in place, and never empty: others recall meanwhile
        for scope in [scope for scope in parts.scopes if scope not in scopes]:
            parts.shown.pop(parts.scopes.pop(scope), None)
        parts.opened_at = {row.scope_id: row.version for row in found}
        parts.stamped = get_meta(connection, "embedding") is not None
        parts.expiry.load(connection)
        parts.views.drop()
        parts.catalog.drop()
        parts.facts.drop()
        parts.spellers.forget()
        for forget in parts.forgets:
            if (known := forget()) is not None:
                known()
        parts.indexes.others_wrote(parts.shown, None, head.seq, head.seq - semantic)
        parts.next_seq = head.seq + 1
    return head, semantic


def connect(parts: StoreParts) -> None:
    """From now on, what others write is taken notice of; under the write lock, when the store is ready for use."""
    watch = parts.followed.watch
    if watch is None:
        return
    of = weakref.ref(parts)  # the turn is held by what outlives the store
    parts.write_lock.begun = lambda: _of(of, lambda known: known.turn_begins())
    parts.write_lock.ending = lambda: _of(of, lambda known: known.followed.end(known))
    parts.followed.at = -1  # so that it is read, when the turn ends, how far the store is
    parts.followed.mine = True  # until the turn ends in which the store was opened
    thread = threading.Thread(target=_look_on, args=(of,), name="recall-following", daemon=True)
    with contextlib.suppress(RuntimeError):  # the process can start no more: it looks at its calls
        thread.start()


def _of(of: weakref.ref[StoreParts], call: Callable[[StoreParts], None]) -> None:
    parts = of()
    if parts is not None:
        call(parts)


def _look_on(of: weakref.ref[StoreParts]) -> None:
    """Look every second, where nobody asks anything: who keeps the indexes brings them what others wrote."""
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
