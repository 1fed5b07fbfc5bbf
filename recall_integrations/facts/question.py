"""Whether a query asks how things are, were, or how they changed, and of what.

It reads the shapes of English questions about states and nothing else: a query is read as one only if all of its words
have a place in the shape. "Where do I live?" asks for a state, "where do I live that has snow?" does not.

    what my phone number is          noun      the slot by its noun: `asked_of`
    where do I live                  verb      the slot by its verb: `asking_words`
    do I still live in Berlin        yes or no
    when did I move to Lisbon        change
    … in March, back then, before    time      `asking_time`

A plain past without a time is read so: "where did I work?" asks for what was before (`PREVIOUS`). "What was my
number?" asks for the one that holds, as people speak of what they have forgotten, if the slot is one that is looked up
(numbers, addresses, names, codes, and whatever the schema does not have); of another ("what was my job?") it asks for
the one before. Both are less sure than with a word that says it.
"""

from __future__ import annotations

from recall_integrations.facts import asking_words as words_of
from recall_integrations.facts.asked import HISTORY, MODES, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.asked_of import LIKELY, SURE, WEAK, noun_of, subjects_at
from recall_integrations.facts.asking_anchored import asked_of_anchor
from recall_integrations.facts.asking_change import Changing
from recall_integrations.facts.asking_gate import ASKED_KNOW, sentence_of
from recall_integrations.facts.asking_loosely import loosely_asked
from recall_integrations.facts.asking_time import read_time
from recall_integrations.facts.asking_verbs import verbs_of
from recall_integrations.facts.asking_words import forms_of
from recall_integrations.facts.cues.asking import asked_by_cues
from recall_integrations.facts.open_names import singular
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import DEFAULT, OPEN, Slots
from recall_integrations.patterns import regex

__all__ = ["HISTORY", "MODES", "NOW", "PREVIOUS", "THEN", "WHEN", "StateAsked", "state_asked"]

SHAPE_MAX = 12  # words of a question without its opening and its time; no shape has more


def state_asked(text: str, slots: Slots = DEFAULT, *, windowed: bool = False) -> StateAsked | None:
    """What a query asks of a slot; `None` = it asks for no state.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether the query names a time, which somebody else has read ("in March", "last year").
    """
    found = _shaped(text, slots, windowed=windowed)
    if found is None and (("'s " in text) or ("’s " in text) or _MINE.search(text) is not None):
        found = loosely_asked(text, slots, windowed=windowed)
    if found is None:
        found = asked_of_anchor(text, slots, windowed=windowed)
    return asked_by_cues(text, slots, windowed=windowed) if found is None else found


_MINE = regex(r"\b(?:my|our|of|for|had|have|has)\b", 2)


def _shaped(text: str, slots: Slots, *, windowed: bool) -> StateAsked | None:
    """What a query of a known shape asks."""
    sentence = sentence_of(text, slots)
    if sentence is None:
        return None
    words, low, hints = read_time(sentence.words, sentence.low, windowed)
    if not 1 < len(low) <= SHAPE_MAX or not all(low) or _broken(low):
        return None
    return _Question(words, low, hints, slots, windowed=windowed, asked=sentence.asked).read()


def _broken(low: list[str]) -> bool:
    """Whether a word ends with a mark inside the sentence: as one text, for word by word takes three times as long."""
    said = " ".join([*low, ""])
    return ", " in said or "; " in said or ": " in said


class _Question(Changing):
    """A question of any shape."""

    def read(self) -> StateAsked | None:
        low = self.low
        first = low[0]
        if first in ("in", "at", "for", "to", "on", "with") and low[1] in ("which", "what", "whom"):
            self.words, self.low = [*self.words[1:], self.words[0]], [*low[1:], low[0]]
            return self._wh(low[1])
        if first in ("since", "for", "from") and low[1:2] in (["when"], ["how"], ["which"]):
            return self.since(2 if low[1] == "when" else 3)
        if first == "how":
            return self._how()
        if first == "when":
            return self.when()
        if first in ("what", "which", "who", "whom", "where"):
            return self._wh(first)
        if first in words_of.BE or first in words_of.DO or first in words_of.HAVE:
            return self.yes_no()
        if first in ("list", "show", "all", "history", "the") and (found := self._listed()):
            return found
        return self._bare()

    def _wh(self, first: str) -> StateAsked | None:
        low = self.low
        if low[1] in words_of.BE:
            found = self._be_noun(first)
            if found is not None:
                return found
        if first in ("what", "who", "where", "which") and low[-1] in words_of.BE:  # "what my number is"
            noun = self.noun(1, len(low) - 1)
            if noun is not None and self.fits(first, noun):
                return self.of_noun(noun, words_of.BE[low[-1]])
        if low[1:4] == ["used", "to", "be"] or low[-2:] == ["to", "be"]:
            return self._used_to_be()
        if low[1] in words_of.HAVE or low[1:3] == ["is", "been"]:
            found = self._have_been()
            if found is not None:
                return found
        if first == "what" and low[1] in ("time", "day", "date") and low[2] in words_of.BE:  # "what time is my flight"
            noun = self.noun(3)
            if noun is None or not self.fits("when", noun):
                noun = self.planned(3) if words_of.BE[low[2]] == "now" else None
            if noun is not None:
                return self.of_noun(noun, words_of.BE[low[2]])
        found = self._name_of_me() or (self._who_does() if first == "who" and len(low) > 2 else None)
        if found is not None:
            return found
        table = {"where": words_of.WHERE, "who": words_of.WHO, "whom": words_of.WHO}.get(first, words_of.WHAT)
        found = self._verb(1, table)
        return found if found is not None or first in ("who", "whom", "where") else self._which_noun()

    def _used_to_be(self) -> StateAsked | None:
        """ "What used to be my number", "what did my number use to be"."""
        low = self.low
        if low[1:4] == ["used", "to", "be"]:
            noun = self.noun(4)
        elif low[-3] in ("use", "used"):
            noun = self.noun(2 if low[1] == "did" else 1, len(low) - 3)
        else:
            return None
        return None if noun is None else self.of_noun(noun, "used")

    def _name_of_me(self) -> StateAsked | None:
        """ "What should you call me", "who am I"."""
        low = self.low
        if low in (["who", "am", "i"], ["who", "i", "am"]):
            return self.answer(("name",), ME, "now", LIKELY)
        called = low == ["what", "should", "i", "be", "called"]
        if low[0] == "what" and low[1] in ("should", "do", "does", "can") and low[-2:] == ["call", "me"]:
            called = low[2] in ("i", "you", "people", "others", "we", "everyone", "friends")
        return self.answer(("nickname", "name"), ME, "now", SURE) if called else None

    def _be_noun(self, first: str) -> StateAsked | None:
        """ "What is my number", "who is Priya's boss", "what is the history of my address"."""
        low = self.low
        found = self._listed(2)
        if found is not None:
            return found
        noun = self.noun(2)
        if noun is not None and self.fits(first, noun):
            return self.of_noun(noun, words_of.BE[low[1]])
        if first == "what" and low[-1] in ("called", "named"):  # "what is my dog called"
            noun = self.noun(2, len(low) - 1)
            if noun is not None and noun.slots[0].startswith(OPEN):
                return self.of_noun(noun, words_of.BE[low[1]])
            for subject, end, sure in subjects_at(self.words, low, 2):
                if end == len(low) - 1:
                    return self._called(subject, sure, words_of.BE[low[1]])
        return None

    def _called(self, subject: str, sure: float, tense: str) -> StateAsked | None:
        slot = self.slots.of_noun.get(subject.removeprefix("my "), "")
        if slot and subject.startswith("my "):
            return self.answer((slot,), ME, tense, sure)
        return self.answer(("name", "nickname"), subject, tense, sure)

    def _have_been(self) -> StateAsked | None:
        """ "What have my addresses been", "what has been my number"."""
        if self.low[2:3] == ["been"]:
            noun = self.noun(3)
            return None if noun is None else self.of_noun(noun, HISTORY)
        if self.low[-1] != "been":
            return None
        noun = self.noun(2, len(self.low) - 1)
        return None if noun is None else self.of_noun(noun, HISTORY)

    def _who_does(self) -> StateAsked | None:
        low = self.low
        verb = {"manages": "boss", "supervises": "boss", "employs": "employer", "owns": "owner", "leads": "owner"}
        if low[1] in words_of.LEADS and low[2] == "the" and low[-1] in words_of.LED and 4 <= len(low) <= 7:
            tense = "past" if low[1].endswith("ed") or low[1] == "led" else "now"
            return self.answer(("owner",), " ".join(self.words[3:]), tense, LIKELY)  # "who manages the data team"
        verb |= {"managed": "boss", "owned": "owner", "led": "owner", "runs": "owner"}
        slot = verb.get(low[1])
        if slot is None:
            return None
        for subject, end, sure in subjects_at(self.words, low, 2):
            if end == len(low) and (low[2] in ("me", "us") or subject):
                return self.answer((slot,), subject, "past" if low[1][-1] == "d" else "now", min(sure, LIKELY))
        return None

    def _verb(self, at: int, table: dict[str, tuple[str, ...]], prefix: str = "", noun: str = "") -> StateAsked | None:
        """ "do I live", "is Priya living", "have I lived", "Priya works": what stands behind the word that asks."""
        for subject, tense, rest, sure in self.clauses(at):
            if not rest:
                continue
            phrase = forms_of(rest)
            if phrase == "do" and tense == "now" and table is words_of.WHAT and rest[0] != "doing":
                if "then" in self.hints.kinds or self.windowed:
                    continue  # "what does she do on Sundays"
                return self.answer(("job",), subject, tense, WEAK)
            names = (None if prefix else verbs_of(self.slots).own.get(phrase)) or table.get(f"{prefix}{phrase}")
            if names is None and not prefix and table is not words_of.WHERE and phrase != "do":
                names = verbs_of(self.slots).bare.get(phrase)
            if names is None and table is words_of.WHERE:
                names = verbs_of(self.slots).placed.get(phrase)
            if names is not None:
                return self._born(phrase, names, subject, tense, sure)
            if rest[0] == "from" and phrase == "from":
                continue
            if table is words_of.WHERE and phrase == "move from":
                return self.answer(("home",), subject, "used", WEAK)
        return None

    def _born(self, phrase: str, names: tuple[str, ...], subject: str, tense: str, sure: float) -> StateAsked | None:
        """What is said in the past and holds: "where did I grow up", "where did Priya move to"."""
        if phrase in (
            "be born",
            "grow up",
            "be raised",
            "move",
            "move to",
            "relocate",
            "relocate to",
            "settle",
            "come from",
        ):
            return self.answer(names, subject, "now", min(sure, SURE if phrase != "move" else WEAK))
        return self.answer(names, subject, tense, min(sure, SURE))

    def _which_noun(self) -> StateAsked | None:
        """ "Which languages do I speak", "what city is Priya from", "which phone numbers have I had"."""
        low = self.low
        start = 1
        if low[1] in ("kind", "type", "sort", "brand", "make", "model") and low[2:3] == ["of"]:
            start = 3
        elif low[1:3] == ["of", "my"]:
            return None
        for end in range(start + 1, min(start + 4, len(low) - 1)):
            aux = low[end] in words_of.DO or low[end] in words_of.BE or low[end] in words_of.HAVE
            if not aux and low[end] != "i" and end != start + 1:
                continue
            noun = low[start:end]
            name = self.slots.of_noun.get(" ".join(noun)) or self.slots.of_noun.get(" ".join(singular(noun)))
            plain = singular(noun)[-1]
            for subject, tense, said, sure in self.clauses(end):
                rest, phrase = said, forms_of(said)
                leads = words_of.LEADS_TO.get((plain, phrase))
                verb = phrase.split()[0] if phrase else ""
                if said[-1:] in (["most"], ["best"]) and verb in words_of.LIKING:  # "what colour do I like most"
                    leads, rest = self.slots.of_noun.get(f"favourite {plain}"), said[:-1]
                name_here = leads or words_of.NOUNS.get(plain, {}).get(verb) or name
                if name_here is None and subject == ME and tense == "now" and rest in (["use"], ["prefer"]):
                    opened = noun_of(["my", *noun], ["my", *noun], self.slots)  # "which shampoo do I use"
                    if opened is not None:
                        return self.of_noun(opened, tense, WEAK)
                if name_here is None or verb not in words_of.LIGHT or len(rest) > 3 or not _ends_well(rest):
                    continue
                of = words_of.LIGHT[verb]
                if leads is None and of and name_here not in of:
                    continue
                many = tense == "perfect" and not self.slots.one(name_here)
                return self.answer(
                    (name_here,), subject, "now" if many else tense, min(sure, LIKELY if name_here == "job" else SURE)
                )
        return None

    def _how(self) -> StateAsked | None:
        low = self.low
        if low[1] in ("did", "has", "have", "does", "do", "is", "can", "could"):
            found = self.how_changed()
            if found is not None:
                return found
            return self._reached() if low[1] in ("do", "can", "could") else None
        if low[1:3] == ["long", "ago"] and len(low) > 4:
            self.words, self.low = ["when", *self.words[3:]], ["when", *low[3:]]
            return self.when()
        if low[1] == "long" or low[1:3] == ["many", "years"]:
            return self.since(2 if low[1] == "long" else 3)
        if low[1:3] in (["many", "times"],) or low[1] == "often":
            return self.how_changed(3 if low[1] == "many" else 2)
        if low[1] == "many":
            return self._which_many()
        return self._how_much()

    def _how_much(self) -> StateAsked | None:
        """ "How much is my rent", "how much do I weigh", "how old is Priya"."""
        low = self.low
        if low[1] in ("much", "high") and low[2:3] and low[2] in words_of.BE:
            noun = self.noun(3)
            if noun is not None and noun.slots[0] in ("rent", "salary", "price", "budget", "weight"):
                return self.of_noun(noun, words_of.BE[low[2]])
        if low[1] == "much":
            at = 3 if low[2:3] == ["rent"] else 2
            return self._verb(at, words_of.HOW, " ".join([*low[1:at], ""]))
        if low[1] in ("old", "tall", "heavy"):
            return self._verb(2, words_of.HOW, f"{low[1]} ")
        return None

    def _reached(self) -> StateAsked | None:
        """ "How can I reach Priya": the subject is whom I reach."""
        low = self.low
        if low[2:3] not in (["i"], ["we"]):
            return None
        for at in range(4, min(9, len(low))):
            names = words_of.HOW.get(" ".join(low[3:at]))
            for subject, end, sure in subjects_at(self.words, low, at) if names else ():
                if names and end == len(low) and subject:
                    return self.answer(names, subject, "now", sure)
        return None

    def _which_many(self) -> StateAsked | None:
        found = self._which_noun_from(2)
        return found if found is None or not self.slots.one(found.slots[0]) or found.mode != NOW else None

    def _which_noun_from(self, start: int) -> StateAsked | None:
        self.words, self.low = [self.words[0], *self.words[start:]], [self.low[0], *self.low[start:]]
        return self._which_noun() if len(self.low) > 3 else None

    def _listed(self, at: int = 0) -> StateAsked | None:
        """ "List all my addresses", "the history of my number", "my job history"."""
        low = self.low
        start = at
        while start < len(low) and low[start] in ("list", "show", "me", "the", "a", "all", "every", "full", "complete"):
            start += 1
        rest = low[start:]
        if (
            len(rest) > 2
            and rest[0] in ("history", "timeline", "evolution", "changes", "list")
            and rest[1] in ("of", "to", "in")
        ):
            more = start + (3 if rest[2] == "all" else 2)
            noun = self.noun(more)
            return None if noun is None else self.of_noun(noun, HISTORY)
        if len(rest) > 2 and rest[-1] in ("history", "timeline"):
            noun = self.noun(start, len(low) - 1)
            if noun is not None and not noun.slots[0].startswith(OPEN):
                return self.of_noun(noun, HISTORY)
        if at == 0 and low[0] in ("list", "show", "all") and len(rest) > 2 and rest[1] in ("i", "we"):
            found = self._which_noun_from(start)  # "all the cities I have lived in"
            if found is not None:
                return found
        if at == 0 and start > 0 and low[0] in ("list", "show", "all") and rest:
            noun = self.noun(start)
            if noun is not None and (noun.told or not noun.slots[0].startswith(OPEN)):
                many = not self.slots.one(noun.slots[0])
                return self.of_noun(noun, "now" if many else HISTORY)
        return None

    def _bare(self) -> StateAsked | None:
        """A noun without a verb: "my wifi password?", "(tell me) Priya's email"."""
        noun = self.noun(0)
        if noun is None or (noun.slots[0].startswith(OPEN) and self.asked < ASKED_KNOW):
            return self._listed()
        return self.of_noun(noun, "now", SURE if self.asked else LIKELY)


def _ends_well(rest: list[str]) -> bool:
    """Whether behind the verb only a preposition or such stands: "do I work for", "am I on"."""
    ends = ("in", "at", "for", "with", "on", "from", "to", "by", "of", "as", "under", "had", "go", "go to", "been")
    return all(word in ends or word in words_of.FORMS or word in ("working", "living", "born") for word in rest[1:])
