"""Keys, tokens, passwords: recognised by their prefix, by a word that names them, by the text around them.

The forms are those that issuers publish, so that scanners may find them. A form is data: a prefix, and the least
length of the rest. One expression is made of all of them, and it is tried only inside tokens of some length.

Costs are linear: every repetition is bounded, or a run is read to its end and not read again.
"""

from __future__ import annotations

import base64
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recall_integrations import languages
from recall_integrations.privacy.normal import SWITCH, Plain, alternatives, table

_AFTER = "A-Za-z0-9_\\-"


def _forms(name: str, after: str) -> str:
    """Make one pattern of all forms of a table: prefixes by the least length of what follows them."""
    forms = ((prefix, length) for length, all_of in table(name).items() for prefix in all_of.split())
    return "|".join(f"{prefix}[{after}]{{{length}}}" for prefix, length in forms)


# A key stands alone or behind "_", "-", "=", "/" or letters of a script without spaces.
_ALONE = r"(?<![A-Za-z0-9])"
_KEY = re.compile(f"{_ALONE}(?:{_forms('issued', _AFTER)}|{_forms('dotted', '.' + _AFTER)})")
_NAME_IN_CODE = re.compile(r"(?:npm|hf|gsk|sbp|sgp|ddp|waka|jina|pnu)(?:_[a-z]{1,15}){2,8}")  # hf_raise_for_status
_PLAIN_PREFIX = re.compile(rf"{_ALONE}(?:sk|pk|rk|api|key)-(?=[{_AFTER}]{{0,40}}[0-9])[{_AFTER}]{{16}}")
_CHECKSUM = r"(?:=[0-9A-Z]{8}(?![0-9A-Za-z]))?"  # behind keys of Atlassian
_RUN = re.compile(rf"[{_AFTER}]*{_CHECKSUM}")
_DOTTED_RUN = re.compile(rf"(?:\.?[{_AFTER}]+)*{_CHECKSUM}")
_JWT_BODY = re.compile(r"\.[A-Za-z0-9_-]{4}")
_DOTS = re.compile(r"\.|^eyJ|^1//|^gl[a-z]{1,5}-")
_DISCORD = re.compile(rf"{_ALONE}[MNO][A-Za-z0-9_-]{{22,28}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,45}}")
# Of an issuer that the table does not know: a short prefix and a long run of all three kinds of characters.
_LIKE_A_KEY = re.compile(
    rf"{_ALONE}(?!sha[0-9]{{1,3}}-)[a-z][a-z0-9]{{1,11}}(?:[_-][a-z0-9]{{1,12}}){{0,3}}[_-](?=[a-zA-Z]{{0,40}}[0-9])"
    r"(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])[A-Za-z0-9]{32}"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_TOKEN = re.compile(r"[A-Za-z0-9_\-.+/=]{16,}")
# Keys that no prefix tells: what the text holds, and their form.
_NEEDLES = tuple((needle, re.compile(form.replace("\n", ""))) for needle, form in table("needles").items())
_PEM = re.compile(r"-{4,5} ?begin ([a-z0-9 ]{0,40}private key(?: block)?|pgp [a-z ,/0-9]{1,30}) ?-{4,5}")
_CLOSING = re.compile(r"-{4,5} ?end [a-z0-9 ]{1,50}-{0,5}")
_PUTTY = re.compile(r"putty-user-key-file-[0-9]")

# Alone in its line: "boarding pass: gate 5" is none.
_PASS = re.compile(
    r"(?:^|\n|(?:user|login|wifi|wlan)[^\n]{0,40}[ ,;/])pass ?[:=] ?"
    r"(?P<value>[^\s\0]{5,})(?=\s*(?:\n|$))"
)
_BEARER = re.compile(
    r"(?<![a-z0-9])(?:bearer|basic|token|apikey|flyv1)[ ]{1,4}(?=[\w.~+/=:-]{0,200}[0-9])[\w.~+/=:-]{16,}"
)
_NEAR = re.compile(r"aws|secret|akia|(?:api|access|account|auth|private|signing)[ _-]?(?:key|token)|credential|passw")
_AWS = re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
_OPAQUE = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]{0,40}[0-9])(?=[A-Za-z0-9_-]{0,40}?[0-9][A-Za-z])[A-Za-z0-9_-]{24,}"
)
# -- URLs and e-mail -----------------------------------------------------------------------------------------------

_SCHEME = re.compile(r"[A-Za-z0-9+.\-]{0,19}[A-Za-z](?![A-Za-z0-9])")  # read backwards
_USER = re.compile(
    r"://(?:[^\s/@<>\"\0]{1,256}@|[^\s/@:<>\"\0]{0,128}:(?![0-9]{1,5}/)[^\s@<>\"\0]{1,256}@)[^\s<>\"\0]*"
)

_LATIN = r"A-Za-z0-9\u00c0-\u024f"
_LOCAL = re.compile(  # read backwards; letters of a script without spaces are no part of a Latin name
    rf"[{_LATIN}_.+%-]+(?:'[{_LATIN}][{_LATIN}_.+%-]*)?|[\w.+%-]+|\"[^\"\n\0]{{1,64}}\""
)
_HOST = re.compile(r"(?:[\w-]{1,200}\.){1,20}(?:xn--[\w-]{2,60}|[A-Za-z]{2,}|[^\W\d_]{2,})")
_AT = re.compile(r"[\[({<] ?(?i:at|ät|arroba|@) ?[\])}>] ?")
_DOT = r"(?:\.| ?[\[({<] ?(?i:dot|punkt|punto|ponto|point|\.) ?[\])}>] ?)"
_SPELT_HOST = re.compile(rf"(?:[\w-]{{1,63}}{_DOT}){{1,5}}[^\W\d_]{{2,24}}")
_DENSITY = re.compile(r"[1-9]x\.(?:png|jpe?g|gif|webp|svg)")  # me@2x.png
_LOCAL_MAX = 256
_SCHEME_MAX = 20


def keys(plain: Plain) -> Iterator[tuple[int, int]]:
    """Yield the spans of private keys, keys, tokens and passwords; spans may overlap."""
    text, low = plain.text, plain.low
    if "begin" in low or "putty" in low:
        yield from _blocks(low)
    for token in _TOKEN.finditer(text):
        yield from _issued(text, token.start(), token.end())
        if _NEAR.search(low, max(0, token.start() - 40), token.start() + 20):
            yield from _opaque(text, token.start(), token.end())
    for needle, pattern in _NEEDLES:
        if needle in text:
            yield from (m.span("value" if "value" in pattern.groupindex else 0) for m in pattern.finditer(text))
    if "pass" in low:
        yield from (m.span("value") for m in _PASS.finditer(low))
    if any(word in low for word in _SCHEMES):
        yield from ((m.start(), m.end() - (low[m.end() - 1] == ".")) for m in _BEARER.finditer(low))
    yield from named(plain)


_SCHEMES = ("bearer ", "basic ", "token ", "apikey ", "flyv1 ")


def _blocks(low: str) -> Iterator[tuple[int, int]]:
    at = 0
    closing = _CLOSING.search(low)
    while match := _PEM.search(low, at):
        while closing and closing.start() < match.end():
            closing = _CLOSING.search(low, closing.end())
        following = _PEM.search(low, match.end())
        if closing and not (following and following.start() < closing.start()):
            at = closing.end()
        else:  # cut off: up to the next block, or to the end
            at = following.start() if following else len(low)
        yield match.start(), at
    if putty := _PUTTY.search(low):
        yield putty.start(), len(low)


def _issued(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of keys known by their form, in one token."""
    at, no_jwt = start, 0
    while match := _KEY.search(text, at, end):
        first = match.start()
        if text.startswith("eyJ", first):
            header = first if first < no_jwt else _run(_RUN, text, first, end)
            if first < no_jwt or not _JWT_BODY.match(text, header, end):
                no_jwt, at = max(no_jwt, header), first + 3  # no later start in this run has another end
                continue
        dotted = _DOTS.search(match.group()) is not None
        at = _run(_DOTTED_RUN if dotted else _RUN, text, match.end(), end)
        if not _NAME_IN_CODE.fullmatch(text, first, at):
            yield first, at
    for pattern in (_PLAIN_PREFIX, _LIKE_A_KEY):
        for match in pattern.finditer(text, start, end):
            yield match.start(), _run(_RUN, text, match.end(), end)
    yield from _encoded(text, start, end)
    if end - start >= 58:
        yield from (m.span() for m in _DISCORD.finditer(text, start, end))


def _encoded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of base64 in which a key, or a secret with its name, is written."""
    for match in _BASE64.finditer(text, start, end):
        written = match.group().rstrip("=").translate(_URL_SAFE)
        try:
            inner = base64.b64decode(written + "=" * (-len(written) % 4)).decode("ascii")
        except ValueError:
            continue
        if inner.isprintable() and any(True for _ in keys(Plain(inner))):
            yield match.span()


_URL_SAFE = str.maketrans("-_", "+/")


def _run(run: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = run.match(text, start, end)
    return match.end() if match else start


def _opaque(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of long codes without a form of their own; asked only close to a word such as "key"."""
    for match in (*_AWS.finditer(text, start, end), *_OPAQUE.finditer(text, start, end)):
        code = match.group()
        if any(c.isdigit() for c in code) and (len(code) != 40 or code.lower() != code != code.upper()):
            yield match.span()


def credentials(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of whole URLs that carry a user or a password."""
    at = text.find("://")
    while at >= 0:
        match = _USER.match(text, at)
        scheme = _SCHEME.match(text[max(0, at - _SCHEME_MAX) : at][::-1]) if match else None
        if match and scheme:
            yield at - scheme.end(), match.end()
            at = match.end() - 3
        at = text.find("://", at + 3)


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of e-mail addresses with a dotted domain, also of "lee [at] example [dot] org"."""
    for sign in _AT.finditer(text):
        end = sign.start() - text.endswith(" ", 0, sign.start())
        host = _SPELT_HOST.match(text, sign.end())
        local = _LOCAL.match(text[max(0, end - _LOCAL_MAX) : end][::-1]) if host else None
        if host and local:
            yield end - local.end(), host.end()
    done = 0
    at = text.find("@")
    while at >= 0:
        host = _HOST.match(text, at + 1)
        local = _LOCAL.match(text[max(done, at - _LOCAL_MAX) : at][::-1]) if host else None
        done = at + 1
        if host and local and not _DENSITY.fullmatch(host.group()):
            name = text[at - local.end() : at]
            around = "_*" if text[host.end() : host.end() + 1] in ("_", "*") else ""  # Markdown
            yield at - len(name.lstrip(".-%" + around) or name), host.end()
            done = host.end()
        at = text.find("@", done)


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
_WORDS = r" [^\W\d_]{2,15}?(?: [^\W\d_a-z]{2,15})?"  # the second of a script without Latin letters
_FOR = rf"(?: (?:{alternatives('secret_for')}) [^\n:=.,;\0]{{1,30}}?|(?P<gap%s>{_WORDS})??)"
_LINK = re.compile(
    # Assigned: ":", "=" and their like.
    rf"\\?[\"'`]?\]?[*_~]{{0,3}}{_REMARK}{_FOR % 1}[*_~]{{0,3}}(?: ?: ?[a-z&][\w\[\]&. |]{{0,20}}(?= ?= ?[\"'`]))?"
    r" {0,4}(?:(?P<loose>\.{2,8}:?|\||(?:-{1,2}|—)(?= ))|(?P<assigned>=>|:=|={1,3}|[:：]|-{1,2}>|[→⇒]))"
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
_MIXED = re.compile(r"(?=.*[A-Za-z].*[0-9].*[A-Za-z])[^\W_]{8,40}")  # "swordfish7x"
_SPACED_CODE = re.compile(r"[0-9]{2,4}(?: [0-9]{2,4}){1,3}(?![\w:]|[.,][0-9])")  # "482 911"
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
    if kind == "code" and (spaced := _SPACED_CODE.match(low, at)):
        return _Value(text, *spaced.span(), quoted=False)
    alone = low.endswith(("_pass", "-pass"), 0, link.start())  # db_pass: no user's name stands before it
    if kind == "pair" and not alone and (user := _USER_FIRST.match(low, at)):
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
        return value.opaque and bool(link["assigned"] or link["given"] or (link["told"] and len(value.written) >= 24))
    if kind == "code":
        digits = sum(c.isdigit() for c in value.written)
        if low.startswith("cv", start):
            return 3 <= digits == len(value.written)
        coded = value.code and not (how == "beside" and _YEAR.match(low, value.start))
        coded = coded and (" " not in value.written or _SPACED_CODE.fullmatch(value.written) is not None)
        return coded and (digits >= 4 or len(value.written) >= 6)
    if kind == "pair":
        strong = link["told"] and len(value.written) >= 6 and _STRONG.fullmatch(low, value.start, value.end)
        strong = strong or (link["told"] and low.startswith("pass", start) and _MIXED.fullmatch(value.written))
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
