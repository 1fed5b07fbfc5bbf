"""Signs that distinguish: "C++" is not "C#", blood of group O+ is not O-, 18 degrees are not -18.

A word with a sign is read twice, as the plain word and with its sign: so a query without the sign finds it as before.
What means the same is one: each minus is "-", "♯" is "#". Hyphens in words, ranges and Markdown are no signs.
"""

from __future__ import annotations

import functools
import re
import unicodedata

from recall_integrations.patterns import regex
from recall_integrations.text.analyser import DENSE, RUN, WORD_CHARS_MAX, Token, tokenize, words

_PLUS, _MINUS, _SHARP = "+\uff0b\ufe62", "\\-\u2010-\u2013\u2212\ufe63\uff0d", "#\u266f\uff03"
_MONEY, _PERCENT = "$£¥¢\u20a0-\u20cf\uff04\uffe1\uffe5", "%‰٪\uff05"
_BLANK = " \u00a0\u2009\u202f"
_OWN = (  # signs, ways up and down, emoji without tones of skin
    "°§±≤≥≠≈∞√\u2191\u2193\u2197\u2198\u2300-\u23ff\u2600-\u266c\u2670-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_CAPITALS = frozenset("AАВКОСУ")  # of Latin and Cyrillic letters those that are stop words, without the English "I"
_LONE = "".join(sorted(_CAPITALS))
TEXTS_KEPT = 256  # whose signs are kept
BASE_MAX = 32  # letters of a word that may have a sign behind it
GRADE_MAX = 4  # letters of a word that may have a hyphen behind it, where a sentence or a part of it ends

# What has to be around a sign, each for its way. Scripts without spaces part a sign from a word as a blank does.
_WORD = f"[^\\W{DENSE}]"
_NUMBER = (
    rf"(?<=[{_PLUS}{_MINUS}])(?=[{_MONEY}]?\.?\d)"
    rf"(?:(?<!{_WORD}.)(?<![)\]}}.%°{_PLUS}{_MINUS}].)(?<!\+/.)(?<!\d[{DENSE}].)|(?<=UTC.)|(?<=GMT.))(?P<number>)"
)
_NAME = rf"(?<=[#\uff03@＠.])(?<!{_WORD}.)(?<![&/]#)(?<![#@.)\]].)(?:(?<!\.)(?=[^\W_])|(?=[^\W\d_]))(?P<name>)"
_BEHIND = (
    rf"(?<=[^\W_].)(?:(?<=[{_PLUS}])[{_PLUS}](?![{_PLUS}])"
    rf"|(?<=[{_SHARP}♭♮*])(?<=[^\W\d].)(?<![^\W{DENSE}]..)(?<!\*..)(?![*#])(?:(?<!\*)|(?!{_WORD}))"
    rf"|(?<=[{_PLUS}{_MINUS}])(?![{_PLUS}{_MINUS}])(?!{_WORD}))(?P<behind>)"
)
_AMOUNT = rf"(?<=[{_MONEY}])(?=[{_BLANK}]?\.?\d)|(?<=[{_MONEY}{_PERCENT}])(?:(?<=\d.)|(?<=\d[{_BLANK}].))"
_BOUND = r"(?<=[<>])(?<![\w<>=/-].)(?==?\d)"
_CAPITAL = rf"(?:(?<=[^\W_A-ZА-Я] [{_LONE}])|(?<=[^\W_], [{_LONE}]))(?![\w'’{_PLUS}{_SHARP}{_MINUS}*])"
_SIGNED = regex(
    rf"[-+.#@*$%<>A\x80-\U0010ffff]"
    rf"(?<=[.@*<>{_PLUS}{_MINUS}{_SHARP}＠♭♮{_MONEY}{_PERCENT}{_LONE}{_OWN}])"
    r"(?:(?<![-.#*A])|(?<=-)(?![A-Za-z])|(?<=\.)(?=[A-Za-z])|(?<=#)(?!#)|(?<= A)(?!\w)"
    r"|(?<=[Aa]\*))"  # elsewhere it is Markdown, or multiplies
    rf"(?:(?<=[{_OWN}])|{_NUMBER}|{_BEHIND}|{_NAME}|{_AMOUNT}|{_BOUND}|{_CAPITAL})"
)

_FIGURES = regex(rf"[{_MONEY}]?\.?\d+(?:[.,]\d+)*")
_HYPHENS = frozenset("-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d")
_BEFORE_FIGURES = regex(rf"[{_MONEY}]")
_REST, _GOES_ON = regex(r"\w+"), regex(rf"[{DENSE}]+|{RUN}(?:['’]{RUN})?")
_FLAG = regex("[\U0001f1e6-\U0001f1ff]{2}|\U0001f3f4[\U000e0020-\U000e007f]+")
_BASE = regex(rf"[^\W_{DENSE}]+$")
_GRADE = regex(r"[^\W\d_I]|[A-Z][A-Z\d]{1,3}")  # what a hyphen may stand behind: "A-", "AB-", "HER2-"
_CLOSED = regex(r"\s*(?:[.,;:!?)\n]|$)")
_ALIKE = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-") | {"♯": "#", "≤": "<", "≥": ">", "٪": "%", ",": "."}
)
_SPOKEN = regex(r"(?<![^\W_])(?<!\d )[Mm]inus (?=\.?\d)")
_SIGN = regex(rf"[-+#@*.%‰<>♭♮{_MONEY}{_OWN}]")
_UNLIKE = regex(r"-\.?\d.*|.*[-+#*♭♮]")


@functools.lru_cache(maxsize=TEXTS_KEPT)  # of a text it is asked whether it has signs, and then which
def signs(text: str) -> tuple[Token, ...]:
    """Return the signed words of `text`, which are read besides its plain words, in order."""
    found: list[Token] = []
    end = 0
    for match in _SIGNED.finditer(text):
        place = _place(text, match) if match.start() >= end else None
        if place is None:
            continue
        start, end = place
        word = _normal(text[start:end])
        if match.lastgroup == "behind" and (letter := word[:-1].upper()) in _CAPITALS:  # the "A" of "A+"
            found.append(Token(letter, start, end))
        found.append(Token(word, start, end))
    if "inus " in text:
        for match in _SPOKEN.finditer(text):
            figures = _figures(text, match.end())
            found.append(Token(_normal(f"-{figures}"), match.start(), match.end() + len(figures)))
    return tuple(found)


def with_signs(text: str, tokens: list[Token]) -> list[Token]:
    """Merge `tokens`, the words of `text`, with its `signs`, each behind the words that it stands at."""
    found = signs(text)
    if not found:
        return tokens
    ends = {token: _end_of_word(text, token.end) for token in found}
    return sorted([*tokens, *found], key=lambda token: ends.get(token, token.end))


def words_with_signs(text: str) -> list[str]:
    """Return the normal forms of `with_signs`, in order, in a fraction of its time."""
    found: list[str] = []
    at = 0
    for token in signs(text):
        end = max(at, _end_of_word(text, token.end))
        if end > at:
            found += words(text[at:end])
        found.append(token.word)
        at = end
    return found + words(text[at:])


def _end_of_word(text: str, at: int) -> int:
    """Return the end of the word that continues at a place: of "-18th" and "-18" the end of the whole."""
    match = _GOES_ON.match(text, at) if text[at - 1].isalnum() else None
    return at if match is None else match.end()


def is_signed(word: str) -> bool:
    """Say whether a normal form is one of `signs`."""
    return word in _CAPITALS or (not word.isalnum() and _SIGN.search(word) is not None)


def unsigned(word: str) -> list[str]:
    """Return the words that a signed word is not: "c" for "c++", "18" for "-18"; none for "+18", "$" and "#help"."""
    if _UNLIKE.fullmatch(word) is None:
        return []
    plain = [token.word for token in tokenize(word)]
    return [*plain, *(letter.upper() for letter in plain if letter.upper() in _CAPITALS)]


def _place(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of the word that a sign belongs to; `None` if there is none."""
    at, end = match.span()
    if match.lastgroup == "number":
        return at, at + 1 + len(_figures(text, at + 1))
    if match.lastgroup == "name":
        return at, at + 1 + len(_REST.match(text, at + 1)[0])  # type: ignore[index]
    if match.lastgroup != "behind":
        flag = _FLAG.match(text, at)
        return at, end if flag is None else flag.end()
    base = _BASE.search(text[max(0, at - BASE_MAX) : at])
    if base is None or (text[at] in _HYPHENS and not _bears_minus(base[0], text[at], _CLOSED.match(text, end))):
        return None
    return at - len(base[0]), end


def _figures(text: str, at: int) -> str:
    """Return the number that begins at a place; empty if none does."""
    match = _FIGURES.match(text, at)
    return "" if match is None else match[0]


def _bears_minus(word: str, sign: str, closed: re.Match[str] | None) -> bool:
    """Say whether a minus behind a word is no hyphen of a part of a word: "pre- and postwar", "Haus- und Hof"."""
    if not word[0].isalpha():
        return False
    return sign == "\u2212" or _GRADE.fullmatch(word) is not None or (closed is not None and len(word) <= GRADE_MAX)


def _normal(word: str) -> str:
    """Return the normal form of a word with its sign."""
    if word in _CAPITALS:
        return word
    plain = unicodedata.normalize("NFKC", word).casefold().translate(_ALIKE)
    return (_BEFORE_FIGURES.sub("", plain) if plain[0] in "-+" else plain)[:WORD_CHARS_MAX]
