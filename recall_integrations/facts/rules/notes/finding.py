"""Values in a note: what looks like one of a slot, how far it reaches, and what only seems to be one."""

from __future__ import annotations

from typing import NamedTuple

from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import values, words
from recall_integrations.facts.rules.notes.tokens import Note
from recall_integrations.facts.rules.values import Value
from recall_integrations.patterns import regex

STRICT = frozenset(("phone", "email", "address"))
SHAPED = frozenset(("date", "number", "code", "blood", "medicine"))
LISTED = frozenset(("language", "diet", "instrument", "sport", "marital", "religion", "nationality", "work", "vehicle"))
_NAMES = frozenset(("person", "place", "organisation", "named", "titled", "name"))
_MONEY = r"(?:(?:[£$€]|(?:eur|usd|gbp)\s)\s?\d[\d.,]*\d?k?|\d[\d.,]*k?\s?(?:euros?|eur|dollars?|usd|pounds|quid|gbp|bucks|francs|crowns|kr|zloty|yen|k\b|grand)|\d+k\b)(?:\s(?:a|per)\s(?:month|year|week|hour))?"
SHAPES = {
    "shoe_size": regex(
        r"(?:(?:EU|UK|US)\s)?\d{1,2}(?:[.,]5)?(?!\S*\d)(?!\s?(?:euros?|dollars?|pounds|%))(?:\s(?:EU|UK|US))?", 2
    ),
    "shirt_size": regex(r"(?:XXS|XS|S|M|L|XL|XXL|XXXL|small|medium|large|extra\slarge|\d{2})\b"),
    "age": regex(r"\d{1,3}(?![\d.,:/%-])(?=\s*(?:$|[.,!)]|years|yrs|now|today|y/?o|as\sof))", 2),
    "weight": regex(r"\d{2,3}(?:[.,]\d)?\s?(?:kg|kgs|kilos?|lbs?|pounds|stone)\b", 2),
    "height": regex(
        r"(?:\d[.,]\d{1,2}\s?m\b|\d{3}\s?cm\b|\d\s?(?:ft|feet|foot|['’])(?:\s?\d{1,2}(?:\s?(?:in|inches|\"))?)?)", 2
    ),
    "salary": regex(_MONEY, 2),
    "rent": regex(_MONEY, 2),
    "price": regex(_MONEY, 2),
    "budget": regex(_MONEY, 2),
    "version": regex(r"v?\d+(?:\.\d+){0,3}(?:[-.]?(?:alpha|beta|rc)\d*)?(?![\w%])", 2),
    "working_hours": regex(
        r"\d{1,2}(?:[:.]\d\d)?\s?(?:am|pm)?\s?(?:to|-|–|till|until)\s?\d{1,2}(?:[:.]\d\d)?\s?(?:am|pm)?(?!\w)", 2
    ),
    "time_zone": regex(
        r"(?:(?:GMT|UTC)\s?[+-]\s?\d{1,2}(?::\d\d)?|[A-Z]{2,5}(?!\w)|(?:[A-Z][a-z]+\s){1,2}Time\b|(?i:eastern|central|mountain|pacific|atlantic)\stime\b)"
    ),
    "pronouns": regex(r"[a-z]{2,5}/[a-z]{2,5}(?:/[a-z]{2,6})?", 2),
    "favourite_number": regex(r"\d{1,4}(?!\w)"),
    "handedness": regex(r"(?:left|right|mixed|cross)(?:[\s-]hand(?:ed|er)?)?\b|ambidextrous\b|southpaw\b", 2),
}
_JOINERS = frozenset("of the de la le du van von der am upon & and".split())
_UNITS = frozenset("am pm cm kg km mg mm ft m % euros dollars pounds".split())
_SAYS = frozenset(
    "is was are were would = - – — ( remains stays stopped stops replaces replaced became becomes has had used isn't"
    " in out as -> => → continues now over no gone serves counts works runs one wasn't supersedes succeeds for".split()
)
ADVERBS = frozenset("the a an now currently still just actually really always also only my our again all".split())


class Found(NamedTuple):
    """What looks like a value, and the tokens that it covers."""

    value: Value
    first: int
    stop: int  # tokens


def find_values(note: Note, slot: str, kind: str, free: list[int], used: set[int]) -> list[Found]:
    """All that looks like a value, in order."""
    found: list[Found] = []
    after = 0
    for i in free:
        if i < after:
            continue
        value = _value(note, slot, kind, i, used)
        if value is not None:
            found.append(value)
            after = value.stop
    return found


def _value(note: Note, slot: str, kind: str, i: int, used: set[int]) -> Found | None:
    start = note.tokens[i].start
    shape = SHAPES.get(slot)
    if shape is not None:
        match = shape.match(note.text, start, note.last)
        value: Value | None = (match[0], *match.span()) if match else None
    elif kind in STRICT or kind in ("date", "blood", "medicine"):
        value = values.value_at(note.text, start, note.last, kind)
    else:
        end = _run(note, kind, i, used)
        value = values.value_at(note.text, start, end, kind)
        if kind in _NAMES and not note.text[start].isupper():
            value = None
        if value is None and kind == "thing" and note.tokens[i].text[0].isupper():
            value = values.stripped(note.text, start, end)
    if value is None or value[1] > start + 1:
        return None
    if kind == "address" and (value[0][0] == "0" or not any(w[0].isupper() for w in value[0].split()[1:])):
        return None
    stop = i + 1
    while stop < len(note.tokens) and note.tokens[stop].start < value[2]:
        stop += 1
    token = note.tokens[stop - 1]
    if token.own and value[2] > token.start:
        value = (value[0][: token.start + len(token.text) - value[1]], value[1], token.start + len(token.text))
    return Found(value, i, stop)


def _run(note: Note, kind: str, i: int, used: set[int]) -> int:
    """Where a run of words that have no other place ends."""
    j = i
    while j + 1 < len(note.tokens):
        nxt = j + 1
        if note.low[nxt] in _UNITS and note.tokens[j].text[-1].isdigit():
            j = nxt
            continue
        if nxt not in used and nxt not in note.owned and note.low[nxt] not in known.SEPARATORS:
            if not note.weightless(nxt) and not note.tokens[j].own:
                j = nxt
                continue
            if note.low[nxt] in _JOINERS and nxt + 1 < len(note.tokens) and note.capital(nxt + 1):
                if note.tokens[j].text[0].isupper() and note.low[nxt] != "and" and nxt + 1 not in used:
                    j = nxt + 1
                    continue
            if note.low[nxt] in ("to", "of") and nxt + 1 < len(note.tokens) and kind == "number":
                if note.tokens[j].text[0].isdigit() and note.tokens[nxt + 1].text[0].isdigit():
                    if _hours(note.low, used):
                        j = nxt + 1
                        continue
        break
    return note.tokens[j].start + len(note.tokens[j].text)


def astray(note: Note, slot: str, kind: str, found: Found) -> bool:
    """Whether a value is only the first word of the sentence, somebody who is spoken to, or a day."""
    if kind in STRICT or slot in SHAPES or kind in LISTED or kind in SHAPED:
        return False
    value, low = found.value[0], note.low
    if value.split()[0].casefold() in words.DAYS | words.MONTHS:
        return True
    if any(c.isdigit() for c in value):
        return len(value) < 2 and not note.mine
    if low[found.stop : found.stop + 1] == ["and"] and low[found.stop + 1 : found.stop + 2] in (
        ["i"],
        ["my"],
        ["me"],
    ):
        return True
    before = low[found.first - 1] if found.first else ""
    if before in ("hey", "hi", "hello", "thanks", "dear", "thank", "bye", "ok", "okay"):
        return True
    if found.first > (1 if low[0] == "the" else 0) or not titled(note, found):
        return False
    behind = [w for w in low[found.stop : found.stop + 4] if w not in ADVERBS - {"my", "our"}]
    if note.tokens[found.stop - 1].own or behind[:1] in ([], ["["]):
        return not note.tokens[found.stop - 1].own
    if behind[0] == ",":
        return not ({"that's", "it's", "hands"} & set(behind[1:2]) or behind[1:2] in (["my"], ["our"]) or note.owned)
    return behind[0] not in _SAYS


def are_strong(note: Note, slot: str, kind: str, found: list[Found]) -> bool:
    """Whether values show by themselves that they are some."""
    return kind in STRICT or slot in SHAPES or kind in LISTED or all(
        titled(note, f) or any(c.isdigit() for c in f.value[0]) for f in found
    )  # fmt: skip


def titled(note: Note, found: Found) -> bool:
    """Whether a value is written as a name."""
    return note.tokens[found.first].text[0].isupper() and not any(c.isdigit() for c in found.value[0][:1])


def _hours(low: list[str], used: set[int]) -> bool:
    """Whether two numbers with "to" between them are one value: working hours."""
    return any(low[i] in ("hours", "shift", "shifts", "schedule", "work") for i in used)
