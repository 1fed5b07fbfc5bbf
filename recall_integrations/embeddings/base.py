"""The protocol of an embedding, as the rest of the package needs it."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config.checking import is_loopback

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
