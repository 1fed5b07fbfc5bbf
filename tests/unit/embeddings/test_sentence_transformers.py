"""The sentence-transformers adapter, with tiny models made here: nothing is downloaded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_integrations.adapters import embedding as adapters
from recall_integrations.adapters.embedding import SentenceTransformerAdapter, resolve_embedding
from recall_integrations.errors import EmbeddingError

# Imported where it is used: torch costs whoever collects these tests ten seconds.
pytestmark = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("torch") is None,
    reason="the extra recall-integrations[sentence-transformers] is not installed, or not with torch",
)

WORDS = ["dog", "cat", "ill", "sick", "house", "sea", "query", "document", "the", "is", "by", "my"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer BERT with random weights and a dozen words."""
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizerFast

    base = tmp_path_factory.mktemp("bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", *WORDS]
    (base / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(base / "vocab.txt")).save_pretrained(base)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **shape)).save_pretrained(base)
    module = models.Transformer(str(base))
    made = SentenceTransformer(
        modules=[module, models.Pooling(16)], prompts={"query": "query: ", "document": "document: "}, device="cpu"
    )
    target = tmp_path_factory.mktemp("tiny") / "tiny-model"
    made.save(str(target))
    return target


@pytest.fixture(scope="module")
def embedding(folder: Path) -> Any:
    return resolve_embedding(str(folder))


def test_shapes(embedding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "BATCH_SIZE", 3)
    assert isinstance(embedding, SentenceTransformerAdapter)
    assert embedding.remote is False
    rows = embedding.embed_documents(["my dog", "the house by the sea", "cat", "ill"])
    assert rows.shape == (4, 16)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert embedding.dimensions == 16


def test_queries_and_documents_get_the_models_own_prompts(embedding: Any, folder: Path) -> None:
    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    as_query, as_document = model.encode(["query: my dog", "document: my dog"], normalize_embeddings=True)
    np.testing.assert_allclose(embedding.embed_query("my dog"), as_query, atol=1e-5)
    np.testing.assert_allclose(embedding.embed_documents(["my dog"])[0], as_document, atol=1e-5)
    assert not np.allclose(as_query, as_document, atol=1e-3)


def test_path_name_and_loaded_model_are_the_same(embedding: Any, folder: Path) -> None:
    assert embedding.fingerprint.startswith("sentence-transformers:tiny-model@")
    assert embedding.fingerprint.endswith(":16")
    assert resolve_embedding(folder).fingerprint == embedding.fingerprint
    import sentence_transformers

    loaded = resolve_embedding(sentence_transformers.SentenceTransformer(str(folder), device="cpu"))
    assert loaded.fingerprint == embedding.fingerprint
    np.testing.assert_allclose(loaded.embed_query("cat"), embedding.embed_query("cat"), atol=1e-6)


def test_threads_get_the_same_vectors_as_one(embedding: Any) -> None:
    texts = ["my dog is ill " * (1 + n % 4) for n in range(12)]
    expected = [embedding.embed_query(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(embedding.embed_query, texts), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbeddingError, match="empty"):
        resolve_embedding(tmp_path / "empty").embed_query("x")
