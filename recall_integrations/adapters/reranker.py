"""Rerankers: LangChain document compressors, LlamaIndex node postprocessors, functions, and cross-encoders by name.

A cross-encoder reads query and text together: one forward pass through a transformer per pair, in batches.

- The model cuts what is longer than it reads: the longer of query and text first, so no text pushes a query out.
- Pairs of about the same length share a batch, so little is padded. Batches run in the order of the best
  candidate that each holds, so the least important candidates are left when the time is up.
- Between batches it looks at the deadline, and stops when the next batch would not fit by the pace so far.

Scores are those of the model. Some models with one label give logits (ms-marco MiniLM: about -12 to 11), others
squeeze them through a sigmoid into [0, 1]. `scale` says which; the order is the same.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recall_integrations.embeddings.base import has_ancestor
from recall_integrations.errors import InvalidArgument, MissingExtra, installing
from recall_integrations.reranking.reranker import Judged, Reranker, RerankError, called, checked_scores, listed, number
from recall_integrations.reranking.reranking import LOGIT, PROBABILITY
from recall_integrations.resilience.deadline import Deadline

MARKER = "recall_rerank_id"
_SCORE_KEYS = ("relevance_score", "rerank_score", "query_similarity_score", "score")


def resolve_reranker(source: object) -> Reranker | None:
    """Return a `Reranker` for the object that the user passed; `None` stays `None`."""
    if source is None:
        return None
    if isinstance(source, str | Path):
        return CrossEncoderReranker(source)
    if has_ancestor(source, "langchain_core", "BaseDocumentCompressor"):
        return AdaptedReranker(source, _of_compressor)
    if has_ancestor(source, "llama_index", "BaseNodePostprocessor"):
        return AdaptedReranker(source, _of_postprocessor)
    if not isinstance(source, type):
        if isinstance(source, Reranker):
            return source
        if callable(source):
            return AdaptedReranker(source, _of_function)
    raise InvalidArgument(
        f"{source!r} cannot rerank. Pass the name or path of a sentence-transformers cross-encoder, a LangChain "
        "document compressor, a LlamaIndex node postprocessor, or a function (query, texts) -> scores."
    )


class AdaptedReranker:
    """A user's object as a `Reranker`; `score` asks it for the scores of texts, of which there is one at least."""

    __slots__ = ("_score", "_source", "name")

    def __init__(self, source: Any, score: Callable[[Any, str, str, list[str]], list[float | None]]) -> None:
        self._source, self._score = source, score
        self.name = str(getattr(source, "__name__", type(source).__name__))

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        return self._score(self._source, self.name, query, list(texts)) if texts else []


def _of_function(function: Any, name: str, query: str, texts: list[str]) -> list[float | None]:
    """Return the scores of a function `(query, texts) -> scores`; a score of `None` drops the text."""
    return checked_scores(called(name, function, query, texts), len(texts), name)


def _of_compressor(compressor: Any, name: str, query: str, texts: list[str]) -> list[float | None]:
    """Return the scores of a LangChain compressor if every document has one, else 1 downwards by its order."""
    from langchain_core.documents import Document

    documents = [Document(page_content=t, metadata={MARKER: str(i)}, id=str(i)) for i, t in enumerate(texts)]
    found: list[tuple[object, object]] = []
    for document in listed(called(name, compressor.compress_documents, documents, query), name):
        metadata = getattr(document, "metadata", None) or {}
        found.append((metadata.get(MARKER, getattr(document, "id", None)), _document_score(document, metadata)))
    return _assembled(found, len(texts), name)


def _of_postprocessor(postprocessor: Any, name: str, query: str, texts: list[str]) -> list[float | None]:
    """Return the scores of a LlamaIndex postprocessor.

    Nodes go in with scores from 1 downwards by rank; if the postprocessor leaves these as they are, its order counts.
    """
    from llama_index.core.schema import NodeWithScore, TextNode

    n = len(texts)
    given = [_by_rank(i, n) for i in range(n)]
    nodes = [
        NodeWithScore(node=TextNode(id_=f"{MARKER}-{i}", text=text), score=given[i]) for i, text in enumerate(texts)
    ]
    found: list[tuple[object, object]] = []
    for node in listed(called(name, postprocessor.postprocess_nodes, nodes, query_str=query), name):
        marker = str(getattr(getattr(node, "node", None), "node_id", "")).removeprefix(f"{MARKER}-")
        found.append((marker, getattr(node, "score", None)))
    if all(score == given[int(str(m))] for m, score in found if _index(m, n) is not None):
        found = [(marker, None) for marker, _ in found]
    return _assembled(found, n, name)


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


BATCH = 8
CHARS_MAX = 32_768  # of a text, so that one of megabytes is not tokenized whole
TOKEN_CHARS = 4  # about
UNKNOWN = "unknown"
_SCALES = {"Identity": LOGIT, "Sigmoid": PROBABILITY}


class CrossEncoderReranker:
    """A cross-encoder by name or path, loaded once: by `warm`, or at the first use. Thread-safe: one batch at a time,
    as the tokenizers are not, and a batch uses all cores anyway.
    """

    local = True  # what it reads leaves the process nowhere
    __slots__ = ("_lock", "_model", "_running", "name", "scale")

    def __init__(self, source: str | Path) -> None:
        self.name = str(source)
        if not self.name.strip():
            raise InvalidArgument(
                "The name of the reranker is empty. Name a cross-encoder, or pass None for no rerank."
            )
        self.scale = UNKNOWN  # until it is loaded
        self._model: Any = None
        self._lock, self._running = threading.Lock(), threading.Lock()
        if "sentence_transformers" not in sys.modules and importlib.util.find_spec("sentence_transformers") is None:
            raise _missing_extra(self.name)

    @property
    def ready(self) -> bool:
        return self._model is not None

    def warm(self) -> None:
        """Load the model and let it score one pair. Takes seconds; call it off the hot path."""
        if not self.ready:
            self._loaded()

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        return list(self.scores_until(query, texts, Deadline.after(None)).scores)

    def scores_until(self, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
        scores: list[float | None] = [None] * len(texts)
        waiting = set(range(len(texts)))
        if not texts:
            return Judged(scores=(), unscored=frozenset())
        model, left = self._loaded(), deadline.remaining()
        if not self._running.acquire(timeout=-1 if left > threading.TIMEOUT_MAX else left):
            return Judged(scores=tuple(scores), unscored=frozenset(waiting))
        try:
            cut, read = [text[:CHARS_MAX] for text in texts], _chars_read(model)
            sizes, done, begin = [min(len(query) + len(text), read) for text in cut], 0, deadline.remaining()
            for batch in batches(sizes, BATCH):
                cost = len(batch) * max(sizes[i] for i in batch)  # with the padding
                left = deadline.remaining()
                if deadline.over or (done and (begin - left) / done * cost > left):
                    break
                found = self._predict(model, query, [cut[i] for i in batch])
                for i, score in zip(batch, found, strict=True):
                    scores[i] = score
                waiting.difference_update(batch)
                done += cost
        finally:
            self._running.release()
        return Judged(scores=tuple(scores), unscored=frozenset(waiting))

    def _predict(self, model: Any, query: str, texts: Sequence[str]) -> list[float | None]:
        pairs = [(query, text) for text in texts]
        found = called(self.name, model.predict, pairs, batch_size=len(pairs), show_progress_bar=False)
        return checked_scores(found, len(pairs), self.name)

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import CrossEncoder
                except ImportError as e:
                    raise _missing_extra(self.name) from e
                model = called(self.name, CrossEncoder, self.name)
                self._predict(model, "query", ["text"])  # the first pass allocates; and several labels show here
                activation = getattr(model, "activation_fn", None) or getattr(
                    model, "default_activation_function", None
                )
                self.scale = _SCALES.get(type(activation).__name__, UNKNOWN)
                self._model = model
            return self._model


def _chars_read(model: Any) -> int:
    """Return about how many characters of a pair the model reads: what is longer takes no longer."""
    tokens = getattr(model, "max_seq_length", None) or getattr(model, "max_length", None)
    return min(CHARS_MAX, TOKEN_CHARS * tokens) if isinstance(tokens, int) else CHARS_MAX


def batches(sizes: Sequence[int], size: int) -> list[list[int]]:
    """Group indices into batches of like length, those with the best (first) candidates first."""
    by_length = sorted(range(len(sizes)), key=lambda i: (sizes[i], i))
    made = [by_length[i : i + size] for i in range(0, len(by_length), size)]
    return sorted(made, key=min)


def _missing_extra(name: str) -> MissingExtra:
    return MissingExtra(
        f"The reranker {name!r} is a cross-encoder and needs sentence-transformers. Install it with: "
        f"{installing('sentence-transformers')}"
    )
