"""What changed: "switched from X to Y", "changed my number to …", "not X but Y", "stopped eating meat", "I have two kids"."""

from __future__ import annotations

from collections.abc import Callable

from recall_integrations.facts.rules import values, words
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, Said
from recall_integrations.patterns import regex

TO = regex(r"\s(?:to|into)(?:\sbe)?\s", 2)
_FROM = regex(r"\sfrom\s(?P<old>[^,.;!?\n]{1,60}?)\sto\s", 2)
_BUT = regex(r"\s*,?\s*(?:but|it['’]s|it\sis|they['’]re)(?:\s(?:now|actually|rather))?\s", 2)
_NO_MORE = regex(r"\s(?:any\s?more|any\slonger)\b[,;.]?", 2)
_NOT = regex(r"\s*,?\s*(?:and\s)?(?:not|instead\sof|rather\sthan|no\slonger)\s", 2)
_PRE = r"(?:\s(?:have|['’]ve|has|just|recently|finally|now|also|already|actually|did|then)|['’]ve|['’]s){0,3}\s"
_CHANGE = regex(
    _PRE
    + r"(?:changed|switched|updated|moved|swapped|replaced|upgraded|changing|dyed|painted|set)\s(?P<det>my|our|your|his|her|their|the)\s"
    r"(?P<noun>[\w'’-]{1,20}(?:\s(?!to\b|from\b|for\b|with\b)[\w'’-]{1,20}){0,3})(?:\sfrom\s(?P<old>[^,.;!?\n]{1,60}?))?\s(?:to|for|with)\s",
    2,
)
_SWITCH = regex(
    _PRE
    + r"(?:switched|changed|moved|went|converted)(?:\s(?P<noun>[a-z-]{1,20}(?:\s[a-z-]{1,20})?))?\sfrom\s(?P<old>[^,.;!?\n]{1,60}?)\sto\s",
    2,
)
_HAVE = regex(
    r"(?:\s(?:have|has|just|recently|finally|now|also|already|got|['’]ve|actually)|['’]ve|['’]s){1,4}(?:\s(?:adopted|rescued|bought|got))?\s"
    r"(?P<v>(?:an?|one|two|three|four|five|six|\d)\s(?:[a-z-]{2,15}\s){0,2}?(?P<n>kids?|children|child|sons?|daughters?|dogs?|cats?|"
    r"pupp(?:y|ies)|kittens?|parrot|rabbits?|hamsters?|horse|goldfish|turtle|tortoise|brothers?|sisters?|siblings)\b"
    r"(?:(?:,)?\s(?:named|called)\s[A-Z][a-z]{1,20}(?:\sand\s[A-Z][a-z]{1,20})?)?)",
    2,
)
_ADOPT = regex(
    _PRE
    + r"(?:adopted|rescued|bought|got)\s(?P<v>an?\s(?:[a-z-]{2,15}\s){0,2}?(?P<n>dog|cat|puppy|kitten|parrot|rabbit|hamster|horse|"
    r"goldfish|turtle|tortoise)\b(?:,?\s(?:named|called)\s[A-Z][a-z]{1,20})?)",
    2,
)
_CONDITION = regex(
    r"\s(?:have|has|suffer\sfrom|suffers\sfrom|got\sdiagnosed\swith|was\sdiagnosed\swith|(?:have|has)\sbeen\sdiagnosed\swith)\s",
    2,
)
_ALLERGY = regex(
    r"\s(?:have|has)\s(?:an?\s)?(?:severe\s|mild\s|bad\s)?(?P<v>[a-z]{3,15}(?:\s[a-z]{3,15})?)\sallergy\b", 2
)
_STOP = regex(
    _PRE + r"(?:stopped|quit|gave\sup|given\sup|cut\sout|no\slonger|don['’]t|doesn['’]t)\s(?:eat(?:ing)?\s)?(?=\w)", 2
)
_TURN = regex(_PRE + r"(?:turned|went|gone|became|become)\s", 2)
_MARRY = regex(_PRE + r"got\s(?P<v>married|divorced|engaged|separated)\b", 2)
_CALL = regex(r"\s*(?:please\s)?call\sme\s", 2)
_USE = regex(
    r"\s(?:now\s|currently\s)?uses?\s(?P<v>[^,.;!?\n]{1,40}?)\sas\s(?:my|our|his|her|their)\s(?P<noun>[a-z -]{2,30}?)(?=[.,;!?\n]|$|\snow\b)",
    2,
)
_LEFT = regex(_PRE + r"left\s(?P<old>[A-Z]\w{1,20})\s(?:for|and\sjoined)\s(?=[A-Z])")
_QUIT = regex(_PRE + r"(?:quit|lost|left)\s(?:my|his|her)\s(?:job|position)\b", 2)
_EAT = regex(r"\seat\s", 2)


def turned(text: str, value: Value, end: int, again: Callable[[int], Value | None]) -> tuple[Value, str, bool]:
    """A value as it stands after "not X but Y", "Y, not X": with what it takes the place of, and whether it corrects.

    Args:
        text: the whole.
        value: the first that was found.
        end: of the sentence.
        again: finds a value of the same slot at a place.
    """
    place = value[2]
    denied = text[max(0, value[1] - 12) : value[1]].casefold()
    more = _NO_MORE.match(text, place, end)
    match = _BUT.match(text, more.end() if more else place, end)
    if match and ("not " in denied or "n't " in denied or "n’t " in denied or "longer " in denied):
        found = again(match.end())
        if found:
            return found, value[0], "longer" not in denied and not more
    match = _NOT.match(text, place, end)
    if match:
        found = again(match.end())
        if found:
            return value, found[0], match[0].strip(" ,").casefold() in ("not", "and not")
    return value, "", False


def came_from(text: str, place: int, end: int) -> str:
    """What a change came from, said before its "to"."""
    start = max(0, place - 80)
    match = None
    for found in _FROM.finditer(text, start, place):
        match = found
    value = values.stripped(text, *match.span("old")) if match else None
    return value[0] if value else ""


def read(reading: Reading, subject: str, start: int, place: int, contracted: str) -> bool:
    """What a verb of change behind a subject says.

    Args:
        reading: of the text.
        subject: as in `Said`.
        start: of the subject in the text.
        place: its end, behind which `contracted` has been read already.
        contracted: see `predicates.predicate`.
    """
    if contracted in ("d", "ll"):
        return False
    if not _CUE.match(reading.text, place, place + 60):
        return False
    _, last = reading.sentence(start)
    end = min(last, place + 300)
    return any(rule(reading, subject, start, place, end) for rule in _RULES)


_CUE = regex(
    r"(?:\s(?:have|has|just|recently|finally|now|also|already|actually|did|then|currently|no\slonger)\b|['’](?:ve|s)){0,4}\s?(?:\s|(?<=\s))"
    r"(?:changed|switched|updated|moved|swapped|replaced|upgraded|changing|dyed|painted|set|went|gone|converted|an?|one|two|three|four|"
    r"five|six|\d|got|adopted|rescued|bought|asthma|diabetes|suffers?|stopped|quit|gave|given|cut|don['’]t|doesn['’]t|eat|eats|turned|became|become|uses?|"
    r"left|lost|was\sdiagnosed|been\sdiagnosed|(?<=have\s)\w|(?<=has\s)\w)"
)


CUES = frozenset(
    "changed switched updated moved swapped replaced upgraded changing dyed painted set went converted got adopted rescued"
    " bought suffer suffers stopped quit gave cut eat eats turned became use uses left lost did".split()
)


def _changed(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    text = reading.text
    match = _CHANGE.match(text, place, end)
    if not match:
        match = _SWITCH.match(text, place, end)
        if not match:
            return False
    noun = " ".join(w for w in (match["noun"] or "").casefold().split() if w not in ("new", "old", "current"))
    if noun in _NO_THINGS:  # "they moved us from B12 to C3"
        return False
    whose = (match.groupdict().get("det") or "").casefold()
    if whose in ("my", "our"):  # "Ryanair moved my flight to 9:15": it is not Ryanair's
        if subject != ME and "moved" in match[0].casefold() and not _MOVES.match(text, match.end(), end):
            return False  # "my brother moved my bike to the shed"
        subject = ME
    singular = noun.removesuffix("s")
    slot = reading.slots.of_noun.get(noun) or reading.slots.of_noun.get(singular) or _by_value(text, match.end(), end)
    known = reading.slots.get(slot) if slot else None
    if known is None and not noun:
        return False
    value = values.value_at(text, match.end(), end, known.kind if known else "any")
    if value is None:
        return False
    old = values.stripped(text, *match.span("old")) if match["old"] else None
    return reading.say(slot or f"open:{noun}", value, subject, start, instead_of=old[0] if old else "", event=True)


# A day, a time, or whatever has a digit.
_MOVES = regex(
    r"(?:\w+\s)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|noon|midnight|next|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|"
    r"oct|nov|dec)[a-z]*\b|\S*\d)",
    2,
)
_NO_THINGS = frozenset("us me him her them it you everyone everybody everything all".split())


def _by_value(text: str, place: int, end: int) -> str | None:
    """The slot that a value shows by itself."""
    if values.FINDERS["email"](text, place, end):
        return "email"
    if values.FINDERS["diet"](text, place, end):
        return "diet"
    if values.listed(words.EDITORS)(text, place, end):
        return "editor"
    return "phone_number" if values.FINDERS["phone"](text, place, end) else None


_OWNED = (
    (("kid", "child", "son", "daughter"), "child"),
    (("brother", "sister", "sibling"), "sibling"),
)


def _had(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    match = _HAVE.match(reading.text, place, end) or _ADOPT.match(reading.text, place, end)
    if not match:
        return False
    noun = match["n"].casefold()
    slot = next((slot for heads, slot in _OWNED if noun.startswith(heads)), "pet")
    value = values.stripped(reading.text, *match.span("v"))
    return bool(value and reading.slots.get(slot)) and reading.say(slot, value, subject, start)  # type: ignore[arg-type]


def _ill(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    text = reading.text
    match = _ALLERGY.match(text, place, end)
    if match and match["v"].casefold() not in words.EVALUATIVE:
        return reading.say("allergy", (match["v"], *match.span("v")), subject, start)
    match = _CONDITION.match(text, place, end)
    value = values.listed(words.CONDITIONS)(text, match.end(), end) if match else None
    return bool(value) and reading.say("condition", value, subject, start)  # type: ignore[arg-type]


def _stopped(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    text = reading.text
    match = _STOP.match(text, place, end)
    if not match:
        return False
    value = values.listed(words.FOODS_LEFT)(text, match.end(), end)
    if value is None or ("eat" not in match[0].casefold() and re_does(match[0])):
        return False
    return reading.say("diet", value, subject, start, op=NOT, event=True, until=True)


def re_does(said: str) -> bool:
    """Whether a verb was expected and none stands here ("I don't meat")."""
    return said.casefold().strip().endswith(("n't", "n’t", "longer"))


def _turned(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    text = reading.text
    match = _MARRY.match(text, place, end)
    if match:
        return reading.say("marital_status", (match["v"], *match.span("v")), subject, start, event=True)
    match = _TURN.match(text, place, end)
    if not match:
        return False
    value = values.FINDERS["diet"](text, match.end(), end)
    if value:
        return reading.say("diet", value, subject, start, event=True)
    number = _AGE.match(text, match.end(), end)
    return bool(number) and reading.say("age", (number[0], *number.span()), subject, start, event=True)  # type: ignore[index,union-attr]


_AGE = regex(r"\d{1,3}(?=\s(?:last|this|in|on|yesterday|today|now)\b|[.!,]|$)")


def _used(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    match = _USE.match(reading.text, place, end)
    value = values.stripped(reading.text, *match.span("v")) if match else None
    if not match or not value:
        return False
    noun = match["noun"].casefold().removeprefix("new ").removeprefix("main ").removeprefix("default ")
    return reading.say(reading.slots.of_noun.get(noun, f"open:{noun}"), value, subject, start)


def _left(reading: Reading, subject: str, start: int, place: int, end: int) -> bool:
    text = reading.text
    match = _LEFT.match(text, place, end)
    if match:
        value = values.value_at(text, match.end(), end, "organisation")
        return bool(value) and reading.say("employer", value, subject, start, instead_of=match["old"], event=True)  # type: ignore[arg-type]
    match = _QUIT.match(text, place, end)
    if not match or text[match.end() : match.end() + 4] in (" at ", " as "):
        return False
    return reading.say("employer", ("", *match.span()), subject, start, op=NOT, event=True, until=True)


_RULES = (_changed, _had, _ill, _stopped, _turned, _used, _left)

_IT = regex(
    r"(?:(?:oh|ah|hm+|wait|no|oops|sorry|actually|correction|scratch\sthat|my\sbad|i\smean|well)\b[\s,.!:;–—-]*){1,4}"
    r"(?:(?:it['’]s|it\sis|that['’]s|it\sshould\sbe|i\smeant?(?:\sto\ssay)?|make\s(?:that|it)|that\sshould\sbe|the\sright\sone\sis)\s)?",
    2,
)
_MEANT = regex(r"(?:no,?\s)?(?:i\smeant|make\sthat|it['’]s\sactually|it\sis\sactually|it['’]s\snow)\s", 2)


def corrected(reading: Reading, start: int, end: int) -> bool:
    """ "Actually, it's …": of what was said last in the same text, or what the value shows by itself."""
    text = reading.text
    match = _IT.match(text, start, end) or _MEANT.match(text, start, end)
    if not match or match.end() >= end:
        return False
    place = match.end()
    last: Said | None = reading.found[-1] if reading.found else None
    slot = last.slot if last else _by_value(text, place, end)
    if slot is None:
        return False
    known = reading.slots.get(slot)
    if known is None or known.kind == "any":
        asks = text[start:place].casefold()
        if "it" not in asks.split() and "it's" not in asks and "meant" not in asks:
            return False
    value = values.value_at(text, place, end, known.kind if known else "any")
    if value is None or (last and value[0].casefold() == last.value.casefold()):
        return False
    subject = last.subject if last else ""
    return reading.say(
        slot, value, subject, start, op=IS, instead_of=last.value if last else "", corrects=True, sure=0.9
    )
