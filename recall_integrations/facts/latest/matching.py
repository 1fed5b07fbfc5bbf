"""How well a text answers a question, both read together, word by word.

A vector of a whole text forgets which of its words belongs to which. Here each word of the one looks for its match in
the other (`attention`), and what is made of each word and its match says whether the text tells what is asked. Taught
by `benchmarks.facts.teaching_matching`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.facts.latest.attention import (
    ASKED,
    FAR,
    JUDGES,
    TOLD,
    Judge,
    Matrix,
    Reader,
    shares,
    texts_of,
)
from recall_integrations.facts.latest.whom import TEXTS

QUERIES = 64  # that were asked last, and of which is kept what was read

SIDES = ("asked", "told")
_OF_READER = ("turn", "beside", "bias", "key", "made", "made_bias")
NAMES = (
    *(f"{side}_{name}" for side in SIDES for name in _OF_READER),
    *JUDGES,
)


class Matching:
    """Never changed after it is made, so threads share one.

    Args:
        weights: by name (`NAMES`), of any precision.
        length: mean length of the vectors of tokens: a word of this length counts 1.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], length: float) -> None:
        self.weights, self.length = weights, length
        own = {name: np.ascontiguousarray(one, dtype=np.float32) for name, one in weights.items()}
        self._by_asked, self._by_told = (
            Reader(**{name: own[f"{side}_{name}"] for name in _OF_READER}, length=length, most=most)
            for side, most in zip(SIDES, (ASKED, TOLD), strict=True)
        )
        self._judge = Judge(**{name: own[name] for name in JUDGES})
        self._asked = lru_cache(maxsize=QUERIES)(self._by_asked.words)
        self._told = lru_cache(maxsize=TEXTS)(self._by_told.words)

    def matched(self, question: str, texts: Sequence[str]) -> Matrix:
        """How well each text answers a question: logits, `(texts,)`. The differences count more than what they are.

        Args:
            question: what is asked.
            texts: one at least.
        """
        asked, told = texts_of([self._asked(question)] * len(texts)), texts_of(list(map(self._told, texts)))
        width = np.float32(asked.keys.shape[2] ** -0.5)
        alike = asked.keys @ told.keys.transpose(0, 2, 1) * width  # (texts, words asked, words told)
        of_asked = shares(np.where(told.there[:, None], alike, FAR)) @ told.vectors
        of_told = shares(alike.transpose(0, 2, 1)) @ asked.vectors  # the question has as many words in all
        seen = [
            self._by_asked.whole(asked.words, asked.begins, of_asked[asked.there]),
            self._by_told.whole(told.words, told.begins, of_told[told.there]),
        ]
        return self._judge.logits(seen)
