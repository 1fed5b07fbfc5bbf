"""Contributions of each source to the hits of one recall: read off the candidates once, made when asked.

A sheet holds numbers of the hits' own places and no candidates: some kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.second_hop import Via
from recall_integrations.delivery.highlights import as_word
from recall_integrations.indexes.lexicon import asks_when
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.patterns import regex
from recall_integrations.planning.planner import anchoring
from recall_integrations.privacy.door import Door
from recall_integrations.query.date_words import is_unit, only_time
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.fusion import Fused, InOrder
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, is_character, stem, stems, tokenize
from recall_integrations.text.shortening import shortened
from recall_integrations.text.signs import with_signs
from recall_integrations.types import Contribution, EntityRef, Memory, MemoryType, ParsedQuery, contribution_of

Notes = Mapping[str, Mapping[int, str]]
NONE: Mapping[int, str] = {}
# A source, its scores, what it added and the ranks, each as a list over the hits, and its notes by row.
_Column = tuple[str, list[float], list[float], list[float], Mapping[int, str]]


class Sheet:
    """The sources' values of some candidates. Its values stay the same; threads share it."""

    __slots__ = ("_by_name", "_columns", "_notes", "_reranked", "_rows", "_tables")

    def __init__(
        self, fused: Fused, places: Sequence[int] | Rows, reranked: Mapping[int, Contribution], notes: Notes
    ) -> None:
        at = np.asarray(places, dtype=np.int64)
        self._rows = rows = fused.rows[at].tolist()
        self._reranked = {row: reranked[row] for row in rows if row in reranked}
        self._tables = [_Table(columns, at) for columns in (fused.added, fused.raw, fused.ranks)]
        self._notes = notes
        self._columns: list[_Column] | None = None
        self._by_name: dict[str, _Column] | None = None

    def scores(self, source: str) -> Sequence[float]:
        """Return the scores that a source gives the hits, in their order; empty where it is no source."""
        added, raw, _ = self._tables
        return raw.of(source) or added.of(source)

    def _of_each(self) -> list[_Column]:
        """Return the values of each source, in order of their names; made when the first hit is explained."""
        columns = self._columns
        if columns is None:
            added, raw, ranks = [table.lists() for table in self._tables]
            own, nothing, notes = {**added, **raw}, [0.0] * len(self._rows), self._notes
            columns = self._columns = [
                (n, own[n], added.get(n, nothing), ranks.get(n, nothing), notes.get(n, NONE)) for n in sorted(own)
            ]
        return columns

    def contributions(self, i: int) -> tuple[Contribution, ...]:
        """Return the contributions to the hit at `i`, largest first."""
        judged = self._reranked.get(self._rows[i])
        parts = [] if judged is None else [judged]
        for column in self._of_each():
            if judged is None or column[0] != judged.source:
                part = self._part(i, column)
                if part is not None:
                    parts.append(part)
        parts.sort(key=_most_first)
        return tuple(parts)

    def by_source(self, i: int) -> BySource:
        """Return the contributions to the hit at `i` by their sources, each made when it is asked for."""
        return BySource(self, i)

    def contribution(self, i: int, source: str) -> Contribution | None:
        """Return the contribution of one source to the hit at `i`; `None` = the source has not seen it."""
        judged = self._reranked.get(self._rows[i])
        if judged is not None and source == judged.source:
            return judged
        columns = self._by_name
        if columns is None:
            columns = self._by_name = {column[0]: column for column in self._of_each()}
        column = columns.get(source)
        return None if column is None else self._part(i, column)

    def sources(self, i: int) -> list[str]:
        """Return the sources of contributions to the hit at `i`, largest first."""
        return [part.source for part in self.contributions(i)]

    def _part(self, i: int, column: _Column) -> Contribution | None:
        source, scores, sums, ranks, noted = column
        score, added, rank = scores[i], sums[i], ranks[i]
        if isnan(score):  # the source has not seen it; where it moved others, that may have cost this one
            score = 0.0
        if not (score or added or rank):
            return None
        return contribution_of((source, int(rank) or None, score, added, noted.get(self._rows[i], "")))


class BySource(Mapping[str, Contribution]):
    """The contributions to a hit by their sources, each made when it is asked for: a reason looks at a few of them."""

    __slots__ = ("_i", "_made", "_sheet")

    def __init__(self, sheet: Sheet, i: int) -> None:
        self._sheet, self._i = sheet, i
        self._made: dict[str, Contribution | None] = {}

    def __getitem__(self, source: str) -> Contribution:
        found: Contribution | None = self.get(source)
        if found is None:
            raise KeyError(source)
        return found

    def get(self, source: str, default: Any = None) -> Any:
        """Return the contribution of a source; `default` where it has not seen the hit."""
        made = self._made
        if source not in made:
            made[source] = self._sheet.contribution(self._i, source)
        found = made[source]
        return default if found is None else found

    def __contains__(self, source: object) -> bool:
        return isinstance(source, str) and self.get(source) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sheet.sources(self._i))

    def __len__(self) -> int:
        return len(self._sheet.sources(self._i))


class _Table:
    """Values of columns at some places, which rise."""

    __slots__ = ("_names", "_values")

    def __init__(self, columns: Mapping[str, NDArray[Any]], at: Rows) -> None:
        self._names = tuple(columns) if len(at) else ()
        self._values = np.empty((0, len(at)))
        if not self._names:
            return
        if isinstance(columns, InOrder):
            parts = columns.parts(at)
        else:
            first, last = int(at[0]), int(at[-1]) + 1
            # Nearly always they are the first k, and a slice costs a tenth.
            where = slice(first, last) if last - first == len(at) else at
            parts = [column[where] for column in columns.values()]
        self._values = np.concatenate(parts).reshape(len(parts), len(at))

    def of(self, name: str) -> list[float]:
        """Return one column; empty where there is none of that name."""
        found: list[float] = self._values[self._names.index(name)].tolist() if name in self._names else []
        return found

    def lists(self) -> dict[str, list[float]]:
        """Return the columns by name."""
        return dict(zip(self._names, self._values.tolist(), strict=True))


def _most_first(part: Contribution) -> tuple[float, str]:
    return -part.added, part.source


_HALF_DAY = timedelta(hours=12)
_DAY = timedelta(hours=25)  # with the hour that comes twice in autumn


def times_told(view: ScopeView, parsed: ParsedQuery, rows: Sequence[int]) -> dict[int, str]:
    """Say what hits tell of the time that is asked for, or if the query asks when, the first time that they tell.

    Hits that are of that time themselves are left out.
    """
    window = parsed.temporal_window
    if not rows or (window is None and not asks_when(parsed.original)):
        return {}
    start = stop = None
    if window is not None:
        own = asked_mask(view, window.start, window.end)
        rows = [row for row in rows if not own[row]]
        start = None if window.start is None else to_micros(window.start)
        stop = None if window.end is None else to_micros(window.end)
    told = view.told.of_rows(rows, start, stop)
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
_Words = tuple[str, ...]
_Asking = tuple[str, tuple[EntityRef, ...], _Words, tuple[int, int], Asked, str | None]


def reason(
    parsed: ParsedQuery,
    memory: Memory,
    contributions: Sequence[Contribution],
    *,
    demoted: bool = False,
    names: bool = True,
    said: Collection[str] | None = None,
    way: str = "",
    when: str = "",
    apart: bool = True,
    own: Mapping[str, str] = NO_WORDS,
    labels: Mapping[str, str] = FEATURES.labels,
    asked: Asked | None = None,
    tells: str = "",
) -> str:
    """Return one line, strongest evidence first; never empty."""
    found = _own_words(contributions, own)
    by_source = {c.source: c for c in contributions}
    return _reason(
        parsed, memory, by_source, demoted, said, way, when, apart, found, labels, asked, names=names, tells=tells
    )


def _own_words(contributions: Sequence[Contribution], own: Mapping[str, str]) -> list[str]:
    """Return the reasons of the user's own arms."""
    return [own[c.source] for c in contributions if own.get(c.source) and c.score > 0]


@record(slots=True, kw_only=True)
class Shared:
    """Data that the reasons of all hits of a recall share. Arguments as for `reason`."""

    parsed: ParsedQuery
    sheet: Sheet  # contributions of each source to each hit
    apart: bool
    names: bool
    own: Mapping[str, str]
    labels: Mapping[str, str]
    asked: Asked | None = None

    def words(self) -> Asked:
        """Return the query's words, each with its stem (`asked_words`); made once for all hits."""
        if self.asked is None:
            self.asked = _asked(*_asking(self.parsed))
        return self.asked


class HitWhy:
    """Reasons of one hit; a `types.result.Why`."""

    __slots__ = ("_demoted", "_i", "_said", "_shared", "_tells", "_way", "_when")

    def __init__(
        self,
        shared: Shared,
        i: int,
        said: Collection[str] | None,
        demoted: bool,
        way: str,
        when: str,
        tells: str = "",
    ) -> None:
        self._shared, self._i, self._tells = shared, i, tells
        self._said, self._demoted, self._way, self._when = said, demoted, way, when

    def contributions(self) -> tuple[Contribution, ...]:
        """Return the contributions of all sources."""
        return self._shared.sheet.contributions(self._i)

    def reason(self, memory: Memory) -> str:
        """Return one line; only the contributions that it looks at are made."""
        shared = self._shared
        found = _own_words(self.contributions(), shared.own) if shared.own else ()
        return _reason(
            shared.parsed,
            memory,
            shared.sheet.by_source(self._i),
            self._demoted,
            self._said,
            self._way,
            self._when,
            shared.apart,
            found,
            shared.labels,
            shared.words(),
            names=shared.names,
            tells=self._tells,
        )


def _reason(
    parsed: ParsedQuery,
    memory: Memory,
    by_source: Mapping[str, Contribution],
    demoted: bool,
    said: Collection[str] | None,
    way: str,
    when: str,
    apart: bool,
    found: Sequence[str],
    labels: Mapping[str, str],
    asked: Asked | None,
    *,
    names: bool,
    tells: str = "",
) -> str:
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
    words = shared_words(parsed, memory, said, asked)
    if words:
        parts.append(f"says: {', '.join(words[:WORDS_SHOWN])}")
    semantic = by_source.get("semantic")
    if semantic is not None and semantic.score >= CLOSE:
        parts.append(f"close in meaning ({semantic.score:.2f})")
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
        parts.append(f"weak match, nearest in meaning ({semantic.score:.2f})" if semantic is not None else "weak match")
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
    subject = by_source.get("subject_match")
    if subject is not None and subject.note:
        yield f"about: {subject.note}"
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
    """Return words of the query that are worth naming, each with its stem."""
    return _asked_lately(*_asking(parsed))


def _asking(parsed: ParsedQuery) -> _Asking:
    window = (0, 0) if parsed.temporal_window is None else parsed.temporal_window.span
    terms = (*parsed.terms, *parsed.weaker_terms)
    return parsed.original, parsed.entity_refs, terms, window, parsed.stems, parsed.language


def _asked(
    text: str,
    refs: tuple[EntityRef, ...],
    terms: tuple[str, ...],
    window: tuple[int, int],
    read: tuple[tuple[str, str], ...],
    language: str | None,
) -> tuple[tuple[str, str], ...]:
    """Return words of the query with their stems, without names, words that are not looked for, and mere times."""
    # The user's words are no names: in "trabajé" they are an ending that memories say too. "我" only means the user.
    names = (r for r in refs if r.stage != IMPLICIT or is_character(r.mention[:1]))
    part = shortened(text)
    named = [*(r.span for r in names), *(part.place(m.span()) for m in _LONG_NUMBER.finditer(part.text))]
    roots = dict(read)
    said = with_signs(part.text, tokenize(part.text))
    placed = ((token.word, part.place((token.start, token.end))[0]) for token in said)
    words = {
        word: roots.get(word) or stem(word)
        for word, place in placed
        if (word in roots if roots else word not in STOP_WORDS)
        and not any(start <= place < end for start, end in named)
        and not (window[0] <= place < window[1] and _says_only_when(word, language))
    }
    return tuple((word, its_stem) for word, its_stem in words.items() if its_stem in terms)


_asked_lately = lru_cache(maxsize=64)(_asked)  # whoever explains hits one by one asks for the same


def _says_only_when(word: str, language: str | None) -> bool:
    return only_time(word, language) or is_unit(word, language)
