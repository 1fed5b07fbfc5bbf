"""Find identifiers in a query: strings to be matched letter by letter (`ABC-123`, `src/app.py`, `ERR_CONN_RESET`).

The text is cut at white space, brackets, commas and CJK characters into chunks; a chunk that is an ordinary word is
passed over, any other is held against the table `KINDS` in its order, and the first kind that matches *all* of it and
whose check agrees gives the identifier. A chunk that matches no kind as a whole is tried again in its parts
("id=ABC-123"). URLs are taken out before, as they may hold any character; quotations are looked for last and count
only if they hold no other identifier.

The rules aim at precision: dates, times, money, ordinals, plain numbers, "and/or", "24/7", initials, brands written in
camel case and names such as "McCarthy" are no identifiers. Camel case that may be a brand ("WestJet") wants an exact
match, but speaks for no document. A number is an identifier only by the words beside it
("HTTP 502", "issue 45", "version 2.10").

Linear in the length of the text: chunks above `CHARS_MAX` characters are passed over, so that each is held against
patterns of bounded cost.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from recall_integrations.languages.phrases import blanked
from recall_integrations.patterns import regex
from recall_integrations.query import identifier_words as words
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS
from recall_integrations.types.readings import Identifier

CHARS_MAX = 256  # nobody means a longer "word" letter by letter
CONTEXT_CHARS = 24  # characters before and after a chunk that a check may read


class Chunk(NamedTuple):
    """A piece of the text without white space, and up to `CONTEXT_CHARS` characters on either side of it."""

    text: str
    start: int
    before: str
    after: str


Check = Callable[[Chunk], bool]


@record(frozen=True, slots=True, kw_only=True)
class Kind:
    """One row of the table.

    Args:
        name: value of `Identifier.kind`; several rows may share one.
        pattern: must match a whole chunk. If `scan` is not "chunk", it is searched for in the text, and the group
            that matched last, if it has groups, is the identifier; the search must then take linear time.
        check: test that a pattern cannot express; called on the match.
        scan: "chunk"; "first": in the text, before it is cut into chunks; "last": in the parts of the text without
            an identifier.
        needs: characters (for a search in the text, also words) of which each match holds one; if none of them
            occurs, the pattern is not tried.
        knowledge: whether it speaks for a document (router mode `knowledge`) rather than only for an exact match.
    """

    name: str
    pattern: re.Pattern[str]
    check: Check | None = None
    scan: str = "chunk"
    needs: tuple[str, ...] = ()
    knowledge: bool = True

    def wanted(self, text: str) -> bool:
        """Say whether a search in `text` can find anything."""
        return not self.needs or any(need in text for need in self.needs)


# -- checks --------------------------------------------------------------------------------------------------------

_BEFORE_STATUS = regex(r"\b(?:https?(?:/[\d.]+)?|status|error|response)(?: code)?[ :=]{1,3}$", re.I)
_BEFORE_RETURN = regex(r"\b(?:returns?|returned|returning|throws?|gives?|gave|gets?|getting|got)(?: an?| me)* $", re.I)
_AFTER_STATUS = regex(
    r" (?:errors?|responses?|status|not found|bad gateway|forbidden|unauthori[sz]ed|internal server|gateway"
    r"|too many|service unavailable)\b",
    re.I,
)
_USUAL_STATUS = frozenset("401 403 404 405 409 422 429 502 503 504".split())
_BEFORE_CODE = regex(r"\b(?:(?:error|exit|return) code|errno|exit status)[ :=]{1,3}$", re.I)
_BEFORE_ERROR = regex(r"\berror[ :=]{1,3}$", re.I)
_BEFORE_ISSUE = regex(
    r"\b(?:issue|ticket|bug|(?-i:PR|MR)|(?:pull|merge) request)(?: (?:no\.?|number|nr\.?))?[ :]{1,2}$", re.I
)
_BEFORE_VERSION = regex(r"\b(?:version|release|ver\.?)[ :=]{1,2}$", re.I)
_BEFORE_REPO = regex(
    r"\b(?:repo|repository|repositories|git|github|gitlab|bitbucket|clone|fork|checkout|package|image)"
    r"(?: (?:of|from|at|in|on))?[ :]{1,2}$",
    re.I,
)
_AFTER_REPO = regex(r" (?:git )?(?:repo|repository|fork|package|image)\b", re.I)
_BEFORE_PATH = regex(
    r"\b(?:in|to|under|endpoint|route|path|at|from|get|post|put|delete|patch|the|on|call|hit|folder|directory) $", re.I
)
_AFTER_COUNT = regex(
    r" ?(?:[%€£]|percent|times?|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|months?|years?|people|of|dollars?"
    r"|euros?|pounds?|bucks)(?!\w)",
    re.I,
)
_DATE = regex(r"\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2}|\d{1,3}(?:\.\d{3})+")
_YEAR = regex(r"(?:19|20)\d\d")
_EXPONENT = regex(r"\d+e\d+")
_FILE = regex(r"(?:[\w@+~-][\w.@+~-]*)?\.([A-Za-z0-9]{1,16})")
_HUMP = regex(r"[A-Z]+[a-z0-9]*")


def _is_status(chunk: Chunk) -> bool:
    """Say whether a number is an HTTP status or an error code, by the words beside it."""
    number = chunk.text
    if _AFTER_COUNT.match(chunk.after):
        return False
    if _BEFORE_CODE.search(chunk.before):
        return True
    if len(number) >= 3 and _BEFORE_ERROR.search(chunk.before) and not _YEAR.fullmatch(number):
        return True
    if len(number) != 3 or number[0] not in "12345":
        return False
    return bool(
        _BEFORE_STATUS.search(chunk.before)
        or (number in _USUAL_STATUS and _BEFORE_RETURN.search(chunk.before))
        or (number[0] in "45" and _AFTER_STATUS.match(chunk.after))
        or (number == "404" and chunk.after.startswith(" page"))
    )


def _is_issue(chunk: Chunk) -> bool:
    return bool(_BEFORE_ISSUE.search(chunk.before)) and not _AFTER_COUNT.match(chunk.after)


def _not_first(chunk: Chunk) -> bool:
    """Say whether the text is more than "#1", the best of something; an issue may be called so."""
    return chunk.text != "#1" or bool(_BEFORE_ISSUE.search(chunk.before))


def _is_ticket(chunk: Chunk) -> bool:
    return chunk.text.partition("-")[0] not in words.NO_TICKETS


def _is_dotted_version(chunk: Chunk) -> bool:
    """Accept three and more numbers that are neither a date nor thousands, or two that are called a version."""
    if _BEFORE_VERSION.search(chunk.before):
        return True
    return chunk.text.count(".") >= 2 and _DATE.fullmatch(chunk.text) is None


def _is_hash(chunk: Chunk) -> bool:
    bare = chunk.text.rpartition(":")[2]
    digits = sum(map(str.isdigit, bare))
    return 2 <= digits < len(bare) and _EXPONENT.fullmatch(bare) is None


def _is_ip(chunk: Chunk) -> bool:
    bare = chunk.text.partition("/")[0]
    if "." in bare:
        bare = bare.partition(":")[0]
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return False
    return True


def _is_file(chunk: Chunk) -> bool:
    """Say whether the last part has a known ending, and is no product ("Node.js") nor a full stop without its space."""
    last = re.split(r"[/\\]", chunk.text.partition(":")[0])[-1]
    if last in words.DOT_FILES:
        return True
    match = _FILE.fullmatch(last)
    if match is None or match[1].casefold() not in words.FILE_ENDINGS:
        return False
    name = last.casefold()
    if len(match[1]) == 1 and last.find(".") < 2:  # initials
        return False
    return name not in words.NO_CODE and name.partition(".")[0] not in STOP_WORDS


def _is_rooted(chunk: Chunk) -> bool:
    """Accept `/etc`, `/var/log`, "to /login"; in "boyfriend /girlfriend" the slash is a word."""
    parts = [p for p in chunk.text.split("/") if p]
    if chunk.text[0] != "/" or len(parts) > 1 or parts[0] in words.ROOTS or "." in parts[0]:
        return True
    return parts[0] not in STOP_WORDS and (not chunk.before or bool(_BEFORE_PATH.search(chunk.before)))


def _is_path(chunk: Chunk) -> bool:
    """Say whether a path without a root ends in a file, or begins in a folder that only programs have."""
    folder, slash, rest = chunk.text.partition("/")
    return (slash != "" and rest != "" and folder in words.FOLDERS) or _is_file(chunk)


def _is_repository(chunk: Chunk) -> bool:
    """Accept `owner/repo` only with evidence of a name: "his/her" and "part-time/full-time" look the same."""
    owner, _, name = chunk.text.partition("/")
    if chunk.text.casefold() in words.NO_CODE or owner.casefold() in STOP_WORDS or name.casefold() in STOP_WORDS:
        return False
    if "_" in chunk.text or _BEFORE_REPO.search(chunk.before) or _AFTER_REPO.match(chunk.after):
        return True
    if ("-" in owner) == ("-" in name):
        return False
    parts = re.split("[-/.]", chunk.text)
    return chunk.text.islower() and not any(
        len(p) < 2 or p in STOP_WORDS or p in words.COMPOUNDS or p.isdigit() for p in parts
    )


def _is_repo_path(chunk: Chunk) -> bool:
    """Accept `repo:path`: a qualifier of a code search, or a path or a file behind the colon."""
    left, _, right = chunk.text.partition(":")
    if left.casefold() in words.QUALIFIERS:
        return True
    if left.casefold() in words.NO_QUALIFIERS:
        return False
    in_path = "/" in right and not any(p.casefold() in STOP_WORDS for p in right.split("/"))
    return in_path or _is_file(chunk._replace(text=right))


def _is_dotted_name(chunk: Chunk) -> bool:
    """Accept `module.name`, but no initials, no product, no host of two parts, no full stop without its space."""
    if chunk.text.endswith("()"):
        return True
    parts = chunk.text.split(".")
    if chunk.text.casefold() in words.NO_CODE or max(map(len, parts)) < 3 or len(parts[0]) < 2:
        return False
    if len(parts) == 2 and parts[1].casefold() in words.TOP_LEVEL_DOMAINS:
        return False
    if parts[0].casefold() in STOP_WORDS or parts[-1].casefold() in STOP_WORDS:
        return False
    if "_" in chunk.text or any(_humps(p) > 1 for p in parts):
        return True
    return len(parts) > 2 or not parts[1][0].isupper()


def _humps(word: str) -> int:
    """Count the parts of a word in camel case: 3 in `parseJsonText`."""
    return len(_HUMP.findall(word)) + word[0].islower()


def _is_camel(chunk: Chunk) -> bool:
    """Say whether a word in camel case is neither a brand nor somebody's name."""
    word = chunk.text
    first = _HUMP.match(word)
    named = first is not None and first[0] in words.NAME_PREFIXES and _humps(word) < 3
    return word.casefold() not in words.NO_CODE and not named


def _is_code_name(chunk: Chunk) -> bool:
    return chunk.text.endswith(words.CODE_NOUNS) and _is_camel(chunk)


# -- the table -----------------------------------------------------------------------------------------------------


def _kind(name: str, pattern: str, check: Check | None = None, *, needs: str = "") -> Kind:
    return Kind(name=name, pattern=regex(pattern), check=check, needs=tuple(needs))


def _quotation(pattern: str, *needs: str) -> Kind:
    return Kind(name="quoted", pattern=regex(pattern), scan="last", needs=needs, knowledge=False)


_HEX = "[0-9A-Fa-f]"
_LABEL = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_HOST = rf"(?:{_LABEL}\.)+(?:{'|'.join(sorted(words.TOP_LEVEL_DOMAINS))})"
_NAME = r"[^\W\d]\w*"
_SEGMENT = r"[\w.@+~-]+"
_STAGE = r"(?:-?(?:rc|alpha|beta|dev|post|a|b)[.-]?[0-9]*)?"
_CAMEL = r"[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]+)*(?:[A-Z]+[a-z]+[a-z0-9]*|[A-Z]{2,})|[A-Z]{3,}[a-z]{3,}(?:[A-Z]+[a-z0-9]+)*"

KINDS: tuple[Kind, ...] = (
    Kind(
        name="url",
        pattern=regex(
            r"(?<![\w+.-])(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.)[^\s<>\"“”«»`\u3000-\u303f]*[^\s<>\"“”«»`\u3000-\u303f"
            r".,:;!?'’)\]}*]"
        ),
        scan="first",
        needs=("://", "www."),
    ),
    _kind("uuid", rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", needs="-"),
    Kind(name="email", pattern=regex(r"[\w.+%-]+@(?:[\w-]+\.)+[^\W\d_]{2,}"), needs=("@",), knowledge=False),
    _kind("url", rf"{_HOST}(?::[0-9]{{1,5}})?/\S*", needs="/"),
    _kind("host", rf"(?:localhost|{_HOST}):[0-9]{{2,5}}|{_LABEL}\.{_HOST}", needs=":."),
    _kind("ip", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5}|/[0-9]{1,2})?", _is_ip, needs="."),
    _kind("ip", rf"(?=.*(?:::|[A-Fa-f])){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,7}}(?:/[0-9]{{1,3}})?", _is_ip, needs=":"),
    _kind("mac", rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}|{_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}", needs=":-"),
    _kind("error_code", r"(?:ERR|ERROR|EXC|HRESULT|STATUS|NTSTATUS)_[A-Z0-9_]*[A-Z0-9]", needs="_"),
    _kind("error_code", r"[A-Z][A-Z0-9_]*_(?:ERR|ERROR|EXCEPTION)", needs="_"),
    _kind("error_code", r"0x[0-9A-Fa-f]{4,16}"),
    _kind("error_code", rf"(?:{'|'.join(words.CODE_PREFIXES)})-?[0-9]{{3,7}}"),
    _kind("error_code", rf"(?:{'|'.join(words.DASHED_PREFIXES)})-?[0-9]{{3,6}}"),
    _kind("error_code", r"E[A-Z0-9_]+", lambda chunk: chunk.text in words.ERRNO),
    _kind("error_code", r"[0-9]{1,6}", _is_status),
    _kind("ticket", r"CVE-[0-9]{4}-[0-9]{4,7}|GHSA(?:-[a-z0-9]{4}){3}", needs="-"),
    _kind("ticket", r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,6}", _is_ticket, needs="-"),
    Kind(name="ticket", pattern=regex(r"[A-Z]-[0-9]{1,6}"), needs=("-",), knowledge=False),  # run R-10, gate B-3
    _kind("reference", r"#[0-9]{1,7}", _not_first, needs="#"),
    _kind("reference", r"(?:PR|MR|GH)[#!-]?[0-9]{1,7}|[A-Za-z][\w.-]+#[0-9]{1,7}|![0-9]{2,7}"),
    _kind("reference", r"[0-9]{2,7}", _is_issue),
    _kind("version", rf"v[0-9]{{1,4}}(?:\.[0-9]+)*{_STAGE}|V[0-9]+(?:\.[0-9]+)+{_STAGE}"),
    _kind("version", rf"[0-9]+(?:\.[0-9]+)+{_STAGE}", _is_dotted_version, needs="."),
    _kind("hash", r"[0-9a-f]{7,64}|(?:sha1|sha256):[0-9a-f]{7,64}", _is_hash),
    _kind("repository", rf"[A-Za-z][\w.-]+:/?[A-Za-z_.][\w.@+~-]*(?:/{_SEGMENT})*", _is_repo_path, needs=":"),
    _kind("repository", r"[A-Za-z0-9][\w-]*/[\w.-]*[A-Za-z0-9](?:#[0-9]{1,7}|@[\w.-]+)", needs="/"),
    _kind("path", rf"(?:~|\.{{1,2}})?/(?:{_SEGMENT}/)*(?=[\w.@+~-]*[^\W\d]\w){_SEGMENT}/?", _is_rooted, needs="/"),
    _kind("path", r"[A-Za-z]:\\\S*|\.{1,2}\\\S+|\\\\[\w.-]+\\\S+", needs="\\"),
    _kind("path", rf"{_SEGMENT}(?:[/\\]{_SEGMENT})*/?(?::[0-9]+)?", _is_path),
    _kind("repository", r"[A-Za-z][\w.-]*/[A-Za-z][\w.-]*", _is_repository, needs="/"),
    _kind("code", r"_*[^\W\d_][^\W_]*(?:_+[^\W_]+)+_*(?:\(\))?|__[^\W_]+__", needs="_"),
    _kind("code", rf"{_NAME}(?:(?:::|->){_NAME})+(?:\(\))?", needs=":>"),
    _kind("code", rf"{_NAME}(?:\.{_NAME})+(?:\(\))?", _is_dotted_name, needs="."),
    _kind("code", rf"{_NAME}\(\)", needs="("),
    _kind("code", r"[a-z]{2,}[0-9]*(?:[A-Z]+[a-z0-9]+)+[A-Z]*|[a-z]{3,}[A-Z]{2,}", _is_camel),
    _kind("code", _CAMEL, _is_code_name),
    Kind(name="camel_case", pattern=regex(_CAMEL), check=_is_camel, knowledge=False),
    _quotation(r"(?<!\w)\"(?=\S)([^\"\n]{1,199}[^\s\"])\"(?!\w)", '"'),
    _quotation(r"[“„]([^“”„\n]{2,200})[”“]|«([^«»\n]{2,200})»", "“", "„", "«"),
    _quotation(r"「([^「」\n]{2,200})」|『([^『』\n]{2,200})』|`([^`\n]{2,200})`", "「", "『", "`"),
    _quotation(r"(?<![\w'])'(?=[^\s'])((?:[^'\n]|(?<=\w)'(?=\w)){1,199}[^\s'])'(?!\w)", "'"),
    _quotation(r"(?<!\w)‘((?:[^‘’\n]|(?<=\w)’(?=\w)){2,200})’(?!\w)", "‘"),
)


# -- the scan ------------------------------------------------------------------------------------------------------

_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CHUNK = regex(rf"(?:[^\s,;|<>\"“”„«»`()\[\]{{}}—–…{_CJK}]|\(\))+")
_ALNUM = regex(r"[^\W_]+")
_PART = regex(r"[^/:=&+]+")
_ORDINARY = regex(r"[A-Z]?[^\W\dA-Z_]*(?:['’-][A-Z]?[^\W\dA-Z_]+)*")
# What a text in ASCII without identifiers may lack: words in lower case or with one capital in front, joined by single
# hyphens and apostrophes, between blanks and the signs that end sentences and clauses.
_UNUSUAL = regex(
    r"[^A-Za-z \n,;?!.'()-]|[A-Za-z'-][A-Z]|[.?!][.?!'-]*[A-Za-z]|['-]{2}|(?<![A-Za-z])'|\(\)|[Ww][Ww][Ww]\."
)
_POSSESSIVES = ("'s", "’s")
_LEADING = "'‘’*?=&+-"
_TRAILING = ".,:!?'’‘*=&+-"


_Row = tuple["re.Pattern[str]", Kind]  # not its method, which would compile it


class _Table(NamedTuple):
    """The kinds, grouped by their `scan`."""

    first: tuple[Kind, ...]
    rows: tuple[_Row, ...]
    last: tuple[Kind, ...]

    def rows_for(self, marks: frozenset[str]) -> tuple[_Row, ...]:
        """Return the rows that can match a chunk with these characters beside its letters and digits."""
        return tuple(row for row in self.rows if not row[1].needs or not marks.isdisjoint(row[1].needs))


def _table(kinds: Sequence[Kind]) -> _Table:
    return _Table(
        first=tuple(k for k in kinds if k.scan == "first"),
        rows=tuple((k.pattern, k) for k in kinds if k.scan == "chunk"),
        last=tuple(k for k in kinds if k.scan == "last"),
    )


_TABLE = _table(KINDS)
_usual_rows = lru_cache(maxsize=1_024)(_TABLE.rows_for)


def find_identifiers(text: str, kinds: Sequence[Kind] = KINDS) -> tuple[Identifier, ...]:
    """Find the identifiers of `text`, in order, without overlap.

    Args:
        text: any text; control characters and lone surrogates do no harm.
        kinds: the table, in the order of precedence.
    """
    if kinds is KINDS and text.isascii() and _UNUSUAL.search(text) is None:
        return ()
    table = _TABLE if kinds is KINDS else _table(kinds)
    found: list[Identifier] = []
    for kind in table.first:
        if kind.wanted(text):
            found = _with_free(found, _searched(text, kind))
    rest = blanked(text, map(_span, found), " ")
    for chunk in _chunks(rest):
        whole = _matched(chunk, table)
        found.extend(_in_parts(chunk, rest, table) if whole is None else (whole,))
    found.sort(key=_span)
    for kind in table.last:
        if kind.wanted(text):
            found = _with_free(found, _searched(text, kind))
    return tuple(found)


def _span(item: Identifier) -> tuple[int, int]:
    return item.span


def _identifier(text: str, start: int, kind: Kind) -> Identifier:
    return Identifier(text=text, kind=kind.name, span=(start, start + len(text)), knowledge=kind.knowledge)


def _searched(text: str, kind: Kind) -> Iterator[Identifier]:
    for match in kind.pattern.finditer(text):
        group = match.lastindex or 0
        start, end = match.span(group)
        said = match[group]
        start, end = start + len(said) - len(said.lstrip()), end - len(said) + len(said.rstrip())
        if any(map(str.isalnum, said)) and (kind.check is None or kind.check(_chunk(text, start, end))):
            yield _identifier(text[start:end], start, kind)


def _with_free(found: list[Identifier], more: Iterable[Identifier]) -> list[Identifier]:
    """Return `found` and the items of `more` that overlap none of them, in order."""
    ends = [item.span[1] for item in found]
    free = []
    for item in more:
        at = bisect_right(ends, item.span[0])  # the first that ends after its beginning
        if at == len(found) or found[at].span[0] >= item.span[1]:
            free.append(item)
    return sorted([*found, *free], key=_span) if free else found


def _chunk(text: str, start: int, end: int) -> Chunk:
    return Chunk(text[start:end], start, text[max(0, start - CONTEXT_CHARS) : start], text[end : end + CONTEXT_CHARS])


def _chunks(text: str) -> Iterator[Chunk]:
    """Yield the pieces of `text` that are no ordinary words, without punctuation, quotation marks and possessives."""
    for match in _CHUNK.finditer(text):
        raw = match[0]
        if len(raw) > CHARS_MAX or _ORDINARY.fullmatch(raw):
            continue
        start = match.start() + len(raw) - len(raw.lstrip(_LEADING))
        body = raw.strip(_LEADING).rstrip(_TRAILING)
        if body.endswith(_POSSESSIVES):
            body = body[:-2]
        if len(body) > 1 and not _ORDINARY.fullmatch(body):
            yield _chunk(text, start, start + len(body))


def _matched(chunk: Chunk, table: _Table) -> Identifier | None:
    text = chunk.text
    marks = frozenset(_ALNUM.sub("", text))
    for pattern, kind in _usual_rows(marks) if table is _TABLE else table.rows_for(marks):
        if pattern.fullmatch(text) and (kind.check is None or kind.check(chunk)):
            return _identifier(text, chunk.start, kind)
    return None


def _in_parts(chunk: Chunk, text: str, table: _Table) -> Iterator[Identifier]:
    """Yield the identifiers inside a chunk that matches no kind as a whole: "id=ABC-123", "E1234/E1235"."""
    parts = list(_PART.finditer(chunk.text))
    if len(parts) < 2:
        return
    for part in parts:
        start, end = chunk.start + part.start(), chunk.start + part.end()
        if end - start > 1 and not _ORDINARY.fullmatch(part[0]):
            found = _matched(_chunk(text, start, end), table)
            if found is not None:
                yield found
