"""The worth of an embedding's cosines in a language: how well they tell the answer to a question from other texts.

`pairs(language)` are questions and answers that share few words. The mean reciprocal rank of the answers becomes the
factor of cosines (1 = the embedding that the ranker's weights were chosen with); the two points between which it is a
straight line are set by hand. The bundled model reaches .938, and still counts as 1 (see docs/languages.md).
"""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError, InvalidArgument

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
