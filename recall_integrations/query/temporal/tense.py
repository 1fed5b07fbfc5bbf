"""Read the tense of the verbs around a date: does it lie behind or ahead? In questions, and in statements."""

from __future__ import annotations

import functools

from recall_integrations.languages import english
from recall_integrations.patterns import regex

PAST, OPEN, PRESENT, FUTURE = -1, 0, 1, 2  # tense of the verbs of a sentence
NEAR = 3  # something was changed from a date on: the nearest such date

_EN = english("tense")
_BEEN: str = _EN["been"]
_ADJECTIVES: str = _EN["adjectives"]
# Of those around a phrase the nearest says.
_TENSE = regex(
    r"\b(?:(?P<future>will|won['’]t|shall|gonna|going to|(?:plan|plans|planning|hope|hoping|want|wants|need|needs|have|"
    r"has|aim|supposed|about|would like|scheduled|due|booked|expected|intend|intends) (?:to|for|on|by|in)|must|gotta|"
    r"wanna|can['’]t wait|looking forward|upcoming|coming up|deadline|due|scheduled|let['’]s|"
    r"appointment|reservation|booking|reminder|"
    r"(?:is|are|am|[a-z]+['’](?:s|re|m)) (?:\w+ )?(?!going\b)\w{2,}ing|would|could|until|till|by)"
    rf"|(?P<no>{_ADJECTIVES})"
    rf"|(?P<past>{_BEEN}|sat|\w{{2,}}(?<!ee)ed)"
    r"|(?P<present>is|isn['’]t|are|aren['’]t|am|has|have|do|does|starts?|begins?|ends?|leaves?|opens?|closes?|arrives?|"
    r"takes place|happens|[a-z]+['’](?:s|re|m|ve)|remind|call|meet|visit|see you))\b"
    r"|(?P<will>['’]ll)\b"
)
_CHANGED: str = _EN["changed"]
_PUT_TO = regex(rf"\b(?:{_CHANGED})\s(?:\w+\s){{0,3}}(?:to|until|till)\s\Z")
# "Raised to 1,545 from April", "effective 1 June", "new hours from Monday".
_FROM_ON = regex(
    rf"(?:\b(?:{_CHANGED}|new|now)\s(?:[^.;]{{0,40}}\s)?|\d\S*\s)from\s(?:the\s)?\Z"
    r"|\b(?:effective|as (?:of|from)|starting|beginning|commencing)(?:\s(?:from|on|in|with))?\s(?:the\s)?\Z"
)
_WORD_BEFORE = regex(r"(?:from|in|on)\s")  # that some phrases begin with


# Of a question the last verb says, and where that is a present one, or none, what goes with it.
_WORD = regex(r"[^\W\d_]+(?:['’][a-z]+)?")
_WILL = frozenset("will won't shall gonna must should ought gotta wanna".split())
_WITH_TO = frozenset("have has need needs want wants hope hopes intend intends aim supposed got about going".split())
_IS = frozenset("am is are isn't aren't".split())
_PRESENT = _IS | frozenset("do does don't doesn't can could might".split())
_PLANNED = frozenset(_EN["planned"].split())
_FOR = frozenset("for on at in this next tomorrow".split())
_NO_VERB = frozenset("during evening morning spring being king thing something anything nothing everything".split())
_PAST = frozenset(_BEEN.replace("['’]", "'").split("|"))
_NO_PAST = frozenset(_ADJECTIVES.split("|"))
_SUBJECT_WORDS = 3  # between "is" and the verb of "what is my sister doing"
_SEEK = frozenset("know see find look check hear read search recall remember".split())
_BEFORE_IS = frozenset("who what which when where how that there it he she".split())
_CLIPPED = {word + "s": word + "'s" for word in ("who", "what", "where", "when", "that")}
# Beside these a verb in the present says nothing of the date: it is that of a record, or of a habit.
_RECORD = frozenset(_EN["record"].split())
_HABIT = frozenset("usually regularly often always typically normally ever".split())
_STOP = regex(r"[.?!;]\s|\n")
_NEXT_SENTENCE = 1_000  # added to the distance of a verb in another sentence
_BEHIND = 2  # factor of the distance of a verb behind the date


@functools.lru_cache(maxsize=64)
def _verbs(text: str) -> tuple[tuple[tuple[int, int, int], ...], bool, bool]:
    """Return the verbs of a question, as place and tense; whether it names a plan; whether it names a record."""
    low = text.lower().replace("’", "'")
    found = [(match.start(), match.end(), match[0]) for match in _WORD.finditer(low)]
    words = [_CLIPPED.get(word, word) for _, _, word in found]
    said, verbs, planned = OPEN, [], False
    for i, (start, end, _) in enumerate(found):
        if _is_planned(i, words, said):
            planned = True
            continue
        tense = _tense_of(i, words, said)
        if tense is not None:
            said = tense
            verbs.append((start, end, tense))
    habit = not _HABIT.isdisjoint(words)
    return tuple(verbs), planned and not habit, habit or not _RECORD.isdisjoint(words)


def asked_tense(text: str, start: int | None = None, end: int | None = None) -> int:
    """Return the tense in which a question asks of a date at a place, by default the end of the text.

    The nearest verb decides ("What did I say I will do on Friday?"), and beside a verb in the present, or none, a
    planned thing does ("what is due", "dentist appointment Friday"). In the `FUTURE` "March" is the coming one.
    """
    verbs, planned, record = _verbs(text)
    start, end = len(text) if start is None else start, len(text) if end is None else end
    found, best = OPEN, len(text) * 10
    for first, last, said in verbs:
        if first >= start and last <= end:
            continue
        far = start - last if last <= start else _BEHIND * (first - end) + 8
        if far < best and far < _NEXT_SENTENCE and _STOP.search(text, min(last, end), max(first, start)):
            far += _NEXT_SENTENCE
        if far < best:
            best, found = far, said
    if planned and found != PAST:
        return FUTURE
    return OPEN if found == PRESENT and record else found


def _is_planned(i: int, words: list[str], said: int) -> bool:
    """Say whether a word names a plan: "due", "anything booked"; not "due to", "he booked", "a plan that"."""
    word = words[i]
    after = words[i + 1] if i + 1 < len(words) else ""
    if word not in _PLANNED or after == "to" or (word == "plan" and after not in _FOR):
        return False
    return not word.endswith("ed") or (after != "by" and (said != OPEN or i < 2))


def _tense_of(i: int, words: list[str], said: int) -> int | None:
    """Return the tense of a word; `None` if it is no verb, or one whose tense has been `said`."""
    word, before, after = words[i], words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
    stem, _, short = word.partition("'")
    if word in _WILL or short == "ll":
        return FUTURE
    if after == "to" and word in _WITH_TO and words[i + 2 : i + 3] and words[i + 2] not in _SEEK:
        return PAST if word == "going" and not {"was", "were"}.isdisjoint(words[max(0, i - 2) : i]) else FUTURE
    if word == "left" and after in ("until", "till", "before"):  # "how many days are left"
        return FUTURE
    if before != "be" and (word in _PAST or (word.endswith("ed") and word not in _NO_PAST and word[-3:] != "eed")):
        return PAST
    if word in _IS or short in ("re", "m") or (short == "s" and stem in _BEFORE_IS):
        behind = words[i + 1 : i + 2 + _SUBJECT_WORDS]
        verbs = any(w.endswith("ing") and len(w) > 4 and w not in _NO_VERB for w in behind)
        return FUTURE if verbs else PRESENT
    if said and word in ("do", "does"):  # "what will I do"
        return None
    verb = before == "who" and word[-1:] == "s" and word[-2:] != "ss"  # "who babysits on Friday"
    return PRESENT if verb or word in _PRESENT else None


def tense(sentence: str, start: int, end: int) -> int:
    """Return the tense of a sentence at the place of a phrase, by the nearest verb."""
    if _PUT_TO.search(sentence, max(0, start - 60), start):  # "the release slipped to March 17": it is still to come
        return FUTURE
    led = _WORD_BEFORE.match(sentence, start, end)
    head = sentence[max(0, start - 80) : led.end() if led else start]
    if _FROM_ON.search(head):
        return NEAR
    best, found = 10_000, OPEN
    for match in _TENSE.finditer(sentence):
        if match["no"] is not None:
            continue
        far = start - match.end() if match.end() <= start else 2 * max(0, match.start() - end) + 8
        if match.start() >= start and match.end() <= end:
            continue
        if far < best:
            best = far
            found = PAST if match["past"] else PRESENT if match["present"] else FUTURE
    return PAST if found == OPEN and head.endswith("from ") else found  # "photos from Monday"
