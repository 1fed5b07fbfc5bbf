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
from recall_integrations.facts.asked_of import LIKELY, SURE, WEAK, Noun, noun_of, subjects_at
from recall_integrations.facts.asking_gate import ASKED_KNOW, sentence_of
from recall_integrations.facts.asking_time import Hints, read_time
from recall_integrations.facts.asking_verbs import kind_of, verbs_of
from recall_integrations.facts.asking_words import forms_of
from recall_integrations.facts.open_names import singular
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import DEFAULT, OPEN, Slots
from recall_integrations.records import record

NOW = "now"  # how it is: "what is my number?", "where does she live now?"
THEN = "then"  # how it was at a time: "in March", "back then", "before I moved"
PREVIOUS = "previous"  # what it was before it became what it is: "my previous number", "where did I live before?"
HISTORY = "history"  # all of it, in order: "how did my number change", "which cities have I lived in"
WHEN = "when"  # when it changed or began: "when did I move to Lisbon?"
MODES = (NOW, THEN, PREVIOUS, HISTORY, WHEN)


@record(frozen=True, slots=True, kw_only=True)
class StateAsked:
    """What a query asks of a slot.

    Args:
        slots: names of the slots that it may be, the likeliest first; an open one as in `said.Said.slot`.
        subject: whom it is asked of, as in `said.Said.subject`.
        mode: one of `MODES`.
        value: one that is named, as of "when did I move to Lisbon?", "do I still live in Berlin?"; else empty.
        before: with `THEN`: the value whose end is meant, as of "before I moved to Lisbon" (that came after it); else
            empty: the latest change.
        during: with `THEN`: a value, perhaps of another slot, in whose time is meant, as of "when I lived in Rome".
        confidence: that this is asked, in [0, 1].
    """

    slots: tuple[str, ...]
    subject: str = ME
    mode: str = NOW
    value: str = ""
    before: str = ""
    during: str = ""
    confidence: float = 0.9


_BE = {"is": "now", "are": "now", "am": "now", "was": "past", "were": "past"}
_DO = {"do": "now", "does": "now", "did": "past"}
_HAVE = {"have": "perfect", "has": "perfect", "had": "past"}


def state_asked(text: str, slots: Slots = DEFAULT, *, windowed: bool = False) -> StateAsked | None:
    """What a query asks of a slot; `None` = it asks for no state.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether the query names a time, which somebody else has read ("in March", "last year").
    """
    sentence = sentence_of(text, slots)
    if sentence is None:
        return None
    words, low, hints = read_time(sentence.words, sentence.low, windowed)
    if len(low) < 2 or any([word.endswith((",", ";", ":")) or not word for word in low]):
        return None
    return _Question(words, low, hints, slots, windowed=windowed, asked=sentence.asked).read()


class _Question:
    """A question without its opening and its time."""

    __slots__ = ("asked", "hints", "low", "slots", "windowed", "words")

    def __init__(
        self, words: list[str], low: list[str], hints: Hints, slots: Slots, *, windowed: bool, asked: int
    ) -> None:
        self.words, self.low, self.hints, self.slots = words, low, hints, slots
        self.windowed, self.asked = windowed, asked

    def read(self) -> StateAsked | None:
        low = self.low
        first = low[0]
        if first in ("in", "at", "for", "to", "on", "with") and low[1] in ("which", "what", "whom"):
            self.words, self.low = [*self.words[1:], self.words[0]], [*low[1:], low[0]]
            return self._wh(low[1])
        if first in ("since", "for", "from") and low[1:2] in (["when"], ["how"], ["which"]):
            return self._since(2 if low[1] == "when" else 3)
        if first == "how":
            return self._how()
        if first == "when":
            return self._when()
        if first in ("what", "which", "who", "whom", "where"):
            return self._wh(first)
        if first in _BE or first in _DO or first in _HAVE:
            return self._yes_no()
        if first in ("list", "show", "all", "history", "the") and (found := self._listed()):
            return found
        return self._bare()

    # ------------------------------------------------------------------ answers

    def _answer(
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

    def _of_noun(self, noun: Noun, tense: str, confidence: float = SURE, value: str = "") -> StateAsked | None:
        many = not self.slots.one(noun.slots[0])
        if many and tense == "past" and "again" not in self.hints.kinds:
            tense, confidence = "ever", WEAK  # "what were my hobbies?": all that they were
        elif noun.told == "all" or (noun.plural and tense not in ("now", WHEN) and not many):
            tense = "now" if many and tense == "now" else HISTORY
        elif noun.told == "previous" and noun.plural:
            tense = HISTORY
        return self._answer(
            noun.slots, noun.subject, tense, min(confidence, noun.confidence), value=value, told=noun.told, noun=True
        )

    def _noun(self, start: int, end: int | None = None) -> Noun | None:
        return noun_of(self.words[start:end], self.low[start:end], self.slots)

    # ------------------------------------------------------------------ what, which, who, where

    def _wh(self, first: str) -> StateAsked | None:
        low = self.low
        if low[1] in _BE:
            found = self._be_noun(first)
            if found is not None:
                return found
        if first in ("what", "who", "where", "which") and low[-1] in _BE:  # "what my number is"
            noun = self._noun(1, len(low) - 1)
            if noun is not None and self._fits(first, noun):
                return self._of_noun(noun, _BE[low[-1]])
        if low[-2:] in (["used", "to", "be"][1:], ["to", "be"]) and "use" in low[-3]:  # "what my number used to be"
            noun = self._noun(2 if low[1] == "did" else 1, len(low) - 3)
            return None if noun is None else self._of_noun(noun, "used")
        if low[1:4] == ["used", "to", "be"]:  # "what used to be my number"
            noun = self._noun(4)
            return None if noun is None else self._of_noun(noun, "used")
        if low == ["what", "should", "i", "be", "called"]:
            return self._answer(("nickname", "name"), ME, "now", SURE)
        if low[1] in _HAVE or low[1:3] == ["is", "been"]:
            found = self._have_been()
            if found is not None:
                return found
        if first == "what" and low[1] in ("should", "do", "does", "can") and low[-2:] == ["call", "me"]:
            if low[2] in ("i", "you", "people", "others", "we", "everyone", "friends"):
                return self._answer(("nickname", "name"), ME, "now", SURE)
        if first == "who" and len(low) > 2:
            found = self._who_does()
            if found is not None:
                return found
        if low in (["who", "am", "i"], ["who", "i", "am"]):
            return self._answer(("name",), ME, "now", LIKELY)
        table = {"where": words_of.WHERE, "who": words_of.WHO, "whom": words_of.WHO}.get(first, words_of.WHAT)
        found = self._verb(1, table)
        return found if found is not None or first in ("who", "whom", "where") else self._which_noun()

    def _be_noun(self, first: str) -> StateAsked | None:
        """ "What is my number", "who is Priya's boss", "what is the history of my address"."""
        low = self.low
        found = self._listed(2)
        if found is not None:
            return found
        noun = self._noun(2)
        if noun is not None and self._fits(first, noun):
            return self._of_noun(noun, _BE[low[1]])
        if first == "what" and low[-1] in ("called", "named"):  # "what is my dog called"
            for subject, end, sure in subjects_at(self.words, low, 2):
                if end == len(low) - 1:
                    return self._called(subject, sure, _BE[low[1]])
        return None

    def _called(self, subject: str, sure: float, tense: str) -> StateAsked | None:
        slot = self.slots.of_noun.get(subject.removeprefix("my "), "")
        if slot and subject.startswith("my "):
            return self._answer((slot,), ME, tense, sure)
        return self._answer(("name", "nickname"), subject, tense, sure)

    def _fits(self, first: str, noun: Noun) -> bool:
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

    def _have_been(self) -> StateAsked | None:
        """ "What have my addresses been", "what has been my number"."""
        if self.low[2:3] == ["been"]:
            noun = self._noun(3)
            return None if noun is None else self._of_noun(noun, HISTORY)
        if self.low[-1] != "been":
            return None
        noun = self._noun(2, len(self.low) - 1)
        return None if noun is None else self._of_noun(noun, HISTORY)

    def _who_does(self) -> StateAsked | None:
        low = self.low
        verb = {"manages": "boss", "supervises": "boss", "employs": "employer", "owns": "owner", "leads": "owner"}
        verb |= {"managed": "boss", "owned": "owner", "led": "owner", "runs": "owner"}
        slot = verb.get(low[1])
        if slot is None:
            return None
        for subject, end, sure in subjects_at(self.words, low, 2):
            if end == len(low) and (low[2] in ("me", "us") or subject):
                return self._answer((slot,), subject, "past" if low[1][-1] == "d" else "now", min(sure, LIKELY))
        return None

    def _verb(self, at: int, table: dict[str, tuple[str, ...]], prefix: str = "", noun: str = "") -> StateAsked | None:
        """ "do I live", "is Priya living", "have I lived", "Priya works": what stands behind the word that asks."""
        for subject, tense, rest, sure in self._clauses(at):
            if not rest:
                continue
            phrase = forms_of(rest)
            if phrase == "do" and tense == "now" and table is words_of.WHAT and rest[0] != "doing":
                if "then" in self.hints.kinds or self.windowed:
                    continue  # "what does she do on Sundays"
                return self._answer(("job",), subject, tense, WEAK)
            names = table.get(f"{prefix}{phrase}")
            if names is None and not prefix and table is not words_of.WHERE and phrase != "do":
                names = verbs_of(self.slots).bare.get(phrase)
            if names is not None:
                return self._born(phrase, names, subject, tense, sure)
            if rest[0] == "from" and phrase == "from":
                continue
            if table is words_of.WHERE and phrase == "move from":
                return self._answer(("home",), subject, "used", WEAK)
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
            return self._answer(names, subject, "now", min(sure, SURE if phrase != "move" else WEAK))
        return self._answer(names, subject, tense, min(sure, SURE))

    def _clauses(self, at: int) -> list[tuple[str, str, list[str], float]]:
        """The ways to read subject, tense and verb from a place on; of a "be" the verb is "be" and what follows."""
        low = self.low
        if at >= len(low):
            return []
        found = []
        aux = low[at]
        tense = _DO.get(aux) or _BE.get(aux) or _HAVE.get(aux) or ""
        for subject, end, sure in subjects_at(self.words, low, at + 1 if tense else at):
            rest = low[end:]
            here = tense
            if not tense:
                if not rest:
                    continue
                here = "past" if rest[0] in words_of.PAST_FORMS else "now"
                if rest[0] in _BE:
                    here, rest = _BE[rest[0]], ["be", *rest[1:]]
                elif rest[0] in _HAVE and len(rest) > 1:
                    here, rest = "perfect", rest[1:]
            elif aux in _BE:
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
            if aux in _DO and rest and rest[0] in words_of.FORMS and words_of.FORMS[rest[0]] != rest[0]:
                continue
            found.append((subject, here, rest, sure))
        return found

    def _which_noun(self) -> StateAsked | None:
        """ "Which languages do I speak", "what city is Priya from", "which phone numbers have I had"."""
        low = self.low
        start = 1
        if low[1] in ("kind", "type", "sort", "brand", "make", "model") and low[2:3] == ["of"]:
            start = 3
        elif low[1:3] == ["of", "my"]:
            return None
        for end in range(start + 1, min(start + 4, len(low) - 1)):
            if low[end] not in _DO and low[end] not in _BE and low[end] not in _HAVE:
                if not (low[end] == "i" or end == start + 1):
                    continue
            noun = low[start:end]
            name = self.slots.of_noun.get(" ".join(noun)) or self.slots.of_noun.get(" ".join(singular(noun)))
            plain = singular(noun)[-1]
            for subject, tense, rest, sure in self._clauses(end):
                phrase = forms_of(rest)
                leads = words_of.LEADS_TO.get((plain, phrase))
                verb = phrase.split()[0] if phrase else ""
                if rest[-1:] in (["most"], ["best"]) and verb in (
                    "like",
                    "love",
                    "prefer",
                ):  # "what colour do I like most"
                    leads, rest = self.slots.of_noun.get(f"favourite {plain}"), rest[:-1]
                name_here = leads or words_of.NOUNS.get(plain, {}).get(verb) or name
                if name_here is None and subject == ME and tense == "now" and rest in (["use"], ["prefer"]):
                    opened = noun_of(["my", *noun], ["my", *noun], self.slots)  # "which shampoo do I use"
                    if opened is not None:
                        return self._of_noun(opened, tense, WEAK)
                if name_here is None or verb not in words_of.LIGHT or len(rest) > 3 or not _ends_well(rest):
                    continue
                of = words_of.LIGHT[verb]
                if leads is None and of and name_here not in of:
                    continue
                if tense == "perfect" and not self.slots.one(name_here):
                    tense = "now"
                return self._answer((name_here,), subject, tense, min(sure, LIKELY if name_here == "job" else SURE))
        return None

    # ------------------------------------------------------------------ how

    def _how(self) -> StateAsked | None:
        low = self.low
        if low[1] in ("did", "has", "have", "does", "do", "is", "can", "could"):
            found = self._how_changed()
            if found is not None:
                return found
            if low[1] in ("do", "can", "could", "should"):
                for subject, tense, rest, sure in self._reaching():
                    if len(rest) == 1 or rest[-1] != "of":
                        names = words_of.HOW.get(" ".join(rest))
                        if names is not None:
                            return self._answer(names, subject, tense, sure)
            return None
        if low[1:3] == ["long", "ago"] and len(low) > 4:
            self.words, self.low = ["when", *self.words[3:]], ["when", *low[3:]]
            return self._when()
        if low[1] == "long" or low[1:3] == ["many", "years"]:
            return self._since(2 if low[1] == "long" else 3)
        if low[1:3] in (["many", "times"],) or low[1] == "often":
            return self._how_changed(3 if low[1] == "many" else 2)
        if low[1] == "many":
            return self._which_many()
        if low[1] in ("much", "high") and low[2:3] and low[2] in _BE:
            noun = self._noun(3)
            if noun is not None and noun.slots[0] in ("rent", "salary", "price", "budget", "weight"):
                return self._of_noun(noun, _BE[low[2]])
        if low[1] == "much":
            at = 3 if low[2:3] == ["rent"] else 2
            return self._verb(at, words_of.HOW, " ".join([*low[1:at], ""]))
        if low[1] in ("old", "tall", "heavy"):
            return self._verb(2, words_of.HOW, f"{low[1]} ")
        return None

    def _reaching(self) -> list[tuple[str, str, list[str], float]]:
        """ "How can I reach Priya": the subject is whom I reach."""
        low = self.low
        if low[2:3] not in (["i"], ["we"]):
            return []
        rows = []
        for at in range(4, min(9, len(low))):
            for subject, end, sure in subjects_at(self.words, low, at):
                if end == len(low) and subject:
                    rows.append((subject, "now", low[3:at], sure))
        return rows

    def _which_many(self) -> StateAsked | None:
        found = self._which_noun_from(2)
        return found if found is None or not self.slots.one(found.slots[0]) or found.mode != NOW else None

    def _which_noun_from(self, start: int) -> StateAsked | None:
        self.words, self.low = [self.words[0], *self.words[start:]], [self.low[0], *self.low[start:]]
        return self._which_noun() if len(self.low) > 3 else None

    def _how_changed(self, at: int = 1) -> StateAsked | None:
        """ "How did my number change", "how many times have I moved", "how often did I change my job"."""
        low = self.low
        if len(low) <= at + 1:
            return None
        if low[at] in ("did", "has", "have", "does", "do") and low[-1] in (*words_of.CHANGE, "evolve", "been"):
            end = len(low) - (2 if low[-2] == "been" else 1)
            noun = self._noun(at + 1, end)
            if noun is not None:
                return self._of_noun(noun, HISTORY)
        for subject, tense, rest, sure in self._clauses(at):
            if forms_of(rest) in ("move", "move house", "move home") and (at > 1 or tense == "perfect"):
                return self._answer(("home", "address"), subject, HISTORY, sure)
            if rest[:1] and rest[0] in words_of.CHANGE and at > 1:
                noun = self._own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and self._changes(noun):
                    return self._of_noun(noun, HISTORY)
        return None

    def _own_noun(self, subject: str, start: int, end: int | None = None) -> Noun | None:
        """A noun whose owner is the subject: "my number" behind "I", "her number" behind "Priya"."""
        low = self.low
        if start >= len(low):
            return None
        if low[start] in ("my", "our", "the", "a") or (subject and low[start] in ("her", "his", "their", "its")):
            if low[start] == "a" and low[start + 1 : start + 2] not in (["new"], ["different"]):
                return None
            found = noun_of(["my", *self.words[start + 1 : end]], ["my", *low[start + 1 : end]], self.slots)
            return None if found is None else found._replace(subject=subject or found.subject)
        found = self._noun(start, end)
        if found is None and not subject:
            found = noun_of(["my", *self.words[start:end]], ["my", *low[start:end]], self.slots)
            found = found if found is not None and not found.slots[0].startswith(OPEN) else None
        return found

    # ------------------------------------------------------------------ when

    def _when(self) -> StateAsked | None:
        low = self.low
        if low[1] in _BE:
            noun = self._noun(2)
            if noun is not None and self._fits("when", noun):
                return self._of_noun(noun, "now", SURE)
        if low[-1] in _BE:
            noun = self._noun(1, len(low) - 1)
            if noun is not None and self._fits("when", noun):
                return self._of_noun(noun, "now", SURE)
        if low[1] in ("did", "has", "was", "is") and low[-1] in ("change", "changed", "updated"):
            noun = self._noun(2, len(low) - (2 if low[-2] == "last" else 1))
            if noun is not None:
                return self._of_noun(noun, WHEN)
        for subject, tense, rest, sure in self._clauses(5 if low[1:5] == ["was", "the", "last", "time"] else 1):
            if rest == ["be", "born"]:
                return self._answer(("birthday",), subject, "now", sure)
            if tense not in ("past", "perfect"):
                continue
            rest = rest[1:] if rest[:1] == ["last"] or rest[:1] == ["first"] else rest
            found = self._begun(subject, rest, sure)
            if found is not None:
                return found
        return None

    def _begun(self, subject: str, rest: list[str], sure: float) -> StateAsked | None:
        """What began or changed: "move to Lisbon", "change my number", "become vegetarian"."""
        low = self.low
        start = len(low) - len(rest)
        verb = forms_of(rest).split()
        if not verb:
            return None
        if rest[1:2] == ["to"] and rest[0] in ("switch", "switched", "change", "changed"):
            verb = [verb[0], *verb[2:]]
        if rest[:3] in (["stop", "eating", *rest[2:3]], ["start", "eating", *rest[2:3]]) and rest[-1] in words_of.EATEN:
            return self._answer(("diet",), subject, WHEN, LIKELY)
        if rest[0] in words_of.CHANGE:
            noun = self._own_noun(subject, start + 1)
            if noun is not None and (
                noun.slots[0] in words_of.GOT or (rest[0][:3] != "got" and rest[0] != "get" and self._changes(noun))
            ):
                return self._of_noun(noun, WHEN)
        if verb == ["move"] or verb == ["move", "house"]:
            return self._answer(("home", "address"), subject, WHEN, sure)
        if (
            verb[0] in ("become", "go", "turn", "get", "be", "switch", "change")
            and len(verb) == 2
            and verb[1] in words_of.TOLD
        ):
            return self._answer((words_of.TOLD[verb[1]],), subject, WHEN, sure, value=verb[1])
        if verb[0] in ("leave", "quit", "lose", "start", "begin") and len(verb) > 1:
            noun = self._own_noun(subject, start + 1)
            if noun is not None and noun.slots[0] in ("job", "employer", "school"):
                return self._of_noun(noun, WHEN)
        if verb[:2] == ["move", "from"] and "to" in verb[3:]:  # "move from Berlin to Lisbon"
            value = self._value(start + verb.index("to") + 1)
            return self._answer(("home",), subject, WHEN, sure, value=value) if value else None
        verbs = verbs_of(self.slots)
        for table in (verbs.begun, verbs.ended):
            for length in range(min(4, len(verb) - 1), 0, -1):
                names = table.get(" ".join(verb[:length]))
                value = self._value(start + length)
                if names is not None and value:
                    if low[start + length] in ("a", "an"):  # "a gym", "a new place"
                        if names[0] not in ("home", "car"):
                            continue
                        value = value if names[0] == "car" else ""
                    if names[0] != "home" and not value[0].isupper() and length == 1:
                        continue
                    return self._answer(names, subject, WHEN, min(sure, SURE if length > 1 else LIKELY), value=value)
        return None

    def _changes(self, noun: Noun) -> bool:
        """Whether somebody who changes such a thing changes what holds of it."""
        return not noun.slots[0].startswith(OPEN) or noun.phrase.split()[-1] in words_of.CHANGED

    def _value(self, start: int) -> str:
        """The rest as a value; empty = it is none."""
        words, low = self.words[start:], self.low[start:]
        while low and low[0] in ("the", "a", "an"):
            words, low = words[1:], low[1:]
        if not low or len(low) > 4 or low[0] in words_of.NOT_IN_NAMES or low[0] in ("her", "his", "their", "my", "our"):
            return ""
        if any(word in words_of.NOT_IN_NAMES for word in low[1:] if word not in ("of", "and", "in", "the")):
            return ""
        return " ".join(words).strip(" ,.;:!?\"'")

    def _since(self, at: int) -> StateAsked | None:
        """ "Since when do I live in Lisbon", "how long have I had my number"."""
        low = self.low
        if at < len(low) and low[at] in ("has", "have", "is"):
            for cut in range(at + 2, len(low)):
                if low[cut] == "been":
                    noun = self._noun(at + 1, cut)
                    if noun is not None:
                        return self._of_noun(noun, WHEN, value=self._value(cut + 1))
        for subject, tense, rest, sure in self._clauses(at):
            found = self._holding(subject, rest, WHEN, sure)
            if found is not None:
                return found
            if rest[:1] == ["be"] and subject:  # "since when is Priya my boss"
                noun = self._noun(len(low) - len(rest) + 1)
                if noun is not None and self._fits("who", noun):
                    return self._of_noun(noun, WHEN, value=subject)
            if rest[:1] in (["had"], ["have"], ["used"], ["use"]):
                noun = self._own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and not noun.slots[0].startswith(OPEN):  # else it is a thing that is had
                    return self._of_noun(noun, WHEN)
        return None

    # ------------------------------------------------------------------ yes or no

    def _yes_no(self) -> StateAsked | None:
        low = self.low
        if low[0] in ("did", "has", "have") and low[-1] in ("change", "changed"):
            noun = self._noun(1, len(low) - 1)
            if noun is not None:
                return self._of_noun(noun, HISTORY)
        if low[0] in _BE:
            found = self._is_it()
            if found is not None:
                return found
        for subject, tense, rest, sure in self._clauses(0):
            if low[0] in ("did", "has", "have") and rest[:1] and rest[0] in words_of.CHANGE:
                noun = self._own_noun(subject, len(low) - len(rest) + 1)
                if noun is not None and rest[0] not in ("get", "got") and self._changes(noun):
                    return self._of_noun(noun, HISTORY)
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
            return self._answer((words_of.TOLD[verb[-1]],), subject, tense, sure, value=verb[-1])
        for length in range(min(4, len(verb)), 0, -1):
            names = verbs_of(self.slots).valued.get(" ".join(verb[:length]))
            if names is None and tense == WHEN:
                names = words_of.BEEN.get(" ".join(verb[:length]))
            if names is None:
                continue
            value = self._value(start + length - offset)
            if verb[length:] in (["anything"], ["something"], ["any", "food"], ["any", "foods"], ["anyone"]):
                value = ""
            elif not value:
                return None
            return self._answer(names, subject, tense, sure, value=value)
        if verb[0] == "eat" and len(verb) == 2 and verb[1] in words_of.EATEN:
            return self._answer(("diet",), subject, tense, LIKELY)
        if verb == ["live"] and tense == WHEN:
            return self._answer(("home", "address"), subject, tense, WEAK)
        if verb[0] == "have" and verb[1:2] in (["any"], ["a"], ["an"], ["children"], ["kids"], ["pets"], ["siblings"]):
            noun = verb[2:] if verb[1] in ("any", "a", "an") else verb[1:]
            called = noun_of(["my", *noun], ["my", *noun], self.slots) if noun else None
            name = called.slots[-1] if called is not None and not called.slots[-1].startswith(OPEN) else None
            if name is not None and tense in ("now", "ever"):
                return self._answer((name,), subject, tense, LIKELY)
        return None

    def _is_it(self) -> StateAsked | None:
        """ "Is my favourite colour still blue": a noun and its value."""
        low = self.low
        for cut in range(len(low) - 1, max(2, len(low) - 5), -1):
            noun = self._noun(1, cut)
            value = self._value(cut)
            if noun is not None and value and _may_hold(noun.slots[0], value):
                return self._of_noun(noun, _BE[low[0]], LIKELY, value)
        for subject, end, _sure in subjects_at(self.words, low, 1):
            noun = self._noun(end)
            if noun is not None and subject and not noun.slots[0].startswith(OPEN):
                return self._of_noun(noun, _BE[low[0]], LIKELY, subject)  # "is Priya still my boss"
        return None

    # ------------------------------------------------------------------ lists and bare nouns

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
            noun = self._noun(more)
            return None if noun is None else self._of_noun(noun, HISTORY)
        if len(rest) > 2 and rest[-1] in ("history", "timeline"):
            noun = self._noun(start, len(low) - 1)
            if noun is not None and not noun.slots[0].startswith(OPEN):
                return self._of_noun(noun, HISTORY)
        if at == 0 and low[0] in ("list", "show", "all") and len(rest) > 2 and rest[1] in ("i", "we"):
            found = self._which_noun_from(start)  # "all the cities I have lived in"
            if found is not None:
                return found
        if at == 0 and start > 0 and low[0] in ("list", "show", "all") and rest:
            noun = self._noun(start)
            if noun is not None and (noun.told or not noun.slots[0].startswith(OPEN)):
                many = not self.slots.one(noun.slots[0])
                return self._of_noun(noun, "now" if many else HISTORY)
        return None

    def _bare(self) -> StateAsked | None:
        """A noun without a verb: "my wifi password?", "(tell me) Priya's email"."""
        noun = self._noun(0)
        if noun is None or (noun.slots[0].startswith(OPEN) and self.asked < ASKED_KNOW):
            return self._listed()
        return self._of_noun(noun, "now", SURE if self.asked else LIKELY)


def _may_hold(name: str, value: str) -> bool:
    """Whether a value that is asked for may be one of the slot, and not a word for how it is."""
    return value[0].isupper() or value[0].isdigit() or name.startswith("favourite_") or name in words_of.WORDED


def _ends_well(rest: list[str]) -> bool:
    """Whether behind the verb only a preposition or such stands: "do I work for", "am I on"."""
    ends = ("in", "at", "for", "with", "on", "from", "to", "by", "of", "as", "under", "had", "go", "go to", "been")
    return all(word in ends or word in words_of.FORMS or word in ("working", "living", "born") for word in rest[1:])
