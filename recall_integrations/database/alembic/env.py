"""Alembic asks this how to reach the database. `database.upgrading` gives it the connection."""

from __future__ import annotations

from alembic import context

from recall_integrations.database import schema


def run() -> None:
    """Run the revisions on the connection, each in a transaction; or write down their SQL."""
    if context.is_offline_mode():
        context.configure(dialect_name="postgresql", target_metadata=schema.metadata, literal_binds=True)
    else:
        context.configure(
            connection=context.config.attributes["connection"],
            target_metadata=schema.metadata,
            transaction_per_migration=True,
        )
    with context.begin_transaction():
        context.run_migrations()


run()
