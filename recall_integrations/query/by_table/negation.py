"""What a query excludes, in a language with tables: `negation` in its file.

The rules are those of English (`query/negation.py`): in doubt nothing is found. A cue stands before its term ("außer
X", "sin X", "除了X"), behind it ("X ausgenommen", "X以外", "X 빼고"), or around it ("nichts mit X zu tun"). What makes
a cue say something else is in the tables too: idioms, a negation before it, an action behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recall_integrations.languages.phrases import LETTER, UNSPACED, Said, said
from recall_integrations.query.by_table.wording import Match, Wording, sentences, wording

KNOWN = (
    *("except", "without", "plain", "but", "orders", "after", "around", "not_but"),  # cues
    *("idioms", "nobody", "negatives", "actions", "actions_behind", "openers"),  # what makes them something else
    *("determiners", "prepositions", "links", "joins", "stops", "stop_endings"),
    *("stops_before", "nouns", "trailing", "endings", "join_endings", "closers", "compounds"),  # terms
    *("capitals", "spaces"),
)
TERM_WORDS_MAX = 5
TERM_CHARS_MAX = 20  # of scripts without spaces
LIST_ITEMS_MAX = 8
QUOTE_CHARS_MAX = 200
CLAUSE_CHARS_MAX = 80  # looked at in front of a cue for another negation

_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`", "「": "」", "『": "』", "《": "》"}
_QUOTED = re.compile("|".join(f"{a}[^{b}]{{1,{QUOTE_CHARS_MAX}}}{b}" for a, b in _QUOTES.items() if a not in "「『《"))
_TOKEN = re.compile(rf"(?:(?<![^\s(])\.(?=[A-Za-z]))?{LETTER}+(?:[.&+/\-‑@]{LETTER}+)*(?:\+\+|#|(?<=\b\w)\+)?'?|[^\s]")
_LATIN = r"[A-Za-zÀ-ɏ0-9][A-Za-zÀ-ɏ0-9.'&/\-]*(?:\+\+|#)?"
_RUN = re.compile(rf"{_LATIN}(?: {_LATIN})*|[{UNSPACED}ー々]")
_LATIN_RUN = re.compile(rf"{_LATIN}(?: {_LATIN})*")
_CLAUSE_END = re.compile(r"[,;:，、；：]")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_WORDLIKE = re.compile(LETTER)


class Excluded(NamedTuple):
    """A term, and all that belongs to its exclusion, as spans of the original text."""

    span: Match
    term: Match


class _Cue(NamedTuple):
    kind: str
    start: int
    end: int
    term: Match | None = None  # of a cue around it


class _Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        return self.text[0].isupper() or not self.text.isalpha()  # "node.js" and "C++" are names, too


def excluded(text: str, language: str | None) -> list[Excluded]:
    """The terms that `text` excludes, in order; nothing where the language has no tables."""
    words = wording(language, "negation", KNOWN)
    return [] if words is None else _Reader(words, said(text)).read()


def ends_in_cue(text: str, language: str | None) -> bool:
    """Whether a text ends in words that leave out what follows: a date, which is a term only where it is a noun."""
    words = wording(language, "negation", KNOWN)
    if words is None:
        return False
    read = said(text)
    end = len(read.text.rstrip())
    found = [m for kind in ("except", "plain", "but") for m in words.found(kind, read.text[:end])]
    return any(m[1] == end for m in found) and not words.says("nobody", read.text)


class _Reader:
    def __init__(self, words: Wording, read: Said) -> None:
        self.words, self.read_text, self.text = words, read, read.text
        self.spaced = bool(words.section.get("spaces", True))
        self.capitals = bool(words.section.get("capitals", False))
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
        for kind in ("around", "not_but"):
            wanted = self.words.pattern(kind, lambda: _TERM_SLOT)
            for match in () if wanted is None else wanted.finditer(self.text):
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
        """ "Niemand außer Sam" asks for Sam, wherever the "niemand" stands."""
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
        """Whether what is done without is an action: "ohne zu fragen", "sin avisar"."""
        token = next(_tokens(self.text, end, end + 64), None)
        if token is None or token.capital:
            return False
        return self._is("actions", token.text) and not self._is("nouns", token.text)

    def _opens_clause(self, start: int) -> bool:
        before = self.text[max(0, start - CLAUSE_CHARS_MAX) : start].rstrip()
        openers = self.words.pattern("openers")
        for _ in range(3):
            match = (
                None if openers is None else next((m for m in openers.finditer(before) if m.end() == len(before)), None)
            )
            if match is None:
                break
            before = before[: match.start()].rstrip()
        return not before or not _WORDLIKE.match(before[-1])

    def _named(self, start: int) -> bool:
        """Whether a noun phrase plainly begins here: an article, a preposition, a name."""
        if not self.spaced:
            return True
        token = next(_tokens(self.text, start, min(len(self.text), start + 64)), None)
        return token is not None and (
            token.text in _QUOTES
            or (_WORDLIKE.match(token.text[0]) is not None and token.capital)
            or self._is("determiners", token.text)
            or self._is("prepositions", token.text)
        )

    def _is(self, name: str, word: str) -> bool:
        wanted = self.words.pattern(name)
        return wanted is not None and wanted.fullmatch(word) is not None

    # -- terms -----------------------------------------------------------------------------------------------------

    def _terms(self, cue: _Cue) -> tuple[list[Match], int, int]:
        """The terms of a cue, and from where to where cue and terms reach."""
        if cue.term is not None:
            checked = cue.kind == "around" or self._named(cue.term[0])
            terms, _ = self._forward(cue.term[0], cue.term[1]) if checked else ([], 0)
            whole = bool(terms) and not _WORDLIKE.search(self.text, terms[-1][1], cue.term[1])
            return (terms if whole else []), cue.start, cue.end
        if cue.kind == "after":
            terms = self._backward(cue.start) if self.spaced else self._run_before(cue.start)
            return terms, terms[0][0] if terms else cue.start, cue.end
        terms, end = self._forward(cue.end, len(self.text))
        behind = next(_tokens(self.text, end, end + 64), None)
        if behind is None:
            return terms, cue.start, end
        acts = cue.kind == "without" and self._is("actions_behind", behind.text)  # "ohne Anna zu fragen"
        goes_on = cue.kind == "but" and self.spaced and _WORDLIKE.match(behind.text)  # "und nicht Lisa hat …"
        if acts or (goes_on and not self._is("joins", behind.text) and not self._is("openers", behind.text)):
            terms = []
        return terms, cue.start, end

    def _forward(self, start: int, stop: int) -> tuple[list[Match], int]:
        return self._phrases(start, stop) if self.spaced else self._run_after(start, stop)

    def _phrases(self, start: int, stop: int) -> tuple[list[Match], int]:
        """The noun phrase at `start` and those joined to it."""
        tokens = list(_tokens(self.text, start, min(stop, start + 400)))
        first = self._phrase(tokens, 0)
        if first is None:
            return [], start
        (term, at), terms = first, [first[0]]
        pending: list[Match] = []
        while len(terms) + len(pending) < LIST_ITEMS_MAX and at < len(tokens):
            comma = tokens[at].text == ","
            joined = at + comma
            closes = joined < len(tokens) and self._is("joins", tokens[joined].text)
            following = self._phrase(tokens, joined + closes) if comma or closes else None
            if following is None or (self.capitals and self._capital(terms[0]) and not self._capital(following[0])):
                break  # "… und sag mir": nouns have capitals
            term, at = following
            if closes:
                terms, pending = [*terms, *pending, term], []
                if not comma:
                    continue
            else:
                pending.append(term)
        return terms, terms[-1][1]

    def _capital(self, term: Match) -> bool:
        return any(word[0].isupper() for word in self.text[slice(*term)].split())

    def _phrase(self, tokens: list[_Token], i: int) -> tuple[Match, int] | None:
        """The noun phrase at a token, behind articles and prepositions, and the index behind it."""
        skipped = 0
        while i < len(tokens) and (self._is("determiners", tokens[i].text) or self._is("prepositions", tokens[i].text)):
            i, skipped = i + 1, skipped + 1
            if skipped > TERM_WORDS_MAX:
                return None
        if i >= len(tokens):
            return None
        if tokens[i].text in _QUOTES:
            return self._quotation(tokens, i)
        end = self._phrase_end(tokens, i)
        last = end
        while last > i and (self._is("trailing", tokens[last - 1].text) or self._is("links", tokens[last - 1].text)):
            last -= 1
        if last == i:
            return None
        stop = tokens[last - 1].end
        term = self.text[tokens[i].start : stop]
        return (tokens[i].start, stop - self._ending(term)), end

    def _ending(self, term: str) -> int:
        """Length of the particle that a term carries."""
        return self._particle("endings", term.rsplit(" ", maxsplit=1)[-1])

    def _particle(self, name: str, word: str) -> int:
        if self._is("nouns", word):
            return 0
        return max((len(e) for e in self.words.phrases(name) if word.endswith(e) and len(word) > len(e)), default=0)

    def _phrase_end(self, tokens: list[_Token], i: int) -> int:
        if self.capitals:
            head = next((k for k in range(i, min(i + 3, len(tokens))) if tokens[k].text[0].isupper()), None)
            if head is not None and not any(self._stops(tokens, k, i) for k in range(i, head + 1)):
                end = head + 1
                while end < len(tokens) and tokens[end].text[0].isupper() and not self._stops(tokens, end, i):
                    end += 1
                return end
        end = i
        while end < len(tokens) and end - i < TERM_WORDS_MAX and not self._stops(tokens, end, i):
            end += 1
        return end

    def _stops(self, tokens: list[_Token], k: int, first: int) -> bool:
        token = tokens[k]
        if not _WORDLIKE.match(token.text[-1]) and not token.text.endswith(("'", "+", "#")):
            return True
        if self._is("links", token.text):
            return k == first
        if self._is("joins", token.text):
            return True
        linked = k > first and self._is("links", tokens[k - 1].text)
        if (linked or k == first) and (self._is("determiners", token.text) or self._is("nouns", token.text)):
            return False
        # An ending that verbs have may be that of a name, and of the noun that the phrase begins with.
        return self._is("stops", token.text) or (
            k > first and not token.text[0].isupper() and self._is("stop_endings", token.text)
        )

    def _quotation(self, tokens: list[_Token], i: int) -> tuple[Match, int] | None:
        opened = tokens[i]
        closing = self.text.find(_QUOTES[opened.text], opened.end, opened.end + QUOTE_CHARS_MAX)
        inner = self.text[opened.end : closing] if closing > 0 else ""
        if not _WORDLIKE.search(inner):
            return None
        start = opened.end + len(inner) - len(inner.lstrip())
        after = next((k for k in range(i + 1, len(tokens)) if tokens[k].start > closing), len(tokens))
        return (start, start + len(inner.strip())), after

    def _backward(self, stop: int) -> list[Match]:
        """The noun phrase that ends at `stop`, without the particle that the last word carries, and those joined."""
        tokens = list(_tokens(self.text, max(0, stop - 160), stop))
        if tokens and tokens[-1].text == ",":
            tokens.pop()
        terms: list[Match] = []
        end = len(tokens)
        while end > 0 and len(terms) < LIST_ITEMS_MAX:
            term, start = self._phrase_before(tokens, end)
            if term is None:
                break
            terms.append(term)
            if start == 0:
                break
            if self._particle("join_endings", tokens[start - 1].text):
                end = start
            elif self._is("joins", tokens[start - 1].text):
                end = start - 1
            else:
                break
        return terms[::-1]

    def _phrase_before(self, tokens: list[_Token], end: int) -> tuple[Match | None, int]:
        closing = {b: a for a, b in _QUOTES.items()}
        if tokens[end - 1].text in closing:
            opened = next((k for k in range(end - 2, -1, -1) if tokens[k].text == closing[tokens[end - 1].text]), None)
            if opened is None or opened + 1 == end - 1:
                return None, end
            return (tokens[opened + 1].start, tokens[end - 2].end), opened
        start = end
        while start > 0 and end - start < TERM_WORDS_MAX:
            token = tokens[start - 1]
            if not _WORDLIKE.match(token.text[-1]) and not token.text.endswith(("+", "#")):
                break
            if self._is("joins", token.text) or (start < end and self._is("stops_before", token.text)):
                break
            if start < end and (
                self._particle("join_endings", token.text) or (self.capitals and not token.text[0].isupper())
            ):
                break
            start -= 1
        while start < end and (
            self._is("determiners", tokens[start].text) or self._is("prepositions", tokens[start].text)
        ):
            start += 1
        if start == end:
            return None, end
        last = tokens[end - 1]
        cut = self._ending(last.text) or self._particle("join_endings", last.text)
        return (tokens[start].start, last.end - cut), start

    def _run_after(self, start: int, stop: int) -> tuple[list[Match], int]:
        """The term at `start` in a script without spaces: up to the next word that ends one."""
        at = start
        while True:  # blanks, and words in front of a term
            match = re.compile(" ").match(self.text, at) or self._at("determiners", at) or self._at("prepositions", at)
            if match is None or match.end() == match.start() or match.end() > stop:
                break
            at = match.end()
        if at < stop and self.text[at] in _QUOTES:
            closing = self.text.find(_QUOTES[self.text[at]], at + 1, min(stop, at + QUOTE_CHARS_MAX))
            if closing > at + 1 and _WORDLIKE.search(self.text, at + 1, closing):
                return [(at + 1, closing)], closing + 1
            return [], start
        end = at
        while end < stop and end - at < TERM_CHARS_MAX * 2:
            run = (
                self._at("compounds", end)
                or _RUN.match(self.text, end)
                or re.compile(f" (?={_LATIN})").match(self.text, end)
            )
            stopped = end > at and self._at("compounds", end) is None and self._at("stops", end) is not None
            if run is None or stopped:
                break
            end = min(run.end(), stop)
        latin = _LATIN_RUN.match(self.text, at, end)
        if latin is not None and end < stop and self._at("closers", end) is None and _WORDLIKE.match(self.text, end):
            end = latin.end()  # "除了Docker丽娜还会": where nothing closes the term, the other script does
        return self._split(at, end), end

    def _at(self, name: str, at: int) -> re.Match[str] | None:
        wanted = self.words.pattern(name)
        return None if wanted is None else wanted.match(self.text, at)

    def _run_before(self, stop: int) -> list[Match]:
        """The term that ends at `stop` in a script without spaces."""
        closing = {b: a for a, b in _QUOTES.items()}
        while stop > 0 and self.text[stop - 1] in " ,，、":
            stop -= 1
        if stop and self.text[stop - 1] in closing:
            opened = self.text.rfind(closing[self.text[stop - 1]], max(0, stop - QUOTE_CHARS_MAX), stop - 1)
            return [(opened + 1, stop - 1)] if 0 <= opened < stop - 2 else []
        first = max(0, stop - TERM_CHARS_MAX * 2)
        runs: list[Match] = []
        for match in _RUN.finditer(self.text, first, stop):
            if runs and self.text[runs[-1][1] : match.start()] not in ("", " "):
                runs = []
            runs.append(match.span())
        if not runs or runs[-1][1] != stop:
            return []
        start = runs[0][0]
        stops = [
            first + end for _, end in self.words.found("stops_before", self.text[first:stop]) if first + end < stop
        ]
        start = max([start, *stops])
        if not _HIRAGANA.match(
            self.text[stop - 1]
        ):  # a name in Chinese signs or Latin letters holds no endings of verbs
            start = max([start, *(m.end() for m in _HIRAGANA.finditer(self.text, start, stop))])
        return self._split(start, stop)

    def _split(self, start: int, end: int) -> list[Match]:
        """The terms between, parted by "and" where both sides could be words, without what trails behind."""
        terms = []
        joins = [m for m in self.words.found("joins", self.text[start:end]) if m[0] >= 2 and end - start - m[1] >= 2]
        for first, last in zip(
            [start, *(start + m[1] for m in joins)], [*(start + m[0] for m in joins), end], strict=True
        ):
            at, stop = first, last
            while stop > at and self.text[stop - 1] == " ":
                stop -= 1
            trailing = self.words.pattern("trailing")
            match = (
                None
                if trailing is None
                else next((m for m in trailing.finditer(self.text, at, stop) if m.end() == stop), None)
            )
            if match is not None and match.start() > at:
                stop = match.start()
            while at < stop and self.text[at] == " ":
                at += 1
            if at < stop and stop - at <= TERM_CHARS_MAX * 2 and _WORDLIKE.search(self.text, at, stop):
                terms.append((at, stop))
        return terms


def _tokens(text: str, start: int, stop: int) -> Iterator[_Token]:
    return (_Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text, start, stop))


def _meets(start: int, end: int, spans: list[Match]) -> bool:
    return any(first < end and start < last for first, last in spans)


_TERM_SLOT = {"term": r"([^?!;:。？！；：]{1,60}?)"}
