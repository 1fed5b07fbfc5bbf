"""Compile phrases of a table to regular expressions over symbols, and render their matches in English.

| written | matches |
|---|---|
| `vor` | that word |
| `{unit}` | a word of that class of the table |
| `{number}` `{day}` `{mon}` `{year}` | a number from 1; up to 31; up to 12; a year in four digits |
| `{p}` | a date that an earlier phrase has made |
| `{noun}` | a capitalised word that means nothing here |
| `{word}` `{mark}` `{any}` | any other word; other punctuation; any token |
| `{single}` | one other character, where words are not parted |
| `{a:unit}` | the same, and the translation calls it `a` |
| `( | )`, `?`, `(?=…)`, `(?!…)`, `(?<=…)`, `(?<!…)`, `{0,3}`, `^`, `$` | as in any regular expression |

A translation is English with slots: `{unit}`, and of a number `{day:ord}` ("3rd") or `{mon:month}` ("March").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.query.temporal.tokens import DateToken
from recall_integrations.query.temporal.translation.scan import SPACED, normal
from recall_integrations.records import record

MONTHS = tuple("January February March April May June July August September October November December".split())
SHAPES = {
    "number": "abcy",
    "day": "ab",
    "mon": "a",
    "year": "y",
    "p": "P",
    "noun": "X",
    "word": "xXz",
    "single": "z",
    "mark": "!",
}
_ANY = "any"  # any token
_LIMITS = {"number": 9999, "day": 31, "mon": 12}  # which words for numbers belong to a shape
_PIECE = re.compile(
    r"\s*(?:(?P<op>\(\?<?[=!]|[()|?^$]|\{\d,\d\})|\{(?:(?P<name>[a-z]\w*):)?(?P<cls>\w+)\}|(?P<word>[^\s()|?{}]+))"
)
_BEHIND = re.compile(r"\(\?<([=!])\(([^()]*)\)\)")
_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")


@record(frozen=True, slots=True)
class Phrase:
    """A line of a table.

    Args:
        line: the line as it is written.
        pattern: regular expression over symbols.
        english: its English translation; "" if it is no date.
        slots: the class of each slot, by name.
        weak: no date if one of its words is a name that the store knows.
        literals: the words that it names.
    """

    line: str
    pattern: re.Pattern[str]
    english: str
    slots: Mapping[str, str]
    weak: bool
    literals: frozenset[str] = frozenset()

    def render(
        self, match: re.Match[str], atoms: list[DateToken], values: Mapping[str, Mapping[str, Any]]
    ) -> str | None:
        """Return the English of a match; `None` if it numbers a month that does not exist."""
        out: list[str] = []
        reach = 0
        for slot in _SLOT.finditer(self.english):
            out.append(self.english[reach : slot.start()])
            reach = slot.end()
            at = match.start(slot[1])
            if at < 0:
                continue
            written = _written(atoms[at], self.slots[slot[1]], slot[2], values)
            if written is None:
                return None
            out.append(written)
        return " ".join("".join([*out, self.english[reach:]]).split())


def _written(atom: DateToken, cls: str, change: str | None, values: Mapping[str, Mapping[str, Any]]) -> str | None:
    if cls == "p":
        return str(atom.value)
    value = values[cls].get(atom.word) if atom.word else None
    if value is None:
        value = atom.value
    if change == "month":
        return MONTHS[value - 1] if 1 <= value <= 12 else None
    if change == "ord" or cls == "ordinal":
        return f"{value}{_suffix(value)}"
    return str(value)


def _suffix(value: int) -> str:
    return "th" if 10 < value % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


class Lexicon:
    """The words of a table: a symbol for each, and their values by class."""

    def __init__(self, code: str, classes: Mapping[str, Mapping[Any, Any]], first_symbol: int) -> None:
        self.code = code
        self.symbols: dict[str, str] = {}
        self.values: dict[str, dict[str, Any]] = {name: {} for name in (*SHAPES, "ordinal", *classes)}
        self._first = first_symbol
        for name, forms in classes.items():
            self._fill(name, forms)
        for shape, most in _LIMITS.items():
            numbers = self.values.get("number", {}).items()
            self.values[shape] = {word: value for word, value in numbers if 0 < value <= most}

    def _fill(self, name: str, forms: Mapping[Any, Any]) -> None:
        if name in SHAPES and name != "number":
            raise InvalidArgument(f"{self.code}.yaml: the class {name!r} is built in: choose another name")
        if not isinstance(forms, Mapping):
            raise InvalidArgument(f"{self.code}.yaml: the words of {name!r} must be a mapping, English: words")
        for value, words in forms.items():
            if name in ("number", "ordinal") and not isinstance(value, int):
                raise InvalidArgument(f"{self.code}.yaml: {name} {value!r} must be a whole number")
            for word in str(words).split():
                self.values[name][self.word(word)] = value

    def word(self, word: str) -> str:
        """Return the normal form of a word, and give it a symbol if it has none."""
        form = normal(word)
        self.symbols.setdefault(form, chr(self._first + len(self.symbols)))
        return form

    def shape(self, name: str) -> str:
        """Return a class as a character class of a regular expression."""
        if name not in self.values:
            raise InvalidArgument(
                f"{self.code}.yaml: there is no class of words {name!r}; known: {', '.join(self.values)}"
            )
        symbols = "".join(sorted({self.symbols[word] for word in self.values[name]}))
        return f"[{SHAPES.get(name, '')}{symbols}]" if symbols or name in SHAPES else "(?!)"


def compile_phrase(line: str, lexicon: Lexicon, split: Callable[[str], list[str]], *, rejects: bool = False) -> Phrase:
    """Compile a line `pattern -> English`; with `rejects`, for phrases that are no date, only a pattern.

    Raises:
        InvalidArgument: the line cannot be read, names no class, or its translation a slot that it does not have.
    """
    written, arrow, english = line.partition("->")
    if bool(arrow) is rejects:
        raise InvalidArgument(f"{lexicon.code}.yaml: {line!r} must be `pattern{'' if rejects else ' -> English'}`")
    weak = written.startswith("~")
    slots: dict[str, str] = {}
    literals: set[str] = set()
    known = _BEHIND.sub(_one_by_one, written.lstrip("~").strip())
    out = _pattern(known, lexicon, split, slots, literals, line)
    missing = {slot[1] for slot in _SLOT.finditer(english)} - set(slots)
    if missing:
        raise InvalidArgument(f"{lexicon.code}.yaml: {line!r} has no slot {', '.join(sorted(missing))}")
    try:
        return Phrase(line, re.compile(out), english.strip(), slots, weak, frozenset(literals))
    except re.error as e:
        raise InvalidArgument(f"{lexicon.code}.yaml: cannot read {line!r}: {e}") from e


def _one_by_one(match: re.Match[str]) -> str:
    """Write `(?<=(a|b c))` as one look-behind for each alternative: they may differ in length."""
    each = [f"(?<{match[1]}{words})" for words in match[2].split("|")]
    return f"({'|'.join(each)})" if match[1] == "=" else "".join(each)


def _pattern(
    written: str,
    lexicon: Lexicon,
    split: Callable[[str], list[str]],
    slots: dict[str, str],
    literals: set[str],
    line: str,
) -> str:
    out: list[str] = []
    position = 0
    while position < len(written):
        piece = _PIECE.match(written, position)
        if piece is None:
            raise InvalidArgument(f"{lexicon.code}.yaml: cannot read {line!r} at {written[position:]!r}")
        position = piece.end()
        if piece["op"]:
            out.append("(?:" if piece["op"] == "(" else piece["op"])
        elif piece["cls"] == _ANY:
            out.append(".")
        elif piece["cls"]:
            name = piece["name"] or piece["cls"]
            fresh = name not in slots
            slots.setdefault(name, piece["cls"])
            shape = lexicon.shape(piece["cls"])
            out.append(f"(?P<{name}>{shape})" if fresh else shape)
        else:
            words = [lexicon.word(word) for word in split(piece["word"])]
            literals.update(words)
            symbols = [re.escape(lexicon.symbols[word]) for word in words]
            out.append(symbols[0] if len(symbols) == 1 else f"(?:{''.join(symbols)})")
    return "".join(out)


def spaced_words(literal: str) -> list[str]:
    """Return the words of a literal as the scanner cuts them: "l'année" is two, and "l'" is one before a word."""
    cut = literal.endswith("'")
    words = [match.group() for match in SPACED.finditer(literal + "x" * cut)]
    return words[: len(words) - cut]


def one_word(literal: str) -> list[str]:
    """Return a literal of a script that does not part its words as one; in the table a blank parts them."""
    return [literal]
