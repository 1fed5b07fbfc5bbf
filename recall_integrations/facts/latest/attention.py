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
# Multiplications of one product. Of more a thread is woken for each processor (OpenBLAS), which takes longer than the
# product on a busy machine.
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
        made: `(4 * width + 1, width)`: what is made of a word, its match, their product, their difference, and how much
            the word counts.
        made_bias: `(width,)`.
        length: mean length of the vectors of tokens: a word of this length counts 1.
        most: tokens that are read.
        added: `(width,)`, added to each word.
    """

    turn: Matrix
    beside: Matrix
    bias: Matrix
    key: Matrix
    made: Matrix
    made_bias: Matrix
    length: float
    most: int
    added: Matrix | None = None

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
        if self.added is not None:
            read += self.added
        counts = (lengths / self.length).astype(np.float32)
        own = product(read, self.made[: read.shape[1]]) + counts[:, None] * self.made[-1] + self.made_bias
        found = Words(vectors=read, keys=product(read, self.key), counts=counts, own=own)
        for one in (found.vectors, found.keys, found.counts, found.own):
            one.setflags(write=False)  # others are given the same
        return found

    def whole(self, words: Words, begins: NDArray[np.int64], matches: Matrix) -> Matrix:
        """What words and their matches say of each text: their mean, as words count, and their most.

        Args:
            words: of texts, one after the other.
            begins: where each text begins; none is empty.
            matches: of each word in another text, `(words, width)`.

        Returns:
            `(texts, 2 * width)`.
        """
        width = matches.shape[1]
        given = np.concatenate([matches, words.vectors * matches, np.abs(words.vectors - matches)], axis=1)
        said = gelu(product(given, self.made[width:-1]) + words.own)
        counts = np.add.reduceat(words.counts, begins)
        mean = np.add.reduceat(said * words.counts[:, None], begins) / np.maximum(counts, 1e-3)[:, None]
        return np.concatenate([mean, np.maximum.reduceat(said, begins)], axis=1)


@record(frozen=True, slots=True, kw_only=True)
class Words:
    """Words that were read, of one text or of several, one after the other.

    Args:
        vectors: `(words, width)`.
        keys: the same, as matches are looked for.
        counts: how much each counts, `(words,)`.
        own: what each says by itself, without a match, `(words, width)`.
    """

    vectors: Matrix
    keys: Matrix
    counts: Matrix
    own: Matrix


@record(frozen=True, slots=True, kw_only=True)
class Texts:
    """Words of several texts.

    Args:
        words: one after the other.
        begins: where each text begins.
        vectors: `(texts, words, width)`; 0 where there is no such word.
        keys: the same, as matches are looked for.
        there: whether there is such a word, `(texts, words)`.
    """

    words: Words
    begins: NDArray[np.int64]
    vectors: Matrix
    keys: Matrix
    there: NDArray[np.bool_]


def texts_of(read: Sequence[Words]) -> Texts:
    """Words of several texts, one at least; none of them is empty."""
    sizes = np.asarray([len(one.counts) for one in read])
    words = Words(
        vectors=np.concatenate([one.vectors for one in read]),
        keys=np.concatenate([one.keys for one in read]),
        counts=np.concatenate([one.counts for one in read]),
        own=np.concatenate([one.own for one in read]),
    )
    there = np.arange(int(sizes.max())) < sizes[:, None]
    vectors, keys = (np.zeros((*there.shape, words.vectors.shape[1]), dtype=np.float32) for _ in range(2))
    vectors[there], keys[there] = words.vectors, words.keys
    begins = np.concatenate([[0], np.cumsum(sizes[:-1])])
    return Texts(words=words, begins=begins, vectors=vectors, keys=keys, there=there)


@record(frozen=True, slots=True, kw_only=True)
class Judge:
    """What makes a logit of all that words say: one hidden layer.

    Args:
        inner: `(seen, width)`.
        inner_bias: `(width,)`.
        outer: `(width,)`.
        outer_bias: `(1,)`.
    """

    inner: Matrix
    inner_bias: Matrix
    outer: Matrix
    outer_bias: Matrix

    def logits(self, seen: Sequence[Matrix]) -> Matrix:
        """Of texts, `(texts,)`, by what was seen of each, beside each other: `(texts, …)` each."""
        inner = gelu(product(np.concatenate(seen, axis=1), self.inner) + self.inner_bias)
        found: Matrix = np.clip(np.einsum("nd,d->n", inner, self.outer) + self.outer_bias, -FARTHEST, FARTHEST)
        return found


JUDGES = ("inner", "inner_bias", "outer", "outer_bias")


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
    """Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016), by their approximation with a hyperbolic tangent."""
    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    raised: Matrix = np.float32(0.5) * values * (1 + np.tanh(inner))
    return raised
