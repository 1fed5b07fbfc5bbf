"""Words that give no hint of being a name, however they are written, and words that give one.

Extend the lists; each says what it is for.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import ACRONYMS, CALENDAR_WORDS, GIVEN_WORDS, is_ordinary, looks_ordinary
from recall_integrations.text import STOP_WORDS, content, tokenize
from recall_integrations.text.by_language import SEP, language_of, stop_words

TITLES = frozenset("mr mrs ms mx miss dr prof professor sir madam dame lord lady rev judge senator".split())

# Ordinary words that are the first word of a name at the start of a sentence ("New York is …").
NAME_OPENERS = frozenset(
    """
    new north south east west great big little old red black white blue green golden silver royal first united
    national international general saint st mount mt lake fort port cape los las san santa el grand upper lower project
    university bank museum hotel hospital camp river club cafe
    """.split()
)

# Who stands before one of these is somebody, or something that acts. Third person or past.
PERSON_VERBS = frozenset(
    """
    said says told tells asked asks thinks thought wants wanted likes liked loves loved hates hated prefers preferred
    reports works worked manages managed lives lived joined joins met meets called calls emailed emails mentioned
    mentions recommended recommends suggested suggests agreed agrees approved approves wrote writes sent sends leads led
    owns owned moved moves married knows knew believes decided decides promised offered replied replies invited
    explained confirmed confirms presented proposed reviewed reviews merged signed visited visits bought went goes came
    gave gives got gets took takes brought teaches taught studies studied plays played enjoys enjoyed hopes hoped feels
    felt sings cooks runs ran drives drove quit resigned founded hired graduated volunteered volunteers complained
    insisted noted argued announced pinged messaged texted hosts hosted mentors mentored needs needed
    uses used speaks spoke understands remembers remembered forgot left returned arrived became assigned escalated
    depends
    """.split()
)

_SEAT = regex(r"[a-z]?\d{1,4}[a-z]?\Z")  # B12, 2nd floor's 2a
_STRETCHED = regex(r"(.)\1\1|^(?:ha|he|ah|ho|ja|la|na|bla|wo)(?:ha|he|ah|ho|ja|la|na|bla|wo)+h?\Z")


def is_plain(low: str) -> bool:
    """Say whether a word in lower case gives no hint of being a name."""
    return low in STOP_WORDS or low in CALENDAR_WORDS or _is_known(low)


@lru_cache(maxsize=16_384)
def _is_known(low: str) -> bool:
    if _SEAT.match(low) or is_ordinary(low) or low in ACRONYMS or _STRETCHED.search(low) or low in TITLES:
        return True
    if "-" in low or "&" in low or "'" in low:
        parts = re.split(r"[-&']", low)
        if all(p in CALENDAR_WORDS or is_ordinary(p) for p in parts):
            return True
        if "'" in low:
            return low.rsplit("'", 1)[1] in {"t", "re", "ve", "ll", "d", "m", "em", "all", "s"}
        return parts[0] in {"non", "pre", "post", "anti", "co", "re", "un", "multi", "semi", "ex", "mid"}
    return any(low.endswith(end) and low[: -len(end)] in CALENDAR_WORDS for end in ("s", "es", "ish"))


TITLE_WORDS_MIN, TITLE_SHARE = 3, 0.85  # content words of a piece, and how many of them are written large

_CODE = regex(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_ADDRESS = regex(r"(?:\b\w{2,10}://|\bwww\.|(?<=\])\()\S+|\S+@\S+\.\w+")
_NO_TEXT = regex(
    r"\s*(?:"
    r"\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d).*"  # logs
    r"|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b.*"
    r"|Traceback \(most recent.*|at [\w.$<>]+\(.*|File \".*\", line \d+.*"
    r"|(?:from [\w.]+ )?import \w.*|(?:async )?(?:def|function) \w+\(.*|class \w+[(:{].*"  # code
    r"|(?:const|let|var|public|private) \w[^.!?]*=.*|(?:SELECT|INSERT INTO|UPDATE|CREATE|ALTER|FROM|WHERE) .*"
    r"|[^.!?]*[{}]|[^.!?]*[=()][^.!?]*;|[\w.]+\(.*\)[:;]?|[\w.\"'\[\]-]+\s*=\s*\S.*|[<{\[].*[>}\]],?"
    r"|[\"'][\w .-]+[\"']\s*:.*"
    r")\s*\Z"
)
_HEADING = regex(r"\s{0,3}#{1,6}\s|\s*\|.*\||[^|]*\|[^|]*\|")
_PIECE = regex(r"(?<=[.!?:;|…])[\"'“”’)\]*_]*\s+|\s[-–—]\s|\*\*|__|\|")
_WORD = regex(r"[^\W\d_](?:[^\W_]|['’-](?=[^\W_]))*")
_START = regex(r"(?:\A|[.!?:;…|>•]|(?<!\w)[-–—+*]|\A\W*\w{1,3}[.)\]])[\"'“”‘’()\[\]*_~\s]*\Z")
_LABEL = regex(r"[\"'”’)\]]*\s*(?:[*_]{1,2}|:|[*_]*\s*\Z)")


class Line:
    """A line of text, without code and addresses."""

    __slots__ = ("_titles", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._titles: list[tuple[int, int]] | None = None

    def opens(self, start: int) -> bool:
        """Say whether a sentence begins at `start`."""
        return _START.search(self.text, max(0, start - 12) if start > 12 else 0, start) is not None

    def bare(self, start: int, end: int) -> bool:
        """Say whether capitals mean nothing there: in a title, or in a label."""
        if self._titles is None:
            self._titles = [(0, len(self.text))] if _HEADING.match(self.text) else list(_titles(self.text))
        at = bisect_right(self._titles, (start, len(self.text))) - 1
        if at >= 0 and start < self._titles[at][1]:
            return True
        return _LABEL.match(self.text, end) is not None and self.opens(start)


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text that hold prose, without code and addresses."""
    if "`" in text or "~~~" in text:
        text = _CODE.sub(" , ", text)
    if "@" in text or "://" in text or "www." in text or "](" in text:
        text = _ADDRESS.sub(" , ", text)
    for line in text.splitlines():
        if line and not _NO_TEXT.match(line):
            yield Line(line)


def _titles(line: str) -> Iterator[tuple[int, int]]:
    """Yield the pieces of a line that are written like a title."""
    ends = [m.span() for m in _PIECE.finditer(line)]
    start = 0
    for end, after in (*ends, (len(line), len(line))):
        words = [w for w in _WORD.findall(line, start, end) if w.lower() not in STOP_WORDS]
        large = sum(w[0].isupper() for w in words)
        if len(words) >= TITLE_WORDS_MIN and large >= TITLE_SHARE * len(words):
            yield start, end
        start = after


WORDS_MAX = 6  # content words of a name; a longer run is a heading
CHARS_MAX = 8_192  # of a longer text only the beginning is read
NAMES_MAX = 64  # of a text
OPENS, BARE = 1, 2  # a sentence begins with it; it is of a title, a label or a table
LARGE_NOUNS = ("de", "lb")  # languages that write every noun large: one word alone is no name for that
CONNECTORS = frozenset("of the de del der di du da la le van von for".split())

_REST = r"(?:[^\W_]|['’](?=[^\W_]))*"
_LARGE = rf"[^\W\d_a-z]{_REST}"  # a letter beyond ASCII may be a small one: looked at again below
_RUN = regex(
    rf"(?<!\w){_LARGE}(?:(?:[ -]|(?<=\b\w)\. )(?:(?:{'|'.join(sorted(CONNECTORS))}) )*(?:{_LARGE}|\d{_REST}))*"
)
_ROMAN = regex(r"x{0,2}(?:i{1,3}|i?v|vi{1,3}|ix)")
_PARTS = frozenset("non pre re anti co un multi semi ex mid self sub".split())
_PART = regex(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTES = "\"“'‘(*_"
_ACTS = regex(r" ([a-z]+)")

Keys = NDArray[np.uint64]
# A key has 32 bits: the number of a stem, or, with the highest bit set, 31 bits of two stems mixed (Fibonacci hashing).
_PAIR, _PAIR_BITS, _MIX = np.uint64(1 << 31), np.uint64((1 << 31) - 1), np.uint64(0x9E3779B97F4A7C15)


class DocumentNames(NamedTuple):
    """The names of a text."""

    names: tuple[str, ...]  # names as they are written
    stems: NDArray[np.int32]  # int32 `(len(names), WORDS_MAX)`: numbers of the stems of each, filled up with -1
    keys: NDArray[np.uint64]  # uint64, by which `holders` looks each up
    unsure: NDArray[np.bool_]  # those that are names only if there is an entity of that name


class Name(NamedTuple):
    """A name as it is written first, and whether it is one only if there is an entity of that name."""

    written: str
    unsure: bool


def names_in(text: str) -> dict[tuple[str, ...], Name]:
    """Return the distinct names of a text by their content words, in order, at most `NAMES_MAX`."""
    text = text[:CHARS_MAX]
    language = language_of(text)
    stops = STOP_WORDS if language is None else STOP_WORDS | stop_words(language)
    found: dict[tuple[str, ...], Name] = {}
    for line in lines(text):
        for run in _RUN.finditer(line.text):
            if run.group().lower() in stops:
                continue
            for written, placed in _names_of(line, *run.span(), stops):
                words = tuple(content(written, language))
                if not words or len(words) > WORDS_MAX:
                    continue
                known = found.get(words)
                said = words if language is None else tuple(word.partition(SEP)[0] for word in words)
                if (known is not None and not known.unsure) or _is_date(said):
                    continue
                unsure = (len(words) == 1 and language in LARGE_NOUNS) or _is_unsure(said, written, placed, text)
                if known is None:
                    name = written[:-2] if written.endswith(("'s", "’s")) else written
                    found[words] = Name(name, unsure)
                    if len(found) == NAMES_MAX:
                        return found
                elif not unsure:
                    found[words] = Name(known.written, False)
    return found


def _is_date(words: tuple[str, ...]) -> bool:
    return CALENDAR_WORDS.issuperset(word for word in words if not word[0].isdigit())


def _is_unsure(words: tuple[str, ...], written: str, placed: int, text: str) -> bool:
    """Say whether too little shows that a run is a name: the whole of a title; words that are all ordinary and begin a
    sentence, or are written small elsewhere; one word that is ordinary, or begins a sentence without a possessive.
    """
    own = [word for word in words if len(word) > 1 and not word[0].isdigit()]
    plain = all(map(ordinary, own))
    if len(own) > 1:
        return placed == BARE or (plain and (placed == OPENS or written.lower() in text))
    return plain or (placed > 0 and not written.endswith(("'s", "’s")))


def _names_of(line: Line, start: int, end: int, stops: AbstractSet[str]) -> Iterator[tuple[str, int]]:
    """Yield the parts of a run of capitals that may be names, each with a reason for its capital: 0, OPENS or BARE."""
    text = line.text[start:end]
    if not text[0].isupper():
        return
    parts = [*_PART.finditer(text)]
    first, last = 0, len(parts) - 1
    while first < last and (word := parts[first].group().lower()) in stops and word != "the":
        first += 1
    if first == last and ordinary(parts[last].group().lower()):
        yield text[parts[first].start() :], OPENS
        return
    bare, opens = line.bare(start, end), line.opens(start)
    if bare:
        strange = [text[begin:stop] for begin, stop in _strange(parts)]
        yield from ((part, OPENS) for part in strange)
        if text not in strange:
            yield text[parts[first].start() :], BARE
        return
    if opens and first < last:
        first = _after_openers([part.group().lower() for part in parts], first)
    acts = _ACTS.match(line.text, end)
    yield text[parts[first].start() :], OPENS if opens and not first and not (acts and acts[1] in PERSON_VERBS) else 0


def _after_openers(words: list[str], first: int) -> int:
    """Move `first` over ordinary words in front of a strange one, which are large only because a sentence begins."""
    strange = [i for i in range(first, len(words)) if not ordinary(words[i])]
    opener = words[first]
    if not strange or opener in NAME_OPENERS or opener in GIVEN_WORDS or (opener == "the" and first + 2 < len(words)):
        return first
    return strange[0]


def _strange(parts: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the begin and end of each run of words that are not ordinary."""
    found: list[tuple[int, int]] = []
    joined = False
    for part in parts:
        word = part.group().lower()
        if ordinary(word):
            joined = joined and word in CONNECTORS
            continue
        found[len(found) - joined :] = [(found[-1][0] if joined else part.start(), part.end())]
        joined = True
    return found


@lru_cache(maxsize=16_384)
def ordinary(word: str) -> bool:
    """Say whether a word in lower case gives by itself no hint of a name."""
    word = word.replace("’", "'").removesuffix("'s")
    return is_plain(word) or looks_ordinary(word) or word in _PARTS or _ROMAN.fullmatch(word) is not None


def says(text: str, name: str) -> bool:
    """Say whether a text confirms a name that is unsure in its own document.

    A text does so where it writes the name large within a sentence, or begins with it as with a subject. One word that
    is written large because it is a noun is never confirmed.
    """
    at = text.find(name)
    if at >= 0 and " " not in name and language_of(text) in LARGE_NOUNS:
        return False
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if not at and after and after in " .,(" and (len(content(name)) > 1 or _is_strange(name, text)):
            return True
        if not after.isalnum():
            before = text[max(0, at - 5) : at].rstrip(_QUOTES)
            word = before[:-1].removesuffix(",")[-1:]
            if before.endswith(" ") and word.isalnum() and not word.isupper():
                return True
        at = text.find(name, at + 1)
    return False


def _is_strange(name: str, text: str) -> bool:
    """Say whether a word is no ordinary one. Ordinary words are known of English only."""
    return language_of(text) is None and not ordinary(name.lower())


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
        names=tuple(name.written for name in found.values()),
        stems=stems,
        keys=keys_of(stems),
        unsure=np.fromiter((name.unsure for name in found.values()), dtype=np.bool_, count=len(found)),
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
