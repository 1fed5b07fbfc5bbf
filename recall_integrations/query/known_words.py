"""Recognise correctly written English words, whether or not the scope uses them.

The lexicon is the whole-word part of the bundled model's tokenizer (about 20,000 English words and names) and the words
of `entities.words`; it costs no further file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from recall_integrations.embeddings.static import BUNDLED
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import is_ordinary, ordinary_words
from recall_integrations.text import IRREGULAR
from recall_integrations.text.analyser import stemmed

LETTERS_MIN = 4  # shorter words have neighbours everywhere
CANDIDATE_LETTERS_MIN = 3

# What English puts behind a word or in front of it, so that a word of the lexicon is left. Not any "s" or "d": what
# fingers double ("breedss") or hit beside ("emotiond") is no form of the word.
_ENDINGS = "ed er ers ing ly ness less ful ment able al ial ary ive or ors".split()
_BEHIND = tuple(
    re.compile(ending + "$")
    for ending in ("(?<![sxzy])s", "(?<=[sxzho])es", "(?<=e)[dr]s?", *_ENDINGS, "ist", "ism", "ups?")
)
_INSTEAD = (("ies", "y"), ("ied", "y"), ("ing", "e"), ("ily", "y"), ("ier", "y"), ("iest", "y"), ("able", "e"))
_BEFORE = regex("^(?:re|un|pre|non|over|under|out|mis|dis|co|super|anti)")
_JOINED_MIN = 4  # letters of either half of a compound


_TOKEN = regex(rf'"([^"\\]{{{LETTERS_MIN},}})":[0-9]')  # of the vocabulary, but for what JSON has to escape


@cache
def lexicon() -> frozenset[str]:
    """Return correctly written words of four letters and more, and irregular verbs, in normal form. Read once, 20 ms.

    Raises:
        OSError: the package's own model files are missing.
    """
    text = (BUNDLED / "tokenizer.json").read_text(encoding="utf-8")
    # Read as JSON, it would take up ten megabytes for a moment, which the process keeps.
    words = {token for token in _TOKEN.findall(text, text.index('"vocab":')) if token.isalpha()}
    verbs = {word for word in (*IRREGULAR, *IRREGULAR.values()) if len(word) >= CANDIDATE_LETTERS_MIN}
    # Copied, or they would hold the memory around them; as a set first, for one that grows takes twice the room.
    return frozenset(set("\n".join(words | verbs).split("\n")))


@cache
def spellings() -> dict[str, tuple[str, ...]]:
    """Map each stem to the lexicon's and ordinary words with it; stems that are their only word are left out."""
    words = sorted(lexicon() | {w for w in ordinary_words() if len(w) >= LETTERS_MIN and w.isalpha()})
    found: defaultdict[str, list[str]] = defaultdict(list)
    for root, word in zip(stemmed(words), words, strict=True):
        found[root].append(word)
    return {root: tuple(same) for root, same in found.items() if same != [root]}


def is_known(word: str) -> bool:
    """Say whether a normal form is correctly written: in the lexicon, a form of such a word, or two of them joined."""
    words = lexicon()
    if word in words or is_ordinary(word):
        return True
    bare = {_BEFORE.sub("", word), *(ending.sub("", word) for ending in _BEHIND)}
    bare.update(word[: -len(ending)] + instead for ending, instead in _INSTEAD if word.endswith(ending))
    if any(part in words for part in bare):
        return True
    return any(word[:i] in words and word[i:] in words for i in range(_JOINED_MIN, len(word) - _JOINED_MIN + 1))
