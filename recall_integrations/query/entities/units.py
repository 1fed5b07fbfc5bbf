"""Split texts into units: the words that names are compared by, with their place in the text.

A unit is a token of `text.tokenize` with three differences, because a name is matched letter by letter:

- Chinese, Japanese and Korean characters stand alone, so that a name is found inside a run of them;
- a word of any other script, Thai too, goes on over all its combining marks and joiners;
- a run of "+" or "#" that ends a word belongs to it ("C++", "C#"), or else these would all be one name.

Nothing is stemmed.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

from recall_integrations.patterns import regex
from recall_integrations.text import WORD_CHARS_MAX, Token, fold, tokenize

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
    """Return the units of `text` in order; spans lie inside `text` and do not overlap. Linear in its length.

    Args:
        text: any text.
        tokens: the tokens of `text.tokenize`, if they are at hand.
    """
    if not text.isascii():
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
    if not any(map(_is_mark, set(text))):
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


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and (unicodedata.category(char)[0] == "M" or char in "\u200c\u200d")


def _with_symbols(text: str, token: Token) -> Token:
    match = _SYMBOLS.match(text, token.end)
    return Token(token.word + match.group()[:8], token.start, match.end()) if match else token
