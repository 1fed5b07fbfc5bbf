"""Words as numbers: what the ranking features compare instead of strings.

A `Lexicon` gives every content word (a normal form of `text.tokenize` that is no stop word) an id, every stem a number
of its own, and keeps a unit vector per word: the bundled static model's vector of the word on its own, whatever
embedding a store uses. Ids are only ever added, so columns that hold them stay valid; one lexicon serves all scopes of
a process. Words of queries (`QueryTerms`) are looked up, never added: what people ask must not fill the memory.

Vectors are kept as int8 with a factor per row (260 bytes a word); the rounding moves a cosine by about 0.002.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import bundled
from recall_integrations.indexes.letter_runs import RunTable
from recall_integrations.query.features import IMPLICIT
from recall_integrations.text import STOP_WORDS, content, stem, tokenize, without_marks
from recall_integrations.text.by_language import LOOK, SEP
from recall_integrations.types import ParsedQuery, TemporalWindow
from recall_integrations.types.roles import Role

Number = TypeVar("Number", bound=np.generic)
Ids = NDArray[np.int32]
Vectors = NDArray[np.float32]
AT_ONCE = 8_192  # words embedded in one call
FEW = 32
BLOCK = 128  # vectors compared at a time
PRODUCT_MAX = 250_000  # multiplications in one matrix product; OpenBLAS starts threads from 262,144

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
_YEAR = re.compile(r"(?:19|20)\d\d")


def content_words(text: str, language: str | None = LOOK) -> list[str]:
    """`text.content`: normal forms of words that are no stop words, with their stems where those are not English."""
    return content(text, language)


def _rounded(made: Vectors) -> tuple[Vectors, Vectors]:
    """Unit vectors as whole numbers up to 127, and the factor of each that makes it a unit vector again."""
    top = np.maximum(np.abs(made).max(axis=1, initial=0.0) / 127, 1e-12).astype(np.float32)
    rows = np.rint(made / top[:, None])
    norms = np.sqrt((rows**2).sum(axis=1))
    return rows, np.where(norms > 0, 1 / np.maximum(norms, 1e-12), 0).astype(np.float32)


class Lexicon:
    """Content words, their stems and their vectors. Threads may share one.

    Args:
        embedding: gives a unit vector per word. Default: the bundled static model.
    """

    def __init__(self, embedding: Embedding | None = None) -> None:
        self._embedding = bundled() if embedding is None else embedding
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._words: list[str] = []
        self._stem_ids: dict[str, int] = {}
        self._stem_texts: list[str] = []
        self._marked: dict[str, tuple[str, ...]] = {}  # stems with accents and the like, by what they are without
        self._stems: Ids = np.empty(1_024, dtype=np.int32)
        self._dated: NDArray[np.bool_] = np.empty(1_024, dtype=np.bool_)
        self._rows: NDArray[np.int8] = np.empty((0, self._embedding.dimensions), dtype=np.int8)
        self._factors: Vectors = np.empty(0, dtype=np.float32)
        self._ready = 0  # words that have a vector: the first so many
        self.runs = RunTable(self.word)

    def __len__(self) -> int:
        return len(self._words)

    def ids_of(self, words: Iterable[str]) -> Ids:
        """Ids of `words`, in order; a word that is new gets the next id.

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
        """The word of an id."""
        return self._words[id]

    def stem_of(self, term: str) -> int:
        """Number of a stem given as text; -1 where no word of the lexicon has it."""
        return self._stem_ids.get(term, -1)

    def alike(self, term: str) -> tuple[str, ...]:
        """Other stems that differ from this one by accents alone: "lucía" for "lucia" and the other way round.

        Of whatever scope: a caller has to ask his own which of them its memories hold.
        """
        plain = without_marks(term)
        found = self._marked.get(plain, ())
        return tuple(sorted({*found, plain} - {term})) if found or plain != term else ()

    def stem_text(self, number: int) -> str:
        """The stem of a number."""
        return self._stem_texts[number]

    @property
    def stems(self) -> Ids:
        """Number of the stem of each word id, so that words of one stem compare as equal numbers."""
        return self._stems[: len(self._words)]

    @property
    def dated(self) -> NDArray[np.bool_]:
        """Whether each word id is a word of dates: a month, a weekday, "yesterday", a year."""
        return self._dated[: len(self._words)]

    def vectors(self, ids: Ids) -> Vectors:
        """Unit rows `(len(ids), dimensions)`; 0 for a word that the static model cannot spell."""
        rows, factors = self._prepared(ids)
        return np.asarray(rows[ids].astype(np.float32) * factors[ids, None], dtype=np.float32)

    def vectors_of(self, words: Sequence[str]) -> Vectors:
        """Unit rows of words that need not be in the lexicon, and are not added to it.

        Rounded like those that are: whether somebody else's memories hold a word changes nothing.
        """
        rows, factors = self._whole(words)
        return rows * factors[:, None]

    def _whole(self, words: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Rows of whole numbers and their factors, as `_rounded` makes them."""
        ids = np.asarray([self._ids.get(word, -1) for word in words], dtype=np.int32)
        known = (ids >= 0) & (ids < self._ready)
        rows = np.empty((len(words), self._embedding.dimensions), dtype=np.float32)
        factors = np.empty(len(words), dtype=np.float32)
        rows[known], factors[known] = self._rows[ids[known]], self._factors[ids[known]]
        missing = np.flatnonzero(~known)
        if len(missing):
            rows[missing], factors[missing] = _rounded(self._embed([words[i] for i in missing.tolist()]))
        return rows, factors

    def cosines(self, ids: Ids, words: Sequence[str]) -> Vectors:
        """Cosine of each word of a query with each word of the lexicon, `(len(words), len(ids))`.

        Sums of products of whole numbers are exact, in whatever order they are made: a cosine is the same whatever else
        the lexicon holds, and whoever brought it.
        """
        rows, factors = self._prepared(ids)
        asked, own = self._whole(words)
        gathered, columns = rows[ids], np.ascontiguousarray(asked.T)
        out = np.empty((len(ids), len(words)), dtype=np.float32)
        # In blocks that stay in the processor's cache, and too small for BLAS to wake its threads.
        step = max(8, min(BLOCK, PRODUCT_MAX // max(asked.size, 1)))
        for start in range(0, len(ids), step):
            np.matmul(gathered[start : start + step].astype(np.float32), columns, out=out[start : start + step])
        return np.asarray((out * factors[ids, None]).T, order="C") * own[:, None]

    def prepare(self) -> None:
        """Compute the vectors that are still missing, so that no query has to wait for them."""
        if self._ready == len(self._words):
            return
        with self._lock:
            while self._ready < len(self._words):
                first, last = self._ready, min(len(self._words), self._ready + AT_ONCE)
                made = self._embed(self._words[first:last])
                if last > len(self._rows):
                    size = max(last, 2 * len(self._rows), 1_024)
                    self._rows = grown(self._rows, first, size)
                    self._factors = grown(self._factors, first, size)
                self._rows[first:last], self._factors[first:last] = _rounded(made)
                self._ready = last

    def _embed(self, words: list[str]) -> Vectors:
        if len(words) > FEW:
            return self._embedding.embed_documents(words)
        # One at a time: a batch would start the tokenizer's worker threads for a word or two.
        return np.concatenate([self._embedding.embed_documents([word]) for word in words])

    def _prepared(self, ids: Ids) -> tuple[NDArray[np.int8], Vectors]:
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
                    self._stems = grown(self._stems, at, 2 * at)
                    self._dated = grown(self._dated, at, 2 * at)
                said, _, root = word.partition(SEP)
                root = root or stem(said)
                number = self._stem_ids.get(root)
                if number is None:
                    number = len(self._stem_texts)
                    self._stem_texts.append(root)
                    self._stem_ids[root] = number
                    if (plain := without_marks(root)) != root:
                        self._marked[plain] = (*self._marked.get(plain, ()), root)
                self._stems[at] = number
                self._dated[at] = said in DATE_WORDS or _YEAR.fullmatch(said) is not None
                self._words.append(said)
                self._ids[word] = at  # last: who finds the word here may use everything above without the lock


@cache
def shared() -> Lexicon:
    """The lexicon of this process."""
    return Lexicon()


def grown(old: NDArray[Number], used: int, size: int) -> NDArray[Number]:
    """A buffer of `size` rows that begins with the first `used` of `old`."""
    new = np.empty((size, *old.shape[1:]), dtype=old.dtype)
    new[:used] = old[:used]
    return new


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """What the features need of a query.

    Args:
        stems: distinct stems to look for.
        words: a word for each of them, for its vector; the stem itself where the query does not say it.
        sequence: stems of the content words in the order of the text, for pairs.
        window: the time it speaks of.
        asker: where the query speaks in the first person, stems that the actor's name may hold who asks.
        when: whether it asks for a time.
        counts: how often the query says each of the stems, at least 1; empty = once each.
        role: whose words it asks for, with `strength` in [0, 1]; `None` = nobody's in particular.
    """

    stems: tuple[str, ...]
    words: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    window: TemporalWindow | None = None
    asker: tuple[str, ...] = ()
    when: bool = False
    counts: tuple[int, ...] = ()
    role: Role | None = None
    strength: float = 0.0


def query_terms(parsed: ParsedQuery) -> QueryTerms:
    """From a parsed query: stems are those lexical search looks for (no negated words, names behind aliases)."""
    said = [t.word for t in tokenize(parsed.original)]
    if parsed.language == "en":
        content = [(stem(word), word) for word in said if word not in STOP_WORDS]
    else:
        content = [(root, word) for word, root in parsed.stems]
    by_stem = dict(reversed(content))
    stems = parsed.terms[:TERMS_MAX]
    heard = set(said)
    often = Counter(term for term, _ in content)
    return QueryTerms(
        stems=stems,
        words=tuple(by_stem.get(term, term) for term in stems),
        sequence=tuple(term for term, _ in content),
        window=parsed.temporal_window,
        asker=_asker(parsed),
        when=not heard.isdisjoint(_WHEN) or {"how", "long"} <= heard,
        counts=tuple(max(often[term], 1) for term in stems),
        role=parsed.asked_role,
        strength=parsed.asked_role_strength,
    )


def _asker(parsed: ParsedQuery) -> tuple[str, ...]:
    user = next((r for r in parsed.entity_refs if r.stage == IMPLICIT and r.mention), None)
    if user is None:
        return ()
    own = [] if "@" in user.name else [t.word for t in tokenize(user.name)]  # of an address, words are not the name
    return tuple(dict.fromkeys(stem(word) for word in (*USER_NAMES, *own)))
