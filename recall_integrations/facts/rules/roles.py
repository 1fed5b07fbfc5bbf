"""Verbs whose slot a noun behind them names: "uses Zed as her editor", "likes pho best of all dishes"."""

from __future__ import annotations

from recall_integrations.facts.rules import values
from recall_integrations.facts.rules.predicates import Predicate
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.patterns import regex

_TAIL = r"(?=\s?[.,;!?\n]|\s?$|\s(?:now|any\s?more|any\slonger|since|these|nowadays|from|instead|again|and|but|in|on|for|until)\b)"
_AS = regex(
    r"(?:\s(?:now|still|over|back|only|currently|again))?\s(?:(?:over\s|back\s)?from\s(?P<old>(?:[^,;!?\n]|,(?=\d)){1,40}?)\sto\s|to\s)?"
    r"(?P<v>(?:[^,;!?\n]|,(?=\d)){1,60}?)\s(?:as|for|among)\s(?:(?:my|our|his|her|their|its|your|the|an?)\s)?(?:new\s|main\s|default\s)?"
    rf"(?P<noun>[a-z][a-z-]{{1,15}}(?:\s[a-z][a-z-]{{1,15}}){{0,2}}?){_TAIL}"
)
_NOUN_FIRST = regex(r"\s(?:the|my|our|his|her|their)\s(?:old\s|new\s)?(?=([a-z][a-z-]{1,15}(?:\s[a-z-]{2,15}){0,2}))")
_BEST = regex(
    r"\s(?P<v>[\w'’ -]{2,40}?)\s(?:(?:the\s)?(?:best|most)\s(?:of|among)\s(?:all\s)?(?:the\s|my\s)?|more\sthan\s(?:any|every)\sother\s|"
    r"over\s(?:any|all|every)\sother\s|(?:now\s)?as\s(?:an?|my|his|her|their)\s(?:favou?rite\s)?)"
    rf"(?P<noun>[a-z]{{3,15}}(?:\s[a-z]{{3,12}})?){_TAIL}"
)
OF_ALL = regex(r"(?:[Oo]f|[Aa]mong)\s(?:all\s)?(?:the\s|my\s)?(?P<noun>[a-z]{3,15}),?\s\Z")
_ALONE = regex(r"\s(?P<v>[\w'’ -]{2,40}?)\s(?:the\s)?(?:best|most)\b")
_PURPOSE = regex(
    r"\sto\s(?P<v>[^,;!?\n]{1,40}?)\s(?:for\s(?:(?:my|his|her|their)\s)?(?P<lunch>lunch|breakfast|dinner|a\sworkout|training|workouts)|"
    r"to\s(?P<work>work\sout|train|exercise|lift|eat\slunch|have\slunch))\b"
)
_MEAL = regex(r"\s(?P<meal>lunch|breakfast|dinner)\s(?:is\s)?(?:at|in)\s(?=[A-Z]|the\s)")
_PARK = regex(r"\s(?:(?:my|his|her|their|the)\s(?:car|bike|van)\s)?(?:in|on|at)\s")
_ALARM = regex(r"\s(?:(?:my|his|her|their|the|an)\s)?alarm\s(?:clock\s)?(?:for|to|at)\s")
_WITH = regex(r"\swith\s(?:my|our|his|her|their)\s(?:new\s)?(?P<noun>[a-z]{3,12}),?\s(?=[A-Z])")
_NEW_ONE = regex(
    r"\san?\snew\s(?P<noun>[a-z]{3,12}(?:\s[a-z]{3,12})?),\s(?P<number>(?:(?:the|its|with)\s)?number\s(?:is\s)?)?"
)
_WAKE = regex(r"\sup\sat\s(?=\d)")
APPOSED = regex(
    r",\s(?:which\sis\s|now\s)?(?:the|my|our|his|her|their|its)\s(?:new\s|current\s|old\s)?(?P<noun>[a-z]{2,12}(?:\s[a-z]{2,12})?)(?=\s?[.,;!?\n]|\s?$)"
)
_HOLD = frozenset("have has had use uses used using see sees keep keeps kept own owns".split())
_PICK = frozenset(
    "got choose chose picked switched changed swapped moved switch change took take adopted started hired went".split()
)
_LIKE = frozenset("like likes liked love loves loved prefer prefers preferred enjoy enjoys enjoyed".split())


def named(reading: Reading, said: Predicate, end: int) -> tuple[str, Value, str, str] | None:
    """The slot, value, group and old value that a noun behind a verb tells; `None` = it tells none.

    Args:
        reading: of the text.
        said: the verb.
        end: of its sentence.
    """
    verb = said.verb
    if verb in _LIKE:
        found = _best(reading, said, end)
        return (*found, "verbs", "") if found else None
    group = "verbs" if verb in _HOLD else "starts" if verb in _PICK else ""
    if group:
        match = _AS.match(reading.text, said.end, end)
        slot = _slot(reading, match["noun"]) if match else None
        value = _value(reading, slot, *match.span("v")) if match and slot else None
        if match and slot and value:
            return slot, value, group, match["old"] or ""
    told = (_noun_first(reading, said, end) or _new_one(reading, said, end)) if group else None
    if told:
        return told
    found = _known(reading, said, end)
    return (*found, "verbs", "") if found else None


def _slot(reading: Reading, noun: str) -> str | None:
    return reading.slots.of_noun.get(noun) or (f"open:{noun}" if noun in _OPEN else None)


_OPEN = frozenset("lunch place,alarm time,parking spot,locker code,gym bag,password manager,standing desk".split(","))


def _value(reading: Reading, slot: str, start: int, end: int) -> Value | None:
    known = reading.slots.get(slot)
    return values.value_at(reading.text, start, end, known.kind if known else "any")


def _noun_first(reading: Reading, said: Predicate, end: int) -> tuple[str, Value, str, str] | None:
    """ "no longer use the email address …"."""
    match = _NOUN_FIRST.match(reading.text, said.end, end)
    parts = match[1].split() if match else []
    for count in range(len(parts), 0, -1):
        noun = " ".join(parts[:count])
        slot = reading.slots.of_noun.get(noun)
        known = reading.slots.get(slot) if slot else None
        if match and slot and known and known.kind not in ("any", "person", "work"):
            value = _value(reading, slot, match.start(1) + len(noun), end)
            return (slot, value, "verbs", "") if value else None
    return None


def _new_one(reading: Reading, said: Predicate, end: int) -> tuple[str, Value, str, str] | None:
    """ "has a new partner, Farida", "got a new badge, number 98454"."""
    match = _NEW_ONE.match(reading.text, said.end, end)
    if not match:
        return None
    noun = f"{match['noun']} number" if match["number"] else match["noun"]
    slot = reading.slots.of_noun.get(noun) or (f"open:{noun}" if match["number"] else None)
    known = reading.slots.get(slot) if slot else None
    if slot is None or (known is not None and known.kind in ("any", "work")):
        return None
    value = values.value_at(reading.text, match.end(), end, known.kind if known else "code")
    return (slot, value, "starts" if said.verb == "got" else "verbs", "") if value else None


def _best(reading: Reading, said: Predicate, end: int) -> tuple[str, Value] | None:
    text = reading.text
    match = _BEST.match(text, said.end, end)
    noun = match["noun"] if match else ""
    if not match:
        match = _ALONE.match(text, said.end, end)
        first = reading.sentence(said.start)[0]
        before = (
            OF_ALL.search(text[max(first, said.start - 40) : said.start].rsplit(" ", 2)[0] + " ") if match else None
        )
        noun = before["noun"] if before else ""
    if not match or not noun:
        return None
    value = values.stripped(text, *match.span("v"))
    for form in (noun, noun.removesuffix("s"), noun.removesuffix("es")):
        slot = reading.slots.of_noun.get(f"favourite {form}")
        if slot and value:
            return slot, value
    return None


def _known(reading: Reading, said: Predicate, end: int) -> tuple[str, Value] | None:
    """Habits that have no noun of their own in the schema."""
    text, verb = reading.text, said.verb
    if verb.startswith("park"):
        match = _PARK.match(text, said.end, end)
        value = values.plain(text, match.end(), end) if match else None
        return (_open(reading, "parking spot"), value) if value and any(map(str.isdigit, value[0])) else None
    if verb.startswith(("wak", "woke", "get", "got")):
        match = _WAKE.match(text, said.end, end)
        value = values.plain(text, match.end(), end) if match else None
        return (_open(reading, "alarm time"), value) if value else None
    if verb in ("set", "sets"):
        match = _ALARM.match(text, said.end, end)
        value = values.plain(text, match.end(), end) if match else None
        return (_open(reading, "alarm time"), value) if value and any(map(str.isdigit, value[0])) else None
    if verb in ("live", "lives", "lived"):
        match = _WITH.match(text, said.end, end)
        slot = reading.slots.of_noun.get(match["noun"]) if match else None
        value = values.value_at(text, match.end(), end, "person") if match and slot else None
        return (slot, value) if slot and value else None
    if verb in ("go", "goes", "went"):
        match = _PURPOSE.match(text, said.end, end)
        value = values.stripped(text, *match.span("v")) if match else None
        if match and value:
            purpose = match["lunch"] or match["work"]
            meal = purpose.split()[-1]
            return (_open(reading, f"{meal} place") if meal in ("lunch", "breakfast", "dinner") else "gym"), value
        return None
    if verb in ("has", "have", "eat", "eats", "gets", "get"):
        match = _MEAL.match(text, said.end, end)
        value = values.plain(text, match.end(), end) if match else None
        return (_open(reading, f"{match['meal']} place"), value) if match and value else None
    return None


def _open(reading: Reading, noun: str) -> str:
    return reading.slots.of_noun.get(noun, f"open:{noun}")
