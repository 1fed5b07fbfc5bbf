"""From a subject to its verb: tense, denial and the place behind it."""

from __future__ import annotations

from recall_integrations.facts.rules.verbs import BASE, ING, PARTICIPLE, PAST, THIRD
from recall_integrations.patterns import regex
from recall_integrations.records import record

PRESENT, PERFECT, PROGRESS, BEFORE, FUTURE, BEFORE_PROGRESS = (
    "present",
    "perfect",
    "progress",
    "before",
    "future",
    "was_ing",
)
USED = "used"
BE = "be"

_NEXT = regex(r"[ \t]{1,3}([\w'’-]{1,24})")
_ADVERBS = frozenset(
    "currently now still just recently finally also actually really usually mostly mainly only both already officially"
    " originally personally always all even generally typically normally primarily presently temporarily formerly"
    " previously lately nowadays strictly fully totally absolutely definitely happily proudly technically basically"
    " simply truly completely then since both kinda once long".split()
)
_BE = {"am": "now", "is": "now", "are": "now", "'s": "now", "'m": "now", "'re": "now", "im": "now"}
_BE_PAST = frozenset(("was", "were"))
_DENIED = {
    "don't": "do",
    "doesn't": "do",
    "dont": "do",
    "doesnt": "do",
    "isn't": BE,
    "aren't": BE,
    "ain't": BE,
    "isnt": BE,
}
CUES = frozenset(
    (
        *_ADVERBS,
        *_BE,
        *_BE_PAST,
        *_DENIED,
        "don’t",
        "doesn’t",
        "isn’t",
        "aren’t",
        "used",
        "will",
        "have",
        "has",
        "no",
        "not",
    )
)


@record(frozen=True, slots=True, kw_only=True)
class Predicate:
    """What is said of a subject, up to the verb.

    Args:
        verb: as it stands there, in lower case; `BE` for all forms of to be.
        tense: of it.
        denied: whether it is denied.
        ended: whether something is said not to be so any more ("no longer", "any more").
        start: of the verb.
        end: of the verb.
    """

    verb: str
    tense: str
    denied: bool
    ended: bool
    start: int
    end: int


def predicate(text: str, place: int, end: int, contracted: str, tenses: dict[str, set[str]]) -> Predicate | None:
    """The predicate that begins here; `None` = none that says what is.

    Args:
        text: the whole.
        place: behind the subject.
        end: of the sentence.
        contracted: what hangs on the subject: "m" of "I'm", "ve", "s"; else empty.
        tenses: what each known form of a verb may be.
    """
    if contracted in ("d",):
        return None
    state = {"m": BE, "re": BE, "s": BE, "ve": "have", "ll": "will"}.get(contracted, "")
    denied = ended = False
    start = place
    for _ in range(7):
        match = _NEXT.match(text, place, end)
        word = match[1].casefold().replace("’", "'") if match else ""
        if match and (word in _ADVERBS or word in {"not", "never", "no"}):
            if word == "no":
                longer = _NEXT.match(text, match.end(), end)
                if not longer or longer[1].casefold() not in ("longer", "more"):
                    break
                denied = ended = True
                place = longer.end()
                continue
            denied = denied or word in ("not", "never")
            place = match.end()
            continue
        if match and word in _DENIED and not state:
            denied, state, place = True, _DENIED[word], match.end()
            continue
        if not match:
            break
        step = _step(word, state, text, match.end(), end)
        if step is None:
            break
        if step == "":  # the verb
            tense = BEFORE if word == "quit" and not state else _tense(state, tenses.get(word, ()))
            if tense is None:
                break
            return Predicate(verb=word, tense=tense, denied=denied, ended=ended, start=match.start(1), end=match.end())
        state, place, start = step, match.end(), match.start(1)
    return _being(state, denied, ended, start, place)


def _step(word: str, state: str, text: str, place: int, end: int) -> str | None:
    """The state after a word; empty = it is the verb; `None` = what follows is no verb."""
    if word in _BE and state in ("", "do"):
        return BE
    if word in _BE_PAST and state == "":
        return "was"
    if word == "be" and state in ("will", "used to", "will to"):
        return "will be" if state.startswith("will") else "used to be"
    if word == "been" and state in ("have", BE):
        return "have been"
    if word in ("will",) and state == "":
        return "will"
    if word == "used" and state == "" and text[place : min(place + 4, end)].casefold() == " to ":
        return "used"
    if word == "to" and state in ("used", "ahead"):
        return "used to" if state == "used" else "will to"
    if state == BE and word in ("going", "about", "planning") and text[place : min(place + 4, end)] == " to ":
        return "ahead"
    if state == BE and word == "gonna":
        return "will to"
    if word in ("have", "has") and state == "" and _perfect(text, place, end):
        return "have"
    return ""


def _perfect(text: str, place: int, end: int) -> bool:
    """Whether "have" helps another verb here."""
    for _ in range(2):
        match = _NEXT.match(text, place, end)
        if not match:
            return False
        word = match[1].casefold()
        if word in ("just", "recently", "now", "finally", "also", "already", "always", "officially", "since"):
            place = match.end()
            continue
        return word.endswith(("ed", "ft", "un", "wn", "en", "ght")) or word in _PARTICIPLES
    return False


_PARTICIPLES = frozenset(
    "got gone become taken moved left quit begun come bought sold met put grown switched made".split()
)


def _tense(state: str, forms: object) -> str | None:
    known = forms or ()
    if state == "":
        if PAST in known and BASE not in known:  # type: ignore[operator]
            return BEFORE
        if BASE in known or THIRD in known:  # type: ignore[operator]
            return PRESENT
        return None
    if state == "do":
        return PRESENT if BASE in known else None  # type: ignore[operator]
    if state in ("used to", "will", "will to"):
        return (USED if state == "used to" else FUTURE) if BASE in known else None  # type: ignore[operator]
    if state == "have":
        return PERFECT if PARTICIPLE in known else None  # type: ignore[operator]
    if state in (BE, "have been", "was", "will be") and ING in known:  # type: ignore[operator]
        return {BE: PROGRESS, "have been": PROGRESS, "was": BEFORE_PROGRESS, "will be": FUTURE}[state]
    return None


_BEING = {
    BE: PRESENT,
    "was": BEFORE,
    "have been": PERFECT,
    "used to be": USED,
    "will be": FUTURE,
}


def _being(state: str, denied: bool, ended: bool, start: int, place: int) -> Predicate | None:
    tense = _BEING.get(state)
    if tense is None:
        return None
    return Predicate(verb=BE, tense=tense, denied=denied, ended=ended, start=start, end=place)
