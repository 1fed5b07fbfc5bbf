"""A query as it was understood."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from itertools import pairwise

from recall_integrations.errors import InvalidArgument
from recall_integrations.records import record
from recall_integrations.types.memory import MemoryType, checked_time
from recall_integrations.types.roles import Role

QUERY_CHARS_MAX = (
    32_768  # a longer one keeps both ends; of a longer text only the beginning is looked through for names
)
PLANS = ("precise", "entity_centric", "temporal", "precision", "exploratory", "balanced")  # names, in the rules' order


@record(frozen=True, slots=True, kw_only=True)
class ArmPlan:
    """One sub-retriever in a plan: its name, its weight in the fusion, and how many candidates it may return."""

    name: str
    weight: float = 1.0
    limit: int = 50


@record(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """One rule of the decision list as it was tried.

    Args:
        rule: its name.
        fired: whether its condition held.
        because: the values it looked at, in words.
        margin: how far the deciding value was from its threshold; positive = on the firing side.
    """

    rule: str
    fired: bool
    because: str
    margin: float | None = None


@record(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """The sub-retrievers that are asked, their weights, and what happens to their candidates.

    Args:
        name: `precise`, `entity_centric`, `temporal`, `precision`, `exploratory` or `balanced`.
        arms: the sub-retrievers, in the order in which their results enter the fusion.
        rerank: whether the cross-encoder stage may run.
        diversity: whether the diversity stage runs.
        type_hints: memory types the query asks for.
        type_filter: whether memories of other types come only after those of `type_hints`, if there are such.
        window_filter: whether entity results outside the temporal window are dropped.
        time_filter: whether memories of the time or the session that is asked for come first, all others only where
            there are too few of these.
        in_order: whether these come in the order in which they were said, for nothing in particular is asked.
        exact_match: whether memories that hold the query's identifiers letter by letter are lifted.
        prefers: memory types of the router mode, which get a small lift; empty for `hybrid`.
        time_bias: whether newer memories are preferred more than usual.
        rewrite: whether the LLM rewrite stage may run (specificity below the precise threshold).
        reason: the rule that decided, in words, and what changed its arms.
        checks: the rules in the order they were tried.
        runner_up: the plan that came closest to being chosen instead.
        runner_up_margin: how far the value that decides between the two plans was from its threshold.
    """

    name: str
    arms: tuple[ArmPlan, ...]
    rerank: bool = False
    diversity: bool = False
    type_hints: tuple[MemoryType, ...] = ()
    type_filter: bool = False
    window_filter: bool = False
    time_filter: bool = False
    in_order: bool = False
    exact_match: bool = False
    prefers: tuple[MemoryType, ...] = ()
    time_bias: bool = False
    rewrite: bool = False
    reason: str = ""
    checks: tuple[RuleCheck, ...] = ()
    runner_up: str | None = None
    runner_up_margin: float | None = None

    def __str__(self) -> str:
        return self.name

    def arm(self, name: str) -> ArmPlan | None:
        """Return the arm called `name`, if the plan asks it."""
        return next((a for a in self.arms if a.name == name), None)


ENTITY, TIME, SESSION, NEGATED = "entity", "time", "session", "negated"
IDENTIFIER, CORRECTED, RARE, STOP = "identifier", "corrected", "rare", "stop"
ROLES = (NEGATED, ENTITY, TIME, SESSION, IDENTIFIER, CORRECTED, RARE, STOP)  # of several, the first is shown


@record(frozen=True, slots=True, kw_only=True)
class QueryToken:
    """A word of the query and the parts it plays."""

    span: tuple[int, int]  # `(start, end)` in the query, in characters, end exclusive
    stem: str  # by which lexical search looks for it
    roles: tuple[str, ...] = ()  # some of `ROLES`, in that order; empty for a plain content word
    rarity: float | None = None  # idf in the scope as a share of the highest, in [0, 1]; `None` = it is not looked for


WHOLE, BEGINNING, END = "whole", "beginning", "end"  # part of a session
NOTHING, ABOUT, ALL = "", "about", "all"  # what a query asks of the talk, see `ParsedQuery.talk`


@record(frozen=True, slots=True, kw_only=True)
class SessionRef:
    """A session of the conversation (a thread) that a query asks for by its place."""

    # in the order of the sessions: 1 = the first, -1 = the last; several for "our last three chats"; none for the
    # conversation as a whole, of which only a part is asked for
    places: tuple[int, ...] = ()
    part: str = WHOLE  # `whole`, `beginning` or `end` of the session, or, without `places`, of the conversation
    numbered: bool = False  # whether it was said as a number ("session 16"), which may be the one in the thread's name
    span: tuple[int, int] = (0, 0)  # `(start, end)` in the query, in characters, end exclusive
    confidence: float = 1.0  # in [0, 1]
    found: str = ""  # the session of the scope, in words ("session 3 of 19"); empty where there is none such
    because: str = ""  # why there is none, or why it is this one where that is not plain; may be empty


@record(frozen=True, slots=True, kw_only=True)
class Identifier:
    """A part of a query that means exactly itself."""

    text: str  # as it stands in the query, without quotation marks
    kind: str  # name of the `Kind` that found it
    span: tuple[int, int]  # `(start, end)` in the query, in characters, end exclusive: `query[start:end] == text`
    knowledge: bool = field(default=True, compare=False)  # of its `Kind`; follows from the kind and is not compared


@record(frozen=True, slots=True, kw_only=True)
class Router:
    """The memories that a query is after. A bias, not a filter: what the mode leaves out may be the answer."""

    mode: str = "hybrid"  # `knowledge` (chunks), `neural` (all other types) or `hybrid`
    reason: str = ""  # the rule that decided, in words; empty where nothing spoke
    graph_bias: bool = False  # whether memories linked to the entities of the query come first
    time_bias: bool = False  # whether newer memories, or those of the window, come first


@record(frozen=True, slots=True, kw_only=True)
class ConversationalVerdict:
    """Verdict that BM25 and keyword expansion have nothing to look for in a query. True where `conversational` is."""

    conversational: bool = False
    domain_signal: float = 0.0  # share of the words that are technical or stand in an identifier, in [0, 1]
    stopword_ratio: float = 0.0  # share of the words that fill the sentence, in [0, 1]; question words do not
    has_code: bool = False  # whether there is an identifier, a quotation or a piece of code
    rare: tuple[str, ...] = ()  # stems that the corpus knows as rare; looked up only where the rule would fire
    because: str = ""  # the values in words

    def __bool__(self) -> bool:
        return self.conversational


@record(frozen=True, slots=True, kw_only=True)
class Correction:
    """A second reading of a word."""

    word: str  # of the query, in normal form
    stem: str  # of that word; no memory of the scope holds it
    correction: str  # the stem to look for as well
    spelling: str  # of that stem; the closest one to the word
    similarity: float  # of word and spelling, in [threshold, 1]
    frequency: int  # number of memories of the scope that hold `correction`; 0 = a word of the lexicon


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
        alternatives: of "in March or in June" the `(start, end)` of each time, in order, with gaps between them; empty
            where it is one time. `start` is then that of the first, `end` that of the last.
    """

    start: datetime | None = None
    end: datetime | None = None
    span: tuple[int, int] = (0, 0)
    confidence: float = 1.0
    alternatives: tuple[tuple[datetime | None, datetime | None], ...] = ()

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
        if self.alternatives:
            each = [TemporalWindow(start=start, end=end) for start, end in self.alternatives]
            parted = all(a.end is not None and b.start is not None and a.end < b.start for a, b in pairwise(each))
            if not parted or (each[0].start, each[-1].end) != (self.start, self.end):
                raise InvalidArgument(
                    "TemporalWindow.alternatives must be (start, end) pairs in order with gaps between them, the first "
                    "from the window's start on, the last until its end."
                )

    @property
    def times(self) -> tuple[tuple[datetime | None, datetime | None], ...]:
        """`(start, end)` of each time that it holds: its alternatives, or itself."""
        return self.alternatives or ((self.start, self.end),)

    def holds(self, moment: datetime) -> bool:
        """Say whether `moment` lies in the window, and in no gap of it."""
        return any((start is None or start <= moment) and (end is None or moment < end) for start, end in self.times)


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
        asides: spans beside the point: framings ("I was wondering when …") and sentences of what the asker does. Their
            words count for less, and no time is read from them.
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
    asides: tuple[tuple[int, int], ...] = ()

    @property
    def point(self) -> str:
        """The query with blanks in place of its asides: spans hold in it."""
        text = self.original
        for start, end in self.asides:
            text = text[:start] + " " * (end - start) + text[end:]
        return text

    def beside(self) -> frozenset[str]:
        """Return the stems that only its asides say."""
        there, outside = set[str](), set[str]()
        for token in self.tokens if self.asides else ():
            aside = any(start <= token.span[0] < end for start, end in self.asides)
            (there if aside else outside).add(token.stem)
        return frozenset(there - outside)
