"""Typo correction of the scopes: the vocabularies of those in use, in memory.

No recall waits for more than a small scope's vocabulary; a larger one is built in the background. Counts are of living
memories: tantivy's own count forgotten ones until it merges segments, so they are read with a filter once and kept by
difference. A difference has the number of its commit, so that a vocabulary of a later commit does not take it twice.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import field
from typing import Any

from sqlalchemy import Connection, Engine, select

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.database.sending import reading
from recall_integrations.errors import IndexUnavailable, StoreClosed
from recall_integrations.indexes.words import WordIndex
from recall_integrations.privacy.logs import told
from recall_integrations.query.spelling import Speller, Vocabulary, lexicon
from recall_integrations.records import record
from recall_integrations.store.journal import TOUCH, Change
from recall_integrations.text import language_of, stems
from recall_integrations.types import indexed_text

logger = logging.getLogger("recall_integrations")

SCOPES_KEPT = 256
SMALL = 1_000  # memories up to which a vocabulary is built while the recall waits: 5 to 7 ms for 600 turns of a chat
PART = 256  # stems that a build in the background adds between two pauses, half a millisecond's work
PAUSE_S = 0.0005
LATER_S = 0.25  # before anything is read or built in the background: the first recall shall not share the processor

_reading_words = threading.Lock()


@record(slots=True, eq=False)
class _Kept:
    """One scope in memory."""

    built: Future[Speller] = field(default_factory=Future)
    commits: int = 0  # commit of the lexical index that the vocabulary was read from
    waiting: list[tuple[int, Counter[str]]] = field(default_factory=list)  # differences that came during the build

    def take(self, commits: int, difference: Counter[str]) -> None:
        """Bring the vocabulary forward, now or when it is built."""
        if not self.built.done():
            self.waiting.append((commits, difference))
        elif commits > self.commits:
            _add(self.built.result().vocabulary, difference)


class Spellers:
    """All scopes' spellers. `leaving` and `applied` are called by whoever holds the write lock; reads by any thread."""

    def __init__(self, engine: Engine, *, lexical: Callable[[], tuple[WordIndex, bool]], threshold: float) -> None:
        self._engine = engine
        self._lexical = lexical
        self._threshold = threshold
        # Reentrant: the store may be collected, and so closed, by a thread of ours that holds it.
        self._lock = threading.RLock()
        self._kept: OrderedDict[int, _Kept] = OrderedDict()  # least recently used first; a failed build leaves at once
        self._leaving: dict[int, frozenset[str]] = {}  # num -> stems, of memories that the write under way removes
        self._turn = threading.Lock()  # builds in the background follow each other
        self._prepared = False
        self._closing = threading.Event()
        self._failed: set[int] = set()

    # -- reading ---------------------------------------------------------------------------------------------------

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

    def of(self, scope_id: int, *, wait: bool = False) -> Speller | None:
        """The scope's speller, or `None` while it is being built (and after `close`).

        Scopes of up to `SMALL` memories are built at once, and so never answer `None` while the lexical index works.
        """
        with self._lock:
            if self._closing.is_set():
                return None
            kept = self._kept.get(scope_id)
            if kept is not None:
                self._kept.move_to_end(scope_id)
        if kept is None or not kept.built.done():
            at_once = wait or self.is_small(self._count(scope_id))
            kept = self._begun(scope_id, at_once)
            if kept is None or not at_once:
                return None
        error = kept.built.exception()
        if error is None:
            return kept.built.result()
        if wait or not isinstance(error, IndexUnavailable | OSError | StoreClosed):
            raise error
        self._note(scope_id, error)
        return None

    @staticmethod
    def is_small(memories: int) -> bool:
        """Say whether the vocabulary of so many memories is built while the recall waits."""
        return memories <= SMALL

    def _note(self, scope_id: int, error: BaseException) -> None:
        if scope_id not in self._failed and not self._closing.is_set():
            self._failed.add(scope_id)
            logger.warning("Typos are not corrected in scope %d: %s", scope_id, told(error))

    def _count(self, scope_id: int) -> int:
        s = schema.scopes
        with reading(self._engine) as connection:
            return int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar() or 0)

    # -- building --------------------------------------------------------------------------------------------------

    def _begun(self, scope_id: int, at_once: bool) -> _Kept | None:
        """The scope, its vocabulary built or, by another thread, being built; `None` after `close`."""
        with self._lock:
            if self._closing.is_set():
                return None
            kept = self._kept.get(scope_id)
            if kept is not None:
                return kept
            kept = self._kept[scope_id] = _Kept()
            if len(self._kept) > SCOPES_KEPT:
                self._kept.popitem(last=False)
        if at_once:
            self._build(scope_id, kept)
        elif not _start(self._build_in_turn, scope_id, kept):
            self._give_up(scope_id, kept, IndexUnavailable("The process can start no more threads."))
        return kept

    def _build_in_turn(self, scope_id: int, kept: _Kept) -> None:
        with self._turn:
            self._closing.wait(LATER_S)
            self._build(scope_id, kept, pause=PAUSE_S)
        error = kept.built.exception()
        if error is not None:
            self._note(scope_id, error)

    def _build(self, scope_id: int, kept: _Kept, *, pause: float = 0.0) -> None:
        """Read the vocabulary, and take what has come meanwhile; the future says how it went."""
        try:
            _read_words()
            if self._closing.is_set():  # the database may be gone
                raise StoreClosed("The store was closed while a vocabulary was being built.")
            index, whole = self._lexical()
            terms, commits = index.vocabulary(scope_id)
            vocabulary = Vocabulary()
            for start in range(0, len(terms), PART):
                vocabulary.update(terms[start : start + PART])
                if pause:  # else a recall beside it would wait some milliseconds each time that it wants to go on
                    time.sleep(pause)
            with self._lock:
                for at, difference in kept.waiting:
                    if at > commits:
                        _add(vocabulary, difference)
                kept.waiting.clear()
                kept.commits = commits
                if not whole:  # a writer has what is missing: the next one who asks builds it anew
                    self._drop(scope_id, kept)
                self._failed.discard(scope_id)
                kept.built.set_result(Speller(vocabulary, threshold=self._threshold))
        except BaseException as e:  # noqa: BLE001 - handed to whoever waits
            self._give_up(scope_id, kept, e)

    def _give_up(self, scope_id: int, kept: _Kept, error: BaseException) -> None:
        with self._lock:
            self._drop(scope_id, kept)
        kept.built.set_exception(error)

    def _drop(self, scope_id: int, kept: _Kept) -> None:
        if self._kept.get(scope_id) is kept:
            del self._kept[scope_id]

    # -- following the writes --------------------------------------------------------------------------------------

    def leaving(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Remember the words of memories that the caller's transaction is about to remove."""
        self._leaving = {}  # of an earlier transaction that failed
        with self._lock:
            if scope_id not in self._kept:
                return
        m = schema.memories
        for part in in_parts(nums):
            query = select(m.c.num, m.c.text, m.c.actor).where(m.c.scope_id == scope_id, m.c.num.in_(part))
            for num, text, actor in connection.execute(query):
                self._leaving[num] = frozenset(stems(indexed_text(text, actor), language_of(text)))

    def applied(self, changes: Iterable[Change] | None, commits: int) -> None:
        """Follow what the lexical index has applied as its commit number `commits`; `None`: it may be anything."""
        if changes is None:
            self.forget()
            return
        with self._lock:
            held = set(self._kept)
        differences: dict[int, Counter[str] | None] = {}
        for change in changes:
            if change.scope_id in held:
                difference = differences.setdefault(change.scope_id, Counter())
                if difference is not None and not self._tell(change, difference):
                    differences[change.scope_id] = None
        with self._lock:
            for scope_id, difference in differences.items():
                if difference is None:
                    self.forget(scope_id)
                elif (kept := self._kept.get(scope_id)) is not None:
                    kept.take(commits, difference)

    def _tell(self, change: Change, difference: Counter[str]) -> bool:
        """Add what a change does to the counts; false if its words are not known any more."""
        if change.op == "put":
            if change.content is None:
                return False
            difference.update(set(stems(change.content, change.language)))
            return True
        if change.op == TOUCH:
            return True
        gone = self._leaving.pop(change.num, None)
        if gone is None:
            return False
        difference.subtract(gone)
        return True

    def hold(self, scope_ids: Iterable[int]) -> bool:
        """Say whether anything of one of these scopes is in memory."""
        with self._lock:
            return not self._kept.keys().isdisjoint(scope_ids)

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


def _add(vocabulary: Vocabulary, difference: Counter[str]) -> None:
    vocabulary.update((s, max(0, vocabulary.frequency(s) + n)) for s, n in difference.items() if n)


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
