"""The place of learned weights: texts, under the name of a scope and a name of their own.

They are notes of the store (`learned/<name>/<text>` in `meta`), so that all processes and nodes see them, and a process
that is killed leaves them whole. The name is a keyed digest: it does not tell whose it is.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, delete, select

from recall_integrations.database import schema
from recall_integrations.database.connections import translated
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.errors import StoreError, StoreLocked
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.database.turns import AdvisoryLock
    from recall_integrations.store.directory import Held
    from recall_integrations.store.turns import OfFile

LEARNED = "learned/"  # of keys
_DIGEST_BYTES = 12


def name_of(scope: Scope, key: bytes) -> str:
    """Return the name under which the texts of a scope are kept, by the store's key."""
    said = json.dumps([scope.user_id, scope.agent_id, scope.namespace], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=key[:64]).hexdigest()


class LearnedRows:
    """Texts of scopes. Methods raise `StoreError` where a text cannot be read, written or removed."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._alone = 0  # the thread that learns or switches weights

    @contextmanager
    def alone(self, wait_s: float) -> Iterator[None]:
        """Keep others from learning and from switching weights inside the block. Reentrant."""
        me = threading.get_ident()
        if self._alone == me:
            yield
            return
        with self._held.learns(wait_s):
            self._alone = me
            try:
                yield
            finally:
                self._alone = 0

    def sign(self, name: str, of: str) -> object | None:
        """Return a digest of the text; `None` where there is none."""
        text = self.read(name, of)
        return None if text is None else hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()

    def read(self, name: str, of: str) -> str | None:
        with self._connected() as connection:
            return get_meta(connection, f"{LEARNED}{name}/{of}")

    def put(self, name: str, of: str, text: str) -> None:
        if self._held.tenant is not None:
            raise StoreError(
                f"The role {self._held.tenant!r} is a tenant's: what is learned is kept by the owner of the tables. "
                "Run `recall learn` as that user."
            )
        # In a turn: SQLite ends the transaction of a writer that has read what another one changes.
        with self._held.turn, self._connected() as connection:
            put_meta(connection, f"{LEARNED}{name}/{of}", text)

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key.split("/")[1] for key in self._keys(LEARNED)))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(key.split("/", 2)[2] for key in self._keys(f"{LEARNED}{name}/"))

    def remove(self, name: str) -> None:
        with self._held.turn, self._connected() as connection:
            connection.execute(delete(schema.meta).where(_under(f"{LEARNED}{name}/")))

    def shown(self, name: str, of: str) -> str:
        return f"{self._held.name}, {LEARNED}{name}/{of}"

    def _keys(self, before: str) -> list[str]:
        key = schema.meta.c.key
        with self._connected() as connection:
            return list(connection.execute(select(key).where(_under(before)).order_by(key)).scalars())

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with translated(self._held.mapped), self._held.engine.begin() as connection:
            yield connection


def _under(before: str) -> ColumnElement[bool]:
    return schema.meta.c.key.startswith(before, autoescape=True)


@contextmanager
def alone_by(lock: OfFile | AdvisoryLock, wait_s: float) -> Iterator[None]:
    """Hold the lock of the process that learns inside the block."""
    if not lock.acquire(wait_s):
        raise StoreLocked("Another process is learning from this store. Try again when it is done.")
    try:
        yield
    finally:
        lock.release()
