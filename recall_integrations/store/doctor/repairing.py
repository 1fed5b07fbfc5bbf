"""Mend a store: hold it, examine it, mend it step by step, each in one transaction, and examine it again."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, func, select, update

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.config import RetrievalConfig, VectorsConfig
from recall_integrations.database import schema
from recall_integrations.database.engine import mapped_errors, remake_indexes, undecoded
from recall_integrations.database.meta import get_meta
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, RecallError, StoreError
from recall_integrations.indexes import word_rows as words
from recall_integrations.resilience.breaker import BREAKERS_FILE
from recall_integrations.store import homes, journal, languages, rows
from recall_integrations.store.clock import Clock, utc_now
from recall_integrations.store.column_files import COLUMNS
from recall_integrations.store.directory import DATABASE, hold
from recall_integrations.store.doctor.contents import JOURNAL, Contents, Key, Tell, orphan_conditions
from recall_integrations.store.doctor.examining import (
    LANGUAGES,
    LINKS,
    MEMORIES,
    SCOPES,
    SQL,
    TABLES,
    VECTORS,
    WORDS,
    Examined,
    examine,
    look,
    there,
)
from recall_integrations.store.doctor.findings import (
    BREAKERS,
    HOLDER,
    LEFTOVERS,
    MENDED,
    NOTICE,
    OK,
    PROBLEM,
    PUT_ASIDE,
    Check,
    Findings,
    counted,
    ok,
)
from recall_integrations.store.doctor.indexes import SERVER, check_name
from recall_integrations.store.indexes import Indexes
from recall_integrations.store.journal import LEXICAL, SEMANTIC

logger = logging.getLogger("recall_integrations")
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


Mend = Callable[[Connection], str | None]


def repair(
    path: str | os.PathLike[str],
    *,
    embedding: Any = None,
    clock: Clock = utc_now,
    progress: Tell | None = None,
    vectors: VectorsConfig | None = None,
) -> Findings:
    """Mend the faults of a store, and report each. The store must not be open meanwhile.

    Every step is one transaction; an interrupt between them leaves a store that can be mended further.

    Args:
        path: the directory of the store.
        embedding: as for `MemoryStore.open`; needed only where vectors are missing.
        clock: tells which memories are from the future.
        progress: as for `examine`.
        vectors: as for `examine`.

    Returns:
        The findings afterwards. Mended checks have the state `mended`.

    Raises:
        StorePathError: the directory holds no store.
    """
    directory = there(path)
    try:
        held = hold(directory, alone="to repair it")
    except StoreError:  # damaged, open elsewhere or not writable: the findings say so
        return replace(examine(directory, clock=clock, progress=progress, vectors=vectors), repaired=True)
    try:
        with mapped_errors(directory / DATABASE):

            def again() -> Examined:
                return look(directory, clock(), progress, held=True, vectors=vectors)

            return _Repair(directory, held.engine, embedding, progress, again).run()
    finally:
        held.turn.release()
        held.release()


class _Repair:
    """One repair of a held store."""

    def __init__(
        self, directory: Path, engine: Engine, embedding: object, progress: Tell | None, look: Callable[[], Examined]
    ) -> None:
        self._directory, self._engine, self._embedding, self._look = directory, engine, embedding, look
        self._tell: Tell = progress or (lambda _what, _done, _total: None)
        self._done: Done = {}

    def run(self) -> Findings:
        """Run the repair: see `repair`."""
        before = first = self._look()
        if before.of_indexes:
            self._mend(SQL, remake_indexes, "Its own indexes were made anew.")
        if before.missing:
            self._mend(TABLES, schema.metadata.create_all, "Tables that were missing were made, empty.")
        if self._done:
            before = self._look()
        if before.contents is not None:
            self._mend_rows(before, before.contents)
            self._mend_indexes(before)
        if before.contents is not None and before.contents.served:
            rows = {MEMORIES, VECTORS, JOURNAL} & set(self._done)  # changes that collections do not see
            if rows or before.state(SERVER) == PROBLEM:
                self._mend(SERVER, rehouse)
        if before.leftovers:
            self._done.setdefault(LEFTOVERS, []).append(remove_files(before.leftovers))
        if before.state(BREAKERS) == PROBLEM:
            remove_files([self._directory / BREAKERS_FILE])
            self._done.setdefault(BREAKERS, []).append("It was removed; breakers begin closed.")
        if self._done and (self._directory / COLUMNS).exists():  # made from the state before
            remove_files([self._directory / COLUMNS])
        after = self._look() if self._done else before
        checks = [self._check(first, check) for check in after.checks]
        checks.insert(2, ok(HOLDER, "Nobody else has it open."))
        return Findings(path=self._directory, checks=tuple(checks), repaired=True)

    def _mend(self, name: str, mend: Mend, says: str = "") -> None:
        """Note the sentence of `mend`, or `says`, once its changes are on the disk."""
        with self._engine.begin() as connection:
            said = mend(connection) or says
        logger.info(said)
        self._done.setdefault(name, []).append(said)

    def _mend_rows(self, before: Examined, found: Contents) -> None:
        counted_anew = "The languages of all scopes were counted anew."
        uncounted = found.languages_wrong or (found.unreadable and not found.cut_by_another)
        steps: tuple[tuple[str, object, Mend, str], ...] = (
            (MEMORIES, found.unreadable, lambda c: put_aside(c, self._directory, found.unreadable), ""),
            (LINKS, found.orphans, drop_orphans, ""),
            (VECTORS, found.vectors_wrong, lambda c: drop_vectors(c, list(found.vectors_wrong)), ""),
            (SCOPES, found.counts_wrong, lambda c: recount(c, sorted(found.counts_wrong)), ""),
            (WORDS, found.words_missing or found.words_wrong, lambda c: rewrite_words(c, found), ""),
            (LANGUAGES, uncounted, languages.recount, counted_anew),
            (JOURNAL, before.state(JOURNAL) == PROBLEM, restart_journal, ""),
        )
        for name, wrong, mend, says in steps:
            if wrong:
                self._mend(name, mend, says)

    def _mend_indexes(self, before: Examined) -> None:
        """Make missing vectors, and indexes that are wrong or were made from mended data."""
        contents = before.contents
        assert contents is not None
        wrong = sorted({*contents.vectors_wrong, *contents.vectors_missing})
        missing = [key for key in wrong if contents.living.get(key[1]) == key[0]]
        both = bool({MEMORIES, JOURNAL} & set(self._done))
        names = [n for n in (LEXICAL, SEMANTIC) if both or before.state(check_name(n)) == PROBLEM]
        if wrong and SEMANTIC not in names:
            names.append(SEMANTIC)
        if not names and not missing:
            return
        steps = rebuild(self._engine, self._directory, contents, names, missing, self._embedding, self._tell)
        try:
            for name, said in steps:
                self._done.setdefault(name, []).append(said)
        except (RecallError, OSError) as e:
            self._done.setdefault(check_name(names[0]), []).append(f"It could not be made anew: {e}")

    def _check(self, before: Examined, now: Check) -> Check:
        """Return a check as it is now, with the steps of its repair."""
        done = " ".join(self._done.get(now.name, ()))
        if not done:
            return now
        was = next((check for check in before.checks if check.name == now.name), now)
        if now.state in (OK, NOTICE):
            says = f"{was.says} {done}" if was.state in (PROBLEM, NOTICE) else done
            return replace(was, state=MENDED, says=says, remedy=now.remedy if now.state == NOTICE else "")
        return replace(now, says=f"{now.says} {done}")
