"""Correct typos in a query: an unknown word is *also* read as a close one that the scope's memories use.

    "kestaurant" ─▶ "restaurant": a memory says it       "appointmnet" ─▶ "appointment": no memory says either

Correct words are left alone even if the scope never used them. Of an English word that no memory uses, one slip is
mended, for the vector of "appointmnet" is that of its pieces, which is far from what is meant.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import BUNDLED
from recall_integrations.patterns import regex
from recall_integrations.query.entities.state import ORDINARY_WORDS, is_ordinary
from recall_integrations.text import IRREGULAR, STOP_WORDS, Token, stem
from recall_integrations.text.analyser import stemmed
from recall_integrations.types.query import Correction

LETTERS_MIN = 4  # shorter words have neighbours everywhere
CANDIDATE_LETTERS_MIN = 3

# What English puts behind a word or in front of it, so that a word of the lexicon is left. Not any "s" or "d": what
# fingers double ("breedss") or hit beside ("emotiond") is no form of the word.
_ENDINGS = "ed er ers ing ly ness less ful ment able al ial ary ive or ors".split()
_BEHIND = tuple(
    re.compile(ending + "$")
    for ending in ("(?<![sxzy])s", "(?<=[sxzho])es", "(?<=e)[dr]s?", *_ENDINGS, "ist", "ism", "ups?")
)
_INSTEAD = (("ies", "y"), ("ied", "y"), ("ing", "e"), ("ily", "y"), ("ier", "y"), ("iest", "y"), ("able", "e"))
_BEFORE = regex("^(?:re|un|pre|non|over|under|out|mis|dis|co|super|anti)")
_JOINED_MIN = 4  # letters of either half of a compound


_TOKEN = regex(rf'"([^"\\]{{{LETTERS_MIN},}})":[0-9]')  # of the vocabulary, but for what JSON has to escape


@cache
def lexicon() -> dict[str, int]:
    """Map correctly written words of four letters and more, and irregular verbs, to their rank, the commonest first.

    Read once, 20 ms.
    """
    text = (BUNDLED / "tokenizer.json").read_text(encoding="utf-8")
    # Read as JSON, it would take up ten megabytes for a moment, which the process keeps.
    words = [token for token in _TOKEN.findall(text, text.index('"vocab":')) if token.isalpha()]
    verbs = [word for word in (*IRREGULAR, *IRREGULAR.values()) if len(word) >= CANDIDATE_LETTERS_MIN]
    # Copied, or they would hold the memory around them.
    return {word: rank for rank, word in enumerate("\n".join(dict.fromkeys((*words, *verbs))).split("\n"))}


@cache
def spellings() -> dict[str, tuple[str, ...]]:
    """Map each stem to the lexicon's and ordinary words with it; stems that are their only word are left out."""
    words = sorted(lexicon().keys() | {w for w in ORDINARY_WORDS if len(w) >= LETTERS_MIN and w.isalpha()})
    found: defaultdict[str, list[str]] = defaultdict(list)
    for root, word in zip(stemmed(words), words, strict=True):
        found[root].append(word)
    return {root: tuple(same) for root, same in found.items() if same != [root]}


def is_known(word: str) -> bool:
    """Say whether a normal form is correctly written: in the lexicon, a form of such a word, or two of them joined."""
    words = lexicon()
    if word in words or is_ordinary(word):
        return True
    bare = {_BEFORE.sub("", word), *(ending.sub("", word) for ending in _BEHIND)}
    bare.update(word[: -len(ending)] + instead for ending, instead in _INSTEAD if word.endswith(ending))
    if any(part in words for part in bare):
        return True
    return any(word[:i] in words and word[i:] in words for i in range(_JOINED_MIN, len(word) - _JOINED_MIN + 1))


THRESHOLD = 0.80  # least similarity of a correction, as `query.spelling_threshold`
SLIP = 0.75  # edits that a slip of the fingers counts as
LETTERS_MAX = 40
CLOSE_MAX = 16  # matches returned at most
SLIPPED_LETTERS_MIN, SLIPPED_SIMILARITY = 6, 0.9  # of a word of the lexicon that no memory holds

_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = frozenset(pair for row in _KEYS for a, b in pairwise(row) for pair in ((a, b), (b, a)))


class Match(NamedTuple):
    """A stem of the vocabulary that is close to a word, and its closest spelling."""

    stem: str
    similarity: float
    frequency: int
    spelling: str


class _Bucket:
    """Spellings of one length. Appended to by one writer; readers see the published part."""

    __slots__ = ("_entries", "_room", "signatures")

    def __init__(self) -> None:
        self._room: NDArray[np.uint64] = np.empty(8, dtype=np.uint64)
        self._entries: NDArray[np.object_] = np.empty((8, 2), dtype=object)  # spelling, stem
        self.signatures: NDArray[np.uint64] = self._room[:0]

    def extend(self, entries: Sequence[tuple[str, str]]) -> None:
        start, end = len(self.signatures), len(self.signatures) + len(entries)
        if end > len(self._room):
            size = max(end, 2 * len(self._room))
            room, texts = np.empty(size, dtype=np.uint64), np.empty((size, 2), dtype=object)
            room[:start], texts[:start] = self.signatures, self._entries[:start]
            self._room, self._entries = room, texts
        self._room[start:end] = _signatures([spelling for spelling, _ in entries])
        self._entries[start:end] = entries
        self.signatures = self._room[:end]  # last: what a reader finds here has its entry

    def within(self, signature: np.uint64, bits: int) -> list[list[str]]:
        """Return `[spelling, stem]` of the spellings whose signature differs in at most `bits` bits."""
        near = np.flatnonzero(np.bitwise_count(self.signatures ^ signature) <= bits)
        found: list[list[str]] = self._entries[near].tolist()
        return found


def _signatures(words: Sequence[str]) -> NDArray[np.uint64]:
    """Mark the letters that occur once (low half) and twice (high half) in each of these words of equal length."""
    codes = np.array(words, dtype=np.dtype(f"U{len(words[0])}")).view(np.uint32).reshape(len(words), -1)
    bits = np.uint64(1) << (codes & 31).astype(np.uint64)
    once = np.zeros(len(words), dtype=np.uint64)
    twice = np.zeros(len(words), dtype=np.uint64)
    for column in bits.T:
        twice |= once & column
        once |= column
    found: NDArray[np.uint64] = once | twice << np.uint64(32)
    return found


class Vocabulary:
    """The stems of a scope with their document frequencies, searchable by similarity. Threads may share one."""

    def __init__(self, terms: Iterable[tuple[str, int]] = ()) -> None:
        self._lock = threading.Lock()
        self._frequencies: dict[str, int] = {}
        self._buckets: dict[int, _Bucket] = {}
        self.update(terms)

    def __len__(self) -> int:
        """Return the number of stems ever added, those with frequency 0 included."""
        return len(self._frequencies)

    def frequency(self, term: str) -> int:
        """Return the last known document frequency of a stem; 0 if unknown."""
        return self._frequencies.get(term, 0)

    def update(self, terms: Iterable[tuple[str, int]]) -> None:
        """Add stems or change their document frequency; 0 takes a stem out of the answers."""
        with self._lock:
            fresh: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
            for term, frequency in terms:
                if term not in self._frequencies:
                    for spelling in _written(term):
                        fresh[len(spelling)].append((spelling, term))
                self._frequencies[term] = frequency
            for length, entries in fresh.items():
                if length not in self._buckets:
                    self._buckets[length] = _Bucket()
                self._buckets[length].extend(entries)

    def close_to(self, word: str, *, threshold: float = THRESHOLD) -> list[Match]:
        """Return up to 16 stems in use that are similar to a word: the most similar first, then the commonest."""
        own = stem(word)
        best: dict[str, Match] = {}
        for typed in dict.fromkeys((word, own)):
            if not CANDIDATE_LETTERS_MIN <= len(typed) <= LETTERS_MAX:
                continue
            for spelling, root, likeness in _close(self._buckets, typed, edits_max(len(typed)), threshold):
                frequency = self._frequencies.get(root, 0)
                if frequency > 0 and root != own and (root not in best or likeness > best[root].similarity):
                    best[root] = Match(root, likeness, frequency, spelling)
        return sorted(best.values(), key=lambda m: (-m.similarity, -m.frequency, m.stem))[:CLOSE_MAX]


def _close(buckets: Mapping[int, _Bucket], typed: str, edits: int, threshold: float) -> list[tuple[str, str, float]]:
    """Return the spellings within some edits that reach the threshold, with their stems and similarities."""
    signature = _signatures([typed])[0]
    entries: list[list[str]] = []
    for differ in range(-edits, edits + 1):
        bucket = buckets.get(len(typed) + differ)
        if bucket is not None:
            # Letters put in or left out change one bit; as many edits as the lengths differ are of that kind.
            entries += bucket.within(signature, 2 * edits - abs(differ))
    near = alike(typed, [spelling for spelling, _ in entries], edits, threshold)
    return [(entries[i][0], entries[i][1], likeness) for i, likeness in near]


@cache
def _lexicon_by_length() -> dict[int, _Bucket]:
    """Return the lexicon as buckets."""
    buckets: defaultdict[int, _Bucket] = defaultdict(_Bucket)
    for length, words in groupby(sorted(lexicon(), key=len), len):
        buckets[length].extend([(word, word) for word in words])
    return dict(buckets)


def slipped(word: str, threshold: float = SLIPPED_SIMILARITY) -> Match | None:
    """Return the commonest word of the lexicon that one slip made into a long word that nobody knows."""
    if not SLIPPED_LETTERS_MIN <= len(word) <= LETTERS_MAX:
        return None
    near = [one for one, _, _ in _close(_lexicon_by_length(), word, 1, max(threshold, SLIPPED_SIMILARITY))]
    found = min(near, key=lexicon().__getitem__, default=None)
    return None if found is None else Match(stem(found), similarity(word, found), 0, found)


def alike(word: str, texts: Sequence[str], edits: int, threshold: float) -> list[tuple[int, float]]:
    """Return the place and the similarity of the texts within some edits of a word that reach the threshold."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    near = process.extract(word, texts, scorer=OSA.distance, score_cutoff=edits, limit=None)
    return [(i, likeness) for text, _, i in near if (likeness := similarity(word, text)) >= threshold]


def _written(term: str) -> list[str]:
    """Return the ways a stem is written, in order: itself, and the words of the lexicon that have it."""
    if any(map(str.isdigit, term)):
        return []
    written = {term, *spellings().get(term, ())}
    return sorted(s for s in written if CANDIDATE_LETTERS_MIN <= len(s) <= LETTERS_MAX)


def worded(word: str, match: Match) -> Match:
    """Replace the stem in a match by its word closest to `word`, if the stem itself was closest ("invoic")."""
    words = spellings().get(match.stem, ())
    if not words or match.spelling in words:
        return match
    likeness, spelling = min((-similarity(word, w), w) for w in words)
    # Only the stem can be equal to the word: "databas" is no way to write "database".
    return match._replace(spelling=spelling, similarity=-likeness if match.similarity == 1 else match.similarity)


def edits_max(letters: int) -> int:
    """Return the number of edits within which spellings of a word of so many letters are looked for."""
    return 1 if letters < 6 else 2 if letters < 11 else 3


def similarity(one: str, other: str) -> float:
    """Return the mean of optimal string alignment similarity and Jaro-Winkler, in [0, 1]; 1 for equal words only.

    A single slip of the fingers counts as `SLIP` edits: a swap, a neighbouring key, a letter doubled or not.
    """
    from rapidfuzz.distance import OSA, JaroWinkler

    edits = float(OSA.distance(one, other))
    if edits == 1 and _is_slip(one, other):
        edits = SLIP
    aligned = 1 - edits / max(len(one), len(other), 1)
    return round((aligned + JaroWinkler.normalized_similarity(one, other)) / 2, 6)


def _is_slip(one: str, other: str) -> bool:
    """Say whether two words that are one edit apart differ by a slip of the fingers."""
    if len(one) != len(other):
        return [letter for letter, _ in groupby(one)] == [letter for letter, _ in groupby(other)]
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(differ) == 2 or differ[0] in _NEIGHBOURS


NAME_SIMILARITY = 0.88  # from which a word written as a name may be meant as another one
WORDS_MAX = 16  # unknown words of one query that are looked up: bounds the cost of hostile ones

_STOP_WORDS = sorted(w for w in STOP_WORDS if len(w) >= CANDIDATE_LETTERS_MIN)
_IDENTIFIER = frozenset("_@#/\\=$%&+<>{}[]|~^`")  # next to a word, they make it a part of something that is not prose
_JOINTS = frozenset(".:-")  # the same, if a letter or digit follows: "foo.bar", "std::sort"
_HYPHENATED = regex(r"[^\W\d_]+-[^\W\d_]+")  # prose ("low-impact"); longer chains and digits are identifiers
_CHAIN = regex(r"[^\s,;!?\"“”()]+")
_CHAIN_MAX = 128  # characters

IsName = Callable[[str], bool]


def unknown(
    text: str, tokens: Sequence[Token], frequency: Callable[[str], int], is_name: IsName | None = None
) -> list[Token]:
    """List the first `WORDS_MAX` words unknown to the scope, as a name, and to the lexicon; none twice."""
    found: dict[str, Token] = {}
    for token in tokens:
        word = token.word
        if word in found or not LETTERS_MIN <= len(word) <= LETTERS_MAX or not word.isalpha() or word in STOP_WORDS:
            continue
        if frequency(stem(word)) > 0 or (is_name is not None and is_name(word)) or is_known(word):
            continue
        if any(map(str.isupper, _as_written(text, token)[1:])):  # an acronym or an identifier
            continue
        if not _is_identifier(text, token):
            found[word] = token
    return list(found.values())[:WORDS_MAX]


def _as_written(text: str, token: Token) -> str:
    return token.word if text.isupper() else text[token.start : token.end]


class Speller:
    """Corrects the words of a scope's queries. Threads may share one."""

    def __init__(self, vocabulary: Vocabulary, *, threshold: float = THRESHOLD) -> None:
        self.vocabulary, self._threshold = vocabulary, threshold

    def corrections(
        self, text: str, tokens: Sequence[Token], *, is_name: IsName | None = None, english: bool = True
    ) -> tuple[Correction, ...]:
        """Return second readings of a query's words, in order, one a word; the first 16 unknown words are looked up.

        `english`: the query is English, so that a slip in a word that no memory holds is one of an English word.
        """
        found: dict[str, Correction] = {}
        for token in unknown(text, tokens, self.vocabulary.frequency, is_name):
            written = _as_written(text, token)
            capital, first = written[:1].isupper(), _begins_sentence(text, token.start)
            allowed = partial(_allowed, is_name=is_name, capital=capital, first=first)
            best = self._best(token.word, allowed, english=english and not capital)
            if best is None:
                continue
            found[token.word] = Correction(
                word=token.word,
                stem=stem(token.word),
                correction=best.stem,
                spelling=best.spelling,
                similarity=best.similarity,
                frequency=best.frequency,
            )
        return tuple(found.values())

    def _best(self, word: str, allowed: Callable[[Match], bool], *, english: bool) -> Match | None:
        close = self.vocabulary.close_to(word, threshold=self._threshold)
        if not close:
            return slipped(word, self._threshold) if english else None
        best = next((match for match in (worded(word, one) for one in close) if allowed(match)), None)
        if best is None:
            return None
        # A stop word may be at least as close: "wtih" is "with", not "width".
        stops = alike(word, _STOP_WORDS, edits_max(len(word)), best.similarity)
        return None if stops else best


def _allowed(match: Match, is_name: IsName | None, *, capital: bool, first: bool) -> bool:
    """Say whether a word written so, in this place, may be meant as the match.

    Names of the scope are for the entity cascade, but not the ordinary words in them ("Backend Database Team").
    """
    if is_name is not None and is_name(match.spelling) and not is_known(match.spelling):
        return False
    if not capital or (first and is_ordinary(match.spelling)):
        return True
    return match.similarity >= NAME_SIMILARITY and not is_ordinary(match.spelling)


def corrected_query(text: str, tokens: Sequence[Token], corrections: Iterable[Correction]) -> str:
    """Return the query with corrected words replaced by their spelling, to embed it as a second reading."""
    meant = {c.word: c.spelling for c in corrections}
    for token in sorted(tokens, key=lambda t: -t.start):
        if token.word in meant:
            text = text[: token.start] + meant[token.word] + text[token.end :]
    return text


def _is_identifier(text: str, token: Token) -> bool:
    """Say whether the characters around a word make it a part of a path, an address, a variable."""
    before, after = text[max(0, token.start - 1) : token.start], text[token.end : token.end + 1]
    if before in _IDENTIFIER or after in _IDENTIFIER:
        return True
    joined_on = after in _JOINTS and text[token.end + 1 : token.end + 2].isalnum()
    joined_to = before in _JOINTS and token.start > 1 and not text[token.start - 2].isspace()
    if not (joined_on or joined_to):
        return False
    reach = _CHAIN.finditer(text, max(0, token.start - _CHAIN_MAX), token.end + _CHAIN_MAX)
    chain = next(m for m in reach if m.end() >= token.end)
    return _HYPHENATED.fullmatch(chain.group().rstrip(".:'’")) is None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(¿¡")
    return not before or before[-1] in ".!?:;\n…"
