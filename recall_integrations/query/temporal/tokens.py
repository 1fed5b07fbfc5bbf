"""Split texts into tokens: words by the vocabulary, numbers by their shape. One pass, linear in the text.

Each token carries a symbol, one character: a word of the vocabulary has its own, numbers and dates have a letter by
their shape, and all other words are `x`, all other punctuation `!`. Rules are matched over the string
of symbols, so a position in it is the index of a token.

| symbol | token | | symbol | token |
|---|---|---|---|---|
| `a` | whole number 1–12 | | `t` | time of day (value: minutes, length in minutes) |
| `b` | whole number 13–31 | | `D` `F` `H` | day; day as an offset; holiday |
| `c` | 0 and 32–99 | | `W` `N` `Q` `Y` | week, month, quarter or half, year |
| `g` | other whole numbers | | `S` | season, decade, weekend, run of days |
| `y` | 1500–2199, could be a year | | `U` | duration |
| `o` `v` | ordinal 1–31; 32–366 | | `R` | a finished window |
| `u` | year behind an apostrophe ('98) | | `s` `m` | 5/12; 5-12 or 5.12 |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import Interval, Period, day, months_from
from recall_integrations.query.temporal.lexicon import MONTH, MONTHS
from recall_integrations.records import record

_SCAN = regex(
    r"""
    (?=\S)(?:
    (?P<plain>(?![cf]y\b)[^\W\d_]+)(?=[\ ,;!?\n]|\.\s|$)
  | (?P<url>(?:https?://|www\.|<a\b)\S+ | [\w.+]{1,64}@\S+)
  | (?P<stamp>(?<![\w./-])\d{4}-\d\d?-\d\d?[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z\b|[+-]\d\d:?\d\d\b)?)
  | (?P<clock>(?<![\w.:/])\d{1,2}(?:[:.]\d\d)?\ ?(?:[ap]\.m\.|[ap]m\b)|(?<![\w.:/-])\d{1,2}\ ?o['’]?clock\b)
  | (?P<week>(?<![\w./-])\d{4}-?W\d\d?\b)
  | (?P<glued>(?<![\w./@#])(?:\d{1,2}(?:st|nd|rd|th)?(?:NAMES)(?:\d{4}|\d\d)?
      |\d{4}(?:NAMES)\d\d?|(?:NAMES)(?:\d{4}|\d\d?(?:st|nd|rd|th)?))(?!\w))
  | (?P<compact>(?<![\w.,/-])\d{1,3}(?:mo|[ymwdh])(?=\s+ago\b))
  | (?P<ordinal>(?<![\w/])(?<!\d\.)\d{1,4}(?:st|nd|rd|th)\b)
  | (?P<decade>(?<![\w./])['’]?(?:\d\d)?\d0(?:['’]?|\ )s\b)
  | (?P<label>(?<![\w./])(?:\d{4}[-/ ]?)?(?:[qQ][1-4]|[hH][12])(?:[-/ ]?(?:\d{4}|['’]\d\d))?\b(?![-/.]\d)
      |(?<![\w./])(?-i:[1-4]Q|[12]H)(?:[-/ ]?\d{4}|['’]?\d\d)\b(?![-/.]\d)
      |(?<![\w./])(?:cy|fy|CY|FY)\ ?(?:\d{4}|['’]?\d\d)\b)
  | (?P<joined>week-ends?\b)
  | (?P<short>(?<![\w])['’]\d\d\b(?!['’]))
  | (?P<number>[$€£#+@_]?\d+(?:[.,/:~–-]\d+)*(?:\ ?%)?(?P<tail>\w*))
  | (?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?(?P<junk>[\d_]\w*)?)
  | (?P<mark>[-–—/.,:~()=<>$])
  | (?P<other>[^\s\w'’])
    )""".replace("NAMES", MONTHS),
    re.VERBOSE | re.IGNORECASE,
)
_SPACED_DATE = regex(r"(?<![\w./-])(\d{4}) (\d{1,2}) (\d{1,2})(?![\w/:-]|\.\d)")
_GLUED = regex(r"[A-Za-z]{3,}|\d+(?:st|nd|rd|th)?", re.IGNORECASE)
_LETTERS = {"y": "years", "mo": "months", "w": "weeks", "d": "days", "h": "hours", "m": "minutes"}
# "Dec31" is a date; "dec31" may be anything, unless one of these words stands before it.
_GLUE_CUES = frozenset("on by since until till before after from to between and due of in".split())
# "90s music" is a decade; a "90s timeout" is none.
_ERA = regex(
    r"\s+(?:music|songs?|movies?|films?|rock|pop|hits|fashion|bands?|tv|television|sitcoms?|cartoons?|nostalgia|kids?|"
    r"era|playlists?|hip|disco|cinema|style|games?)\b",
    re.IGNORECASE,
)
_LENGTH = regex(
    r"\s+(?:limit|timeout|time-out|delay|interval|mark|countdown|wait|ttl|cap|threshold|cooldown|clip|video|timer|budget|"
    r"deadline|sleep|poll|pause|break|intro|ad|advert|spot)\b",
    re.IGNORECASE,
)
_PAIRS = frozenset("yy yb yc sD DD ss aa ab bb NN".split())  # of numbers that may be a range
_MARKS = {"–": "-", "—": "-"}
_DATE = regex(r"(\d+)([-/.])(\d+)\2(\d+)")
_TWO = regex(r"(\d+)([-/.])(\d+)")


@record(slots=True)
class DateToken:
    """A token, or the one that a rule has made of several."""

    symbol: str  # one character, see the table above
    value: Any  # a number, a `Period`, a `Duration` or an `Interval`, by symbol
    start: int
    end: int
    word: str = ""  # the normal form of a word; "" if it is no word
    confidence: float = 1.0
    spelled: bool = False  # whether the text writes the number as a word


def reduced(
    search: Callable[..., re.Match[str] | None],
    symbols: str,
    tokens: list[DateToken],
    build: Callable[[re.Match[str]], DateToken | None],
) -> tuple[str, list[DateToken]]:
    """Replace the tokens of each match by the one that is built of it, from left to right; return symbols and tokens.

    Where `build` returns `None` the match does not count, and the next begins at the next token.
    """
    out: list[DateToken] = []
    kept = position = 0
    while match := search(symbols, position):
        first, last = match.span()
        position = first + 1
        made = build(match) if last > first else None
        if made is not None:
            out += [*tokens[kept:first], made]
            kept = position = last
    if not out:
        return symbols, tokens
    out += tokens[kept:]
    return "".join([token.symbol for token in out]), out


def number_symbol(value: int) -> str:
    """Return the symbol of a whole number."""
    if 1 <= value <= 31:
        return "a" if value <= 12 else "b"
    return "c" if value < 100 else "y" if 1500 <= value <= 2199 else "g"


def full_year(value: int, now: datetime) -> int:
    """Return a two-digit year in full: in this century up to '29 or the present year if later, else in the last."""
    return value + 2000 if value <= max(29, now.year % 100) else value + 1900


def tokenize(text: str, vocabulary: dict[str, str], now: datetime) -> list[DateToken]:
    """Return the tokens of `text`; `vocabulary` gives symbols of words, `now` the century of two-digit years."""
    out: list[DateToken] = []
    position = 0
    while match := _SCAN.search(text, position):
        position = match.end()
        if match.lastgroup == "plain":  # a word, and most are: what else begins with letters goes on with other signs
            word = match[0].lower()
            out.append(DateToken(vocabulary.get(word, "x"), None, match.start(), position, word))
            continue
        kind = match.lastgroup if match.lastgroup not in ("tail", "junk") else ("number" if match["number"] else "word")
        start, raw = match.start(), match.group()
        if kind in ("word", "joined"):
            out.append(_word(raw.replace("-", ""), start, bool(match["junk"]), vocabulary))
            out[-1].end = position  # "week-end" is a word
        elif kind == "mark":
            out.append(DateToken(_MARKS.get(raw, raw), raw, start, position))
        elif kind == "number":
            spaced = _SPACED_DATE.match(text, start) if len(raw) == 4 else None
            if spaced and (found := date_of(spaced[1], spaced[2], spaced[3], now)):
                position = spaced.end()
                out.append(DateToken("D", Period("day", found), start, position))
            else:
                _number(raw, bool(match["tail"]), start, out, now)
        elif kind == "compact":
            out += _compact(raw, start, vocabulary)
        elif kind == "glued":
            out += _glued(raw, start, out, vocabulary, now)
        elif kind == "decade" and not _is_decade(raw, out, text, position):
            out.append(DateToken("x", None, start, position))
        else:
            out.append(_special(kind or "", raw, start, now))
    return out


def _is_decade(raw: str, out: list[DateToken], text: str, position: int) -> bool:
    """Accept "1990s" and "'90s" as decades; "60s" may be a minute, and needs a word beside it that tells."""
    if raw[:4].isdigit() or "'" in raw or "’" in raw:
        return True
    before = out[-1].word or out[-1].symbol if out else ""
    if before in ("and", "or", "to") and len(out) > 1 and out[-2].symbol == "S":
        return True
    if before in ("the", "early", "late", "mid", "-"):
        return _LENGTH.match(text, position) is None
    return " " not in raw and _ERA.match(text, position) is not None


def _word(raw: str, start: int, junk: bool, vocabulary: dict[str, str]) -> DateToken:
    word = raw.lower().replace("’", "'")
    end = start + len(raw)
    if junk:
        return DateToken("x", None, start, end, word)
    symbol = vocabulary.get(word)
    if symbol is None and word.endswith("'s"):
        word = word[:-2]
        symbol = vocabulary.get(word)
    return DateToken(symbol or "x", None, start, end, word)


def _compact(raw: str, start: int, vocabulary: dict[str, str]) -> list[DateToken]:
    """Split "3d ago", "2mo ago" into a number and its unit."""
    digits, letters = re.findall(r"\d+|[a-z]+", raw.lower())
    middle = start + len(digits)
    unit = _LETTERS[letters]
    number = DateToken(number_symbol(int(digits)), int(digits), start, middle)
    return [number, DateToken(vocabulary[unit], None, middle, start + len(raw), unit)]


def _glued(raw: str, start: int, out: list[DateToken], vocabulary: dict[str, str], now: datetime) -> list[DateToken]:
    """Split "Dec31", "22April", "05Mar21" into day, month and year; a junk word if it is no date."""
    parts: list[DateToken] = []
    for match in _GLUED.finditer(raw):
        piece, at = match.group(), start + match.start()
        if piece.isdigit():
            parts.append(_plain(piece, at, now) or DateToken("x", None, at, at + len(piece)))
        elif piece[0].isdigit():
            parts.append(_special("ordinal", piece, at, now))
        else:
            parts.append(_word(piece, at, False, vocabulary))
    junk = [DateToken("x", None, start, start + len(raw), raw.lower())]
    days = [part.symbol for part in parts if part.symbol in "abo"]
    if not days and not any(part.symbol == "y" for part in parts):
        return junk
    if out and out[-1].symbol == "-" and out[-1].end == start:  # "Apr22-Apr25", and not "branch-dec12"
        return parts if len(out) > 1 and (out[-2].symbol in "abcoy" or out[-2].word in MONTH) else junk
    cued = raw[0].isdigit() or raw[0].isupper() or (bool(out) and out[-1].word in _GLUE_CUES)
    return parts if cued else junk


def _special(kind: str, raw: str, start: int, now: datetime) -> DateToken:
    """Return the token of a date, a time or a number with letters; of one that there cannot be, a junk word."""
    try:
        symbol, value, word = _read(kind, raw, [int(d) for d in re.findall(r"\d+", raw)], now)
    except (ValueError, OverflowError):  # no such day
        symbol, value, word = "x", None, ""
    return DateToken(symbol, value, start, start + len(raw), word)


def _read(kind: str, raw: str, digits: list[int], now: datetime) -> tuple[str, Any, str]:
    if kind == "ordinal":
        return "o" if 1 <= digits[0] <= 31 else "v" if 31 < digits[0] <= 366 else "x", digits[0], ""
    if kind == "short":
        return "u", full_year(digits[0], now), ""
    if kind == "clock":
        hour, minute = digits[0], digits[1] if len(digits) > 1 else 0
        letter = "p" if "p" in raw.lower() else "a" if "a" in raw.lower() else ""
        if hour <= (12 if letter else 24) and minute <= 59 and not (letter and not hour):
            hour = hour % 12 + (12 if letter == "p" else 0) if letter else hour % 24
            return "t", (60 * hour + minute, 60 if len(digits) == 1 else 30), ""
    elif kind == "stamp":  # in ISO 8601; seconds give a window of a minute, minutes one of half an hour
        moment = datetime(*digits[:5])  # type: ignore[arg-type]
        length = timedelta(minutes=1 if raw.count(":", 0, 19) > 1 else 30)
        return "D", Period("time", Interval(moment, moment + length, moment)), ""
    elif kind == "decade":
        first = digits[0]
        year = first if first > 99 else 1900 + first if first > (now.year % 100) else 2000 + first
        if 1200 <= year <= 2190:
            return "S", Period("decade", months_from(year, 1, 120)), ""
    elif kind == "week" and 1 <= digits[1] <= 53 and digits[0] > 1:
        monday = datetime(digits[0], 1, 4)
        monday += timedelta(days=7 * (digits[1] - 1) - monday.weekday())
        return "W", Period("week", Interval(monday, monday + timedelta(days=7))), ""
    elif kind == "label":
        return _label(raw, now)
    return "!" if kind == "other" else "x", None, ""


def _label(raw: str, now: datetime) -> tuple[str, Any, str]:
    """Read `Q3 2024`, `2021-H1`, `FY24`; without a year the value is `(months, which)` under the symbol `q`."""
    raw = re.sub(r"^(\d)([qQhH])", r"\2\1 '", raw) if raw[1:2] in "qQhH" else raw  # 3Q24
    year_text = re.search(r"(?<![qQhH\d])\d{4}|(?<=['’])\d\d|(?<=y)\d\d$|(?<=y )\d\d$", raw.lower())
    year = int(year_text[0]) if year_text else 0
    year = full_year(year, now) if year_text and year < 100 else year
    part = re.search(r"([qh])(\d)", raw.lower())
    if part is not None:
        months, which = (3 if part[1] == "q" else 6), int(part[2])
        if not year_text:
            return "q", (months, which), ""
        if found := year_part(year, months, which):
            return "Q", Period("quarter" if months == 3 else "half", found), ""
    elif 1 <= year < 9999:
        return "Y", Period("year", months_from(year, 1, 12)), ""
    return "x", None, ""


def year_part(year: int, months: int, which: int) -> Interval | None:
    """Return the `which`-th quarter (3 months) or half (6 months) of a year."""
    if not 1 <= year < 9999:
        return None
    return months_from(year, months * (which - 1) + 1, months)


def _number(raw: str, tail: bool, start: int, out: list[DateToken], now: datetime) -> None:
    """Append the reading of a run of digits and separators: a number, a date, a time, two of them, or a junk token."""
    end = start + len(raw)
    if tail or not raw[0].isdigit() or raw.endswith("%") or not raw.replace("–", "-").isascii():
        out.append(DateToken("x", None, start, end))
        return
    run = raw.replace("–", "-")
    if match := re.fullmatch(r"(\d{1,2}),(\d{4})", run):  # December 1,2023
        comma = start + len(match[1])
        parts = (_plain(match[1], start, now), _plain(match[2], comma + 1, now))
        if parts[0] and parts[1]:
            out += [parts[0], DateToken(",", ",", comma, comma + 1), parts[1]]
            return
    beside_month = len(out) > 1 and out[-1].symbol in "-/" and out[-2].word in MONTH and out[-2].end == out[-1].start
    if found := _run(run, start, beside_month, now):
        out.append(found)
        return
    for separator in "~-/":
        left, mark, right = run.partition(separator)
        if separator == "-" and run.count("-") == 5:  # 02-02-2020-03-03-2020
            left, right = "-".join(run.split("-")[:3]), "-".join(run.split("-")[3:])
        if not mark or not right:
            continue
        first = _run(left, start, False, now)
        second = _run(right, end - len(right), False, now)
        if first and second and (first.symbol + second.symbol in _PAIRS or beside_month):
            out += [first, DateToken("~" if separator == "~" else "-", mark, first.end, second.start), second]
            return
    out.append(DateToken("x", None, start, end))


def _run(run: str, start: int, beside_month: bool, now: datetime) -> DateToken | None:
    end = start + len(run)
    if run.isdigit():
        return _plain(run, start, now)
    if match := _DATE.fullmatch(run):
        if match[2] == "." and len(match[4]) != 4 and len(match[1]) != 4:
            return None  # a version number
        found = date_of(match[1], match[3], match[4], now, day_first=match[2] == ".")
        return DateToken("D", Period("day", found), start, end) if found else None
    if match := re.fullmatch(r"(\d{1,2}):(\d\d)(?::\d\d)?", run):
        hour, minute = int(match[1]), int(match[2])
        return DateToken("t", (60 * hour + minute, 30), start, end) if hour < 24 and minute < 60 else None
    match = _TWO.fullmatch(run)
    if not match or beside_month:
        return None
    left, mark, right = match[1], match[2], match[3]
    for year, month in ((left, right), (right, left)):
        if len(year) == 4 and len(month) <= 2 and mark != "." and 1 <= int(month) <= 12 and 1500 <= int(year) <= 2199:
            return DateToken("N", Period("month", months_from(int(year), int(month))), start, end)
    if len(left) <= 2 and len(right) <= 2 and (pair := _month_day(int(left), int(right))):
        return DateToken("s" if mark == "/" else "m", pair, start, end)
    return None


def _plain(run: str, start: int, now: datetime) -> DateToken | None:
    end = start + len(run)
    if len(run) == 8 and run[:2] in ("19", "20") and (found := date_of(run[:4], run[4:6], run[6:], now)):
        return DateToken("D", Period("day", found), start, end)
    if len(run) > 9:
        return None
    value = int(run)
    symbol = number_symbol(value)
    return DateToken("g" if symbol == "y" and len(run) != 4 else symbol, value, start, end)


def _month_day(left: int, right: int, *, day_first: bool = False) -> tuple[int, int] | None:
    """Return `(month, day)`: if both orders can be month first, as in the United States, who write no dots."""
    if day_first:
        left, right = right, left
    if 1 <= left <= 12 and 1 <= right <= 31:
        return left, right
    if 1 <= right <= 12 and 1 <= left <= 31:
        return right, left
    return None


def date_of(first: str, second: str, third: str, now: datetime, *, day_first: bool = False) -> Interval | None:
    """Read a date: year first if it has four digits; else month and day as in `_month_day`, year last."""
    if len(first) == 4:
        year, pair = int(first), (int(second), int(third)) if len(second) < 3 and len(third) < 3 else None
    elif len(first) < 3 and len(second) < 3 and len(third) in (2, 4):
        year = int(third) if len(third) == 4 else full_year(int(third), now)
        pair = _month_day(int(first), int(second), day_first=day_first)
    else:
        return None
    if pair is None or not 1000 <= year <= 9998:
        return None
    try:
        return day(year, *pair)
    except ValueError:
        return None


# Full timestamps that name a time zone, or are written as programs write them: dateparser is good at reading such a
# span, and slow (0.3 ms) and credulous at finding one, so a strict pattern finds it.
_STAMP_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_STAMP_TIME = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?(?:\ ?[AP]M)?"
_STAMP_ZONE = r"(?:Z|UTC|GMT|[ECMP][SD]T|CES?T|BST|[+-]\d\d:?\d\d)"
_STAMP = regex(
    rf"""(?<![\w./-])(?:
        \d{{4}}-\d\d-\d\d[T ]{_STAMP_TIME}\ ?{_STAMP_ZONE}
      | (?:[A-Z][a-z]{{2}},?\ )?\d{{1,2}}\ {_STAMP_MONTH},?\ \d{{4}},?\ (?:at\ )?{_STAMP_TIME}\ {_STAMP_ZONE}
      | {_STAMP_MONTH}\ \d{{1,2}},?\ \d{{4}},?\ (?:at\ )?{_STAMP_TIME}\ {_STAMP_ZONE}
      | [A-Z][a-z]{{2}}\ {_STAMP_MONTH}\ {{1,2}}\d{{1,2}}\ \d\d:\d\d:\d\d\ \d{{4}}
    )(?![\w:])""",
    re.VERBOSE | re.IGNORECASE,
)


def find_timestamp(text: str, now: datetime) -> tuple[datetime, datetime, tuple[int, int]] | None:
    """Return the first timestamp: start, end (a minute later; without seconds half an hour) and its span."""
    match = _STAMP.search(text)
    if match is None:
        return None
    from dateparser.date import DateDataParser

    settings: dict[str, Any] = {
        "PREFER_DATES_FROM": "past",
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "DATE_ORDER": "MDY",
        "PARSERS": ["absolute-time"],  # the span is a full date: the other parsers would cost a third of the time
    }
    length = timedelta(minutes=1 if re.search(r":\d\d:\d\d", match.group()) else 30)
    try:
        found = DateDataParser(languages=["en"], settings=settings).get_date_data(match.group()).date_obj
        if found is None:
            return None
        start = (found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).astimezone(now.tzinfo)
        return start, start + length, match.span()
    except (OverflowError, ValueError):  # the year 0, or an hour that the zone moves out of the calendar
        return None
