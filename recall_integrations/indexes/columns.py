"""Columns of a scope's texts for ranking: words, postings, threads and their order, actors, questions.

`before` and `after` are a linked list of a thread by `(position, num)`. The words are those of the text; BM25 reads the
actor's name as well, and all of a very long text: `postings` has both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import Scratch, held
from recall_integrations.indexes.kind import Kind
from recall_integrations.indexes.lexicon import Ids, Lexicon
from recall_integrations.records import record
from recall_integrations.text import content, language_of
from recall_integrations.types.roles import ROLE_CODES, Role

Rows = NDArray[np.int64]
Counts = NDArray[np.int32]
_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1
MERGED = 2  # a part is swallowed by the next one when it is not larger than this many times it


@record(frozen=True, slots=True, kw_only=True)
class Postings:
    """Postings of rows `first` to `end` of a scope."""

    first: int  # with `end`: the rows that are covered, `end` exclusive
    end: int
    stems: NDArray[np.int32]  # int32, rising: numbers of the stems that occur
    begins: Rows  # int64 `(len(stems) + 1,)`: where the entries of each begin in the other two
    rows: NDArray[np.int32]  # int32: rows that hold the stem, rising
    counts: Counts  # int32, beside `rows`: how often they hold it
    tops: Counts  # int32, beside `stems`: the largest of the counts of each

    @property
    def bytes(self) -> int:
        """Bytes of memory for the postings; entries in a file are read here and there, and need none."""
        return int(self.stems.nbytes + self.begins.nbytes + self.tops.nbytes + held(self.rows) + held(self.counts))

    def moved(self, scratch: Scratch) -> Postings:
        """Return the postings with their entries out of memory where they are many."""
        return replace(self, rows=scratch.moved(self.rows), counts=scratch.moved(self.counts))

    def count(self, stem: int) -> int:
        """Count the rows that hold a stem."""
        at = int(self.stems.searchsorted(np.int32(stem)))
        if at == len(self.stems) or self.stems[at] != stem:
            return 0
        return int(self.begins[at + 1]) - int(self.begins[at])

    def most(self, stem: int) -> int:
        """Return the largest count of a stem in a row."""
        at = int(self.stems.searchsorted(np.int32(stem)))
        return int(self.tops[at]) if at < len(self.stems) and self.stems[at] == stem else 0

    def of(self, stem: int) -> tuple[NDArray[np.int32], Counts]:
        """Return the rows that hold a stem, and their counts."""
        at = int(self.stems.searchsorted(np.int32(stem)))  # of another type, all stems would be copied into that one
        if at == len(self.stems) or self.stems[at] != stem:
            return self.rows[:0], self.counts[:0]
        part = slice(int(self.begins[at]), int(self.begins[at + 1]))
        return self.rows[part], self.counts[part]

    def spans(self, stems: Rows) -> tuple[Rows, Rows]:
        """Return the begin and end of each stem's entries."""
        if not len(self.stems):
            return np.zeros_like(stems), np.zeros_like(stems)
        at = np.minimum(self.stems.searchsorted(stems), len(self.stems) - 1)
        begins = self.begins[at]
        return begins, np.where(self.stems[at] == stems, self.begins[at + 1], begins)


def postings_of(first: int, end: int, occurrences: Sequence[tuple[NDArray[np.int32], Rows]]) -> Postings:
    """Build the postings of rows."""
    packed = [(stems.astype(np.int64) << _ROW_BITS) | rows for stems, rows in occurrences]
    keys = np.concatenate(packed) if packed else np.empty(0, dtype=np.int64)
    keys.sort()
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[heads]
    counts = np.diff(heads, append=len(keys)).astype(np.int32)
    numbers = (distinct >> _ROW_BITS).astype(np.int32)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    return Postings(
        first=first,
        end=end,
        stems=numbers[begins],
        begins=np.append(begins, len(distinct)),
        rows=(distinct & _ROW_MASK).astype(np.int32),
        counts=counts,
        tops=np.maximum.reduceat(counts, begins) if len(begins) else counts,
    )


def first_to_read(parts: Sequence[Postings], end: int) -> tuple[tuple[Postings, ...], int]:
    """Return the parts that stay once rows up to `end` exist, and the row from which to read a new part."""
    kept = list(parts)
    first = kept[-1].end if kept else 0
    while kept and first < end and kept[-1].end - kept[-1].first <= MERGED * (end - first):
        first = kept.pop().first
    return tuple(kept), first


ROLES = len(ROLE_CODES)
FEW_DEAD = 32  # so many rows are asked whether they live in the time in which one is looked up among them
WORDS_MAX = 2_048  # content words kept of one memory; the length is counted in full
_QUESTION = re.compile(r"[?？؟]")
_SENTENCE_END = re.compile(r"(?:[.!?？؟。！]+(?=[\s\"'”’)\]]|$)|[？。！]|\n)+")


def is_question(text: str) -> bool:
    """Say whether the text asks something, by a question mark in it."""
    return _QUESTION.search(text) is not None


def asked_words(text: str) -> list[bool]:
    """Say for each content word of `text` whether it stands in a sentence that asks something.

    A text tells and asks: "I moved to Lisbon. Have you been there?" A sentence ends with a line, and with `.`, `!` or
    `?` before a space: "Dr. Miller" ends one, "v1.2" and "example.org/?q" do not.
    """
    language = language_of(text)  # of the whole: a sentence alone may not tell, and its words would be others
    flags: list[bool] = []
    begin = 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        stop = len(text) if end is None else end.end()
        asks = end is not None and is_question(end.group())
        flags.extend([asks] * len(content(text[begin:stop], language)))
        begin = stop
    return flags


@record(frozen=True, slots=True, kw_only=True)
class TextColumns:
    """Columns of one scope."""

    lexicon: Lexicon  # gives the meaning of word ids
    starts: Rows  # int64 `(n + 1,)`; words of row `i` are `words[starts[i]:starts[i + 1]]`
    words: Ids  # int32, word ids of the texts in order, stop words left out, at most `WORDS_MAX` of a memory
    lengths: NDArray[np.int32]  # int32 `(n,)`: content words of the text, however many are kept
    threads: NDArray[np.int32]  # int32 `(n,)`: code of the thread, -1 = none
    thread_names: Sequence[str]  # shared list: what the codes stand for
    # with `after`: int64 `(n,)`: row of the previous and next living memory of the thread, by position; -1 = none
    before: Rows
    after: Rows
    actors: NDArray[np.int32]  # int32 `(n,)`: index into `actor_names`, -1 = none
    actor_names: Sequence[str]  # shared list, the first so many belong to the snapshot
    # stem number → codes of the actors whose name holds it, of those that a living row has
    actor_words: Mapping[int, Sequence[int]]
    # int8 `(n,)`: role in a conversation with an assistant, as in `ROLE_CODES`; 0 = none. As given, or else that of the
    # actor's name
    roles: NDArray[np.int8]
    role_actors: Mapping[int, Sequence[int]]  # code of a role → codes of the actors that have it in some living row
    questions: NDArray[np.bool_]  # bool `(n,)`: whether the text asks something
    asked: NDArray[np.bool_]  # bool, beside `words`: whether the word stands in a sentence that asks
    alive: NDArray[np.bool_]  # bool `(n,)`: false of what was forgotten
    kind: Kind  # what the scope is made of
    postings: Sequence[Postings] = ()  # which rows hold a stem, those that were forgotten included
    # what was computed from the snapshot once, by name
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def size(self) -> int:
        """Number of rows, dead ones included."""
        return len(self.lengths)

    @property
    def whole(self) -> bool:
        """True if nothing was forgotten."""
        found: bool | None = self.memo.get("whole")
        if found is None:
            found = self.memo["whole"] = bool(self.alive.all())
        return found

    def holding(self, term: str) -> tuple[NDArray[np.int32], Counts]:
        """Return the living rows whose actor's name or text holds a stem, rising, and their counts of it."""
        number = self.lexicon.stem_of(term)
        found = [part.of(number) for part in self.postings if number >= 0]
        if not found:
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        if len(found) == 1:
            rows, counts = found[0]
        else:
            rows, counts = np.concatenate([rows for rows, _ in found]), np.concatenate([counts for _, counts in found])
        if self.whole:
            return rows, counts
        kept = self.alive[rows]
        return rows[kept], counts[kept]

    def entries(self, term: str) -> tuple[list[tuple[NDArray[np.int32], Counts]], int]:
        """Return the rows that hold a stem, forgotten ones too, and their counts, in parts, and the largest count."""
        number = self.lexicon.stem_of(term)
        if number < 0:
            return [], 0
        parts = [part.of(number) for part in self.postings]
        return [part for part in parts if len(part[0])], max([part.most(number) for part in self.postings], default=0)

    @property
    def dead(self) -> Rows:
        """Rows that were forgotten."""
        found: Rows | None = self.memo.get("dead")
        if found is None:
            found = self.memo["dead"] = np.flatnonzero(~self.alive)
        return found

    def frequency(self, term: str) -> int:
        """Count the living memories that hold a stem."""
        number = self.lexicon.stem_of(term)
        if number < 0:
            return 0
        if self.whole:
            return sum([part.count(number) for part in self.postings])
        return sum([self._living(part.of(number)[0]) for part in self.postings])

    def _living(self, rows: NDArray[np.int32]) -> int:
        """Count the living among `rows`, which rise."""
        if len(self.dead) * FEW_DEAD > len(rows):
            return int(np.count_nonzero(self.alive[rows]))
        at = np.minimum(rows.searchsorted(self.dead.astype(np.int32)), len(rows) - 1)
        return len(rows) - int(np.count_nonzero(rows[at] == self.dead))

    def frequencies(self, numbers: Rows) -> NDArray[np.int64]:
        """Count the living memories that hold each of some stems, given by their numbers."""
        total = np.zeros(len(numbers), dtype=np.int64)
        for part in self.postings:
            begins, ends = part.spans(numbers)
            if self.whole:
                total += ends - begins
            else:
                for place, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                    total[place] += np.count_nonzero(self.alive[part.rows[begin:end]])
        return total

    def held(self, rows: Sequence[int], terms: Sequence[str]) -> list[set[str]]:
        """Return for each row the stems of `terms` among the kept words of its text."""
        if not rows:
            return []
        numbers = {number: term for term in terms if (number := self.lexicon.stem_of(term)) >= 0}
        at = np.asarray(rows, dtype=np.int64)
        begins, ends = self.starts[at].tolist(), self.starts[at + 1].tolist()
        words = [self.words[begin:end] for begin, end in zip(begins, ends, strict=True)]
        stems = iter(self.lexicon.stems[np.concatenate(words)].tolist())
        return [{numbers[n] for n in islice(stems, len(own)) if n in numbers} for own in words]

    def speakers(self, role: Role) -> list[str]:
        """Return the names of the actors that have a role."""
        return [self.actor_names[code] for code in self.role_actors.get(ROLE_CODES[role], ())]

    def previous(self, rows: Rows) -> Rows:
        """Return the row before each of `rows` in its thread; -1 for none, and for a -1 in `rows`."""
        return self._step(self.before, rows)

    def following(self, rows: Rows) -> Rows:
        """Return the row after each of `rows` in its thread; -1 for none, and for a -1 in `rows`."""
        return self._step(self.after, rows)

    def beside(self, rows: Rows) -> Rows:
        """Return the rows before and after each of `rows`, `(2, len(rows))`; `size` = none, in `rows` as well."""
        size = self.size
        found = np.empty((2, len(rows)), dtype=np.int64)
        found[0] = self.before.take(rows, mode="clip")
        found[1] = self.after.take(rows, mode="clip")
        # Links to memories that were added after this snapshot are beyond the end, and so is -1 without its sign.
        none = found.view(np.uint64) >= size
        none |= rows == size
        found[none] = size
        return found

    def _step(self, links: Rows, rows: Rows) -> Rows:
        if not self.size:
            return np.full(len(rows), -1, dtype=np.int64)
        found = links.take(rows, mode="clip")
        # A link beyond the end leads to a memory that was added after this snapshot.
        found[(rows < 0) | (found >= self.size)] = -1
        return found


def window_rows(columns: TextColumns, rows: Rows, scores: NDArray[np.float32], limit: int) -> Rows:
    """Return neighbours at ±1 of lexical hits that are no hits themselves, best first by their window's summed score.

    A text that answers a question often shares no word with it, but stands beside a text that does: this is the BM25 of
    ±1 windows without asking the index for windows.
    """
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    size = columns.size
    around: Rows = columns.beside(rows).reshape(-1)
    # Blank memory: only what is written to is looked at. The last place is that of none.
    numbered, places = np.empty(size + 1, dtype=np.int32), np.arange(len(around), dtype=np.int32)
    numbered[around] = places
    numbered[rows] = numbered[size] = -1
    around = around[numbered[around] == places]
    if not len(around):
        return around
    around.sort()
    neighbours = columns.beside(around)
    values = np.empty(size + 1, dtype=np.float32)
    values[neighbours] = 0  # of what is no hit
    values[rows] = scores
    best: Rows = around[(-np.add.reduce(values[neighbours])).argsort(kind="stable")[:limit]]
    return best


SHORT = 6  # content words of a question that needs what was said before it; one of twice as many needs nothing
STEPS = 4  # turns that a reply may stand behind what it is about


def replies_after(columns: TextColumns, rows: Rows, known: Rows, limit: int) -> Rows:
    """Return replies to short questions of others two to `STEPS` turns after found rows, the nearest and best first."""
    after, size = columns.after.item, columns.size
    before, questions = columns.before.item, columns.questions.item
    actors, lengths = columns.actors.item, columns.lengths.item
    behind, replies = rows.tolist(), []
    for step in range(STEPS):
        behind = [row for row in map(after, behind) if 0 <= row < size]
        for row in behind if step else ():
            asking = before(row)
            if 0 <= asking < size and questions(asking) and lengths(asking) < 2 * SHORT:
                actor = actors(row)
                if actor >= 0 and 0 <= actors(asking) != actor:
                    replies.append(row)
    if not replies:
        return np.empty(0, dtype=np.int64)
    there = set(known.tolist())
    return np.asarray([row for row in dict.fromkeys(replies) if row not in there][:limit], dtype=np.int64)
