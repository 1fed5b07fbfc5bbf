"""Filling a store from files, so that an import that was interrupted can simply be run again.

Nothing about the progress is written down. A row is looked up by its id before it is stored: one that is there already
and says the same is skipped, one that says something else replaces it. Rows without an id get one from their content
(and, for equal rows, from their order), so they are found again too; such a row is a new memory once it is edited.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_integrations.adapters.rows import row_of, stable_id
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.types import Filters, Memory, Scope, says_the_same, utc_now

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
        self, source: Importable, scope: Scope, *, format: str | None = None, zone: tzinfo = timezone.utc,
        skip_bad: bool = False, forget_gone: bool = False, advance: Callable[[int], None] = lambda _n: None,
    ) -> ImportReport:  # fmt: skip
        """Store what is at a path, or parsed JSON; arguments and errors are those of `MemoryStore.import_from`.

        A time without a zone is in `zone`. `advance` is told how many more entries were read.
        """
        from recall_integrations.adapters.exports import FORMATS, JSONL, MARKDOWN, chosen, read
        from recall_integrations.adapters.exports.files import opened

        self._seen.clear()
        with opened(source) as files:
            if forget_gone and (isinstance(source, Mapping | list) or not Path(source).is_dir()):
                raise InvalidArgument("forget_gone compares a store with a whole folder of notes. Give the folder.")
            found, self.report.others = chosen(files, format)
            for file, name in () if skip_bad else found:
                if name == JSONL:  # read through, so that a bad row leaves the store as it was
                    Importer(None)._store_all(file, read(file, name, zone), scope, name, advance=None)
            for file, name in found:
                self._store_all(file, read(file, name, zone), scope, name, advance)
                file.forget()
            nothing = not (seen := self.report).rows and not (seen.bad or seen.empty or seen.ended or seen.repeated)
            if format is not None and nothing and not any(FORMATS[name].is_it(file) for file, name in found):
                said = f"{found[0][0].name} holds nothing in the format {format!r} ({FORMATS[format].what})"
                raise InvalidArgument(f"{said}. Leave the format out to have it found by content.")
            notes = [file for file, name in found if name == MARKDOWN]
        if notes and self._store is not None and not self.report.bad:
            self._forget_gone(self._store, notes, scope, forget_gone)
        return self.report

    def _store_all(
        self, file: File, found: Iterable[Entry], default: Scope, format_: str, advance: Callable[[int], None] | None
    ) -> None:
        """Store what a format read. Without `advance` it is only checked, and a bad entry ends it."""
        equal: Counter[str] = Counter()
        batch: list[tuple[Scope, Memory]] = []
        for entry in found:
            scope = replace(default, **entry.scope)
            memory, problem = self._checked(entry, scope, equal)
            if problem and advance is None:
                hint = "Nothing was stored. --skip-bad, or skip_bad=True, leaves such rows out and lists them."
                raise InvalidMemory(f"{file.path or file.name}, {entry.where}: {problem}. {hint}")
            if problem:
                self.report.bad.append(BadEntry(where=entry.where, problem=problem))
            elif memory is not None and advance is not None:
                self.report.note(scope, memory, format_)
                batch.append((scope, memory))
                if len(batch) >= self._batch_size:
                    full, batch = batch, []
                    self._flush(full)
                advance(1)
        self._flush(batch)

    def _checked(self, entry: Entry, scope: Scope, equal: Counter[str]) -> tuple[Memory | None, str]:
        """Return the memory of an entry, with an id, if it is to be stored; and the problem with it, if any."""
        memory = entry.memory
        if memory is None:
            self.report.empty += not entry.problem
            return None, entry.problem
        if memory.id is None:
            row = entry.row or row_of(memory)
            first = stable_id(row, scope, 1)
            equal[first] += 1
            memory = replace(memory, id=stable_id(row, scope, equal[first]))
        said = hash((memory, repr(memory.metadata)))
        if (before := self._seen.get((scope, memory.id or ""))) is not None:
            self.report.repeated += before[1] == said
            twice = f"the id {(memory.id or '')[:80]!r} was given to {before[0]} already"
            return None, "" if before[1] == said else twice
        self._seen[scope, memory.id or ""] = (entry.where, said)
        if memory.expires_at is not None and memory.expires_at <= utc_now():
            self.report.ended += 1
            return None, ""
        return memory, ""

    def _flush(self, batch: list[tuple[Scope, Memory]]) -> None:
        by_scope: dict[Scope, list[Memory]] = {}
        for scope, memory in batch:
            by_scope.setdefault(scope, []).append(memory)
        for scope, memories in by_scope.items():
            scope_id = None if self._store is None else self._store.scope_id(scope)
            there: dict[str, Memory] = {}
            if self._store is not None and scope_id is not None:
                there = self._store.reader.fetch_ids(scope_id, [memory.id or "" for memory in memories])
            fresh = [m for m in memories if m.id not in there or not says_the_same(there[m.id], m)]
            if fresh and self._writes and self._store is not None:
                self._store.remember_many(fresh, scope=scope)
            replaced = sum(memory.id in there for memory in fresh)
            self.report.replaced += replaced
            self.report.new += len(fresh) - replaced
            self.report.unchanged += len(memories) - len(fresh)

    def _forget_gone(self, store: MemoryStore, notes: list[File], scope: Scope, whole: bool) -> None:
        """Forget sections that are no longer in their note, and notes that are no longer in the `whole` folder."""
        from recall_integrations.adapters.exports.records import FOLDER

        threads, folders = {f"{one.export}/{one.name}" for one in notes}, sorted({one.folder for one in notes})
        there = store.iterate(scope=scope, filters=Filters(metadata={FOLDER: {"$in": folders}}))
        left = [one for one in there if (scope, one.id) not in self._seen and (whole or one.thread in threads)]
        gone = [one.id for one in left if one.id]
        self.report.forgotten += store.forget(gone, scope=scope) if gone and self._writes else len(gone)
