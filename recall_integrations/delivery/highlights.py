"""Finds the places of a text that speak for a hit, for one memory when somebody reads `Hit.highlights`.

    query ─ what it asks for: stems, names, identifiers, a time ─┐
    text ─ its content words, in its own language ───────────────┴▶ names, dates, words, near words ─ no two overlap
                                                                  └▶ of a long text, the passage with most of the query

Query and text are known here only as they may be seen: under `redact` both are redacted already.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.dates_said import asks_when, dates_said, falls_in
from recall_integrations.delivery.names_said import as_word
from recall_integrations.delivery.passages import best_passage
from recall_integrations.indexes.columns import WORDS_MAX
from recall_integrations.indexes.lexicon import QueryTerms, query_terms, shared
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.match import NEAR as NEAR_FROM
from recall_integrations.store.asking import bundled_worth
from recall_integrations.text import Placed, fold, is_character, language_of, placed
from recall_integrations.types import Memory, ParsedQuery
from recall_integrations.types.highlights import HIGHLIGHTS_MAX, NAME, NEAR, PASSAGE, TIME, WORD, Highlight
from recall_integrations.types.readings import ENTITY, STOP
from recall_integrations.types.readings import TIME as OF_TIME

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
    """Finds the highlights of memories that one recall found. Threads may share one.

    Args:
        parsed: the query, as it may be seen.
        names: name of an entity in the query → other names that may be said.
        near: whether ranking compared words by their vectors.
        redacted: whether the texts hold placeholders.
    """

    def __init__(
        self,
        parsed: ParsedQuery,
        names: Mapping[str, Sequence[str]] = NO_NAMES,
        *,
        near: bool = True,
        redacted: bool = False,
    ) -> None:
        self._parsed, self._names = parsed, names
        self._near, self._redacted = near, redacted

    @property
    def made_of(self) -> tuple[ParsedQuery, Mapping[str, Sequence[str]], bool] | None:
        """`parsed`, `names` and `near`, to make highlights elsewhere; `None` where something was redacted."""
        return None if self._redacted else (self._parsed, self._names, self._near)

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
        worth = bundled_worth(self._parsed.language, self._parsed.original) if self._near else 0.0
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
