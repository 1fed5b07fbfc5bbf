"""The feature vector of a query and its specificity, its router mode, its identifiers, and whether it is small talk.

specificity = 0.35·entity_density + 0.25·temporal + 0.25·lexical_rarity + 0.15·type_cues

Identifiers are strings to be matched letter by letter (`ABC-123`, `src/app.py`, `ERR_CONN_RESET`). A chunk without
white space is one if it is written as no word is. Context decides nothing: "issue 45" is two words.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from recall_integrations.languages import english
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.cues import HYBRID, INTENTS, KNOWLEDGE, NEURAL, intents
from recall_integrations.text import STOP_WORDS, Token, idf, length_in_words, stem, tokenize
from recall_integrations.text.analyser import starts_inside
from recall_integrations.types import EntityRef, MemoryType, QueryFeatures, TemporalWindow
from recall_integrations.types.query import ConversationalVerdict, Identifier, Router

CHARS_MAX = 256  # nobody means a longer "word" letter by letter
_DATE = regex(r"\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2}|\d{1,3}(?:\.\d{3})+")


class Kind(NamedTuple):
    """A row of the table. Only with `knowledge` it speaks for a document, and not just for an exact match."""

    name: str
    pattern: re.Pattern[str]  # of a whole chunk
    check: Callable[[str], bool] = lambda _: True
    knowledge: bool = True


def _is_file(text: str) -> bool:
    """Say whether "name.ending" is no full stop without its space."""
    return STOP_WORDS.isdisjoint(text.partition(":")[0].casefold().split("."))


_HEX, _NAME, _SEGMENT = "[0-9A-Fa-f]", r"[^\W\d]\w*", r"[\w.@+~-]+"
KINDS: tuple[Kind, ...] = (
    Kind("url", regex(r"(?:[A-Za-z][\w+.-]*://|www\.)\S+")),
    Kind("email", regex(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"), knowledge=False),
    Kind("reference", regex(r"(?:[A-Za-z][\w./-]*)?[#!][0-9]{1,7}"), lambda text: text != "#1"),  # the best of all
    Kind("path", regex(rf"(?:~|\.{{1,2}}|[A-Za-z]:)?[/\\](?=.*[^\W\d]\w){_SEGMENT}(?:[/\\]{_SEGMENT})*[/\\]?")),
    Kind("path", regex(rf"(?:{_SEGMENT}[/\\])+[\w@+~-][\w.@+~-]*\.[A-Za-z]\w*(?::[0-9]+)?")),
    Kind("ticket", regex(r"[A-Z][A-Z0-9]+(?:-[0-9]{1,7}){1,2}")),
    # Numbers in a series, not a span of years: `2026-018`, `555-0199`.
    Kind("ticket", regex(r"[0-9]{2,6}[-/]0[0-9]{2,6}|(?:19|20)[0-9]{2}[-/](?!(?:19|20)[0-9]{2}$)[0-9]{3,7}")),
    Kind("code", regex(rf"{_HEX}{{8}}(?:-{_HEX}{{4,12}}){{4}}|(?=(?:.*[0-9]){{2}})(?=.*[a-f])[0-9a-f]{{7,64}}")),
    Kind("code", regex(rf"0x{_HEX}{{4,16}}|[A-Z]+[0-9]{{3,}}[A-Z0-9]*")),
    Kind("code", regex(rf"(?=.*[^\W_]){_HEX}*(?::{_HEX}*){{3,}}")),  # addresses of networks
    Kind("code", regex(r"v[0-9][\w.-]*|[0-9]+(?:\.[0-9]+){2,}[\w.:-]*"), lambda text: not _DATE.fullmatch(text)),
    Kind("code", regex(r"_*[^\W\d_][^\W_]*(?:_+[^\W_]+)+_*(?:\(\))?|__[^\W_]+__")),
    Kind("code", regex(rf"{_NAME}(?:(?:::|->|\.){_NAME})*\(\)|{_NAME}(?:(?:::|->){_NAME})+")),
    Kind(
        "code",
        regex(r"[^\W\d]\w+(?:\.[^\W\d]\w+){2,}|[a-z]{2,}[0-9]*(?:[A-Z]+[a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+){3,}"),
    ),
    Kind("path", regex(r"[^\W\d][\w-]+\.[a-z][a-z0-9]{1,4}(?::[0-9]+)?"), _is_file),
    Kind("code", regex(rf"(?=.*_){_NAME}(?:\.{_NAME})+")),
    Kind("reference", regex(r"[A-Za-z][\w.-]+:(?:[A-Za-z_/][\w./@+~-]*|[0-9]{2,5})")),  # `repo:path`, `host:port`
)
_QUOTATIONS = regex(
    r"(?<!\w)\"(?=\S)([^\"\n]{1,199}[^\s\"])\"(?!\w)|[“„]([^“”„\n]{2,200})[”“]|«([^«»\n]{2,200})»"
    r"|「([^「」\n]{2,200})」|『([^『』\n]{2,200})』|`([^`\n]{2,200})`"
    r"|(?<![\w'])'(?=[^\s'])((?:[^'\n]|(?<=\w)'(?=\w)){1,199}[^\s'])'(?!\w)"
    r"|(?<!\w)‘((?:[^‘’\n]|(?<=\w)’(?=\w)){2,200})’(?!\w)"
)
_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CHUNK = regex(rf"(?:[^\s,;|<>\"“”„«»`()\[\]{{}}—–…{_CJK}]|\(\))+")
_PART = regex(r"[^/:=&+]+")
_ORDINARY = regex(r"[A-Z]?[^\W\dA-Z_]*(?:['’-][A-Z]?[^\W\dA-Z_]+)*")
# What a text in ASCII without identifiers may lack: words in lower case or with one capital in front, joined by single
# hyphens and apostrophes, between blanks and the signs that end sentences and clauses.
_UNUSUAL = regex(
    r"[^A-Za-z \n,;?!.'()-]|[A-Za-z'-][A-Z]|[.?!][.?!'-]*[A-Za-z]|['-]{2}|(?<![A-Za-z])'|\(\)|[Ww][Ww][Ww]\."
)
_LEADING, _TRAILING = "'‘’*?=&+-", ".,:!?'’‘*=&+-"


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Find the identifiers of any `text`, in order, without overlap: chunks, and what is quoted beside these."""
    if text.isascii() and _UNUSUAL.search(text) is None:
        return ()
    found: list[Identifier] = []
    for match in _CHUNK.finditer(text):
        bare = match[0].rstrip(_TRAILING)
        if not (bare.isalpha() and bare[1:].islower()):  # else an ordinary word
            found += _of_chunk(match[0], match.start())
    ends = [one.span[1] for one in found]
    for match in _QUOTATIONS.finditer(text):
        said = match[match.lastindex or 0]
        start = match.start(match.lastindex or 0) + len(said) - len(said.lstrip())
        stop = start + len(said.strip())
        at = bisect_right(ends, start)  # the first that ends after its beginning
        if any(map(str.isalnum, said)) and (at == len(ends) or found[at].span[0] >= stop):
            found.append(Identifier(text=said.strip(), kind="quoted", span=(start, stop), knowledge=False))
    return tuple(sorted(found, key=lambda one: one.span))


def _of_chunk(raw: str, at: int) -> Iterator[Identifier]:
    """Yield the identifier that a chunk is, without punctuation and possessive; else those between its separators."""
    body = raw.strip(_LEADING).rstrip(_TRAILING) if len(raw) <= CHARS_MAX else ""
    body = body[:-2] if body.endswith(("'s", "’s")) else body
    if len(body) < 2 or _ORDINARY.fullmatch(body):
        return
    start = at + raw.index(body)
    kind = next((kind for kind in KINDS if kind.pattern.fullmatch(body) and kind.check(body)), None)
    if kind is not None:
        yield Identifier(text=body, kind=kind.name, span=(start, start + len(body)), knowledge=kind.knowledge)
        return
    for part in _PART.finditer(body):
        if part[0] != body:
            yield from _of_chunk(part[0], start + part.start())


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


MODE_TYPES: dict[str, tuple[MemoryType, ...]] = {
    KNOWLEDGE: (MemoryType.CHUNK,),
    NEURAL: tuple(t for t in MemoryType if t is not MemoryType.CHUNK),
    HYBRID: tuple(MemoryType),
}


def router_mode(
    text: str,
    identifiers: Sequence[Identifier] | None = None,
    *,
    dated: bool = False,
    language: str | None = "en",
) -> Router:
    """Return the mode that all evidence agrees on, else `hybrid`; e-mail addresses and quotations speak for none."""
    found = tuple(find_identifiers(text) if identifiers is None else identifiers)
    meant = {name: INTENTS[name] for name in intents(text, language)}
    voices = {intent.mode for intent in meant.values() if intent.mode is not None}
    named = [i for i in found if i.knowledge]
    if named:
        voices.add(KNOWLEDGE)
    why = [f"{i.kind} {i.text}" for i in named] + [name.replace("_", " ") for name in meant]
    mode = voices.pop() if len(voices) == 1 else HYBRID
    return Router(
        mode=mode,
        reason=f"{mode}: {', '.join(why)}" if why else f"{mode}: nothing speaks for one kind of memory",
        graph_bias=any(intent.graph_bias for intent in meant.values()),
        time_bias=dated or any(intent.time_bias for intent in meant.values()),
    )
