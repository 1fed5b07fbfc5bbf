"""Typo correction of the scopes: their vocabularies in memory, and what was learned, in the table `corrections`.

    first use ─▶ build    living stems of the lexical index + learned rows ─▶ Speller
    a write   ─▶ applied  each stem of a memory that came + 1, of one that went - 1
    each use  ─▶ flush    a few seconds later and at close, if anything was learned: one small transaction

No recall waits for more than a small scope's vocabulary. A larger one is built in the background, and until then the
scope has no speller. Counts are of living memories: tantivy's own count forgotten ones until it merges segments, so
they are read with a filter once and kept by difference from then on. A difference is told with the number of the
commit that made it, so that a vocabulary built from a later commit does not take it twice. Whatever cannot be told as
a difference (an index made anew, changes applied again after a crash) has the vocabulary built anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import field
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.sending import reading
from recall_integrations.errors import IndexUnavailable, RecallError, StoreClosed
from recall_integrations.indexes.words import WordIndex
from recall_integrations.privacy.logs import told
from recall_integrations.query.known_words import lexicon
from recall_integrations.query.spelling import LEARNED_MAX, Speller
from recall_integrations.query.vocabulary import THRESHOLD, Vocabulary
from recall_integrations.records import record
from recall_integrations.store import corrections
from recall_integrations.store.corrections import Learned
from recall_integrations.store.journal import TOUCH, Change
from recall_integrations.store.turns import Lock
from recall_integrations.text import language_of, stems
from recall_integrations.types import indexed_text

logger = logging.getLogger("recall_integrations")

SCOPES_KEPT = 256
SMALL = 1_000  # memories up to which a vocabulary is built while the recall waits: 5 to 7 ms for 600 turns of a chat
FLUSH_S = 5.0
CLOSE_S = 5.0  # wait for a writer that hangs while the process ends
PART = 256  # stems that a build in the background adds between two pauses, half a millisecond's work
PAUSE_S = 0.0005
LATER_S = 0.25  # before anything is read or built in the background: the first recall shall not share the processor

Validate = Callable[[str], str]
Submit = Callable[[Callable[[], None]], Any]


class StoredSpeller(Speller):
    """A speller that can be told later whom to ask."""

    def ask(self, validate: Validate, submit: Submit | None) -> None:
        """From now on, have new corrections validated. `submit=None` leaves where that runs as it is."""
        self._validate = validate
        if submit is not None:
            self._submit = partial(_must_start, submit)


@record(slots=True, eq=False)
class _Kept:
    """One scope in memory."""

    speller: StoredSpeller | None = None  # stays while its vocabulary is built anew
    ready: bool = False  # whether the vocabulary is whole
    building: Future[None] | None = None
    commits: int = 0  # commit of the lexical index that the vocabulary was read from
    stale: bool = False  # what is being built is out of date already
    waiting: list[tuple[int, Counter[str]]] = field(default_factory=list)  # differences that came during the build
    saved: Learned = field(default_factory=dict)  # the table's rows
    written: int = 0  # `speller.changes` when they were written
    left: bool = False  # whether the scope's columns have left memory since it was last used

    @property
    def changed(self) -> bool:
        return self.speller is not None and self.speller.changes != self.written

    @property
    def idle(self) -> bool:
        """Whether nothing is lost when it goes."""
        return self.building is None and not self.changed and not (self.speller is not None and self.speller.asking)

    def take(self, commits: int, difference: Counter[str]) -> None:
        """Bring the vocabulary forward, now or when it is built."""
        if self.building is not None:
            self.waiting.append((commits, difference))
        elif self.ready and self.speller is not None and commits > self.commits:
            _add(self.speller.vocabulary, difference)
            gone = {s for s, n in difference.items() if n < 0 and not self.speller.vocabulary.frequency(s)}
            if gone and any(root in gone for _, root in self.saved):
                self.written = -1  # corrections to a word that is gone are to leave the table

    def spoil(self) -> None:
        self.ready, self.stale = False, True
        self.waiting.clear()


class Spellers:
    """All scopes' spellers. `leaving` and `applied` are called by whoever holds the write lock; reads by any thread.

    Args:
        lexical: the lexical index that is in use, and whether it has all that was written; does not wait for a
            writer, and raises `IndexUnavailable` where there is no index.
        write_lock: the store's. Taken to write what was learned: SQLite fails a writer that another one overtakes.
        threshold, learned_max: as for `Speller`.
        flush_s: seconds between a use and the writing of what was learned.
        small: memories up to which a scope's first use waits for its vocabulary.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        lexical: Callable[[], tuple[WordIndex, bool]],
        write_lock: Lock,
        threshold: float = THRESHOLD,
        learned_max: int = LEARNED_MAX,
        flush_s: float = FLUSH_S,
        small: int = SMALL,
    ) -> None:
        self._engine = engine
        self._lexical = lexical
        self._write_lock = write_lock  # taken before `_lock`
        self._threshold, self._learned_max = threshold, learned_max
        self._flush_s = flush_s
        self._small = small
        # Reentrant: the store may be collected, and so closed, by a thread of ours that holds it.
        self._lock = threading.RLock()
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._leaving: dict[int, frozenset[str]] = {}  # num -> stems, of memories that the write under way removes
        self._validate: Validate | None = None
        self._submit: Submit | None = None
        self._turn = threading.Lock()  # builds in the background follow each other
        self._words: Future[None] | None = None
        self._closing = threading.Event()
        self._hurry = threading.Event()  # somebody waits for the English words
        self._looking = self._flushing = False
        self._failed: set[int] = set()

    # -- reading ---------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start to read the English words, some 80 ms once in a process."""
        with self._lock:
            if self._words is not None or self._closing.is_set():
                return
            words = self._words = Future()
        if lexicon.cache_info().currsize or not _start(self._read_words_later, words):
            _read_words(words)

    def _read_words_later(self, words: Future[None]) -> None:
        self._hurry.wait(LATER_S)
        _read_words(words)

    def of(
        self, scope_id: int, *, wait: bool = False, validate: Validate | None = None, submit: Submit | None = None
    ) -> Speller | None:
        """The scope's speller, or `None` while it is being built (and after `close`).

        Scopes of up to `small` memories are built at once, and so never answer `None` while the lexical index works.

        Args:
            wait: build a scope of any size at once.
            validate: who is asked about new corrections of any scope from now on. `None` changes nothing.
            submit: where that runs.

        Raises:
            IndexUnavailable, OSError: the index or the package's English words cannot be read; only with `wait`.
                Without it, the answer is `None`, and a warning is logged once.
        """
        with self._lock:
            if self._closing.is_set():
                return None
            if validate is not None:
                self._validate, self._submit = validate, submit
            kept = self._kept.setdefault(scope_id, _Kept())
            self._kept.move_to_end(scope_id)
            kept.left = False
            self._evict()
            building, mine = kept.building, False
            if not kept.ready and building is None:
                building, mine = Future(), True
                kept.building, kept.stale = building, False
        if building is not None and not kept.ready and not self._built(scope_id, kept, building, mine=mine, wait=wait):
            return None
        speller = kept.speller
        if speller is not None:
            if self._validate is not None:
                speller.ask(self._validate, self._submit)
            self._look_later()
        return speller

    def _evict(self) -> None:
        """Let the least recently used scopes go that have nothing to write; called under the lock."""
        if len(self._kept) <= SCOPES_KEPT:
            return
        idle = (s for s, kept in self._kept.items() if kept.idle)
        newest = next(reversed(self._kept))
        for scope_id in list(islice(idle, len(self._kept) - SCOPES_KEPT)):
            if scope_id != newest:
                del self._kept[scope_id]

    def left(self, scope_id: int) -> None:
        """A scope's columns have left memory: so does this, at once or when it is built and written."""
        with self._lock:
            kept = self._kept.get(scope_id)
            if kept is not None:
                kept.left = True
                self._let_go()

    def _let_go(self) -> None:
        """Let scopes go whose columns have left memory, but what is not written yet; called under the lock."""
        for scope_id in [s for s, kept in self._kept.items() if kept.left and kept.idle]:
            del self._kept[scope_id]

    # -- building --------------------------------------------------------------------------------------------------

    def _built(self, scope_id: int, kept: _Kept, building: Future[None], *, mine: bool, wait: bool) -> bool:
        """Have the vocabulary built, or wait for whoever builds it; whether it is there."""
        try:
            at_once = wait or self._count(scope_id) <= self._small
        except BaseException as e:
            if mine:
                self._give_up(kept, building, e)
            raise
        if mine and at_once:
            self._build(scope_id, kept, building)
        elif mine and not _start(self._build_in_turn, scope_id, kept, building):
            self._give_up(kept, building, IndexUnavailable("The process can start no more threads."))
        if not at_once:
            return False
        error = building.exception()
        if error is not None and (wait or not isinstance(error, IndexUnavailable | OSError)):
            raise error
        if error is not None:
            self._note(scope_id, error)
        return error is None

    def _note(self, scope_id: int, error: BaseException) -> None:
        if scope_id not in self._failed and not self._closing.is_set():
            self._failed.add(scope_id)
            logger.warning("Typos are not corrected in scope %d: %s", scope_id, told(error))

    def _count(self, scope_id: int) -> int:
        s = schema.scopes
        with reading(self._engine) as connection:
            return int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar() or 0)

    def _build_in_turn(self, scope_id: int, kept: _Kept, building: Future[None]) -> None:
        with self._turn:
            self._closing.wait(LATER_S)
            self._build(scope_id, kept, building, pause=PAUSE_S)
        error = building.exception()
        if error is not None:
            self._note(scope_id, error)

    def _build(self, scope_id: int, kept: _Kept, building: Future[None], *, pause: float = 0.0) -> None:
        """Build until nothing has come between; the future says how it went."""
        try:
            self.prepare()
            if self._words is not None:
                if not pause:
                    self._hurry.set()
                self._words.result()
            while not self._attempt(scope_id, kept, pause):
                pass
        except BaseException as e:  # noqa: BLE001 - handed to whoever waits
            self._give_up(kept, building, e)
        else:
            building.set_result(None)

    def _give_up(self, kept: _Kept, building: Future[None], error: BaseException) -> None:
        with self._lock:
            kept.building = None
            kept.waiting.clear()
        building.set_exception(error)

    def _attempt(self, scope_id: int, kept: _Kept, pause: float) -> bool:
        with self._lock:
            kept.stale = False
            kept.waiting.clear()
            learned = self._load(scope_id) if kept.speller is None else {}
        index, whole = self._lexical()
        terms, commits = index.vocabulary(scope_id)
        vocabulary = Vocabulary()
        for start in range(0, len(terms), PART):
            vocabulary.update(terms[start : start + PART])
            if pause:  # else a recall beside it would wait some milliseconds each time that it wants to go on
                time.sleep(pause)
        with self._lock:
            if kept.stale:
                return False
            for at, difference in kept.waiting:
                if at > commits:
                    _add(vocabulary, difference)
            if kept.speller is None:
                kept.speller = StoredSpeller(
                    vocabulary, threshold=self._threshold, learned_max=self._learned_max, rows=learned.values()
                )
                kept.saved = learned
            else:
                kept.speller.vocabulary = vocabulary
            if kept.saved.keys() - _to_keep(kept.speller).keys():
                kept.written = -1
            # A writer has what is missing: the next one who asks builds it anew.
            kept.commits, kept.ready, kept.building = commits, whole, None
            kept.waiting.clear()
            self._failed.discard(scope_id)
            self._let_go()
        return True

    def _load(self, scope_id: int) -> Learned:
        if self._closing.is_set():  # the database may be gone
            raise IndexUnavailable("The store was closed while a vocabulary was being built.")
        with reading(self._engine) as connection:
            return corrections.read(connection, scope_id)

    # -- following the writes --------------------------------------------------------------------------------------

    def leaving(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Remember the words of memories that the caller's transaction is about to remove."""
        self._leaving = {}  # of an earlier transaction that failed
        with self._lock:
            if scope_id not in self._kept:
                return
        m = schema.memories
        for start in range(0, len(nums), schema.SQL_VARIABLES):
            part = nums[start : start + schema.SQL_VARIABLES]
            query = select(m.c.num, m.c.text, m.c.actor).where(m.c.scope_id == scope_id, m.c.num.in_(part))
            for num, text, actor in connection.execute(query):
                self._leaving[num] = frozenset(stems(indexed_text(text, actor), language_of(text)))

    def applied(self, changes: Iterable[Change] | None, commits: int) -> None:
        """Follow what the lexical index has applied as its commit number `commits`; `None`: it may be anything."""
        with self._lock:
            held = set(self._kept)
            if changes is None:
                for kept in self._kept.values():
                    kept.spoil()
                return
        differences: dict[int, Counter[str] | None] = {}
        for change in changes:
            if change.scope_id in held:
                difference = differences.setdefault(change.scope_id, Counter())
                if difference is not None and not self._tell(change, difference):
                    differences[change.scope_id] = None
        with self._lock:
            for scope_id, difference in differences.items():
                kept_now = self._kept.get(scope_id)
                if kept_now is not None and difference is None:
                    kept_now.spoil()
                elif kept_now is not None and difference is not None:
                    kept_now.take(commits, difference)

    def hold(self, scope_ids: Iterable[int]) -> bool:
        """Whether anything of one of these scopes is in memory."""
        with self._lock:
            return not self._kept.keys().isdisjoint(scope_ids)

    def forget(self, scope_id: int | None = None) -> None:
        """Forget what is in memory of a scope, or of all, and what it has learned since it was last written."""
        with self._lock:
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

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

    # -- what was learned ------------------------------------------------------------------------------------------

    def _look_later(self) -> None:
        with self._lock:
            if self._looking or self._closing.is_set():
                return
            self._looking = _start(self._look)

    def _look(self) -> None:
        self._closing.wait(self._flush_s)
        with self._lock:
            self._looking = False  # before writing: what is learned from here on is for the next one
        self.flush()

    def flush(self) -> int:
        """Write what was learned since the last time, and return the number of rows that changed in the table.

        What cannot be written is logged and tried again next time.
        """
        with self._lock:
            self._let_go()  # among others those that a model was asked about
            if not any(kept.changed for kept in self._kept.values()):
                return 0
        try:
            with self._write_lock:
                return 0 if self._closing.is_set() else self._write()
        except StoreClosed:
            return 0
        except (RecallError, SQLAlchemyError, OSError) as e:  # the lock itself could not be had
            logger.warning("Learned corrections could not be written: %s", told(e))
            return 0

    def _write(self) -> int:
        if self._flushing:  # this thread, while a collection closes the store
            return 0
        self._flushing = True
        try:
            return self._write_changed()
        except (SQLAlchemyError, OSError) as e:
            logger.warning("Learned corrections could not be written: %s", told(e))
            return 0
        finally:
            self._flushing = False

    def _write_changed(self) -> int:
        with self._lock:
            changed = [(scope_id, kept, kept.speller) for scope_id, kept in self._kept.items() if kept.changed]
        written: list[tuple[_Kept, int, Learned]] = []
        count = 0
        with self._engine.begin() as connection:
            for scope_id, kept, speller in changed:
                assert speller is not None
                moved = speller.changes  # before the rows: what comes between is written again
                rows = _to_keep(speller)
                there = corrections.read(connection, scope_id)  # another process may have learned as well
                count += corrections.write(
                    connection, scope_id, there, {**_of_others(there, kept.saved, speller), **rows}
                )
                written.append((kept, moved, rows))
        with self._lock:
            for kept, moved, rows in written:
                kept.saved, kept.written = rows, moved
            self._let_go()
        return count

    def close(self) -> None:
        """Write what was learned and answer nothing from now on. Closing twice is harmless."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
        try:
            if any(kept.changed for kept in self._kept.values()) and self._write_lock.acquire(timeout=CLOSE_S):
                try:
                    self._write()
                finally:
                    self._write_lock.release()
        except (RecallError, SQLAlchemyError, OSError) as e:  # the database is away, and the store is to be let go
            logger.warning("What was learned of spelling could not be written: %s", told(e))


def _of_others(there: Learned, saved: Learned, speller: Speller) -> Learned:
    """Rows that another process has written, to words that a memory still holds."""
    new = (row for pair, row in there.items() if saved.get(pair) != row)
    return corrections.by_pair(row for row in new if speller.vocabulary.frequency(row.stem))


def _to_keep(speller: Speller) -> Learned:
    """Learned corrections to words that a memory still holds: the others would outlive what was forgotten."""
    return corrections.by_pair(row for row in speller.rows() if speller.vocabulary.frequency(row.stem))


def _add(vocabulary: Vocabulary, difference: Counter[str]) -> None:
    vocabulary.update((s, max(0, vocabulary.frequency(s) + n)) for s, n in difference.items() if n)


def _must_start(submit: Submit, task: Callable[[], None]) -> None:
    """Raise what a pool answers that is busy: the speller counts questions under way, and would wait for this one."""
    started = submit(task)
    if isinstance(started, Future) and started.done() and (error := started.exception()) is not None:
        raise error


def _start(run: Callable[..., None], *arguments: Any) -> bool:
    """Run in a daemon thread; false if the process can start none."""
    try:
        threading.Thread(target=run, args=arguments, name="recall-spelling", daemon=True).start()
    except RuntimeError:
        return False
    return True


def _read_words(words: Future[None]) -> None:
    try:
        lexicon()
        Vocabulary([("warm", 1)])  # reads their stems
        words.set_result(None)
    except BaseException as e:  # noqa: BLE001 - handed to whoever waits
        words.set_exception(e)
