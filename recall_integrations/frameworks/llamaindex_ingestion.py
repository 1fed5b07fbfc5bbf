"""LlamaIndex's `IngestionPipeline` into a `MemoryStore`: a sink with the interface of a vector store.

The pipeline passes only nodes that have an embedding; the store makes its own, so `EmbeddedByStore`, as the last of
the transformations, marks them as embedded. With a docstore, documents that have changed are replaced, for the
pipeline calls `delete` with their ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field, PrivateAttr

from recall_integrations.adapters.filters import as_filters
from recall_integrations.adapters.shapes import TEXT, format_of
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidMemory, extra, refuse_unknown
from recall_integrations.frameworks.given import optimizer_of, zone_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.retriever import OptimizedRecallRetriever
from recall_integrations.types import Filters, Hit, Memory, Scope, checked_scope
from recall_integrations.types.memory import listed

with extra("llama-index-core", "RecallVectorStore"):
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TransformComponent
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryResult,
    )

    from recall_integrations.adapters.nodes import memory_of_node, nodes_of


class EmbeddedByStore(TransformComponent):
    """A transformation that marks nodes as embedded: the store embeds them when they are added."""

    def __call__(self, nodes: Sequence[BaseNode], **_more: Any) -> Sequence[BaseNode]:
        for node in nodes:
            if node.embedding is None:
                node.embedding = []
        return nodes


class RecallVectorStore(BasePydanticVectorStore):
    """Nodes as memories of the type `chunk`; their document is their thread, in the order in which they come.

    For queries, an `OptimizedRecallRetriever` over the same store returns more than `query`, which is for indexes that
    expect a vector store: it gives the query's text to the optimizer, and ignores its embedding.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the nodes; default `Scope()`.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    store: Any = Field(exclude=True, repr=False)
    scope: Scope = Field(default_factory=Scope)
    _optimizer: QueryOptimizer = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        refuse_unknown("RecallVectorStore", fields, type(self).model_fields)
        optimizer = optimizer_of(fields.get("store"))  # its errors, before pydantic's
        super().__init__(**{**fields, "scope": checked_scope(fields.get("scope"))})
        self._optimizer = optimizer

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of this class."""
        return "RecallVectorStore"

    @property
    def client(self) -> Any:
        """The `MemoryStore`."""
        return self._optimizer.store

    def add(self, nodes: Sequence[BaseNode], **_more: Any) -> list[str]:
        """Store nodes; a node whose id is known replaces the old one. Nodes without text are left out.

        Raises:
            InvalidMemory: a node cannot be stored; the message names it, and nothing was changed.
        """
        made = [memory for node in nodes if (memory := _memory(node)) is not None]
        self._optimizer.store.remember_many(made, scope=self.scope)
        return [node.node_id for node in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **_more: Any) -> list[str]:
        return await asyncio.to_thread(self.add, nodes)

    def delete(self, ref_doc_id: str, **_more: Any) -> None:
        """Remove the nodes of a document; an unknown document is no error."""
        store = self._optimizer.store
        store.forget(filters=Filters(threads=[ref_doc_id]), scope=self.scope)
        store.forget(ref_doc_id, scope=self.scope)  # a document that was added as it is

    async def adelete(self, ref_doc_id: str, **_more: Any) -> None:
        await asyncio.to_thread(self.delete, ref_doc_id)

    def delete_ref_doc(self, ref_doc_id: str, **_more: Any) -> None:
        """Remove the nodes of a document; the name of `delete` in indexes."""
        self.delete(ref_doc_id)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_more: Any
    ) -> None:
        """Remove nodes by their ids, by filters, or nodes with these ids that meet the filters.

        Raises:
            InvalidFilter: the filters cannot be mapped, or hold no condition; nothing was changed.
        """
        if filters is not None and node_ids is None and not as_filters(filters):
            raise InvalidFilter("filters hold no condition. To remove all nodes, call clear().")
        if filters is not None:
            node_ids = [node.node_id for node in self.get_nodes(node_ids, filters)]
        self._optimizer.store.forget(listed(node_ids or ()), scope=self.scope)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_more: Any
    ) -> None:
        await asyncio.to_thread(self.delete_nodes, node_ids, filters)

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return nodes as they were added, by their ids, by filters, or both; unknown ids are left out.

        Raises:
            InvalidFilter: the filters cannot be mapped.
        """
        store = self._optimizer.store
        if filters is None and node_ids is not None:
            found = [memory for i in listed(node_ids) if (memory := store.get(i, scope=self.scope)) is not None]
        else:
            met = store.iterate(scope=self.scope, filters=as_filters(filters))
            wanted = None if node_ids is None else set(listed(node_ids))
            found = [memory for memory in met if wanted is None or memory.id in wanted]
        hits = [Hit(memory=memory, score=0.0) for memory in found]
        return [scored.node for scored in nodes_of(hits, format_of(TEXT), zone_of(self._optimizer))]

    def clear(self) -> None:
        """Remove all nodes, and all other memories of the scope."""
        self._optimizer.store.forget(scope=self.scope)

    def query(self, query: VectorStoreQuery, **_more: Any) -> VectorStoreQueryResult:
        """Return the nodes that the optimizer finds for the text of a query.

        Raises:
            InvalidQuery: the query has no text, only an embedding.
        """
        return _result(self._retriever(query).retrieve(QueryBundle(query.query_str or "")))

    async def aquery(self, query: VectorStoreQuery, **_more: Any) -> VectorStoreQueryResult:
        return _result(await self._retriever(query).aretrieve(QueryBundle(query.query_str or "")))

    def _retriever(self, query: VectorStoreQuery) -> OptimizedRecallRetriever:
        filters = as_filters(query.filters)
        if query.doc_ids:
            filters = replace(filters, threads=tuple(query.doc_ids))
        return OptimizedRecallRetriever(
            optimizer=self._optimizer, k=query.similarity_top_k, scope=self.scope, filters=filters or None
        )


def _memory(node: object) -> Memory | None:
    if not isinstance(node, BaseNode):
        raise InvalidArgument(f"Give a list of LlamaIndex nodes; an item of it is {type(node).__name__}.")
    try:
        return memory_of_node(node)
    except InvalidMemory as e:
        raise InvalidMemory(f"The node {node.node_id[:80]!r}: {e}") from e


def _result(found: list[NodeWithScore]) -> VectorStoreQueryResult:
    return VectorStoreQueryResult(
        nodes=[hit.node for hit in found],
        similarities=[hit.score or 0.0 for hit in found],
        ids=[hit.node.node_id for hit in found],
    )
