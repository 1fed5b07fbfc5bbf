"""Find the terms that a query excludes, in a language with tables: `negation` in its file.

The rules are those of English (`query/negation.py`): in doubt nothing is found. A cue stands before its term ("außer
X", "sin X", "除了X"), behind it ("X ausgenommen", "X以外", "X 빼고"), or around it ("nichts mit X zu tun"). Reasons for
a cue to mean something else are in the tables too: idioms, a negation before it, an action behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recall_integrations.languages.phrases import Said, said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.negation_terms import (
    QUOTE_CHARS_MAX,
    QUOTES,
    WESTERN_QUOTES,
    WORDLIKE,
    Terms,
    tokens_in,
)
from recall_integrations.query.by_table.wording import Match, Wording, sentences, wording
from recall_integrations.query.spans import overlap

KNOWN = (
    *("except", "without", "plain", "but", "orders", "after", "around", "not_but"),  # cues
    *("idioms", "nobody", "negatives", "actions", "actions_behind", "openers"),  # what makes them something else
    *("determiners", "prepositions", "links", "joins", "stops", "stop_endings"),
    *("stops_before", "nouns", "trailing", "endings", "join_endings", "closers", "compounds"),  # terms
    *("capitals", "spaces"),
)
CLAUSE_CHARS_MAX = 80  # looked at in front of a cue for another negation

_QUOTED = regex("|".join(f"{a}[^{b}]{{1,{QUOTE_CHARS_MAX}}}{b}" for a, b in WESTERN_QUOTES.items()))
_CLAUSE_END = regex(r"[,;:，、；：]")


_VALUES = ("capitals", "spaces", "endings", "join_endings")  # that are no patterns
_AROUND = ("around", "not_but")  # have the term in them


class Excluded(NamedTuple):
    """A term, and the whole of its exclusion, as spans of the original text."""

    span: Match
    term: Match


class _Cue(NamedTuple):
    kind: str
    start: int
    end: int
    term: Match | None = None  # of a cue around it


def prepare(language: str) -> None:
    """Make the patterns of a language, if it has tables."""
    words = words_of(language)
    words.prepare(_AROUND, lambda: _TERM_SLOT)
    words.prepare(name for name in KNOWN if name not in (*_VALUES, *_AROUND))


def words_of(language: str | None) -> Wording:
    """Return the phrases of a language; none if it has no tables."""
    return wording(language, "negation", KNOWN)


def excluded(text: str, language: str | None) -> list[Excluded]:
    """Return the terms that `text` excludes, in order; nothing if the language has no tables."""
    return _Reader(words_of(language), said(text)).read()


def ends_in_cue(text: str, language: str | None) -> bool:
    """Say whether a text ends in a cue that excludes the date behind it, which is a term only if it is a noun."""
    words = words_of(language)
    heard = said(text).text
    before = heard.rstrip()
    cued = any(words.ends(kind, before) is not None for kind in ("except", "plain", "but"))
    return cued and not words.says("nobody", heard)


class _Reader:
    def __init__(self, words: Wording, read: Said) -> None:
        self.words, self.read_text, self.text = words, read, read.text
        self.terms = Terms(words, read.text)
        self.with_nobody: list[Match] | None = None  # sentences; looked for when a cue is there
        self.quoted = [m.span() for m in _QUOTED.finditer(self.text)]

    def read(self) -> list[Excluded]:
        found: list[Excluded] = []
        reach = 0
        cues = sorted(self._cues(), key=lambda c: (c.start, -c.end))
        if not cues:
            return found
        idioms = list(self.words.found("idioms", self.text))
        for cue in cues:
            if cue.start < reach or _meets(cue.start, cue.end, idioms) or _meets(cue.start, cue.start + 1, self.quoted):
                continue
            if not self._allowed(cue):
                continue
            terms, start, end = self._terms(cue)
            if not terms:
                continue
            reach = end
            for term in terms:
                last = end if cue.kind in ("after", "around", "not_but") else term[1]
                found.append(Excluded(self.read_text.span(start, max(last, term[1])), self.read_text.span(*term)))
        return sorted(found, key=lambda e: e.term)

    def _cues(self) -> Iterator[_Cue]:
        for kind in ("except", "without", "plain", "but", "orders", "after"):
            for start, end in self.words.found(kind, self.text):
                yield _Cue(kind, start, end)
        for kind in _AROUND:
            for match in self.words.pattern(kind, lambda: _TERM_SLOT).finditer(self.text):
                groups = [i for i in range(1, (match.re.groups or 0) + 1) if match.span(i) != (-1, -1)]
                if groups:
                    yield _Cue(kind, match.start(), match.end(), match.span(groups[0]))

    # -- whether a cue excludes ------------------------------------------------------------------------------------

    def _allowed(self, cue: _Cue) -> bool:
        if cue.kind in ("except", "after") and self._nobody(cue):
            return False
        if cue.kind in ("except", "without") and self._negated(cue.start):
            return False
        if cue.kind == "without" and self._acts(cue.end):
            return False
        if cue.kind == "orders":
            return self._opens_clause(cue.start)
        return cue.kind != "but" or self._named(cue.end)

    def _nobody(self, cue: _Cue) -> bool:
        """Say whether the cue is in a sentence with a "nobody": "niemand außer Sam" asks for Sam."""
        if self.with_nobody is None:
            whole = ((start, end) for start, end, _ in sentences(self.read_text))
            self.with_nobody = [(a, b) for a, b in whole if self.words.says("nobody", self.text[a:b])]
        return _meets(cue.start, cue.start + 1, self.with_nobody)

    def _negated(self, start: int) -> bool:
        before = _CLAUSE_END.split(self._sentence_before(start))[-1]
        return self.words.says("negatives", before)

    def _sentence_before(self, start: int) -> str:
        first = max(0, start - CLAUSE_CHARS_MAX)
        return re.split(r"[.?!。？！](?= |$)|[。？！]", self.text[first:start])[-1]

    def _acts(self, end: int) -> bool:
        """Say whether the thing done without is an action: "ohne zu fragen", "sin avisar"."""
        token = next(tokens_in(self.text, end, end + 64), None)
        if token is None or token.capital:
            return False
        return self.terms.is_in("actions", token.text) and not self.terms.is_in("nouns", token.text)

    def _opens_clause(self, start: int) -> bool:
        before = self.text[max(0, start - CLAUSE_CHARS_MAX) : start].rstrip()
        for _ in range(3):
            opener = self.words.ends("openers", before)
            if opener is None:
                break
            before = before[: opener[0]].rstrip()
        return not before or not WORDLIKE.match(before[-1])

    def _named(self, start: int) -> bool:
        """Say whether a noun phrase plainly begins here: an article, a preposition, a name."""
        if not self.terms.spaced:
            return True
        token = next(tokens_in(self.text, start, min(len(self.text), start + 64)), None)
        return token is not None and (
            token.text in QUOTES
            or (WORDLIKE.match(token.text[0]) is not None and token.capital)
            or self.terms.is_in("determiners", token.text)
            or self.terms.is_in("prepositions", token.text)
        )

    # -- terms -----------------------------------------------------------------------------------------------------

    def _terms(self, cue: _Cue) -> tuple[list[Match], int, int]:
        """Return the terms of a cue, and the start and end of cue and terms together."""
        if cue.term is not None:
            checked = cue.kind == "around" or self._named(cue.term[0])
            terms, _ = self.terms.behind(cue.term[0], cue.term[1]) if checked else ([], 0)
            whole = bool(terms) and not WORDLIKE.search(self.text, terms[-1][1], cue.term[1])
            return (terms if whole else []), cue.start, cue.end
        if cue.kind == "after":
            terms = self.terms.before(cue.start)
            return terms, terms[0][0] if terms else cue.start, cue.end
        terms, end = self.terms.behind(cue.end, len(self.text))
        behind = next(tokens_in(self.text, end, end + 64), None)
        if behind is None:
            return terms, cue.start, end
        acts = cue.kind == "without" and self.terms.is_in("actions_behind", behind.text)  # "ohne Anna zu fragen"
        goes_on = cue.kind == "but" and self.terms.spaced and WORDLIKE.match(behind.text)  # "und nicht Lisa hat …"
        if acts or (
            goes_on and not self.terms.is_in("joins", behind.text) and not self.terms.is_in("openers", behind.text)
        ):
            terms = []
        return terms, cue.start, end


def _meets(start: int, end: int, spans: list[Match]) -> bool:
    return any(overlap((start, end), span) for span in spans)


_TERM_SLOT = {"term": r"([^?!;:。？！；：]{1,60}?)"}
