"""Statements that are no full sentences: notes, fragments, asides, unusual orders.

    sentence ─ words ─ whose? ─ of what? (a cue) ─ values that look like it ─ nothing else that weighs ─▶ Said

It is asked where the exact rules found nothing. Every word must have a place: whose it is, the cue of a slot
(`cue_words`), one value that looks like one of the slot (two where a change is told), and words that weigh nothing.
What is left over may be one or two words at most, and none where the value could be many things.
"""

from __future__ import annotations

from typing import NamedTuple

from recall_integrations.facts.cue_words import LIKED, VERBS, Cues, cues_of
from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import values, words
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, ME, NOT, WAS
from recall_integrations.facts.slots import OPEN
from recall_integrations.patterns import regex

CHARS = 200  # of a text that are read so: who leaves a note is brief
SENTENCE_MAX, WORDS_MAX, UNKNOWN_MAX = 150, 24, 4
NOTE_MAX = 120  # characters of a text whose fragments are the speaker's
ANCHORED_ROOM = 4  # words that may be left over beside a noun with its owner and a value with a digit or a capital
WORDS_OF_KEY = 6  # of what stands before a question mark that is a colon
PLAIN_MAX = 14  # words of a sentence without a digit
LOOSE = 0.67  # what confidence is multiplied with: .6 in the end

_TOKEN = regex(
    r"->|-->|=>|→|⇒|➔|➡|[-–—]+(?=\s|$)|[£$€]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\w*|\w+@[^\s,;()]+|\d+:\d+\w*|"
    r"[^\s=():,;\"“”|?]+|[=():,;\"“”|?]"
)
_TRAIL = ".!…*'’`"
STRICT = frozenset(("phone", "email", "address"))
_SHAPED = frozenset(("date", "number", "code", "blood", "medicine"))
_LISTED = frozenset(
    ("language", "diet", "instrument", "sport", "marital", "religion", "nationality", "work", "vehicle")
)
_CLOSED = (
    ("diet", words.DIETS), ("marital_status", words.MARITAL), ("editor", words.EDITORS),
    ("instrument", words.INSTRUMENTS), ("sport", words.SPORTS - words.INSTRUMENTS),
)  # fmt: skip
_THINGS = frozenset(("deadline", "launch_date", "location", "owner", "version", "price", "budget", "status"))
_OF_THINGS_ONLY = frozenset(("launch_date", "location", "owner", "version", "price", "budget"))
_NAMES = frozenset(("person", "place", "organisation", "named", "titled", "name"))
_MODIFIED = frozenset(("allergy", "diet", "major", "condition", "language", "instrument", "sport"))
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
}
_JOINERS = frozenset("of the de la le du van von der am upon & and".split())
# Words that may stand between the noun of a slot and its value, where the value could be many things.
_LEADS = {
    "employer": ("at", "with", "for"), "gym": ("at",), "bank": ("with", "at"), "home": ("in",), "school": ("at",),
    "location": ("in", "at"), "insurer": ("with", "by"), "mobile_provider": ("with",), "rent": ("of", "at"),
    "deadline": ("on", "by"), "budget": ("of", "at"), "version": ("on", "v"), "job": ("as",), "doctor": ("with",),
    "dentist": ("with",), "birthday": ("on",), "time_zone": ("on",), "allergy": ("to",), "owner": ("by",),
    "partner": ("with",), "hometown": ("in",), "launch_date": ("on",), "phone_number": ("on", "at", "under"),
    "email": ("at", "to"), "address": ("at", "to"), "wifi_password": ("with",), "price": ("at", "of", "for"),
    "roommate": ("with",), "learning": ("in",), "language": ("in",), "coach": ("with", "by"), "salary": ("of", "at"),
}  # fmt: skip


_HARD = known.POISON - known.MILD
_CHATTY = frozenset(
    "good great nice awesome amazing cool fun glad wonderful beautiful lovely fantastic excited exciting proud tired"
    " interesting inspiring gorgeous cute sweet incredible stunning delicious perfect funny hard tough crazy sad lot lots"
    " wow haha yeah something anything some photo shares awful lately's"
    " agreed definitely truly absolutely totally such pretty quite enjoyed loved better".split()
)
_YOU = frozenset("you your you're you've they them their everyone".split())
_TASTE = frozenset("favourite favorite fave fav hobby pastime".split())


class _Token(NamedTuple):
    text: str
    low: str
    start: int
    end: int
    own: bool  # whether it ends with a possessive


class _Cue(NamedTuple):
    slots: tuple[str, ...]
    places: tuple[int, ...]
    after: int  # where the value begins, of a verb; -1 of a noun


class _Found(NamedTuple):
    value: Value
    first: int
    stop: int  # tokens


def read(reading: Reading) -> None:
    """What short sentences say in which nothing was found.

    Args:
        reading: of the text, with what exact rules found.
    """
    text = reading.text
    low = text[:CHARS].lower()
    cues = cues_of(reading.slots)
    if cues.gate.isdisjoint(low.split()) or "**" in low or "`" in low or "##" in low or "{" in low:
        return  # the last ones: of a document, or code
    if "’" in low:
        low = low.replace("’", "'")
    place, done = 0, -1
    for part in _parts(low):
        end = place + len(part)
        if end == CHARS < len(text):
            return  # it is cut off
        if done < place and 5 < len(part) <= SENTENCE_MAX and (len(part) < 45 or text[end : end + 1] != "?"):
            words_here = part.split()
            if (
                len(words_here) <= WORDS_MAX
                and not cues.gate.isdisjoint(words_here)
                and (_HARD.isdisjoint(words_here) or "i said" in part)
            ):
                key = text[end : end + 2] == "? " and len(words_here) <= WORDS_OF_KEY
                if key or _may_say(part, text[place:end], words_here, cues):
                    done = _sentence(reading, cues, place, end)
        place = end + 1


_IF_ASKED = regex(r"\bif\s(?:you|any|some|it|need|people|asked)")
_STOPS = ((". ", "\x01 "), ("! ", "\x01 "), ("? ", "\x01 "), ("\n", "\x01"), ("; ", "\x01 "))


def _parts(low: str) -> list[str]:
    """Sentences, as far as plain signs tell: each ends one sign before the next begins."""
    if "r. " in low or "s. " in low:
        for short in ("dr. ", "mr. ", "ms. ", "mrs. "):
            low = low.replace(short, f"{short[:-2]}_ ")
    for stop, sign in _STOPS:
        low = low.replace(stop, sign)
    return low.split("\x01")


_MARKS = str.maketrans(dict.fromkeys(':,;()"=–—|?!.…*/', " "))
_DIGIT = regex(r"\d|@")
_OWN = frozenset(("my", "our", "mine"))
_SIGN = regex(r"[:=(→]|->|\s[-–—]\s|(?<=\S )(?:[A-HJ-Z]|I\w)")
_LISTED_WORDS = (
    words.DIETS | words.EDITORS | words.INSTRUMENTS | words.SPORTS | words.MARITAL | words.LANGUAGES | words.COLOURS
)


def _may_say(low: str, part: str, listed: list[str], cues: Cues) -> bool:
    """Whether a sentence with a cue has few unknown words, and what a value has: most sentences of a chat have not.

    Args:
        low: the sentence in lower case.
        part: as it is written.
        listed: its words.
        cues: of the schema.
    """
    if part[0] == "[" or part[:2] == " [":
        return False
    found = set(low.translate(_MARKS).split())
    digits = _DIGIT.search(low) is not None
    owned = not found.isdisjoint(_OWN) or "'s " in low
    if not digits and (
        len(listed) > PLAIN_MAX or not _CHATTY.isdisjoint(found) or not (owned or _YOU.isdisjoint(found))
    ):
        return False
    if len(found - cues.known) > UNKNOWN_MAX + 2 * digits + owned:
        return False
    return (
        digits
        or _SIGN.search(part) is not None
        or (len(listed) <= 9 and (listed[0] not in cues.known or not found.isdisjoint(_LISTED_WORDS)))
        or not found.isdisjoint(_TASTE)
    )


def _sentence(reading: Reading, cues: Cues, first: int, last: int) -> int:
    """Reads a sentence; how far it reaches."""
    text = reading.text
    asked = text[last : last + 1] == "?" or text[last - 1 : last] == "?"
    if asked and last + 2 < len(text):  # "My number? 555-0101"
        last = reading.sentence(last + 2)[1]
        asked = reading.asked(last)
    if asked or any(first <= said.span[0] <= last for said in reading.found):
        return last
    while first < last and text[first] in " \t-*•>":
        first += 1
    here = text[first:last].lower()
    if "if " in here and not _IF_ASKED.search(here):
        return last
    poisoned = not known.MILD.isdisjoint(here.split())
    note = _Note(reading, cues, first, last, poisoned)
    if 1 < len(note.tokens) <= 2 * WORDS_MAX:
        note.read()
    return last


class _Note:
    """One sentence while it is read."""

    def __init__(self, reading: Reading, cues: Cues, first: int, last: int, poisoned: bool) -> None:
        self.reading, self.cues, self.first, self.last, self.poisoned = reading, cues, first, last, poisoned
        self.text = reading.text
        self.tokens = _cut(reading.text, first, last)
        self.low = [token.low for token in self.tokens]
        self.mine = not known.ME.isdisjoint(self.low)
        self.subject = ME
        self.owned: frozenset[int] = frozenset()

    def read(self) -> bool:
        """Whether something was found and kept."""
        self._whose()
        if self.low.count(":") > 1 and not any(c.isdigit() for c in self.text[self.first : self.last]):
            return False
        if self.subject == ME and not _OTHERS.isdisjoint(self.low):
            return self._his()
        if self._anchors():
            return True
        nouns = self._nouns()
        found = [*nouns, *self._verbs()]
        for cue in found:
            for slot in cue.slots:
                if self._try(slot, cue):
                    return True
        return self._open() or self._uncued()

    # -- whose -------------------------------------------------------------------------------------------------------

    def _whose(self) -> None:
        """An owner that is told: "Priya's", "my sister's", "sister's"."""
        for i, token in enumerate(self.tokens):
            if not token.own:
                continue
            begin = i
            if token.low in words.RELATIONS and self.low[i + 1 : i + 2] != ["the"]:
                while begin and self.low[begin - 1] in words.RELATION_ADJECTIVES:
                    begin -= 1
                if begin and self.low[begin - 1] in ("my", "our"):
                    begin -= 1
                name = " ".join([*[w for w in self.low[begin:i] if w not in ("my", "our")], token.low])
                self.subject, self.owned = f"my {name}", frozenset(range(begin, i + 1))
                return
            if not self._name(i) or (not known.ME.isdisjoint(self.low) and i):
                continue
            while begin and self.tokens[begin - 1].text[:1].isupper() and not self.tokens[begin - 1].own:
                if (
                    self.low[begin - 1] in words.NOT_NAMES
                    or self.low[begin - 1] in known.TALK
                    or self.low[begin - 1] in known.MILD
                ):
                    break
                begin -= 1
            if not known.ME.isdisjoint(self.low):  # "Oslo's my home"
                continue
            self.subject = " ".join(t.text for t in self.tokens[begin : i + 1])
            begin -= bool(begin and self.low[begin - 1] == "the")
            self.owned = frozenset(range(begin, i + 1))
            return
        self._kin()

    def _kin(self) -> None:
        """ "My cousin is a plumber", "my sister: …", and nobody's thing else."""
        for i, low in enumerate(self.low):
            if low in ("my", "our") or (i == 0 and low in words.RELATIONS):
                end = i + (low in ("my", "our"))
                while end < len(self.low) and self.low[end] in words.RELATION_ADJECTIVES:
                    end += 1
                if end < len(self.low) and self.low[end] in words.RELATIONS and self.low[end] not in _NO_KIN:
                    rest = {*self.low[:i], *self.low[end + 1 :]}
                    if rest & known.ME or (self.low[end] in self.cues.nouns and not self._other_cue(i, end)):
                        return
                    kin = " ".join(self.low[i + (low in ("my", "our")) : end + 1])
                    self.subject, self.owned = f"my {kin}", frozenset(range(i, end + 1))
                return

    def _other_cue(self, first: int, last: int) -> bool:
        return any(
            low in self.cues.nouns or low in self.cues.verbs
            for i, low in enumerate(self.low)
            if not first <= i <= last
            and low not in ("is", "are", "was", "has", "have", "had", "'s", "name", "new", "get")
        )

    def _name(self, i: int) -> bool:
        """Whether a word is written as a name."""
        token = self.tokens[i]
        if not token.text[:1].isupper():
            return False
        if token.low in words.NOT_NAMES or (i == 0 and self._plain(i)):
            return False
        return token.low not in known.ME

    def _plain(self, i: int) -> bool:
        low = self.low[i]
        return low in known.TALK or low in self.cues.first or low in self.cues.verbs or low in known.ENDED

    # -- of what -----------------------------------------------------------------------------------------------------

    def _nouns(self) -> list[_Cue]:
        """Nouns that may name a slot, the longest first; those in capitals only if there are no others."""
        found: list[tuple[bool, int, _Cue]] = []
        nouns, first = self.cues.nouns, self.cues.first
        for i, low in enumerate(self.low):
            longest = first.get(low)
            if not longest or i in self.owned:
                continue
            for size in range(longest, 0, -1):
                phrase = " ".join(self.low[i : i + size])
                if phrase in nouns:
                    capital = self.tokens[i].text[0].isupper() and i > 0
                    if not self.mine and (
                        (capital and not self.owned) or {"a", "an"} & set(self.low[max(0, i - 2) : i])
                    ):
                        break  # "from a small town"
                    found.append(
                        (capital, -size, _Cue(nouns[phrase], tuple(range(i, min(i + size, len(self.low)))), -1))
                    )
                    break
        plain = [each for each in found if not each[0]]
        return [cue for _, _, cue in sorted(plain or found, key=lambda each: each[1])]

    def _verbs(self) -> list[_Cue]:
        found = []
        for i, low in enumerate(self.low):
            if i in self.owned:
                continue
            for rest, slot in self.cues.verbs.get(low, ()):
                places, at = [i], i + 1
                if low in ("moving", "relocating", "joining", "starting", "switching", "buying", "getting", "leaving"):
                    continue  # not yet
                for word in rest:
                    gap = next((j for j in range(at, min(at + 3, len(self.low))) if self.low[j] == word), None)
                    if gap is None or any(not self._weightless(j) for j in range(at, gap)):
                        break
                    places.append(gap)
                    at = gap + 1
                else:
                    found.append(_Cue((slot,), tuple(places), at))
        return sorted(found, key=lambda cue: -len(cue.places))

    def _weightless(self, i: int) -> bool:
        low = self.low[i]
        if low in known.SEPARATORS:
            return True
        if i == 0 and self.tokens[0].text[0].isupper() and self.low[1] in known.ARROWS:
            return False
        if i and self.tokens[i].text[0].isupper() and low not in known.ME and not self._shouted(i):
            return False
        return low in known.TALK

    def _shouted(self, i: int) -> bool:
        """Whether a capital says nothing: at the beginning of a clause behind a colon, or of a word like "FYI"."""
        return self.tokens[i].text.isupper() and len(self.tokens[i].text) > 1 and self.low[i] in known.TALK

    # -- a slot and its values ---------------------------------------------------------------------------------------

    def _try(self, slot: str, cue: _Cue) -> bool:
        """Whether the sentence says something of the slot."""
        have = self.reading.slots.get(slot)
        if have is None:
            return False
        used = set(cue.places)
        if slot in self.cues.liked:
            liked = [i for i, low in enumerate(self.low) if low in LIKED]
            at = cue.places[0]
            liked = [
                i for i in liked if i in (at - 1, at - 2) or (self.low[i] in _LIKING and (self.mine or self.owned))
            ]
            if not liked and not self._for_me(cue):
                return False
            used.update(liked)
        if cue.after < 0 and slot not in self.cues.liked and slot not in _MODIFIED:
            compound = self._compound(cue)
            if compound is not None and slots_called(compound[0], self.reading.slots)[:1] != (slot,):
                return False
        kind = "vehicle" if slot == "car" and cue.after >= 0 and self.low[cue.places[0]] in _ANY_VERB else have.kind
        if self.low[cue.places[0]] in ("work", "works") and cue.after < 0 and slot in ("employer", "job"):
            nxt = cue.places[0] + 1
            if nxt >= len(self.low) or self.low[nxt] not in _EQUALS:
                return False
        anchored = cue.after < 0 and self._anchored(cue, slot)
        if self.poisoned and not anchored and not (kind in STRICT and self.mine):
            return False
        for i, low in enumerate(self.low):  # other words for the same
            if i not in used and i not in self.owned and slot in self.cues.nouns.get(low, ()) and not self._capital(i):
                used.add(i)
        free = [i for i in range(len(self.tokens)) if i not in used and i not in self.owned and not self._weightless(i)]
        found = self._values(slot, kind, free, used)
        return bool(found) and self._settle(slot, kind, cue, found, free, anchored)

    def _anchored(self, cue: _Cue, slot: str) -> bool:
        """Whether the noun itself has its owner beside it: "my phone number", "Priya's gym", "the gym of mine"."""
        at = cue.places[0] - 1
        while at >= 0 and (self.low[at] in _BEFORE_NOUN or (slot in self.cues.liked and self.low[at] in LIKED)):
            at -= 1
        if at >= 0 and (self.low[at] in ("my", "our") or at in self.owned):
            return True
        after = self.low[cue.places[-1] + 1 : cue.places[-1] + 3]
        return after in (["of", "mine"], ["for", "me"], ["of", "ours"], ["for", "us"], ["i", "have"], ["i", "use"])

    def _for_me(self, cue: _Cue) -> bool:
        """ "Teal is the colour for me"."""
        at = cue.places[-1] + 1
        return self.low[at : at + 2] == ["for", "me"] and self.low[at - 2 : at - 1] == ["the"]

    def _capital(self, i: int) -> bool:
        return i > 0 and self.tokens[i].text[:1].isupper()

    def _modifier(self, cue: _Cue) -> list[int]:
        """What stands right before a noun: "sesame allergy"."""
        at = cue.places[0] - 1
        return [at] if at >= 0 and not self._weightless(at) and at not in self.owned else []

    def _compound(self, cue: _Cue) -> tuple[str, int] | None:
        """A noun with the words before it that make it another one: "badge number"."""
        first = cue.places[0]
        begin = first
        while (
            begin
            and first - begin < 3
            and self.tokens[begin - 1].text.isalpha()
            and self.tokens[begin - 1].text.islower()
            and not self._weightless(begin - 1)
            and begin - 1 not in self.owned
        ):
            begin -= 1
        if (
            begin == 1
            and self.low[0].isalpha()
            and not self._weightless(0)
            and not self._plain(0)
            and not self._name(0)
        ):
            begin = 0
        if begin == first:
            return None
        return " ".join(self.low[begin : cue.places[-1] + 1]), begin

    def _values(self, slot: str, kind: str, free: list[int], used: set[int]) -> list[_Found]:
        """All that looks like a value, in order."""
        found: list[_Found] = []
        after = 0
        for i in free:
            if i < after:
                continue
            value = self._value(slot, kind, i, used)
            if value is not None:
                found.append(value)
                after = value.stop
        return found

    def _value(self, slot: str, kind: str, i: int, used: set[int]) -> _Found | None:
        start = self.tokens[i].start
        shape = SHAPES.get(slot)
        if shape is not None:
            match = shape.match(self.text, start, self.last)
            value: Value | None = (match[0], *match.span()) if match else None
        elif kind in STRICT or kind in ("date", "blood", "medicine"):
            value = values.value_at(self.text, start, self.last, kind)
        else:
            end = self._run(kind, i, used)
            value = values.value_at(self.text, start, end, kind)
            if kind in _NAMES and not self.text[start].isupper():
                value = None
            if value is None and kind == "thing" and self.tokens[i].text[0].isupper():
                value = values.stripped(self.text, start, end)
        if value is None or value[1] > start + 1:
            return None
        if kind == "address" and (value[0][0] == "0" or not any(w[0].isupper() for w in value[0].split()[1:])):
            return None
        stop = i + 1
        while stop < len(self.tokens) and self.tokens[stop].start < value[2]:
            stop += 1
        token = self.tokens[stop - 1]
        if token.own and value[2] > token.start:
            value = (value[0][: token.start + len(token.text) - value[1]], value[1], token.start + len(token.text))
        return _Found(value, i, stop)

    def _run(self, kind: str, i: int, used: set[int]) -> int:
        """Where a run of words that have no other place ends."""
        j = i
        while j + 1 < len(self.tokens):
            nxt = j + 1
            if self.low[nxt] in _UNITS and self.tokens[j].text[-1].isdigit():
                j = nxt
                continue
            if nxt not in used and nxt not in self.owned and self.low[nxt] not in known.SEPARATORS:
                if not self._weightless(nxt) and not self.tokens[j].own:
                    j = nxt
                    continue
                if self.low[nxt] in _JOINERS and nxt + 1 < len(self.tokens) and self._capital(nxt + 1):
                    if self.tokens[j].text[0].isupper() and self.low[nxt] != "and" and nxt + 1 not in used:
                        j = nxt + 1
                        continue
                if self.low[nxt] in ("to", "of") and nxt + 1 < len(self.tokens) and kind == "number":
                    if self.tokens[j].text[0].isdigit() and self.tokens[nxt + 1].text[0].isdigit():
                        if slot_like_hours(self.low, used):
                            j = nxt + 1
                            continue
            break
        return self.tokens[j].start + len(self.tokens[j].text)

    # -- what it says ------------------------------------------------------------------------------------------------

    def _settle(
        self, slot: str, kind: str, cue: _Cue, found: list[_Found], free: list[int], anchored: bool = False
    ) -> bool:
        """Finds out who, what and how, and keeps it if nothing is left over."""
        covered = {i for each in found for i in range(each.first, each.stop)}
        left = [i for i in free if i not in covered]
        subject, found, left = self._subject(slot, kind, cue, found, left)
        if subject is None or not found or len(found) > 2:
            return False
        room = ANCHORED_ROOM if anchored and self._strong(slot, kind, found) else self._room(kind, subject)
        if len(left) > room or any(self._capital(i) for i in left):
            return False
        if cue.after >= 0 and not (self._leads(cue.after, found) and (subject != ME or self.mine or self._going(cue))):
            return False
        if any(self._astray(slot, kind, f) for f in found):
            return False
        if len(found) == 2:
            change = self._change(found[0], found[1])
            if change is None:
                return False
            old, new, corrects = change
            return self._say(slot, new.value, subject, IS, old.value[0], corrects)
        if cue.after < 0 and not self._linked(slot, kind, cue, found[0], anchored and kind != "any"):
            return False
        op = self._op(slot, found[0], cue)
        return op is not None and self._say(slot, found[0].value, subject, op, "", self._corrects())

    def _astray(self, slot: str, kind: str, found: _Found) -> bool:
        """Whether a value is only the first word of the sentence, somebody who is spoken to, or a day."""
        if kind in STRICT or slot in SHAPES or kind in _LISTED or kind in _SHAPED:
            return False
        value, low = found.value[0], self.low
        if value.split()[0].casefold() in words.DAYS | words.MONTHS:
            return True
        if any(c.isdigit() for c in value):
            return len(value) < 2 and not self.mine
        if low[found.stop : found.stop + 1] == ["and"] and low[found.stop + 1 : found.stop + 2] in (
            ["i"],
            ["my"],
            ["me"],
        ):
            return True
        before = low[found.first - 1] if found.first else ""
        if before in ("hey", "hi", "hello", "thanks", "dear", "thank", "bye", "ok", "okay"):
            return True
        if found.first > (1 if low[0] == "the" else 0) or not self._titled(found):
            return False
        behind = [w for w in low[found.stop : found.stop + 4] if w not in _ADVERBS - {"my", "our"}]
        if self.tokens[found.stop - 1].own or behind[:1] in ([], ["["]):
            return not self.tokens[found.stop - 1].own
        if behind[0] == ",":
            return not (
                {"that's", "it's", "hands"} & set(behind[1:2]) or behind[1:2] in (["my"], ["our"]) or self.owned
            )
        return behind[0] not in _SAYS

    def _strong(self, slot: str, kind: str, found: list[_Found]) -> bool:
        """Whether values show by themselves that they are some."""
        return kind in STRICT or slot in SHAPES or kind in _LISTED or all(
            self._titled(f) or any(c.isdigit() for c in f.value[0]) for f in found
        )  # fmt: skip

    def _room(self, kind: str, subject: str) -> int:
        """How many words may be left over."""
        mine = self.mine or subject != ME
        if kind in STRICT:
            return 3 if mine else 1
        return 1 if kind in _SHAPED and mine else 0

    def _subject(
        self, slot: str, kind: str, cue: _Cue, found: list[_Found], left: list[int]
    ) -> tuple[str | None, list[_Found], list[int]]:
        """Whom it is of, and the values and words without that."""
        if self.owned or self.mine:
            if slot in _OF_THINGS_ONLY and self.subject == ME:
                return None, found, left
            return self.subject, found, left
        begin = 1 if self.low[0] == "the" else 0
        named = [f for f in found if self._titled(f)]
        runs = _runs(left)
        for run in runs:  # "for Priya", "of Project Kestrel", "Priya: …"
            before = self.low[run[0] - 1] if run[0] else ""
            lead = before == "the" and run[0] > 1 and self.low[run[0] - 2] in ("for", "of", "on")
            if run[0] == begin or before in ("for", "of") or lead:
                whole = [i for i in run if self.tokens[i].text[0].isupper() or slot in _THINGS]
                if len(whole) == len(run) and len(run) <= 3 and (self._name(run[0]) or slot in _THINGS):
                    if not self._name(run[0]) and slot not in _THINGS:
                        continue
                    if slot in _OF_THINGS_ONLY and not self._thingy(run) and before not in ("for", "of", "the"):
                        return None, found, left
                    if cue.after < 0 and run[-1] == cue.places[0] - 1 and (slot not in _THINGS or len(run) < 2):
                        return None, found, left  # "Pickup code", "Repair location"
                    return self._told(run, before, lead), found, [i for i in left if i not in run]
        if named and len(found) > 1:
            who = next((f for f in named if f.first == begin), None)
            if who is None:
                who = next((f for f in named if self.low[f.first - 1] in ("for", "of")), None)
            if who is None and cue.after < 0 and kind == "person" and named[-1] is found[-1]:
                return None, found, left
            if (
                who is not None
                and cue.after < 0
                and (slot not in _THINGS or not self._thingy([*range(who.first, who.stop)]))
            ):
                if who.stop == cue.places[0] or slot in _OF_THINGS_ONLY:
                    return None, found, left
            if who is not None and (len(found) == 3 or self._change(found[0], found[1]) is None):
                rest = [f for f in found if f is not who]
                if self.text[who.value[1] : who.value[2]]:
                    return self._told(list(range(who.first, who.stop)), "the" * begin, False), rest, left
        if slot in _OF_THINGS_ONLY:
            return None, found, left
        return ME, found, left

    def _titled(self, found: _Found) -> bool:
        return self.tokens[found.first].text[0].isupper() and not any(c.isdigit() for c in found.value[0][:1])

    def _thingy(self, run: list[int]) -> bool:
        """Whether words can name a thing: one word only with a digit in it, or before a colon."""
        text = self.tokens[run[0]].text
        nxt = self.low[run[-1] + 1 : run[-1] + 2]
        return (
            len(run) > 1
            or any(c.isdigit() for c in text)
            or bool(nxt and nxt[0] in _EQUALS)
            or self.low[run[0] - 1 : run[0]] == ["the"]
        )

    def _told(self, run: list[int], before: str, lead: bool) -> str:
        name = " ".join(self.tokens[i].text for i in run)
        the = (before == "the" or lead) or not self.tokens[run[0]].text[0].isupper()
        return f"the {name}" if the else name

    def _leads(self, after: int, found: list[_Found]) -> bool:
        """Whether a value follows its verb."""
        at = after
        while at < len(self.low) and (self.low[at] in _BETWEEN or self.low[at] in ("'s",)):
            at += 1
        if any(each.first in (after, at) for each in found):
            return True
        return found[0].stop <= after and bool(
            {"what", "where", "who", "which", "one"} & set(self.low[found[0].stop : after])
        )

    def _going(self, cue: _Cue) -> bool:
        """Whether a verb without a subject can be the speaker's: "working at", "insured with", not an imperative."""
        verb = self.low[cue.places[0]]
        if verb.endswith(("ing", "ed")) or verb in ("born", "under", "payroll", "on"):
            return (
                not known.HOLDS.isdisjoint(self.low) or "these" in self.low or len(cue.places) > 1 or len(self.low) < 5
            )
        return len(cue.places) > 1 and not _is_base(verb)

    def _linked(self, slot: str, kind: str, cue: _Cue, found: _Found, anchored: bool) -> bool:
        """Whether what stands before a value does not make it something else: "gym with Sam", "job in Berlin"."""
        if kind in STRICT:
            return True
        at = found.first - 1
        while at >= 0 and self.low[at] in ("the", "a", "an", "my", "our"):
            at -= 1
        before = self.low[at] if at >= 0 else ""
        behind = self.low[found.stop] if found.stop < len(self.low) else ""
        between = self._between(cue, found)
        if {low for low in between if low in known.PREPOSITIONS} - {"of", "for", "as", "by", *_LEADS.get(slot, ())}:
            if not (between[-1:] == ["to"] and not known.CHANGING.isdisjoint(self.low)):
                return False
        if before in known.PREPOSITIONS and before not in _LEADS.get(slot, ()):
            if not (before == "to" and not known.CHANGING.isdisjoint(self.low[:at])) and before != "as":
                return False
        if behind in known.PREPOSITIONS and kind not in _SHAPED and behind not in ("as", "for", "in", "by", "of"):
            return False
        if kind in ("any", "name", "thing", "code", "team", "activity", "subject", "organisation", "person", "place"):
            return (anchored and self._titled(found)) or self._marked(slot, kind, cue, found)
        return True

    def _between(self, cue: _Cue, found: _Found) -> list[str]:
        if cue.places[0] > found.first:
            return self.low[found.stop : cue.places[0]]
        return self.low[cue.places[-1] + 1 : found.first]

    def _marked(self, slot: str, kind: str, cue: _Cue, found: _Found) -> bool:
        """Whether something says that a noun and a value belong together: "gym: Ironworks", "Berlin is home now"."""
        between = self._between(cue, found)
        if slot in _KIN_SLOTS and not (set(between[:1]) | set(between[-1:])) & (
            _EQUALS | {"is", "was", "called", "named", ","}
        ):
            return False
        if self.tokens[cue.places[-1]].own or (cue.places[0] > found.first and self.tokens[found.stop - 1].own):
            return True
        if kind == "code" and any(c.isdigit() or c == "_" for c in found.value[0]):
            return True
        near = [low for low in between if low not in _ADVERBS]
        if cue.places[0] > found.first:
            if (near and near[0] in _BONDS) or (between[:1] == [","] and (self.mine or slot in self.cues.liked)):
                return True
        elif (near and near[-1] in _BONDS) or (between[-1:] == [","] and (self.mine or self.owned)):
            return True
        if self.owned and not set(between) - known.SEPARATORS:
            return True
        here = set(self.low)
        if kind in ("person", "place", "organisation", "named", "titled", "code"):
            return bool(here & (known.HOLDS | {"new", "these", "call", "calls", "calling"}))
        return bool(here & (known.HOLDS | {"new"})) and not between

    def _op(self, slot: str, found: _Found, cue: _Cue) -> str | None:
        """Whether it holds, held or holds no longer; `None` = it cannot be told."""
        low = set(self.low)
        ended = [i for i, w in enumerate(self.low) if w in known.ENDED and not (w in _DONE and i in cue.places)]
        pairs = {f"{a} {b}" for a, b in zip(self.low, self.low[1:], strict=False)}
        if "gave up" in pairs or "give up" in pairs or "given up" in pairs:
            ended.append(found.stop)
        if "any more" in pairs or "any longer" in pairs:
            ended.append(found.stop)
        if "turned out" in pairs or "turns out" in pairs or ("out of" in pairs and "in" in low):
            ended = [i for i in ended if self.low[min(i, len(self.low) - 1)] != "out"]
        if slot in ("diet", "marital_status") and {"gone", "went"} & low and "is" not in low and "'s" not in low:
            ended = [i for i in ended if self.low[i] not in ("gone", "went")]
        fresh = low & {"new", "now", "instead", "current", "currently"} or "these days" in pairs
        negated = bool(low & _NEGATED)
        if self.low[0] in _OFF and found.first <= 2:
            return NOT
        if self._corrects() and not negated:
            return IS
        if "had been" in pairs and not fresh:
            return WAS
        if ended:
            if fresh and any(self.low[i] in ("new", "now") and i < found.first for i in range(len(self.low))):
                return IS
            return None if fresh and "no" not in low and not negated and "longer" not in low else NOT
        if negated and {"not just", "not only"} & pairs:
            return None
        if negated and slot not in ("allergy",):
            return NOT if low & {"is", "isn't", "not"} and (self.mine or self.owned) and "yet" not in low else None
        if low & known.PAST and not fresh and not (low & {"still", "since"}):
            return WAS if low & (known.PAST - {"had", "used"}) or pairs & {"used to"} else IS
        return IS

    def _corrects(self) -> bool:
        return not known.FIXED.isdisjoint(self.low)

    def _change(self, one: _Found, two: _Found) -> tuple[_Found, _Found, bool] | None:
        """Which of two values is the old one; `None` = no change is told."""
        low = self.low
        before, between, after = set(low[: one.first]), low[one.stop : two.first], set(low[two.stop :])
        mid = set(between)
        corrects = self._corrects()
        if mid & known.ARROWS:
            return one, two, corrects
        if mid & {"out", "gone", "dead", "off", "over", "history", "cancelled"} and (
            "in" in after or mid & {"in", "now", "it's", "new"} or after & {"now"}
        ):
            return one, two, corrects
        if "out" in before and "in" in mid:
            return one, two, corrects
        if "in" in mid and "out" in after:
            return two, one, corrects
        if mid & {"replaces", "replaced", "supersedes", "succeeds", "replacing", "succeeded"}:
            return (one, two, corrects) if "by" in mid else (two, one, corrects)
        if mid & {"instead", "rather"} or {"place", "of"} <= mid or {"took", "from"} <= mid:
            return two, one, corrects
        if "from" in mid and "to" in before:
            return two, one, corrects
        if mid & {"to", "into"} and ("from" in before or (before | mid) & known.CHANGING):
            return one, two, corrects
        if "for" in mid and before & known.GIVEN_UP:
            return one, two, corrects
        if mid & {"with", "by"} and (before | mid) & {"replaced", "replace", "replacing"}:
            return one, two, corrects
        if mid & {"became", "becomes"}:
            return one, two, corrects
        if between[-1:] == ["not"] or between[-2:] == [",", "not"]:
            return two, one, True
        if before & _NEGATED or (before | mid) & {
            "longer",
            "anymore",
            "forget",
            "scrap",
            "ignore",
            "used",
            "was",
            "old",
        }:
            if mid & {"but", "now", "it's", ",", "is", "new"}:
                return one, two, corrects or ("not" in before and "longer" not in before | mid)
        return None

    def _say(self, slot: str, value: Value, subject: str, op: str, old: str, corrects: bool) -> bool:
        if subject == ME and not self.mine and len(self.text) > NOTE_MAX:
            return False  # in a long text a line without an owner may be anything: a receipt, a message of an app
        start = self.first
        if self.reading.sentence(start)[1] < value[1]:  # "My number? 555-0101"
            start = value[1]
        if value[0].casefold() in words.EVALUATIVE | known.TALK | known.POISON:
            return False
        return self.reading.say(
            slot, value, subject, start, op=op, instead_of=old, corrects=corrects, sure=LOOSE, event=bool(old),
            until=op == NOT,
        )  # fmt: skip

    # -- a noun with its owner beside it --------------------------------------------------------------------------------

    def _anchors(self) -> bool:
        """ "My gym", "Priya's locker code", "the gym of my sister", with the value anywhere else in the sentence."""
        low, owned = self.low, self.owned
        if owned:
            return self._anchor(max(owned) + 1, self.subject, owned)
        for i, word in enumerate(low):
            if word in ("my", "our") and self._anchor(i + 1, ME, frozenset((i,))):
                return True
        if self.mine and "as" in low and self._anchor(low.index("as") + 1, ME, frozenset()):
            return True
        for i in range(1, len(low) - 1):
            if low[i] in ("of", "for") or (low[i + 1] in _USES and (low[i] in ("i", "we") or self._capital(i))):
                whose = self._behind(i)
                if whose is None:
                    continue
                begin = self._noun_before(i)
                if begin is None or not (self._is_noun(begin, i)):
                    continue
                after = self.low[max(whose[1]) + 1 : max(whose[1]) + 2]
                plain = " ".join(self.low[begin:i]) in self.reading.slots.of_noun
                if (plain or (after and (after[0] in _BONDS or after[0] in known.CHANGING))) and self._at(
                    begin, i, *whose
                ):
                    return True
        return False

    def _his(self) -> bool:
        """ "Tom went with Zed as his editor", "Zed is what Tom has as his editor": somebody is named before "his"."""
        at = next((i for i, low in enumerate(self.low) if low in ("his", "her", "their", "its")), 0)
        if not at:
            return False
        for i in range(at - 1):
            kin = self.low[i] in ("my", "our") and self.low[i + 1] in words.RELATIONS
            if not kin and not (self._name(i) or self._capital(i)):
                continue
            end = i + 1 + kin
            while end < at and not kin and self._capital(end):
                end += 1
            if i and self.low[end] not in _USES:
                continue
            name = " ".join([*self.low[i:end]] if kin else [t.text for t in self.tokens[i:end]])
            return self._anchor(at + 1, name, frozenset((*range(i, end), at)))
        return False

    def _behind(self, i: int) -> tuple[str, frozenset[int]] | None:
        """Who stands behind "of" and "for", or is who uses it."""
        low = self.low
        if low[i] not in ("of", "for", "i", "we"):
            return self.tokens[i].text, frozenset((i, i + 1))
        if low[i] in ("i", "we"):
            return ME, frozenset((i, i + 1))
        if low[i + 1] in ("me", "mine", "us", "ours"):
            return ME, frozenset((i, i + 1))
        end = i + 1
        if low[end] in ("my", "our"):
            end += 1
            while end < len(low) and low[end] in words.RELATION_ADJECTIVES:
                end += 1
            if end >= len(low) or low[end] not in words.RELATIONS:
                return None
            return f"my {' '.join(low[i + 2 : end + 1])}", frozenset(range(i, end + 1))
        the = low[end] == "the"
        end += the
        first = end
        while end < len(low) and (self._capital(end) or (the and self._noun_word(end))) and end - first < 3:
            end += 1
        if end == first or (not the and low[first] in words.NOT_NAMES):
            return None
        return " ".join(t.text for t in self.tokens[first - the : end]), frozenset(range(i, end))

    def _noun_before(self, i: int) -> int | None:
        begin = i
        while begin and i - begin < 4 and self._nounish(begin - 1):
            begin -= 1
        while begin < i and self.low[begin] in _BEFORE_NOUN:
            begin += 1
        return begin if begin < i else None

    def _nounish(self, j: int) -> bool:
        low = self.low[j]
        if not low.replace("-", "").isalpha() or (self._capital(j) and not self.tokens[j].text.islower()):
            return False
        if low in known.MILD or low in known.ENDED or low.endswith("ly"):
            return False
        return low in words.ATTRIBUTE_HEADS or low in _HEADS or low in self.cues.first or not self._weightless(j)

    def _anchor(self, begin: int, subject: str, owner: frozenset[int]) -> bool:
        while begin < len(self.low) and self.low[begin] in _BEFORE_NOUN and not self._is_noun(begin, begin + 2):
            begin += 1
        end = begin
        while end < len(self.low) and end - begin < 4 and self._nounish(end):
            end += 1
        for stop in range(end, begin, -1):
            if self._is_noun(begin, stop) and (stop == end or self.low[begin:stop][-1] in self.cues.nouns):
                return bool(self._at(begin, stop, subject, owner))
        return False

    def _is_noun(self, begin: int, stop: int) -> bool:
        phrase = " ".join(self.low[begin:stop])
        return phrase in self.reading.slots.of_noun or phrase in self.cues.nouns or (
            1 < stop - begin <= len(self.low) - begin and (self.low[stop - 1] in words.ATTRIBUTE_HEADS or self.low[stop - 1] in _HEADS)
        )  # fmt: skip

    def _at(self, begin: int, stop: int, subject: str, owner: frozenset[int]) -> bool:
        """Whether the rest of the sentence is a value of the slot that these words name."""
        phrase = " ".join(self.low[begin:stop])
        if phrase in self.reading.slots.of_noun:
            names: tuple[str, ...] = (self.reading.slots.of_noun[phrase],)
        elif phrase in self.cues.nouns:
            names = tuple(n for n in self.cues.nouns[phrase] if n not in self.cues.liked)
        else:
            names = slots_called(phrase, self.reading.slots)[:1]
        if (
            not names
            or open_name(phrase) in words.OPEN_NOT
            or any(w in words.EVALUATIVE - {"favourite", "favorite"} for w in phrase.split())
        ):
            return False
        used = {*owner, *range(begin, stop)}
        first = min(used)
        if first and self.low[first - 1] in ("in", "at", "near", "from", "around", "about") and names[0] not in _LEADS:
            return False  # "a run in our neighbourhood"
        free = [i for i in range(len(self.tokens)) if i not in used and (not self._light(i) or self._unit(i))]
        for name in names:
            have = self.reading.slots.get(name)
            kind = have.kind if have else "any"
            found = self._rest(name, kind, free, used)
            if found and self._told_of(name, kind, found, free, subject, _Cue((), tuple(range(begin, stop)), -1)):
                return True
        return False

    def _light(self, i: int) -> bool:
        if self._weightless(i):
            return True
        return not self._capital(i) and (self.low[i] in known.MILD or self.low[i] in _LIGHT)

    def _unit(self, i: int) -> bool:
        return i > 0 and self.low[i] in ("am", "pm") and self.tokens[i - 1].text[-1].isdigit()

    def _rest(self, name: str, kind: str, free: list[int], used: set[int]) -> list[_Found]:
        found = self._values(name, kind, free, used)
        if kind != "any" or name in SHAPES or not found:
            return found
        strong = [f for f in found if any(c.isdigit() for c in f.value[0]) or self._titled(f)]
        if strong and len(strong) < len(found):
            return strong
        return found

    def _told_of(self, name: str, kind: str, found: list[_Found], free: list[int], subject: str, cue: _Cue) -> bool:
        covered = {i for each in found for i in range(each.first, each.stop)}
        left = [i for i in free if i not in covered]
        strong = self._strong(name, kind, found) or all(f.value[0].casefold() in words.COLOURS for f in found)
        if any(self._astray(name, kind, f) for f in found):
            return False
        if len(found) > 2 or len(left) > (ANCHORED_ROOM if strong else 0) or any(self._capital(i) for i in left):
            return False
        if len(found) == 2:
            change = self._change(found[0], found[1])
            if change is None:
                return False
            return self._say(name, change[1].value, subject, IS, change[0].value[0], change[2])
        if (not strong or name in _KIN_SLOTS) and not self._marked(name, kind, cue, found[0]):
            return False
        at = found[0].first - 1
        before = (
            self.low[at] if at >= 0 and self.low[at] not in ("the", "a", "an") else self.low[at - 1] if at > 0 else ""
        )
        if before == "with" and {"replaced", "replace", "swapped", "swap", "went", "replacing"} & set(self.low):
            before = ""
        if before in _ASTRAY and before not in _LEADS.get(name, ()) and not any(c.isdigit() for c in found[0].value[0]):
            return False
        op = self._op(name, found[0], cue)
        return op is not None and self._say(name, found[0].value, subject, op, "", self._corrects())

    # -- slots that the schema lacks, and values that need no noun ----------------------------------------------------

    def _open(self) -> bool:
        """ "Locker code 4711", "bus line: 42"."""
        if self.poisoned:
            return False
        for i, low in enumerate(self.low):
            apart = i + 1 < len(self.low) and self.low[i + 1] in _EQUALS
            head = low in words.ATTRIBUTE_HEADS or (apart and low in self.cues.nouns)
            strong = i + 1 < len(self.low) and (self.low[i + 1] in (":", "=") or self.low[i + 1] in known.ARROWS)
            if not (head or strong) or i in self.owned or not low.isalpha():
                continue
            if not apart and i + 1 < len(self.low) and (self._noun_word(i + 1) or self.low[i + 1] in self.cues.nouns):
                continue
            begin = i
            while begin and i - begin < 3 and self._noun_word(begin - 1):
                begin -= 1
            slot = self._open_slot(begin, i)
            if slot is not None:
                return self._opened(slot, begin, i, apart, head)
        return False

    def _open_slot(self, begin: int, i: int) -> str | None:
        name = open_name(" ".join(self.low[begin : i + 1]))
        parts = name.split()
        if (
            not parts
            or (begin == i and not (begin and (self.low[begin - 1] in ("my", "our") or begin - 1 in self.owned)))
            or name in words.OPEN_NOT
        ):
            return None
        if any(p in words.EVALUATIVE or p in words.RELATIONS or p.endswith("ly") for p in parts):
            return None
        if parts[-1] in words.OPEN_HEADS_NOT and not any(c.isdigit() for c in self.text[self.first : self.last]):
            return None
        called = slots_called(name, self.reading.slots)
        return called[0] if called and called[0].startswith(OPEN) else None

    def _opened(self, slot: str, begin: int, i: int, apart: bool, head: bool) -> bool:
        used = set(range(begin, i + 1))
        free = [j for j in range(len(self.tokens)) if j not in used and j not in self.owned and not self._weightless(j)]
        found = self._values("", "any", free, used)
        covered = {j for f in found for j in range(f.first, f.stop)}
        if any(self._astray(slot, "any", f) for f in found if not self._titled(f)):
            return False
        if not found or any(j not in covered for j in free):
            return False
        who: str | None = self.subject
        if not (self.owned or self.mine) and len(found) > 1 and found[0].first <= 1 and self._titled(found[0]):
            if self._change(found[0], found[1]) is None or len(found) == 3:
                who = self._told(list(range(found[0].first, found[0].stop)), "the" * found[0].first, False)
                found = found[1:]
        digits = all(any(c.isdigit() for c in f.value[0]) for f in found)
        named = all(self._titled(f) for f in found)
        if apart:
            leads = i + 2 == found[0].first and all(self._weightless(j) or j in self.owned for j in range(begin))
            if self.low[i + 1] in ("-", "–", "—") and not (digits or self.mine or self.owned):
                return False
            if not (leads or who) or not (digits or named or (head and self.low[i + 1] in (":", "="))):
                return False
            if not leads and not digits:
                return False
        elif (
            not (digits and (head or self.mine))
            and not (self.mine and head and self._marked(slot, "any", _Cue((), (begin, i), -1), found[0]))
        ) or (self.low.count(",") > 1 and not self.mine):
            return False
        preps = {low for low in self.low if low in known.PREPOSITIONS} - {
            "of",
            "for",
            "to",
            "from",
            "as",
            "on",
            "under",
            "into",
        }
        if preps and not (apart or self.mine) and not {"out", "in"} <= set(self.low):
            return False
        if len(found) == 2:
            change = self._change(found[0], found[1])
            return change is not None and self._say(slot, change[1].value, who or ME, IS, change[0].value[0], change[2])
        op = self._op(slot, found[0], _Cue((), (begin, i), -1)) if len(found) == 1 else None
        return op is not None and self._say(slot, found[0].value, who or ME, op, "", self._corrects())

    def _noun_word(self, i: int) -> bool:
        return self.low[i].isalpha() and not self._weightless(i) and i not in self.owned and (
            self.tokens[i].text.islower() or i == 0
        )  # fmt: skip

    def _uncued(self) -> bool:
        """ "Vegan these days", "in Berlin now", "Vim out, Helix in"."""
        if self.poisoned:
            return False
        free = [i for i in range(len(self.tokens)) if i not in self.owned and not self._weightless(i)]
        if not 0 < len(free) <= 6:
            return False
        line = " ".join(self.low)
        holds = not known.HOLDS.isdisjoint(self.low) or any(p in line for p in ("these days", "at the moment"))
        ended = "longer" in self.low or "anymore" in self.low or "any more" in line
        for slot, listed in _CLOSED:
            have = self.reading.slots.get(slot)
            if have is None or not any(self.low[i] in listed or "-" in self.low[i] for i in free):
                continue
            found = self._values(slot, have.kind if slot != "editor" else "name", free, set())
            kept = [f for f in found if f.value[0].casefold() in listed]
            subject, rest, left = self._subject(slot, have.kind, _Cue((), (), 0), kept, [
                i for i in free if not any(f.first <= i < f.stop for f in kept)
            ])  # fmt: skip
            if subject is None or left or not 0 < len(rest) <= 2:
                continue
            if len(rest) == 2:
                change = self._change(rest[0], rest[1])
                if change:
                    return self._say(slot, change[1].value, subject, IS, change[0].value[0], change[2])
                continue
            if (
                slot not in ("diet", "marital_status")
                or len(self.tokens) > 7
                or not (
                    holds or ended or self.low[0] in ("gone", "went", "on", "quit", "not", "was") or ":" in self.low
                )
            ):
                continue
            op = self._op(slot, rest[0], _Cue((), (), 0))
            return op is not None and self._say(slot, rest[0].value, subject, op, "", self._corrects())
        return (holds or ended) and self._placed(free)

    def _placed(self, free: list[int]) -> bool:
        """ "In Berlin these days", "now at Acme"."""
        for word, slot, kind in (("in", "home", "place"), ("at", "employer", "named"), ("at", "address", "address")):
            if word not in self.low or slot not in self.reading.slots or len(self.tokens) > 10:
                continue
            at = self.low.index(word)
            found = self._values(slot, kind, [i for i in free if i > at], set())
            if len(found) != 1 or found[0].first != at + 1:
                continue
            left = [i for i in free if not found[0].first <= i < found[0].stop]
            subject, found, left = self._subject(slot, kind, _Cue((), (), 0), found, left)
            if subject is None or left or len(found) != 1:
                continue
            op = self._op(slot, found[0], _Cue((), (at,), 0))
            return op is not None and self._say(slot, found[0].value, subject, op, "", False)
        return False


_OTHERS = frozenset("he she his her him hers its".split())
_LIKING = frozenset("love loves like likes prefer prefers adore adores best most fondest choice dearest beats".split())
_BEFORE_NOUN = frozenset(
    "new current own old former previous latest main only usual first present favourite favorite personal".split()
)
_USES = frozenset("have has use uses had used".split())
_HEADS = frozenset(
    "place spot height width length weight slot bay shift shop half bank tool app time size number".split()
)
_LIGHT = frozenset(
    "ceased cease happens happen asking asks gets forms form wants people file files aside asked dial enter type wear answer"
    " answers comes case thinking write tell give today's whoever random thought note-to-self passing mind bit speaking"
    " regards regarding terms regard respect concerning question topic subject mention worth knowing knows"
    " correctly rightly nothing everything ever likewise otherwise sure quite so-called exactly precisely said sake rest guess"
    " been become ends ended up way sticking stick sticks stuck pretty surprise surprisingly of-course back scenes there"
    " looks look mixed messed got-it-wrong corrected true truth fact told earlier one ones other others there's"
    " bye goodbye farewell hello welcome meet enter hail long live superseded succeeded replaced by retire retires".split()
)
_ASTRAY = frozenset("with near from about after before around behind without like at in on to".split())
_OFF = frozenset("scratch strike forget drop ignore remove delete ditch disregard".split())
_SAYS = frozenset(
    "is was are were would = - – — ( remains stays stopped stops replaces replaced became becomes has had used isn't"
    " in out as -> => → continues now over no gone serves counts works runs one wasn't supersedes succeeds for".split()
)
_KIN_SLOTS = frozenset("parent child sibling colleague friend pet".split())
_UNITS = frozenset("am pm cm kg km mg mm ft m % euros dollars pounds".split())
_DONE = frozenset("done finished out closed over left".split())
_NO_KIN = frozenset("partner doctor dentist dog cat pet boss manager coach trainer teacher".split())
_ANY_VERB = frozenset(
    "selling buying running owning trading own owns owned have has had buy bought get got sell sold run runs ran trade traded".split()
)
_BETWEEN = frozenset("the a an my our now currently just still also only me is".split())
_EQUALS = frozenset((":", "=", "-", "–", "—")) | known.ARROWS
_ADVERBS = frozenset("the a an now currently still just actually really always also only my our again all".split())
_BONDS = (
    frozenset(
        (
            "is",
            "was",
            "are",
            "were",
            ":",
            "=",
            "-",
            "–",
            "—",
            "?",
            "as",
            "it's",
            "that's",
            "called",
            "named",
            "(",
            "be",
            "became",
            "becomes",
            "remains",
            "stays",
            "to",
            "of",
            "with",
            "at",
            "in",
            "on",
            "by",
            "for",
            "would",
            "than",
        )
    )
    | known.ARROWS
)
_NEGATED = frozenset("not isn't aren't wasn't never don't doesn't didn't isnt dont doesnt".split())


def _is_base(verb: str) -> bool:
    return verb in VERBS


def slot_like_hours(low: list[str], used: set[int]) -> bool:
    """Whether two numbers with "to" between them are one value: working hours."""
    return any(low[i] in ("hours", "shift", "shifts", "schedule", "work") for i in used)


def _runs(places: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _cut(text: str, first: int, last: int) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(text, first, last):
        raw = match[0]
        plain = raw.rstrip(_TRAIL) or raw
        head = plain.lstrip("*•'‘`") or plain
        start = match.start() + len(plain) - len(head)
        low = head.casefold().replace("’", "'")
        own = low.endswith("'s") and low not in _CONTRACTED
        if own:
            head, low = head[:-2], low[:-2]
        found.append(_Token(head, low, start, match.end(), own))
    return found


_CONTRACTED = frozenset("it's that's he's she's there's here's what's who's where's let's how's".split())
