"""What stands around a possessive noun: "my locker code is now …", "Dr Tan is no longer Priya's doctor", "one of our …".

    sentence ─ what leads to it is skipped ─ whose and what ─ the verb ─▶ value

Whose it is may be anybody or anything ("the newsletter's deadline"), and what it is any noun of up to four words: one
of the schema names its slot, any other an open one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from recall_integrations.facts.open_names import plural_of, singular, slots_called
from recall_integrations.facts.rules import values, words
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, WAS, YOU
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

CHARS_MAX = 400  # of a sentence that is read
SENTENCES_MAX = 200  # of a text
LIKELY, UNLIKELY = 0.9, 0.8  # what the confidence is multiplied with, by how well the value fits

_LEAD = regex(
    r"(?:(?:[\w'’-]+ ){0,4}[\w'’-]+[:,]\s+|(?:oh and|and|so|but|also|ok|okay|well|please|just)\s+|"
    r"(?:please )?(?:remember|note|save|know)(?: that)?\s+|(?:as of|since) (?:today|now|then|the move),?\s+)",
    re.I,
)
_POISON = regex(
    r"(?:if|when|unless|before|after|until|suppose|imagine|maybe|perhaps|should|could|would|what|who|where|why|how|do|"
    r"does|did|is|are|can|will|i wish|wish|hopefully)\b",
    re.I,
)
_WHOSE = (
    r"(?P<{0}>[Mm]y|[Oo]ur|[Yy]our|(?:[Tt]he\s(?:[\w-]+\s){{0,3}}?[\w-]+|(?:[Mm]y|[Oo]ur|[Yy]our)\s(?:[\w-]+\s){{0,2}}?"
    r"[\w-]+|[A-Z][\w-]*(?:\s[A-Z][\w-]*){{0,2}})['’]s)\s"
)
_OLD = r"(?P<{0}>(?:old|previous|former|prior|first|original|last)\s)?"
_NEW = r"(?:(?:brand[\s-])?(?:new|current|latest|actual|own)\s)?"
_NOUN = r"(?P<{0}>(?:[\w-]+\s){{0,3}}?[\w-]+)"
_S = _WHOSE.format("who") + _OLD.format("old") + _NEW + _NOUN.format("noun")
_S_END = _WHOSE.format("who") + _OLD.format("old") + _NEW + _NOUN.format("noun")
_IS = r"(?:is|are|['’]s|remains|stays|became|has\sbecome|is\sgoing\sto\sbe)"
_ADVERB = r"(?:(?:now|still|currently|actually|officially|again|already|always|of\scourse|just)\s)*"
_MORE = r"\s(?:any\s?more|any\slonger|now)"
_V, _X, _XS = r"(?P<v>.+)", r"(?P<x>(?:[^,:;]|[,:](?=\d))+?)", r"(?P<x>.+)"

_SET = (
    r"(?:raised|lowered|changed|moved|set|updated|increased|reduced|extended|cut|postponed|shifted|switched|bumped(?:\sup)?|went|slipped|"
    r"pushed(?:\sback)?|brought\sforward)"
)
Row = tuple[tuple[str, ...], str, str]
# (what a sentence must hold, pattern, what it says); tried in order on a sentence without what leads to it.
_FORWARD: tuple[Row, ...] = (
    (("changed",), rf"{_S}\s(?:has|have|['’]s)(?:\s(?:just|recently|now))?\schanged[,;]?\s(?:to|it['’]?s|it\sis|they['’]re)\s{_ADVERB}{_V}", IS),
    (("changed",), rf"{_S}\s(?:has|have)(?:n['’]t|\snot)\schanged[,;]?\s(?:it['’]?s|it\sis|still)\s{_ADVERB}{_V}", IS),
    ((" from ",), rf"{_S}\s(?:has\s|have\s)?(?:just\s|recently\s)?(?:changed|switched|moved|went)\sfrom\s{_X}\sto\s{_V}", IS),
    (("changed to", "switched to", "moved to",), rf"{_S}\s(?:has\s|have\s)?(?:just\s|recently\s)?(?:changed|switched|moved)\sto\s{_V}", IS),
    (("n't", "n’t", " not ",), rf"{_S}\s(?:is|are)(?:n['’]t|\snot)\s{_X}{_MORE}[,;]\s(?:but\s|it['’]?s\s|it\sis\s|now\s)+{_ADVERB}{_V}", IS),
    (("no longer",), rf"{_S}\s(?:is|are)\sno\slonger\s{_X}[,;]\s(?:but\s|it['’]?s\s|it\sis\s|now\s)+{_ADVERB}{_V}", IS),
    (("n't", "n’t", " not ",), rf"{_S}\s(?:is|are|was|were)(?:n['’]t|\snot)\s{_X}[,;]?\s(?:but|it['’]?s|it\sis)\s{_ADVERB}{_V}", "corrects"),
    (("no longer",), rf"{_S}\s(?:is|are)\sno\slonger\s{_XS}", NOT),
    (("n't", "n’t", " not ",), rf"{_S}\s(?:is|are)(?:n['’]t|\snot)\s{_X}{_MORE}\b.*", NOT),
    (("includ",), rf"{_S}\s(?:no\slonger\sincludes?|(?:don|doesn)['’]t\sincludes?|do\snot\sinclude)\s{_XS}", "not many"),
    (("includ",), rf"{_S}\s(?:still\s|now\s|also\s)*includes?\s{_V}", "many"),
    ((" to ",), rf"{_S}\s(?:has\sbeen|have\sbeen|was|were|is|got)\s(?:just\s)?{_SET}(?:\sfrom\s{_X})?\sto\s{_V}", IS),
    ((" used to be", " once ", " had been ",), rf"{_S}\s(?:used\sto\sbe|was\sonce|had\sbeen)\s{_V}", WAS),
    ((" was ", " were ",), rf"{_S}\s(?:was|were)\s{_V}", WAS),
    ((", not ", ", no ", ", instead", ", rather", ", and not",), rf"{_S}\s{_IS}\s{_ADVERB}{_X},\s(?:and\s)?(?:not|no\slonger|instead\sof|rather\sthan)\s(?P<other>.+)", "not other"),
    ((" is ", " are ", "'s ", "’s ", " remains", " stays", " beca", " become",), rf"{_S}\s{_IS}\s{_ADVERB}{_V}", IS),
    ((":",), rf"{_S}\s?:\s+{_V}", IS),
    (("ne of ",), rf"[Oo]ne\sof\s{_S}\s(?:is|was)\s{_ADVERB}{_V}", "many"),
    (("dd ",), rf"(?:[Pp]lease\s)?[Aa]dd\s{_X}\sto\s(?:the\slist\sof\s)?{_S_END}\.?$", "many"),
    ((" off ", " from ",), rf"(?:[Pp]lease\s)?(?:[Tt]ake|[Rr]emove|[Dd]rop|[Ss]trike)\s{_X}\s(?:off|from)\s(?:the\slist\sof\s)?{_S_END}\.?$", "not many"),
)  # fmt: skip
_INVERSE: tuple[Row, ...] = (
    (("one of",), rf"{_X}\s(?:is|was)(?:n['’]t|\snot|\sno\slonger)\sone\sof\s{_S_END}(?:{_MORE})?$", "not many"),
    (("one of",), rf"{_X}\s(?:is|are)\s{_ADVERB}(?:also\s)?one\sof\s{_S_END}$", "many"),
    (("repl", "over from",), rf"(?P<v>.+?)\s(?:has\s)?(?:replaced|took\sover\sfrom|takes\sover\sfrom|replaces)\s(?P<x>.+?)\sas\s{_S_END}$", "replaced"),
    (("n't", "n’t", " not ",), rf"{_X}\s(?:is|are)(?:n['’]t|\snot)\s{_S_END}{_MORE}$", NOT),
    (("no longer",), rf"{_X}\s(?:is|are)\sno\slonger\s{_S_END}$", NOT),
    ((" used to be ", " was ",), rf"{_X}\s(?:used\sto\sbe|was(?:\sonce)?)\s{_S_END}(?:\sbefore)?$", WAS),
    ((" is ", " are ", "'s ", "’s ",), rf"{_X}(?:\sis|\sare|['’]s)\s{_ADVERB}{_S_END}(?:\snow|\sthese\sdays)?$", IS),
)  # fmt: skip
_OF = (
    r"[Tt]he\s(?P<noun>[\w -]{2,30}?)\s(?:of|for)\s(?P<subject>(?:[Tt]he|my|our)\s[\w'’ -]{2,40}?|[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,2}"
    r"(?:['’]s\s[\w-]+)?)\s"
)
_AS: tuple[Row, ...] = (
    (("no longer",), _OF + r"(?:is|are)\sno\slonger\s(?P<x>.+)$", NOT),
    ((" was ", " used to be ",), _OF + r"(?:was|used\sto\sbe)\s(?!" + _SET + r")(?P<v>.+)$", WAS),
    ((" to ",), _OF + r"(?:has\s(?:been\s)?|was\s|got\s)?" + _SET + r"(?:\sfrom\s(?P<x>.+?))?\sto\s(?P<v>.+)$", IS),
    ((" is ", " are ",), _OF + r"(?:is|are)\s(?:now\s|still\s|currently\s)*(?P<v>.+)$", IS),
    (
        ("used to",),
        r"(?P<subject>.+?)\sused\sto\s(?:use|have)\s(?P<x>.+?)\sas\s(?:my|our|his|her|its|their)\s(?P<noun>[\w -]+?)$",
        WAS,
    ),
    (
        ("no longer", "n't", "n’t", " not ",),
        r"(?P<subject>.+?)\s(?:no\slonger\s(?:has|have)|(?:don|doesn)['’]t\shave|do(?:es)?\snot\shave)\s(?P<x>.+?)\sas\s"
        r"(?:my|our|his|her|its|their)\s(?P<noun>[\w -]+?)(?:\sany\s?more|\sany\slonger)?$",
        NOT,
    ),
    (
        (" among ",),
        r"(?P<subject>.+?)\s(?:also\s)?(?:has|have)\s(?P<x>.+?)\samong\s(?:my|our|his|her|its|their)\s(?P<noun>[\w -]+?)$",
        "many",
    ),
    (
        (" from ",),
        r"(?P<subject>.+?)\s(?:now\s|recently\s|just\s)?(?:switched|changed)\sfrom\s(?P<x>.+?)\sto\s(?P<v>.+?)\sas\s"
        r"(?:my|our|his|her|its|their)\s(?P<noun>[\w -]+?)$",
        "replaced",
    ),
    (
        (" as ",),
        r"(?P<subject>.+?)\s(?:now\s|still\s|currently\s)?(?:uses?|has|have)\s(?P<x>.+?)\sas\s"
        r"(?:my|our|his|her|its|their)\s(?P<noun>[\w -]+?)(?:\snow)?$",
        IS,
    ),
    (
        (" new ",),
        r"(?P<subject>.+?)(?:['’]ve|['’]s|\shas|\shave)?\s(?:just\s|now\s)?(?:got|has|have|have\sgot)\sa\s(?:brand\s)?new\s(?P<noun>[\w -]{2,30}?)"
        r"(?::|,(?:\snumber)?|\sand\sit['’]s|\s-|\scalled|\snamed)\s(?P<v>.+)$",
        IS,
    ),
    (
        (" at ",),
        r"[Tt]he\s(?P<noun>[\w -]{2,30}?)\sat\s(?P<place>[Mm]y|[Oo]ur|[\w -]+?['’]s)\s(?:place|home|house|flat|office)\s(?:is|is\snow)\s(?P<v>.+)$",
        IS,
    ),
)  # fmt: skip
_TAIL = regex(
    r"\s+(?:now|these\sdays|nowadays|at\sthe\smoment|currently|again|any\s?more|any\slonger|before|back\sthen|instead|"
    r"from\snow\son|as\sof\s(?:today|now)|right\snow|for\snow|already|though|btw|by\sthe\sway|too|today|if\s.*|in\scase\s.*|"
    r"since\s.*|because\s.*|so\s(?:i|we|he|she|they|please)\s.*|and\s(?:i|we|he|she|they|it|there|the)\s.*|but\s.*|which\s.*|"
    r"until\s.*|from\s(?:monday|tuesday|january|february|march|april|may|june|july|august|september|october|november|"
    r"december|today|tomorrow|next)\b.*|long\sago.*|starting\s.*)$",
    re.I,
)
_CUT = regex(r"[;!?\n]|\.(?=\s|$)|,\s(?=[a-z])|\s[-–—]\s|\s\(")
_NOT_VALUE = frozenset(
    "that this these those it he she they we i you what when how where why who whom which whether if to so very really"
    " pretty quite too not no like about because been being going getting having doing making trying coming looking"
    " working gonna still such one there here just only even almost probably supposed meant known said out off up down"
    " on in at by with for from under over left gone back more less better worse the same".split()
)
_PARTICLE = regex(r"\w+(?:ing|ed)\b")
_IN_NOUN = frozenset(
    "is are was were has have had be been no not and or but that which who of to in on at with for from by i you he she"
    " they we it me us my our your his her their its this these those what when where how if than then so don doesn isn"
    " aren hasn haven t s changed include includes used one also still".split()
)
_PRONOUNS = {"i": ME, "we": ME, "you": YOU}


_FIRST = regex(
    r"(?:[Mm]y|[Oo]ur|[Yy]our|[Tt]he|[Oo]ne\sof|[Pp]lease|[Aa]dd|[Tt]ake|[Rr]emove|[Dd]rop|[Ss]trike)\s|"
    r"[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,2}['’]s\s"
)
_OWNED = regex(r"([A-Za-z]\w*)['’]s\s\w")
_CONTRACTED = frozenset("it that he she there here what who how where when let this everything one so".split())
_MINE = ("my ", "My ", "our ", "Our ", "your ", "Your ")
_THEIRS = (" their ", " his ", " her ", " its ")
_VERBS = (
    *(" is ", " are ", " was ", " were ", "'s ", "’s ", "n't ", "n’t ", " no longer ", "chang", " includ", " used to "),
    *(
        " one of ",
        ":",
        " as ",
        " new ",
        " among ",
        " add ",
        "Add ",
        " off ",
        " replaced ",
        " took over ",
        " beca",
        " remains",
    ),
    *(" stays ", " switched "),
)


@cache
def _patterns(place: int) -> tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...]:
    """Forward, inverse, others; compiled when the first text needs them."""
    return tuple((cues, re.compile(pattern), op) for cues, pattern, op in (_FORWARD, _INVERSE, _AS)[place])


def _holds(text: str) -> tuple[bool, bool]:
    """Whether something is possessed, by its form; and whether something may be otherwise."""
    owned = any(cue in text for cue in _MINE) or (
        ("'s " in text or "’s " in text) and any(m[1].casefold() not in _CONTRACTED for m in _OWNED.finditer(text))
    )
    other = " new " in text or any(cue in text for cue in _THEIRS)
    return owned, other or (
        ("The " in text or "the " in text) and (" of " in text or " for " in text or " at " in text)
    )


def read(reading: Reading) -> None:
    """What the sentences of a text say in this way."""
    text = reading.text
    if not any(cue in text for cue in _VERBS) or not any(_holds(text)):
        return
    for start, end in reading.sentences()[:SENTENCES_MAX]:
        if not 6 < end - start <= CHARS_MAX or reading.asked(end):
            continue
        part = text[start:end]
        if any(cue in part for cue in _VERBS):
            owned, other = _holds(part)
            if owned or other:
                _sentence(reading, start, end, owned=owned, other=other)


def _sentence(reading: Reading, start: int, end: int, *, owned: bool, other: bool) -> bool:
    text = reading.text
    while start < end and text[start] in " \t\r\n-*•>":
        start += 1
    for _ in range(4):  # with what leads to it, and without
        if _POISON.match(text, start, end):
            return False
        if _read(reading, start, end, owned=owned, other=other):
            return True
        lead = _LEAD.match(text, start, end)
        if lead is None or lead.end() >= end:
            return False
        start = lead.end()
    return False


def _read(reading: Reading, start: int, end: int, *, owned: bool, other: bool) -> bool:
    part = reading.text[start:end].rstrip(" \t.")
    for place in range(3):
        if (place == 0 and (not owned or _FIRST.match(part) is None)) or (place == 1 and not owned):
            continue
        if place == 2 and not (other or " as " in part or " at " in part):
            continue
        for cues, pattern, op in _patterns(place):
            if any(cue in part for cue in cues):
                match = pattern.match(part)
                if match is not None and _say(reading, start, match, op, owned=place < 2):
                    return True
    return False


def _say(reading: Reading, start: int, match: re.Match[str], op: str, *, owned: bool) -> bool:
    got = match.groupdict()
    noun = (got.get("noun") or "").strip()
    low = noun.casefold()
    changing = re.search(r"\b(?:switched|moved|went)\b", match[0][match.end("noun") - match.start() :])
    if changing and low.split()[-1:] and low.split()[-1] in words.RELATIONS and owned:
        return False  # somebody moved, and is no other
    if " " in noun and noun.split()[-1][:1].isupper() and not noun.split()[-1].isupper():
        return False  # "my sister Anna"
    if not noun or any(word.casefold() in _IN_NOUN for word in re.split(r"[\s'’-]+", noun)):
        return False
    held = got.get("subject") or got.get("place") or ""
    if not owned and got.get("subject") and match.re.pattern.startswith(_OF):
        held, low = _whole(held, low)
    subject = _owner(got["who"]) if owned else _holder(held)
    if subject is None:
        return False
    many = "many" in op
    slot, many_noun = _slot(reading, low, many=many)
    if slot is None:
        return False
    name = "v" if got.get("v") else "x"
    fits = _fitting(reading, slot, low)
    value = _value(reading, start + match.start(name), start + match.end(name), fits)
    if value is None:
        return False
    instead = ""
    corrects = op in ("corrects", "not other")
    if op == "not other":
        other = _value(reading, start + match.start("other"), start + match.end("other"), None)
        instead = other[0][0] if other else ""
    elif name == "v" and got.get("x"):
        old = _value(reading, start + match.start("x"), start + match.end("x"), None)
        instead = old[0][0] if old else ""
    what = NOT if op in (NOT, "not many") else WAS if op == WAS else IS
    if got.get("old") and what == IS:
        what = WAS
    found, sure = value
    del many_noun
    return reading.say(
        slot, found, subject, start, op=what, instead_of=instead, corrects=corrects, sure=sure,
        event="changed" in match[0] or "new " in match[0],
    )  # fmt: skip


def _owner(who: str) -> str | None:
    low = who.casefold().replace("’", "'")
    if low in ("my", "our"):
        return ME
    if low == "your":
        return YOU
    if " of " in low or " for " in low:
        return None
    name = who[: -len("'s")].strip()
    first = name.split()[0].casefold()
    if first in ("my", "our", "your"):
        return f"{'your' if first == 'your' else 'my'} {name.split(None, 1)[1]}"
    if first != "the" and first in words.NOT_NAMES:
        return None
    if first == "the" and name.casefold() in ("the user", "the people"):
        return ME if name.casefold() == "the user" else None
    return name


def _holder(subject: str) -> str | None:
    """Who has something: "I", a name, "my sister", "the newsletter"."""
    subject = subject.strip()
    low = subject.casefold().replace("’", "'")
    if low in _PRONOUNS:
        return _PRONOUNS[low]
    if low in ("my", "our"):
        return ME
    name = subject[:-2] if low.endswith("'s") else subject
    if re.fullmatch(r"(?:(?:my|our|the)\s[\w -]{2,30}|[A-Z][\w-]*(?:\s[A-Z][\w-]*){0,2})", name, re.I) is None:
        return None
    first = name.split()[0].casefold()
    if first in ("my", "the", "our"):
        return f"{'the' if first == 'the' else 'my'} {name.split(None, 1)[1]}"
    return name if name[0].isupper() and first not in words.NOT_NAMES else None


def _whole(owner: str, noun: str) -> tuple[str, str]:
    """ "the code of my mother's locker": the locker code of my mother; "the code for my locker": mine."""
    found = re.fullmatch(r"(.+)['’]s\s([\w -]+)", owner)
    if found is not None:
        return found[1], f"{found[2].casefold()} {noun}"
    mine = re.fullmatch(r"(?:my|our)\s([\w -]+)", owner, re.I)
    if mine is not None and mine[1].casefold().split()[-1] not in words.RELATIONS:
        return "my", f"{mine[1].casefold()} {noun}"
    return owner, noun


def _one_of(noun: str) -> str:
    """The noun of which there is one: "favourite dishes" is "favourite dish"."""
    return " ".join(singular(noun.split()))


def _slot(reading: Reading, noun: str, *, many: bool) -> tuple[str | None, bool]:
    for form in dict.fromkeys((_one_of(noun), noun) if many else (noun, _one_of(noun))):
        slot = reading.slots.of_noun.get(form)
        if slot is not None:
            return slot, False
    called = slots_called(_one_of(noun) if many else noun, reading.slots)
    if not called:
        return None, False
    slot = called[0]
    if slot.startswith(OPEN):
        name = slot.removeprefix(OPEN)
        parts = name.split()
        odd = name in words.OPEN_NOT or parts[-1] in words.RELATIONS
        named = len(parts) > 1 and parts[-1] in words.ATTRIBUTE_HEADS
        if odd or (parts[-1] in words.OPEN_HEADS_NOT and not named):
            return None, False
        if len(parts) == 1 and not many and parts[0] not in words.ATTRIBUTE_HEADS and plural_of(parts[0]) == parts[0]:
            return None, False
    return slot, many


Fits = Callable[[str, int, int], Value | None]


def _fitting(reading: Reading, slot: str, noun: str) -> tuple[str, Fits | None]:
    """How the value of a slot is checked: `kind`, `named` (a favourite, an attribute) or `open`."""
    known = reading.slots.get(slot)
    if known is not None and known.kind != "any":
        return "kind", values.FINDERS[known.kind]
    head = noun.split()[-1]
    if noun.startswith(("favourite", "favorite")) or head in words.ATTRIBUTE_HEADS or known is not None:
        return "named", None
    return "open", None


def _value(reading: Reading, start: int, end: int, fits: tuple[str, Fits | None] | None) -> tuple[Value, float] | None:
    """What stands between two places, as a value, and how well it fits; `None` = it is none."""
    text = reading.text
    cut = _CUT.search(text, start, end)
    if cut is not None:
        end = cut.start()
    for _ in range(3):
        tail = _TAIL.search(text, start, end)
        if tail is None or tail.start() <= start:
            break
        end = tail.start()
    found = values.stripped(text, start, end)
    if found is None:
        return None
    value = found[0]
    parts = value.split()
    first = parts[0].casefold()
    if len(parts) > 8 or first in _NOT_VALUE or value.casefold() in words.EVALUATIVE:
        return None
    if fits is None:
        return found, LIKELY
    kind, finder = fits
    telling = any(c.isdigit() for c in value) or (value[0].isupper() and first not in words.NOT_NAMES)
    if kind == "kind" and finder is not None:
        exact = finder(text, found[1], end)
        if exact is not None and exact[1] <= found[1] + 4 and exact[2] >= found[2] - 4:
            return found, 1.0
    if telling and len(parts) <= 8:
        return found, LIKELY
    article = (
        values.stripped(text, start, end) != (text[start:end], start, end) and text[start:end].lstrip()[:4].casefold()
    )
    if _PARTICLE.fullmatch(first) and len(parts) > 1 and not first.endswith("ed"):
        return None
    if parts[-1].casefold() in words.EVALUATIVE or (len(parts) == 1 and first.endswith(("ing", "ed", "ly"))):
        return (found, UNLIKELY) if kind == "named" and first.endswith("ing") else None
    if kind == "named" and len(parts) <= 5:
        return found, LIKELY
    if kind == "open" and len(parts) <= 4 and (article in ("the ", "a ", "an ") or len(parts) <= 3):
        return found, UNLIKELY
    if kind == "kind" and len(parts) <= 4:
        return found, UNLIKELY
    return None
