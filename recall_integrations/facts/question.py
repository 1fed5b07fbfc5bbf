"""Tells whether a query asks for a slot, and how: read surely, or not at all.

    query ─ without the time that it names ─▶ words ─ all of them fit one shape? ─▶ StateAsked

"what is my phone number?", "where does Priya live now?", "my previous address", "when did I move to Lisbon?": the query
names the slot's noun with its owner, or the slot's verb with its subject, and every word of it has a part in that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recall_integrations.facts.said import ME, SHARED
from recall_integrations.facts.slots import (
    CODES,
    DEFAULT,
    END,
    NAME,
    OPEN,
    PRONOUN,
    Grammar,
    Leads,
    Slots,
    Tree,
    grammar_of,
    listed,
    tokens_of,
)
from recall_integrations.facts.words import NOUN_WORDS_MAX, Words, fits, is_noun, open_name, without
from recall_integrations.records import record

NOW = "now"  # how it is: "what is my number?", "where does she live now?"
THEN = "then"  # how it was at a time: "in March", "back then", "before I moved"
PREVIOUS = "previous"  # what it was before it became what it is: "my previous number", "where did I live before?"
HISTORY = "history"  # all of it, in order: "how did my number change", "which cities have I lived in"
WHEN = "when"  # when it changed or began: "when did I move to Lisbon?"
MODES = (NOW, THEN, PREVIOUS, HISTORY, WHEN)


@record(frozen=True, slots=True, kw_only=True)
class StateAsked:
    """The question that a query asks of a slot."""

    # names of the slots that it may mean, the likeliest first; an open one as in `said.Said.slot`
    slots: tuple[str, ...]
    subject: str = ME  # whose slot it is, as in `said.Said.subject`
    mode: str = NOW  # one of `MODES`
    value: str = ""  # value that is named, as in "when did I move to Lisbon?", "do I still live in Berlin?"; else empty
    # with `THEN`: the value whose end is meant, as of "before I moved to Lisbon" (that came after it); else empty: the
    # latest change
    before: str = ""
    confidence: float = 0.9  # probability that this is asked, in [0, 1]


__all__ = ["HISTORY", "MODES", "NOW", "PREVIOUS", "THEN", "WHEN", "StateAsked", "state_asked"]

CHARS_MAX = 200  # characters of a query; a longer one says more than it asks
WAS, ALL = "was", "all"  # values of a question's verb, beside `NOW`
_NOWHERE = ("date", "number", "person", "work", "language")


def state_asked(
    query: str, slots: Slots = DEFAULT, *, windowed: bool = False, named: tuple[int, int] = (0, 0)
) -> StateAsked | None:
    """Return the question that a query asks of a slot; `None` = it asks none, or nobody can be sure."""
    if len(query) > CHARS_MAX:
        return None
    words = query.lower().replace("’", "'").replace("¿", "").split()
    for code in CODES:
        if code != CODES[0] and grammar_of(slots, code).asking.isdisjoint(words):
            continue
        asking = _Asking(query, slots, grammar_of(slots, code), windowed, named)
        found = asking.read()
        if found is not None:
            return found
    return None


class _Asking(Words):
    """Reads one query in one language."""

    def __init__(self, query: str, slots: Slots, grammar: Grammar, windowed: bool, named: tuple[int, int]) -> None:
        tokens = tokens_of(query, grammar)
        start, end = named
        rest = [token for token in tokens if end <= token.start or token.end <= start] if end > start else tokens
        cut = next((i for i, token in enumerate(rest) if token.start >= end), len(rest)) if end > start else 0
        while cut and rest[cut - 1].word in grammar.prepositions | {"as", "of", "since"} and len(rest) < len(tokens):
            rest, cut = [*rest[: cut - 1], *rest[cut:]], cut - 1
        super().__init__(query, rest, slots, grammar)
        self.windowed = windowed
        self.tail = ""  # told by the end of the query: `PREVIOUS`, `THEN`
        self.before = ""

    def read(self) -> StateAsked | None:
        """Return the query's question; all of its words have to fit."""
        if len(self.tokens) < 2 or any(sign in token.ends for token in self.tokens[:-1] for sign in ".;"):
            return None
        i, end = self._begun(0, len(self.tokens)), self._ended(len(self.tokens))
        if end - i < 2:
            return None
        for shape in (self._since, self._history, self._verb, self._noun, self._whether):
            found = shape(i, end)
            if found is not None:
                return found
        return None

    def _begun(self, i: int, end: int) -> int:
        """Return where the question begins, behind "tell me"."""
        while True:
            for phrase in self.of.ask["polite"]:
                words = phrase.split()
                if self.words(i, i + len(words)) == words and i + len(words) < end:
                    i += len(words)
                    break
            else:
                return i

    def _ended(self, end: int) -> int:
        """Return where the question ends, before "now", "before", "back then", "before I moved to Lisbon"."""
        ask = self.of.ask
        for i in range(2, end - 2):
            if self.word(i) == ask["before"]:
                she = [("", self.of.phrases.get(NAME, {}), i + 2)] if self.word(i + 1) in self.of.third else []
                for _, tree, begin in (*she, *self.subjects(i + 1, end)):
                    for leads, behind in self.walk(tree, begin, end):
                        value = self._valued(leads.slot, behind, end) if leads.op == "begins" else ""
                        if value:
                            self.tail, self.before = THEN, value
                            return i
        while end > 2:
            if self.word(end - 1) in self.of.now:
                end -= 1
                continue
            for mode, phrases in ((PREVIOUS, ask["previous"]), (THEN, ask["then"])):
                for phrase in phrases:
                    words = phrase.split()
                    if not self.tail and self.words(end - len(words), end) == words:
                        self.tail, end = mode, end - len(words)
                        break
            return end
        return end

    def _valued(self, slot: str, i: int, end: int) -> str:
        """Return the value from a place to the end, if it fits; empty = it does not."""
        known = self.slots.get(slot)
        value = self.value(i, end) if i < end else None
        whole = value is not None and value.after == end
        if known is None or value is None or not whole:
            return ""
        return value.text if fits(known.kind, value.words, self.of, articled=value.articled) else ""

    # -- by the verb of a slot

    def _asked_by(self, tree: Tree, subject: str, i: int, end: int) -> Iterator[tuple[str, Leads, int]]:
        """Yield subject, leads and end of each phrase of a tree that stands at a place, the longest first."""
        if i < end:
            word = self.word(i)
            if word in tree:
                yield from self._asked_by(tree[word], subject, i + 1, end)
            elif word in self.of.adverbs:
                yield from self._asked_by(tree, subject, i + 1, end)
            if word in self.of.pronouns and PRONOUN in tree and not self.of.pronouns[word]:
                yield from self._asked_by(tree[PRONOUN], subject, i + 1, end)
            if NAME in tree:
                for who, stop in self._who(i, end):
                    yield from self._asked_by(tree[NAME], who, stop, end)
        for leads in tree.get(END, ()):
            yield subject, leads, i

    def _who(self, i: int, end: int) -> Iterator[tuple[str, int]]:
        """Yield the people named at a place, each with the end of the name; "my sister" is one."""
        if self.word(i) in self.of.my:
            for stop in range(min(end, i + 3), i + 1, -1):
                yield " ".join(["my", *self.words(i + 1, stop)]), stop
        elif self.word(i) not in self.of.not_names:
            for stop in range(min(end, i + 3), i, -1):
                if self.word(stop - 1) not in self.of.adverbs:
                    yield " ".join(self.raw(i, stop)), stop

    def _verb(self, i: int, end: int) -> StateAsked | None:
        """Read "where do I live", "which city does Priya live in", "who do I report to"."""
        if self.of.code != "en":
            found = [
                (who, leads) for who, leads, behind in self._asked_by(self.of.questions, "", i, end) if behind == end
            ]
            return self._answer_of(found)
        wh = self.of.ask["wh"].get(self.word(i))
        if wh is None:
            return None
        for noun_end in range(i + 1, min(end, i + 1 + NOUN_WORDS_MAX)):
            slots = () if noun_end == i + 1 else self._slots_called(self.words(i + 1, noun_end))
            if noun_end > i + 1 and not slots:
                continue
            found = [
                (who, leads)
                for who, leads, behind in self._asked_by(self.of.questions, "", noun_end, end)
                if behind == end and (leads.slot in slots if slots else self._answers(wh, leads))
            ]
            if found:
                return self._answer_of(found)
            for phrases, mode in ((self.of.light, NOW), (self.of.had, ALL)):  # "which phone numbers have I had"
                for who, _, behind in self._asked_by(phrases, "", noun_end, end) if slots else ():
                    if behind == end:
                        return self._answer(slots, who, mode)
        return None

    def _answers(self, wh: str, leads: Leads) -> bool:
        """Say whether a slot may answer a question word: "where" asks for no date, "what do I play" for no one slot."""
        slot = self.slots.get(leads.slot)
        kind = "" if slot is None else slot.kind
        return not listed(kind) and (kind not in _NOWHERE if wh == "place" else not leads.bare)

    def _answer_of(self, found: Sequence[tuple[str, Leads]]) -> StateAsked | None:
        """Return the question of the phrases found; of several slots the user's own come first."""
        if not found:
            return None
        subject, first = found[0]
        names = tuple(dict.fromkeys(leads.slot for who, leads in found if (who, leads.op) == (subject, first.op)))
        return self._answer(names, subject, first.op)

    def _since(self, i: int, end: int) -> StateAsked | None:
        """Read "when did I move to Lisbon", "how long have I lived in Berlin"."""
        for phrase in self.of.ask["since"]:
            words = phrase.split()
            if self.words(i, i + len(words)) != words:
                continue
            for who, leads, behind in self._asked_by(self.of.questions, "", i + len(words), end):
                value = "" if behind == end else self._valued(leads.slot, behind, end)
                if (value or behind == end) and not leads.bare:
                    return StateAsked(slots=(leads.slot,), subject=who, mode=WHEN, value=value)
        return None

    # -- by the noun of a slot

    def _slots_called(self, noun: Sequence[str]) -> tuple[str, ...]:
        """Return the slot that a noun names; for a noun that the schema lacks, open slots by its words."""
        for name in _singulars(" ".join(noun)):
            slot = self.of.nouns.get(name)
            if slot is not None:
                return (slot,) if name in self.of.askable else ()
        if len(noun) > NOUN_WORDS_MAX or not all(is_noun(word, self.of) for word in noun):
            return ()
        return tuple(f"{OPEN}{open_name(name)}" for name in _singulars(" ".join(noun)))

    def _named(self, i: int, end: int) -> tuple[tuple[str, ...], str, bool] | None:
        """Return the slots that a noun phrase names, their owner, and whether it says "old"."""
        if end - i < 2:
            return None
        owned = self.owner(i, end)
        low = self.words(i, end)
        asks = low[0].removesuffix("'s") in self.of.not_names or "'s" not in self.of.possessive
        if owned is None and low[0].endswith("'s") and not asks:
            owned = self.raw(i, i + 1)[0][:-2], low[1:], 0.0  # "priya's email"
        if owned is None:
            known = self.of.nouns.get(" ".join(without(low, self.of)[0]))
            owned = (SHARED, low, 0.0) if known is not None else None
        if owned is None:
            return None
        noun, past = without(owned[1], self.of)
        slots = self._slots_called(noun) if noun else ()
        if owned[0] == SHARED and len(noun) < 2 and " ".join(noun) not in self.of.shared:
            return None
        return (slots, ME if owned[0] == SHARED else owned[0], bool(past)) if slots else None

    def _noun(self, i: int, end: int) -> StateAsked | None:
        """Read "what is my phone number", "my phone number", "what my phone number is"."""
        ask = self.of.ask
        wh = ask["wh"].get(self.word(i))
        begin = i if wh is None else i + 1
        mode = NOW
        if wh is not None:
            told = next((p for p in ask["is"] if self.words(begin, begin + len(p.split())) == p.split()), None)
            if told is not None:
                mode, begin = ask["is"][told], begin + len(told.split())
                begin += self.word(begin) in self.of.adverbs
            elif self.word(end - 1) in ask["is"]:
                mode, end = ask["is"][self.word(end - 1)], end - 1
            else:
                return None
        found = self._named(begin, end)
        if found is None:
            return None
        slots, subject, past = found
        if not self._fits(wh, slots[0]):
            return None
        if past:
            mode = PREVIOUS
        return self._answer(slots, subject, mode)

    def _fits(self, wh: str | None, name: str) -> bool:
        """Say whether a slot answers a question word: "where is my car" does not ask for its name."""
        slot = self.slots.get(name)
        kind = "" if slot is None else slot.kind
        return not wh or kind in {"place": ("place", "address"), "date": ("date",)}.get(wh, ("person", "titled", ""))

    def _history(self, i: int, end: int) -> StateAsked | None:
        """Read "how did my number change", "the history of my address"."""
        for phrase in self.of.ask["history"]:
            words = phrase.split()
            if self.words(i, i + len(words)) != words:
                continue
            stop = end
            for after in self.of.ask["changed"]:
                last = after.split()
                if self.words(end - len(last), end) == last:
                    stop = end - len(last)
                    break
            if (words[0] == "how") != (stop < end):
                continue
            found = self._named(i + len(words), stop)
            return None if found is None else self._answer(found[0], found[1], HISTORY)
        return None

    def _whether(self, i: int, end: int) -> StateAsked | None:
        """Read "is my gym Ironworks", "do I still live in Berlin"."""
        for who, leads, behind in self._asked_by(self.of.questions, "", i, end):
            value = self._valued(leads.slot, behind, end) if leads.op == NOW and not leads.bare else ""
            if value:
                return StateAsked(slots=(leads.slot,), subject=who, value=value)
        if self.of.ask["is"].get(self.word(i)) != NOW:
            return None
        for stop in range(i + 3, end):
            found = self._named(i + 1, stop)
            value = self._valued(found[0][0], stop, end) if found is not None else ""
            if found is not None and value:
                return StateAsked(slots=found[0], subject=found[1], value=value)
        return None

    def _answer(self, slots: tuple[str, ...], subject: str, told: str) -> StateAsked | None:
        """Return the question by verb, noun and end of the query; `None` for a bare "was", whose time is not sure."""
        if told in (ALL, HISTORY):
            return StateAsked(slots=slots, subject=subject, mode=HISTORY)
        mode = PREVIOUS if told == PREVIOUS else self.tail or (THEN if self.windowed else "")
        if not mode and told == WAS:
            return None
        return StateAsked(slots=slots, subject=subject, mode=mode or NOW, before=self.before)


def _singulars(noun: str) -> list[str]:
    """Return a noun, and the nouns that it may be the plural of."""
    found = [noun]
    for ending, single in (("ies", "y"), ("sses", "ss"), ("es", ""), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 2 and not noun.endswith("ss"):
            found.append(noun[: -len(ending)] + single)
    return found
