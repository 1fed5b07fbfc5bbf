"""What an examination finds: checks with a state and a sentence; and those of all that is around the database."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.engine import CHECKED, check_header, has_wal, read_only
from recall_integrations.errors import StoreError
from recall_integrations.owner_only import OTHERS, others_read
from recall_integrations.resilience.breaker import BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE
from recall_integrations.store import chroma_files, journal
from recall_integrations.store.directory import COLUMNS, DATABASE, LEARNS, LOCK, WRITING, below, size_of
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.turns import PROCESSES, had, open_in

OK = "ok"
NOTICE = "notice"  # worth knowing; recalls answer as they should, and the next open or write sees to it
PROBLEM = "problem"
MENDED = "mended"
SKIPPED = "skipped"  # could not be looked at, because of another problem
EXAMPLES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check.

    Args:
        name: of the check; stable.
        state: `ok`, `notice`, `problem`, `mended` or `skipped`.
        says: what was found, in a sentence.
        examples: some of the things concerned, at most `EXAMPLES`.
        remedy: advice; empty = nothing has to be done.
    """

    name: str
    state: str
    says: str
    examples: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of all checks of a store.

    Args:
        path: of its directory.
        checks: all that were made, in a fixed order.
        repaired: whether `repair` made the checks.
    """

    path: Path
    checks: tuple[Check, ...]
    repaired: bool = False

    @property
    def clean(self) -> bool:
        """True if no problem is left, and every check could be made."""
        return not any(check.state in (PROBLEM, SKIPPED) for check in self.checks)

    def of(self, state: str) -> tuple[Check, ...]:
        """Return the checks in a state."""
        return tuple(check for check in self.checks if check.state == state)

    def __getitem__(self, name: str) -> Check:
        """Return the check of this name; raise `KeyError` if it was not made."""
        return {check.name: check for check in self.checks}[name]

    def as_data(self) -> dict[str, Any]:
        """Return the findings as plain data; keys are only ever added."""
        return {
            "format": 1,
            "path": str(self.path),
            "clean": self.clean,
            "repaired": self.repaired,
            "checks": [{**asdict(check), "examples": list(check.examples)} for check in self.checks],
        }


def ok(name: str, says: str) -> Check:
    """Return a check that found nothing wrong."""
    return Check(name=name, state=OK, says=says)


def problem(name: str, says: str, remedy: str = "", examples: Sequence[str] = (), state: str = PROBLEM) -> Check:
    """Return a check that found a problem, or something of another state."""
    return Check(name=name, state=state, says=says, remedy=remedy, examples=tuple(examples[:EXAMPLES]))


notice = partial(problem, state=NOTICE)


def counted(n: int, one: str, more: str | None = None) -> str:
    """Write a number with its noun: "1 memory", "3 memories"."""
    return f"{n:,} {one if n == 1 else more or one + 's'}"


WAL, SHARED_MEMORY = f"{DATABASE}-wal", f"{DATABASE}-shm"
REFUSALS = (StoreError, SQLAlchemyError, sqlite3.Error, OSError)


@contextmanager
def reading(directory: Path, *, held: bool) -> Iterator[Connection]:
    """Yield a connection that only reads, with the contents of the WAL. Text that is no UTF-8 comes with surrogates.

    Where SQLite cannot read it in place (a WAL in a directory that may not be written to), a copy is read.
    """
    check_header(directory / DATABASE)
    wal = has_wal(directory / DATABASE)
    before = (directory / SHARED_MEMORY).exists()
    with ExitStack() as stack:
        if not held and not before:
            stack.callback((directory / SHARED_MEMORY).unlink, missing_ok=True)
        try:
            connection = stack.enter_context(read_only(directory / DATABASE, alone=not (held or wal)))
        except (SQLAlchemyError, sqlite3.OperationalError):
            if not wal or held:
                raise
            copied = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-doctor-")))
            for name in (DATABASE, WAL):
                shutil.copy2(directory / name, copied / name)
            connection = stack.enter_context(read_only(copied / DATABASE, alone=False))
        yield connection


DIRECTORY, DISK, HOLDER, LEFTOVERS, ASIDE = "directory", "disk", "lock", "leftovers", "put aside"
PUT_ASIDE = "put_aside.jsonl"  # memories that could not be read, as they were found
_FREE_MIN = 20_000_000  # bytes below which a write is likely to fail
_KNOWN = (BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE)  # what optimizers keep beside the memories
_CHECKED = f"{DATABASE}{CHECKED}"
_OWN = frozenset(
    {
        *(DATABASE, WAL, SHARED_MEMORY, f"{DATABASE}-journal", _CHECKED),
        *(LOCK, WRITING, LEARNS, PROCESSES),
        *(*_KNOWN, PUT_ASIDE, COLUMNS),
    }
)


def directory_of(path: Path) -> Check:
    """Check that everything in the directory may be read and written."""
    closed = [p for p in (path, *below(path)) if not os.access(p, os.R_OK | os.W_OK) and not _gone(p)]
    if closed:
        return problem(
            DIRECTORY,
            f"{counted(len(closed), 'file or directory', 'files and directories')} may not be read or written.",
            f"Give the user that runs this the right to read and write {path} and all that is in it.",
            [str(p) for p in closed],
        )
    inside = (p for p in path.iterdir() if p.name == DATABASE or p.is_dir())
    if others_read(path) and (found := sorted(str(p) for p in inside if others_read(p))):
        remedy = f"`--repair` shuts them out: chmod o= {path}"
        return problem(DIRECTORY, "Every user of this machine may read what is in it.", remedy, found)
    return ok(DIRECTORY, f"It may be read and written; {size_of(path):,} bytes.")


def shut_out_others(path: Path) -> None:
    """Take from other users of the machine the right to enter the directory."""
    path.chmod(path.stat().st_mode & ~OTHERS)


def _gone(path: Path) -> bool:
    """Say whether a path vanished meanwhile, as directories of indexes do; a path that may not be looked at exists."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def disk(path: Path) -> Check:
    """Check that the disk has room for a new index beside the old one."""
    free, size = shutil.disk_usage(path).free, size_of(path)
    if free < _FREE_MIN:
        return problem(DISK, f"{free:,} bytes are free: the next write may fail.", "Make room on the disk.")
    if free < size:
        return notice(
            DISK, f"{free:,} bytes are free, less than the store takes ({size:,}).", "An index may not be made anew."
        )
    return ok(DISK, f"{free:,} bytes are free.")


@contextmanager
def alone(path: Path) -> Iterator[Check]:
    """Keep others from opening the store, where that needs no change in it. Yields the check of the lock."""
    lock = FileLock(str(path / LOCK), thread_local=False)
    if not (path / LOCK).exists():  # opening a store makes the file first
        yield ok(HOLDER, "Nobody has it open.")
        return
    try:
        mine = had(lock)
    except OSError as e:
        yield notice(HOLDER, f"Whether somebody has it open cannot be told ({e.strerror or e}).")
        return
    if not mine:
        yield _open_elsewhere(open_in(path))
        return
    try:
        if others := open_in(path):
            yield _open_elsewhere(others)
            return
        yield ok(HOLDER, "Nobody has it open.")
    finally:
        lock.release()


def _open_elsewhere(others: list[int]) -> Check:
    named = f"process{'es' * (len(others) > 1)} {', '.join(map(str, others))}" if others else "another process"
    return problem(HOLDER, f"The store is open in {named}.", "Close it there and ask again.")


def leftovers(path: Path, current: str) -> tuple[Check, list[Path]]:
    """Find directories of other epochs than the current one, and drafts of files; return the check, and the paths."""
    indexes = (chroma_files.FORMER, SEMANTIC)
    found = [p for name in indexes for p in path.glob(f"{name}.*") if p.name != current]
    for name in _KNOWN:
        found += [p for p in path.glob(f"{name}?*") if p.name != f"{name}.lock"]
    marks = (journal.MARK, chroma_files.SEAL)
    drafts = {(path / current / mark).with_suffix(".new") for mark in marks}
    drafts.add(path / f"{_CHECKED}.new")
    found = sorted([*found, *(p for p in drafts if p.is_file())])
    if found:
        files = counted(len(found), "file or directory", "files and directories")
        says = f"{files} that an earlier version, or work that did not end, left behind."
        remedy = "Nothing reads them. `--repair` removes them; those of indexes go at the next open as well."
        return notice(LEFTOVERS, says, remedy, [str(p.relative_to(path)) for p in found]), found
    kept = {*_OWN, current, *(f"{name}.lock" for name in _KNOWN)}
    others = sorted(p.name for p in path.iterdir() if p.name not in kept and not p.name.startswith("."))
    if others:
        return notice(LEFTOVERS, "Files that are not the store's. They are left alone.", "", others), []
    return ok(LEFTOVERS, "None."), []


def put_aside(path: Path) -> Check:
    """Check for memories that an earlier repair put aside."""
    try:
        lines = (path / PUT_ASIDE).read_text(encoding="utf-8").count("\n")
    except FileNotFoundError:
        return ok(ASIDE, "Nothing.")
    except (OSError, ValueError) as e:
        return notice(ASIDE, f"{PUT_ASIDE} cannot be read ({e}).")
    says = f"{counted(lines, 'row')} that could not be read, in {PUT_ASIDE}."
    return notice(ASIDE, says, "Remember again what is in it, then remove the file.")
