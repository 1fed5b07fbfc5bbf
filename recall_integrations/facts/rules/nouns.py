"""What is said of a slot that is named: "Priya's locker code is 4711", "4711 is no longer my locker code".

    whose ─ noun ─ verb ─ value      value ─ verb ─ whose ─ noun      whom ─ has ─ value ─ as ─ their ─ noun

It is looked for where something is possessed; the value's own shape makes it surer, and is not asked for.
"""

from __future__ import annotations

import re

from recall_integrations.facts.open_names import singular, slots_called
from recall_integrations.facts.rules import values, words
from recall_integrations.facts.rules.near import folded, word_before
from recall_integrations.facts.rules.reading import RESOLVED, Reading, may_state
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, WAS, YOU
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

ODD = 0.78  # of a value that does not look like its slot's
MARK = regex(
    r"[mMoOyYhHtTiInN'’](?:(?:(?<=[mM])y|(?<=[oO])ur|(?<=[yY])our|(?<=[hH])(?:is|er)|(?<=[tT])heir|(?<=[iI])ts|(?<=[nN])ew|(?<=['’])s)\s"
    r"|(?<=[tT])he\s(?=[a-z][\w -]{1,60}?\s(?:of|for|at)\s[A-Zmot]))"
)
# The same words, and what may be a possessive, behind a sign that is no part of a word: passing over the others at once.
_MARKS = regex(
    r"[\x00-/:-@\[-`{-\x7f\x80-\U0010ffff](?:s|[mM]y|[oO]ur|[yY]our|[hH](?:is|er)|[tT](?:heir|he(?=\s[a-z]))|[iI]ts|[nN]ew)(?=\s)"
)
_OWNER = regex(
    r"(?<![\w'’-])(?:(?:[Mm]y|[Oo]ur|[Yy]our|[Tt]he)\s(?:(?!(?:of|is|was|in|to|that|and|as|not|at|for|on|off|from|my|our|the)\b)"
    r"[\w-]{1,20}\s){0,3}?[\w-]{1,20}|[A-Z][\w-]{0,24}(?:\s[A-Z0-9][\w-]{0,24}){0,2})\Z"
)
_CHAIN = regex(r"[\w-]{1,20}(?:\s[\w-]{1,20}){0,2}(?=['’]s\s)")
_NOT_OWNERS = frozenset(
    "it that this what who where there here he she how when why let one everyone everybody someone somebody today name".split()
)
_LEAD_NAMES = frozenset(
    "originally initially earlier previously formerly once where today nowadays currently note update reminder typo oops actually correction sorry hi hey fyi btw so and but oh well also again now".split()
)
_WORD = regex(r"([^\W_][\w'’/&-]{0,24})")
NO_NOUN = frozenset(
    "and or but that which who when where because so if then than with to from by i we you he she they it me us him them"
    " my our your his their this these those a an the not no do does did had would could should can may might must be"
    " been am there here what how why very really just like about into over after before until while since without".split()
)
_N = r"(?:\s(?:now|then|actually|currently|still|also|both|of\scourse|officially))"
_VERB = regex(
    rf"(?P<colon>\s?:)\s|(?:(?P<used>\sused\sto\sbe)"
    rf"|(?P<to>(?:\s(?:has|have|just|recently|been|was|is|got)){{0,3}}\s(?:changed|switched|moved|went|updated|set|raised|pushed|bumped|"
    rf"slipped|cut|reduced|lowered|increased|rescheduled|extended|postponed|upgraded|lifted|dropped)"
    rf"(?:\sfrom\s(?P<old>[^;!?\n]{{1,60}}?))?\sto)"
    rf"|(?P<same>\s(?:(?:has|have)(?:n['’]t|\snot)|did(?:n['’]t|\snot))\schanged?,?\s(?:and\s)?(?:it\sis|it['’]s|they['’]re|still))"
    rf"|(?P<now>(?:\s(?:has|have|just|recently)){{0,2}}\s(?:changed|switched|moved),?\s(?:and\s)?(?:it\sis|it['’]s|they['’]re|now))"
    rf"|(?P<only>\s(?:isn|aren|wasn)['’]t)"
    rf"|(?P<copy>{_N}?(?:\s(?:is|are|was|were|has\sbeen|will\sbe|remains|stays|became)|['’]s(?=\s))(?P<neg>\s(?:not|no\slonger))?)"
    rf"|(?P<out>\s(?:no\slonger|do(?:es)?n['’]t|do(?:es)?\snot)\sincludes?)|(?P<in>{_N}?\sincludes?))(?:{_N}|[:,](?=\s)){{0,2}}\s",
    2,
)
_STOP = regex(
    r",(?!\d)|[;!?\n\"“”()\[\]…→]|\s?[-=]>|\.(?=\s|$|\.)|:\s|\s[-–—]+\s|[–—]|\s(?:and|but|because|cause|cuz|so|since|until|till|when|while|where|"
    r"which|who|that|if|though|although|as|after|before|from|with|for|now|these\sdays|nowadays|at\sthe\smoment|"
    r"currently|right\snow|any\s?more|any\slonger|instead|rather|not|in\scase|btw|too|also|again|then|lol|thanks|already|today|"
    r"earlier|lately|yesterday|tonight|tomorrow|by\sthe\sway|starting|effective|however|except|than|over|once|i|i['’]m|we|he|"
    r"she|they|it|it['’]s|is|isn['’]t|was|are|were|has|have|on|to|by|during|at|in)\b|\s[^\w\s]*[\U0001f300-\U0001faff]",
    2,
)
_ON = regex(r"(?:on|at|in|under|to)\s(?=[A-Z\d])")
_MORE = regex(r"\s(?:any\s?more|any\slonger)\b", 2)
_BUT = regex(r",?\s(?:but(?:\srather)?|it['’]s|it\sis|they['’]re)(?:\s(?:now|actually))?\s", 2)
_RATHER = regex(r",?\s(?:and\s)?(?P<w>not|instead\sof|rather\sthan|no\slonger)\s", 2)
_LEAD = regex(
    r"\s*(?:as\sof\s(?:today|now)|from\s(?:now|today)\son|these\sdays|nowadays|today|now|currently|once|originally|earlier|back\sthen|"
    r"for\sthe\srecord|note|in\sthe\spast|starting\s(?:now|today))[,:]?\s",
    2,
)
_ARROW = regex(r"\s?(?:->|=>|→)\s?")
_BEFORE = regex(r"\s(?:before|previously|back\sthen|until|earlier|once)\b", 2)
_BACK = regex(
    r"\s(?:(?P<rep>(?:has\s|have\s)?(?:replaced|took\sover\sfrom)\s(?P<old>[^,;!?\n]{1,50}?)\sas)"
    r"|(?P<be>is|are|was|were|became|remains|used\sto\sbe|isn['’]t|wasn['’]t|has\sbecome|will\sbe)"
    r"(?P<adv>(?:\s(?:now|still|not|no\slonger|actually|also|currently)){0,2}))(?P<one>\sone\sof)?\Z",
    2,
)
_ONE_OF = regex(r"(?:\b(?:one|two|some)\sof|\bamong)\s?\Z", 2)
_ADD = regex(r"\b(?:add|put)\s(?P<v>[^,;!?\n]{1,60}?)\s(?:to|on)(?:\sthe\slist\sof)?\Z", 2)
_TAKE = regex(
    r"\b(?:take|remove|strike|drop|cross|delete)\s(?P<v>[^,;!?\n]{1,60}?)\s(?:off|from|out\sof)(?:\sthe\slist\sof)?\Z",
    2,
)
_AS = regex(
    r"(?P<s>(?<![\w'’-])(?:I|[Ww]e|[Yy]ou|(?:[Mm]y|[Oo]ur|[Tt]he)\s[\w-]{1,20}(?:\s[\w-]{1,20}){0,2}?|[A-Z][\w-]{0,24}(?:\s[A-Z0-9][\w-]{0,24}){0,2}))"
    r"(?P<not>\sno\slonger|\s(?:do|does)(?:n['’]t|\snot)(?:\sstill)?)?(?P<was>\sused\sto)?(?:\s(?:also|still|now|just)){0,2}\s"
    r"(?:has|have|had|use|uses|got|keep|keeps|(?:switched|changed|moved|went)\sfrom\s(?P<old>[^;!?\n]{1,50}?)\sto)\s(?P<v>[^;!?\n]{1,60}?)\s(?:as|among|for)\Z"
)
_GOT = regex(
    r"(?:(?P<s>(?<![\w'’-])(?:I|[Ww]e|(?:[Mm]y|[Oo]ur|[Tt]he)\s[\w-]{1,20}(?:\s[\w-]{1,20}){0,2}?|[A-Z][\w-]{0,24}(?:\s[A-Z][\w-]{0,24}){0,2}))"
    r"(?:['’](?:ve|s))?(?:\s(?:now|just|also|finally|recently|has|have)){0,2}\s(?:has|have|got|gotten|found|bought|chose|picked)|"
    r"(?:^|[.!?,:]\s|\b[Aa]nd\s|\n)[Gg]ot)\san?\Z|(?P<bare>(?:^|[.!?,:]\s|\b[Aa]nd\s|\n))\Z"
)
_CALLED = regex(
    r"(?:\s(?:btw|by\sthe\sway))?(?:\s?[:,–—]|\s-|,?\s(?:called|named|at|it['’]s))\s"
    r"(?:it['’]s\s|(?:the\s|its\s)?(?P<n>number|code|address|name)\s(?:is\s)?)?",
    2,
)
_END = regex(
    r"\s*(?:$|[.,;!?\n)]|(?:any\s?more|any\slonger|now|nowadays|these\sdays|currently|so\sfar|since|as\sof|once|previously|earlier|again|too|already|btw|from\snow)\b)",
    2,
)
_EDGE = regex(
    r"(?:,(?!\d)|[;:(\n]|\b(?:that|and|but|because|so|since|oh|well|again|actually|fyi|btw|hi|hey|ok|yes|sorry|correction|think|guess))\s+",
    2,
)
_BAD = frozenset(
    "that when how what where why who whom whether if it he she they we i you there this these those very so too such"
    " really pretty quite super about or always never just all more most less much many being getting going having here"
    " almost nearly only even done gone back up out off like one which everything something nothing anything someone next".split()
)
_STATES = frozenset(
    "changed broken dead gone closed open full lost stolen due done available empty ready fine ok okay good great bad"
    " different same new old unknown secret private wrong right correct important busy free sick late history".split()
)
_PLAIN_KINDS = frozenset(("phone", "email", "number", "date", "code", "address"))
_NAME_KINDS = frozenset(("person", "place", "organisation", "team", "name"))
_OLD = frozenset("old former previous prior original ex last earlier".split())


# The words that `_VERB` may begin with, but for a colon and "'s".
_VERB_WORDS = frozenset(
    "used has have just recently been was is got changed switched moved went updated set raised pushed bumped slipped cut"
    " reduced lowered increased rescheduled extended postponed upgraded lifted dropped hasn't haven't didn't did change"
    " isn't aren't wasn't now then actually currently still also both of officially are were will remains stays became"
    " no do does don't doesn't include includes".split()
)
_NOUN_WORDS = 6  # before a verb at most
_AHEAD = 190  # characters that they take at most, with the verb
# The words that `_BACK`, `_ADD`, `_TAKE` and `_AS` may end with.
_BACK_WORDS = frozenset(
    "as is are was were became remains be isn't wasn't become now still not longer actually also currently of to on off"
    " from".split()
)
_AS_WORDS = frozenset(("as", "among", "for"))


def marks(text: str) -> list[int]:
    """Where `MARK` may match in a text, but inside of words."""
    found = [0] if MARK.match(text) else []
    for match in _MARKS.finditer(text):
        at = match.start()
        if text[at] not in "'’":
            found.append(at + 1)
        elif text.startswith("s", at + 1):
            found.append(at)
    return found


def may_follow(text: str, place: int) -> bool:
    """Whether a verb may stand behind a noun that begins at a place: `_forward` finds nothing where it says no."""
    ahead = folded(text[place : place + _AHEAD])
    if ":" in ahead or ahead.find("'s", 24) >= 0:  # behind the longest of words that is read as one
        return True
    return not _VERB_WORDS.isdisjoint(ahead.replace(",", " ").split(None, _NOUN_WORDS + 1)[1 : _NOUN_WORDS + 1])


def may_precede(text: str, begin: int) -> bool:
    """Whether a verb, or "as", may stand before a possessive: `_back` and `_as` find nothing where it says no."""
    word = word_before(text, begin)
    return word in _BACK_WORDS or word in _AS_WORDS


def may_own(text: str, place: int) -> bool:
    """Whether who owns something may stand before "'s": `_owner` finds nobody where it says no."""
    parts = text[max(0, place - 60) : place].rsplit(None, 5)[-5:]
    if not parts or any(part.endswith(_DETERMINERS) for part in parts[:-1]):
        return bool(parts)
    last = parts[-1]
    if not last.isalpha():
        return True
    if last.islower():
        return False
    return not (last.casefold() in _NO_OWNERS and (len(parts) == 1 or (parts[-2].isalpha() and parts[-2].islower())))


_DETERMINERS = ("my", "My", "our", "Our", "the", "The")
_NO_OWNERS = _NOT_OWNERS | words.NOT_NAMES


def may_be_new(text: str, start: int) -> bool:
    """Whether "new" may be of what somebody got, or begin a clause: `_new` finds nothing where it says no."""
    near = text[max(0, start - 6) : start]
    before = near.rstrip()
    return not before or before[-1] in ".!?,:andAND;…" or "\n" in near or not before[-1].isalnum()


def read(reading: Reading, mark: re.Match[str]) -> bool:
    """What stands around a possessive, or around "new".

    Args:
        reading: of the text.
        mark: where `MARK` matched.
    """
    text, start, place = reading.text, mark.start(), mark.end()
    if start and (text[start - 1].isalnum() or text[start - 1] in "'’") != (text[start] in "'’"):
        return False
    word = mark[0].strip().casefold()
    if word == "the":
        return of(reading, mark)
    if word == "new":
        return may_be_new(text, start) and _new(reading, start, place, *reading.sentence(start))
    if word in ("his", "her", "their", "its"):
        return _others(reading, word, start, place)
    if word in ("'s", "’s"):
        return may_own(text, start) and _owned(reading, start, place)
    return _own(reading, ME if word in ("my", "our") else YOU, start, place)


def _others(reading: Reading, word: str, start: int, place: int) -> bool:
    """ "His", "her", "their", of whoever was named before; "its"."""
    text, known = reading.text, reading.person
    if known is not None and word != "its" and may_state(text, start) and may_follow(text, place):
        _, last = reading.sentence(start)
        if 0 <= reading.number(start) - known[1] <= 1:
            if _forward(reading, known[0], start, place, last, RESOLVED):
                return True
    if not may_precede(text, start):
        return False
    first, last = reading.sentence(start)
    found = _noun(text, place, last)
    return found is not None and _as(reading, None, found, start, first)


def _owned(reading: Reading, start: int, place: int) -> bool:
    """ "Priya's", "my sister's"."""
    text = reading.text
    first, last = reading.sentence(start)
    owner = _owner(text, max(first, start - 60), start)
    if owner is None:
        return False
    begin, subject = owner.start("who"), _whose(owner["who"])
    if may_state(text, begin):
        if may_follow(text, place) and _forward(reading, subject, begin, place, last):
            return True
        if subject.startswith(("my ", "our ")) and _short(reading, subject, begin, start, last):
            return True
    return may_precede(text, begin) and _behind(reading, subject, begin, place, first, last)


def _own(reading: Reading, subject: str, start: int, place: int) -> bool:
    """ "My", "our", "your"."""
    text = reading.text
    near = text[place : place + 70]
    chained = "'s" in near or "’s" in near
    forward = may_state(text, start) and may_follow(text, place)
    back = may_precede(text, start)
    if not (chained or forward or back):
        return False
    first, last = reading.sentence(start)
    if chained:
        chain = _CHAIN.match(text, place, last)
        further = MARK.match(text, chain.end(), last) if chain else None
        if further and read(reading, further):
            return True
    if forward and _forward(reading, subject, start, place, last):
        return True
    return back and _behind(reading, subject, start, place, first, last)


def _behind(reading: Reading, subject: str, begin: int, place: int, first: int, last: int) -> bool:
    """What stands before a possessive, if its noun ends the clause."""
    found = _noun(reading.text, place, last)
    return found is not None and (
        _back(reading, subject, found, begin, first) or _as(reading, subject, found, begin, first)
    )


_WHO = regex(r"(?P<who>.+)\Z", 2)


def _owner(text: str, first: int, end: int) -> re.Match[str] | None:
    match = _OWNER.search(text, first, end)
    while match:
        parts = match[0].split(None, 1)
        low = parts[0].casefold()
        if len(parts) == 1 and (low in _NOT_OWNERS or low in words.NOT_NAMES):
            return None
        if low not in _LEAD_NAMES:
            return _WHO.match(text, match.start(), end)
        match = _OWNER.search(text, match.start() + len(parts[0]), end)
    return None


def _whose(owner: str) -> str:
    """An owner as `Said` has it: "my sister" for "My sister", "Anna" for "my sister Anna"."""
    parts = owner.split()
    if parts[0].casefold() not in ("my", "our", "your", "the"):
        return owner
    if len(parts) > 2 and parts[-1][0].isupper() and parts[-2].casefold() in words.RELATIONS:
        return parts[-1]
    if parts[0].casefold() == "the" and len(parts) > 2 and parts[-1][0].isupper() and parts[1].islower():
        return parts[-1]  # "since the move Henrietta's …"
    return " ".join([parts[0].casefold(), *[part for part in parts[1:] if part.casefold() not in ("new", "current")]])


def _noun(text: str, place: int, end: int) -> tuple[str, int] | None:
    """The noun phrase that a clause ends with."""
    stop = place
    for _ in range(5):
        match = _WORD.match(text, stop, end)
        if not match or match[1].casefold() in NO_NOUN or match[1].endswith(("'s", "’s")):
            return None
        stop = match.end()
        if _END.match(text, stop, end):
            return text[place:stop], stop
        if text[stop : stop + 1] != " ":
            return None
        stop += 1
    return None


def _forward(reading: Reading, subject: str, begin: int, place: int, last: int, sure: float = 1.0) -> bool:
    """Whose, noun, verb, value."""
    text, stop = reading.text, place
    for _ in range(6):
        match = _WORD.match(text, stop, last)
        low = match[1].casefold() if match else ""
        if not match or low in NO_NOUN or low.endswith(("'s", "’s")):
            return False
        stop = match.end()
        verb = _VERB.match(text, stop, last)
        if verb:
            return _verb(reading, subject, text[place:stop], begin, verb, last, sure)
        if text[stop : stop + 1] != " ":
            return False
        stop += 1
    return False


def _short(reading: Reading, owner: str, begin: int, place: int, last: int) -> bool:
    """ "My number's now …"."""
    verb = _VERB.match(reading.text, place, last)
    noun = owner.split(None, 1)[1]
    slot = slot_of(reading, noun)
    return bool(verb and slot and not slot.startswith(OPEN)) and _verb(reading, ME, noun, begin, verb, last)  # type: ignore[arg-type]


def slot_of(reading: Reading, noun: str, many: bool = False) -> str | None:
    """The slot that a noun phrase names."""
    names = slots_called(noun, reading.slots)
    if not names:
        return None
    if names[0].startswith(OPEN):
        one = slots_called(" ".join(singular(noun.split())), reading.slots)
        if one and not one[0].startswith(OPEN):
            return one[0]
        if many and one:
            return one[0]
        name = names[0].removeprefix(OPEN)
        head = name.rsplit(None, 1)[-1]
        parts = name.split()
        if head in ("favourite", "favourites", "fave", "fav", "faves", "favs") or any(
            word[0].isupper() for word in noun.split()[1:]
        ):
            return None
        if len(parts) > 4 or name in words.OPEN_NOT or (len(parts) == 1 and head in words.OPEN_HEADS_NOT):
            return None
        if any(word in words.RELATIONS for word in (parts[0], head)):
            return None
        if any(word in NO_NOUN or (word.endswith("ing") and len(parts) == 1) for word in parts):
            return None
    return names[0]


_PLACED = regex(r"\s*(?:in|at|on|from|with|near|by|to|over|back|away|off)\s", 2)


def _placed(reading: Reading, slot: str, place: int, last: int) -> bool:
    """Whether it is said where somebody is: "my friends are in Berlin" names no friend."""
    known = reading.slots.get(slot)
    return known is not None and known.kind == "person" and _PLACED.match(reading.text, place, last) is not None


def _verb(
    reading: Reading, subject: str, noun: str, begin: int, verb: re.Match[str], last: int, known: float = 1.0
) -> bool:
    text = reading.text
    op, many = IS, bool(verb["in"] or verb["out"])
    said = (verb["copy"] or "").casefold()
    if verb["neg"] or verb["only"] or verb["out"]:
        op = NOT
    elif verb["used"] or " was" in said or " were" in said:
        op = WAS
    if "will be" in said or (verb["colon"] and begin > reading.sentence(begin)[0] + 60):
        return False
    one_of = bool(_ONE_OF.search(text, max(0, begin - 10), begin))
    slot = slot_of(reading, noun, many or one_of)
    if slot is None or _placed(reading, slot, verb.end(), last):
        return False
    if noun.casefold().split()[0] in _OLD and op == IS:
        op = WAS
    if (verb["to"] or verb["now"]) and "changed" not in verb[0].casefold():
        if noun.casefold().split()[-1] in words.RELATIONS:  # "my sister moved to Oslo"
            return False
    value, sure = value_of(reading, slot, noun, verb.end(), last)
    if value is None:
        return False
    if said.strip() in ("'s", "’s") and noun.casefold().split()[-1] in words.RELATIONS and not value[0][0].isupper():
        return False  # "my brother's number": nobody is called so
    first, old, corrects = value, verb["old"] or "", False
    more = _MORE.match(text, value[2], last)
    but = _BUT.match(text, more.end() if more else value[2], last)
    rather = _RATHER.match(text, value[2], last)
    arrow = _ARROW.match(text, value[2], last)
    if op == NOT and but:
        again, sure_again = value_of(reading, slot, noun, but.end(), last)
        if again is not None:
            value, old, op, corrects, sure = again, first[0], IS, not more and verb["neg"] != " no longer", sure_again
    elif op == IS and arrow:
        again, _ = value_of(reading, slot, noun, arrow.end(), last)
        if again is None:
            return False
        value, old = again, first[0]
    elif op == IS and rather:
        again, _ = value_of(reading, slot, noun, rather.end(), last)
        if again is not None:
            old, corrects = again[0], rather["w"].casefold() == "not"
    if one_of:
        begin = _ONE_OF.search(text, max(0, begin - 10), begin).start()  # type: ignore[union-attr]
    sure *= known * (0.95 if verb["colon"] else 1.0)
    return reading.say(
        slot,
        value,
        subject,
        begin,
        op=op,
        instead_of=_old(old),
        corrects=corrects,
        sure=sure,
        event=bool(verb["to"] or verb["now"]),
        until=op == NOT,
    )


def _old(old: str) -> str:
    found = values.stripped(old, 0, len(old)) if old else None
    return found[0] if found else ""


def value_of(reading: Reading, slot: str, noun: str, place: int, last: int) -> tuple[Value | None, float]:
    """The value that begins here, and how surely it is one."""
    text = reading.text
    person = noun.casefold().split()[-1] in words.RELATIONS
    match = None if person else _ON.match(text, place, last)
    place = values.skipped(text, match.end() if match else place, last)
    if place >= last:
        return None, 0.0
    stop = _STOP.search(text, place + 1, min(last, place + 100))
    end = stop.start() if stop else min(last, place + 100)
    known = reading.slots.get(slot)
    kind = known.kind if known else "any"
    shaped = values.value_at(text, place, last, kind) if known else None
    loose = values.stripped(text, place, end)
    if kind == "address" and shaped and loose and stop and stop[0] != "," and loose[2] < shaped[2]:
        shaped = loose
    if shaped and (loose is None or shaped[2] >= loose[2] or kind in ("date", "diet", "person")):
        if kind not in ("any", "thing", "subject"):
            return (shaped, 1.0) if _fits(reading, slot, noun, shaped, kind, True) else (None, 0.0)
        loose = shaped
    if loose is None or not _fits(reading, slot, noun, loose, kind, bool(shaped)):
        return None, 0.0
    return loose, 1.0 if shaped or not known else ODD


def _fits(reading: Reading, slot: str, noun: str, value: Value, kind: str, shaped: bool) -> bool:
    """Whether a stretch can be a value: neither a clause nor what only judges."""
    said = value[0].casefold()
    parts = said.split()
    if (
        len(parts) > 6
        or parts[0] in _BAD
        or said in _STATES
        or parts[-1] in words.EVALUATIVE
        or said in words.EVALUATIVE
    ):
        return False
    if len(parts) == 1 and said.endswith("ly"):
        return False
    if noun.casefold().split()[-1] in words.RELATIONS and not value[0][0].isupper() and not reading.text[0].islower():
        return False
    favourite = slot.startswith(("favourite", "open:favourite"))
    strong = any(char.isdigit() for char in said) or value[0][0].isupper() or "@" in said
    moving = parts[0].endswith("ing") and (len(parts) > 1 or slot.startswith(OPEN))
    if (moving or parts[0].endswith("ed")) and not (strong or favourite or slot == "hobby"):
        return False
    if slot.startswith(OPEN):
        head = noun.casefold().split()[-1]
        if head in words.OPEN_HEADS_NOT:
            return any(char.isdigit() for char in said)
        article = value[1] >= 4 and reading.text[value[1] - 4 : value[1]].casefold() == "the "
        return (
            strong
            or favourite
            or (head in words.ATTRIBUTE_HEADS and len(parts) <= 4)
            or (len(slot.split()) > 1 and article and head not in words.OPEN_HEADS_NOT and len(parts) <= 3)
        )
    if shaped or strong:
        return True
    if kind in _PLAIN_KINDS:
        return False
    if kind in _NAME_KINDS:
        return len(parts) <= 3 and (
            reading.text[:1].islower() or reading.text[value[1] - 4 : value[1]].casefold() == "the "
        )
    return True


def _left(text: str, first: int, end: int) -> Value | None:
    """The value that a clause begins with."""
    first = max(first, end - 90)
    lead = _LEAD.match(text, first, end)
    if lead:
        first = lead.end()
    for edge in _EDGE.finditer(text, first, end):
        first = edge.end()
    return values.stripped(text, first, end)


def _back(reading: Reading, subject: str, noun: tuple[str, int], begin: int, first: int) -> bool:
    """Value, verb, whose, noun; and what is asked to be added to a list, or taken off."""
    text = reading.text
    for pattern, op in ((_ADD, IS), (_TAKE, NOT)):
        match = pattern.search(text, max(first, begin - 90), begin - 1)
        if match:
            slot = slot_of(reading, noun[0], True)
            value = values.stripped(text, *match.span("v"))
            known = reading.slots.get(slot) if slot else None
            if (
                slot is None
                or value is None
                or known is None
                or known.one
                or not _fits(reading, slot, noun[0], value, known.kind, False)
            ):
                return False
            lead = text[first : match.start()].strip(" ,").casefold()
            return reading.say(
                slot, value, subject, first if lead.endswith("please") else match.start(), op=op
            ) and _ends(reading, noun[1])
    verb = _BACK.search(text, max(first, begin - 80), begin - 1)
    if not verb:
        return False
    value = _left(text, first, verb.start())
    slot = slot_of(reading, noun[0], bool(verb["one"]))
    if value is None or slot is None:
        return False
    be, adv = (verb["be"] or "").casefold(), (verb["adv"] or "").casefold()
    if be == "will be":
        return False
    known = reading.slots.get(slot)
    if not _fits(reading, slot, noun[0], value, known.kind if known else "any", False):
        return False
    named = " " in noun[0] and all(part[0].isupper() for part in value[0].split()) and (" " in value[0] or adv)
    if slot.startswith(OPEN) and not verb["one"] and not named and not any(char.isdigit() for char in value[0]):
        if noun[0].casefold().split()[-1] not in words.ATTRIBUTE_HEADS and "favo" not in slot:
            return False
    op = NOT if "n't" in be.replace("’", "'") or "no" in adv else WAS if be in ("was", "were", "used to be") else IS
    if noun[0].casefold().split()[0] in _OLD and op == IS:
        op = WAS
    return reading.say(
        slot, value, subject, value[1], op=op, instead_of=_old(verb["old"] or ""), event=bool(verb["rep"])
    ) and _ends(reading, noun[1])


def _ends(reading: Reading, end: int) -> bool:
    reading.busy = max(reading.busy, end)
    return True


def _as(reading: Reading, subject: str | None, noun: tuple[str, int], begin: int, first: int) -> bool:
    """Whom, has, value, as, their, noun."""
    text = reading.text
    match = _AS.search(text, max(first, begin - 130), begin - 1)
    if not match or match.start("v") < reading.busy:
        return False
    who = match["s"]
    low = who.casefold()
    if low in ("i", "we"):
        who = ME
    elif low == "you":
        who = YOU
    elif subject is not None or low.split()[0] in words.NOT_NAMES - {"the", "my", "our"}:
        return False
    else:
        who = _whose(who)
    slot = slot_of(reading, noun[0], True)
    value = values.stripped(text, *match.span("v"))
    known = reading.slots.get(slot) if slot else None
    if slot is None or value is None or not _fits(reading, slot, noun[0], value, known.kind if known else "any", False):
        return False
    op = NOT if match["not"] else WAS if match["was"] else IS
    old = _old(match["old"] or "")
    return reading.say(slot, value, who, match.start("s"), op=op, instead_of=old, event=bool(old)) and _ends(
        reading, noun[1]
    )


def _new(reading: Reading, start: int, place: int, first: int, last: int) -> bool:
    """ "I got a new gym, Pulse", "new number: …"."""
    text = reading.text
    got = _GOT.search(text, max(0, start - 90), max(0, start - 1) if start > first else start)
    if got is None and start > first:
        got = _GOT.search(text, max(0, start - 4), start)
    if got is None:
        return False
    stop = place
    for _ in range(4):
        match = _WORD.match(text, stop, last)
        if not match or match[1].casefold() in NO_NOUN:
            return False
        stop = match.end()
        called = _CALLED.match(text, stop, last)
        if called:
            break
        if text[stop : stop + 1] != " ":
            return False
        stop += 1
    else:
        return False
    noun = f"{text[place:stop]} {called['n']}" if called["n"] else text[place:stop]
    slot = slot_of(reading, noun)
    if slot is None or (slot.startswith(OPEN) and ":" not in called[0] and not called["n"]):
        return False
    value, sure = value_of(reading, slot, noun, called.end(), last)
    if value is None or not (any(char.isdigit() for char in value[0]) or value[0][0].isupper() or ":" in called[0]):
        return False
    who = got["s"] or ""
    who = ME if who.casefold() in ("i", "we", "") else _whose(who)
    return reading.say(slot, value, who, got.start("s") if got["s"] else start, sure=sure, event=True)


_OF = regex(
    r"(?<![\w'’-])[Tt]he\s(?P<noun>(?:[a-z][\w-]{1,20}\s){1,4}?)(?:of|for|at|on)\s(?P<who>(?:[Mm]y|[Oo]ur|[Tt]he)\s[\w-]{1,20}"
    r"(?:\s[\w-]{1,20}){0,2}?(?:['’]s)?|[A-Z][\w-]{0,24}(?:\s[A-Z0-9][\w-]{0,24}){0,2}(?:['’]s)?)(?:['’]s\splace)?(?P<at>\splace)?"
    r"(?=\s(?:is|was|has|changed|moved|went|slipped|used|isn|hasn|remains|got|stays|now|still)\b|:\s)"
)


def of(reading: Reading, match: re.Match[str]) -> bool:
    """ "The deadline of Project Kestrel is …", "the wifi password at my mother's place is …".

    Args:
        reading: of the text.
        match: of what begins with "the".
    """
    text, begin = reading.text, match.start()
    _, last = reading.sentence(begin)
    found = _OF.match(text, begin, last)
    if not found:
        return False
    who = found["who"]
    for tail in ("'s", "’s"):
        who = who.removesuffix(tail)
    who = ME if who.casefold() in ("my place", "our place", "my home", "our house", "my house") else _whose(who)
    verb = _VERB.match(text, found.end(), last)
    return bool(verb) and _verb(reading, who, found["noun"].strip(), begin, verb, last)  # type: ignore[arg-type]
