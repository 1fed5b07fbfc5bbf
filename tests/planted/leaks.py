"""Whether something of an identifier is left in a text."""

from __future__ import annotations

import re
import unicodedata

_PLACEHOLDER = re.compile(r"\[[a-z]+-[0-9]+\]")


def _bare(text: str) -> str:
    """Letters and digits alone, in one way of writing."""
    text = re.sub(r"%[2-7][0-9A-F]", " ", text)
    return "".join(
        str(unicodedata.decimal(c, "")) or unicodedata.normalize("NFKC", c).lower() for c in text if c.isalnum()
    )


def left(output: str, secret: str, context: str, *, at_least: int = 5) -> list[str]:
    """Runs of the identifier that are in the output and not in what it was planted in.

    Args:
        output: what came out.
        secret: the part of the identifier that had to go.
        context: what it was planted in.
        at_least: characters that give something away; 5 of a number.
    """
    seen, around, bare = _bare(_PLACEHOLDER.sub("\0", output)), _bare(context), _bare(secret)
    size = min(at_least, len(bare))
    runs = {bare[i : i + size] for i in range(len(bare) - size + 1)}
    return sorted(run for run in runs if run in seen and run not in around)
