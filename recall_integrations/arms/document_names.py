"""Names that a document says: runs of words written large, and single ones that are no ordinary words.

What is no name after all is said by many documents or by no other one, and leads nowhere (`second_hop`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import ACRONYMS, CALENDAR_WORDS, looks_ordinary
from recall_integrations.text import STOP_WORDS, content, tokenize
from recall_integrations.text.by_language import SEP, language_of, stop_words

WORDS_MAX = 6  # content words of a name; a longer run is a heading
CHARS_MAX = 8_192  # of a longer text only the beginning is read
NAMES_MAX = 64  # of a text
LARGE_NOUNS = ("de", "lb")  # languages that write every noun large: one word alone is no name for that
_CODE = regex(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,200}`|(?:\b\w{2,10}://|\bwww\.)\S+|\S+@\S+\.\w+", 16)
_REST = r"(?:[^\W_]|['’](?=[^\W_]))*"
_LARGE = rf"[^\W\d_a-z]{_REST}"  # a letter beyond ASCII may be a small one: looked at again below
_JOIN = r"(?:[ -]|(?<=\b\w)\. )(?:(?:of|the|del?|der|d[iu]|da|l[ae]|van|von|for) )*"
_RUN = regex(rf"(?<!\w){_LARGE}(?:{_JOIN}(?:{_LARGE}|\d{_REST}))*")
_OPENS = regex(r"(?:\A|[.!?:;…|>•\n#*]|(?<!\w)[-–—+])[\"'“”‘’()\[\]*_~\s]*\Z")
_QUOTES = tuple('"“”„«»')
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*")

Keys = NDArray[np.uint64]
# A key has 32 bits: the number of a stem, or, with the highest bit set, 31 bits of two stems mixed (Fibonacci hashing).
_PAIR, _PAIR_BITS, _MIX = np.uint64(1 << 31), np.uint64((1 << 31) - 1), np.uint64(0x9E3779B97F4A7C15)


class DocumentNames(NamedTuple):
    """The names of a text."""

    names: tuple[str, ...]  # names as they are written
    stems: NDArray[np.int32]  # int32 `(len(names), WORDS_MAX)`: numbers of the stems of each, filled up with -1
    keys: NDArray[np.uint64]  # uint64, by which `holders` looks each up


def names_in(text: str) -> dict[tuple[str, ...], str]:
    """Return the distinct names of a text by their content words, in order, at most `NAMES_MAX`.

    A capital at the beginning of a sentence is none of its first word: "Yesterday Anna" may be "Anna", too.
    """
    text = _CODE.sub(" , ", text[:CHARS_MAX])
    language = language_of(text)
    stops = STOP_WORDS if language is None else STOP_WORDS | stop_words(language)
    found: dict[tuple[str, ...], str] = {}
    for run in _RUN.finditer(text):
        if not run[0][0].isupper():
            continue
        parts, opens = list(_WORD.finditer(run[0])), _OPENS.search(text, max(0, run.start() - 12), run.start())
        quoted = text[run.start() - 1 : run.start()] in _QUOTES and text[run.end() : run.end() + 1] in _QUOTES
        first = next((i for i, part in enumerate(parts) if part[0].lower() not in stops), None)
        if first is None:
            continue
        own = next((i for i in range(first, len(parts)) if not _is_plain(parts[i][0])), first) if opens else first
        for at in dict.fromkeys((first, own)):
            written = run[0][parts[at].start() :]
            words = tuple(content(written, language))
            alone = (
                len(words) == 1
                and not quoted
                and (_is_plain(written) or language in LARGE_NOUNS or bool(language and opens))
            )
            if words and len(words) <= WORDS_MAX and not alone and not _is_date(words, language):
                found.setdefault(words, written[:-2] if written.endswith(("'s", "’s")) else written)
            if len(found) == NAMES_MAX:
                return found
    return found


def _is_plain(word: str) -> bool:
    """Say whether a word gives by itself no hint of a name."""
    low = word.lower().replace("’", "'").removesuffix("'s")
    return low in STOP_WORDS or low in CALENDAR_WORDS or low in ACRONYMS or looks_ordinary(low)


def _is_date(words: tuple[str, ...], language: str | None) -> bool:
    said = words if language is None else tuple(word.partition(SEP)[0] for word in words)
    return CALENDAR_WORDS.issuperset(word for word in said if not word[0].isdigit())


def beginning(name: str, count: int) -> str:
    """Cut a name after its first `count` content words."""
    own = [token for token in tokenize(name) if token.word not in STOP_WORDS]
    return name[: own[count - 1].end] if len(own) > count else name


def said_in(text: str, lexicon: Lexicon) -> DocumentNames:
    """Return the names of a stored text, whose words the lexicon has therefore."""
    found = names_in(text)
    stems = np.full((len(found), WORDS_MAX), -1, dtype=np.int32)
    places = [WORDS_MAX * i + k for i, words in enumerate(found) for k in range(len(words))]
    ids = lexicon.ids_of([word for words in found for word in words])
    stems.reshape(-1)[places] = lexicon.stems[ids]
    return DocumentNames(
        names=tuple(found.values()),
        stems=stems,
        keys=keys_of(stems),
    )


def keys_of(stems: NDArray[np.int32]) -> Keys:
    """Compute the keys of names, given as the numbers of their stems `(names, words)`, filled up with -1."""
    several: Keys = pair_key(stems[:, 0], np.maximum(stems[:, 1], 0))
    return np.where(stems[:, 1] < 0, single_key(stems[:, 0]), several)


def single_key(stems: NDArray[np.int32]) -> Keys:
    """Return the keys of single stems."""
    keys: Keys = stems.astype(np.uint64) + np.uint64(1)
    return keys


def pair_key(first: NDArray[np.int32], second: NDArray[np.int32]) -> Keys:
    """Return the keys of pairs of stems."""
    mixed = ((first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)) * _MIX
    keys: Keys = ((mixed >> np.uint64(32)) & _PAIR_BITS) | _PAIR
    return keys
