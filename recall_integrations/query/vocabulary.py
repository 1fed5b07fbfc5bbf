"""Find the stems of a scope that are close to a word, and their similarities.

**Similarity** is the mean of the optimal string alignment similarity `1 - edits / longer length` (Damerau 1964, with
swaps of neighbours as one edit) and Jaro-Winkler (Winkler 1990), the better of the word and its stem against every way
a stem is written; a single slip of the fingers counts as three quarters of an edit. At .80 it finds clearly more than
alignment alone, which can never accept one edit in four letters, with far fewer wrong ones than Jaro-Winkler alone
(`scripts/measure_spelling.py` compares them).

**Lookup** needs no postings. Every spelling has a 64-bit signature: which letters (modulo 32) occur at least once and
at least twice. An edit changes two bits at most, a swap none, so everything within `d` edits is among the spellings
of near length whose signature differs in at most `2·d` bits; numpy finds these in one pass, rapidfuzz checks them.
Memory is about 70 bytes a stem beside the strings themselves: 3.4 MB for 50,000.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.query.known_words import CANDIDATE_LETTERS_MIN, spellings
from recall_integrations.text import stem

THRESHOLD = 0.80  # least similarity of a correction, as `query.spelling_threshold`
SLIP = 0.75  # edits that a slip of the fingers counts as
LETTERS_MAX = 40
CLOSE_MAX = 16  # matches returned at most

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
    """The stems of one scope with their document frequencies, searchable by similarity to a word.

    Any number of threads may look up while others update.
    """

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
        """Return the stems with a spelling at least `threshold` similar to a word (normal form or stem), best first.

        By falling similarity, then falling frequency, then stem; at most 16. Stems of frequency 0 and the word's own
        stem are left out. A word over 40 letters has no match.
        """
        own = stem(word)
        best: dict[str, Match] = {}
        for typed in dict.fromkeys((word, own)):
            if not CANDIDATE_LETTERS_MIN <= len(typed) <= LETTERS_MAX:
                continue
            for spelling, root, likeness in self._near(typed, threshold):
                frequency = self._frequencies.get(root, 0)
                if frequency > 0 and root != own and (root not in best or likeness > best[root].similarity):
                    best[root] = Match(root, likeness, frequency, spelling)
        return sorted(best.values(), key=lambda m: (-m.similarity, -m.frequency, m.stem))[:CLOSE_MAX]

    def _near(self, typed: str, threshold: float) -> list[tuple[str, str, float]]:
        edits = edits_max(len(typed))
        signature = _signatures([typed])[0]
        entries: list[list[str]] = []
        for differ in range(-edits, edits + 1):
            bucket = self._buckets.get(len(typed) + differ)
            if bucket is not None:
                # Letters put in or left out change one bit; as many edits as the lengths differ are of that kind.
                entries += bucket.within(signature, 2 * edits - abs(differ))
        near = alike(typed, [spelling for spelling, _ in entries], edits, threshold)
        return [(entries[i][0], entries[i][1], likeness) for i, likeness in near]


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
