"""Whether a text is read loosely at all: most are turned away by a look at their words."""

from __future__ import annotations

from recall_integrations.facts.cue_words import Cues
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.patterns import regex

CHARS = 200  # of a text that are read so: who leaves a note is brief
SENTENCE_MAX, WORDS_MAX, UNKNOWN_MAX = 150, 24, 4
WORDS_OF_KEY = 6  # of what stands before a question mark that is a colon
PLAIN_MAX = 14  # words of a sentence without a digit
HARD = known.POISON - known.MILD
_CHATTY = frozenset(
    "good great nice awesome amazing cool fun glad wonderful beautiful lovely fantastic excited exciting proud tired"
    " interesting inspiring gorgeous cute sweet incredible stunning delicious perfect funny hard tough crazy sad lot lots"
    " wow haha yeah something anything some photo shares awful lately's"
    " agreed definitely truly absolutely totally such pretty quite enjoyed loved better".split()
)
_YOU = frozenset("you your you're you've they them their everyone".split())
_TASTE = frozenset("favourite favorite fave fav hobby pastime".split())
_STOPS = ((". ", "\x01 "), ("! ", "\x01 "), ("? ", "\x01 "), ("\n", "\x01"), ("; ", "\x01 "))
_MARKS = str.maketrans(dict.fromkeys(':,;()"=–—|?!.…*/', " "))
_DIGIT = regex(r"\d|@")
_OWN = frozenset(("my", "our", "mine"))
_SIGN = regex(r"[:=(→]|->|\s[-–—]\s|(?<=\S )(?:[A-HJ-Z]|I\w)")
_LISTED_WORDS = (
    words.DIETS | words.EDITORS | words.INSTRUMENTS | words.SPORTS | words.MARITAL | words.LANGUAGES | words.COLOURS
)


def parts(low: str) -> list[str]:
    """Sentences, as far as plain signs tell: each ends one sign before the next begins."""
    if "r. " in low or "s. " in low:
        for short in ("dr. ", "mr. ", "ms. ", "mrs. "):
            low = low.replace(short, f"{short[:-2]}_ ")
    for stop, sign in _STOPS:
        low = low.replace(stop, sign)
    return low.split("\x01")


def may_say(low: str, part: str, listed: list[str], cues: Cues) -> bool:
    """Whether a sentence with a cue has few unknown words, and what a value has: most sentences of a chat have not.

    Args:
        low: the sentence in lower case.
        part: as it is written.
        listed: its words.
        cues: of the schema.
    """
    if part[0] == "[" or part[:2] == " [":
        return False
    digits = _DIGIT.search(low) is not None
    if not digits and (len(listed) > PLAIN_MAX or not _CHATTY.isdisjoint(listed)):  # before the marks are taken away
        return False
    found = low.translate(_MARKS).split()
    owned = not _OWN.isdisjoint(found) or "'s " in low
    if not digits and (not _CHATTY.isdisjoint(found) or not (owned or _YOU.isdisjoint(found))):
        return False
    if len(set(found).difference(cues.known)) > UNKNOWN_MAX + 2 * digits + owned:
        return False
    return (
        digits
        or _SIGN.search(part) is not None
        or (len(listed) <= 9 and (listed[0] not in cues.known or not _LISTED_WORDS.isdisjoint(found)))
        or not _TASTE.isdisjoint(found)
    )
