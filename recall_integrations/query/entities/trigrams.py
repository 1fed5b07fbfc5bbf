"""Find words within a typo or two of a given one, by shared trigrams.

A word of n letters, with a mark at either end, has n trigrams. An edit (a letter put in, left out or replaced)
changes at most three of them, so a word d edits away shares one of any 3·d + 1. It is enough to look at the 3·d + 1
rarest trigrams, among words whose length differs by at most d; two neighbouring letters swapped would change four,
so swaps are looked up directly. The candidates are checked by optimal string alignment distance (rapidfuzz).

Trigram postings for approximate matching: Ukkonen, "Approximate string-matching with q-grams", 1992; prefix filter:
Chaudhuri, Ganti & Kaushik, "A primitive operator for similarity joins", 2006.
"""

from __future__ import annotations

from itertools import chain

from rapidfuzz import process
from rapidfuzz.distance import OSA

LETTERS_MIN = 4  # shorter words have neighbours everywhere
LETTERS_TWO_EDITS = 8  # from this length on two edits are looked for
LETTERS_MAX = 40
FOUND_KEPT = 1_024  # words whose similar ones are kept: many queries ask for the same
CANDIDATES_MAX = 4_000  # words compared for one query word: bounds the cost on hostile vocabularies


class TrigramIndex:
    """A set of words that finds those similar to a given one. Words can be added, not removed."""

    __slots__ = ("_found", "_postings", "_words")

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._postings: dict[tuple[int, str], list[str]] = {}
        # Answers with the number of words at that time: words are only added, so an equal number means no change.
        self._found: dict[str, tuple[int, list[tuple[str, int]]]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def add(self, word: str) -> None:
        """Index a normal form, unless it is a number or too short or long to be taken for another."""
        if word in self._words or not is_searchable(word):
            return
        length, marked = len(word), f"^{word}$"
        postings = self._postings
        for i in range(length):
            key = (length, marked[i : i + 3])
            found = postings.get(key)
            if found is None:
                postings[key] = [word]
            elif found[-1] is not word:  # "nananana" has the same trigram twice
                found.append(word)
        self._words.add(word)

    def similar(self, word: str, limit: int = 6) -> list[tuple[str, int]]:
        """Return indexed words one edit from `word`, or two if it is long, nearest first, then alphabetical.

        A word with digits is only similar to one with the same digits: "Inbox3" is not a typo of "Inbox4".
        Returns pairs of word and distance, `limit` at most; `word` itself is not among them.
        """
        if not is_searchable(word):
            return []
        known = len(self._words)
        kept = self._found.get(word)
        if kept is None or kept[0] != known:
            if len(self._found) >= FOUND_KEPT:
                self._found = {}
            kept = self._found[word] = known, self._similar(word)
        return kept[1][:limit]

    def _similar(self, word: str) -> list[tuple[str, int]]:
        edits = 2 if len(word) >= LETTERS_TWO_EDITS else 1
        candidates = self._candidates(word, edits)
        found = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=edits, limit=None)
        digits = _digits(word)
        near = [(text, int(distance)) for text, distance, _ in found if distance and _digits(text) == digits]
        near.sort(key=lambda pair: (pair[1], pair[0]))
        return near

    def _candidates(self, word: str, edits: int) -> list[str]:
        length, marked, words = len(word), f"^{word}$", self._words
        lengths = range(length - edits, length + edits + 1)
        postings = self._postings
        grams = []
        for gram in {marked[i : i + 3] for i in range(length)}:
            lists = [p for n in lengths if (p := postings.get((n, gram))) is not None]
            grams.append((sum(map(len, lists)), gram, lists))
        grams.sort(key=lambda entry: entry[:2])
        chosen = grams[: 3 * edits + 1]
        found = {swapped for i in range(length - 1) if (swapped := _swapped(word, i)) in words}
        room = CANDIDATES_MAX
        for size, _, lists in chosen:
            if size > room:
                break
            room -= size
            found.update(chain.from_iterable(lists))
        return list(found)


def is_searchable(word: str) -> bool:
    """Say whether a word can be taken for a misspelt other one."""
    return LETTERS_MIN <= len(word) <= LETTERS_MAX and sum(map(str.isalpha, word)) >= LETTERS_MIN - 1


def _swapped(word: str, i: int) -> str:
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _digits(word: str) -> str:
    return "".join(filter(str.isdigit, word)) if not word.isalpha() else ""
