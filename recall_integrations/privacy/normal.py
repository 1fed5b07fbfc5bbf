"""A text as recognisers read it: one form of digits, spaces and hyphens, nothing invisible, and the way back.

The same number is written in many ways: no-break and thin spaces, tabs, hyphens that do not break,
full-width and Arabic-Indic digits, soft hyphens, `%40`, `&nbsp;`, `\\u00a0`. Patterns are written for the plain form
only. Their matches are mapped back, so that the rest of the text stays byte for byte.

Whether `%41` is a letter or the end of "20%" with the beginning of a card, nobody can tell. So a text with codes is
read more than once (`readings`), and a match in any reading counts.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml


@functools.cache
def table(name: str) -> Mapping[Any, str]:
    """Return a table of words and patterns, parted by spaces."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[Any, str] = yaml.load(Path(__file__).with_name("tables.yaml").read_bytes(), Loader=loader)[name]
    return found


def alternatives(name: str) -> str:
    """Return the alternatives of a pattern."""
    return "|".join(table("words")[name].splitlines())


_INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\ufe00-\ufe0f\ufeff"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63"  # an em dash parts sentences, not digits
# What programs write: percent-encoding, HTML references, escapes of JSON and of source code.
_SPACES = rf"(?<= )[ {_INVISIBLE}]+|[{_INVISIBLE}]+"
_REFERENCES = r"&(?:amp;){0,3}(?:[A-Za-z]{2,8}|#0{0,4}[0-9]{2,5}|#[xX]0{0,4}[0-9A-Fa-f]{2,4});"
_ESCAPED = r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[nrt]"
_PRINTABLE = r"=(?:[2-7][0-9A-F](?==[2-7][0-9A-F])|(?<==[2-7][0-9A-F]=)[2-7][0-9A-F]|3[AD]|40|2[0DE]|5F|\r?\n)"
_TAGS = (
    r"</?(?:a|abbr|b|big|code|em|font|i|ins|kbd|mark|s|small|span|strong|sub|sup|tt|u|wbr)(?: [^<>]{0,200})?/?>"
    r"|<!--[^<>]{0,100}-->|<br ?/?>\n?|</(?:td|th|dt|key|name)>\s{0,9}<(?:td|th|dd|string|value)(?: [^<>]{0,100})?>"
)
_WRITTEN = re.compile(
    rf"{_SPACES}|%(?:25){{0,3}}(?:C2%(?:25){{0,3}}A0|[2-7][0-9A-Fa-f]|0[9ADad])|{_REFERENCES}|{_ESCAPED}|{_PRINTABLE}|{_TAGS}"
)
# Only what stands for a space or a separator: the rest of a text may have "20%4111" in it.
_SEPARATORS = re.compile(rf"{_SPACES}|%C2%A0|%(?:2[0BDEFbdef89]|3[Aa]|40|0[9ADad])|{_REFERENCES}|{_ESCAPED}")
_AS_IT_IS = re.compile(rf"(?<= ) +|[{_INVISIBLE}]+")
_CODES = re.compile(rf"[%\\&]|\w[{_INVISIBLE}]+\w|{_TAGS}|{_PRINTABLE}")
_ESCAPES = {"n": "\n", "r": "\r", "t": " "}
# A line break, with what mail and shells put around it. What is a seam inside of one value, `_seam` says.
_BREAK = re.compile(r"(?<=[^\s\0])(?P<soft>=|\\)?[ ]{0,3}\r?\n[ ]{0,20}(?:[>|] ?){0,4}(?=[^\s\0])")
_SIDE = 64
_SPACE, _MAY_GO_ON = re.compile(r"\s"), "0123456789(-./ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MAY_STOP = _MAY_GO_ON + ")+ "
_LEFT = re.compile(r"[^\s\0]+$")
_RIGHT = re.compile(r"[^\s\0]+")
_HOST = re.compile(r"@(?:[\w-]+\.)+[a-z]{2,4}\W*")
_ENDS, _BEGINS = re.compile(r"[A-Za-z0-9_\-.+/]+$"), re.compile(r"[A-Za-z0-9_\-+/]+(?=[\"'.,;)\]}=]*$)")  # of a key
SWITCH = re.compile(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])|[a-z](?=[A-Z])|[A-Z](?=[a-z])")
_DIGITS_LEFT = re.compile(r"(?:[0-9][)\-./ ]{0,2}|[0-9 ][A-Z]{1,4}|\b[A-Z]{2}|[+(])$")
_DIGITS_RIGHT = re.compile(r"[(\-./]?[0-9]|[A-Z]{1,4}(?![a-z])")
_GROUP_LEFT, _GROUP_RIGHT = re.compile(r"(?<=[0-9] )[0-9A-Z]{1,6}$"), re.compile(r"[0-9]*")
_PAIRS = re.compile(r"(?<![0-9])[0-9]{2} [0-9]{2}$")
_GONE = re.compile(f"[{_INVISIBLE}]")


class _Table(dict[int, "str | int"]):
    """A table for `str.translate`: one character for one. Filled as characters are met."""

    def __missing__(self, code: int) -> str | int:
        plain = _plain(chr(code))
        found: str | int = code if plain is None else plain
        if code < 0x10000:  # bounded, whatever is thrown at it
            self[code] = found
        return found


def _plain(character: str) -> str | None:
    """Return the plain form of a character, or None if it is plain."""
    digit = unicodedata.digit(character, None)  # also "①" and "²"
    if digit is not None:
        return str(digit)
    if unicodedata.category(character) == "Zs":
        return " "
    if character in _HYPHENS:
        return "-"
    if (
        "\u24b6" <= character <= "\u24e9"
        or "\uff00" <= character <= "\uffef"
        or "\U0001d400" <= character <= "\U0001d7ff"
    ):  # circles, widths, letters of formulas
        wide = unicodedata.normalize("NFKC", character)
        return wide if len(wide) == 1 else None
    return None


# U+0130 is the one letter whose lower case is two characters.
_TABLE = _Table({9: " ", 11: " ", 12: " ", 0x130: "I", ord("。"): ".", ord("｡"): "."})


class Plain:
    """The plain form of a text: `text`, and `low`, the same in lower case and of the same length."""

    def __init__(self, original: str, codes: re.Pattern[str] = _WRITTEN, under: Plain | None = None) -> None:
        text = original.replace("\t", " ") if original.isascii() else original.translate(_TABLE)
        self._under = under
        self._pieces: list[tuple[int, int, int]] = []  # start in the plain form; start in the original; end of a code
        self._starts: list[int] = []
        if codes.search(text):
            text = self._decoded(text, codes)
        self.text = text
        self.low = text.lower()

    def joined(self) -> Plain | None:
        """Return the text without the line breaks that may stand inside of one value; None if there are none."""
        if "\n" not in self.text or not any(_seam(match) is not None for match in _BREAK.finditer(self.text)):
            return None
        return Plain(self.text, _BREAK, self)

    def broken(self, start: int, end: int) -> bool:
        """Say whether a line break stood in `text[start:end]` before lines were joined."""
        first, last = self._back(start, end)
        return self._under is not None and "\n" in self._under.text[first:last]

    def _decoded(self, text: str, codes: re.Pattern[str]) -> str:
        meaning = _seam if codes is _BREAK else _meant
        parts: list[str] = []
        length = done = 0
        for match in codes.finditer(text):
            meant = meaning(match)
            if meant is None:
                continue
            if match.start() > done:
                self._pieces.append((length, done, 0))
                parts.append(text[done : match.start()])
                length += match.start() - done
            if not meant and codes is _AS_IT_IS and match.group()[0] != " ":
                meant = "\0"  # what is invisible parts what stands beside it
            if meant:
                self._pieces.append((length, match.start(), match.end()))
                parts.append(meant)
                length += 1
            done = match.end()
        if done < len(text):
            self._pieces.append((length, done, 0))
            parts.append(text[done:])
        self._starts = [piece[0] for piece in self._pieces]
        return "".join(parts)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of `text[start:end]`, which is not empty."""
        first, last = self._back(start, end)
        return self._under.origin(first, last) if self._under else (first, last)

    def _back(self, start: int, end: int) -> tuple[int, int]:
        if not self._pieces:
            return start, end
        first, first_original, _ = self._pieces[bisect_right(self._starts, start) - 1]
        last, last_original, code_end = self._pieces[bisect_right(self._starts, end - 1) - 1]
        return first_original + start - first, code_end or last_original + end - last

    def hide(self, spans: Sequence[tuple[int, int]]) -> None:
        """Replace these spans, in order, by characters that no pattern takes, so that later searches stop there."""
        if spans:
            self.text = _hidden(self.text, spans)
            self.low = _hidden(self.low, spans)


def readings(text: str) -> Iterator[Plain]:
    """Yield the plain forms of a text that differ: mostly one.

    The first decodes every code and leaves out invisible characters; the second decodes only codes for separators; the
    third decodes none, and invisible characters between words part them.
    """
    yield (first := Plain(text))
    if not _CODES.search(text):
        return
    seen = {first.text}
    for codes in (_SEPARATORS, _AS_IT_IS):
        other = Plain(text, codes)
        if other.text not in seen:
            seen.add(other.text)
            yield other


def _hidden(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], "\0" * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _meant(match: re.Match[str]) -> str | None:
    """Return the character, or the empty text, that a code or a run of spaces or invisible characters stands for."""
    written = match.group()
    if written[0] == "%":
        return " " if written[-3:] == "%A0" or written[-3:] == "%a0" else _character(int(written[-2:], 16))
    if written[0] == "&":
        return _reference(written.rsplit(";", 2)[-2].removeprefix("&"))
    if written[0] == "\\":
        return _character(int(written[2:], 16)) if written[1] in "ux" else _ESCAPES[written[1]]
    if written[0] == "=":
        return "" if written[-1] == "\n" else _character(int(written[1:], 16))
    if written[0] == "<":
        return "\n" if written.startswith("<br") else ":" if written.count("<") > 1 else ""
    return ""


def _reference(name: str) -> str | None:
    meant = html.unescape(f"&{name};")
    return _character(ord(meant)) if len(meant) == 1 else None


def _seam(match: re.Match[str]) -> str | None:
    """Return what parts a value that goes on behind a line break: nothing, or a space; None if none goes on."""
    text, start, end = match.string, match.start(), match.end()
    around = text[max(0, start - _SIDE) : start], text[end : end + _SIDE]
    long = not _SPACE.search(around[0][-10:]) or not _SPACE.search(around[1][:10])  # one half of a key is
    if not (
        match["soft"]
        or long
        or (text[end] in _MAY_GO_ON and text[start - 1] in _MAY_STOP)
        or "@" in around[0]
        or "@" in around[1]
    ):
        return None
    left = _LEFT.search(text, max(0, match.start() - _SIDE), match.start())
    right = _RIGHT.match(text, match.end(), match.end() + _SIDE)
    if left is None or right is None:
        return None
    before, after = left.group(), right.group()
    if "@" in before or "@" in after:
        host = before.rpartition("@")[2]
        open_host = "@" in before and (len(host.rpartition(".")[2]) < 2 or "." not in host)
        return "" if open_host or _HOST.fullmatch(after) or ("@" in after and before[-1] in "._-+") else None
    if _DIGITS_LEFT.search(text, left.start(), match.start()) and _DIGITS_RIGHT.match(after):
        # "4111 1111" and "12 34" go on with another group; "4111 11" does so within one.
        group = _GROUP_LEFT.search(text, max(0, match.start() - 8), match.start())
        going_on = len(_GROUP_RIGHT.match(after)[0])  # type: ignore[index]
        spaced = group is not None or text[match.end() + len(after) + 1 : match.end() + len(after) + 2].isdigit()
        size = len(group[0]) if group else 4
        inside = size + going_on == 4 or size < 3
        pairs = group is not None and size == 2 and _PAIRS.search(text, max(0, match.start() - 8), match.start())
        return " " if spaced and before[-1].isalnum() and (pairs or not inside) else ""
    if match["soft"]:
        return ""
    ends, begins = _ENDS.search(before), _BEGINS.match(after)
    key = ends.group() + begins.group() if ends and begins else ""
    return "" if len(key) >= 20 and len(SWITCH.findall(key)) >= 4 else None


def _character(code: int) -> str:
    character = chr(min(code, 0xFFFF))
    if _GONE.match(character):
        return ""
    plain = _plain(character) or character
    return plain if len(plain.lower()) == 1 and not "\ud800" <= plain <= "\udfff" else " "
