"""The built-in extractor: rules, no model. Precision goes before recall."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recall_integrations.errors import InvalidArgument
from recall_integrations.extraction.names import NameFinder, is_plain
from recall_integrations.extraction.records import Candidate, Extracted, ExtractedEntity
from recall_integrations.extraction.relations import PATTERNS, RelationFinder, RelationPattern
from recall_integrations.extraction.tokens import Words, words_of
from recall_integrations.patterns import regex
from recall_integrations.query.entities.units import key_of
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.types import Memory, Relation

TEXT_CHARS_MAX = 131_072  # of a longer text only the beginning is read

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = regex(
    r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b"
    rf"|\b(?:[12]?\d|3[01])(?:st|nd|rd|th)?(?: of)? {_MONTH},? (?:19|20)\d\d\b"
    rf"|\b{_MONTH} (?:[12]?\d|3[01])(?:st|nd|rd|th)?,? (?:19|20)\d\d\b",
    re.IGNORECASE,
)
_DIGIT = regex(r"\d")
_MARK_CONFIDENCE = {"email": 0.95, "number": 0.85}


class RuleExtractor:
    """Names by how they are written (see `names`), relations by a table of patterns (see `relations`).

    English; of texts in another language only names by shape are found, none in scripts without upper case. It keeps
    no state between calls, so any number of threads may share one. Never raises for any memory.

    Args:
        confidence_min: entities below are left out; see the table in `names`. Default .7.
        entities_max: the surest so many entities of one memory are kept.
        patterns: what relations are found by; extend with `(*PATTERNS, RelationPattern(...))`.

    Raises:
        InvalidArgument: an argument is out of its range, or a pattern cannot be read.
    """

    def __init__(
        self,
        *,
        confidence_min: float = 0.7,
        entities_max: int = 64,
        patterns: Sequence[RelationPattern] = PATTERNS,
    ) -> None:
        if isinstance(confidence_min, bool) or not 0 <= confidence_min <= 1:
            raise InvalidArgument(f"confidence_min must be in [0, 1], not {confidence_min!r}.")
        if isinstance(entities_max, bool) or entities_max < 0:
            raise InvalidArgument(f"entities_max must be 0 or more, not {entities_max!r}.")
        self.confidence_min = confidence_min
        self.entities_max = entities_max
        self._relations = RelationFinder(patterns)

    def extract(self, memory: Memory) -> Extracted:
        """What `memory.text` names, beyond what the memory declares."""
        text = memory.text[:TEXT_CHARS_MAX]
        words = words_of(text)
        names = declared_names(memory)
        declared = find_declared(words, names) if names else []
        finder = NameFinder(words)
        taken = {i for slot in declared for i in range(slot.first, slot.stop)}
        candidates = finder.run(taken) if finder.caps else []
        unify(candidates, names, self.confidence_min)
        slots = [*candidates, *declared] if declared else candidates
        stated = self._relations.find(words, slots, memory.actor)
        relations = relations_of(stated, memory)
        ends = {name for r in relations for name in (r.subject, r.object)}
        found = [
            ExtractedEntity(name=c.name, kind=c.kind, span=(c.start, c.end), confidence=c.confidence)
            for c in candidates
            if c.confidence >= self.confidence_min and not c.declared
        ]
        found += self._marks(words, memory.text)
        return Extracted(entities=distinct(found, self.entities_max, ends), relations=relations)

    def _marks(self, words: Words, text: str) -> list[ExtractedEntity]:
        found = [
            ExtractedEntity(
                name=text[start:end], kind="identifier", span=(start, end), confidence=_MARK_CONFIDENCE[kind]
            )
            for start, end, kind in words.marks
        ]
        if _DIGIT.search(words.text):
            found += [
                ExtractedEntity(name=m.group(), kind="date", span=m.span(), confidence=0.9)
                for m in _DATE.finditer(words.text)
            ]
        return [e for e in found if e.confidence >= self.confidence_min]


def declared_names(memory: Memory) -> list[str]:
    """Names that the memory declares, each once."""
    names = [*memory.entities, *([memory.actor] if memory.actor else [])]
    names += [name for r in memory.relations for name in (r.subject, r.object)]
    return list(dict.fromkeys(names))


def find_declared(words: Words, names: Iterable[str]) -> list[Candidate]:
    """Where declared names stand, the longest where they overlap. An ordinary word has to be written large."""
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name in names:
        own = tuple(words_of(name).lows)
        if own:
            by_first.setdefault(own[0], []).append((own, name))
    for options in by_first.values():
        options.sort(key=lambda o: (-len(o[0]), o[1]))
    found: list[Candidate] = []
    i, lows, count = 0, words.lows, len(words.lows)
    while i < count:
        for parts, name in by_first.get(lows[i], ()):
            j = i + len(parts)
            if tuple(lows[i:j]) != parts or (len(parts) == 1 and is_ordinary(parts[0]) and words.raws[i].islower()):
                continue
            own_end = j
            while j < count and j - own_end < 3 and _extends(words, j, by_first):
                j += 1
            start, end = words.starts[i], words.ends[j - 1]
            found.append(
                Candidate(
                    first=i, stop=j, start=start, end=end, name=name, kind="name", confidence=1.0, declared=True,
                    team=parts[-1] == "team",
                )
            )  # fmt: skip
            i = j - 1
            break
        i += 1
    return found


def _extends(words: Words, j: int, starts: dict[str, list[tuple[tuple[str, ...], str]]]) -> bool:
    """Whether word `j` carries on the name before it: "Raman" after the declared "Priya"."""
    low = words.lows[j]
    return (
        words.raws[j][0].isupper()
        and not words.owns[j - 1]
        and words.gap(j) == " "
        and not is_plain(low)
        and low not in starts
    )


def unify(candidates: list[Candidate], declared: Iterable[str], confidence_min: float) -> None:
    """Give a short name the longer one that is declared or that the text also uses, if only one fits.

    "Priya" beside "Priya Raman" is she.
    """
    if not any(" " not in candidate.name for candidate in candidates):
        return
    whole_names = [
        Candidate(first=-1, stop=-1, start=0, end=0, name=name, kind="name", confidence=1.0, declared=True)
        for name in declared
        if " " in name
    ]
    longer: dict[str, Candidate | None] = {}
    for candidate in (*whole_names, *candidates):
        parts = candidate.name.lower().split(" ")
        if len(parts) < 2 or candidate.confidence < confidence_min or candidate.team:
            continue
        ends = {parts[0], parts[-1]} if candidate.kind in {"person", "name"} else {parts[-1]}
        if candidate.kind == "organisation":
            ends = {parts[0]}
        for part in ends:
            known = longer.get(part, candidate)
            longer[part] = candidate if known is not None and known.name == candidate.name else None
    if not longer:
        return
    for candidate in candidates:
        if " " in candidate.name:
            continue
        whole = longer.get(candidate.name.lower())
        if whole is not None and not is_plain(candidate.name.lower()):
            candidate.name, candidate.declared, candidate.kind = whole.name, whole.declared, whole.kind
            candidate.confidence = max(candidate.confidence, whole.confidence)


def relations_of(stated: Iterable[tuple[Candidate, str, Candidate, float]], memory: Memory) -> tuple[Relation, ...]:
    """Stated relations as records, each once, without those that the memory declares."""
    known = {(_key(r.subject), r.predicate, _key(r.object)) for r in memory.relations}
    relations: list[Relation] = []
    for subject, predicate, object_, confidence in stated:
        key = (_key(subject.name), predicate, _key(object_.name))
        if key not in known and key[0] != key[2]:
            known.add(key)
            relations.append(Relation(subject.name, predicate, object_.name, confidence))
    return tuple(relations)


def distinct(found: Iterable[ExtractedEntity], limit: int, ends: set[str]) -> tuple[ExtractedEntity, ...]:
    """Each name once, with its first span and best confidence; the surest `limit`, ends of relations first."""
    best: dict[str, ExtractedEntity] = {}
    for entity in sorted(found, key=lambda e: (e.span, e.name)):
        key = _key(entity.name)
        first = best.get(key)
        if first is None:
            best[key] = entity
        elif entity.confidence > first.confidence or (first.kind == "name" and entity.kind != "name"):
            kind = entity.kind if first.kind == "name" else first.kind
            confidence = max(first.confidence, entity.confidence)
            best[key] = ExtractedEntity(name=first.name, kind=kind, span=first.span, confidence=confidence)
    entities = list(best.values())
    if len(entities) > limit:
        entities = sorted(entities, key=lambda e: (e.name not in ends, -e.confidence, e.span))[:limit]
        entities.sort(key=lambda e: e.span)
    return tuple(entities)


def _key(name: str) -> str:
    return " ".join(key_of(name))
