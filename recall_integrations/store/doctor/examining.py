"""Examine the directory of a store, without changing anything in it; and mend it.

A repair holds the store, examines it, mends it step by step, each in one transaction, and examines it again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, func, inspect, select, update

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.config import RetrievalConfig, VectorsConfig, checked_config
from recall_integrations.database import schema
from recall_integrations.database.engine import damage, mapped_errors, of_its_indexes_only, remake_indexes, undecoded
from recall_integrations.database.meta import OTHER_VERSION, get_meta
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, RecallError, StoreError, StorePathError
from recall_integrations.indexes import word_rows as words
from recall_integrations.resilience.breaker import BREAKERS_FILE
from recall_integrations.store import homes, journal, languages, rows
from recall_integrations.store.clock import Clock, utc_now
from recall_integrations.store.column_files import COLUMNS
from recall_integrations.store.directory import DATABASE, hold
from recall_integrations.store.doctor import contents, indexes
from recall_integrations.store.doctor.contents import (
    AHEAD,
    JOURNAL,
    Contents,
    Key,
    Tell,
    examine_journal,
    orphan_conditions,
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
    REFUSALS,
    SKIPPED,
    Check,
    Findings,
    alone,
    breakers,
    counted,
    directory_of,
    disk,
    leftovers,
    notice,
    ok,
    problem,
    put_aside,
    reading,
)
from recall_integrations.store.doctor.indexes import SERVER, check_name, examine_served
from recall_integrations.store.index_files import epoch_of
from recall_integrations.store.indexes import Indexes
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.turns import WriteTurn

logger = logging.getLogger("recall_integrations")

SQL, TABLES, MEMORIES, CLOCK, WORDS, LANGUAGES, VECTORS, SCOPES, LINKS = (
    *("database", "schema", "memories", "clock", "words", "languages", "vectors", "scopes", "orphans"),
)
_OF_DATABASE = (
    *(SQL, TABLES, MEMORIES, CLOCK, SCOPES, WORDS, LANGUAGES, VECTORS, LINKS, JOURNAL),
    *(check_name(LEXICAL), check_name(SEMANTIC)),
)
_BACKUP = (
    "Restore it from a backup, or try `sqlite3 recall.db .recover` on a copy: rows are lost, and which cannot be told."
)


@dataclass(slots=True)
class Examined:
    """The findings of an examination, with the details that a repair needs."""

    checks: list[Check] = field(default_factory=list)
    contents: Contents | None = None  # of the tables; `None` = the tables could not be read
    leftovers: list[Path] = field(default_factory=list)  # files and directories that nothing reads
    missing: list[str] = field(default_factory=list)  # names of absent tables
    of_indexes: bool = False  # whether the database is damaged in its own indexes only

    def state(self, name: str) -> str:
        """Return the state of a check; empty where it was not made."""
        return next((check.state for check in self.checks if check.name == name), "")


def examine(
    path: str | os.PathLike[str],
    *,
    clock: Clock = utc_now,
    progress: Tell | None = None,
    vectors: VectorsConfig | None = None,
) -> Findings:
    """Find faults in a store. Nothing of it is changed; it must not be open meanwhile.

    Reads everything: about a second for 10,000 memories on an idle machine.

    Args:
        path: the directory of the store.
        clock: tells which memories are from the future.
        progress: called with the name of the current step, the number of rows done, and the number of all.
        vectors: address of a Chroma server; `None` = from the environment.

    Raises:
        StorePathError: the directory holds no store.
    """
    directory = there(path)
    with alone(directory) as holder:
        if holder.state == PROBLEM:
            checks = [directory_of(directory), disk(directory), holder, *_skipped("the store is open elsewhere.")]
            return Findings(path=directory, checks=tuple(checks))
        found = look(directory, clock(), progress, held=False, vectors=vectors)
    checks = [*found.checks[:2], holder, *found.checks[2:]]
    return Findings(path=directory, checks=tuple(checks))


def there(path: str | os.PathLike[str]) -> Path:
    """Return the directory of a store."""
    directory = Path(path)
    try:
        if (directory / DATABASE).exists() or any(any(directory.glob(f"{name}.*")) for name in (LEXICAL, SEMANTIC)):
            return directory
    except (OSError, ValueError) as e:
        raise StorePathError(f"Cannot read {directory}: {e}. Check the path and its permissions.") from e
    raise StorePathError(f"There is no store at {directory}. Give the directory of one.")


def look(
    directory: Path, now: datetime, progress: Tell | None, *, held: bool, vectors: VectorsConfig | None = None
) -> Examined:
    """Make all checks but that of the lock."""
    tell: Tell = progress or (lambda _what, _done, _total: None)
    found = Examined(checks=[directory_of(directory), disk(directory)])
    try:
        if not (directory / DATABASE).is_file() or not (directory / DATABASE).stat().st_size:
            raise FileNotFoundError("It is missing or empty.")
        with reading(directory, held=held) as connection:
            _look_at_database(connection, directory, now, tell, found)
            if found.contents is not None:
                settings = checked_config(None).vectors if vectors is None else vectors
                check = examine_served(connection, found.contents.served, settings)
                found.checks += [] if check is None else [check]
    except REFUSALS as e:
        cause = str(getattr(e, "orig", None) or e)
        found.checks = [c for c in found.checks if c.name != SQL]
        found.checks.append(problem(SQL, f"It cannot be read: {cause}", _BACKUP))
    made = {check.name for check in found.checks}
    found.checks += [check for check in _skipped("the database cannot be read.") if check.name not in made]
    found.checks += [breakers(directory), put_aside(directory)]
    return found


def _skipped(because: str) -> list[Check]:
    return [Check(name=name, state=SKIPPED, says=f"Not looked at: {because}") for name in _OF_DATABASE]


def _look_at_database(connection: Connection, directory: Path, now: datetime, tell: Tell, found: Examined) -> None:
    faults = damage(connection)
    found.of_indexes = of_its_indexes_only(faults)
    if faults:
        remedy = "`--repair` makes the database's own indexes anew." if found.of_indexes else _BACKUP
        found.checks.append(problem(SQL, f"SQLite finds {counted(len(faults), 'fault')} in it.", remedy, faults))
        if not found.of_indexes:
            return
    else:
        found.checks.append(ok(SQL, "SQLite finds no fault in it."))
    found.checks.append(_schema(connection, found))
    if found.checks[-1].state == PROBLEM:
        return
    read = found.contents = contents.read(connection, now, tell)
    found.checks += _of_rows(read)
    found.checks.append(examine_journal(connection, read.living | {num: scope for scope, num in read.unreadable}))
    epochs = {name: epoch_of(connection, name) for name in (LEXICAL, SEMANTIC)}
    for name, epoch in epochs.items():
        tell(check_name(name), 0, 1)
        found.checks.append(indexes.examine(connection, name, directory / f"{name}.{epoch}", read))
        tell(check_name(name), 1, 1)
    check, found.leftovers = leftovers(directory, epochs, connection)
    found.checks.append(check)


def _schema(connection: Connection, found: Examined) -> Check:
    tables = inspect(connection)
    there = set(tables.get_table_names())
    if not {schema.meta.name, schema.memories.name} <= there:
        return problem(TABLES, "It is a database, but not that of a store.", "Give another directory.")
    noted = get_meta(connection, "schema_version") or ""
    if noted != str(schema.SCHEMA_VERSION):
        says = f"It has the version {noted!r}, and this package reads {schema.SCHEMA_VERSION}."
        return problem(TABLES, says, OTHER_VERSION)
    found.missing = sorted(set(schema.metadata.tables) - there)
    columns = [
        f"{name}.{column.name}"
        for name, table in sorted(schema.metadata.tables.items())
        if name in there
        for column in table.columns
        if column.name not in {c["name"] for c in tables.get_columns(name)}
    ]
    if columns:
        return problem(TABLES, f"{counted(len(columns), 'column')} missing.", _BACKUP, columns)
    if found.missing:
        remedy = "`--repair` makes them, empty, and fills those that are derived from the memories."
        return problem(TABLES, f"{counted(len(found.missing), 'table')} missing.", remedy, found.missing)
    return ok(TABLES, f"Version {noted}, which this package reads.")


# -- what the tables hold ----------------------------------------------------------------------------------------------


def _rows_wrong(found: Contents) -> tuple[tuple[str, str, list[str], str, str, str], ...]:
    """Return of each check of rows: name, state, what is wrong, sentence, remedy, and the sentence if nothing is."""
    total = counted(len(found.living) + len(found.unreadable), "memory", "memories")
    without = counted(len(found.words_missing), "memory has none", "memories have none")
    return (
        (
            MEMORIES, PROBLEM,
            [f"memory {num} (id {found.named[s, num]!r}): {why}" for (s, num), why in found.unreadable.items()],
            f"{len(found.unreadable):,} of {total} cannot be read.",
            f"`--repair` moves them into {PUT_ASIDE} in the store's directory, as they are.",
            f"{total}, all readable.",
        ),
        (
            CLOCK, NOTICE, _named(found.ahead),
            f"{counted(len(found.ahead), 'memory says', 'memories say')} that it was recorded in the future.",
            f"More than {AHEAD.days} day ahead of the clock: see whether that of this machine is right.",
            "No memory was recorded in the future.",
        ),
        (
            SCOPES, PROBLEM,
            [f"scope {i}: counts {n:,}, has {held:,}" for i, (n, held) in sorted(found.counts_wrong.items())],
            f"{counted(len(found.counts_wrong), 'scope counts', 'scopes count')} other memories than are there.",
            "`--repair` counts them anew.",
            f"{counted(len(found.scopes), 'scope')}; each counts the memories that it has.",
        ),
        (
            WORDS, PROBLEM, _named([*found.words_missing, *found.words_wrong]),
            f"{without}, {len(found.words_wrong):,} with others than those of the text.",
            "`--repair` writes them anew.",
            "Every memory has those of its text.",
        ),
        (
            LANGUAGES, PROBLEM, [f"scope {i}" for i in found.languages_wrong],
            f"{counted(len(found.languages_wrong), 'scope counts', 'scopes count')} others than those of its memories.",
            "`--repair` counts them anew.",
            "Every scope counts those of its memories.",
        ),
        (
            VECTORS, PROBLEM,
            [f"memory {num}: {why}" for (_, num), why in sorted(found.vectors_wrong.items())]
            + _named(found.vectors_missing),
            f"{counted(len(found.vectors_wrong), 'vector')} cannot be used, {len(found.vectors_missing):,} missing.",
            "`--repair` makes them anew, with the embedding that made the others (`--embedding NAME`).",
            f"Every memory that has been embedded has one, of {found.width:,} numbers.",
        ),
        (
            LINKS, PROBLEM, [f"{name}: {count:,}" for name, count in found.orphans.items()],
            f"{counted(sum(found.orphans.values()), 'row belongs', 'rows belong')} to nothing that is there.",
            "`--repair` removes them.",
            "Every row belongs to something.",
        ),
    )  # fmt: skip


def _of_rows(found: Contents) -> Iterator[Check]:
    another = {}
    if found.cut_by_another:
        another[WORDS] = notice(WORDS, "Another version cut them.", "The next open cuts them anew.")
        another[LANGUAGES] = notice(LANGUAGES, "Another version counted them.", "The next open counts them anew.")
    if found.changing is not None:
        says = f"They are being made anew with {found.changing!r}."
        another[VECTORS] = notice(VECTORS, says, "Open the store with that embedding: it goes on.")
    for name, state, wrong, says, remedy, fine in _rows_wrong(found):
        yield another.get(name) or (problem(name, says, remedy, wrong, state) if wrong else ok(name, fine))


def _named(keys: Sequence[Key]) -> list[str]:
    return [f"memory {num}" for _, num in sorted(keys)]


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


def move_aside(connection: Connection, directory: Path, unreadable: dict[Key, str]) -> str:
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
        write_lock=WriteTurn(),
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
            (MEMORIES, found.unreadable, lambda c: move_aside(c, self._directory, found.unreadable), ""),
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
