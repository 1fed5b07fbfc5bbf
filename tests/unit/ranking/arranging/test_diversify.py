from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.arranging.arrange import mmr
from tests.rows import each_row

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def order(scores: list[float], vectors: list[list[float]], k: int, lambda_: float) -> list[int]:
    return mmr(np.array(scores), np.array(vectors).reshape(len(scores), -1), k, lambda_).tolist()


def test_a_repeat_yields_to_something_new() -> None:
    # by hand, lambda .5: item 1 is worth .45 - .5 after item 0, item 2 is worth .2 - 0
    assert order([1.0, 0.9, 0.4], [EAST, EAST, NORTH], 3, 0.5) == [0, 2, 1]


def test_relevance_alone_is_the_order_of_the_scores() -> None:
    assert order([0.4, 1.0, 0.9], [EAST, EAST, EAST], 3, 1.0) == [1, 2, 0]


def test_novelty_alone_starts_with_the_first_and_then_looks_away() -> None:
    assert order([0.1, 0.9, 0.2], [EAST, EAST, NORTH], 2, 0.0) == [0, 2]


def test_ties_keep_the_given_order() -> None:
    assert order([0.5] * 4, [EAST] * 4, 4, 0.7) == [0, 1, 2, 3]
    rng = np.random.default_rng(3)
    row = rng.normal(size=100).astype(np.float32)
    assert mmr(np.full(37, 0.5), np.tile(row / np.linalg.norm(row), (37, 1)), 37, 0.7).tolist() == list(range(37))


def test_few_of_many_are_the_beginning_of_all() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(60, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = rng.random(60)
    assert mmr(scores, vectors, 5, 0.6).tolist() == mmr(scores, vectors, 60, 0.6).tolist()[:5]


def test_a_zero_vector_is_similar_to_nothing() -> None:
    assert order([1.0, 0.9, 0.8], [EAST, EAST, [0.0, 0.0]], 2, 0.5) == [0, 2]


@each_row("k", [0, 1, 2, 5])
def test_k_is_capped(k: int) -> None:
    assert len(order([0.5, 0.4], [EAST, NORTH], k, 0.5)) == min(k, 2)


def test_nothing_gives_nothing() -> None:
    assert mmr(np.empty(0), np.empty((0, 4)), 3, 0.5).tolist() == []


def test_the_input_is_not_changed() -> None:
    scores, vectors = np.array([0.5, 0.4]), np.array([EAST, NORTH])
    mmr(scores, vectors, 2, 0.5)
    assert scores.tolist() == [0.5, 0.4]


@each_row(
    ("scores", "vectors", "k", "lambda_"),
    [
        (np.zeros(2), np.zeros((3, 2)), 1, 0.5),
        (np.zeros((2, 1)), np.zeros((2, 2)), 1, 0.5),
        (np.array([np.nan, 0]), np.zeros((2, 2)), 1, 0.5),
        (np.zeros(2), np.full((2, 2), np.inf), 1, 0.5),
        (np.zeros(2), np.zeros((2, 2)), -1, 0.5),
        (np.zeros(2), np.zeros((2, 2)), 1, 1.5),
        (np.zeros(2), np.zeros((2, 2)), 1, float("nan")),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores: np.ndarray, vectors: np.ndarray, k: int, lambda_: float) -> None:
    with pytest.raises(InvalidArgument):
        mmr(scores, vectors, k, lambda_)
