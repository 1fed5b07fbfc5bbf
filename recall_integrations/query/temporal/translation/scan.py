"""Split texts into atoms: words of a table, numbers, dates in digits, punctuation. One pass, linear in the text.

Each atom carries a symbol, one character, as the tokens of the English grammar do: a word of the table has its own, a
number has a letter by its size, and any other word is `x`. Phrases are matched over the string of symbols.

| symbol | atom | | symbol | atom |
|---|---|---|---|---|
| `a` | whole number 1–12 | | `P` | a date, or what a phrase has made of several atoms |
| `b` | whole number 13–31 | | `x` | a word that means nothing here |
| `c` | other whole numbers | | `X` | the same with a capital |
| `y` | 1500–2199 in four digits | | `!` | punctuation, and what a phrase has ruled out |
| | | | `z` | one character that means nothing, where words are not parted |

The value of a number is itself, and of a date or what a phrase has made: the English that the grammar reads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.tokens import DateToken, full_year, number_symbol

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

    Args:
        words: symbols by word.
        particles: words begin where a word of the text begins (Korean puts particles behind them, none before).
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
    if not any(c in _HAN_UNITS for c in run):
        value = 0
        for c in run[:9]:
            value = value * 10 + _HAN_DIGITS[c]
        return value, min(len(run), 9)
    total = digit = 0
    for c in run[:9]:
        if c in _HAN_UNITS:
            total += (digit or 1) * _HAN_UNITS[c]
            digit = 0
        else:
            digit = _HAN_DIGITS[c]
    return total + digit, 1


def digit_date(run: str, mark: str, now: datetime, *, day_first: bool | None) -> str | None:
    """Return a date in digits as ISO 8601; `None` if there is no such day.

    Args:
        run: the date, "8.5.2023".
        mark: the sign that parts it.
        now: gives the century of a year in two digits.
        day_first: whether the day comes before the month if both orders can be; `None` = then it is not read.
    """
    first, second, third = (int(part) for part in run.split(mark))
    lengths = [len(part) for part in run.split(mark)]
    if lengths[0] == 4:
        year, month, day = first, second, third
    elif lengths[0] > 2 or lengths[2] not in (2, 4) or (lengths[2] == 2 and (mark == "-" or day_first is None)):
        return None
    else:
        year = third if lengths[2] == 4 else full_year(third, now)
        if day_first is None and mark != "." and first <= 12 and second <= 12 and first != second:
            return None
        day, month = (first, second) if second <= 12 else (second, first)
    if not 1000 <= year <= 9998:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def digits(match: re.Match[str], now: datetime, *, day_first: bool | None) -> DateToken | None:
    """Return the atom of a match of one of the patterns above, if it is a date in digits or junk with digits."""
    kind, raw = match.lastgroup, match.group()
    start, end = match.span()
    if kind in ("date", "mark") or match["date"]:
        found = digit_date(raw, match["mark"], now, day_first=day_first)
        return DateToken("P", found, start, end) if found else DateToken("!", None, start, end)
    if kind == "stamp":
        plain = "".join(str(int(c)) if c.isdigit() else c for c in raw)
        return DateToken("P", plain, start, end)
    if kind == "month":
        year, month = (int(part) for part in raw.split("-"))
        good = 1900 <= year <= 2100 and 1 <= month <= 12
        return DateToken("P", f"{year}-{month:02}", start, end) if good else DateToken("!", None, start, end)
    return DateToken("!", None, start, end) if kind == "junk" else None


def spaced_atoms(text: str, words: Mapping[str, str], now: datetime) -> list[DateToken]:
    """Return the atoms of a text whose words are parted by spaces."""
    out: list[DateToken] = []
    for match in SPACED.finditer(text):
        atom = digits(match, now, day_first=True)
        if atom is None:
            atom = _atom(match, words)
        out.append(atom)
    return out


def joined_atoms(
    text: str, words: Mapping[str, str], scan: re.Pattern[str], now: datetime, *, particles: bool
) -> list[DateToken]:
    """Return the atoms of a text whose words are not parted; the characters between two of them are one `x`.

    Args:
        text: the text.
        words: symbols by word.
        scan: scanner from `joined_scan`.
        now: gives the century of a year in two digits.
        particles: a word counts only if a word of the text begins there, or behind another atom.
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
