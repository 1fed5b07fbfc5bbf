"""From documents to others, over the names that they say: the names in a text, the index of who says them, the links.

A name is a run of words written large, or a single one that is no ordinary word. What is no name after all is said by
many documents or by no other one, and leads nowhere.

The index has the words, and pairs of neighbouring words, of a scope's documents. A name is looked up by its word, or by
its first two. Made from the columns in memory when a recall first asks, and kept: rows are only ever added. New rows
are a small index of their own until they are many; then the two are merged. Of what many documents say only so many are
kept that it is seen to be common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.kernels import changes
from recall_integrations.indexes.kernels import heads as heads_of
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView, of_types
from recall_integrations.patterns import regex
from recall_integrations.query.entities.state import ACRONYMS, CALENDAR_WORDS, looks_ordinary
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, content, tokenize
from recall_integrations.text.by_language import SEP, language_of, stop_words
from recall_integrations.types import MemoryType

NAME_WORDS_MAX = 6  # content words of a name; a longer run is a heading
CHARS_MAX = 8_192  # of a longer text only the beginning is read
NAMES_MAX = 64  # of a text
LARGE_NOUNS = ("de", "lb")  # languages that write every noun large: one word alone is no name for that
_CODE = regex(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,200}`|(?:\b\w{2,10}://|\bwww\.)\S+|\S+@\S+\.\w+", 16)
_REST = r"(?:[^\W_]|['’](?=[^\W_]))*"
_LARGE = rf"[^\W\d_a-z]{_REST}"  # a letter beyond ASCII may be a small one: looked at again below
_JOIN = r"(?:[ -]|(?<=\b\w)\. )(?:(?:of|the|del?|der|d[iu]|da|l[ae]|van|von|for) )*"
_RUN = regex(rf"(?<!\w){_LARGE}(?:{_JOIN}(?:{_LARGE}|\d{_REST}))*")
_OPENS = regex(r"(?:\A|[.!?:;…|>•\n#*]|(?<!\w)[-–—+])[\"'“”‘’()\[\]*_~\s]*\Z")
_QUOTES = tuple('"“”„«»')
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*")

Keys = NDArray[np.uint64]
# A key has 32 bits: the number of a stem, or, with the highest bit set, 31 bits of two stems mixed (Fibonacci hashing).
_PAIR, _PAIR_BITS, _MIX = np.uint64(1 << 31), np.uint64((1 << 31) - 1), np.uint64(0x9E3779B97F4A7C15)


class DocumentNames(NamedTuple):
    """The names of a text."""

    names: tuple[str, ...]  # names as they are written
    stems: NDArray[np.int32]  # int32 `(len(names), NAME_WORDS_MAX)`: numbers of the stems of each, filled up with -1
    keys: NDArray[np.uint64]  # uint64, by which `holders` looks each up


def names_in(text: str) -> dict[tuple[str, ...], str]:
    """Return the distinct names of a text by their content words, in order, at most `NAMES_MAX`.

    A capital at the beginning of a sentence is none of its first word: "Yesterday Anna" may be "Anna", too.
    """
    text = _CODE.sub(" , ", text[:CHARS_MAX])
    language = language_of(text)
    stops = STOP_WORDS if language is None else STOP_WORDS | stop_words(language)
    found: dict[tuple[str, ...], str] = {}
    for run in _RUN.finditer(text):
        if not run[0][0].isupper():
            continue
        parts, opens = list(_WORD.finditer(run[0])), _OPENS.search(text, max(0, run.start() - 12), run.start())
        quoted = text[run.start() - 1 : run.start()] in _QUOTES and text[run.end() : run.end() + 1] in _QUOTES
        first = next((i for i, part in enumerate(parts) if part[0].lower() not in stops), None)
        if first is None:
            continue
        own = next((i for i in range(first, len(parts)) if not _is_plain(parts[i][0])), first) if opens else first
        for at in dict.fromkeys((first, own)):
            written = run[0][parts[at].start() :]
            words = tuple(content(written, language))
            alone = (
                len(words) == 1
                and not quoted
                and (_is_plain(written) or language in LARGE_NOUNS or bool(language and opens))
            )
            if words and len(words) <= NAME_WORDS_MAX and not alone and not _is_date(words, language):
                found.setdefault(words, written[:-2] if written.endswith(("'s", "’s")) else written)
            if len(found) == NAMES_MAX:
                return found
    return found


def _is_plain(word: str) -> bool:
    """Say whether a word gives by itself no hint of a name."""
    low = word.lower().replace("’", "'").removesuffix("'s")
    return low in STOP_WORDS or low in CALENDAR_WORDS or low in ACRONYMS or looks_ordinary(low)


def _is_date(words: tuple[str, ...], language: str | None) -> bool:
    said = words if language is None else tuple(word.partition(SEP)[0] for word in words)
    return CALENDAR_WORDS.issuperset(word for word in said if not word[0].isdigit())


def beginning(name: str, count: int) -> str:
    """Cut a name after its first `count` content words."""
    own = [token for token in tokenize(name) if token.word not in STOP_WORDS]
    return name[: own[count - 1].end] if len(own) > count else name


def said_in(text: str, lexicon: Lexicon) -> DocumentNames:
    """Return the names of a stored text, whose words the lexicon has therefore."""
    found = names_in(text)
    stems = np.full((len(found), NAME_WORDS_MAX), -1, dtype=np.int32)
    places = [NAME_WORDS_MAX * i + k for i, words in enumerate(found) for k in range(len(words))]
    ids = lexicon.ids_of([word for words in found for word in words])
    stems.reshape(-1)[places] = lexicon.stems[ids]
    return DocumentNames(
        names=tuple(found.values()),
        stems=stems,
        keys=keys_of(stems),
    )


def keys_of(stems: NDArray[np.int32]) -> Keys:
    """Compute the keys of names, given as the numbers of their stems `(names, words)`, filled up with -1."""
    several: Keys = pair_key(stems[:, 0], np.maximum(stems[:, 1], 0))
    return np.where(stems[:, 1] < 0, single_key(stems[:, 0]), several)


def single_key(stems: NDArray[np.int32]) -> Keys:
    """Return the keys of single stems."""
    keys: Keys = stems.astype(np.uint64) + np.uint64(1)
    return keys


def pair_key(first: NDArray[np.int32], second: NDArray[np.int32]) -> Keys:
    """Return the keys of pairs of stems."""
    mixed = ((first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)) * _MIX
    keys: Keys = ((mixed >> np.uint64(32)) & _PAIR_BITS) | _PAIR
    return keys


WORDS_MAX = 2_000_000  # content words of a scope; a larger one has no such index
LATE_MIN, LATE_SHARE = 10_000, 0.05  # words of new rows: so many, or this share of those before
COMMON = 4.0  # times √documents: so many rows are kept of a key

_ROW_BITS, _ROW = np.uint64(32), np.uint64((1 << 32) - 1)


class _Part(NamedTuple):
    """Index of rows from `first` to `end`."""

    first: int
    end: int
    entries: Keys  # a key and, in the lower half, a row that says it; rising, each once
    heads: Keys  # key of the first word and of the first two of each row, `(2, rows)`; 0 = it has not so many


class NamePostings:
    """Name index of the documents of a view with text. Threads may share one."""

    def __init__(self, view: ScopeView, before: NamePostings | None = None) -> None:
        self._ends = (int(view.nums[0]), int(view.nums[-1])) if view.size else (0, 0)
        self._words = len(view.text.words)
        whole = _part(view, 0) if before is None else _merged(before._main, before._upto(view))
        self._main: _Part = whole._replace(entries=_cut(whole.entries, documents(view)))
        self._late: _Part = _Part(view.size, view.size, self._main.entries[:0], self._main.heads)

    def begins(self, view: ScopeView) -> bool:
        """Say whether a view begins with these rows."""
        n = self._main.end
        # Numbers rise and never come again: if the first and the last are where they were, so are all between them.
        return 0 < n <= view.size and self._ends == (int(view.nums[0]), int(view.nums[n - 1]))

    def serves(self, view: ScopeView) -> bool:
        """Say whether a view begins with these rows, and has not many more."""
        added = len(view.text.words) - self._words
        return self.begins(view) and added <= max(LATE_MIN, LATE_SHARE * self._words)

    def find(self, view: ScopeView, keys: Keys, most: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the living documents that say keys: index of the key and row, each pair once, in no order."""
        first = keys << _ROW_BITS
        parts = [part for part in (self._main.entries, self._upto(view).entries) if len(part)]
        spans = [(part.searchsorted(first), part.searchsorted(first + _ROW, side="right")) for part in parts]
        count = np.zeros(len(keys), dtype=np.int64)
        for left, right in spans:
            count += right - left
        chosen = ((count > 0) & (count <= most)).nonzero()[0]
        if not len(chosen):
            return chosen, chosen
        said, rows = [], []
        for part, (left, right) in zip(parts, spans, strict=True):
            counts = (right - left)[chosen]
            ends = counts.cumsum()
            places = (left[chosen] - (ends - counts)).repeat(counts)
            places += np.arange(len(places))
            said.append(chosen.repeat(counts))
            rows.append(part[places] & _ROW)
        names, found = np.concatenate(said), np.concatenate(rows).astype(np.int64)
        alive = view.alive[found]
        return names[alive], found[alive]

    def heads(self, view: ScopeView) -> Keys:
        """Return the keys of the first word and of the first two of each row, `(2, view.size)`; 0 = it has fewer."""
        return self._upto(view).heads

    def _upto(self, view: ScopeView) -> _Part:
        """Return the part with later rows, as far as the view goes; its `heads` are those of all rows."""
        late = self._late
        if late.end != view.size:
            late = _part(view, self._main.end)
            late = late._replace(heads=np.concatenate([self._main.heads, late.heads], axis=1))
            self._late = late
        return late


def documents(view: ScopeView) -> Mask:
    """Flag the rows that are documents: `chunk` memories."""
    return of_types(view, (MemoryType.CHUNK,))


def _part(view: ScopeView, first: int) -> _Part:
    """Index the rows from `first` on."""
    text, wanted = view.text, documents(view)[first:]
    counts = np.diff(text.starts[first:])
    heads = np.zeros((2, len(counts)), dtype=np.uint64)
    for k in range(2):
        long = np.flatnonzero(counts > k)
        begun = text.lexicon.stems[text.words[text.starts[first:-1][long, None] + np.arange(k + 1)]]
        heads[k, long] = pair_key(begun[:, 0], begun[:, 1]) if k else single_key(begun[:, 0])
    # The words of documents only: where they are few, nearly nothing has to be read.
    own = np.flatnonzero(wanted)
    begins = np.repeat(text.starts[first:-1][own] - np.cumsum(counts[own]) + counts[own], counts[own])
    stems = text.lexicon.stems[text.words[begins + np.arange(len(begins))]]
    rows = np.repeat(own.astype(np.uint64) + np.uint64(first), counts[own])
    inside = rows[1:] == rows[:-1]
    single, pair = single_key(stems) << _ROW_BITS, pair_key(stems[:-1], stems[1:])[inside] << _ROW_BITS
    entries = np.concatenate([single | rows, pair | rows[1:][inside]])
    entries.sort()
    return _Part(first, view.size, entries[changes(entries)], heads)


def _merged(before: _Part, after: _Part) -> _Part:
    """Merge two parts; `heads` of the second are those of both."""
    entries = np.concatenate([before.entries, after.entries])
    entries.sort(kind="stable")  # which sees that these are two sorted runs
    return _Part(before.first, after.end, entries, after.heads)


def _cut(entries: Keys, wanted: Mask) -> Keys:
    """Keep the first `COMMON` · √documents rows of each key."""
    most = max(COMMON * math.sqrt(np.count_nonzero(wanted)), 1)
    begins = np.flatnonzero(changes(entries >> _ROW_BITS))
    sizes = np.diff(begins, append=len(entries))
    if sizes.max(initial=0) <= most:
        return entries
    kept: Keys = entries[np.arange(len(entries)) - np.repeat(begins, sizes) < most]
    return kept


NAMED, ABOUT, FADING = 6.0, 4.0, 0.7
NEW_MIN = 0.5  # share of a name's words that the query must not say
KEY_WORDS = 2  # by which names are looked up


@record(frozen=True, slots=True, kw_only=True)
class Via:
    """Way from one document to another."""

    row: int  # row of the document before it
    name: str  # name in both, as that one writes it
    about: bool  # whether the document begins with the name


class Links(NamedTuple):
    """Links from documents to others, each pair once."""

    starts: Rows  # the document that leads
    rows: Rows  # where it leads
    values: NDArray[np.float32]  # float32, above 0
    names: NDArray[np.int64]  # index into the names of the first document of the one that is worth most
    about: Mask  # whether the second document begins with that name

    def and_those(self, other: Links) -> Links:
        """Return the links with other entries after these."""
        both: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(self, other, strict=True)
        return Links(*map(np.concatenate, both))


_NOTHING = np.empty(0, dtype=np.int64)
_NOWHERE = Links(
    starts=_NOTHING, rows=_NOTHING, values=_NOTHING.astype(np.float32), names=_NOTHING, about=_NOTHING.astype(np.bool_)
)


class SecondHop:
    """The links of one recall, from the documents that were looked at."""

    def __init__(
        self,
        view: ScopeView,
        documents: Mask,
        count: int,
        holders: Callable[[], NamePostings],
        said_in: Callable[[Rows], Sequence[DocumentNames]],
        *,
        terms: Collection[str],
        allowed: Mask | None,
    ) -> None:
        self.view = view
        self._documents, self._holders, self._said_in, self._allowed = documents, holders, said_in, allowed
        self._count = max(count, 2)
        self._terms = terms
        self._said: dict[int, DocumentNames] = {}
        self.links = _NOWHERE

    def look(self, rows: Rows) -> None:
        """Add the links of documents; rows that are no documents, or were looked at, are skipped."""
        fresh = [row for row in rows.tolist() if row not in self._said and self._documents[row]]
        if fresh:
            found = self._found(np.asarray(fresh, dtype=np.int64))
            self.links = self.links.and_those(found) if len(self.links.rows) else found

    def reach(self, besides: Rows, limit: int) -> Rows:
        """Return the best documents that links lead to and that are not in `besides`, at most `limit`; ties by id."""
        rows, values = self.links.rows, self.links.values
        if not len(rows):
            return rows
        there = np.zeros(self.view.size, dtype=np.bool_)
        there[besides] = True
        fresh = ~there[rows]
        if self._allowed is not None:
            fresh &= self._allowed[rows]
        rows, values = rows[fresh], values[fresh]
        rising = np.argsort(values, kind="stable")
        best = dict(zip(rows[rising].tolist(), values[rising].tolist(), strict=True))  # the last one stays
        distinct = np.fromiter(best.keys(), dtype=np.int64, count=len(best))
        return self.view.top(distinct, np.fromiter(best.values(), dtype=np.float32, count=len(best)), limit)[0]

    def via(self, start: int, row: int) -> Via:
        """Return how one document leads to another."""
        links, said = self.links, self._said[start]
        at = int(np.flatnonzero((links.starts == start) & (links.rows == row))[0])
        name = int(links.names[at])
        return Via(row=start, name=self._shared(said, name, row), about=bool(links.about[at]))

    def _shared(self, said: DocumentNames, name: int, row: int) -> str:
        """Return the name, or its first words, by which it was looked up, if `row` says no more of it."""
        text = self.view.text
        stems = said.stems[name][said.stems[name] >= 0]
        there = text.lexicon.stems[text.words[text.starts[row] : text.starts[row + 1]]]
        if len(stems) <= KEY_WORDS:
            return said.names[name]
        spots = np.flatnonzero(there[: len(there) - len(stems) + 1] == stems[0])
        whole = any((there[spot : spot + len(stems)] == stems).all() for spot in spots.tolist())
        return said.names[name] if whole else beginning(said.names[name], KEY_WORDS)

    def _found(self, starts: Rows) -> Links:
        said, holders = self._said_in(starts), self._holders()
        lexicon = self.view.text.lexicon
        terms = [lexicon.stem_of(term) for term in self._terms]  # before they are counted: others add stems
        asked = np.zeros(lexicon.stem_count + 1, dtype=np.bool_)
        asked[terms] = True
        asked[-1] = False  # of -1, a stem of no word
        self._said.update(zip(starts.tolist(), said, strict=True))
        stems, keys = np.concatenate([own.stems for own in said]), np.concatenate([own.keys for own in said])
        filled = stems >= 0
        new = filled & ~asked[stems]
        led = (np.add.reduce(new, axis=1) >= np.maximum(NEW_MIN * np.add.reduce(filled, axis=1), 1)).nonzero()[0]
        if not len(led):
            return _NOWHERE
        keys, spread = keys[led], math.sqrt(self._count)
        ends = np.cumsum([len(own.names) for own in said])
        owner = np.searchsorted(ends, led, side="right")
        index = led - np.concatenate([[0], ends])[owner]
        entry, rows = holders.find(self.view, keys, int(spread) + 1)
        if not len(entry):
            return _NOWHERE
        away = rows != starts[owner[entry]]
        entry, rows = entry[away], rows[away]
        n = np.bincount(entry, minlength=len(keys))
        near = (n <= spread)[entry]
        entry, rows = entry[near], rows[near]
        heads = holders.heads(self.view)
        about = (heads[:, rows] == keys[entry]).any(axis=0)
        worth = (NAMED * (1 - np.log(np.maximum(n, 1)) / (FADING * math.log(self._count))))[entry] + ABOUT * about
        return self._joined(starts[owner[entry]], rows, worth, index[entry], about, heads)

    def _joined(
        self, starts: Rows, rows: Rows, worth: NDArray[np.float64], names: NDArray[np.int64], about: Mask, heads: Keys
    ) -> Links:
        """Join the entries of two documents' names into one entry for each pair."""
        pair = starts * self.view.size + rows
        order = np.lexsort((names, -worth, pair))
        pair, worth = pair[order], worth[order]
        first = heads_of(pair)
        if not len(first):
            return _NOWHERE
        values = (worth[first] + np.add.reduceat(worth, first)) / 2
        best = order[first]
        apart = ~self._alike(starts[best], rows[best], heads)
        best, values = best[apart], values[apart]
        return Links(
            starts=starts[best], rows=rows[best], values=values.astype(np.float32), names=names[best], about=about[best]
        )

    def _alike(self, a: Rows, b: Rows, heads: Keys) -> Mask:
        """Flag pairs of documents of one thread, or that begin with the same two words."""
        threads = self.view.text.threads
        of_thread = (threads[a] == threads[b]) & (threads[a] >= 0)
        return np.asarray(of_thread | ((heads[1][a] == heads[1][b]) & (heads[1][a] > 0)))
