"""Filling a store from a file, so that an import that was interrupted can simply be run again.

Nothing about the progress is written down. A row is looked up by its id before it is stored: one that is there already
and says the same is skipped, one that says something else replaces it. Rows without an id get one from their content
(and, for equal rows, from their order), so they are found again too; such a row is a new memory once it is edited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recall_integrations.adapters.rows import memory_of, parse_line, stable_id
from recall_integrations.errors import InvalidArgument, InvalidInput, InvalidMemory
from recall_integrations.store.clock import utc_now
from recall_integrations.types import Memory, Scope, says_the_same

if TYPE_CHECKING:
    from recall_integrations.store.memory_store import MemoryStore

BATCH = 1_000
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A line (from 1) that could not be stored, and why."""

    line: int
    problem: str


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The counts of an import so far."""

    new: int = 0  # memories that were not there
    replaced: int = 0  # memories that were there and said something else
    unchanged: int = 0  # memories that were there already
    bad: list[BadRow] = field(default_factory=list)  # lines that were skipped
    ended: int = 0  # memories that were left out because they have come to their end
    scopes: dict[Scope, None] = field(default_factory=dict)  # scopes that rows belong to, in order of appearance

    @property
    def rows(self) -> int:
        """Number of rows that are in the store now."""
        return self.new + self.replaced + self.unchanged


class Importer:
    """Writes memories to a store in batches, leaving out what is there already. `report` is true at every moment."""

    def __init__(self, store: MemoryStore | None, *, batch_size: int = BATCH) -> None:
        self.report, self._store, self._batch_size = ImportReport(), store, batch_size

    def _flush(self, batch: list[tuple[Scope, Memory]]) -> None:
        assert self._store is not None
        by_scope: dict[Scope, list[Memory]] = {}
        for scope, memory in batch:
            by_scope.setdefault(scope, []).append(memory)
        for scope, memories in by_scope.items():
            self.report.scopes.setdefault(scope)
            fresh: list[Memory] = []
            replaced = 0
            for memory in memories:
                assert memory.id is not None
                stored = self._store.get(memory.id, scope=scope)
                if stored is None or not says_the_same(stored, memory):
                    fresh.append(memory)
                    replaced += stored is not None
            if fresh:
                self._store.remember_many(fresh, scope=scope)
            self.report.replaced += replaced
            self.report.new += len(fresh) - replaced
            self.report.unchanged += len(memories) - len(fresh)

    def jsonl(
        self, path: Path, scope: Scope, *, skip_bad: bool = False, advance: Callable[[int], None] = lambda _n: None
    ) -> None:
        """Store the rows of a JSON Lines file. `advance` is told how many more bytes were read.

        Where a row is bad, those before it are stored first.
        """
        batch: list[tuple[Scope, Memory]] = []
        try:
            for row in self._rows(path, scope, skip_bad, advance):
                batch.append(row)
                if len(batch) >= self._batch_size:
                    full, batch = batch, []
                    self._flush(full)
        except InvalidInput:
            self._flush(batch)
            raise
        self._flush(batch)

    def check(self, path: Path, scope: Scope, advance: Callable[[int], None] = lambda _n: None) -> None:
        """Read a JSON Lines file through and store nothing."""
        for _ in self._rows(path, scope, False, advance):
            pass

    def _rows(
        self, path: Path, scope: Scope, skip_bad: bool, advance: Callable[[int], None]
    ) -> Iterator[tuple[Scope, Memory]]:
        seen: dict[tuple[Scope, str], int] = {}
        equal: Counter[str] = Counter()
        now = utc_now()
        for number, raw in _lines(path, advance):
            try:
                where, memory = _identified(raw, scope, equal)
                first = seen.setdefault((where, memory.id or ""), number)
                if first != number:
                    raise InvalidMemory(f"the id {(memory.id or '')[:80]!r} was given to line {first} already")
            except InvalidInput as e:
                problem = str(e).rstrip(".")
                if not skip_bad:
                    raise InvalidMemory(f"{path}, line {number}: {problem}.") from e
                self.report.bad.append(BadRow(line=number, problem=problem))
                continue
            if memory.expires_at is not None and memory.expires_at <= now:
                self.report.ended += 1
            else:
                yield where, memory


def _lines(path: Path, advance: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their number. Only a line feed ends a line."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(BOM).strip() if number == 1 else raw.strip()
                if line:
                    yield number, line
                advance(len(raw))
    except OSError as e:
        raise InvalidArgument(f"Cannot read {path}: {e.strerror or e}.") from e


def _identified(raw: bytes, default: Scope, equal: Counter[str]) -> tuple[Scope, Memory]:
    row = parse_line(raw)
    scope, memory = memory_of(row, default)
    if memory.id is not None:
        return scope, memory
    first = stable_id(row, scope, 1)
    equal[first] += 1
    return scope, replace(memory, id=stable_id(row, scope, equal[first]))
