"""Token ids of short texts, word by word: those of a word do not depend on the others, and most words come again.

As BERT cuts texts: letters and figures that stand together are a word, any other sign is one by itself. Of a query of
fourteen words the tokenizer takes .1 ms, of which most is what it keeps of places and masks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KEPT = 8_192  # words
_WORD = re.compile(r"[a-z0-9]+|[^ a-z0-9]")


class KeptWords:
    """Cache of the token ids of words. Threads share it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._most = kept
        self._ids: dict[str, list[int]] = {}

    def ids(self, text: str, tokenizer: Tokenizer) -> list[int] | None:
        """Return the ids of a text's tokens, in order; `None` where the tokenizer itself has to be asked."""
        # Other letters are normalised, control characters dropped, and "[PAD]" is a token of its own.
        if not text.isascii() or not text.isprintable() or "[" in text:
            return None
        known = self._ids
        words = _WORD.findall(text.lower())
        try:
            return [i for word in words for i in known[word]]
        except KeyError:
            pass
        missing = list(dict.fromkeys(word for word in words if word not in known))
        encoding = tokenizer.encode(" ".join(missing), add_special_tokens=False)
        found: dict[str, list[int]] = {word: [] for word in missing}
        for place, number in zip(encoding.word_ids, encoding.ids, strict=True):
            assert place is not None  # it has no tokens of its own to add
            found[missing[place]].append(number)
        if len(known) + len(found) > self._most:
            self._ids = {}
        self._ids.update(found)
        return [i for word in words for i in (found[word] if word in found else known[word])]
