"""Read a text into a `ParsedQuery`. A step may fail without failing the parse: only its own findings are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rapidfuzz.distance import OSA

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidQuery
from recall_integrations.languages.tables import ENGLISH, unread
from recall_integrations.query import features
from recall_integrations.query.asides import asides
from recall_integrations.query.by_table.cues import relations, type_cues
from recall_integrations.query.by_table.person import asked_role, first_person
from recall_integrations.query.by_table.sessions import talk
from recall_integrations.query.features import conversational, rare_by, router_mode
from recall_integrations.query.findings import Findings
from recall_integrations.query.identifiers import find_identifiers
from recall_integrations.query.knowledge import ScopeKnowledge, Settled
from recall_integrations.query.negation import find_negations
from recall_integrations.query.spans import inside, overlap, starts_inside
from recall_integrations.query.spelling import corrected_query, unknown
from recall_integrations.query.terms import content_words, marked, rarities, terms, weaker_terms
from recall_integrations.query.wanted_times import wanted_session, wanted_window
from recall_integrations.query.warming import settle
from recall_integrations.query.words import QueryWords
from recall_integrations.text import narrow
from recall_integrations.text.by_language import LOOK
from recall_integrations.text.shortening import BETWEEN, Shortened, shortened
from recall_integrations.types import (
    Degradation,
    EntityRef,
    MemoryType,
    ParsedQuery,
    QueryFeatures,
    TemporalWindow,
    checked_text,
)
from recall_integrations.types.query import (
    NOTHING,
    QUERY_CHARS_MAX,
    ConversationalVerdict,
    Correction,
    Identifier,
    Router,
)
from recall_integrations.types.roles import Role

TypeCues = tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]

# Control characters separate words; they carry no meaning in a query.
_CONTROLS = dict.fromkeys((*range(0x20), 0x7F), " ")
LONG = "query.long"  # reason of a degradation: not all of the query was read
SLIP_LETTERS_MIN = 7  # of a word in another language than English, to be corrected
FOREIGN_SHARE = 0.1  # of the memories in other languages, up to which an unknown word is held against English


def clean(query: object, limit: int = QUERY_CHARS_MAX) -> str:
    """Return the query as text that can be searched for: control characters become spaces, and a text over the limit
    keeps both ends.
    """
    if isinstance(query, Mapping):
        raise InvalidQuery(
            f"The query must be text, not {type(query).__name__}. In a chain, take the text out of it first: "
            "itemgetter('question') | retriever."
        )
    if isinstance(query, str) and len(query) > limit:
        half = limit // 2 - 1
        query = f"{query[:half]}  {query[-half:]}"
    text = checked_text(query, "The query", InvalidQuery, limit=limit)
    if text.isprintable():  # not even a line feed is in it
        return text
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
        """Return the parsed query, and the steps that failed. A long text is read at its beginning and its end only."""
        local = _local(now, zone or self._zone)
        original, whole = text, narrow(text)
        read = shortened(whole)
        text = read.text
        words = QueryWords(text, known.frequency, known.memories, known.alike, language, known.spoken)
        read_in = words.language or ENGLISH  # what cannot be told is read as English
        if read_in != ENGLISH:
            settle(read_in)
        found = Findings(text, known, words, read_in)
        found.window = window or None
        if not read.skipped:
            found.asides = found.guard("parse.asides", lambda: asides(found), ())
        self._find_places(found, local, times=window is None)
        assistant = known.assistant
        found.asked = found.guard(
            "parse.asked_role", lambda: asked_role(text, read_in, assistant=assistant), found.asked
        )
        found.refs = _entities(found)
        _find_words(found)
        parsed = _parsed(original, found, local)
        if read.skipped:
            parsed = _placed(parsed, read, original)
            tail = len(read.text) - read.head - len(BETWEEN)
            detail = f"Of {read.length} characters the first {read.head} and the last {tail} were read."
            found.degraded.append(Degradation(stage="parse", reason=LONG, detail=detail))
        return (parsed if whole == original else _as_written(parsed, whole)), tuple(found.degraded)

    def _find_places(self, found: Findings, now: datetime, *, times: bool) -> None:
        """Find the excluded terms, the time and the session (unless a window is given), and identifiers."""
        text, language = found.point, found.language
        found.negations = found.guard("parse.negation", lambda: find_negations(text, language), ())
        if times:
            week_start = self._config.week_start
            found.window = found.guard("parse.temporal", lambda: wanted_window(found, now, week_start), None)
            found.session = found.guard("parse.session", lambda: wanted_session(found), None)
        none: tuple[Identifier, ...] = ()
        identifiers = found.guard("parse.identifiers", lambda: find_identifiers(text), none)
        session = found.session  # "session #16" is none
        found.identifiers = tuple(i for i in identifiers if session is None or not overlap(i.span, session.span))


def _find_words(found: Findings) -> None:
    """Find the words to look for, the misspelt ones among them, and their rarities."""
    negated = starts_inside(found.tokens, found.negated)
    found.kept = [t for t in found.tokens if t.start not in negated] if negated else found.tokens
    found.content = content_words(found)
    found.corrections = _corrections(found)
    asking = [*found.placed, *found.asides]
    found.plain = [t for t in found.content if not inside(t, asking)] if asking else found.content
    found.rarities = found.guard("parse.rarity", lambda: rarities(found), found.rarities)


def _features(found: Findings) -> tuple[QueryFeatures, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Return the parts of the query's specificity, the types it hints at, and the types that may pre-filter."""
    no_cue: TypeCues = (0.0, (), ())  # in all of the query: "something about …" is a cue, and a framing
    strength, cued, filters = found.guard("parse.type_cues", lambda: type_cues(found.text, found.language), no_cue)
    counted = None if found.language == ENGLISH else found.plain
    density = found.guard(
        "parse.entity_density", lambda: features.entity_density(found.kept, found.refs, found.window, counted), 0.0
    )
    vector = features.normalised(
        QueryFeatures(
            entity_density=density,
            temporal=max((read.confidence for read in (found.window, found.session) if read is not None), default=0.0),
            lexical_rarity=features.lexical_rarity(found.rarities.values()),
            type_cues=strength,
        )
    )
    return vector, cued, filters


def _parsed(original: str, found: Findings, now: datetime) -> ParsedQuery:
    """Return the parsed query: the findings, and their consequences."""
    text, language, words, known, guard = found.point, found.language, found.words, found.known, found.guard
    vector, cued, filters = _features(found)
    # The content words alone, if that fails.
    looked_for: tuple[str, ...] = tuple(dict.fromkeys(words.stem(t.word) for t in found.content))
    weaker: tuple[str, ...] = ()
    looked_for, weaker = guard("parse.terms", lambda: (terms(found), weaker_terms(found)), (looked_for, weaker))
    rare = rare_by(known.frequency, known.memories)
    dated, identifiers = found.window is not None, found.identifiers
    return ParsedQuery(
        original=original,
        entity_refs=found.refs,
        temporal_window=found.window,
        predicate_hints=guard("parse.predicates", lambda: relations(found.wanted, language), ()),
        negations=tuple(n.term for n in found.negations),
        specificity=features.specificity(vector),
        features=vector,
        type_cues=cued,
        type_filters=filters,
        terms=looked_for,
        stems=() if words.language is None else tuple((t.word, words.stem(t.word)) for t in found.content),
        weaker_terms=weaker,
        asides=found.asides,
        identifiers=identifiers,
        router=guard("parse.router", lambda: router_mode(text, identifiers, dated=dated, language=language), Router()),
        conversational=guard(
            "parse.conversational",
            lambda: conversational(text, rare=rare, identifiers=identifiers, language=language, tokens=found.asking),
            ConversationalVerdict(),
        ),
        corrections=found.corrections,
        corrected_query=guard(
            "parse.corrected_query",
            lambda: corrected_query(found.point, found.content, found.corrections) if found.corrections else None,
            None,
        ),
        tokens=guard("parse.tokens", lambda: marked(found), ()),
        now=now,
        asked_role=found.asked.role,
        asked_role_strength=found.asked.strength,
        session=found.session,
        talk=guard("parse.talk", lambda: _talk(found), NOTHING),
        language=language,
        unread=unread(language),
        memories_in=words.memories_in,
    )


def _talk(found: Findings) -> str:
    if not found.placed and found.window is None:
        return NOTHING
    named = [r.span for r in found.refs if r.stage != features.IMPLICIT and r.mention]
    return talk(
        found.wanted, found.language, when=found.placed, named=named, beside=found.asides, session=found.session
    )


def _entities(found: Findings) -> tuple[EntityRef, ...]:
    known, text = found.known, found.text
    refs: tuple[EntityRef, ...] = ()
    if known.entities is not None:
        entities, unsure = known.entities, known.unsure
        reserved = [*found.negated, *found.placed]
        tokens = None if found.language == "tr" else found.tokens  # its "I" is read as another letter
        refs = found.guard("parse.entities", lambda: entities.resolve(text, reserved=reserved, tokens=tokens), refs)
        if unsure is not None:
            sure = refs
            spans = [*reserved, *(i.span for i in found.identifiers)]
            as_they_were: Settled = (sure, ())
            refs, problems = found.guard("parse.entity_llm", lambda: unsure(text, sure, spans), as_they_were)
            found.degraded.extend(problems)
    if known.user is None:
        return refs
    # The user is mentioned where the query says "I" or "my", unless it asks for the words of the assistant.
    asks_assistant = known.assistant and found.asked.role is Role.ASSISTANT
    spoken = None if asks_assistant else first_person(found.point, found.language)
    if spoken is None:
        return (*refs, known.user)
    return (*refs, replace(known.user, mention=text[slice(*spoken)], span=spoken))


def _corrections(found: Findings) -> tuple[Correction, ...]:
    known = found.known
    named = [*(r.span for r in found.refs), *(i.span for i in found.identifiers)]
    spans = [*found.placed, *found.asides, *named]
    taken = starts_inside(found.content, spans)
    open_tokens = [t for t in found.content if t.start not in taken and not found.words.is_settled(t.word)]
    is_name = known.entities.contains_word if known.entities is not None else None
    none: tuple[Correction, ...] = ()

    def corrected() -> tuple[Correction, ...]:
        strange = unknown(found.text, open_tokens, known.frequency, is_name)
        speller = known.speller() if strange else None  # its vocabulary is read for the first strange word
        if speller is None:
            return none
        return speller.corrections(found.text, strange, is_name=is_name, english=english)

    foreign = sum(known.spoken.told.values())
    # Where memories are in other languages, too, "direccion" is no slip of "direction".
    english = found.language == ENGLISH and foreign <= FOREIGN_SHARE * known.memories
    corrections = found.guard("parse.spelling", corrected, none)
    return corrections if found.language == ENGLISH else tuple(filter(_is_slip, corrections))


def _is_slip(correction: Correction) -> bool:
    """Say whether a correction changes one letter of a long word: "Gebutstag".

    In English a list says which words exist. In another language an inflected word that no memory holds looks like a
    misspelt one: "gemacht" is no "gebracht".
    """
    word, meant = correction.word, correction.spelling
    return min(len(word), len(meant)) >= SLIP_LETTERS_MIN and OSA.distance(word, meant, score_cutoff=1) <= 1


def _placed(parsed: ParsedQuery, read: Shortened, original: str) -> ParsedQuery:
    """Return the findings in the read part of a long query, with their places in the whole of it."""
    window, session = parsed.temporal_window, parsed.session
    return replace(
        parsed,
        original=original,
        entity_refs=tuple(replace(r, span=read.place(r.span)) for r in parsed.entity_refs),
        temporal_window=None if window is None else replace(window, span=read.place(window.span)),
        session=None if session is None else replace(session, span=read.place(session.span)),
        identifiers=tuple(replace(i, span=read.place(i.span)) for i in parsed.identifiers),
        asides=tuple(map(read.place, parsed.asides)),
        tokens=tuple(replace(t, span=read.place(t.span)) for t in parsed.tokens),
    )


def _as_written(parsed: ParsedQuery, read: str) -> ParsedQuery:
    """Quote the findings in the narrow letters of `read` by the letters of the query."""
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


def _local(now: datetime, zone: ZoneInfo) -> datetime:
    """Convert `now` to the zone; unchanged in the first and last hours of the calendar, which the zone may not have."""
    try:
        return now.astimezone(zone)
    except OverflowError:
        return now
