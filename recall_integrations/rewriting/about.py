"""The check that a phrasing asks for the same as the query. A model is trusted with other words for it, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable

from recall_integrations.patterns import regex
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, idf, language_of, tokenize
from recall_integrations.types import EntityRef, ParsedQuery

SHARE_MIN = 0.2  # of what the query's words are worth (idf), in words that the phrasing has too
COSINE_MIN = 0.2  # by the bundled embedding. Low, for good phrasings are often no nearer; their trust is low, too
NAME_SURE = 0.85  # confidence from which a name in a phrasing is one
TITLE_SHARE = 0.5  # where more of the words begin with a capital, capitals say nothing
CAPITALS = frozenset({"de"})  # languages in which every noun has one

_INSTRUCTION = regex(
    r"\b(?:ignor\w*|disregard\w*|forget|override|bypass|vergiss|ignoriere?|oublie[rz]?|olvida)\b.{0,40}"
    r"\b(?:previous|prior|above|earlier|all|instructions?|rules?|prompt|anweisung\w*|instrucciones|consignes)\b"
    r"|\b(?:system|developer) prompt\b|\byou (?:are|must) now\b|\bas an ai\b|\bjailbreak\b|\bnew instructions?\b"
    r"|</?(?:system|assistant|user|instructions?|tool)\b|\[/?INST\]|<\|",
    re.IGNORECASE,
)
_NUMBER = regex(r"\d+")
_CAPITAL = regex(r"(?<![.!?…:\"“]\s)(?<!^)\b[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,}")


@record(frozen=True, slots=True, kw_only=True)
class Asked:
    """The query that a phrasing is compared with."""

    sent: str  # its text as it was sent to the model
    parsed: ParsedQuery  # the parsed query
    frequency: Callable[[str], int]  # counts the memories of the scope that hold a stem
    count: int  # memories of the scope


def refused(asked: Asked, text: str, read: ParsedQuery, cosine: float | None) -> str:
    """Return the reason why a phrasing is not searched for, in words; empty = it is.

    It may bring no name, time, number, quotation or identifier that the query lacks, and no instruction; and it
    must be about the same: in the query's words, about its names, or near in meaning.
    """
    if _INSTRUCTION.search(text):
        return "an instruction"
    said = asked.sent.casefold()
    if _foreign_names(asked.parsed, read, said):
        return "a name that the query does not have"
    if _other_time(asked.parsed, read, text, said):
        return "a time that the query does not have"
    if set(_NUMBER.findall(text)) - set(_NUMBER.findall(asked.sent)):
        return "a number that the query does not have"
    if any(found.text.casefold() not in said for found in read.identifiers):
        return "a quotation or an identifier that the query does not have"
    if _capitals(text, said, {read.language, asked.parsed.language}):
        return "a name that the query does not have"
    if _other_language(asked, text):
        return "another language"
    return "" if _about(asked, read, cosine) else "something else"


def _named(parsed: ParsedQuery) -> list[EntityRef]:
    return [ref for ref in parsed.entity_refs if ref.stage != IMPLICIT]


def _foreign_names(asked: ParsedQuery, read: ParsedQuery, said: str) -> bool:
    known = {ref.entity_id for ref in asked.entity_refs}
    sure = (ref for ref in _named(read) if ref.confidence >= NAME_SURE and ref.entity_id not in known)
    return any(ref.mention.casefold() not in said for ref in sure)


def _other_time(asked: ParsedQuery, read: ParsedQuery, text: str, said: str) -> bool:
    """Say whether a phrasing names a time or a session that is not the query's, nor said in its words."""
    if read.session is not None and asked.session is None:
        return True
    mine, other = asked.temporal_window, read.temporal_window
    if other is None or (mine is not None and (mine.start, mine.end) == (other.start, other.end)):
        return False
    words = {token.word for token in tokenize(text[slice(*other.span)])} - STOP_WORDS
    return not words or not words <= {token.word for token in tokenize(said)}


def _capitals(text: str, said: str, languages: set[str]) -> bool:
    """Say whether a word within a sentence is written as a name and does not occur in the query."""
    if languages & CAPITALS:
        return False
    capitals = _CAPITAL.findall(text)
    if len(capitals) > TITLE_SHARE * len(text.split()):
        return False
    return any(word.casefold() not in said for word in capitals)


def _other_language(asked: Asked, text: str) -> bool:
    """Say whether a phrasing is in another language than query and memories; never if the query's is unclear."""
    language = language_of(text)
    known = (asked.parsed.language, asked.parsed.memories_in, None)
    return language not in known and language_of(asked.sent) is not None


def _about(asked: Asked, read: ParsedQuery, cosine: float | None) -> bool:
    names = {ref.entity_id for ref in _named(asked.parsed)}
    if names & {ref.entity_id for ref in _named(read)}:
        return True
    if cosine is not None and cosine >= COSINE_MIN:
        return True
    wanted = set(asked.parsed.terms) or {token.word for token in tokenize(asked.sent)}
    held = {term for term in wanted if asked.frequency(term)}  # a word that no memory has says nothing of them
    worth = {term: idf(asked.frequency(term), asked.count) for term in held or wanted}
    whole = sum(worth.values())
    shared = sum(value for term, value in worth.items() if term in set(read.terms))
    return whole > 0 and shared >= SHARE_MIN * whole
