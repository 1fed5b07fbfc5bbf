"""Words of a text in its own language: stop words, stems and forms of one language meet in one space of stems.

A text in which no other language is detected is read as English, and so are words of ASCII in another script.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.text import analyser
from recall_integrations.text.analyser import STOP_WORDS, Token, tokenize, with_signs, words_with_signs
from recall_integrations.text.detection import NAMES, content_words, detect_language, listed

_AND = regex(r"(?!والد|والي)[وف](?=(?:ال|لل)\w{3})")  # "والد", father, begins so
_SHORT = regex(r"(?:[بك]?ال|لل)(\w\wة)")
_OWNED = regex(r"(\w\w+)ت(ي|ه|ها|هم|هن|هما|ك|كم|كن|كما|نا)")
_PLURAL = regex(r"([وفبلك]?س\w\w+)ات(?:ي|ه|ها|هم|هن|هما|ك|كم|كن|كما|نا)?")
_ENOUGH = 3  # letters before the ending from which the stemmer knows the endings but "تي"
# Words of three letters that own their last: house, girl, time, voice, death, oil, sister, Saturday, whale, mulberry, …
# and verbs that are no nouns: I was, I said, I came, …
_OWN_T = frozenset(
    "بيت بنت وقت صوت موت زيت اخت أخت سبت حوت توت قوت نبت نحت نعت صمت سمت بخت تخت ثبت كبت مقت ميت لفت بحت تحت بات"
    " مات فات كنت قلت انت أنت ليت لست جئت رأت ذات نمت قمت عدت زرت خفت صرت بعت زدت سيت".split()
)
_COMES = regex(r"[وف]?س?[يتن]?[اأآ]تي")  # "يأتي", it comes: "ت" belongs to the verb


def readable(word: str) -> str:
    """Respell an Arabic normal form so that the stemmer reads it rightly. It is for the stemmer only, never shown."""
    begins = _AND.match(word)
    if begins is not None:
        word = word[1:]
    short = _SHORT.fullmatch(word)
    if short is not None:
        return short[1]
    if "ت" not in word:
        return word
    plural = _PLURAL.fullmatch(word)
    if plural is not None:
        return f"{plural[1]}ة"
    owned = _OWNED.fullmatch(word)
    if owned is None or f"{owned[1]}ت" in _OWN_T or _COMES.fullmatch(word):
        return word
    root, owner = owned.groups()
    if root.endswith("ا"):  # "حياتي", my life, is of "حياة"; "كلماتي", my words, a plural
        return f"{root}ة" if len(root) <= _ENOUGH else f"{root}ت"
    return f"{root}ة" if owner == "ي" or len(root) < _ENOUGH else word


ANALYSER_VERSION = 7  # raise it with every change of what a text's words are: stores then cut theirs anew at open
LOOK = "?"  # in place of a language: that of the text
SEP = "\x1f"  # between a word and its stem, where the stem is not that of English; in no word

SNOWBALL = {
    **{code: name for code, name in NAMES.items() if code != "he"},
    **{"hi": "hindi", "hy": "armenian", "lt": "lithuanian", "sr": "serbian"},
}
"""Languages with a stemmer, and what PyStemmer calls it."""

_LATIN = frozenset("ca cs da de es eu fi fr hu id is it lt nl no pl pt ro sv tr vi".split())
LANGUAGES = tuple(sorted({*SNOWBALL, *_LATIN, *"ar be bg bn el fa he ja kk km ko lo mk my mr th uk ur zh".split()}))
"""Codes of the languages, besides English, whose words are told apart from English."""

_CYRILLIC = frozenset("be bg kk mk ru sr uk".split())
_ELISION = regex(r"^(?:[cdjlmnst]|qu|dell|all|nell|sull|dall|coll|quell|quest|lorsqu|jusqu|puisqu)'(?=\w)")
_ELIDING = frozenset({"fr", "it", "ca"})
_UNSEEN = regex("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_ARABIC = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ة": "ه", "ى": "ي", "ی": "ي", "ک": "ك", "ؤ": "و", "ئ": "ي"}
)
_RESPELT = frozenset({"ar", "fa", "ur"})  # what `_ARABIC` is for
_DOTLESS = str.maketrans({"I": "ı", "İ": "i"})
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ħ": "h"})
_ACCENT = regex("[\u0300-\u036f]+")

_PAIR = 2  # signs
# Characters of Chinese that join or mark and say nothing alone.
_JOINING = frozenset("的了吗呢吧啊么是在我你他她它们这那有和与就不也都很把被个")


class Placed(NamedTuple):
    """A content word of a text: its place, its stem, and its form in `content`."""

    token: Token
    stem: str
    key: str


def language_of(text: str) -> str | None:
    """Return the language whose rules a text's words are read by; `None` = those of English."""
    code = detect_language(text).code
    return None if code == "en" else code


def stop_words(language: str | None) -> frozenset[str]:
    """Return the words of a language that are not looked for, in normal form."""
    return STOP_WORDS if language is None else _normal_list(language)


def says_nothing(word: str, language: str | None) -> bool:
    """Say whether a normal form is a Chinese character without a meaning of its own; pairs with it stay."""
    return language == "zh" and word in _JOINING


def stem(word: str, language: str | None = None) -> str:
    """Return the stem of a normal form in a language; `None` = English."""
    if language is None or (word.isascii() and language not in _LATIN):
        return analyser.stem(word)
    return _stemmed([_normal(word, language)], language)[0]


def stems(text: str, language: str | None = LOOK) -> list[str]:
    """Return the stems of the content words of `text`, in order, repeats kept, as BM25 indexes and looks for them."""
    language = language_of(text) if language == LOOK else language
    if language is None:
        return analyser.stemmed([word for word in words_with_signs(text) if word not in STOP_WORDS])
    return _analysis(text, language)[1]


def content(text: str, language: str | None = LOOK) -> list[str]:
    """Return the normal forms of the words of `text` that are no stop words, in order, repeats kept.

    A word whose stem is not the one of English is followed by `SEP` and its stem: `häuser<SEP>haus`.
    """
    language = language_of(text) if language == LOOK else language
    if language is None:
        return [word for word in words_with_signs(text) if word not in STOP_WORDS]
    words, roots = _analysis(text, language)
    # English leaves words of two signs as they are: nearly all that there are in Chinese.
    pairs = {(w, root) for w, root in zip(words, roots, strict=True) if len(w) > _PAIR or w != root}
    told = {w: w if root == analyser.stem(w) else f"{w}{SEP}{root}" for w, root in pairs}
    return [told.get(word, word) for word in words]


def placed(text: str, language: str | None = LOOK) -> list[Placed]:
    """Return the words of `content`, in order, with their places and stems."""
    language = language_of(text) if language == LOOK else language
    tokens = with_signs(text, spoken(text, language))
    if language is None:
        words = list({token.word for token in tokens} - STOP_WORDS)
        told = dict(zip(words, zip(analyser.stemmed(words), words, strict=True), strict=True))
    else:
        told = {}
        for word in {token.word for token in tokens}:
            normal = _kept(word, language)
            if normal:
                root = normal if "\u3040" <= normal[0] <= "\u9fff" else _stemmed([normal], language)[0]
                plain = len(normal) <= _PAIR and normal == root
                told[word] = root, normal if plain or root == analyser.stem(normal) else f"{normal}{SEP}{root}"
    return [Placed(token, *told[token.word]) for token in tokens if token.word in told]


def spoken(text: str, language: str | None) -> list[Token]:
    """Tokenize `text`; for Turkish, lower "I" and "İ" before the letters are folded: Turkish "I" is no "i"."""
    return tokenize(_dotless(text) if language == "tr" else text)


def _dotless(text: str) -> str:
    return text.translate(_DOTLESS) if "I" in text or "İ" in text else text


def without_marks(word: str) -> str:
    """Strip accents and the like from a normal form or stem, as somebody types it who leaves them out."""
    if word.isascii():
        return word
    plain = _ACCENT.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS)))
    return unicodedata.normalize("NFC", plain)


def _analysis(text: str, language: str) -> tuple[list[str], list[str]]:
    """Return the normal forms of the content words, and their stems."""
    text = _dotless(text) if language == "tr" else text
    found = words_with_signs(text)
    # Each word once: a long text says most of them often.
    kept = {word: normal for word in set(found) if (normal := _kept(word, language))}
    words = [kept[word] for word in found if word in kept]
    if language not in SNOWBALL and language not in _RESPELT:
        distinct = [word for word in kept.values() if word.isascii()]
    else:
        distinct = list(set(kept.values()))
    roots = dict(zip(distinct, _stemmed(distinct, language), strict=True))
    return words, [roots.get(word, word) for word in words] if roots else words


def _kept(word: str, language: str) -> str:
    """Return a normal form as it is looked for; empty if it is a stop word."""
    if language not in _LATIN and word.isascii():  # read as English
        return "" if word in STOP_WORDS else word
    stops = _normal_list(language)
    if word in stops or says_nothing(word, language):
        return ""
    if "\u3040" <= word[0] <= "\u9fff":  # a pair of Chinese or Japanese signs: nothing to take off
        return word
    normal = _normal(word, language)
    return "" if normal in stops else normal


def _normal(word: str, language: str) -> str:
    """Prepare a normal form for a language's stemmer: drop points, joiners, articles and the ending after a name."""
    if not word.isascii():
        word = _UNSEEN.sub("", word).replace("i\u0307", "i")
        if language in _CYRILLIC:
            word = word.replace("\u0301", "").replace("ё", "е")  # the stress, written for learners
    if "'" in word:
        if language in _ELIDING:
            word = _ELISION.sub("", word)
        elif language == "tr":
            word = word.partition("'")[0] or word
    return word


def _stemmed(words: Sequence[str], language: str) -> list[str]:
    algorithm = SNOWBALL.get(language)
    read = [readable(w) for w in words] if language == "ar" else words
    roots: Iterable[str] = read if algorithm is None else analyser.stemmer(algorithm).stemWords(read)
    if language not in _LATIN:
        roots = [analyser.stem(w) if w.isascii() else root for w, root in zip(words, roots, strict=True)]
    if language in _RESPELT:
        roots = [root.translate(_ARABIC) or word for word, root in zip(words, roots, strict=True)]
    return [root or word for word, root in zip(words, roots, strict=True)]


@functools.cache
def _normal_list(language: str) -> frozenset[str]:
    found: set[str] = set()
    about = {_normal(word, language) for word in content_words(language)}
    for listed_word in listed(language):
        for token in spoken(listed_word, language):
            normal = _normal(token.word, language)
            if normal and normal not in about:
                found.update((token.word, normal))
    return frozenset(found)
