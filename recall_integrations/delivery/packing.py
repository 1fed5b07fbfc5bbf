"""Fit the hits into a token budget.

The budget is for the texts of the memories, as `count` counts them; what a caller puts around them (names, dates,
separators) is the caller's to leave room for.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence

from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Hit, Memory, unchecked_memory

CUT_MARK = "…"
CUT_REASON = "cut to fit the token budget"

_ASCII_WORD = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_", re.ASCII)


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model makes of `text`; rather too many than too few.

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


def pack(
    hits: Sequence[Hit], tokens_max: int | None, count: Callable[[str], int] = estimate_tokens
) -> tuple[tuple[Hit, ...], int]:
    """The hits that fit, and how many were dropped.

    Best first: a hit that does not fit into what is left is dropped, and smaller ones after it are still taken, so the
    order stays and the budget is used. If no hit fits at all, the best one is cut at a word and marked with "…" (its
    `reason` says so), because part of the answer is worth more than none; if not even a word fits, nothing is returned.
    The budget is never exceeded.

    Args:
        hits: best first.
        tokens_max: the budget in tokens, from 0 on; `None` = no limit.
        count: tokens of a text, from 0 on. Default: `estimate_tokens`.

    Returns:
        `(kept, dropped)`; a hit that was cut is kept. `len(kept) + dropped == len(hits)`.

    Raises:
        InvalidArgument: a budget that is no whole number from 0 on, or a counter that returns one below 0.
    """
    if tokens_max is None:
        return tuple(hits), 0
    if isinstance(tokens_max, bool) or not isinstance(tokens_max, int) or tokens_max < 0:
        raise InvalidArgument(f"tokens_max must be a whole number of tokens from 0 on, or None, not {tokens_max!r}.")
    kept: list[Hit] = []
    left = tokens_max
    for hit in hits:
        cost = _counted(count, hit.memory.text)
        if cost <= left:
            kept.append(hit)
            left -= cost
    if not kept and hits:
        cut = _cut(hits[0].memory.text, tokens_max, count)
        if cut:
            kept.append(_with_text(hits[0], cut))
    return tuple(kept), len(hits) - len(kept)


def _counted(count: Callable[[str], int], text: str) -> int:
    tokens = count(text)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise InvalidArgument(f"The token counter returned {tokens!r}; it must return a whole number from 0 on.")
    return tokens


def _cut(text: str, tokens_max: int, count: Callable[[str], int]) -> str:
    """The longest beginning of `text` that ends at a word and fits with its mark; "" if none does."""
    ends = [m.end() for m in re.finditer(r"\S+", text)]
    low, high = 0, len(ends)  # beginnings of `low` words fit, of `high` words (all) do not
    while high - low > 1:
        middle = (low + high) // 2
        if _counted(count, text[: ends[middle - 1]] + CUT_MARK) <= tokens_max:
            low = middle
        else:
            high = middle
    return text[: ends[low - 1]] + CUT_MARK if low else ""


def _with_text(hit: Hit, text: str) -> Hit:
    values = {f.name: getattr(hit.memory, f.name) for f in dataclasses.fields(Memory)}
    reason = f"{hit.reason}; {CUT_REASON}" if hit.reason else CUT_REASON
    return dataclasses.replace(hit, memory=unchecked_memory(**values | {"text": text}), reason=reason)
