"""Examine the directory of a store, without changing anything in it; and mend it.

A repair holds the store, examines it, mends its rows and its indexes, and examines it again. Vectors are made anew by
opening the store and calling `reindex`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, inspect, select, update

from recall_integrations.database import schema
from recall_integrations.database.engine import damage, mapped_errors, of_its_indexes_only, remake_indexes, undecoded
from recall_integrations.database.schema import OTHER_VERSION, get_meta
from recall_integrations.errors import EmbeddingError, RecallError, StoreError, StorePathError
from recall_integrations.indexes import word_rows as words
from recall_integrations.owner_only import opener
from recall_integrations.store import journal, languages, rows
from recall_integrations.store.chroma_files import ChromaFiles, epoch_of, remove_path
from recall_integrations.store.collections import Collections
from recall_integrations.store.directory import COLUMNS, DATABASE, Held, hold
from recall_integrations.store.doctor import contents
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
    DIRECTORY,
    HOLDER,
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
    counted,
    directory_of,
    disk,
    leftovers,
    notice,
    ok,
    problem,
    put_aside,
    reading,
    shut_out_others,
)
from recall_integrations.store.indexes import Indexes
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.types import Clock, utc_now

logger = logging.getLogger("recall_integrations")

SQL, TABLES, MEMORIES, CLOCK, WORDS, LANGUAGES, VECTORS, SCOPES, LINKS = (
    *("database", "schema", "memories", "clock", "words", "languages", "vectors", "scopes", "orphans"),
)
_OF_DATABASE = (
    *(SQL, TABLES, MEMORIES, CLOCK, SCOPES, WORDS, LANGUAGES, VECTORS, LINKS, JOURNAL),
    contents.NAME,
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
) -> Findings:
    """Find faults in a store. Nothing of it is changed; it must not be open meanwhile.

    Reads everything: about a second for 10,000 memories on an idle machine.

    Args:
        path: the directory of the store.
        clock: tells which memories are from the future.
        progress: called with the name of the current step, the number of rows done, and the number of all.

    Raises:
        StorePathError: the directory holds no store.
    """
    directory = there(path)
    with alone(directory) as holder:
        if holder.state == PROBLEM:
            checks = [directory_of(directory), disk(directory), holder, *_skipped("the store is open elsewhere.")]
            return Findings(path=directory, checks=tuple(checks))
        found = look(directory, clock(), progress, held=False)
    checks = [*found.checks[:2], holder, *found.checks[2:]]
    return Findings(path=directory, checks=tuple(checks))


def there(path: str | os.PathLike[str]) -> Path:
    """Return the directory of a store."""
    directory = Path(path)
    try:
        if (directory / DATABASE).exists() or (directory / COLUMNS).exists() or any(directory.glob(f"{SEMANTIC}.*")):
            return directory
    except (OSError, ValueError) as e:
        raise StorePathError(f"Cannot read {directory}: {e}. Check the path and its permissions.") from e
    raise StorePathError(f"There is no store at {directory}. Give the directory of one.")


def look(directory: Path, now: datetime, progress: Tell | None, *, held: bool) -> Examined:
    """Make all checks but that of the lock."""
    tell: Tell = progress or (lambda _what, _done, _total: None)
    found = Examined(checks=[directory_of(directory), disk(directory)])
    try:
        if not (directory / DATABASE).is_file() or not (directory / DATABASE).stat().st_size:
            raise FileNotFoundError("It is missing or empty.")
        with reading(directory, held=held) as connection:
            _look_at_database(connection, directory, now, tell, found)
    except REFUSALS as e:
        cause = str(getattr(e, "orig", None) or e)
        found.checks = [c for c in found.checks if c.name != SQL]
        found.checks.append(problem(SQL, f"It cannot be read: {cause}", _BACKUP))
    made = {check.name for check in found.checks}
    found.checks += [check for check in _skipped("the database cannot be read.") if check.name not in made]
    found.checks.append(put_aside(directory))
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
    current = f"{SEMANTIC}.{epoch_of(connection, SEMANTIC)}"
    tell(contents.NAME, 0, 1)
    found.checks.append(contents.examine(connection, directory / current, read))
    tell(contents.NAME, 1, 1)
    check, found.leftovers = leftovers(directory, current)
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
            WORDS, PROBLEM, _named(found.words_wrong),
            f"{counted(len(found.words_wrong), 'memory has', 'memories have')} none, or others than those of the text.",
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
            "`--repair` makes all anew, with the embedding that made the others (`--embedding NAME`).",
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
    if found.changing is not None:
        says = f"They are being made anew with {found.changing!r}."
        another[VECTORS] = notice(VECTORS, says, "Open the store with that embedding: it goes on.")
    for name, state, wrong, says, remedy, fine in _rows_wrong(found):
        yield another.get(name) or (problem(name, says, remedy, wrong, state) if wrong else ok(name, fine))


def _named(keys: Sequence[Key]) -> list[str]:
    return [f"memory {num}" for _, num in sorted(keys)]


def move_aside(connection: Connection, directory: Path, unreadable: dict[Key, str]) -> str:
    """Move unreadable memories out of the store into a file in its directory, in the caller's transaction."""
    kept = [_as_found(connection, key, why) for key, why in unreadable.items()]
    # First: a crash leaves them in both places.
    with open(directory / PUT_ASIDE, "a", encoding="utf-8", opener=opener) as file:
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


class Noted:
    """Stands for the embedding that made a store, which no rebuild of an index asks."""

    remote = False

    def __init__(self, found: Contents) -> None:
        self.fingerprint, self.dimensions = found.embedding or "none", found.width or 1

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Raise `EmbeddingError`."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbeddingError(f"The store was made with the embedding {self.fingerprint!r}, which is not at hand.")


def repair(
    path: str | os.PathLike[str],
    *,
    embedding: Any = None,
    clock: Clock = utc_now,
    progress: Tell | None = None,
) -> Findings:
    """Mend the faults of a store, and report each. The store must not be open meanwhile.

    Rows are mended in one transaction; an interrupt leaves a store that can be mended further.

    Args:
        path: the directory of the store.
        embedding: as for `MemoryStore.open`; needed only where vectors are wrong.
        clock: tells which memories are from the future.
        progress: as for `examine`.

    Returns:
        The findings afterwards. Mended checks have the state `mended`.

    Raises:
        StorePathError: the directory holds no store.
    """
    directory = there(path)
    try:
        held = hold(directory, alone="to repair it")
    except StoreError:  # damaged, open elsewhere or not writable: the findings say so
        return replace(examine(directory, clock=clock, progress=progress), repaired=True)
    try:
        with mapped_errors(directory / DATABASE):
            first, failures = _mended(held, lambda: look(directory, clock(), progress, held=True), progress)
    finally:
        held.turn.release()
        held.release()
    if first.state(VECTORS) in (PROBLEM, SKIPPED):
        failures |= _reindexed(directory, embedding, clock, progress)
    if all(check.state == OK for check in first.checks):
        now = [*first.checks[:2], ok(HOLDER, "Nobody else has it open."), *first.checks[2:]]
    else:
        now = list(examine(directory, clock=clock, progress=progress).checks)
    was = {check.name: check for check in first.checks}
    checks = [_compared(was.get(check.name, check), check, failures.get(check.name, "")) for check in now]
    return Findings(path=directory, checks=tuple(checks), repaired=True)


def _compared(was: Check, now: Check, failure: str) -> Check:
    """Return a check as it is now, and say whether it was mended."""
    if was.state in (PROBLEM, NOTICE) and now.state in (OK, NOTICE) and now.says != was.says:
        return replace(was, state=MENDED, says=f"{was.says} It was mended.", remedy="")
    return replace(now, says=f"{now.says} {failure}") if failure and now.state == PROBLEM else now


def _mended(held: Held, again: Callable[[], Examined], progress: Tell | None) -> tuple[Examined, dict[str, str]]:
    """Mend a held store; return its state before, and what could not be mended, by the name of the check."""
    first = before = again()
    if first.state(DIRECTORY) == PROBLEM:
        shut_out_others(held.path)
    if before.of_indexes or before.missing:
        with held.engine.begin() as connection:
            if before.of_indexes:
                remake_indexes(connection)
            schema.metadata.create_all(connection)
        before = again()
    if before.contents is None:
        return first, {}
    wrong = {check.name for check in before.checks if check.state == PROBLEM} - {DIRECTORY}
    if wrong & {MEMORIES, LINKS, SCOPES, WORDS, LANGUAGES, JOURNAL}:
        with held.engine.begin() as connection:
            _mend_rows(connection, held.path, before.contents, wrong)
    failures = _rebuilt(held, before.contents, progress) if wrong & {MEMORIES, JOURNAL, contents.NAME} else {}
    for path in [*before.leftovers, *([held.path / COLUMNS] if wrong else [])]:  # columns of the state before
        remove_path(path)
    return replace(first, checks=_first_seen(first, before)), failures


def _first_seen(first: Examined, later: Examined) -> list[Check]:
    """Return the first findings; of checks that could not be made at first, the later ones."""
    known = {check.name: check for check in first.checks if check.state != SKIPPED}
    return [known.get(check.name, check) for check in later.checks]


def _mend_rows(connection: Connection, directory: Path, found: Contents, wrong: Set[str]) -> None:
    """Put unreadable memories aside, remove rows that belong to nothing, cut and count, in the caller's transaction."""
    if found.unreadable:
        logger.info(move_aside(connection, directory, found.unreadable))
    for table, where in orphan_conditions():
        connection.execute(delete(table).where(where))
    s, m = schema.scopes, schema.memories.c
    held = select(func.count()).where(m.scope_id == s.c.scope_id).scalar_subquery()
    changed = update(s).where(s.c.scope_id.in_(found.counts_wrong))
    connection.execute(changed.values(memories=held, version=s.c.version + 1))
    w = schema.words.c
    for scope_id, num in found.words_wrong:
        connection.execute(delete(schema.words).where(w.scope_id == scope_id, w.num == num))
    if WORDS in wrong:
        words.fill(connection)
    if LANGUAGES in wrong or (found.unreadable and not found.cut_by_another):
        languages.recount(connection)
    if JOURNAL in wrong:
        journal.restart(connection)


def _rebuilt(held: Held, found: Contents, progress: Tell | None) -> dict[str, str]:
    """Make the index anew from the database, where there is one; return why that failed, by the name of its check."""
    if not found.homes and not any(held.path.glob(f"{SEMANTIC}.*")):
        return {}  # no scope is so large that there is one
    made = Indexes(
        held,
        Noted(found),
        collections=lambda note: Collections(
            held,
            ChromaFiles(held.engine, held.path),
            scan_max=lambda: sys.maxsize,  # opening the store decides which scopes have a collection
            note=note,
            fingerprint=lambda: found.embedding or "",
        ),
    )
    try:
        made.rebuild(progress=progress)
    except (RecallError, OSError) as e:
        return {contents.NAME: f"It could not be made anew: {e}"}
    finally:
        made.close(sealed=True)
    return {}


def _reindexed(directory: Path, embedding: Any, clock: Clock, progress: Tell | None) -> dict[str, str]:
    """Make all vectors anew; return why that failed, by the name of the check."""
    from recall_integrations.store.memory_store import MemoryStore

    tell = progress or (lambda _what, _done, _total: None)
    try:
        with MemoryStore.open(directory, embedding=embedding, clock=clock) as store:
            store.reindex(progress=lambda what, done, total: tell(what, done, total or done))
    except RecallError as e:
        return {VECTORS: f"None could be made: {e}"}
    return {}
