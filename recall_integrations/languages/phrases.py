"""Compile the phrases of the table files (docs/languages.md describes their signs), and prepare texts for them.

A phrase with Chinese or Japanese characters is found anywhere, and a blank in it may be missing; others begin and end
with a word. Letters with an accent may be typed without it in words of four letters and more.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.records import record

CHARS_MAX = 4_000  # of a text that are read: what is longer is no question
CACHED_CHARS_MAX = 1_000
GAP_WORDS, GAP_CHARS = 8, 24

# Accents, and Devanagari, whose vowel signs are no letters to `re`. Two ranges: of a set of three `re` makes a large
# table, which takes three times as long.
MARKS = "\u0300-\u036f\u0900-\u0963"
LETTER = rf"(?-i:[\w{MARKS}])"  # with case ignored, each sign of the ranges is looked at when a pattern is made
UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Chinese and Japanese
_UNSPACED = regex(f"[{UNSPACED}]")
_DROPPED = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")
_ENDS = ".?!;:。？！；：…"
_WORD_GAP = rf"(?:(?:[^\s{re.escape(_ENDS)}]|\.(?=\w))+ ){{0,{GAP_WORDS}}}?"
_CHAR_GAP = rf"[^{re.escape(_ENDS)}]{{0,{GAP_CHARS}}}?"
_TYPED = {"ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)", "ß": "(?:ß|ss)"}
ACCENTED_LETTERS_MIN = 4

_FULL_WIDTH = {c: chr(c - 0xFEE0) for c in map(ord, "，、；：！？") if c > 0xFF00}

_BLANKS = dict.fromkeys(range(0x20), " ")

Slots = Mapping[str, str]


@record(frozen=True, slots=True)
class Said:
    """A text that phrases are matched against: composed, with single blanks, ASCII for full-width signs."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original for a span in `text` that is not empty."""
        return self.starts[start], self.ends[end - 1]

    def within(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return spans of the original as spans in `text`."""
        return [(bisect_left(self.starts, start), bisect_left(self.starts, end)) for start, end in spans]


def said(text: str) -> Said:
    """Prepare the first `CHARS_MAX` characters of a text to be matched."""
    return _cached(text) if len(text) <= CACHED_CHARS_MAX else _said(text)


def _said(text: str) -> Said:
    text = text[:CHARS_MAX]
    plain = text.translate(_BLANKS)
    if not text.isascii():
        signs = {ord(c): _plain(c) for c in set(text) if not c.isascii()}
        if not unicodedata.is_normalized("NFC", text) or any(map(_changes_length, signs.values())):
            return _composed(text)
        plain = plain.translate(signs)
    if "  " not in plain:  # each character stays itself, but of several blanks the first
        return Said(plain, range(len(plain)), range(1, len(plain) + 1))
    cuts = [0, *(edge for blanks in _SEVERAL.finditer(plain) for edge in (blanks.start() + 1, blanks.end()))]
    kept = [*chain.from_iterable(map(range, cuts[::2], [*cuts[1::2], len(plain)]))]
    return Said(_SEVERAL.sub(" ", plain), kept, [i + 1 for i in kept])


def _changes_length(sign: str) -> bool:
    return len(sign) != 1 or unicodedata.normalize("NFC", sign) != sign


def _composed(text: str) -> Said:
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    composed = unicodedata.is_normalized("NFC", text)
    for i, given in enumerate(text):
        c = _plain(given)
        if not c or (c == " " and chars and chars[-1] == " "):
            continue
        if not composed and chars and not c.isascii():
            both = unicodedata.normalize("NFC", chars[-1] + c)
            if len(both) == 1:
                chars[-1], ends[-1] = both, i + 1
                continue
        for part in unicodedata.normalize("NFC", c):  # some are two signs in their normal form
            chars.append(part)
            starts.append(i)
            ends.append(i + 1)
    return Said("".join(chars), starts, ends)


_cached = lru_cache(maxsize=16)(_said)
_SEVERAL = regex("  +")


def _plain(c: str) -> str:
    if c.isascii():
        return " " if c.isspace() or ord(c) < 0x20 else c
    if "\uff01" <= c <= "\uff5e":
        return chr(ord(c) - 0xFEE0)
    if c in "’‘ʼ":
        return "'"
    if c in _DROPPED:
        return ""
    return " " if c.isspace() else c


def blanked(text: str, spans: Iterable[tuple[int, int]], sign: str = "\x00") -> str:
    """Replace each character in the spans by a sign, by default one that no phrase holds; the text's length stays."""
    for start, end in spans:
        text = text[:start] + sign * (end - start) + text[end:]
    return text


def pattern(phrases: Iterable[str], slots: Slots | None = None, flags: int = re.IGNORECASE) -> re.Pattern[str] | None:
    """Compile one pattern for all the phrases, the longest first; `None` without any."""
    every = ordered(phrases)
    try:
        return re.compile(written(every, slots or {}), flags) if every else None
    except re.error:
        for phrase in every:
            _check(phrase, "".join(_compiled(phrase, slots or {})))
        raise


def written(phrases: Iterable[str], slots: Slots) -> str:
    """Write the phrases as one expression; a boundary that all share once: it compiles in a third of the time."""
    parts = [_compiled(p, slots) for p in ordered(phrases)]
    begins = WORD_BEGINS if all(start.startswith(WORD_BEGINS) for start, _, _ in parts) else ""
    ends = WORD_ENDS if all(end for _, _, end in parts) else ""
    body = "|".join(f"{start.removeprefix(begins)}{body}{'' if ends else end}" for start, body, end in parts)
    return f"{begins}(?:{_NAMED.sub(lambda m: f'{m[0]}{m.start()}', body)}){ends}"  # a slot stands in several


def _check(phrase: str, part: str) -> None:
    try:
        re.compile(part)
    except re.error as error:
        raise InvalidArgument(f"The phrase {phrase!r} of a table file cannot be read: {error}.") from error


def alternatives(phrases: Iterable[str], slots: Slots | None = None) -> str:
    """Return the phrases as the value of a slot; without phrases, a pattern that matches nothing."""
    every = ordered(phrases)
    return f"(?:{'|'.join(_body(p, slots or {}) for p in every)})" if every else r"(?!)"


def ordered(phrases: Iterable[str]) -> list[str]:
    """Sort the phrases with more words first, then the longer: of two that begin alike, the first match is taken."""
    return sorted({p for p in phrases if p}, key=lambda p: (-_GROUP.sub("x", p).count(" "), -len(p), p))


_GROUP = regex(r"\([^()]*\)")
_NAMED = regex(r"\(\?P<[a-z]+(?=>)")


def _compiled(phrase: str, slots: Slots) -> tuple[str, str, str]:
    """Write a phrase as a regular expression, between the boundaries of words where its script has them."""
    attached, opens = phrase.startswith("~"), phrase.startswith("^")
    body = _body(phrase.lstrip("~^"), slots)
    body = f"(?:{body})" if "|" in phrase else body
    if is_loose(phrase, slots):
        return "", body, ""
    start = _CLAUSE_BEGINS if opens else WORD_BEGINS if _EDGE.match(phrase[0]) and not attached else ""
    return start, body, WORD_ENDS if _EDGE.match(phrase[-1]) else ""


WORD_BEGINS = rf"(?<!{LETTER})"
_CLAUSE_BEGINS = rf"{WORD_BEGINS}(?<!{LETTER} )"
WORD_ENDS = rf"(?:(?!{LETTER})|(?<!{LETTER}))"  # the second behind an apostrophe: "l'"
_EDGE = regex(rf"{LETTER}|[()<>\[\]*=#]")  # where a phrase may begin or end with a word
PIECE = regex(
    r"(?P<gap> ?\.\. ?)|(?P<comma> ,)|(?P<slot><\w+>)|(?P<sign>[()|])|(?P<open>\[)|(?P<close>\] ?)"
    r"|=(?P<exact>\w+)|(?P<capital>=\*)|(?P<some>\*\*)|(?P<any>\*)|(?P<digits>\#)"
    r"|(?P<blank> )|(?P<word>(?:(?![\s\[\]<>()|=*#])[^.]|\.(?!\.))+)"
)

_SIGNS = {
    "capital": rf"(?-i:[A-Z]){LETTER}{{0,32}}",
    "some": rf"{LETTER}{{3,32}}",
    "any": rf"{LETTER}{{0,32}}",
    "digits": r"\d{1,4}",
    "comma": " ?,",
    "open": "(?:(?:",
}


def is_loose(phrase: str, slots: Slots) -> bool:
    """Say whether a phrase is in a script without spaces, by its own signs or those of the lists that it names."""
    named = (slots.get(name, "") for name in re.findall(r"<(\w+)>", phrase))
    return _UNSPACED.search(phrase) is not None or any(map(_UNSPACED.search, named))


def _body(phrase: str, slots: Slots) -> str:
    phrase = unicodedata.normalize("NFC", phrase).translate(_FULL_WIDTH)
    loose = is_loose(phrase, slots)
    if phrase.endswith("]") and " [" in phrase:  # the blank before it may be left out with it
        first, _, last = phrase[:-1].rpartition(" [")
        return f"{_body(first, slots)}(?:{' ?' if loose else ' '}{_body(last, slots)})?"
    out, at = [], 0
    while at < len(phrase):
        piece = PIECE.match(phrase, at)
        if piece is None:
            raise InvalidArgument(f"The phrase {phrase!r} of a table file cannot be read at {phrase[at:]!r}.")
        out.append(_piece(phrase, piece, slots, loose))
        at = piece.end()
    return "".join(out)


def _piece(phrase: str, piece: re.Match[str], slots: Slots, loose: bool) -> str:
    kind, value = piece.lastgroup, piece.group()
    if kind in _SIGNS:
        return _SIGNS[kind]
    if kind == "gap":
        return _CHAR_GAP if loose else rf" {_WORD_GAP}"
    if kind == "slot":
        name = value[1:-1]
        if name not in slots:
            raise InvalidArgument(f"The phrase {phrase!r} of a table file names <{name}>, which is not listed.")
        return slots[name]
    if kind == "close":
        return ")" + (" ?" if loose else " ") * value.endswith(" ") + ")?"
    if kind == "sign":
        return "(?:" if value == "(" else value
    if kind == "exact":
        return f"(?-i:{re.escape(piece['exact'])})"
    if kind == "blank":
        return " ?" if loose else " "
    return "".join(_letters(run) for run in re.findall(rf"{LETTER}+|.", value))


def _letters(run: str) -> str:
    long = len(run) >= ACCENTED_LETTERS_MIN
    return "".join(_letter(c, long) for c in run)


@lru_cache(maxsize=2_048)
def _letter(c: str, long: bool) -> str:
    if c.isascii() or c.lower() in _TYPED:
        return _TYPED.get(c.lower(), re.escape(c))
    base = unicodedata.normalize("NFD", c)[0]
    return f"[{c}{base}]" if long and base.isascii() else re.escape(c)


Words = frozenset[str]
# What a phrase or a part of one may begin with, and whether that word ends there: "mention" may go on with "ed". `None`
# = with anything; empty = a slot of words that a blank follows, or of none.
Begins = frozenset[tuple[str, bool]] | None

_LETTERS = regex(f"{LETTER}+")
_FOLDED = frozenset("İıſ\u212a")  # letters that match one of ASCII where case is ignored, and do not in small letters
_SPACER = regex(r" \)\{\d+,\d+\}\??$")
_MOST = 4_000  # words that one place may have; with more, anything may stand there
_NOTHING_YET = frozenset({("", False)})


@record(frozen=True, eq=False)
class Heard:
    """A text in small letters, of the same length, and its words; `None` where case is not told by small letters."""

    low: str
    words: Words | None = None

    @cached_property
    def places(self) -> Mapping[str, list[int]]:
        """Where each word begins."""
        found: dict[str, list[int]] = {}
        at = 0
        for word in _LETTERS.findall(self.low):
            at = self.low.index(word, at)
            found.setdefault(word, []).append(at)
            at += len(word)
        return found


@lru_cache(maxsize=64)
def heard(text: str) -> Heard:
    """Return the words of a text."""
    if text.isascii() or _FOLDED.isdisjoint(text):
        low = text.lower()
        return Heard(low, frozenset(_LETTERS.findall(low)))
    return Heard(lowered(text))


def lowered(text: str) -> str:
    """Return the text in lower case, letter by letter: places in it are places in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join([c if len(c.lower()) > 1 else c.lower() for c in text])


class Needed(NamedTuple):
    """What a text that holds a phrase says."""

    words: tuple[Words, ...]  # of each of these sets a word
    first: Words | None  # a word of these where the phrase begins; `None` = it may begin anywhere


def begins_of(lists: Mapping[str, Iterable[str]], patterns: Mapping[str, str]) -> dict[str, Begins]:
    """Return what slots begin with: lists of phrases, which may name those before them, and `patterns` of others."""
    found: dict[str, Begins] = {n: frozenset() if _SPACER.search(p) else None for n, p in patterns.items()}
    for name, phrases in lists.items():
        if name not in patterns:
            every = [_Reader(phrase, found).alternatives() for phrase in phrases]
            known = [begins for begins in every if begins is not None]
            found[name] = frozenset[tuple[str, bool]]().union(*known) if len(known) == len(every) else None
    return found


def needs(phrase: str, begins: Mapping[str, Begins], slots: Mapping[str, str]) -> Needed:
    """Return what a text that holds the phrase says."""
    if phrase.startswith("~") or is_loose(phrase, slots):
        return Needed((), None)
    phrase = phrase.removeprefix("^")
    found = (None if element.startswith("[") else _Reader(element, begins).words() for element in _elements(phrase))
    whole = _Reader(phrase, begins)
    first = whole.words()
    return Needed(tuple(words for words in found if words), None if whole.skips else first)


def _elements(phrase: str) -> list[str]:
    """Split a phrase at the blanks outside of brackets."""
    parts, depth = [""], 0
    for c in phrase:
        depth += (c in "([") - (c in ")]")
        if c == " " and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


class _Reader:
    """Reads what a phrase may begin with, piece by piece."""

    def __init__(self, phrase: str, begins: Mapping[str, Begins]) -> None:
        self._begins = begins
        self._pieces = [(m.lastgroup or "", m.group()) for m in PIECE.finditer(phrase)][::-1]
        self.skips = False  # whether other words may stand before the first

    def words(self) -> Words | None:
        """Return the words with one of which the phrase begins; `None` = with anything, or nothing."""
        begins = self.alternatives()
        return frozenset(word.lower() for word, _ in begins) if begins and all(word for word, _ in begins) else None

    def alternatives(self) -> Begins:
        """Read up to the bracket that ends them, or to the end."""
        found: Begins = self._sequence()
        while self._pieces and self._pieces.pop()[1] == "|":
            other = self._sequence()
            found = None if found is None or other is None else found | other
        return found

    def _sequence(self) -> Begins:
        found: Begins = _NOTHING_YET
        while self._pieces and self._pieces[-1][1].strip() not in ("|", ")", "]"):
            kind, value = self._pieces.pop()
            if kind in ("blank", "gap", "comma"):
                found = found and frozenset((word, ended or word != "") for word, ended in found)
                found = found if kind == "blank" else _then(found, None)
            elif value == "(":
                found = _then(found, self.alternatives())
            elif kind == "open":
                inner = self._sequence()
                closed = self._pieces.pop()[1] if self._pieces else "]"
                if inner is not None and closed.endswith(" "):
                    inner = frozenset((word, True) for word, _ in inner)
                then = _then(found, inner)
                found = None if found is None or then is None else found | then
            elif kind == "slot":
                begins = self._begins.get(value[1:-1])
                self.skips |= begins == frozenset()
                found = _then(found, begins)
            else:
                found = _then(found, _begins_of_word(value.removeprefix("=")) if kind in ("word", "exact") else None)
        return found


def _begins_of_word(value: str) -> Begins:
    first = _LETTERS.match(value)
    if first is None or not first.group().isascii():
        return None
    return frozenset({(first.group(), first.end() < len(value))})


def _then(before: Begins, after: Begins) -> Begins:
    """Join what may stand first with what may follow it."""
    if before is None or all(ended for _, ended in before):
        return before
    if after is None:
        return None
    if not after:
        return before if before == _NOTHING_YET else None
    found = frozenset(
        (word if ended else word + more, ended or end)
        for word, ended in before
        for more, end in (after if not ended else [("", True)])
    )
    return found if len(found) <= _MOST else None
