"""Reads what a text says of slots, where it says it surely: plain sentences of the commonest shapes.

    text ─ gate ─ words ─ clauses ─▶ "my <noun> is <value>", "<who> <verb> <value>" ─ value fits its slot? ─▶ Said

A clause begins a sentence, or follows a sign or a word that joins. Clauses that ask, wish, suppose or pass on words of
others are not read, nor is a value that does not look like one of its slot. The words are those of `grammar`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone

from recall_integrations.facts.said import IS, NOT, SHARED, WAS, Said
from recall_integrations.facts.slots import (
    CODES,
    DEFAULT,
    FAVOURITE,
    OPEN,
    Grammar,
    Leads,
    Slots,
    grammar_of,
    has_digit,
    tokens_of,
)
from recall_integrations.facts.words import NOUN_WORDS_MAX, Value, Words, fits, is_name, is_noun, open_name, without
from recall_integrations.languages.phrases import lowered
from recall_integrations.patterns import blanked, regex
from recall_integrations.query.temporal.parser import parse_window
from recall_integrations.types.messages import iso

_CHARS = 70  # characters behind a value in which a date may stand
_SURE = 0.5  # confidence of a date, at least
_STOP = regex(
    r"\s(?:and|but|because|so|which|who|while|when|i|we)\s(?!\d{4})|[;:!?]|\.(?:\s|$)"
    r"|,\s(?:and|but|so|i|we|she|he|from)\s",
    2,
)
_RANGE = regex(r"\W*(?:(?:from|between)\s.+\s(?:to|until|till|through|and)\s|\d{4}\s?(?:[-–—]|to)\s?\d)", 2)
_BEGINS = regex(r"\W*(?:from|starting|beginning|effective|as of)\s", 2)
_IN_YEAR = regex(r"\W*(?:back\s)?in\s\d{4}\W*\Z", 2)
_HABIT = regex(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", 2)  # something that happens each week
_YEAR = regex(r"\d{4}")


def given_time(given: object) -> datetime | None:
    """Read the time under `since` or `until` of a fact that is no sentence, in UTC; `None` where it is none."""
    found = iso(given, timezone.utc) if isinstance(given, str) else None
    try:
        return None if found is None else found.astimezone(timezone.utc)
    except OverflowError:  # before the first year, or after the last
        return None


def told(
    text: str, start: int, end: int, at: datetime, *, event: bool, past: bool = False
) -> tuple[datetime | None, datetime | None]:
    """Read since when and until when, as said in a part of a text; `None` = it is not said.

    A single date says when an `event` was, and of what is `past` a year alone is all of its time.
    """
    end = min(end, start + _CHARS)
    stop = _STOP.search(text, start, end)
    said = text[start : stop.start() if stop else end]
    window = parse_window(said, at) if len(said) > 4 else None
    if window is None or window.confidence < _SURE:
        return None, None
    since, until = window.start, window.end
    year = _YEAR.search(said)
    if until is not None and (since is None or _RANGE.match(said)):
        if _HABIT.search(said) and since is not None:
            return None, None
        if until <= at and not past and not year:  # a lasting value holds until the next one
            until = until.replace(year=until.year + 1, day=min(until.day, 28))
        return since, until
    if until is not None and past and _IN_YEAR.match(said):
        return since, until
    if until is None:
        return (None if since is not None and since > at and "since" in said.lower() else since), None
    return (since if event or _BEGINS.match(said) else None), None


VERSION = 13  # stored with the facts in a store: facts of another version are made anew
_SENTENCE_END = regex(r"[.!?]+(?=[\s\"'”’)]|$)|[;\n]")
_BLANK = blanked('.,;:!?()"“”[]*')
_OPS = {"is": IS, "begins": IS, "since": IS, "called": IS, "from": IS, "was": WAS, "past": WAS, "not": NOT}


def said_in(text: str, at: datetime, slots: Slots = DEFAULT) -> tuple[Said, ...]:
    """Return the statements of a text about slots, in the order of the text."""
    low = lowered(text).replace("’", "'")
    words = _words_in(low)
    for code in CODES:
        grammar = grammar_of(slots, code)
        if not grammar.may_say(words, low):
            continue
        found: list[Said] = []
        for start, end in _sentences(text, grammar):
            if grammar.may_say(_words_in(low[start:end]), low[start:end]):
                found += _Reader(text, start, end, at, slots, grammar).read()
        if found:
            return tuple(found)
    return ()


def _words_in(low: str) -> frozenset[str]:
    return frozenset(low.translate(_BLANK).split())


def _sentences(text: str, grammar: Grammar) -> Iterator[tuple[int, int]]:
    """Yield the places of sentences that ask nothing."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        last = text[start : match.start()].rsplit(None, 1)[-1:]
        if match[0] == "." and last and last[0].lower() in grammar.titles:
            continue
        if "?" not in match[0] and end > start:
            yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


class _Reader(Words):
    """Reads one sentence of a text."""

    def __init__(self, text: str, start: int, end: int, at: datetime, slots: Slots, grammar: Grammar) -> None:
        super().__init__(text, tokens_of(text, grammar, start, end), slots, grammar)
        self.at = at
        self.found: list[Said] = []

    def read(self) -> list[Said]:
        """Return the statements of the sentence."""
        i, tokens, last = 0, self.tokens, len(self.tokens)
        while i < last:
            if tokens[i].word in self.of.hedges:
                break
            if not tokens[i].opens and (i == 0 or tokens[i - 1].ends or self._led(i)):
                i = max(i, self._clause(i, 0, last))
            i += 1
        return self.found

    def _led(self, i: int) -> bool:
        """Say whether a clause may begin here, within a sentence: behind a word that joins, or a date."""
        word = self.tokens[i - 1].word
        dated = word in self.of.dates or has_digit(word)
        return word in self.of.leads or (dated and i < 6 and self.tokens[0].word in ("in", "from", "since"))

    def _clause(self, i: int, first: int, last: int) -> int:
        """Read the clause that begins at a word; return the place up to which it was read, 0 = none."""
        for subject, noun, copula, sure in self._owned(i, last):
            done = self._of_noun(i, subject, noun, copula, first, last, sure)
            if done:
                return done
        done = self._turned(i, last)
        if done:
            return done
        for subject, tree, begin in self.subjects(i, last):
            for leads, behind in self.walk(tree, begin, last):
                done = self._verb(subject, leads, behind, i, first, last)
                if done:
                    return done
        return 0

    # -- "<who> <verb> <value>"

    def _verb(self, subject: str, leads: Leads, i: int, begin: int, first: int, last: int) -> int:
        slot = self.slots.get(leads.slot)
        value, old = self._told(i, last, leads.op, leads.tail) if slot is not None else (None, "")
        if slot is None or value is None or not self._fits(slot.kind, value):
            return 0
        if (
            leads.op in ("begins", "from")
            and self.tokens[begin].word in self.of.plural
            and not self.slots.is_own(slot.name)
        ):
            return 0
        past = leads.op in ("was", "past")
        since, until = self._dates(value, last, begin, first, begins=leads.op in ("begins", "from"), past=past)
        if (leads.op == "since" and since is None) or (leads.op == "past" and since is None and until is None):
            return 0
        said = Said(
            slot=slot.name,
            value=value.text,
            subject=subject,
            op=_OPS[leads.op],
            instead_of=old,
            since=since,
            until=until,
        )
        return self._say(said, value, last)

    # -- "my <noun> is <value>"

    def _owned(self, i: int, last: int) -> Iterator[tuple[str, list[str], int, float]]:
        """Yield owner, noun and copula's place for an owned noun that begins at a place, with its confidence."""
        of, tokens = self.of, self.tokens
        for c in range(i + 1, min(last, i + NOUN_WORDS_MAX + 5)):
            if tokens[c].word in of.copulas and c > i:
                phrase = tokens[i:c]
                if not any(token.ends for token in phrase[:-1]) and phrase[-1].ends in ("", ":"):
                    owned = self.owner(i, c)
                    if owned is not None:
                        yield (*owned[:2], c, owned[2])
                return
            if tokens[c - 1].ends:
                return

    def _of_noun(self, i: int, subject: str, noun: list[str], c: int, first: int, last: int, sure: float) -> int:
        noun, past = without(noun, self.of)
        name = " ".join(noun)
        slot = self.of.nouns.get(name)
        if not noun or (subject == SHARED and len(noun) < 2 and name not in self.of.shared):
            return 0
        for op, begin in self.walk(self.of.copulas, c, last):
            value, old = self._told(begin, last, op)
            if value is None or not self._holds(slot, noun, value, shared=subject == SHARED):
                continue
            capitals = [word for word in self.raw(i + 1, c) if word[1:].islower() and word[0].isupper()]
            if slot is None and any(word.lower() in noun for word in capitals):
                continue  # "my pup Toby is …"
            kind = WAS if past and _OPS[op] == IS else _OPS[op]
            if (slot is None and op == "called") or (subject == SHARED and kind == WAS):
                continue
            since, until = self._dates(value, last, i, first, begins=c + 1 < begin, past=kind == WAS)
            corrects = i > first and self.tokens[i - 1].word in self.of.corrects and kind == IS
            corrects = corrects and self.word(value.after) not in self.of.now
            said = Said(
                slot=slot or f"{OPEN}{open_name(name)}",
                value=value.text,
                subject=subject,
                op=kind,
                instead_of=old,
                corrects=corrects,
                since=since,
                until=until,
                confidence=sure,
            )
            done = self._say(said, value, last)
            if done:
                return done
        return 0

    def _turned(self, i: int, last: int) -> int:
        """Read "Sam is my manager", "blue is my favourite colour": the value first."""
        for value, end in self.names(i, last):
            if end + 1 >= last or self.tokens[end].word not in self.of.copulas or self.tokens[end - 1].ends:
                continue
            for op, begin in self.walk(self.of.copulas, end, last):
                stop = next((j + 1 for j in range(begin, last) if self.tokens[j].ends), last)
                while stop > begin and self.tokens[stop - 1].word in self.of.now:
                    stop -= 1
                owned = self.owner(begin, stop) if stop - begin > 1 and op in ("is", "was", "not") else None
                noun, past = without(owned[1], self.of) if owned is not None else ([], "")
                known = self.slots.get(self.of.nouns.get(" ".join(noun), ""))
                if owned is None or owned[0] == SHARED or known is None or known.name == "name":
                    continue
                if fits(known.kind, value.split(), self.of) and (known.kind == "person" or "favo" in known.name):
                    place = (self.tokens[i].start, self.tokens[end - 1].end)
                    kind = WAS if past and op == "is" else _OPS[op]
                    self.found.append(Said(slot=known.name, value=value, subject=owned[0], op=kind, span=place))
                    return stop - 1
        return 0

    def _holds(self, slot: str | None, noun: list[str], value: Value, *, shared: bool) -> bool:
        """Say whether a value fits the noun; for a noun that the schema lacks, only a name or a code does."""
        known = None if slot is None else self.slots.get(slot)
        if known is not None:
            return self._fits(known.kind, value)
        if (
            self.word(value.after) in self.of.prepositions
            or len(noun) > NOUN_WORDS_MAX
            or value.articled
            or any(not is_noun(word, self.of) for word in noun)
        ):
            return False
        code = len(value.words) == 1 and has_digit(value.text)
        if shared:
            return code
        if noun[0] in FAVOURITE:
            return fits("any", value.words, self.of)
        return code or is_name(value.words, self.of)

    # -- values

    def _fits(self, kind: str, value: Value) -> bool:
        """Say whether a value fits a kind, and is whole: "answers in bullet points" are no answers."""
        cut = self.word(value.after) in self.of.prepositions and not self.dated(value.after, len(self.tokens))
        if cut and kind in ("any", "activity", "subject", "code") and not self.tokens[value.after - 1].ends:
            return False
        return fits(kind, value.words, self.of, articled=value.articled)

    def _told(self, i: int, last: int, op: str, tail: tuple[str, ...] = ()) -> tuple[Value | None, str]:
        """Return the value at a place; for "from X to Y" the second, and the first."""
        if op != "from":
            return self.value(i, last, tail), ""
        old = self.value(i, last, stop=self.of.to)
        if old is None or self.word(old.after) != self.of.to:
            return None, ""
        return self.value(old.after + 1, last), old.text

    def _dates(
        self, value: Value, last: int, begin: int, first: int, *, begins: bool, past: bool
    ) -> tuple[datetime | None, datetime | None]:
        """Return since when and until when it held, if English words behind the value or before the clause say so."""
        if self.of.code != "en":
            return None, None
        end = self.tokens[last - 1].end
        since, until = told(self.text, value.end, end, self.at, event=begins, past=past)
        if since is None and until is None and begin > first:
            start, end = self.tokens[first].start, self.tokens[begin].start
            return told(self.text, start, end, self.at, event=begins, past=past)
        return since, until

    def _say(self, said: Said, value: Value, last: int) -> int:
        """Keep a statement with the value that it replaces; return the place up to which it was read."""
        after, of = value.after, self.of
        slot = self.slots.get(said.slot)
        kind = "any" if slot is None else slot.kind
        for phrases, how in ((of.instead, "instead"), (of.no, "corrects"), (of.but, "but")):
            begin = next((after + len(p) for p in phrases if self.words(after, after + len(p)) == p), None)
            other = None if begin is None or begin >= last else self.value(begin, last)
            if other is None or not fits(kind, other.words, of, articled=other.articled):
                continue
            if how == "instead" and said.op == IS:
                wrong = self.tokens[after].word == of.instead[-1][0]
                said = replace(said, instead_of=other.text, corrects=said.corrects or wrong)
            elif how == "corrects" and said.op == IS and self.tokens[after - 1].ends:
                said = replace(said, value=other.text, instead_of=said.value, corrects=True)
            elif how == "but" and said.op == NOT:
                said = replace(said, value=other.text, instead_of=said.value, corrects=True, op=IS)
            else:
                continue
            value, after = other, other.after
            break
        self.found.append(replace(said, span=(value.start, value.end)))
        return after - 1
