"""`OptimizedRecallRetriever`: one object that is a LangChain retriever and a LlamaIndex retriever. Translation only.

Everything it returns comes from one `QueryOptimizer.recall`, so ids, order and scores are the same whichever framework
asks. LangChain's class comes first in the bases: it is a pydantic model and must build the instance.

The frameworks clash on one public name, `get_prompts` (LangChain: a method of runnables that returns a list of prompt
templates; LlamaIndex: a method that returns a dict). This object keeps LangChain's, which graph drawing calls on every
runnable; LlamaIndex reaches a component's prompts through `_get_prompts`, which says there are none. Equality and hash
are by identity: two retrievers over different stores are different, whatever their settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.retrievers import LangSmithRetrieverParams
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import ConfigDict, Field, PrivateAttr, ValidationError

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Hit, Memory, MemoryType, RecallResult, Scope
from recall_integrations.types.numbers import is_whole, shown, whole

# Arguments of `recall` that are fields too.
ARGUMENTS = (
    *("k", "scope", "filters", "now", "time_budget_ms", "tokens_max", "privacy"),
    *("window", "timezone", "context", "strict"),
)


class OptimizedRecallRetriever(LangChainRetriever, LlamaIndexRetriever):  # type: ignore[misc]
    """A retriever of both frameworks over one optimizer.

    Args:
        optimizer: what answers.
        k: how many results; default 5.
        scope: the tenant; default `Scope()`.
        filters: hard conditions.
        now: what relative dates are read against; default the time of the call.
        time_budget_ms, tokens_max, privacy, window, timezone, context, strict: as in `QueryOptimizer.recall`.
        callback_manager, object_map, objects, verbose: LlamaIndex's own.
        tags, metadata: LangChain's own.

    `k`, `scope`, `filters`, `now` and the rest of these can also be given to `invoke`,
    `ainvoke`, `batch`, `recall` and `arecall`, for that call. LlamaIndex's `retrieve` takes a query only; its
    `QueryBundle.embedding` and `custom_embedding_strs` are honoured. Under `privacy="block"` both frameworks
    get nothing, rather than empty documents; `recall` still has the hits, with their ids and scores.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    optimizer: QueryOptimizer = Field(exclude=True, repr=False)
    k: int = Field(default=5, strict=True)
    scope: Scope | None = None
    filters: Filters | None = None
    now: datetime | None = None
    time_budget_ms: float | None = None
    tokens_max: int | None = None
    privacy: str = "allow"
    window: Any = None
    timezone: str | None = None
    context: int = 0
    strict: bool = False
    callback_manager: Any = Field(default=None, exclude=True, repr=False)
    object_map: Any = Field(default=None, exclude=True, repr=False)
    _verbose: bool = PrivateAttr(default=False)
    _owned: MemoryStore | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: Sequence[Any] | None = None,
        verbose: bool = False,
        **fields: Any,
    ) -> None:
        unknown = sorted(set(fields) - set(type(self).model_fields))
        if unknown:
            known = ", ".join(sorted(type(self).model_fields))
            raise InvalidArgument(f"Unknown argument {', '.join(unknown)}. OptimizedRecallRetriever takes: {known}.")
        if not isinstance(fields.get("optimizer"), QueryOptimizer):
            raise InvalidArgument(
                "OptimizedRecallRetriever needs optimizer=QueryOptimizer(store), or use from_texts([...])."
            )
        if objects is not None:
            object_map = {node.index_id: node.obj for node in objects}
        if "k" in fields:
            fields["k"] = whole(fields["k"])  # the field is strict: `True` and "5" are mistakes
        try:
            fields.update(callback_manager=callback_manager or CallbackManager(), object_map=object_map or {})
            LangChainRetriever.__init__(self, **fields)
        except ValidationError as e:
            raise InvalidArgument(f"OptimizedRecallRetriever cannot be made: {e}") from e
        self._verbose = verbose
        if not is_whole(self.k) or self.k < 1:
            raise InvalidArgument(f"k must be a whole number from 1 on, not {shown(self.k)}.")

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    # -- building --------------------------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        metadatas: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
        embedding: Any = None,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        **fields: Any,
    ) -> OptimizedRecallRetriever:
        """A retriever over a temporary store of plain texts, kept as `chunk` memories."""
        listed = list(texts)
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(listed):
                raise InvalidArgument(f"{name} has {len(given)} items for {len(listed)} texts. Give one per text.")
        memories = [
            Memory(
                text,
                id=ids[i] if ids is not None else None,
                type=MemoryType.CHUNK,
                metadata=metadatas[i] if metadatas is not None else {},
            )
            for i, text in enumerate(listed)
        ]
        return cls._over(memories, embedding, llm, reranker, config, fields)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        embedding: Any = None,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        **fields: Any,
    ) -> OptimizedRecallRetriever:
        """A retriever over a temporary store of LangChain documents; `Document.id` becomes the memory's id."""
        memories = []
        for place, d in enumerate(documents):
            if d.page_content.strip():
                try:
                    memories.append(Memory(d.page_content, id=d.id, type=MemoryType.CHUNK, metadata=d.metadata))
                except InvalidMemory as e:
                    raise InvalidMemory(f"Document {place}: {e}") from e
        return cls._over(memories, embedding, llm, reranker, config, fields)

    @classmethod
    def from_nodes(
        cls,
        nodes: Iterable[Any],
        *,
        embedding: Any = None,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        **fields: Any,
    ) -> OptimizedRecallRetriever:
        """A retriever over a temporary store of LlamaIndex nodes; `node_id` becomes the memory's id."""
        memories = []
        for node in nodes:
            text = node.get_content(metadata_mode=MetadataMode.NONE)
            if text.strip():
                thread = getattr(node, "ref_doc_id", None)
                memories.append(
                    Memory(text, id=node.node_id, type=MemoryType.CHUNK, metadata=node.metadata, thread=thread)
                )
        return cls._over(memories, embedding, llm, reranker, config, fields)

    @classmethod
    def _over(
        cls,
        memories: list[Memory],
        embedding: Any,
        llm: Any,
        reranker: Any,
        config: RecallConfig | None,
        fields: dict[str, Any],
    ) -> OptimizedRecallRetriever:
        store = MemoryStore.open(embedding=embedding, config=config)
        try:
            store.remember_many(memories, scope=fields.get("scope"))
            optimizer = QueryOptimizer(store, llm=llm, reranker=reranker, config=config)
            made = cls(optimizer=optimizer, **fields)
        except BaseException:
            store.close()
            raise
        made._owned = store
        return made

    def close(self) -> None:
        """Stop the optimizer's threads; a temporary store made by `from_*` is removed."""
        self.optimizer.close()
        if self._owned is not None:
            self._owned.close()

    def __reduce__(self) -> Any:
        """Pickles its configuration; the optimizer's copy uses the store that is open in the process, or opens it."""
        return _rebuild, (type(self), self._fields(), self._verbose)

    def __deepcopy__(self, _memo: dict[int, Any] | None = None) -> OptimizedRecallRetriever:
        return _rebuild(type(self), self._fields(), self._verbose)  # threads and an open store are shared, not copied

    def _fields(self) -> dict[str, Any]:
        skipped = ("callback_manager", "object_map")
        return {name: getattr(self, name) for name in type(self).model_fields if name not in skipped}

    # -- our own view ----------------------------------------------------------------------------------------------

    def recall(self, query: str, **given: Any) -> RecallResult:
        """The full result, with plan, timings and reasons."""
        return self.optimizer.recall(query, **self._arguments(given))

    async def arecall(self, query: str, **given: Any) -> RecallResult:
        """`recall` without blocking the event loop."""
        return await self.optimizer.arecall(query, **self._arguments(given))

    def _arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(given) - {*ARGUMENTS, "query_vector"})
        if unknown:
            raise InvalidArgument(f"Unknown argument {', '.join(unknown)}. A call takes: {', '.join(ARGUMENTS)}.")
        return {**{name: getattr(self, name) for name in ARGUMENTS}, **given}

    def _shown(self, result: RecallResult, given: Mapping[str, Any] = MappingProxyType({})) -> Iterable[Hit]:
        """The hits that become documents or nodes: under `block` none, for a document without its text is no answer."""
        return () if given.get("privacy", self.privacy) == "block" else result.hits

    # -- LangChain -------------------------------------------------------------------------------------------------

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return [_document(hit) for hit in self._shown(self.recall(query, **given), given)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return [_document(hit) for hit in self._shown(await self.arecall(query, **given), given)]

    def _get_ls_params(self, **given: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(
            ls_retriever_name="optimizedrecall",
            ls_vector_store_provider="Chroma",
            ls_embedding_provider=self.optimizer.store.fingerprint,
        )

    # -- LlamaIndex ------------------------------------------------------------------------------------------------

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._shown(self.recall(**self._asked(query_bundle)))]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embeds = query_bundle.embedding is None and bool(query_bundle.custom_embedding_strs)
        asked = await asyncio.to_thread(self._asked, query_bundle) if embeds else self._asked(query_bundle)
        return [_node(hit) for hit in self._shown(await self.arecall(**asked))]

    def _asked(self, bundle: QueryBundle) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": bundle.query_str}
        if bundle.embedding is not None:
            asked["query_vector"] = bundle.embedding
        elif bundle.custom_embedding_strs:
            # LlamaIndex's meaning: embed these instead of the query, and aggregate.
            vectors = self.optimizer.store.embedding.embed_documents(list(bundle.custom_embedding_strs))
            asked["query_vector"] = vectors.mean(axis=0)
        return asked

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


class RecallDocument(Document):
    """A LangChain document that equals another of the same memory. Its metadata says how well it answers *this* query,
    and LangChain's multi-query retriever tells documents apart by comparing them whole."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and (self.id, self.page_content) == (other.id, other.page_content)

    def __hash__(self) -> int:
        return hash((self.id, self.page_content))


class RecallNode(TextNode):
    """A LlamaIndex node with the reason it was found for, and what came beside it (`duplicates`, `context`).

    These are not metadata: LlamaIndex's fusion tells nodes apart by a hash of text and metadata, and one memory must
    stay one node from query to query.
    """

    reason: str = ""
    beside: dict[str, Any] = Field(default_factory=dict)


def _beside(hit: Hit) -> dict[str, Any]:
    """What came with a hit: memories that say the same, and its neighbours in the thread."""
    found: dict[str, Any] = {}
    if hit.duplicates:
        found["duplicates"] = list(hit.duplicates)
    if hit.context:
        found["context"] = [{"id": m.id, "text": m.text, **details(m)} for m in hit.context]
    return found


def details(memory: Memory) -> dict[str, Any]:
    """What a document or node carries besides the user's metadata, under the key `recall`; a key of the user's wins."""
    extra: dict[str, Any] = {"type": memory.type.value}
    for name in ("actor", "channel", "thread", "position"):
        if (value := getattr(memory, name)) is not None:
            extra[name] = value
    if memory.role is not None:
        extra["role"] = memory.role.value
    for name in ("event_at", "created_at"):
        if (moment := getattr(memory, name)) is not None:
            extra[name] = moment.isoformat()
    if memory.refs:
        extra["refs"] = list(memory.refs)
    return extra


def _document(hit: Hit) -> Document:
    memory = hit.memory
    about = {"score": hit.score, "reason": hit.reason, **details(memory), **_beside(hit)}
    return RecallDocument(id=memory.id, page_content=memory.text, metadata={"recall": about, **memory.metadata})


def _node(hit: Hit) -> NodeWithScore:
    memory = hit.memory
    node = RecallNode(
        id_=memory.id or "",
        text=memory.text,
        extra_info={"recall": details(memory), **memory.metadata},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=memory.thread)} if memory.thread else {},
        excluded_embed_metadata_keys=["recall"],
        excluded_llm_metadata_keys=["recall"],
        reason=hit.reason,
        beside=_beside(hit),
    )
    return NodeWithScore(node=node, score=hit.score)


def _rebuild(kind: type[OptimizedRecallRetriever], fields: dict[str, Any], verbose: bool) -> OptimizedRecallRetriever:
    return kind(verbose=verbose, **fields)
