"""Contributions of the sources to the hits of a recall, and why each is there, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.second_hop import Via
from recall_integrations.delivery.highlights import as_word
from recall_integrations.indexes.lexicon import asks_when
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import from_micros
from recall_integrations.indexes.windows import asked_mask, in_micros
from recall_integrations.patterns import regex
from recall_integrations.planning.planner import anchoring
from recall_integrations.privacy.door import Door
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.temporal.translation import is_unit, only_time
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.fusion import Fused, InOrder
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, is_character, stem, stems, tokenize
from recall_integrations.text.analyser import with_signs
from recall_integrations.text.shortening import shortened
from recall_integrations.types import Contribution, Memory, MemoryType, ParsedQuery

Notes = Mapping[str, Mapping[int, str]]
NONE: Mapping[int, str] = {}
Values = dict[str, NDArray[Any]]


class Sheet:
    """The sources' values of the hits among some candidates, at rising places. They stay the same; threads share it.

    What the reranker says of a row (`reranked`) replaces what the candidates say of it. `notes` are by source and row.
    """

    def __init__(
        self, fused: Fused, places: Sequence[int] | Rows, reranked: Mapping[int, Contribution], notes: Notes
    ) -> None:
        at = np.asarray(places, dtype=np.int64)
        self._rows = rows = fused.rows[at].tolist()
        self._reranked = {row: reranked[row] for row in rows if row in reranked}
        self._added, self._raw, self._ranks = (_values(each, at) for each in (fused.added, fused.raw, fused.ranks))
        self._notes = notes

    def scores(self, source: str) -> Sequence[float]:
        """Return the scores that a source gives the hits, in their order; empty where it is no source."""
        values = self._raw.get(source, self._added.get(source))
        return [] if values is None else [float(value) for value in values]

    @cached_property
    def _columns(self) -> list[tuple[str, list[float], list[float], list[float], Mapping[int, str]]]:
        """Scores, what was added, ranks and notes of each source, by name; made when the first hit is explained."""
        nothing = np.zeros(len(self._rows))
        return [
            (
                source,
                scores.tolist(),
                self._added.get(source, nothing).tolist(),
                self._ranks.get(source, nothing).tolist(),
                self._notes.get(source, NONE),
            )
            for source, scores in sorted({**self._added, **self._raw}.items())
        ]

    def contributions(self, i: int) -> tuple[Contribution, ...]:
        """Return the contributions to the hit at `i`, largest first."""
        row = self._rows[i]
        judged = self._reranked.get(row)
        parts = [] if judged is None else [judged]
        for source, scores, sums, ranks, noted in self._columns:
            if judged is not None and source == judged.source:
                continue
            # A source that has not seen a hit says NaN; where it moved others, that may have cost this one.
            score, added, rank = 0.0 if isnan(scores[i]) else scores[i], sums[i], ranks[i]
            if score or added or rank:
                note = noted.get(row, "")
                parts.append(Contribution(source=source, rank=int(rank) or None, score=score, added=added, note=note))
        return tuple(sorted(parts, key=lambda part: (-part.added, part.source)))


COARSE, PLACES = 0.5, 2  # step of a contribution's score, and decimals of a hit's, under `redact` and `block`


def coarse(contributions: Sequence[Contribution]) -> tuple[Contribution, ...]:
    """Return contributions in coarse steps: exact cosines of many queries give away a memory's embedding."""
    return tuple(
        Contribution(
            source=part.source,
            rank=part.rank,
            score=round(part.score / COARSE) * COARSE,
            added=float(round(part.added)),
            note=part.note,
        )
        for part in contributions
    )


def _values(columns: Mapping[str, NDArray[Any]], at: Rows) -> Values:
    """Copy the values of columns at places, so that the candidates are not held."""
    if not len(at) or not columns:
        return {}
    parts = columns.parts(at) if isinstance(columns, InOrder) else [column[at] for column in columns.values()]
    return dict(zip(columns, np.concatenate(parts).reshape(len(parts), len(at)), strict=True))


_HALF_DAY = timedelta(hours=12)
_DAY = timedelta(hours=25)  # with the hour that comes twice in autumn


def times_told(view: ScopeView, parsed: ParsedQuery, rows: Sequence[int]) -> dict[int, str]:
    """Say what hits tell of the time that is asked for, or if the query asks when, the first time that they tell.

    Hits that are of that time themselves are left out.
    """
    window = parsed.temporal_window
    if not rows or (window is None and not asks_when(parsed.original)):
        return {}
    if window is None:
        told = view.told.of_rows(rows)
    else:
        own = asked_mask(view, window)
        rows = [row for row in rows if not own[row]]
        told = {row: t for each in reversed(in_micros(window)) for row, t in view.told.of_rows(rows, *each).items()}
    return {row: f"tells of {in_words(*map(from_micros, time))}" for row, time in told.items()}


def in_words(start: datetime, stop: datetime) -> str:
    """Write a stretch of time by its days, months or years, as narrow as it is.

    Its zone is no longer known, so that a day is that of its middle.
    """
    if stop - start <= _DAY:
        return _day(start + (stop - start) / 2)
    first, after = start + _HALF_DAY, stop + _HALF_DAY
    if first.day == after.day == 1:
        last = stop - _HALF_DAY
        if first.month == after.month == 1:
            return f"{first:%Y}" if first.year == last.year else f"{first:%Y} to {last:%Y}"
        if (first.year, first.month) == (last.year, last.month):
            return f"{first:%B %Y}"
        return f"{first:%B %Y} to {last:%B %Y}"
    return f"{_day(first)} to {_day(stop - _HALF_DAY)}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


CLOSE, RECENT, IMPORTANT = 0.35, 0.5, 0.7
SURE = 0.3  # score below which a hit is a weak match, and agents read "unsure"
ANSWERS = 0.5  # share of the query's words that the question before a memory asks too, at least
COUNTED = 0.5  # in the rankers' units; from here on a feature of many memories is a reason
WORDS_SHOWN = 5
TITLE_WORDS, TITLE_CHARS = 6, 60  # of a title, shown; in a script without spaces every text is one word
_LONG_NUMBER = regex(r"\b\d{1,3}(?:[.,]\d{3})+\b")  # its parts are words of their own, and say nothing
_SENTENCE_END = regex(r"[.!?。！？](?:\s|\Z)|[。！？]")
_MARKUP = ' \t#*_>`|-=~"“”'
OPEN = Door()  # withholds nothing: everything goes through
# Default of `own`: the user has no arms.
NO_WORDS: Mapping[str, str] = {}
Asked = tuple[tuple[str, str], ...]


@record(frozen=True, slots=True)
class HitWhy:
    """Reasons of one hit; a `types.result.Why`."""

    sheet: Sheet
    i: int  # place of the hit
    told: Callable[[Memory, Sequence[Contribution]], str]  # `reason` with all that is known of the hit

    def contributions(self) -> tuple[Contribution, ...]:
        """Return the contributions of all sources."""
        return self.sheet.contributions(self.i)

    def reason(self, memory: Memory) -> str:
        """Return one line."""
        return self.told(memory, self.contributions())


def reason(
    parsed: ParsedQuery,
    memory: Memory,  # as shown: under `redact` and `block` a reason must not say what the text may not
    contributions: Sequence[Contribution],
    *,
    demoted: bool = False,  # whether a negation moved it down
    score: float = 0.0,  # of the hit
    names: bool = True,  # whether names and words may be said; the line then still has to go through the door
    numbers: bool = True,  # whether cosines may be said
    said: Collection[str] | None = None,  # stems of the query that it says, if that is known; else its text is read
    way: str = "",  # how another memory led to it (`led`)
    when: str = "",  # the time or the session that decided, if the memory lies in it
    apart: bool = True,  # whether being recent sets a memory apart in its scope
    own: Mapping[str, str] = NO_WORDS,  # arm of the user's own → why what it finds is there
    labels: Mapping[str, str] = FEATURES.labels,  # texts of ranking features, for a hit with no stronger reason
    asked: Callable[[], Asked] | None = None,  # the query's words (`asked_words`), made once for all hits
    tells: str = "",  # the time of which it tells (`times_told`)
) -> str:
    """Return one line, strongest evidence first; never empty."""
    by_source = {c.source: c for c in contributions}
    found = [own[c.source] for c in contributions if own.get(c.source) and c.score > 0]
    parts: list[str] = [*([when] if when else []), *found]
    overlap = named_in(parsed, memory)
    if overlap:
        parts.append(f"entities overlap: {', '.join(overlap)}")
    graph = by_source.get("graph")
    is_linked = graph is not None and graph.added > 0 and graph.score > 0
    if is_linked and not overlap and _asked_for(parsed):
        parts.append(f"linked to {', '.join(_asked_for(parsed))}" if names else "linked to the entities asked for")
    if way:
        parts.append(way)
    if "title" in by_source:
        parts.append("begins with what is asked about")
    words = shared_words(parsed, memory, said, None if asked is None else asked())
    if words:
        parts.append(f"says: {', '.join(words[:WORDS_SHOWN])}")
    semantic = by_source.get("semantic")
    if semantic is not None and semantic.score >= CLOSE:
        parts.append("close in meaning" + (f" ({semantic.score:.2f})" if numbers else ""))
    parts.extend(_spoken(by_source, is_named=bool(overlap)))
    window = parsed.temporal_window
    if not when and window is not None and "temporal" in by_source and by_source["temporal"].score > 0:
        parts.append(tells or "in the time asked for")
    elif tells and window is None and "told_asked" in by_source and by_source["told_asked"].score > 0:
        parts.append(tells)
    if by_source.get("type_filter") is not None and by_source["type_filter"].score > 0:
        parts.append(f"is {'an' if str(memory.type)[0] in 'aeiou' else 'a'} {memory.type}")
    if is_linked and not parts:  # it is linked to half of the memories too, so this says little
        parts.append(_linked(parsed, memory))
    if not parts:
        nearest = "" if semantic is None else ", nearest in meaning" + (f" ({semantic.score:.2f})" if numbers else "")
        near = semantic is not None and semantic.score >= CLOSE / 2
        parts.append(("in other words" if near and score >= SURE else "weak match") + nearest)
        parts.extend(words for source, words in labels.items() if _counted(source, by_source))
    parts.extend(_besides(memory, by_source, apart, names=names))
    if demoted:
        parts.append(f"moved down: about {', '.join(parsed.negations)}" if names else "moved down")
    return "; ".join(parts)


def _spoken(by_source: Mapping[str, Contribution], *, is_named: bool) -> Iterator[str]:
    """Yield the reasons from the conversation around a memory."""
    told = by_source.get("asked_before")
    if told is not None and told.score >= ANSWERS and told.added > 0:
        yield words_of("asked_before")
    if _counted("subject_match", by_source):
        yield words_of("subject_match")
    if not is_named and _counted("cast_present", by_source):
        yield words_of("cast_present")


def _besides(memory: Memory, by_source: Mapping[str, Contribution], apart: bool, *, names: bool) -> Iterator[str]:
    """Yield what is no evidence on its own (role, owner, recency, importance), the phrasing, and the rerank."""
    if memory.role is not None and "by_asked_role" in by_source and by_source["by_asked_role"].added > 0:
        yield f"the {memory.role} said it"
    elif _counted("by_user", by_source):
        yield words_of("by_user")
    owner = by_source.get("owner")
    if owner is not None and owner.added:
        yield "about you" if owner.added > 0 else "about somebody else"
    if apart and by_source.get("recency") is not None and by_source["recency"].score >= RECENT:
        yield words_of("recency")
    if memory.importance >= IMPORTANT:
        yield "important"
    phrased = by_source.get("rewrite")
    if phrased is not None and phrased.note:
        yield f"found by other words for the query: “{phrased.note}”" if names else "found by other words for the query"
    judged = by_source.get("rerank")
    if judged is not None and judged.rank is not None:  # it gave a score, and did not only drop the memory
        yield f"reranked ({judged.score:.2f}{f', {judged.note}' if judged.note else ''})"


def words_of(feature: str) -> str:
    """Return the label of one of the package's features; the caller decides when it is said."""
    label = FEATURES[feature].label
    assert label is not None
    return label.words


def _counted(source: str, by_source: Mapping[str, Contribution]) -> bool:
    part = by_source.get(source)
    return part is not None and part.score > 0 and part.added >= COUNTED


def _asked_for(parsed: ParsedQuery) -> list[str]:
    """Return the names of the query's entities, each once."""
    return list(dict.fromkeys(r.name for r in parsed.entity_refs if r.stage != IMPLICIT))


def _linked(parsed: ParsedQuery, memory: Memory) -> str:
    """Return words for where the graph arm started if the query names nobody: who asks, or recent entities."""
    if any(r.stage == IMPLICIT for r in anchoring(parsed)):  # "my badge" starts from recent entities all the same
        return "linked to who asks"
    if memory.event_at is None and memory.type == MemoryType.CHUNK:  # the time of storing says nothing about its time
        return "linked to names that come up often"
    return "linked to names in the newest memories"


def led(via: Via | None, before: Memory | None, door: Door = OPEN) -> str:
    """Say how a document was reached from another ("leads on from “Amber Lantern”: about Priya Raman"), or ""."""
    if via is None:
        return ""
    if door.blocked or before is None:
        return "leads on from another document"
    name = door.said(via.name)
    other = f"“{title}”" if (title := called(before)) else "another document"
    return f"leads on from {other}: {'about' if via.about else 'both name'} {name}"


def called(memory: Memory) -> str:
    """Return what people would call a document: its title, or its first words ("Amber Lantern is a film …")."""
    title = memory.metadata.get("title")
    if isinstance(title, str) and title.strip():
        words = title.split()
    else:
        first = next((line for line in memory.text.splitlines() if any(map(str.isalnum, line))), "")
        words = _SENTENCE_END.split(first.strip(_MARKUP), maxsplit=1)[0].split()
    shown = " ".join(words[:TITLE_WORDS])
    if len(shown) > TITLE_CHARS:
        return f"{shown[:TITLE_CHARS].rstrip()}…"
    return f"{shown} …" if len(words) > TITLE_WORDS else shown


def named_in(parsed: ParsedQuery, memory: Memory) -> list[str]:
    """Return names of the query's entities that the memory itself carries or says."""
    if not parsed.entity_refs:
        return []
    carried = {e.casefold() for e in memory.entities}
    if memory.actor:
        carried.add(memory.actor.casefold())
    for relation in memory.relations:
        carried.update((relation.subject.casefold(), relation.object.casefold()))
    text = memory.text.casefold()
    found = []
    for ref in parsed.entity_refs:
        if ref.stage == IMPLICIT:
            continue
        forms = {ref.name.casefold(), ref.mention.casefold()}
        if forms & carried or any(form in text and _word(form).search(text) for form in forms if form):
            found.append(ref.name)
    return list(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _word(name: str) -> re.Pattern[str]:
    return re.compile(as_word(name))


def shared_words(
    parsed: ParsedQuery, memory: Memory, said: Collection[str] | None = None, asked: Asked | None = None
) -> list[str]:
    """Return words of the query that the memory says (in any inflection), in the query's order, names left out."""
    said = set(stems(memory.text)) if said is None else said  # read in the memory's own language
    asked = asked_words(parsed) if asked is None else asked
    return [word for word, its_stem in asked if its_stem in said]


def asked_words(parsed: ParsedQuery) -> Asked:
    """Return words of the query with their stems, without names, words that are not looked for, and mere times."""
    terms, language = (*parsed.terms, *parsed.weaker_terms), parsed.language
    window = (0, 0) if parsed.temporal_window is None else parsed.temporal_window.span
    # The user's words are no names: in "trabajé" they are an ending that memories say too. "我" only means the user.
    names = (r for r in parsed.entity_refs if r.stage != IMPLICIT or is_character(r.mention[:1]))
    part = shortened(parsed.original)
    named = [*(r.span for r in names), *(part.place(m.span()) for m in _LONG_NUMBER.finditer(part.text))]
    roots = dict(parsed.stems)
    placed = (
        (token.word, part.place((token.start, token.end))[0]) for token in with_signs(part.text, tokenize(part.text))
    )
    words = {
        word: roots.get(word) or stem(word)
        for word, place in placed
        if (word in roots if roots else word not in STOP_WORDS)
        and not any(start <= place < end for start, end in named)
        and not (window[0] <= place < window[1] and (only_time(word, language) or is_unit(word, language)))
    }
    return tuple((word, its_stem) for word, its_stem in words.items() if its_stem in terms)
