"""Exact match of identifiers: a memory that holds `ABC-123` letter by letter goes before one about another ticket."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text import narrow
from recall_integrations.types.readings import Identifier


def exact_shares(texts: Sequence[str], identifiers: Sequence[Identifier]) -> NDArray[np.float32]:
    """Return the share of the identifiers that each text holds, in any case, whole: `ABC-12` is not in `ABC-123`.

    Returns:
        float32 `(len(texts),)` in [0, 1].
    """
    wanted = list(dict.fromkeys(narrow(i.text).casefold() for i in identifiers if i.text))
    held = np.zeros(len(texts), dtype=np.float32)
    if not wanted:
        return held
    for place, text in enumerate(texts):
        folded = narrow(text).casefold()
        held[place] = sum(_holds(folded, item) for item in wanted) / len(wanted)
    return held


def _holds(text: str, item: str) -> bool:
    start = text.find(item)
    while start >= 0:
        end = start + len(item)
        open_before = start == 0 or not (text[start - 1].isalnum() and item[0].isalnum())
        open_after = end == len(text) or not (text[end].isalnum() and item[-1].isalnum())
        if open_before and open_after:
            return True
        start = text.find(item, start + 1)
    return False
