"""Which capitalised words of a text are names, by shape, company and place in the sentence.

Upper case is evidence inside a sentence and none at its start. What a run of capitalised words is worth:

======================================================  ==========
run                                                     confidence
======================================================  ==========
"Dr. X", "X Inc", "Project X"                           .93 – .95
two unknown words ("Priya Raman")                       .92, at the start of a sentence .88
ticket (ABC-123), product by its shape (Inbox3)         .90, .88
"the X team"                                            .86
one unknown word inside a sentence                      .85
… at the start, before a person's verb or elsewhere too .85
… at the start, with "'s"                               .75
… at the start otherwise                                .50
unknown and ordinary words ("Blue Ridge Kestrel")       .80
ordinary words with a kind ("Design Review")            .60
an ordinary given name after "with", before "said"      .80
one ordinary word inside a sentence ("Apple")           .50
… at the start, ending as made words do ("Validation")  .50
acronym nobody knows ("NATO")                           .60
======================================================  ==========
What has .50 is a name only if a relation says so ("works at Apple").
"""

from __future__ import annotations

import re
from functools import lru_cache

from recall_integrations.extraction.lexicon import (
    BLOCKED,
    COMPANY_SUFFIXES,
    CONNECTORS,
    EVENT_WORDS,
    FOREIGN_WORDS,
    GENERIC,
    LY_NAMES,
    NAME_OPENERS,
    NATIONALITIES,
    ORGANISATION_WORDS,
    PERSON_LEADS,
    PERSON_VERBS,
    PLACE_WORDS,
    PROJECT_ROLES,
    ROLE_WORDS,
    SOFT_VERBS,
    TEAM_WORDS,
    TITLES,
    VERB_FORM_NAMES,
    VERB_NAMES,
)
from recall_integrations.extraction.records import Candidate
from recall_integrations.extraction.tokens import WORD_CHARS_MAX, Words
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import ACRONYMS, GIVEN_WORDS, KIND_WORDS, is_ordinary, looks_ordinary
from recall_integrations.text import STOP_WORDS

RUN_WORDS_MAX = 6
NO_TITLE = GIVEN_WORDS | TITLES  # words whose upper case makes no headline
ENGLISH_WORDS_MIN = 10  # below, too little to tell the language from
ENGLISH_SHARE_MIN = 0.15  # share of stop words; German and the like write every noun with a capital
TITLE_WORDS_MIN = 4

_TICKET = regex(r"[A-Z][A-Z0-9]{1,9}-\d{1,7}\Z")
_NO_TICKET = frozenset("COVID UTF SHA AES ISO GPT CD PG WW MP RFC TLS HTTP USB IPV CVE COP F1 EN DIN IEEE".split())
_SHAPE = regex(
    r"(?:[A-Z][a-z]+[A-Z][A-Za-z]*|[A-Z]{1,3}[a-z]+[A-Z][A-Za-z]*|[ei][A-Z][a-z]{2,})\d{0,3}\Z"  # GitHub, iPhone
    r"|[A-Z][a-z]{2,}-?\d{1,3}\Z|[A-Z]{2,3}[a-z]{2,}\d{1,3}\Z"  # Inbox3, OAuth2
    r"|[A-Z]{2,5}[a-z]?-?\d{1,2}[a-z]?\Z"  # GPT-4
)
_PERSON_SHAPE = regex(r"(?:Mc|Mac|De|Di|La|Le|Van|Fitz|Du|O['’])[A-Z][a-z]+\Z")
_SEAT = regex(r"[a-z]?\d{1,4}[a-z]?\Z")  # B12, 2nd floor's 2a
_DOMAIN = regex(r"[A-Z]\w{2,}\.(?:js|io|ai|com|org|net)\Z")
_NO_PRODUCT = regex(
    r"(?:COVID|UTF|SHA|AES|ISO|MP|WW|CD|USB|TV|AM|PM|Q|FY|CW|KW|PR|Part|Day|Week|Year|Step|Top)-?\d+\Z", re.I
)
_STRETCHED = regex(r"(.)\1\1|^(?:ha|he|ah|ho|ja|la|na|bla|wo)(?:ha|he|ah|ho|ja|la|na|bla|wo)+h?\Z")
_DATE_LEAD = frozenset(
    "in since until till last next this during before after early late mid every of on through by".split()
)


def is_plain(low: str) -> bool:
    """Whether a word in lower case says nothing about being a name."""
    return low in STOP_WORDS or low in BLOCKED or _is_known(low)


@lru_cache(maxsize=16_384)
def _is_known(low: str) -> bool:
    if _SEAT.match(low) or is_ordinary(low) or low in ACRONYMS or _STRETCHED.search(low) or low in TITLES:
        return True
    if "-" in low or "&" in low or "'" in low:
        parts = re.split(r"[-&']", low)
        if all(p in BLOCKED or is_ordinary(p) for p in parts):
            return True
        if "'" in low:
            return low.rsplit("'", 1)[1] in {"t", "re", "ve", "ll", "d", "m", "em", "all", "s"}
        return parts[0] in {"non", "pre", "post", "anti", "co", "re", "un", "multi", "semi", "ex", "mid"}
    return any(low.endswith(end) and low[: -len(end)] in BLOCKED for end in ("s", "es", "ish"))


class NameFinder:
    """One text on its way to candidates; made, run and thrown away."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.found: list[Candidate] = []
        lows, raws = words.lows, words.raws
        self.caps = [i for i, raw in enumerate(raws) if raw[0].isupper() or (raw[0] in "ei" and raw[1:2].isupper())]
        self.prose = not self.caps or _is_english(lows)
        self.titled = self._titled_words() if len(self.caps) >= TITLE_WORDS_MIN else set()

    def run(self, taken: set[int]) -> list[Candidate]:
        """Candidates in order, over words that are not in `taken`."""
        caps, k = self.caps, 0
        while k < len(caps):
            first = caps[k]
            stop = self._run_end(first)
            if not taken or taken.isdisjoint(range(first, stop)):
                self._weigh(first, stop)
            while k < len(caps) and caps[k] < stop:
                k += 1
        return self.found

    # runs

    def _run_end(self, first: int) -> int:
        words = self.words
        lows, raws, count = words.lows, words.raws, len(words.lows)
        if lows[first] in BLOCKED or (lows[first] in STOP_WORDS and lows[first] != "will"):
            return first + 1
        i = first
        while i + 1 < count and i + 1 - first < RUN_WORDS_MAX and not words.owns[i]:
            gap = words.gap(i + 1)
            if not (gap == " " or (gap == ". " and (lows[i] in TITLES or len(raws[i]) == 1)) or gap == "."):
                break
            after = lows[i + 1]
            if raws[i + 1][0].isupper() and gap != ".":
                if after in STOP_WORDS or after in BLOCKED:
                    break
                i += 1
            elif gap == "." and len(raws[i]) == 1 and len(raws[i + 1]) == 1 and raws[i + 1].isupper():
                i += 1
            elif after in CONNECTORS and gap == " " and (more := self._connects(i, after)):
                i += more
            else:
                break
        return i + 1

    def _connects(self, i: int, connector: str) -> int:
        """How many words a connector after word `i` adds to the run: "University of Bath", "Leonardo da Vinci"."""
        words = self.words
        lows, k = words.lows, i + 2
        if connector == "of" and k < len(lows) and lows[k] == "the" and words.gap(k) == " ":
            k += 1
        if k >= len(lows) or words.gap(k) != " " or not words.raws[k][0].isupper() or lows[k] in STOP_WORDS:
            return 0
        if connector == "of":
            fits = lows[k] not in BLOCKED and lows[i] not in ROLE_WORDS and (not self.opens(i) or lows[i] in KIND_WORDS)
        else:
            fits = not is_plain(lows[k]) and not is_plain(lows[i])
        return k - i if fits else 0

    def opens(self, i: int) -> bool:
        """Whether upper case of word `i` may come from its place alone."""
        if i == 0:
            return True
        gap = self.words.gap(i)
        if gap in {" ", ", "}:
            return False
        if gap == ". ":
            return not (self.words.lows[i - 1] in TITLES or len(self.words.raws[i - 1]) == 1)
        bare = gap.strip(" ")
        return bare not in {"", ",", "&", "/", "+", "'", "’"}

    def _titled_words(self) -> set[int]:
        """Words of lines in title case or capitals: their upper case says nothing."""
        words = self.words
        titled: set[int] = set()
        count = len(words.lows)
        lines = "\n" in words.text
        a = 0
        while a < count:
            b = a + 1 if lines else count
            while b < count and "\n" not in words.gap(b):
                b += 1
            content = [i for i in range(a, b) if words.lows[i] not in STOP_WORDS and words.raws[i][0].isalpha()]
            if len(content) >= TITLE_WORDS_MIN and all(words.raws[i][0].isupper() for i in content):
                plain = sum(1 for i in content[1:] if is_plain(words.lows[i]) and words.lows[i] not in NO_TITLE)
                if 2 * plain >= len(content) - 1:
                    titled.update(range(a, b))
            a = b
        return titled

    # what a run is worth

    def _weigh(self, first: int, stop: int) -> None:
        words = self.words
        lows = words.lows
        title = False
        while first < stop and lows[first] in TITLES:
            first, title = first + 1, True
        while stop > first and lows[stop - 1] in TITLES:
            stop -= 1
        if first >= stop or any(len(words.raws[i]) > WORD_CHARS_MAX for i in range(first, stop)):
            return
        if title:
            self._title(first, stop)
            return
        if self._marked(first, stop) or self._shaped(first, stop):
            return
        if not self.prose or first in self.titled:
            return
        if stop - first == 1:
            self._one(first)
        else:
            self._several(first, stop)

    def _put(self, first: int, stop: int, kind: str, confidence: float, *, team: bool = False, lead: str = "") -> None:
        words = self.words
        start, end = words.starts[first], words.ends[stop - 1]
        name = lead + words.text[start:end].replace("’", "'")
        self.found.append(
            Candidate(
                first=first, stop=stop, start=start, end=end, name=name, kind=kind, confidence=confidence, team=team
            )
        )

    def _title(self, first: int, stop: int) -> None:
        while stop - first > 1 and is_plain(self.words.lows[stop - 1]) and stop - first > 2:
            stop -= 1
        if self.words.lows[first] not in STOP_WORDS and len(self.words.raws[first]) > 1:
            self._put(first, stop, "person", 0.95)

    def _marked(self, first: int, stop: int) -> bool:
        """Names that say themselves what they are: a company, a project, a team."""
        lows, raws = self.words.lows, self.words.raws
        for i in range(first + 1, stop):
            if lows[i] in COMPANY_SUFFIXES and raws[i] not in {"AB", "AG"} | {raws[i].lower()}:
                self._put(first, i + 1, "organisation", 0.95)
                return True
        if lows[stop - 1] not in COMPANY_SUFFIXES and stop < len(lows) and self._suffix_follows(stop):
            self._put(first, stop + 1, "organisation", 0.95)
            return True
        if lows[first] == "project" and stop - first > 1:
            if lows[first + 1] in PROJECT_ROLES or first in self.titled:
                return True
            end = first + 2
            while end < stop and (not is_plain(lows[end]) or raws[end].isupper()):
                end += 1
            self._put(first, end, "project", 0.93)
            return True
        if first and lows[first - 1] == "project" and self.words.gap(first) == " " and not is_plain(lows[first]):
            self._put(first - 1, first + 1, "project", 0.9)
            return True
        return self._team(first, stop)

    def _suffix_follows(self, k: int) -> bool:
        """ "Acme, Inc." and "Acme AG"."""
        return (
            self.words.lows[k] in COMPANY_SUFFIXES
            and self.words.raws[k][0].isupper()
            and self.words.gap(k) in {" ", ", "}
        )

    def _team(self, first: int, stop: int) -> bool:
        lows = self.words.lows
        if first == 0 or lows[first - 1] != "the" or self.words.gap(first) != " " or first in self.titled:
            return False
        end = stop if lows[stop - 1] in TEAM_WORDS else stop + 1
        if end > len(lows) or lows[end - 1] not in TEAM_WORDS or end - first < 2:
            return False
        if end > stop and (self.words.gap(stop) != " " or self.words.owns[stop - 1]):
            return False
        if end - first > 4 or len(lows[first]) < 2 or lows[first] in NATIONALITIES:
            return False
        self._put(first, end, "organisation", 0.86, team=True)
        return True

    def _shaped(self, first: int, stop: int) -> bool:
        """Single words that are names by their shape."""
        if stop - first != 1:
            return False
        raw, low = self.words.raws[first], self.words.lows[first]
        if _TICKET.match(raw):
            if raw.partition("-")[0] not in _NO_TICKET:
                self._put(first, stop, "identifier", 0.9)
                return True
            if _NO_PRODUCT.match(raw):
                return True
        if _DOMAIN.match(raw):
            self._put(first, stop, "product", 0.85)
            return True
        if len(raw) < 3 or low in BLOCKED or _NO_PRODUCT.match(raw):
            return False
        if _PERSON_SHAPE.match(raw):
            self._put(first, stop, "person", 0.88)
            return True
        if _SHAPE.match(raw) and not is_ordinary(low) and (raw[-1].isdigit() or not is_plain(low)):
            self._put(first, stop, "product", 0.88)
            return True
        return False

    def _one(self, i: int) -> None:
        raw, low = self.words.raws[i], self.words.lows[i]
        if low in STOP_WORDS and low != "will":
            return
        if raw.isupper() or (raw[-1] == "s" and raw[:-1].isupper()):
            self._acronym(i)
            return
        if len(raw) < 2 or not raw[0].isalpha() or any(map(str.isdigit, raw)):
            return
        opens = self.opens(i)
        if is_plain(low):
            self._ordinary(i, opens)
        elif looks_ordinary(low) and (low in self._small or low not in self._large_inside):
            self._put(i, i + 1, "name", 0.5)
        elif not opens:
            sure = low not in self._small and not self._after_nationality(i) and not self._before_generic(i)
            self._put(i, i + 1, self._kind_of_one(i), 0.85 if sure else 0.6)
        elif low in self._large_inside and low not in self._small:
            self._put(i, i + 1, self._kind_of_one(i), 0.85)
        elif self._acts(i) and self.words.lows[i + 1] not in SOFT_VERBS and not _is_adverb(low):
            self._put(i, i + 1, "person" if self.words.lows[i + 1] != "depends" else "name", 0.85)
        else:
            self._put(i, i + 1, "name", 0.75 if self.words.owns[i] and low not in self._small else 0.5)

    def _kind_of_one(self, i: int) -> str:
        before = self.words.lows[i - 1] if i else ""
        if self._acts(i) or (
            before in PERSON_LEADS and before not in {"and", "by", "from", "with", "visit", "visited", "miss", "missed"}
        ):
            return "person"
        return "name"

    def _acts(self, i: int) -> bool:
        """Whether a verb typical for people follows word `i`."""
        words = self.words
        k = i + 1
        return k < len(words.lows) and words.lows[k] in PERSON_VERBS and not words.owns[i] and words.gap(k) == " "

    def _surely_acts(self, i: int) -> bool:
        verb = self.words.lows[i + 1]
        return verb not in SOFT_VERBS and (self.words.lows[i] not in VERB_NAMES or verb.endswith("s"))

    def _after_nationality(self, i: int) -> bool:
        """A breed, a dish: "German Shepherd"."""
        before = self.words.lows[i - 1] if i else ""
        return before in NATIONALITIES and self.words.gap(i) == " "

    def _before_generic(self, i: int) -> bool:
        """The first half of something general: "Financial Analyst"."""
        words, k = self.words, i + 1
        return k < len(words.lows) and words.lows[k] in GENERIC and words.raws[k][0].isupper() and words.gap(k) == " "

    def _ordinary(self, i: int, opens: bool) -> None:
        low, before = self.words.lows[i], self.words.lows[i - 1] if i else ""
        if low in BLOCKED or low in ACRONYMS or low in TITLES or low in KIND_WORDS:
            return
        if low in GIVEN_WORDS:
            if self._acts(i) and (not opens or self._surely_acts(i)):
                self._put(i, i + 1, "person", 0.8)
            elif not opens:
                self._put(i, i + 1, "name", 0.8 if before in PERSON_LEADS else 0.6)
            else:
                self._put(i, i + 1, "name", 0.5)
        elif not opens and _is_name_like(low):
            self._put(i, i + 1, "name", 0.5)

    def _acronym(self, i: int) -> None:
        raw, low = self.words.raws[i], self.words.lows[i]
        if not 2 <= len(raw) <= 6 or not raw.isalpha() or is_plain(low) or self._shouts(i):
            return
        self._put(i, i + 1, "name", 0.6)

    def _shouts(self, i: int) -> bool:
        raws = self.words.raws
        return any(0 <= k < len(raws) and len(raws[k]) > 1 and raws[k].isupper() for k in (i - 1, i + 1))

    def _several(self, first: int, stop: int) -> None:
        lows, raws = self.words.lows, self.words.raws
        if sum(1 for i in range(first, stop) if len(raws[i]) > 1 and raws[i].isupper()) > 1:
            return  # capitals
        opens = self.opens(first)
        if opens:
            first = self._without_opener(first, stop)
            if first >= stop:
                return
            if stop - first == 1:
                self._after_opener(first)
                return
        strong = [i for i in range(first, stop) if len(raws[i]) > 1 and not is_plain(lows[i])]
        last = lows[stop - 1]
        kind = _kind_of(last)
        if lows[first] in PLACE_WORDS and kind == "name":
            kind = "place"
        if not strong and lows[first] in ORGANISATION_WORDS and "of" in lows[first:stop]:
            self._put(first, stop, "organisation", 0.8)
            return
        if not strong:
            if kind != "name" or last in KIND_WORDS:
                self._put(first, stop, kind, 0.6 if not opens else 0.5)
            elif not opens:
                self._put(first, stop, "name", 0.5)
            return
        if len(strong) > 1 or any(len(raws[i]) == 1 for i in range(first, stop)):
            confidence = 0.88 if opens else 0.92
        elif opens and strong[0] == first and kind == "name":
            # "Priya Great": the ordinary second word may belong to it or not.
            confidence = 0.6 if lows[first + 1] not in GIVEN_WORDS else 0.8
        else:
            confidence = 0.8
        self._put(first, stop, self._kind_of_several(first, stop, kind), confidence)

    def _kind_of_several(self, first: int, stop: int, kind: str) -> str:
        if kind != "name":
            return kind
        if self._acts(stop - 1) or (first and self.words.lows[first - 1] in {"told", "met", "asked", "called"}):
            return "person"
        return "name"

    def _without_opener(self, first: int, stop: int) -> int:
        """`first` moved over ordinary words that are only large because they open the sentence."""
        lows = self.words.lows
        while first < stop and (is_plain(lows[first]) or _is_verb_form(lows[first])):
            low = lows[first]
            if low in NAME_OPENERS and first + 1 < stop:
                return first
            named = low in GIVEN_WORDS and first + 1 < stop and not is_plain(lows[first + 1])
            if named and (low not in VERB_NAMES or self._acts(stop - 1)):
                return first
            first += 1
        return first

    def _after_opener(self, i: int) -> None:
        """One word after an ordinary one that opened the sentence: "Thanks Henrietta"."""
        raw, low = self.words.raws[i], self.words.lows[i]
        if not raw.isupper() and len(raw) > 1 and not is_plain(low) and low not in self._small:
            shaped = len(self.found)
            if not self._shaped(i, i + 1) and len(self.found) == shaped:
                self._put(i, i + 1, self._kind_of_one(i), 0.8)

    # the rest of the text as evidence

    @property
    def _large_inside(self) -> frozenset[str]:
        """Words that are written large where nothing but a name asks for it."""
        if self._large is None:
            self._large = frozenset(self.words.lows[i] for i in self.caps if not self.opens(i) and i not in self.titled)
        return self._large

    @property
    def _small(self) -> frozenset[str]:
        """Words that are also written small."""
        if self._lower is None:
            self._lower = frozenset(raw for raw in self.words.raws if raw[0].islower())
        return self._lower

    _large: frozenset[str] | None = None
    _lower: frozenset[str] | None = None


def _is_english(lows: list[str]) -> bool:
    stops = sum(1 for low in lows if low in STOP_WORDS)
    foreign = sum(1 for low in lows if low in FOREIGN_WORDS)
    if foreign > 1 and foreign >= stops:
        return False
    return len(lows) < ENGLISH_WORDS_MIN or stops >= ENGLISH_SHARE_MIN * len(lows)


def _kind_of(word: str) -> str:
    if word in ORGANISATION_WORDS or word in TEAM_WORDS:
        return "organisation"
    if word in PLACE_WORDS:
        return "place"
    return "event" if word in EVENT_WORDS else "name"


def _is_adverb(low: str) -> bool:
    return low.endswith("ly") and low not in LY_NAMES


def _is_verb_form(low: str) -> bool:
    return len(low) > 5 and low.endswith(("ed", "ing")) and low not in VERB_FORM_NAMES


def _is_name_like(low: str) -> bool:
    return low.isalpha() and len(low) > 2 and low not in STOP_WORDS
