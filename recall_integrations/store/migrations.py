"""Schema migrations: decorated functions, one transaction each, from the first version on.

A new version adds a function decorated with `@migration(to=N)`; a store of version `N - 1` is brought forward when it
is opened. A store of a newer version than this package knows is refused, untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlalchemy import Connection, Engine, create_mock_engine, inspect, select, text, update
from sqlalchemy.dialects import sqlite

from recall_integrations.database import schema
from recall_integrations.database.meta import put_meta
from recall_integrations.errors import StoreVersionError
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.vectors import NO_HOME
from recall_integrations.store import entity_keys, epochs, journal

Migration = Callable[[Connection], None]
_MIGRATIONS: dict[int, Migration] = {}
_MADE = 17  # the version whose tables the first step makes: a new store takes only those steps that come after it


def migration(*, to: int) -> Callable[[Migration], Migration]:
    """Register the step that leads to version `to`."""

    def register(step: Migration) -> Migration:
        assert to not in _MIGRATIONS, f"two migrations lead to version {to}"
        _MIGRATIONS[to] = step
        return step

    return register


@migration(to=1)
def _create_tables(connection: Connection) -> None:
    # In a new store, what the steps up to `_MADE` add too. Nobody asks for each table whether it is there: `migrate`
    # came here because there is none at all.
    for statement in _statements():
        connection.exec_driver_sql(statement)
    entity_keys.make(connection)


@cache
def _statements() -> tuple[str, ...]:
    """What makes all tables and their indexes in SQLite; rendering them takes longer than they do."""
    made: list[str] = []
    dialect = sqlite.dialect()
    engine = create_mock_engine("sqlite://", lambda statement, *_: made.append(str(statement.compile(dialect=dialect))))
    schema.metadata.create_all(engine, checkfirst=False)
    return tuple(made)


@migration(to=2)
def _nothing(_connection: Connection) -> None:
    pass


@migration(to=3)
def _create_words(connection: Connection) -> None:
    # Filled here, not when they are first read: some 50 µs a memory, a tenth of what writing it has cost, but once, and
    # not at the first recall of every process.
    schema.words.create(connection, checkfirst=True)
    words.fill(connection)


@migration(to=4)
def _add_role(connection: Connection) -> None:
    # Null in every row that is there: roles are then read from the actors' names.
    role = schema.memories.c.role
    if role.name not in {c["name"] for c in inspect(connection).get_columns(schema.memories.name)}:
        connection.execute(text(f"ALTER TABLE {schema.memories.name} ADD COLUMN {role.name} {role.type.compile()}"))


@migration(to=5)
def _mark_questions(connection: Connection) -> None:
    schema.words.drop(connection, checkfirst=True)
    schema.words.create(connection)
    words.fill(connection)


@migration(to=6)
def _words_by_language(_connection: Connection) -> None:
    """Nothing to change: the words are of another analyser from here on, so an older package must not write any."""


@migration(to=7)
def _count_languages(connection: Connection) -> None:
    schema.languages.create(
        connection, checkfirst=True
    )  # filled with the words, which this version's analyser cuts anew


@migration(to=8)
def _words_of_bm25(connection: Connection) -> None:
    schema.words.drop(connection, checkfirst=True)
    schema.words.create(connection)
    words.fill(connection)


@migration(to=9)
def _chain_changes(connection: Connection) -> None:
    # The indexes have no mark of their history yet, and are made anew when the store is opened.
    changes = schema.changes
    if changes.c.digest.name not in {c["name"] for c in inspect(connection).get_columns(changes.name)}:
        connection.execute(text(f"ALTER TABLE {changes.name} ADD COLUMN digest VARCHAR NOT NULL DEFAULT ''"))
        journal.chain(connection)


@migration(to=10)
def _key_entities(connection: Connection) -> None:
    entity_keys.make(connection)
    entity_keys.renew(connection)


@migration(to=11)
def _collections_of_large_scopes_only(connection: Connection) -> None:
    # Small scopes shared a collection, which nobody asks any more. Opening removes the directory of the epoch before,
    # and scopes that are too large for an exact scan get collections anew, from the vectors in the database.
    scopes = schema.scopes
    if scopes.c.vector_until.name not in {c["name"] for c in inspect(connection).get_columns(scopes.name)}:
        connection.execute(text(f"ALTER TABLE {scopes.name} ADD COLUMN vector_until BIGINT NOT NULL DEFAULT 0"))
        connection.execute(update(scopes).values(vector_home=NO_HOME, vector_until=0))
        epochs.advance(connection, journal.SEMANTIC)


@migration(to=12)
def _add_expiry(connection: Connection) -> None:
    ends = schema.memories.c.expires_at
    if ends.name not in {c["name"] for c in inspect(connection).get_columns(schema.memories.name)}:
        connection.execute(text(f"ALTER TABLE {schema.memories.name} ADD COLUMN {ends.name} BIGINT"))
    schema.memories_by_expiry.create(connection, checkfirst=True)


@migration(to=13)
def _create_facts(connection: Connection) -> None:
    # Filled when the store is opened, as of any other version of the rules (`facts.rows`).
    schema.facts.create(connection, checkfirst=True)
    schema.told_times.create(connection, checkfirst=True)


@migration(to=14)
def _create_facts_read(connection: Connection) -> None:
    schema.facts_read.create(connection, checkfirst=True)


@migration(to=15)
def _create_judged(connection: Connection) -> None:
    schema.judged.create(connection, checkfirst=True)


@migration(to=16)
def _allow_several_processes(_connection: Connection) -> None:
    # Nothing to change. But a version that knows nothing of other processes must not open what they have open, and the
    # journal has entries from now on that are of no memory.
    return


@migration(to=17)
def _create_pushed(connection: Connection) -> None:
    # Of scopes in PostgreSQL; a directory has the same tables, and leaves them empty.
    for table in (schema.pushed, schema.postings, schema.terms, schema.speakers):
        table.create(connection, checkfirst=True)


def current_version(engine: Engine) -> int:
    """Version of the store; 0 for an empty database.

    Raises:
        StoreVersionError: it holds tables, but not those of a store.
    """
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        if not tables:
            return 0
        row = None
        if {schema.meta.name, schema.memories.name} <= tables:
            row = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == "schema_version")).first()
    if row is None or not str(row[0]).isdecimal():
        raise StoreVersionError(
            f"{engine.url.database} is a database, but not one of recall-integrations. Give another directory. "
            "Nothing was changed."
        )
    return int(row[0])


def migrate(engine: Engine) -> int:
    """Bring the store to this package's version and return it.

    Raises:
        StoreVersionError: it was written by a newer version, or is not a store.
    """
    version = current_version(engine)
    if version > schema.SCHEMA_VERSION:
        raise StoreVersionError(
            f"This store has schema version {version}; this package knows up to {schema.SCHEMA_VERSION}. "
            "Upgrade recall-integrations to open it. Nothing was changed."
        )
    if version == 0:  # in one transaction: each step by itself would wait for the disk
        with engine.begin() as connection:
            _MIGRATIONS[1](connection)
            put_meta(connection, "schema_version", str(_MADE))
        version = _MADE
    for target in range(version + 1, schema.SCHEMA_VERSION + 1):
        with engine.begin() as connection:
            _MIGRATIONS[target](connection)
            put_meta(connection, "schema_version", str(target))
    return schema.SCHEMA_VERSION
