"""The schema of slots: the attributes of somebody, how people say them, and whether one value holds at a time.

    tables/CODE.json ─ inflected ─▶ Grammar: phrases as trees of words ("i", "live", "in" ─▶ home, it holds)

A file has the words that frame a sentence, and nouns and phrases of slots. English gives verbs in the infinitive, and
templates that say what each of their forms tells; other languages list the forms. A slot of a user's own is read in
every language by its nouns.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

from recall_integrations.config.sections import ANY_KIND, PHRASES
from recall_integrations.patterns import regex
from recall_integrations.records import record

CODES = ("en", "de", "es")
FAVOURITE = ("favourite", "favorite")
PRONOUN, NAME, HOLE = "@", "*", "…"  # in phrases: "I", the person named, and the place of a value within a phrase
END = ""  # in a tree: the leads of a phrase that ends here
BE = "be "
_COMMON = frozenset((PRONOUN, NAME, *"am is are was were been have has had do does not i".split()))
Tree = dict[str, Any]
_OPENING = '"“‘(«['
_DIGIT = re.compile(r"\d")
# A word with the signs around it; a dash by itself is a sign behind the word before.
_CHUNK = regex(
    r"(?P<before>[\"'“‘(«\[*_`¿¡–—-]*)(?P<word>[^\s.,;:!?)\"”’»\]*_`…–—-]\S*?)"
    r"(?P<after>[.,;:!?)\"'”’»\]*_`…]*(?:\s+[–—-]+(?=\s))?)(?=\s|$)"
)


class Leads(NamedTuple):
    """The meaning of a phrase for the value behind it."""

    slot: str  # the slot's name
    # `is`, `was`, `not`; `begins` = it holds from then on; `since`, `past` = it holds, or held, in a time that the text
    # gives. In a question: `now`, `was`, `all`
    op: str
    tail: tuple[str, ...] = ()  # words of the phrase behind the value
    bare: bool = False  # whether a preposition was left out, which only "where" allows


@functools.cache
def table(code: str) -> Mapping[str, Any]:
    """Read the file of a language."""
    found: Mapping[str, Any] = json.loads(
        (resources.files("recall_integrations.facts.tables") / f"{code}.json").read_text(encoding="utf-8")
    )
    return found


@functools.cache
def listed(kind: str) -> frozenset[str]:
    """Return the values of a kind that has few; empty = it has many."""
    return frozenset(word for code in CODES for word in table(code).get("kinds", {}).get(kind, "").split())


def put(tree: Tree, words: Iterable[str], leads: Any) -> None:
    """Add a phrase to a tree; the first of equals stays first."""
    for word in words:
        tree = tree.setdefault(word, {})
    found = tree.setdefault(END, [])
    if leads not in found:
        found.append(leads)


def forms(verb: str) -> dict[str, str]:
    """Return all forms of an English verb in the infinitive: base, third, past, part, ing."""
    first, _, rest = verb.partition(" ")
    known = table("en")["irregular"].get(first)
    if known is not None:
        third, past, part, ing = known.split()
    else:
        stem = first
        if len(first) < 5 and first[-1:] in "bdgmnpt" and first[-2:-1] in "aeiou" and first[-3:-2] not in "aeiou":
            stem = first + first[-1]
        third = first + ("es" if first.endswith(("s", "x", "ch", "sh", "o")) else "s")
        past = part = first + "d" if first.endswith("e") else stem + "ed"
        ing = first[:-1] + "ing" if first.endswith("e") and not first.endswith("ee") else stem + "ing"
        if first.endswith("y") and first[-2:-1] not in "aeou":
            third, past, part = first[:-1] + "ies", first[:-1] + "ied", first[:-1] + "ied"
    all_of = {"base": first, "third": third, "past": past, "part": part, "ing": ing}
    return {name: f"{form} {rest}".strip() for name, form in all_of.items()}


class Grammar:
    """A language over a schema. Words are sets or lists of the table, under their names there."""

    def __init__(self, code: str, slots: Slots) -> None:
        self.code, given = code, table(code)
        self.pronouns: Mapping[str, str] = given["pronouns"]
        self.my, self.your, self.the = (frozenset(given[name]) for name in ("my", "your", "the"))
        self.of, self.possessive = frozenset(given["of"]), tuple(given["possessive"])
        self.users = frozenset((*given["user"], *given["users"]))
        self.expand = {short: full.split() for short, full in given["expand"].items()}
        self.adjectives: Mapping[str, str] = given["adjectives"]
        words = {name: frozenset(said.split()) for name, said in given.items() if isinstance(said, str)}
        self.not_names, self.leads, self.corrects = words["not_names"], words["leads"], words["corrects"]
        self.adverbs, self.now, self.ends, self.hedges = words["adverbs"], words["now"], words["ends"], words["hedges"]
        self.bad_values, self.articles, self.titles = words["bad_values"], words["articles"], words["titles"]
        self.joins, self.dates, self.prepositions = words["joins"], words["dates"], words["prepositions"]
        self.joined, self.plural, self.third = (
            words["and"],
            words["plural"],
            words["third"],
        )  # for `plural`: "we moved to GitHub" tells of no home
        # Words that are no part of the name of a slot.
        self.framing = self.ends | self.bad_values | self.prepositions | self.adverbs | frozenset(self.pronouns)
        self.framing |= self.my | self.your | self.the | self.of
        self.shared, self.to = frozenset(given["shared"]), given["to"]
        self.instead, self.but, self.no = (
            [phrase.split() for phrase in given[name]] for name in ("instead", "but", "no")
        )
        self.ask: Mapping[str, Any] = given["ask"]
        self.phrases: Tree = {}
        self.questions: Tree = {}
        self.copulas: Tree = {}
        self.light: Tree = {}  # "do I have", behind the noun of a slot
        self.had: Tree = {}
        self.nouns: dict[str, str] = {}  # what people call a slot ─▶ the slot
        self.askable: set[str] = set()  # those of the nouns that a question may use
        for tree, phrases in ((self.light, self.ask["light"]), (self.had, self.ask["had"])):
            for phrase in phrases:
                put(tree, self._words(phrase), Leads("", "now"))
        for phrase, op in given["copulas"].items():
            put(self.copulas, phrase.split(), op)
        self._slots(slots, given)
        self.keys = _keys(self.phrases, slots)
        self.noun_keys = frozenset((*(noun.split()[-1] for noun in self.nouns), *FAVOURITE))
        self.owners = self.my | self.your
        self.cops = frozenset(self.copulas) | frozenset(self.expand)
        self.asking = frozenset((*self.ask["wh"], *self.my, *self.the))  # a question has one, or is of another language
        self.roots = frozenset(self.phrases) - {PRONOUN, NAME}

    def may_say(self, words: frozenset[str], low: str) -> bool:
        """Say by a quick look whether a text may say anything of a slot: by a verb of one, or of what somebody owns."""
        if any(need <= words for key in self.keys.keys() & words for need in self.keys[key]):
            return True
        if self.cops.isdisjoint(words):
            return False
        owned = not self.owners.isdisjoint(words) or any(map(low.__contains__, self.possessive))
        return owned or (not self.the.isdisjoint(words) and (not self.noun_keys.isdisjoint(words) or has_digit(low)))

    def _slots(self, slots: Slots, given: Mapping[str, Any]) -> None:
        rows = given["slots"]
        for slot in slots.ordered:
            row = rows.get(slot.name, {})
            own = slots.is_own(slot.name)
            nouns = (*row.get("nouns", ()), *slot.nouns) if own and self.code != "en" else row.get("nouns", ())
            nouns = slot.nouns if own and self.code == "en" else nouns
            narrow = () if own else row.get("narrow", ())
            for noun in (*nouns, *narrow):
                self.nouns.setdefault(noun, slot.name)
            self.askable |= set(nouns)
            if self.code == "en":
                self._inflected(slot, given)
            for op, phrases in row.get("phrases", {}).items():
                for phrase in phrases:
                    self._phrase(phrase, slot.name, op)
            for mode, asks in (("now", row.get("asks", ())), ("was", row.get("asks_was", ()))):
                for phrase in asks:
                    put(self.questions, self._words(phrase), Leads(slot.name, mode))

    def _words(self, phrase: str) -> list[str]:
        return [PRONOUN if word in self.pronouns else word for word in phrase.split()]

    def _phrase(self, phrase: str, slot: str, op: str) -> None:
        before, _, tail = phrase.partition(HOLE)
        put(self.phrases, self._words(before), Leads(slot, op, tuple(tail.split())))

    def _inflected(self, slot: Slot, given: Mapping[str, Any]) -> None:
        """Add the phrases and the questions of an English slot, from its verbs in the infinitive."""
        for group in ("verbs", "starts", "stops"):
            for verb in getattr(slot, group):
                is_be = group == "verbs" and (verb + " ").startswith(BE)
                rest = (verb + " ").removeprefix(BE).strip() if is_be else ""
                made = forms(verb)
                for template, op in given["verbs"]["be" if is_be else group]:
                    self._phrase(f"{template} {rest}" if is_be else template.format_map(made), slot.name, op)
                if group == "starts" and verb.endswith(f" {self.to}"):  # "moved from Berlin to Lisbon"
                    away = {name: f"{form.removesuffix(self.to)}from" for name, form in made.items()}
                    for template, _ in given["verbs"][group]:
                        self._phrase(template.format_map(away), slot.name, "from")
                if group == "stops":
                    continue
                is_be, rest = verb.startswith(BE), verb.removeprefix(BE)
                asked = given["ask_be" if is_be else "ask_verbs" if group == "verbs" else "ask_starts"]
                for template, told in asked:
                    mode = "now" if is_be and group == "starts" and told == "was" else told
                    words = self._words(f"{template} {rest}" if is_be else template.format_map(made))
                    put(self.questions, words, Leads(slot.name, mode))
                    if len(words) > 3 and words[-1] in self.prepositions:
                        put(self.questions, words[:-1], Leads(slot.name, mode, bare=True))


def has_digit(text: str) -> bool:
    """Say whether a text holds a digit."""
    return _DIGIT.search(text) is not None


def _keys(phrases: Tree, slots: Slots) -> dict[str, tuple[frozenset[str], ...]]:
    """Return what a text needs for a phrase to stand in it: the phrase's longest word, and its other words.

    Where few values can follow ("I am vegan"), one of these is needed in place of the longest word.
    """
    found: dict[str, set[frozenset[str]]] = {}

    def walk(tree: Tree, words: tuple[str, ...]) -> None:
        for word, below in tree.items():
            if word != END:
                walk(below, (*words, word))
                continue
            for leads in below:
                slot = slots.get(leads.slot)
                few = listed(slot.kind) if slot is not None else ()
                need = frozenset((*words, *leads.tail)) - _COMMON
                for key in few or (max(sorted(need), key=len, default=""),):
                    found.setdefault(key, set()).add(need)

    walk(phrases, ())
    found.pop("", None)
    return {key: tuple(sorted(needs, key=sorted)) for key, needs in found.items()}


def grammar_of(slots: Slots, code: str) -> Grammar:
    """Return the grammar of a language over a schema, made when it is first asked for."""
    made: Grammar | None = slots.grammars.get(code)
    if made is None:
        made = slots.grammars[code] = Grammar(code, slots)
    return made


class Token(NamedTuple):
    """A word of a text."""

    word: str  # the word in lower case, without the signs around it
    start: int  # start, end: place of the word
    end: int
    ends: str  # the signs behind it, with a line break where one follows
    opens: bool = False  # whether a sign of quotation or a bracket stands before it


def tokens_of(text: str, grammar: Grammar, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the words of a text, or of a part of it; "don't" is two."""
    found: list[Token] = []
    for match in _CHUNK.finditer(text, start, len(text) if end is None else end):
        word, begin, stop = match["word"], match.start("word"), match.end("word")
        low = word.lower().replace("’", "'")
        before = match["before"]
        opens = bool(before) and any(sign in before for sign in _OPENING)
        parts = grammar.expand.get(low)
        if parts is None:
            found.append(Token(low, begin, stop, match["after"], opens))
            continue
        found += [Token(part, begin, stop, "", opens) for part in parts]
        found[-1] = found[-1]._replace(ends=match["after"])
    return found


# -- the schema --------------------------------------------------------------------------------------------------------

NAME_CHARS_MAX = 100  # of a slot or a subject that is given
OPEN = "open:"  # before the name of a slot that the schema does not have: "my locker code is 4711"


@record(frozen=True, slots=True, kw_only=True)
class Slot:
    """An attribute of somebody or something: of a table of ours, or of `facts.slots`, which checks what users give."""

    name: str  # the slot's name, in lower case with underscores
    nouns: tuple[str, ...]  # nouns that people use for it, in lower case; the first is ours
    one: bool = True  # whether one value holds at a time, so that a newer one supersedes; else values add up
    # shape of its values, one of `config.sections.KINDS`; a text whose value looks otherwise does not fill it
    kind: str = ANY_KIND
    verbs: tuple[str, ...] = ()  # phrases that lead to a value which holds, in the infinitive: "live in", "be based in"
    starts: tuple[str, ...] = ()  # phrases that tell that it began: "move to". In the past they say what holds now
    stops: tuple[str, ...] = ()  # phrases that tell that it ended: "move out of"


def _shipped(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a slot in the table; a narrower noun that tells of it becomes its noun, too."""
    groups = {group: tuple(row.get(group, ())) for group in PHRASES if group in row}
    nouns = (*row["nouns"], *row.get("narrow", ()))
    return {"one": row.get("one", True), "kind": row.get("kind", ANY_KIND), **groups, "nouns": nouns}


SHIPPED: Mapping[str, Mapping[str, Any]] = {name: _shipped(row) for name, row in table("en")["slots"].items()}
SLOTS: tuple[Slot, ...] = tuple(Slot(name=name, **row) for name, row in SHIPPED.items())


class Slots:
    """A schema: the shipped slots, and those that a user adds or changes by name.

    A noun or a verb belongs to the user's slot where both have it.
    """

    def __init__(self, more: Iterable[Slot] = ()) -> None:
        added = tuple(more)
        self._by_name = {slot.name: slot for slot in (*SLOTS, *added)}
        self.of_noun: dict[str, str] = {}
        first = {slot.name for slot in added}
        self.ordered = sorted(self._by_name.values(), key=lambda slot: slot.name not in first)
        self._own = first
        self.grammars: dict[str, Grammar] = {}  # by language, made by `grammar.grammar_of`
        for slot in self.ordered:
            for noun in slot.nouns:
                self.of_noun.setdefault(noun, slot.name)

    @classmethod
    def of(cls, settings: Mapping[str, Mapping[str, Any]]) -> Slots:
        """Return the schema with the slots of `facts.slots`; fields that they leave out come from the shipped slot."""
        own = (Slot(name=name, **{**SHIPPED.get(name, {}), **slot}) for name, slot in settings.items())
        return cls(own) if settings else DEFAULT

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Slot | None:
        """Return the slot of a name; `None` = the schema has none of it."""
        return self._by_name.get(name)

    def named(self, given: object, *, openly: bool = False) -> str | None:
        """Return the slot that a name means, `None` = none; with `openly`, one that the schema lacks is an open one."""
        if not isinstance(given, str) or len(given) > NAME_CHARS_MAX or not any(map(str.isalnum, given)):
            return None
        name = " ".join(given.casefold().split())
        noun = " ".join(name.removeprefix(OPEN).replace("_", " ").split())
        if name.replace(" ", "_") in self:
            return name.replace(" ", "_")
        is_open = openly or (name.startswith(OPEN) and any(map(str.isalnum, noun)))
        return self.of_noun.get(noun, f"{OPEN}{noun}" if is_open else None)

    def is_own(self, name: str) -> bool:
        """Say whether a slot is the user's."""
        return name in self._own

    def one(self, name: str) -> bool:
        """Say whether one value of a slot holds at a time; true for an open slot."""
        slot = self._by_name.get(name)
        return slot is None or slot.one

    def called(self, name: str) -> str:
        """Return the noun that people use for a slot."""
        slot = self._by_name.get(name)
        return name.removeprefix(OPEN).replace("_", " ") if slot is None else slot.nouns[0]


DEFAULT = Slots()
