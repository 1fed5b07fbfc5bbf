"""Choose the words of a query to look for, measure their rarity, and mark all words with their roles."""

from __future__ import annotations

from collections.abc import Iterable

from recall_integrations.languages.tables import ENGLISH
from recall_integrations.query import features
from recall_integrations.query.by_table.cues import no_keywords
from recall_integrations.query.date_words import in_calendar, is_unit, only_time, only_when
from recall_integrations.query.findings import Findings
from recall_integrations.query.spans import Span, Spans, inside, overlap, place_of, starts_inside
from recall_integrations.text import STOP_WORDS, Token, is_character, stem, tokenize
from recall_integrations.types import EntityRef
from recall_integrations.types import query as roles_of
from recall_integrations.types.query import NEGATED, QueryToken

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
