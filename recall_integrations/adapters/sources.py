"""Interface of an existing vector store, of which every method reads; and a Chroma collection with it.

A collection may be filled by hand, by LangChain's `Chroma` or by LlamaIndex's `ChromaVectorStore`."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.embedding import Adapter, resolve_embedding
from recall_integrations.embeddings import base as identity
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, InvalidArgument
from recall_integrations.indexes.vector_server import of_a_request
from recall_integrations.records import record

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
        from recall_integrations.adapters.framework_sources import given_rows

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


def plain(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata as JSON types; other types (dates, ids of a library) become text."""
    given = dict(metadata or {})
    if all(type(value) in (str, int, bool, type(None)) for value in given.values()):
        return given
    known: dict[str, Any] = json.loads(json.dumps(given, default=_text, skipkeys=True))
    return known


def _text(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


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
            rows += [_row(i, text, metadata) for i, text, metadata in zip(got["ids"], texts, metadatas, strict=True)]
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


def _row(row_id: str, text: str | None, metadata: Mapping[str, Any] | None) -> Row:
    if metadata and NODE_CONTENT in metadata:
        from llama_index.core.vector_stores.utils import metadata_dict_to_node

        from recall_integrations.adapters.framework_sources import row_of_node

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
