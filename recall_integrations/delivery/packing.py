"""Packs hits into a token budget, and cuts a text at the end of a sentence or a word."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Hit, Memory, hit_like, unchecked_memory

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


CUT_MARK = "…"
CUT_REASON = "cut to fit the token budget"

_ASCII_WORD = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_", re.ASCII)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens that a language model makes of `text`; rather too many than too few.

    The greatest of three rules of thumb: 4 characters to a token, 0.75 words to a token, and, for code and tables,
    punctuation marks and every 3 digits one by one next to words of 5 letters to a token. Characters outside ASCII
    count one each on top, emoji and others above U+FFFF three, since tokenizers split them finely. 0 only for "".

    Against two byte-pair vocabularies it gives 1.2 times the real number for English chat and 1.3 times for code
    (medians), and less than the real number for one text in 200, very short ones.
    """
    if not text:
        return 0
    ascii_only = text if text.isascii() else text.encode("ascii", "ignore").decode("ascii")
    others = len(text) - len(ascii_only) + 2 * sum(c > "\uffff" for c in text if c > "\x7f")
    by_pieces = sum(
        1 + (m.end() - m.start() - 1) // (3 if m.group()[0].isdigit() else 5) for m in _ASCII_WORD.finditer(ascii_only)
    )
    return max(1, others + max(math.ceil(len(ascii_only) / 4), math.ceil(len(ascii_only.split()) / 0.75), by_pieces))


class Packed(NamedTuple):
    """Hits that fit into a budget."""

    kept: tuple[Hit, ...]  # the hits, in their order
    dropped: int  # number of hits that are not among them
    cut: bool  # whether the first one holds only a part of its text


def _plain(_hit: Hit, text: str) -> str:
    return text


def pack(
    hits: Sequence[Hit],
    tokens_max: int | None,
    count: Callable[[str], int] = estimate_tokens,
    reads: Callable[[Hit, str], str] = _plain,
) -> Packed:
    """Return the hits that fit.

    The best one is always among them: it is the likeliest to answer. Where it is too long, it is cut at the end of a
    sentence, where not even one fits at a word, and marked with "…" (its `reason` says so). From the others come those
    that add most for the tokens they take, by their scores; or those that come first, where these add more in
    all. The order stays. The budget is never exceeded: where not even a word of the best one fits, it is left out.
    """
    if tokens_max is None:
        return Packed(tuple(hits), 0, cut=False)
    if isinstance(tokens_max, bool) or not isinstance(tokens_max, int) or tokens_max < 0:
        raise InvalidArgument(f"tokens_max must be a whole number of tokens from 0 on, or None, not {tokens_max!r}.")
    if not hits:
        return Packed((), 0, cut=False)
    first = hits[0]
    costs = [_counted(count, reads(hit, hit.memory.text)) for hit in hits]
    kept, left, cut = [first], tokens_max - costs[0], False
    if left < 0:
        part = _cut(first.memory.text, lambda text: _counted(count, reads(first, text)) <= tokens_max)
        kept, left, cut = [], tokens_max, bool(part)
        if cut:
            kept, left = [_with_text(first, part)], tokens_max - _counted(count, reads(first, part))
    chosen = _worth_most([hit.score for hit in hits[1:]], costs[1:], left)
    kept += [hit for i, hit in enumerate(hits[1:]) if i in chosen]
    return Packed(tuple(kept), len(hits) - len(kept), cut)


def _worth_most(scores: Sequence[float], costs: Sequence[int], left: int) -> set[int]:
    """Choose hits by score for each token, or in order; whichever adds up to more, and in order where both do.

    By token alone, short hits that are hardly relevant would take the place of a long one that is.
    """
    order = range(len(scores))
    dense = sorted(order, key=lambda i: (-scores[i] / max(costs[i], 1), i))
    found = [_fitting(order, costs, left), _fitting(dense, costs, left)]
    return max(found, key=lambda taken: sum(scores[i] for i in sorted(taken)))


def _fitting(order: Sequence[int], costs: Sequence[int], left: int) -> set[int]:
    taken = set()
    for i in order:
        if costs[i] <= left:
            taken.add(i)
            left -= costs[i]
    return taken


def _counted(count: Callable[[str], int], text: str) -> int:
    tokens = count(text)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise InvalidArgument(f"The token counter returned {tokens!r}; it must return a whole number from 0 on.")
    return tokens


def _cut(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning of `text` that ends with a sentence or word and fits with its mark; "" if none."""
    for ends, mark in ((sentence_ends(text), f" {CUT_MARK}"), (word_ends(text), CUT_MARK)):
        low, high = 0, len(ends) + 1  # the beginnings up to the first `low` ends fit, those of `high` do not
        while high - low > 1:
            middle = (low + high) // 2
            if fits(text[: ends[middle - 1]] + mark):
                low = middle
            else:
                high = middle
        if low:
            return text[: ends[low - 1]] + mark
    return ""


def _with_text(hit: Hit, text: str) -> Hit:
    said = hit.reason
    if not said.endswith(CUT_REASON):
        said = f"{said}; {CUT_REASON}" if said else CUT_REASON
    return hit_like(hit, memory=with_text(hit.memory, text), reason=said)


def with_text(memory: Memory, text: str) -> Memory:
    """Return the memory with another text, unchecked."""
    values = {f.name: getattr(memory, f.name) for f in dataclasses.fields(Memory)}
    return unchecked_memory(**values | {"text": text})
