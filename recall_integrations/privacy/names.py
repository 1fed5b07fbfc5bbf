"""The meaning of a metadata key's name for its value: `db_password`, `accessToken`, `x-api-key`, `contactPhone`.

A name is split at changes of case, "_", "-", "." and spaces. Its last words name the value: a `phone_model` is
a model, a `work_phone` is a phone.
"""

from __future__ import annotations

import re
from typing import Any

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|[0-9]+")
_LONGEST = 3  # words in a phrase below

# Last words. The second set only alone: in other names they are words like others.
_SECRET = frozenset(
    """
    password passwd passcode passphrase pwd pin secret secret_key api_key apikey access_key private_key privatekey
    secretkey accesskey encryption_key signing_key master_key account_key token credential credentials authorization
    cookie session_id sessionid cvv cvc otp accesstoken authtoken clientsecret dbpassword
    """.split()
)
_PHONE = frozenset("phone telephone tel fax mobile cell phone_number mobile_number whatsapp".split())
_PHONE |= frozenset("cellphone phonenumber mobilenumber mobilephone homephone workphone tel_number telno".split())
_SSN = frozenset("ssn social_security_number social_security tax_id taxid".split())
_SSN_ALONE = frozenset(["sin"])
# What may stand behind: which one it is.
_WHICH = frozenset(
    """
    value home work office private personal main primary secondary prod production staging dev test live old new
    current number no raw plain text string e164 hash
    """.split()
)
# Before "token": a mark in a text, a place in a list, a count.
_NO_SECRET_TOKEN = frozenset(
    """
    max min num n total stop eos bos pad sep cls unk mask special next prev page first last
    """.split()
)
# Inside `{"phone": {…}}` these say something of the phone.
_ABOUT = frozenset(
    """
    model type kind brand count total at date created updated changed expires name label id version length size
    verified year
    """.split()
)
_SHORT = frozenset("pin cvv cvc otp passcode password passwd pwd".split())  # three digits are one
_DIGITS_MIN = 4
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?")


def words(key: str) -> list[str]:
    """Return the words of a key, in lower case."""
    return [word.lower() for word in _WORD.findall(key)]


def named(key: str) -> str | None:
    """Return `secret`, `phone` or `ssn` if a value under `key` is one; None if the key does not say."""
    parts = words(key)
    if (parts and parts[0] == "has") or not parts:
        return None
    while parts:
        for size in range(min(_LONGEST, len(parts)), 0, -1):
            kind = _kind(parts, "_".join(parts[-size:]))
            if kind:
                return kind
        if parts[-1] not in _WHICH and not parts[-1].isdigit():
            return None
        parts = parts[:-1]
    return None


def _kind(parts: list[str], phrase: str) -> str | None:
    if phrase in _SECRET:
        return None if phrase == "token" and len(parts) > 1 and parts[-2] in _NO_SECRET_TOKEN else "secret"
    if phrase in _PHONE:
        return "phone"
    return "ssn" if phrase in _SSN or (phrase in _SSN_ALONE and len(parts) == 1) else None


def about(key: str) -> bool:
    """Say whether `key`, inside of a hidden value, names something other than the value itself."""
    parts = words(key)
    return bool(parts) and parts[-1] in _ABOUT


def may_hold(key: str, kind: str, value: Any) -> bool:
    """Say whether `value`, a leaf, can be what its key says: no boolean, no date, no small number."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and _DATE.fullmatch(value.strip())):
        return False
    if kind == "secret":
        short = any(word in _SHORT for word in words(key))
        return short or not isinstance(value, int | float) or sum(c.isdigit() for c in str(value)) >= _DIGITS_MIN
    return isinstance(value, str | int | float) and sum(c.isdigit() for c in str(value)) >= _DIGITS_MIN
