"""A question about a state in the making: its words, its time, and how an answer comes of a noun or a verb."""

from __future__ import annotations

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.asked_of import LIKELY, SURE, WEAK, Noun, noun_of, subjects_at
from recall_integrations.facts.asking_time import Hints
from recall_integrations.facts.asking_verbs import kind_of
from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import OPEN, Slots

PLANNED_WORDS_MAX = 5  # of "my dentist appointment"
# What happens once, or is told again each time: which of them is meant, nobody says.
_NO_PLANS = frozenset(
    "last first time times best one ones thing things next other same day week month year birthday holiday"
    " holidays".split()
)


class Asking:
    """A question without its opening and its time.

    Args:
        words: of the question.
        low: the same in lower case.
        hints: what was read of its time.
        slots: the schema.
        windowed: whether it names a time.
        asked: as in `asking_gate.Sentence`.
    """

    __slots__ = ("asked", "hints", "low", "slots", "windowed", "words")

    def __init__(
        self, words: list[str], low: list[str], hints: Hints, slots: Slots, *, windowed: bool, asked: int
    ) -> None:
        self.words, self.low, self.hints, self.slots = words, low, hints, slots
        self.windowed, self.asked = windowed, asked

    def answer(
        self,
        names: tuple[str, ...],
        subject: str,
        tense: str,
        confidence: float,
        *,
        value: str = "",
        told: str = "",
        noun: bool = False,
    ) -> StateAsked | None:
        names = tuple([name for name in names if name in self.slots or name.startswith(OPEN)])
        if not names:
            return None
        mode, sure = self._mode(names[0], tense, told, noun=noun)
        before = (self.hints.before or "") if mode == THEN else ""
        during = self.hints.during if mode == THEN else ""
        return StateAsked(
            slots=names,
            subject=subject,
            mode=mode,
            value=value,
            before=before,
            during=during,
            confidence=min(confidence, sure),
        )

    def _mode(self, name: str, tense: str, told: str, *, noun: bool) -> tuple[str, float]:
        kinds = self.hints.kinds
        if tense in (WHEN, HISTORY):
            return tense, SURE
        if "history" in kinds:
            return HISTORY, SURE
        if tense == "used" and self.hints.before is None and not self.hints.during:
            return PREVIOUS, SURE
        if "then" in kinds or (self.windowed and not kinds & {"now", "again"} and told != "previous"):
            return THEN, SURE
        if told == "first":
            return HISTORY, WEAK
        if tense in ("perfect", "ever"):
            return HISTORY, SURE
        if told == "previous" or tense == "used":
            return PREVIOUS, SURE
        if "before" in kinds and tense == "past":
            return PREVIOUS, SURE
        if tense == "past" and "again" not in kinds:
            if name in words_of.LASTING:
                return NOW, LIKELY
            if noun and (name.startswith(OPEN) or name in words_of.LOOKED_UP):
                return NOW, WEAK
            return PREVIOUS, LIKELY if not noun else WEAK
        return NOW, SURE

    def of_noun(self, noun: Noun, tense: str, confidence: float = SURE, value: str = "") -> StateAsked | None:
        many = not self.slots.one(noun.slots[0])
        if many and tense == "past" and "again" not in self.hints.kinds:
            tense, confidence = "ever", WEAK  # "what were my hobbies?": all that they were
        elif noun.told == "all" or (noun.plural and tense not in ("now", WHEN) and not many):
            tense = "now" if many and tense == "now" else HISTORY
        elif noun.told == "previous" and noun.plural:
            tense = HISTORY
        return self.answer(
            noun.slots, noun.subject, tense, min(confidence, noun.confidence), value=value, told=noun.told, noun=True
        )

    def noun(self, start: int, end: int | None = None) -> Noun | None:
        return noun_of(self.words[start:end], self.low[start:end], self.slots)

    def planned(self, start: int, end: int | None = None) -> Noun | None:
        """What is planned for a time: "the standup", "my dentist appointment". Who asks when it is asks for no more."""
        low = self.low[start:end]
        if len(low) < 2 or low[0] not in ("my", "our", "the") or len(low) > PLANNED_WORDS_MAX:
            return None
        if any(word in words_of.NOT_IN_NAMES or word in _NO_PLANS or "'" in word for word in low[1:]):
            return None
        phrase = " ".join(low[1:])
        called = slots_called(phrase, self.slots)
        if not called or (not called[0].startswith(OPEN) and kind_of(self.slots, called[0]) in ("any", "date")):
            return None
        return Noun(ME, (OPEN + open_name(phrase),), WEAK, "", False, phrase)

    def own_noun(self, subject: str, start: int, end: int | None = None) -> Noun | None:
        """A noun whose owner is the subject: "my number" behind "I", "her number" behind "Priya"."""
        low = self.low
        if start >= len(low):
            return None
        if low[start] in ("my", "our", "the", "a") or (subject and low[start] in ("her", "his", "their", "its")):
            if low[start] == "a" and low[start + 1 : start + 2] not in (["new"], ["different"]):
                return None
            found = noun_of(["my", *self.words[start + 1 : end]], ["my", *low[start + 1 : end]], self.slots)
            return None if found is None else found._replace(subject=subject or found.subject)
        found = self.noun(start, end)
        if found is None and not subject:
            found = noun_of(["my", *self.words[start:end]], ["my", *low[start:end]], self.slots)
            found = found if found is not None and not found.slots[0].startswith(OPEN) else None
        return found

    def fits(self, first: str, noun: Noun) -> bool:
        """Whether a slot is asked for with such a word: where my car is, is not what my car is."""
        name = noun.slots[0]
        if first == "where":
            return name in words_of.PLACED
        if first == "when":
            return name in words_of.DATED or kind_of(self.slots, name) == "date"
        if first in ("who", "whom"):
            if name.startswith(OPEN) or name in words_of.PEOPLE or name.startswith("favourite"):
                return True
            return kind_of(self.slots, name) == "person"
        return True

    def changes(self, noun: Noun) -> bool:
        """Whether somebody who changes such a thing changes what holds of it."""
        return not noun.slots[0].startswith(OPEN) or noun.phrase.split()[-1] in words_of.CHANGED

    def value_at(self, start: int) -> str:
        """The rest as a value; empty = it is none."""
        words, low = self.words[start:], self.low[start:]
        while low and low[0] in ("the", "a", "an"):
            words, low = words[1:], low[1:]
        if not low or len(low) > 4 or low[0] in words_of.NOT_IN_NAMES or low[0] in ("her", "his", "their", "my", "our"):
            return ""
        if any(word in words_of.NOT_IN_NAMES for word in low[1:] if word not in ("of", "and", "in", "the")):
            return ""
        return " ".join(words).strip(" ,.;:!?\"'")

    def clauses(self, at: int) -> list[tuple[str, str, list[str], float]]:
        """The ways to read subject, tense and verb from a place on; of a "be" the verb is "be" and what follows."""
        low = self.low
        if at >= len(low):
            return []
        found = []
        aux = low[at]
        tense = words_of.DO.get(aux) or words_of.BE.get(aux) or words_of.HAVE.get(aux) or ""
        for subject, end, sure in subjects_at(self.words, low, at + 1 if tense else at):
            rest = low[end:]
            here = tense
            if not tense:
                if not rest:
                    continue
                here = "past" if rest[0] in words_of.PAST_FORMS else "now"
                if rest[0] in words_of.BE:
                    here, rest = words_of.BE[rest[0]], ["be", *rest[1:]]
                elif rest[0] in words_of.HAVE and len(rest) > 1:
                    here, rest = "perfect", rest[1:]
            elif aux in words_of.BE:
                rest = ["be", *rest]
            if rest[:2] in (["use", "to"], ["used", "to"]):
                here, rest = "used", rest[2:]
            if here == "perfect" and rest[:1] == ["been"] and rest[1:2]:
                rest = ["be", *rest[1:]]
            if (
                len(rest) > 1
                and rest[0] == "be"
                and rest[1].endswith("ing")
                and words_of.FORMS.get(rest[1], "do") != "do"
            ):
                found.append((subject, here, [words_of.FORMS[rest[1]], *rest[2:]], sure))
            if aux in words_of.DO and rest and rest[0] in words_of.FORMS and words_of.FORMS[rest[0]] != rest[0]:
                continue
            found.append((subject, here, rest, sure))
        return found
