"""The names that a document says: what leads from it to other documents.

Read from a few texts per recall, so it has to be quick, and may take too much: every run of words that begin with a
capital, joined by "of", "de" and the like. What is no name ("Founded") is mostly said by many documents and weighs
little then. A script without capitals has no names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.ranking.lexicon import Lexicon
from recall_integrations.retrievers.holders import keys_of
from recall_integrations.store.words import cut
from recall_integrations.text import STOP_WORDS, tokenize

WORDS_MAX = 6  # content words of a name; a longer run is a heading
CHARS_MAX = 8_192  # of a longer text only the beginning is read
NAMES_MAX = 64  # of a text
CONNECTORS = frozenset("of the de del der di du da la le van von for".split())

_REST = r"(?:[^\W_]|['’](?=[^\W_]))*"
_LARGE = rf"[^\W\d_a-z]{_REST}"  # a letter beyond ASCII may be a small one: looked at again below
_RUN = re.compile(
    rf"(?<!\w){_LARGE}(?:(?:[ -]|(?<=\b\w)\. )(?:(?:{'|'.join(sorted(CONNECTORS))}) )*(?:{_LARGE}|\d{_REST}))*"
)


class Said(NamedTuple):
    """The names of a text.

    Args:
        names: as they are written.
        stems: int32 `(len(names), WORDS_MAX)`: numbers of the stems of each, filled up with -1.
        keys: uint64, by which `holders` looks each up.
    """

    names: tuple[str, ...]
    stems: NDArray[np.int32]
    keys: NDArray[np.uint64]


def names_in(text: str) -> dict[tuple[str, ...], str]:
    """The distinct names of a text in order, at most `NAMES_MAX`: content words, and as it is written first."""
    found: dict[tuple[str, ...], str] = {}
    for written in _RUN.findall(text[:CHARS_MAX]):
        if not written[0].isupper():
            continue
        words = tuple(cut(written))
        if words and len(words) <= WORDS_MAX and words not in found:
            found[words] = written[:-2] if written.endswith(("'s", "’s")) else written
            if len(found) == NAMES_MAX:
                break
    return found


def beginning(name: str, count: int) -> str:
    """A name as far as its first `count` content words."""
    own = [token for token in tokenize(name) if token.word not in STOP_WORDS]
    return name[: own[count - 1].end] if len(own) > count else name


def said_in(text: str, lexicon: Lexicon) -> Said:
    """The names of a text that is stored, and whose words the lexicon has therefore."""
    found = names_in(text)
    stems = np.full((len(found), WORDS_MAX), -1, dtype=np.int32)
    places = [WORDS_MAX * i + k for i, words in enumerate(found) for k in range(len(words))]
    ids = lexicon.ids_of([word for words in found for word in words])
    stems.reshape(-1)[places] = lexicon.stems[ids]
    return Said(names=tuple(found.values()), stems=stems, keys=keys_of(stems))
