"""Tables of the system of record, in SQLAlchemy Core so that SQLite and PostgreSQL share them.

Every table of a tenant's data is keyed by `scope_id` first. Times are microseconds since 1970-01-01T00:00Z. `num`
identifies one version of a memory: the number of the change that wrote it. Text is compared byte by byte, and JSON is
kept as the text that was written, so that both databases answer alike.
"""

from __future__ import annotations

import json
from collections.abc import Set
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    JSON,
    VARCHAR,
    BigInteger,
    Column,
    Connection,
    Dialect,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    insert,
    select,
    update,
)
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from recall_integrations.errors import StoreVersionError

SCHEMA_VERSION = 19
SQL_VARIABLES = 500  # values in one `IN (...)`; databases bound how many a statement may hold

metadata = MetaData()


class JsonText(TypeDecorator[Any]):
    """JSON in a column of text, written as SQLAlchemy's `JSON` writes it in SQLite.

    `jsonb` orders keys anew and refuses `\\u0000`, and the driver decodes both of PostgreSQL's own types, where most
    readers want the text.
    """

    impl = VARCHAR(collation="C")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


# A database has a collation of its own in PostgreSQL, by which "a" may come before "B".
Name = String().with_variant(VARCHAR(collation="C"), "postgresql")
Words = Text().with_variant(VARCHAR(collation="C"), "postgresql")
Json = JSON().with_variant(JsonText(), "postgresql")


def _of_scope(name: str, *columns: Any, key: tuple[str, ...], clustered: bool = True) -> Table:
    """Return a table of a tenant's data; a clustered one is read in one sequential scan of a scope in SQLite."""
    scope_id = Column("scope_id", Integer, nullable=False, autoincrement=False)
    whole: dict[str, Any] = {"sqlite_with_rowid": False} if clustered else {}
    return Table(name, metadata, scope_id, *columns, PrimaryKeyConstraint("scope_id", *key), **whole)


def _whole(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _small(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _named(name: str) -> Column[str]:
    return Column(name, Name, nullable=False)


meta = Table("meta", metadata, Column("key", Name, primary_key=True), Column("value", Words, nullable=False))

scopes = Table(
    "scopes",
    metadata,
    Column("scope_id", Integer, primary_key=True, autoincrement=False),
    *map(_named, ("user_id", "agent_id", "namespace")),
    _whole("version"),  # bumped by every write; keys caches
    _small("memories"),
    _named("vector_home"),  # its Chroma collection; empty: scanned exactly, it has none
    Column("vector_until", BigInteger, nullable=False, server_default="0"),  # last change that the collection has
    UniqueConstraint("user_id", "agent_id", "namespace"),
)

memories = _of_scope(
    "memories",
    _whole("num"),
    _named("id"),
    Column("text", Words, nullable=False),
    _named("type"),
    Column("actor", Name),
    Column("role", Name),  # null: that of the actor's name, if it is the spelling of one
    Column("channel", Name),
    Column("event_at", BigInteger),
    _whole("created_at"),
    Column("expires_at", BigInteger),  # null: it stays
    Column("importance", Float, nullable=False),
    Column("thread", Name),
    Column("position", BigInteger),
    *(Column(name, Json, nullable=False) for name in ("entities", "relations", "refs", "metadata")),
    UniqueConstraint("scope_id", "id"),
    # The temporal arm scans event_at, and created_at where event_at is null: one index serves both, and holds the num.
    Index("memories_by_event_at", "scope_id", "event_at", "created_at", "num"),
    Index("memories_by_type", "scope_id", "type"),
    Index("memories_by_thread", "scope_id", "thread", "position"),
    key=("num",),
    clustered=False,
)

# Of those that end only: the others pay nothing for it.
memories_by_expiry = Index(
    "memories_by_expiry",
    memories.c.scope_id,
    memories.c.expires_at,
    memories.c.num,
    sqlite_where=memories.c.expires_at.is_not(None),
)

# float16, little-endian
vectors = _of_scope("vectors", _whole("num"), Column("vector", LargeBinary, nullable=False), key=("num",))

# What `indexes/word_rows.py` cut the texts into, filled anew when `text.ANALYSER_VERSION` changes.
words = _of_scope(
    "words",
    _whole("num"),
    Column("words", Words, nullable=False),  # content words as `text.content` gives them, joined by line feeds
    Column("more", Words),  # what BM25 reads besides: words of the actor's name, and those left out
    _small("stems"),  # how many words the two columns hold together
    _small("length"),  # how many the text has, of which a very long one keeps the first
    _small("asks"),  # 1: the text asks something
    Column("asked", LargeBinary),  # a bit for each of the words, first the highest: 1 in a sentence that asks
    key=("num",),
)

# What texts say of slots (`facts/`), filled anew when `facts.sentences.VERSION` changes.
facts = _of_scope(
    "facts",
    _whole("num"),
    _small("place"),  # in the memory, from 0
    _named("subject"),  # in normal form; empty: the user
    _named("slot"),
    Column("value", Words, nullable=False),
    _named("op"),  # is | was | not
    Column("instead_of", Words, nullable=False),
    _small("corrects"),
    Column("since", BigInteger),
    Column("until", BigInteger),
    Column("confidence", Float, nullable=False),
    _named("by"),  # rule | relation | llm
    key=("num", "place"),
)

# Which memories a language model has read for facts, so that none is asked about twice.
# `by` is the version of the prompt, and what the model is called.
facts_read = _of_scope("facts_read", _whole("num"), _named("by"), key=("num",))

# When what texts tell happened: dates in them, read against the memory's own time; `stop` exclusive.
told_times = _of_scope(
    "told_times", _whole("num"), _small("place"), *map(_whole, ("start", "stop")), key=("num", "place")
)

# What the memories of a scope say of their languages, in sums (`text/detection.py`); counted anew with the words.
languages = _of_scope(
    "languages",
    _named("language"),  # ISO 639-1; empty: those that tell none
    *map(_small, ("told", "hints")),
    _whole("votes"),
    key=("language",),
)

entities = _of_scope(
    "entities",
    _small("ent"),
    *map(_named, ("entity_id", "name", "norm")),
    _small("declared"),  # 1: by add_entity; 0: first seen in a memory
    UniqueConstraint("scope_id", "norm"),
    UniqueConstraint("scope_id", "entity_id"),
    key=("ent",),
    clustered=False,
)

aliases = _of_scope("aliases", _named("norm"), _small("ent"), _named("alias"), key=("norm", "ent"), clustered=False)

mentions = _of_scope(
    "mentions",
    _small("ent"),
    _whole("num"),
    _named("role"),  # actor | declared | relation | text
    Index("mentions_by_num", "scope_id", "num"),
    key=("ent", "num"),
)

edges = _of_scope(
    "edges",
    _whole("num"),
    _small("src"),
    _named("predicate"),
    _small("dst"),
    Column("confidence", Float, nullable=False),
    Index("edges_by_src", "scope_id", "src"),
    Index("edges_by_dst", "scope_id", "dst"),
    key=("num", "src", "predicate", "dst"),
    clustered=False,
)

# What was said of recalls (`types/judged.py`): numbers of memories, and no text unless that is allowed.
judged = _of_scope(
    "judged",
    _named("result_id"),
    _whole("at"),
    _named("signature"),
    _named("version"),  # that served it; `rules`
    Column("gains", Words, nullable=False),  # JSON
    Column("query", Words),  # null: held texts of queries once
    Column("replay", LargeBinary),  # null until it was made
    Index("judged_by_time", "scope_id", "at"),
    key=("result_id",),
    clustered=False,
)

changes = Table(
    "changes",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("scope_id", Integer, nullable=False),
    Column("op", Name, nullable=False),  # put | del | touch
    Column("num", BigInteger, nullable=False),
    Column("digest", Name, nullable=False, server_default=""),  # of it and all before it: `store/journal.py`
    Index("changes_by_scope", "scope_id", "seq"),
)

cursors = Table("cursors", metadata, Column("name", Name, primary_key=True), _whole("seq"))

OF_SCOPES = tuple(t for t in metadata.tables.values() if "scope_id" in t.c and t not in (scopes, changes))
OF_MEMORIES = tuple(t for t in OF_SCOPES if "num" in t.c)


EMBEDDING = "embedding"  # the fingerprint of what made the vectors
LAST = "last_seq"  # the highest number of an entry of the journal, as it was pruned last
PRUNED = "pruned"  # number and digest of the last entry that was dropped from the journal
OWED = "compacting"  # not empty while something stands in files yet whose removal no change tells
SPENT = "facts_llm_spent"  # what a language model was asked in this hour
OTHER_VERSION = (  # what is to be done about a store of one
    "Run `recall export STORE FILE` with the version of recall-integrations that wrote it, and `recall import FILE NEW "
    "--format jsonl` with this one."
)
TENANT = "recall_tenant"  # option of a connection: the role of the tenant whose it is


def tenant_of(connection: Connection | Engine) -> str | None:
    """Return the role of the connections if row-level security shows it only a part of the rows; else `None`."""
    role = connection.get_execution_options().get(TENANT)
    return None if role is None else str(role)


def spent_by(role: str) -> str:
    """Return the key that counts calls of a language model by a tenant, which has a budget of its own."""
    return f"{SPENT} {role}"


def spent_key(connection: Connection) -> str:
    """Return the key that counts calls of a language model."""
    role = tenant_of(connection)
    return SPENT if role is None else spent_by(role)


def get_meta(connection: Connection, key: str) -> str | None:
    """Return the value of a key, or `None`."""
    return connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar()


def pruned_upto(connection: Connection) -> int:
    """Return the number of the last entry that was dropped from the journal."""
    return int((get_meta(connection, PRUNED) or "0").partition(" ")[0])


def put_meta(connection: Connection, key: str, value: str) -> None:
    """Set a value, in the caller's transaction. What only the owner of a store notes, a tenant leaves alone."""
    role = tenant_of(connection)
    if role is not None and key not in (OWED, spent_by(role)):
        return
    row = update(meta).where(meta.c.key == key).values(value=value)
    if not connection.execute(row).rowcount:
        connection.execute(insert(meta).values(key=key, value=value))


def version_in(connection: Connection, tables: Set[str], refusal: str) -> int:
    """Return the version of the tables; 0 = there are none. Raise with `refusal` where they are somebody else's."""
    if not tables:
        return 0
    found = get_meta(connection, "schema_version") if {meta.name, memories.name} <= tables else None
    if found is None or not str(found).isdecimal():
        raise StoreVersionError(refusal)
    return int(found)


def make_tables(connection: Connection) -> int:
    """Make the tables in an empty database, in the caller's transaction; return their version."""
    for statement in _making(connection.dialect):
        connection.exec_driver_sql(statement)
    put_meta(connection, "schema_version", str(SCHEMA_VERSION))
    return SCHEMA_VERSION


@lru_cache(maxsize=2)  # compiling takes longer than SQLite takes to run them
def _making(dialect: Dialect) -> tuple[str, ...]:
    tables = metadata.sorted_tables
    made: list[ExecutableDDLElement] = [CreateTable(table) for table in tables]
    made += [CreateIndex(index) for table in tables for index in table.indexes]
    return tuple(str(part.compile(dialect=dialect)) for part in made)


def check_version(version: str | int | None, store: str) -> None:
    """Raise unless tables are of the version that this package reads."""
    if str(version) != str(SCHEMA_VERSION):
        raise StoreVersionError(
            f"{store} has schema version {version or 'none'}, and this package reads {SCHEMA_VERSION}. "
            f"{OTHER_VERSION} Nothing was changed."
        )
