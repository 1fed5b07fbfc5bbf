"""Existing vector stores, which are only read: Chroma collections, LangChain's stores, LlamaIndex's `VectorStoreIndex`.

A collection may be filled by hand, by LangChain's `Chroma` or by LlamaIndex's `ChromaVectorStore`. Of the frameworks'
stores those that list their ids are read as they are; for others the documents are given.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.embedding import Adapter, resolve_embedding
from recall_integrations.adapters.shapes import LANGCHAIN, LLAMA_INDEX, own, plain
from recall_integrations.embeddings import base as identity
from recall_integrations.embeddings.base import Embedding, has_ancestor
from recall_integrations.errors import EmbeddingError, IndexUnavailable, InvalidArgument, InvalidMemory
from recall_integrations.indexes.vector_server import of_a_request
from recall_integrations.records import record

if TYPE_CHECKING or LANGCHAIN:
    from langchain_core.documents import Document
else:
    from recall_integrations.adapters.shapes import Absent as Document

if TYPE_CHECKING or LLAMA_INDEX:
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery

    from recall_integrations.adapters.nodes import node_besides
else:
    from recall_integrations.adapters.shapes import Absent as BaseNode

COSINE, L2, IP, UNKNOWN = "cosine", "l2", "ip", ""
Vector = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Row:
    """A document of the vector store."""

    id: str
    text: str  # may be empty
    metadata: Mapping[str, Any]  # of the user
    besides: Mapping[str, Any] = field(default_factory=dict)  # other fields of a node, kept under keys of ours
    document: str | None = None  # id of the document of a LlamaIndex node; `None` = unknown


class Source(ABC):
    """A user's vector store, read only. Its `name` recognises it when a kept copy is opened again."""

    def __init__(
        self,
        name: str,
        *,
        metric: str = UNKNOWN,  # of its order
        embedding: Any = None,  # of its vectors; without one the store is asked by text
        readable: bool = True,  # whether its vectors can be read
        listed: bool = True,  # whether its ids can be listed
    ) -> None:
        self.name, self.metric = name, metric
        self.embedding: Embedding | None = None if embedding is None else resolve_embedding(embedding)
        self.readable = readable and self.embedding is not None
        self.listed = listed
        self._given: dict[str, Row] | None = None

    @property
    def title(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    def count(self) -> int:
        return len(self.ids())

    @abstractmethod
    def ids(self) -> list[str]:
        """Return the ids of all documents, in the source's order."""

    @abstractmethod
    def read(self, ids: Sequence[str]) -> list[Row]:
        """Read documents by id; unknown ids are left out."""

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Read vectors by id, where they can be read; documents without a vector are left out."""
        return {}

    @abstractmethod
    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        """Return the ids of the nearest documents, best first; without a vector the store embeds the text."""

    def take(self, documents: Iterable[Any]) -> None:
        """Take the documents of a store that cannot be listed."""
        if self.listed and self._given is None:
            raise InvalidArgument(f"{self.title} says itself what is in it. Leave documents out.")
        self._given, self.listed = given_rows(documents), True

    def let_go(self) -> None:
        if self._given is not None:
            self._given, self.listed = None, False

    def as_given(self, text: str) -> Vector:
        """Embed a query with the embedding's own vector length: `l2` depends on it."""
        if self.embedding is None:
            raise EmbeddingError(
                f"{self.name} says nothing of its embedding. Pass embedding=…, the one that filled it."
            )
        if isinstance(self.embedding, Adapter):
            return self.embedding.query_as_given(text)
        return self.embedding.embed_query(text)


def in_pages(ids: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """Yield `size` ids at a time."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


AT_ONCE = 300  # ids in one call, as many as Chroma Cloud lets one have
PASSES_MAX = 3  # over a collection that changes while it is read
NODE_CONTENT = "_node_content"  # where LlamaIndex puts the node
_HERE = ("default", "onnx", "sentence_transformer", "sentencetransformer")  # functions that compute in the process


class ChromaSource(Source):
    """A Chroma collection."""

    def __init__(self, collection: Any, embedding: Any = None) -> None:
        if not all(hasattr(collection, name) for name in ("get", "query", "count", "name")):
            raise InvalidArgument(
                f"from_chroma takes a Chroma collection, not {type(collection).__name__}. "
                "Write client.get_collection(name)."
            )
        self._collection = collection
        name = f"the Chroma collection {collection.name!r}"
        given = embedding if embedding is not None else _own_embedding(collection, name)
        super().__init__(name, metric=metric_of(collection), embedding=given)

    def count(self) -> int:
        return int(self._collection.count())

    def ids(self) -> list[str]:
        """Return the ids of all documents, in the collection's order. Chroma Cloud gives some of them at a time."""
        found = self._page()
        count = self.count()
        for _ in range(PASSES_MAX if len(found) < count else 0):
            found = {}
            while page := self._page(limit=AT_ONCE, offset=len(found)):
                known = len(found)
                found.update(page)
                if len(found) == known:
                    break
            if len(found) == (count := self.count()):
                break  # else some were added or removed meanwhile, and others moved
        return list(found)

    def _page(self, **part: int) -> dict[str, None]:
        return dict.fromkeys(self._collection.get(include=[], **part)["ids"])

    def read(self, ids: Sequence[str]) -> list[Row]:
        """Read documents by id. Documents from LlamaIndex are read as nodes."""
        rows = []
        for part in in_pages(ids, AT_ONCE):
            got = self._collection.get(ids=list(part), include=["documents", "metadatas"])
            texts, metadatas = got["documents"] or [], got["metadatas"] or []
            rows += [
                _chroma_row(i, text, metadata) for i, text, metadata in zip(got["ids"], texts, metadatas, strict=True)
            ]
        return rows

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for part in in_pages(ids, AT_ONCE):
            got = self._collection.get(ids=list(part), include=["embeddings"])
            if (made := got["embeddings"]) is not None:
                found.update(zip(got["ids"], made, strict=False))
        return found

    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        asked = self.as_given(text) if vector is None else vector
        given: dict[str, Any] = {"query_embeddings": [asked.tolist()], "include": ["distances"]}
        try:
            found = self._collection.query(n_results=limit, **given)
        except Exception as e:
            if limit <= AT_ONCE or not of_a_request(str(e)):
                raise
            found = self._collection.query(n_results=AT_ONCE, **given)
        return list(found["ids"][0])


def metric_of(collection: Any) -> str:
    """Return the metric of a collection; Chroma's default is `l2`."""
    settings = getattr(collection, "configuration", None) or {}
    index = settings.get("hnsw") or settings.get("spann") or {} if isinstance(settings, Mapping) else {}
    space = (index.get("space") if isinstance(index, Mapping) else None) or (collection.metadata or {}).get(
        "hnsw:space"
    )
    return str(space) if space in (COSINE, L2, IP) else L2


def _chroma_row(row_id: str, text: str | None, metadata: Mapping[str, Any] | None) -> Row:
    if metadata and NODE_CONTENT in metadata:
        from llama_index.core.vector_stores.utils import metadata_dict_to_node

        return row_of_node(metadata_dict_to_node(dict(metadata), text=text or ""), row_id)
    return Row(id=row_id, text=text or "", metadata=plain(metadata))


def _own_embedding(collection: Any, name: str) -> Any:
    settings = getattr(collection, "configuration", None) or {}
    noted = settings.get("embedding_function") if isinstance(settings, Mapping) else None
    function = getattr(collection, "_embedding_function", None) or noted
    if function is None:
        raise InvalidArgument(f"{name[0].upper()}{name[1:]} has no embedding function. Pass embedding=…, the one that "
                              "made its vectors.")  # fmt: skip
    return ChromaEmbedding(collection, function)


class ChromaEmbedding(Adapter):
    """A collection's embedding function. Chroma chooses between that of the object and the one in its settings."""

    def __init__(self, collection: Any, function: Any) -> None:
        self._embed = getattr(collection, "_embed", None)
        self._asks = self._embed is not None and "is_query" in inspect.signature(self._embed).parameters
        super().__init__(function)

    def _documents(self, texts: list[str]) -> Any:
        return self._source(texts) if self._embed is None else self._embed(texts)

    def _query(self, text: str) -> Any:
        if self._embed is not None and self._asks:
            return self._embed([text], is_query=True)
        return self._documents([text])

    def _name(self) -> str:
        return f"chroma:{identity.class_name(self._source)}:{identity.model_name(self._source)}"

    def _is_remote(self) -> bool:
        declared = getattr(self._source, "remote", None)
        if isinstance(declared, bool):
            return declared
        kind = type(self._source)
        shipped = kind.__module__.split(".")[0] == "chromadb"
        return shipped and not any(word in kind.__name__.lower() for word in _HERE)


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
        return [_document_row(i, document) for i, document in found if isinstance(document, Document)]

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
                found += [_document_row(str(d.id), d) for d in self._store.get_by_ids(others) if d.id is not None]
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
            row = _document_row(str(item.id), item)
        rows[row.id] = row
    return rows


def _document_row(row_id: str, document: Document) -> Row:
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
