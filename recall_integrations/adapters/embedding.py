"""Any embedding of a user as an `Embedding`: unit vectors, checked, in batches, errors named.

    resolve_embedding(None)                              the bundled static model
    resolve_embedding(an Embedding)                      itself
    resolve_embedding(LangChain Embeddings)              embed_query / embed_documents
    resolve_embedding(LlamaIndex BaseEmbedding)          get_query_embedding / get_text_embedding_batch
    resolve_embedding("BAAI/bge-small-en-v1.5")          sentence-transformers, by name, folder or loaded model
    resolve_embedding(a model2vec folder)                StaticEmbedding, without torch
    resolve_embedding(lambda texts: array)               a callable, list of n texts to array (n, d)

Fingerprints are the same in every process: class, model name and dimensions; module, qualified name and dimensions for
a callable. An object may set its own with a text attribute `fingerprint` (then class and model name are left out), and
may declare with a boolean attribute `remote` whether its calls leave the machine.
"""

from __future__ import annotations

import inspect
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings import base as identity
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import StaticEmbedding, bundled, is_static_folder
from recall_integrations.errors import EmbeddingError, InvalidArgument, MissingExtra, RecallError, installing
from recall_integrations.resilience.failures import failures

BATCH_SIZE = 64
PROBE = "How many dimensions has this?"

_ACCEPTED = (
    "None (the bundled model), a LangChain Embeddings, a LlamaIndex BaseEmbedding, the name or path of a "
    "sentence-transformers model or the model itself, the path of a model2vec folder, a callable from a list of n "
    "texts to an array (n, d), or an object with fingerprint, dimensions, remote, embed_documents and embed_query"
)


_OF_OPENAI = re.compile(r"(?:openai[:/])?text-embedding-(?:3|ada)-")


def resolve_embedding(source: object = None) -> Embedding:
    """Make an `Embedding` of what users pass as `embedding=`; see the module's docstring.

    Nothing is computed yet, and no model loaded: dimensions are found at first use, with a probe text where needed.
    Calls leave the machine where the object's `remote` says so, else where its class is of a framework and not known
    to be local.

    Raises:
        InvalidArgument: `source` is none of these.
        MissingExtra: a model name was given and sentence-transformers is not installed.
    """
    if source is None:
        return bundled()
    if isinstance(source, type):
        raise InvalidArgument(
            f"embedding must be an object, not the class {source.__name__}. Write {source.__name__}(...)."
        )
    if isinstance(source, str | Path):
        return _named(source)
    if identity.has_embedding_protocol(source):
        return cast(Embedding, source)
    kinds: tuple[tuple[Callable[[object], bool], type[Adapter]], ...] = (
        (identity.is_langchain, FrameworkAdapter),
        (identity.is_llama_index, FrameworkAdapter),
        (identity.is_sentence_transformer, SentenceTransformerAdapter),
        (callable, CallableAdapter),
    )
    for fits, kind in kinds:
        if fits(source):
            return kind(source)
    raise InvalidArgument(f"embedding cannot be a {type(source).__name__}. Pass {_ACCEPTED}.")


def _named(source: str | Path) -> Embedding:
    name = str(source)
    if not name.strip():
        raise InvalidArgument(f"embedding is an empty name. Pass {_ACCEPTED}.")
    folder = Path(name).expanduser()
    if is_static_folder(folder):
        return StaticEmbedding(folder)
    if isinstance(source, Path) and not folder.exists():
        raise InvalidArgument(f"There is no model at {name!r}. Pass an existing folder, or a model name as text.")
    if _OF_OPENAI.match(name) and not folder.exists():
        raise InvalidArgument(
            f"{name!r} is a model of OpenAI, and no name loads it here. Pass its object: OpenAIEmbeddings(model=...) "
            "of langchain_openai, or OpenAIEmbedding(model=...) of llama_index.embeddings.openai."
        )
    import_sentence_transformers()
    return SentenceTransformerAdapter(str(folder) if folder.exists() else name)


def import_sentence_transformers() -> Any:
    """Import the optional package; the only place that does."""
    try:
        import sentence_transformers
    except ImportError as e:
        raise MissingExtra(
            "A model name or path needs the package sentence-transformers. "
            f"Install it with: {installing('sentence-transformers')}. "
            "Without it, leave `embedding` out for the bundled model or pass an embedding of your framework."
        ) from e
    return sentence_transformers


class Adapter(ABC):
    """Base of adapters: checks, batches and normalises; a subclass calls its model."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.remote = self._is_remote()  # whether a call leaves the machine
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name()})"

    @property
    def fingerprint(self) -> str:
        """Name and dimensions; calls the model once if the dimensions are not known yet."""
        return f"{self._called()}:{self.dimensions}"

    def may_be(self, fingerprint: str) -> bool:
        """Say whether a fingerprint is that of this embedding, whatever its dimensions; calls no model."""
        return fingerprint.rpartition(":")[0] == self._called()

    def _called(self) -> str:
        declared = getattr(self._source, "fingerprint", None)
        return declared if isinstance(declared, str) and declared.strip() else self._name()

    @property
    def dimensions(self) -> int:
        """Length of a vector. Found by embedding a short text if nothing was embedded yet."""
        if self._dimensions is None:
            self.embed_documents([PROBE])
        assert self._dimensions is not None
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts as unit rows, `(len(texts), dimensions)`; a zero row where the model returns one."""
        if isinstance(texts, str):
            raise InvalidArgument("`texts` must be a list of strings, not one string. Write [text].")
        batches = [list(texts[i : i + BATCH_SIZE]) for i in range(0, len(texts), BATCH_SIZE)]
        if not batches:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([self._checked(self._call(self._documents, batch), len(batch)) for batch in batches])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query as a unit vector, `(dimensions,)`."""
        row: NDArray[np.float32] = self._checked(self._call(self._query, text), 1)[0]
        return row

    def query_as_given(self, text: str) -> NDArray[np.float32]:
        """Embed a query with the model's own vector length, for a store that compares lengths, too."""
        self._checked(made := self._call(self._query, text), 1)
        row: NDArray[np.float32] = np.asarray(made, dtype=np.float32)[0]
        return row

    @abstractmethod
    def _documents(self, texts: list[str]) -> Any:
        """Return the model's vectors for a batch: `(n, d)`."""

    @abstractmethod
    def _query(self, text: str) -> Any:
        """Return the model's vector for a query, as `(1, d)`."""

    @abstractmethod
    def _name(self) -> str:
        """Return class and model name."""

    def _is_remote(self) -> bool:
        return getattr(self._source, "remote", False) is True

    def _call(self, method: Callable[[Any], Any], given: Any) -> Any:
        try:
            return method(given)
        except RecallError:
            raise
        except failures() as e:
            raise EmbeddingError(f"The embedding {self._name()} raised {type(e).__name__}: {e}") from e

    def _checked(self, returned: Any, count: int) -> NDArray[np.float32]:
        matrix = _matrix(returned, count, self._name())
        width = matrix.shape[1]
        with self._lock:
            if self._dimensions is None:
                self._dimensions = width
        if width != self._dimensions:
            raise EmbeddingError(
                f"The embedding {self._name()} returned vectors of {width} dimensions after vectors of "
                f"{self._dimensions}. All of its vectors must have the same length."
            )
        return _unit(matrix)


class FrameworkAdapter(Adapter):
    """An embedding of a framework, with one method for queries and one for texts, which may have other instructions."""

    def __init__(self, source: Any) -> None:
        self._framework, self._of_texts, self._of_query = (
            ("langchain", "embed_documents", "embed_query")
            if identity.is_langchain(source)
            else ("llama_index", "get_text_embedding_batch", "get_query_embedding")
        )
        super().__init__(source)

    def _documents(self, texts: list[str]) -> Any:
        return getattr(self._source, self._of_texts)(texts)

    def _query(self, text: str) -> Any:
        return [getattr(self._source, self._of_query)(text)]

    def _name(self) -> str:
        return f"{self._framework}:{identity.class_name(self._source)}:{identity.model_name(self._source)}"

    def _is_remote(self) -> bool:
        return identity.is_remote(self._source)


class CallableAdapter(Adapter):
    """A function from a list of n texts to an array `(n, d)`; a query is a list of one."""

    def __init__(self, source: Any) -> None:
        if inspect.iscoroutinefunction(source) or inspect.iscoroutinefunction(getattr(source, "__call__", None)):  # noqa: B004
            raise InvalidArgument("embedding cannot be an async function. Pass one that returns the array itself.")
        super().__init__(source)

    def _documents(self, texts: list[str]) -> Any:
        return self._source(texts)

    def _query(self, text: str) -> Any:
        return self._source([text])

    def _name(self) -> str:
        return f"callable:{identity.callable_name(self._source)}"


class SentenceTransformerAdapter(Adapter):
    """A sentence-transformers model, loaded at first use if given by name or path.

    Uses the model's own query and document prompts where it has any. One call at a time: the tokenizers below
    change their state while they encode, and torch uses all cores for one call anyway.
    """

    def __init__(self, source: Any) -> None:
        self._model: Any = None if isinstance(source, str) else source
        self._busy = threading.Lock()
        self._named: str | None = None
        super().__init__(source)

    def _documents(self, texts: list[str]) -> Any:
        return self._encode("document", texts)

    def _query(self, text: str) -> Any:
        return self._encode("query", [text])

    def _encode(self, task: str, texts: list[str]) -> Any:
        with self._busy:
            if self._model is None:
                self._model = import_sentence_transformers().SentenceTransformer(self._source)
            own = getattr(self._model, f"encode_{task}", None)  # since sentence-transformers 5
            options = {"batch_size": BATCH_SIZE, "convert_to_numpy": True, "show_progress_bar": False}
            if own is not None:
                return own(texts, **options)
            prompt = task if task in (getattr(self._model, "prompts", None) or {}) else None
            return self._model.encode(texts, prompt_name=prompt, **options)

    def _name(self) -> str:
        if self._named is None:
            self._named = f"sentence-transformers:{_model_id(self._source)}"
        return self._named


def _model_id(source: Any) -> str:
    """Return the name of a model, the same for a name and for the loaded model."""
    if not isinstance(source, str):
        config = getattr(getattr(next(iter(source), None), "auto_model", None), "config", None)
        source = getattr(config, "_name_or_path", None) or "-"
    name = identity.portable_name(source)
    # Names without an owner are looked up under this one.
    return f"sentence-transformers/{name}" if name == source and "/" not in name and name != "-" else name


def _matrix(returned: Any, count: int, name: str) -> NDArray[np.float64]:
    """Return the model's answer as `(count, d)`, d > 0, finite."""
    wanted = f"The embedding {name} must return {count} vector{'s' if count != 1 else ''} of equal length"
    if inspect.isawaitable(returned):
        close = getattr(returned, "close", None)  # an un-awaited coroutine would warn later, far from the cause
        if close is not None:
            close()
        raise EmbeddingError(f"{wanted}, not an awaitable. Pass a function that is not async.")
    try:
        found = np.asarray(returned)
    except Exception as e:  # ragged lists, tensors on a GPU, array types of other libraries
        raise EmbeddingError(f"{wanted}, but its answer is not an array of numbers: {e}") from e
    if found.dtype.kind not in "fiu":
        what = "None" if returned is None else f"a {type(returned).__name__}"
        raise EmbeddingError(f"{wanted}, but returned {what}, which is not an array of numbers.")
    if found.ndim != 2 or found.shape[0] != count or found.shape[1] == 0:
        raise EmbeddingError(f"{wanted}, shape ({count}, d), but returned shape {found.shape}.")
    matrix = found.astype(np.float64)
    bad = ~np.isfinite(matrix).all(axis=1)
    if bad.any():
        raise EmbeddingError(f"{wanted}, but vector {int(np.flatnonzero(bad)[0])} holds NaN or infinity.")
    return matrix


def _unit(matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    # Scaled first: squares of very large or very small numbers leave the range of a float.
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    matrix = matrix / np.where(largest == 0, 1.0, largest)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths == 0, 1.0, lengths)).astype(np.float32)
