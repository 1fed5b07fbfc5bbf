"""A static embedding: a vector per token, a text is the normalised sum of its tokens' vectors.

Reads model2vec folders (https://github.com/MinishLab/model2vec) with `tokenizers` and `safetensors` alone:
`model2vec.StaticModel.encode` is not safe in threads, cuts texts at 512 tokens and loads seven times slower. Same
vectors, a test compares them. Long texts are never cut, only tokenised in pieces.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import EmbeddingError, InvalidArgument
from recall_integrations.records import record

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KEPT = 8_192  # words
_WORD = re.compile(r"[a-z0-9]+|[^ a-z0-9]")


class KeptWords:
    """Cache of the token ids of words. Threads share it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._most = kept
        self._ids: dict[str, list[int]] = {}

    def ids(self, text: str, tokenizer: Tokenizer) -> list[int] | None:
        """Return the ids of a text's tokens, in order; `None` where the tokenizer itself has to be asked."""
        # Other letters are normalised, control characters dropped, and "[PAD]" is a token of its own.
        if not text.isascii() or not text.isprintable() or "[" in text:
            return None
        known = self._ids
        words = _WORD.findall(text.lower())
        try:
            return [i for word in words for i in known[word]]
        except KeyError:
            pass
        missing = list(dict.fromkeys(word for word in words if word not in known))
        encoding = tokenizer.encode(" ".join(missing), add_special_tokens=False)
        found: dict[str, list[int]] = {word: [] for word in missing}
        for place, number in zip(encoding.word_ids, encoding.ids, strict=True):
            assert place is not None  # it has no tokens of its own to add
            found[missing[place]].append(number)
        if len(known) + len(found) > self._most:
            self._ids = {}
        self._ids.update(found)
        return [i for word in words for i in (found[word] if word in found else known[word])]


BUNDLED = Path(__file__).resolve().parent / "static_model"
PIECE_CHARS = 65_536
_TYPES = {"I8": "|i1", "F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}  # of safetensors
QUERY_CHARS = 1_024  # no more tokens than characters
TOKENS_AT_ONCE = 1_024  # 1 MB of float32 at 256 dimensions stays in the cache

# Part of the fingerprint: raise it when the same files give other vectors.
_METHOD = "1"

# Of the bundled files, by their sizes: hashing 8 MB at every start takes longer than mapping them. A test compares.
_BUNDLED_SIZES = (7_558_488, 445_426)
_BUNDLED_DIGEST = "ac4e42c9b17eafec0121e573"

# Weight file and tensor name of each layout, relative to the folder: model2vec, then two of sentence-transformers.
_LAYOUTS = (
    ("model.safetensors", "tokenizer.json", "embeddings"),
    ("model.safetensors", "tokenizer.json", "embedding.weight"),
    ("0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json", "embedding.weight"),
)


@record(frozen=True, slots=True, kw_only=True)
class _Model:
    """Content of the model files."""

    tokenizer: Tokenizer  # never changed after loading, so threads may share it
    rows: NDArray[Any]  # `(n, dims)`, int8 or float; int8 has one common scale, which a direction does not depend on
    mapping: NDArray[np.int64] | None  # row of each token id, or `None` where id and row are the same
    weights: NDArray[np.float32] | None  # factor of each token id, or `None` where all are 1
    unknown: int | None  # id that stands for "not in the vocabulary"; left out of every text
    digest: str  # digest of the weights and tokenizer files

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the weighted vectors of the tokens, `(len(ids), dims)`."""
        rows = self.rows[ids if self.mapping is None else self.mapping[ids]].astype(np.float32)
        return rows if self.weights is None else rows * self.weights[ids, None]

    @property
    def token_count(self) -> int:
        return len(self.rows) if self.mapping is None else len(self.mapping)


_WHOLE = np.zeros(1, dtype=np.int64)  # where the only sum begins


class StaticEmbedding:
    """The bundled model, or any model2vec folder, loaded at first use. Satisfies `Embedding`; threads may share one."""

    remote = False

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = BUNDLED if folder is None else Path(folder)
        if folder is not None and not self._folder.is_dir():
            raise InvalidArgument(f"There is no model folder {str(folder)!r}. Give the path of a model2vec folder.")
        self._lock = threading.Lock()
        self._loaded: _Model | None = None
        self._words = KeptWords() if self._folder == BUNDLED else None  # of others nobody knows what a word is

    def __repr__(self) -> str:
        return f"StaticEmbedding({self._folder.name!r})"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the content of the weights and the tokenizer, not of where they are."""
        return f"static:{self._model.digest}:{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector; 256 for the bundled model."""
        return int(self._model.rows.shape[1])

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, `(len(texts), dimensions)`; a zero row for a text without a known token."""
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        lists = self.tokenize_ids(texts)
        for first, last in _slices([len(ids) for ids in lists]):
            if last == first + 1 and len(lists[first]) > TOKENS_AT_ONCE:
                out[first] = self._sum_long(lists[first])
            else:
                self._sum_short(lists, first, last, out)
        return _unit(out)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, `(dimensions,)`, the same as for a document; zero for a text without a known token."""
        if isinstance(text, str) and len(text) <= QUERY_CHARS:  # without what many texts, or long ones, need
            ids = self.ids_of(text)
            if ids:
                vectors = self._model.vectors(np.asarray(ids, dtype=np.int64))
                unit: NDArray[np.float32] = _unit(np.add.reduceat(vectors, _WHOLE, axis=0))[0]
                return unit
        row: NDArray[np.float32] = self.embed_documents([text])[0]
        return row

    def ids_of(self, text: str) -> list[int]:
        """Return the ids of the known tokens of a short text, faster than `tokenize_ids`."""
        model = self._model
        ids = None if self._words is None else self._words.ids(text, model.tokenizer)
        if ids is None:
            ids = next(_encode(model.tokenizer, [text]))
        return [i for i in ids if i != model.unknown] if model.unknown in ids else ids

    def tokenize_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's known tokens, in order, repeats kept."""
        if isinstance(texts, str):
            raise InvalidArgument("`texts` must be a list of strings, not one string. Write [text].")
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidArgument(f"Text {position} must be a string, not {type(text).__name__}.")
        model = self._model
        pieces = [(at, piece) for at, text in enumerate(texts) for piece in _pieces(text)]
        lists: list[list[int]] = [[] for _ in texts]
        for (at, _), ids in zip(pieces, _encode(model.tokenizer, [piece for _, piece in pieces]), strict=True):
            lists[at].extend(ids if model.unknown is None else [i for i in ids if i != model.unknown])
        return lists

    def weighted(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return each token's addend to the vector of a text, `(len(ids), dimensions)`; a longer one counts more."""
        return self._model.vectors(ids)

    @property
    def _model(self) -> _Model:
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded
                if loaded is None:
                    loaded = self._loaded = _load(self._folder)
        return loaded

    def _sum_short(self, lists: list[list[int]], first: int, last: int, out: NDArray[np.float32]) -> None:
        rows = [at for at in range(first, last) if lists[at]]
        if not rows:
            return
        starts = np.cumsum([0, *(len(lists[at]) for at in rows[:-1])])
        flat = np.fromiter((i for at in rows for i in lists[at]), dtype=np.int64)
        out[rows] = np.add.reduceat(self._model.vectors(flat), starts, axis=0)

    def _sum_long(self, ids: list[int]) -> NDArray[np.float32]:
        model = self._model
        counts = np.bincount(np.asarray(ids, dtype=np.int64), minlength=model.token_count)
        present = np.flatnonzero(counts)
        total: NDArray[np.float32] = (counts[present].astype(np.float32) @ model.vectors(present)).astype(np.float32)
        return total


@cache
def bundled() -> StaticEmbedding:
    """Return the bundled model, one for the whole process: it is never changed after loading."""
    return StaticEmbedding()


def is_static_folder(path: Path) -> bool:
    """Say whether `path` is a folder that model2vec wrote."""
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "model2vec"


def _slices(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive texts with at most `TOKENS_AT_ONCE` tokens together; a longer text stands alone."""
    first = held = 0
    for at, length in enumerate(lengths):
        if held and held + length > TOKENS_AT_ONCE:
            yield first, at
            first, held = at, 0
        held += length
    if first < len(lengths):
        yield first, len(lengths)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = start + PIECE_CHARS
        # White space is looked for in the last 1,024 characters: no word of a vocabulary is longer.
        while end > start + PIECE_CHARS - 1_024 and not text[end].isspace():
            end -= 1
        if not text[end].isspace():
            end = start + PIECE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def _encode(tokenizer: Tokenizer, texts: list[str]) -> Iterator[list[int]]:
    """Yield the token ids of each text."""
    try:
        if len(texts) == 1:  # starts no worker threads, which a process that forks later would stumble over
            yield tokenizer.encode(texts[0], add_special_tokens=False).ids
            return
        for start in range(0, len(texts), 1_024):
            for encoding in tokenizer.encode_batch_fast(texts[start : start + 1_024], add_special_tokens=False):
                yield encoding.ids
    except (TypeError, ValueError) as e:  # what the binding raises for a lone surrogate
        raise EmbeddingError(f"A text cannot be tokenised: {e}. Texts must be valid Unicode.") from e


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lengths[lengths == 0] = 1.0
    unit: NDArray[np.float32] = (rows / lengths[:, None]).astype(np.float32)
    return unit


def _load(folder: Path) -> _Model:
    """Read and check the model files."""
    hint = "Reinstall recall-integrations." if folder == BUNDLED else "Save the model again with model2vec."
    try:
        weights_file, tokenizer_file, tensors = _read(folder)
        tokenizer = _tokenizer(tokenizer_file)
        digest = _digest_of(folder, weights_file, tokenizer_file)
    except Exception as e:  # safetensors and tokenizers raise bare Exceptions of their own
        raise EmbeddingError(f"Cannot read the static model in {folder}: {e}. {hint}") from e
    mapping = tensors.get("mapping")
    weights = tensors.get("weights")
    model = _Model(
        tokenizer=tokenizer,
        rows=tensors["rows"],
        mapping=None if mapping is None else mapping.astype(np.int64),
        weights=None if weights is None else weights.astype(np.float32),
        unknown=_unknown(tokenizer),
        digest=digest,
    )
    problem = _problem(model)
    if problem:
        raise EmbeddingError(f"The static model in {folder} is damaged: {problem}. {hint}")
    return model


def _digest_of(folder: Path, weights: bytes | mmap.mmap, tokenizer: bytes) -> str:
    if folder == BUNDLED and (len(weights), len(tokenizer)) == _BUNDLED_SIZES:
        return _BUNDLED_DIGEST
    return _digest(weights[:], tokenizer)


def _read_bundled() -> tuple[mmap.mmap, bytes, dict[str, NDArray[Any]]]:
    """Map the bundled model into memory; only the rows in use are loaded."""
    weights_name, tokenizer_name, tensor = _LAYOUTS[0]
    with (BUNDLED / weights_name).open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(held[:8], "little")
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in json.loads(held[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        data = np.frombuffer(held, dtype=_TYPES[entry["dtype"]], offset=8 + length + begin)
        tensors[name] = data[: math.prod(entry["shape"])].reshape(entry["shape"])
        if tensors[name].nbytes != end - begin:
            raise ValueError(f"{name!r} takes {end - begin:,} bytes")
    return held, (BUNDLED / tokenizer_name).read_bytes(), {**tensors, "rows": tensors[tensor]}


def _read(folder: Path) -> tuple[bytes | mmap.mmap, bytes, dict[str, NDArray[Any]]]:
    if folder == BUNDLED:
        return _read_bundled()
    from safetensors.numpy import load

    for weights_name, tokenizer_name, tensor in _LAYOUTS:
        if not (folder / weights_name).is_file():
            continue
        data = (folder / weights_name).read_bytes()
        tensors: dict[str, NDArray[Any]] = load(data)
        if tensor in tensors:
            return data, (folder / tokenizer_name).read_bytes(), {**tensors, "rows": tensors[tensor]}
    raise FileNotFoundError("no model.safetensors with token vectors")


def _tokenizer(data: bytes) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _unknown(tokenizer: Tokenizer) -> int | None:
    token = getattr(tokenizer.model, "unk_token", None)
    if token is not None:
        found: int | None = tokenizer.token_to_id(token)
        return found
    unigram: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return unigram


def _problem(model: _Model) -> str | None:
    rows = model.rows
    if rows.ndim != 2 or 0 in rows.shape:
        return f"token vectors of shape {rows.shape}"
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        return "a token vector is not finite"
    if not rows[:64].any() and not rows.any():
        return "all token vectors are zero"
    if model.mapping is not None and (model.mapping.min() < 0 or model.mapping.max() >= len(rows)):
        return "its mapping points outside the token vectors"
    if model.weights is not None and (len(model.weights) < model.token_count or not np.isfinite(model.weights).all()):
        return "its weights do not fit the vocabulary"
    if model.tokenizer.get_vocab_size() > model.token_count:
        return f"{model.tokenizer.get_vocab_size():,} tokens but {model.token_count:,} vectors"
    return None


def _digest(*files: bytes) -> str:
    digest = hashlib.blake2b(_METHOD.encode(), digest_size=12)
    for data in files:
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
