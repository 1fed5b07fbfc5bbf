"""Tables of the system of record, in SQLAlchemy Core so that SQLite and PostgreSQL share them.

Every table of a tenant's data is keyed by `scope_id` first. Three are not: `meta` and `cursors`, which are of the store
as a whole, and `changes`, whose numbers are in one order for all scopes. Times are integers: microseconds since
1970-01-01T00:00Z. `num` identifies one version of a memory in the whole store: it is the
sequence number of the change that wrote it, so replacing a memory gives it a new one and an old one never comes back.
Text is compared byte by byte, and JSON is kept as the text that was written, so that both databases answer alike.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    JSON,
    VARCHAR,
    BigInteger,
    Column,
    Dialect,
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
)

SCHEMA_VERSION = 18
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

meta = Table(
    "meta",
    metadata,
    Column("key", Name, primary_key=True),
    Column("value", Words, nullable=False),
)

scopes = Table(
    "scopes",
    metadata,
    Column("scope_id", Integer, primary_key=True, autoincrement=False),
    Column("user_id", Name, nullable=False),
    Column("agent_id", Name, nullable=False),
    Column("namespace", Name, nullable=False),
    Column("version", BigInteger, nullable=False),  # bumped by every write; keys caches
    Column("memories", Integer, nullable=False),
    Column("vector_home", Name, nullable=False),  # its Chroma collection; empty: scanned exactly, it has none
    Column("vector_until", BigInteger, nullable=False, server_default="0"),  # last change that the collection has
    UniqueConstraint("user_id", "agent_id", "namespace"),
)

memories = Table(
    "memories",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("id", Name, nullable=False),
    Column("text", Words, nullable=False),
    Column("type", Name, nullable=False),
    Column("actor", Name),
    Column("role", Name),  # null: that of the actor's name, if it is the spelling of one
    Column("channel", Name),
    Column("event_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),  # null: it stays
    Column("importance", Float, nullable=False),
    Column("thread", Name),
    Column("position", BigInteger),
    Column("entities", Json, nullable=False),
    Column("relations", Json, nullable=False),
    Column("refs", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    PrimaryKeyConstraint("scope_id", "num"),
    UniqueConstraint("scope_id", "id"),
    # The temporal arm scans event_at, and created_at where event_at is null: one index serves both, and holds the num.
    Index("memories_by_event_at", "scope_id", "event_at", "created_at", "num"),
    Index("memories_by_type", "scope_id", "type"),
    Index("memories_by_thread", "scope_id", "thread", "position"),
)

# Of those that end only: the others pay nothing for it.
memories_by_expiry = Index(
    "memories_by_expiry",
    memories.c.scope_id,
    memories.c.expires_at,
    memories.c.num,
    sqlite_where=memories.c.expires_at.is_not(None),
    postgresql_where=memories.c.expires_at.is_not(None),
)

vectors = Table(
    "vectors",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("vector", LargeBinary, nullable=False),  # float16, little-endian
    PrimaryKeyConstraint("scope_id", "num"),
    sqlite_with_rowid=False,  # clustered: a scope's vectors are read in one sequential scan
)

# What `indexes/word_rows.py` cut the texts into, filled anew when `text.ANALYSER_VERSION` changes.
words = Table(
    "words",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("words", Words, nullable=False),  # content words as `text.content` gives them, joined by line feeds
    Column("more", Words),  # what the lexical index holds besides: words of the actor's name, and those left out
    Column("stems", Integer, nullable=False),  # how many words the two columns hold together
    Column("length", Integer, nullable=False),  # how many the text has, of which a very long one keeps the first
    Column("asks", Integer, nullable=False),  # 1: the text asks something
    Column("asked", LargeBinary),  # a bit for each of the words, first the highest: 1 in a sentence that asks
    PrimaryKeyConstraint("scope_id", "num"),
    sqlite_with_rowid=False,  # clustered, as the vectors are
)

# What texts say of slots (`facts/`), filled anew when `facts.sentences.VERSION` changes.
facts = Table(
    "facts",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),  # in the memory, from 0
    Column("subject", Name, nullable=False),  # in normal form; empty: the user
    Column("slot", Name, nullable=False),
    Column("value", Words, nullable=False),
    Column("op", Name, nullable=False),  # is | was | not
    Column("instead_of", Words, nullable=False),
    Column("corrects", Integer, nullable=False),
    Column("since", BigInteger),
    Column("until", BigInteger),
    Column("confidence", Float, nullable=False),
    Column("by", Name, nullable=False),  # rule | relation | llm
    PrimaryKeyConstraint("scope_id", "num", "place"),
    sqlite_with_rowid=False,
)

# Which memories a language model has read for facts, so that none is asked about twice.
facts_read = Table(
    "facts_read",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("by", Name, nullable=False),  # version of the prompt, and what the model is called
    PrimaryKeyConstraint("scope_id", "num"),
    sqlite_with_rowid=False,
)

# When what texts tell happened, where they tell it: dates in them, read against the memory's own time.
told_times = Table(
    "told_times",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("stop", BigInteger, nullable=False),  # exclusive
    PrimaryKeyConstraint("scope_id", "num", "place"),
    sqlite_with_rowid=False,
)

# What the memories of a scope say of their languages, in sums (`text/spoken.py`); counted anew with the words.
languages = Table(
    "languages",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("language", Name, nullable=False),  # ISO 639-1; empty: those that tell none
    Column("told", Integer, nullable=False),
    Column("hints", Integer, nullable=False),
    Column("votes", BigInteger, nullable=False),
    PrimaryKeyConstraint("scope_id", "language"),
    sqlite_with_rowid=False,
)

# Scopes that no node reads whole (`store/pushing.py`): how far what follows is filled, and their sums.
pushed = Table(
    "pushed",
    metadata,
    Column("scope_id", Integer, nullable=False, autoincrement=False),
    Column("until", BigInteger, nullable=False),  # memories with higher numbers are not in these tables yet
    Column(
        "whole", Integer, nullable=False
    ),  # above 0: all were, and every write brings them forward (`pushing.LIMIT`)
    Column("memories", BigInteger, nullable=False),
    Column("length", BigInteger, nullable=False),  # stems together, of each `PIVOT` at least
    Column("log_length", BigInteger, nullable=False),  # of content words, in parts of `columns.UNIT`
    Column("words", BigInteger, nullable=False),  # content words that are kept
    Column("roles", BigInteger, nullable=False),  # these six as `indexes/kind.py` counts them
    Column("named", BigInteger, nullable=False),
    Column("short", BigInteger, nullable=False),
    Column("pairs", BigInteger, nullable=False),
    Column("crowd", BigInteger, nullable=False),
    Column("threaded", BigInteger, nullable=False),
    PrimaryKeyConstraint("scope_id"),
)

# Which memories of such a scope hold a stem.
postings = Table(
    "postings",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("term", Name, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Column("length", Integer, nullable=False),  # of the memory, as BM25 rounds it
    PrimaryKeyConstraint("scope_id", "term", "num"),
    sqlite_with_rowid=False,
)

# How many of them do.
terms = Table(
    "terms",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("term", Name, nullable=False),
    Column("held", BigInteger, nullable=False),
    PrimaryKeyConstraint("scope_id", "term"),
    sqlite_with_rowid=False,
)

# Who speaks in which thread of such a scope, and how often.
speakers = Table(
    "speakers",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("actor", Name, nullable=False),  # empty: nobody
    Column("role", Integer, nullable=False),  # as in `ROLE_CODES`
    Column("thread", Name, nullable=False),  # empty: none
    Column("held", BigInteger, nullable=False),
    PrimaryKeyConstraint("scope_id", "actor", "role", "thread"),
    Index("speakers_by_thread", "scope_id", "thread"),
    sqlite_with_rowid=False,
)

entities = Table(
    "entities",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("ent", Integer, nullable=False),
    Column("entity_id", Name, nullable=False),
    Column("name", Name, nullable=False),
    Column("norm", Name, nullable=False),
    Column("declared", Integer, nullable=False),  # 1: by add_entity; 0: first seen in a memory
    PrimaryKeyConstraint("scope_id", "ent"),
    UniqueConstraint("scope_id", "norm"),
    UniqueConstraint("scope_id", "entity_id"),
)

aliases = Table(
    "aliases",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("norm", Name, nullable=False),
    Column("ent", Integer, nullable=False),
    Column("alias", Name, nullable=False),
    PrimaryKeyConstraint("scope_id", "norm", "ent"),
)

mentions = Table(
    "mentions",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("ent", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("role", Name, nullable=False),  # actor | declared | relation | text
    PrimaryKeyConstraint("scope_id", "ent", "num"),
    Index("mentions_by_num", "scope_id", "num"),
    sqlite_with_rowid=False,
)

edges = Table(
    "edges",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("num", BigInteger, nullable=False),
    Column("src", Integer, nullable=False),
    Column("predicate", Name, nullable=False),
    Column("dst", Integer, nullable=False),
    Column("confidence", Float, nullable=False),
    PrimaryKeyConstraint("scope_id", "num", "src", "predicate", "dst"),
    Index("edges_by_src", "scope_id", "src"),
    Index("edges_by_dst", "scope_id", "dst"),
)

# What was said of recalls (`types/judged.py`): numbers of memories, and no text unless that is allowed.
judged = Table(
    "judged",
    metadata,
    Column("scope_id", Integer, nullable=False),
    Column("result_id", Name, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("signature", Name, nullable=False),
    Column("version", Name, nullable=False),  # that served it; `rules`
    Column("gains", Words, nullable=False),  # JSON
    Column("query", Words),  # null unless `learned.keep_text`
    Column("replay", LargeBinary),  # null until it was made
    PrimaryKeyConstraint("scope_id", "result_id"),
    Index("judged_by_time", "scope_id", "at"),
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

cursors = Table(
    "cursors",
    metadata,
    Column("name", Name, primary_key=True),
    Column("seq", BigInteger, nullable=False),
)
