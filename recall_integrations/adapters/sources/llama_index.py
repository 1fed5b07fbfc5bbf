"""LlamaIndex's `VectorStoreIndex`, over any vector store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery

from recall_integrations.adapters.nodes import node_besides
from recall_integrations.adapters.shapes import own
from recall_integrations.adapters.sources.chroma import NODE_CONTENT, ChromaSource
from recall_integrations.adapters.sources.source import COSINE, Row, Source, Vector, plain
from recall_integrations.embeddings.identity import has_ancestor
from recall_integrations.errors import InvalidArgument

__all__ = ["NODE_CONTENT", "IndexSource", "row_of_node", "source_of"]


def source_of(index: Any, embedding: Any = None, nodes: Iterable[Any] | None = None) -> Source:
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
            type(self._store).__name__,
            metric=COSINE if simple else "",
            embedding=embedding,
            readable=simple,
            listed=not self._store.stores_text or _lists(self._store),
        )
        self._simple = simple
        self._given: dict[str, Row] | None = None

    def ids(self) -> list[str]:
        """Return the ids of all nodes, in the index's order."""
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
        """Read nodes by id."""
        if self._given is not None and all(i in self._given for i in ids):
            return [self._given[i] for i in ids]
        if self._store.stores_text and not self._simple:
            try:
                nodes = self._store.get_nodes(list(ids))
            except NotImplementedError:
                nodes = []
        else:
            nodes = self._index.docstore.get_nodes(list(ids), raise_error=False)
        return [row_of_node(node, node.node_id) for node in nodes]

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Read vectors by id."""
        if not self._simple:
            return {}
        kept = self._store.data.embedding_dict
        return {i: kept[i] for i in ids if i in kept}

    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        """Return the ids of the nearest nodes, best first."""
        asked = self.as_given(text) if vector is None else vector
        query = VectorStoreQuery(query_embedding=asked.tolist(), query_str=text, similarity_top_k=limit)
        found = self._store.query(query)
        ids = found.ids if found.ids is not None else [node.node_id for node in found.nodes or ()]
        known = self._index.index_struct.nodes_dict
        return [str(known.get(i, i)) for i in ids]

    def take(self, documents: Iterable[Any]) -> None:
        """Take the nodes of the index."""
        from recall_integrations.adapters.sources.langchain import given_rows

        if self.listed and self._given is None:
            super().take(documents)
        self._given, self.listed = given_rows(documents), True

    def let_go(self) -> None:
        """Drop the nodes that were given."""
        if self._given is not None:
            self._given, self.listed = None, False


def _lists(store: Any) -> bool:
    """Say whether a vector store implements `get_nodes`."""
    return getattr(type(store), "get_nodes", None) is not BasePydanticVectorStore.get_nodes


def row_of_node(node: BaseNode, row_id: str) -> Row:
    """Return a node as a row, with its relationships, hidden keys and templates beside its metadata."""
    return Row(
        id=row_id,
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        metadata=plain(own(node.metadata)),
        besides=node_besides(node),
        document=getattr(node, "ref_doc_id", None),
    )
