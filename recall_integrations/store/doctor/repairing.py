"""Mend a store: hold it, examine it, mend it step by step, and examine it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from recall_integrations.config import VectorsConfig
from recall_integrations.database.engine import mapped_errors
from recall_integrations.errors import RecallError, StoreError
from recall_integrations.resilience.breaker import BREAKERS_FILE
from recall_integrations.store.clock import Clock, utc_now
from recall_integrations.store.column_files import COLUMNS
from recall_integrations.store.directory import DATABASE, hold
from recall_integrations.store.doctor import chain, following, mending, surroundings
from recall_integrations.store.doctor.contents import Contents, Tell
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
from recall_integrations.store.doctor.findings import MENDED, NOTICE, OK, PROBLEM, Check, Findings, ok
from recall_integrations.store.journal import LEXICAL, SEMANTIC

Mend = Callable[[Connection], str]


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
            return _Repair(directory, held.engine, embedding, clock, progress, vectors).run()
    finally:
        held.turn.release()
        held.release()


class _Repair:
    """One repair of a held store."""

    def __init__(
        self,
        directory: Path,
        engine: Engine,
        embedding: object,
        clock: Clock,
        progress: Tell | None,
        vectors: VectorsConfig | None,
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._embedding = embedding
        self._clock = clock
        self._progress = progress
        self._vectors = vectors
        self._done: mending.Done = {}

    def run(self) -> Findings:
        """Run the repair: see `repair`."""
        before = first = self._look()
        if before.of_indexes:
            self._mend(SQL, mending.remake_sql_indexes)
        if before.missing:
            self._mend(TABLES, mending.add_tables)
        if self._done:
            before = self._look()
        if before.contents is not None:
            self._mend_rows(before, before.contents)
            self._mend_indexes(before)
        if before.contents is not None and before.contents.served:
            rows = {MEMORIES, VECTORS, chain.JOURNAL} & set(self._done)  # changes that collections do not see
            if rows or before.state(mending.SERVER) == PROBLEM:
                self._mend(mending.SERVER, mending.rehouse)
        if before.leftovers:
            self._done.setdefault(surroundings.LEFTOVERS, []).append(mending.remove_files(before.leftovers))
        if before.state(surroundings.BREAKERS) == PROBLEM:
            mending.remove_files([self._directory / BREAKERS_FILE])
            self._done.setdefault(surroundings.BREAKERS, []).append("It was removed; breakers begin closed.")
        if self._done and (self._directory / COLUMNS).exists():  # made from the state before
            mending.remove_files([self._directory / COLUMNS])
        after = self._look() if self._done else before
        return self._told(first, after)

    def _look(self) -> Examined:
        return look(self._directory, self._clock(), self._progress, held=True, vectors=self._vectors)

    def _mend(self, name: str, mend: Mend) -> None:
        self._done.setdefault(name, []).append(mending.in_transaction(self._engine, mend))

    def _mend_rows(self, before: Examined, found: Contents) -> None:
        if found.unreadable:
            self._mend(MEMORIES, lambda c: mending.put_aside(c, self._directory, found.unreadable))
        if found.orphans:
            self._mend(LINKS, mending.drop_orphans)
        if found.vectors_wrong:
            self._mend(VECTORS, lambda c: mending.drop_vectors(c, list(found.vectors_wrong)))
        if found.counts_wrong:
            self._mend(SCOPES, lambda c: mending.recount(c, sorted(found.counts_wrong)))
        if found.words_missing or found.words_wrong:
            self._mend(WORDS, lambda c: mending.rewrite_words(c, found))
        if found.languages_wrong or (found.unreadable and not found.cut_by_another):
            self._mend(LANGUAGES, mending.recount_languages)
        if before.state(chain.JOURNAL) == PROBLEM:
            self._mend(chain.JOURNAL, mending.restart_journal)

    def _mend_indexes(self, before: Examined) -> None:
        """Make missing vectors, and indexes that are wrong or were made from mended data."""
        contents = before.contents
        assert contents is not None
        wrong = sorted({*contents.vectors_wrong, *contents.vectors_missing})
        missing = [key for key in wrong if contents.living.get(key[1]) == key[0]]
        both = bool({MEMORIES, chain.JOURNAL} & set(self._done))
        names = [n for n in (LEXICAL, SEMANTIC) if both or before.state(following.check_name(n)) == PROBLEM]
        if wrong and SEMANTIC not in names:
            names.append(SEMANTIC)
        if not names and not missing:
            return
        tell: Tell = self._progress or (lambda _what, _done, _total: None)
        steps = mending.rebuild(self._engine, self._directory, contents, names, missing, self._embedding, tell)
        try:
            for name, said in steps:
                self._done.setdefault(name, []).append(said)
        except (RecallError, OSError) as e:
            self._done.setdefault(following.check_name(names[0]), []).append(f"It could not be made anew: {e}")

    def _told(self, before: Examined, after: Examined) -> Findings:
        checks = [self._check(before, check) for check in after.checks]
        checks.insert(2, ok(surroundings.HOLDER, "Nobody else has it open."))
        return Findings(path=self._directory, checks=tuple(checks), repaired=True)

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
