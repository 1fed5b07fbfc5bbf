"""Other extractors behind the same protocol: spaCy, GLiNER, any function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.extraction.records import Candidate, Extracted, ExtractedEntity, Extractor
from recall_integrations.extraction.relations import PATTERNS, RelationFinder, RelationPattern
from recall_integrations.extraction.rules import (
    RuleExtractor,
    declared_names,
    distinct,
    find_declared,
    relations_of,
)
from recall_integrations.extraction.tokens import Words, words_of
from recall_integrations.types import Memory

RULES = "rules"
NAME_CHARS_MAX = 200
ENTITIES_MAX = 64

# spaCy's OntoNotes and WikiNER labels. What is missing (numbers, nationalities, languages, laws) makes no entity.
SPACY_KINDS: Mapping[str, str] = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organisation",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "PRODUCT": "product",
    "WORK_OF_ART": "product",
    "EVENT": "event",
    "DATE": "date",
    "MISC": "name",
}
GLINER_LABELS = ("person", "organisation", "project", "product", "place", "event")

FoundName = tuple[str, str, int, int, float]  # name, kind, start, end, confidence


class _Wrapped:
    """What the wrapped finders share: declared names win, relations by the built-in patterns."""

    def __init__(self, patterns: Sequence[RelationPattern] = PATTERNS, entities_max: int = ENTITIES_MAX) -> None:
        self._relations = RelationFinder(patterns)
        self._entities_max = entities_max

    def _found(self, text: str) -> Iterable[FoundName]:
        raise NotImplementedError

    def extract(self, memory: Memory) -> Extracted:
        """What the wrapped finder names in `memory.text`, without what is declared. Its errors are passed on."""
        words = words_of(memory.text)
        declared = find_declared(words, declared_names(memory))
        spans = [(d.start, d.end) for d in declared]
        known = {name.casefold() for name in declared_names(memory)}
        entities = []
        for name, kind, start, end, confidence in self._found(memory.text):
            clean = " ".join(name.split())
            if not clean.isprintable() or not 0 < len(clean) <= NAME_CHARS_MAX or not 0 < confidence <= 1:
                continue
            if clean.casefold() in known or any(start < b and a < end for a, b in spans):
                continue
            entities.append(ExtractedEntity(name=clean, kind=kind, span=(start, end), confidence=confidence))
        slots = [*_slots(words, entities), *declared]
        relations = relations_of(self._relations.find(words, slots, memory.actor), memory)
        ends = {name for r in relations for name in (r.subject, r.object)}
        return Extracted(entities=distinct(entities, self._entities_max, ends), relations=relations)


def _slots(words: Words, entities: Iterable[ExtractedEntity]) -> list[Candidate]:
    """Entities as slots for relations: those that cover whole words and do not overlap."""
    starts = {start: i for i, start in enumerate(words.starts)}
    ends = {end: i for i, end in enumerate(words.ends)}
    slots: list[Candidate] = []
    reach = -1
    for e in sorted(entities, key=lambda e: (e.span[0], -e.span[1])):
        first, last = starts.get(e.span[0]), ends.get(e.span[1])
        if first is None or last is None or last < first or first <= reach or e.kind == "date":
            continue
        reach = last
        slots.append(
            Candidate(
                first=first, stop=last + 1, start=e.span[0], end=e.span[1], name=e.name, kind=e.kind,
                confidence=e.confidence, team=words.lows[last] == "team",
            )
        )  # fmt: skip
    return slots


class SpacyExtractor(_Wrapped):
    """A spaCy `Language`: its entities, by `SPACY_KINDS`.

    Args:
        language: a loaded pipeline with a named-entity recogniser.
        kinds: label → kind; labels that are missing are left out.
        confidence: of every entity, as spaCy gives none.
    """

    def __init__(
        self, language: Callable[[str], Any], *, kinds: Mapping[str, str] = SPACY_KINDS, confidence: float = 0.8
    ) -> None:
        super().__init__()
        self._language = language
        self._kinds = kinds
        self._confidence = confidence

    def _found(self, text: str) -> Iterable[FoundName]:
        for ent in self._language(text).ents:
            kind = self._kinds.get(ent.label_)
            if kind is not None:
                end = ent.end_char - (2 if ent.text.endswith(("'s", "’s")) else 0)
                yield text[ent.start_char : end], kind, ent.start_char, end, self._confidence


class GlinerExtractor(_Wrapped):
    """A GLiNER model: anything with `predict_entities(text, labels)` that gives mappings.

    Args:
        model: the model.
        labels: kinds that are asked for.
        confidence_min: entities below this score are left out.
    """

    def __init__(self, model: Any, *, labels: Sequence[str] = GLINER_LABELS, confidence_min: float = 0.5) -> None:
        super().__init__()
        self._model = model
        self._labels = list(labels)
        self._confidence_min = confidence_min

    def _found(self, text: str) -> Iterable[FoundName]:
        for row in self._model.predict_entities(text, self._labels):
            start, end, score = int(row["start"]), int(row["end"]), float(row.get("score", 0.8))
            if score >= self._confidence_min:
                yield str(row["text"]), str(row["label"]).lower(), start, end, min(score, 1.0)


class CallableExtractor(_Wrapped):
    """A function from text to names, or to `(name, kind)`: an LLM call, a dictionary, anything.

    A name that is not in the text as such (a normalised one) is kept with the span `(0, 0)`.

    Args:
        function: the function.
        confidence: of every entity.
    """

    def __init__(self, function: Callable[[str], Iterable[Any]], *, confidence: float = 0.8) -> None:
        super().__init__()
        self._function = function
        self._confidence = confidence

    def _found(self, text: str) -> Iterable[FoundName]:
        given = self._function(text)
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidArgument(f"The extractor must give a list of names, not {type(given).__name__}.")
        for item in given:
            name, kind = (item, "name") if isinstance(item, str) else _pair(item)
            at = text.find(name) if name else -1
            start, end = (at, at + len(name)) if at >= 0 else (0, 0)
            yield name, kind, start, end, self._confidence


def _pair(item: object) -> tuple[str, str]:
    if isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return item[0], item[1]
    raise InvalidArgument(f"The extractor must give names or (name, kind) pairs, not {item!r}.")


def resolve_extractor(source: object) -> Extractor | None:
    """The extractor that `source` stands for.

    Args:
        source: `None` or `False` for none, `"rules"` for the built-in ones, an object with `extract(memory)`, a spaCy
            `Language`, a GLiNER model (`predict_entities(text, labels)`), or a function from text to names or
            `(name, kind)` pairs.

    Raises:
        InvalidArgument: it is none of these.
    """
    if source is None or source is False:
        return None
    if isinstance(source, str) and source == RULES:
        return RuleExtractor()
    if not inspect.isclass(source):
        if isinstance(source, Extractor):
            return source
        if callable(getattr(source, "predict_entities", None)):
            return GlinerExtractor(source)
        if callable(source):
            return SpacyExtractor(source) if hasattr(source, "pipe_names") else CallableExtractor(source)
    what = f"the class {source.__name__}" if inspect.isclass(source) else repr(source)[:80]
    raise InvalidArgument(
        f"{what} is no extractor. Use None (none), {RULES!r} (the built-in ones), a spaCy pipeline, a GLiNER model, "
        "a function from text to names, or an object with extract(memory)."
    )
