"""Finds the places where a text may be cut: at the ends of its sentences, or of its words."""

from __future__ import annotations

import re
import unicodedata

# A sentence may end before white space, or anywhere in the scripts that put none between sentences.
_SENTENCE = re.compile(
    r"""(?<![.!?…؟۔։።፧။។;])[.!?…؟۔։።፧။។;]+["'»”’)\]]*(?=\s|$)|[。！？｡．।॥]+["'」』”’）]*|(?<!\n)\n+"""
)
# A full stop after one of these ends no sentence; nor after a single letter, or a number ("am 3. März").
_SHORTENED = frozenset(
    "dr mr mrs ms prof st sr jr vs no nos fig vol approx ca nr bzw usw evtl ggf inkl tel str hr fr abb sra dra srta ud"
    " pág mme mlle cf art av ing dott sig bv dhr mevr г ул им тыс млн руб см рис стр".split()
)
# A word; or one letter of the scripts that put no white space between words.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def sentence_ends(text: str) -> list[int]:
    """Return the ends of sentences, but for the last one."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    ends = []
    for found in _SENTENCE.finditer(text):
        mark, start, end = found[0], found.start(), found.end()
        if mark.isspace():
            end = start
        greek = "\u0370" <= _letter_before(text, start) <= "\u03ff"  # its question mark is a semicolon
        if (mark[0] == ";" and not greek) or (mark == "." and _goes_on(text, start, end)):
            continue
        if first < end < last:
            ends.append(end)
    return ends


def _goes_on(text: str, start: int, end: int) -> bool:
    """Say whether a full stop belongs to an abbreviation or a number."""
    after = text[end : end + 80].lstrip()[:1]
    if after.islower():
        return True
    word = re.search(r"[^\s(\[\"'«„“‘]*\Z", text[max(0, start - 80) : start])
    last = "" if word is None else word[0].casefold()
    return len(last) == 1 or last in _SHORTENED or (last.isdigit() and len(last) < 3)


def _letter_before(text: str, start: int) -> str:
    return next((c for c in reversed(text[max(0, start - 80) : start]) if c.isalpha()), "")


def word_ends(text: str) -> list[int]:
    """Return the ends of words, but for the last one; never before a mark that belongs to a letter."""
    ends = [m.end() for m in _PIECE.finditer(text)][:-1]
    return [end for end in ends if not unicodedata.category(text[end]).startswith("M")]
