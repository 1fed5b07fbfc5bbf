"""What is read of vector stores: metadata as JSON has it, metrics, and FAISS, whose package the tests do without."""

from __future__ import annotations

from datetime import date, datetime, timezone
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from recall_integrations.adapters.shapes import plain
from recall_integrations.adapters.sources import ChromaSource, in_pages, metric_of, source_of_store
from recall_integrations.types import Memory
from tests.rows import each_row


class Flat:
    """An index that gives its vectors back."""

    def reconstruct(self, place: int) -> Any:
        return np.asarray([place, 1.0], dtype=np.float32)


class LikeFaiss(VectorStore):
    def __init__(self) -> None:
        kept = {name: Document(f"text {name}", metadata={"n": name}) for name in "abc"}
        self.docstore, self.index_to_docstore_id = InMemoryDocstore(kept), {0: "a", 1: "b", 2: "c"}
        self.index, self.distance_strategy = Flat(), SimpleNamespace(name="MAX_INNER_PRODUCT")

    @property
    def embeddings(self) -> Any:
        return lambda texts: np.ones((len(texts), 2))

    @classmethod
    def from_texts(cls, *args: Any, **given: Any) -> Any:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **given: Any) -> list[Document]:
        return [Document("text b", id="b")]


def test_a_faiss_store_is_read_as_it_is() -> None:
    source = source_of_store(LikeFaiss())
    assert (source.metric, source.readable, source.listed, source.count()) == ("ip", True, True, 3)
    assert [(row.id, row.text, row.metadata) for row in source.read(["c", "gone", "a"])] == [
        ("c", "text c", {"n": "c"}),
        ("a", "text a", {"n": "a"}),
    ]
    assert {i: v.tolist() for i, v in source.vectors(["b", "gone"]).items()} == {"b": [1.0, 1.0]}
    assert source.nearest("query", np.ones(2, dtype=np.float32), 3) == ["b"]  # it has no search by vector


@each_row(
    ("about", "metric"),
    [
        ({"configuration": {"hnsw": {"space": "cosine"}}, "metadata": None}, "cosine"),
        ({"configuration": {"hnsw": None, "spann": {"space": "ip"}}, "metadata": None}, "ip"),
        ({"configuration": {}, "metadata": {"hnsw:space": "ip"}}, "ip"),
        ({"metadata": None}, "l2"),
    ],
)
def test_by_what_a_collection_orders(about: dict[str, Any], metric: str) -> None:
    assert metric_of(SimpleNamespace(**about)) == metric


class LikeCloud:
    """A collection that gives and takes 300 at a time, as Chroma Cloud does by default."""

    name, metadata = "many", None

    def __init__(self, count: int) -> None:
        self._ids = [f"d{n:04}" for n in range(count)]

    def count(self) -> int:
        return len(self._ids)

    def query(self, *, query_embeddings: list[Any], n_results: int, include: list[str]) -> dict[str, Any]:
        if n_results > 300:
            raise ValueError(
                "Quota exceeded: 'Number of results' exceeded quota limit for action 'Query': current usage of "
                f"{n_results} exceeds limit of 300"
            )
        return {"ids": [self._ids[:n_results]]}

    def get(
        self, *, include: list[str], ids: list[str] | None = None, limit: int = 300, offset: int = 0
    ) -> dict[str, Any]:
        assert limit <= 300 and len(ids or ()) <= 300
        found = self._ids[offset : offset + limit] if ids is None else ids
        told = {"documents": [f"text {one}" for one in found], "metadatas": [None] * len(found)}
        return {"ids": found, **{name: told[name] for name in include}}


@each_row("count", [0, 1, 300, 301, 1000])
def test_a_collection_that_gives_some_at_a_time_is_read_whole(count: int) -> None:
    source = ChromaSource(LikeCloud(count), embedding=lambda texts: np.ones((len(texts), 2)))
    ids = source.ids()
    assert ids == [f"d{n:04}" for n in range(count)]
    assert source.nearest("", np.ones(2), 2_000) == ids[:300]
    assert [(row.id, row.text) for row in source.read(ids)] == [(one, f"text {one}") for one in ids]


class Colour(Enum):
    RED = 1


def test_metadata_that_json_lacks_is_text() -> None:
    day = datetime(2026, 3, 12, tzinfo=timezone.utc)
    given = {"at": day, "on": day.date(), "set": {"b", "a"}, "array": np.arange(2), "n": np.int64(3), "c": Colour.RED}
    assert plain(given) == {
        "at": "2026-03-12T00:00:00+00:00",
        "on": "2026-03-12",
        "set": ["a", "b"],
        "array": [0, 1],
        "n": 3,
        "c": "Colour.RED",
    }
    assert plain(None) == {}


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.dates(), st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values, max_size=4))
def test_a_memory_takes_whatever_it_is_made(metadata: dict[str, Any]) -> None:
    assert plain(plain(metadata)) == plain(metadata)
    assert isinstance(plain({"day": date(2026, 3, 12)})["day"], str)
    try:
        Memory("text", metadata=plain(metadata))
    except ValueError as e:
        assert "surrogate" in str(e) or "JSON" in str(e)


def test_pages() -> None:
    assert [list(page) for page in in_pages("abcde", 2)] == [["a", "b"], ["c", "d"], ["e"]]
