"""Phone numbers, as people write them.

Without a word before them, by form: international (`+`, `00`), North American (3-3-4), national with a leading 0, and
the groupings of large countries in which nothing else is written. After a word such as "phone" or "call": any 7 to 15
digits. Numbers that nobody has (555) are found like others: a doubtful number counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
_FORM_DIGITS_MIN, _FORM_DIGITS_MAX = 9, 12
_ZIP = re.compile(r"[0-9]{5}-[0-9]{4}(?!-?[0-9])")
_ZIP_BEFORE = re.compile(r"(?:(?i:zip(?: code)?):?|,? [A-Z]{2}) $")
_GROUPS_MAX = 8
_FIRST_GROUPS = (1, 3, 5)  # of the forms above; others stand in brackets
_TRUNK_MAX = 6  # digits of the area's code, with the 0

_WORDS = (
    r"(?:tele)?phone|phone_?number|tel|mobile|mobil|cell(?:phone)?|fax|call(?:ed|ing)?|ring|dial(?:ed)?|text(?:ed)?|sms"
    r"|whatsapp|viber|wechat|signal|hotline|helpline|(?:my|his|her|your|our|their|contact|the)(?: (?:new|old|work"
    r"|home|office|private|personal|direct|contact|best|second|other))? (?:number|digits)(?! of)"
    r"|reach (?:me|us|him|her|them)|handy(?:nummer)?|telefon(?:nummer|o|i|nr)?|rufnummer|téléphone|tél|portable|numéro"
    r"|teléfono|móvil|celular|cellulare|telefoon(?:nummer)?|mobiel|telemóvel|telefone|komórka|telefonu|puhelin"
    r"|тел|телефон|моб|номер|电话|電話|手机|手機|携帯|전화(?:번호)?|휴대폰|هاتف|جوال|رقم|फ़ोन|फोन"
)
# Unbroken digits behind these are numbers of things.
_CODE_BEFORE = re.compile(
    r"(?:order|invoice|ticket|tracking|booking|reference|ref|case|item|sku|isbn|account|barcode)s?"
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
        unbroken = end - start in (10, 11) and not money and text[start] == "0" and text[start + 1] != "0"
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
