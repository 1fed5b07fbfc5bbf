"""One analyser for everything that compares words: BM25, rarity, negation, ranking features.

Words are runs of letters and digits, compatibility-normalised (NFKC) and case-folded, without a possessive "'s".
Runs of Chinese, Japanese and Korean characters, which are written without spaces, become overlapping pairs, as
Lucene's CJKAnalyzer does. Stop words are dropped, irregular past forms are led back to their verb, and the rest is
stemmed (Snowball English).
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from typing import NamedTuple

import Stemmer

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+(?:['’](?:(?![{_CJK}])[^\W_])+)?")
_CJK_FIRST = re.compile(rf"[{_CJK}]")
WORD_CHARS_MAX = 64

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each ever
    few for from further get gets got had hadn't has hasn't have haven't having he he'd he'll he's her here here's
    hers herself him himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself just let's may
    me might more most mustn't my myself no nor not of off on once only or other ought our ours ourselves out over
    own same shall shan't she she'd she'll she's should shouldn't so some such than that that's the their theirs
    them themselves then there there's these they they'd they'll they're they've this those through to too under
    until up upon us very was wasn't we we'd we'll we're we've were weren't what what's when when's where where's
    which while who who's whom whose why why's will with won't would wouldn't yes you you'd you'll you're you've
    your yours yourself yourselves
    """.split()
)

# Past forms that no suffix rule leads back to the verb: "when did she go" must find "I went". Verb first.
_IRREGULAR_VERBS = """
    become became, begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought,
    build built, burn burnt, buy bought, catch caught, choose chose chosen, come came, deal dealt, dig dug,
    draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen,
    feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten,
    forgive forgave forgiven, freeze froze frozen, give gave given, go went gone, grow grew grown, hang hung,
    hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led, learn learnt, leave left,
    lend lent, light lit, lose lost, make made, mean meant, meet met, pay paid, ride rode ridden,
    ring rang rung, rise rose risen, run ran, say said, see saw seen, sell sold, send sent, shake shook shaken,
    shoot shot, show shown, sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent, stand stood,
    steal stole stolen, stick stuck, strike struck, swim swam swum, take took taken, teach taught,
    tear tore torn, tell told, think thought, throw threw thrown, understand understood, wake woke woken,
    wear wore worn, win won, write wrote written
"""
IRREGULAR = {form: verb for verb, *forms in map(str.split, _IRREGULAR_VERBS.split(",")) for form in forms}

_local = threading.local()


class Token(NamedTuple):
    """A word of a text: its normal form and where it stands (`start` inclusive, `end` exclusive, in characters)."""

    word: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The words of `text`, stop words included, in order.

    The normal form is NFKC, case-folded, with a typographic apostrophe written as ' and a possessive removed.
    """
    tokens: list[Token] = []
    for match in _WORD.finditer(text):
        raw, start = match.group(), match.start()
        if _CJK_FIRST.match(raw):
            if len(raw) == 1:
                tokens.append(Token(raw, start, start + 1))
            tokens.extend(Token(raw[i : i + 2], start + i, start + i + 2) for i in range(len(raw) - 1))
            continue
        tokens.append(Token(fold(raw)[:WORD_CHARS_MAX], start, match.end()))
    return tokens


def fold(word: str) -> str:
    """Normal form of one word: NFKC, case-folded, without a possessive."""
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word).replace("’", "'")
    word = word.casefold()
    return word[:-2] if word.endswith("'s") else word


def idf(frequency: int, documents: int) -> float:
    """`ln(1 + (N - df + .5) / (df + .5))`, as BM25 in Lucene has it; of a word that all hold or more, as if all did."""
    return math.log1p((max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def stem(word: str) -> str:
    """Snowball English stem of a normal form."""
    return _stemmer().stemWord(IRREGULAR.get(word, word))  # type: ignore[no-any-return]


def stems(text: str) -> list[str]:
    """Stems of the content words of `text`, in order, repeats kept: what BM25 indexes and looks for."""
    words = [IRREGULAR.get(t.word, t.word) for t in tokenize(text) if t.word not in STOP_WORDS]
    return _stemmer().stemWords(words)  # type: ignore[no-any-return]


def _stemmer() -> Stemmer.Stemmer:
    # A PyStemmer object must not be shared between threads.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return stemmer
