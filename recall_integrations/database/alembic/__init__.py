"""The way of the tables in PostgreSQL from version to version, for Alembic. See `database.upgrading`."""
