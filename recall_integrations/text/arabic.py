"""Respell Arabic nouns where the Snowball stemmer misses "and" before an article, or the feminine ending.

Before a possessive the feminine ending "ة" is written "ت": "سيارة" (a car), "سيارتي" (my car). The stemmer knows it of
"ته", "تها" and the like on longer words; not of "تي" (my), and not behind two letters. It takes "سيارتي" and "سيارات"
(cars) for verbs in the future, which begin with "س". It takes the article off "البيت" (the house), and neither off
"القطة" (the cat) nor off "والبيت" (and the house).

This module spells such a word so that the stemmer reads it rightly. Other articles stay, for the stemmer recognises
nouns by them. A noun whose own last letter is "ت" stays as it is: "بيتي" is "my house". Such nouns of three letters are
few, and listed; longer ones are so rare that nothing is done about them.
"""

from __future__ import annotations

from recall_integrations.patterns import regex

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
