"""What of a query may be a question about a state: its last sentence, without how it is asked; most have none."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.asking_verbs import verbs_of
from recall_integrations.facts.open_names import plural_of
from recall_integrations.facts.slots import Slots
from recall_integrations.patterns import regex

LENGTH_MAX = 300  # characters; a longer query asks for no state
WORDS_MAX = 24  # of the sentence that asks
BEFORE_MAX = 120  # characters of what stands before it
ASKED_GET, ASKED_KNOW = 1, 2  # "give me …", "tell me …"


class Sentence(NamedTuple):
    """The sentence that may ask.

    Args:
        words: of it.
        low: the same in lower case.
        asked: whether what stood before says that it asks: `ASKED_KNOW`, `ASKED_GET`, or 0.
    """

    words: list[str]
    low: list[str]
    asked: int


_OPENING = regex(
    r"(?:hey|hi|hello|okay|ok|so|and|well|um|uh|sorry|oh|please|but|also|btw|by the way|quick question|just|"
    r"(?:can|could|would|will) you|"
    r"(?:please )?(?:(?P<know>(?:tell|remind) me(?: again)?(?: of)?|any idea|what about|how about|"
    r"do you (?:happen to |still )?(?:know|remember|recall)|i(?: have|'ve)? (?:forgot|forgotten)|"
    r"i (?:can't|cannot|don't) (?:remember|recall)|i(?:'d| would) like to know|i want to know|i wonder|"
    r"i'm wondering|i need to know)|"
    r"(?P<get>(?:give|show|send) me|look up|check|find|let me know|do you have|i need)))"
    r"[,:!.]* +"
)
_OPENS = frozenset(
    "hey hi hello okay ok so and well um uh sorry oh please but also btw by quick just can could would "
    "will tell remind "
    "any what how do i i've i'd i'm give show send look check find let".split()
)
_STARTS = _OPENS | frozenset(
    "whats what's which who whom whos who's where wheres where's when when's how's since for from in at "
    "on during as back "
    "before after while until am is are was were does did have has my our the list all history if whether between last "
    "prior whose".split()
)
_PLAIN = (("’", "'"), ("‘", "'"), ("(", " "), (")", " "), ("“", " "), ("”", " "), ('"', " "), ("…", " "))
_SHORT = {
    "what's": "what is",
    "whats": "what is",
    "what're": "what are",
    "who's": "who is",
    "whos": "who is",
    "where's": "where is",
    "wheres": "where is",
    "when's": "when is",
    "how's": "how is",
    "i've": "i have",
    "i'm": "i am",
}
_SHORT_ONES = frozenset(_SHORT)
_EDGES = "?!. \t\r\n\"'”)"


def sentence_of(text: str, slots: Slots) -> Sentence | None:
    """The sentence of a query that may ask for a state; `None` = there is none.

    Args:
        text: the query.
        slots: the schema, whose nouns are cues.
    """
    if len(text) > LENGTH_MAX:
        return None
    if not text.isascii() or "(" in text or '"' in text:
        for mark, plain in _PLAIN:
            text = text.replace(mark, plain)
    text = text.strip().rstrip(_EDGES)
    cut = max(text.rfind(". "), text.rfind("? "), text.rfind("! "), text.rfind("\n"))
    if cut > BEFORE_MAX:
        return None
    if cut > 0:
        text = text[cut + 1 :].strip()
    low = text.lower().split()
    if not 1 < len(low) <= WORDS_MAX or not _cued(text, low, slots):
        return None
    asked = 0
    if low[0].rstrip(",:!.") in _OPENS:
        text, asked = _unopened(text)
        low = text.lower().split()
    words = text.split()
    if not _SHORT_ONES.isdisjoint(low):
        words = " ".join([_SHORT.get(word.lower(), word) for word in words]).split()
        low = [word.lower() for word in words]
    if asked and low[:1] in (["if"], ["whether"]):
        words, low = words[1:], low[1:]
    return Sentence(words, low, asked) if len(low) > 1 and len(words) == len(low) else None


def _cued(text: str, low: list[str], slots: Slots) -> bool:
    first = low[0].rstrip(",:!.")
    if first not in _STARTS and "'s" not in first and "'s" not in "".join(low[1:3]):
        return False
    if first in ("when", "when's") or (first == "what" and low[1] in ("time", "day", "date")):
        return True  # "what time is the standup"
    if "'" in text and ("'s " in text or "s' " in text or "'S " in text):
        return True
    found = set(low)
    return not found.isdisjoint(_cues(slots)) or (len(low) <= 9 and not found.isdisjoint(words_of.LAST_CUES))


@lru_cache(maxsize=16)
def _cues(slots: Slots) -> frozenset[str]:
    """Words without one of which a query asks for no state."""
    cues = {*words_of.CUES, *verbs_of(slots).cues}
    for noun in slots.of_noun:
        last = noun.split()[-1]
        cues.update((last, plural_of(last)))
    return frozenset(cues)


def _unopened(text: str) -> tuple[str, int]:
    """A sentence without greetings and the like, and whether they say that it asks."""
    asked = 0
    for _ in range(5):
        match = _OPENING.match(text.lower()) if text.isascii() else None
        if match is None:
            break
        asked = max(asked, ASKED_KNOW if match["know"] else ASKED_GET if match["get"] else 0)
        text = text[match.end() :]
    return text, asked
