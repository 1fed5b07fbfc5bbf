from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.arranging.moves import demote, negation_scores
from tests.rows import each_row

ABOUT = "I fixed the login bug in the frontend"
PASSING = "The quarterly planning went on all week: budgets, hiring, the new office, travel rules, security training, "
PASSING = PASSING * 5 + "and somebody said a word on the frontend."
OTHER = "Migrated the payments database"


def column(texts: list[str], term: str) -> list[float]:
    return negation_scores(texts, [term])[:, 0].tolist()


def test_by_hand() -> None:
    # 4 stems: fix, login, bug, frontend -> tf / (tf + 1.2 * (.25 + .75 * 4 / 30))
    assert column([ABOUT], "frontend") == pytest.approx([1 / (1 + 1.2 * 0.35)])


def test_about_it_is_above_the_threshold_and_in_passing_is_below() -> None:
    about, passing, other = column([ABOUT, PASSING, OTHER], "frontend")
    assert about >= 0.6 > 0.4 > passing > other == 0


def test_a_long_text_that_keeps_saying_it_is_about_it() -> None:
    long = "The frontend work goes on. We moved another page of the frontend and measured it. " * 6
    assert column([long], "frontend")[0] >= 0.6


@each_row("count", [1, 2, 3, 50])
def test_what_else_was_found_does_not_matter_for_one_word(count: int) -> None:
    alone = column([ABOUT], "frontend")[0]
    assert column([ABOUT] * count + [OTHER], "frontend")[:count] == pytest.approx([alone] * count)


def test_words_are_compared_by_their_stems() -> None:
    assert column(["We met for MEETINGS"], "meeting")[0] > 0.6


def test_half_a_phrase_is_half_a_match() -> None:
    both, half = column(["machine learning course", "learning to swim"], "machine learning")
    assert both >= 0.6 > half > 0
    assert column(["learning to swim"], "machine learning")[0] < 0.4


def test_terms_are_scored_apart() -> None:
    scores = negation_scores([ABOUT, OTHER], ["frontend", "database", "the", ""])
    assert (scores > 0.6).tolist() == [[True, False, False, False], [False, True, False, False]]


@each_row("texts", [[], [""], ["the of"], ["", "x y z"]])
def test_small_and_empty_sets_are_no_trap(texts: list[str]) -> None:
    scores = negation_scores(texts, ["frontend", "x"])
    assert scores.shape == (len(texts), 2)
    assert np.isfinite(scores).all()
    assert negation_scores(texts, []).shape == (len(texts), 0)


def test_scores_lie_between_zero_and_one() -> None:
    scores = negation_scores(["spam " * 5_000, "spam", "eggs spam"], ["spam", "spam spam eggs"])
    assert (scores >= 0).all()
    assert (scores <= 1).all()


def test_matches_go_to_the_bottom_and_the_rest_keeps_its_order() -> None:
    result = demote(np.array([0.9, 0.8, 0.7, 0.6]), np.array([[0.7], [0.1], [0.9], [0.0]]))
    assert result.order.tolist() == [1, 3, 0, 2]
    assert result.scores.tolist() == [0.8, 0.6, 0.45, 0.35]  # in the new order
    assert result.matched.tolist() == [0, 0, 1, 1]


def test_several_matches_compound() -> None:
    result = demote(np.array([0.9, 0.8, 0.7]), np.array([[0.7, 0.7], [0.7, 0.0], [0.0, 0.0]]))
    assert result.order.tolist() == [2, 1, 0]
    assert result.scores.tolist() == [0.7, 0.4, 0.225]


def test_exactly_the_threshold_is_not_above_it() -> None:
    assert demote(np.array([1.0, 0.5]), np.array([[0.6], [0.0]])).order.tolist() == [0, 1]


@each_row(("threshold", "demoted"), [(0.4, True), (0.6, False), (0.75, False)])
def test_the_threshold_can_be_tuned(threshold: float, demoted: bool) -> None:
    result = demote(np.array([1.0, 0.5]), np.array([[0.5], [0.0]]), threshold)
    assert (result.order.tolist() == [1, 0]) is demoted


def test_nothing_is_lost_when_everything_matches() -> None:
    result = demote(np.array([0.9, 0.8]), np.array([[0.7], [0.9]]))
    assert result.order.tolist() == [0, 1]
    assert result.scores.tolist() == [0.45, 0.4]


def test_without_terms_nothing_changes() -> None:
    result = demote(np.array([0.3, 0.9]), np.empty((2, 0)))
    assert (result.order.tolist(), result.scores.tolist()) == ([0, 1], [0.3, 0.9])
    assert demote(np.empty(0), np.empty((0, 2))).order.tolist() == []


@each_row(
    ("scores", "penalties", "threshold"),
    [(np.zeros(2), np.zeros((3, 1)), 0.6), (np.zeros(2), np.zeros(2), 0.6), (np.zeros(1), np.zeros((1, 1)), 1.1)],
)
def test_what_does_not_fit_is_refused(scores: np.ndarray, penalties: np.ndarray, threshold: float) -> None:
    with pytest.raises(InvalidArgument):
        demote(scores, penalties, threshold)


def test_a_demoted_score_never_exceeds_what_stands_above_it() -> None:
    result = demote(np.array([0.9, 0.2]), np.array([[0.7], [0.0]]))
    assert result.order.tolist() == [1, 0]
    assert result.scores.tolist() == [0.2, 0.2]
