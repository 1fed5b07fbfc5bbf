"""Prepare texts to be shown in a terminal."""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"\s+")


def plain(text: str, limit: int | None = None) -> str:
    """Put text on one line without control and direction characters, cut at `limit` characters."""
    line = _SPACE.sub(" ", text)
    line = "".join("\ufffd" if _unsafe(c) else c for c in line).strip()
    return line if limit is None or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _unsafe(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
