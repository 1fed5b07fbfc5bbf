"""Filling a store from files, so that an import that was interrupted can simply be run again.

Nothing about the progress is written down. A row is looked up by its id before it is stored: one that is there already
and says the same is skipped, one that says something else replaces it. Rows without an id get one from their content
(and, for equal rows, from their order), so they are found again too; such a row is a new memory once it is edited.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_integrations.adapters.rows import memory_of, parse_line, row_of, stable_id
from recall_integrations.errors import InvalidArgument, InvalidInput, InvalidMemory
from recall_integrations.store.clock import utc_now
from recall_integrations.types import Filters, Memory, Scope, says_the_same

if TYPE_CHECKING:
    from recall_integrations.adapters.exports.files import Entry, File
    from recall_integrations.store.memory_store import MemoryStore

Importable = str | os.PathLike[str] | Mapping[str, Any] | list[Any]
BATCH = 1_000
SAMPLES = 5  # memories that a report shows


@dataclass(frozen=True, slots=True, kw_only=True)
class BadEntry:
    """An entry that could not be stored ("line 3"), and why."""

    where: str
    problem: str


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The counts of an import so far; of a dry run, what they would be."""

    new: int = 0  # memories that were not there
    replaced: int = 0  # memories that were there and said something else
    unchanged: int = 0  # memories that were there already
    forgotten: int = 0  # sections and notes that are no longer in the folder
    bad: list[BadEntry] = field(default_factory=list)  # entries that were skipped
    ended: int = 0  # memories that were left out because they have come to their end
    empty: int = 0  # entries without text: pictures, joins, calls of tools
    repeated: int = 0  # entries that came a second time
    others: list[str] = field(default_factory=list)  # files in no known format
    scopes: dict[Scope, None] = field(default_factory=dict)  # scopes that rows belong to, in order of appearance
    formats: Counter[str] = field(default_factory=Counter)  # memories of each format
    roles: Counter[str] = field(default_factory=Counter)
    threads: set[tuple[Scope, str]] = field(default_factory=set)
    first: datetime | None = None  # the earliest time of a memory
    last: datetime | None = None
    samples: list[Memory] = field(default_factory=list)  # the first few memories

    @property
    def rows(self) -> int:
        """Number of rows that are in the store now."""
        return self.new + self.replaced + self.unchanged

    def note(self, scope: Scope, memory: Memory, format_: str) -> None:
        """Take notice of a memory that was read."""
        self.scopes.setdefault(scope)
        self.formats[format_] += 1
        self.roles.update([] if memory.role is None else [memory.role.value])
        self.threads.update([] if memory.thread is None else [(scope, memory.thread)])
        if (at := memory.event_at) is not None:
            self.first, self.last = min(self.first or at, at), max(self.last or at, at)
        self.samples += [memory] if len(self.samples) < SAMPLES else []


class Importer:
    """Writes memories to a store in batches, leaving out what is there already. `report` is true at every moment.

    Args:
        store: `None` = there is none: everything is new, and nothing is stored.
        batch_size: memories that are stored at once.
        dry_run: count what would be stored, and store nothing.
    """

    def __init__(self, store: MemoryStore | None, *, batch_size: int = BATCH, dry_run: bool = False) -> None:
        self.report, self._store, self._batch_size = ImportReport(), store, batch_size
        self._writes = store is not None and not dry_run
        self._seen: dict[tuple[Scope, str], tuple[str, int]] = {}  # where an id was, and the hash of its memory

    def read(
        self,
        source: Importable,
        scope: Scope,
        *,
        format: str | None = None,
        zone: tzinfo = timezone.utc,
        skip_bad: bool = False,
        forget_gone: bool = False,
        advance: Callable[[int], None] = lambda _n: None,
    ) -> ImportReport:
        """Store what is at a path, or parsed JSON; arguments and errors are those of `MemoryStore.import_from`.

        A time without a zone is in `zone`. `advance` is told how many more entries were read.
        """
        from recall_integrations.adapters.exports import FORMATS, JSONL, MARKDOWN, chosen
        from recall_integrations.adapters.exports.files import opened

        with opened(source) as files:
            if forget_gone and (isinstance(source, Mapping | list) or not Path(source).is_dir()):
                raise InvalidArgument("forget_gone compares a store with a whole folder of notes. Give the folder.")
            found, self.report.others = chosen(files, format)
            for file, name in () if skip_bad else found:
                if name == JSONL:
                    Importer(None)._check(file, scope, advance)
            for file, name in found:
                read = FORMATS[name].read
                rows = self._lines(file, scope, skip_bad) if read is None else self._entries(read(file, zone), scope)
                self._store_all(rows, name, advance)
                file.forget()
            notes = {file.export for file, name in found if name == MARKDOWN}
        if notes and self._store is not None and not self.report.bad:
            self._forget_gone(self._store, notes, forget_gone)
        return self.report

    def _check(self, file: File, scope: Scope, advance: Callable[[int], None]) -> None:
        """Read JSON Lines through, so that a bad one leaves the store as it was."""
        try:
            for _ in self._lines(file, scope, False):
                advance(0)
        except InvalidMemory as e:
            raise InvalidMemory(
                f"{e} Nothing was stored. --skip-bad, or skip_bad=True, leaves such rows out and lists them."
            ) from e

    def _store_all(self, rows: Iterable[tuple[Scope, Memory]], format_: str, advance: Callable[[int], None]) -> None:
        batch: list[tuple[Scope, Memory]] = []
        for scope, memory in rows:
            self.report.note(scope, memory, format_)
            batch.append((scope, memory))
            if len(batch) >= self._batch_size:
                full, batch = batch, []
                self._flush(full)
            advance(1)
        self._flush(batch)

    def _flush(self, batch: list[tuple[Scope, Memory]]) -> None:
        by_scope: dict[Scope, list[Memory]] = {}
        for scope, memory in batch:
            by_scope.setdefault(scope, []).append(memory)
        for scope, memories in by_scope.items():
            fresh: list[Memory] = []
            replaced = 0
            for memory in memories:
                assert memory.id is not None
                stored = None if self._store is None else self._store.get(memory.id, scope=scope)
                if stored is None or not says_the_same(stored, memory):
                    fresh.append(memory)
                    replaced += stored is not None
            if fresh and self._writes and self._store is not None:
                self._store.remember_many(fresh, scope=scope)
            self.report.replaced += replaced
            self.report.new += len(fresh) - replaced
            self.report.unchanged += len(memories) - len(fresh)

    def _forget_gone(self, store: MemoryStore, folders: set[str], whole: bool) -> None:
        """Forget sections that are no longer in their note, and notes that are no longer in the `whole` folder."""
        from recall_integrations.adapters.exports.notes import FOLDER

        for scope in self.report.scopes:
            kept = store.iterate(scope=scope, filters=Filters(metadata={FOLDER: {"$in": sorted(folders)}}))
            gone = [
                memory.id
                for memory in kept
                if memory.id and (scope, memory.id) not in self._seen
                if whole or (scope, memory.thread) in self.report.threads
            ]
            self.report.forgotten += store.forget(gone, scope=scope) if gone and self._writes else len(gone)

    def _entries(self, found: Iterable[Entry], default: Scope) -> Iterator[tuple[Scope, Memory]]:
        """Yield what a format read, and note the rest."""
        equal: Counter[str] = Counter()
        for entry in found:
            if entry.memory is None:
                if entry.problem:
                    self.report.bad.append(BadEntry(where=entry.where, problem=entry.problem))
                self.report.empty += not entry.problem
                continue
            scope, memory = replace(default, **entry.scope), entry.memory
            memory = memory if memory.id is not None else _identified(memory, row_of(memory), scope, equal)
            before = self._before(scope, memory, entry.where)
            if before is None:
                if self._lives(memory):
                    yield scope, memory
            elif before[1] == hash(memory):
                self.report.repeated += 1
            else:
                self.report.bad.append(BadEntry(where=entry.where, problem=_twice(memory, before)))

    def _lines(self, file: File, default: Scope, skip_bad: bool) -> Iterator[tuple[Scope, Memory]]:
        """Yield the rows of JSON Lines."""
        equal: Counter[str] = Counter()
        for number, raw in _raw_lines(file):
            try:
                row = parse_line(raw)
                scope, memory = memory_of(row, default)
                memory = memory if memory.id is not None else _identified(memory, row, scope, equal)
                if (before := self._before(scope, memory, f"line {number}")) is not None:
                    raise InvalidMemory(_twice(memory, before))
            except InvalidInput as e:
                problem = str(e).rstrip(".")
                if not skip_bad:
                    raise InvalidMemory(f"{file.path or file.name}, line {number}: {problem}.") from e
                self.report.bad.append(BadEntry(where=f"line {number}", problem=problem))
                continue
            if self._lives(memory):
                yield scope, memory

    def _before(self, scope: Scope, memory: Memory, where: str) -> tuple[str, int] | None:
        """Return where the id of a memory was before, and the hash of what had it; `None` where it is new."""
        key = (scope, memory.id or "")
        before = self._seen.get(key)
        if before is None:
            self._seen[key] = (where, hash(memory))
        return before

    def _lives(self, memory: Memory) -> bool:
        ended = memory.expires_at is not None and memory.expires_at <= utc_now()
        self.report.ended += ended
        return not ended


def _raw_lines(file: File) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their number. Only a line feed ends a line."""
    with file.open() as opened:
        for number, raw in enumerate(opened, start=1):
            if line := (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip():
                yield number, line


def _identified(memory: Memory, row: Mapping[str, Any], scope: Scope, equal: Counter[str]) -> Memory:
    first = stable_id(row, scope, 1)
    equal[first] += 1
    return replace(memory, id=stable_id(row, scope, equal[first]))


def _twice(memory: Memory, before: tuple[str, int]) -> str:
    return f"the id {(memory.id or '')[:80]!r} was given to {before[0]} already"
