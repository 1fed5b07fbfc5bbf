"""Secrets that a word names: "naming word, connector, value". Words and connectors of all languages are tables.

`password: X`, `**PIN** (new) = X`, "the password for the router has been set to X", `<password>X</password>`,
`setPassword("X")`, `--token X`, `IDENTIFIED BY 'X'`, `Das Passwort lautet X`. The surer the word and the connector, the
less is asked of the value: behind `password:` it may look like anything, behind "password is" like a code.

Costs are linear: a name is looked for once, and what stands behind it is read over a bounded length.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recall_integrations import languages
from recall_integrations.privacy.normal import SWITCH, Plain
from recall_integrations.privacy.tables import alternatives, table

_VALUE_MAX = 400
_ENDS = rf"(?:[_ -]?(?:{alternatives('secret_which')}))?(?!{alternatives('secret_no_end')})"
_NAME = re.compile(
    rf"(?P<phrase>{alternatives('secret_phrase')}){_ENDS}"
    rf"|(?P<sure>{alternatives('password')}|(?:(?<![^\W\d_])|(?<=[a-z])(?=api|access|secret|client|token[\"']?[ ]?=))"
    rf"(?:{alternatives('secret_key')})){_ENDS}"
    rf"|(?P<other>{alternatives('password_other')})"
    rf"|(?<![^\W\d_])(?P<code>{alternatives('secret_code')}){_ENDS}"
    rf"|(?<![^\W\d_])(?P<pair>{alternatives('secret_pair')}){_ENDS}"
    rf"|(?P<weak>{alternatives('secret_weak')})"
)
_REACH = 48  # no name is longer
_STEMS = tuple((stem, re.compile(around)) for stem, around in table("secret_stems").items())
_OTHER_STEMS = re.compile(alternatives("password_other") + "|" + alternatives("secret_other_stems"))

_REMARK = r"(?: [(\[][^()\[\]\n\0]{1,40}[)\]])?"
_FOR = rf"(?: (?:{alternatives('secret_for')}) [^\n:=.,;\0]{{1,30}}?|(?P<gap%s> [^\W\d_]{{2,15}}?)??)"
_LINK = re.compile(
    # Assigned: ":", "=" and their like.
    rf"\\?[\"'`]?\]?[*_~]{{0,3}}{_REMARK}{_FOR % 1}[*_~]{{0,3}}(?: ?: ?[a-z&][\w\[\]&. |]{{0,20}}(?= ?= ?[\"'`]))?"
    r" {0,4}(?:(?P<loose>\.{2,8}:?|\||-{1,2}(?= ))|(?P<assigned>=>|:=|={1,3}|[:：]|-{1,2}>|[→⇒]))"
    r"[*_~]{0,3} {0,8}(?:[>|][+-]?(?=\n))?(?P<line>(?:\r?\n[ >*-]{0,12}){1,2})?"
    # Given: the `value` of a property, the argument beside its name, the text of an element.
    r"|(?P<given>\\?[\"']?[ ,/]{0,3}(?:\n[ ]{0,12})?[\"']?value[\"']? ?[:=] ?"
    r"|\\?[\"']?\]?(?:\(|, ?)(?=[nbr]?[\"'`])|[\"']?(?: [^<>\n\0]{1,60})?>)"
    # Told: "is", "has been set to", "lautet".
    rf"|[\"'`]?[*_~]{{0,3}}{_REMARK}{_FOR % 2}(?P<told>{alternatives('secret_told')})[:：]?[ \n]{{0,2}}"
    r"|(?P<beside>[\"'`]?[*_~]{0,3} ?(?P<below>\n)?[ ]{0,4})"
)
_SAID_BEFORE = re.compile(rf"(?:{alternatives('secret_said')})(?: [^\W\d_]{{1,15}}){{0,2}}[ -]$")
_FLAG_BEFORE = re.compile(r"(?:^|[\s\"'(\[])(?:--?|/)[\w-]{0,30}$")
_SET_BEFORE = re.compile(rf"(?<![a-z])(?:{alternatives('secret_set')})(?: [^\W\d_]{{1,15}}(?:['’]s)?){{0,3}} $")
_FILLERS = re.compile(rf"(?:(?:{alternatives('secret_filler')}) {{1,2}}(?=\S)){{0,4}}")
# Between the values of a list: ", ", " or ", ", Anna's is ".
_LISTED = re.compile(
    rf"[\"'`]?(?:[,;]? (?:{alternatives('secret_and')})|[,;]) (?:(?:{alternatives('secret_whose')}) )?"
)
_SURE_TOLD = re.compile(r"(?:set|changed|rotated|updated|reset|auf) ?(?:to)?[: ]{0,2}$|lautet|heißt|: ?$")
_STANDS_FOR = re.compile(rf"{alternatives('secret_stands_for')}|(?:{alternatives('secret_prose')})\)*[.,;!?]*$")
_QUOTE = re.compile(r"(?:[nbruf]{1,2}(?=[\"']))?\\?(?P<mark>[\"'`])")
_CLOSED = {mark: re.compile(rf"\\?{mark}(?=[\s,;:)\]}}>&|.\\?!#/\0]|$)") for mark in "\"'`"}
_NOT_QUOTED = re.compile(r"[\n\0]")
_BARE = re.compile(rf"[^\s\0]{{1,{_VALUE_MAX}}}")
_NEXT = re.compile(alternatives("secret_next"))
_DIGIT = re.compile("[0-9]")
_STRONG = re.compile(r"(?=\S*[a-z])(?=\S*[0-9])\S*?(?:[!#$%&*+=?^~]|@(?!\S*\.))\S*")  # a letter, a digit, a sign
_USER_FIRST = re.compile(r"[\w.@+-]{1,40}(?: ?[/|,] ?|:(?! ))")
_PLAIN_WORDS = re.compile(r"[\"'`]?(?P<words>[^\W\d_]{3,12}(?: [^\W\d_]{3,12}){3,23})(?=[\"'`.]*\s*(?:\n|$))")
_NUMBER = re.compile(alternatives("secret_number"))
_COMMAND = re.compile(
    "|".join(
        rf"(?:{command})(?=[ \n])[^\n|;&\0]{{0,120}}?(?<=[ \n]){flag}[\"']?(?P<v{i}>(?![\"' -])[^\s\"'\0]{{3,200}})"
        for i, (flag, command) in enumerate(table("commands").items())
    )
)
_COMMANDS = tuple(table("words")["command_stems"].split())
# Behind an ordinary word, the rest of a sentence; "swordfish for the router" is none.
_SENTENCE = re.compile(rf" (?!(?:{alternatives('secret_rest')})(?![^\W_]))[^\W\d_]+(?: |[.,!]|$)")
_YEAR = re.compile("(?:19|20)[0-9]{2}" + _SENTENCE.pattern)


@functools.cache
def _ordinary() -> frozenset[str]:
    return frozenset(Path(languages.__file__).with_name("en_ordinary.txt").read_text(encoding="utf-8").split())


class _Value(NamedTuple):
    """A value that was read: its place, and whether quotes stand around it."""

    text: str
    start: int
    end: int
    quoted: bool

    @property
    def written(self) -> str:
        return self.text[self.start : self.end]

    @property
    def code(self) -> bool:
        """Whether it is written like a code: with a digit, and no time, no date, no short number."""
        return (
            len(self.written) >= 3 and _DIGIT.search(self.written) is not None and not _NUMBER.fullmatch(self.written)
        )

    @property
    def opaque(self) -> bool:
        """Whether it is long, and nothing that people would write."""
        return self.code and len(self.written) >= 16 and len(SWITCH.findall(self.written[:64])) >= 3

    @property
    def shape(self) -> object:
        """Of a number, how many digits it has; of others, whether letters, digits and signs are in it."""
        return len(self.written) if self.written.isdigit() else {(c.isalpha(), c.isdigit()) for c in self.written}

    @property
    def alone(self) -> bool:
        """Whether nothing else stands in the rest of its line."""
        rest = self.text[self.end : self.end + 4].lstrip("\"'`*_ .,!;")
        return not rest or rest[0] in "\n\r"


def named(plain: Plain) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets that are named by a word, or by a command's option."""
    text, low = plain.text, plain.low
    if any(word in low for word in _COMMANDS):
        for match in _COMMAND.finditer(text):
            start, end = match.span(match.lastgroup or 0)
            if not _STANDS_FOR.match(low, start, end):
                yield start, end
    read = listed = 0
    for match in itertools.chain.from_iterable(_NAME.finditer(low, *window) for window in _windows(low)):
        kind, start = match.lastgroup or "", match.start()
        if kind == "weak" and start < read:
            continue
        if kind in ("sure", "code", "other") and (before := _SAID_BEFORE.search(low, max(0, start - 100), start)):
            said = _Value(text, *before.span(before.lastgroup or ""), quoted=False)
            if said.code and not _stands_for(low, said):
                yield said.start, said.end
        link = _LINK.match(low, match.end())
        value = _value(text, low, kind, link) if link else None
        if link and value and not _stands_for(low, value):
            read = value.end
            if _fits(low, start, kind, link, value):
                yield value.start, value.end
                for further in _further(text, low, value) if start >= listed else ():  # no list is read twice
                    listed = further.end
                    yield further.start, listed


def _further(text: str, low: str, value: _Value) -> Iterator[_Value]:
    """Yield the values of a list behind its first one, as long as they are codes of the same shape."""
    at, shape = value.end, value.shape
    while (link := _LISTED.match(low, at)) and (found := _read(text, low, link.end())):
        if not found.code or found.shape != shape or _YEAR.match(low, found.start):
            return
        yield found
        at = found.end


def _stands_for(low: str, value: _Value) -> bool:
    """Say whether this stands where a secret would, or begins a sentence about it."""
    if _STANDS_FOR.match(low, value.start, value.end):
        return True
    sentence = not value.quoted and _SENTENCE.match(low, value.end) is not None
    return sentence and low[value.start : value.end] in _ordinary()


def _windows(low: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a name may stand, none twice: around the parts of names that are quick to look for."""
    spots = [match.span() for stem, around in _STEMS if stem in low for match in around.finditer(low)]
    if not low.isascii():
        spots += [match.span() for match in _OTHER_STEMS.finditer(low)]
    spots.sort()
    begin = end = 0
    for first, last in spots:
        if first - _REACH > end:
            yield begin, end
            begin = first - _REACH
        end = last + _REACH
    yield begin, min(end, len(low))


def _value(text: str, low: str, kind: str, link: re.Match[str]) -> _Value | None:
    """Read what stands behind a connector: words of a phrase, what follows a user's name or "it's still", a value."""
    at = link.end()
    if kind == "phrase" and (words := _PLAIN_WORDS.match(low, at)):
        first = words.start("words")
        if not _STANDS_FOR.match(low, first, low.find(" ", first)):
            return _Value(text, *words.span("words"), quoted=False)
    if (link["assigned"] or link["loose"] or link["told"]) and (fillers := _FILLERS.match(low, at)):
        at = fillers.end()
    if kind == "pair" and (user := _USER_FIRST.match(low, at)):
        at = user.end()
    return _read(text, low, at)


def _fits(low: str, start: int, kind: str, link: re.Match[str], value: _Value) -> bool:
    """Say whether a value looks as it has to behind this kind of name and this connector."""
    how = link.lastgroup
    if kind == "phrase" and value.written.count(" ") >= 3:
        return how != "beside"
    if link["line"] is not None or link["below"] is not None:
        shaped = (
            value.alone
            and low[value.end - 1] != ":"
            and " " not in value.written
            and (value.code or (how != "beside" and len(value.written) > 4))
        )
        return shaped if kind != "weak" else value.alone and value.opaque
    if link["given"] and link["given"].endswith(">") and low.rfind("<", max(0, start - 60), start) < 0:
        return False
    if kind == "weak":
        return value.opaque and bool(link["assigned"] or link["given"])
    if kind == "code":
        digits = sum(c.isdigit() for c in value.written)
        if low.startswith("cv", start):
            return 3 <= digits == len(value.written)
        coded = value.code and not (how == "beside" and _YEAR.match(low, value.start))
        return coded and " " not in value.written and (digits >= 4 or len(value.written) >= 6)
    if kind == "pair":
        strong = link["told"] and len(value.written) >= 6 and _STRONG.fullmatch(low, value.start, value.end)
        return bool(strong or (link["assigned"] and value.code and "(" not in link.group()))
    if link["gap1"] or link["gap2"]:
        return kind != "phrase" and value.code and not value.written.isdigit() and not low.startswith("token", start)
    if link["assigned"] or link["given"]:
        return len(value.written) >= 4 or value.code
    if how == "beside" and link.end() == link.start():
        return kind == "other" and value.code and value.written[0].isascii()
    if how == "beside" and _FLAG_BEFORE.search(low, max(0, start - 40), start) and low[link.end() - 1] == " ":
        return low[value.start] != "-"
    if value.quoted:
        return len(value.written) >= 4 and " " not in value.written
    rare = _SENTENCE.match(low, value.end) is None and value.written.lower() not in _ordinary()
    sure: object = _SURE_TOLD.search(low, link.start(), link.end()) and (value.alone or rare)
    sure = sure or (rare and link["told"] == " to" and _SET_BEFORE.search(low, max(0, start - 64), start))
    return value.code or bool(link["told"] and sure and len(value.written) > 4 and value.written.isalpha())


def _read(text: str, low: str, at: int) -> _Value | None:
    """Read the value that begins here to its end: that of its quotes, or as far as it goes on."""
    quote = _QUOTE.match(low, at)
    start = quote.end() if quote else at
    if quote:
        close = _CLOSED[quote["mark"]].search(text, start, start + _VALUE_MAX)
        if close and close.start() > start and not _NOT_QUOTED.search(text, start, close.start()):
            return _Value(text, start, close.start(), True)
        if text.startswith(quote["mark"], start):
            return None
    bare = _BARE.match(text, start)
    if bare is None:
        return None
    following = _NEXT.search(low, start + 1, bare.end())
    end = following.start() if following else bare.end()
    while end > start and text[end - 1] in ".,;:)]}>\"'`*":
        end -= 1
    return _Value(text, start, end, False) if end > start else None
