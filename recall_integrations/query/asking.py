"""Estimate whether words ask how things are, are small talk, or only put a question; find what is beside the point.

Three logistic models over the bundled vector of the query, fitted by `scripts/fit_asking.py`; they know English.

    "I was wondering when the library closes"                  ─▶ "I was wondering": a framing
    "Answer from my notes: what does Anna like? Be brief."     ─▶ "Answer from my notes:" and "Be brief."
    "I'm on the phone right now. What is the wifi password?"   ─▶ the first sentence
    "Anna called. What does she like?"                         ─▶ none: it says who "she" is
    "I pay with Mastercard. What is the PIN of the card?"      ─▶ none: a memory says "Mastercard" and "PIN"

An agent passes on what its user wrote, wraps it in an instruction, and users begin with what they are doing. No time is
read from such words, they are not embedded, and they count for less (`lexicon.ASIDE`).

A model says what frames a question (`framing`); names and numbers never do. Of a sentence that tells what the asker
does, what the memories say decides: it is a part of the question where one of them holds words of both, or two words of
the sentence. Of 610 first hits 401 were right behind "I was wondering" and 385 behind "Sorry to bother you again, I
know you're busy." with these read as parts of the question, now 470 and 469 (`recall bench everyday FOLDER --asked-as
wondering`, `busy`). A date in such a sentence filters nothing even where the sentence is kept (`is_told`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.languages import ENGLISH
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.cues import courtesies, tense_of
from recall_integrations.query.entities.state import is_ordinary
from recall_integrations.query.findings import Findings
from recall_integrations.query.temporal.parser import may_have_window
from recall_integrations.query.temporal.tense import PAST, asked_tense
from recall_integrations.query.temporal.translation import in_calendar
from recall_integrations.text import Token
from recall_integrations.text.analyser import Span, inside

STATE, SMALL_TALK, FRAMING = "asking", "small_talk", "framing"  # the models, and the names of their files
USUAL = 0.6
LOGIT_MAX = 8.0
TELLING = 250.0  # length of a token's addend from which it tells what a text is about: the rarer, the longer
WORD_MIN = 0.1  # probability of such a token in a framing
_MARKS = " ,:;.-?!…–—<>/\"'{}*#"
CHARS_MAX = 1_024  # of a query that are read


def weights_file(model: str) -> Path:
    """Return the file of the weights of a model."""
    return Path(__file__).with_name(f"{model}.json")


@cache
def _model(name: str) -> tuple[NDArray[np.float64], float]:
    """Read the weights of the 256 numbers of a vector, and the bias: the logit if all of them are 0."""
    kept = json.loads(weights_file(name).read_text(encoding="utf-8"))
    return np.asarray(kept["weights"], dtype=np.float64), float(kept["bias"])


def bare(query: str) -> str:
    """Cut a query, and leave out the marks at its end: a "?" or its absence says nothing of the user's wish."""
    return query.strip()[:CHARS_MAX].rstrip(" ?!.…¿¡。？！")


def asks_state(query: str, language: str | None) -> float:
    """Estimate the probability that a query asks how things are, and not what happened, why, or how to do something."""
    return _probability(STATE, bare(query)) if language in ("en", "", None) else USUAL


def small_talk(query: str, language: str | None) -> float:
    """Estimate the probability that a query asks for nothing ("alright, cheers, bye"); 0 if it is not English."""
    return _probability(SMALL_TALK, bare(query)) if language in ("en", "", None) else 0.0


def stripped(words: str) -> str:
    """Cut words, and leave out the marks around them."""
    return words[:CHARS_MAX].strip(_MARKS)


def framing(words: str) -> float:
    """Estimate the probability that English words only put a question: "I was wondering", "answer from my notes".

    It is 0 where a word that tells what a text is about puts none by itself: "I forgot my piano teacher's number".
    """
    said = stripped(words)
    found = _probability(FRAMING, said)
    return 0.0 if found >= WORD_MIN and _has_topic(said) else found


@lru_cache(maxsize=256)
def _has_topic(words: str) -> bool:
    """Say whether a rare token of some words is surely no part of a framing."""
    weights, bias = _model(FRAMING)
    ids = bundled().ids_of(words)
    if not ids:
        return True
    rows = bundled().weighted(np.asarray(ids, dtype=np.int64))
    lengths = np.sqrt((rows * rows).sum(axis=1))
    least = math.log(WORD_MIN / (1 - WORD_MIN))
    return bool(((lengths >= TELLING) & (rows @ weights / np.maximum(lengths, 1) + bias < least)).any())


@lru_cache(maxsize=256)
def _probability(model: str, query: str) -> float:
    weights, bias = _model(model)
    logit = float(bundled().embed_query(query) @ weights) + bias
    return 1 / (1 + math.exp(-min(max(logit, -LOGIT_MAX), LOGIT_MAX)))


# -- asides ------------------------------------------------------------------------------------------------------------

Sentence = tuple[int, int, str]  # begin, end, the marks at its end
FRAMING_MIN = 0.5  # probability
FRAMING_CHARS = 96  # of a framing
FRAMED_WORDS_MAX = 24  # of a query: in a longer one a framing is a small part, and much looks like one
ASKS_MIN = 2  # content words of a question that can stand alone
WORDS_MAX = 7  # content words of another sentence: a longer one describes what is asked about
SENTENCES_MAX = 16  # of a query; more are a text
_OWN = frozenset(("i", "i'm", "i've", "we", "we're", "we've"))  # who tells what the asker does
_END = regex(r"[.!?]+(?=[\s\"'”’)\]]|$)|\n")
# What the asker does, to its third word.
_STATES = regex(r"\W*(?:i|we)(?:['’](?:m|ve|d|ll|re))?\s+\w+\s+\w+")
SHORT_CHARS = 8  # of the longest of these, and what stands before it
# Before a "." that ends no sentence.
_SHORT = regex(r"(?:^|[\s(])(?:[a-z]|dr|mr|mrs|ms|prof|st|no|vs|etc|approx|e\.g|i\.e)$")
_LOWER = regex(r"[\s\"'”’)\]]*[a-z]")
_ASKS = regex(
    r"\W*(?:(?:and|so|but|ok|okay|now|then|also) ){0,2}(?:(?:at|by|for|from|in|of|on|since|to|until|with) )?"
    r"(?:what|which|who|whom|whose|when|where|why|how"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|am)(?:['’]?s|['’]re|n['’]t)?\b"
)
_ASKED = regex(
    r"\b(?:(?:at|by|for|from|in|of|on|since|to|until|with) )?(?:what|which|who|whom|whose|when|where|why|how)\b", re.I
)
_WH = regex(rf"\W*{_ASKED.pattern}", re.I)
# Behind a mark, a preposition, "me" or "you"; before a word of a question, or the noun.
_OPENS = regex(
    r"(?:[,:;…]\s+|>\s*|\s[-–—]+\s+|\b(?:about|for|on|me|you|regarding)\s+"
    r"|\s+(?=(?:what|which|who|whom|whose|when|where|why|how|if|whether|is|are|was|were|do|does|did|can|could|will"
    r"|would|should|has|have|had|may|am|my|the|an?)\b))(?:(?:if|whether)\s+)?",
    re.I,
)
_CLOSES = regex(r"[,;<]|\s[-–—]+\s|\s+(?=(?:please|thanks|thank you|cheers)\b)", re.I)
# What stands in a question for something that another sentence says.
_REFERS = regex(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|ones?|same|both"
    r"|(?<!\bis )(?<!\bare )there)\b"
)


def asides(found: Findings) -> tuple[Span, ...]:
    """Return the spans of an English query that are beside the point, in order; none where nothing else is left."""
    if found.language != ENGLISH:
        spans = courtesies(found.text, found.language)
        return tuple(spans) if any(not inside(token, spans) for token in found.tokens) else ()
    sentences = list(islice(_sentences(found.text), SENTENCES_MAX + 1))
    if len(sentences) > SENTENCES_MAX:
        return ()
    short = len(found.tokens) <= FRAMED_WORDS_MAX
    left: dict[Sentence, Span] = {}
    framed: list[Span] = []
    for sentence in sentences:
        start, stop, _ = sentence
        at, to = _without_framings(found, start, stop) if short else (start, stop)
        if at < to:
            left[sentence] = (at, to)
        framed += [span for span in ((start, min(at, to)), (max(at, to), stop)) if span[0] < span[1]]
    if found.words.stopped.issuperset([token.word for token in found.within(list(left.values()))]):
        left, framed = {sentence: sentence[:2] for sentence in sentences}, []
    doings = list(_doings(found, left))
    return tuple(sorted([*doings, *(span for span in framed if not any(s <= span[0] < e for s, e in doings))]))


def is_told(found: Findings, date: Span) -> bool:
    """Say whether a date outside of `found.asides` is only told: "I was ill in May. Where is the key?".

    Its sentence begins with "I" or "we"; another one asks, not about the past, and refers to nothing.
    """
    sentences = list(islice(_sentences(found.point), SENTENCES_MAX + 1))
    if not 1 < len(sentences) <= SENTENCES_MAX:
        return False
    asking, beside = _parted(found, {sentence: sentence[:2] for sentence in sentences})
    own = next((span for span in beside if span[0] <= date[0] < span[1]), None)
    if own is None or len(_content(found, asking)) < ASKS_MIN or _STATES.match(found.text[slice(*own)].lower()) is None:
        return False
    question = _joined(found, asking)
    past = tense_of(question, ENGLISH).past or asked_tense(question) == PAST
    return not past and _REFERS.search(question.lower()) is None


def _parted(found: Findings, left: Mapping[Sentence, Span]) -> tuple[list[Span], list[Span]]:
    """Return what is left of the sentences that ask, keywords among them, and the spans of the others."""
    asking: list[Span] = []
    beside: list[Span] = []
    for (start, stop, ends), (at, to) in left.items():
        asks = "?" in ends or ("!" not in ends and _ASKS.match(found.text[at:to].lower()) is not None)
        keywords = not ends and _OWN.isdisjoint([token.word for token in found.within([(start, stop)])])
        (asking if asks or keywords else beside).append((at, to) if asks or keywords else (start, stop))
    return asking, beside


def _joined(found: Findings, spans: Sequence[Span]) -> str:
    return " ".join(found.text[slice(*span)] for span in spans)


def _without_framings(found: Findings, start: int, stop: int) -> Span:
    """Return what is left of a sentence without the framings at its ends; an empty span if it is one itself."""
    at = start
    for end in openings(found.text, start, stop):
        at = end if _is_framing(found, start, end) and (at == start or _is_framing(found, at, end)) else at
    to = next((begin for begin in closings(found.text, at, stop) if _is_framing(found, begin, stop)), stop)
    whole = at == 0 and to == len(found.text)  # then nothing else would be left: it is not asked
    return (stop, stop) if not whole and _is_framing(found, at, to) else (at, to)


def openings(text: str, start: int, stop: int) -> list[int]:
    """Return where a framing at the beginning of a sentence may end, in order: before what asks, or behind a mark.

    The word that asks is in none, but where another one follows: "from what I told you, when …".
    """
    if _WH.match(text, start, stop):
        return []
    asks = _ASKED.search(text, start, stop)
    first, behind = (stop, stop) if asks is None else asks.span()
    ends = (boundary.end() for boundary in _OPENS.finditer(text, start, min(stop, start + FRAMING_CHARS)))
    return [end for end in ends if end <= first or (behind < end < stop and _WH.match(text, end, stop))]


def closings(text: str, start: int, stop: int) -> list[int]:
    """Return where a framing at the end of a sentence may begin, in order: nothing that asks stands behind."""
    marks = _CLOSES.finditer(text, max(start + 1, stop - FRAMING_CHARS), stop)
    return [mark.start() for mark in marks if not _WH.match(text, mark.end(), stop)]


def _is_framing(found: Findings, start: int, stop: int) -> bool:
    """Say whether a part of the query only puts the question: "could you tell me", "use my notes", "thanks a lot"."""
    if stop - start > FRAMING_CHARS:
        return False
    said = found.within([(start, stop)])
    if any(token.word not in found.words.stopped and _is_name(found, token) for token in said):
        return False
    return not in_calendar([token.word for token in said]) and framing(found.text[start:stop]) >= FRAMING_MIN


def _doings(found: Findings, left: Mapping[Sentence, Span]) -> Iterator[Span]:
    """Yield the spans of the sentences that tell what the asker does, where what is left of another one asks."""
    if found.known.rows is None:
        return
    asking, beside = _parted(found, left) if len(left) > 1 else ([], [])
    question = _joined(found, asking)
    if not asking or not beside or _REFERS.search(question.lower()):
        return
    asked = _content(found, asking)
    rows = np.unique(_rows(found, asked))
    if len(asked) >= ASKS_MIN and len(rows):
        yield from (span for span in beside if _is_beside(found, span, question, asked, rows))


def _is_beside(found: Findings, span: Span, question: str, asked: dict[str, Token], about: NDArray[np.integer]) -> bool:
    """Say whether a sentence tells what the asker does, without a name, a time asked for, or a word that belongs to it.

    A word belongs to the question where it stands in both, or where a memory joins it with the question's words.
    """
    said = _content(found, [span])
    if len(said) > WORDS_MAX or not said.keys().isdisjoint(asked):
        return False
    if any(_is_name(found, token) for token in said.values()):
        return False
    words = [token.word for token in found.within([span])]
    if _OWN.isdisjoint(words) or in_calendar(words):
        return False
    tense = tense_of(question, ENGLISH)
    if (tense.past or tense.span) and may_have_window(found.text[slice(*span)], ENGLISH):
        return False
    rows, counts = np.unique(_rows(found, said), return_counts=True)
    return not (counts >= 2).any() and not np.isin(rows, about).any()


def _content(found: Findings, spans: Sequence[Span]) -> dict[str, Token]:
    """Return the content words in spans by their stems."""
    words = found.words
    return {words.stem(t.word): t for t in found.within(spans) if t.word not in words.stopped}


def _rows(found: Findings, stems: dict[str, Token]) -> NDArray[np.int32]:
    """Return the memories that hold each of some stems, one behind the other."""
    rows = found.known.rows
    held = [rows(stem) for stem in stems] if rows is not None else []
    return np.concatenate(held) if held else np.empty(0, dtype=np.int32)


def _is_name(found: Findings, token: Token) -> bool:
    """Say whether a word is one of an entity, has a digit or a sign, or has a capital and is no ordinary one."""
    entities = None if found.known.rows is None else found.known.entities  # of hidden memories none may decide
    if entities is not None and entities.contains_word(token.word):
        return True
    return not token.word.isalpha() or (found.text[token.start].isupper() and not is_ordinary(token.word))


def _sentences(text: str) -> Iterator[Sentence]:
    """Yield the begin and end of each sentence with a letter or a digit, and the marks at its end.

    It goes on behind an abbreviation, and where a small letter follows that begins no question, but not behind a
    statement: "i was ill last week. price of a ticket".
    """
    low, at = text.lower(), 0
    for end in _END.finditer(text):
        rest = text[end.end() : end.end() + 64]
        small = end[0] != "\n" and _LOWER.match(rest) is not None
        goes_on = small and _ASKS.match(rest) is None and _STATES.match(low, at) is None
        if goes_on or (
            end[0] == "." and _SHORT.search(low, max(at, end.start() - SHORT_CHARS), end.start()) is not None
        ):
            continue
        yield from _sentence(text, at, end.end(), end[0])
        at = end.end()
    yield from _sentence(text, at, len(text), "")


def _sentence(text: str, start: int, stop: int, ends: str) -> Iterator[Sentence]:
    said = text[start:stop]
    if any(map(str.isalnum, said)):
        yield start + len(said) - len(said.lstrip()), stop, ends
