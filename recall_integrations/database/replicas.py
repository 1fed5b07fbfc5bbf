"""What recalls read is read from replicas of the primary, where one has replayed what this node knows.

    a recall asks the primary for one row: what was committed last? ──▶ entry 812 of the journal, digest 5f…
    a replica is asked on the connection that reads: is it one, has it entry 812 with that digest, and the vectors?
      ├─ yes      ─▶ it is read
      └─ no, late,
         failed   ─▶ the next one, and at last the primary

The entry is exact where positions in PostgreSQL's log are not. Writes take turns, so who has an entry has all before
it; its digest is of all before it, so a server of another history (a failover, a backup put back) is known; and the log
moves on for reasons of the server's own, behind which a replica would always seem to be. Only what the journal tells of
is read from replicas.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from sqlalchemy import URL, Engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from recall_integrations.database.answering import remaining, within
from recall_integrations.database.meta import PRUNED, TENANT, tenant_of
from recall_integrations.database.postgres import open_postgres, parsed
from recall_integrations.database.postgres_errors import is_crowded, is_lost, is_ours, mapped_error, shown, sqlstate
from recall_integrations.database.reading import REPLICAS, Wanted
from recall_integrations.errors import RecallError, StoreClosed
from recall_integrations.resilience.breaker import Breaker, Pass
from recall_integrations.resilience.guard import Health
from recall_integrations.resilience.pace import Pace

T = TypeVar("T")
PROBE_S, PROBE_MAX_S = 0.5, 8.0  # before one that failed is asked again, beside all recalls: at first, and at most
CONNECT_S = 2  # until one counts as away that does not answer at all
LATE_S = 0.1  # that one is left alone which lags, or is of another history
READ_S = 60.0  # for all that is read at once
CHECKED_S = 1.0  # after which a connection is asked again, though nothing was written: its server may be promoted
HALF = 2  # of a recall's time is left for the primary
POOL = 4  # connections of each replica that are kept
_CHECKED = "recall_checked"
_SESSION = "target_session_attrs"  # option of libpq
_PASSING = frozenset({"40001", "57014"})  # it replays what a query still looks at; a statement was too slow
_STATE = (
    "SELECT pg_is_in_recovery(), (SELECT digest FROM changes WHERE seq = %s), "
    f"(SELECT value FROM meta WHERE key = '{PRUNED}'), "
    "coalesce((SELECT seq FROM cursors WHERE name = 'semantic'), 0), (SELECT max(seq) FROM changes)"
)

logger = logging.getLogger("recall_integrations")


_wanted: ContextVar[Wanted | None] = ContextVar("recall_wanted", default=None)


class NotThere(Exception):
    """A replica has not what is wanted.

    Args:
        why: in words.
    """


class Replica:
    """One replica. Threads share it. Recalls read it from when it has answered beside them to its first failure.

    Args:
        url: of its database.
        timeout_s: that it is waited for until it says how far it is.
        tenant: the role of a tenant; `None` = the owner.

    Attributes:
        name: what it is called in messages; without a password.
        ready: whether it has answered, and did not fail since.
        probe_at: when it is asked again otherwise, in monotonic seconds.
        reads, late, failed: how often it was read, had not what was wanted, and failed.
    """

    def __init__(self, url: URL, *, timeout_s: float, tenant: str | None) -> None:
        self._url, self._timeout_s, self._tenant = url, timeout_s, tenant
        self.name = shown(url)
        self.ready, self.probe_at = False, 0.0
        self.reads = self.late = self.failed = 0
        self._wait_s = PROBE_S
        self._why = "it was not reached yet"
        self._later = 0.0  # monotonic seconds
        self._breaker = Breaker(self.component, failures_max=1, open_s=PROBE_S)
        self._pace = Pace()
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closed = False

    @property
    def component(self) -> str:
        """By which `health` names it."""
        return f"replica {self.name}"

    def read(self, work: Callable[[Engine], T]) -> T:
        """What `work` reads here.

        Raises:
            NotThere: it has not what is wanted, or is left alone for the moment.
            Exception: it failed, or `work` did.
        """
        engine = self._engine
        if not self.ready or engine is None or time.monotonic() < self._later:
            raise NotThere(self._why)
        began = time.perf_counter()
        try:
            found = work(engine)
        except NotThere as e:
            self.late += 1
            self._why, self._later = str(e), time.monotonic() + LATE_S
            raise
        except Exception as e:
            if of_a_server(e) and sqlstate(e) not in _PASSING and not is_crowded(e):
                self._fail(e)
            raise
        self._pace.record((time.perf_counter() - began) * 1e3)
        self.reads += 1
        self._why = ""
        return found

    def probe(self) -> None:
        """Ask whether it is there, as nobody waits for that."""
        try:
            engine = self._opened()
            with within(2 * CONNECT_S), engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
        except Exception as e:
            if not of_a_server(e):
                raise
            self._fail(e)
            self._wait_s = min(2 * self._wait_s, PROBE_MAX_S)
            return
        self._breaker.succeeded(Pass(trial=True))
        self._wait_s = PROBE_S
        self.ready = True
        logger.info("%s is read from now on.", self.name)

    def told(self, error: Exception) -> str:
        """What went wrong, without a password."""
        return str(mapped_error(error, self._url) or error)

    def _fail(self, error: Exception) -> None:
        (logger.warning if self.ready or not self.failed else logger.debug)(
            "%s is not read for now: %s", self.name, self.told(error)
        )
        self.ready, self.probe_at = False, time.monotonic() + self._wait_s
        self.failed += 1
        self._why = self.told(error)
        self._breaker.failed(Pass(), type(getattr(error, "orig", None) or error).__name__)

    def _opened(self) -> Engine:
        with self._lock:
            if self._closed:
                raise StoreClosed("The store was closed meanwhile.")
            if self._engine is None:
                made = open_postgres(
                    self._url, pool_size=POOL, connect_timeout_s=CONNECT_S, isolation="REPEATABLE READ"
                )
                event.listen(made, "checkout", self._checked)
                self._engine = made.execution_options(**{TENANT: self._tenant}) if self._tenant else made
            return self._engine

    def _checked(self, raw: DBAPIConnection, entry: ConnectionPoolEntry, _proxy: object) -> None:
        """A connection is going to be used: its server must have what is wanted. It never goes back behind that."""
        wanted = _wanted.get()
        if wanted is None:
            return
        known = entry.info.get(_CHECKED)
        if known is not None and known[0] == wanted and time.monotonic() - known[1] < CHECKED_S:
            return
        why = _lacks(raw, wanted, self._timeout_s)
        if why:
            raise NotThere(why)
        entry.info[_CHECKED] = wanted, time.monotonic()

    def health(self) -> Health:
        """How it is."""
        known = self._breaker.known
        return Health(
            component=self.component,
            breaker=self._breaker.state,
            failures=known.failures,
            why=known.why or self._why,
            active=0,
            hanging=0,
            median_ms=self._pace.median_ms(),
        )

    def close(self) -> None:
        """Let its connections go."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()


def _lacks(raw: Any, wanted: Wanted, timeout_s: float) -> str:
    """Why the server of a connection cannot be read; empty = it can."""
    raw.autocommit = True  # one way to the server, and no snapshot that would be older than what it says
    try:
        with within(timeout_s), raw.cursor() as cursor:
            cursor.execute(_STATE, (wanted.seq,))
            replica, digest, pruned, semantic, last = cursor.fetchone()
    finally:
        if not raw.closed:
            raw.autocommit = False
    if not replica:
        return "it is no replica (any more)"
    if digest != wanted.digest and pruned != f"{wanted.seq} {wanted.digest}":
        late = digest is None and (last or 0) < wanted.seq
        return "it lags behind" if late else "it is of another history"
    return "it lags behind with vectors" if semantic < wanted.semantic else ""


class Replicas:
    """The replicas of a store, each asked in turn.

    Args:
        of: the engine of the primary.
        addresses: of the replicas.
        wanted: what they must have for their rows to be read; `None` = the primary is to be read.
        timeout_s: as for `Replica`.
    """

    def __init__(
        self,
        of: Engine,
        addresses: Sequence[str],
        wanted: Callable[[], Wanted | None],
        *,
        timeout_s: float,
    ) -> None:
        self._wanted = wanted
        tenant = tenant_of(of)
        self.each = tuple(Replica(beside(of.url, one), timeout_s=timeout_s, tenant=tenant) for one in addresses)
        self._next = itertools.count()
        self._closed = threading.Event()
        of.update_execution_options(**{REPLICAS: self})
        thread = threading.Thread(
            target=_look_after, args=(self.each, self._closed), name="recall-replicas", daemon=True
        )
        with suppress(RuntimeError):  # the process can start no more: the primary is read
            thread.start()

    def read(self, primary: Engine, work: Callable[[Engine], T], wanted: Wanted | None = None) -> T:
        """See `reading.read_by`."""
        found = self._read(work, wanted)
        return work(primary) if found is _NOTHING else found

    def read_instead(self, primary: Engine, work: Callable[[Engine], T]) -> T:
        """The same, but that the primary is read unless it is away."""
        try:
            return work(primary)
        except Exception as e:
            found = self._read(work) if is_lost(e) else _NOTHING
            if found is _NOTHING:
                raise
            return found  # type: ignore[no-any-return]

    def _read(self, work: Callable[[Engine], Any], wanted: Wanted | None = None) -> Any:
        wanted = wanted or self._wanted()
        if wanted is None:
            return _NOTHING
        token = _wanted.set(wanted)
        try:
            found = (_tried(replica, work) for replica in self._in_turn())
            return next((one for one in found if one is not _NOTHING), _NOTHING)
        finally:
            _wanted.reset(token)

    def _in_turn(self) -> Iterator[Replica]:
        first = next(self._next)
        return (self.each[(first + i) % len(self.each)] for i in range(len(self.each)))

    def told(self, seen_at: float) -> str:
        """That they answer alone, in words.

        Args:
            seen_at: when the primary was last reached, in monotonic seconds.
        """
        ready = [one.name for one in self.each if one.ready]
        ago = time.monotonic() - seen_at
        return f"What is not in memory is read from {' and '.join(ready)}, as of {ago:.0f} s ago." if ready else ""

    def health(self) -> tuple[Health, ...]:
        """How each is."""
        return tuple(one.health() for one in self.each)

    def close(self) -> None:
        """Let all go."""
        self._closed.set()
        for one in self.each:
            one.close()


_NOTHING: Any = object()


def _tried(replica: Replica, work: Callable[[Engine], Any]) -> Any:
    try:
        with within(min(remaining() / HALF, READ_S)):
            return replica.read(work)
    except NotThere:
        return _NOTHING
    except Exception as e:
        if not of_a_server(e):
            raise
        logger.debug("%s failed, and another server is read: %s", replica.name, replica.told(e))
        return _NOTHING


def of_a_server(error: Exception) -> bool:
    """Whether a database raised it: another one may do better."""
    return (is_ours(error) or isinstance(error, RecallError)) and not isinstance(error, StoreClosed)


def _look_after(each: Sequence[Replica], closed: threading.Event) -> None:
    """Ask those that are not ready, until the store is closed."""
    while not closed.is_set():
        for one in each:
            if not one.ready and time.monotonic() >= one.probe_at:
                with suppress(StoreClosed):
                    one.probe()
        closed.wait(LATE_S)


def beside(primary: URL, address: str) -> URL:
    """The address of a replica: what it does not name is as in the primary's."""
    given = parsed_beside(primary, address)
    query = {**primary.query, **given.query}
    if _SESSION not in given.query:  # the primary's address may ask for a server that takes writes, as no replica does
        query.pop(_SESSION, None)
    if given.host or "host" in given.query:  # where the primary is says nothing of it
        for name in ("host", "hostaddr", "port"):
            if name not in given.query:
                query.pop(name, None)
    return parsed(
        URL.create(
            primary.drivername,
            username=given.username or primary.username,
            password=primary.password,
            host=given.host,
            port=given.port,
            database=given.database or primary.database,
            query=query,
        )
    )


def parsed_beside(primary: URL, address: str) -> URL:
    """An address that need not name a database."""
    return make_url(address).set(drivername=primary.drivername)
