from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.features.compute import Features
from recall_integrations.training.calibration import (
    ANSWERABLE,
    MIN_OUTCOMES,
    Outcome,
    calibrated,
    judge,
    weighed,
    wrong_scopes,
)
from recall_integrations.types import Scope


def outcome(rng: np.random.Generator, *, answered: bool = True) -> Outcome:
    """The best candidate answers, mostly; where nothing does, `msn` is low."""
    relevant = np.zeros(20, dtype=bool)
    relevant[0] = answered
    msn = (0.2 * rng.random(20) + 0.6 * relevant).astype(np.float32)
    features = Features(
        rows=np.arange(20), columns={"soft_match": msn}, links=np.full((4, 20), -1), session=np.full(20, -1)
    )
    scores = (rng.normal(size=20) + 3 * relevant).astype(np.float32)
    return Outcome(features=features, scores=scores, relevant=relevant, unknown=0.1)


def outcomes(count: int, *, answered: bool = True, seed: int = 0) -> dict[int, list[Outcome]]:
    rng = np.random.default_rng(seed)
    return {fold: [outcome(rng, answered=answered) for _ in range(count)] for fold in range(3)}


def questions(users: str) -> list[Question]:
    return [Question(id=str(i), text="x", relevant=("m",), scope=Scope(user_id=u)) for i, u in enumerate(users)]


def users(scopes: list[Scope | None]) -> list[str | None]:
    return [None if scope is None else scope.user_id for scope in scopes]


def test_the_wrong_scope_is_of_the_same_fold_where_it_can_be() -> None:
    assert users(wrong_scopes(questions("abcab"), [0, 0, 1, 0, 0])) == ["b", "a", "a", "b", "a"]
    assert users(wrong_scopes(questions("abc"), [0, 0, 0])) == ["b", "c", "a"]
    assert users(wrong_scopes(questions("aaa"), [0, 1, 0])) == [None, None, None]


def test_two_of_three_queries_are_taken_to_have_an_answer() -> None:
    rng = np.random.default_rng(0)
    own, wrong = [outcome(rng) for _ in range(4)], [outcome(rng, answered=False) for _ in range(6)]
    both = weighed(own, wrong)
    assert sum(o.weight for o in both) == pytest.approx(10)
    assert sum(o.weight for o in both[:4]) == pytest.approx(10 * ANSWERABLE)
    assert {o.weight for o in weighed(own, [])} == {1.0}


def test_a_calibration_and_how_well_it_holds() -> None:
    wrong = outcomes(40, answered=False, seed=1)
    made = calibrated(outcomes(40), wrong, ranker="linear", ranker_version="v1")
    assert made is not None
    calibration, held = made
    assert (calibration.ranker, calibration.ranker_version) == ("linear", "v1")
    assert (held.queries, held.wrong) == (120, 120) and held.auroc is not None and held.auroc > 0.9
    assert held.score_error < 0.05 and held.confidence_error < 0.1
    assert calibration.about == held.about() and calibration.about["figures"]["AUROC, wrong scope"] == held.auroc
    rng = np.random.default_rng(9)
    sure, unsure = (judge(outcome(rng, answered=a), calibration).confidence[10] for a in (True, False))
    assert sure > 0.8 > 0.3 > unsure


def test_the_figures_come_from_calibrations_that_have_not_seen_the_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    from recall_integrations.training import calibration as calibrating

    sizes: list[int] = []
    fit = calibrating.fit_calibration

    def spy(some: list[Outcome], **rest: object) -> object:
        sizes.append(len(some))
        return fit(some, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(calibrating, "fit_calibration", spy)
    calibrated(outcomes(40), outcomes(10, answered=False), ranker="linear", ranker_version="v1")
    assert sizes == [100, 100, 100, 150]


def test_one_scope_gives_probabilities_for_queries_that_have_an_answer() -> None:
    made = calibrated(outcomes(40), {0: [], 1: [], 2: []}, ranker="linear", ranker_version="v1")
    assert made is not None
    assert made[1].auroc is None and made[1].wrong == 0
    assert "abstaining was not learned" in made[0].about["assumes"]


def test_too_few_queries_are_not_calibrated() -> None:
    few = {0: outcomes(MIN_OUTCOMES - 1)[0]}
    assert calibrated(few, {0: []}, ranker="linear", ranker_version="v1") is None
