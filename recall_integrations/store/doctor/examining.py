"""Examine the directory of a store, without changing anything in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, inspect

from recall_integrations.config import VectorsConfig, checked_config
from recall_integrations.database import schema
from recall_integrations.database.engine import damage, of_its_indexes_only
from recall_integrations.database.meta import OTHER_VERSION, get_meta
from recall_integrations.errors import StorePathError
from recall_integrations.store.clock import Clock, utc_now
from recall_integrations.store.directory import DATABASE
from recall_integrations.store.doctor import contents, indexes
from recall_integrations.store.doctor.contents import AHEAD, JOURNAL, Contents, Key, Tell, examine_journal
from recall_integrations.store.doctor.findings import (
    NOTICE,
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
from recall_integrations.store.doctor.indexes import check_name, examine_served
from recall_integrations.store.index_files import epoch_of
from recall_integrations.store.journal import LEXICAL, SEMANTIC

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
    """Return the checks of the database as they are where it cannot be looked at."""
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
    """Check that the tables are those of this version."""
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
