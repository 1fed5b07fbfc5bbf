"""The embedding of a store, asked so that it cannot block anybody for ever: in a thread of its own, under a time limit.

The store notes which embedding made its vectors, and their length. So it can be opened while the embedding cannot
be reached (`identify`): the note holds until the embedding answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.errors import EmbeddingError, EmbeddingMismatch, RecallError
from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline

T = TypeVar("T")
LIMIT_S = 120.0  # for `PIECE` texts: a large model on a small machine takes seconds for each
HUNG_S = 1.0  # while an earlier call has not returned: whoever writes now need not find that out again
OPEN_S = 20.0  # for its name and dimensions, where the store knows them: a model may have to be loaded for that
PIECE = 100


class AskedEmbedding:
    """Wraps the user's `Embedding`. Every failure is an `EmbeddingError`, and comes in time. Threads share it."""

    def __init__(self, source: Embedding, limit_s: float = LIMIT_S) -> None:
        self.source, self._limit_s = source, limit_s
        self.here = isinstance(source, StaticEmbedding)
        self._threads = Bulkhead("embedding")
        self._fingerprint: str | None = None
        self._dimensions: int | None = None
        self._noted: tuple[str, int] | None = None
        self.down: EmbeddingError | None = None

    def identify(self, made_by: str, length: int | None) -> str:
        """Return the fingerprint of the embedding, or `made_by` where the embedding cannot be reached.

        `length`: dimensions of the store's vectors; `None` = it has none.
        """
        try:
            self._fingerprint = self._asked(lambda: self.source.fingerprint, limit_s=min(OPEN_S, self._limit_s))
        except EmbeddingError as e:
            named = getattr(self.source, "may_be", None)
            if named is not None and not named(made_by):
                raise EmbeddingMismatch(
                    f"This store was made with the embedding {made_by!r} and is opened with {self.source!r}, which "
                    "cannot be reached. Open it with the one that made it."
                ) from e
            if length is None:
                raise
            self._noted, self.down = (made_by, length), e
            return made_by
        return self._fingerprint

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedding; the one that the store notes while the embedding cannot be reached."""
        if self._fingerprint is None:
            if self._noted is not None:
                return self._noted[0]
            self._fingerprint = self._asked(lambda: self.source.fingerprint)
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Dimensions of the embedding; those that the store notes while the embedding cannot be reached."""
        if self._dimensions is None:
            if self._noted is not None:
                return self._noted[1]
            self._dimensions = self._asked(lambda: self.source.dimensions)
        return self._dimensions

    @property
    def remote(self) -> bool:
        """True if a call leaves the machine."""
        return self.source.remote

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: shape `(len(texts), dimensions)`, as the embedding gives it."""
        if len(texts) <= PIECE or self.here:
            return self._asked(lambda: self.source.embed_documents(texts))
        pieces = [texts[i : i + PIECE] for i in range(0, len(texts), PIECE)]
        found = [self._asked(partial(self.source.embed_documents, piece)) for piece in pieces]
        try:
            return np.concatenate([np.asarray(part) for part in found])
        except ValueError as e:
            raise EmbeddingError(f"The embedding must return vectors of equal length: {e}.") from e

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query: shape `(dimensions,)`. Raises as `embed_documents`."""
        return self._asked(lambda: self.source.embed_query(text))

    def _asked(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        if self.here:
            return call()
        limit_s = self._limit_s if limit_s is None else limit_s
        seconds = min(limit_s, HUNG_S) if self._threads.hanging else limit_s
        future = self._threads.submit(call)
        try:
            Deadline.after(seconds * 1e3).wait_for(future)
        finally:  # Ctrl-C, too: the thread may go on, nobody waits for it
            if not future.done():
                self._threads.give_up(future)
        if not future.done() or future.cancelled():
            raise EmbeddingError(f"The embedding did not answer within {seconds:g} s.")
        error = future.exception()
        if isinstance(error, RecallError):
            raise error
        if isinstance(error, Busy):
            raise EmbeddingError(f"The embedding is not asked: {error}") from error
        if error is not None:
            raise EmbeddingError(f"The embedding raised {type(error).__name__}: {error}") from error
        self.down = None
        return future.result()
