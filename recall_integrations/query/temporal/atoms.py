"""Read texts in other languages as symbols, and compile a table's phrases to regular expressions over them.

A text is split into atoms, in one pass: words of a table, numbers, dates in digits, punctuation. Each atom carries a
symbol, one character, as the tokens of the English grammar do: a word of the table has its own, a number has a letter
by its size, and any other word is `x`.

| symbol | atom | | symbol | atom |
|---|---|---|---|---|
| `a` | whole number 1–12 | | `P` | a date, or what a phrase has made of several atoms |
| `b` | whole number 13–31 | | `x` | a word that means nothing here |
| `c` | other whole numbers | | `X` | the same with a capital |
| `y` | 1500–2199 in four digits | | `!` | punctuation, and what a phrase has ruled out |
| | | | `z` | one character that means nothing, where words are not parted |

The value of a number is itself, and of a date or what a phrase has made: the English that the grammar reads.

Phrases are matched over the string of symbols:

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
import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.query.temporal.tokens import DateToken, date_of, number_symbol
from recall_integrations.records import record

FIRST_WORD_SYMBOL = 0xE000  # the private use area: no symbol is a character of a regular expression
_MARKS = (
    r"\u0000-\u0026\u0028-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    r"\u0964\u0965\u2000-\u200b\u200e-\u2018\u201a-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u303d"
    r"\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_LETTER = rf"[^\s\d'’{_MARKS}]"  # combining marks are letters here: Devanagari would fall apart without them
_BEFORE, _AFTER = r"(?<![\dA-Za-z_./:#-])", r"(?![\dA-Za-z_/:-]|[.,]\d)"
_DIGITS = rf"""
    (?P<stamp>{_BEFORE}\d{{4}}-\d\d?-\d\d?[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:Z|[+-]\d\d:?\d\d)?(?!\d))
  | (?P<date>{_BEFORE}\d{{1,4}}(?P<mark>[-/.])\d{{1,2}}(?P=mark)\d{{1,4}}{_AFTER})
  | (?P<month>{_BEFORE}\d{{4}}-\d\d{_AFTER})
  | (?P<junk>(?:https?://|www\.)\S+ | [\w.+]{{1,64}}@\w\S* | \d{{1,9}}(?:[.,:]\d{{1,9}}){{2,}} | [$€£¥#+@]\d[\d.,]*)
"""
_WORDS = rf"""
  | (?P<number>\d+)
  | (?P<word>{_LETTER}(?:{_LETTER}|\d)*(?:['’](?={_LETTER}))?)
  | (?P<other>[^\s\w])
"""
SPACED = regex(_DIGITS + _WORDS, re.VERBOSE)
PLAIN = regex(_DIGITS, re.VERBOSE)  # for texts in a language that is not read
_HAN_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
HAN_NUMBER = "[〇零一二三四五六七八九十百千两兩]+"


def normal(word: str) -> str:
    """Return the form in which words are compared: composed, small letters, straight apostrophe, no joiners."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word).lower().replace("’", "'").replace("\u200c", "").replace("\u200d", "")


def folded(word: str) -> str:
    """Strip the marks over Latin and Cyrillic letters from a word: people leave them out."""
    bare = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", bare))


def joined_scan(words: Mapping[str, str], *, particles: bool) -> re.Pattern[str]:
    """Compile a scanner for a script that does not part its words: the longest word of the table at each place.

    With `particles` words begin where a word of the text begins (Korean puts particles behind them, none before).
    """
    marks = sorted({w for w in words if not w[0].isalnum()} | set(".,/-~"))
    letters = sorted((w for w in words if w[0].isalnum()), key=len, reverse=True)
    listed = "|".join(re.escape(w) for w in letters) or "(?!)"
    number = r"\d+" if particles else rf"\d+|{HAN_NUMBER}"
    return re.compile(
        rf"{_DIGITS} | (?P<word>{listed}) | (?P<number>{number}) | (?P<latin>[A-Za-z][A-Za-z0-9_]*)"
        rf" | (?P<other>(?!\s)[{re.escape(''.join(m for m in marks if len(m) == 1))}{_MARKS}])",
        re.VERBOSE | re.IGNORECASE,
    )


def han_number(run: str) -> tuple[int, int]:
    """Read a number in Chinese characters, and its number of digits: 二十三 is 23, 二〇二三 is 2023."""
    run, plain = run[:9], not any(c in _HAN_UNITS for c in run)
    if plain:
        return int("".join(str(_HAN_DIGITS[c]) for c in run)), len(run)
    total = digit = 0
    for c in run:
        if c in _HAN_UNITS:
            total += (digit or 1) * _HAN_UNITS[c]
        digit = _HAN_DIGITS.get(c, 0)
    return total + digit, 1


def digit_date(run: str, mark: str, now: datetime, *, day_first: bool | None) -> str | None:
    """Return a date in digits as ISO 8601; `None` if there is no such day.

    If both orders can be, `day_first` says whether the day comes before the month; with `None` it is not read then.
    """
    first, second, third = run.split(mark)
    if len(first) < 4:
        short = len(third) == 2 and (mark == "-" or day_first is None)
        if short or (
            day_first is None and mark != "." and int(first) != int(second) and max(int(first), int(second)) <= 12
        ):
            return None
    found = date_of(first, second, third, now, day_first=True)
    return None if found is None else found.start.date().isoformat()


def digits(match: re.Match[str], now: datetime, *, day_first: bool | None) -> DateToken | None:
    """Return the atom of a match of one of the patterns above, if it is a date in digits or junk with digits."""
    kind, raw, found = match.lastgroup, match.group(), None
    if kind in ("date", "mark"):
        found = digit_date(raw, match["mark"], now, day_first=day_first)
    elif kind == "stamp":
        found = "".join(str(int(c)) if c.isdigit() else c for c in raw)
    elif kind == "month":
        year, month = (int(part) for part in raw.split("-"))
        found = f"{year}-{month:02}" if 1900 <= year <= 2100 and 1 <= month <= 12 else None
    elif kind != "junk":
        return None
    return DateToken("P" if found else "!", found, *match.span())


def spaced_atoms(text: str, words: Mapping[str, str], now: datetime) -> list[DateToken]:
    """Return the atoms of a text whose words are parted by spaces."""
    return [digits(match, now, day_first=True) or _atom(match, words) for match in SPACED.finditer(text)]


def joined_atoms(
    text: str, words: Mapping[str, str], scan: re.Pattern[str], now: datetime, *, particles: bool
) -> list[DateToken]:
    """Return the atoms of a text whose words are not parted; the characters between two of them are one `x`.

    With `particles` a word counts only if a word of the text begins there, or behind another atom.
    """
    out: list[DateToken] = []
    reach = 0
    for match in scan.finditer(text):
        start, end = match.span()
        gap = text[reach:start]
        if gap and not gap.isspace():
            out.append(DateToken("z" if len(gap.strip()) == 1 else "x", None, reach, start, gap))
        atom = digits(match, now, day_first=True) or _atom(match, words)
        if particles and match.lastgroup == "word" and gap and not gap[-1].isspace():
            atom = DateToken("x", None, start, end, atom.word)
        out.append(atom)
        reach = end
    if text[reach:].strip():
        out.append(DateToken("x", None, reach, len(text)))
    return out


def _atom(match: re.Match[str], words: Mapping[str, str]) -> DateToken:
    kind, raw = match.lastgroup, match.group()
    start, end = match.span()
    if kind == "number":
        if len(raw) > 9:
            return DateToken("!", None, start, end)
        value, length = (int(raw), len(raw)) if raw.isdecimal() else han_number(raw)
        symbol = number_symbol(value)
        symbol = symbol if symbol in "ab" or (symbol == "y" and length == 4) else "c"
        return DateToken(symbol, value, start, end)
    if kind == "other":
        mark = normal(raw)
        return DateToken(words.get(mark, "!"), None, start, end, mark)
    word = normal(raw)
    known = words.get(word, "x")
    return DateToken("X" if known == "x" and raw[0].isupper() else known, None, start, end, word)


# -- phrases of a table ------------------------------------------------------------------------------------------------

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
    """A line of a table."""

    pattern: re.Pattern[str]  # over symbols
    english: str  # its English translation; "" if it is no date
    slots: Mapping[str, str]  # the class of each slot, by name
    weak: bool  # no date if one of its words is a name that the store knows
    literals: frozenset[str] = frozenset()  # the words that it names

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
    value = values[cls].get(atom.word, atom.value)
    if change == "month":
        return MONTHS[value - 1] if 1 <= value <= 12 else None
    if change == "ord" or cls == "ordinal":
        ending = "th" if 10 < value % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
        return f"{value}{ending}"
    return str(value)


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
    """Compile a line `pattern -> English`; with `rejects`, for phrases that are no date, only a pattern."""
    written, arrow, english = line.partition("->")
    if bool(arrow) is rejects:
        raise InvalidArgument(f"{lexicon.code}.yaml: {line!r} must be `pattern{'' if rejects else ' -> English'}`")
    weak = written.startswith("~")
    slots: dict[str, str] = {}
    literals: set[str] = set()
    known = _BEHIND.sub(_one_by_one, written.lstrip("~").strip())
    out: list[str] = []
    position = 0
    while position < len(known):
        piece = _PIECE.match(known, position)
        if piece is None:
            raise InvalidArgument(f"{lexicon.code}.yaml: cannot read {line!r} at {known[position:]!r}")
        position = piece.end()
        if piece["op"]:
            out.append("(?:" if piece["op"] == "(" else piece["op"])
        elif piece["cls"] == _ANY:
            out.append(".")
        elif piece["cls"]:
            name, shape = piece["name"] or piece["cls"], lexicon.shape(piece["cls"])
            out.append(shape if name in slots else f"(?P<{name}>{shape})")
            slots.setdefault(name, piece["cls"])
        else:
            words = [lexicon.word(word) for word in split(piece["word"])]
            literals.update(words)
            out.append(f"(?:{''.join(re.escape(lexicon.symbols[word]) for word in words)})")
    missing = {slot[1] for slot in _SLOT.finditer(english)} - set(slots)
    if missing:
        raise InvalidArgument(f"{lexicon.code}.yaml: {line!r} has no slot {', '.join(sorted(missing))}")
    try:
        return Phrase(re.compile("".join(out)), english.strip(), slots, weak, frozenset(literals))
    except re.error as e:
        raise InvalidArgument(f"{lexicon.code}.yaml: cannot read {line!r}: {e}") from e


def _one_by_one(match: re.Match[str]) -> str:
    """Write `(?<=(a|b c))` as one look-behind for each alternative: they may differ in length."""
    each = [f"(?<{match[1]}{words})" for words in match[2].split("|")]
    return f"({'|'.join(each)})" if match[1] == "=" else "".join(each)


def spaced_words(literal: str) -> list[str]:
    """Return the words of a literal as the scanner cuts them: "l'année" is two, and "l'" is one before a word."""
    cut = literal.endswith("'")
    words = [match.group() for match in SPACED.finditer(literal + "x" * cut)]
    return words[: len(words) - cut]
