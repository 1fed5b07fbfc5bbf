"""Typed relations that a sentence states outright, by a table of patterns.

A pattern is a phrase over words: `X` and `Y` are names, `T` the name of a team, `(a|b)` alternatives, `word?` optional,
`{reports|report}` a verb in its form after one name and after "I" or several names. To add one, add a row.

A sentence says nothing for sure, and gives no relation, where it asks, supposes, denies, wishes or reports a guess:
any of `DOUBT` before the pattern, any of `DOUBT_AFTER` behind it, a question mark. What stands around the pattern must
leave it whole: "the sister of Priya works at Acme" is not about Priya.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recall_integrations.errors import InvalidArgument
from recall_integrations.extraction.lexicon import TITLES
from recall_integrations.extraction.records import Candidate
from recall_integrations.extraction.tokens import Words, breaks
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import word_set
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS

SENTENCE_WORDS_MAX = 80  # longer ones are no prose
LIST_NAMES_MAX = 5
UPGRADED = 0.86  # confidence of a name that a relation vouches for

DOUBT = word_set(
    """
    if whether unless when whenever once until before wonder wondering doubt deny denies denied claim claims claimed
    heard ask asks asked unsure sure not no never nobody none neither nor without cannot myth rumor rumour rumors
    rumours false untrue wrong lie joke joking allegedly supposedly apparently maybe perhaps possibly probably likely
    hopefully think thinks thought believe believes believed guess guesses assume assumes assumed assuming suppose
    supposed supposing imagine imagines imagined pretend pretends pretended wish wishes hope hopes hoping want wants
    wanted propose proposes proposed suggest suggests suggested plan plans planned expect expects expected might may
    could would should must shall hypothetically example scenario dream dreamed dreamt formerly previously ex fake
    recommend recommends recommended insist insists insisted demand demands demanded decide whether
    prefer prefers doesn't don't didn't isn't aren't wasn't weren't won't wouldn't couldn't shouldn't can't ain't hasn't
    haven't hadn't mustn't does did do is are was were can will or either instead story novel movie film fictional show
    """
) - word_set("is are was were can will do does did show")
QUESTION_OPENERS = word_set(
    "is are was were do does did can could should would will may might has have had who whose "
    "what which where when why how am shall must isn't aren't doesn't didn't"
)
DOUBT_AFTER = word_set(
    "if unless whether until anymore longer before formerly right correct maybe perhaps allegedly or"
)
BEFORE_SUBJECT = (
    word_set(
        "and but so because since that while also now currently today fyi hi hey as although though "
        "plus where actually well yes ok okay note remember reminder meanwhile here says said then"
    )
    | TITLES
)
ADVERBS = "also|now|currently|directly|still|actually|officially|mostly|mainly|usually|always|already|both"
AFTER_OBJECT = (STOP_WORDS - word_set("not no nor or to")) | word_set(
    """
    directly now currently today these lately since too also anyway full part remotely together monday tuesday wednesday
    thursday friday saturday sunday january february march april june july august september october november december
    this last next starting already again via per within across along instead
    """
)
COMPATIBLE = {
    "person": {"name", "person"},
    "organisation": {"name", "organisation", "product", "place"},
    "project": {"name", "project", "product", "organisation", "identifier", "event"},
    "place": {"name", "place"},
}


@record(frozen=True, slots=True, kw_only=True)
class RelationPattern:
    """One row of the table.

    Args:
        predicate: of the relation it gives.
        phrase: what is said; see the module.
        subject_kind: what X is; a name of a known other kind does not fit, one of unknown kind becomes it.
        object_kind: likewise for Y.
        inverse: whether the relation goes from Y to X.
        confidence: of the relation.
    """

    predicate: str
    phrase: str
    subject_kind: str = ""
    object_kind: str = ""
    inverse: bool = False
    confidence: float = 0.9


def _rows(
    predicate: str, *phrases: str, subject: str = "", object_: str = "", inverse: bool = False
) -> tuple[RelationPattern, ...]:
    return tuple(
        RelationPattern(predicate=predicate, phrase=p, subject_kind=subject, object_kind=object_, inverse=inverse)
        for p in phrases
    )


_BOSS = "(line|direct)? (manager|boss|supervisor)"
_PARTNER = "(wife|husband|spouse|fiancé|fiancée)"
_SIBLING = "(older|younger|big|little|twin)? (brother|sister|sibling)"
_BE = "{is|am|are}"

PATTERNS: tuple[RelationPattern, ...] = (
    *_rows("reports_to", "X {reports|report} directly? (to|into) Y", subject="person", object_="person"),
    *_rows("manager_of", f"X {_BE} Y 's {_BOSS}", subject="person", object_="person"),
    *_rows("manager_of", f"X , Y 's {_BOSS} ,", subject="person", object_="person"),
    *_rows("manager_of", "X {manages|manage} Y", subject="person"),
    *_rows(
        "manager_of",
        f"X 's {_BOSS} is Y",
        f"X 's {_BOSS} Y",
        f"X 's {_BOSS} , Y ,",
        subject="person",
        object_="person",
        inverse=True,
    ),
    *_rows(
        "works_at", "X {works|work} (at|for) Y", f"X {_BE} working (at|for) Y", subject="person", object_="organisation"
    ),
    *_rows("works_at", f"X {_BE} employed (at|by) Y", subject="person", object_="organisation"),
    *_rows("works_on", "X {works|work} on Y", f"X {_BE} working on Y", object_="project"),
    *_rows("leads", "X {leads|lead} Y", f"X {_BE} leading Y", f"X {_BE} the (tech|team|project)? lead (of|for|on) Y"),
    *_rows("owns", "X {owns|own} Y", f"X {_BE} the owner of Y"),
    *_rows("depends_on", "X {depends|depend} on Y"),
    *_rows("member_of", f"X {_BE} (a member of|on|in|part of) the T", "X joined the T", subject="person"),
    *_rows("member_of", f"X {_BE} a member of Y", subject="person"),
    *_rows("married_to", f"X {_BE} married to Y", f"X {_BE} Y 's {_PARTNER}", subject="person", object_="person"),
    *_rows(
        "married_to",
        f"X 's {_PARTNER} is Y",
        f"X 's {_PARTNER} Y",
        f"X 's {_PARTNER} , Y ,",
        subject="person",
        object_="person",
    ),
    *_rows(
        "sibling_of",
        f"X {_BE} Y 's {_SIBLING}",
        f"X 's {_SIBLING} is Y",
        f"X 's {_SIBLING} Y",
        f"X 's {_SIBLING} , Y ,",
        subject="person",
        object_="person",
    ),
    *_rows("lives_in", "X {lives|live} in Y", f"X {_BE} living in Y", subject="person", object_="place"),
    *_rows("recommended", "X {recommended|recommends|recommend} Y"),
    *_rows("founded", "X founded Y", object_="organisation"),
)

_ELEMENT = regex(r"\{[^{}]+\}\??|\([^()]+\)\??|[^\s{}()]+")
_SLOT = r"<(\d+)>"
_TEAM = r"<(\d+)>t"
_LIST = rf"(<\d+>(?:(?: ,)?(?: and)? <\d+>){{0,{LIST_NAMES_MAX - 1}}})"
_NUMBER = regex(r"\d+")


@record(frozen=True, slots=True)
class _Compiled:
    pattern: RelationPattern
    regex: re.Pattern[str]
    anchors: frozenset[str]
    apposition: bool  # "Sam's manager Priya": holds wherever it stands, under "if" and "not" too


def _alternatives(element: str) -> list[str]:
    return [a.strip() for a in element.rstrip("?").strip("{}()").split("|")]


def compiled(pattern: RelationPattern) -> _Compiled:
    """A row as a regular expression over the words of a sentence; names are `<number>`, teams `<number>t`.

    Raises:
        InvalidArgument: the phrase has not exactly one X, and one Y or T, or no word that is not optional.
    """
    elements = _ELEMENT.findall(pattern.phrase)
    if elements.count("X") != 1 or elements.count("Y") + elements.count("T") != 1 or elements[0] != "X":
        raise InvalidArgument(f"The phrase {pattern.phrase!r} must start with X and have one Y or T.")
    parts: list[str] = []
    anchors: frozenset[str] = frozenset()
    verb: tuple[str, str] | None = None
    apposition = not pattern.phrase.count("{") and elements[1] in {",", "'s"} and "is" not in elements
    for element in elements[1:]:
        optional = element.endswith("?")
        if element == "Y":
            last = element == elements[-1]
            parts.append(rf" (?:the )?{_LIST}t?" if last and not apposition else rf" {_SLOT}")
            continue
        if element == "T":
            parts.append(f" {_TEAM}")
            continue
        words = _alternatives(element)
        if element.startswith("{"):
            verb = (re.escape(words[0]), "|".join(map(re.escape, words[1:] or words)))
            if len(words) > 2 and words[0] not in {"is"}:
                verb = ("|".join(map(re.escape, words[:-1])), "|".join(map(re.escape, words)))
            parts.append(" {verb}")
        else:
            group = " (?:" + "|".join(map(re.escape, words)) + ")"
            parts.append(f"(?:{group})?" if optional else group)
        if not optional and element not in {",", "'s"}:
            fresh = frozenset(w for word in words for w in word.split())
            if not anchors or (anchors <= STOP_WORDS and not fresh <= STOP_WORDS):
                anchors = fresh
    if not anchors:
        raise InvalidArgument(f"The phrase {pattern.phrase!r} has no word that must be there.")
    tail = "".join(parts)
    adverb = rf"(?: (?:{ADVERBS}))?"
    if verb is None:
        body = rf"{_SLOT}[it]?{tail}"
    else:
        # One name with the verb's third person; "I" (written <n>i) and lists with its base form.
        relative = r"t?(?:(?: ,)? who)?"
        one, many = tail.replace("{verb}", f"(?:{verb[0]})"), tail.replace("{verb}", f"(?:{verb[1]})")
        past = verb[0] == verb[1]
        first = rf"<(\d+)>i{adverb}{many}|<(\d+)>{relative}{adverb}{one}"
        several = rf"(<\d+>(?:(?: ,)? <\d+>){{0,3}}(?: ,)? and <\d+>){adverb}{many}"
        body = f"(?:{several}|{first})" if not past else f"(?:{first})"
    return _Compiled(pattern, re.compile(f"(?<!\\S){body}(?!\\S)"), anchors, apposition)


class RelationFinder:
    """Applies a table of patterns.

    Args:
        patterns: the rows, in the order in which they are tried.

    Raises:
        InvalidArgument: a phrase cannot be read.
    """

    def __init__(self, patterns: Sequence[RelationPattern] = PATTERNS) -> None:
        self._compiled = tuple(map(compiled, patterns))
        self._triggers = frozenset(word for c in self._compiled for word in c.anchors)

    def find(
        self, words: Words, slots: Sequence[Candidate], actor: str | None
    ) -> list[tuple[Candidate, str, Candidate, float]]:
        """Relations as `(subject, predicate, object, confidence)`. Names of kind `name` take the pattern's kind."""
        if not slots or self._triggers.isdisjoint(words.lows):
            return []
        found: list[tuple[Candidate, str, Candidate, float]] = []
        speaker = _speaker(actor)
        by_first = {slot.first: slot for slot in slots}
        for first, stop, asked in _sentences(words, slots):
            if not asked and stop - first <= SENTENCE_WORDS_MAX:
                self._in_sentence(words, by_first, speaker, first, stop, found)
        return found

    def _in_sentence(
        self,
        words: Words,
        slots: dict[int, Candidate],
        speaker: Candidate | None,
        first: int,
        stop: int,
        found: list[tuple[Candidate, str, Candidate, float]],
    ) -> None:
        present = self._triggers.intersection(words.lows[first:stop])
        if not present or (words.lows[first] in QUESTION_OPENERS and first not in slots):
            return
        sentence = _Sentence(words, slots, speaker, first, stop)
        if sentence.count < 2:
            return
        for row in self._compiled:
            if row.anchors.isdisjoint(present):
                continue
            for match in row.regex.finditer(sentence.text):
                found.extend(sentence.read(row, match))


class _Sentence:
    """One sentence as text in which names are numbers."""

    def __init__(
        self, words: Words, slots: dict[int, Candidate], speaker: Candidate | None, first: int, stop: int
    ) -> None:
        self.names: list[Candidate] = []
        self.count = 0
        parts: list[str] = []
        quoted = any(c in words.text[words.starts[first] : words.ends[stop - 1]] for c in '"“”')
        i = first
        while i < stop:
            gap = words.gap(i).strip() if i > first else ""
            if gap:
                parts.append("," if gap == "," else "" if gap == "." and parts and parts[-1] in TITLES else "|")
            slot = slots.get(i)
            if slot is not None:
                parts.append(f"<{self._add(slot)}>" + ("t" if slot.team else ""))
                i = slot.stop
                if words.owns[i - 1]:
                    parts.append("'s")
                continue
            parts.extend(self._first_person(words.lows[i], None if quoted else speaker))
            if words.owns[i]:
                parts.append("'s")
            i += 1
        self.words = [part for part in parts if part]
        self.text = " ".join(self.words)
        doubts = [k for k, word in enumerate(self.words) if word in DOUBT]
        self.doubt = doubts[0] if doubts else len(self.words)

    def _add(self, slot: Candidate) -> int:
        self.names.append(slot)
        self.count += 1
        return len(self.names) - 1

    def _first_person(self, low: str, speaker: Candidate | None) -> tuple[str, ...]:
        if speaker is not None:
            if low == "i":
                return (f"<{self._add(speaker)}>i",)
            if low == "i'm":
                return (f"<{self._add(speaker)}>i", "am")
            if low == "me":
                return (f"<{self._add(speaker)}>",)
            if low == "my":
                return (f"<{self._add(speaker)}>", "'s")
        return (low,)

    def read(self, row: _Compiled, match: re.Match[str]) -> Iterable[tuple[Candidate, str, Candidate, float]]:
        """What one match states, if its surroundings let it."""
        pattern = row.pattern
        begin = self.text.count(" ", 0, match.start())
        if not row.apposition and (self.doubt < begin or not self._free_before(begin)):
            return
        groups = [g for g in match.groups() if g is not None]
        heads = _NUMBER.findall(groups[0])
        tails = _NUMBER.findall(groups[-1])
        end = self.text.count(" ", 0, match.end()) + 1
        if not row.apposition:
            kept = self._whole_objects(tails, groups[-1], end)
            if kept is None:
                return
            tails, end = kept
        if not row.apposition and not DOUBT_AFTER.isdisjoint(self.words[end:]):
            return
        for head in heads:
            for tail in tails:
                x, y = self.names[int(head)], self.names[int(tail)]
                if x.name != y.name and _fits(x, pattern.subject_kind) and _fits(y, pattern.object_kind):
                    _vouch(x, pattern.subject_kind)
                    _vouch(y, pattern.object_kind)
                    subject, object_ = (y, x) if pattern.inverse else (x, y)
                    yield subject, pattern.predicate, object_, pattern.confidence

    def _free_before(self, begin: int) -> bool:
        k = begin - 1
        if k >= 0 and self.words[k] == "the":
            k -= 1
        if k > 1 and self.words[k - 1] == "'s" and self.words[k].isalpha():
            return True  # "my brother Kofi works at …"
        return k < 0 or self.words[k] in BEFORE_SUBJECT or self.words[k] in {",", "|"}

    def _whole_objects(self, tails: list[str], listed: str, end: int) -> tuple[list[str], int] | None:
        """The names of the closing list that belong to it: the last may begin the next clause."""
        steps = listed.split(" ")
        while tails:
            after = self.words[end] if end < len(self.words) else ""
            if not after or after in AFTER_OBJECT or after in {",", "|"}:
                return tails, end
            tails = tails[:-1]
            # back over the last name and the comma or "and" before it
            steps.pop()
            end -= 1
            while steps and steps[-1] in {",", "and"}:
                steps.pop()
                end -= 1
        return None


def _speaker(actor: str | None) -> Candidate | None:
    if not actor:
        return None
    return Candidate(first=-1, stop=-1, start=0, end=0, name=actor, kind="name", confidence=1.0, declared=True)


def _sentences(words: Words, slots: Sequence[Candidate]) -> Iterable[tuple[int, int, bool]]:
    """`(first word, word after the last, whether it is a question)` of each sentence. A name is never cut."""
    inside = {i for s in slots for i in range(s.first + 1, s.stop)}
    first, count = 0, len(words.lows)
    for i in range(1, count):
        gap = words.gap(i)
        if gap == " " or i in inside or not breaks(gap):
            continue
        if gap == ". " and words.lows[i - 1] in TITLES:
            continue
        yield first, i, "?" in gap
        first = i
    if first < count:
        yield first, count, "?" in words.tail()


def _fits(name: Candidate, kind: str) -> bool:
    return not kind or name.declared or name.kind in COMPATIBLE[kind]


def _vouch(name: Candidate, kind: str) -> None:
    name.confidence = max(name.confidence, UPGRADED)
    if kind and name.kind == "name":
        name.kind = kind
