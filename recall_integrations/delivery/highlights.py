"""Finds what to highlight: names, dates, words and the best passage of a hit, and the parts of the query."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.packing import sentence_ends, word_ends
from recall_integrations.indexes.columns import WORDS_MAX
from recall_integrations.indexes.kernels import heads
from recall_integrations.indexes.lexicon import QueryTerms, query_terms, shared
from recall_integrations.patterns import regex
from recall_integrations.query.entities.state import is_ordinary
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.temporal.lexicon import MONTH
from recall_integrations.query.temporal.parser import may_have_window, parse_window
from recall_integrations.ranking.features.match import NEAR as NEAR_FROM
from recall_integrations.store.asking import bundled_worth
from recall_integrations.text import Placed, fold, is_character, language_of, placed
from recall_integrations.text.analyser import DENSE
from recall_integrations.types import Memory, ParsedQuery, TemporalWindow
from recall_integrations.types.query import ENTITY, IDENTIFIER, NEGATED, ROLES, SESSION, STOP
from recall_integrations.types.query import TIME as OF_TIME
from recall_integrations.types.result import HIGHLIGHTS_MAX, NAME, NEAR, PASSAGE, TIME, WORD, Highlight

_CLOSED = regex(rf"(?![{DENSE}])[^\W_]")  # a letter or figure of a script that puts spaces between words


def as_word(name: str) -> str:
    """Return a pattern for a name that no letter or figure continues: "Sam" is not said by "same", nor "Zoé" by
    "Zoéline". A name in a script without spaces is said wherever it stands.
    """
    before = r"(?<![^\W_])" if _CLOSED.match(name[0]) else ""
    after = r"(?![^\W_])" if _CLOSED.match(name[-1]) else ""
    return f"{before}{re.escape(name)}{after}"


READ_MAX = 16  # times that the grammar reads one text
OF_SENTENCE_MAX = 3
SENTENCE_CHARS_MAX = 400
SURE = 0.5  # below this confidence a time is only implied
_WORD = regex(r"\w+")
_INSTANT = timedelta(microseconds=1)
# English is read with the query; these are "when" in other languages. The last ones are written amid other letters.
_WHEN = regex(
    r"(?<!\w)(?:wann|cu[aá]ndo|quand|quando|wanneer|kiedy|kdy|hvornår|milloin|ne zaman|когда|коли|متى|कब)(?!\w)"
    r"|什么时候|什麼時候|何时|何時|几时|哪一?[天年]|いつ|언제|เมื่อไ[รห]|เมื่อใด"
)


def asks_when(query: str) -> bool:
    """Say whether a query in another language than English asks when something was."""
    return _WHEN.search(query.casefold()) is not None


def dates_said(
    text: str, moment: datetime, language: str | None, names: Collection[str] = ()
) -> Iterator[TemporalWindow]:
    """Yield the dates of a text in order, each with its `span` in the text; of a long text, the first ones."""
    if not may_have_window(text, language):
        return
    left, at = READ_MAX, 0
    for end in (*sentence_ends(text), len(text)):
        sentence = text[at : min(end, at + SENTENCE_CHARS_MAX)]
        for _ in range(OF_SENTENCE_MAX if may_have_window(sentence, language) else 0):
            if not left:
                return
            left -= 1
            window = parse_window(sentence, moment, names=names, language=language)
            if window is None or window.span == (0, 0):
                break
            start, stop = window.span
            if window.confidence >= SURE:
                yield replace(window, span=(at + start, at + stop))
            sentence = sentence[:start] + " " * (stop - start) + sentence[stop:]
        at = end


def falls_in(said: TemporalWindow, asked: TemporalWindow, phrase: str = "") -> bool:
    """Say whether a date lies in a time: by its beginning, or where that is open by its end."""
    if said.start is None:
        return said.end is not None and asked.holds(said.end - _INSTANT)
    if asked.holds(said.start):
        return True
    words = {word.casefold() for word in _WORD.findall(phrase)}
    if words.isdisjoint(MONTH) or any(len(word) == 4 and word.isdigit() for word in words):
        return False
    try:
        return asked.holds(said.start.replace(year=said.start.year + 1))
    except ValueError:  # the 29th of February; the end of the calendar
        return False


LONG_CHARS = 480  # a text that is no longer is a passage itself
PASSAGE_CHARS = 320
UNIT_CHARS = (80, 240)  # shorter sentences are joined, longer ones are cut at words
UNITS_MAX = PASSAGE_CHARS // UNIT_CHARS[0]
ENOUGH = 0.25  # share of the query that a passage holds at least
BETTER = 1.1  # factor by which a longer passage must say more than a shorter one

Values = NDArray[np.float32]


class Passage(NamedTuple):
    """A passage's place, and the share of the query that it holds, in [0, 1]."""

    start: int
    end: int
    share: float


def best_passage(text: str, starts: NDArray[np.int64], worth: Values) -> Passage | None:
    """Return the passage that holds most of the query; `None` where the text is short or no part of it says enough."""
    if len(text) <= LONG_CHARS or not len(starts) or not len(worth):
        return None
    ends = np.asarray(units(text), dtype=np.int64)
    held = np.searchsorted(ends, starts, side="right")
    first = heads(held)
    said = np.zeros((len(worth), len(ends)), dtype=np.float32)
    said[:, held[first]] = np.maximum.reduceat(worth, first, axis=1)
    begins = np.concatenate(([0], ends[:-1]))
    best, found = ENOUGH / BETTER, None
    window = said.copy()
    for size in range(1, min(UNITS_MAX, len(ends)) + 1):
        if size > 1:
            window = np.maximum(window[:, :-1], said[:, size - 1 :])
        fits = ends[size - 1 :] - begins[: len(ends) - size + 1] <= PASSAGE_CHARS + size
        total = np.where(fits | (size == 1), window.sum(axis=0), 0)
        place = int(total.argmax())
        if float(total[place]) >= best * BETTER:
            best = float(total[place])
            found = int(begins[place]), int(ends[place + size - 1])
    return None if found is None else _trimmed(text, *found, best)


def units(text: str) -> list[int]:
    """Return the ends of the parts that make up passages, the last with the text: sentences, short ones joined."""
    least, most = UNIT_CHARS
    ends: list[int] = []
    at = 0
    for end in (*sentence_ends(text), len(text)):
        if end - at > most:
            ends.extend(_cut(text, at, end, most))
            at = end
        elif end - at >= least or end == len(text):
            ends.append(end)
            at = end
    return ends


def _cut(text: str, start: int, end: int, most: int) -> Iterator[int]:
    """Yield the ends of parts of a long sentence, at words as far as there are any."""
    at = last = start
    for stop in (*(start + place for place in word_ends(text[start:end])), end):
        while stop - at > most:
            at = last if last > at else at + most
            yield at
        last = stop
    yield end


def _trimmed(text: str, start: int, end: int, share: float) -> Passage:
    shown = text[start:end]
    return Passage(start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip()), min(share, 1.0))


NAMES_MAX = 64  # number of names and identifiers that are looked for
PLAIN = 0.5  # weight of a word whose rarity nobody knows
SOFT_FROM = 0.35  # cosine from which a word counts for a passage
_PLACEHOLDER = regex(r"\[(?:[a-z][a-z0-9_]*-[0-9]{1,6}|withheld)\]")
QUOTED = "quoted"  # the kind of identifier whose words count one by one as well
_FIRST = {NAME: 0, TIME: 1, WORD: 2, NEAR: 3}  # the lower one wins where two overlap; else the longer one

NO_NAMES: Mapping[str, Sequence[str]] = {}


class _Asked(NamedTuple):
    """The part of the query that a stem stands for."""

    of: str
    kind: str
    weight: float


class Marking:
    """Finds the highlights of memories that one recall found. Threads may share one."""

    def __init__(
        self,
        parsed: ParsedQuery,
        names: Mapping[str, Sequence[str]] = NO_NAMES,
        *,
        redacted: bool = False,
    ) -> None:
        self._parsed, self._names = parsed, names
        self._redacted = redacted

    @property
    def made_of(self) -> tuple[ParsedQuery, Mapping[str, Sequence[str]]] | None:
        """`parsed` and `names`, to make highlights elsewhere; `None` where something was redacted."""
        return None if self._redacted else (self._parsed, self._names)

    def __call__(self, memory: Memory) -> tuple[Highlight, ...]:
        """Return the highlights of a memory, as `Hit.highlights` has them."""
        text = memory.text
        if not text:
            return ()
        language = language_of(text)
        words = placed(text, language)
        likeness = self._likeness(words[:WORDS_MAX])
        found = [
            *self._named(text),
            *self._dated(memory, language),
            *self._said(text, words),
            *self._close(words[:WORDS_MAX], likeness),
        ]
        chosen = _apart(text, found, self._redacted)
        passage = self._passage(text, words[:WORDS_MAX], likeness)
        return _bounded(chosen, passage)

    # -- the query -------------------------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> QueryTerms:
        return query_terms(self._parsed)

    @cached_property
    def _when(self) -> bool:
        return self._terms.when or (self._parsed.language != "en" and asks_when(self._parsed.original))

    @cached_property
    def _asked(self) -> dict[str, _Asked]:
        """Part of the query for each stem that is looked for."""
        parsed, query = self._parsed, self._parsed.original
        looked_for = {*parsed.terms, *parsed.weaker_terms}
        asked: dict[str, _Asked] = {}
        whole = [i.span for i in parsed.identifiers if i.kind != QUOTED]  # "ABC-123" is not said by "ABC-1234"
        apart: set[str] = set()  # stems of identifiers and dates
        for token in parsed.tokens:
            of_time = OF_TIME in token.roles and parsed.temporal_window is not None  # dates are read, not compared
            if of_time or any(start <= token.span[0] < end for start, end in whole):
                apart.add(token.stem)
            elif token.stem in looked_for and STOP not in token.roles and token.stem not in asked:
                kind = NAME if ENTITY in token.roles else WORD
                weight = PLAIN if token.rarity is None else token.rarity
                asked[token.stem] = _Asked(query[slice(*token.span)].lower(), kind, weight)  # as an answer that is kept
        for correction in parsed.corrections:
            asked.setdefault(correction.correction, _Asked(correction.word.lower(), WORD, PLAIN))
        of_names = {fold(word): ref.name for ref in self._parsed.entity_refs for word in ref.name.split()}
        for term in sorted(looked_for - apart):
            kind = NAME if term in of_names else WORD
            asked.setdefault(term, _Asked(of_names.get(term, term), kind, PLAIN))
        pairs = "".join(term for term in asked if len(term) > 1)
        return {term: what for term, what in asked.items() if not (is_character(term) and term in pairs)}

    @cached_property
    def _surfaces(self) -> tuple[re.Pattern[str], dict[str, _Asked]] | None:
        """Pattern for names and identifiers in a text, and the part of the query for each; `None` if none."""
        surfaces: dict[str, _Asked] = {}
        for ref in self._parsed.entity_refs:
            if ref.stage != IMPLICIT:
                for name in (ref.name, ref.mention, *self._names.get(ref.name, ())):
                    surfaces.setdefault(name.casefold(), _Asked(ref.name, NAME, ref.confidence))
        for identifier in self._parsed.identifiers:
            surfaces.setdefault(identifier.text.casefold(), _Asked(identifier.text.lower(), WORD, 1.0))
        listed = sorted([name for name in surfaces if name.strip()][:NAMES_MAX], key=lambda name: (-len(name), name))
        if not listed:
            return None
        return re.compile("|".join(map(as_word, listed)), re.IGNORECASE), surfaces

    @cached_property
    def _shares(self) -> NDArray[np.float32]:
        """Share of each stem of the query in the weight of all."""
        asked = self._asked
        worth = [asked[stem].weight if stem in asked else PLAIN for stem in self._terms.stems]
        weights = np.maximum(np.asarray(worth, dtype=np.float32), 0.05)
        return np.asarray(weights / max(float(weights.sum()), 1e-9), dtype=np.float32)

    # -- the text --------------------------------------------------------------------------------------------------

    def _named(self, text: str) -> Iterator[Highlight]:
        """Yield places of the query's entities and identifiers, as they are written."""
        if self._surfaces is None:
            return
        pattern, surfaces = self._surfaces
        for match in pattern.finditer(text):
            what = surfaces.get(match[0].casefold())
            if what is None or (what.kind == NAME and match[0].islower() and is_ordinary(match[0])):
                continue  # "will" is not the name Will
            yield _highlight(match.start(), match.end(), what)

    def _dated(self, memory: Memory, language: str | None) -> Iterator[Highlight]:
        """Yield dates in the time that is asked for; where the query asks when, all dates."""
        window = self._parsed.temporal_window
        if window is None and not self._when:
            return
        moment = memory.event_at or memory.created_at or self._parsed.now
        if moment is None:
            return
        names = frozenset(word.casefold() for name in memory.entities for word in name.split())
        of = "when" if window is None else " ".join(self._parsed.original[slice(*window.span)].lower().split())
        for said in dates_said(memory.text, moment, language or "en", names):
            if window is None or falls_in(said, window, memory.text[slice(*said.span)]):
                weight = said.confidence if window is None else min(window.confidence, said.confidence)
                yield Highlight(start=said.span[0], end=said.span[1], kind=TIME, of=of, weight=weight)

    def _said(self, text: str, words: Sequence[Placed]) -> Iterator[Highlight]:
        """Yield words of the query in any inflection; overlapping ones are merged: pairs of signs, "O" and "O+"."""
        asked, query = self._asked, self._parsed.original.casefold()
        last: Highlight | None = None
        for word in words:
            what = asked.get(word.stem)
            if what is None:
                continue
            found = _highlight(*_bare(text, word), what)
            if last is not None and found.start < last.end and found.kind == last.kind:
                start, end = min(last.start, found.start), max(last.end, found.end)
                whole = text[start:end]
                of = whole if whole.casefold() in query else last.of
                weight = max(last.weight, found.weight)
                last = Highlight(start=start, end=end, kind=last.kind, of=of, weight=weight)
                continue
            if last is not None:
                yield last
            last = found
        if last is not None:
            yield last

    def _likeness(self, words: Sequence[Placed]) -> NDArray[np.float32] | None:
        """Return how like each distinct word of a text is to each of the query's, in [0, 1], as ranking has it.

        A word with the same stem is like it by 1. Returns `None` where the query asks for no word.
        """
        terms, keys = self._terms, list(dict.fromkeys(word.key for word in words))
        if not terms.stems or not keys:
            return None
        worth = bundled_worth(self._parsed.language, self._parsed.original)
        if worth > 0:
            like = np.maximum(shared().likeness(keys, terms.words), 0) * np.float32(worth)
        else:
            like = np.zeros((len(terms.stems), len(keys)), dtype=np.float32)
        stem_of = {word.key: word.stem for word in words}
        row_of = {stem: row for row, stem in enumerate(terms.stems)}
        for place, key in enumerate(keys):
            row = row_of.get(stem_of[key])
            if row is not None:
                like[row, place] = 1
        return np.asarray(np.minimum(like, 1), dtype=np.float32)

    def _close(self, words: Sequence[Placed], likeness: NDArray[np.float32] | None) -> Iterator[Highlight]:
        """Yield words close in meaning to a word of the query that the text does not say."""
        if likeness is None:
            return
        keys = dict.fromkeys(word.key for word in words)
        lacking = [
            row
            for row, stem in enumerate(self._terms.stems)
            if (what := self._asked.get(stem)) is not None and what.kind == WORD and not (likeness[row] >= 1).any()
        ]
        if not lacking:
            return
        best = likeness[lacking].argmax(axis=0)
        values = likeness[lacking].max(axis=0)
        near: dict[str, _Asked] = {}
        for place, key in enumerate(keys):
            if NEAR_FROM <= values[place] < 1:
                what = self._asked[self._terms.stems[lacking[int(best[place])]]]
                near[key] = _Asked(what.of, NEAR, what.weight * float(values[place]))
        for word in words:
            if word.key in near:
                yield _highlight(word.token.start, word.token.end, near[word.key])

    def _passage(self, text: str, words: Sequence[Placed], likeness: NDArray[np.float32] | None) -> Highlight | None:
        """Return the best passage of a long text."""
        if likeness is None:
            return None
        keys = {key: place for place, key in enumerate(dict.fromkeys(word.key for word in words))}
        which = np.asarray([keys[word.key] for word in words], dtype=np.int64)
        worth = np.where(likeness >= SOFT_FROM, likeness, 0) * self._shares[:, None]
        starts = np.asarray([word.token.start for word in words], dtype=np.int64)
        best = best_passage(text, starts, worth.take(which, axis=1))
        if best is None:
            return None
        return Highlight(start=best.start, end=best.end, kind=PASSAGE, weight=_rounded(best.share))


def _highlight(start: int, end: int, what: _Asked) -> Highlight:
    return Highlight(start=start, end=end, kind=what.kind, of=what.of, weight=_rounded(what.weight))


def _rounded(weight: float) -> float:
    return round(min(max(float(weight), 0.0), 1.0), 4)


def _bare(text: str, word: Placed) -> tuple[int, int]:
    """Return the place of a word, without a possessive."""
    start, end = word.token.start, word.token.end
    return (start, end - 2) if end - start > 2 and text[end - 2 : end].casefold() in ("'s", "’s") else (start, end)


def _apart(text: str, found: Collection[Highlight], redacted: bool) -> list[Highlight]:
    """Return highlights of which none overlaps another or a placeholder, in order."""
    taken = bytearray(len(text))
    if redacted:
        for match in _PLACEHOLDER.finditer(text):
            taken[match.start() : match.end()] = b"\x01" * (match.end() - match.start())
    chosen = []
    for one in sorted(found, key=lambda h: (_FIRST[h.kind], h.start - h.end, h.start)):
        if one.start < one.end and not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\x01" * (one.end - one.start)
            chosen.append(one)
    return sorted(chosen, key=lambda h: h.start)


def _bounded(marks: Sequence[Highlight], passage: Highlight | None) -> tuple[Highlight, ...]:
    """Return at most `HIGHLIGHTS_MAX`: each word's first place before others, then by passage and weight."""
    if passage is not None:  # a name or a date may go on beyond its end
        beside = [h for h in marks if h.start < passage.end and h.end > passage.start]
        start = min([passage.start, *(h.start for h in beside)])
        end = max([passage.end, *(h.end for h in beside)])
        passage = Highlight(start=start, end=end, kind=PASSAGE, weight=passage.weight)
    room = HIGHLIGHTS_MAX - (passage is not None)
    if len(marks) > room:
        seen: dict[str, int] = {}
        order = []
        for one in marks:
            outside = passage is not None and not passage.start <= one.start < passage.end
            times = seen[one.of] = seen.get(one.of, 0) + 1
            order.append((times > 1, outside, -one.weight, one.start, one))
        marks = [one for *_, one in sorted(order, key=lambda key: key[:4])[:room]]
    every = marks if passage is None else [passage, *marks]
    return tuple(sorted(every, key=lambda h: (h.start, -h.end)))


class Mark(NamedTuple):
    """A run of characters of the query that plays one part."""

    start: int
    end: int
    role: str


def marks(parsed: ParsedQuery) -> list[Mark]:
    """Return the runs of the query that play a part, in order, without overlap; of several parts, the first."""
    length = len(parsed.original)
    roles: list[str | None] = [None] * length
    for token in parsed.tokens:
        for i in range(*token.span) if token.roles else ():
            now = roles[i]  # pairs of CJK characters overlap
            if now is None or ROLES.index(token.roles[0]) < ROLES.index(now):
                roles[i] = token.roles[0]
    for start, end, role in _wholes(parsed):
        if role in roles[start:end]:  # else the exclusion around it is shown
            roles[start:end] = [held or role for held in roles[start:end]]
    for one, other in pairwise(parsed.tokens):
        start, end = one.span[1], other.span[0]
        if 0 < start < end and roles[start - 1] == roles[end] == NEGATED and parsed.original[start:end].isspace():
            roles[start:end] = [NEGATED] * (end - start)
    bounds = [0, *(i for i in range(1, length) if roles[i] != roles[i - 1]), length]
    return [Mark(a, b, part) for a, b in pairwise(bounds) if a < b and (part := roles[a]) is not None]


def _wholes(parsed: ParsedQuery) -> Iterator[tuple[int, int, str]]:
    """Yield the runs that may hold more than words: blanks between them, the sign before a number."""
    yield from ((*r.span, ENTITY) for r in parsed.entity_refs if r.stage != IMPLICIT)
    yield from ((*i.span, IDENTIFIER) for i in parsed.identifiers)
    if parsed.temporal_window is not None:
        yield (*parsed.temporal_window.span, OF_TIME)
    if parsed.session is not None:
        yield (*parsed.session.span, SESSION)
