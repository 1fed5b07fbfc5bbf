"""Text in, `ParsedQuery` out. Each step may fail without failing the parse: what it would have found is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidQuery, RecallError
from recall_integrations.query import features
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.negation import Negation, find_negations
from recall_integrations.query.temporal import parse_window
from recall_integrations.records import Degradation, EntityRef, ParsedQuery, QueryFeatures, TemporalWindow, checked_text
from recall_integrations.text import STOP_WORDS, Token, stem, tokenize

T = TypeVar("T")

# Control characters separate words; they carry no meaning in a query.
_CONTROLS = dict.fromkeys((*range(0x20), 0x7F), " ")
NAME_CONFIDENCE_MIN = 0.5  # of a reference, for its canonical name to be looked for as well
SAME_WORD = 70.0  # similarity in percent from which a word of a mention stands for a word of the name
# Words of a date that say where it lies from now; a memory of that day would not say them.
RELATIVE_WORDS = frozenset("last next past previous ago recent recently current coming this".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeKnowledge:
    """What the parser may ask about the scope. For a scope never seen: nothing is known."""

    entities: EntityIndex | None = None
    frequency: Callable[[str], int] = lambda _stem: 0
    memories: int = 0


def clean(query: object, limit: int) -> str:
    """The query as text that can be searched for: control characters become spaces.

    Raises:
        InvalidQuery: not text, blank, longer than `limit`, or holding a lone surrogate.
    """
    text = checked_text(query, "The query", InvalidQuery, limit=limit)
    cleaned = text.translate(_CONTROLS)
    if not cleaned.strip():
        raise InvalidQuery("The query holds only control characters. Give at least one visible character.")
    return cleaned


class QueryParser:
    """Reads queries under one configuration. Holds no state between calls."""

    def __init__(self, config: RecallConfig) -> None:
        self._config = config
        self._zone = ZoneInfo(config.timezone)

    def parse(self, text: str, now: datetime, known: ScopeKnowledge) -> tuple[ParsedQuery, tuple[Degradation, ...]]:
        """The parsed query, and the steps that failed. `text` comes from `clean`."""
        degraded: list[Degradation] = []
        local = now.astimezone(self._zone)
        window = _guard("parse.temporal", lambda: self._window(text, local, known), None, degraded)
        nothing: tuple[Negation, ...] = ()
        negations = _guard("parse.negation", lambda: find_negations(text), nothing, degraded)
        reserved = [n.span for n in negations]
        if window is not None and window.span != (0, 0):
            reserved.append(window.span)
        no_refs: tuple[EntityRef, ...] = ()
        refs = no_refs
        if known.entities is not None:
            entities = known.entities
            refs = _guard("parse.entities", lambda: entities.resolve(text, reserved=reserved), no_refs, degraded)
        excluded = [n.span for n in negations]
        tokens = [t for t in tokenize(text) if not _inside(t, excluded)]
        content = [t for t in tokens if t.word not in STOP_WORDS]
        dated = [window.span] if window is not None else []
        plain = tuple(stem(t.word) for t in content if not _inside(t, dated))
        terms = self._terms(content, refs, dated)
        strength, cued, _ = features.type_cues(text)
        vector = QueryFeatures(
            entity_density=features.entity_density(tokens, refs, window),
            temporal=features.temporal_precision(window),
            lexical_rarity=_guard(
                "parse.rarity", lambda: features.lexical_rarity(plain, known.frequency, known.memories), 0.0, degraded
            ),
            type_cues=strength,
        )
        parsed = ParsedQuery(
            original=text,
            entity_refs=refs,
            temporal_window=window,
            predicate_hints=features.predicate_hints(tokens),
            negations=tuple(n.term for n in negations),
            features=vector,
            type_cues=cued,
            terms=terms,
            now=now,
        )
        return replace(parsed, specificity=features.specificity(vector, self._config.specificity)), tuple(degraded)

    @staticmethod
    def _terms(content: list[Token], refs: tuple[EntityRef, ...], dated: list[tuple[int, int]]) -> tuple[str, ...]:
        """Stems to look for: the content words, and the names behind aliases and misspelt mentions.

        Words of a date stay ("summer", "March"), but not those that only say where it lies from now ("last").
        """
        named = [r for r in refs if r.stage in ("alias", "fuzzy") and r.confidence >= NAME_CONFIDENCE_MIN]
        misspelt = [r.span for r in named if r.stage == "fuzzy"]
        terms = [
            stem(t.word)
            for t in content
            if not (t.word in RELATIVE_WORDS and _inside(t, dated)) and not _inside(t, misspelt)
        ]
        return tuple(dict.fromkeys([*terms, *(stem(word) for ref in named for word in _name_behind(ref))]))

    def _window(self, text: str, now: datetime, known: ScopeKnowledge) -> TemporalWindow | None:
        names: list[str] = []
        if known.entities is not None:
            entities = known.entities
            names = [t.word for t in tokenize(text) if entities.contains_word(t.word)]
        return parse_window(text, now, week_start=self._config.week_start, names=names)


def _name_behind(ref: EntityRef) -> list[str]:
    """Words of the canonical name that the mention stands for: of "Project Kestrel" only the second for "Kestral"."""
    from rapidfuzz.fuzz import ratio

    said = [t.word for t in tokenize(ref.mention)]
    name = [t.word for t in tokenize(ref.name) if t.word not in STOP_WORDS]
    like = [word for word in name if any(ratio(word, other) >= SAME_WORD for other in said)]
    return like or name


def _inside(token: Token, spans: list[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)


def _guard(stage: str, step: Callable[[], T], fallback: T, degraded: list[Degradation]) -> T:
    try:
        return step()
    except Exception as e:  # noqa: BLE001 - named in the result; a recall must not fail for one reading of its text
        code = e.code.lower() if isinstance(e, RecallError) else "error"
        degraded.append(Degradation(stage=stage, reason=code, detail=f"{type(e).__name__}: {e}"))
        return fallback
