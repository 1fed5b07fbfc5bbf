"""Whatever the user has that can rerank, behind one face.

A reranker reads the query together with each candidate and is slower and better than the ranking before it. It may be
a sentence-transformers cross-encoder (by name or path, `cross_encoder.py`), a LangChain document compressor, a
LlamaIndex node postprocessor or a function. Frameworks are imported only if the object's class comes from one.

Compressors and postprocessors may reorder, rescore, rewrite and drop what they get, so each candidate carries a marker
and is recognised by that, never by its text: two memories may say the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from recall_integrations.adapters.origin import comes_from
from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.resilience.deadline import Deadline

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a reranker said.

    Args:
        scores: one for each text; `None` = dropped by it, or not scored.
        unscored: indices of the texts that it had no time for.
    """

    scores: tuple[float | None, ...]
    unscored: frozenset[int] = frozenset()


@runtime_checkable
class TimedReranker(Reranker, Protocol):
    """A reranker that looks at the deadline itself and gives what it has."""

    def scores_until(self, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
        """As `scores`, but stops when the deadline is over. Texts come best first, and should be scored so."""
        ...


@runtime_checkable
class LoadedReranker(Reranker, Protocol):
    """A reranker with a model that takes long to load."""

    @property
    def ready(self) -> bool: ...

    def warm(self) -> None:
        """Load it. Called off the hot path, in a thread; calling it again does nothing.

        Raises:
            RerankError, MissingExtra: it cannot be loaded.
        """
        ...


def judge(reranker: Reranker, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
    """Scores of the texts, checked; within the deadline if the reranker can.

    Raises:
        RerankError: see `Reranker.scores`.
    """
    if isinstance(reranker, TimedReranker):
        return called(reranker.name, reranker.scores_until, query, texts, deadline)  # type: ignore[no-any-return]
    found = called(reranker.name, reranker.scores, query, texts)
    return Judged(scores=tuple(checked_scores(found, len(texts), reranker.name)))


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
        """See `Reranker.scores`. Its scores if every document it returns has one, else 1 downwards by its order."""
        if not texts:
            return []
        from langchain_core.documents import Document

        documents = [Document(page_content=t, metadata={MARKER: str(i)}, id=str(i)) for i, t in enumerate(texts)]
        returned = _listed(called(self.name, self._compressor.compress_documents, documents, query), self.name)
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
        returned = _listed(called(self.name, self._postprocessor.postprocess_nodes, nodes, query_str=query), self.name)
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


def called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function gives; whatever it raises is a `RerankError`."""
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
