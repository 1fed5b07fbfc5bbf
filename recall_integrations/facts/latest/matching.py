"""How well a text answers a question, both read together, word by word.

A vector of a whole text forgets which of its words belongs to which. Here each word of the one looks for its match in
the other, and what is made of each word and its match says whether the text tells what is asked: the decomposable
attention of Parikh et al. (EMNLP 2016), over the vectors of the bundled model, with one look at the words beside each
word. Taught by `benchmarks.facts.teaching_matching`.

    words ─ vectors ─ turned, beside their neighbours ─ each with its match in the other ─ most and mean ─▶ a number
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.latest.whom import TEXTS
from recall_integrations.records import record

QUERIES = 64  # that were asked last, and of which is kept what was read
ASKED, TOLD = 20, 40  # tokens of a question and of a text that are read
# Of more a thread is woken for each processor (OpenBLAS), which takes longer than the product on a busy machine.
PRODUCT_MAX = 262_144
FAR = np.float32(-1e4)
FARTHEST = np.float32(12)  # of a logit

Matrix = NDArray[np.float32]
_OF_SIDE = ("turn", "beside", "bias", "key", "made", "made_bias")
NAMES = (
    *(f"{side}_{name}" for side in ("asked", "told") for name in _OF_SIDE),
    "inner",
    "inner_bias",
    "outer",
    "outer_bias",
)


@record(frozen=True, slots=True, kw_only=True)
class Side:
    """What reads the words of one of the two.

    Args:
        turn: `(dimensions, width)`.
        beside: `(3 * width, width)`: of the word before, the word and the word after.
        bias: `(width,)`.
        key: `(width, width)`: what a match is looked for by.
        made: `(4 * width + 1, width)`: of a word, its match, their product, difference, and how much the word counts.
        made_bias: `(width,)`.
    """

    turn: Matrix
    beside: Matrix
    bias: Matrix
    key: Matrix
    made: Matrix
    made_bias: Matrix


@record(frozen=True, slots=True, kw_only=True)
class _Words:
    """Words that were read.

    Args:
        vectors: `(words, width)`.
        keys: the same, as matches are looked for.
        counts: how much each counts, `(words,)`.
    """

    vectors: Matrix
    keys: Matrix
    counts: Matrix


class Matching:
    """Never changed after it is made, so threads share one.

    Args:
        weights: by name (`NAMES`), of any precision.
        length: mean length of the vectors of tokens: a word of this length counts 1.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], length: float) -> None:
        self.weights, self.length = weights, length
        own = {name: np.ascontiguousarray(one, dtype=np.float32) for name, one in weights.items()}
        self._asked_by, self._told_by = (
            Side(**{name: own[f"{side}_{name}"] for name in _OF_SIDE}) for side in ("asked", "told")
        )
        self._inner, self._inner_bias = own["inner"], own["inner_bias"]
        self._outer, self._outer_bias = own["outer"], own["outer_bias"]
        self._asked = lru_cache(maxsize=QUERIES)(lambda text: self._read(text, ASKED, self._asked_by))
        self._told = lru_cache(maxsize=TEXTS)(lambda text: self._read(text, TOLD, self._told_by))

    def matched(self, question: str, texts: Sequence[str]) -> Matrix:
        """How well each text answers a question: logits, `(texts,)`. The differences count more than what they are.

        Args:
            question: what is asked.
            texts: one at least.
        """
        asked, told = self._asked(question), list(map(self._told, texts))
        most = max(len(one.counts) for one in told)
        width = asked.vectors.shape[1]
        vectors, keys = (np.zeros((len(told), most, width), dtype=np.float32) for _ in range(2))
        counts = np.zeros((len(told), most), dtype=np.float32)
        there = np.zeros((len(told), most), dtype=np.bool_)
        for place, one in enumerate(told):
            size = len(one.counts)
            vectors[place, :size], keys[place, :size], counts[place, :size] = one.vectors, one.keys, one.counts
            there[place, :size] = True
        alike = asked.keys @ keys.transpose(0, 2, 1) * np.float32(width**-0.5)  # (texts, words asked, words told)
        of_asked = _shares(np.where(there[:, None], alike, FAR)) @ vectors
        of_told = _shares(alike.transpose(0, 2, 1)) @ asked.vectors
        shape = (len(told), *asked.vectors.shape)
        own = _made(np.broadcast_to(asked.vectors, shape), of_asked, asked.counts, self._asked_by)
        other = _made(vectors, of_told, counts, self._told_by)
        seen = np.concatenate(
            [*_whole(own, np.broadcast_to(asked.counts, shape[:2])), *_whole(other, counts, there)], axis=1
        )
        inner = _gelu(_product(seen, self._inner) + self._inner_bias)
        logits = np.einsum("nd,d->n", inner, self._outer) + self._outer_bias
        found: Matrix = np.clip(logits, -FARTHEST, FARTHEST)
        return found

    def _read(self, text: str, most: int, side: Side) -> _Words:
        model = bundled()
        ids = np.asarray(model.ids_of(text)[:most] or [0], dtype=np.int64)
        vectors = model.weighted(ids)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        turned = _product(vectors / np.maximum(lengths, 1e-9)[:, None], side.turn)
        none = np.zeros((1, turned.shape[1]), dtype=np.float32)
        beside = np.concatenate(
            [np.concatenate([none, turned[:-1]]), turned, np.concatenate([turned[1:], none])], axis=1
        )
        read = turned + _gelu(_product(beside, side.beside) + side.bias)
        made = _Words(vectors=read, keys=_product(read, side.key), counts=(lengths / self.length).astype(np.float32))
        for one in (made.vectors, made.keys, made.counts):
            one.setflags(write=False)  # others are given the same
        return made


def _made(words: Matrix, matches: Matrix, counts: Matrix, side: Side) -> Matrix:
    """What each word and its match say, `(texts, words, width)`."""
    counted = np.broadcast_to(counts[..., None], (*words.shape[:2], 1))
    given = np.concatenate([words, matches, words * matches, np.abs(words - matches), counted], axis=2)
    return _gelu(_product(given, side.made) + side.made_bias)


def _whole(made: Matrix, counts: Matrix, there: NDArray[np.bool_] | None = None) -> tuple[Matrix, Matrix]:
    """Mean, as words count, and most of what words say, `(texts, width)` each."""
    mean = np.einsum("nwd,nw->nd", made, counts) / np.maximum(counts.sum(axis=1), 1e-3)[:, None]
    return mean, (made if there is None else np.where(there[..., None], made, FAR)).max(axis=1)


def _product(left: Matrix, right: Matrix) -> Matrix:
    """Rows times a matrix, so many at once that no thread is woken for it."""
    rows = left.reshape(-1, left.shape[-1])
    step = max(1, PRODUCT_MAX // right.size)
    found = np.empty((len(rows), right.shape[1]), dtype=np.float32)
    for first in range(0, len(rows), step):
        np.matmul(rows[first : first + step], right, out=found[first : first + step])
    return found.reshape(*left.shape[:-1], right.shape[1])


def _shares(values: Matrix) -> Matrix:
    raised = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Matrix = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def _gelu(values: Matrix) -> Matrix:
    """As in `model`: with a hyperbolic tangent."""
    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    raised: Matrix = np.float32(0.5) * values * (1 + np.tanh(inner))
    return raised
