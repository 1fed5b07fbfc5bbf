"""Find the sentences of a query that ask nothing, beside one that asks.

    "I'm on the phone right now. What is the wifi password?"   ─▶ the first sentence
    "Anna called. What does she like?"                         ─▶ none: it says who "she" is

An agent passes on what its user wrote, and that often begins with what the user is doing. No time is read from such a
sentence, it is not embedded, and its words count for less (`lexicon.ASIDE`): they may still tell which of two phone
numbers is meant. First hits of 610 questions over small stores, behind five such sentences: 379 to 424 with them read
as a part of the question, 428 to 453 so, 478 without them (`recall bench everyday --asked-as busy`).
"""

from __future__ import annotations

from collections.abc import Iterator

from recall_integrations.languages.tables import ENGLISH
from recall_integrations.patterns import regex
from recall_integrations.query.spans import Span
from recall_integrations.text import content

ASKS_MIN = 2  # content words of the question, from which it can stand alone
WORDS_MAX = 7  # content words of another sentence: a longer one describes what is asked about
SENTENCES_MAX = 16  # of a query; more are a text
_END = regex(r"[.!?]+(?=[\s\"'”’)\]]|$)|\n")
_ASKS = regex(
    r"\W*(?:(?:and|so|but|ok|okay|now|then|also) ){0,2}(?:(?:at|by|for|from|in|of|on|since|to|until|with) )?"
    r"(?:what|which|who|whom|whose|when|where|why|how"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|am)(?:['’]?s|['’]re|n['’]t)?\b"
)
# What stands in a question for something that another sentence says.
_REFERS = regex(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|ones?|there|same|both)\b"
)


def asides(text: str, language: str) -> tuple[Span, ...]:
    """Return the spans of the sentences of an English query that ask nothing, where another one asks.

    None where the question refers to them, says little by itself ("My sister eats no meat. Any idea?"), or where one of
    them is long.
    """
    if language != ENGLISH:
        return ()
    asking: list[str] = []
    beside: list[Span] = []
    for start, stop, ends in _sentences(text):
        sentence = text[start:stop].lower()
        if "?" in ends or _ASKS.match(sentence):
            asking.append(sentence)
        else:
            beside.append((start, stop))
    asked = " ".join(asking)
    if not asking or not beside or len(asking) + len(beside) > SENTENCES_MAX or _REFERS.search(asked):
        return ()
    alone = len(content(asked, ENGLISH)) >= ASKS_MIN
    short = alone and all(len(content(text[slice(*span)], ENGLISH)) <= WORDS_MAX for span in beside)
    return tuple(beside) if short else ()


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the begin and end of each sentence with a letter or a digit, and the marks at its end."""
    at = 0
    for end in _END.finditer(text):
        if any(map(str.isalnum, text[at : end.end()])):
            yield at, end.end(), end[0]
        at = end.end()
    if any(map(str.isalnum, text[at:])):
        yield at, len(text), ""
