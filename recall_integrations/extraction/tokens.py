"""A text as words with their place, and what in it is not prose."""

from __future__ import annotations

import re

from recall_integrations.patterns import regex
from recall_integrations.records import record

WORD_CHARS_MAX = 40  # longer ones are no names

_SUFFIX = r"\.(?=(?:js|io|ai|com|org|net)\b)"
_ASCII_WORD = regex(rf"[A-Za-z0-9]+(?:(?:['&-]|{_SUFFIX})[A-Za-z0-9]+)*")
_MARK = "[\u0300-\u036f]+"
_WORD = regex(rf"[^\W_]+(?:(?:['’&-]|{_SUFFIX}|{_MARK})[^\W_]+|{_MARK})*")

_MAYBE_SPECIAL = regex(r"[`@#]|://|www\.")
_SPECIAL = regex(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]{1,200}`)"
    r"|(?P<url>\b(?:https?://|www\.)\S+)"
    r"|(?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
    r"|(?P<handle>(?<!\w)@\w{1,64})"
    r"|(?P<heading>^[ \t]{0,3}\#{1,6}[ \t][^\n]*$)"
    r"|(?P<number>(?<![\w&])\#\d{2,9}\b|(?<=issue\ )\#\d\b|(?<=PR\ )\#\d\b|(?<=ticket\ )\#\d\b|(?<=bug\ )\#\d\b)"
    r"|(?P<hashtag>\#\w{1,64})",
    re.MULTILINE | re.DOTALL,
)
_BREAK = regex(r"[.!?…:;\n\r。！？]")


@record(slots=True)
class Words:
    """The words of a text as parallel lists.

    Args:
        text: the text, with what is not prose blanked out by "|" of the same length.
        starts: first character of each word.
        ends: character after its last, a possessive "'s" left out.
        raws: as written, without possessive.
        lows: in lower case, with a straight apostrophe.
        owns: whether the word has a possessive "'s".
        marks: `(start, end, kind)` of e-mail addresses and issue numbers.
    """

    text: str
    starts: list[int]
    ends: list[int]
    raws: list[str]
    lows: list[str]
    owns: list[bool]
    marks: list[tuple[int, int, str]]

    def gap(self, i: int) -> str:
        """What stands between word `i` - 1 and word `i`, a possessive left out."""
        if i == 0:
            return self.text[: self.starts[0]]
        return self.text[self.ends[i - 1] + (2 if self.owns[i - 1] else 0) : self.starts[i]]

    def tail(self) -> str:
        """What follows the last word."""
        return self.text[self.ends[-1] + (2 if self.owns[-1] else 0) :] if self.ends else self.text


def words_of(text: str) -> Words:
    """The words of `text`. Code, addresses, hashtags and Markdown headings have none. Linear in its length."""
    marks: list[tuple[int, int, str]] = []
    if _MAYBE_SPECIAL.search(text):
        text = _without_special(text, marks)
    starts: list[int] = []
    ends: list[int] = []
    raws: list[str] = []
    owns: list[bool] = []
    quoted = "'" in text or "’" in text
    for match in (_ASCII_WORD if text.isascii() else _WORD).finditer(text):
        raw = match.group()
        start, end = match.span()
        own = quoted and end - start > 2 and raw[-1] in "sS" and raw[-2] in "'’"
        if own:
            raw, end = raw[:-2], end - 2
        starts.append(start)
        ends.append(end)
        raws.append(raw)
        owns.append(own)
    lows = [raw.lower() for raw in raws]
    if "’" in text:
        lows = [low.replace("’", "'") for low in lows]
    return Words(text, starts, ends, raws, lows, owns, marks)


def _without_special(text: str, marks: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for match in _SPECIAL.finditer(text):
        start, end = match.span()
        kind = match.lastgroup or ""
        if kind == "url":
            end = start + len(match.group().rstrip(".,!?;:)]}'\""))
        if kind in {"email", "number"}:
            marks.append((start, end, kind))
        parts.append(text[at:start])
        parts.append("|" * (end - start))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def breaks(gap: str) -> bool:
    """Whether what stands between two words ends a sentence."""
    return gap != " " and _BREAK.search(gap) is not None
