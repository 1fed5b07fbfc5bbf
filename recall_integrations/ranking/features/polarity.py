"""Denial in a question, and texts that deny the same.

    "who is not allergic?"    Ben has no allergies.  ─▶ denies it too    Ana is allergic to nuts.  ─▶ says that it is so

A question that leaves something out ("recipes without nuts") denies nothing: `query.negation` reads it. Denied are the
words that follow the negation in its clause. Words count as the same where one stem begins with the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from recall_integrations.languages.phrases import said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import negation as by_table
from recall_integrations.query.negation import NEGATED_AUXILIARIES, NEGATIVES
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, stem, stems, tokenize
from recall_integrations.types import ParsedQuery

CHARS_MAX = 600  # of a text that are read
WHY = "why"  # "why did Sam not come?" takes it for known that he did not: the answer is another text
REACH = 5  # words after a negation that it denies, in its clause
SAME_LETTERS = 5  # of a stem that may begin another: "allerg", "allergi"
OTHERWISE = 0.5  # of a text that denies something else, or says that something is lacking

_CLAUSE = regex(r"[.,;:!?()\n–—]|\b(?:but|because|although)\b")
_LACKING = frozenset(
    map(stem, "cancel refuse avoid lack stop skip miss fail reject abandon forbid ban dislike hate".split())
)


@record(frozen=True, slots=True, kw_only=True)
class Denial:
    """Denial in a question.

    Args:
        stems: stems of the denied words, in the language of the question.
        terms: stems of all that is looked for.
        language: code of the language.
    """

    stems: tuple[str, ...]
    terms: tuple[str, ...]
    language: str


def denial_of(parsed: ParsedQuery) -> Denial | None:
    """Return a query's denial; `None` where it has none, leaves something out, or asks for a yes ("isn't it …?")."""
    if parsed.negations:
        return None
    if parsed.language != "en":
        words = by_table.words_of(parsed.language)
        found = () if words is None or not words.says("negatives", said(parsed.original).text) else parsed.stems
        roots = tuple(root for _, root in found)
        return Denial(stems=roots, terms=roots, language=parsed.language) if roots else None
    first = next(iter(tokenize(parsed.original)), None)
    if first is None or first.word in NEGATED_AUXILIARIES or first.word == WHY:
        return None
    denied = next((roots for roots in _denied(parsed.original) if roots), None)
    return None if denied is None else Denial(stems=tuple(denied), terms=parsed.terms, language="en")


def agreement(texts: Sequence[str], denial: Denial) -> Values:
    """Rate how far texts deny what the question denies: 1 = they do, -1 = they say that it is so, 0 = neither."""
    found = np.zeros(len(texts), dtype=np.float32)
    of = _english if denial.language == "en" else _by_table
    for place, text in enumerate(texts):
        found[place] = of(text[:CHARS_MAX], denial)
    return found


def _english(text: str, denial: Denial) -> float:
    denied = [root for roots in _denied(text) for root in roots]
    if any(_same(root, wanted) for wanted in denial.stems for root in denied):
        return 1.0
    words = [token.word for token in tokenize(text)]
    roots = [stem(word) for word in words]
    if not (NEGATIVES.isdisjoint(words) and _LACKING.isdisjoint(roots)):
        return OTHERWISE if _held(denial.terms, roots, any) else 0.0
    return -1.0 if _held(denial.stems, roots, all) else 0.0


def _by_table(text: str, denial: Denial) -> float:
    words = by_table.words_of(denial.language)
    roots = stems(text, denial.language)
    if words is not None and words.says("negatives", said(text).text):
        return 1.0 if _held(denial.stems, roots, any) else 0.0
    return -1.0 if _held(denial.stems, roots, all) else 0.0


def _held(wanted: Sequence[str], roots: Sequence[str], which: Callable[[Iterable[bool]], bool]) -> bool:
    return which(any(_same(root, one) for root in roots) for one in wanted)


def _denied(text: str) -> Iterator[list[str]]:
    """Yield the stems that each negation of an English text denies."""
    for clause in _CLAUSE.split(text):
        words = [token.word for token in tokenize(clause)]
        for place, word in enumerate(words):
            if word in NEGATIVES:
                after = words[place + 1 :]
                yield [stem(one) for one in after if one not in STOP_WORDS and one not in NEGATIVES][:REACH]


def _same(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= SAME_LETTERS and long.startswith(short))
