"""Whatever the user has that can rerank, behind one face.

A reranker reads the query together with each candidate and is slower and better than the ranking before it. It may be
a sentence-transformers cross-encoder (by name or path), a LangChain document compressor, a LlamaIndex node
postprocessor or a function. Frameworks are imported only if the object's class comes from one.

Compressors and postprocessors may reorder, rescore, rewrite and drop what they get, so each candidate carries a marker
and is recognised by that, never by its text: two memories may say the same.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from recall_integrations.errors import InvalidArgument, MissingExtra, RecallError
from recall_integrations.origin import comes_from

MARKER = "recall_rerank_id"
# Where LangChain compressors leave their score: Cohere, FlashRank, Jina, NVIDIA and others use the first.
_SCORE_KEYS = ("relevance_score", "rerank_score", "query_similarity_score", "score")


class RerankError(RecallError):
    """The reranker raised, or returned something that cannot be used as scores."""

    code: ClassVar[str] = "RERANK_ERROR"


@runtime_checkable
class Reranker(Protocol):
    """Query and texts to scores.

    `name` says what it is, for messages and metrics.
    """

    @property
    def name(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """One score for each text, in order; higher is better, on the reranker's own scale; `None` = dropped by it.

        Args:
            query: as the user asked it.
            texts: the candidates, best first so far.

        Raises:
            RerankError: it failed, or returned another number of scores, or a score that is not finite.
        """
        ...


def resolve_reranker(source: object) -> Reranker | None:
    """A `Reranker` from what the user passed; `None` stays `None`.

    Args:
        source: `None`; the name or path of a sentence-transformers cross-encoder, loaded at its first use; a LangChain
            `BaseDocumentCompressor`; a LlamaIndex `BaseNodePostprocessor`; a `Reranker`; or a function from a query
            and a list of texts to a list of scores.

    Raises:
        MissingExtra: a cross-encoder is named and sentence-transformers is not installed.
        InvalidArgument: it is none of these.
    """
    if source is None:
        return None
    if isinstance(source, str | Path):
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
        return checked_scores(_called(self.name, self._function, query, list(texts)), len(texts), self.name)


class CrossEncoderReranker:
    """A sentence-transformers `CrossEncoder`, loaded once, at the first use."""

    __slots__ = ("_lock", "_model", "_source", "name")

    def __init__(self, source: str | Path) -> None:
        self.name = str(source)
        if not self.name.strip():
            raise InvalidArgument(
                "The name of the reranker is empty. Name a cross-encoder, or pass None for no rerank."
            )
        self._source = self.name
        self._model: Any = None
        self._lock = threading.Lock()
        if "sentence_transformers" not in sys.modules and importlib.util.find_spec("sentence_transformers") is None:
            raise _missing_extra(self.name)

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. The model's raw outputs: logits for most models.

        Raises:
            MissingExtra: sentence-transformers, or torch under it, cannot be imported.
            RerankError: the model cannot be loaded, fails, or gives several labels for a text.
        """
        if not texts:
            return []
        model = self._loaded()
        pairs = [(query, text) for text in texts]
        found = _called(self.name, model.predict, pairs, show_progress_bar=False)
        return checked_scores(found, len(texts), self.name)

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import CrossEncoder
                except ImportError as e:
                    raise _missing_extra(self.name) from e
                self._model = _called(self.name, CrossEncoder, self._source)
            return self._model


def _missing_extra(name: str) -> MissingExtra:
    return MissingExtra(
        f"The reranker {name!r} is a cross-encoder and needs sentence-transformers: "
        'pip install "recall-integrations[sentence-transformers]"'
    )


class CompressorReranker:
    """A LangChain `BaseDocumentCompressor`."""

    __slots__ = ("_compressor", "name")

    def __init__(self, compressor: Any) -> None:
        self._compressor = compressor
        self.name = type(compressor).__name__

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`. Its scores if every document it returns has one, else 1 downwards by its order."""
        if not texts:
            return []
        from langchain_core.documents import Document

        documents = [Document(page_content=t, metadata={MARKER: str(i)}, id=str(i)) for i, t in enumerate(texts)]
        returned = _listed(_called(self.name, self._compressor.compress_documents, documents, query), self.name)
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
        """See `Reranker.scores`. Nodes go in with scores from 1 downwards by rank; if it leaves these as they are, its
        order counts."""
        if not texts:
            return []
        from llama_index.core.schema import NodeWithScore, TextNode

        n = len(texts)
        given = [_by_rank(i, n) for i in range(n)]
        nodes = [
            NodeWithScore(node=TextNode(id_=f"{MARKER}-{i}", text=text), score=given[i]) for i, text in enumerate(texts)
        ]
        returned = _listed(_called(self.name, self._postprocessor.postprocess_nodes, nodes, query_str=query), self.name)
        found: list[tuple[object, object]] = []
        for node in returned:
            marker = str(getattr(getattr(node, "node", None), "node_id", "")).removeprefix(f"{MARKER}-")
            found.append((marker, getattr(node, "score", None)))
        if all(score == given[int(str(m))] for m, score in found if _index(m, n) is not None):
            found = [(marker, None) for marker, _ in found]
        return _assembled(found, n, self.name)


# -- shared -------------------------------------------------------------------------------------------------------


def checked_scores(found: object, n: int, name: str) -> list[float | None]:
    """`found` as a list of `n` finite floats or `None`.

    Raises:
        RerankError: it is something else.
    """
    tolist = getattr(found, "tolist", None)  # numpy, torch
    values = _listed(tolist() if callable(tolist) else found, name)
    if len(values) != n:
        raise RerankError(
            f"The reranker {name} returned {len(values)} scores for {n} texts. It must return one for each."
        )
    return [None if value is None else _number(value, name) for value in values]


def _number(value: object, name: str) -> float:
    if isinstance(value, list) and len(value) == 1:  # shape (n, 1)
        value = value[0]
    if isinstance(value, list | tuple):
        raise RerankError(f"The reranker {name} gives {len(value)} numbers for a text; use a model with one output.")
    try:
        number = math.nan if isinstance(value, str | bytes | bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as e:
        raise RerankError(f"The reranker {name} returned {value!r} as a score; it must be a number.") from e
    if not math.isfinite(number):
        raise RerankError(f"The reranker {name} returned {value!r} as a score; it must be a finite number.")
    return number


def _called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except RecallError:
        raise
    except Exception as e:  # foreign code: whatever it raises becomes one named error
        raise RerankError(f"The reranker {name} failed: {type(e).__name__}: {e}") from e


def _listed(found: object, name: str) -> list[Any]:
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise RerankError(f"The reranker {name} returned {type(found).__name__}, not a list.")
    return list(found)


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
    """Scores in the order of the texts, from (marker, score) pairs in the reranker's order.

    A text that came back in pieces gets its best piece's score. What carries no marker of ours was added by the
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
        value = _number(score, name) if scored else _by_rank(place, max(n, len(ours)))
        current = scores[index]
        scores[index] = value if current is None else max(current, value)
    return scores
