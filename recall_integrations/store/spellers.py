"""Typo correction of the scopes: the vocabularies of those in use, in memory.

A vocabulary counts the stems of a scope's living memories. It is read from the scope's columns, and brought forward by
what differs in later ones. No recall waits for more than a small scope's vocabulary; a larger one is built in the
background.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from recall_integrations.errors import IndexUnavailable, StoreClosed
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.privacy.door import told
from recall_integrations.query.spelling import Speller, Vocabulary, lexicon
from recall_integrations.records import record

logger = logging.getLogger("recall_integrations")

SCOPES_KEPT = 256
SMALL = 1_000  # memories up to which a vocabulary is built while the recall waits: 5 to 7 ms for 600 turns of a chat
PART = 256  # stems that a build in the background adds between two pauses, half a millisecond's work
PAUSE_S = 0.0005
LATER_S = 0.25  # before anything is read or built in the background: the first recall shall not share the processor

_reading_words = threading.Lock()
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
_NONE = np.empty(0, dtype=np.int64)


@record(slots=True, eq=False)
class _Kept:
    """One scope in memory."""

    lock: Any = field(default_factory=threading.Lock)  # of the one that builds
    speller: Speller | None = None  # `None` = not built yet
    version: int = -1  # of the scope, as it was counted
    building: bool = False  # whether a thread does that, or is about to
    # Numbers of the stems in the columns' lexicon that a memory holds, rising, and how many hold each.
    counts: Counts = (_NONE, _NONE)


class Spellers:
    """All scopes' spellers. Threads share it."""

    def __init__(self, *, threshold: float) -> None:
        self._threshold = threshold
        # Reentrant: the store may be collected, and so closed, by a thread of ours that holds it.
        self._lock = threading.RLock()
        self._kept: LRUCache[int, _Kept] = LRUCache(SCOPES_KEPT)
        self._turn = threading.Lock()  # builds in the background follow each other
        self._prepared = False
        self._closing = threading.Event()
        self._failed: set[int] = set()

    def prepare(self) -> None:
        """Start to read the English words, some 80 ms once in a process."""
        with self._lock:
            if self._prepared or self._closing.is_set():
                return
            self._prepared = True
        if not lexicon.cache_info().currsize:
            _start(self._read_words_later)

    def _read_words_later(self) -> None:
        if not self._closing.wait(LATER_S):
            with contextlib.suppress(OSError):  # told to whoever builds a vocabulary
                _read_words()

    @staticmethod
    def is_small(memories: int) -> bool:
        """Say whether the vocabulary of so many memories is built while the recall waits."""
        return memories <= SMALL

    def of(self, view: ScopeView, *, wait: bool = False) -> Speller | None:
        """Return the scope's speller, or `None` while it is being built (and after `close`).

        Scopes of up to `SMALL` memories are built at once, and so never answer `None`.
        """
        with self._lock:
            if self._closing.is_set():
                return None
            kept = self._kept.get(view.scope_id)
            if kept is None:
                kept = self._kept[view.scope_id] = _Kept()
        if kept.version == view.version:
            return kept.speller
        if wait or self.is_small(view.count) or kept.speller is not None:
            return self._brought(kept, view, wait)
        with self._lock:
            begins, kept.building = not kept.building, True
        if begins and not _start(self._build_in_turn, kept, view):
            kept.building = False
            self._note(view.scope_id, IndexUnavailable("The process can start no more threads."))
        return kept.speller  # of an earlier state, until the thread is done

    def _brought(self, kept: _Kept, view: ScopeView, wait: bool, pause: float = 0.0) -> Speller | None:
        """Return the speller of a view, built or brought forward; `None` where that fails and nobody insists."""
        try:
            with kept.lock:
                if kept.version != view.version:
                    self._build(kept, view, pause)
                return kept.speller
        except (OSError, StoreClosed) as e:
            self.forget(view.scope_id)
            if wait:
                raise
            self._note(view.scope_id, e)
            return None

    def _build_in_turn(self, kept: _Kept, view: ScopeView) -> None:
        try:
            with self._turn:
                self._closing.wait(LATER_S)
                self._brought(kept, view, wait=False, pause=PAUSE_S)
        finally:
            kept.building = False

    def _build(self, kept: _Kept, view: ScopeView, pause: float) -> None:
        _read_words()
        if self._closing.is_set():  # the database may be gone
            raise StoreClosed("The store was closed while a vocabulary was being built.")
        counts = counted(view.text)
        terms = _differences(kept.counts, counts, view.text.lexicon.stem_text)
        speller = kept.speller if len(kept.counts[0]) and len(counts[0]) else None
        if speller is None:
            speller = Speller(Vocabulary(), threshold=self._threshold)
        for start in range(0, len(terms), PART):
            speller.vocabulary.update(terms[start : start + PART])
            if pause:  # else a recall beside it would wait some milliseconds each time that it wants to go on
                time.sleep(pause)
        kept.speller, kept.version, kept.counts = speller, view.version, counts
        self._failed.discard(view.scope_id)

    def _note(self, scope_id: int, error: BaseException) -> None:
        if scope_id not in self._failed and not self._closing.is_set():
            self._failed.add(scope_id)
            logger.warning("Typos are not corrected in scope %d: %s", scope_id, told(error))

    def forget(self, scope_id: int | None = None) -> None:
        """Forget what is in memory of a scope, or of all."""
        with self._lock:
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def close(self) -> None:
        """Answer nothing from now on. Closing twice is harmless."""
        self._closing.set()
        self.forget()


def _differences(before: Counts, now: Counts, name: Callable[[int], str]) -> list[tuple[str, int]]:
    """Return the stems whose counts differ, with those that they have now."""
    size = max(int(numbers.max(initial=-1)) for numbers, _ in (before, now)) + 1
    old, new = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    old[before[0]], new[now[0]] = before[1], now[1]
    return [(name(number), int(new[number])) for number in np.flatnonzero(old != new).tolist()]


def counted(text: TextColumns) -> Counts:
    """Count the living memories that hold each stem, by its number in the lexicon."""
    numbers: list[NDArray[Any]] = [_NONE]
    held: list[NDArray[Any]] = [_NONE]
    for part in text.postings:
        numbers.append(part.stems)
        if text.whole or not len(part.stems):
            held.append(np.diff(part.begins))
        else:
            held.append(np.add.reduceat(text.alive[part.rows], part.begins[:-1], dtype=np.int64))
    found = np.bincount(np.concatenate(numbers), np.concatenate(held)).astype(np.int64)
    there = np.flatnonzero(found)
    return there, found[there]


def _start(run: Callable[..., None], *arguments: Any) -> bool:
    """Run in a daemon thread; false if the process can start none."""
    try:
        threading.Thread(target=run, args=arguments, name="recall-spelling", daemon=True).start()
    except RuntimeError:
        return False
    return True


def _read_words() -> None:
    with _reading_words:
        lexicon()
        Vocabulary([("warm", 1)])  # reads their stems
