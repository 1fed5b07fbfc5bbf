"""Keys, tokens, passwords: recognised by their prefix, by a word that names them, by the text around them.

The forms are those that issuers publish, so that scanners may find them. A form is data: a prefix, and the least
length of the rest. One expression is made of all of them, and it is tried only inside tokens of some length.

Costs are linear: every repetition is bounded, or a run is read to its end and not read again.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from recall_integrations.privacy.named import named
from recall_integrations.privacy.normal import Plain
from recall_integrations.privacy.tables import table

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
_RUN = re.compile(rf"[{_AFTER}]*")
_DOTTED_RUN = re.compile(rf"(?:\.?[{_AFTER}]+)*")
_JWT_BODY = re.compile(r"\.[A-Za-z0-9_-]{4}")
_DOTS = re.compile(r"\.|^eyJ|^1//|^gl[a-z]{1,5}-")
_HOOK = re.compile(
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w/-]{16,200}"
    r"|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{6,30}/[\w-]{16,200}"
    r"|webhook\.office\.com/webhookb2/[\w@/-]{16,400}|outlook\.office(?:365)?\.com/webhook/[\w@/-]{16,400}"
)
_DISCORD = re.compile(rf"{_ALONE}[MNO][A-Za-z0-9_-]{{22,28}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,45}}")
_MAILCHIMP = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])")
_AZURE = re.compile(r"(?<![\w~.])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}")
_OPENSHIFT = re.compile(r"sha256~[A-Za-z0-9_-]{43}")
# Of an issuer that the table does not know: a short prefix and a long run of all three kinds of characters.
_LIKE_A_KEY = re.compile(
    rf"{_ALONE}(?!sha[0-9]{{1,3}}-)[a-z][a-z0-9]{{1,11}}(?:[_-][a-z0-9]{{1,12}}){{0,3}}[_-](?=[a-zA-Z]{{0,40}}[0-9])"
    r"(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])[A-Za-z0-9]{32}"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_TOKEN = re.compile(r"[A-Za-z0-9_\-.+/=]{16,}")
_TELEGRAM = re.compile(r"(?<![0-9])[0-9]{8,12}:AA[A-Za-z0-9_-]{30,40}")
_NEEDLES = (
    (":AA", _TELEGRAM), ("hook", _HOOK), ("-us", _MAILCHIMP), ("Q~", _AZURE), ("sha256~", _OPENSHIFT)
)  # fmt: skip
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
            yield from (m.span() for m in pattern.finditer(text))
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
    """Yield the spans of e-mail addresses with a dotted domain."""
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
