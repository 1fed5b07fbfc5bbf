"""Rerankers of the frameworks: LangChain document compressors, LlamaIndex node postprocessors, and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from recall_integrations.adapters.origin import comes_from
from recall_integrations.errors import InvalidArgument
from recall_integrations.reranking.reranker import Reranker, RerankError, called, checked_scores, listed, number

MARKER = "recall_rerank_id"
_SCORE_KEYS = ("relevance_score", "rerank_score", "query_similarity_score", "score")


def resolve_reranker(source: object) -> Reranker | None:
    """Return a `Reranker` for the object that the user passed; `None` stays `None`."""
    if source is None:
        return None
    if isinstance(source, str | Path):
        from recall_integrations.adapters.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(source)
    if comes_from(source, "langchain_core"):
        from langchain_core.documents import BaseDocumentCompressor

        if isinstance(source, BaseDocumentCompressor):
            return CompressorReranker(source)
    if comes_from(source, "llama_index"):
        from llama_index.core.postprocessor.types import BaseNodePostprocessor

        if isinstance(source, BaseNodePostprocessor):
            return PostprocessorReranker(source)
    if not isinstance(source, type):
        if isinstance(source, Reranker):
            return source
        if callable(source):
            return FunctionReranker(source)
    raise InvalidArgument(
        f"{source!r} cannot rerank. Pass the name or path of a sentence-transformers cross-encoder, a LangChain "
        "document compressor, a LlamaIndex node postprocessor, or a function (query, texts) -> scores."
    )


class FunctionReranker:
    """A function `(query, texts) -> scores`; a score of `None` drops the text."""

    __slots__ = ("_function", "name")

    def __init__(self, function: Callable[[str, list[str]], Iterable[float | None]]) -> None:
        self._function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`."""
        if not texts:
            return []
        return checked_scores(called(self.name, self._function, query, list(texts)), len(texts), self.name)


class CompressorReranker:
    """A LangChain `BaseDocumentCompressor`."""

    __slots__ = ("_compressor", "name")

    def __init__(self, compressor: Any) -> None:
        self._compressor = compressor
        self.name = type(compressor).__name__

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. Returns its scores if every document has one, else 1 downwards by its order."""
        if not texts:
            return []
        from langchain_core.documents import Document

        documents = [Document(page_content=t, metadata={MARKER: str(i)}, id=str(i)) for i, t in enumerate(texts)]
        returned = listed(called(self.name, self._compressor.compress_documents, documents, query), self.name)
        found: list[tuple[object, object]] = []
        for document in returned:
            metadata = getattr(document, "metadata", None) or {}
            found.append((metadata.get(MARKER, getattr(document, "id", None)), _document_score(document, metadata)))
        return _assembled(found, len(texts), self.name)


class PostprocessorReranker:
    """A LlamaIndex `BaseNodePostprocessor`."""

    __slots__ = ("_postprocessor", "name")

    def __init__(self, postprocessor: Any) -> None:
        self._postprocessor = postprocessor
        self.name = type(postprocessor).__name__

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. Nodes go in with scores from 1 downwards by rank; if the postprocessor leaves these as
        they are, its order counts."""
        if not texts:
            return []
        from llama_index.core.schema import NodeWithScore, TextNode

        n = len(texts)
        given = [_by_rank(i, n) for i in range(n)]
        nodes = [
            NodeWithScore(node=TextNode(id_=f"{MARKER}-{i}", text=text), score=given[i]) for i, text in enumerate(texts)
        ]
        returned = listed(called(self.name, self._postprocessor.postprocess_nodes, nodes, query_str=query), self.name)
        found: list[tuple[object, object]] = []
        for node in returned:
            marker = str(getattr(getattr(node, "node", None), "node_id", "")).removeprefix(f"{MARKER}-")
            found.append((marker, getattr(node, "score", None)))
        if all(score == given[int(str(m))] for m, score in found if _index(m, n) is not None):
            found = [(marker, None) for marker, _ in found]
        return _assembled(found, n, self.name)


# -- shared -------------------------------------------------------------------------------------------------------


def _by_rank(place: int, n: int) -> float:
    return 1.0 - place / n


def _index(marker: object, n: int) -> int | None:
    text = str(marker)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < n else None


def _document_score(document: object, metadata: Any) -> object:
    state = getattr(document, "state", None)  # langchain's _DocumentWithState
    for place in (metadata, state if isinstance(state, dict) else {}):
        for key in _SCORE_KEYS:
            if place.get(key) is not None:
                return place[key]
    return None


def _assembled(found: list[tuple[object, object]], n: int, name: str) -> list[float | None]:
    """Return scores in the order of the texts, from (marker, score) pairs in the reranker's order.

    A text that came back in pieces gets its best piece's score. An item without a marker of ours was added by the
    reranker and is left out.
    """
    ours = [(index, score) for marker, score in found if (index := _index(marker, n)) is not None]
    if found and not ours:
        raise RerankError(
            f"The reranker {name} returned {len(found)} items without the ids they came with, so their scores cannot "
            "be assigned. It must keep the metadata (LangChain) or the node ids (LlamaIndex)."
        )
    scored = all(score is not None for _, score in ours)
    scores: list[float | None] = [None] * n
    for place, (index, score) in enumerate(ours):
        value = number(score, name) if scored else _by_rank(place, max(n, len(ours)))
        current = scores[index]
        scores[index] = value if current is None else max(current, value)
    return scores
