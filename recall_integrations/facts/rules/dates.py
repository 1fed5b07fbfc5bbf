"""Since when, or until when, what a clause says holds."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.patterns import regex

_CHARS = 70  # how far behind a value a date may stand
_TAIL = regex(
    r"(?P<key>\b(?:ever\ssince|since|as\sof|effective(?:\sfrom)?|starting(?:\sfrom|\sin|\son)?|beginning(?:\sin|\son)?|"
    r"up\suntil|until|till|from))\s(?P<date>[^,;.!?()]{2,30})",
    2,
)
_EVENT = regex(
    r"\b(?:(?:back\s)?(?P<key>in|on)\s(?:early\s|late\s|mid-?\s?|the\s(?:spring|summer|autumn|fall|winter)\sof\s)?"
    r"(?P<date>(?:[A-Z][a-z]{2,8}\b[^,;.!?()]{0,12}|(?:19|20)\d\d\b|the\s\d[^,;.!?()]{0,16}|\d{1,2}(?:st|nd|rd|th)?\s[A-Z][^,;.!?()]{2,14}"
    r"|\d{4}-\d\d-\d\d))"
    r"|(?P<plain>(?:last|next|this)\s[a-zA-Z]{3,10}|yesterday|today|tomorrow|(?:\d{1,2}|an?|one|two|three|four|five|six|seven|"
    r"eight|nine|ten|twelve)\s(?:days?|weeks?|months?|years?)\sago|in\s(?:\d{1,2}|an?|one|two|three|four|five|six)\s(?:days?|weeks?|months?|years?)))"
)
_STOP = regex(
    r"\s(?:and|but|because|so|which|who|while|when|i|we)\s|[;:!?]|\.(?:\s|$)|,\s(?:and|but|so|i|we|she|he)\s", 2
)
_BARE = regex(r"\d{1,2}\b|[A-Z]")


def told(text: str, start: int, end: int, at: datetime, *, event: bool) -> tuple[datetime | None, datetime | None]:
    """Since when and until when, as said behind a value; `None` = it is not said.

    Args:
        text: the whole.
        start: end of the value.
        end: of the sentence.
        at: when it was said.
        event: whether a bare "in May", "last year" is meant too: of verbs that tell when something began.
    """
    end = min(end, start + _CHARS)
    stop = _STOP.search(text, start, end)
    if stop:
        end = stop.start()
    if end - start < 5:
        return None, None
    match = _TAIL.search(text, start, end)
    if match:
        key = match["key"].casefold()
        found = _window(match["date"], at, since="since" in key)
        if key in ("until", "till", "up until"):
            return None, found
        return (None if found and "since" in key and found > at else found), None
    match = _EVENT.search(text, start, end) if event else None
    if match:
        return _window(match["plain"] or match["date"], at, since=False), None
    return None, None


def leading(text: str, start: int, end: int, at: datetime) -> datetime | None:
    """The date with which a sentence begins ("In March I moved …")."""
    match = _EVENT.search(text[start].lower() + text[start + 1 : end]) if 4 < end - start < 40 else None
    return _window(match["plain"] or match["date"], at, since=False) if match else None


def _window(phrase: str, at: datetime, *, since: bool) -> datetime | None:
    from recall_integrations.query.temporal import parse_window  # most texts tell no date

    phrase = phrase.strip()
    tried = (f"in {phrase}", f"on {phrase}", phrase) if _BARE.match(phrase) else (phrase,)
    for words in tried:
        window = parse_window(words, at)
        if window and window.start and window.confidence >= 0.5:
            return window.start
    return None
