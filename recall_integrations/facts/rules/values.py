"""Where a value ends, and whether it looks like a value of its slot."""

from __future__ import annotations

from collections.abc import Callable

from recall_integrations.facts.rules import words
from recall_integrations.patterns import regex

Value = tuple[str, int, int]  # the text, and its place
CHARS_MAX = 80

_ARTICLE = regex(r"(?:an?|the|some|my|our|your|his|her|their|its)\s+", 2)
_FILLER = regex(
    r"(?:(?:now|currently|actually|still|just|called|named|simply|basically|definitely|probably|officially|usually|"
    r"recently|already|again|always|mostly|mainly|also|finally|both)\b[\s,:]*+){1,3}",
    2,
)
_CUT = regex(
    r",(?!\d{3}(?!\d))|[;!?\n\"“”()\[\]…→]|\s?[-=]>|\.(?=\s|$|\.)|\s+[-–—]+\s|[–—]|[:](?=\s)|\s+(?:and|but|because|cause|cuz|so|since|until|till|when|"
    r"while|where|which|who|that|if|though|although|as|after|before|from|with|for|now|long\sago|any\slonger|these\sdays|nowadays|at\sthe\s"
    r"moment|currently|right\snow|any\s?more|instead|rather|not|in\scase|btw|too|also|again|then|lol|thanks|already|"
    r"today|earlier|lately|itself|early|yesterday|tonight|tomorrow|online|together|myself|ever|by\sthe\sway|starting|effective|however|except|or|than|over|at\spresent|once|every|last|next|this|"
    r"i|i['’]m|we|he|she|they|it|it['’]s|is|was|are|were|has|have)\b|\s+&\s|\s[^\w\s]*[\U0001f300-\U0001faff]",
    2,
)
_OF_TIME = regex(r"\s+(?:in|on|at|to|by|during|around|about)\b", 2)
_CAP = r"[A-ZÀ-ÖØ-Þ][\w'’.&/+-]{0,30}(?<![.'’-])"
_NAMED = regex(
    rf"{_CAP}(?:\s(?:(?:of|de|la|le|du|van|von|der|and|the|upon|am|&|in)\s){{0,2}}(?:{_CAP}|\d{{1,4}}\b)){{0,4}}"
)
_PERSON = regex(
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor|Doctor|Aunt|Uncle|Miss|Sir|Coach|Father|Sister)\.?\s)?"
    rf"{_CAP}(?:\s(?:(?:de|la|van|von|der|O['’])\s?){{0,2}}{_CAP}){{0,2}}"
)
_TITLE = regex(r"(?:Dr|Mr|Mrs|Ms|Prof)\.?\s")
_PLACE = regex(
    rf"(?:the\s)?{_CAP}(?:\s(?:(?:of|de|la|upon|am|the|on)\s){{0,2}}{_CAP}){{0,3}}(?:,\s{_CAP}(?:\s{_CAP})?(?=[.!;]|$|\s(?:and|now)))?"
)
_PHONE = regex(r"\+?\(?\d[\d\s().-]{3,18}\d(?!\w)")
_EMAIL = regex(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_CODE = regex(r"[\"'“‘]?(?P<v>[^\s\"“”'’,;]{1,60}?)[\"'”’]?(?=[\s,;]|[.!?]+(?:\s|$)|$)")
_ADDRESS = regex(
    r"(?:(?:apartment|apt|flat|unit|suite|no)\.?\s)?\d{1,6}\w?[-/\d]{0,6},?\s[A-Z]?[\w'’.-]{1,30}(?:\s(?!and\b|but\b|now\b|since\b|"
    r"so\b|with\b|for\b|->|=>|→|to\b|from\b|until\b|because\b|in\b|as\b|starting\b|if\b|not\b|which\b|these\b|any\s?more\b|any\slonger\b|is\b|was\b|"
    r"before\b|instead\b|anyway\b|long\sago\b)[\w'’#/-]{1,30}){0,5}"
    r"(?:,\s(?-i:[A-Z][\w'’-]{0,30}|\d[\w-]{1,8})(?:\s(?-i:[A-Z0-9][\w'’-]{0,30})){0,3}){0,4}",
    2,
)
_STREET = regex(
    r"[A-Z][\w'’-]{1,30}(?:\s[A-Z][\w'’-]{1,30}){0,3}\s\d{1,5}\w?\b(?:,\s[A-Z0-9][\w'’-]{0,30}(?:\s[A-Z0-9][\w'’-]{0,30}){0,2}){0,3}"
)
MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DATE = regex(
    rf"(?:the\s)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?(?:(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}\b(?:,?\s\d{{4}})?"
    rf"|{MONTH}\.?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s\d{{4}})?|{MONTH}\b(?:,?\s\d{{4}})?|\d{{4}}-\d{{2}}-\d{{2}}"
    r"|\d{1,2}[./-]\d{1,2}(?:[./-]\d{2,4})?)|(?:next\s)?(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    2,
)
_BLOOD = regex(r"(?:type\s)?(?:AB|A|B|O)(?:[+-]|[\s-]?(?:positive|negative|pos|neg)\b)?(?!\w)", 2)
_DOSE = regex(
    r"(?:\d+(?:\.\d+)?\s?(?:mg|mcg|ml|iu|g|units)\b(?:\sof)?\s(?!(?:from|per|every|each|daily|once|twice|now|and|for|the|since|until|instead|today|tomorrow|tonight|starting|with|again|before|after)\b)[\w-]{3,30}|[\w-]{3,30}\s\d+(?:\.\d+)?\s?(?:mg|mcg|ml|iu)\b)",
    2,
)
_DRUG = regex(
    r"[A-Za-z]{3,20}(?:in|ine|ol|ide|ate|one|am|pril|tan|statin|pam|mab|zole|cillin|fen|formin|xin|line|min|fin|lam|profen)\b"
)
_WORD = regex(r"[\w'’&/+#-]+")
_BAD_START = frozenset(
    "that when how what where why who whom whether if to it he she they we i you there this these those very so too such"
    " really pretty quite super like about because and but or as always never not just all more most less much many"
    " being getting going having doing making trying looking working so's it's he's she's i'm you're they're we're"
    " kinda kind sort almost nearly only even way one than with from for by up off out on in at done gone back here".split()
)


def stripped(text: str, start: int, end: int) -> Value | None:
    """What is left of a stretch without articles, quotes and punctuation around it; `None` = nothing, or too long."""
    while start < end and text[start] in " \t\"'“”‘’*_`:-–—":
        start += 1
    match = _ARTICLE.match(text, start, end)
    if match and match.end() < end:
        start = match.end()
    while start < end and text[start] in " \t\"'“”‘’*_`":
        start += 1
    while end > start and text[end - 1] in " \t\r\"'“”‘’*_`.,;:!?":
        end -= 1
    if start >= end or end - start > CHARS_MAX:
        return None
    return text[start:end], start, end


def skipped(text: str, start: int, end: int) -> int:
    """Where a value may begin: after blanks, a colon and words that say nothing of it."""
    while start < end and text[start] in " \t:=":
        start += 1
    match = _FILLER.match(text, start, end)
    return match.end() if match and match.end() < end else start


def phrase(text: str, start: int, end: int, *, words_max: int = 6) -> Value | None:
    """A noun phrase from here to where its clause ends; `None` = what stands here is none."""
    if start < end and text[start] in '"“':
        return _quoted(text, start, end)
    cut = _CUT.search(text, start, min(end, start + CHARS_MAX + 20))
    stop = cut.start() if cut else end
    if not cut and end - start > CHARS_MAX:
        return None
    match = _OF_TIME.search(text, start, stop)
    if match:
        stop = match.start()
    found = stripped(text, start, stop)
    if found is None:
        return None
    parts = found[0].split()
    if len(parts) > words_max or parts[0].casefold() in _BAD_START or parts[-1].casefold() in words.SUBJECTS_TAIL:
        return None
    return found


def _quoted(text: str, start: int, end: int) -> Value | None:
    close = "”" if text[start] == "“" else '"'
    stop = text.find(close, start + 1, min(end, start + CHARS_MAX))
    return stripped(text, start, stop) if stop > 0 else None


def _articled(text: str, start: int, end: int) -> int:
    match = _ARTICLE.match(text, start, end)
    return match.end() if match else start


def _named(text: str, start: int, end: int) -> Value | None:
    start = _articled(text, start, end)
    match = _NAMED.match(text, start, end)
    if not match or _odd_name(match[0]):
        return None
    return stripped(text, match.start(), match.end())


def _odd_name(name: str) -> bool:
    first = name.split(maxsplit=1)[0].casefold().split("'")[0].split("’")[0]
    return first in words.NOT_NAMES or len(name) > CHARS_MAX


def _place(text: str, start: int, end: int) -> Value | None:
    match = _PLACE.match(text, start, end)
    if match:
        return None if _odd_name(match[0].removeprefix("the ")) else stripped(text, match.start(), match.end())
    if text[start : start + 1].islower() and text[:1].islower():  # somebody who writes without capitals
        found = phrase(text, start, end, words_max=2)
        return found if found and found[1] == start and found[0].isascii() and len(found[0]) > 3 else None
    return None


def _person(text: str, start: int, end: int) -> Value | None:
    match = _PERSON.match(text, start, end)
    if not match or _odd_name(_TITLE.sub("", match[0], 1) or match[0]):
        return None
    return match[0].rstrip(".'’"), match.start(), match.start() + len(match[0].rstrip(".'’"))


def _organisation(text: str, start: int, end: int) -> Value | None:
    found = _named(text, start, end)
    if found:
        return found
    article = _ARTICLE.match(text, start, end)
    if article and article[0].casefold().strip() in ("a", "an", "the"):
        return phrase(text, start, end, words_max=4)
    return None


def _shape(pattern: object) -> Callable[[str, int, int], Value | None]:
    def found(text: str, start: int, end: int) -> Value | None:
        match = pattern.match(text, start, end)  # type: ignore[attr-defined]
        return stripped(text, match.start(), match.end()) if match else None

    return found


def _phone(text: str, start: int, end: int) -> Value | None:
    match = _PHONE.match(text, start, end)
    if not match or sum(char.isdigit() for char in match[0]) < 5:
        return None
    return match[0], match.start(), match.end()


def _number(text: str, start: int, end: int) -> Value | None:
    found = phrase(text, start, end, words_max=6) if text[start : start + 1] != "v" else _code(text, start, end)
    if found is None or not any(char.isdigit() for char in found[0]):
        return None
    return found


def _code(text: str, start: int, end: int) -> Value | None:
    match = _CODE.match(text, start, end)
    if not match or match["v"].casefold() in words.EVALUATIVE or match["v"].casefold() in _BAD_START:
        return None
    place = match.span("v")
    return (match["v"], *place) if match["v"].casefold() not in words.SUBJECTS_TAIL else None


def _date(text: str, start: int, end: int) -> Value | None:
    if text[start : start + 3].casefold() == "on ":
        start += 3
    return _shape(_DATE)(text, start, end)


def _address(text: str, start: int, end: int) -> Value | None:
    return _shape(_ADDRESS)(text, start, end) or _shape(_STREET)(text, start, end)


def _work(text: str, start: int, end: int) -> Value | None:
    found = phrase(text, start, end, words_max=5)
    if found is None:
        return None
    head = found[0].casefold().split(" of ")[0].split()
    if head[-1] in words.WORK_HEADS or " ".join(head[-2:]) in words.WORK_HEADS:
        return found
    return None


def _team(text: str, start: int, end: int) -> Value | None:
    found = phrase(text, start, end, words_max=4)
    if found is None:
        return None
    for tail in (" team", " department", " squad"):
        if found[0].casefold().endswith(tail) and len(found[0]) > len(tail):
            return found[0][: -len(tail)], found[1], found[2] - len(tail)
    return found if found[0][0].isupper() else None


def listed(known: frozenset[str], tail: str = "") -> Callable[[str, int, int], Value | None]:
    """A finder of the words of a list: the longest that stands here.

    Args:
        known: the list, in lower case.
        tail: regular expression of what may follow them ("diet"), not a part of the value.
    """

    def found(text: str, start: int, end: int) -> Value | None:
        start = _articled(text, start, end)
        place, best = start, None
        for _ in range(4):
            match = _WORD.match(text, place, end)
            if not match:
                break
            if text[start : match.end()].casefold() in known:
                best = match.end()
            place = match.end()
            if text[place : place + 1] != " ":
                break
            place += 1
        return (text[start:best], start, best) if best else None

    return found


def _medicine(text: str, start: int, end: int) -> Value | None:
    return _shape(_DOSE)(text, start, end) or _shape(_DRUG)(text, start, end)


def _subject(text: str, start: int, end: int) -> Value | None:
    found = phrase(text, start, end, words_max=3)
    if found is None or found[1] != start:
        return None
    return found


def _titled(text: str, start: int, end: int) -> Value | None:
    return _person(text, start, end) if text.startswith(("Dr", "Doctor"), start) else None


def _vehicle(text: str, start: int, end: int) -> Value | None:
    start = _articled(text, start, end)
    match = _NAMED.match(text, start, end)
    if not match or match[0].split()[0].casefold() not in words.CAR_MAKES:
        return None
    return stripped(text, *match.span())


def _activity(text: str, start: int, end: int) -> Value | None:
    found = plain(text, start, end, words_max=3)
    if found is None or found[1] != start:
        return None
    parts = found[0].casefold().split()
    if found[0].casefold() in words.SPORTS:  # they have a slot of their own
        return None
    if parts[-1] in words.HOBBIES or (parts[0] not in words.NOT_HOBBIES and parts[-1].endswith(("ing", "graphy"))):
        return found if parts[-1] not in words.NOT_HOBBIES else None
    return None


def _company(text: str, start: int, end: int) -> Value | None:
    return _named(text, start, end)


def _name(text: str, start: int, end: int) -> Value | None:
    return _named(text, start, end) or plain(text, start, end, words_max=2)


def _thing(text: str, start: int, end: int) -> Value | None:
    if _ARTICLE.match(text, start, end):
        return plain(text, start, end, words_max=5)
    return _named(text, start, end)


def plain(text: str, start: int, end: int, *, words_max: int = 5) -> Value | None:
    """A noun phrase that does not only judge ("great") and is no clause."""
    found = phrase(text, start, end, words_max=words_max)
    if found is None:
        return None
    last = found[0].casefold().split()[-1]
    if last in words.EVALUATIVE or (last.endswith(("ly",)) and " " not in found[0]):
        return None
    return found


FINDERS: dict[str, Callable[[str, int, int], Value | None]] = {
    "any": plain,
    "person": _person,
    "place": _place,
    "organisation": _organisation,
    "address": _address,
    "phone": _phone,
    "email": _shape(_EMAIL),
    "number": _number,
    "date": _date,
    "code": _code,
    "work": _work,
    "team": _team,
    "thing": _thing,
    "name": _name,
    "titled": _titled,
    "vehicle": _vehicle,
    "activity": _activity,
    "named": _company,
    "subject": _subject,
    "medicine": _medicine,
    "blood": _shape(_BLOOD),
    "language": listed(words.LANGUAGES),
    "diet": listed(words.DIETS),
    "instrument": listed(words.INSTRUMENTS),
    "sport": listed(words.SPORTS),
    "marital": listed(words.MARITAL),
    "religion": listed(words.RELIGIONS),
    "nationality": listed(words.NATIONALITIES),
}


def value_at(text: str, start: int, end: int, kind: str) -> Value | None:
    """The value of a kind that begins here, in the bounds of its sentence.

    Args:
        text: the whole.
        start: after what leads to it.
        end: of the sentence.
        kind: one of `config.own_slots.KINDS`.
    """
    start = skipped(text, start, end)
    if start >= end:
        return None
    if text[start] in "\"“'‘*`_" and kind not in ("any", "code"):
        start += 1
    return FINDERS[kind](text, start, end)
