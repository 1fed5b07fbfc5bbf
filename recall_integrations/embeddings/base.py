"""The protocol of an embedding, as the rest of the package needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Embedding(Protocol):
    """Texts to unit vectors.

    `fingerprint` names the model, its version and its dimensions; a store remembers it. `remote` says that a call
    leaves the machine.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def remote(self) -> bool: ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts as rows of length 1 (or 0 for a text without a known token), `(len(texts), dimensions)`."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, shape `(dimensions,)`, of length 1 (or 0)."""
        ...
