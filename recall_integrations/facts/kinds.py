"""Tells whether a phrase looks like a value of its kind (`config.own_slots.KINDS`): by its shape, or by a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from recall_integrations.facts.grammar import Grammar, has_digit, listed
from recall_integrations.patterns import regex

_PHONE = regex(r"\+?\(?\d[\d\s().-]{3,18}\d")
_EMAIL = regex(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_BLOOD = regex(r"(?:AB|A|B|O)(?:[+-]|[\s-]?(?:positive|negative|pos|neg))?", re.IGNORECASE)


def is_name(words: Sequence[str], grammar: Grammar) -> bool:
    """Say whether words, as they were written, are a name: with capitals, but for "of" and the like within."""
    if not words or words[0].lower() in grammar.not_names or len(words) > 5:
        return False
    if not ((words[0][:1].isupper() and words[-1][:1].isupper()) or words[-1][:1].isdigit()):
        return False
    return all(word[:1].isupper() or word[:1].isdigit() or word.lower() in grammar.joins for word in words)


def _plain(words: Sequence[str], grammar: Grammar, most: int) -> bool:
    """Say whether words may be a noun phrase: the first is no word that begins something else."""
    low = [word.lower() for word in words]
    if len(low) > most or low[0] in grammar.bad_values or low[0] in grammar.pronouns:
        return False
    return len(low) == 1 or not low[0].endswith(("ing", "ed", "ly"))


def fits(kind: str, words: Sequence[str], grammar: Grammar, *, articled: bool = False) -> bool:
    """Say whether a phrase may be a value of a kind.

    Args:
        kind: one of `KINDS`.
        words: words of the phrase as they were written, without an article.
        articled: whether "a", "the" or the like stood before them.
    """
    text = " ".join(words)
    if not words or len(text) > 80:
        return False
    closed = listed(kind)
    if closed:
        return text.lower() in closed
    return _FITS.get(kind, _any)(words, text, grammar, articled)


Fits = Callable[[Sequence[str], str, Grammar, bool], bool]


def _any(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return _plain(words, grammar, 4)


def _named(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return is_name(words, grammar)


def _person(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    named = words[1:] if words[0].lower() in grammar.titles and len(words) > 1 else words
    return not articled and is_name(named, grammar) and not has_digit(text)


def _place(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    odd = any(word.lower() in grammar.dates or not word[1:].islower() for word in words)  # "we moved to GitHub"
    return is_name(words, grammar) and not odd and not has_digit(text)


def _number(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return has_digit(words[0]) and len(words) <= 5


def _date(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return len(words) <= 5 and any(has_digit(word) or word.lower().rstrip(".") in grammar.dates for word in words)


def _work(words: Sequence[str], text: str, grammar: Grammar, articled: bool) -> bool:
    return (articled or is_name(words, grammar) or grammar.code != "en") and _plain(words, grammar, 4)


_FITS: dict[str, Fits] = {
    "person": _person,
    "place": _place,
    **dict.fromkeys(("organisation", "vehicle", "thing"), _named),
    "address": lambda w, t, g, a: has_digit(t) and 2 <= len(w) <= 8 and _plain(w, g, 8),
    "phone": lambda w, t, g, a: _PHONE.fullmatch(t) is not None,
    "email": lambda w, t, g, a: _EMAIL.fullmatch(t) is not None,
    "number": _number,
    "date": _date,
    "code": lambda w, t, g, a: not a and len(w) == 1 and w[0].lower() not in g.bad_values,
    "work": _work,
    **dict.fromkeys(("language", "nationality"), lambda w, t, g, a: not a and len(w) == 1 and w[0][:1].isupper()),
    "religion": lambda w, t, g, a: len(w) == 1 and w[0][:1].isupper(),
    "medicine": lambda w, t, g, a: not a and len(w) <= 3 and (has_digit(t) or w[0][:1].isupper()),
    "name": lambda w, t, g, a: is_name(w, g) or (not a and _plain(w, g, 2)),
    "subject": lambda w, t, g, a: not a and _plain(w, g, 3),
    "team": lambda w, t, g, a: is_name(w, g),
    "blood": lambda w, t, g, a: _BLOOD.fullmatch(t) is not None,
    "titled": lambda w, t, g, a: len(w) > 1 and w[0].lower() in g.titles and is_name(w[1:], g),
    "activity": lambda w, t, g, a: len(w) <= 3 and w[0].lower() not in g.bad_values,
}
