"""The state of a scope, alike in every process of a store: shared cached answers hold for a state.

A scope's revision (`store.revisions`) is a process's own. Its state is made of the record: the version of the
scope, its last entry in the journal and that one's digest, which stands for all before it (so that of two histories, as
after a backup was put back, each has its own), the next end of a memory, the embedding and the worth of its cosines.
There is none where this process does not know all of the record, or while vectors are missing: then nothing is shared.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from typing import TYPE_CHECKING

from cachetools import LRUCache
from sqlalchemy import Connection, func, select

from recall_integrations.database import schema
from recall_integrations.database.answering import within
from recall_integrations.errors import RecallError
from recall_integrations.store import journal
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.revisions import Revision
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts

KEPT = 1_000  # scopes
READ_S = 0.5  # longest wait for a database behind a network


class States:
    """The states of scopes of an open store. Threads share it. Asking again before the next write costs a microsecond.

    Args:
        parts: of the store.
    """

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._known: LRUCache[Scope, tuple[Revision, bytes]] = LRUCache(KEPT)

    def of(self, scope: Scope, revision: Revision) -> bytes | None:
        """Return the state of a scope; `None` where it is unknown now, or the revision has changed meanwhile.

        Args:
            scope: the tenant.
            revision: as the caller has read it.
        """
        parts = self._parts
        with self._lock:
            known = self._known.get(scope)
        if known is not None and known[0] == revision:
            return known[1] if parts.revisions.of(scope) == revision else None
        try:
            with parts.errors(), within(READ_S) if parts.directory.own_indexes else contextlib.nullcontext():
                found = self._read(scope)
        except RecallError:
            return None  # the database is away, or the store closed: calls that need more raise
        if found is None or parts.revisions.of(scope) != revision:
            return None
        with self._lock:
            self._known[scope] = (revision, found)
        return found

    def _read(self, scope: Scope) -> bytes | None:
        parts = self._parts
        scope_id = parts.scopes.get(scope)
        if scope_id is None or parts.indexes.lag[SEMANTIC]:
            return None
        ends, worth = parts.expiry.next_end(scope_id), parts.worth.known(scope_id)
        with parts.engine.connect() as connection:
            recorded = _recorded(connection, scope_id)
        if recorded is None or recorded[0] != parts.version(scope_id) or recorded[1] >= parts.next_seq:
            return None  # another process has written entries that are not read here
        said = repr((scope_id, *recorded, ends, parts.asking.fingerprint, worth))
        return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _recorded(connection: Connection, scope_id: int) -> tuple[int, int, str] | None:
    """Return the version of a scope, its last entry, and the digest of that: of the last pruned, if that is gone."""
    s, c = schema.scopes.c, schema.changes.c
    newest = select(func.max(c.seq)).where(c.scope_id == scope_id).scalar_subquery()
    digest = select(c.digest).where(c.seq == newest).scalar_subquery()
    found = connection.execute(select(s.version, newest, digest).where(s.scope_id == scope_id)).first()
    if found is None:
        return None
    version, last, said = found
    if last is None:
        dropped = journal.pruned(connection)
        last, said = dropped.seq, dropped.digest
    return int(version), int(last), str(said)
