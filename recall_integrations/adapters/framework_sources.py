"""LangChain's vector stores, and LlamaIndex's `VectorStoreIndex` over any vector store, as sources.

Stores that list their ids are read as they are; for others the documents are given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recall_integrations.adapters.absent import LANGCHAIN, LLAMA_INDEX
from recall_integrations.adapters.shapes import own
from recall_integrations.adapters.sources import (
    COSINE,
    IP,
    L2,
    UNKNOWN,
    ChromaSource,
    Row,
    Source,
    Vector,
    plain,
)
from recall_integrations.embeddings.base import has_ancestor
from recall_integrations.errors import IndexUnavailable, InvalidArgument, InvalidMemory

if TYPE_CHECKING or LANGCHAIN:
    from langchain_core.documents import Document
else:
    from recall_integrations.adapters.absent import Absent as Document

if TYPE_CHECKING or LLAMA_INDEX:
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery

    from recall_integrations.adapters.nodes import node_besides
else:
    from recall_integrations.adapters.absent import Absent as BaseNode

_LISTED = "Chroma, InMemoryVectorStore and FAISS"


def source_of_store(store: Any, embedding: Any = None, documents: Iterable[Any] | None = None) -> Source:
    """Return a vector store as a source."""
    if not has_ancestor(store, "langchain_core", "VectorStore"):
        raise InvalidArgument(f"from_vectorstore takes a LangChain vector store, not {type(store).__name__}.")
    given = embedding if embedding is not None else store.embeddings
    found = _listed(store, given)
    if found is None:
        return AskedSource(store, given, documents)
    if documents is not None:
        found.take(documents)
    return found


def _listed(store: Any, embedding: Any) -> Source | None:
    collection = getattr(store, "_collection", None)
    chroma = any(has_ancestor(store, package, "Chroma") for package in ("langchain_chroma", "langchain_community"))
    if collection is not None and chroma:
        return ChromaSource(collection, embedding)
    if has_ancestor(store, "langchain_core", "InMemoryVectorStore"):
        return InMemorySource(store, embedding)
    kept = getattr(getattr(store, "docstore", None), "_dict", None)
    if isinstance(kept, dict) and hasattr(store, "index_to_docstore_id"):
        return FaissSource(store, embedding)
    return None


class _Searched(Source):
    """A store that is searched by LangChain's own methods."""

    def __init__(self, store: Any, **about: Any) -> None:
        super().__init__(f"the vector store {type(store).__name__}", **about)
        self._store = store

    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        found = None
        if vector is not None:
            with contextlib.suppress(NotImplementedError):
                found = self._store.similarity_search_by_vector(vector.tolist(), k=limit)
        if found is None:
            found = self._store.similarity_search(text, k=limit)
        ids = [document.id for document in found if document.id is not None]
        if found and not ids:
            raise IndexUnavailable(f"{self.title} returns documents without ids, so they cannot be told apart.")
        return [str(i) for i in ids]


class InMemorySource(_Searched):
    """`InMemoryVectorStore`."""

    def __init__(self, store: Any, embedding: Any) -> None:
        super().__init__(store, metric=COSINE, embedding=embedding)

    def ids(self) -> list[str]:
        return list(self._store.store)

    def read(self, ids: Sequence[str]) -> list[Row]:
        there = self._there(ids)
        return [Row(id=i, text=kept["text"], metadata=plain(kept["metadata"])) for i, kept in there.items()]

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        return {i: kept["vector"] for i, kept in self._there(ids).items()}

    def _there(self, ids: Sequence[str]) -> dict[str, Any]:
        kept = self._store.store
        return {i: kept[i] for i in ids if i in kept}


class FaissSource(_Searched):
    """A LangChain store with a FAISS index, a `docstore` and `index_to_docstore_id`."""

    def __init__(self, store: Any, embedding: Any) -> None:
        metric = {"COSINE": COSINE, "MAX_INNER_PRODUCT": IP, "EUCLIDEAN_DISTANCE": L2}
        strategy = getattr(getattr(store, "distance_strategy", None), "name", "")
        readable = callable(getattr(store.index, "reconstruct", None))
        super().__init__(store, metric=metric.get(strategy, UNKNOWN), embedding=embedding, readable=readable)

    def ids(self) -> list[str]:
        return list(self._store.index_to_docstore_id.values())

    def read(self, ids: Sequence[str]) -> list[Row]:
        found = [(i, self._store.docstore.search(i)) for i in ids]
        return [_row(i, document) for i, document in found if isinstance(document, Document)]

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        wanted = set(ids)
        places = {i: place for place, i in self._store.index_to_docstore_id.items() if i in wanted}
        return {i: self._store.index.reconstruct(place) for i, place in places.items()}


class AskedSource(_Searched):
    """A store that is searched, and whose documents are given.

    Its vectors are not read: the store orders by them, and ranking has none.
    """

    def __init__(self, store: Any, embedding: Any, documents: Iterable[Any] | None) -> None:
        super().__init__(store, embedding=embedding, readable=False, listed=False)
        if documents is not None:
            self.take(documents)

    def ids(self) -> list[str]:
        if self._given is None:
            raise InvalidArgument(
                f"{self.title} cannot be listed (of LangChain's stores, {_LISTED} can). Pass documents=…, an iterable "
                "of what is in it, each with the id that it has there."
            )
        return list(self._given)

    def read(self, ids: Sequence[str]) -> list[Row]:
        """Read documents by id: those that were given, and others where the store reads by id."""
        given = self._given or {}
        found = [given[i] for i in ids if i in given]
        others = [i for i in ids if i not in given]
        if others:
            with contextlib.suppress(NotImplementedError):
                found += [_row(str(d.id), d) for d in self._store.get_by_ids(others) if d.id is not None]
        return found


def given_rows(documents: Iterable[Any]) -> dict[str, Row]:
    """Return documents or nodes as rows, by id."""
    rows: dict[str, Row] = {}
    for place, item in enumerate(documents):
        if isinstance(item, BaseNode):
            row = row_of_node(item, item.node_id)
        elif not isinstance(item, Document):
            kind = type(item).__name__
            raise InvalidArgument(f"Item {place} of documents is {kind}. Give documents or nodes of the framework.")
        elif item.id is None:
            raise InvalidMemory(f"Item {place} of documents has no id. Give each the id that it has in the store.")
        else:
            row = _row(str(item.id), item)
        rows[row.id] = row
    return rows


def _row(row_id: str, document: Document) -> Row:
    return Row(id=row_id, text=document.page_content or "", metadata=plain(document.metadata))


def source_of_index(index: Any, embedding: Any = None, nodes: Iterable[Any] | None = None) -> Source:
    """Return an index as a source."""
    if not has_ancestor(index, "llama_index", "BaseIndex") or not hasattr(index, "vector_store"):
        raise InvalidArgument(f"from_index takes a LlamaIndex VectorStoreIndex, not {type(index).__name__}.")
    given = embedding if embedding is not None else getattr(index, "_embed_model", None)
    store = index.vector_store
    chroma = store.stores_text and has_ancestor(store, "llama_index", "ChromaVectorStore")
    found: Source = ChromaSource(store.client, given) if chroma else IndexSource(index, given)
    if nodes is not None:
        found.take(nodes)
    return found


class IndexSource(Source):
    """An index that is searched by LlamaIndex's own methods.

    Its nodes are in its docstore, or its vector store lists them; its vectors are read from a `SimpleVectorStore`.
    """

    def __init__(self, index: Any, embedding: Any) -> None:
        self._index, self._store = index, index.vector_store
        simple = has_ancestor(self._store, "llama_index", "SimpleVectorStore")
        super().__init__(
            f"the index over {type(self._store).__name__}",
            metric=COSINE if simple else "",
            embedding=embedding,
            readable=simple,
            listed=not self._store.stores_text  # else it may implement `get_nodes`
            or getattr(type(self._store), "get_nodes", None) is not BasePydanticVectorStore.get_nodes,
        )
        self._simple = simple

    def ids(self) -> list[str]:
        if self._given is not None:
            return list(self._given)
        if self._simple:
            return list(self._store.data.embedding_dict)
        if not self._store.stores_text:
            return list(dict.fromkeys(self._index.index_struct.nodes_dict.values()))
        if self.listed:
            with contextlib.suppress(NotImplementedError):
                return [node.node_id for node in self._store.get_nodes(None)]
        raise InvalidArgument(f"{self.title} cannot be listed. Pass documents=…, an iterable of its nodes.")

    def read(self, ids: Sequence[str]) -> list[Row]:
        if self._given is not None and all(i in self._given for i in ids):
            return [self._given[i] for i in ids]
        nodes = []
        if self._store.stores_text and not self._simple:
            with contextlib.suppress(NotImplementedError):
                nodes = self._store.get_nodes(list(ids))
        else:
            nodes = self._index.docstore.get_nodes(list(ids), raise_error=False)
        return [row_of_node(node, node.node_id) for node in nodes]

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        if not self._simple:
            return {}
        kept = self._store.data.embedding_dict
        return {i: kept[i] for i in ids if i in kept}

    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        asked = self.as_given(text) if vector is None else vector
        query = VectorStoreQuery(query_embedding=asked.tolist(), query_str=text, similarity_top_k=limit)
        found = self._store.query(query)
        ids = found.ids if found.ids is not None else [node.node_id for node in found.nodes or ()]
        known = self._index.index_struct.nodes_dict
        return [str(known.get(i, i)) for i in ids]


def row_of_node(node: BaseNode, row_id: str) -> Row:
    """Return a node as a row, with its relationships, hidden keys and templates beside its metadata."""
    return Row(
        id=row_id,
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        metadata=plain(own(node.metadata)),
        besides=node_besides(node),
        document=getattr(node, "ref_doc_id", None),
    )
