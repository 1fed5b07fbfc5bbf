"""LangChain's documents in a `MemoryStore`: a vector store for `langchain_core.indexing.index`.

With a record manager, `index` passes only what is new, and has what changed or is gone deleted (`cleanup=`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recall_integrations.adapters.shapes import TEXT, format_of
from recall_integrations.errors import InvalidArgument, InvalidMemory, extra
from recall_integrations.frameworks.given import optimizer_of, zone_of
from recall_integrations.retriever import OptimizedRecallRetriever
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Hit, Memory, Scope, checked_scope
from recall_integrations.types.memory import listed

with extra("langchain-core", "RecallDocuments"):
    from langchain_core.documents import Document
    from langchain_core.vectorstores import VectorStore

    from recall_integrations.adapters.documents import documents_of, memory_of_document


class RecallDocuments(VectorStore):
    """Documents as memories of the type `chunk`. The store makes the embeddings.

    For queries, an `OptimizedRecallRetriever` over the same store returns more than `similarity_search`, which is for
    what expects a vector store.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the documents; default `Scope()`.
    """

    def __init__(self, store: Any, *, scope: Scope | None = None) -> None:
        self._optimizer, self._scope = optimizer_of(store), checked_scope(scope)

    def add_documents(self, documents: list[Document], **given: Any) -> list[str]:
        """Store documents, and return their ids; one whose id is known replaces the old one. Blank ones are left out.

        Args:
            documents: LangChain's documents.
            given: `ids`, one per document; default their own.

        Raises:
            InvalidMemory: a document cannot be stored; the message says which, and nothing was changed.
        """
        ids = given.get("ids") or [document.id for document in documents]
        if len(ids) != len(documents):
            raise InvalidArgument(f"ids has {len(ids)} items for {len(documents)} documents. Give one per document.")
        memories: list[Memory] = []
        for place, (document, one) in enumerate(zip(documents, ids, strict=True)):
            try:
                memory = memory_of_document(document.model_copy(update={"id": one}))
            except InvalidMemory as e:
                raise InvalidMemory(f"Document {place}: {e}") from e
            memories += [] if memory is None else [memory]
        return list(self._optimizer.store.remember_many(memories, scope=self._scope))

    def delete(self, ids: list[str] | None = None, **_more: Any) -> bool:
        """Remove documents by their ids; unknown ids are no error.

        Raises:
            InvalidArgument: no ids are given: `store.forget(scope=...)` removes all of a scope.
        """
        if ids is None:
            raise InvalidArgument("delete takes ids. To remove all of a scope, call store.forget(scope=...).")
        self._optimizer.store.forget(listed(ids), scope=self._scope)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by their ids; unknown ids are left out."""
        found = [self._optimizer.store.get(one, scope=self._scope) for one in listed(ids)]
        hits = [Hit(memory=memory, score=0.0) for memory in found if memory is not None]
        return documents_of(hits, format_of(TEXT), zone_of(self._optimizer))

    def similarity_search(self, query: str, k: int = 4, *, filter: Any = None, **given: Any) -> list[Document]:
        """Return the documents that the optimizer finds; `filter` is `filters` of a recall, `given` the rest of it."""
        asked = {"k": k, "filters": filter, **given}
        return OptimizedRecallRetriever(optimizer=self._optimizer, scope=self._scope, **asked).invoke(query)

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Any = None, metadatas: list[dict[str, Any]] | None = None, **given: Any
    ) -> RecallDocuments:
        """Make one over a store at `path` (default: a temporary one) that holds texts.

        Args:
            texts, metadatas: of the documents.
            embedding: as in `MemoryStore.open`.
            given: `path`, `ids`, `scope`.
        """
        made = cls(MemoryStore.open(given.get("path"), embedding=embedding), scope=given.get("scope"))
        made.add_texts(texts, metadatas, ids=given.get("ids"))
        return made
