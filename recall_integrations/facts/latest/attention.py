"""What texts are read with word by word, and each word beside its match in another text.

The decomposable attention of Parikh et al. (EMNLP 2016), over the vectors of the bundled model, with one look at the
words beside each word.

    words ─ vectors ─ turned, beside their neighbours ─ each with its match in the other ─ most and mean
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.records import record

ASKED, TOLD = 20, 40  # tokens of a question and of a text that are read
# Of more a thread is woken for each processor (OpenBLAS), which takes longer than the product on a busy machine.
PRODUCT_MAX = 262_144
FAR = np.float32(-1e4)
FARTHEST = np.float32(12)  # of a logit

Matrix = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Reader:
    """What reads the words of a text.

    Args:
        turn: `(dimensions, width)`.
        beside: `(3 * width, width)`: of the word before, the word and the word after.
        bias: `(width,)`.
        key: `(width, width)`: what a match is looked for by.
        length: mean length of the vectors of tokens: a word of this length counts 1.
        most: tokens that are read.
    """

    turn: Matrix
    beside: Matrix
    bias: Matrix
    key: Matrix
    length: float
    most: int

    def words(self, text: str) -> Words:
        """The words of a text."""
        model = bundled()
        ids = np.asarray(model.ids_of(text)[: self.most] or [0], dtype=np.int64)
        vectors = model.weighted(ids)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        turned = product(vectors / np.maximum(lengths, 1e-9)[:, None], self.turn)
        none = np.zeros((1, turned.shape[1]), dtype=np.float32)
        beside = np.concatenate(
            [np.concatenate([none, turned[:-1]]), turned, np.concatenate([turned[1:], none])], axis=1
        )
        read = turned + gelu(product(beside, self.beside) + self.bias)
        made = Words(vectors=read, keys=product(read, self.key), counts=(lengths / self.length).astype(np.float32))
        for one in (made.vectors, made.keys, made.counts):
            one.setflags(write=False)  # others are given the same
        return made


@record(frozen=True, slots=True, kw_only=True)
class Words:
    """Words that were read.

    Args:
        vectors: `(words, width)`.
        keys: the same, as matches are looked for.
        counts: how much each counts, `(words,)`.
    """

    vectors: Matrix
    keys: Matrix
    counts: Matrix


@record(frozen=True, slots=True, kw_only=True)
class Padded:
    """Words of several texts.

    Args:
        vectors: `(texts, words, width)`.
        keys: the same, as matches are looked for.
        counts: how much each counts, `(texts, words)`.
        there: whether there is such a word, `(texts, words)`.
    """

    vectors: Matrix
    keys: Matrix
    counts: Matrix
    there: NDArray[np.bool_]


def padded(texts: Sequence[Words]) -> Padded:
    """Words of several texts, one at least."""
    most, width = max(len(one.counts) for one in texts), texts[0].vectors.shape[1]
    vectors, keys = (np.zeros((len(texts), most, width), dtype=np.float32) for _ in range(2))
    counts = np.zeros((len(texts), most), dtype=np.float32)
    there = np.zeros((len(texts), most), dtype=np.bool_)
    for place, one in enumerate(texts):
        size = len(one.counts)
        vectors[place, :size], keys[place, :size], counts[place, :size] = one.vectors, one.keys, one.counts
        there[place, :size] = True
    return Padded(vectors=vectors, keys=keys, counts=counts, there=there)


def made(words: Matrix, matches: Matrix, counts: Matrix, by: tuple[Matrix, Matrix]) -> Matrix:
    """What each word and its match say, `(texts, words, width)`.

    Args:
        words: `(texts, words, width)`.
        matches: of each word in the other text.
        counts: how much each counts, `(texts, words)` or `(words,)`.
        by: `(4 * width + 1, width)`: of a word, its match, their product, difference, and how much the word counts; and
            what is added.
    """
    counted = np.broadcast_to(counts[..., None], (*words.shape[:2], 1))
    given = np.concatenate([words, matches, words * matches, np.abs(words - matches), counted], axis=2)
    return gelu(product(given, by[0]) + by[1])


def whole(said: Matrix, counts: Matrix, there: NDArray[np.bool_] | None = None) -> tuple[Matrix, Matrix]:
    """Mean, as words count, and most of what words say, `(texts, width)` each."""
    mean = np.einsum("nwd,nw->nd", said, counts) / np.maximum(counts.sum(axis=1), 1e-3)[:, None]
    return mean, (said if there is None else np.where(there[..., None], said, FAR)).max(axis=1)


def product(left: Matrix, right: Matrix) -> Matrix:
    """Rows times a matrix, so many at once that no thread is woken for it."""
    rows = left.reshape(-1, left.shape[-1])
    step = max(1, PRODUCT_MAX // right.size)
    found = np.empty((len(rows), right.shape[1]), dtype=np.float32)
    for first in range(0, len(rows), step):
        np.matmul(rows[first : first + step], right, out=found[first : first + step])
    return found.reshape(*left.shape[:-1], right.shape[1])


def shares(values: Matrix) -> Matrix:
    """Shares that sum to 1 in the last axis (softmax)."""
    raised = np.exp(values - values.max(axis=-1, keepdims=True))
    found: Matrix = raised / raised.sum(axis=-1, keepdims=True)
    return found


def gelu(values: Matrix) -> Matrix:
    """As in `model`: with a hyperbolic tangent."""
    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    raised: Matrix = np.float32(0.5) * values * (1 + np.tanh(inner))
    return raised
