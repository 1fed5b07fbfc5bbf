"""Read a text into a `ParsedQuery`. A step may fail without failing the parse: only its own findings are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rapidfuzz.distance import OSA

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidQuery
from recall_integrations.languages import ENGLISH, unread
from recall_integrations.languages.phrases import blanked
from recall_integrations.query import features
from recall_integrations.query.asking import asides, is_told
from recall_integrations.query.by_table.cues import no_keywords, relations, type_cues
from recall_integrations.query.by_table.negation import find_negations, leaves_out
from recall_integrations.query.by_table.person import asked_role, first_person
from recall_integrations.query.by_table.sessions import read_session, talk
from recall_integrations.query.features import conversational, find_identifiers, rare_by, router_mode
from recall_integrations.query.findings import Findings, QueryWords, ScopeKnowledge, Settled
from recall_integrations.query.spelling import corrected_query, unknown
from recall_integrations.query.temporal.parser import may_have_window, parse_window
from recall_integrations.query.temporal.translation import in_calendar, is_unit, only_time, only_when
from recall_integrations.query.warming import settle
from recall_integrations.text import STOP_WORDS, Token, is_character, narrow, stem, tokenize
from recall_integrations.text.analyser import Span, Spans, inside, overlap, place_of, starts_inside
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
from recall_integrations.types import query as roles_of
from recall_integrations.types.query import (
    NEGATED,
    NOTHING,
    QUERY_CHARS_MAX,
    ConversationalVerdict,
    Correction,
    Identifier,
    QueryToken,
    Router,
    SessionRef,
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
        words = QueryWords(text, known, language)
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


SAID_FROM = 0.9  # strength of an asked role from which the verb of saying is no keyword
_SAID = frozenset(map(stem, "tell say mention".split()))
NAME_CONFIDENCE_MIN = 0.5  # of a reference, for its canonical name to be looked for as well
RARE_SHARE = 0.01  # of the memories that hold a word, up to which it is shown as rare
TOKENS_MARKED_MAX = 256  # nobody looks at the roles of more words
SAME_WORD = 70.0  # similarity in percent from which a word of a mention stands for a word of the name


def content_words(found: Findings) -> list[Token]:
    """Return the words outside of the excluded spans that say what to look for."""
    said = found.kept
    if signs := found.words.signs:
        negated = starts_inside(signs, found.negated)
        said = sorted([*said, *(t for t in signs if t.start not in negated)], key=place_of)
    stopped = found.words.stopped
    content = [t for t in said if t[0] not in stopped]
    if found.language != ENGLISH:
        asks: list[Span] = []
        asks = found.guard("parse.no_keywords", lambda: no_keywords(found.text, found.language), asks)
        return _without_asking(content, asks, None if found.window is None else found.window.span)
    if found.asked.strength < SAID_FROM or len(content) == 1:
        return content
    # The first verb that only says that something was said: "what did I tell you about my allergies".
    said_by = next((t for t in content if stem(t.word) in _SAID), None)
    return [t for t in content if t is not said_by]


def terms(found: Findings) -> tuple[str, ...]:
    """Return the stems to look for: the content words, the names behind aliases and misspelt mentions, the corrections.

    Words that only place a date relative to now ("last") or count ("2 weeks") are left out, and so are a misspelt word
    and asides that no memory says: what no memory can say must not count as missing.
    """
    named = [r for r in found.refs if r.stage in ("alias", "fuzzy", "llm") and r.confidence >= NAME_CONFIDENCE_MIN]
    misspelt = [r.span for r in named if r.stage == "fuzzy"]
    corrected = {c.word for c in found.corrections}
    extra = found.asides if any(not inside(t, found.asides) for t in found.content) else ()
    session = found.session
    language, stem = found.language, found.words.stem
    dated = found.dated
    relative = bool(dated) and not in_calendar((t.word for t in found.tokens if inside(t, dated)), language)
    whole = any(only_when(found.text[start:end], language) for start, end in dated)

    def is_wanted(t: Token) -> bool:
        if t.word in corrected or (session is not None and overlap(place_of(t), session.span)):
            return False
        if dated and inside(t, dated) and (whole or only_time(t.word, language)):
            return False
        if relative and inside(t, dated) and is_unit(t.word, language):
            return False
        idle = inside(t, misspelt) or (extra and inside(t, extra))
        return not (idle and not found.known.frequency(stem(t.word)))

    all_wanted = not (corrected or session or dated or misspelt or extra)
    looked_for = [stem(t.word) for t in found.content if all_wanted or is_wanted(t)]
    names = (stem(word) for ref in named for word in _name_behind(ref))
    return tuple(dict.fromkeys([*looked_for, *names, *(c.correction for c in found.corrections)]))


def weaker_terms(found: Findings) -> tuple[str, ...]:
    """Return other forms of the words to look for, which memories hold beside them."""
    return tuple(dict.fromkeys(form for t in found.content for form in found.words.weaker(t.word)))


def rarities(found: Findings) -> dict[str, float]:
    """Return the rarity of each distinct stem that a memory holds; a corrected word has that of its correction."""
    meant = {c.stem: c.correction for c in found.corrections}
    roots = [found.words.stem(t[0]) for t in found.plain]
    counts = {root: found.known.frequency(meant.get(root, root)) for root in dict.fromkeys(roots)}
    telling: Iterable[str] = [root for root, count in counts.items() if count]
    if not found.text.isascii():
        held = {t: root for t, root in zip(found.plain, roots, strict=True) if counts[root]}
        # A Chinese word is in the pairs of its characters; "的" beside them would make every question a common one.
        pairs = [(t.start, t.end) for t in held if is_character(t.word[:1]) and not is_character(t.word)]
        within = starts_inside([t for t in held if is_character(t.word)], pairs)
        telling = (root for t, root in held.items() if not (is_character(t.word) and t.start in within))
    return {root: features.rarity(counts[root], found.known.memories) for root in dict.fromkeys(telling)}


def _without_asking(tokens: list[Token], spans: Spans, when: Span | None) -> list[Token]:
    """Return the words that share no letter with a span; of a pair of Chinese signs both have to be outside.

    If none is left: the words of the time that the query asks for ("was ist gestern passiert"), or all without one.
    """
    marked = sorted(spans)
    kept, at, reach = [], 0, 0
    for token in tokens:
        while at < len(marked) and marked[at][0] < token.end:
            reach = max(reach, marked[at][1])
            at += 1
        if token.start >= reach:
            kept.append(token)
    return kept or [t for t in tokens if when is not None and inside(t, [when])] or tokens


def _name_behind(ref: EntityRef) -> list[str]:
    """Return the words of the canonical name that a mention stands for: "kestrel" for "Kestral", not "project"."""
    from rapidfuzz.fuzz import ratio

    said = [t.word for t in tokenize(ref.mention)]
    name = [t.word for t in tokenize(ref.name) if t.word not in STOP_WORDS]
    like = [word for word in name if any(ratio(word, other) >= SAME_WORD for other in said)]
    return like or name


def marked(found: Findings) -> tuple[QueryToken, ...]:
    """Return the first words of the query with their roles."""
    memories = max(found.known.memories, features.PRIOR_MEMORIES)
    rare_from = features.rarity(max(1, round(RARE_SHARE * memories)), memories)
    named = [r.span for r in found.refs if r.stage != features.IMPLICIT]
    corrected = {c.word for c in found.corrections}
    spans = (
        (NEGATED, found.negated),
        (roles_of.ENTITY, named),
        (roles_of.TIME, found.dated),
        (roles_of.SESSION, [] if found.session is None else [found.session.span]),
        (roles_of.IDENTIFIER, [i.span for i in found.identifiers]),
    )
    signs = found.words.signs
    shown = (sorted([*found.tokens, *signs], key=place_of) if signs else found.tokens)[:TOKENS_MARKED_MAX]
    held = [(role, starts) for role, of_role in spans if of_role and (starts := starts_inside(shown, of_role))]
    stem, stopped, rarities = found.words.stem, found.words.stopped, found.rarities
    marked = []
    for word, start, end in shown:
        roles = tuple([role for role, starts in held if start in starts]) if held else ()
        root = stem(word)
        stops = word in stopped
        value = rarities.get(root) if not stops and NEGATED not in roles else None
        if word in corrected:
            roles = (*roles, roles_of.CORRECTED)
        elif value is not None and value >= rare_from:
            roles = (*roles, roles_of.RARE)
        if stops:
            roles = (*roles, roles_of.STOP)
        marked.append(QueryToken(span=(start, end), stem=root, roles=roles, rarity=value))
    return tuple(marked)


TOLD = 0.4  # confidence of a date that is only told: it filters nothing
DENIED_CHARS_MAX = 200  # in front of a date that are looked at
DENIED_DATES_MAX = 3  # dates passed over in search of one that is wanted


def wanted_window(found: Findings, now: datetime, week_start: int) -> TemporalWindow | None:
    """Return the window that the text asks for. Dates that it excludes are passed over, and noted as denied."""
    entities = found.known.entities
    text, negated = found.point, found.negated
    if not may_have_window(text, found.language):
        return None
    names = frozenset() if entities is None else entities.known_among({t.word for t in found.tokens})
    for _ in range(DENIED_DATES_MAX):
        window = parse_window(text, now, week_start=week_start, names=names, language=found.language)
        if window is None or window.span == (0, 0):
            return None if found.denied else window
        if not _is_left_out(text, window.span, negated, found.language):
            told = found.language == ENGLISH and is_told(found, window.span)
            return replace(window, confidence=min(window.confidence, TOLD)) if told else window
        found.denied.append(window.span)
        text = blanked(text, [window.span], " ")
    return None


def wanted_session(found: Findings) -> SessionRef | None:
    """Return the session that the text asks for, unless it leaves it out: "not in our last session"."""
    entities = found.known.entities
    known = entities.contains_word if entities is not None else lambda _word: False
    session = read_session(found.point, names=known, dated=found.dated, language=found.language)
    if session is None or not _is_left_out(found.text, session.span, found.negated, found.language):
        return session
    found.denied.append(session.span)
    return None


def _is_left_out(text: str, span: Span, negated: Spans, language: str | None) -> bool:
    """Say whether the query leaves a date out: in a negated term, or right behind a word that excludes."""
    start, end = span
    before = text[max(0, start - DENIED_CHARS_MAX) : start]
    return any(overlap(span, other) for other in negated) or leaves_out(before, text[start:end], language)
