"""Queries that name whose and what, and nothing else: "my flatmate's bank?", "bank of my flatmate these days", "remind
me, Sam's old badge number?".

Where no shape is read (`question`), the words are taken one by one: whose it is, the noun of a slot, and words that
only ask. What is left over must be nothing, or the value that a question for a time names.
"""

from __future__ import annotations

import re

from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.open_names import open_name, singular, slots_called
from recall_integrations.facts.rules import words as known
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.patterns import regex

CHARS_MAX, WORDS_MAX = 140, 20
SURE, OPEN_SURE = 0.75, 0.6
VALUE_MAX = 5  # words of a value that a question names

_DAY = regex(r"\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d")
_ASKING = frozenset(
    "what whats what's which who whos who's whom whose when whens when's is are am was were be been does did has have had"
    " could would will you i i'm im i've we us the a an of for at in to as by with it it's its this that that's those there now"
    " currently nowadays days moment again still please pls plz right so ok okay hey hi hello and or also btw quick"
    " question wondering wonder just actually current latest newest new present today anymore any one ones got else"
    " exactly mine if whether let's lemme recap anyway hmm um uh oh well though really exact recent most moment's these"
    " sorry thanks thx cheers quickly once more atm rn my our".split()
)
# Only before anything else is said.
_OPENING = frozenset(
    "tell remind know remember give show say me can do need find look up list lookup check what's name forgot forget i"
    " i've you could would all every each want ask how what which".split()
)
_NEVER = frozenset(
    "about say said says think thinks thought call calls ask asked asks mention mentioned don't dont not going on need"
    " should must where why because will can't cannot want wanted".split()
)
_PREVIOUS = frozenset("previous previously old former formerly before earlier prior ex last beforehand older".split())
_HISTORY = frozenset(
    "history list all every each ever far over time years timeline evolution evolve evolved evolving change changed"
    " changes changing different order chronological chronologically past through throughout versions succession sequence"
    " happened journey track progress record log development".split()
)
_LISTS = frozenset(
    "history list timeline evolution chronological chronologically versions succession sequence log".split()
)
_CHANGES = frozenset(
    "change changed changes changing evolve evolved evolution evolving different develop developed".split()
)
_ALL = frozenset("all every each ever far".split())
_THEN = frozenset("then back those".split())
_WHEN = frozenset(
    "when since long whens when's until till start started begin began become became switch switched".split()
)
_TIMES = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug"
    " sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer autumn fall winter week"
    " weeks month months year years day days ago last this early late mid beginning end middle start of in on during"
    " around about yesterday christmas easter quarter half first second third weekend time back th st nd rd".split()
)
_HEADS = frozenset("time place height width length weight spot slot bay shift shop start half bank tool app".split())
_EDGES = '.,;:!?…"“”()[]'


def loosely_asked(text: str, slots: Slots, *, windowed: bool) -> StateAsked | None:
    """What such a query asks; `None` = it is none.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether it names a time.
    """
    if len(text) > CHARS_MAX or "\n" in text.strip():
        return None
    tokens = [token.strip(_EDGES) for token in text.replace("’", "'").split()]
    tokens = [token for token in tokens if token.isalnum() or any(map(str.isalnum, token))]
    if not 1 < len(tokens) <= WORDS_MAX:
        return None
    found = _owner(tokens, slots)
    if found is None:
        return None
    subject, called, rest = found
    low = [token.casefold() for token in rest]
    if windowed:
        kept = [not (w in _TIMES or _DAY.fullmatch(w) is not None) for w in low]
        rest = [w for w, k in zip(rest, kept, strict=True) if k]
        low = [w.casefold() for w in rest]
    while low and low[0] in _OPENING:
        rest, low = rest[1:], low[1:]
    whole = [token.casefold() for token in tokens]
    if "about" in whole or not _NEVER.isdisjoint(low) or _tells(text, whole, low):
        return None
    mode = _mode(low, windowed=windowed, whole=whole)
    left = [word for word, small in zip(rest, low, strict=True) if not _says_nothing(small, mode)]
    value = ""
    if left:
        if mode not in (WHEN, NOW, PREVIOUS) or len(left) > VALUE_MAX or (mode == NOW and "still" not in low):
            return None
        telling = any(word[:1].isupper() or word[:1].isdigit() for word in left)
        brief = "since" in whole and len(left) <= 2
        if mode == WHEN and not telling and not brief and _BECAME.isdisjoint(whole):
            return None
        value = " ".join(left)
    names = slots_called(called, slots)
    if not names:
        return None
    sure = OPEN_SURE if names[0].startswith(OPEN) else SURE
    before = value if mode == PREVIOUS else ""
    return StateAsked(
        slots=names,
        subject=subject,
        mode=THEN if before else mode,
        value="" if before else value,
        before=before,
        confidence=sure,
    )


_BECAME = frozenset("become became change changed switch switched as add".split())


_DID = frozenset("did does do is are was were has have had".split())


def _tells(text: str, whole: list[str], low: list[str]) -> bool:
    """Whether it is no question of this kind: a statement, a wish, or a question for somebody who does something."""
    first = whole[0]
    if "on my " in text.casefold() or (first == "when" and whole[1] not in _DID):
        return True
    if first in ("remember", "note", "save", "know") and not {"is", "was", "are"}.isdisjoint(low):
        return True
    if first in ("how", "hows", "how's") and "long" not in whole and _CHANGES.isdisjoint(whole):
        return True
    if first in ("can", "should") or (first == "how" and not {"do", "can", "could", "to"}.isdisjoint(whole[1:3])):
        return "tell" not in whole and "give" not in whole and "remind" not in whole and "show" not in whole
    if not _CHANGES.isdisjoint(whole) and {"did", "has", "have", "had", "changed", "changes", "were"}.isdisjoint(whole):
        return True
    if first == "who" and not {"has", "have", "had"}.isdisjoint(whole[1:2]):
        return True
    asks = "?" in text or first in _ASKING - {"my", "our", "i", "the", "a"} or first in _OPENING - {"i"}
    return not asks and not {"is", "was", "are", "were", "has", "have"}.isdisjoint(low)


def _says_nothing(word: str, mode: str) -> bool:
    if word in _ASKING or (mode == HISTORY and (word in _HISTORY or word in _PREVIOUS)):
        return True
    if mode in (PREVIOUS, THEN) and (word in _PREVIOUS or word in _THEN or word == "used"):
        return True
    return mode == WHEN and (
        word in _WHEN or word in _CHANGES or word in ("first", "mention", "add", "added", "mentioned")
    )


def _mode(low: list[str], *, windowed: bool, whole: list[str]) -> str:
    words, low = set(whole), [word for word in whole if word not in ("so", "and", "hey", "hi", "btw", "ok")]
    if (
        words & _LISTS
        or (words & _CHANGES and "when" not in words)
        or (words & _ALL and words & {"had", "have", "has", "been", "far"})
    ):
        return HISTORY
    if low[:2] in (["when", "is"], ["when", "are"]):  # "when is my deadline?": a date is asked for
        return NOW
    if low[:1] in (["when"], ["since"]) or ("how" in words and "long" in words) or "since" in words:
        return WHEN
    if {"over", "years"} <= words or {"over", "time"} <= words:
        return HISTORY
    if words & _PREVIOUS and not windowed:
        return PREVIOUS
    if ("used" in words and "to" in words) or {"use", "to", "be"} <= words:
        return PREVIOUS
    if windowed or (words & {"then"} and words & {"back", "was", "were", "did", "had"}):
        return THEN
    return NOW


def _owner(tokens: list[str], slots: Slots) -> tuple[str, str, list[str]] | None:
    """Whose, of what, and the other words."""
    low = [token.casefold() for token in tokens]
    for i, word in enumerate(low):
        if word in ("my", "our") or (
            word.endswith("'s") and len(word) > 3 and word not in _ASKING and word not in _SHORT
        ):
            found = _owned(tokens, low, i, slots)
            if found is not None:
                return found
    for i, word in enumerate(low):  # "bank of my flatmate", "the deadline for the newsletter"
        if word in ("of", "for") and i + 1 < len(low):
            found = _of(tokens, low, i, slots)
            if found is not None:
                return found
    return _had(tokens, low, slots)


_SHORT = frozenset("it's that's he's she's let's there's here's who's what's where's how's when's one's".split())


def _owned(tokens: list[str], low: list[str], i: int, slots: Slots) -> tuple[str, str, list[str]] | None:
    """ "my sister's phone number": from the first word of the owner on."""
    if low[i] in ("my", "our"):
        end = next(
            (j for j in range(i + 1, min(i + 5, len(low))) if low[j].endswith("'s") and low[j] not in _SHORT), None
        )
        if end is not None:
            subject = " ".join(["my", *low[i + 1 : end], low[end][:-2]])
            return _noun(tokens, low, i, end + 1, subject, slots)
        return _noun(tokens, low, i, i + 1, ME, slots)
    start = i
    if low[max(0, i - 3) : i].count("the"):
        start = max(j for j in range(max(0, i - 3), i) if low[j] == "the")
    else:
        while start > 0 and tokens[start - 1][:1].isupper() and low[start - 1] not in _ASKING | _OPENING | _NEVER:
            start -= 1
        if low[i][:-2] in known.NOT_NAMES or low[i][:-2] in ("today", "tomorrow", "yesterday", "tonight"):
            return None
    subject = " ".join([*tokens[start:i], tokens[i][:-2]])
    if subject.casefold() in ("the user", "user"):
        subject = ME
    return _noun(tokens, low, start, i + 1, subject, slots)


def _noun(
    tokens: list[str], low: list[str], start: int, begin: int, subject: str, slots: Slots
) -> tuple[str, str, list[str]] | None:
    """The noun behind an owner: the longest that the schema has, else all words up to one that only asks."""
    skip = begin
    while skip < len(low) and low[skip] in ("new", "current", "latest", "own", "actual", *_PREVIOUS):
        skip += 1
    extra = low[begin:skip]
    for end in range(min(skip + 4, len(low)), skip, -1):
        phrase = " ".join(low[skip:end])
        if phrase in slots.of_noun or " ".join(singular(phrase.split())) in slots.of_noun:
            return subject, phrase, [*tokens[:start], *extra, *tokens[end:]]
    end = skip
    while (
        end < min(skip + 4, len(low))
        and low[end] not in _ASKING
        and low[end] not in _HISTORY
        and low[end] not in _PREVIOUS
    ):
        if (low[end] in _TIMES and low[end] not in _HEADS) or low[end] in _WHEN:
            break
        end += 1
    phrase = " ".join(low[skip:end])
    if not phrase or not _may_be_open(phrase):
        return None
    return subject, phrase, [*tokens[:start], *extra, *tokens[end:]]


def _may_be_open(phrase: str) -> bool:
    name = open_name(phrase)
    parts = name.split()
    if parts[:1] == ["next"]:
        return False
    if (
        not parts
        or name in known.OPEN_NOT
        or not known.RELATIONS.isdisjoint((parts[0], parts[-1]))
        or re.fullmatch(r"[\d.]+", name)
    ):
        return False
    if parts[-1] in known.OPEN_HEADS_NOT and not (
        len(parts) > 1 and (parts[-1] in known.ATTRIBUTE_HEADS or parts[-1] in _HEADS)
    ):
        return False
    return len(parts) > 1 or parts[0] in known.ATTRIBUTE_HEADS


def _of(tokens: list[str], low: list[str], i: int, slots: Slots) -> tuple[str, str, list[str]] | None:
    """ "bank of my flatmate": the noun before, whose behind."""
    begin = next((b for b in range(max(0, i - 4), i) if _is_noun(low[b:i], slots)), None)
    if begin is None:
        return None
    j = i + 1
    if low[j] in ("my", "our"):
        if j + 1 >= len(low):
            return None
        end = j + 2
        if low[j + 1] in known.RELATIONS:
            subject, noun = f"my {low[j + 1]}", " ".join(low[begin:i])
        else:
            subject, noun = ME, " ".join([low[j + 1], *low[begin:i]])
    elif low[j] == "the":
        end = next((e for e in range(j + 1, len(low)) if low[e] in _ASKING), len(low))
        if end == j + 1 or end - j > 4:
            return None
        subject, noun = " ".join(tokens[j:end]), " ".join(low[begin:i])
    elif low[j] in ("me", "us"):
        subject, noun, end = ME, " ".join(low[begin:i]), j + 1
    elif tokens[j][:1].isupper() and low[j] not in known.NOT_NAMES:
        end = j + 1
        while end < len(tokens) and tokens[end][:1].isupper():
            end += 1
        subject, noun = " ".join(tokens[j:end]), " ".join(low[begin:i])
    else:
        return None
    return subject, noun, [*tokens[:begin], *tokens[end:]]


def _had(tokens: list[str], low: list[str], slots: Slots) -> tuple[str, str, list[str]] | None:
    """ "which gym did Sam have in May", "what badge numbers have I had": a noun of the schema, and who had it."""
    if low[0] not in ("what", "which", "list", "show", "name", "all", "every"):
        return None
    if not {"have", "has", "had"} & set(low):
        return None
    for size in (4, 3, 2, 1):
        for begin in range(1, min(len(low) - size, 5)):
            if _is_noun(low[begin : begin + size], slots):
                rest = [*tokens[:begin], *tokens[begin + size :]]
                who = _who(rest)
                return None if who is None else (who[0], " ".join(low[begin : begin + size]), who[1])
    return None


def _who(rest: list[str]) -> tuple[str, list[str]] | None:
    low = [word.casefold() for word in rest]
    for i, word in enumerate(low):
        if word in ("i", "we"):
            return ME, [*rest[:i], *rest[i + 1 :]]
        if word == "my" and i + 1 < len(low) and low[i + 1] in known.RELATIONS:
            return f"my {low[i + 1]}", [*rest[:i], *rest[i + 2 :]]
        if word == "the" and i + 1 < len(low):
            end = next((e for e in range(i + 1, len(low)) if low[e] in _ASKING), len(low))
            if 0 < end - i - 1 <= 3:
                return " ".join(rest[i:end]), [*rest[:i], *rest[end:]]
    for i, word in enumerate(rest):
        if i and word[:1].isupper() and low[i] not in known.NOT_NAMES and low[i] not in _ASKING:
            end = i + 1
            while end < len(rest) and rest[end][:1].isupper():
                end += 1
            return " ".join(rest[i:end]), [*rest[:i], *rest[end:]]
    return None


def _is_noun(words: list[str], slots: Slots) -> bool:
    if not words or words[0] in _ASKING:
        return False
    phrase = " ".join(words)
    if phrase in slots.of_noun or " ".join(singular(words)) in slots.of_noun:
        return True
    last = singular(words)[-1]
    return (
        len(words) > 1
        and (last in known.ATTRIBUTE_HEADS or last in _HEADS)
        and all(w not in _ASKING and w.isalpha() for w in words)
    )
