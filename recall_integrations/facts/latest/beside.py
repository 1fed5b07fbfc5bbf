"""What speaks for a candidate beside the others: what it takes up of an earlier one, how it speaks of a change, and how
alike it is to the question, word by word.

"Cancelled Netflix last night and signed up for Mubi" has no word of "which streaming service do I use?", and the words
of what was true before. Who only wishes for something or is somewhere for a weekend says so, too. How much a text means
of a question is the sum over the question's words of the most alike of the text (the greedy matching of Zhang et al.,
"BERTScore", ICLR 2020), with the vectors of the bundled model instead of those of a transformer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.reader.vectors import vector_of
from recall_integrations.patterns import regex
from recall_integrations.records import record

# In this order in the columns.
BESIDE = (
    "takes_up",  # words of an earlier one that the question lacks: how rare they are, times how much of it that holds
    "takes_up_told",  # times how much of what is asked the slot reader sees in that one
    "takes_up_paired",  # times how well that one answers the question, by `pairing`
    "takes_up_matched",  # the same by `matching`, as a share
    "taken_up",  # by a later candidate
    "later_first",  # whether it was told after the first candidate
    "later_most",  # whether it was told after the one that holds most of the question
    "changes",  # whether it has words for a change: "switched", "handed over"
    "for_now",  # "now", "from now on", "since"
    "wishes",  # "would love to", "thinking of"
    "passing",  # "for the weekend", "rental"
    "digits",  # whether it has any
    "asks_number",  # of the question: whether it asks for what is told in digits
    "asks_who",
    "asks_where",
    "akin",  # how alike its words are to those of the question, in [-1, 1]
    "akin_others",  # each word with the most alike that is another one
    "akin_most",  # the most alike of these
    "near",  # cosine of the whole and of its sentence that is nearest with the question
    "near_sentence",
    "near_first",  # with the first candidate
    "near_most",  # with the one that holds most of the question
)

_CHANGES = regex(
    r"\b(?:switch|swap|mov(?:e|ed|ing)\b|replac|trad(?:ed|ing)|instead|no\slonger|any\s?more|cancel|quit\b|left\b|leav|drop|hand(?:ed|s|ing)\b|"
    r"t(?:ook|akes?|aking)\sover|upgrad|renam|chang|sold\b|got\srid|retir|sign(?:ed)?\sup|gone\b|after\sall|turned\soff|migrat|cut\sover|reset|"
    r"bump|rais(?:e|ed)|increas|went\s(?:up|down)|promot|graduat|stopp|gave\s(?:up|it|the|my)|given\sup|finish|end(?:ed|s)\b|over\b|unpack|settle|"
    r"start|join|hir(?:e|ed)|arriv|ditch|transfer|merg|expir|wip(?:e|ed)|last\sone|not\sthe)",
    2,
)
_FOR_NOW = regex(
    r"\b(?:now|nowadays|currently|these\sdays|from\s(?:now|today|then|monday|next|this|the\sfirst)|as\sof|at\sthe\smoment|since|already|finally|new|until\sfurther|"
    r"lately|by\snow|today|this\s(?:week|month|year)|again|officially)\b",
    2,
)
_WISHES = regex(
    r"\b(?:wish|would\s(?:love|like|rather)|['’]d\s(?:love|like|rather)|want(?:s|ed)?\sto|think(?:s|ing)?\s(?:of|about)|consider|hop(?:e|es|ing)|plan(?:s|ning)?\s(?:to|on)|"
    r"dream|might|maybe|perhaps|someday|one\sday|if\s(?:i|we|only|he|she|they)|tempted|almost|nearly|toy(?:s|ing)\swith|should\s(?:i|we)|could|next\syear|idea)\b",
    2,
)
_PASSING = regex(
    r"\b(?:weekend|visit(?:s|ed|ing)?|holidays?|vacation|trip|came\s(?:back|home)|for\s(?:a|two|three|the)\s(?:few\s)?(?:night|day|week|fortnight|while)s?|rental|"
    r"borrow(?:ed|s)?|loan(?:er|ed)?|test\sdrive|tried|trying|just\s(?:for|this|once)|temporar\w*|filling\sin|cover(?:s|ed|ing)\sfor|substitute|passing\sthrough|pretend\w*|joke\w*)\b",
    2,
)
_DIGIT = regex(r"\d")
_NUMBER = regex(
    r"\b(?:number|code|pin|password|price|cost|how\s(?:much|many|old|tall|long|far|often)|plate|phone|size|date|when|time|version|port|url|address|budget|rent|salary|"
    r"weigh|weight|height|limit|iban|account|fee|rate|deadline|room|flat|floor|extension|dose|dosage|birthday|age|score|hours?|days?)\b",
    2,
)
_WHO = regex(r"\b(?:who|whom|whose|name|owner|maintainer)\b|\bwho['’]s\b", 2)
_WHERE = regex(r"\b(?:where|address|live|lives|located|place|city|town|country|office|room|url|host(?:s|ed)?)\b", 2)
TAKEN_MAX = 4.0
TOKENS = 100  # of a text that are looked at

Matrix = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a text means.

    Args:
        tokens: its tokens, each once.
        vector: of the whole, `(dimensions,)`.
    """

    tokens: NDArray[np.int64]
    vector: Matrix


def drawn(text: str) -> Drawn:
    """What a text means."""
    made = Drawn(tokens=_tokens(text), vector=vector_of(text))
    made.tokens.setflags(write=False)  # others are given the same
    return made


def alike(question: str, texts: Sequence[Drawn], sentences: Sequence[Matrix], covers: Matrix) -> Matrix:
    """How alike candidates are to a question and to each other: the columns from "akin" on, `(candidates, 7)`.

    Args:
        question: what is asked.
        texts: of the candidates.
        sentences: vectors of the sentences of each, `(sentences, dimensions)`.
        covers: share of the words of the question that each holds.
    """
    model, asked = bundled(), _tokens(question)
    vector, own = model.embed_query(question), model.weighted(asked)
    length = np.linalg.norm(own, axis=1)
    own, whole = own / np.maximum(length, 1e-9)[:, None], max(float(length.sum()), 1e-9)
    found = np.zeros((len(texts), 7), dtype=np.float32)
    # No product of matrices: see `facts.reader.slot_reader.Linear`.
    some = [place for place, text in enumerate(texts) if len(text.tokens)]
    if some and len(asked):
        tokens, begins = _joined([texts[place].tokens for place in some])
        of_texts = model.weighted(tokens)
        cosines = np.einsum("ik,jk->ij", own, of_texts) / np.maximum(np.linalg.norm(of_texts, axis=1), 1e-9)
        found[some, 0] = np.einsum("ij,i->j", np.maximum.reduceat(cosines, begins, axis=1), length) / whole
        others = np.maximum.reduceat(np.where(asked[:, None] == tokens[None], -1, cosines), begins, axis=1)
        found[some, 1] = np.einsum("ij,i->j", others, length) / whole
        found[some, 2] = others.max(axis=0)
    said, begins = _joined(sentences)
    found[:, 4] = np.maximum.reduceat(np.einsum("ik,k->i", said, vector), begins)
    vectors = np.stack([text.vector for text in texts])
    for column, beside in ((3, vector), (5, vectors[0]), (6, vectors[int(np.argmax(covers))])):
        found[:, column] = np.einsum("ik,k->i", vectors, beside)
    return found


def _joined(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """One after the other, and where each begins; none of them is empty."""
    sizes = [0, *map(len, parts[:-1])]
    return np.concatenate(parts), np.cumsum(sizes)


def _tokens(text: str) -> NDArray[np.int64]:
    return np.unique(np.asarray(bundled().ids_of(text)[:TOKENS], dtype=np.int64))


def spoken(text: str) -> tuple[bool, ...]:
    """How a text speaks: the columns from "changes" to "digits"."""
    ways = (_CHANGES, _FOR_NOW, _WISHES, _PASSING, _DIGIT)
    return tuple([way.search(text) is not None for way in ways])


def wanted(question: str) -> tuple[bool, ...]:
    """What a question asks for: the columns behind them."""
    return tuple([way.search(question) is not None for way in (_NUMBER, _WHO, _WHERE)])


def taken_up(
    words: frozenset[str],
    held: Sequence[frozenset[str]],
    at: Sequence[int | None],
    shares: tuple[Matrix, Matrix, Matrix, Matrix],
    least: int = 0,
) -> Matrix:
    """What candidates take up of each other: the columns up to "later_most", float32 `(candidates, 7)`.

    Args:
        words: of the question.
        held: of each candidate.
        at: when each was told, microseconds; `None` = nobody knows, and it is neither earlier nor later.
        shares: of each, `(candidates,)`: what it holds of the words of the question; what the slot reader sees in it of
            what is asked for; how well it answers the question, by `pairing` and by `matching`.
        least: candidates that there are taken to be at least, when it is said how rare a word is.
    """
    count = len(held)
    own = [one - words for one in held]
    often: dict[str, int] = {}
    for one in own:
        for word in one:
            often[word] = often.get(word, 0) + 1
    of = max(count, least)
    rare = {word: math.log((of + 1) / (1 + held_by)) for word, held_by in often.items() if held_by > 1}
    shared = np.zeros((count, count), dtype=np.float32)
    several = [frozenset(word for word in one if word in rare) for one in own]
    for i, one in enumerate(several):
        for j in range(i) if one else ():
            both = one & several[j]
            if both:
                shared[i, j] = shared[j, i] = min(TAKEN_MAX, sum(rare[word] for word in sorted(both)))
    times = np.asarray([time or 0 for time in at], dtype=np.int64)
    dated = np.asarray([time is not None for time in at], dtype=np.bool_)
    later = (times[:, None] > times[None]) & dated[:, None] & dated[None]
    up = np.where(later, shared, 0)
    found = np.empty((count, 7), dtype=np.float32)
    for column, share in enumerate(shares):
        found[:, column] = (up * share[None]).max(axis=1)  # 0 at least: nobody takes up their own words
    found[:, 4] = up.max(axis=0)
    found[:, 5] = later[:, 0]
    found[:, 6] = later[:, int(np.argmax(shares[0]))]
    return found
