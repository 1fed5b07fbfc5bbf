"""Tells when two values are the same."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from recall_integrations.patterns import regex

_ARTICLE = regex(r"(?:the|a|an|my|our|his|her|their) ")
_EDGES = " \t\n.,;:!?\"'“”‘’()[]"
_NUMBER = re.compile(r"[\d\s().+\-/]{5,}")


@lru_cache(maxsize=16_384)
def norm(value: str) -> str:
    """Return a value in normal form: without case, and without articles and punctuation around it; accents are kept.

    Numbers that are written in groups are the same however they are grouped: "555 0101" and "555-0101".
    """
    text = unicodedata.normalize("NFKC", value).replace("’", "'").casefold().strip(_EDGES)
    text = " ".join(text.split())
    article = _ARTICLE.match(text)
    if article is not None and article.end() < len(text):
        text = text[article.end() :]
    if _NUMBER.fullmatch(text) and "/" not in text:
        digits = "".join(c for c in text if c.isdigit())
        if len(digits) >= 5 and not _is_date(text):
            return digits
    return text


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\.\d{1,2}\.\d{2,4}", text) is not None


def same(one: str, other: str) -> bool:
    """Say whether two values are the same, or one says the other with more words: "Lisbon" and "Lisbon, Portugal"."""
    a, b = norm(one), norm(other)
    if a == b:
        return True
    if not a or not b:
        return False
    short, long = sorted((a, b), key=len)
    return _begins(long, short)


def _begins(long: str, short: str) -> bool:
    """Say whether the longer value goes on behind the shorter with a comma, a bracket or "in": "Oslo, Norway"."""
    return long.startswith(short) and re.match(r"(?:,| \(| in )", long[len(short) :]) is not None
