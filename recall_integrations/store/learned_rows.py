"""Learned weights in the database: rows of `meta`, so that every node of a store serves the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Engine, delete, select

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.database.postgres import mapped_errors
from recall_integrations.database.postgres_errors import shown
from recall_integrations.database.turns import LEARNING, AdvisoryLock, Outside
from recall_integrations.errors import StoreError, StoreLocked
from recall_integrations.store.learned_files import TAKEN

BEFORE = "learned/"  # of keys: learned/<name>/<text>


class LearnedRows:
    """`LearnedFiles`, but in PostgreSQL."""

    def __init__(self, engine: Engine, tenant: str | None = None) -> None:
        self._engine, self._tenant = engine, tenant

    def any(self) -> bool:
        """Say whether there is a row."""
        key = schema.meta.c.key
        with mapped_errors(self._engine), self._engine.connect() as connection:
            found = connection.execute(select(key).where(_under(BEFORE)).limit(1)).scalar()
        return found is not None

    def sign(self, name: str, of: str) -> object | None:
        """Return a digest of the text; `None` where there is none."""
        text = self.read(name, of)
        return None if text is None else hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()

    def read(self, name: str, of: str) -> str | None:
        """Read the value of a row; `None` where there is none."""
        with mapped_errors(self._engine), self._engine.connect() as connection:
            return get_meta(connection, f"{BEFORE}{name}/{of}")

    def put(self, name: str, of: str, text: str) -> None:
        """Write a row."""
        if self._tenant is not None:
            raise StoreError(
                f"The role {self._tenant!r} is a tenant's: what is learned is kept by the owner of the tables. Run "
                "`recall learn` as that user."
            )
        with mapped_errors(self._engine), self._engine.begin() as connection:
            put_meta(connection, f"{BEFORE}{name}/{of}", text)

    def names(self) -> tuple[str, ...]:
        """List the scopes that have rows."""
        return tuple(dict.fromkeys(key.split("/")[1] for key in self._keys(BEFORE)))

    def texts(self, name: str) -> tuple[str, ...]:
        """List the names of the rows of a scope."""
        return tuple(key.split("/", 2)[2] for key in self._keys(f"{BEFORE}{name}/"))

    def remove(self, name: str) -> None:
        """Remove the rows of a scope."""
        with mapped_errors(self._engine), self._engine.begin() as connection:
            connection.execute(delete(schema.meta).where(_under(f"{BEFORE}{name}/")))

    @contextmanager
    def alone(self, wait_s: float) -> Iterator[None]:
        """Keep other nodes from learning and from switching weights; the lock ends with this node's connection."""
        outside = Outside(self._engine)
        lock = AdvisoryLock(outside, LEARNING)
        try:
            if not lock.acquire(wait_s):
                raise StoreLocked(TAKEN)
            try:
                yield
            finally:
                lock.release()
        finally:
            outside.close()

    def shown(self, name: str, of: str) -> str:
        """Return the database, and the key of a row."""
        return f"{shown(self._engine.url)}, {BEFORE}{name}/{of}"

    def _keys(self, before: str) -> list[str]:
        key = schema.meta.c.key
        with mapped_errors(self._engine), self._engine.connect() as connection:
            return list(connection.execute(select(key).where(_under(before)).order_by(key)).scalars())


def _under(before: str) -> ColumnElement[bool]:
    return schema.meta.c.key.startswith(before, autoescape=True)
