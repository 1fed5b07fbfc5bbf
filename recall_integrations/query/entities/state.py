"""The names of a scope: their units, ordinary words, from which they stand out, words like them, their inflected forms,
and the maps of an `EntityIndex`."""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA

from recall_integrations import languages
from recall_integrations.languages import english
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, WORD_CHARS_MAX, Token, fold, in_ascii, stem, tokenize, without_marks
from recall_integrations.text.analyser import stemmed

_ORDINARY = (Path(languages.__file__).parent / "en_ordinary.txt").read_text(encoding="utf-8")

_EN = english("names")
# Words that say what kind of thing a name is about. They carry no identity of their own, and their presence in a
# name says that it is not a person's.
KIND_WORDS = frozenset(_EN["kind_words"].split())

NAME_PARTICLES = frozenset(_EN["name_particles"].split())

# Upper case is how these are always written: it says nothing about whether a name is meant.
ACRONYMS = frozenset(_EN["acronyms"].split())

CALENDAR_WORDS = frozenset(_EN["calendar_words"].split())

# Ordinary words that people are also called.
GIVEN_WORDS = frozenset(_EN["given_words"].split())

ORDINARY_WORDS = (
    frozenset(_ORDINARY.split()) | STOP_WORDS | KIND_WORDS | GIVEN_WORDS
)  # as listed, without their inflections
_STEMS = frozenset(stemmed(ORDINARY_WORDS))
_STEM_CHARS_MIN = 3
_INFLECTED_CHARS_MIN = 5  # shorter words that merely share a stem are names: "Anna" is no inflection of "an"


@lru_cache(maxsize=8_192)
def is_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, an inflection of one, a lone letter or a number."""
    if word in ORDINARY_WORDS or len(word) < 2 or not any(c.isalpha() for c in word):
        return True
    if not word.isascii():
        return False
    if len(word) < _INFLECTED_CHARS_MIN:
        return len(word) > _STEM_CHARS_MIN and word.endswith("s") and word[:-1] in ORDINARY_WORDS
    root = stem(word)
    return len(root) >= _STEM_CHARS_MIN and root in _STEMS


# How English makes words out of words. Hardly a name of this length ends so.
_MADE = regex(
    r"[a-z]{3,}(?:[ts]ion|ment|ness|ship|able|ible|ability|ibility|i[sz]e|i[sz]ing|i[sz]ation|ative|itive|ological"
    r"|ously|ally|edly|ingly|less|fully|ically|ivity|ency|ology|ician|ification|istic|itional|ational)s?"
    r"|[a-z]{3,}(?:ized|ised|ments|ities)"
)
_MADE_CHARS_MIN = 7


def looks_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, or has the ending of a derived word."""
    if is_ordinary(word):
        return True
    return len(word) >= _MADE_CHARS_MIN and word.isascii() and _MADE.fullmatch(word) is not None


_CJK_CHARS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK = regex(f"[{_CJK_CHARS}]")
# Stores keep the normal forms of names: what is a unit must not change with the analyser of texts.
_RUN = regex(rf"[{_CJK_CHARS}]+|(?:(?![{_CJK_CHARS}])[^\W_])+(?:['’](?:(?![{_CJK_CHARS}])[^\W_])+)?")
_SYMBOLS = regex(r"[+#]+(?!\w)")
_KATAKANA = regex("[\u30a1-\u30fa\u30fc-\u30ff]")
_HANGUL = regex("[\uac00-\ud7af]")
_HAN = regex("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_token = functools.partial(tuple.__new__, Token)  # `Token._make`, twice as fast: a text may hold a million characters
MARKS_MAX = 32  # combining marks after one word that are looked at; more than that is noise


def units(text: str, tokens: Sequence[Token] | None = None) -> Sequence[Token]:
    """Return the units of `text` in order; spans lie inside `text` and do not overlap. Linear in its length."""
    if not text.isascii() and (in_ascii(text) is None or _marked(text)):
        tokens = _with_marks(text, _plain(text))
    elif tokens is None:
        tokens = tokenize(text)
    if "+" in text or "#" in text:
        tokens = [_with_symbols(text, token) for token in tokens]
    return tokens


def key_of(name: str) -> tuple[str, ...]:
    """Return the normal form of a name: its units' words, or, for a name without any (an emoji), its folded text."""
    if name.isascii() and name.replace(" ", "").isalnum():  # most names: the same words, ten times as fast
        return tuple([word[:WORD_CHARS_MAX] for word in name.casefold().split()])
    words = tuple([token.word for token in units(name)])
    return words or (fold(name.strip()),)


@functools.lru_cache(maxsize=256)  # every query asks for its user's
def entity_id_of(name: str, key: bytes) -> str:
    """Return the stable id of an entity: a digest of the normal form of its name under the key of its store.

    Names are few and short: under no key, or under one that all stores share, anybody with an id finds the name.
    """
    return entity_id_of_normal(" ".join(key_of(name)), key)


def entity_id_of_normal(norm: str, key: bytes) -> str:
    """Return the entity id for a name in normal form: the words of `key_of`, joined by single spaces."""
    return f"ent_{blake2b(norm.encode(), key=key, digest_size=12).hexdigest()}"


def order_of(name: str) -> str:
    """Return the sort key of an entity where nothing else decides: not its id, which differs from store to store."""
    norm = " ".join(key_of(name))
    slug = re.sub(r"[^a-z0-9]+", "_", norm).strip("_")[:40]
    return f"{slug}_{norm}"


def is_cjk(word: str) -> bool:
    """Say whether a unit is a character of a script written without spaces."""
    return not word.isascii() and _CJK.match(word) is not None


def splits_a_word(text: str, start: int, end: int) -> bool:
    """Say whether the CJK span `start:end` certainly cuts a longer word.

    A run of katakana is one word, so both ends must be free; Korean words take endings, so only the front must be.
    Chinese characters have no such sign.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if _KATAKANA.match(text[start]) and _KATAKANA.match(before):
        return True
    if _KATAKANA.match(text[end - 1]) and _KATAKANA.match(after):
        return True
    return bool(_HANGUL.match(text[start]) and _HANGUL.match(before))


def follows_han(text: str, start: int) -> bool:
    """Say whether a span that starts with a Chinese character has one directly before it."""
    return bool(_HAN.match(text[start]) and _HAN.match(text[start - 1 : start]))


def without_possessive(text: str, start: int, end: int) -> int:
    """Return `end` before a possessive "'s", which `tokenize` folds away but leaves in the span."""
    tail = text[end - 2 : end]
    return end - 2 if end - start > 2 and tail[0] in "'’" and tail[1] in "sS" else end


def _plain(text: str) -> list[Token]:
    """Return runs of letters and digits, and single characters of scripts without spaces."""
    found: list[Token] = []
    for match in _RUN.finditer(text):
        raw, (start, end) = match[0], match.span()
        if _CJK.match(raw):
            found.extend(map(_token, zip(raw, range(start, end), range(start + 1, end + 1), strict=True)))
        else:
            found.append(Token(_folded(raw[: 4 * WORD_CHARS_MAX]), start, end))
    return found


def _with_marks(text: str, tokens: list[Token]) -> list[Token]:
    """Merge words that are held together by combining marks."""
    if not _marked(text):
        return tokens
    result: list[Token] = []
    for token in tokens:
        end = token.end
        limit = min(len(text), end + MARKS_MAX)
        while end < limit and _is_mark(text[end]):
            end += 1
        if result and result[-1].end == token.start and _is_mark(text[token.start - 1]):
            result[-1] = Token("", result[-1].start, end)
        else:
            result.append(token if end == token.end else Token("", token.start, end))
    # Folded once, at the end, and only its beginning: a word of marked letters can be as long as the text.
    return [
        t if t.word else Token(_folded(text[t.start : t.end][: 4 * WORD_CHARS_MAX]), t.start, t.end) for t in result
    ]


def _folded(raw: str) -> str:
    return fold(raw)[:WORD_CHARS_MAX]


def _marked(text: str) -> bool:
    return any(map(_is_mark, set(text)))


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and (unicodedata.category(char)[0] == "M" or char in "\u200c\u200d")


def _with_symbols(text: str, token: Token) -> Token:
    match = _SYMBOLS.match(text, token.end)
    return Token(token.word + match.group()[:8], token.start, match.end()) if match else token


LETTERS_MIN = 4  # shorter words have neighbours everywhere
LETTERS_TWO_EDITS = 8  # from this length on two edits are looked for
LETTERS_MAX = 40
CANDIDATES_MAX = 4_000  # words compared for one query word: bounds the cost on hostile vocabularies


class TrigramIndex:
    """A set of words that finds those similar to a given one. Words can be added, not removed."""

    __slots__ = ("_postings", "_words")

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._postings: dict[str, dict[int, list[str]]] = {}  # by three letters, by the length of the word

    def __len__(self) -> int:
        return len(self._words)

    def add(self, word: str) -> None:
        """Index a normal form, unless it is a number or too short or long to be taken for another."""
        if word in self._words or not is_searchable(word):
            return
        length, marked = len(word), f"^{word}$"
        postings = self._postings
        for i in range(length):
            gram = marked[i : i + 3]
            by_length = postings.get(gram)
            if by_length is None:
                by_length = postings[gram] = {}
            found = by_length.get(length)
            if found is None:
                by_length[length] = [word]
            elif found[-1] is not word:  # "nananana" has the same trigram twice
                found.append(word)
        self._words.add(word)

    def similar(self, word: str, limit: int = 6) -> list[tuple[str, int]]:
        """Return indexed words one edit from `word`, or two if it is long, and the distance; nearest first.

        A word with digits is only similar to one with the same digits: "Inbox3" is not a typo of "Inbox4".
        """
        if not is_searchable(word):
            return []
        edits = 2 if len(word) >= LETTERS_TWO_EDITS else 1
        candidates = self._candidates(word, edits)
        found = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=edits, limit=None)
        digits = _digits(word)
        near = [(text, int(distance)) for text, distance, _ in found if distance and _digits(text) == digits]
        return sorted(near, key=lambda pair: (pair[1], pair[0]))[:limit]

    def _candidates(self, word: str, edits: int) -> list[str]:
        length, marked, words = len(word), f"^{word}$", self._words
        lengths = range(length - edits, length + edits + 1)
        postings = self._postings
        grams = []
        for gram in {marked[i : i + 3] for i in range(length)}:
            by_length = postings.get(gram)
            lists = [by_length[n] for n in lengths if n in by_length] if by_length is not None else []
            grams.append((sum(map(len, lists)), gram, lists))
        grams.sort(key=lambda entry: entry[:2])
        chosen = grams[: 3 * edits + 1]
        swaps = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(length - 1))
        found = words.intersection(swaps)
        room = CANDIDATES_MAX
        for size, _, lists in chosen:
            if size > room:
                break
            room -= size
            found.update(chain.from_iterable(lists))
        return list(found)


def is_searchable(word: str) -> bool:
    """Say whether a word can be taken for a misspelt other one."""
    return LETTERS_MIN <= len(word) <= LETTERS_MAX and sum(map(str.isalpha, word)) >= LETTERS_MIN - 1


def _digits(word: str) -> str:
    return "".join(filter(str.isdigit, word)) if not word.isalpha() else ""


FORM_LETTERS_MIN = 3  # of a name that is looked for without its ending
ROOT_LETTERS_MIN = 2
ENDING_LETTERS_MAX = 3  # of an ending that is simply put on
HOLDERS_MAX = 8  # names with one root: of more, none is meant more than another

_GENITIVE_S = frozenset("de nl sv da no".split())
_ROOTED = frozenset("ru uk be bg sr mk el hy fi hu lt tr eu ro".split())  # Snowball stems are their roots
_CASES = frozenset("pl cs".split())  # no stemmer: the endings of names are taken off here
_CYRILLIC = frozenset("uk be bg mk".split())  # without a stemmer of their own that knows their letters: Russian's
_CASE_ENDING = regex(r"(?:owi|ovi|iem|ami|ach|om|em|ie|ów|ou|ům|[ąęěyýiíaáoóuúůeé])$")
_ARTICLE = regex(r"^(?:[dlmnst]|qu|dell|all|dall|nell|sull)'(?=\w)")
_ELIDING = frozenset("fr it ca".split())


def root_of(word: str, language: str) -> str:
    """Return the part that the forms of a name share in a language; the word itself if its forms do not differ."""
    if language in _CASES:
        bare = _CASE_ENDING.sub("", word)
        return without_marks(bare if len(bare) >= ROOT_LETTERS_MIN else word)
    if language in _ROOTED:
        root = stem(word, "ru" if language in _CYRILLIC else language)
        return root if len(root) >= ROOT_LETTERS_MIN else word
    return word


class Roots:
    """The known words of a scope's names by their roots, per language, made when asked for. Threads may share one."""

    __slots__ = ("_lock", "_maps")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._maps: dict[str, tuple[dict[str, list[str]], int]] = {}  # with how many of the words it holds

    def of(self, state: State, word: str, language: str) -> list[str]:
        """Return known words with the root of `word`, in the order in which they became known."""
        known, done = self._maps.get(language, ({}, 0))
        if done < len(state.order):
            with self._lock:
                known, done = self._maps.get(language, ({}, 0))
                end = len(state.order)
                for name in state.order[done:end]:
                    known.setdefault(root_of(name, language), []).append(name)
                self._maps[language] = (known, end)
        return known.get(root_of(word, language), [])[: HOLDERS_MAX + 1]


def names_behind(state: State, word: str, language: str | None) -> list[str]:
    """Return the known words of names that the unknown `word` is a form of; empty for English (`None`)."""
    if language is None or len(word) < FORM_LETTERS_MIN:
        return []
    bare = next((form for form in _bare(word, language) if len(form) >= FORM_LETTERS_MIN and state.knows(form)), None)
    found = [] if bare is None else [bare]
    if language in _ROOTED or language in _CASES:
        held = [
            name for name in state.roots.of(state, word, language) if len(name) >= FORM_LETTERS_MIN and name != word
        ]
        if len(held) <= HOLDERS_MAX:
            found.extend(name for name in held if name != bare and state.knows(name))
    return found


def is_owner(word: str, name: str, language: str | None) -> bool:
    """Say whether `word` is the genitive of a name: a noun behind it is a possession, and no family name."""
    return language in _GENITIVE_S and word == f"{name}s"


def _bare(word: str, language: str) -> Iterator[str]:
    """Yield the word without the affixes of a name. An ending is letters: "JOS'0" is no form of "Jos"."""
    if "'" in word:
        bare, _, ending = word.partition("'")
        if language in _ELIDING:
            yield _ARTICLE.sub("", word)
        elif ending.isalpha():
            yield bare
    elif word.endswith("s") and language in _GENITIVE_S:
        yield word[:-1]
    elif language in _ROOTED or language in _CASES:  # "Петрове": the stemmer takes "-ов" off Петров as well
        yield from (word[:-letters] for letters in range(1, ENDING_LETTERS_MAX + 1) if word[-letters:].isalpha())


_STOP = STOP_WORDS - GIVEN_WORDS
PHRASE_WORDS_MAX = 32  # longer names are found by `lookup` only
SWAP_WORDS_MAX = 4  # names up to this many words are also found with their words in another order


@record(slots=True, eq=False)
class Entity:
    """A known entity and its names; `order` is its sort key among entities that fit equally well."""

    id: str
    name: str
    order: str
    phrases: tuple[Phrase, ...] = ()


@record(slots=True, eq=False)
class Phrase:
    """A name as given (`surface`) and in normal form; `declared` if somebody said on purpose that this is a name."""

    entity: Entity
    words: tuple[str, ...]
    surface: str
    is_name: bool
    declared: bool = False


# Most keys have one phrase. A list for each would double the memory, and the garbage collector's work in a build.
PhraseMap: TypeAlias = "dict[str, Phrase | list[Phrase]]"


def at(phrases: PhraseMap, key: str) -> Sequence[Phrase]:
    """Return the phrases of a key, in the order in which they were added; none for an unknown key."""
    found = phrases.get(key)
    if found is None:
        return ()
    return found if isinstance(found, list) else (found,)


def _put(phrases: PhraseMap, key: str, phrase: Phrase) -> None:
    found = phrases.get(key)
    if found is None:
        phrases[key] = phrase
    elif isinstance(found, list):
        found.append(phrase)
    else:
        phrases[key] = [found, phrase]


class State:
    """All maps of one index. Readers take no lock, for the one writer only appends, sets keys or replaces values."""

    __slots__ = ("bags", "compact", "entities", "lengths", "order", "parts", "phrases", "roots", "trigrams")

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.phrases: PhraseMap = {}  # by their words, joined by spaces
        self.lengths: dict[str, tuple[int, ...]] = {}  # in words, of phrases with this first word, longest first
        self.parts: PhraseMap = {}  # phrases of several words by each of them
        self.bags: PhraseMap = {}  # of two to four words, by these in sorted order
        self.compact: PhraseMap = {}  # the same by their words without spaces
        self.trigrams = TrigramIndex()
        self.order: list[str] = []
        self.roots = Roots()

    def knows(self, word: str) -> bool:
        """Say whether a name or alias has this word."""
        return word in self.parts or word in self.phrases

    def add(self, phrase: Phrase) -> None:
        """Index one phrase."""
        words = phrase.words
        for word in dict.fromkeys(words):
            if not self.knows(word):
                self.trigrams.add(word)
                self.order.append(word)
            if len(words) > 1:
                _put(self.parts, word, phrase)
        if 1 < len(words) <= SWAP_WORDS_MAX and not is_cjk(words[0]):
            _put(self.bags, " ".join(sorted(words)), phrase)
            _put(self.compact, "".join(words), phrase)
        # The phrase becomes visible to a scan last, when all maps that a match reads hold it.
        _put(self.phrases, " ".join(words), phrase)
        known = self.lengths.get(words[0], ())
        if len(words) not in known and len(words) <= PHRASE_WORDS_MAX:
            self.lengths[words[0]] = tuple(sorted((*known, len(words)), reverse=True))


def is_person_like(phrase: Phrase) -> bool:
    """Say whether a name may be a person's: two or three words of letters, no kind of thing, not all ordinary."""
    words = phrase.words
    if not 2 <= len(words) <= 3 or all(is_ordinary(w) and w not in GIVEN_WORDS for w in words):
        return False
    if any(w in KIND_WORDS or w in _STOP or not w.replace("'", "").isalpha() for w in words):
        return False
    if phrase.surface.islower():
        return True
    return not any(t[0].islower() for t in phrase.surface.split() if t.casefold() not in NAME_PARTICLES)
