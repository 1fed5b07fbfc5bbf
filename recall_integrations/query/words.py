"""The words of a query in its language: which are looked for, and by which stems.

A stem that no memory holds is looked for in other forms of the word: those of English, of the scope's languages, and
without accents. The first form held takes its place, others count less (`weaker`). English asked of English has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from recall_integrations.text import STOP_WORDS, Token, stem, stop_words
from recall_integrations.text.analyser import signs
from recall_integrations.text.by_language import LOOK, says_nothing, spoken
from recall_integrations.text.detection import NO_LANGUAGES, OTHER_SCRIPT, STRAY, Spoken, detect_language

Span = tuple[int, int]
Spans = Sequence[Span]


def place_of(token: Token) -> Span:
    """Return the place of a word."""
    return token.start, token.end


def overlap(span: Span, other: Span) -> bool:
    """Say whether two places share a character."""
    return span[0] < other[1] and other[0] < span[1]


def inside(token: Token, spans: Spans) -> bool:
    """Say whether a word begins in one of the places."""
    return any(start <= token.start < end for start, end in spans)


def starts_inside(tokens: Sequence[Token], spans: Spans) -> set[int]:
    """Return the starts of the tokens, in order, that lie in a span; in one pass, for there may be thousands."""
    inside: set[int] = set()
    if not spans:
        return inside
    merged = sorted(spans)
    at, reach = 0, 0
    for token in tokens:
        while at < len(merged) and merged[at][0] <= token.start:
            reach = max(reach, merged[at][1])
            at += 1
        if token.start < reach:
            inside.add(token.start)
    return inside


SHORT = 4  # words of a query below which its own language is hardly told
SURE = 0.7  # confidence from which a query is in a language that no memory is in
MEMORIES_MIN = 10  # of a scope, before it is said to be in another language than the query


def _nothing(_term: str) -> Sequence[str]:
    return ()


class QueryWords:
    """The reading of the words of one query."""

    def __init__(
        self,
        text: str,
        frequency: Callable[[str], int] = lambda _term: 0,
        memories: int = 0,
        alike: Callable[[str], Sequence[str]] = _nothing,
        language: str | None = LOOK,
        scope: Spoken = NO_LANGUAGES,
    ) -> None:
        self._asked = frequency
        self._deaf = False  # whether the index has failed to answer
        self._memories = memories
        self._scope = scope
        self._alike = alike
        self._told: str | None = None if language == LOOK else language  # by the query itself
        self.language = self._language(text) if language == LOOK else None if language == "en" else language
        self.tokens: list[Token] = spoken(text, self.language)
        self.signs = signs(text)
        self._stops = stop_words(self.language)
        self.stopped = self._stopped()
        self._plain = self.language is None and not scope.languages  # English, asked of English
        self._stems: dict[str, str] = {}
        self._weaker: dict[str, tuple[str, ...]] = {}

    def stem(self, word: str) -> str:
        """Return the stem that a normal form is looked for by."""
        found = self._stems.get(word)
        if found is None:  # kept by no function of its own: what holds itself lives until a collection, and its view
            found = self._stems[word] = self._look(word)
        return found

    def _stopped(self) -> frozenset[str]:
        """Return the words of the text that are not looked for."""
        said = frozenset([word for word, _, _ in (*self.tokens, *self.signs)])
        stops = said & self._stops
        if self.language is None:
            return stops
        english = STOP_WORDS if not any(c.isascii() for c in self._stops) else frozenset()
        return stops | {w for w in said if (w.isascii() and w in english) or says_nothing(w, self.language)}

    def weaker(self, word: str) -> tuple[str, ...]:
        """Return stems of other forms of a word that memories hold."""
        self.stem(word)
        return self._weaker.get(word, ())

    def is_settled(self, word: str) -> bool:
        """Say whether a memory has the word in a form that the rules of English do not lead to."""
        own = self.stem(word)
        return (self.language is not None or own != stem(word)) and self._frequency(own) > 0

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the scope's memories, besides English: the leading one, then the commonest first."""
        return self._scope.languages

    @cached_property
    def memories_in(self) -> str | None:
        """Language of most memories, if hardly any is in that of the query; else `None`."""
        if self._told is None or self._memories < MEMORIES_MIN:
            return None
        counts = {code: self._scope.memories_in(code) for code in (*self.languages, "en")}
        if counts.get(self._told, 0) > STRAY * self._memories:
            return None
        return min(counts, key=lambda code: (-counts[code], code))

    def _frequency(self, term: str) -> int:
        if self._deaf:
            return 0
        try:
            return self._asked(term)
        except Exception:  # noqa: BLE001 - the words are then read without the scope; who needs the count is told
            self._deaf = True
            return 0

    def _language(self, text: str) -> str | None:
        code, confidence = detect_language(text)
        main = self._scope.leading_with(text)
        short = len(text.split()) < SHORT and not OTHER_SCRIPT.search(text)
        if self._memories and code not in (None, "en", main, *self.languages) and (short or confidence < SURE):
            code = None  # "cat food" may be Romanian, "Hace dos cafés" Portuguese, but not where nobody writes it
        elif code == "en" and short and main is not None:
            code = None  # "hotel sin patio"
        self._told = code
        if code is None:
            code = main
        return None if code == "en" else code

    def _look(self, word: str) -> str:
        own = stem(word, self.language)
        if self._plain and not self._alike(own):  # nearly every word of a query in English
            return own
        others: dict[str, None] = {} if self.language is None else {stem(word): None}
        asked = bool(self.languages) and not word.isdigit()
        if not asked and not others and not self._alike(own):
            return own
        held = self._frequency(own) > 0
        if held and not others and not self._alike(own):
            return own
        if asked and not held:
            others.update((stem(word, code), None) for code in self.languages)
        for form in (own, *others):
            others.update(dict.fromkeys(self._alike(form)))
        others.pop(own, None)
        there = tuple(form for form in others if self._frequency(form) > 0)
        best = own if held or not there else there[0]
        self._weaker[word] = there if best == own else there[1:]
        return best
