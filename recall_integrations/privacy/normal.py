"""A text as recognisers read it: one form of digits, spaces and hyphens, nothing invisible, and the way back.

The same number is written in many ways: no-break and thin spaces, tabs, hyphens that do not break,
full-width and Arabic-Indic digits, soft hyphens, `%40`, `&nbsp;`, `\\u00a0`. Patterns are written for the plain form
only. Their matches are mapped back, so that the rest of the text stays byte for byte.

Whether `%41` is a letter or the end of "20%" with the beginning of a card, nobody can tell. So a text with codes is
read more than once (`readings`), and a match in any reading counts.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence

_INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\ufe00-\ufe0f\ufeff"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63"  # an em dash parts sentences, not digits
# What programs write: percent-encoding, HTML references, escapes of JSON and of source code.
_SPACES = rf"(?<= )[ {_INVISIBLE}]+|[{_INVISIBLE}]+"
_REFERENCES = r"&(?:nbsp|thinsp|ensp|emsp|shy|commat|#[0-9]{2,5}|#[xX][0-9A-Fa-f]{2,4});"
_ESCAPED = r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[nrt]"
_WRITTEN = re.compile(rf"{_SPACES}|%C2%A0|%(?:[2-7][0-9A-Fa-f]|0[9ADad])|{_REFERENCES}|{_ESCAPED}")
# Only what stands for a space or a separator: the rest of a text may have "20%4111" in it.
_SEPARATORS = re.compile(rf"{_SPACES}|%C2%A0|%(?:2[0BDEFbdef89]|3[Aa]|40|0[9ADad])|{_REFERENCES}|{_ESCAPED}")
_AS_IT_IS = re.compile(rf"(?<= ) +|[{_INVISIBLE}]+")
_CODES = re.compile(rf"[%\\&]|\w[{_INVISIBLE}]+\w")
_NAMED = {"nbsp": " ", "thinsp": " ", "ensp": " ", "emsp": " ", "shy": "", "commat": "@"}
_ESCAPES = {"n": "\n", "r": "\r", "t": " "}
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
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if unicodedata.category(character) == "Zs":
        return " "
    if character in _HYPHENS:
        return "-"
    if "\uff00" <= character <= "\uffef" or "\U0001d400" <= character <= "\U0001d7ff":  # widths, mathematical letters
        wide = unicodedata.normalize("NFKC", character)
        return wide if len(wide) == 1 else None
    return None


# U+0130 is the one letter whose lower case is two characters.
_TABLE = _Table({9: " ", 11: " ", 12: " ", 0x130: "I", ord("。"): ".", ord("｡"): "."})


class Plain:
    """The plain form of a text: `text`, and `low`, the same in lower case and of the same length."""

    def __init__(self, original: str, codes: re.Pattern[str] = _WRITTEN) -> None:
        text = original.replace("\t", " ") if original.isascii() else original.translate(_TABLE)
        self._pieces: list[tuple[int, int, int]] = []  # start in the plain form; start in the original; end of a code
        self._starts: list[int] = []
        if codes.search(text):
            text = self._decoded(text, codes)
        self.text = text
        self.low = text.lower()

    def _decoded(self, text: str, codes: re.Pattern[str]) -> str:
        parts: list[str] = []
        length = done = 0
        for match in codes.finditer(text):
            if match.start() > done:
                self._pieces.append((length, done, 0))
                parts.append(text[done : match.start()])
                length += match.start() - done
            meant = _meant(match.group())
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


def ambiguous(text: str) -> bool:
    """Say whether `text` may have more than one reading."""
    return _CODES.search(text) is not None


def readings(text: str) -> Iterator[Plain]:
    """Yield the plain forms of a text that differ: mostly one.

    The first decodes every code and leaves out invisible characters; the second decodes only codes for separators; the
    third decodes none, and invisible characters between words part them.
    """
    yield (first := Plain(text))
    if not ambiguous(text):
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


def _meant(written: str) -> str:
    """Return the character, or the empty text, that a code or a run of spaces or invisible characters stands for."""
    if written[0] == "%":
        return " " if len(written) > 3 else _character(int(written[1:], 16))
    if written[0] == "&":
        name = written[1:-1]
        if name[0] != "#":
            return _NAMED[name]
        code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
        return _character(code)
    if written[0] == "\\":
        return _character(int(written[2:], 16)) if written[1] in "ux" else _ESCAPES[written[1]]
    return ""


def _character(code: int) -> str:
    character = chr(min(code, 0xFFFF))
    if _GONE.match(character):
        return ""
    plain = _plain(character) or character
    return plain if len(plain.lower()) == 1 and not "\ud800" <= plain <= "\udfff" else " "
