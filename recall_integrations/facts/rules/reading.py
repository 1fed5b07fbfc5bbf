"""A text while it is read: its sentences, whether a place in it states anything, and what was found."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime

from recall_integrations.facts.rules import dates
from recall_integrations.facts.rules.values import Value
from recall_integrations.facts.said import IS, NOT, WAS, Said
from recall_integrations.facts.slots import Slots
from recall_integrations.patterns import regex

HEDGED = 0.6  # "I think my …"
SURE = 0.9
RESOLVED = 0.75  # "she", of whoever was named before
# Marks and quotes before a space; lines; semicolons; marks between a small letter and a capital. All of them begin with
# one set of signs, so that the others are passed over at once.
_BOUNDARY = regex(
    r"[.!?…\n;](?:(?<=[.!?…])[.!?…]*[\"'”’)*]{0,3}(?=\s|$)|(?<=\n)\n*|(?<=;)\s|(?<=[a-z][!?])[!?]*(?=[A-Z]))"
)
_SHORT = regex(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof|No|Apt|vs|etc|approx|e\.g|i\.e|[A-Z]|ft|Ave|Rd|Jr|Sr))\Z")
# How what `_SHORT` finds ends, but for a single capital.
_SHORT_ENDS = frozenset("Dr Mr Jr Sr rs Ms vs St pt ft of No tc ox .g .e ve Rd".split())
_POISON = regex(
    r"\b(?i:if(?!\syou\b)|whether|unless|wish\w*|imagine\w*|pretend\w*|suppose|supposing|hypothetically|what\sif|not\ssure|"
    r"don['’]t\s(?:think|know|believe)|doubt|hop(?:e|es|ing)|wonder\w*|dream(?:s|ed|t|ing)?\s(?:of|about|that|i)|"
    r"as\sthough|as\sif|remember\swhen|for\sexample|e\.g\.|let['’]s\ssay|say\si['’]m|act\sas|role\s?play)\b|"
    r"\b(?:(?:[Hh]e|[Ss]he|[Tt]hey|[Pp]eople|[Ee]veryone|[Ee]verybody|[Ss]omeone|[Ss]omebody|[Yy]ou|[Ww]ho|[Ii]t|[A-Z]\w{1,20}|mom|mum|dad|\w{1,15}er|\w{1,9}nd)\s"
    r"(?:always\s|still\s|just\s|also\s)?(?:thinks?|thought|says?|said|claims?|claimed|believes?|believed|heard|assumes?|assumed|guess(?:es|ed)?|"
    r"asks?|asked|mentioned|mentions?|told\s\w+|swears?|insists?|joked?s?))\b"
)
_HEDGE = regex(
    r"\b(?:i\s(?:think|guess|believe|suppose|assume|reckon)|maybe|perhaps|probably|apparently|might|seems?|possibly|"
    r"if\si\s(?:remember|recall)|not\ssure|supposedly|allegedly|i['’]m\sguessing)\b",
    2,
)
_LEADS = frozenset(
    "and but so because though although that well yes yeah yep no nope hi hey hello actually btw fyi now currently think"
    " guess believe suppose know say note remember also plus ok okay oh since as basically nowadays today anyway"
    " honestly fact unfortunately luckily sadly maybe perhaps probably apparently still sorry correction wait update"
    " cause cuz told mention mentioned said then whereas while finally recently oops reckon assume anymore out way forget sure"
    " obviously technically meanwhile additionally lol haha later previously originally formerly or".split()
)
_ASKING = regex(
    r",?\s*(?:(?:and|so|but|then)\s|,\s?)?(?:(?:do|did|does|is|are|was|were|can|could|would|will|shall|should|how|what|which|where|when|"
    r"who|why|any|have|has|may|might|help|please|i['’]m\swondering|i\swas\swondering|i\swonder|i\sneed|i\swant)\b|['’]s)",
    2,
)
_CORRECTS = regex(
    r"(?:(?:oh|ah|no|hm+|oops|ok|well|wait|hey|and|but)[,.!]?\s){0,2}(?:actually|sorry|correction|oops|scratch\sthat|my\sbad|no\swait|wait|"
    r"to\scorrect\smyself|i\smisspoke|i\smade\sa\smistake|let\sme\scorrect\s\w+)\b",
    2,
)
_DATES_BEGIN = (
    "[Ii]n|[Oo]n|[Ll]ast|[Tt]his|[Nn]ext|[Ss]ince|[Yy]esterday|[Bb]ack|[Aa]s|[Ff]rom|[Bb]etween|[Ss]tarting|[Ee]arly"
)
_DATED = regex(rf"(?:{_DATES_BEGIN}|[A-Za-z0-9]{{1,6}}\s\w{{4,6}}\sago)\b")
# What a clause holds that is a date only, or "of all editors".
_MAY_BE_DATED = regex(rf"\b(?:{_DATES_BEGIN}|ago|[Oo]f|[Aa]mong)\b")
_NEAR, _NEAR_WORDS = 120, 8  # characters and words before a subject that are looked at first


class Reading:
    """What one text says, as far as it has been read.

    Args:
        text: of a memory.
        at: when it was said.
        slots: the schema.
    """

    __slots__ = ("_ends", "_starts", "at", "busy", "found", "person", "slots", "text")

    def __init__(self, text: str, at: datetime, slots: Slots) -> None:
        self.text, self.at, self.slots = text, at, slots
        self.found: list[Said] = []
        self.busy = 0  # nothing begins before here: it is a part of what was found
        self.person: tuple[str, int] | None = None  # who was told of last, and in which sentence
        self._starts: list[int] = []
        self._ends: list[int] = []

    def sentence(self, place: int) -> tuple[int, int]:
        """Start and end of the sentence in which a place lies."""
        number = self.number(place)
        return self._starts[number], self._ends[number]

    def number(self, place: int) -> int:
        """Which sentence it is, counted from 0."""
        if not self._starts:
            self._cut()
        return bisect_right(self._starts, place) - 1

    def _cut(self) -> None:
        start = 0
        for match in _BOUNDARY.finditer(self.text):
            at = match.start()
            if match[0] == "." and (self.text[max(0, at - 2) : at] in _SHORT_ENDS or self.text[at - 1 : at].isupper()):
                if _SHORT.search(self.text, max(start, at - 8), at):
                    continue
            self._starts.append(start)
            self._ends.append(match.start())
            start = match.end()
        self._starts.append(start)
        self._ends.append(len(self.text))

    def asked(self, end: int) -> bool:
        """Whether the sentence that ends here is a question."""
        return "?" in self.text[end : end + 3]

    def stated(self, start: int, end: int) -> float:
        """How sure it is that a clause states something: 0 = it does not.

        Args:
            start: of its subject.
            end: of its value.
        """
        first, last = self.sentence(start)
        before = self.text[max(first, start - 400) : start]
        if not _leads(before) or before.count('"') % 2 or before.count("“") > before.count("”"):
            return 0.0
        if before and _POISON.search(before):
            return 0.0
        if self.asked(last) and not _ASKING.match(self.text, end, last):
            tail = self.text[end:last]
            comma = tail.find(", ")
            if comma < 0 or comma > 200 or not _ASKING.match(tail, comma):
                return 0.0
        near = before[-60:]
        return HEDGED if (near and _HEDGE.search(near)) else SURE

    def say(
        self,
        slot: str,
        value: Value,
        subject: str,
        start: int,
        *,
        op: str = IS,
        instead_of: str = "",
        corrects: bool = False,
        event: bool = False,
        ahead: bool = False,
        sure: float = 1.0,
        until: bool = False,
    ) -> bool:
        """Keeps what was found, if its clause states it.

        Args:
            slot: name of it.
            value: and its place.
            subject: of whom.
            start: of the subject in the text.
            op: as in `Said`.
            instead_of: as in `Said`.
            corrects: as in `Said`.
            event: whether the verb tells of the beginning, so that its date is `since`.
            ahead: whether it will hold only, so that it needs a date in the future.
            sure: what its confidence is multiplied with.
            until: whether the event is the end.
        """
        confidence = self.stated(start, value[2])
        if not confidence:
            return False
        first, _ = self.sentence(start)
        op, since, ended = self._times(op, value, start, event=event, ahead=ahead)
        if ahead and (since is None or since <= self.at):
            return False
        if until and ended is None:
            since, ended = None, since
        if since and ended and since >= ended:
            since = ended = None
        corrects = corrects or bool(_CORRECTS.match(self.text, first, start))
        self.found.append(
            Said(
                slot=slot,
                value=value[0],
                subject=subject,
                op=op,
                instead_of=instead_of if instead_of.casefold() != value[0].casefold() else "",
                corrects=corrects and op == IS,
                since=since,
                until=ended,
                confidence=round(confidence * sure, 3),
                span=(value[1], value[2]),
            )
        )
        self.busy = max(self.busy, value[2])
        return True

    def _times(
        self, op: str, value: Value, start: int, *, event: bool, ahead: bool
    ) -> tuple[str, datetime | None, datetime | None]:
        """What is said of it, since when and until when; arguments are those of `say`."""
        text, (first, last) = self.text, self.sentence(start)
        since, ended = dates.told(text, value[2], last, self.at, event=event or ahead, past=op == WAS)
        if since is None and start > first and _DATED.match(text, first):
            if event:
                since = dates.leading(text, first, start, self.at)
            elif op == WAS and ended is None:
                since, ended = dates.before(text, first, start, self.at)
        if op == NOT and since is not None and ended is not None:  # "I moved out of Rome between 2010 and 2012"
            return op, None, ended if event and ended <= self.at else None
        if op == IS and ended is not None and ended <= self.at:
            if " been " in text[start : value[1]]:
                return WAS, since, ended  # "I've been a nurse until last year"
            ended = None  # what is said to hold had not ended when it was said
        return op, since, ended

    def corrected(self, start: int) -> bool:
        """Whether the sentence of a place begins as a correction does."""
        first, _ = self.sentence(start)
        return bool(_CORRECTS.match(self.text, first, start))


def may_state(text: str, start: int) -> bool:
    """Whether a clause that begins here with its subject may state anything: a look at the words before it.

    It needs no sentences. Where it says no, `Reading.stated` is 0, whatever follows: "do I", "when you", "how she".

    Args:
        text: the whole.
        start: of the subject.
    """
    near = text[max(0, start - _NEAR) : start]
    before = near.rstrip()
    if not before or not before[-1].isalnum() or "\n" in near[len(before) :]:
        return True
    words = before.rsplit(None, _NEAR_WORDS)
    last = words[-1]
    if last.casefold() in _LEADS or "!" in last or "?" in last or (len(words) <= _NEAR_WORDS and start > _NEAR):
        return True
    return _MAY_BE_DATED.search(before) is not None


def _leads(before: str) -> bool:
    before = before.rstrip()
    if not before or not (before[-1].isalnum()):
        return not before or before[-1] in ",:-–—(*•>!.…" or before[-1] not in "'’&/+=\"”"
    last = before.rsplit(None, 1)[-1].casefold()
    return last in _LEADS or _dated(before)


def _dated(before: str) -> bool:
    """Whether what stands before is a date only ("In March I …")."""
    clause = before.rsplit(",", 1)[-1].strip()
    for lead in ("And ", "and ", "So ", "so ", "But ", "but "):
        clause = clause.removeprefix(lead)
    return len(clause.split()) <= 4 and bool(_DATED.match(clause))


__all__ = ["HEDGED", "IS", "NOT", "RESOLVED", "SURE", "Reading"]
