"""The package's own embedding as one of LangChain and one of LlamaIndex, so that a comparison is of retrievers alone.

With an embedding of your own you need neither: give it to both sides, `MemoryStore.open(embedding=…)` and theirs.
"""

from __future__ import annotations

from langchain_core.embeddings import Embeddings
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from recall_integrations import MemoryStore
from recall_integrations.embeddings.base import Embedding


class ForLangChain(Embeddings):
    """The embedding of a store, for LangChain's vector stores."""

    def __init__(self, store: MemoryStore) -> None:
        self._embedding: Embedding = store.embedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        vectors: list[list[float]] = self._embedding.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        vector: list[float] = self._embedding.embed_query(text).tolist()
        return vector


class ForLlamaIndex(BaseEmbedding):
    """The embedding of a store, for LlamaIndex's indexes."""

    _embedding: Embedding = PrivateAttr()

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(model_name="bundled", embed_batch_size=512)
        self._embedding = store.embedding

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._embedding.embed_query(query).tolist()
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedding.embed_documents(texts).tolist()
        return vectors

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
