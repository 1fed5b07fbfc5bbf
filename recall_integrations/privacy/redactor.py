"""What a caller may see of a memory: `allow`, `redact` or `block`.

`redact` replaces personal data and secrets by tokens such as `[email]`. In doubt it redacts: a number that only looks
like a card is a smaller loss than a card that leaks. Dates, times, versions, UUIDs and ordinary numbers stay.

- `[url]`: a URL that carries credentials (`scheme://user:password@host`), as a whole.
- `[secret]`: private keys; tokens known by their prefix (`sk-`, `ghp_`, `AKIA`, …) or form (JWT); what follows
  "Bearer", "password:" or "api_key=", and, if it holds a digit, "password is".
- `[email]`: e-mail addresses with a dotted domain.
- `[ssn]`: US social security numbers: 3-2-4 digits, or nine digits behind "SSN".
- `[iban]`: known country, right length, right check digits.
- `[card]`: 13 to 19 digits that begin with 2 to 6 and pass Luhn's test.
- `[ip]`: IPv4 (not behind "version" or "v") and IPv6.
- `[phone]`: `+` or `00` and 8 to 15 digits; North American 3-3-4; national with a leading 0 and separators; any 7 to 15
  digits behind "phone", "call", …

It does not find names, street addresses, dates of birth, or data spelled out in words.

The patterns start at anchors and have bounded or disjoint repetitions, so the time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.patterns import SECRET_KEYS, SSN_KEYS, TEL_KEYS, replace_numbers, replace_secrets
from recall_integrations.types import Memory, Relation, unchecked_memory

MODES = ("allow", "redact", "block")
_ROUNDS_MAX = 8
_DIGITS_MIN = 4  # fewer are an extension or a flag, not a number


def check_mode(mode: object) -> str:
    """Return `mode` if it is `allow`, `redact` or `block`.

    Raises:
        InvalidArgument: it is anything else.
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidArgument(f"Unknown privacy mode {mode!r}. Use one of: {', '.join(MODES)}.")
    return mode


def redact(text: str) -> tuple[str, int]:
    """`text` with personal data and secrets replaced by tokens, and how many were replaced.

    Redacting again changes nothing. Text without any is returned as it is.
    """
    total = 0
    for _ in range(_ROUNDS_MAX):  # what a replacement leaves behind may itself look like data; mostly two rounds
        text, secrets = replace_secrets(text)
        text, numbers = replace_numbers(text)
        if not secrets + numbers:
            break
        total += secrets + numbers
    return text, total


def apply(memory: Memory, mode: str) -> Memory:
    """What `mode` lets through of `memory`.

    - `allow`: the memory itself.
    - `redact`: every text in it goes through `redact`: `text`, `actor`, `channel`, `thread`, `entities`, the parts of
      `relations`, `refs`, and the keys and values of `metadata` at any depth, numbers included. A metadata key that
      names a secret, a phone or a social security number hides its value whatever it looks like.
    - `block`: `text` is empty; `actor`, `channel`, `entities`, `relations` and `metadata` are withheld altogether.
      `type`, `event_at`, `created_at`, `importance` and `position` stay; `refs` and `thread` stay, redacted.

    `id` is never changed, since nothing else names the memory: do not put personal data into ids.

    Raises:
        InvalidArgument: an unknown mode.
    """
    if check_mode(mode) == "allow":
        return memory
    values: dict[str, Any] = {f.name: getattr(memory, f.name) for f in fields(Memory)}
    values["thread"] = _optional(memory.thread)
    values["refs"] = _names(memory.refs)
    if mode == "block":
        withheld: dict[str, Any] = {
            "text": "",
            "actor": None,
            "channel": None,
            "entities": (),
            "relations": (),
            "metadata": {},
        }
        return unchecked_memory(**values | withheld)
    values["text"] = redact(memory.text)[0]
    values["actor"] = _optional(memory.actor)
    values["channel"] = _optional(memory.channel)
    values["entities"] = _names(memory.entities)
    values["relations"] = tuple(
        Relation(redact(r.subject)[0], redact(r.predicate)[0], redact(r.object)[0], r.confidence)
        for r in memory.relations
    )
    values["metadata"] = _redacted(memory.metadata)
    return unchecked_memory(**values)


def _optional(text: str | None) -> str | None:
    return None if text is None else redact(text)[0]


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(redact(name)[0] for name in names))


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)[0]
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = base = redact(key)[0]
            n = 2
            while name in out:  # two keys may become equal; no value is lost
                name, n = f"{base} {n}", n + 1
            out[name] = _keyed(key, item)
        return out
    if isinstance(value, list | tuple):
        return [_redacted(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        hidden, count = redact(str(value))
        return hidden if count else value
    return value


def _keyed(key: str, value: Any) -> Any:
    """The value of a metadata key whose name may say what it holds."""
    name = key.casefold().replace("-", "_").replace(" ", "_")
    if name in SECRET_KEYS and value is not None and not isinstance(value, bool):
        return "[secret]"
    if name in TEL_KEYS or name in SSN_KEYS:
        if isinstance(value, list | tuple):
            return [_keyed(key, item) for item in value]
        if isinstance(value, str | int | float) and sum(c.isdigit() for c in str(value)) >= _DIGITS_MIN:
            return "[ssn]" if name in SSN_KEYS else "[phone]"
    return _redacted(value)
