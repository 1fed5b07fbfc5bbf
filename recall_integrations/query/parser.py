"""Text in, `ParsedQuery` out. Each step may fail without failing the parse: what it would have found is left out."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

from rapidfuzz.distance import OSA

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidQuery, RecallError
from recall_integrations.languages.coverage import ENGLISH, unread
from recall_integrations.query import features
from recall_integrations.query.asked_role import NOBODY, AskedRole, asked_role
from recall_integrations.query.by_table.cues import no_keywords
from recall_integrations.query.by_table.negation import ends_in_cue
from recall_integrations.query.date_words import in_calendar, is_unit, only_time, only_when
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.implicit import first_person
from recall_integrations.query.identifiers import find_identifiers
from recall_integrations.query.negation import Negation, find_negations
from recall_integrations.query.negation_words import NEGATIVES
from recall_integrations.query.routing import conversational, rare_by, router_mode
from recall_integrations.query.sessions import read_session
from recall_integrations.query.spelling import Speller, corrected_query
from recall_integrations.query.talk import NOTHING, asks_talk
from recall_integrations.query.temporal import parse_window
from recall_integrations.query.warming import settle
from recall_integrations.query.words import QueryWords
from recall_integrations.text import STOP_WORDS, Token, is_character, narrow, stem, tokenize
from recall_integrations.text.by_language import LOOK
from recall_integrations.text.spoken import NOTHING as NO_LANGUAGES
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import (
    Degradation,
    EntityRef,
    MemoryType,
    ParsedQuery,
    QueryFeatures,
    TemporalWindow,
    checked_text,
)
from recall_integrations.types.readings import (
    CORRECTED,
    ENTITY,
    IDENTIFIER,
    NEGATED,
    RARE,
    SESSION,
    STOP,
    TIME,
    ConversationalVerdict,
    Correction,
    Identifier,
    QueryToken,
    Router,
    SessionRef,
)
from recall_integrations.types.roles import Role

T = TypeVar("T")
Spans = Sequence[tuple[int, int]]
Settled = tuple[tuple[EntityRef, ...], tuple[Degradation, ...]]
TypeCues = tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]
Observer = Callable[[str, float, bool], None]
Unsure = Callable[[str, tuple[EntityRef, ...], Spans], Settled]

# Control characters separate words; they carry no meaning in a query.
_CONTROLS = dict.fromkeys((*range(0x20), 0x7F), " ")
SAID_FROM = 0.9  # strength of an asked role from which the verb of saying is no keyword
_SAID = frozenset(map(stem, "tell say mention".split()))
SLIP_LETTERS_MIN = 7  # of a word in another language than English, to be corrected
NAME_CONFIDENCE_MIN = 0.5  # of a reference, for its canonical name to be looked for as well
RARE_SHARE = 0.01  # of the memories that hold a word, up to which it is shown as rare
TOKENS_MARKED_MAX = 256  # nobody looks at the roles of more words
SAME_WORD = 70.0  # similarity in percent from which a word of a mention stands for a word of the name
# What makes a date behind it one that is not wanted. "Why not" and "nothing except" ask for it.
_DENIED = re.compile(
    r"(?:(?<!\bwhy )(?<!\bor )\bnot(?: counting| including)?|\w (?:is|are|was|were)n['’]?t|\bnon-"
    r"|(?P<all>\b(?:except(?:ing)?(?: for)?|other than|outside of|apart from|aside from"
    r"|(?:any|every|all)\w*(?: \w+)? but))"
    r"|\b(?:excluding|ignoring|skipping|without|leaving out))"
    r"(?: ?\b(?:in|on|at|during|from|of|within|the|those|any|or|and|nor)\b| ?,)* ?",
    re.I,
)
DENIED_CHARS_MAX = 200  # in front of a date that are looked at
DENIED_DATES_MAX = 3  # dates passed over in search of one that is wanted

_OBSERVER: ContextVar[Observer | None] = ContextVar("recall_parse_observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Tells `observer` of each step of the parses inside: its name, seconds, whether it failed.

    Holds for the running context (thread or task) and what is started with a copy of it. Of two observers the inner one
    is told; what it raises ends the parse.
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeKnowledge:
    """What the parser may ask about the scope. For a scope never seen: nothing is known.

    Args:
        entities: names and aliases.
        frequency: number of memories that hold a stem.
        memories: number of memories.
        speller: second readings of unknown words; `None` while its vocabulary is being read, and where it is off.
        user: the user as an entity, who is in every query.
        assistant: whether one of its actors has the role of the assistant: then "you" in a query is the assistant.
        alike: stems that differ from one by accents alone, of whatever scope.
        spoken: the languages that its memories are in.
        unsure: asks a language model about references that are not sure, leaving out the given spans; see
            `entities.fallback`.
    """

    entities: EntityIndex | None = None
    frequency: Callable[[str], int] = lambda _stem: 0
    memories: int = 0
    speller: Speller | None = None
    user: EntityRef | None = None
    assistant: bool = False
    alike: Callable[[str], Sequence[str]] = lambda _stem: ()
    spoken: Spoken = NO_LANGUAGES
    unsure: Unsure | None = None


@dataclass(slots=True)
class _Reading:
    """What was found so far, and what failed."""

    text: str
    known: ScopeKnowledge
    words: QueryWords
    language: str | None = "en"
    window: TemporalWindow | None = None
    session: SessionRef | None = None
    negations: tuple[Negation, ...] = ()
    denied: list[tuple[int, int]] = field(default_factory=list)  # dates that are not wanted
    refs: tuple[EntityRef, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    corrections: tuple[Correction, ...] = ()
    asked: AskedRole = NOBODY
    degraded: list[Degradation] = field(default_factory=list)
    observer: Observer | None = field(default_factory=_OBSERVER.get)

    @property
    def tokens(self) -> list[Token]:
        return self.words.tokens

    @property
    def negated(self) -> list[tuple[int, int]]:
        return [*(n.span for n in self.negations), *self.denied]

    @property
    def wanted(self) -> str:
        """The text without what it excludes, blanks in its place."""
        text = self.text
        for start, end in self.negated:
            text = text[:start] + " " * (end - start) + text[end:]
        return text

    @property
    def dated(self) -> list[tuple[int, int]]:
        return [self.window.span] if self.window is not None and self.window.span != (0, 0) else []

    @property
    def placed(self) -> list[tuple[int, int]]:
        """Words that say when: of the date, of the session."""
        return self.dated if self.session is None else [*self.dated, self.session.span]

    def guard(self, stage: str, step: Callable[[], T], fallback: T) -> T:
        """What `step` finds, or `fallback` and a degradation that names it."""
        if self.observer is None:
            return self._guarded(stage, step, fallback)
        before, begin = len(self.degraded), time.perf_counter()
        found = self._guarded(stage, step, fallback)
        self.observer(stage, time.perf_counter() - begin, len(self.degraded) > before)
        return found

    def _guarded(self, stage: str, step: Callable[[], T], fallback: T) -> T:
        try:
            return step()
        except Exception as e:  # noqa: BLE001 - named in the result; a recall must not fail for one reading of its text
            code = e.code.lower() if isinstance(e, RecallError) else "error"
            self.degraded.append(Degradation(stage=stage, reason=code, detail=f"{type(e).__name__}: {e}"))
            return fallback


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

    def parse(
        self,
        text: str,
        now: datetime,
        known: ScopeKnowledge,
        *,
        window: TemporalWindow | Literal[False] | None = None,
        zone: ZoneInfo | None = None,
        language: str | None = LOOK,
    ) -> tuple[ParsedQuery, tuple[Degradation, ...]]:
        """The parsed query, and the steps that failed.

        Args:
            text: from `clean`.
            now: what relative dates are relative to.
            known: the scope.
            window: taken instead of the one in the text; `False` for none.
            zone: time zone of the dates; default `timezone` of the configuration.
            language: code of the text's; default is to find it out.
        """
        local = _local(now, zone or self._zone)
        original, text = text, narrow(text)
        words = QueryWords(text, known.frequency, known.memories, known.alike, language, known.spoken)
        language = words.language or ENGLISH  # what cannot be told is read as English
        if language != ENGLISH:
            settle(language)
        found = _Reading(text, known, words, language)
        found.window = window or None
        found.negations = found.guard("parse.negation", lambda: find_negations(text, language), ())
        if window is None:
            found.window = found.guard("parse.temporal", lambda: self._window(found, local), None)
            found.session = found.guard("parse.session", lambda: self._session(found), None)
        identifiers: tuple[Identifier, ...] = ()
        identifiers = found.guard("parse.identifiers", lambda: find_identifiers(text), identifiers)
        found.identifiers = tuple(i for i in identifiers if not _overlap(i.span, found.session))  # "session #16"
        found.asked = found.guard(
            "parse.asked_role", lambda: asked_role(text, found.tokens, language, assistant=known.assistant), found.asked
        )
        found.refs = self._entities(found)
        negated = _starts_inside(found.tokens, found.negated)
        tokens = [t for t in found.tokens if t.start not in negated]
        content = [t for t in tokens if not words.is_stop(t.word)]
        if language != ENGLISH:
            asks: list[tuple[int, int]] = []
            asks = found.guard("parse.no_keywords", lambda: no_keywords(text, language), asks)
            content = _without(content, asks, None if found.window is None else found.window.span)
        if language == ENGLISH and found.asked.strength >= SAID_FROM:
            content = _without_saying(content)
        found.corrections = self._corrections(found, content, now)
        polite: list[tuple[int, int]] = []
        polite = found.guard("parse.courtesies", lambda: features.courtesies(text, language), polite)
        asking = [*found.placed, *polite]
        plain = [t for t in content if not _inside(t, asking)]
        unknown: dict[str, float] = {}
        rarities = found.guard("parse.rarity", lambda: self._rarities(found, plain), unknown)
        no_cue: TypeCues = (0.0, (), ())
        strength, cued, filters = found.guard("parse.type_cues", lambda: features.type_cues(text, language), no_cue)
        counted = None if language == ENGLISH else plain
        density = found.guard(
            "parse.entity_density", lambda: features.entity_density(tokens, found.refs, found.window, counted), 0.0
        )
        vector = features.normalised(
            QueryFeatures(
                entity_density=density,
                temporal=features.temporal_precision(found.window, found.session),
                lexical_rarity=features.lexical_rarity(rarities.values()),
                type_cues=strength,
            )
        )
        plainly: tuple[tuple[str, ...], tuple[str, ...]] = (
            tuple(dict.fromkeys(words.stem(t.word) for t in content)),
            (),
        )
        terms, weaker = found.guard(
            "parse.terms", lambda: (self._terms(content, found), self._weaker(content, found)), plainly
        )
        specificity = features.specificity(vector, self._config.specificity)
        parsed = ParsedQuery(
            original=original,
            entity_refs=found.refs,
            temporal_window=found.window,
            predicate_hints=found.guard(
                "parse.predicates",
                lambda: features.predicate_hints(tokens, "" if language == ENGLISH else found.wanted, language),
                (),
            ),
            negations=tuple(n.term for n in found.negations),
            specificity=specificity,
            features=vector,
            type_cues=cued,
            type_filters=filters,
            terms=terms,
            stems=() if words.language is None else tuple((t.word, words.stem(t.word)) for t in content),
            weaker_terms=weaker,
            identifiers=found.identifiers,
            router=found.guard("parse.router", lambda: self._router(found), Router()),
            conversational=found.guard(
                "parse.conversational", lambda: self._conversational(found), ConversationalVerdict()
            ),
            corrections=found.corrections,
            corrected_query=found.guard("parse.corrected_query", lambda: self._corrected(content, found), None),
            tokens=found.guard(
                "parse.tokens", lambda: _marked(found, rarities, max(known.memories, features.PRIOR_MEMORIES)), ()
            ),
            now=local,
            asked_role=found.asked.role,
            asked_role_strength=found.asked.strength,
            session=found.session,
            talk=found.guard("parse.talk", lambda: self._talk(found, tokens, polite), NOTHING),
            language=language,
            unread=unread(language),
            memories_in=words.memories_in,
        )
        return (parsed if text is original or text == original else _as_written(parsed, text)), tuple(found.degraded)

    def _window(self, found: _Reading, now: datetime) -> TemporalWindow | None:
        """The window that the text asks for. Dates that it excludes are passed over, and noted as denied."""
        entities = found.known.entities
        words = dict.fromkeys(t.word for t in found.tokens)
        names = frozenset() if entities is None else frozenset(filter(entities.contains_word, words))
        text, negated = found.text, found.negated
        for _ in range(DENIED_DATES_MAX):
            window = parse_window(text, now, week_start=self._config.week_start, names=names, language=found.language)
            if window is None or window.span == (0, 0):
                return None if found.denied else window
            start, end = window.span
            if not _is_denied(text, window.span, negated, found.language):
                return window
            found.denied.append(window.span)
            text = text[:start] + " " * (end - start) + text[end:]
        return None

    @staticmethod
    def _session(found: _Reading) -> SessionRef | None:
        """The session that the text asks for, unless it leaves it out: "not in our last session"."""
        entities = found.known.entities
        known = entities.contains_word if entities is not None else lambda _word: False
        session = read_session(found.text, names=known, dated=found.dated, language=found.language)
        if session is None or not _is_denied(found.text, session.span, found.negated, found.language):
            return session
        found.denied.append(session.span)
        return None

    @staticmethod
    def _talk(found: _Reading, tokens: list[Token], polite: Spans) -> str:
        if not found.placed and found.window is None:
            return NOTHING
        named = [r for r in found.refs if r.stage != features.IMPLICIT]
        when, session = found.placed, found.session is not None
        return asks_talk(found.text, tokens, when, named, polite=polite, session=session, language=found.language)

    @staticmethod
    def _corrected(content: list[Token], found: _Reading) -> str | None:
        return corrected_query(found.text, content, found.corrections) if found.corrections else None

    def _entities(self, found: _Reading) -> tuple[EntityRef, ...]:
        known = found.known
        refs: tuple[EntityRef, ...] = ()
        if known.entities is not None:
            entities = known.entities
            reserved = [*found.negated, *found.placed]
            refs = found.guard("parse.entities", lambda: entities.resolve(found.text, reserved=reserved), refs)
            if known.unsure is not None:
                unsure, sure = known.unsure, refs
                spans = [*reserved, *(i.span for i in found.identifiers)]
                as_they_were: Settled = (sure, ())
                refs, problems = found.guard("parse.entity_llm", lambda: unsure(found.text, sure, spans), as_they_were)
                found.degraded.extend(problems)
        return refs if known.user is None else (*refs, self._user(found, known.user))

    @staticmethod
    def _user(found: _Reading, user: EntityRef) -> EntityRef:
        """The implicit user; where the query speaks in the first person, with the word that says so as its mention.

        Not where it asks the assistant of the scope: "what did you tell me" is about what the assistant said.
        """
        if found.known.assistant and found.asked.role is Role.ASSISTANT:
            return user
        spoken = first_person(found.tokens, found.text, found.language)
        if spoken is None:
            return user
        return replace(user, mention=found.text[spoken.start : spoken.end], span=(spoken.start, spoken.end))

    @staticmethod
    def _corrections(found: _Reading, content: list[Token], now: datetime) -> tuple[Correction, ...]:
        known = found.known
        if known.speller is None:
            return ()
        speller = known.speller
        spans = [*found.placed, *(r.span for r in found.refs), *(i.span for i in found.identifiers)]
        taken = _starts_inside(content, spans)
        open_tokens = [t for t in content if t.start not in taken and not found.words.is_settled(t.word)]
        is_name = known.entities.contains_word if known.entities is not None else None
        corrections: tuple[Correction, ...] = found.guard(
            "parse.spelling",
            lambda: speller.corrections(found.text, open_tokens, now=now, is_name=is_name),
            (),
        )
        return corrections if found.language == ENGLISH else tuple(filter(_is_slip, corrections))

    @staticmethod
    def _rarities(found: _Reading, plain: list[Token]) -> dict[str, float]:
        """Rarity of each distinct stem that a memory holds. Of a word that was corrected, that of what was meant."""
        meant = {c.stem: c.correction for c in found.corrections}
        roots = {t: found.words.stem(t.word) for t in plain}
        counts = {root: found.known.frequency(meant.get(root, root)) for root in dict.fromkeys(roots.values())}
        held = {t: root for t, root in roots.items() if counts[root]}
        # A Chinese word is in the pairs of its characters; "的" beside them would make every question a common one.
        pairs = [(t.start, t.end) for t in held if is_character(t.word[:1]) and not is_character(t.word)]
        inside = _starts_inside([t for t in held if is_character(t.word)], pairs)
        telling = (root for t, root in held.items() if not (is_character(t.word) and t.start in inside))
        return {root: features.rarity(counts[root], found.known.memories) for root in dict.fromkeys(telling)}

    def _router(self, found: _Reading) -> Router:
        return router_mode(
            found.text, dated=found.window is not None, identifiers=found.identifiers, language=found.language
        )

    def _conversational(self, found: _Reading) -> ConversationalVerdict:
        known = found.known
        rare = rare_by(known.frequency, known.memories, share_max=self._config.query.rare_share)
        return conversational(found.text, rare=rare, identifiers=found.identifiers, language=found.language)

    @staticmethod
    def _terms(content: list[Token], found: _Reading) -> tuple[str, ...]:
        """Stems to look for: the content words, the names behind aliases and misspelt mentions, the corrections.

        Words of a date stay ("summer", "March", "2023"), but not those that only say where it lies from now ("last")
        or count ("2 weeks", "the 3rd"). Of a date in the calendar units stay too: who was there in "the last week of
        August" said "last week". A word that was corrected is left out, and of a misspelt mention what no memory
        holds: what no memory can say must not count as not said.
        """
        named = [r for r in found.refs if r.stage in ("alias", "fuzzy", "llm") and r.confidence >= NAME_CONFIDENCE_MIN]
        misspelt = [r.span for r in named if r.stage == "fuzzy"]
        corrected = {c.word for c in found.corrections}
        language, stem = found.language, found.words.stem
        relative = not in_calendar((t.word for t in found.tokens if _inside(t, found.dated)), language)
        whole = any(only_when(found.text[start:end], language) for start, end in found.dated)
        terms = [
            stem(t.word)
            for t in content
            if t.word not in corrected
            and not _overlap((t.start, t.end), found.session)
            and not (
                _inside(t, found.dated)
                and (whole or only_time(t.word, language) or (relative and is_unit(t.word, language)))
            )
            and not (_inside(t, misspelt) and not found.known.frequency(stem(t.word)))
        ]
        names = (stem(word) for ref in named for word in _name_behind(ref))
        return tuple(dict.fromkeys([*terms, *names, *(c.correction for c in found.corrections)]))

    @staticmethod
    def _weaker(content: list[Token], found: _Reading) -> tuple[str, ...]:
        """Other forms of the words that are looked for, which memories hold beside them."""
        return tuple(dict.fromkeys(form for t in content for form in found.words.weaker(t.word)))


def _without_saying(content: list[Token]) -> list[Token]:
    """Without the first verb that only says that something was said: "what did I tell you about my allergies"."""
    said = next((t for t in content if stem(t.word) in _SAID), None)
    return content if said is None or len(content) == 1 else [t for t in content if t is not said]


def _is_slip(correction: Correction) -> bool:
    """Whether a correction is one letter of a long word: "Gebutstag".

    In English a list says which words exist. In another language an inflected word that no memory holds looks like a
    misspelt one: "gemacht" is no "gebracht".
    """
    word, meant = correction.word, correction.spelling
    return min(len(word), len(meant)) >= SLIP_LETTERS_MIN and OSA.distance(word, meant, score_cutoff=1) <= 1


def _is_denied(text: str, span: tuple[int, int], negated: Spans, language: str | None) -> bool:
    """Whether a date is named to leave it out: in a negated term, or right behind a word that excludes."""
    start, end = span
    if any(first < end and start < last for first, last in negated):
        return True
    if language != ENGLISH:
        return ends_in_cue(text[max(0, start - DENIED_CHARS_MAX) : start], language)
    if _DENIED.match(text, start, end):  # the grammar takes "other than last week" for a phrase of its own
        return True
    before = " ".join(text[max(0, start - DENIED_CHARS_MAX) : start].split())
    cue = next((m for m in _DENIED.finditer(before) if m.end() == len(before)), None)
    if cue is None:
        return False
    return cue["all"] is None or NEGATIVES.isdisjoint(t.word for t in tokenize(before[: cue.start()]))


def _as_written(parsed: ParsedQuery, read: str) -> ParsedQuery:
    """What was found in the narrow letters of `read`, quoted in those of the query."""
    original = parsed.original

    def quoted(term: str) -> str:
        start = read.find(term)
        return term if start < 0 else original[start : start + len(term)]

    return replace(
        parsed,
        entity_refs=tuple(
            replace(r, mention=original[slice(*r.span)] if r.mention else "") for r in parsed.entity_refs
        ),
        identifiers=tuple(replace(i, text=original[slice(*i.span)]) for i in parsed.identifiers),
        negations=tuple(map(quoted, parsed.negations)),
    )


def _marked(found: _Reading, rarities: Mapping[str, float], memories: int) -> tuple[QueryToken, ...]:
    """The words of the query with their roles."""
    rare_from = features.rarity(max(1, round(RARE_SHARE * memories)), memories)
    named = [r.span for r in found.refs if r.stage != features.IMPLICIT]
    corrected = {c.word for c in found.corrections}
    spans = (
        (NEGATED, found.negated),
        (ENTITY, named),
        (TIME, found.dated),
        (SESSION, [] if found.session is None else [found.session.span]),
        (IDENTIFIER, [i.span for i in found.identifiers]),
    )
    shown = found.tokens[:TOKENS_MARKED_MAX]
    held = [(role, _starts_inside(shown, of_role)) for role, of_role in spans]
    marked = []
    for token in shown:
        roles = [role for role, starts in held if token.start in starts]
        root = found.words.stem(token.word)
        stops = found.words.is_stop(token.word)
        value = rarities.get(root) if not stops and NEGATED not in roles else None
        if token.word in corrected:
            roles.append(CORRECTED)
        elif value is not None and value >= rare_from:
            roles.append(RARE)
        if stops:
            roles.append(STOP)
        marked.append(QueryToken(span=(token.start, token.end), stem=root, roles=tuple(roles), rarity=value))
    return tuple(marked)


def _name_behind(ref: EntityRef) -> list[str]:
    """Words of the canonical name that the mention stands for: of "Project Kestrel" only the second for "Kestral"."""
    from rapidfuzz.fuzz import ratio

    said = [t.word for t in tokenize(ref.mention)]
    name = [t.word for t in tokenize(ref.name) if t.word not in STOP_WORDS]
    like = [word for word in name if any(ratio(word, other) >= SAME_WORD for other in said)]
    return like or name


def _local(now: datetime, zone: ZoneInfo) -> datetime:
    """`now` in the zone; as it is in the first and the last hours of the calendar, which the zone may not have."""
    try:
        return now.astimezone(zone)
    except OverflowError:
        return now


def _starts_inside(tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> set[int]:
    """Starts of the tokens, in order, that lie in a span: in one pass, as a hostile text may hold thousands."""
    inside: set[int] = set()
    merged = sorted(spans)
    at, reach = 0, 0
    for token in tokens:
        while at < len(merged) and merged[at][0] <= token.start:
            reach = max(reach, merged[at][1])
            at += 1
        if token.start < reach:
            inside.add(token.start)
    return inside


def _without(tokens: list[Token], spans: Spans, when: tuple[int, int] | None) -> list[Token]:
    """The words that share no letter with a span; of a pair of Chinese signs both have to be outside.

    If all do: those of the time that is asked for ("was ist gestern passiert"), or all where none is.
    """
    marked = sorted(spans)
    kept, at, reach = [], 0, 0
    for token in tokens:
        while at < len(marked) and marked[at][0] < token.end:
            reach = max(reach, marked[at][1])
            at += 1
        if token.start >= reach:
            kept.append(token)
    return kept or [t for t in tokens if when is not None and _inside(t, [when])] or tokens


def _overlap(span: tuple[int, int], session: SessionRef | None) -> bool:
    return session is not None and span[0] < session.span[1] and session.span[0] < span[1]


def _inside(token: Token, spans: list[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)
