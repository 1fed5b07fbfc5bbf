"""The words of a sentence or a question: subjects, phrases and values among them, and which values fit a kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from recall_integrations.facts.said import ME, SHARED, YOU
from recall_integrations.facts.slots import END, NAME, PRONOUN, Grammar, Slots, Token, Tree, has_digit, listed
from recall_integrations.patterns import regex

_PHONE = regex(r"\+?\(?\d[\d\s().-]{3,18}\d")
_EMAIL = regex(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_BLOOD = regex(r"(?:AB|A|B|O)(?:[+-]|[\s-]?(?:positive|negative|pos|neg))?", re.IGNORECASE)
NOUN_WORDS_MAX = 4
SURE, OPENLY = 0.9, 0.8


class Value(NamedTuple):
    """A value in a text: its words, its place, whether an article stood before it, and the word that ends it."""

    words: list[str]
    start: int
    end: int
    articled: bool
    after: int

    @property
    def text(self) -> str:
        """The value as the text has it."""
        return " ".join(self.words)


class Words:
    """The words of a sentence or a question."""

    def __init__(self, text: str, tokens: Sequence[Token], slots: Slots, grammar: Grammar) -> None:
        self.text, self.tokens, self.slots, self.of = text, tokens, slots, grammar

    def subjects(self, i: int, last: int) -> Iterator[tuple[str, Tree, int]]:
        """Yield each subject that a verb at a place may have, the phrases that it may begin, and where they go on."""
        of, word = self.of, self.tokens[i].word
        if word in of.pronouns and PRONOUN in of.phrases:
            yield of.pronouns[word], of.phrases[PRONOUN], i + 1
        if word in of.roots:
            yield ME, of.phrases, i
        if NAME not in of.phrases:
            return
        named: Tree = of.phrases[NAME]
        if " ".join(token.word for token in self.tokens[i : i + 2]) in of.users:
            yield ME, named, i + 2
        if word in of.users:
            yield ME, named, i + 1
        elif word in of.my:
            for end in (i + 2, i + 3):  # "my older sister lives in Oslo"
                if end < last and not self.tokens[end - 1].ends:
                    last_word = self.raw(end - 1, end)  # "my sister Noor lives in Oslo" is of Noor
                    mine = " ".join(["my", *self.words(i + 1, end)])
                    yield last_word[0] if of.code != "de" and is_name(last_word, of) else mine, named, end
        elif i == 0 or self.tokens[i - 1].ends or self.tokens[i - 1].word not in of.joined:
            for name, end in self.names(i, last):
                yield name, named, end

    def names(self, i: int, last: int) -> Iterator[tuple[str, int]]:
        """Yield names that begin at a place, the longest first."""
        if not self.text[self.tokens[i].start].isupper():
            return
        for end in range(min(last, i + 3), i, -1):
            if any(token.ends for token in self.tokens[i : end - 1]):
                continue
            words = self.raw(i, end)
            if is_name(words, self.of) and not words[-1].endswith("'s"):
                yield " ".join(words), end

    def walk(self, tree: Tree, i: int, last: int) -> list[tuple[Any, int]]:
        """Return what the phrases of a tree that stand at a place mean, and where they end; the longest first."""
        found = [(leads, i) for leads in tree.get(END, ())]
        if i < last and not (i and self.tokens[i - 1].ends.strip('"')):
            word = self.tokens[i].word
            if word in tree:
                found = self.walk(tree[word], i + 1, last) + found
            elif word in self.of.adverbs:
                found = self.walk(tree, i + 1, last) + found
        return found

    def owner(self, i: int, end: int) -> tuple[str, list[str], float] | None:
        """Return the owner of the noun between two places, the noun's words, and the confidence; `None` = no owner."""
        of = self.of
        low = [token.word for token in self.tokens[i:end]]
        for place, word in enumerate(low[:-1]):
            if word.endswith("'s") or (place == 0 and self.of.code == "de" and self._german(i)):
                return self._possessor(i, low, place)
        if low[0] in of.my or low[0] in of.your:
            return (ME if low[0] in of.my else YOU), low[1:], SURE
        if low[0] not in of.the:
            return None
        for place, word in enumerate(low[2:-1], 2):
            if word in of.of and low[place + 1] in of.my:  # "the name of my dentist", "the code to my locker"
                noun, mine = low[1:place], low[place + 2 :]
                return ME, mine if of.nouns.get(" ".join(noun)) == "name" else [*mine, *noun], SURE
            if word in of.of and is_name(self.raw(i + place + 1, end), of):
                return " ".join(self.raw(i + place + 1, end)), low[1:place], SURE
        return SHARED, low[1:], OPENLY

    def _german(self, i: int) -> bool:
        """Say whether "Priyas" owns what follows it."""
        raw = self.raw(i, i + 1)[0]
        return raw[:1].isupper() and raw.endswith("s") and raw.lower() not in self.of.not_names and len(raw) > 3

    def _possessor(self, i: int, low: list[str], place: int) -> tuple[str, list[str], float] | None:
        raw = self.raw(i, i + place + 1)
        raw[-1] = raw[-1].replace("’", "'").removesuffix("'s") if "'" in low[place] else raw[-1][:-1]
        if " ".join(low[: place + 1]) in self.of.users or low[place] in self.of.users:
            return ME, low[place + 1 :], SURE
        if low[0] in self.of.my:
            mine, noun = " ".join([*low[1:place], raw[-1].lower()]), low[place + 1 :]
            slot = self.slots.get(self.of.nouns.get(mine, ""))
            if slot is not None and slot.kind == "person" and self.of.nouns.get(" ".join(noun)) == "name":
                return ME, mine.split(), SURE  # "my landlord's name"
            return f"my {mine}", noun, SURE
        return (" ".join(raw), low[place + 1 :], SURE) if is_name(raw, self.of) else None

    def value(self, i: int, last: int, tail: Sequence[str] = (), stop: str = "") -> Value | None:
        """Return the phrase that begins at a place, to the end of its clause; with a tail, to that."""
        of, tokens = self.of, self.tokens
        while i < last and (tokens[i].word in of.adverbs or self.dated(i, last)):
            i += 1
        articled = i + 1 < last and tokens[i].word in of.articles and not tokens[i].ends
        i += articled
        if i >= last or tokens[i].word in of.ends or tokens[i].word in of.copulas:
            return None
        end = i
        while end < last:
            word = tokens[end].word
            if end > i and (word in of.ends or word == stop or (tail and word == tail[0]) or tokens[end].opens):
                break
            end += 1
            signs = tokens[end - 1].ends
            if signs and not (signs == "," and self._goes_on(i, end, last)) and not self._initial(end - 1):
                break
        if tail and [token.word for token in tokens[end : end + len(tail)]] != list(tail):
            return None
        start, stopped = tokens[i].start, tokens[end - 1].end
        return Value(self.text[start:stopped].split(), start, stopped, articled, end + len(tail))

    def dated(self, i: int, last: int) -> bool:
        """Say whether a date stands behind a preposition: "on 3 May"."""
        if i + 1 >= last or self.tokens[i].ends or self.tokens[i].word not in self.of.prepositions:
            return False
        word = self.tokens[i + 1].word
        return word in self.of.dates or (has_digit(word) and i + 2 < last and self.tokens[i + 2].word in self.of.dates)

    def _initial(self, place: int) -> bool:
        return self.tokens[place].word in self.of.titles and self.tokens[place].ends == "."

    def _goes_on(self, i: int, end: int, last: int) -> bool:
        """Say whether a comma is within an address or a place: "12 High Street, Leeds"."""
        if end >= last or not has_digit(self.text[self.tokens[i].start : self.tokens[i].end]):
            return False
        raw = self.raw(end, end + 1)[0]
        return raw[:1].isupper() and raw.lower() not in self.of.not_names and end - i > 1

    def raw(self, i: int, end: int) -> list[str]:
        """Return words as they were written."""
        return [self.text[token.start : token.end] for token in self.tokens[i:end]]

    def words(self, i: int, end: int) -> list[str]:
        """Return words in lower case."""
        return [token.word for token in self.tokens[i:end]]

    def word(self, i: int) -> str:
        """Return a word in lower case; empty behind the last."""
        return self.tokens[i].word if i < len(self.tokens) else ""


def without(noun: list[str], grammar: Grammar) -> tuple[list[str], str]:
    """Return a noun without "new", "current", "old" and the like, and "was" where these say that it was before."""
    past = ""
    while len(noun) > 1 and " ".join(noun) not in grammar.nouns and noun[0] in grammar.adjectives:
        past = past or ("was" if grammar.adjectives[noun[0]] == "was" else "")
        noun = noun[1:]
    return noun, past


def is_noun(word: str, grammar: Grammar) -> bool:
    """Say whether a word may be part of the name of a slot."""
    return word[:1].isalpha() and word not in grammar.framing and "'" not in word


def open_name(noun: str) -> str:
    """Return the name of a slot that the schema lacks: without hyphens, in British spelling."""
    return noun.replace("-", " ").replace("favorite", "favourite").replace("color", "colour")


def is_name(words: Sequence[str], grammar: Grammar) -> bool:
    """Say whether words, as they were written, are a name: with capitals, but for "of" and the like within."""
    if not words or words[0].lower() in grammar.not_names or len(words) > 5:
        return False
    if not ((words[0][:1].isupper() and words[-1][:1].isupper()) or words[-1][:1].isdigit()):
        return False
    return all(word[:1].isupper() or word[:1].isdigit() or word.lower() in grammar.joins for word in words)


def _plain(words: Sequence[str], grammar: Grammar, most: int) -> bool:
    """Say whether words may be a noun phrase: the first is no word that begins something else."""
    low = [word.lower() for word in words]
    if len(low) > most or low[0] in grammar.bad_values or low[0] in grammar.pronouns:
        return False
    return len(low) == 1 or not low[0].endswith(("ing", "ed", "ly"))


def fits(kind: str, words: Sequence[str], grammar: Grammar, *, articled: bool = False) -> bool:
    """Say whether a phrase may be a value of a kind."""
    text = " ".join(words)
    if not words or len(text) > 80:
        return False
    closed = listed(kind)
    if closed:
        return text.lower() in closed
    return _FITS.get(kind, _FITS["any"])(words, text, grammar, articled)


Fits = Callable[[Sequence[str], str, Grammar, bool], bool]


def _person(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    named = words[1:] if words[0].lower() in grammar.titles and len(words) > 1 else words
    return not articled and is_name(named, grammar) and not has_digit(text)


def _place(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    odd = any(word.lower() in grammar.dates or not word[1:].islower() for word in words)  # "we moved to GitHub"
    return is_name(words, grammar) and not odd and not has_digit(text)


def _date(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return len(words) <= 5 and any(has_digit(word) or word.lower().rstrip(".") in grammar.dates for word in words)


def _work(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return (articled or is_name(words, grammar) or grammar.code != "en") and _plain(words, grammar, 4)


_FITS: dict[str, Fits] = {
    "any": lambda w, t, g, a: _plain(w, g, 4),
    "person": _person,
    "place": _place,
    **dict.fromkeys(("organisation", "vehicle", "thing", "team"), lambda w, t, g, a: is_name(w, g)),
    "address": lambda w, t, g, a: has_digit(t) and 2 <= len(w) <= 8 and _plain(w, g, 8),
    "phone": lambda w, t, g, a: _PHONE.fullmatch(t) is not None,
    "email": lambda w, t, g, a: _EMAIL.fullmatch(t) is not None,
    "number": lambda w, t, g, a: has_digit(w[0]) and len(w) <= 5,
    "date": _date,
    "code": lambda w, t, g, a: not a and len(w) == 1 and w[0].lower() not in g.bad_values,
    "work": _work,
    **dict.fromkeys(("language", "nationality"), lambda w, t, g, a: not a and len(w) == 1 and w[0][:1].isupper()),
    "religion": lambda w, t, g, a: len(w) == 1 and w[0][:1].isupper(),
    "medicine": lambda w, t, g, a: not a and len(w) <= 3 and (has_digit(t) or w[0][:1].isupper()),
    "name": lambda w, t, g, a: is_name(w, g) or (not a and _plain(w, g, 2)),
    "subject": lambda w, t, g, a: not a and _plain(w, g, 3),
    "blood": lambda w, t, g, a: _BLOOD.fullmatch(t) is not None,
    "titled": lambda w, t, g, a: len(w) > 1 and w[0].lower() in g.titles and is_name(w[1:], g),
    "activity": lambda w, t, g, a: len(w) <= 3 and w[0].lower() not in g.bad_values,
}
