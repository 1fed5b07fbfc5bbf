"""All tables, as they were at schema version 16: the first that PostgreSQL had.

They are written out, not taken from `schema`: that goes on, and later revisions build on these.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "16"
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None

_TEXT = sa.VARCHAR(collation="C")


def upgrade() -> None:
    """Make the tables, and note their version."""
    _memories()
    _beside_memories()
    _names()
    _scopes_and_journal()
    op.execute("INSERT INTO meta (key, value) VALUES ('schema_version', '16')")


def downgrade() -> None:
    """There is no version before it; removing a store is for people."""
    raise NotImplementedError


def _memories() -> None:
    op.create_table(
        "memories",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("type", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=True),
        sa.Column("role", _TEXT, nullable=True),
        sa.Column("channel", _TEXT, nullable=True),
        sa.Column("event_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("thread", _TEXT, nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("entities", _TEXT, nullable=False),
        sa.Column("relations", _TEXT, nullable=False),
        sa.Column("refs", _TEXT, nullable=False),
        sa.Column("metadata", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num"),
        sa.UniqueConstraint("scope_id", "id"),
    )
    op.create_index("memories_by_event_at", "memories", ["scope_id", "event_at", "created_at", "num"])
    op.create_index(
        "memories_by_expiry",
        "memories",
        ["scope_id", "expires_at", "num"],
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
    op.create_index("memories_by_thread", "memories", ["scope_id", "thread", "position"])
    op.create_index("memories_by_type", "memories", ["scope_id", "type"])
    op.create_table(
        "vectors",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num"),
    )
    op.create_table(
        "words",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("words", _TEXT, nullable=False),
        sa.Column("more", _TEXT, nullable=True),
        sa.Column("stems", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("asks", sa.Integer(), nullable=False),
        sa.Column("asked", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("scope_id", "num"),
    )


def _beside_memories() -> None:
    op.create_table(
        "facts",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("subject", _TEXT, nullable=False),
        sa.Column("slot", _TEXT, nullable=False),
        sa.Column("value", _TEXT, nullable=False),
        sa.Column("op", _TEXT, nullable=False),
        sa.Column("instead_of", _TEXT, nullable=False),
        sa.Column("corrects", sa.Integer(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("by", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num", "place"),
    )
    op.create_table(
        "facts_read",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("by", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num"),
    )
    op.create_table(
        "told_times",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("stop", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num", "place"),
    )
    op.create_table(
        "languages",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("language", _TEXT, nullable=False),
        sa.Column("told", sa.Integer(), nullable=False),
        sa.Column("hints", sa.Integer(), nullable=False),
        sa.Column("votes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "language"),
    )
    op.create_table(
        "judged",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("result_id", _TEXT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("signature", _TEXT, nullable=False),
        sa.Column("version", _TEXT, nullable=False),
        sa.Column("gains", _TEXT, nullable=False),
        sa.Column("query", _TEXT, nullable=True),
        sa.Column("replay", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("scope_id", "result_id"),
    )
    op.create_index("judged_by_time", "judged", ["scope_id", "at"])


def _names() -> None:
    op.create_table(
        "entities",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("ent", sa.Integer(), nullable=False),
        sa.Column("entity_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("norm", _TEXT, nullable=False),
        sa.Column("declared", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "ent"),
        sa.UniqueConstraint("scope_id", "entity_id"),
        sa.UniqueConstraint("scope_id", "norm"),
    )
    op.create_table(
        "aliases",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("norm", _TEXT, nullable=False),
        sa.Column("ent", sa.Integer(), nullable=False),
        sa.Column("alias", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "norm", "ent"),
    )
    op.create_table(
        "mentions",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("ent", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("role", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "ent", "num"),
    )
    op.create_index("mentions_by_num", "mentions", ["scope_id", "num"])
    op.create_table(
        "edges",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("src", sa.Integer(), nullable=False),
        sa.Column("predicate", _TEXT, nullable=False),
        sa.Column("dst", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "num", "src", "predicate", "dst"),
    )
    op.create_index("edges_by_dst", "edges", ["scope_id", "dst"])
    op.create_index("edges_by_src", "edges", ["scope_id", "src"])


def _scopes_and_journal() -> None:
    op.create_table(
        "meta",
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("value", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "scopes",
        sa.Column("scope_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("user_id", _TEXT, nullable=False),
        sa.Column("agent_id", _TEXT, nullable=False),
        sa.Column("namespace", _TEXT, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("memories", sa.Integer(), nullable=False),
        sa.Column("vector_home", _TEXT, nullable=False),
        sa.Column("vector_until", sa.BigInteger(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("scope_id"),
        sa.UniqueConstraint("user_id", "agent_id", "namespace"),
    )
    op.create_table(
        "changes",
        sa.Column("seq", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("op", _TEXT, nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("digest", _TEXT, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("changes_by_scope", "changes", ["scope_id", "seq"])
    op.create_table(
        "cursors",
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
