"""Find identifiers in a query: strings to be matched letter by letter (`ABC-123`, `src/app.py`, `ERR_CONN_RESET`).

The first row of `KINDS` that matches a whole chunk of the text decides. The rules aim at precision; time is linear.
"""

from __future__ import annotations

import ipaddress
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from recall_integrations.languages.phrases import blanked
from recall_integrations.patterns import regex
from recall_integrations.text import STOP_WORDS
from recall_integrations.types.query import Identifier

_LISTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

# Case-folded. Brands, products and units that are written like code, and are ordinary words of a conversation.
NO_CODE = frozenset(_LISTS["no_code"].split())

# Last part of a name in camel case that is code ("UserService") and not a brand ("WestJet").
CODE_NOUNS = tuple(_LISTS["code_nouns"].split())

# First part of a family or given name with a capital inside: McCarthy, DeShawn, LeBlanc, MacDonald, JoAnn.
NAME_PREFIXES = frozenset(_LISTS["name_prefixes"].split())

# Before "-123": standards, models, products, quarters, months, roads. "GPT-4" and "COVID-19" are words.
NO_TICKETS = frozenset(_LISTS["no_tickets"].split())

# Error codes that are letters and a number, without and with a dash that must be there.
CODE_PREFIXES = ("E", "TS", "CS", "KB", "LNK", "MSB", "NU", "NETSDK", "PLC", "PLE", "PLR", "PLW", "RUF", "SQLSTATE")
DASHED_PREFIXES = ("ORA", "PLS", "TNS", "RMAN", "SQL", "SP2", "IMP", "EXP", "LPX", "AADSTS")

# Names of the POSIX and Node.js errors that begin with an E.
ERRNO = frozenset(_LISTS["errno"].split())

# Case-folded. Endings that make "name.ending" a file.
FILE_ENDINGS = frozenset(_LISTS["file_endings"].split())

# Files that are known by the whole name.
DOT_FILES = frozenset(_LISTS["dot_files"].split())

# Folders that begin a path and are no words of a conversation, and those that begin it after a "/".
FOLDERS = frozenset(_LISTS["folders"].split())
ROOTS = frozenset(_LISTS["roots"].split())

# Before the colon of `repo:path`; and what stands before a colon in ordinary text.
QUALIFIERS = frozenset(_LISTS["qualifiers"].split())
NO_QUALIFIERS = frozenset(_LISTS["no_qualifiers"].split())

# Parts of compound adjectives: "part-time/full-time" is not a repository.
COMPOUNDS = frozenset(_LISTS["compounds"].split())

# Of hosts that are written without "https://".
TOP_LEVEL_DOMAINS = frozenset(_LISTS["top_level_domains"].split())


CHARS_MAX = 256  # nobody means a longer "word" letter by letter
CONTEXT_CHARS = 24  # characters before and after a chunk that a check may read


class Chunk(NamedTuple):
    """A piece of the text without white space, and up to `CONTEXT_CHARS` characters on either side of it."""

    text: str
    start: int
    before: str
    after: str


Check = Callable[[Chunk], bool]


class Kind(NamedTuple):
    """One row of the table.

    `pattern` must match a whole chunk, and `check` agree. If `scan` is "first", it is searched for in the text before
    that is cut into chunks; if "last", in the parts without an identifier; the last group that matched is the
    identifier. Only with `knowledge` it speaks for a document, and not just for an exact match.
    """

    name: str
    pattern: re.Pattern[str]
    check: Check | None = None
    scan: str = "chunk"
    knowledge: bool = True
    needs: str = ""  # characters of which each match of a chunk holds one


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
    if last in DOT_FILES:
        return True
    match = _FILE.fullmatch(last)
    if match is None or match[1].casefold() not in FILE_ENDINGS:
        return False
    name = last.casefold()
    if len(match[1]) == 1 and last.find(".") < 2:  # initials
        return False
    return name not in NO_CODE and name.partition(".")[0] not in STOP_WORDS


def _is_rooted(chunk: Chunk) -> bool:
    """Accept `/etc`, `/var/log`, "to /login"; in "boyfriend /girlfriend" the slash is a word."""
    parts = [p for p in chunk.text.split("/") if p]
    if chunk.text[0] != "/" or len(parts) > 1 or parts[0] in ROOTS or "." in parts[0]:
        return True
    return parts[0] not in STOP_WORDS and (not chunk.before or bool(_BEFORE_PATH.search(chunk.before)))


def _is_path(chunk: Chunk) -> bool:
    """Say whether a path without a root ends in a file, or begins in a folder that only programs have."""
    folder, slash, rest = chunk.text.partition("/")
    return (slash != "" and rest != "" and folder in FOLDERS) or _is_file(chunk)


def _is_repository(chunk: Chunk) -> bool:
    """Accept `owner/repo` only with evidence of a name: "his/her" and "part-time/full-time" look the same."""
    owner, _, name = chunk.text.partition("/")
    if chunk.text.casefold() in NO_CODE or owner.casefold() in STOP_WORDS or name.casefold() in STOP_WORDS:
        return False
    if "_" in chunk.text or _BEFORE_REPO.search(chunk.before) or _AFTER_REPO.match(chunk.after):
        return True
    if ("-" in owner) == ("-" in name):
        return False
    parts = re.split("[-/.]", chunk.text)
    return chunk.text.islower() and not any(
        len(p) < 2 or p in STOP_WORDS or p in COMPOUNDS or p.isdigit() for p in parts
    )


def _is_repo_path(chunk: Chunk) -> bool:
    """Accept `repo:path`: a qualifier of a code search, or a path or a file behind the colon."""
    left, _, right = chunk.text.partition(":")
    if left.casefold() in QUALIFIERS:
        return True
    if left.casefold() in NO_QUALIFIERS:
        return False
    in_path = "/" in right and not any(p.casefold() in STOP_WORDS for p in right.split("/"))
    return in_path or _is_file(chunk._replace(text=right))


def _is_dotted_name(chunk: Chunk) -> bool:
    """Accept `module.name`, but no initials, no product, no host of two parts, no full stop without its space."""
    if chunk.text.endswith("()"):
        return True
    parts = chunk.text.split(".")
    if chunk.text.casefold() in NO_CODE or max(map(len, parts)) < 3 or len(parts[0]) < 2:
        return False
    if len(parts) == 2 and parts[1].casefold() in TOP_LEVEL_DOMAINS:
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
    named = first is not None and first[0] in NAME_PREFIXES and _humps(word) < 3
    return word.casefold() not in NO_CODE and not named


def _kind(name: str, pattern: str, check: Check | None = None, **more: Any) -> Kind:
    return Kind(name, regex(pattern), check, **more)


_quotation = partial(_kind, "quoted", scan="last", knowledge=False)


_HEX = "[0-9A-Fa-f]"
_LABEL = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_HOST = rf"(?:{_LABEL}\.)+(?:{'|'.join(sorted(TOP_LEVEL_DOMAINS))})"
_NAME = r"[^\W\d]\w*"
_SEGMENT = r"[\w.@+~-]+"
_STAGE = r"(?:-?(?:rc|alpha|beta|dev|post|a|b)[.-]?[0-9]*)?"
_CAMEL = r"[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]+)*(?:[A-Z]+[a-z]+[a-z0-9]*|[A-Z]{2,})|[A-Z]{3,}[a-z]{3,}(?:[A-Z]+[a-z0-9]+)*"

KINDS: tuple[Kind, ...] = (
    _kind(
        "url",
        r"(?<![\w+.-])(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.)[^\s<>\"“”«»`\u3000-\u303f]*[^\s<>\"“”«»`\u3000-\u303f"
        r".,:;!?'’)\]}*]",
        scan="first",
    ),
    _kind("uuid", rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", needs="-"),
    _kind("email", r"[\w.+%-]+@(?:[\w-]+\.)+[^\W\d_]{2,}", needs="@", knowledge=False),
    _kind("url", rf"{_HOST}(?::[0-9]{{1,5}})?/\S*", needs="/"),
    _kind("host", rf"(?:localhost|{_HOST}):[0-9]{{2,5}}|{_LABEL}\.{_HOST}", needs=":."),
    _kind("ip", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5}|/[0-9]{1,2})?", _is_ip, needs="."),
    _kind("ip", rf"(?=.*(?:::|[A-Fa-f])){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,7}}(?:/[0-9]{{1,3}})?", _is_ip, needs=":"),
    _kind("mac", rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}|{_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}", needs=":-"),
    _kind("error_code", r"(?:ERR|ERROR|EXC|HRESULT|STATUS|NTSTATUS)_[A-Z0-9_]*[A-Z0-9]", needs="_"),
    _kind("error_code", r"[A-Z][A-Z0-9_]*_(?:ERR|ERROR|EXCEPTION)", needs="_"),
    _kind("error_code", r"0x[0-9A-Fa-f]{4,16}"),
    _kind("error_code", rf"(?:{'|'.join(CODE_PREFIXES)})-?[0-9]{{3,7}}"),
    _kind("error_code", rf"(?:{'|'.join(DASHED_PREFIXES)})-?[0-9]{{3,6}}"),
    _kind("error_code", r"E[A-Z0-9_]+", lambda chunk: chunk.text in ERRNO),
    _kind("error_code", r"[0-9]{1,6}", _is_status),
    _kind("ticket", r"CVE-[0-9]{4}-[0-9]{4,7}|GHSA(?:-[a-z0-9]{4}){3}", needs="-"),
    _kind("ticket", r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,6}", lambda c: c.text.partition("-")[0] not in NO_TICKETS, needs="-"),
    # "#1" is the best of something, unless an issue is called so.
    _kind("reference", r"#[0-9]{1,7}", lambda c: c.text != "#1" or bool(_BEFORE_ISSUE.search(c.before)), needs="#"),
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
    _kind("code", _CAMEL, lambda chunk: chunk.text.endswith(CODE_NOUNS) and _is_camel(chunk)),
    _kind("camel_case", _CAMEL, _is_camel, knowledge=False),
    _quotation(r"(?<!\w)\"(?=\S)([^\"\n]{1,199}[^\s\"])\"(?!\w)"),
    _quotation(r"[“„]([^“”„\n]{2,200})[”“]|«([^«»\n]{2,200})»"),
    _quotation(r"「([^「」\n]{2,200})」|『([^『』\n]{2,200})』|`([^`\n]{2,200})`"),
    _quotation(r"(?<![\w'])'(?=[^\s'])((?:[^'\n]|(?<=\w)'(?=\w)){1,199}[^\s'])'(?!\w)"),
    _quotation(r"(?<!\w)‘((?:[^‘’\n]|(?<=\w)’(?=\w)){2,200})’(?!\w)"),
)


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


def find_identifiers(text: str, kinds: Sequence[Kind] = KINDS) -> tuple[Identifier, ...]:
    """Find the identifiers of any `text`, in order, without overlap; `kinds` are in the order of precedence."""
    if kinds is KINDS and text.isascii() and _UNUSUAL.search(text) is None:
        return ()
    found: list[Identifier] = []
    for kind in kinds:
        if kind.scan == "first":
            found = _with_free(found, _searched(text, kind))
    rest = blanked(text, map(_span, found), " ")
    rows = [kind for kind in kinds if kind.scan == "chunk"]
    for chunk in _chunks(rest):
        whole = _matched(chunk, rows)
        found.extend(_in_parts(chunk, rest, rows) if whole is None else (whole,))
    found.sort(key=_span)
    for kind in kinds:
        if kind.scan == "last":
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


def _matched(chunk: Chunk, rows: Sequence[Kind]) -> Identifier | None:
    marks = frozenset(_ALNUM.sub("", chunk.text))
    for kind in rows:
        if kind.needs and marks.isdisjoint(kind.needs):
            continue
        if kind.pattern.fullmatch(chunk.text) and (kind.check is None or kind.check(chunk)):
            return _identifier(chunk.text, chunk.start, kind)
    return None


def _in_parts(chunk: Chunk, text: str, rows: Sequence[Kind]) -> Iterator[Identifier]:
    """Yield the identifiers inside a chunk that matches no kind as a whole: "id=ABC-123", "E1234/E1235"."""
    parts = list(_PART.finditer(chunk.text))
    for part in parts if len(parts) > 1 else ():
        start, end = chunk.start + part.start(), chunk.start + part.end()
        if end - start > 1 and not _ORDINARY.fullmatch(part[0]):
            found = _matched(_chunk(text, start, end), rows)
            if found is not None:
                yield found
