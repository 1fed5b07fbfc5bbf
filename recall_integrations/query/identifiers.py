"""Find identifiers in a query: strings to be matched letter by letter (`ABC-123`, `src/app.py`, `ERR_CONN_RESET`).

A chunk without white space is one if it is written as no word is. Context decides nothing: "issue 45" is two words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.text import STOP_WORDS
from recall_integrations.types.query import Identifier

CHARS_MAX = 256  # nobody means a longer "word" letter by letter
_DATE = regex(r"\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2}|\d{1,3}(?:\.\d{3})+")


class Kind(NamedTuple):
    """A row of the table. Only with `knowledge` it speaks for a document, and not just for an exact match."""

    name: str
    pattern: re.Pattern[str]  # of a whole chunk
    check: Callable[[str], bool] = lambda _: True
    knowledge: bool = True


def _is_file(text: str) -> bool:
    """Say whether "name.ending" is no full stop without its space."""
    return STOP_WORDS.isdisjoint(text.partition(":")[0].casefold().split("."))


_HEX, _NAME, _SEGMENT = "[0-9A-Fa-f]", r"[^\W\d]\w*", r"[\w.@+~-]+"
KINDS: tuple[Kind, ...] = (
    Kind("url", regex(r"(?:[A-Za-z][\w+.-]*://|www\.)\S+")),
    Kind("email", regex(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"), knowledge=False),
    Kind("reference", regex(r"(?:[A-Za-z][\w./-]*)?[#!][0-9]{1,7}"), lambda text: text != "#1"),  # the best of all
    Kind("path", regex(rf"(?:~|\.{{1,2}}|[A-Za-z]:)?[/\\](?=.*[^\W\d]\w){_SEGMENT}(?:[/\\]{_SEGMENT})*[/\\]?")),
    Kind("path", regex(rf"(?:{_SEGMENT}[/\\])+[\w@+~-][\w.@+~-]*\.[A-Za-z]\w*(?::[0-9]+)?")),
    Kind("ticket", regex(r"[A-Z][A-Z0-9]+(?:-[0-9]{1,7}){1,2}")),
    # Numbers in a series, not a span of years: `2026-018`, `555-0199`.
    Kind("ticket", regex(r"[0-9]{2,6}[-/]0[0-9]{2,6}|(?:19|20)[0-9]{2}[-/](?!(?:19|20)[0-9]{2}$)[0-9]{3,7}")),
    Kind("code", regex(rf"{_HEX}{{8}}(?:-{_HEX}{{4,12}}){{4}}|(?=(?:.*[0-9]){{2}})(?=.*[a-f])[0-9a-f]{{7,64}}")),
    Kind("code", regex(rf"0x{_HEX}{{4,16}}|[A-Z]+[0-9]{{3,}}[A-Z0-9]*")),
    Kind("code", regex(rf"(?=.*[^\W_]){_HEX}*(?::{_HEX}*){{3,}}")),  # addresses of networks
    Kind("code", regex(r"v[0-9][\w.-]*|[0-9]+(?:\.[0-9]+){2,}[\w.:-]*"), lambda text: not _DATE.fullmatch(text)),
    Kind("code", regex(r"_*[^\W\d_][^\W_]*(?:_+[^\W_]+)+_*(?:\(\))?|__[^\W_]+__")),
    Kind("code", regex(rf"{_NAME}(?:(?:::|->|\.){_NAME})*\(\)|{_NAME}(?:(?:::|->){_NAME})+")),
    Kind(
        "code",
        regex(r"[^\W\d]\w+(?:\.[^\W\d]\w+){2,}|[a-z]{2,}[0-9]*(?:[A-Z]+[a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+){3,}"),
    ),
    Kind("path", regex(r"[^\W\d][\w-]+\.[a-z][a-z0-9]{1,4}(?::[0-9]+)?"), _is_file),
    Kind("code", regex(rf"(?=.*_){_NAME}(?:\.{_NAME})+")),
    Kind("reference", regex(r"[A-Za-z][\w.-]+:(?:[A-Za-z_/][\w./@+~-]*|[0-9]{2,5})")),  # `repo:path`, `host:port`
)
_QUOTATIONS = regex(
    r"(?<!\w)\"(?=\S)([^\"\n]{1,199}[^\s\"])\"(?!\w)|[“„]([^“”„\n]{2,200})[”“]|«([^«»\n]{2,200})»"
    r"|「([^「」\n]{2,200})」|『([^『』\n]{2,200})』|`([^`\n]{2,200})`"
    r"|(?<![\w'])'(?=[^\s'])((?:[^'\n]|(?<=\w)'(?=\w)){1,199}[^\s'])'(?!\w)"
    r"|(?<!\w)‘((?:[^‘’\n]|(?<=\w)’(?=\w)){2,200})’(?!\w)"
)
_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CHUNK = regex(rf"(?:[^\s,;|<>\"“”„«»`()\[\]{{}}—–…{_CJK}]|\(\))+")
_PART = regex(r"[^/:=&+]+")
_ORDINARY = regex(r"[A-Z]?[^\W\dA-Z_]*(?:['’-][A-Z]?[^\W\dA-Z_]+)*")
# What a text in ASCII without identifiers may lack: words in lower case or with one capital in front, joined by single
# hyphens and apostrophes, between blanks and the signs that end sentences and clauses.
_UNUSUAL = regex(
    r"[^A-Za-z \n,;?!.'()-]|[A-Za-z'-][A-Z]|[.?!][.?!'-]*[A-Za-z]|['-]{2}|(?<![A-Za-z])'|\(\)|[Ww][Ww][Ww]\."
)
_LEADING, _TRAILING = "'‘’*?=&+-", ".,:!?'’‘*=&+-"


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Find the identifiers of any `text`, in order, without overlap: chunks, and what is quoted beside these."""
    if text.isascii() and _UNUSUAL.search(text) is None:
        return ()
    found: list[Identifier] = []
    for match in _CHUNK.finditer(text):
        bare = match[0].rstrip(_TRAILING)
        if not (bare.isalpha() and bare[1:].islower()):  # else an ordinary word
            found += _of_chunk(match[0], match.start())
    ends = [one.span[1] for one in found]
    for match in _QUOTATIONS.finditer(text):
        said = match[match.lastindex or 0]
        start = match.start(match.lastindex or 0) + len(said) - len(said.lstrip())
        stop = start + len(said.strip())
        at = bisect_right(ends, start)  # the first that ends after its beginning
        if any(map(str.isalnum, said)) and (at == len(ends) or found[at].span[0] >= stop):
            found.append(Identifier(text=said.strip(), kind="quoted", span=(start, stop), knowledge=False))
    return tuple(sorted(found, key=lambda one: one.span))


def _of_chunk(raw: str, at: int) -> Iterator[Identifier]:
    """Yield the identifier that a chunk is, without punctuation and possessive; else those between its separators."""
    body = raw.strip(_LEADING).rstrip(_TRAILING) if len(raw) <= CHARS_MAX else ""
    body = body[:-2] if body.endswith(("'s", "’s")) else body
    if len(body) < 2 or _ORDINARY.fullmatch(body):
        return
    start = at + raw.index(body)
    kind = next((kind for kind in KINDS if kind.pattern.fullmatch(body) and kind.check(body)), None)
    if kind is not None:
        yield Identifier(text=body, kind=kind.name, span=(start, start + len(body)), knowledge=kind.knowledge)
        return
    for part in _PART.finditer(body):
        if part[0] != body:
            yield from _of_chunk(part[0], start + part.start())
