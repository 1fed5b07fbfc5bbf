"""Find the terms that a query excludes, by `negation` in its table: "wasn't related to the frontend" → `frontend`.

In doubt nothing is found: a missed exclusion costs a few places, a wrong one costs the answer. A cue stands before its
term ("except X", "außer X", "除了X"), behind it ("X ausgenommen", "X以外", "X 빼고"), or around it ("nichts mit X zu
tun"). Reasons for a cue to mean something else are in the tables too: idioms, a negation before it, an action behind.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple

from recall_integrations.languages import ENGLISH, english
from recall_integrations.languages.phrases import LETTER, UNSPACED, Said, said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.wording import Match, Wording, sentences, wording
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS

_EN = english("negatives")
NEGATED_AUXILIARIES = frozenset(_EN["auxiliaries"].split())  # "n't" without its apostrophe is how people type
NEGATIVES = NEGATED_AUXILIARIES | frozenset(_EN["words"].split())
_LETTERS = regex(r"\w+")
_CUE_RUNS = frozenset(_EN["runs"].split())  # a text in English that excludes something has one of these runs of letters

TERM_WORDS_MAX = 5
KEYWORDS_MAX = 2  # before "but no"
TERM_CHARS_MAX = 20  # of scripts without spaces
LIST_ITEMS_MAX = 8
QUOTE_CHARS_MAX = 200
REACH = 400  # characters behind a cue in which its terms stand

WESTERN_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`"}
QUOTES = {**WESTERN_QUOTES, "「": "」", "『": "』", "《": "》"}
_OPENING = {b: a for a, b in QUOTES.items()}
_TOKEN = regex(rf"(?:(?<![^\s(])\.(?=[A-Za-z]))?{LETTER}+(?:[.&+/\-‑@]{LETTER}+)*(?:\+\+|#|(?<=\b\w)\+)?'?|[^\s]")
_LATIN = r"[A-Za-zÀ-ɏ0-9][A-Za-zÀ-ɏ0-9.'&/\-]*(?:\+\+|#)?"
_RUN = regex(rf"{_LATIN}(?: {_LATIN})*|[{UNSPACED}ー々]")
_BLANK, _BLANK_LATIN = regex(" "), regex(f" (?={_LATIN})")
_LATIN_RUN = regex(rf"{_LATIN}(?: {_LATIN})*")
_HIRAGANA = regex("[\u3041-\u309f]")
WORDLIKE = regex(LETTER)

_CUES = ("except", "without", "plain", "bare", "but", "orders", "opening", "single", "after", "kept", "inverted")
_DATES, _KEPT_DATES = "dates", "kept_dates"  # cues for dates alone; phrases that undo those and a bare one
_AROUND = ("around", "not_but")  # cues that have the term in them
_PHRASES = (
    *_CUES,
    *("idioms", "nobody", "negatives", "actions", "actions_behind", "acting", "openers", "asking"),  # what undoes a cue
    *("determiners", "prepositions", "links", "linked", "joins", "stops", "stop_endings"),  # terms
    *("stops_before", "nouns", "trailing", "closers", "compounds"),
)
words_of = partial(
    wording,
    section="negation",
    known=(*_PHRASES, _DATES, _KEPT_DATES, *_AROUND),
    values=("capitals", "spaces", "endings", "join_endings"),
    more=lambda _: {"term": r"([^?!;:。？！；：]{1,60}?)"},
)
CLAUSE_CHARS_MAX = 80  # looked at in front of a cue for another negation

_QUOTED = regex("|".join(f"{a}[^{b}]{{1,{QUOTE_CHARS_MAX}}}{b}" for a, b in WESTERN_QUOTES.items()))
_CLAUSE_END = regex(r"[,;:，、；：]")


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """One excluded term."""

    term: str  # as written in the query, without articles and quotation marks
    span: Match  # of the whole exclusion, from its cue on; those of a list share their start
    term_span: Match


class _Cue(NamedTuple):
    kind: str
    start: int
    end: int
    term: Match | None = None  # of a cue around it


def find_negations(text: str, language: str | None = ENGLISH) -> tuple[Negation, ...]:
    """Return the terms that `text` excludes, in order of appearance; equal terms are reported once.

    A language without tables excludes nothing.
    """
    if language == ENGLISH and text.isascii() and _CUE_RUNS.isdisjoint(_LETTERS.findall(text.lower())):
        return ()
    found: dict[str, Negation] = {}
    for span, (start, end) in _Reader(words_of(language), said(text)).read():
        term = text[start:end]
        found.setdefault(term.casefold(), Negation(term=term, span=span, term_span=(start, end)))
    return tuple(found.values())


def leaves_out(before: str, date: str, language: str | None) -> bool:
    """Say whether a date is excluded by the cue before it, or in it, which is a term only if it is a noun."""
    words, heard = words_of(language), said(before).text.split()
    if words.match("except", said(date).text):
        return True
    kinds = words.possible(("except", "plain", "but", "without", "bare", _DATES), " ".join(heard))
    while heard and kinds:
        text = " ".join(heard)
        for kind in kinds:
            if (cue := words.ends(kind, text)) is not None:
                alone = kind in ("bare", _DATES) and _KEPT_DATES in words.section
                kept = words.ends(_KEPT_DATES if alone else "kept", text)
                negated = kind in ("except", _DATES) and words.says("negatives", text[: cue[0]])
                asked = negated or words.says("nobody", text)
                return not asked and (kept is None or kept[0] > cue[0])
        last = heard.pop().strip(",")
        if not any(words.has(name, last) for name in ("determiners", "prepositions", "joins")):
            return False
    return False


class Piece(NamedTuple):
    """A word, or one sign, and its place."""

    text: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        """True if it may be a name."""
        return self.text[0].isupper() or not self.text.isalpha()  # "node.js" and "C++" are names, too


class _Reader:
    """Reads one text; all places are in the text of `phrases.said`.

    With spaces between words a term is a noun phrase: it ends where a word of the tables, or a verb, begins. Without
    them it is a run of signs of one script.
    """

    def __init__(self, words: Wording, read: Said) -> None:
        self.words, self.read_text, self.text = words, read, read.text
        self.spaced = bool(words.section.get("spaces", True))
        self.capitals = bool(words.section.get("capitals", False))
        self.with_nobody: list[Match] | None = None  # sentences; looked for when a cue is there
        self.quoted = [m.span() for m in _QUOTED.finditer(self.text)]

    def read(self) -> list[tuple[Match, Match]]:
        """Return each exclusion as a whole, and its term, as spans of the original text, in the order of the terms."""
        found: list[tuple[Match, Match]] = []
        reach = 0
        cues = sorted(self._cues(), key=lambda c: (c.start, -c.end))
        if not cues:
            return found
        idioms = list(self.words.found("idioms", self.text))
        for cue in cues:
            if cue.start < reach or _meets(cue.start, cue.end, idioms) or _meets(cue.start, cue.start + 1, self.quoted):
                continue
            if cue.kind == "kept" or (cue.kind == "inverted" and self._asks(cue.start)):
                reach = cue.end  # "is not", "did Priya not say": what is inside of it is no cue
            if cue.kind in ("kept", "inverted") or not self._allowed(cue):
                continue
            terms, start, end = self._terms(cue)
            if not terms:
                continue
            reach = end
            for term in terms:
                last = end if term == terms[-1] or cue.kind in ("after", "around", "not_but") else term[1]
                found.append((self.read_text.span(start, max(last, term[1])), self.read_text.span(*term)))
        return sorted(found, key=lambda spans: spans[1])

    def _cues(self) -> Iterator[_Cue]:
        for kind in self.words.possible((*_CUES, *_AROUND), self.text):
            for match in self.words.matches(kind, self.text):
                term = next((span for span in match.regs[1:] if span != (-1, -1)), None)
                if term or kind not in _AROUND:
                    yield _Cue(kind, *match.span(), term if kind in _AROUND else None)

    # -- whether a cue excludes ------------------------------------------------------------------------------------

    def _allowed(self, cue: _Cue) -> bool:
        if cue.kind in ("except", "after") and self._nobody(cue):
            return False
        if cue.kind in ("except", "without") and self._negated(cue.start):
            return False
        if cue.kind in ("without", "bare") and self._acts(cue.end):
            return False
        joined = cue.kind == "opening" and self._joins_keywords(cue.start)
        if cue.kind in ("orders", "opening") and not (joined or self._opens_clause(cue.start)):
            return False
        if cue.kind == "opening" and cue.start == 0:  # "No updates since Friday?"
            return not self.text.rstrip().endswith("?")
        return cue.kind != "but" or self._named(cue.end)

    def _nobody(self, cue: _Cue) -> bool:
        """Say whether the cue is in a sentence with a "nobody": "niemand außer Sam" asks for Sam."""
        if self.with_nobody is None:
            whole = ((start, end) for start, end, _ in sentences(self.read_text))
            self.with_nobody = [(a, b) for a, b in whole if self.words.says("nobody", self.text[a:b])]
        return _meets(cue.start, cue.start + 1, self.with_nobody)

    def _negated(self, start: int) -> bool:
        before = self.text[max(0, start - CLAUSE_CHARS_MAX) : start]
        sentence = re.split(r"[.?!。？！](?= |$)|[。？！]", before)[-1]
        return self.words.says("negatives", _CLAUSE_END.split(sentence)[-1])

    def _acts(self, end: int) -> bool:
        """Say whether the thing done without is an action: "ohne zu fragen", "sin avisar"."""
        token, behind = [*islice(tokens_in(self.text, end, end + 96), 2), None, None][:2]
        if token is None or token.capital:
            return False
        if behind is not None and WORDLIKE.match(behind.text) and self.words.has("acting", token.text):
            return not self.words.has("joins", behind.text)  # "not swimming or running" is a topic
        return self.words.has("actions", token.text) and not self.words.has("nouns", token.text)

    def _asks(self, start: int) -> bool:
        """Say whether a question may begin here: at the start of a clause, or behind a question word."""
        return self._opens_clause(start) or self.words.ends("asking", self.text[:start].rstrip()) is not None

    def _opens_clause(self, start: int) -> bool:
        before = self.text[max(0, start - CLAUSE_CHARS_MAX) : start].rstrip()
        for _ in range(3):
            opener = self.words.ends("openers", before)
            if opener is None:
                break
            before = before[: opener[0]].rstrip()
        return not before or not WORDLIKE.match(before[-1])

    def _joins_keywords(self, start: int) -> bool:
        """Say whether a word or two and an opener stand before: "stew but no meat", not "there is stew but no meat"."""
        if start > CLAUSE_CHARS_MAX:  # more than a word or two
            return False
        *before, last = self.text[:start].split() or [""]
        few = 0 < len(before) <= KEYWORDS_MAX and STOP_WORDS.isdisjoint(before)
        return few and self.words.has("openers", last) and "?" not in self.text

    def _named(self, start: int) -> bool:
        """Say whether a noun phrase plainly begins here: an article, a preposition, a name."""
        if not self.spaced:
            return True
        token = next(tokens_in(self.text, start, min(len(self.text), start + 64)), None)
        return token is not None and (
            token.text in QUOTES
            or (WORDLIKE.match(token.text[0]) is not None and token.capital)
            or self._leads(token.text)
        )

    # -- terms -----------------------------------------------------------------------------------------------------

    def _terms(self, cue: _Cue) -> tuple[list[Match], int, int]:
        """Return the terms of a cue, and the start and end of cue and terms together."""
        if cue.term is not None:
            checked = cue.kind == "around" or self._named(cue.term[0])
            terms, _ = self._behind(cue.term[0], cue.term[1]) if checked else ([], 0)
            whole = bool(terms) and not WORDLIKE.search(self.text, terms[-1][1], cue.term[1])
            return (terms if whole else []), cue.start, cue.end
        if cue.kind == "after":
            terms = self._phrases_before(cue.start) if self.spaced else self._run_before(cue.start)
            return terms, terms[0][0] if terms else cue.start, cue.end
        stop = len(self.text)
        if cue.kind == "single":  # "non-frontend work": it belongs to the one word it stands before
            stop = next((token.end for token in tokens_in(self.text, cue.end, stop)), stop)
        terms, end = self._behind(cue.end, stop)
        behind = next(tokens_in(self.text, terms[-1][1], terms[-1][1] + 64), None) if terms else None
        if behind is None:
            return terms, cue.start, end
        acts = cue.kind == "without" and self.words.has("actions_behind", behind.text)  # "ohne Anna zu fragen"
        goes_on = cue.kind == "but" and self.spaced and WORDLIKE.match(behind.text)  # "und nicht Lisa hat …"
        joined = goes_on and self._among(("joins", "openers"), behind.text)
        return [] if acts or (goes_on and not joined) else terms, cue.start, end

    # -- the bounds of a term ------------------------------------------------------------------------------------

    def _behind(self, start: int, stop: int) -> tuple[list[Match], int]:
        """Return the terms from `start` on, and their end; nothing beyond `stop`."""
        return self._phrases(start, stop) if self.spaced else self._run_after(start, stop)

    def _among(self, names: tuple[str, ...], word: str) -> bool:
        return any(self.words.has(name, word) for name in names)

    def _leads(self, word: str) -> bool:
        """Say whether a word stands in front of a term and is no part of it: an article, a preposition."""
        return self._among(("determiners", "prepositions"), word)

    def _phrases(self, start: int, stop: int) -> tuple[list[Match], int]:
        """Return the noun phrase at `start` and those joined to it, and their end, with words that fall off."""
        tokens = self._tokens(start, min(stop, start + REACH))
        first = self._phrase(tokens, 0)
        if first is None:
            return [], start
        (term, at), terms = first, [first[0]]
        end = tokens[at - 1].end
        pending: list[Match] = []
        while len(terms) + len(pending) < LIST_ITEMS_MAX and at < len(tokens):
            comma = tokens[at].text == ","
            joined = at + comma
            closes = joined < len(tokens) and self.words.has("joins", tokens[joined].text)
            following = self._phrase(tokens, joined + closes) if comma or closes else None
            if following is None or (self.capitals and self._capital(terms[0]) and not self._capital(following[0])):
                break  # "… und sag mir": nouns have capitals
            term, at = following
            if closes:
                terms, pending, end = [*terms, *pending, term], [], tokens[at - 1].end
            else:
                pending.append(term)
        return terms, end

    @cached_property
    def _pieces(self) -> tuple[list[Piece], list[int], list[int]]:
        """Return all words and signs of the text, where they start, and where they end."""
        pieces = list(tokens_in(self.text, 0, len(self.text)))
        return pieces, [piece.start for piece in pieces], [piece.end for piece in pieces]

    def _tokens(self, start: int, stop: int) -> list[Piece]:
        """Return the words and signs between two places; each of many cues would read those behind it again."""
        pieces, starts, ends = self._pieces
        first, last = bisect_left(starts, start), bisect_left(starts, stop)
        if (first and ends[first - 1] > start) or (last and ends[last - 1] > stop):  # a place within a word: "non-"
            return list(tokens_in(self.text, start, stop))
        return pieces[first:last]

    def _capital(self, term: Match) -> bool:
        return any(word[0].isupper() for word in self.text[slice(*term)].split())

    def _phrase(self, tokens: list[Piece], i: int) -> tuple[Match, int] | None:
        """Return the noun phrase at a token, behind articles and prepositions, and the index behind it."""
        first = i
        while i < len(tokens) and self._leads(tokens[i].text):
            i += 1
        if i >= len(tokens) or i - first > TERM_WORDS_MAX:
            return None
        if tokens[i].text in QUOTES:
            return self._quotation(tokens, i)
        end = self._phrase_end(tokens, i)
        last = end
        while last > i and self._among(("trailing", "links"), tokens[last - 1].text):
            last -= 1
        if last == i:
            return None
        stop = tokens[last - 1].end
        term = self.text[tokens[i].start : stop]
        return (tokens[i].start, stop - self._ending(term)), end

    def _ending(self, term: str) -> int:
        """Return the length of the particle at the end of a term."""
        return self._particle("endings", term.rsplit(" ", maxsplit=1)[-1])

    def _particle(self, name: str, word: str) -> int:
        if self.words.has("nouns", word):
            return 0
        return max((len(e) for e in self.words.phrases(name) if word.endswith(e) and len(word) > len(e)), default=0)

    def _phrase_end(self, tokens: list[Piece], i: int) -> int:
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

    def _stops(self, tokens: list[Piece], k: int, first: int) -> bool:
        token = tokens[k]
        if token.text == "'" or not (WORDLIKE.match(token.text[-1]) or token.text.endswith(("'", "+", "#"))):
            return True
        if self.words.has("links", token.text):
            return k == first
        if self.words.has("joins", token.text):
            return True
        linked = k > first and self.words.has("links", tokens[k - 1].text)
        leading = "linked" if linked and self.words.phrases("linked") else "determiners"
        if (linked or k == first) and self._among((leading, "nouns"), token.text):
            return False
        # An ending that verbs have may be that of a name, and of the noun that the phrase begins with.
        return self.words.has("stops", token.text) or (
            k > first and not token.text[0].isupper() and self.words.has("stop_endings", token.text)
        )

    def _quotation(self, tokens: list[Piece], i: int) -> tuple[Match, int] | None:
        start = tokens[i].end
        closing = self.text.find(QUOTES[tokens[i].text], start, start + QUOTE_CHARS_MAX)
        inner = self.text[start : max(start, closing)]
        if not WORDLIKE.search(inner):
            return None
        first = start + len(inner) - len(inner.lstrip())
        after = next((k for k in range(i + 1, len(tokens)) if tokens[k].start > closing), len(tokens))
        return (first, first + len(inner.strip())), after

    def _phrases_before(self, stop: int) -> list[Match]:
        """Return the noun phrase that ends at `stop`, without the particle at its end, and those joined to it."""
        tokens = list(tokens_in(self.text, max(0, stop - 160), stop))
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
            elif self.words.has("joins", tokens[start - 1].text):
                end = start - 1
            else:
                break
        return terms[::-1]

    def _phrase_before(self, tokens: list[Piece], end: int) -> tuple[Match | None, int]:
        if tokens[end - 1].text in _OPENING:
            mark = _OPENING[tokens[end - 1].text]
            opened = next((k for k in range(end - 2, -1, -1) if tokens[k].text == mark), None)
            if opened is None or opened + 1 == end - 1:
                return None, end
            return (tokens[opened + 1].start, tokens[end - 2].end), opened
        start = end
        while start > 0 and end - start < TERM_WORDS_MAX:
            token = tokens[start - 1]
            if not WORDLIKE.match(token.text[-1]) and not token.text.endswith(("+", "#")):
                break
            lower = self.capitals and not token.text[0].isupper()
            ended = self.words.has("stops_before", token.text) or self._particle("join_endings", token.text) or lower
            if self.words.has("joins", token.text) or (start < end and ended):
                break
            start -= 1
        while start < end and self._leads(tokens[start].text):
            start += 1
        if start == end:
            return None, end
        last = tokens[end - 1]
        cut = self._ending(last.text) or self._particle("join_endings", last.text)
        return (tokens[start].start, last.end - cut), start

    def _run_after(self, start: int, stop: int) -> tuple[list[Match], int]:
        """Return the term at `start` in a script without spaces: up to the next word that ends one."""
        at = start
        while True:  # blanks, and words in front of a term
            match = _BLANK.match(self.text, at) or self._at("determiners", at) or self._at("prepositions", at)
            if match is None or match.end() == match.start() or match.end() > stop:
                break
            at = match.end()
        if at < stop and self.text[at] in QUOTES:
            closing = self.text.find(QUOTES[self.text[at]], at + 1, min(stop, at + QUOTE_CHARS_MAX))
            if closing > at + 1 and WORDLIKE.search(self.text, at + 1, closing):
                return [(at + 1, closing)], closing + 1
            return [], start
        end = at
        while end < stop and end - at < TERM_CHARS_MAX * 2:
            run = self._at("compounds", end) or _RUN.match(self.text, end) or _BLANK_LATIN.match(self.text, end)
            stopped = end > at and self._at("compounds", end) is None and self._at("stops", end) is not None
            if run is None or stopped:
                break
            end = min(run.end(), stop)
        latin = _LATIN_RUN.match(self.text, at, end)
        if latin is not None and end < stop and self._at("closers", end) is None and WORDLIKE.match(self.text, end):
            end = latin.end()  # "除了Docker丽娜还会": where nothing closes the term, the other script does
        return self._split(at, end), end

    def _at(self, name: str, at: int) -> re.Match[str] | None:
        return self.words.match(name, self.text, at)

    def _run_before(self, stop: int) -> list[Match]:
        """Return the term that ends at `stop` in a script without spaces."""
        while stop > 0 and self.text[stop - 1] in " ,，、":
            stop -= 1
        if stop and self.text[stop - 1] in _OPENING:
            opened = self.text.rfind(_OPENING[self.text[stop - 1]], max(0, stop - QUOTE_CHARS_MAX), stop - 1)
            return [(opened + 1, stop - 1)] if 0 <= opened < stop - 2 else []
        first = max(0, stop - TERM_CHARS_MAX * 2)
        runs: list[Match] = []
        for match in _RUN.finditer(self.text, first, stop):
            if runs and self.text[runs[-1][1] : match.start()] not in ("", " "):
                runs = []
            runs.append(match.span())
        if not runs or runs[-1][1] != stop:
            return []
        ends = (first + end for _, end in self.words.found("stops_before", self.text[first:stop]))
        start = max([runs[0][0], *(end for end in ends if end < stop)])
        if not _HIRAGANA.match(self.text[stop - 1]):  # a name in Chinese or Latin letters holds no endings of verbs
            start = max([start, *(m.end() for m in _HIRAGANA.finditer(self.text, start, stop))])
        return self._split(start, stop)

    def _split(self, start: int, end: int) -> list[Match]:
        """Split a term at each "and" whose both sides could be words, without trailing words."""
        terms = []
        joins = [m for m in self.words.found("joins", self.text[start:end]) if m[0] >= 2 and end - start - m[1] >= 2]
        begins, ends = [start, *(start + m[1] for m in joins)], [*(start + m[0] for m in joins), end]
        for begin, last in zip(begins, ends, strict=True):
            stop = begin + len(self.text[begin:last].rstrip(" "))
            trailing = self.words.matches("trailing", self.text, begin, stop)
            match = next((m for m in trailing if m.end() == stop), None)
            if match is not None and match.start() > begin:
                stop = match.start()
            at = stop - len(self.text[begin:stop].lstrip(" "))
            if at < stop and stop - at <= TERM_CHARS_MAX * 2 and WORDLIKE.search(self.text, at, stop):
                terms.append((at, stop))
        return terms


def _meets(start: int, end: int, spans: list[Match]) -> bool:
    """Say whether one of some spans, in order and apart, shares a character with another one."""
    last = bisect_left(spans, (end, end)) - 1
    return last >= 0 and spans[last][1] > start


def tokens_in(text: str, start: int, stop: int) -> Iterator[Piece]:
    """Return the words and signs between two places, in order."""
    return (Piece(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text, start, stop))
