"""The feature vector of a query, and its specificity.

    specificity = 0.35·entity_density + 0.25·temporal + 0.25·lexical_rarity + 0.15·type_cues

All four features lie in [0, 1]. Type cues and predicate hints come from tables that a reader can extend.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence

from recall_integrations.patterns import regex
from recall_integrations.query.by_table import cues
from recall_integrations.query.glance import Glance, glance, word_set
from recall_integrations.query.spans import starts_inside
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, Token, idf, length_in_words
from recall_integrations.types import EntityRef, MemoryType, QueryFeatures, TemporalWindow
from recall_integrations.types.readings import SessionRef

WEIGHTS: Mapping[str, float] = {  # of specificity; they add up to 1
    "entity_density": 0.35,  # of names among the words
    "temporal": 0.25,  # of a time that is asked for
    "lexical_rarity": 0.25,  # of words that few memories hold
    "type_cues": 0.15,  # of words that ask for a type of memory
}
SATURATION = 0.5  # share of entity words at which the density is full
IMPLICIT = "implicit"  # stage of the user, who is an entity of every scope and says nothing about the query
ROUNDING = 3  # decimals of the normalised vector: the planner takes values that lie closer together as equal
PRIOR_MEMORIES = 20  # a scope smaller than this is treated as if it had this many: two texts know no rarity


def specificity(features: QueryFeatures) -> float:
    """Return the weighted sum of the four features."""
    return (
        WEIGHTS["entity_density"] * features.entity_density
        + WEIGHTS["temporal"] * features.temporal
        + WEIGHTS["lexical_rarity"] * features.lexical_rarity
        + WEIGHTS["type_cues"] * features.type_cues
    )


def normalised(features: QueryFeatures) -> QueryFeatures:
    """Round the vector that decisions are made on. Equal rounded vectors have equal specificity."""
    return QueryFeatures(
        entity_density=round(features.entity_density, ROUNDING),
        temporal=round(features.temporal, ROUNDING),
        lexical_rarity=round(features.lexical_rarity, ROUNDING),
        type_cues=round(features.type_cues, ROUNDING),
    )


def entity_density(
    tokens: Sequence[Token],
    refs: Sequence[EntityRef],
    window: TemporalWindow | None,
    counted: Collection[Token] | None = None,
) -> float:
    """Return the share of content words that name entities, times the best confidence; full from one half on.

    Words of the temporal window belong to the temporal feature and are not counted. In a script without spaces a sign
    is about half a word, and pairs of signs, which are made of the same signs, are none.

    Args:
        tokens: the query's words, without those that it excludes.
        refs: the entities that it names.
        window: the time that it asks for.
        counted: the content words; default is all that are no stop words of English.
    """
    spans = [r.span for r in refs if r.stage != IMPLICIT]
    if not spans:
        return 0.0
    dated = window.span if window is not None else (0, 0)
    starts = None if counted is None else {token.start for token in counted}
    content: list[str] = []
    named: list[str] = []
    held = starts_inside(tokens, spans)
    for word, start, _ in tokens:
        if start in held:
            named.append(word)
        elif not (word not in STOP_WORDS if starts is None else start in starts) or dated[0] <= start < dated[1]:
            continue
        content.append(word)
    best = max(r.confidence for r in refs if r.stage != IMPLICIT)
    share = length_in_words(named) / max(length_in_words(content), 1)
    return best * min(1.0, share / SATURATION)


def temporal_precision(window: TemporalWindow | None, session: SessionRef | None = None) -> float:
    """Return how plainly the query is placed in time: the higher confidence of its window and its session."""
    return max((read.confidence for read in (window, session) if read is not None), default=0.0)


def lexical_rarity(rarities: Collection[float]) -> float:
    """Return the mean rarity of the query's distinct stems that a memory holds; 0 without any.

    A stem that no memory holds says nothing about where to look: BM25 can find nothing by it.
    """
    return sum(rarities) / len(rarities) if rarities else 0.0


@functools.lru_cache(maxsize=4_096)
def rarity(held: int, memories: int) -> float:
    """Return the idf of a stem that `held` memories hold, as a share of the idf with one such memory, in [0, 1]."""
    n = max(memories, PRIOR_MEMORIES)
    return min(1.0, idf(min(held, n), n) / idf(1, n))


_ASK = (
    r"(?:can|could|would|will) (?:you|u|anyone|somebody|someone)\b|please\b|kindly\b|do you (?:know|remember|recall)\b"
    r"|any (?:idea|chance you know)\b|i(?:'d| would) (?:like|love) to (?:know|hear|see)\b"
    r"|i (?:want|need|have) to know\b|i(?:'m| am) (?:wondering|curious)\b|i was wondering\b|i wonder\b"
)
_COURTESY = regex(
    r"\W*(?:(?:hey|hi|hello|ok|okay|so|well|sorry|excuse me|quick question)\b\W*){0,3}"
    rf"(?:(?:{_ASK})\W*){{0,3}}"
    r"(?:(?:please )?(?:tell|show|give|remind|let) me(?: know| see)?\b(?: please)?\W*)?(?:(?:if|whether|again)\b\W+)?",
    re.I,
)
_THANKS = regex(r"\W*\b(?:please|thanks(?: a lot| so much)?|thank you(?: so much| very much)?|cheers)\W*$", re.I)
COURTESY_CHARS_MAX = 96
# What `_COURTESY` can begin with, up to a letter that is none.
_OPENERS = word_set(
    "hey hi hello ok okay so well sorry excuse quick can could would will please kindly do any i tell show give remind "
    "let if whether again"
)
_FIRST_WORD = regex(r"\W*(\w*)")


def courtesies(text: str, language: str | None = "en", seen: Glance | None = None) -> list[tuple[int, int]]:
    """Return the spans of words that only make a question polite: "could you please tell me …", "… thanks!".

    They do not say what the query asks for, and their words, which no memory may hold, are not to count as rare.

    Args:
        text: the query.
        language: code of its language.
        seen: `glance(text)`, if it is at hand.
    """
    if language != "en":
        return cues.courtesies(text, language)
    seen = glance(text) if seen is None else seen
    spans = []
    opening = text[:COURTESY_CHARS_MAX]
    if not seen.plain or _opens_politely(opening):
        match = _COURTESY.match(opening.replace("’", "'").replace("\u00a0", " "))
        if match is not None and any(map(str.isalpha, match[0])):
            spans.append(match.span())
    start = max(0, len(text) - COURTESY_CHARS_MAX)
    closing = text[start:]
    if not seen.plain or _thanks(closing.lower()):
        last = _THANKS.search(closing)
        if last is not None:
            spans.append((start + last.start(), len(text)))
    return spans


def _thanks(closing: str) -> bool:
    return "thank" in closing or "please" in closing or "cheers" in closing


def _opens_politely(opening: str) -> bool:
    first = _FIRST_WORD.match(opening)
    return first is not None and first[1].lower() in _OPENERS


@record(frozen=True, slots=True, kw_only=True)
class TypeCue:
    """A pattern over the folded query that predicts the type of the memory asked for.

    Args:
        pattern: regular expression, matched anywhere in the query.
        kind: what it says of that memory.
        needs: words of which each match holds one, whole; the pattern is tried only on a query with one of them. Empty:
            it is tried on every query.
    """

    pattern: re.Pattern[str]
    kind: cues.Kind
    needs: frozenset[str] = frozenset()


_START = (
    r"(?:^|[.!?;:,(\"“] ?|\b(?:me|know|please|remember|recall|wonder(?:ing)?|idea|and|so|hey|hi) )"  # of a question
)


def _cue(pattern: str, needs: str, strength: float, *types: MemoryType, filters: bool = False) -> TypeCue:
    kind = cues.Kind(strength, types, filters)
    return TypeCue(pattern=regex(rf"(?:{pattern})"), kind=kind, needs=word_set(needs))


# Whose preferences, or which: only where they are asked for may other memories be left out. "The preferences page" and
# "preferences.yaml" are about something else.
_WHOSE = (
    r"(?:my|our|your|his|her|their|general|user|personal"
    r"|(?!(?:what|that|it|who|where|how|here|there|let)'s)\w+(?:'s|s'))"
)
_WHICH = r"(?:what|which|all|any)(?: (?:are|is|were|was)(?: the)?)?"
_NO_PART = (
    r"(?![-/_]|\.\w)(?! (?:pages?|files?|screens?|dialogs?|dialogues?|settings?|tables?|menus?|panels?|panes?|tabs?"
    r"|forms?|windows?|views?|buttons?|sections?|modals?|components?|modules?|class(?:es)?|services?|endpoints?|apis?|stores?"
    r"|schemas?|models?|columns?|fields?|keys?|objects?|caches?|ui|db|database|migrations?|bugs?|tickets?"
    r"|tests?|cent(?:er|re))\b)"
)
_FINISHING = ("finish", "complete", "ship", "send", "sent", "merge")
_T = MemoryType
TYPE_CUES: tuple[TypeCue, ...] = (
    _cue(
        rf"\b(?:{_WHOSE} (?:\w+ ){{0,2}}|{_WHICH} (?:\w+ )?)preferences?\b{_NO_PART}",
        "preference preferences",
        0.6,
        _T.PREFERENCE,
        filters=True,
    ),
    _cue(r"\bpreferences?\b", "preference preferences", 0.6, _T.PREFERENCE),
    _cue(
        r"\bprefer(?:s|red)?\b|\bfavou?rites?\b|\bwould rather\b",
        "prefer prefers preferred favorite favorites favourite favourites rather",
        0.6,
        _T.PREFERENCE,
    ),
    _cue(r"\bwhat should (?:i|we) (?:configure|use|choose|pick|set)\b", "should", 0.5, _T.PREFERENCE),
    _cue(r"\bcommunication style\b|\bdo(?:es)? .{1,40} like\b", "communication like", 0.4, _T.PREFERENCE),
    _cue(rf"{_START}when (?:did|was|were|is|will)\b|\bwhen did\b", "when", 0.6, _T.EVENT),
    _cue(
        r"\bwhat (?:happened|was happening|went wrong)\b|\b(?:did|have|had) (?:i|we) (?:finish|complete|ship"
        r"|send|sent|merge)(?:p?ed|d)?\b",
        "happened happening wrong " + " ".join(verb + end for verb in _FINISHING for end in ("", "ed", "ped", "d")),
        0.3,
        _T.EVENT,
    ),
    _cue(r"\bhow (?:do|can|should|did) (?:i|we)\b|\bhow to\b|\bsteps (?:to|for)\b", "how steps", 0.4, _T.SKILL),
    _cue(
        r"\bsummar(?:y|ies|ise|ize)\b|\boverview\b|\brecap\b|\btl;?dr\b",
        "summary summaries summarise summarize overview recap tldr tl",
        0.6,
        _T.SUMMARY,
    ),
    _cue(rf"{_START}who(?:'s| is| are| was| were)\b", "who", 0.6),
    _cue(
        r"\b(?:number|id|key|password|address|code|token|pin)\b", "number id key password address code token pin", 0.4
    ),
    _cue(r"\b(?:something|anything|things?|stuff) (?:about|on|like)\b", "something anything thing things stuff", 0.2),
)


# What some cue needs; nothing where one of them needs nothing.
_NEEDED = frozenset[str]().union(*(c.needs for c in TYPE_CUES)) if all(c.needs for c in TYPE_CUES) else frozenset[str]()


def type_cues(
    text: str, language: str | None = "en", seen: Glance | None = None
) -> tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Return the strength of the strongest cue, the cued types in order of strength, and the types that may pre-filter.

    Args:
        text: the query.
        language: code of its language.
        seen: `glance(text)`, if it is at hand.
    """
    if language != "en":
        return cues.type_cues(text, language)
    said, runs, _ = glance(text) if seen is None else seen
    if _NEEDED and _NEEDED.isdisjoint(runs):
        return 0.0, (), ()
    tried = (cue for cue in TYPE_CUES if not (cue.needs and cue.needs.isdisjoint(runs)))
    return cues.summed(cue.kind for cue in tried if cue.pattern.search(said))


PREDICATES: dict[str, tuple[str, ...]] = {
    "manager": ("manager_of", "reports_to", "manages"),
    "boss": ("manager_of", "reports_to", "manages"),
    "manages": ("manager_of", "manages"),
    "report": ("reports_to", "manager_of"),
    "reports": ("reports_to", "manager_of"),
    "team": ("member_of",),
    "member": ("member_of",),
    "members": ("member_of",),
    "owner": ("owns", "owner_of"),
    "owns": ("owns", "owner_of"),
    "depends": ("depends_on",),
    "dependency": ("depends_on",),
    "dependencies": ("depends_on",),
    "blocks": ("blocks", "blocked_by"),
    "blocked": ("blocks", "blocked_by"),
    "works": ("works_on", "works_at", "works_with"),
    "working": ("works_on", "works_at", "works_with"),
    "employer": ("works_at",),
    "lives": ("lives_in",),
    "married": ("married_to", "spouse_of"),
    "wife": ("married_to", "spouse_of"),
    "husband": ("married_to", "spouse_of"),
    "recommend": ("recommends", "recommended"),
    "recommended": ("recommends", "recommended"),
}


def predicate_hints(tokens: Sequence[Token], text: str = "", language: str | None = "en") -> tuple[str, ...]:
    """Return the edge types that the query's words point at, in order of appearance.

    Args:
        tokens: its words, without those that it excludes.
        text: the text to read instead of `tokens` in another language than English.
        language: code of its language.
    """
    said = [token.word for token in tokens] if language == "en" else cues.relations(text, language)
    return tuple(dict.fromkeys(p for word in said for p in PREDICATES.get(word, ())))
