"""What personal data and secrets look like. Used by `redactor.py`; see the list there.

Formats: ISO 13616 (IBAN: country, length, mod 97), ISO/IEC 7812 (Luhn), E.164 (phone numbers), RFC 7519 (JWT).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

# -- secrets, URLs, e-mail: found by what they contain -------------------------------------------------------------

_B = r"(?<![\w-])"
_SECRET_PREFIXED = re.compile(
    rf"{_B}(?:"
    r"(?:sk|pk|rk|api|key)-[A-Za-z0-9_\-]{16,}"
    r"|[spr]k_(?:live|test)_\w{8,}|whsec_\w{16,}"
    r"|gh[opusr]_\w{16,}|github_pat_\w{16,}|glpat-[\w\-]{16,}|npm_\w{30,}|pypi-[\w\-]{30,}|hf_\w{20,}|dop_v1_\w{30,}"
    r"|(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ABIA|ACCA)[A-Z0-9]{12,}(?![a-z])"
    r"|AIza[\w\-]{30,}|ya29\.[\w\-]{16,}|xox[a-z]-[\w\-]{8,}|xapp-[\w\-]{8,}|SG\.[\w\-]{12,}\.[\w\-]{12,}"
    r"|eyJ[\w\-]{6,}\.[\w\-]{4,}(?:\.[\w\-]*)?"
    r")"
)
# The body of a key has no "-", so that the search for its end cannot run past the next key.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)
_BEARER = re.compile(r"\b(?i:bearer|basic|token)[ \t]{1,4}(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{16,}")
_KEY_NAMES = (
    "pass(?:word|wd|code|phrase)|pwd|secret(?:[_ -]?key)?|(?:api|access|auth|private|secret|client|encryption|signing)"
    "[_ -]?(?:key|token|secret)|(?:access|auth|refresh|id|session|bearer)[_ -]?token|token"
)
_ASSIGNED = re.compile(
    rf"(?<![^\W_])((?i:{_KEY_NAMES})[\"']?[ \t]{{0,3}}(?:=|:)>?[ \t]{{0,3}}[\"'`]?)(?!\[secret\])([^\s\"'`,;&<>]{{4,}})"
)
_SPOKEN = re.compile(
    r"\b((?i:passwords?|passcode|passphrase|pwd|pin(?: code)?|api[ -]?key|secret|token)(?: for [\w .-]{1,30}?)?"
    r" (?i:is|was|to) [\"'`]?)"
    r"(?=[^\s\d\"']{0,100}\d)([^\s\"'`,;]{4,})"
)
_URL_CREDENTIALS = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.\-]{0,19}://(?:[^\s/@<>\"]{1,256}@|[^\s/@:<>\"]{0,128}:(?!\d{1,5}/)[^\s@<>\"]{1,256}@)[^\s<>\"]*"
)
_ZERO_WIDTH = "\u200b-\u200d\u2060\ufeff\u00ad"
_LOCAL = rf"[\w.+%&{_ZERO_WIDTH}\-]"
_EMAIL = re.compile(rf"(?<!{_LOCAL}){_LOCAL}+[@＠](?:[\w{_ZERO_WIDTH}\-]+[.．。])+(?:xn--[\w\-]{{2,}}|[^\W\d_]{{2,}})")


def replace_secrets(text: str) -> tuple[str, int]:
    """Replace URLs with credentials, keys, tokens, passwords and e-mail addresses."""
    total = 0
    for pattern, needle, replacement in _TEXT_RULES:
        if needle is None or needle in text:
            text, n = pattern.subn(replacement, text)
            total += n
    return text, total


# (pattern, a string without which it cannot match, replacement)
_TEXT_RULES: tuple[tuple[re.Pattern[str], str | None, str], ...] = (
    (_PRIVATE_KEY, "PRIVATE KEY", "[secret]"),
    (_URL_CREDENTIALS, "://", "[url]"),
    (_SECRET_PREFIXED, None, "[secret]"),
    (_BEARER, None, "[secret]"),
    (_ASSIGNED, None, r"\1[secret]"),
    (_SPOKEN, None, r"\1[secret]"),
    (_EMAIL, None, "[email]"),
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SECRET_KEYS = _set(
    """
    password passwd passcode passphrase pwd pin secret secret_key client_secret api_key apikey access_key private_key
    access_token auth_token refresh_token session_token id_token bearer_token token credential credentials authorization
    """
)
TEL_KEYS = _set("phone telephone tel mobile cell fax phone_number mobile_number cell_phone whatsapp")
SSN_KEYS = _set("ssn social_security_number social_security sin tax_id")

# -- numbers: found by shape, then checked -------------------------------------------------------------------------

# (?<!…) and (?!…) keep a candidate from starting or ending inside a longer word or number.
_KEEP = (
    r"(?P<keep>(?<![\w-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?!\w)"
    r"|(?<![\w./-])(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[ ]?[+-]\d{2}:?\d{2})?)?(?![\d/]|[.-]\d)"
    r"|(?<![\w.])\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?!\d))"
)
_NUMBER = re.compile(
    "|".join(
        (
            _KEEP,
            r"(?P<ssn>(?<![0-9])\d{3}(?P<sep>[-– ])\d{2}(?P=sep)\d{4}(?![0-9]))",
            r"(?P<ssn_cue>(?<!\w)(?i:ssn|social security)(?i: number| no\.?| num)?[ \t:#=-]{0,4}(?i:is )?"
            r"\d{3}[ -]?\d{2}[ -]?\d{4}(?!\w))",
            r"(?P<iban>(?<![A-Za-z0-9_])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30})",
            r"(?P<card>(?<![\d.])[2-6](?:[ .–-]?\d){12,18})",
            r"(?P<ipv4>(?<![A-Za-z0-9_.])\d{1,3}(?:\.\d{1,3}){3}(?![A-Za-z0-9_]|\.\d))",
            r"(?P<ipv6>(?<![A-Za-z0-9_:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:\.\d{1,3}){0,3}(?![A-Za-z0-9_:]))",
            r"(?P<phone_cue>(?<!\w)(?i:phone|telephone|tel|mobile|cell|cellphone|fax|call|ring|dial|text|sms|whatsapp)(?:\W{1,3}(?i:number|no|me|us|him|her|them|on|at|is)){0,3}"
            r"\W{1,3}[+(]{0,2}\d(?:[ ().\-/–\u00a0]{0,3}\d){6,14}(?![\w:]))",
            r"(?P<phone>(?<![A-Za-z0-9_.,$€£#/–-])[+(]{0,2}\d(?:[ ().\-/–\u00a0]{0,3}\d){6,18})",
        )
    )
)
_TOKENS = {
    "ssn": "[ssn]",
    "ssn_cue": "[ssn]",
    "iban": "[iban]",
    "card": "[card]",
    "ipv4": "[ip]",
    "ipv6": "[ip]",
    "phone_cue": "[phone]",
    "phone": "[phone]",
}
_VERSION_BEFORE = re.compile(
    r"(?:\bversions?|\brelease|\bbuild|\bver\.?|\bv\.?|[\w-]+/|==|>=|<=|~=)[ ]?$", re.IGNORECASE
)
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?!\d)")


def replace_numbers(text: str) -> tuple[str, int]:
    """Replace social security numbers, IBANs, cards, IP addresses and phone numbers."""
    out: list[str] = []
    done = at = count = 0
    while match := _NUMBER.search(text, at):
        kind = next(k for k in ("keep", *_TOKENS) if match.group(k) is not None)
        if kind == "keep":
            at = match.end()
            continue
        end = _CHECKS[kind](text, match)
        if end is None and kind in ("iban", "card", "ipv6", "ipv4"):  # the same digits may be a phone number
            match_phone = _PHONE.match(text, match.start())
            if match_phone is not None:
                kind, end = "phone", _phone_end(text, match_phone)
        if end is None:
            at = _past(text, match.start())
            continue
        start = match.start()
        if kind.endswith("_cue"):
            start = next(i for i in range(start, end) if text[i].isdigit())
            while text[start - 1] in "+(":
                start -= 1
        out += [text[done:start], _TOKENS[kind]]
        done = at = end
        count += 1
    out.append(text[done:])
    return ("".join(out), count) if count else (text, 0)


_PHONE = re.compile(r"(?<![A-Za-z0-9_.,$€£#/–-])[+(]{0,2}\d(?:[ ().\-/–\u00a0]{0,3}\d){6,18}")


def _past(text: str, at: int) -> int:
    """Past the group of digits or letters at `at`: a number is not looked for in the middle of one."""
    end = at + 1
    while end < len(text) and end - at < 64 and text[end].isalnum() and text[end - 1].isalnum():
        if text[end].isascii() != text[end - 1].isascii():
            break
        end += 1
    return end


def _continues(text: str, at: int) -> bool:
    """Whether the character at `at` carries on a number or code. Letters of scripts without spaces do not."""
    return at < len(text) and (text[at].isdigit() or (text[at].isascii() and text[at].isalnum()))


def _whole(text: str, match: re.Match[str]) -> int | None:
    return match.end()


def _iban_end(text: str, match: re.Match[str]) -> int | None:
    length = _IBAN_LENGTHS.get(text[match.start() : match.start() + 2].upper())
    if length is None:
        return None
    seen = ""
    for i in range(match.start(), match.end()):
        if text[i].isalnum():
            seen += text[i].upper()
        if len(seen) == length:
            rest = "".join(str(int(c, 36)) for c in seen[4:] + seen[:4] if c.isascii())
            return i + 1 if not _continues(text, i + 1) and int(rest) % 97 == 1 else None
    return None


def _card_end(text: str, match: re.Match[str]) -> int | None:
    """The end of the longest run of whole groups, 13 to 19 digits, that passes Luhn's test."""
    for end, digits in reversed(_groups(text, match)):
        if 13 <= len(digits) <= 19 and _luhn(digits):
            return end
    return None


def _groups(text: str, match: re.Match[str]) -> list[tuple[int, str]]:
    """(end, digits so far) at each place in the match where a group of digits ends."""
    found = []
    digits = ""
    for i in range(match.start(), match.end()):
        if text[i].isdigit():
            digits += str(int(text[i]))
            if not _continues(text, i + 1):
                found.append((i + 1, digits))
    return found


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0 and len(set(digits)) > 1


def _ipv4_end(text: str, match: re.Match[str]) -> int | None:
    if any(int(part) > 255 for part in match.group().split(".")):
        return None
    return None if _VERSION_BEFORE.search(text[max(0, match.start() - 24) : match.start()]) else match.end()


def _ipv6_end(text: str, match: re.Match[str]) -> int | None:
    found = match.group()
    for end in (len(found), len(found.rstrip(":."))):
        try:
            ipaddress.IPv6Address(found[:end])
        except ValueError:
            continue
        # "::" and "a::b" are also how programs write names
        return match.start() + end if any(c.isdigit() for c in found[:end]) else None
    return None


def _phone_end(text: str, match: re.Match[str]) -> int | None:
    for end, digits in reversed(_groups(text, match)):
        if end < len(text) and text[end] == ":":  # "… 12:30" is a time
            continue
        if _is_phone(text[match.start() : end], digits):
            return end
    return None


_NANP = re.compile(r"\+?1?[ .\-–\u00a0]?(?:\(\d{3}\)[ ]?|\d{3}[ .\-–\u00a0])\d{3}[ .\-–\u00a0]\d{4}")
_NATIONAL = re.compile(r"\(?0\d{1,5}\)?[ /\-–\u00a0]{1,3}\d{2,}(?:[ /\-–\u00a0]\d{2,}){0,4}|0\d(?:[ .\-–]\d\d){4}")


def _is_phone(written: str, digits: str) -> bool:
    if _begins_with_date(written):
        return False
    if written.startswith(("+", "(+")):
        return 8 <= len(digits) <= 15
    if digits.startswith("00") and digits[2:3] not in ("", "0"):
        return 10 <= len(digits) <= 17 and any(not c.isdigit() for c in written)
    if _NANP.fullmatch(written):
        return digits[-10] in "23456789"
    return 9 <= len(digits) <= 12 and _NATIONAL.fullmatch(written) is not None


def _begins_with_date(written: str) -> bool:
    match = _DATE.match(written)
    return match is not None and (match.end() == len(written) or written[match.end()] == " ")


_CHECKS: dict[str, Callable[[str, re.Match[str]], int | None]] = {
    "ssn": _whole,
    "ssn_cue": _whole,
    "iban": _iban_end,
    "card": _card_end,
    "ipv4": _ipv4_end,
    "ipv6": _ipv6_end,
    "phone_cue": _whole,
    "phone": _phone_end,
}

_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FK FI FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTHS = {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}
