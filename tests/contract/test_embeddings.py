"""One suite over every way to bring an embedding."""

from __future__ import annotations

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import MockEmbedding

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.testing import EmbeddingContract, HashEmbedding


class TestBundled(EmbeddingContract):
    @pytest.fixture(scope="class")
    def embedding(self):
        return resolve_embedding(None)


class TestOwnObject(EmbeddingContract):
    @pytest.fixture
    def embedding(self):
        return resolve_embedding(HashEmbedding(24))


class TestCallable(EmbeddingContract):
    @pytest.fixture
    def embedding(self):
        return resolve_embedding(HashEmbedding(24).embed_documents)


class TestLangChain(EmbeddingContract):
    @pytest.fixture
    def embedding(self):
        return resolve_embedding(DeterministicFakeEmbedding(size=12))


class TestLlamaIndex(EmbeddingContract):
    @pytest.fixture
    def embedding(self):
        return resolve_embedding(MockEmbedding(embed_dim=12))
