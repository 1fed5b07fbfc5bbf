"""Mend the findings of an examination: one transaction for each step, reported in a sentence. No silent loss."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, func, select, update

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.config import RetrievalConfig
from recall_integrations.database import schema
from recall_integrations.database.engine import remake_indexes, undecoded
from recall_integrations.database.meta import get_meta
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, RecallError
from recall_integrations.indexes import word_rows as words
from recall_integrations.store import homes, journal, languages, rows
from recall_integrations.store.doctor.contents import Contents, Key, Tell, orphan_conditions
from recall_integrations.store.doctor.findings import counted
from recall_integrations.store.doctor.surroundings import PUT_ASIDE
from recall_integrations.store.indexes import Indexes
from recall_integrations.store.journal import SEMANTIC

logger = logging.getLogger("recall_integrations")
SERVER = "chroma server"  # what the check of one is called
Done = dict[str, list[str]]  # what was done, by the name of the check that found it


class Noted:
    """Stands for an absent embedding that made a store: knows its name and makes no vectors."""

    remote = False

    def __init__(self, fingerprint: str, dimensions: int) -> None:
        self.fingerprint = fingerprint
        self.dimensions = dimensions

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Raise `EmbeddingError`."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise `EmbeddingError`."""
        raise EmbeddingError(f"The store was made with the embedding {self.fingerprint!r}, which is not at hand.")


def put_aside(connection: Connection, directory: Path, unreadable: dict[Key, str]) -> str:
    """Move unreadable memories out of the store into a file in its directory, in the caller's transaction."""
    kept = [_as_found(connection, key, why) for key, why in unreadable.items()]
    with (directory / PUT_ASIDE).open("a", encoding="utf-8") as file:  # first: a crash leaves them in both places
        file.writelines(json.dumps(row, ensure_ascii=True) + "\n" for row in kept)
        file.flush()
        os.fsync(file.fileno())
    known = set(connection.execute(select(schema.scopes.c.scope_id)).scalars())
    by_scope: dict[int, list[int]] = {}
    for scope_id, num in unreadable:
        by_scope.setdefault(scope_id, []).append(num)
    seq = journal.last_seq(connection) + 1
    for scope_id, nums in sorted(by_scope.items()):
        rows.remove(connection, scope_id, nums)
        entries = [journal.gone(seq + i, scope_id, num) for i, num in enumerate(nums)]
        seq += len(nums)
        journal.append(connection, entries)
        if scope_id in known:
            rows.bump(connection, scope_id, -len(nums))
    return f"{counted(len(kept), 'memory was', 'memories were')} moved into {PUT_ASIDE}, as found."


def _as_found(connection: Connection, key: Key, why: str) -> dict[str, Any]:
    """Return the row of a memory as plain data; bytes as hexadecimal digits."""
    names = [column.name for column in schema.memories.c]
    m = schema.memories
    query = select(*map(undecoded, names)).select_from(m).where(m.c.scope_id == key[0], m.c.num == key[1])
    row = connection.execute(query).one()
    s = schema.scopes.c
    scope = connection.execute(select(s.user_id, s.agent_id, s.namespace).where(s.scope_id == key[0])).first()
    return {
        "why": why,
        "scope": None if scope is None else list(scope),
        **{name: _plain(value) for name, value in zip(names, row, strict=True)},
    }


def _plain(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": value.hex()}


def drop_orphans(connection: Connection) -> str:
    """Remove rows that belong to nothing, in the caller's transaction."""
    dropped = sum(connection.execute(delete(table).where(where)).rowcount for table, where in orphan_conditions())
    return f"{counted(dropped, 'row')} that belonged to nothing {'was' if dropped == 1 else 'were'} removed."


def drop_vectors(connection: Connection, wrong: Sequence[Key]) -> str:
    """Remove vectors that cannot be used, in the caller's transaction."""
    v = schema.vectors.c
    for scope_id, num in wrong:
        connection.execute(delete(schema.vectors).where(v.scope_id == scope_id, v.num == num))
    return f"{counted(len(wrong), 'vector')} that could not be used {'was' if len(wrong) == 1 else 'were'} removed."


def recount(connection: Connection, wrong: Sequence[int]) -> str:
    """Count the memories of scopes anew, in the caller's transaction."""
    s, m = schema.scopes, schema.memories.c
    for scope_id in wrong:
        held = connection.execute(select(func.count()).where(m.scope_id == scope_id)).scalar_one()
        changed = {"memories": held, "version": s.c.version + 1}
        connection.execute(update(s).where(s.c.scope_id == scope_id).values(**changed))
    return f"{counted(len(wrong), 'scope was', 'scopes were')} counted anew."


def remake_sql_indexes(connection: Connection) -> str:
    """Make the database's own indexes anew, in the caller's transaction."""
    remake_indexes(connection)
    return "Its own indexes were made anew."


def rewrite_words(connection: Connection, found: Contents) -> str:
    """Cut texts anew whose words are missing or wrong, in the caller's transaction."""
    w, s = schema.words.c, schema.scopes
    for scope_id, num in found.words_wrong:
        connection.execute(delete(schema.words).where(w.scope_id == scope_id, w.num == num))
    words.fill(connection)
    keys = [*found.words_missing, *found.words_wrong]
    for scope_id in {scope_id for scope_id, _ in keys}:
        connection.execute(update(s).where(s.c.scope_id == scope_id).values(version=s.c.version + 1))
    return f"The words of {counted(len(keys), 'memory', 'memories')} were written anew."


def recount_languages(connection: Connection) -> str:
    """Count the languages of all scopes anew, in the caller's transaction."""
    languages.recount(connection)
    return "The languages of all scopes were counted anew."


def restart_journal(connection: Connection) -> str:
    """Begin the journal anew, in the caller's transaction."""
    head = journal.restart(connection)
    return f"The journal begins anew, after change {head:,}."


def rehouse(connection: Connection) -> str:
    """Give scopes other collections on their Chroma server, in the caller's transaction."""
    s = schema.scopes.c
    served = homes.noted(connection)
    made_by = get_meta(connection, "embedding") or ""
    for scope_id, (home, _) in sorted(served.items()):
        fresh = homes.new(homes.store_of(connection), scope_id, made_by)
        connection.execute(
            update(schema.scopes).where(s.scope_id == scope_id).values(vector_home=fresh, vector_until=0)
        )
        homes.leave(connection, [home])
    return f"{counted(len(served), 'scope gets another collection', 'scopes get other collections')} when it is open."


def remove_files(paths: Sequence[Path]) -> str:
    """Remove files and directories that nothing reads."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    return f"{counted(len(paths), 'file or directory', 'files and directories')} removed."


def embedding_of(found: Contents, given: object) -> tuple[Embedding, str | None]:
    """Return the embedding that made the store, or a stand-in and the reason for it."""
    noted = Noted(found.embedding or "none", found.width or 1)
    if found.changing is not None:
        return noted, f"its vectors are being made anew with {found.changing!r}: open it with that"
    try:
        embedding = resolve_embedding(given)
        fingerprint = embedding.fingerprint
    except RecallError as e:
        return noted, str(e)
    if fingerprint != found.embedding:
        return noted, f"the store was made with the embedding {found.embedding!r}, and {fingerprint!r} is at hand"
    return embedding, None


def rebuild(
    engine: Engine,
    directory: Path,
    found: Contents,
    names: Sequence[str],
    missing: Sequence[Key],
    given: object,
    tell: Tell,
) -> Iterator[tuple[str, str]]:
    """Make missing vectors, then indexes; yield the name of each part with a sentence about the work."""
    embedding, why_not = embedding_of(found, given) if missing else (Noted(found.embedding or "", found.width), None)
    indexes = Indexes(
        engine,
        directory,
        embedding,
        scan_max=lambda: RetrievalConfig().exact_max,  # opening the store decides which scopes have a collection
        write_lock=threading.RLock(),
        applied=lambda _changes, _commits: None,
    )
    try:
        if missing and why_not is not None:
            yield "vectors", f"None could be made: {why_not}."
        elif missing:
            try:
                made = indexes.embed_missing(missing, tell)
                yield "vectors", f"{counted(made, 'vector was', 'vectors were')} made."
            except EmbeddingError as e:
                yield "vectors", f"None could be made: {e}"
        for name in names:
            if name == SEMANTIC and not found.homes and not any(directory.glob(f"{SEMANTIC}.*")):
                continue  # no scope is so large that there is one
            indexes.rebuild(name, progress=tell)
            yield f"{name} index", "It was made anew from the database."
    finally:
        indexes.close()


def in_transaction(engine: Engine, mend: Callable[[Connection], str]) -> str:
    """Return the sentence of `mend` once its changes are on the disk."""
    with engine.begin() as connection:
        said = mend(connection)
    logger.info(said)
    return said


def add_tables(connection: Connection) -> str:
    """Create absent tables, in the caller's transaction."""
    schema.metadata.create_all(connection)
    return "Tables that were missing were made, empty."
