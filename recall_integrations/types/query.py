"""A query as it was understood."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from recall_integrations.errors import InvalidArgument
from recall_integrations.records import record
from recall_integrations.types.memory import MemoryType, checked_time
from recall_integrations.types.readings import (
    ConversationalVerdict,
    Correction,
    Identifier,
    QueryToken,
    Router,
    SessionRef,
)
from recall_integrations.types.roles import Role


@record(frozen=True, slots=True, kw_only=True)
class EntityRef:
    """An entity that a query names.

    Args:
        entity_id: stable id inside the scope.
        name: canonical name.
        mention: the words of the query that name it.
        span: `(start, end)` of the mention in the query, in characters, end exclusive; `(0, 0)` if implicit.
        confidence: probability that it is this entity, in [0, 1].
        stage: stage that resolved it: `exact`, `alias`, `fuzzy`, `llm` or `implicit`.
    """

    entity_id: str
    name: str
    mention: str
    span: tuple[int, int]
    confidence: float
    stage: str


@record(frozen=True, slots=True, kw_only=True)
class TemporalWindow:
    """A span of time that a query speaks of.

    Args:
        start: first instant, timezone-aware; `None` = open.
        end: first instant after it (exclusive), timezone-aware; `None` = open.
        span: `(start, end)` of the words in the query, in characters; `(0, 0)` if implicit.
        confidence: in [0, 1]. Below 0.5 the window only softens the ranking.
    """

    start: datetime | None = None
    end: datetime | None = None
    span: tuple[int, int] = (0, 0)
    confidence: float = 1.0

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            if getattr(self, name) is not None:
                checked_time(getattr(self, name), f"TemporalWindow.{name}", InvalidArgument)
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise InvalidArgument("TemporalWindow.start must lie before its (exclusive) end.")
        if isinstance(self.confidence, bool) or not 0 <= self.confidence <= 1:  # also false for NaN
            raise InvalidArgument(f"TemporalWindow.confidence must be a number in [0, 1], not {self.confidence!r}.")
        if not 0 <= self.span[0] <= self.span[1]:
            raise InvalidArgument(
                f"TemporalWindow.span must be (start, end) with 0 <= start <= end, not {self.span!r}."
            )

    def holds(self, moment: datetime) -> bool:
        """Say whether `moment` lies in the window."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)


@record(frozen=True, slots=True, kw_only=True)
class QueryFeatures:
    """The feature vector the planner decides on; each value in [0, 1]."""

    entity_density: float = 0.0
    temporal: float = 0.0
    lexical_rarity: float = 0.0
    type_cues: float = 0.0


@record(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query as the optimizer understands it.

    Args:
        original: the query, as given.
        rewrites: phrasings by the LLM that were searched for; empty where it was not asked, or gave none.
        entity_refs: resolved entities, in order of appearance.
        temporal_window: time that it speaks of.
        predicate_hints: edge types its words point at (`reports_to`).
        type_hints: memory types it asks for. Empty from the parser; only the optimizer sets it.
        negations: terms that it excludes ("not frontend" → `frontend`).
        specificity: `0.35·entity_density + 0.25·temporal + 0.25·lexical_rarity + 0.15·type_cues`.
        features: the vector behind the specificity.
        type_cues: types that its words point at, which the optimizer may turn into `type_hints`.
        type_filters: types that the query names so plainly ("my preferences") that other types may be left out.
        terms: the stems that lexical search looks for, in order, without stop words and negated words, with those of
            `corrections`.
        stems: its content words in order, each with the stem that it is looked for by. Only where `language` is not
            English.
        weaker_terms: stems of other forms of its words that memories of the scope hold: without accents or with them,
            of another language. They count less than `terms`.
        identifiers: parts that have to match letter by letter (`ABC-123`, "in quotation marks").
        router: kind of memories it is after: knowledge, neural or both.
        conversational: whether it has nothing that BM25 could look for.
        corrections: second readings of words that nobody knows; added to `terms`, never instead of the word.
        corrected_query: the query with its corrections, which is embedded as well; `None` without corrections.
        tokens: its words with their roles.
        now: the moment relative dates were read against, in the time zone they were read in.
        asked_role: in a conversation with an assistant, whose words are asked for: `user` ("what did I say about …"),
            `assistant` ("what did you recommend"); `None` = neither. Read from the words alone.
        asked_role_strength: how plainly, in [0, 1]: 1 where a verb of saying has the role as its subject, less where
            the query only speaks of what is the asker's; 0 without a role.
        session: the session of the conversation that it asks for.
        talk: `all` where it asks for everything that was said then ("what did we talk about on May
            8th"), `about` where it asks what was said of something, else empty.
        language: code (ISO 639-1) of the language that it was read in: the scope's where the query alone does not tell,
            English where nothing does.
        memories_in: the language that most memories of the scope are in, if hardly any is in that of the query: then
            only names and an embedding of both languages can find something. `None` = they share one.
        unread: parts not read for want of tables for that language: of `dates`, `negation`, `person`, `questions`,
            `types` and `sessions`. Empty for English.
    """

    original: str
    rewrites: tuple[str, ...] = ()
    entity_refs: tuple[EntityRef, ...] = ()
    temporal_window: TemporalWindow | None = None
    predicate_hints: tuple[str, ...] = ()
    type_hints: tuple[MemoryType, ...] = ()
    negations: tuple[str, ...] = ()
    specificity: float = 0.0
    features: QueryFeatures = field(default_factory=QueryFeatures)
    type_cues: tuple[MemoryType, ...] = ()
    type_filters: tuple[MemoryType, ...] = ()
    terms: tuple[str, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    router: Router = field(default_factory=Router)
    conversational: ConversationalVerdict = field(default_factory=ConversationalVerdict)
    corrections: tuple[Correction, ...] = ()
    corrected_query: str | None = None
    tokens: tuple[QueryToken, ...] = field(default=(), repr=False)
    now: datetime | None = None
    asked_role: Role | None = None
    asked_role_strength: float = 0.0
    session: SessionRef | None = None
    talk: str = ""
    language: str = "en"
    unread: tuple[str, ...] = ()
    memories_in: str | None = None
    stems: tuple[tuple[str, str], ...] = ()
    weaker_terms: tuple[str, ...] = ()
