"""What a cosine is worth, by language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from recall_integrations.embeddings import base
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError, InvalidArgument
from tests.rows import each_row


class Oracle:
    """Knows the pairs of some languages by heart, and nothing of others."""

    dimensions = 64
    fingerprint = "oracle"

    def __init__(self, *languages: str) -> None:
        self._place = {text: i for code in languages for i, pair in enumerate(base.pairs(code)) for text in pair}
        self.asked = 0

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += len(texts)
        return np.stack([np.eye(64, dtype=np.float32)[self._place.get(text, 63)] for text in texts])


def test_the_bundled_model_is_worth_one_in_english_and_next_to_nothing_elsewhere() -> None:
    assert base.mean_reciprocal_rank(bundled()) > 0.9
    assert base.bundled_worth("en") == 1
    assert {code: base.bundled_worth(code) for code in ("ru", "zh", "ar") if code in base.LANGUAGES} == dict.fromkeys(
        (code for code in ("ru", "zh", "ar") if code in base.LANGUAGES), 0
    )


@each_row(
    ("reached", "worth"),
    [
        (base.CHANCE, 0),
        (base.CHANCE + 0.14 * (base.USUAL - base.CHANCE), 0),  # chance scatters by as much
        (base.CHANCE + 0.5 * (base.USUAL - base.CHANCE), 0.5),
        (base.USUAL, 1),
        (base.STRONG, base.WORTH_OF_STRONG),
        (1.0, 5.436),
    ],
)
def test_worth_is_a_line_between_two_points(reached: float, worth: float) -> None:
    assert base.worth(reached) == pytest.approx(worth, abs=1e-3)


def test_what_knows_one_language_is_worth_something_in_that_one() -> None:
    german = Oracle("de")
    assert base.worth(base.mean_reciprocal_rank(german, "de")) > 5
    assert german.asked == 80
    assert base.worth(base.mean_reciprocal_rank(german, "ru")) == 0


class Squeezed:
    """The bundled model, with one more axis that is the same of every text: cosines are all near 1."""

    fingerprint = "squeezed"

    def __init__(self, own: float) -> None:
        self._own, self.dimensions = own, bundled().dimensions + 1

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        rows = self._own * bundled().embed_documents(list(texts))
        return np.hstack([rows, np.ones((len(rows), 1), dtype=np.float32)])


def test_the_spread_says_how_far_apart_cosines_are() -> None:
    reached, spread = base.measured(bundled())
    assert spread == pytest.approx(1, abs=0.1)
    # A cosine c of unit vectors becomes (1 + c/4) / (1 + 1/4): as good an order, a fifth as far apart.
    near, squeezed = base.measured(Squeezed(0.5))
    assert near == pytest.approx(reached, abs=1e-3)
    assert squeezed == pytest.approx(spread / 5, rel=1e-2)


def test_the_spread_of_what_is_the_same_for_all_texts_is_the_least() -> None:
    assert base.measured(Squeezed(0.0)) == (pytest.approx(base.CHANCE, abs=0.06), base.SPREAD_MIN)


def test_a_language_without_pairs_says_which_there_are() -> None:
    with pytest.raises(InvalidArgument, match=r"'tlh', only in .*de"):
        base.pairs("tlh")


def test_numbers_that_are_not_finite_are_an_error() -> None:
    class Broken(Oracle):
        def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
            return np.full((len(texts), 8), np.nan)

    with pytest.raises(EmbeddingError, match="not finite"):
        base.mean_reciprocal_rank(Broken())


@each_row(
    ("language", "text", "found"),
    [
        ("de", "wo wohnt sie", 0.4),  # measured
        (None, "where does she live", 1.0),  # not known, in Latin letters: English
        (None, "", 1.0),
        ("sv", "var bor hon", 0.3),  # not measured: the least of its script
        (None, "где она живёт", 2.0),
        ("zh", "她住在哪里", None),  # nothing that was measured says it
        (None, "Πού μένει;", None),
    ],
)
def test_what_was_not_measured_is_told_by_its_script(language: str | None, text: str, found: float | None) -> None:
    known = {"en": 1.0, "de": 0.4, "fr": 0.3, "ru": 2.0}
    assert base.worth_in(language, text, known) == found


@each_row(
    ("text", "script"),
    [("Ärger", "LATIN"), ("привет OK", "CYRILLIC"), ("你好", "CJK"), ("123 !?", "LATIN"), ("नमस्ते", "DEVANAGARI")],
)
def test_script(text: str, script: str) -> None:
    assert base.script(text) == script
