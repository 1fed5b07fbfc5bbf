"""Personal data and secrets of a text, replaced by stable placeholders: `[phone-1]`, `[email-2]`.

In doubt it redacts: a number that only looks like a card is a smaller loss than a card that leaks. Dates, times,
prices, versions, UUIDs and ordinary numbers stay. What is recognised, and what is not: `docs/recognised.md`.

Recognisers read a text in its plain form (`normal.py`), each in time proportional to its length:
`secrets.py` (keys, passwords, URLs with credentials, e-mail), `national.py` (streets, national ids) and `numbers.py`
(cards, IBANs, social security numbers, IP addresses, phones).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from threading import Lock
from typing import Any

from recall_integrations.privacy import national, numbers, secrets
from recall_integrations.privacy.normal import SWITCH, Plain, readings, table
from recall_integrations.types import Memory, Relation, unchecked_memory

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|[0-9]+")
_LONGEST = 3  # words in a phrase below

_KEYS = {name: frozenset(words.split()) for name, words in table("keys").items()}
_DIGITS_MIN = 4
_LETTER, _LETTER_BEFORE = re.compile(r"[^\n]{0,80}?[^\W\d_]"), re.compile(r"[^\W\d_][^\n]*$")
_WHOLE_PHONE = 10  # digits; with fewer, a number may go on in the next line
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
        if parts[-1] not in _KEYS["which"] and not parts[-1].isdigit():
            return None
        parts = parts[:-1]
    return None


def _kind(parts: list[str], phrase: str) -> str | None:
    if phrase in _KEYS["secret"]:
        return None if phrase == "token" and len(parts) > 1 and parts[-2] in _KEYS["no_secret_token"] else "secret"
    if phrase in _KEYS["phone"]:
        return "phone"
    return "ssn" if phrase in _KEYS["ssn"] or (phrase in _KEYS["ssn_alone"] and len(parts) == 1) else None


def about(key: str) -> bool:
    """Say whether `key`, inside of a hidden value, names something other than the value itself."""
    parts = words(key)
    return bool(parts) and parts[-1] in _KEYS["about"]


def may_hold(key: str, kind: str, value: Any) -> bool:
    """Say whether `value`, a leaf, can be what its key says: no boolean, no date, no small number."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and _DATE.fullmatch(value.strip())):
        return False
    if kind == "secret":
        short = any(word in _KEYS["short"] for word in words(key))
        return short or not isinstance(value, int | float) or sum(c.isdigit() for c in str(value)) >= _DIGITS_MIN
    return isinstance(value, str | int | float) and sum(c.isdigit() for c in str(value)) >= _DIGITS_MIN


Own = Sequence[tuple[str, re.Pattern[str]]]  # patterns of the user, by name
Span = tuple[int, int, str]  # start, end, kind

_NAME_CHARS_MAX = 256
_SOME_DIGIT = re.compile(r"\d")  # of any script
_ROUNDS_MAX = 8
_KINDS = frozenset("phone email card iban ssn ip secret address url id".split())
_SLOT, _OF_SLOT = "slot", ("value", "instead_of")


def hides_values(key: str) -> bool:
    """Say whether a metadata key may hide a value whatever it looks like: by its name, or by that of its slot."""
    return named(key) is not None or key in _OF_SLOT


class Redactor:
    """Replaces personal data and secrets by placeholders, the same for the same value as long as the object lives.

    One for each recall. Threads may share it. A value is the same however it is written: with other spaces, hyphens or
    widths; an e-mail address in other capitals. Numbers are given in order of first appearance, for each kind by
    itself.
    """

    def __init__(self, own: Own = ()) -> None:
        self._own = own
        self._known = _placeholders({*_KINDS, *(name for name, _ in self._own)}) if own else _PLACEHOLDER
        self._numbers: dict[str, dict[str, int]] = {}
        self.counts: Counter[str] = Counter()  # of replacements, by kind
        self._seen: dict[str, str] = {}  # short texts and their forms: names come again with every memory
        self._lock = Lock()

    def text(self, text: str) -> str:
        """Return `text` with placeholders. Redacting again changes nothing; a clean text is returned as it is."""
        given = text
        if (known := self._seen.get(given)) is not None:
            return known
        for _ in range(2 if self._own else 1):  # a pattern may ask for a placeholder of ours before it
            if self._own:
                text = self._rounds(text, lambda rest: find_own(rest, self._own, self._known))
            text = self._rounds(text, lambda rest: find(rest, self._known))
        if len(given) <= _NAME_CHARS_MAX:
            self._seen[given] = text
        return text

    def memory(self, memory: Memory) -> Memory:
        """Return `memory` with every text in it redacted.

        That is `text`, `actor`, `channel`, `thread`, `entities`, the parts of `relations`, `refs`, and the keys and
        values of `metadata` at any depth, numbers included. A metadata key that names a secret, a phone or a social
        security number hides its value whatever it looks like. `id` is never changed, since nothing else names the
        memory: do not put personal data into ids.
        """
        values: dict[str, Any] = {f.name: getattr(memory, f.name) for f in fields(Memory)}
        values["text"] = self.text(memory.text)
        values["actor"] = self._optional(memory.actor)
        values["channel"] = self._optional(memory.channel)
        values["thread"] = self._optional(memory.thread)
        values["entities"] = self._names(memory.entities)
        values["refs"] = self._names(memory.refs)
        values["relations"] = tuple(
            Relation(self.text(r.subject), self.text(r.predicate), self.text(r.object), r.confidence)
            for r in memory.relations
        )
        values["metadata"] = self._value(memory.metadata)
        return unchecked_memory(**values)

    def withheld(self, memory: Memory) -> Memory:
        """Return the parts of `memory` that `block` leaves: `type`, times, `importance`, `position`, and `refs` and
        `thread` redacted. Everything else is withheld altogether.
        """
        values: dict[str, Any] = {f.name: getattr(memory, f.name) for f in fields(Memory)}
        values |= {"text": "", "actor": None, "channel": None, "entities": (), "relations": (), "metadata": {}}
        values["thread"] = self._optional(memory.thread)
        values["refs"] = self._names(memory.refs)
        return unchecked_memory(**values)

    def _rounds(self, text: str, look: Callable[[str], list[Span]]) -> str:
        """Replace spans until none is left: text around a placeholder may itself look like data; mostly two rounds. Our
        placeholders come after those of users, in rounds of their own: no pattern takes them away.
        """
        for _ in range(_ROUNDS_MAX):
            spans = look(text)
            if not spans:
                break
            text = self._replaced(text, spans)
        return text

    def _replaced(self, text: str, spans: Iterable[Span]) -> str:
        out: list[str] = []
        done = 0
        for start, end, kind in spans:
            out += (text[done:start], self._placeholder(kind, text[start:end]))
            done = end
        out.append(text[done:])
        return "".join(out)

    def _placeholder(self, kind: str, value: str) -> str:
        key = _same(kind, value)
        with self._lock:
            self.counts[kind] += 1
            known = self._numbers.setdefault(kind, {})
            return f"[{kind}-{known.setdefault(key, len(known) + 1)}]"

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.text(name) for name in names))

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            hidden = self.text(written)
            return value if hidden == written else hidden
        return value

    def _mapping(self, value: Mapping[str, Any], outer: str | None = None) -> dict[str, Any]:
        out: dict[str, Any] = {}
        slot = value.get(_SLOT)  # {"slot": "phone_number", "value": …} says what its values are
        of_slot = (named(slot) if isinstance(slot, str) else None) or outer
        for key, item in value.items():
            name = base = self.text(key)
            n = 2
            while name in out:  # two keys may become equal; no value is lost
                name, n = f"{base} {n}", n + 1
            out[name] = self.value_of(key, item, of_slot if key in _OF_SLOT else outer)
        return out

    def value_of(self, key: str, value: Any, outer: str | None = None) -> Any:
        """Return the value of a metadata key as `memory` shows it: its name, or that of an outer key (`outer`), may say
        what it holds."""
        kind = named(key) or (None if about(key) else outer)
        if kind is None:
            return self._value(value)
        if isinstance(value, Mapping) and kind != "secret":
            return self._mapping(value, kind)
        if isinstance(value, list | tuple) and kind != "secret":
            return [self.value_of(key, item, kind) for item in value]
        told = isinstance(value, str) and self._known.fullmatch(value) is not None  # it is a placeholder already
        if may_hold(key, kind, value) and not told:
            return self._placeholder(kind, str(value))
        return self._value(value)


# -- finding -------------------------------------------------------------------------------------------------------


def find(text: str, placeholders: re.Pattern[str] | None = None) -> list[Span]:
    """Return the spans of personal data and secrets in `text`, in order; no two overlap.

    Matches of `placeholders` (default: those of our kinds) are left alone.
    """
    left = [m.span() for m in (placeholders or _PLACEHOLDER).finditer(text)] if "[" in text else []
    found: list[Span] = []
    joined: Plain | None = None
    for i, plain in enumerate(readings(text)):
        joined = plain.joined() if i == 0 else joined
        found += _read(text, plain, left, placeholders or _PLACEHOLDER)
    if joined:
        found += _across(text, joined, _apart(found), left, placeholders or _PLACEHOLDER)
    return _apart(found)


def _across(
    text: str, joined: Plain, found: list[Span], left: Sequence[tuple[int, int]], placeholders: re.Pattern[str]
) -> Iterator[Span]:
    """Yield the values that go on behind a line break, and of which not enough was found before it."""
    starts, ends = [span[0] for span in found], [span[1] for span in found]
    for start, end, kind in _read(text, joined, left, placeholders, broken=True):
        if kind == "phone" and not (_LETTER_BEFORE.search(text, max(0, start - 80), start) or _LETTER.match(text, end)):
            continue  # a column of numbers
        inside = found[bisect_right(ends, start) : bisect_left(starts, end)]
        if not inside or (len(inside) == 1 and _goes_on(text, inside[0], (start, end, kind))):
            yield start, end, kind


def _goes_on(text: str, part: Span, whole: Span) -> bool:
    """Say whether what was found before a line break is only a part of a number, or of a key."""
    if part[0] < whole[0] or part[1] > whole[1]:
        return False
    if whole[2] in ("iban", "card"):  # a checksum says so
        return True
    if part[2] != whole[2]:
        return False
    tail = text[part[1] : whole[1]].split()
    if whole[2] == "secret":
        return bool(tail) and len(SWITCH.findall(tail[-1])) >= 2
    return whole[2] in ("phone", "id") and sum(c.isdigit() for c in text[part[0] : part[1]]) < _WHOLE_PHONE


def _read(
    text: str, plain: Plain, left: Sequence[tuple[int, int]], placeholders: re.Pattern[str], broken: bool = False
) -> Iterator[Span]:
    """Return the spans that one reading of a text shows; only those with a line break in them if they are `broken`."""
    found: list[Span] = []
    if left:
        if plain.text is not text:
            left = [m.span() for m in placeholders.finditer(plain.text)]
        plain.hide(left)
    if "://" in plain.text and "@" in plain.text:
        _take(plain, found, ((start, end, "url") for start, end in secrets.credentials(plain.text)))
    _take(plain, found, ((start, end, "secret") for start, end in secrets.keys(plain)))
    _take(plain, found, ((start, end, "email") for start, end in secrets.emails(plain.text)))
    if _SOME_DIGIT.search(plain.text):
        _take(plain, found, ((start, end, "iban") for start, end in numbers.ibans(plain.text)))
        _take(plain, found, ((start, end, "id") for start, end in national.ids(plain.text, plain.low)))
        _take(plain, found, ((start, end, "address") for start, end in national.addresses(plain)))
        _take(plain, found, ((start, end, kind) for kind, start, end in numbers.numbers(plain)))
    return ((*plain.origin(start, end), kind) for start, end, kind in found if not broken or plain.broken(start, end))


def find_own(text: str, own: Own, placeholders: re.Pattern[str]) -> list[Span]:
    """Return the matches of users' patterns in `text`, in order and without overlaps, around the placeholders in it."""
    left = [m.span() for m in placeholders.finditer(text)] if "[" in text else []
    theirs = _apart((m.start(), m.end(), name) for name, pattern in own for m in pattern.finditer(text) if m.group())
    return [piece for span in theirs for piece in _around(text, span, left)]


def _around(text: str, span: Span, left: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield `span` without the placeholders in it. A piece between two of them must hold a letter or digit."""
    start, end, kind = span
    inside = left[bisect_right(left, start, key=itemgetter(1)) : bisect_left(left, end, key=itemgetter(0))]
    if not inside:
        yield span
        return
    for hole_start, hole_end in (*inside, (end, end)):
        if any(c.isalnum() for c in text[start:hole_start]):
            yield start, hole_start, kind
        start = max(start, hole_end)


def _take(plain: Plain, found: list[Span], spans: Iterable[Span]) -> None:
    """Add the spans, and hide them from later searches."""
    new = _apart(spans)
    found += new
    plain.hide([(start, end) for start, end, _ in new])


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order: two that overlap become one, of the kind that begins first, then is longer."""
    out: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), out[-1][2])
        else:
            out.append((start, end, kind))
    return out


def _same(kind: str, value: str) -> str:
    """Return a key that is the same for all ways to write one value."""
    plain = Plain(value).text
    if kind in ("secret", "url") or kind not in _KINDS:
        return plain
    if kind == "email":
        return plain.lower()
    if kind == "phone":
        digits = "".join(c for c in plain if c.isdigit())
        digits = digits[2:] if digits.startswith("00") else digits
        return digits[1:] if len(digits) == 11 and digits.startswith("1") else digits
    if kind == "address":
        return " ".join(re.findall(r"\w+", plain.lower()))
    if kind == "ip":
        return plain.lower()
    return "".join(c for c in plain.upper() if c.isalnum())


def _placeholders(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\[(?:{'|'.join(sorted(names))})-[0-9]{{1,6}}\]")


_PLACEHOLDER = _placeholders(_KINDS)
