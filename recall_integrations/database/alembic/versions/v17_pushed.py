"""Tables of scopes that no node reads whole: postings, how many memories hold a stem, who speaks where, and sums."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "17"
down_revision: str | None = "16"
branch_labels: None = None
depends_on: None = None

_TEXT = sa.VARCHAR(collation="C")
_SUMS = ("memories", "length", "log_length", "words", "roles", "named", "short", "pairs", "crowd", "threaded")


def upgrade() -> None:
    """Make the tables, empty: nodes fill them, beside their callers, of the scopes that are large enough."""
    op.create_table(
        "pushed",
        sa.Column("scope_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("whole", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _SUMS),
        sa.PrimaryKeyConstraint("scope_id"),
    )
    op.create_table(
        "postings",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("term", _TEXT, nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "term", "num"),
    )
    op.create_table(
        "terms",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("term", _TEXT, nullable=False),
        sa.Column("held", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "term"),
    )
    op.create_table(
        "speakers",
        sa.Column("scope_id", sa.Integer(), nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("role", sa.Integer(), nullable=False),
        sa.Column("thread", _TEXT, nullable=False),
        sa.Column("held", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "actor", "role", "thread"),
    )
    op.create_index("speakers_by_thread", "speakers", ["scope_id", "thread"])
    op.execute("UPDATE meta SET value = '17' WHERE key = 'schema_version'")


def downgrade() -> None:
    """What is in them is derived: they may be dropped by hand, and the version set back."""
    raise NotImplementedError
