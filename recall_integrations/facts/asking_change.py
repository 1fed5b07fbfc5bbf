"""Questions for what began, changed and still holds: "when did I move", "how long have I", "do I still live in …"."""

from __future__ import annotations

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.asked import HISTORY, WHEN, StateAsked
from recall_integrations.facts.asked_of import LIKELY, SURE, WEAK, noun_of, subjects_at
from recall_integrations.facts.asking_base import Asking
from recall_integrations.facts.asking_verbs import verbs_of
from recall_integrations.facts.asking_words import forms_of
from recall_integrations.facts.slots import OPEN


class Changing(Asking):
    """A question, as far as it is for a beginning, a change, or whether something holds."""

    def when(self) -> StateAsked | None:
        low = self.low
        dated = self._dated()
        if dated is not None:
            return dated
        if low[1] in ("did", "has", "was", "is") and low[-1] in ("change", "changed", "updated"):
            noun = self.noun(2, len(low) - (2 if low[-2] == "last" else 1))
            if noun is not None:
                return self.of_noun(noun, WHEN)
        for subject, tense, said, sure in self.clauses(5 if low[1:5] == ["was", "the", "last", "time"] else 1):
            if said == ["be", "born"]:
                return self.answer(("birthday",), subject, "now", sure)
            if tense not in ("past", "perfect"):
                continue
            rest = said[1:] if said[:1] in (["last"], ["first"]) else said
            found = self._begun(subject, rest, sure)
            if found is not None:
                return found
        return None

    def _dated(self) -> StateAsked | None:
        """ "When is my birthday", "when the deadline is", "when does the standup start"."""
        low = self.low
        if low[1] in words_of.BE:
            noun = self.noun(2)
            if noun is not None and self.fits("when", noun):
                return self.of_noun(noun, "now", SURE)
            noun = self.planned(2) if words_of.BE[low[1]] == "now" else None
            if noun is not None:
                return self.of_noun(noun, "now")
        if low[-1] in words_of.BE:
            noun = self.noun(1, len(low) - 1)
            if noun is not None and self.fits("when", noun):
                return self.of_noun(noun, "now", SURE)
        if low[1] in ("does", "do") and low[-1] in words_of.HAPPENS:
            noun = self.planned(2, len(low) - 1)
            if noun is not None:
                return self.of_noun(noun, "now")
        return None

    def _begun(self, subject: str, rest: list[str], sure: float) -> StateAsked | None:
        """What began or changed: "move to Lisbon", "change my number", "become vegetarian"."""
        start = len(self.low) - len(rest)
        verb = forms_of(rest).split()
        if not verb:
            return None
        if rest[1:2] == ["to"] and rest[0] in ("switch", "switched", "change", "changed"):
            verb = [verb[0], *verb[2:]]
        if rest[:3] in (["stop", "eating", *rest[2:3]], ["start", "eating", *rest[2:3]]) and rest[-1] in words_of.EATEN:
            return self.answer(("diet",), subject, WHEN, LIKELY)
        if rest[0] in words_of.CHANGE:
            noun = self.own_noun(subject, start + 1)
            if noun is not None and (
                noun.slots[0] in words_of.GOT or (rest[0][:3] != "got" and rest[0] != "get" and self.changes(noun))
            ):
                return self.of_noun(noun, WHEN)
        if verb in (["move"], ["move", "house"]):
            return self.answer(("home", "address"), subject, WHEN, sure)
        if (
            verb[0] in ("become", "go", "turn", "get", "be", "switch", "change")
            and len(verb) == 2
            and verb[1] in words_of.TOLD
        ):
            return self.answer((words_of.TOLD[verb[1]],), subject, WHEN, sure, value=verb[1])
        if verb[0] in ("leave", "quit", "lose", "start", "begin") and len(verb) > 1:
            noun = self.own_noun(subject, start + 1)
            if noun is not None and noun.slots[0] in ("job", "employer", "school"):
                return self.of_noun(noun, WHEN)
        if verb[:2] == ["move", "from"] and "to" in verb[3:]:  # "move from Berlin to Lisbon"
            value = self.value_at(start + verb.index("to") + 1)
            return self.answer(("home",), subject, WHEN, sure, value=value) if value else None
        return self._begun_with(subject, verb, start, sure)

    def _begun_with(self, subject: str, verb: list[str], start: int, sure: float) -> StateAsked | None:
        """What began or ended, with its value: "join Acme", "move out of Berlin"."""
        low = self.low
        verbs = verbs_of(self.slots)
        for table in (verbs.begun, verbs.ended):
            for length in range(min(4, len(verb) - 1), 0, -1):
                names = table.get(" ".join(verb[:length]))
                value = self.value_at(start + length)
                if names is not None and value:
                    if low[start + length] in ("a", "an"):  # "a gym", "a new place"
                        if names[0] not in ("home", "car"):
                            continue
                        value = value if names[0] == "car" else ""
                    if names[0] != "home" and not value[0].isupper() and length == 1:
                        continue
                    return self.answer(names, subject, WHEN, min(sure, SURE if length > 1 else LIKELY), value=value)
        return None

    def since(self, at: int) -> StateAsked | None:
        """ "Since when do I live in Lisbon", "how long have I had my number"."""
        low = self.low
        if at < len(low) and low[at] in ("has", "have", "is"):
            for cut in range(at + 2, len(low)):
                if low[cut] == "been":
                    noun = self.noun(at + 1, cut)
                    if noun is not None:
                        return self.of_noun(noun, WHEN, value=self.value_at(cut + 1))
        for subject, _tense, rest, sure in self.clauses(at):
            found = self._holding(subject, rest, WHEN, sure)
            if found is not None:
                return found
            if rest[:1] == ["be"] and subject:  # "since when is Priya my boss"
                noun = self.noun(len(low) - len(rest) + 1)
                if noun is not None and self.fits("who", noun):
                    return self.of_noun(noun, WHEN, value=subject)
            if rest[:1] in (["had"], ["have"], ["used"], ["use"]):
                noun = self.own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and not noun.slots[0].startswith(OPEN):  # else it is a thing that is had
                    return self.of_noun(noun, WHEN)
        return None

    def how_changed(self, at: int = 1) -> StateAsked | None:
        """ "How did my number change", "how many times have I moved", "how often did I change my job"."""
        low = self.low
        if len(low) <= at + 1:
            return None
        if low[at] in ("did", "has", "have", "does", "do") and low[-1] in (*words_of.CHANGE, "evolve", "been"):
            end = len(low) - (2 if low[-2] == "been" else 1)
            noun = self.noun(at + 1, end)
            if noun is not None:
                return self.of_noun(noun, HISTORY)
        for subject, tense, rest, sure in self.clauses(at):
            if forms_of(rest) in ("move", "move house", "move home") and (at > 1 or tense == "perfect"):
                return self.answer(("home", "address"), subject, HISTORY, sure)
            if rest[:1] and rest[0] in words_of.CHANGE and at > 1:
                noun = self.own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and self.changes(noun):
                    return self.of_noun(noun, HISTORY)
        return None

    def yes_no(self) -> StateAsked | None:
        low = self.low
        if low[0] in ("did", "has", "have") and low[-1] in ("change", "changed"):
            noun = self.noun(1, len(low) - 1)
            if noun is not None:
                return self.of_noun(noun, HISTORY)
        if low[0] in words_of.BE:
            found = self._is_it()
            if found is not None:
                return found
        for subject, tense, rest, sure in self.clauses(0):
            if low[0] in ("did", "has", "have") and rest[:1] and rest[0] in words_of.CHANGE:
                noun = self.own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and rest[0] not in ("get", "got") and self.changes(noun):
                    return self.of_noun(noun, HISTORY)
            found = self._holding(subject, rest, "ever" if tense in ("past", "perfect", "used") else tense, sure)
            if found is not None:
                return found
        return None

    def _holding(self, subject: str, rest: list[str], tense: str, sure: float) -> StateAsked | None:
        """A state with its value: "live in Berlin", "be vegetarian", "be allergic to anything", "have any pets"."""
        if not rest:
            return None
        verb = forms_of(rest).split()
        start = len(self.low) - len(rest)
        if verb[0] == "be" and self.low[start : start + 1] != ["be"] and rest[0] == "be":
            start = len(self.low) - len(rest) + 1  # the "be" is not among the words
            offset = 1
        else:
            offset = 0
        if verb[0] == "be" and verb[-1] in words_of.TOLD and (len(verb) == 2 or verb[1:-1] == ["a"]):
            return self.answer((words_of.TOLD[verb[-1]],), subject, tense, sure, value=verb[-1])
        for length in range(min(4, len(verb)), 0, -1):
            names = verbs_of(self.slots).valued.get(" ".join(verb[:length]))
            if names is None and tense == WHEN:
                names = words_of.BEEN.get(" ".join(verb[:length]))
            if names is None:
                continue
            value = self.value_at(start + length - offset)
            if verb[length:] in (["anything"], ["something"], ["any", "food"], ["any", "foods"], ["anyone"]):
                value = ""
            elif not value:
                return None
            return self.answer(names, subject, tense, sure, value=value)
        return self._had(subject, verb, tense)

    def _had(self, subject: str, verb: list[str], tense: str) -> StateAsked | None:
        """A state without its value: "eat meat", "have any pets"."""
        if verb[0] == "eat" and len(verb) == 2 and verb[1] in words_of.EATEN:
            return self.answer(("diet",), subject, tense, LIKELY)
        if verb == ["live"] and tense == WHEN:
            return self.answer(("home", "address"), subject, tense, WEAK)
        if verb[0] == "have" and verb[1:2] in (["any"], ["a"], ["an"], ["children"], ["kids"], ["pets"], ["siblings"]):
            noun = verb[2:] if verb[1] in ("any", "a", "an") else verb[1:]
            called = noun_of(["my", *noun], ["my", *noun], self.slots) if noun else None
            name = called.slots[-1] if called is not None and not called.slots[-1].startswith(OPEN) else None
            if name is not None and tense in ("now", "ever"):
                return self.answer((name,), subject, tense, LIKELY)
        return None

    def _is_it(self) -> StateAsked | None:
        """ "Is my favourite colour still blue": a noun and its value."""
        low = self.low
        for cut in range(len(low) - 1, max(2, len(low) - 5), -1):
            noun = self.noun(1, cut)
            value = self.value_at(cut)
            if noun is not None and value and _may_hold(noun.slots[0], value):
                return self.of_noun(noun, words_of.BE[low[0]], LIKELY, value)
        for subject, end, _sure in subjects_at(self.words, low, 1):
            noun = self.noun(end)
            if noun is not None and subject and not noun.slots[0].startswith(OPEN):
                return self.of_noun(noun, words_of.BE[low[0]], LIKELY, subject)  # "is Priya still my boss"
        return None


def _may_hold(name: str, value: str) -> bool:
    """Whether a value that is asked for may be one of the slot, and not a word for how it is."""
    return value[0].isupper() or value[0].isdigit() or name.startswith("favourite_") or name in words_of.WORDED
