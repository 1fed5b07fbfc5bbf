"""`OptimizedRecallRetriever`: one object that is a LangChain retriever and a LlamaIndex retriever. Translation only.

Everything it returns comes from one `QueryOptimizer.recall`, so ids, order and scores are the same whichever framework
asks. LangChain's class comes first in the bases: it is a pydantic model and must build the instance.

The frameworks clash on one public name, `get_prompts` (LangChain: a list of the prompt templates in a runnable, asked
for with a `config`; LlamaIndex: a dict, asked for without one, by other components too). So without an argument it is
LlamaIndex's, and with a `config` LangChain's; LangChain itself calls it on no part of a chain. Equality and hash are by
identity: two retrievers over different stores are different, whatever their settings. Without one of the
frameworks, the class is a retriever of the other (docs/install.md).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timezone, tzinfo
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError

from recall_integrations.adapters.shapes import LANGCHAIN, LLAMA_INDEX, TEXT, format_of
from recall_integrations.errors import InvalidArgument, InvalidMemory, NotSearched, refuse_unknown
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Hit, Memory, MemoryType, RecallResult, checked_scope, checked_scopes, hit_like
from recall_integrations.types.numbers import whole

if TYPE_CHECKING or LANGCHAIN:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever as LangChainRetriever
    from langchain_core.runnables import RunnableConfig

    from recall_integrations.adapters.documents import documents_of, memory_of_document, run_of, tell_not_searched
else:
    from recall_integrations.adapters.shapes import Absent as Document
    from recall_integrations.adapters.shapes import NoLangChain as LangChainRetriever

if TYPE_CHECKING or LLAMA_INDEX:
    from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
    from llama_index.core.callbacks.base import CallbackManager
    from llama_index.core.callbacks.schema import CBEventType, EventPayload
    from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, QueryType

    from recall_integrations.adapters.nodes import (
        documents_of_nodes,
        errors_told,
        event_not_searched,
        memory_of_node,
        nodes_of,
        nodes_of_documents,
        objects_of,
        span,
    )
else:
    from recall_integrations.adapters.shapes import Absent as BaseNode
    from recall_integrations.adapters.shapes import NoLlamaIndex as LlamaIndexRetriever

if TYPE_CHECKING:
    from uuid import UUID

    from recall_integrations.adapters.shapes import Runs
    from recall_integrations.config import RecallConfig
    from recall_integrations.ontop.following import Refreshed
    from recall_integrations.ontop.optimizer import OnTopOptimizer
    from recall_integrations.types.observing import Feedback

# Arguments of `recall` that are fields too.
ARGUMENTS = (
    *("k", "scope", "scopes", "filters", "now", "time_budget_ms", "tokens_max", "privacy"),
    *("window", "timezone", "context", "strict", "score_min", "as_of"),
)
BESIDE = ("query_vector", "watch")  # arguments of `recall` that are no fields
TAKEN = frozenset({*ARGUMENTS, *BESIDE})
SHOWING = ("document_format", "highlights")
BUILDING = ("path", "embedding", "llm", "reranker", "config")  # of `from_texts` and its like
# What a subclass may override, for each framework.
OF_LANGCHAIN, OF_LLAMAINDEX = ("_get_relevant_documents", "_aget_relevant_documents"), ("_retrieve", "_aretrieve")
OF_US = ("recall", "arecall")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
REWRITE_PROMPT = "rewrite_prompt"  # its name in LlamaIndex
QUERY = "{query}"
logger = logging.getLogger(__name__)


# Methods that a call is in, each with what copies of its retriever share.
_UNDER_WAY: ContextVar[frozenset[tuple[int, str]]] = ContextVar("under_way", default=frozenset())


@contextmanager
def _begun(retriever: Any, method: str) -> Iterator[None]:
    """Note that a method of a retriever is under way, so that an override that calls us is not called again."""
    before = _UNDER_WAY.set(_UNDER_WAY.get() | {(id(retriever._runs), method)})
    try:
        yield
    finally:
        _UNDER_WAY.reset(before)


def _with_run(config: RunnableConfig | None, given: dict[str, Any]) -> dict[str, Any]:
    run_id = None if config is None else config.get("run_id")
    return given if run_id is None else {"run_id": run_id, **given}


class _WithRun(LangChainRetriever):
    """LangChain's retriever, with the `run_id` of a call's config, which LangChain drops for the retriever's own run;
    and LlamaIndex's `retrieve`, with arguments for a call.

    A class of its own: in a class of LlamaIndex, methods that are abstract in a base are wrapped so that they
    cannot be sent to another process, and those of LlamaIndex get a second span.
    """

    def invoke(self: Any, input: str, config: RunnableConfig | None = None, **given: Any) -> list[Document]:
        untaken = self._untaken(given, OF_LANGCHAIN[:1])
        asked = cast(Any, super(_WithRun, self._with({name: given.pop(name) for name in untaken})))
        with _begun(self, OF_LANGCHAIN[0]):
            found: list[Document] = asked.invoke(input, config, **_with_run(config, given))
        return found

    async def ainvoke(self: Any, input: str, config: RunnableConfig | None = None, **given: Any) -> list[Document]:
        untaken = self._untaken(given, OF_LANGCHAIN)
        asked = cast(Any, super(_WithRun, self._with({name: given.pop(name) for name in untaken})))
        with _begun(self, OF_LANGCHAIN[1]):
            found: list[Document] = await asked.ainvoke(input, config, **_with_run(config, given))
        return found

    def retrieve(self: Any, str_or_query_bundle: QueryType, **given: Any) -> list[NodeWithScore]:
        asked = cast(Any, super(_WithRun, self._with(given)))
        with _begun(self, OF_LLAMAINDEX[0]):
            found: list[NodeWithScore] = asked.retrieve(str_or_query_bundle)
        return found

    async def aretrieve(self: Any, str_or_query_bundle: QueryType, **given: Any) -> list[NodeWithScore]:
        asked = cast(Any, super(_WithRun, self._with(given)))
        with _begun(self, OF_LLAMAINDEX[1]):
            found: list[NodeWithScore] = await asked.aretrieve(str_or_query_bundle)
        return found


class OptimizedRecallRetriever(_WithRun, LlamaIndexRetriever):
    """A retriever of both frameworks over one optimizer.

    Args:
        optimizer: answers the recalls.
        k: number of results; default 5.
        scope: the tenant, or a mapping of its parts; default `Scope()`.
        scopes: several scopes instead of one; each hit names its own.
        filters: hard conditions: `Filters`, a mapping such as `{"source": "wiki"}`, or LlamaIndex's `MetadataFilters`.
        now: the time that relative dates are read against; default the time of the call.
        time_budget_ms, tokens_max, privacy, window, timezone, context, strict, score_min, as_of: as in
            `QueryOptimizer.recall`.
        document_format: text of a document or node: `text` (the memory's, the default), `dated`
            ("[2026-03-12, Priya] …") or a template (`adapters.shapes`).
        bundle_embedding: whether the embedding in a `QueryBundle` is the query's, by the store's own model;
            default no: another retriever's may have the same length. One of another length never counts.
        highlights: whether metadata name the places of the text that support a hit (`recall_highlights`: a list of
            `[start, end, kind]`); default no, for finding them takes a tenth of a millisecond and more for each hit.
        callback_manager, object_map, objects, verbose: LlamaIndex's own.
        tags, metadata: LangChain's own.

    `k`, `scope`, `filters`, `now` and the rest of these can also be given to `invoke`, `ainvoke`, `batch`, `retrieve`,
    `aretrieve`, `recall` and `arecall`, for that call; `highlights` and `document_format` to all but the last two. The
    `custom_embedding_strs` of a `QueryBundle` are honoured. Data of a hit are in the metadata, under keys that begin
    with `recall_` (`adapters.shapes`). What a subclass overrides of one framework, the other and the async calls use.
    A hit without text makes no document: under `privacy="block"` both frameworks get nothing; `recall` still has
    the hits, with their ids and scores.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    optimizer: QueryOptimizer = Field(exclude=True, repr=False)
    k: int = Field(default=5, strict=True)
    scope: Any = None  # what `checked_scope`, `checked_scopes` and `as_filters` make of what is given
    scopes: Any = None
    filters: Any = None
    now: datetime | None = None
    time_budget_ms: float | None = None
    tokens_max: int | None = None
    privacy: str = "allow"
    window: Any = None
    timezone: str | None = None
    context: int = 0
    strict: bool = False
    score_min: float | None = None
    as_of: datetime | None = None
    document_format: str = TEXT
    bundle_embedding: bool = False
    highlights: bool = Field(default=False, strict=True)
    callback_manager: Any = Field(default=None, exclude=True, repr=False)
    object_map: Any = Field(default=None, exclude=True, repr=False)
    _verbose: bool = PrivateAttr(default=False)
    _owned: MemoryStore | None = PrivateAttr(default=None)
    _runs: Runs = PrivateAttr()

    def __init__(
        self,
        *,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: Sequence[Any] | None = None,
        verbose: bool = False,
        **fields: Any,
    ) -> None:
        refuse_unknown("OptimizedRecallRetriever", fields, type(self).model_fields)
        if not isinstance(fields.get("optimizer"), QueryOptimizer):
            raise InvalidArgument(
                "OptimizedRecallRetriever needs optimizer=QueryOptimizer(store), or use from_texts([...])."
            )
        if objects is not None:
            object_map = {node.index_id: node.obj for node in objects}
        if "k" in fields:
            fields["k"] = whole(fields["k"])  # the field is strict: `True` and "5" are mistakes
        fields.update(_settled(fields))
        _check(fields)
        try:
            if callback_manager is None and LLAMA_INDEX:
                callback_manager = CallbackManager()
            fields.update(callback_manager=callback_manager, object_map=object_map or {})
            LangChainRetriever.__init__(self, **fields)
        except ValidationError as e:
            raise InvalidArgument(f"OptimizedRecallRetriever cannot be made: {e}") from e
        from recall_integrations.adapters.shapes import Runs

        self._verbose, self._runs = verbose, Runs()

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
        path: str | Path | None = None,
        embedding: Any = None,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        **fields: Any,
    ) -> OptimizedRecallRetriever:
        """Make a retriever over a store of plain texts, kept as `chunk` memories.

        Args:
            texts: the texts to search. Blank ones are left out, with a warning.
            metadatas, ids: of each text, in their order.
            path: the directory of the store, made if absent; default a temporary one. Texts that it holds are not
                written again, so a program may call this each time it starts; texts no longer given stay.
            embedding: as in `MemoryStore.open`; default the bundled model.
            llm, reranker, config: as in `QueryOptimizer`.
            **fields: of the retriever (`k`, `scope`, …).
        """
        listed = _listed(texts, "texts")
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(listed):
                raise InvalidArgument(f"{name} has {len(given)} items for {len(listed)} texts. Give one per text.")
        memories = [
            _text(i, text, None if ids is None else ids[i], {} if metadatas is None else metadatas[i])
            for i, text in enumerate(listed)
            if not isinstance(text, str) or text.strip()
        ]
        _warn_left_out(len(listed), len(memories))
        return cls._over(memories, fields, path=path, embedding=embedding, llm=llm, reranker=reranker, config=config)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Any],
        *,
        path: str | Path | None = None,
        embedding: Any = None,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        forget_gone: bool = False,
        **fields: Any,
    ) -> OptimizedRecallRetriever:
        """Make a retriever over a store of documents: LangChain's, or LlamaIndex's documents and nodes.

        Their ids become those of the memories. Documents without text are left out, with a warning. Other arguments are
        those of `from_texts`.

        Args:
            documents: all chunks of their sources, where `forget_gone` is set.
            forget_gone: forget the chunks of these sources that `path` holds and that are not given any more: what a
                changed document said before. A source is the `source` in the metadata, or LlamaIndex's document.

        Raises:
            InvalidMemory: a document cannot be stored; the message says which, and none was stored.
        """
        listed = _listed(documents, "documents or nodes")
        found = [_memory(item, place) for place, item in enumerate(listed)]
        memories = [memory for memory in found if memory is not None]
        empty = [item for item, memory in zip(listed, found, strict=True) if memory is None]
        told = [(e.metadata.get("source"), *(getattr(e, k, None) for k in ("ref_doc_id", "id_", "id"))) for e in empty]
        blank = {key for keys in told for key in keys if isinstance(key, str)}
        _warn_left_out(len(found), len(memories))
        objects = objects_of(listed) if LLAMA_INDEX and fields.get("objects") is None else {}
        if objects and fields.get("object_map") is None:
            fields = {**fields, "object_map": objects}
        return cls._over(
            memories, fields, path=path, embedding=embedding, llm=llm, reranker=reranker, config=config,
            forget_gone=forget_gone, blank=blank,
        )  # fmt: skip

    @classmethod
    def from_nodes(cls, nodes: Iterable[Any], **given: Any) -> OptimizedRecallRetriever:
        """Make a retriever over a store of LlamaIndex nodes; `node_id` becomes the memory's id.

        Nodes come back as they went in, with our metadata: relationships, excluded keys, templates, places in their
        documents. A document comes back as a text node, an index node leads to its object. The other arguments, and
        the errors, are those of `from_documents`.
        """
        return cls.from_documents(nodes, **given)

    @classmethod
    def from_chroma(cls, collection: Any, **given: Any) -> OptimizedRecallRetriever:
        """Make a retriever on top of a Chroma collection: it is read once, asked for near documents, never changed.

        Args:
            collection: `chromadb.Collection`; one that LangChain or LlamaIndex has filled, too.
            given: `embedding` (of its vectors; default: the collection's), `path` (of our copy;
                default: a temporary directory), `fields` (keys of the metadata for `actor`, `role`, `event_at`,
                `thread`, `position`; default: guessed, see `fields`), `progress` (default: on a terminal, where it
                takes long), `extractor`, `llm`, `reranker`, `config`, and the arguments of the class.

        Raises:
            InvalidArgument: no collection, a key in `fields` that no document has, or an embedding of another length.
            StorePathError: `path` holds a copy of something else.
        """
        from recall_integrations.adapters.sources import ChromaSource

        return cls._on_top(ChromaSource(collection, given.pop("embedding", None)), given)

    @classmethod
    def from_vectorstore(
        cls, vector_store: Any, *, documents: Iterable[Any] | None = None, **given: Any
    ) -> OptimizedRecallRetriever:
        """Make a retriever on top of a LangChain vector store.

        Args:
            vector_store: a vector store. `Chroma`, `InMemoryVectorStore` and `FAISS` are read as they are.
            documents: of any other store: its documents, each with the id that it has there.
            given: as for `from_chroma`.

        Raises:
            InvalidArgument, StorePathError: as for `from_chroma`; or the store cannot be listed and none are given.
        """
        from recall_integrations.adapters.sources import source_of_store

        return cls._on_top(source_of_store(vector_store, given.pop("embedding", None), documents), given)

    @classmethod
    def from_index(
        cls, index: Any, *, documents: Iterable[Any] | None = None, **given: Any
    ) -> OptimizedRecallRetriever:
        """Make a retriever on top of a LlamaIndex `VectorStoreIndex`.

        Args:
            index: over a `SimpleVectorStore`, over Chroma, or over any vector store that lists its nodes.
            documents: of any other index: its nodes.
            given: as for `from_chroma`.

        Raises:
            InvalidArgument, StorePathError: as for `from_vectorstore`.
        """
        from recall_integrations.adapters.sources import source_of_index

        return cls._on_top(source_of_index(index, given.pop("embedding", None), documents), given)

    @classmethod
    def _on_top(cls, source: Any, given: dict[str, Any]) -> OptimizedRecallRetriever:
        from recall_integrations.ontop.optimizer import on_top_of

        if given.get("scopes") is not None:
            raise InvalidArgument("The copy is kept in one scope. Name it: scope=Scope(user_id=...).")
        named = ("path", "fields", "progress", "config", "extractor", "llm", "reranker")
        about = {name: given.pop(name, None) for name in named}
        refuse_unknown("OptimizedRecallRetriever", given, {*cls.model_fields, *named, "objects", "verbose"})
        optimizer = on_top_of(source, scope=given.get("scope"), **about)
        try:
            made = cls(optimizer=optimizer, **given)
        except BaseException:
            optimizer.store.close()
            raise
        made._owned = optimizer.store
        return made

    @property
    def fields(self) -> Mapping[str, str | None]:
        """Keys of the metadata for fields, on top of a vector store; empty for any other store."""
        return getattr(self.optimizer, "fields", {})

    def refresh(self, *, progress: bool | None = None, documents: Iterable[Any] | None = None) -> Refreshed:
        """Read documents of the vector store below that are new or have changed, forget those gone, and count them.

        Args:
            progress: show the progress; default: on a terminal, where it takes long.
            documents: the documents of a store that cannot be listed.

        Raises:
            InvalidArgument: there is no vector store below; or it cannot be listed, and no documents are given.
        """
        return self._below().refresh(progress=progress, documents=documents)

    def _below(self) -> OnTopOptimizer:
        from recall_integrations.ontop.optimizer import OnTopOptimizer

        if isinstance(self.optimizer, OnTopOptimizer):
            return self.optimizer
        raise InvalidArgument("This retriever has a store of its own. from_chroma, from_vectorstore and from_index "
                              "make one on top of another store.")  # fmt: skip

    @classmethod
    def _over(
        cls, memories: list[Memory], fields: dict[str, Any], *, path: Any, embedding: Any, config: Any,
        forget_gone: bool = False, blank: Collection[str] = (), **asked: Any,
    ) -> OptimizedRecallRetriever:  # fmt: skip
        if fields.get("scopes") is not None:
            raise InvalidArgument("What is given here is kept in one scope. Name it: scope=Scope(user_id=...).")
        refuse_unknown("OptimizedRecallRetriever", fields, {*cls.model_fields, "objects", "verbose", *BUILDING})
        _check(fields)
        store = MemoryStore.open(path, embedding=embedding, config=config)
        try:
            scope = checked_scope(fields.get("scope"))
            if path is None:
                store.remember_many(memories, scope=scope)
            else:
                from recall_integrations.store.duplicates import remember_once

                remember_once(store, memories, scope, forget_gone=forget_gone, blank=blank)
            optimizer = QueryOptimizer(store, config=config, **asked)
            made = cls(optimizer=optimizer, **fields)
            optimizer.load(scope=scope)
        except BaseException:
            store.close()
            raise
        made._owned = store
        return made

    def as_retriever(self, **given: Any) -> OptimizedRecallRetriever:
        """Return a retriever over the same optimizer with other fields: `as_retriever(k=3)`."""
        return self._with(given)

    def close(self) -> None:
        """Stop the optimizer's threads, and close the store that `from_*` made; a temporary one is removed."""
        self.optimizer.close()
        if self._owned is not None:
            self._owned.close()

    def __reduce__(self) -> Any:
        """Pickle the configuration; the optimizer's copy uses the store that is open in the process, or opens it."""
        return _rebuild, (type(self), self._fields(), self._verbose)

    def __deepcopy__(self, _memo: dict[int, Any] | None = None) -> OptimizedRecallRetriever:
        return _rebuild(type(self), self._fields(), self._verbose)  # threads and an open store are shared, not copied

    def _fields(self) -> dict[str, Any]:
        skipped = ("callback_manager", "object_map")
        return {name: getattr(self, name) for name in type(self).model_fields if name not in skipped}

    # -- our own view ----------------------------------------------------------------------------------------------

    def recall(self, query: str, **given: Any) -> RecallResult:
        """Return the full result, with plan, timings and reasons."""
        return self.optimizer.recall(query, **self._arguments(given))

    async def arecall(self, query: str, **given: Any) -> RecallResult:
        """Recall without blocking the event loop."""
        if self._heard(OF_US[:1], instead=OF_US[1:]):
            with _begun(self, OF_US[0]):
                return await asyncio.to_thread(self.recall, query, **given)
        return await self.optimizer.arecall(query, **self._arguments(given))

    # -- feedback --------------------------------------------------------------------------------------------------

    def feedback(self, result: RecallResult | UUID | str, **said: Any) -> Feedback:
        """Say whether a recall helped (`QueryOptimizer.feedback`).

        Args:
            result: the answer, its `id` (`recall_result_id` in the metadata of documents and nodes), or the id of the
                run of LangChain's callbacks that it came from: the retriever's own, its parent, or, where a
                tracer is there, that of the whole trace.
            said: `helpful`, `wrong`, `cited`, `rating`, `asked_again`; and `query`, `scope`, `now`.

        Raises:
            NotFound: result and run are forgotten, and no query is given. A copy in another process knows other runs.
            InvalidArgument: no feedback is given, or several recalls belong to the run.
        """
        from recall_integrations.adapters.shapes import result_of

        if said.get("query") is not None and said.get("scope") is None:
            said["scope"] = self.scope
        return self.optimizer.feedback(result_of(self._runs, result), **said)

    def feedback_from(self, given: Any, *, keys: Sequence[str] | None = None) -> Feedback | None:
        """Take feedback in LangSmith's format: mapping or record with `run_id`, `key`, `score`, `value`, `correction`.

        A `score` (or else `value`) from 0 to 1, true or false, is the rating; `correction`, else `value`, may be a
        mapping with lists of ids: `helpful`, `wrong`, `cited`. A `comment` is not read.

        Args:
            given: the feedback.
            keys: keys that rate an answer, instead of `adapters.judged.KEYS` (`user_score`, `thumbs`, `helpful`, …);
                feedback with another key is ignored, unless it corrects.

        Returns:
            The feedback that is kept; `None` where it says nothing about a recall.

        Raises:
            NotFound, InvalidArgument: as `feedback`; or the score has another range.
        """
        from recall_integrations.adapters.shapes import KEYS, langsmith_said

        found = langsmith_said(given, KEYS if keys is None else keys)
        if found is None:
            return None
        runs, said = found
        known = next((result for run in runs if (result := self._runs.of(run)) is not None), runs[0])
        return self.feedback(known, **said)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not given.keys() <= TAKEN:
            refuse_unknown("A call", given.keys() - TAKEN, ARGUMENTS)
        arguments = {name: getattr(self, name) for name in ARGUMENTS}
        if given.get("scope") is not None or given.get("scopes") is not None:  # whichever it is, it is instead of both
            arguments.update(scope=None, scopes=None)
        return {**arguments, **given}

    def _with(self, given: dict[str, Any]) -> OptimizedRecallRetriever:
        """Return a retriever with the arguments of a call as its fields."""
        if not given:
            return self
        refuse_unknown("A call", given, {*ARGUMENTS, *SHOWING})
        shown = {name: given[name] for name in SHOWING if given.get(name) is not None}
        asked = {name: value for name, value in given.items() if name not in SHOWING}
        return self.model_copy(update={**self._arguments(asked), **shown})

    def _called(self, given: dict[str, Any]) -> tuple[OptimizedRecallRetriever, dict[str, Any]]:
        """Return the retriever of a call, and those of its arguments that are no fields."""
        own = self._with({name: value for name, value in given.items() if name not in BESIDE})
        format_of(own.document_format)
        return own, {name: value for name, value in given.items() if name in BESIDE}

    def _untaken(self, given: Mapping[str, Any], asked: Sequence[str]) -> list[str]:
        """Return the names that overrides of the methods asked do not take: LangChain would leave these out."""
        takes = [signature(getattr(self, name)).parameters for name in asked] if given else []
        narrow = [some for some in takes if all(each.kind is not Parameter.VAR_KEYWORD for each in some.values())]
        return [name for name in given if name != "run_id" and any(name not in some for some in narrow)]

    def _heard(self, names: Sequence[str], *, instead: Sequence[str]) -> bool:
        """Say whether a subclass overrides methods of these names, which are not under way, and none of the others."""
        if not _UNDER_WAY.get().isdisjoint((id(self._runs), name) for name in names):
            return False
        theirs = [each for each in type(self).__mro__ if each not in OptimizedRecallRetriever.__mro__]
        first, second = (any(name in vars(each) for each in theirs for name in some) for some in (names, instead))
        return first and not second

    def _documents(self, result: RecallResult, run_manager: Any, sync: Any) -> list[Document]:
        self._runs.note(run_manager, result.id)
        if (error := self._not_searched(result)) is not None:
            tell_not_searched(run_manager, sync, error)
        zone = self._zone()
        hits, text_of = self._fitting(result, zone)
        return documents_of(hits, text_of, zone, highlights=self.highlights, result_id=result.id)

    def _not_searched(self, result: RecallResult) -> NotSearched | None:
        """Return the error for callbacks if nothing was searched, and log it once; `None` otherwise."""
        if result.searched:
            return None
        from recall_integrations.delivery.showing import not_searched, warn_once

        warn_once(result)
        return not_searched(result)

    def _nodes(self, result: RecallResult) -> list[NodeWithScore]:
        if (error := self._not_searched(result)) is not None:
            event_not_searched(error)
            with self.callback_manager.event(CBEventType.EXCEPTION, payload={EventPayload.EXCEPTION: error}):
                pass
        zone = self._zone()
        hits, text_of = self._fitting(result, zone)
        return nodes_of(hits, text_of, zone, highlights=self.highlights, result_id=result.id)

    def _fitting(self, result: RecallResult, zone: tzinfo) -> tuple[Sequence[Hit], Callable[[Hit, tzinfo], str]]:
        """Return the hits and the function that makes their text; `tokens_max` counts the text with its format."""
        text_of = format_of(self.document_format)
        if self.tokens_max is None or self.document_format == TEXT:
            return result.hits, text_of
        from recall_integrations.delivery import packing

        def reads(hit: Hit, text: str) -> str:
            return text_of(hit_like(hit, memory=packing.with_text(hit.memory, text)), zone)

        shown = [hit for hit in result.hits if hit.memory.text]
        return packing.pack(shown, cast(int, whole(self.tokens_max)), reads=reads).kept, text_of

    def _zone(self) -> tzinfo:
        """Return the time zone of dates: the one in which "yesterday" is read."""
        config = self.optimizer.config
        if config.scopes and not self.scopes:
            config = self.optimizer.config_of(self.scope)
        name = self.timezone or config.timezone
        return timezone.utc if name == "UTC" else ZoneInfo(name)

    # -- LangChain -------------------------------------------------------------------------------------------------

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        own, beside = self._called(given)
        if self._heard(OF_LLAMAINDEX, instead=OF_LANGCHAIN):
            return documents_of_nodes(own.retrieve(query, **beside))
        result = own.recall(query, **{"watch": run_of(run_manager), **beside})
        return own._documents(result, run_manager, run_manager)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        own, beside = self._called(given)
        sync = run_manager.get_sync()
        if self._heard(OF_LANGCHAIN[:1], instead=OF_LANGCHAIN[1:]):
            with _begun(self, OF_LANGCHAIN[0]):
                return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=sync, **given)
        if self._heard(OF_LLAMAINDEX, instead=OF_LANGCHAIN):
            return documents_of_nodes(await own.aretrieve(query, **beside))
        result = await own.arecall(query, **{"watch": run_of(sync), **beside})
        return own._documents(result, run_manager, sync)

    # -- LlamaIndex ------------------------------------------------------------------------------------------------

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with errors_told():
            asked = self._asked(query_bundle)
            if self._heard(OF_LANGCHAIN, instead=OF_LLAMAINDEX):
                return nodes_of_documents(self.invoke(asked.pop("query"), **asked))
            return self._nodes(self.recall(**asked, watch=span()))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._heard(OF_LLAMAINDEX[:1], instead=OF_LLAMAINDEX[1:]):
            with _begun(self, OF_LLAMAINDEX[0]):
                return await asyncio.to_thread(self._retrieve, query_bundle)
        with errors_told():
            embeds = bool(query_bundle.custom_embedding_strs)
            asked = await asyncio.to_thread(self._asked, query_bundle) if embeds else self._asked(query_bundle)
            if self._heard(OF_LANGCHAIN, instead=OF_LLAMAINDEX):
                return nodes_of_documents(await self.ainvoke(asked.pop("query"), **asked))
            return self._nodes(await self.arecall(**asked, watch=span()))

    def _asked(self, bundle: QueryBundle) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": bundle.query_str}
        store = self.optimizer.store
        if self.bundle_embedding and _fits(bundle.embedding, store.dimensions):
            return {**asked, "query_vector": bundle.embedding}
        if bundle.custom_embedding_strs:
            # LlamaIndex's meaning: embed these instead of the query, and aggregate.
            asked["query_vector"] = store.embedding.embed_documents(list(bundle.custom_embedding_strs)).mean(axis=0)
        return asked

    def get_prompts(self, config: Any = None) -> Any:
        """Return LlamaIndex's prompts by name (`rewrite_prompt`, with an LLM). With a `config`, LangChain's list."""
        if config is not None or not LLAMA_INDEX:
            return LangChainRetriever.get_prompts(self, config)
        return LlamaIndexRetriever.get_prompts(self)

    def _get_prompts(self) -> dict[str, Any]:
        template = self.optimizer.rewrite_prompt
        return {} if template is None else {REWRITE_PROMPT: PromptTemplate(template)}

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Set the optimizer's prompt, for all its users. LlamaIndex's name `query_str` for the query works, too."""
        given = prompts.get(REWRITE_PROMPT)
        if given is None:
            return
        if not isinstance(given, str | BasePromptTemplate):
            raise InvalidArgument(f"{REWRITE_PROMPT} must be a prompt template, not {type(given).__name__}.")
        text = given if isinstance(given, str) else given.format(query=QUERY, query_str=QUERY)
        if QUERY not in text:
            raise InvalidArgument(f"{REWRITE_PROMPT} must hold {{query}} (or {{query_str}}): {text[:80]!r}.")
        self.optimizer.rewrite_prompt = text


def _fits(embedding: Any, dimensions: int) -> bool:
    """Say whether a vector may be one of the store's model."""
    try:
        return len(embedding) == dimensions and all(math.isfinite(number) for number in embedding)
    except TypeError:
        return False


def _settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return scopes and filters as records, in whatever form they were given."""
    found: dict[str, Any] = {}
    if given.get("scope") is not None:
        found["scope"] = checked_scope(given["scope"])
    if given.get("scopes") is not None:
        found["scopes"] = checked_scopes(given["scopes"])
    if given.get("filters") is not None:
        from recall_integrations.adapters.filters import as_filters

        found["filters"] = as_filters(given["filters"])
    return found


def _text(place: int, text: Any, memory_id: str | None, metadata: dict[str, Any]) -> Memory:
    hint = " Use from_documents for documents." if isinstance(text, Document | BaseNode) else ""
    try:
        return Memory(text, id=memory_id, type=MemoryType.CHUNK, metadata=metadata)
    except InvalidMemory as e:
        raise InvalidMemory(f"Text {place}: {e}{hint}") from e


def _warn_left_out(given: int, kept: int) -> None:
    if kept < given:
        logger.warning("%d of %d have no text and were left out.", given - kept, given)


def _check(given: Mapping[str, Any]) -> None:
    """Refuse arguments now that a call would refuse; pydantic would make a date in 1970 of "2020"."""
    from recall_integrations.config import LimitsConfig
    from recall_integrations.recall.checking import checked_request

    asked = {name: given[name] for name in ARGUMENTS if name in given and name not in ("privacy", "strict")}
    checked_request(LimitsConfig(), lambda: _EPOCH, lambda: 0, query="?", mode=given.get("privacy", "allow"), **asked)
    format_of(given.get("document_format", TEXT))


def _listed(given: Any, what: str) -> list[Any]:
    """Return the items as a list.

    Raises:
        InvalidArgument: `given` is a single item, or has no items.
    """
    if isinstance(given, str | bytes | Mapping | Document | BaseNode) or not isinstance(given, Iterable):
        raise InvalidArgument(f"Give a list of {what}, not {type(given).__name__}. A single one goes into [ ].")
    return list(given)


def _memory(item: object, place: int) -> Memory | None:
    """Return the memory of a document or a node of either framework; `None` where it has no text."""
    what = f"{'Node' if isinstance(item, BaseNode) else 'Document'} {place}"
    try:
        if isinstance(item, Document):
            return memory_of_document(item)
        if isinstance(item, BaseNode):
            return memory_of_node(item)
    except InvalidMemory as e:
        raise InvalidMemory(f"{what}: {e}") from e
    hint = " Use from_texts for plain texts." if isinstance(item, str) else ""
    raise InvalidArgument(
        f"{what} is {type(item).__name__}. Give LangChain documents, or LlamaIndex documents or nodes.{hint}"
    )


def _rebuild(kind: type[OptimizedRecallRetriever], fields: dict[str, Any], verbose: bool) -> OptimizedRecallRetriever:
    return kind(verbose=verbose, **fields)
