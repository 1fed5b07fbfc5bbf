"""Words as numbers, which the ranking features compare instead of strings; one lexicon serves all scopes of a process.

Ids are only ever added. Words of queries are looked up, never added. Vectors are those of the bundled static model, as
int8 with a factor per row: the rounding moves a cosine by about 0.002. In languages without vectors, runs of four
letters meet (McNamee and Mayfield, "Character N-Gram Tokenization for European Language Text Retrieval", 2004).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import bundled
from recall_integrations.indexes.array_file import grown
from recall_integrations.indexes.kernels import products_of
from recall_integrations.patterns import regex
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, stem, tokenize, without_marks
from recall_integrations.text.analyser import is_signed, unsigned, words, words_with_signs
from recall_integrations.text.by_language import SEP
from recall_integrations.text.shortening import shortened
from recall_integrations.types import ParsedQuery, TemporalWindow
from recall_integrations.types.roles import Role

SIZE = 4  # letters of a run, the marks at both ends included
SIZE_HANGUL = 3  # a syllable is a letter there, and words have two to four of them
LETTERS_MAX = 64  # of a word that are looked at: beyond that it is no word
Numbers = NDArray[np.int32]


def runs(word: str) -> list[str]:
    """Return the distinct runs of a normal form, in order."""
    marked = f"^{word[:LETTERS_MAX]}$"
    size = SIZE_HANGUL if "가" <= word[:1] <= "힣" else SIZE
    return list(dict.fromkeys(marked[i : i + size] for i in range(max(len(marked) - size + 1, 1))))


class RunTable:
    """Runs of the words of a lexicon, each word read at its first use."""

    def __init__(self, word: Callable[[int], str]) -> None:
        self._word = word
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._begins: NDArray[np.int64] = np.full(1_024, -1, dtype=np.int64)  # of a word in `_flat`; -1 = not read
        self._counts: Numbers = np.zeros(1_024, dtype=np.int32)
        self._flat: Numbers = np.empty(4_096, dtype=np.int32)
        self._used = 0

    def numbers_of(self, words: Sequence[str]) -> Numbers:
        """Return the numbers of the distinct runs of `words`, rising, without runs of no word read so far."""
        known = self._numbers
        return np.asarray(sorted({known[r] for w in words for r in runs(w) if r in known}), dtype=np.int32)

    def of(self, ids: NDArray[np.integer[Any]]) -> tuple[Numbers, Numbers]:
        """Return the runs of the words `ids`, one word after the other, and the number of runs of each."""
        with self._lock:
            top = int(ids.max(initial=-1))
            if top >= len(self._begins):
                more = max(top + 1, 2 * len(self._begins)) - len(self._begins)
                self._begins = np.concatenate([self._begins, np.full(more, -1, dtype=np.int64)])
                self._counts = np.concatenate([self._counts, np.zeros(more, dtype=np.int32)])
            unread = ids[self._begins[ids] < 0]
            if len(unread):
                self._read(np.unique(unread).tolist())
            begins, counts = self._begins[ids], self._counts[ids]
            ends = np.cumsum(counts)
            total = int(ends[-1]) if len(ends) else 0
            return self._flat[np.arange(total) + np.repeat(begins - (ends - counts), counts)], counts

    def __len__(self) -> int:
        return len(self._numbers)

    def _read(self, ids: list[int]) -> None:
        for each in ids:
            own = [self._numbers.setdefault(r, len(self._numbers)) for r in runs(self._word(each))]
            if self._used + len(own) > len(self._flat):
                self._flat = np.concatenate([self._flat, np.empty_like(self._flat)])
            self._flat[self._used : self._used + len(own)] = own
            self._begins[each], self._counts[each] = self._used, len(own)
            self._used += len(own)


Ids = NDArray[np.int32]
Vectors = NDArray[np.float32]
AT_ONCE = 8_192  # words embedded in one call
FEW = 32
ASKED_MAX = 2_048  # words of queries whose vectors are kept, though no memory holds them

# Words that say when something was: of a document that answers "when" or names the day itself.
DATE_WORDS = frozenset(
    """
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday yesterday today tonight tomorrow ago last
    next week weeks weekend month months year years day days morning evening afternoon night spring summer autumn fall
    winter recently
    """.split()
)
TERMS_MAX = 64  # distinct stems of a query that are compared
USER_NAMES = ("user", "human")  # what frameworks call the person who asks
_WHEN = frozenset("when date day month year".split())
_ASKS = frozenset("when what which who whom whose where why how".split())
_DATES = frozenset("date day month year".split())
_YEAR = regex(r"(?:19|20)\d\d")


def _rounded(made: Vectors) -> tuple[Vectors, Vectors]:
    """Round unit vectors to whole numbers up to 127; return them and the factor that makes each a unit vector again."""
    top = np.maximum(np.abs(made).max(axis=1, initial=0.0) / 127, 1e-12).astype(np.float32)
    rows = np.rint(made / top[:, None])
    norms = np.sqrt((rows**2).sum(axis=1))
    return rows, np.where(norms > 0, 1 / np.maximum(norms, 1e-12), 0).astype(np.float32)


@record(frozen=True, slots=True, kw_only=True)
class WordBlock:
    """Words and all that a `Lexicon` knows of them, as arrays: the words of a scope on disk."""

    keys: NDArray[np.uint8]  # the words as `Lexicon.ids_of` takes them, joined by line feeds, in UTF-8
    stems: Ids  # int32: of each word the place of its stem in `roots`
    roots: NDArray[np.uint8]  # texts of the stems, likewise joined; some may belong to none of the words
    root_count: int  # how many there are
    dated: NDArray[np.bool_]  # with `rows`, `factors`: of each word, as the lexicon has them
    rows: NDArray[np.int8]
    factors: Vectors


def _joined(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _split(joined: NDArray[np.uint8], count: int) -> list[str]:
    found = joined.tobytes().decode("utf-8", "surrogatepass").split("\n") if count else []
    if len(found) != count:
        raise ValueError(f"{len(found)} words where there should be {count}")
    return found


class Lexicon:
    """Content words, their stems and their vectors. Threads may share one."""

    def __init__(self, embedding: Embedding | None = None) -> None:
        self._embedding = bundled() if embedding is None else embedding
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._words: list[str] = []
        self._keys: list[str] = []  # as they were given, with the stem that is not the one of English
        self._stem_ids: dict[str, int] = {}
        self._stem_texts: list[str] = []
        self._marked: dict[str, tuple[str, ...]] = {}  # stems with accents and the like, by what they are without
        self._signed: dict[int, list[int]] = {}  # ids of words with signs, by the stem of the word without
        self._stems: Ids = np.empty(1_024, dtype=np.int32)
        self._dated: NDArray[np.bool_] = np.empty(1_024, dtype=np.bool_)
        self._rows: NDArray[np.int8] = np.empty((0, self._embedding.dimensions), dtype=np.int8)
        self._factors: Vectors = np.empty(0, dtype=np.float32)
        self._ready = 0  # words that have a vector: the first so many
        self._unheld = lru_cache(maxsize=ASKED_MAX)(self._made)
        self.runs = RunTable(self.word)

    def __len__(self) -> int:
        return len(self._words)

    def ids_of(self, words: Iterable[str]) -> Ids:
        """Return the ids of `words`, in order; a new word gets the next id.

        A word may bring a stem that is not the one of English, as `text.content` writes it: then that pair has an id.
        """
        listed = list(words)
        known = self._ids
        try:  # one pass where all are known: the words of a scope are many
            return np.fromiter(map(known.__getitem__, listed), dtype=np.int32, count=len(listed))
        except KeyError:
            self._add(listed)
        return np.fromiter(map(known.__getitem__, listed), dtype=np.int32, count=len(listed))

    def word(self, id: int) -> str:
        """Return the word of an id."""
        return self._words[id]

    def stem_of(self, term: str) -> int:
        """Return the number of a stem given as text; -1 where no word of the lexicon has it."""
        return self._stem_ids.get(term, -1)

    def alike(self, term: str) -> tuple[str, ...]:
        """Return other stems that differ from this one by accents alone: "lucía" for "lucia" and the other way round.

        They come from all scopes: a caller has to ask its own scope which of them its memories hold.
        """
        plain = without_marks(term)
        found = self._marked.get(plain, ())
        return tuple(sorted({*found, plain} - {term})) if found or plain != term else ()

    def signed(self, stem: int) -> Sequence[int]:
        """Return the ids of words that a sign sets apart from the word of this stem: of "c" those of "c++" and "c#"."""
        return self._signed.get(stem, ())

    def stem_text(self, number: int) -> str:
        """Return the stem of a number."""
        return self._stem_texts[number]

    @property
    def stem_count(self) -> int:
        """Number of stems: their numbers are those below it."""
        return len(self._stem_texts)

    @property
    def stems(self) -> Ids:
        """Stem number of each word id, so that words of one stem compare as equal numbers."""
        return self._stems[: len(self._words)]

    @property
    def dated(self) -> NDArray[np.bool_]:
        """Flag of each word id that is a word of dates: a month, a weekday, "yesterday", a year."""
        return self._dated[: len(self._words)]

    def vectors(self, ids: Ids) -> Vectors:
        """Return unit rows `(len(ids), dimensions)`; 0 for a word that the static model cannot spell."""
        rows, factors = self._prepared(ids)
        return np.asarray(rows[ids].astype(np.float32) * factors[ids, None], dtype=np.float32)

    def _whole(self, words: Sequence[str]) -> tuple[NDArray[np.int8], Vectors]:
        """Return rows of whole numbers and their factors, as `_rounded` makes them."""
        numbers = [self._ids.get(word, -1) for word in words]
        held = [place for place, number in enumerate(numbers) if 0 <= number < self._ready]
        known = [numbers[place] for place in held]
        rows = np.empty((len(words), self._embedding.dimensions), dtype=np.int8)
        factors = np.empty(len(words), dtype=np.float32)
        rows[held], factors[held] = self._rows[known], self._factors[known]
        if len(held) < len(words):
            for place in set(range(len(words))).difference(held):
                rows[place], factors[place] = self._unheld(words[place])
        return rows, factors

    def _made(self, word: str) -> tuple[NDArray[np.int8], np.float32]:
        """Return row and factor of a word without a prepared row."""
        rows, factors = _rounded(self._embed([word]))
        return rows[0].astype(np.int8), factors[0]

    def cosines(self, ids: NDArray[np.integer[Any]], words: Sequence[str]) -> Vectors:
        """Compute the cosine of each word of a query with each word of the lexicon, `(len(words), len(ids))`.

        Sums of products of whole numbers are exact, in any order: a cosine is the same whatever else the lexicon holds,
        and whoever brought it.
        """
        rows, factors = self._prepared(ids)
        asked, own = self._whole(words)
        products = products_of(rows, ids, asked)
        products *= factors.take(ids)
        products *= own[:, None]
        return products

    def likeness(self, keys: Sequence[str], words: Sequence[str]) -> Vectors:
        """Compute the cosine of each word of a query with each of a text, `(len(words), len(keys))`, as `cosines`."""
        ids = np.fromiter((self._ids.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))
        known = (ids >= 0) & (ids < self._ready)
        rows = np.empty((len(keys), self._embedding.dimensions), dtype=np.float32)
        factors = np.empty(len(keys), dtype=np.float32)
        rows[known], factors[known] = self._rows[ids[known]], self._factors[ids[known]]
        fresh = np.flatnonzero(~known)
        if len(fresh):
            made = self._embed([keys[i].partition(SEP)[0] for i in fresh.tolist()])
            rows[fresh], factors[fresh] = _rounded(made)
        asked, own = self._whole(words)
        return np.asarray((asked.astype(np.float32) @ rows.T) * factors * own[:, None], dtype=np.float32)

    def prepare(self) -> None:
        """Compute the vectors that are still missing, so that no query has to wait for them."""
        if self._ready == len(self._words):
            return
        with self._lock:
            while self._ready < len(self._words):
                first, last = self._ready, min(len(self._words), self._ready + AT_ONCE)
                made = self._embed(self._words[first:last])
                if last > len(self._rows):
                    size = max(last + last // 8, 1_024)
                    self._rows = grown(self._rows, first, size)
                    self._factors = grown(self._factors, first, size)
                self._rows[first:last], self._factors[first:last] = _rounded(made)
                self._ready = last

    def _embed(self, words: list[str]) -> Vectors:
        """Return the vectors of words; 0 for a word with a sign: the model reads "c++" and "c#" as one."""
        made = self._read(words)
        signed = [place for place, word in enumerate(words) if is_signed(word)]
        if signed:
            made = made.copy()
            made[signed] = 0
        return made

    def _read(self, words: list[str]) -> Vectors:
        if len(words) > FEW:
            return self._embedding.embed_documents(words)
        # One at a time: a batch would start the tokenizer's worker threads for a word or two.
        return np.stack([self._embedding.embed_query(word) for word in words])

    def _prepared(self, ids: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int8], Vectors]:
        if len(ids) and int(ids.max()) >= self._ready:
            self.prepare()
        return self._rows, self._factors

    def _add(self, words: list[str]) -> None:
        with self._lock:
            for word in words:
                if word in self._ids:
                    continue
                at = len(self._words)
                if at == len(self._stems):
                    self._stems = grown(self._stems, at, max(2 * at, 64))
                    self._dated = grown(self._dated, at, max(2 * at, 64))
                said, _, root = word.partition(SEP)
                root = root or stem(said)
                self._stems[at] = self._stem_number(root)
                self._dated[at] = said in DATE_WORDS or _YEAR.fullmatch(said) is not None
                self._keys.append(word)
                self._words.append(said)
                self._note_sign(said, at)
                self._ids[word] = at  # last: who finds the word here may use everything above without the lock

    def _stem_number(self, root: str) -> int:
        number = self._stem_ids.get(root)
        if number is None:
            number = len(self._stem_texts)
            self._stem_texts.append(root)
            self._stem_ids[root] = number
            if not root.isascii():
                self._note_marks(root)
        return number

    def _note_marks(self, root: str) -> None:
        plain = without_marks(root)
        if plain != root:
            self._marked[plain] = (*self._marked.get(plain, ()), root)

    def _note_sign(self, word: str, at: int) -> None:
        for plain in () if word.isalnum() else unsigned(word):
            self._signed.setdefault(self._stem_number(stem(plain)), []).append(at)

    def _note_signs(self, first: int) -> None:
        for at, word in enumerate(self._words[first:], first):
            self._note_sign(word, at)

    # -- what is kept on disk --------------------------------------------------------------------------------------

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedding that gives the vectors."""
        return self._embedding.fingerprint

    def block(self, ids: Ids, stems: Ids) -> WordBlock:
        """Return all that is known of words and stems, both given by their numbers, rising."""
        self._prepared(ids)
        return WordBlock(
            keys=_joined([self._keys[i] for i in ids.tolist()]),
            stems=np.searchsorted(stems, self._stems[ids]).astype(np.int32),
            roots=_joined([self._stem_texts[i] for i in stems.tolist()]),
            root_count=len(stems),
            dated=self._dated[ids],
            rows=self._rows[ids],
            factors=self._factors[ids],
        )

    def take(self, block: WordBlock) -> tuple[Ids, Ids] | None:
        """Add the words of a block; return ids of its words and stems, `None` where they are their places."""
        keys, roots = _split(block.keys, len(block.stems)), _split(block.roots, block.root_count)
        with self._lock:
            if not self._words and not self._stem_texts:
                self._fill(block, keys, roots)
                return None
            numbers = np.fromiter(map(self._stem_number, roots), dtype=np.int32, count=len(roots))
            fresh = [i for i, key in enumerate(keys) if key not in self._ids]
            if fresh:
                self._append(block, [keys[i] for i in fresh], np.asarray(fresh, dtype=np.int64), numbers)
        return np.fromiter(map(self._ids.__getitem__, keys), dtype=np.int32, count=len(keys)), numbers

    def _fill(self, block: WordBlock, keys: list[str], roots: list[str]) -> None:
        numbers = dict(zip(roots, range(len(roots)), strict=True))
        if len(numbers) < len(roots):
            raise ValueError("a stem is there twice")
        self._stem_texts.extend(roots)
        self._stem_ids.update(numbers)
        for root in (root for root in roots if not root.isascii()):
            self._note_marks(root)
        self._stems, self._dated = block.stems, block.dated
        self._rows, self._factors, self._ready = block.rows, block.factors, len(keys)
        self._keys.extend(keys)
        self._words.extend(key.partition(SEP)[0] for key in keys)
        self._note_signs(0)
        self._ids.update(zip(keys, range(len(keys)), strict=True))  # last, as in `_add`

    def _append(self, block: WordBlock, keys: list[str], places: NDArray[np.int64], numbers: Ids) -> None:
        """Add words that are new, from their `places` in the block; `numbers` has the number of each of its stems."""
        first, last = len(self._words), len(self._words) + len(keys)
        if last > len(self._stems):
            size = last + last // 8
            self._stems, self._dated = grown(self._stems, first, size), grown(self._dated, first, size)
        self._stems[first:last], self._dated[first:last] = numbers[block.stems[places]], block.dated[places]
        if self._ready == first:  # else `prepare` makes those, too
            if last > len(self._rows):
                size = last + last // 8
                self._rows, self._factors = grown(self._rows, first, size), grown(self._factors, first, size)
            self._rows[first:last], self._factors[first:last] = block.rows[places], block.factors[places]
            self._ready = last
        self._keys.extend(keys)
        self._words.extend(key.partition(SEP)[0] for key in keys)
        self._note_signs(first)
        self._ids.update(zip(keys, range(first, last), strict=True))


@cache
def shared() -> Lexicon:
    """Return the lexicon of this process."""
    return Lexicon()


ASIDE = 0.3  # of what a stem counts, where only a sentence beside the question says it


@record(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """A query as the features need it."""

    stems: tuple[str, ...]  # distinct stems to look for
    words: tuple[str, ...]  # a word for each of them, for its vector; the stem itself where the query does not say it
    sequence: tuple[str, ...] = ()  # stems of the content words in the order of the text, for pairs
    window: TemporalWindow | None = None  # the time it speaks of
    # where the query speaks in the first person, stems that the actor's name may hold who asks
    asker: tuple[str, ...] = ()
    when: bool = False  # whether it asks for a time
    dating: bool = False  # whether it asks when something was, in English
    worth: tuple[float, ...] = ()  # what each of the stems counts; empty = 1 each
    counts: tuple[int, ...] = ()  # how often the query says each of the stems, at least 1; empty = once each
    role: Role | None = None  # whose words it asks for, with `strength` in [0, 1]; `None` = nobody's in particular
    strength: float = 0.0


def asks_when(query: str) -> bool:
    """Say whether an English query asks when something was, as `QueryTerms.dating`."""
    return _asks_when(words(shortened(query).text))


def _asks_when(said: Sequence[str]) -> bool:
    """Decide by the first question word: "what did Sam say when …" does not ask when."""
    place = next((i for i, word in enumerate(said) if word in _ASKS), None)
    if place is None or said[place] == "when":
        return place is not None
    if said[place] in ("what", "which"):
        return not _DATES.isdisjoint(said[place + 1 : place + 4])
    return said[place] == "how" and "ago" in said and "long" in said


def query_terms(parsed: ParsedQuery) -> QueryTerms:
    """Collect the terms of a parsed query: the stems of lexical search, without negated words, names behind aliases."""
    said = words_with_signs(shortened(parsed.point).text)
    if parsed.language == "en":
        content = [(stem(word), word) for word in said if word not in STOP_WORDS]
    else:
        content = [(root, word) for word, root in parsed.stems]
    by_stem: dict[str, str] = {}
    often: dict[str, int] = {}
    for root, word in content:
        by_stem.setdefault(root, word)
        often[root] = often.get(root, 0) + 1
    stems = parsed.terms[:TERMS_MAX]
    beside = parsed.beside()
    return QueryTerms(
        stems=stems,
        words=tuple([by_stem.get(term, term) for term in stems]),
        sequence=tuple([term for term, _ in content]),
        window=parsed.temporal_window,
        asker=_asker(parsed),
        when=not _WHEN.isdisjoint(said) or ("how" in said and "long" in said),
        dating=_asks_when(said),
        worth=tuple([ASIDE if term in beside else 1.0 for term in stems]) if beside else (),
        counts=tuple([often.get(term, 1) for term in stems]),
        role=parsed.asked_role,
        strength=parsed.asked_role_strength,
    )


def _asker(parsed: ParsedQuery) -> tuple[str, ...]:
    for user in parsed.entity_refs:
        if user.stage == IMPLICIT and user.mention:
            break
    else:
        return ()
    own = [] if "@" in user.name else [t.word for t in tokenize(user.name)]  # of an address, words are not the name
    return tuple(dict.fromkeys(stem(word) for word in (*USER_NAMES, *own)))
