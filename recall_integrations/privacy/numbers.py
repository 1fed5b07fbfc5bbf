"""Numbers: cards, IBANs, social security numbers, IP addresses, phones, national ids. Found by shape, then checked.

The text is read once, in clusters: digits and what may stand between the digits of one number. Within a cluster every
group of digits may begin a number; its kind is decided by the lengths of the groups, and then by checksum.

Formats: ISO/IEC 7812 (cards, Luhn), ISO 13616 (IBAN: country, length, mod 97), E.164 and national habits (phones).
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recall_integrations.privacy import national
from recall_integrations.privacy.national import iban_length, iban_valid, luhn
from recall_integrations.privacy.normal import Plain, alternatives

Spans = Sequence[tuple[int, int]]

_DIGITS_MIN, _DIGITS_MAX = 7, 15
_DATE_OR_TIME = re.compile(
    r"(?:19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:(?:19|20)[0-9]{2}|[0-9]{2})(?![-/.]?[0-9])|[0-9]{1,2}:[0-9]{2}"
)
_COMPACT_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_NORTH_AMERICA = re.compile(
    r"(?:1[ .\-/]?)?(?:\([2-9][0-9]{2}\)[ .\-/]{0,2}|[2-9][0-9]{2}[ .\-/]{1,3})[0-9]{3}[ .\-/]{1,3}[0-9]{4}(?![0-9])"
    r"|(?:1[ .\-/]?)?(?:\([2-9][0-9]{2}\)[ .\-/]{0,2}|[2-9][0-9]{2}[.\-/])[0-9]{7}(?![0-9])"
)
_FORMS = re.compile(
    r"0[1-9](?:[ .\-/][0-9]{2}){4}(?![0-9])"  # a leading 0, in pairs
    r"|[6-9][0-9]{4}[ -][0-9]{5}(?![0-9])"  # Indian
    r"|1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}(?![0-9])"  # Chinese
    r"|\([1-9][0-9]{1,2}\)[ ]?9?[0-9]{3,4}[ -][0-9]{4}(?![0-9])"  # Brazilian, Mexican
    r"|8[ -]?(?:\([0-9]{3,4}\)|9[0-9]{2})[ -]?[0-9]{2,3}[ -]?[0-9]{2}[ -]?[0-9]{2}(?![0-9])"  # Russian
)
_MOBILE = re.compile(r"1[3-9][0-9]{9}|[78]9[0-9]{9}")  # Chinese, Russian: of no other number so often the length
_FORM_DIGITS_MIN, _FORM_DIGITS_MAX = 9, 12
_ZIP = re.compile(r"[0-9]{5}-[0-9]{4}(?!-?[0-9])")
_ZIP_BEFORE = re.compile(r"(?:(?i:zip(?: code)?):?|,? [A-Z]{2}) $")
_GROUPS_MAX = 8
_FIRST_GROUPS = (1, 3, 5)  # of the forms above; others stand in brackets
_TRUNK_MAX = 6  # digits of the area's code, with the 0

_WORDS = alternatives("phone")
# Unbroken digits behind these are numbers of things.
_CODE_BEFORE = re.compile(
    r"(?:order|invoice|id|ticket|tracking|booking|reference|ref|case|item|sku|isbn|account|barcode)s?"
    r"(?: ?(?:no|number|num|nr|id|code))?[^a-z0-9]{0,4}$"
)
_CODE_CHARS = 32
_SMALL = (
    r"number|num|nummer|no|nr|me|us|him|her|them|on|at|is|ist|es|est|è|am|unter|au|al|now|back|please|the|to|from"
    r"|号码|号|番号"
)
_CUE = re.compile(rf"(?<![a-zа-я])(?:{_WORDS})[^a-z0-9\n]{{0,5}}(?:(?:{_SMALL})[^a-z0-9\n]{{0,4}}){{0,3}}$")
_LETTER_LAST = re.compile(r"[^\W0-9_][\W_]{0,6}$")
_CUE_CHARS = 44


def phone_at(text: str, low: str, spans: Spans, i: int) -> tuple[int, int] | None:
    """Return the span of the phone number that begins with group `i` of a cluster of digits, if one does."""
    start = spans[i][0]
    if text[start - 1 : start] in ("-", ".") and text[max(0, start - 2) : start - 1].isdigit():
        return None
    begin = start
    while begin and start - begin < 3 and text[begin - 1] in "+(":
        begin -= 1
    if "+" in text[begin:start]:
        end = _international(text, spans, i, 0)
        return None if end is None else (begin, end)
    if text.startswith("00", start) and text[start + 2 : start + 3].isdigit() and text[start + 2] != "0":
        end = _international(text, spans, i, 2)
        if end is not None:
            return begin if text[begin:start] == "(" and ")" in text[start:end] else start, end
    return _national(text, low, spans, i, begin) or _behind_a_word(text, low, spans, i)


def _international(text: str, spans: Spans, i: int, prefix: int) -> int | None:
    """Return the end of a number with a country's code; its digits begin with `prefix` zeros."""
    best = None
    for total, end in _ends(text, spans, i):
        digits = total - prefix
        if digits > _DIGITS_MAX:
            break
        if digits == 11 and text[spans[i][0] + prefix] == "1":
            return end
        if digits >= _DIGITS_MIN + prefix:
            best = end
    return best


def _ends(text: str, spans: Spans, i: int) -> list[tuple[int, int]]:
    """Return (digits so far, end) of each group that may belong to the number that begins with group `i`."""
    found: list[tuple[int, int]] = []
    total = 0
    for j in range(i, min(i + _GROUPS_MAX, len(spans))):
        start, end = spans[j]
        if j > i:
            gap = text[spans[j - 1][1] : start]
            if gap.startswith(". ") or (total >= _DIGITS_MIN and _DATE_OR_TIME.match(text, start)):
                break
            if total >= 10 and (gap == " - " or (gap == " " and end - start == 1)):
                break
        if end - start <= 2 and text[end : end + 1] == ":" and text[end + 1 : end + 2].isdigit():  # 10:30
            break
        total += end - start
        found.append((total, end))
    return found


def _national(text: str, low: str, spans: Spans, i: int, begin: int) -> tuple[int, int] | None:
    start, end = spans[i]
    money = text[start - 1 : start] in ("$", "€", "£", "¥")
    if money and "." in text[end : end + 1]:
        return None
    bracket = start - 1 if text[start - 1 : start] == "(" else start
    for at in {bracket: None, start: None} if end - start in _FIRST_GROUPS or bracket < start else ():
        for form in (_NORTH_AMERICA, _FORMS):
            match = form.match(text, at)
            if match and match.group().count("(") == match.group().count(")"):
                return match.span()
    if text[start] != "0" or text[start + 1 : start + 2] in ("", "0") or not 2 <= end - start <= _TRUNK_MAX:
        unbroken = not money and (
            _MOBILE.fullmatch(text, start, end)
            if end - start == 11 and text[start] != "0"
            else end - start in (10, 11) and text[start] == "0" and text[start + 1] != "0"
        )
        return (start, end) if unbroken and not _CODE_BEFORE.search(low[max(0, start - _CODE_CHARS) : start]) else None
    return _behind_zero(text, spans, i, bracket)


def _behind_zero(text: str, spans: Spans, i: int, bracket: int) -> tuple[int, int] | None:
    """Return the span of a number in groups of which the first begins with 0."""
    start = spans[i][0]
    if _DATE_OR_TIME.match(text, start) or (
        _ZIP.match(text, start) and _ZIP_BEFORE.search(text, max(0, start - 12), start)
    ):
        return None
    ends = _ends(text, spans, i)
    best = None
    for j, (total, end) in enumerate(ends[1:], i + 1):
        gap = text[spans[j - 1][1] : spans[j][0]]
        if spans[j][1] - spans[j][0] < 2 or total > _FORM_DIGITS_MAX or "(" in gap:
            break
        if total >= _FORM_DIGITS_MIN:
            best = end
    if best is None:
        return None
    return (bracket if ")" in text[bracket:best] else spans[i][0]), best


def _behind_a_word(text: str, low: str, spans: Spans, i: int) -> tuple[int, int] | None:
    start, end = spans[i]
    if not _LETTER_LAST.search(low, max(0, start - 8), start) or (
        end - start == 8 and _COMPACT_DATE.match(text, start)
    ):
        return None
    reach = _ends(text, spans, i)
    for j in range(i + 1, i + len(reach)):
        if text.startswith("00", spans[j][0]) and _international(text, spans, j, 2):  # another begins
            reach = reach[: j - i]
            break
    ends = [end for total, end in reach if _DIGITS_MIN <= total <= _DIGITS_MAX]
    return (start, ends[-1]) if ends and _CUE.search(low[max(0, start - _CUE_CHARS) : start].rstrip("(")) else None


_CLUSTER = re.compile(r"[0-9]+(?:[ ().\-/]{1,3}[0-9]+)*")
_GROUP = re.compile(r"[0-9]+")
_DIGITS_LONGEST = 19  # a longer unbroken group is no number of a person
_CLUSTER_MIN = 7  # 1.1.1.1 is an address
_SINGLES_MAX = 3  # more groups of one digit in a row are a list of scores

_DATE = (
    r"(?:[0-9]{4}[-/.][01]?[0-9][-/.][0-3]?[0-9]|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2}))"
    r"(?![0-9/]|[.-][0-9])"
)
_TIME = (
    r"[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2}(?:[.,][0-9]{1,9})?)?(?:[ ]?[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?"
    r"(?![0-9]|\.[0-9])"
)
_KEEP = re.compile(
    rf"{_DATE}(?:[T ,]{{1,2}}{_TIME})?|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T|"
    r"(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}(?![-0-9])"
)
_IN_DATES = ("-", "/", ".")
# With spaces only; 06 and 07 begin mobile numbers.
_SPACED_MOMENT = re.compile(
    r"(?:19|20)[0-9]{2} (?:0[1-589]|1[0-2]) (?:0[1-9]|[12][0-9]|3[01]) (?:[01][0-9]|2[0-3])"
    r"(?: [0-5][0-9]){2}(?![0-9]| [0-9])"
)
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])", re.I)
_UUID_CHARS = 36


Found = tuple[str, int, int]  # kind, start, end


class Groups(NamedTuple):
    """The groups of digits of one cluster: start and end of each."""

    text: str
    low: str
    spans: list[tuple[int, int]]

    def gap(self, i: int) -> str:
        """Return the text between group `i` and the next."""
        return self.text[self.spans[i][1] : self.spans[i + 1][0]]

    def digits(self, i: int, j: int) -> str:
        """Return the digits of groups `i` to `j`, `j` excluded."""
        return "".join(self.text[a:b] for a, b in self.spans[i:j])


def numbers(plain: Plain) -> Iterator[Found]:
    """Yield (kind, start, end) of every personal number, in order; none overlap, except IPv6 addresses."""
    text, low = plain.text, plain.low
    if "_" in text:
        for match in _CARD_JOINED.finditer(text):
            if _is_card(match.group().replace("_", "")):
                yield "card", *match.span()
    if "::" in text or text.count(":") >= 6:
        yield from _ipv6(text)
    for cluster in _CLUSTER.finditer(text):
        start, end = cluster.span()
        if end - start >= _CLUSTER_MIN:
            yield from _of_cluster(text, low, start, end)


def _of_cluster(text: str, low: str, start: int, end: int) -> Iterator[Found]:
    groups = Groups(text, low, [m.span() for m in _GROUP.finditer(text, start, end)])
    i, done = 0, start
    while i < len(groups.spans):
        at = groups.spans[i][0]
        if at < done:  # what letters continue may end inside the next group
            i += 1
            continue
        behind = text[groups.spans[i][1] : groups.spans[i][1] + 1]
        keep = _KEEP if behind in _IN_DATES else _SPACED_MOMENT if behind == " " else None
        kept = keep.match(text, at) if keep else None
        if kept and not text[max(0, at - 1) : at].isalnum():
            done = max(kept.end(), groups.spans[i][1])
            i += 1
            continue
        found = _at(groups, i)
        if found is None or _in_uuid(low, found[1], found[2]):
            i += max(1, _singles(groups, i) - 1)  # the last may begin a number
            continue
        found = _whole(groups, i, found)
        yield found
        done = found[2]
        i += 1


def _singles(groups: Groups, i: int) -> int:
    """Count the groups of one digit from `i` on, if they are too many for a number; else return 0."""
    j = i
    while j < len(groups.spans) and groups.spans[j][1] - groups.spans[j][0] == 1:
        j += 1
    return j - i if j - i > _SINGLES_MAX else 0


def _whole(groups: Groups, i: int, found: Found) -> Found:
    """Extend a find by one that a checksum finds to begin inside and end after it: nothing may be left over."""
    for k in range(i + 1, len(groups.spans)):
        if groups.spans[k][0] >= found[2]:
            break
        inside = _checked(groups, k)
        if inside is not None and inside[2] > found[2]:
            return inside[0], found[1], inside[2]
    return found


def _at(groups: Groups, i: int) -> Found | None:
    """Return the find that begins at group `i`: by a checksum or a narrow form, else a phone number."""
    if groups.spans[i][1] - groups.spans[i][0] > _DIGITS_LONGEST:
        return None
    if found := _checked(groups, i):
        return found
    span = phone_at(groups.text, groups.low, groups.spans, i)
    return ("phone", *span) if span else None


def _checked(groups: Groups, i: int) -> Found | None:
    """Return the find at group `i` other than a phone number. Kinds that the group's length rules out are not tried."""
    start, end = groups.spans[i]
    size = end - start
    follows = groups.text[end : end + 1]
    if size in (3, 9) and (span := _ssn(groups, i)):
        return ("ssn", *span)
    if groups.text[start] in "23456" and (span := _card(groups, i)):
        return ("card", *span)
    if follows == "." and size <= 3 and (span := _ipv4(groups, i)):
        return ("ip", *span)
    if span := national.id_at(groups.text, start, size):
        return ("id", *span)
    return None


def _in_uuid(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - _UUID_CHARS) : end + _UUID_CHARS]
    return "-" in around and any(
        m.start() < end - max(0, start - _UUID_CHARS) and m.end() > start - max(0, start - _UUID_CHARS)
        for m in _UUID.finditer(around)
    )


# -- IBAN ----------------------------------------------------------------------------------------------------------

_IBAN = re.compile(r"[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9]{3})")
_IBAN_TAIL = re.compile(r"(?:[ -]?[A-Za-z0-9]){11,32}")


def ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of IBANs."""
    for match in _IBAN.finditer(text):
        start = match.start()
        length = iban_length(match.group()[:2].upper())
        if length is None or (start and text[start - 1].isascii() and text[start - 1].isalnum()):
            continue
        tail = _IBAN_TAIL.match(text, match.end())
        end = _iban_end(text, start, tail.end(), length) if tail else None
        # The end of a UUID may be as long as an Estonian one: "…-ee08-d583-890ac61a2075".
        if end is not None and not _in_uuid(text, start, end):
            yield start, end


def _iban_end(text: str, start: int, stop: int, length: int) -> int | None:
    seen = ""
    for place in range(start, stop):
        if text[place].isalnum():
            seen += text[place].upper()
        if len(seen) == length:
            return place + 1 if iban_valid(seen) else None
    return None


# -- cards ---------------------------------------------------------------------------------------------------------


_CARD_JOINED = re.compile(r"(?<![0-9])(?<![0-9]_)[2-6][0-9]{3}(?:_[0-9]{4}){3}(?!_?[0-9])")


def _card(groups: Groups, i: int) -> tuple[int, int] | None:
    text, spans = groups.text, groups.spans
    start, end = spans[i]
    if text[start] not in "23456" or (start and text[start - 1] == "." and text[max(0, start - 2)].isdigit()):
        return None
    if end - start < 3 and i + 1 < len(spans) and spans[i + 1][1] - spans[i + 1][0] > 1:
        return None
    singles = _singles(groups, i)
    total, best = 0, None
    for j in range(i, min(i + (singles or 8), len(spans))):
        if j > i and not singles:
            short = spans[j][1] - spans[j][0] < 3 and spans[j][1] - spans[i][0] < 13
            if short or len(groups.gap(j - 1)) > 1:
                break
        total += spans[j][1] - spans[j][0]
        if total > _DIGITS_LONGEST:
            break
        if total >= (16 if text[start - 1 : start] == "+" else 13) and _is_card(groups.digits(i, j + 1)):
            best = spans[j][1]
    return None if best is None else (start, best)


def _is_card(digits: str) -> bool:
    """Say whether an issuer gives out such numbers, and the check digit is right."""
    n, first = len(digits), digits[0]
    if first == "4":
        known = n in (13, 16, 19)
    elif first == "5":
        known = n == 16 or (n > 16 and digits[1] in "0678")
    elif first == "6":
        known = n >= 16
    elif first == "3":
        known = (n == 15 and digits[1] in "47") or (n == 14 and digits[1] in "0689") or (n == 16 and digits[1] == "5")
    else:
        known = n == 16 and (2200 <= int(digits[:4]) <= 2204 or 2221 <= int(digits[:4]) <= 2720)
    return known and luhn(digits) and len(set(digits)) > 1


# -- social security numbers ---------------------------------------------------------------------------------------

_SSN_CUE = re.compile(
    r"(?:ssn|social security|itin|tax(?:payer)? id)(?: number| no\.?| num)?[^a-z0-9]{0,4}(?:is[^a-z0-9]{1,3})?$"
)


_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


def _ssn(groups: Groups, i: int) -> tuple[int, int] | None:
    spans = groups.spans
    start, end = spans[i]
    if end - start == 9:
        return (start, end) if _SSN_CUE.search(groups.low[max(0, start - 40) : start]) else None
    if end - start != 3 or i + 2 >= len(spans):
        return None
    (a, b), (c, d) = spans[i + 1], spans[i + 2]
    gap = groups.gap(i)
    if d - c == 6 and _CLOCK.match(groups.text, c + 4):  # the hour stands right behind
        d -= 2
    if (b - a, d - c) != (2, 4) or gap != groups.gap(i + 1) or gap not in ("-", " ", ".", "/"):
        return None
    return start, d


# -- IP addresses --------------------------------------------------------------------------------------------------

_VERSION_BEFORE = re.compile(
    r"(?:version|release|build|ver\.?|(?<![a-z0-9])[vr]\.?|(?<!ip)(?<!host)(?<!addr)(?<!address)[a-z0-9_\]-]=="
    r"|>=|<=|~=)"
    r"[ ]?$"
)
_PRODUCT_BEFORE = re.compile(r"(?:^|[ (;\"'])[A-Z][A-Za-z-]{1,20}/$")
_NO_VERSION = re.compile(r"192\.168\.|172\.(?:1[6-9]|2[0-9]|3[01])\.|169\.254\.|127\.0\.0\.[1-9]")  # unlike "10."
# Short numbers behind these are places in a document, or versions.
_PLACE_BEFORE = re.compile(
    r"(?<![a-z])(?:section|chapter|clause|paragraph|appendix|figure|kernel|nginx|python|linux|openssl)[ ]$"
)
_PLACE = re.compile(r"[0-9]\.[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(?![0-9])")


def _ipv4(groups: Groups, i: int) -> tuple[int, int] | None:
    text, spans = groups.text, groups.spans
    if i + 3 >= len(spans) or any(b - a > 3 or int(text[a:b]) > 255 for a, b in spans[i : i + 4]):
        return None
    if groups.digits(i, i + 4) == "0000" or groups.digits(i, i + 2) == "255255":  # no host, a mask
        return None
    if any(groups.gap(j) != "." for j in range(i, i + 3)):
        return None
    start, end = spans[i][0], spans[i + 3][1]
    if text[start - 1 : start] == "." and text[max(0, start - 2) : start - 1].isdigit():
        return None
    if (i + 4 < len(spans) and groups.gap(i + 3) == ".") or _is_letter(text, end):
        return None
    before = max(0, start - 24)
    if _NO_VERSION.match(text, start):
        return start, end
    if _VERSION_BEFORE.search(groups.low[before:start]) or _PRODUCT_BEFORE.search(text[before:start]):
        return None
    if _PLACE.match(text, start) and _PLACE_BEFORE.search(groups.low[before:start]):
        return None
    return start, end


def _is_letter(text: str, at: int) -> bool:
    return at < len(text) and text[at].isascii() and text[at].isalpha()


_SLICE = re.compile(r"[0-9]{0,4}::[0-9]{0,4}")
_INDEXED = re.compile(r"[\w\])]\[$")
_IPV6 = re.compile(r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,39}(?:\.[0-9]{1,3}){0,3}")


def _ipv6(text: str) -> Iterator[Found]:
    for match in _IPV6.finditer(text):
        start, end = match.span()
        written = match.group()
        if "::" not in written and written.count(":") < 7:
            continue
        first = start > 0 and text[start - 1].isascii() and text[start - 1].isalnum()
        skip = written.index(":") + 1 if first or (written[0] == ":" and written[1] != ":") else 0
        if _is_letter(text, end) or (first and written.startswith("::")):
            continue
        if _SLICE.fullmatch(written) and _INDEXED.search(text, max(0, start - 2), start):  # x[::2]
            continue
        inner = len(written) - len(written.lstrip(":"))
        for begin, stop in itertools.product((skip, inner), (len(written), len(written.rstrip(":.")))):
            if (begin == skip or written.startswith("::")) and _is_ipv6(written[begin:stop]):
                yield "ip", start + begin, start + stop
                break


def _is_ipv6(written: str) -> bool:
    # "::" and "a::b" are also how programs write names
    if not any(c.isdigit() for c in written):
        return False
    try:
        ipaddress.IPv6Address(written)
    except ValueError:
        return False
    return True
