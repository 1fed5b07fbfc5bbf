"""The tables of a PostgreSQL database, brought to this package's version by Alembic, and looked at before.

Revisions are numbered by `schema.SCHEMA_VERSION`. Each runs in a transaction of its own while others read and write,
and gives up rather than wait long for a lock, behind which everybody else would wait, or with one that they wait for.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, inspect, text

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta
from recall_integrations.database.postgres import mapped_errors, require_psycopg
from recall_integrations.database.postgres_errors import shown
from recall_integrations.errors import MissingExtra, StoreVersionError, installing
from recall_integrations.patterns import regex
from recall_integrations.records import record

LOCK_TIMEOUT_MS = 3_000  # that a statement of an upgrade waits for others, who wait behind it meanwhile
_LEAST_MS = 50  # that it waits in any case
_TURN = 0x7570_6772  # the key of the lock under which one process upgrades
SCRIPTS = Path(__file__).with_name("alembic")
_MADE = regex(r"\bCREATE TABLE (?:IF NOT EXISTS )?\"?(\w+)", re.IGNORECASE)
_TOUCHED = regex(
    r"\b(?:(ALTER|DROP) TABLE (?:IF EXISTS )?(?:ONLY )?\"?(\w+)|CREATE (?:UNIQUE )?(INDEX) (?!CONCURRENTLY)"
    r".*?\bON (?:ONLY )?\"?(\w+)|(DROP INDEX) (?!CONCURRENTLY)(?:IF EXISTS )?\"?(\w+))",
    re.IGNORECASE | re.DOTALL,
)


@record(frozen=True, slots=True, kw_only=True)
class Checked:
    """What an upgrade would do, and whether the tables are those of their version.

    Args:
        version: of the database; 0 = it is empty.
        newest: that this package knows.
        pending: versions that it would be brought to, in order.
        locks: statements that keep others from reading or writing a table while they run.
        differences: between the tables and this package's; looked for where nothing is pending.
    """

    version: int
    newest: int
    pending: tuple[int, ...] = ()
    locks: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether a store can be opened on it."""
        return self.version == self.newest and not self.differences


def upgrade(engine: Engine, *, lock_timeout_ms: int = LOCK_TIMEOUT_MS, scripts: Path = SCRIPTS) -> tuple[int, ...]:
    """Bring the tables to this package's version; the versions that were made. Several processes may ask at once.

    What was made before one fails stays.

    Args:
        engine: of `open_postgres`.
        lock_timeout_ms: milliseconds that a statement waits for locks of others; less by the time for which its
            revision has locked a table of theirs.
        scripts: where Alembic finds the revisions.

    Raises:
        MissingExtra: Alembic is not installed.
        StoreVersionError: a newer package has made them, or the database is not one of this package.
        StoreError: somebody held a lock for too long, or the server cannot be reached.
    """
    command = _alembic().command
    with mapped_errors(engine), _alone(engine), engine.connect() as connection:
        before = version_of(connection)
        _check_version(engine, before)
        connection.rollback()
        try:
            with _known(engine), _Patience(lock_timeout_ms).on(connection):
                command.upgrade(_config(connection, scripts=scripts), "head")
        finally:
            connection.rollback()
        return tuple(_versions(after=before, scripts=scripts))


class _Patience:
    """How long statements of a revision wait for locks: what waits for a second one holds the first.

    Args:
        most_ms: that one waits, and for which a table of others is locked while another lock is waited for.
    """

    def __init__(self, most_ms: int) -> None:
        self._most_ms = most_ms
        self._said = ""  # by the statements of this revision
        self._locked_at: float | None = None  # since when a table of others is locked, in monotonic seconds

    @contextmanager
    def on(self, connection: Connection) -> Iterator[None]:
        """Inside, it is so for the transactions of a connection."""
        heard: dict[str, Callable[..., None]] = {"begin": self._begun, "before_cursor_execute": self._about_to_say}
        for name, told in heard.items():
            event.listen(connection, name, told)
        try:
            yield
        finally:
            for name, told in heard.items():
                event.remove(connection, name, told)

    def _begun(self, connection: Connection) -> None:  # each transaction: behind a pooler a session has no settings
        self._said, self._locked_at = "", None
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(self._most_ms)}")

    def _about_to_say(self, _connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if self._locked_at is not None:
            left = self._most_ms - round((time.monotonic() - self._locked_at) * 1e3)
            cursor.execute(f"SET LOCAL lock_timeout = {min(int(self._most_ms), max(left, _LEAST_MS))}")
            return
        self._said += f"{statement};"
        if any(locking(self._said)):
            self._locked_at = time.monotonic()


def check(engine: Engine) -> Checked:
    """What `upgrade` would do. Nothing is changed.

    Raises:
        MissingExtra: Alembic is not installed.
        StoreVersionError: the database is not one of this package.
        StoreError: the server cannot be reached.
    """
    alembic = _alembic()
    with mapped_errors(engine), engine.connect() as connection:
        version = version_of(connection)
        pending = tuple(_versions(after=version))
        differences: tuple[str, ...] = ()
        if not pending and version == schema.SCHEMA_VERSION:
            differences = tuple(_differences(connection))
    written = io.StringIO()
    if pending:
        start = "base" if not version else str(version)
        with _known(engine):
            alembic.command.upgrade(_config(output=written), f"{start}:head", sql=True)
    return Checked(
        version=version,
        newest=schema.SCHEMA_VERSION,
        pending=pending,
        locks=tuple(locking(written.getvalue())),
        differences=differences,
    )


def make_ready(engine: Engine) -> int:
    """The version of the tables, made in an empty database; one with older tables is left to `recall db upgrade`.

    Raises:
        StoreVersionError: they are older or newer than this package's, or others'.
        MissingExtra, StoreError: as `upgrade`.
    """
    with mapped_errors(engine), engine.connect() as connection:
        version = version_of(connection)
    _check_version(engine, version)
    if not version:
        upgrade(engine)
    elif version < schema.SCHEMA_VERSION:
        raise StoreVersionError(
            f"The tables of {shown(engine.url)} have version {version}; this package needs {schema.SCHEMA_VERSION}. "
            "Run `recall db upgrade` on it; what is open meanwhile goes on."
        )
    return schema.SCHEMA_VERSION


def version_of(connection: Connection) -> int:
    """The version of the tables; 0 for a database without any.

    Raises:
        StoreVersionError: there are tables of somebody else under our names, or ours without a version.
    """
    there = set(inspect(connection).get_table_names()) & set(schema.metadata.tables)
    if not there:
        return 0
    found = get_meta(connection, "schema_version") if {schema.meta.name, schema.memories.name} <= there else None
    if found is None or not found.isdecimal():
        raise StoreVersionError(
            f"{shown(connection.engine.url)} has tables of the same names that are not those of recall-integrations. "
            "Give a database, or a schema by `options=-csearch_path=…`, of its own. Nothing was changed."
        )
    return int(found)


def locking(sql: str) -> Iterator[str]:
    """Statements that keep others from a table that was there before, which a live database feels."""
    made = {found.group(1) for found in _MADE.finditer(sql)}
    for statement in sql.split(";"):
        found = _TOUCHED.search(statement)
        if found is None or (found.group(2) or found.group(4)) in made or "alembic_version" in statement:
            continue
        yield " ".join(statement[found.start() :].split())


def _check_version(engine: Engine, version: int) -> None:
    if version > schema.SCHEMA_VERSION:
        raise StoreVersionError(
            f"The tables of {shown(engine.url)} have version {version}; this package knows up to "
            f"{schema.SCHEMA_VERSION}. Upgrade recall-integrations. Nothing was changed."
        )


def _differences(connection: Connection) -> list[str]:
    alembic = _alembic()
    names = set(schema.metadata.tables)

    def ours(_thing: Any, name: str | None, kind: str, *_more: Any) -> bool:
        return kind != "table" or name in names  # others may live in the same database

    def named(name: str | None, kind: str, _parents: Any) -> bool:
        return kind != "table" or name in names  # others are not even read: their types need not be known

    opts = {"compare_type": True, "compare_server_default": True, "include_object": ours, "include_name": named}
    context = alembic.migration.MigrationContext.configure(connection, opts=opts)
    found = alembic.autogenerate.compare_metadata(context, schema.metadata)
    return [str(one) for one in found]


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Inside, no other process upgrades this database."""
    # In a transaction, which a pooler leaves on its connection, and which sees what others have done before.
    with engine.connect() as connection, connection.execution_options(isolation_level="READ COMMITTED").begin():
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _TURN})
        yield


def _versions(after: int, scripts: Path = SCRIPTS) -> list[int]:
    known = _alembic().script.ScriptDirectory.from_config(_config(scripts=scripts))
    return sorted(number for one in known.walk_revisions() if (number := int(one.revision)) > after)


def _config(connection: Connection | None = None, output: io.StringIO | None = None, *, scripts: Path = SCRIPTS) -> Any:
    config = _alembic().config.Config(output_buffer=output)
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _known(engine: Engine) -> Iterator[None]:
    """Inside, a version that no revision leads from is an error of ours."""
    from alembic.util import CommandError

    try:
        yield
    except CommandError as e:
        raise StoreVersionError(
            f"Nothing leads from the version of the tables of {shown(engine.url)} to this package's ({e}). Use the "
            "release that made them, or restore a backup. Nothing was changed."
        ) from e


def _alembic() -> Any:
    """The one gate to the package that runs revisions."""
    require_psycopg()
    try:
        import alembic
        import alembic.autogenerate
        import alembic.command
        import alembic.config
        import alembic.migration
        import alembic.script
    except ImportError as e:
        raise MissingExtra(
            f"Tables in PostgreSQL are made by Alembic ({e}). Install it with: {installing('postgres')}"
        ) from e
    return alembic
