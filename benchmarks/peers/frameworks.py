"""The retrievers people would otherwise build, set up as their documentation does it, behind one small protocol.

What is the same for everybody: the embedding (ours, wrapped for each framework), the indexed text ("Speaker: text",
because the speaker is part of what our store embeds and indexes, and it helps every system), and the number of
results. Each framework comes at its defaults and at stronger settings; nothing is chosen by looking at the results:

- Default: the documented example. Equal weights, reciprocal rank fusion, `k` candidates from each arm for `k` results,
  one query and no language model.
- "tuned": what a careful user would change without measuring: 50 candidates from each arm (`FETCH`), and for LangChain
  our stems and stop words instead of splitting at spaces. Weights stay equal: LangChain documents no others, and
  LlamaIndex ignores weights in its reciprocal mode.
- "relative score" and "dist. score": LlamaIndex's other two fusion modes with the weights of their documented example
  (vectors .6, BM25 .4), and 50 candidates.

Nothing here leaves the machine: Chroma runs in memory with telemetry off, and LlamaIndex gets a mock language model
so that it does not look for a real one. Optional packages are imported when a peer is built.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.single_arms import DenseOnly, Peer, StemmedBM25, checked_ids, indexed_text
from benchmarks.shared.extras import require
from recall_integrations import text as analyser
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory

__all__ = [
    "PACKAGES",
    "DenseOnly",
    "LangChainEnsemble",
    "LlamaIndexFusion",
    "Peer",
    "StemmedBM25",
    "as_langchain",
    "as_llamaindex",
    "default_peers",
    "indexed_text",
]

PACKAGES = (
    "bm25s",
    "langchain_chroma",
    "langchain_classic.retrievers",
    "langchain_community.retrievers",
    "llama_index.retrievers.bm25",
    "llama_index.vector_stores.chroma",
)
FETCH = 50  # candidates from each arm of a tuned peer
LLAMAINDEX_MODES = {  # variant → mode, weights of vectors and of BM25 (`None` = the mode's default), name in tables
    "default": ("reciprocal_rerank", None, "LlamaIndex fusion"),
    "tuned": ("reciprocal_rerank", None, "LlamaIndex fusion, tuned"),
    "relative": ("relative_score", (0.6, 0.4), "LlamaIndex relative score"),
    "distribution": ("dist_based_score", (0.6, 0.4), "LlamaIndex dist. score"),
}
_BATCH = 1_000


def default_peers(embedding: Embedding) -> list[Peer]:
    """All peers, in the order in which tables show them, which is also the order to build them in.

    Settings of one framework that need the same index share it, so that a comparison does not build it six times.
    """
    chain, index = LangChainEnsemble(embedding), LlamaIndexFusion(embedding)
    others = [variant for variant in LLAMAINDEX_MODES if variant != "default"]
    return [
        DenseOnly(embedding),
        StemmedBM25(stemmed=False),
        StemmedBM25(),
        chain,
        LangChainEnsemble(embedding, tuned=True, beside=chain),
        index,
        *(LlamaIndexFusion(embedding, variant=variant, beside=index) for variant in others),
    ]


class _ChromaCollection:
    """A collection of its own in Chroma's in-memory client, with Chroma's default index settings."""

    def __init__(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self.client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
        # In-memory clients of one process share their collections, so the name must be unique.
        self.name = f"peer-{uuid.uuid4().hex}"

    def close(self) -> None:
        self.client.delete_collection(self.name)


class LangChainEnsemble:
    """LangChain's `EnsembleRetriever` over its `BM25Retriever` and `Chroma`, weights 0.5 and 0.5.

    As in its how-to guide, each arm is asked for as many documents as are wanted in the end. `BM25Retriever` splits at
    spaces by default: no lower-casing, no stemming. Documents are told apart by their id instead of by their text
    (the default), so that two people who say "Thanks!" stay two documents. The guide's top k of a fused list of up to
    2·k is taken by cutting.

    Args:
        embedding: ours.
        tuned: stemmed BM25 without stop words, and 50 candidates from each arm.
        beside: another one whose vectors are used where it was built over the very same memories, while it is.
    """

    def __init__(self, embedding: Embedding, *, tuned: bool = False, beside: LangChainEnsemble | None = None) -> None:
        self.name = "LangChain ensemble, tuned" if tuned else "LangChain ensemble"
        self._embedding = embedding
        self._tuned = tuned
        self._beside = beside
        self._memories: Sequence[Memory] | None = None
        self._collection: _ChromaCollection | None = None
        self._bm25: Any = None
        self._chroma: Any = None
        self._by_k: dict[int, Any] = {}

    def build(self, memories: Sequence[Memory]) -> None:
        """Fill both arms."""
        chroma = require("langchain_chroma")
        retrievers = require("langchain_community.retrievers")
        document = require("langchain_core.documents").Document
        require("langchain_classic.retrievers")
        self.close()
        ids = checked_ids(memories)
        documents = [
            document(page_content=indexed_text(m), metadata={"id": doc, "speaker": m.actor or ""}, id=doc)
            for doc, m in zip(ids, memories, strict=True)
        ]
        words = {"preprocess_func": analyser.stems} if self._tuned else {}
        self._bm25 = retrievers.BM25Retriever.from_documents(documents, **words)
        self._memories = memories
        if self._beside is not None and self._beside._memories is memories:
            self._chroma = self._beside._chroma
            return
        self._collection = _ChromaCollection()
        self._chroma = chroma.Chroma(
            collection_name=self._collection.name,
            embedding_function=as_langchain(self._embedding),
            client=self._collection.client,
        )
        for start in range(0, len(documents), _BATCH):
            self._chroma.add_documents(documents[start : start + _BATCH], ids=ids[start : start + _BATCH])

    def search(self, query: str, k: int) -> list[str]:
        """The first `k` of the fused list."""
        found = self._ensemble(k).invoke(query)
        return [d.metadata["id"] for d in found[:k]]

    def _ensemble(self, k: int) -> Any:
        if k not in self._by_k:
            fetch = max(k, FETCH) if self._tuned else k
            arms = [
                self._bm25.model_copy(update={"k": fetch}),
                self._chroma.as_retriever(search_kwargs={"k": fetch}),
            ]
            ensemble = require("langchain_classic.retrievers").EnsembleRetriever
            self._by_k[k] = ensemble(retrievers=arms, weights=[0.5, 0.5], id_key="id")
        return self._by_k[k]

    def close(self) -> None:
        """Delete the collection."""
        if self._collection is not None:
            self._collection.close()
        self._collection, self._bm25, self._chroma, self._memories = None, None, None, None
        self._by_k.clear()


class LlamaIndexFusion:
    """LlamaIndex's `QueryFusionRetriever` over its `BM25Retriever` and a `VectorStoreIndex` on Chroma.

    `num_queries=1` (no generated queries). `BM25Retriever` stems and drops stop words by itself. Id and speaker are in
    the nodes' metadata, kept out of the embedded text; the id is there because the fusion tells nodes apart by a hash
    of text and metadata and would drop one of two equal texts.

    Args:
        embedding: ours.
        variant: of `LLAMAINDEX_MODES`. `default` is asked for as many nodes from each arm as are wanted in the end, as
            in the example; the others for 50.
        beside: another one whose arms are used where it was built over the very same memories, while it is.

    Raises:
        InvalidArgument: an unknown variant.
    """

    def __init__(
        self, embedding: Embedding, *, variant: str = "default", beside: LlamaIndexFusion | None = None
    ) -> None:
        if variant not in LLAMAINDEX_MODES:
            raise InvalidArgument(f"Unknown variant {variant!r}. Use one of: {', '.join(LLAMAINDEX_MODES)}.")
        self._mode, self._weights, self.name = LLAMAINDEX_MODES[variant]
        self._fetch = 0 if variant == "default" else FETCH
        self._embedding = embedding
        self._beside = beside
        self._memories: Sequence[Memory] | None = None
        self._collection: _ChromaCollection | None = None
        self._nodes = 0
        self._bm25: Any = None
        self._index: Any = None
        self._by_k: dict[int, Any] = {}

    def build(self, memories: Sequence[Memory]) -> None:
        """Fill both arms."""
        core = require("llama_index.core")
        text_node = require("llama_index.core.schema").TextNode
        bm25 = require("llama_index.retrievers.bm25").BM25Retriever
        vector_store = require("llama_index.vector_stores.chroma").ChromaVectorStore
        self.close()
        self._memories = memories
        if self._beside is not None and self._beside._memories is memories:
            self._nodes, self._bm25, self._index = self._beside._nodes, self._beside._bm25, self._beside._index
            return
        nodes = [
            text_node(
                id_=doc,
                text=indexed_text(m),
                metadata={"id": doc, "speaker": m.actor or ""},
                excluded_embed_metadata_keys=["id", "speaker"],
                excluded_llm_metadata_keys=["id", "speaker"],
            )
            for doc, m in zip(checked_ids(memories), memories, strict=True)
        ]
        self._nodes = len(nodes)
        self._bm25 = bm25.from_defaults(nodes=nodes, similarity_top_k=1)
        self._collection = _ChromaCollection()
        store = vector_store(
            chroma_collection=self._collection.client.create_collection(self._collection.name, embedding_function=None)
        )
        self._index = core.VectorStoreIndex(
            nodes,
            storage_context=core.StorageContext.from_defaults(vector_store=store),
            embed_model=as_llamaindex(self._embedding),
        )

    def search(self, query: str, k: int) -> list[str]:
        """The first `k` of the fused list."""
        retriever = self._fusion(k)
        # bm25s refuses to return more than there is.
        self._bm25.similarity_top_k = min(max(k, self._fetch), self._nodes)
        return [found.node.node_id for found in retriever.retrieve(query)][:k]

    def _fusion(self, k: int) -> Any:
        if k not in self._by_k:
            from llama_index.core.llms import MockLLM
            from llama_index.core.retrievers import QueryFusionRetriever
            from llama_index.core.retrievers.fusion_retriever import FUSION_MODES

            self._by_k[k] = QueryFusionRetriever(
                [self._index.as_retriever(similarity_top_k=max(k, self._fetch)), self._bm25],
                llm=MockLLM(),
                mode=FUSION_MODES(self._mode),
                retriever_weights=None if self._weights is None else list(self._weights),
                similarity_top_k=k,
                num_queries=1,
                use_async=False,
            )
        return self._by_k[k]

    def close(self) -> None:
        """Delete the collection."""
        if self._collection is not None:
            self._collection.close()
        self._collection, self._bm25, self._index, self._nodes, self._memories = None, None, None, 0, None
        self._by_k.clear()


def as_langchain(embedding: Embedding) -> Any:
    """Our embedding as a LangChain `Embeddings`."""
    from langchain_core.embeddings import Embeddings

    class Wrapped(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return _floats(embedding.embed_documents(texts))

        def embed_query(self, text: str) -> list[float]:
            return _floats(embedding.embed_query(text)[None, :])[0]

    return Wrapped()


def as_llamaindex(embedding: Embedding) -> Any:
    """Our embedding as a LlamaIndex `BaseEmbedding`."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Wrapped(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return _floats(embedding.embed_query(query)[None, :])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return _floats(embedding.embed_documents([text]))[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return _floats(embedding.embed_documents(texts))

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Wrapped(model_name=embedding.fingerprint, embed_batch_size=_BATCH)


def _floats(vectors: NDArray[np.float32]) -> list[list[float]]:
    """Rows as lists, which is what both frameworks expect."""
    rows: list[list[float]] = vectors.tolist()
    return rows
