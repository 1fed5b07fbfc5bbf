"""The protocol of an embedding, as the rest of the package needs it, and what its cosines are worth in a language.

`pairs(language)` are questions and answers that share few words. The mean reciprocal rank of the answers becomes the
factor of cosines (1 = the embedding that the ranker's weights were chosen with); the two points between which it is a
straight line are set by hand. The bundled model reaches .938, and still counts as 1 (see docs/languages.md).
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config.checking import is_loopback
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError, InvalidArgument

_NAME_FIELDS = ("model_name", "model", "model_id", "azure_deployment", "deployment", "repo_id", "model_path", "path")

# Wrappers that add a cache or a translation around another embedding: name and remoteness are those of the inner one.
_INNER_FIELDS = ("underlying_embeddings", "_langchain_embedding")

_LOCAL_WORDS = tuple(
    """
    fakeembedding mockembedding huggingfaceembedding huggingfacebge huggingfaceinstruct sentencetransformer
    fastembed llamacpp gpt4all llamafile spacy tensorflowhub modelscope openvino optimum ipexllm instructor
    model2vec quantizedbi clipembedding
    """.split()
)
# Servers that run on the same machine unless their address says otherwise.
_SERVER_WORDS = ("ollama", "xinference", "localai")
_ADDRESS_FIELDS = ("base_url", "server_url", "openai_api_base", "api_base")


def has_ancestor(source: object, package: str, name: str) -> bool:
    """Say whether the object's class has an ancestor called `name`, defined in `package` or below."""
    return any(
        kind.__name__ == name and (kind.__module__ == package or kind.__module__.startswith(package + "."))
        for kind in type(source).__mro__
    )


def is_langchain(source: object) -> bool:
    """Say whether an object is a LangChain `Embeddings`."""
    return has_ancestor(source, "langchain_core", "Embeddings")


def is_llama_index(source: object) -> bool:
    """Say whether an object is a LlamaIndex `BaseEmbedding`."""
    return has_ancestor(source, "llama_index", "BaseEmbedding")


def is_sentence_transformer(source: object) -> bool:
    """Say whether an object is a loaded `SentenceTransformer`."""
    return has_ancestor(source, "sentence_transformers", "SentenceTransformer")


def has_embedding_protocol(source: object) -> bool:
    """Say whether the object has all members of `Embedding`, without evaluating its properties.

    `isinstance` with a runtime protocol evaluates them before Python 3.12, and these load a model.
    """
    missing = object()
    members = ("fingerprint", "dimensions", "remote", "embed_documents", "embed_query")
    return all(inspect.getattr_static(source, name, missing) is not missing for name in members)


def class_name(source: object) -> str:
    """Return top-level package and qualified name: modules move between releases of a package, its name does not."""
    kind = type(source)
    return f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"


def model_name(source: object) -> str:
    """Return the model's name that the object states, "-" without one; a wrapper gives its inner model's."""
    inner = _inner(source)
    if inner is not None:
        return f"{class_name(inner)}:{model_name(inner)}"
    for field in _NAME_FIELDS:
        value = getattr(source, field, None)
        if isinstance(value, str | Path) and str(value).strip():
            return portable_name(str(value))
    return "-"


def portable_name(name: str) -> str:
    """Return the name of a hub model as it is; of local files their name and a digest, so that they may move."""
    path = Path(name).expanduser()
    try:
        if not path.exists():
            return name
        root = path if path.is_dir() else path.parent
        wanted = [path] if path.is_file() else [p for p in path.rglob("*") if p.suffix in _MODEL_FILES and p.is_file()]
    except OSError:  # a name no file system takes
        return name
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(wanted, key=lambda p: p.relative_to(root).as_posix()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(root).as_posix()}:{size}:".encode())
        with file.open("rb") as data:
            digest.update(data.read(_BLOCK))
            data.seek(max(size - _BLOCK, 0))
            digest.update(data.read(_BLOCK))
    return f"{path.resolve().name}@{digest.hexdigest()}"


_MODEL_FILES = frozenset({".json", ".txt", ".safetensors", ".bin", ".onnx", ".gguf"})
_BLOCK = 65_536


def callable_name(source: Any) -> str:
    """Return module and qualified name. Lambdas of one function share a name: give them a `fingerprint` attribute."""
    if isinstance(source, functools.partial):
        return f"partial({callable_name(source.func)})"
    owner = source if hasattr(source, "__qualname__") else type(source)
    name = f"{owner.__module__}.{owner.__qualname__}"
    return name if owner is source else f"{name}:{model_name(source)}"


def is_remote(source: object) -> bool:
    """Say whether a call of this framework object leaves the machine.

    A boolean attribute `remote` decides. Else: a class (or an ancestor) known to compute in the process is local, a
    server that runs on the same machine by default is local unless its address names another host, a wrapper is what
    it wraps, and everything else is remote.
    """
    declared = getattr(source, "remote", None)
    if isinstance(declared, bool):
        return declared
    inner = _inner(source)
    if inner is not None:
        return is_remote(inner)
    names = [kind.__name__.lower().replace("_", "") for kind in type(source).__mro__]
    if any("endpoint" in name or "inferenceapi" in name for name in names):
        return True
    if any(word in name for name in names for word in _LOCAL_WORDS):
        return False
    if any(word in name for name in names for word in _SERVER_WORDS):
        return any(not _is_local_address(getattr(source, field, None)) for field in _ADDRESS_FIELDS)
    return True


def _is_local_address(value: object) -> bool:
    if not isinstance(value, str) or not value:
        return True
    address = value if "://" in value else f"//{value}"
    try:
        host = urlsplit(address).hostname or ""
        return host in ("", "0.0.0.0") or is_loopback(host)
    except ValueError:
        return False


def _inner(source: object) -> object | None:
    return next((found for field in _INNER_FIELDS if (found := getattr(source, field, None)) is not None), None)


@runtime_checkable
class Embedding(Protocol):
    """Texts to unit vectors.

    `fingerprint` names the model, its version and its dimensions; a store remembers it. `remote` says that a call
    leaves the machine.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def remote(self) -> bool: ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts as rows of length 1 (or 0 for a text without a known token), `(len(texts), dimensions)`."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, shape `(dimensions,)`, of length 1 (or 0)."""
        ...


ENGLISH = "en"
CHANCE, USUAL, STRONG = 0.107, 0.705, 0.971  # mean reciprocal rank: random order, worth 1, MiniLM
NOISE = 0.15  # a worth up to this is chance: three times as much as places of forty answers scatter
WORTH_OF_STRONG, WORTH_MAX = 5.0, 6.0
SPREAD_OF_BUNDLED = 0.08  # deviation of a question's cosines with forty answers, by the bundled model
SPREAD_MIN, SPREAD_MAX = 0.1, 2.0  # as multiples of that


def _folder() -> Any:
    return resources.files("recall_integrations.embeddings") / "pairs"


LANGUAGES: tuple[str, ...] = tuple(
    sorted(entry.name.removesuffix(".tsv") for entry in _folder().iterdir() if entry.name.endswith(".tsv"))
)
"""Codes of the languages that there are pairs in, in order."""


@functools.cache
def pairs(language: str = ENGLISH) -> tuple[tuple[str, str], ...]:
    """Return questions, each with its answer."""
    if language not in LANGUAGES:
        raise InvalidArgument(f"There are no pairs in {language!r}, only in {', '.join(LANGUAGES)}.")
    lines = (_folder() / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    return tuple((question, answer) for question, answer in (line.split("\t") for line in lines))


def mean_reciprocal_rank(embedding: Embedding, language: str = ENGLISH) -> float:
    """Compute the mean reciprocal rank of each answer among all of them, by cosine with its question."""
    return measured(embedding, language)[0]


def measured(embedding: Embedding, language: str = ENGLISH) -> tuple[float, float]:
    """Measure how well an embedding tells answers apart, and how far apart its cosines are.

    Some embeddings put all texts near each other (E5's cosines lie between .7 and .9): a difference of .02 says as much
    there as one of .08 does with the bundled model.
    """
    # One call for all: an embedding may be a paid service.
    rows = _unit(np.asarray(embedding.embed_documents([text for pair in pairs(language) for text in pair])))
    cosines = np.einsum("id,jd->ij", rows[::2], rows[1::2])
    own = np.diagonal(cosines)[:, None]
    if not np.isfinite(cosines).all():
        raise EmbeddingError("The embedding gave numbers that are not finite.")
    # Of equal ones, the middle place: an embedding that is the same for every text tells nothing.
    places = 1 + (cosines > own).sum(axis=1) + ((cosines == own).sum(axis=1) - 1) / 2
    spread = float(cosines.std(axis=1).mean()) / SPREAD_OF_BUNDLED
    return float((1 / places).mean()), min(max(spread, SPREAD_MIN), SPREAD_MAX)


def worth(reached: float) -> float:
    """Return the factor of cosines, from 0 (chance) over 1 (`USUAL`) to `WORTH_MAX`."""
    if reached <= USUAL:
        part = (reached - CHANCE) / (USUAL - CHANCE)
        return part if part > NOISE else 0.0
    return min(WORTH_MAX, 1 + (WORTH_OF_STRONG - 1) * (reached - USUAL) / (STRONG - USUAL))


@functools.cache
def bundled_worth(language: str) -> float:
    """Return the worth of the bundled model, in [0, 1]: 1 in English, 0 where it knows nothing."""
    return 1.0 if language == ENGLISH else min(1.0, worth(mean_reciprocal_rank(bundled(), language)))


def worth_in(language: str | None, text: str, known: Mapping[str, float]) -> float | None:
    """Estimate the worth of cosines for a text, from languages that were measured."""
    code = language or (ENGLISH if script(text) == "LATIN" else None)
    if code is not None and code in known:
        return known[code]
    akin = [value for other, value in known.items() if other != ENGLISH and _script_of(other) == script(text)]
    return min(akin) if akin else None


def script(text: str) -> str:
    """Return the script of most letters of a text, as Unicode names it ("LATIN"); without letters "LATIN"."""
    if text.isascii():
        return "LATIN"
    names = Counter(unicodedata.name(c, "?").partition(" ")[0] for c in text[:400] if c.isalpha())
    return min(names, key=lambda name: (-names[name], name)) if names else "LATIN"


@functools.cache
def _script_of(language: str) -> str:
    return script(" ".join(question for question, _ in pairs(language))) if language in LANGUAGES else ""


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit
