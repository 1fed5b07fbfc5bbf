"""Move a store to another place while it is read and written.

    copy     scope by scope, some memories at a time; the progress is kept in the target, committed with the rows
    follow   the entries of the source's journal since the beginning, until few are left, or as long as is asked
    compare  tables that no journal covers
    end      take the source's turn to write: the rest of the journal, small tables; then the target is whole

Rows keep their numbers, so the target answers as the source does. It cannot be opened until it is whole; a move that
was stopped goes on at the same place. The source is never changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.postgres_errors import is_lost
from recall_integrations.errors import InvalidArgument, StoreError, StoreLocked
from recall_integrations.observability.progress import Told, telling
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.directory import Held
from recall_integrations.store.moving import ending, following, tables
from recall_integrations.store.moving.places import Place, brought, held, identity, is_empty, noted
from recall_integrations.store.moving.way import Way
from recall_integrations.store.opening import is_address

FEW = 500  # changes that may be left when the source's writers are kept out
ALL = 2**62  # beyond every scope: all of them are copied
ROUNDS = 20  # of following, at most: they may write as fast as it goes
EVERY_S = 0.5  # between two looks at the source that is followed
AWAY_S, AWAY_MAX_S = 1.0, 10.0  # before a database that is away is asked again: at first, and at most


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


@record(frozen=True, slots=True, kw_only=True)
class Behind:
    """The lag of a target that follows its source."""

    brought: int  # number of changes applied since it follows
    changes: int  # number of changes still to apply
    lag_s: float  # seconds since none was left: the age of the target's state at most
    quiet_s: float  # seconds since the last write was found
    away: str = ""  # why one end could not be reached just now; empty = both could


def move(
    source: Place,
    target: Place,
    *,
    progress: bool | Told = False,
    stopped: Callable[[], None] = lambda: None,
    goes_on: Callable[[Behind], bool] | None = None,
    every_s: float = EVERY_S,
) -> Moved:
    """Copy a store to another place; it also stays where it was.

    Args:
        source: a directory, or the address of a database. Others may read and write it meanwhile; writers wait during
            the last step.
        target: an empty place, or one to which the same store was moved and to which nobody has written since: then
            only later changes are copied.
        progress: whether to show the progress, or an object that is told of it.
        stopped: called between two steps; an error from it ends the move, which can be continued later.
        goes_on: called after each look at the source, once all is copied; true = follow it further, false = make the
            target whole. A database that is away meanwhile is waited for. `None` = do not follow.
        every_s: seconds between two looks.

    Raises:
        InvalidArgument: `every_s` is not above 0; the target holds something else, or is the source. Nothing was
            changed.
        StoreLocked: another process has the target open.
        StorePathError: the source does not exist.
        StoreVersionError: another version of this package made one of them.
        StoreError: one of them cannot be read or written. The rows copied so far stay.
    """
    if not every_s > 0:
        raise InvalidArgument(f"every_s is a number of seconds above 0, not {every_s!r}.")
    watched = None if goes_on is None else _Watched(goes_on, every_s)
    began, away = time.monotonic(), _Away()

    def once() -> Moved | None:
        """Begin, or go on; return `None` if a database is away for the moment."""
        try:
            with held(source, made=False) as one:
                if _same(one, target):
                    raise InvalidArgument("The target is the source. Give another place.")
                with held(target, made=True) as other, other.turn, _errors(one, other), telling(progress) as tell:
                    return _Move(Way(one, other, tell, stopped), watched, began).run()
        except StoreError as e:
            if watched is None or not away.passes(e, watched.looks) or not watched.away(e):
                raise
            return None

    while (moved := once()) is None:
        time.sleep(away.wait_s)
    return moved


class _Away:
    """Decides whether a database may come back, and how long to wait for it."""

    def __init__(self) -> None:
        self.wait_s = 0.0
        self._looks = 0

    def passes(self, error: StoreError, looks: int) -> bool:
        """Say whether an error may pass: that of a move that has followed its source, so both ends were there."""
        if looks > self._looks:  # there was one since the last error
            self.wait_s, self._looks = 0.0, looks
        # The server may still think that the connections which were cut have the target open.
        held_by_itself = isinstance(error, StoreLocked) and self.wait_s > 0
        if not looks or not (is_lost(error.__cause__) or held_by_itself):
            return False
        self.wait_s = min(2 * self.wait_s, AWAY_MAX_S) or AWAY_S
        return True


@contextmanager
def _errors(*ends: Held) -> Iterator[None]:
    """Translate errors of a database into those of this package, with its name."""
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


class _Watched:
    """Follows the source as long as is asked, also over interruptions."""

    def __init__(self, goes_on: Callable[[Behind], bool], every_s: float) -> None:
        self._goes_on, self._every_s = goes_on, every_s
        self.looks = self._brought = 0
        self._left = 0
        self._level = self._quiet = time.monotonic()

    def follow(self, way: Way) -> None:
        """Apply writes, until `goes_on` ends it."""
        if not self.looks:
            self._level = self._quiet = time.monotonic()
        while True:
            looked = time.monotonic()
            done = following.follow(way, told=False)
            following.bring_journal(way)
            self._left = following.behind(way)
            self.looks += 1
            self._brought += done
            if done or self._left:
                self._quiet = time.monotonic()
            if not self._left:
                self._level = looked  # later writes would be left, or were applied
            if not self._asked(""):
                return
            if not self._left:
                time.sleep(self._every_s)

    def away(self, error: StoreError) -> bool:
        """Say whether to wait for a database that cannot be reached."""
        return self._asked(str(error))

    def _asked(self, away: str) -> bool:
        now = time.monotonic()
        told = Behind(
            brought=self._brought,
            changes=self._left,
            lag_s=now - self._level,
            quiet_s=now - self._quiet,
            away=away,
        )
        return self._goes_on(told)


class _Move:
    def __init__(self, way: Way, watched: _Watched | None, began: float) -> None:
        self.way, self.watched, self.began = way, watched, began
        self.source, self.target = way.source, way.target
        self.went_on = False
        self.held_s = 0.0

    def run(self) -> Moved:
        self._begin()
        self._copy()
        self._catch_up()
        if self.watched is not None:
            self.watched.follow(self.way)
        compared = ending.compare(self.way)
        self._catch_up()
        with self.source.turn:
            waited = time.monotonic()
            following.follow(self.way)
            ending.end(self.way, compared)
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

    def _catch_up(self) -> None:
        for _ in range(ROUNDS):
            if following.follow(self.way) <= FEW:
                break
        following.bring_journal(self.way)

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
            if there is None or lost:  # the journal lacks removals since the beginning
                head, _ = journal.reached(source)
                there = {"from": mine, "at": head.seq, "scope": 0, "num": 0}
            else:
                self.went_on = True
            self.way.note(target, there)

    def _copy(self) -> None:
        s = schema.scopes.c
        with self.source.engine.connect() as source:
            found = source.execute(select(s.scope_id, s.memories).order_by(s.scope_id)).all()
        done, total = 0, sum(row.memories for row in found)
        for scope_id, memories in found:
            if scope_id >= int(self.way.noted["scope"]):
                self._copy_scope(scope_id, done, total)
            done += memories
            self.way.tell("Copying memories", done, total)

    def _copy_scope(self, scope_id: int, done: int, total: int) -> None:
        m = schema.memories.c
        after = int(self.way.noted["num"]) if scope_id == self.way.noted["scope"] else 0
        last = False
        while not last:
            self.way.stopped()
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
                self.way.note(target, {**self.way.noted, **at})
            done += len(nums)
            after = upto
            self.way.tell("Copying memories", min(done, total), total)
