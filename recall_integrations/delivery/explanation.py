"""Says in words why a hit is there: "entities overlap: Priya; says: database, kestrel; close in meaning (0.71)"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from recall_integrations.arms.second_hop.links import Via
from recall_integrations.delivery.names_said import as_word
from recall_integrations.delivery.sheet import Sheet
from recall_integrations.patterns import regex
from recall_integrations.planning.planner import anchoring
from recall_integrations.privacy.door import Door
from recall_integrations.query.date_words import is_unit, only_time
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, is_character, stem, stems, tokenize
from recall_integrations.text.shortening import shortened
from recall_integrations.text.signs import with_signs
from recall_integrations.types import Contribution, EntityRef, Memory, MemoryType, ParsedQuery

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
    """Return one line, strongest evidence first; never empty.

    Args:
        parsed, contributions: the query and the contributions of its sources to the hit.
        memory: the memory as shown: under `redact` and `block` a reason must not say what the text may not.
        demoted: whether a negation moved it down.
        names: whether names and words may be said; the line then still has to go through the door.
        said: stems of the query that the memory says, if that is known; default: its text is read.
        way: words for how another memory led to it (`led`); empty = none did.
        when: words for the time or the session that decided, if the memory lies in it; else empty.
        apart: whether being recent sets a memory apart in its scope.
        own: arm of the user's own → why what it finds is there.
        labels: texts of ranking features, for a hit with no stronger reason.
        asked: `asked_words(parsed)`, if that is known already.
        tells: words for the time of which it tells (`telling.times_told`); empty = of none, or none is asked for.
    """
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
    """Data that the reasons of all hits of a recall share. Arguments as for `reason`.

    Args:
        sheet: contributions of each source to each hit.
    """

    parsed: ParsedQuery
    sheet: Sheet
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
    """Reasons of one hit; a `types.result.Why`.

    Args:
        shared: data shared with the other hits.
        i: place of the hit among them.
        said, demoted, way, when, tells: as for `reason`.
    """

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
    """Say how a document was reached from another: "leads on from “Amber Lantern”: about Priya Raman"; "" for `None`.

    Args:
        via: the way from the other document.
        before: the other document as it is shown; `None` = it is gone.
        door: door through which the name goes; under `block` neither is named.
    """
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
