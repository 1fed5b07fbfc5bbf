"""Growing buffers behind the columns of a scope's texts, which snapshots share: an append costs what was added.

Rows at the end of their thread are linked in place: an older snapshot takes a link beyond its end for none. Any other
change copies the links once, and sorts the threads that it touches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import Names, Scratch, held, roomier
from recall_integrations.indexes.array_file import grown as in_memory
from recall_integrations.indexes.columns import (
    ROLES,
    Postings,
    Rows,
    TextColumns,
    first_to_read,
    postings_of,
)
from recall_integrations.indexes.kind import KindCounter
from recall_integrations.indexes.lexicon import Ids, Lexicon
from recall_integrations.records import record
from recall_integrations.text import content
from recall_integrations.types.roles import NO_ROLE, ROLE_CODES, Role, role_of

_SHOWN = ("lengths", "threads", "before", "after", "actors", "roles", "questions", "alive")  # with a value for each row
_PER_ROW = ("nums", "positions", *_SHOWN)
_SHARED = ("lexicon", "thread_names", "actor_names", "actor_words", "role_actors", "postings")  # which snapshots share


@record(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Many memories as input of `ColumnsBuilder.extend`: the fields of `TextRow`, each as a sequence."""

    nums: Sequence[int]  # rising over all rows of a scope
    words: Ids  # ids of the content words of all of them, one memory after the other
    counts: Sequence[int]  # how many of `words` belong to each, at most `WORDS_MAX`
    lengths: Sequence[int]  # content words of each, however many are given
    asks: Sequence[bool | int]  # whether the text is a question
    actors: Sequence[str | None]  # with `threads`: names, `None` = none
    roles: Sequence[str | None]  # names of roles; `None` = that of the actor's name, if it is the spelling of one
    threads: Sequence[str | None]
    positions: Sequence[int | None]  # places in the thread
    # bool, beside `words`: whether the word's sentence asks; `None` = no word's does
    asked: NDArray[np.bool_] | None = None
    # ids of the words that BM25 reads besides, one memory after the other; `None` = there are none
    more: Ids | None = None
    more_counts: Sequence[int] | None = None  # how many of `more` belong to each


class ColumnsBuilder:
    """Growing buffers behind the snapshots of one scope. The caller locks out other threads; snapshots need no lock."""

    def __init__(self, lexicon: Lexicon, capacity: int = 64, scratch: Scratch | None = None) -> None:
        capacity = max(64, capacity)
        self.lexicon = lexicon
        self.scratch = scratch = Scratch() if scratch is None else scratch
        self.n = 0
        self.nums = np.empty(capacity, dtype=np.int64)
        self.starts: Rows = scratch.empty(capacity + 1, np.int64)
        self.words: Ids = scratch.empty(16 * capacity, np.int32)
        self.asked: NDArray[np.bool_] = scratch.empty(16 * capacity, np.bool_)
        self.more_starts: Rows = scratch.empty(capacity + 1, np.int64)
        self.more: Ids = scratch.empty(2 * capacity, np.int32)
        self.starts[0] = self.more_starts[0] = 0
        self.postings: tuple[Postings, ...] = ()
        self.kinds = KindCounter()
        self.lengths = np.empty(capacity, dtype=np.int32)
        self.threads = np.empty(capacity, dtype=np.int32)
        self.positions = np.empty(capacity, dtype=np.int64)
        self.before = np.empty(capacity, dtype=np.int64)
        self.after = np.empty(capacity, dtype=np.int64)
        self.actors = np.empty(capacity, dtype=np.int32)
        self.roles = np.empty(capacity, dtype=np.int8)
        self.questions = np.empty(capacity, dtype=np.bool_)
        self.alive = np.empty(capacity, dtype=np.bool_)
        self.thread_codes: dict[str, int] | None = {}  # `None` = read from a file, and not needed so far
        self.thread_names: list[str] | Names = []
        self.tails: list[int] = []  # last living row of each thread, -1 = none; likewise
        self.actor_codes: dict[str, int] = {}
        self.actor_names: list[str] = []
        self.actor_words: dict[int, tuple[int, ...]] = {}
        self.named_roles: list[int] = []  # of each actor, by its name
        self.role_actors: dict[int, tuple[int, ...]] = {}
        self.stems_of_actor: list[list[int]] = []
        self.spoke: dict[int, int] = {}  # living rows of an actor in a role

    @property
    def bytes(self) -> int:
        """Bytes of memory that the buffers need, without mapped arrays that are read here and there."""
        apart = (self.starts, self.words, self.asked, self.more_starts, self.more)
        return int(
            sum(held(array) for array in apart)
            + sum(part.bytes for part in self.postings)
            + sum(getattr(self, name).nbytes for name in _PER_ROW)
        )

    def extend(self, block: TextBlock) -> None:
        """Add a block of memories, rising by `num` and above all present ones."""
        if not len(block.nums):
            return
        self._know_threads()
        first, end = self.n, self.n + len(block.nums)
        begin = int(self.starts[first])
        more_begin = int(self.more_starts[first])
        more = np.empty(0, dtype=np.int32) if block.more is None else block.more
        self._reserve(end, begin + len(block.words), more_begin + len(more))
        part = slice(first, end)
        self.nums[part] = block.nums
        self.lengths[part] = block.lengths
        self.starts[first + 1 : end + 1] = np.cumsum(block.counts) + begin
        self.words[begin : begin + len(block.words)] = block.words
        self.asked[begin : begin + len(block.words)] = False if block.asked is None else block.asked
        more_counts = np.zeros(end - first, dtype=np.int64) if block.more_counts is None else block.more_counts
        self.more_starts[first + 1 : end + 1] = np.cumsum(more_counts) + more_begin
        self.more[more_begin : more_begin + len(more)] = more
        self.questions[part] = block.asks
        self.threads[part] = [self._thread(name) for name in block.threads]
        self.positions[part] = [place or 0 for place in block.positions]
        self.actors[part] = [self._actor(name) for name in block.actors]
        self.roles[part] = self._roles_of(self.actors[part], block.roles)
        self.alive[part] = True
        self.before[part] = -1
        self.after[part] = -1
        self.n = end
        self._count_speakers(np.arange(first, end), 1)
        self.kinds.add(*self._kind_columns(np.arange(first, end)))
        self._link(np.arange(first, end))
        self.lexicon.prepare()

    def kill(self, nums: Sequence[int] | NDArray[np.int64]) -> None:
        """Mark memories as dead and take them out of their threads. Numbers that are not here are skipped."""
        wanted = np.asarray(nums, dtype=np.int64)
        rows = np.searchsorted(self.nums[: self.n], wanted)
        rows = np.unique(rows[(rows < self.n)])
        rows = rows[np.isin(self.nums[rows], wanted) & self.alive[rows]]
        if not len(rows):
            return
        self._know_threads()
        self.kinds.remove(*self._kind_columns(rows))
        self._count_speakers(rows, -1)
        self.alive = self.alive.copy()
        self.alive[rows] = False
        self._copy_links()
        for row in rows.tolist():
            before, after = int(self.before[row]), int(self.after[row])
            if before >= 0:
                self.after[before] = after
            if after >= 0:
                self.before[after] = before
            elif (code := int(self.threads[row])) >= 0:
                self.tails[code] = before
            self.before[row] = self.after[row] = -1

    def snapshot(self) -> TextColumns:
        """Return the columns as they are now; later changes do not show in them."""
        n, words = self.n, int(self.starts[self.n])
        self._post()
        shared: dict[str, Any] = {name: getattr(self, name) for name in _SHARED}
        rows: dict[str, Any] = {name: getattr(self, name)[:n] for name in _SHOWN}
        return TextColumns(
            starts=self.starts[: n + 1],
            words=self.words[:words],
            asked=self.asked[:words],
            kind=self.kinds.kind(),
            **shared,
            **rows,
        )

    def _post(self) -> None:
        """Bring the postings up to date."""
        kept, first = first_to_read(self.postings, self.n)
        if first == self.n:
            return
        occurrences = []
        for starts, words in ((self.starts, self.words), (self.more_starts, self.more)):
            begin, end = int(starts[first]), int(starts[self.n])
            rows = np.repeat(np.arange(first, self.n), np.diff(starts[first : self.n + 1]))
            occurrences.append((self.lexicon.stems[words[begin:end]], rows))
        self.postings = (*kept, postings_of(first, self.n, occurrences).moved(self.scratch))

    def _kind_columns(self, rows: Rows) -> tuple[NDArray[np.int32], ...]:
        return self.threads[rows], self.actors[rows], self.roles[rows].astype(np.int32), self.lengths[rows]

    def _know_threads(self) -> None:
        """Compute thread codes and last rows of columns read from a file, before their first change."""
        if self.thread_codes is not None:
            return
        ends = np.flatnonzero((self.after[: self.n] < 0) & (self.threads[: self.n] >= 0))
        tails = np.full(len(self.thread_names), -1, dtype=np.int64)
        tails[self.threads[ends]] = ends
        self.tails = tails.tolist()
        self.thread_codes = {name: code for code, name in enumerate(self.thread_names)}

    def _thread(self, name: str | None) -> int:
        if name is None:
            return -1
        assert self.thread_codes is not None
        code = self.thread_codes.setdefault(name, len(self.thread_codes))
        if code == len(self.tails):
            self.tails.append(-1)
            self.thread_names.append(name)
        return code

    def _actor(self, name: str | None) -> int:
        if name is None:
            return -1
        code = self.actor_codes.get(name)
        if code is None:
            code = len(self.actor_names)
            # A name is no text of a language; one in another script has its endings all the same.
            words = content(name, None) if name.isascii() else content(name)
            ids = self.lexicon.ids_of(words)
            stems = self.lexicon.stems
            self.actor_names.append(name)
            self.stems_of_actor.append(sorted(set(stems[ids].tolist())))
            self.named_roles.append(ROLE_CODES[role_of(name)])
            self.actor_codes[name] = code
        return code

    def _roles_of(self, actors: NDArray[np.int32], given: Sequence[str | None]) -> NDArray[np.int8]:
        """Return the role codes of new rows."""
        codes = np.asarray([*self.named_roles, NO_ROLE], dtype=np.int8)[actors]  # the last is that of -1, no actor
        for i, role in enumerate(given):
            if role is not None:
                codes[i] = ROLE_CODES[Role(role)]
        return codes

    def _count_speakers(self, rows: Rows, sign: int) -> None:
        """Update which actors speak in living rows and in which roles, as if forgotten rows had never been."""
        spoken = rows[self.actors[rows] >= 0]
        pairs = self.actors[spoken].astype(np.int64) * ROLES + self.roles[spoken]
        came, went = [], []
        for pair, count in zip(*(part.tolist() for part in np.unique(pairs, return_counts=True)), strict=True):
            before = self.spoke.pop(pair, 0)
            if after := before + sign * count:
                self.spoke[pair] = after
            came += [pair] * (not before)
            went += [pair] * (not after)
        if went:  # older snapshots keep theirs
            self.role_actors, self.actor_words = dict(self.role_actors), dict(self.actor_words)
        for pair in came:
            actor, role = divmod(pair, ROLES)
            if role != NO_ROLE:
                self.role_actors[role] = _with(self.role_actors.get(role, ()), actor)
            for number in self.stems_of_actor[actor]:
                self.actor_words[number] = _with(self.actor_words.get(number, ()), actor)
        for pair in went:
            actor, role = divmod(pair, ROLES)
            _without(self.role_actors, role, actor)
            if not any(actor * ROLES + other in self.spoke for other in range(ROLES)):
                for number in self.stems_of_actor[actor]:
                    _without(self.actor_words, number, actor)

    def _link(self, rows: Rows) -> None:
        """Insert new rows into the order of their threads."""
        rows = rows[self.threads[rows] >= 0]
        if not len(rows):
            return
        rows = self._sorted(rows)
        codes = self.threads[rows]
        heads = np.flatnonzero(np.diff(codes, prepend=-1))
        tails = np.asarray(self.tails, dtype=np.int64)[codes[heads]]
        # Equal positions are ordered by num, and new rows have the higher ones.
        late = (tails < 0) | (self.positions[rows[heads]] >= self.positions[tails])
        amid = codes[heads[~late]]
        if len(amid):
            self._copy_links()
            there = np.flatnonzero(np.isin(self.threads[: self.n], amid) & self.alive[: self.n])
            rows = self._sorted(np.concatenate([rows[~np.isin(codes, amid)], there]))
            codes = self.threads[rows]
            heads = np.flatnonzero(np.diff(codes, prepend=-1))
            tails = np.asarray(self.tails, dtype=np.int64)[codes[heads]]
            tails[np.isin(codes[heads], amid)] = -1
        previous = np.concatenate([[-1], rows[:-1]])
        previous[heads] = tails
        following = np.concatenate([rows[1:], [-1]])
        ends = np.concatenate([heads[1:], [len(rows)]]) - 1
        following[ends] = -1
        self.before[rows] = previous
        self.after[rows] = following
        joined = tails >= 0
        self.after[tails[joined]] = rows[heads[joined]]
        for code, row in zip(codes[ends].tolist(), rows[ends].tolist(), strict=True):
            self.tails[code] = row

    def _sorted(self, rows: Rows) -> Rows:
        """Sort rows by thread, position and row; row and number rise together."""
        order: Rows = rows[np.lexsort((rows, self.positions[rows], self.threads[rows]))]
        return order

    def _copy_links(self) -> None:
        self.before, self.after = self.before.copy(), self.after.copy()

    def _reserve(self, rows: int, words: int, more: int) -> None:
        grown = self.scratch.grown
        if more > len(self.more):
            self.more = grown(self.more, int(self.more_starts[self.n]), max(more, roomier(len(self.more))))
        if words > len(self.words):
            used, size = int(self.starts[self.n]), max(words, roomier(len(self.words)))
            self.words, self.asked = grown(self.words, used, size), grown(self.asked, used, size)
        if rows <= len(self.nums):
            return
        size = max(rows, roomier(len(self.nums)))
        self.starts = grown(self.starts, self.n + 1, size + 1)
        self.more_starts = grown(self.more_starts, self.n + 1, size + 1)
        for name in _PER_ROW:
            setattr(self, name, in_memory(getattr(self, name), self.n, size))


def _with(codes: tuple[int, ...], code: int) -> tuple[int, ...]:
    at = bisect_left(codes, code)  # nearly always at the end
    return codes if codes[at : at + 1] == (code,) else (*codes[:at], code, *codes[at:])


def _without(table: dict[int, tuple[int, ...]], key: int, code: int) -> None:
    kept = tuple(other for other in table.pop(key, ()) if other != code)
    if kept:
        table[key] = kept
