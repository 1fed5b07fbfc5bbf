"""What ranking knows of a scope's texts, as columns: words, threads and their order, actors, questions.

`TextColumns` is an immutable snapshot beside a `ScopeView`: row `i` is row `i` of the view. `ColumnsBuilder` holds the
growing buffers behind the snapshots, which share them: an append costs what was added.

**Order in a thread.** `before` and `after` are a linked list by `(position, num)`. Rows that come at the end of their
thread (nearly all) are linked to its last row in place: an older snapshot sees a link to a row that it does not have
and takes it for none. A row that belongs further up, and one that is forgotten, changes links that older snapshots
use: then the two link columns are copied once for the whole write, and only the threads it touches are sorted again.

**Which words.** The content words of the text; the actor's name is left out, since it would give a word of every
memory the same weight as what was said. Who spoke is the column `actors`. BM25 reads the name as well, and all of a
very long text: `postings` has both.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes import postings
from recall_integrations.indexes.kind import Kind, KindCounter
from recall_integrations.indexes.lexicon import Ids, Lexicon, content_words, grown
from recall_integrations.indexes.postings import Counts, Postings
from recall_integrations.text import language_of, length_in_words
from recall_integrations.types.roles import NO_ROLE, ROLE_CODES, Role, role_of

Rows = NDArray[np.int64]
_ROLES = len(ROLE_CODES)
_UNIT = 1 << 32
WORDS_MAX = 2_048  # content words kept of one memory; the length is counted in full
_QUESTION = re.compile(r"[?？؟]")
_SENTENCE_END = re.compile(r"(?:[.!?？؟。！]+(?=[\s\"'”’)\]]|$)|[？。！]|\n)+")


def is_question(text: str) -> bool:
    """Whether the text asks something: it holds a question mark."""
    return _QUESTION.search(text) is not None


def asked_words(text: str, words_of: Callable[[str, str | None], list[str]] = content_words) -> list[bool]:
    """For each content word of `text` whether it stands in a sentence that asks something.

    A text tells and asks: "I moved to Lisbon. Have you been there?" A sentence ends with a line, and with `.`, `!` or
    `?` before a space: "Dr. Miller" ends one, "v1.2" and "example.org/?q" do not.
    """
    language = language_of(text)  # of the whole: a sentence alone may not tell, and its words would be others
    flags: list[bool] = []
    begin = 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        stop = len(text) if end is None else end.end()
        asks = end is not None and is_question(end.group())
        flags.extend([asks] * len(words_of(text[begin:stop], language)))
        begin = stop
    return flags


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumns:
    """Columns of one scope.

    Args:
        lexicon: what the word ids mean.
        starts: int64 `(n + 1,)`; words of row `i` are `words[starts[i]:starts[i + 1]]`.
        words: int32, word ids of the texts in order, stop words left out, at most `WORDS_MAX` of a memory.
        lengths: int32 `(n,)`: content words of the text, however many are kept.
        threads: int32 `(n,)`: code of the thread, -1 = none.
        thread_names: shared list: what the codes stand for.
        before, after: int64 `(n,)`: row of the previous and next living memory of the thread, by position; -1 = none.
        actors: int32 `(n,)`: index into `actor_names`, -1 = none.
        actor_names: shared list, the first so many belong to the snapshot.
        actor_words: stem number → codes of the actors whose name holds it, of those that a living row has.
        roles: int8 `(n,)`: role in a conversation with an assistant, as in `ROLE_CODES`; 0 = none. As given, or
            else that of the actor's name.
        role_actors: code of a role → codes of the actors that have it in some living row.
        questions: bool `(n,)`: whether the text asks something.
        asked: bool, beside `words`: whether the word stands in a sentence that asks.
        alive: bool `(n,)`: false of what was forgotten.
        kind: what the scope is made of.
        mean_log_length: mean of `ln(1 + length)` over all living rows.
        postings: which rows hold a stem, those that were forgotten included.
    """

    lexicon: Lexicon
    starts: Rows
    words: Ids
    lengths: NDArray[np.int32]
    threads: NDArray[np.int32]
    thread_names: Sequence[str]
    before: Rows
    after: Rows
    actors: NDArray[np.int32]
    actor_names: Sequence[str]
    actor_words: Mapping[int, Sequence[int]]
    roles: NDArray[np.int8]
    role_actors: Mapping[int, Sequence[int]]
    questions: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    kind: Kind
    mean_log_length: float
    postings: Sequence[Postings] = ()

    @property
    def size(self) -> int:
        """Rows, dead ones included."""
        return len(self.lengths)

    def holding(self, term: str) -> tuple[Rows, Counts]:
        """Living rows whose actor's name and text hold a stem, rising, and how often they do."""
        number = self.lexicon.stem_of(term)
        found = [part.of(number) for part in self.postings if number >= 0]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        rows = np.concatenate([rows for rows, _ in found])
        kept = self.alive[rows]
        return rows[kept].astype(np.int64), np.concatenate([counts for _, counts in found])[kept]

    def frequency(self, term: str) -> int:
        """How many living memories hold a stem."""
        return len(self.holding(term)[0])

    def held(self, rows: Iterable[int], terms: Sequence[str]) -> list[set[str]]:
        """For each row, those of the stems `terms` that its text holds, among the words that are kept of it."""
        numbers = {number: term for term in terms if (number := self.lexicon.stem_of(term)) >= 0}
        stems, starts = self.lexicon.stems, self.starts
        return [
            {numbers[n] for n in stems[self.words[starts[row] : starts[row + 1]]].tolist() if n in numbers}
            for row in rows
        ]

    def speakers(self, role: Role) -> list[str]:
        """Names of the actors that have this role."""
        return [self.actor_names[code] for code in self.role_actors.get(ROLE_CODES[role], ())]

    def previous(self, rows: Rows) -> Rows:
        """Row before each of `rows` in its thread; -1 for none, and for a -1 in `rows`."""
        return self._step(self.before, rows)

    def following(self, rows: Rows) -> Rows:
        """Row after each of `rows` in its thread; -1 for none, and for a -1 in `rows`."""
        return self._step(self.after, rows)

    def _step(self, links: Rows, rows: Rows) -> Rows:
        if not self.size:
            return np.full(len(rows), -1, dtype=np.int64)
        found = np.where(rows >= 0, links[rows], -1)
        # A link beyond the end leads to a memory that was added after this snapshot.
        return np.where(found < self.size, found, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A memory as `ColumnsBuilder` takes it.

    Args:
        num: the memory's number in the store; rising over all rows of a scope.
        words: ids of its content words, or `None` to have `text` cut into words.
        text: without the actor in front. May be empty where `words` is given.
        asks: whether the text is a question; `None` = look at `text`.
        asked: for each word whether its sentence asks; `None` = look at `text`.
        length: content words, where `words` holds only a part of them.
        more: ids of the words that BM25 reads besides, or `None` to have them cut: those of the actor's name, and those
            of the text that are too many to be kept.
        actor, thread: names, `None` = none.
        role: a role's name; `None` = that of the actor's name, if it is the spelling of one.
        position: place in the thread; without meaning where there is no thread.
    """

    num: int
    text: str = ""
    words: Ids | None = None
    asks: bool | None = None
    asked: Sequence[bool] | None = None
    length: int | None = None
    more: Ids | None = None
    actor: str | None = None
    role: str | None = None
    thread: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Many memories as `ColumnsBuilder.extend` takes them: the fields of `TextRow`, each as a sequence.

    Args:
        nums: rising over all rows of a scope.
        words: ids of the content words of all of them, one memory after the other.
        counts: how many of `words` belong to each, at most `WORDS_MAX`.
        lengths: content words of each, however many are given.
        asks: whether the text is a question.
        actors, threads: names, `None` = none.
        roles: names of roles; `None` = that of the actor's name, if it is the spelling of one.
        positions: places in the thread.
        asked: bool, beside `words`: whether the word's sentence asks; `None` = no word's does.
        more: ids of the words that BM25 reads besides, one memory after the other; `None` = there are none.
        more_counts: how many of `more` belong to each.
    """

    nums: Sequence[int]
    words: Ids
    counts: Sequence[int]
    lengths: Sequence[int]
    asks: Sequence[bool | int]
    actors: Sequence[str | None]
    roles: Sequence[str | None]
    threads: Sequence[str | None]
    positions: Sequence[int | None]
    asked: NDArray[np.bool_] | None = None
    more: Ids | None = None
    more_counts: Sequence[int] | None = None


class ColumnsBuilder:
    """Growing buffers behind the snapshots of one scope. The caller keeps threads out of it; snapshots are free.

    Args:
        lexicon: gives word ids.
        capacity: rows expected.
    """

    def __init__(self, lexicon: Lexicon, capacity: int = 64) -> None:
        capacity = max(64, capacity)
        self._lexicon = lexicon
        self.n = 0
        self._log_length = 0  # in parts of `_UNIT`: a sum that does not depend on the order
        self._living = 0
        self._nums = np.empty(capacity, dtype=np.int64)
        self._starts: Rows = np.zeros(capacity + 1, dtype=np.int64)
        self._words: Ids = np.empty(16 * capacity, dtype=np.int32)
        self._asked = np.empty(16 * capacity, dtype=np.bool_)
        self._more_starts: Rows = np.zeros(capacity + 1, dtype=np.int64)
        self._more: Ids = np.empty(2 * capacity, dtype=np.int32)
        self._postings: tuple[Postings, ...] = ()
        self._kinds = KindCounter()
        self._lengths = np.empty(capacity, dtype=np.int32)
        self._threads = np.empty(capacity, dtype=np.int32)
        self._positions = np.empty(capacity, dtype=np.int64)
        self._before = np.empty(capacity, dtype=np.int64)
        self._after = np.empty(capacity, dtype=np.int64)
        self._actors = np.empty(capacity, dtype=np.int32)
        self._roles = np.empty(capacity, dtype=np.int8)
        self._questions = np.empty(capacity, dtype=np.bool_)
        self._alive = np.empty(capacity, dtype=np.bool_)
        self._thread_codes: dict[str, int] = {}
        self._thread_names: list[str] = []
        self._tails: list[int] = []  # last living row of each thread, -1 = none
        self._actor_codes: dict[str, int] = {}
        self._actor_names: list[str] = []
        self._actor_words: dict[int, tuple[int, ...]] = {}
        self._named_roles: list[int] = []  # of each actor, by its name
        self._role_actors: dict[int, tuple[int, ...]] = {}
        self._stems_of_actor: list[list[int]] = []
        self._spoke: dict[int, int] = {}  # living rows of an actor in a role

    @property
    def bytes(self) -> int:
        """Memory held by the buffers."""
        return int(
            self._starts.nbytes
            + self._words.nbytes
            + self._asked.nbytes
            + self._more_starts.nbytes
            + self._more.nbytes
            + sum(part.bytes for part in self._postings)
            + sum(getattr(self, name).nbytes for name in _PER_ROW)
        )

    def append(self, rows: Iterable[TextRow]) -> None:
        """Add memories, rising by `num` and above all that are there."""
        added = list(rows)
        if not added:
            return
        lists = self._word_lists(added)
        others = [self._others(row, ids) for row, ids in zip(added, lists, strict=True)]
        self.extend(
            TextBlock(
                nums=[row.num for row in added],
                words=np.concatenate([ids[:WORDS_MAX] for ids in lists]),
                counts=[min(len(ids), WORDS_MAX) for ids in lists],
                lengths=[
                    self._length(row.text, ids) if row.length is None else row.length
                    for row, ids in zip(added, lists, strict=True)
                ],
                asks=[is_question(row.text) if row.asks is None else row.asks for row in added],
                actors=[row.actor for row in added],
                roles=[row.role for row in added],
                threads=[row.thread for row in added],
                positions=[row.position for row in added],
                asked=np.concatenate([_asked(row, len(ids)) for row, ids in zip(added, lists, strict=True)]),
                more=np.concatenate(others),
                more_counts=[len(ids) for ids in others],
            )
        )

    def extend(self, block: TextBlock) -> None:
        """Add memories, rising by `num` and above all that are there."""
        if not len(block.nums):
            return
        first, end = self.n, self.n + len(block.nums)
        begin = int(self._starts[first])
        more_begin = int(self._more_starts[first])
        more = np.empty(0, dtype=np.int32) if block.more is None else block.more
        self._reserve(end, begin + len(block.words), more_begin + len(more))
        part = slice(first, end)
        self._nums[part] = block.nums
        self._lengths[part] = block.lengths
        self._starts[first + 1 : end + 1] = np.cumsum(block.counts) + begin
        self._words[begin : begin + len(block.words)] = block.words
        self._asked[begin : begin + len(block.words)] = False if block.asked is None else block.asked
        more_counts = np.zeros(end - first, dtype=np.int64) if block.more_counts is None else block.more_counts
        self._more_starts[first + 1 : end + 1] = np.cumsum(more_counts) + more_begin
        self._more[more_begin : more_begin + len(more)] = more
        self._questions[part] = block.asks
        self._threads[part] = [self._thread(name) for name in block.threads]
        self._positions[part] = [place or 0 for place in block.positions]
        self._actors[part] = [self._actor(name) for name in block.actors]
        self._roles[part] = self._roles_of(self._actors[part], block.roles)
        self._alive[part] = True
        self._before[part] = -1
        self._after[part] = -1
        self.n = end
        self._count(np.arange(first, end), 1)
        self._count_speakers(np.arange(first, end), 1)
        self._kinds.add(*self._kind_columns(np.arange(first, end)))
        self._link(np.arange(first, end))
        self._lexicon.prepare()

    def kill(self, nums: Sequence[int] | NDArray[np.int64]) -> None:
        """Take memories out of their threads. Numbers that are not here are passed over."""
        wanted = np.asarray(nums, dtype=np.int64)
        rows = np.searchsorted(self._nums[: self.n], wanted)
        rows = np.unique(rows[(rows < self.n)])
        rows = rows[np.isin(self._nums[rows], wanted) & self._alive[rows]]
        if not len(rows):
            return
        self._kinds.remove(*self._kind_columns(rows))
        self._count(rows, -1)
        self._count_speakers(rows, -1)
        self._alive = self._alive.copy()
        self._alive[rows] = False
        self._copy_links()
        for row in rows.tolist():
            before, after = int(self._before[row]), int(self._after[row])
            if before >= 0:
                self._after[before] = after
            if after >= 0:
                self._before[after] = before
            elif (code := int(self._threads[row])) >= 0:
                self._tails[code] = before
            self._before[row] = self._after[row] = -1

    def snapshot(self) -> TextColumns:
        """The columns as they are now; later changes do not show in it."""
        n = self.n
        self._post()
        return TextColumns(
            lexicon=self._lexicon,
            starts=self._starts[: n + 1],
            words=self._words[: int(self._starts[n])],
            lengths=self._lengths[:n],
            threads=self._threads[:n],
            thread_names=self._thread_names,
            before=self._before[:n],
            after=self._after[:n],
            actors=self._actors[:n],
            actor_names=self._actor_names,
            actor_words=self._actor_words,
            roles=self._roles[:n],
            role_actors=self._role_actors,
            questions=self._questions[:n],
            asked=self._asked[: int(self._starts[n])],
            alive=self._alive[:n],
            kind=self._kinds.kind(),
            mean_log_length=self._log_length / _UNIT / self._living if self._living else 0.0,
            postings=self._postings,
        )

    def _count(self, rows: Rows, sign: int) -> None:
        self._living += sign * len(rows)
        self._log_length += sign * int(np.rint(np.log1p(self._lengths[rows]) * _UNIT).sum())

    def _post(self) -> None:
        """Bring the postings up to date."""
        kept, first = postings.first_to_read(self._postings, self.n)
        if first == self.n:
            return
        occurrences = []
        for starts, words in ((self._starts, self._words), (self._more_starts, self._more)):
            begin, end = int(starts[first]), int(starts[self.n])
            rows = np.repeat(np.arange(first, self.n), np.diff(starts[first : self.n + 1]))
            occurrences.append((self._lexicon.stems[words[begin:end]], rows))
        self._postings = (*kept, postings.made(first, self.n, occurrences))

    def _kind_columns(self, rows: Rows) -> tuple[NDArray[np.int32], ...]:
        return self._threads[rows], self._actors[rows], self._roles[rows].astype(np.int32), self._lengths[rows]

    def _length(self, text: str, ids: Ids) -> int:
        """As `store.words` counts it."""
        return len(ids) if text.isascii() else length_in_words([self._lexicon.word(i) for i in ids.tolist()])

    def _others(self, row: TextRow, ids: Ids) -> Ids:
        """Ids of the words that BM25 reads besides, of a row whose words are all in `ids`."""
        if row.more is not None:
            return np.asarray(row.more, dtype=np.int32)
        name = [] if row.actor is None else content_words(row.actor, language_of(row.text))
        return np.concatenate([self._lexicon.ids_of(name), ids[WORDS_MAX:]])

    def _word_lists(self, added: Sequence[TextRow]) -> list[Ids]:
        """Word ids per row. New words enter the lexicon together."""
        texts = [content_words(row.text) if row.words is None else [] for row in added]
        fresh = self._lexicon.ids_of(chain.from_iterable(texts))
        ends = np.cumsum([len(words) for words in texts]).tolist()
        return [
            fresh[end - len(words) : end] if row.words is None else np.asarray(row.words, dtype=np.int32)
            for row, words, end in zip(added, texts, ends, strict=True)
        ]

    def _thread(self, name: str | None) -> int:
        if name is None:
            return -1
        code = self._thread_codes.setdefault(name, len(self._thread_codes))
        if code == len(self._tails):
            self._tails.append(-1)
            self._thread_names.append(name)
        return code

    def _actor(self, name: str | None) -> int:
        if name is None:
            return -1
        code = self._actor_codes.get(name)
        if code is None:
            code = len(self._actor_names)
            stems = self._lexicon.stems
            # A name is no text of a language; one in another script has its endings all the same.
            words = content_words(name, None) if name.isascii() else content_words(name)
            ids = self._lexicon.ids_of(words)
            stems = self._lexicon.stems
            self._actor_names.append(name)
            self._stems_of_actor.append(sorted(set(stems[ids].tolist())))
            self._named_roles.append(ROLE_CODES[role_of(name)])
            self._actor_codes[name] = code
        return code

    def _roles_of(self, actors: NDArray[np.int32], given: Sequence[str | None]) -> NDArray[np.int8]:
        """Codes of the roles of new rows."""
        codes = np.asarray([*self._named_roles, NO_ROLE], dtype=np.int8)[actors]  # the last is that of -1, no actor
        for i, role in enumerate(given):
            if role is not None:
                codes[i] = ROLE_CODES[Role(role)]
        return codes

    def _count_speakers(self, rows: Rows, sign: int) -> None:
        """Who speaks in some living row, and in which roles: as if those that are forgotten had never been."""
        spoken = rows[self._actors[rows] >= 0]
        pairs = self._actors[spoken].astype(np.int64) * _ROLES + self._roles[spoken]
        came, went = [], []
        for pair, count in zip(*(part.tolist() for part in np.unique(pairs, return_counts=True)), strict=True):
            before = self._spoke.pop(pair, 0)
            if after := before + sign * count:
                self._spoke[pair] = after
            came += [pair] * (not before)
            went += [pair] * (not after)
        if went:  # older snapshots keep theirs
            self._role_actors, self._actor_words = dict(self._role_actors), dict(self._actor_words)
        for pair in came:
            actor, role = divmod(pair, _ROLES)
            if role != NO_ROLE:
                self._role_actors[role] = _with(self._role_actors.get(role, ()), actor)
            for number in self._stems_of_actor[actor]:
                self._actor_words[number] = _with(self._actor_words.get(number, ()), actor)
        for pair in went:
            actor, role = divmod(pair, _ROLES)
            _without(self._role_actors, role, actor)
            if not any(actor * _ROLES + other in self._spoke for other in range(_ROLES)):
                for number in self._stems_of_actor[actor]:
                    _without(self._actor_words, number, actor)

    def _link(self, rows: Rows) -> None:
        """Put new rows into the order of their threads."""
        rows = rows[self._threads[rows] >= 0]
        if not len(rows):
            return
        rows = self._sorted(rows)
        codes = self._threads[rows]
        heads = np.flatnonzero(np.diff(codes, prepend=-1))
        tails = np.asarray(self._tails, dtype=np.int64)[codes[heads]]
        # Equal positions are ordered by num, and new rows have the higher ones.
        late = (tails < 0) | (self._positions[rows[heads]] >= self._positions[tails])
        amid = codes[heads[~late]]
        if len(amid):
            self._copy_links()
            there = np.flatnonzero(np.isin(self._threads[: self.n], amid) & self._alive[: self.n])
            rows = self._sorted(np.concatenate([rows[~np.isin(codes, amid)], there]))
            codes = self._threads[rows]
            heads = np.flatnonzero(np.diff(codes, prepend=-1))
            tails = np.asarray(self._tails, dtype=np.int64)[codes[heads]]
            tails[np.isin(codes[heads], amid)] = -1
        previous = np.concatenate([[-1], rows[:-1]])
        previous[heads] = tails
        following = np.concatenate([rows[1:], [-1]])
        ends = np.concatenate([heads[1:], [len(rows)]]) - 1
        following[ends] = -1
        self._before[rows] = previous
        self._after[rows] = following
        joined = tails >= 0
        self._after[tails[joined]] = rows[heads[joined]]
        for code, row in zip(codes[ends].tolist(), rows[ends].tolist(), strict=True):
            self._tails[code] = row

    def _sorted(self, rows: Rows) -> Rows:
        """By thread, position, row; a row's number and its place rise together."""
        order: Rows = rows[np.lexsort((rows, self._positions[rows], self._threads[rows]))]
        return order

    def _copy_links(self) -> None:
        self._before, self._after = self._before.copy(), self._after.copy()

    def _reserve(self, rows: int, words: int, more: int) -> None:
        if more > len(self._more):
            self._more = grown(self._more, int(self._more_starts[self.n]), max(more, 2 * len(self._more)))
        if words > len(self._words):
            used, size = int(self._starts[self.n]), max(words, 2 * len(self._words))
            self._words, self._asked = grown(self._words, used, size), grown(self._asked, used, size)
        if rows <= len(self._nums):
            return
        size = max(rows, 2 * len(self._nums))
        self._starts = grown(self._starts, self.n + 1, size + 1)
        self._more_starts = grown(self._more_starts, self.n + 1, size + 1)
        for name in _PER_ROW:
            setattr(self, name, grown(getattr(self, name), self.n, size))


def _asked(row: TextRow, count: int) -> NDArray[np.bool_]:
    """Which of the words that are kept stand in a sentence that asks."""
    flags = row.asked
    if flags is None:
        flags = asked_words(row.text) if row.words is None and is_question(row.text) else ()
    kept = np.zeros(min(count, WORDS_MAX), dtype=np.bool_)
    kept[: len(flags)] = np.asarray(flags[: len(kept)], dtype=np.bool_)
    return kept


def _with(codes: tuple[int, ...], code: int) -> tuple[int, ...]:
    at = bisect_left(codes, code)  # nearly always at the end
    return codes if codes[at : at + 1] == (code,) else (*codes[:at], code, *codes[at:])


def _without(table: dict[int, tuple[int, ...]], key: int, code: int) -> None:
    kept = tuple(other for other in table.pop(key, ()) if other != code)
    if kept:
        table[key] = kept


_PER_ROW = (
    *("_nums", "_lengths", "_threads", "_positions", "_before", "_after"),
    *("_actors", "_roles", "_questions", "_alive"),
)


def columns_of(rows: Iterable[TextRow], lexicon: Lexicon) -> TextColumns:
    """Columns of a plain list of memories."""
    builder = ColumnsBuilder(lexicon)
    builder.append(rows)
    return builder.snapshot()


def window_rows(columns: TextColumns, rows: Rows, scores: NDArray[np.float32], limit: int) -> Rows:
    """Neighbours at ±1 of lexical hits that are no hits themselves, best first by the summed score of their window.

    What answers a question often shares no word with it, but stands beside a text that does: the BM25 of ±1 windows
    without asking the index for windows.

    Args:
        columns: the scope.
        rows: the hits, distinct.
        scores: of the hits, at least 0.
        limit: neighbours at most; ties go to the earlier row.
    """
    around = np.concatenate([columns.previous(rows), columns.following(rows)])
    around = np.unique(around[around >= 0])
    # Laid out by row, where looking up is faster than searching; the last place is that of -1, no neighbour.
    hit, value = np.zeros(columns.size + 1, dtype=np.bool_), np.zeros(columns.size + 1, dtype=np.float32)
    hit[rows], value[rows] = True, scores
    around = around[~hit[around]]
    window = value[columns.previous(around)] + value[columns.following(around)]
    best: Rows = around[np.argsort(-window, kind="stable")[:limit]]
    return best
