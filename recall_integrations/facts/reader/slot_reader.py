"""The slot reader: shares over slots for questions and for statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from recall_integrations.facts.reader.features import Places, places, weights_of
from recall_integrations.facts.reader.vectors import KEPT, vector_of
from recall_integrations.records import record

FILE = Path(__file__).with_name("slot_reader.safetensors")
OTHER = "other"  # a class: no slot of the schema
STATES, ENDS, WAS, NOTHING = "states", "ends", "was", "nothing"  # classes: what a text says of a value
ASKED, TOLD, SAYS = "asked", "told", "says"  # parts of the model
QUERIES, SENTENCES = 64, KEPT  # that were read last, and of which is kept what was seen: .5 kB each, and the text

Shares = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Part:
    """A linear model over the features of a text, with a softmax.

    Args:
        classes: its classes.
        vector: int8 `(dimensions, classes)`, of the static vector.
        words: int8 `(BUCKETS, classes)`, of hashed words.
        scales: float32 `(2, classes)`: what `vector` and `words` are multiplied with.
        bias: float32 `(classes,)`.
        rare: float32 `(BUCKETS,)`: how much each bucket counts.
    """

    classes: tuple[str, ...]
    vector: NDArray[np.int8]
    words: NDArray[np.int8]
    scales: NDArray[np.float32]
    bias: NDArray[np.float32]
    rare: NDArray[np.float32]


class Linear:
    """A part, ready to be asked."""

    def __init__(self, part: Part) -> None:
        self.classes = part.classes
        self._vector = part.vector.astype(np.float32) * part.scales[0]
        self._words, self._scale, self._bias, self._rare = part.words, part.scales[1], part.bias, part.rare

    def shares(self, vector: NDArray[np.float32], found: Places) -> Shares:
        """Probabilities of a text, `(classes,)`.

        Args:
            vector: its static vector.
            found: its buckets, one at least.
        """
        # Not `vector @ self._vector`: for one product of this size OpenBLAS wakes a thread for each processor, which on
        # a busy machine takes a hundred times as long as the product.
        sums = np.einsum("j,jk->k", vector, self._vector) + self._bias
        sums += weights_of(found, self._rare) @ self._words[found].astype(np.float32) * self._scale
        raised = np.exp(sums - sums.max())
        shares: Shares = (raised / raised.sum()).astype(np.float32)
        return shares


class SlotReader:
    """Which slot a question asks for, and which slots texts tell of. English; of other languages it says little.

    Never changed after it is made, so threads share one.

    Args:
        parts: `asked`, `told` and `says`; the first two have the same classes, of which `other` is one.

    Attributes:
        slots: names of the slots it knows, in the order of its shares.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = {name: Linear(part) for name, part in parts.items()}
        self.slots = tuple(name for name in parts[ASKED].classes if name != OTHER)
        self._slots = {
            part: np.asarray([parts[part].classes.index(name) for name in self.slots]) for part in (ASKED, TOLD)
        }
        self._says = np.asarray([parts[SAYS].classes.index(name) for name in (STATES, ENDS, WAS, NOTHING)])
        self._asked = lru_cache(maxsize=QUERIES)(self._asked_of)
        self._read = lru_cache(maxsize=SENTENCES)(self._read_of)

    def asked(self, query: str) -> tuple[Shares, float]:
        """Shares of a question over the slots, `(slots,)`, and the share of asking for none of them."""
        return self._asked(query)

    def read(self, texts: Sequence[str]) -> tuple[Shares, Shares]:
        """Shares of statements over the slots, `(texts, slots)`, and over what they say of a value, `(texts, 4)`.

        Args:
            texts: a sentence or two each, one text at least.
        """
        told, says = zip(*map(self._read, texts), strict=True)
        return np.stack(told), np.stack(says)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Static vectors of statements, `(texts, dimensions)`; arguments are those of `read`."""
        return np.stack(list(map(vector_of, texts)))

    def _asked_of(self, query: str) -> tuple[Shares, float]:
        part = self._parts[ASKED]
        shares = part.shares(bundled().embed_query(query), places(query))
        return _kept(shares[self._slots[ASKED]]), float(shares[part.classes.index(OTHER)])

    def _read_of(self, text: str) -> tuple[Shares, Shares]:
        vector, found = vector_of(text), places(text)
        told, says = (self._parts[part].shares(vector, found) for part in (TOLD, SAYS))
        return _kept(told[self._slots[TOLD]]), _kept(says[self._says])


def _kept(shares: Shares) -> Shares:
    shares.setflags(write=False)  # others are given the same
    return shares


@cache
def slot_reader() -> SlotReader:
    """The reader that ships, one for the whole process.

    Raises:
        EmbeddingError: its file is missing or damaged.
    """
    return SlotReader(load(FILE))


def load(file: Path) -> dict[str, Part]:
    """The parts of a model.

    Raises:
        EmbeddingError: it cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as opened:
            classes = json.loads((opened.metadata() or {})["classes"])
            return {
                part: Part(
                    classes=tuple(names),
                    **{
                        name: opened.get_tensor(f"{part}.{name}")
                        for name in ("vector", "words", "scales", "bias", "rare")
                    },
                )
                for part, names in classes.items()
            }
    except (OSError, SafetensorError, KeyError, ValueError) as e:
        raise EmbeddingError(f"Cannot read the slot reader {file}: {e}. Reinstall recall-integrations.") from e


def quantised(
    classes: Sequence[str],
    weights: NDArray[np.float64],
    bias: NDArray[np.float64],
    rare: NDArray[np.float32],
    dimensions: int,
) -> Part:
    """A part of full precision, rounded to int8 with a scale for each class.

    Args:
        classes: its classes.
        weights: `(classes, dimensions + BUCKETS)`.
        bias: `(classes,)`.
        rare: see `Part`.
        dimensions: of the static vector.
    """
    halves, scales = [], []
    for half in (weights[:, :dimensions], weights[:, dimensions:]):
        scale = np.maximum(np.abs(half).max(axis=1), 1e-9) / 127
        halves.append(np.round(half / scale[:, None]).astype(np.int8).T.copy())
        scales.append(scale)
    return Part(
        classes=tuple(classes),
        vector=halves[0],
        words=halves[1],
        scales=np.asarray(scales, dtype=np.float32),
        bias=bias.astype(np.float32),
        rare=rare,
    )


def save(parts: Mapping[str, Part], file: Path) -> None:
    """Write a model where `load` finds it."""
    from safetensors.numpy import save_file

    names = ("vector", "words", "scales", "bias", "rare")
    tensors = {f"{part}.{name}": getattr(one, name) for part, one in parts.items() for name in names}
    save_file(tensors, file, {"classes": json.dumps({part: one.classes for part, one in parts.items()})})
