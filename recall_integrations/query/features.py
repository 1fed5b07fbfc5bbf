"""The feature vector of a query and its specificity, its router mode, and whether it is small talk for BM25.

specificity = 0.35·entity_density + 0.25·temporal + 0.25·lexical_rarity + 0.15·type_cues
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from recall_integrations.languages.tables import english
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import cues
from recall_integrations.query.folding import folded
from recall_integrations.query.identifiers import find_identifiers
from recall_integrations.query.spans import starts_inside
from recall_integrations.text import STOP_WORDS, Token, idf, length_in_words, stem, tokenize
from recall_integrations.types import EntityRef, MemoryType, QueryFeatures, TemporalWindow
from recall_integrations.types.query import ConversationalVerdict, Identifier, Router

_EN = english("features")
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
    return float(sum(weight * getattr(features, name) for name, weight in WEIGHTS.items()))


def normalised(features: QueryFeatures) -> QueryFeatures:
    """Round the vector that decisions are made on. Equal rounded vectors have equal specificity."""
    return QueryFeatures(**{name: round(getattr(features, name), ROUNDING) for name in WEIGHTS})


def entity_density(
    tokens: Sequence[Token],
    refs: Sequence[EntityRef],
    window: TemporalWindow | None,
    counted: Collection[Token] | None = None,
) -> float:
    """Return the share of content words that name entities, times the best confidence; full from one half on.

    Words of the temporal window belong to the temporal feature and are not counted.
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


def lexical_rarity(rarities: Collection[float]) -> float:
    """Return the mean rarity of the stems that a memory holds, 0 without any: others say nothing of where to look."""
    return sum(rarities) / len(rarities) if rarities else 0.0


@functools.lru_cache(maxsize=4_096)
def rarity(held: int, memories: int) -> float:
    """Return the idf of a stem that `held` memories hold, as a share of the idf with one such memory, in [0, 1]."""
    n = max(memories, PRIOR_MEMORIES)
    return min(1.0, idf(min(held, n), n) / idf(1, n))


class TypeCue(NamedTuple):
    """A pattern, matched anywhere in the folded query, and what it says of the type of the memory asked for."""

    pattern: re.Pattern[str]
    kind: cues.Kind


_START = (
    r"(?:^|[.!?;:,(\"“] ?|\b(?:me|know|please|remember|recall|wonder(?:ing)?|idea|and|so|hey|hi) )"  # of a question
)


def _cue(pattern: str, strength: float, *types: MemoryType, filters: bool = False) -> TypeCue:
    return TypeCue(regex(rf"(?:{pattern})"), cues.Kind(strength, types, filters))


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
_T = MemoryType
TYPE_CUES: tuple[TypeCue, ...] = (
    _cue(
        rf"\b(?:{_WHOSE} (?:\w+ ){{0,2}}|{_WHICH} (?:\w+ )?)preferences?\b{_NO_PART}", 0.6, _T.PREFERENCE, filters=True
    ),
    _cue(r"\bpreferences?\b", 0.6, _T.PREFERENCE),
    _cue(r"\bprefer(?:s|red)?\b|\bfavou?rites?\b|\bwould rather\b", 0.6, _T.PREFERENCE),
    _cue(r"\bwhat should (?:i|we) (?:configure|use|choose|pick|set)\b", 0.5, _T.PREFERENCE),
    _cue(r"\bcommunication style\b|\bdo(?:es)? .{1,40} like\b", 0.4, _T.PREFERENCE),
    _cue(rf"{_START}when (?:did|was|were|is|will)\b|\bwhen did\b", 0.6, _T.EVENT),
    _cue(
        r"\bwhat (?:happened|was happening|went wrong)\b|\b(?:did|have|had) (?:i|we) (?:finish|complete|ship"
        r"|send|sent|merge)(?:p?ed|d)?\b",
        0.3,
        _T.EVENT,
    ),
    _cue(r"\bhow (?:do|can|should|did) (?:i|we)\b|\bhow to\b|\bsteps (?:to|for)\b", 0.4, _T.SKILL),
    _cue(r"\bsummar(?:y|ies|ise|ize)\b|\boverview\b|\brecap\b|\btl;?dr\b", 0.6, _T.SUMMARY),
    _cue(rf"{_START}who(?:'s| is| are| was| were)\b", 0.6),
    _cue(r"\b(?:number|id|key|password|address|code|token|pin)\b", 0.4),
    _cue(r"\b(?:something|anything|things?|stuff) (?:about|on|like)\b", 0.2),
)


def type_cues(text: str, language: str | None = "en") -> tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Return the strength of the strongest cue, the cued types, strongest first, and the types that may pre-filter."""
    if language != "en":
        return cues.type_cues(text, language)
    said = folded(text)
    return cues.summed(cue.kind for cue in TYPE_CUES if cue.pattern.search(said))


PREDICATES: dict[str, tuple[str, ...]] = {
    word: tuple(edges.split()) for words, edges in _EN["predicates"].items() for word in words.split()
}


def predicate_hints(tokens: Sequence[Token], text: str = "", language: str | None = "en") -> tuple[str, ...]:
    """Return the edge types that the query's words point at, in order of appearance."""
    said = [token.word for token in tokens] if language == "en" else cues.relations(text, language)
    return tuple(dict.fromkeys(p for word in said for p in PREDICATES.get(word, ())))


DOMAIN_SIGNAL_MAX = 0.15
STOPWORD_RATIO_MIN = 0.4

# Asking is not filling: "how" and "what" count as words that say something.
QUESTION_WORDS = frozenset("what which who whom whose when where why how".split())

# What fills a sentence: stop words, and the few verbs and adverbs that ask how it goes, whatever "it" is.
FILLER = frozenset(w for w in STOP_WORDS if w.partition("'")[0] not in QUESTION_WORDS) | frozenset(
    "must shall work works worked working wired going goes really actually okay ok please thing things stuff".split()
)

# Words of software and operations that say what a query is about. General ones that every conversation uses
# ("search", "limit", "issue", "run") are left out on purpose.
TECHNICAL = frozenset(map(stem, _EN["technical"].split()))
_CODE_MARKS = regex(r"=>|->|==|!=|&&|\|\||</|/>|```|\(\)|[{};]\s*$|\$\{|\w=\w")


def conversational(
    text: str,
    *,
    rare: Callable[[str], bool],
    identifiers: Sequence[Identifier] | None = None,
    language: str | None = "en",
    tokens: Sequence[Token] | None = None,
) -> ConversationalVerdict:
    """Recognise small talk: domain signal < .15, stop-word ratio > .4, no code, no word rare in the corpus."""
    found = find_identifiers(text) if identifiers is None else identifiers
    tokens = tokenize(text) if tokens is None else tokens
    if language != "en" or not tokens:
        why = "no words" if language == "en" else "not in English"
        return ConversationalVerdict(conversational=False, has_code=bool(found), because=why)
    inside = starts_inside(tokens, [i.span for i in found if i.knowledge])
    content: dict[str, str] = {}
    technical = filling = 0
    for word, start, _ in tokens:
        filling += word in FILLER
        root = "" if word in STOP_WORDS else content.get(word) or content.setdefault(word, stem(word))
        technical += root in TECHNICAL or start in inside
    domain, filler = technical / len(tokens), filling / len(tokens)
    code = bool(found) or _CODE_MARKS.search(text) is not None
    vague = domain < DOMAIN_SIGNAL_MAX and filler > STOPWORD_RATIO_MIN and not code
    left = tuple(s for s in dict.fromkeys(content.values()) if rare(s)) if vague else ()
    why = (
        f"domain signal {domain:.2f} {'<' if domain < DOMAIN_SIGNAL_MAX else '≥'} {DOMAIN_SIGNAL_MAX:g}, "
        f"stop words {filler:.2f} {'>' if filler > STOPWORD_RATIO_MIN else '≤'} {STOPWORD_RATIO_MIN:g}, "
        f"{'code or an identifier' if code else 'no code'}"
    )
    if vague:
        why += f", rare in the corpus: {', '.join(left)}" if left else ", nothing rare in the corpus"
    return ConversationalVerdict(
        conversational=vague and not left,
        domain_signal=domain,
        stopword_ratio=filler,
        has_code=code,
        rare=left,
        because=why,
    )


def rare_by(frequency: Callable[[str], int], memories: int, *, share_max: float = 0.05) -> Callable[[str], bool]:
    """Make the test for `conversational`: a stem is in a memory, and in few. Without one BM25 finds nothing."""
    most = max(1.0, share_max * max(memories, PRIOR_MEMORIES))
    return lambda term: 1 <= frequency(term) <= most


KNOWLEDGE, NEURAL, HYBRID = "knowledge", "neural", "hybrid"

MODE_TYPES: dict[str, tuple[MemoryType, ...]] = {
    KNOWLEDGE: (MemoryType.CHUNK,),
    NEURAL: tuple(t for t in MemoryType if t is not MemoryType.CHUNK),
    HYBRID: tuple(MemoryType),
}


class Intent(NamedTuple):
    """A pattern, matched anywhere in the folded query, and its effect on the router.

    `mode` is the mode that it speaks for (`None`: it says nothing of the kind of memory). With `graph_bias` memories
    linked to the entities of the query come first, with `time_bias` newer ones, or those of the time in question.
    """

    name: str
    pattern: re.Pattern[str]
    mode: str | None = None
    graph_bias: bool = False
    time_bias: bool = False


def _intent(name: str, pattern: str, mode: str | None, *, graph: bool = False, time: bool = False) -> Intent:
    return Intent(name, regex(rf"\b(?:{pattern})\b"), mode, graph, time)


INTENTS: tuple[Intent, ...] = tuple(
    _intent(name, one["says"], one.get("mode"), graph=one.get("graph", False), time=one.get("time", False))
    for name, one in english("intents").items()
)


def router_mode(
    text: str,
    identifiers: Sequence[Identifier] | None = None,
    *,
    dated: bool = False,
    intents: Sequence[Intent] = INTENTS,
    language: str | None = "en",
) -> Router:
    """Return the mode that all evidence agrees on, else `hybrid`; e-mail addresses and quotations speak for none."""
    found = tuple(find_identifiers(text) if identifiers is None else identifiers)
    if language == "en":
        said = folded(text)
        meant = [intent for intent in intents if intent.pattern.search(said)]
    else:
        named_there = cues.intents(text, language)
        meant = [intent for intent in intents if intent.name in named_there]
    voices = {intent.mode for intent in meant if intent.mode is not None}
    named = [i for i in found if i.knowledge]
    if named:
        voices.add(KNOWLEDGE)
    why = [f"{i.kind} {i.text}" for i in named] + [intent.name for intent in meant]
    mode = voices.pop() if len(voices) == 1 else HYBRID
    return Router(
        mode=mode,
        reason=f"{mode}: {', '.join(why)}" if why else f"{mode}: nothing speaks for one kind of memory",
        graph_bias=any(intent.graph_bias for intent in meant),
        time_bias=dated or any(intent.time_bias for intent in meant),
    )
