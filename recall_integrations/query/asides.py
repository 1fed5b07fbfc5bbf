"""Find the sentences of a query that are beside the point, where another one asks.

    "I'm on the phone right now. What is the wifi password?"   ─▶ the first sentence
    "Anna called. What does she like?"                         ─▶ none: it says who "she" is
    "I pay with Mastercard. What is the PIN of the card?"      ─▶ none: a memory says "Mastercard" and "PIN"

An agent passes on what its user wrote, and that often begins with what the user is doing. No time is read from such a
sentence, it is not embedded, and its words count for less (`lexicon.ASIDE`). What the memories say decides: a sentence
is a part of the question where one of them holds words of both, or two words of the sentence. Behind "Sorry to bother
you again, I know you're busy." 385 of 610 first hits were right with it read as a part of the question, now 427
(`recall bench everyday FOLDER --asked-as busy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.languages.tables import ENGLISH
from recall_integrations.patterns import regex
from recall_integrations.query.date_words import in_calendar
from recall_integrations.query.entities.words import is_ordinary
from recall_integrations.query.findings import Findings
from recall_integrations.query.occurrences import tense_of
from recall_integrations.query.spans import Span, inside
from recall_integrations.query.temporal.parser import may_have_window
from recall_integrations.text import Token

ASKS_MIN = 2  # content words of a question that can stand alone
WORDS_MAX = 7  # content words of another sentence: a longer one describes what is asked about
SENTENCES_MAX = 16  # of a query; more are a text
_OWN = frozenset(("i", "i'm", "i've", "we", "we're", "we've"))  # who tells what the asker does
_END = regex(r"[.!?]+(?=[\s\"'”’)\]]|$)|\n")
SHORT_CHARS = 8  # of the longest of these, and what stands before it
# Before a "." that ends no sentence.
_SHORT = regex(r"(?:^|[\s(])(?:[a-z]|dr|mr|mrs|ms|prof|st|no|vs|etc|approx|e\.g|i\.e)$")
_LOWER = regex(r"[\s\"'”’)\]]*[a-z]")
_ASKS = regex(
    r"\W*(?:(?:and|so|but|ok|okay|now|then|also) ){0,2}(?:(?:at|by|for|from|in|of|on|since|to|until|with) )?"
    r"(?:what|which|who|whom|whose|when|where|why|how"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|am)(?:['’]?s|['’]re|n['’]t)?\b"
)
# What stands in a question for something that another sentence says.
_REFERS = regex(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|ones?|there|same|both)\b"
)


def asides(found: Findings) -> tuple[Span, ...]:
    """Return the spans of the sentences of an English query that are beside the point."""
    text = found.text
    if found.language != ENGLISH or found.known.rows is None:
        return ()
    asking: list[Span] = []
    beside: list[Span] = []
    for start, stop, ends in _sentences(text):
        asks = "?" in ends or ("!" not in ends and _ASKS.match(text[start:stop].lower()) is not None)
        (asking if asks else beside).append((start, stop))
    if not asking or not beside or len(asking) + len(beside) > SENTENCES_MAX:
        return ()
    question = " ".join(text[slice(*span)] for span in asking)
    if _REFERS.search(question.lower()):
        return ()
    asked = _content(found, asking)
    rows = np.unique(_rows(found, asked))
    if len(asked) < ASKS_MIN or not len(rows):
        return ()
    return tuple(span for span in beside if _is_beside(found, span, question, asked, rows))


def _is_beside(found: Findings, span: Span, question: str, asked: dict[str, Token], about: NDArray[np.integer]) -> bool:
    """Say whether a sentence tells what the asker does, without a name, a time asked for, or a word that belongs to it.

    A word belongs to the question where it stands in both, or where a memory joins it with the question's words.
    """
    said = _content(found, [span])
    if len(said) > WORDS_MAX or not said.keys().isdisjoint(asked):
        return False
    if any(_is_name(found, token) for token in said.values()):
        return False
    words = [token.word for token in found.tokens if inside(token, [span])]
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
    return {words.stem(t.word): t for t in found.tokens if inside(t, spans) and not words.is_stop(t.word)}


def _rows(found: Findings, stems: dict[str, Token]) -> NDArray[np.int32]:
    """Return the memories that hold each of some stems, one behind the other."""
    rows = found.known.rows
    held = [rows(stem) for stem in stems] if rows is not None else []
    return np.concatenate(held) if held else np.empty(0, dtype=np.int32)


def _is_name(found: Findings, token: Token) -> bool:
    """Say whether a word is one of an entity, has a digit or a sign, or has a capital and is no ordinary one."""
    entities = found.known.entities
    if entities is not None and entities.contains_word(token.word):
        return True
    return not token.word.isalpha() or (found.text[token.start].isupper() and not is_ordinary(token.word))


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the begin and end of each sentence with a letter or a digit, and the marks at its end.

    It goes on behind an abbreviation, and where a small letter follows that begins no question.
    """
    low, at = text.lower(), 0
    for end in _END.finditer(text):
        rest = text[end.end() : end.end() + 64]
        goes_on = end[0] != "\n" and _LOWER.match(rest) is not None and _ASKS.match(rest) is None
        if goes_on or (
            end[0] == "." and _SHORT.search(low, max(at, end.start() - SHORT_CHARS), end.start()) is not None
        ):
            continue
        yield from _sentence(text, at, end.end(), end[0])
        at = end.end()
    yield from _sentence(text, at, len(text), "")


def _sentence(text: str, start: int, stop: int, ends: str) -> Iterator[tuple[int, int, str]]:
    said = text[start:stop]
    if any(map(str.isalnum, said)):
        yield start + len(said) - len(said.lstrip()), stop, ends
