"""The search of `recall tune`, on figures that are made up, so that it is known what is there to be found."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.evaluation.labelled.folds import folds_of
from recall_integrations.evaluation.labelled.intervals import Figures, interval
from recall_integrations.evaluation.tuning.knobs import Setting, Settings
from recall_integrations.evaluation.tuning.search import Search, crossed

SINGLES = [Setting(name=f"knob{i // 3}", value=i) for i in range(36)]
QUESTIONS = 120


def made_up(seed: int, planted: dict[Setting, float], noise: float = 0.2, share: float = 0.5) -> Search:
    """Each setting changes the figure of a share of the questions, by noise and by what was planted."""
    base = np.random.default_rng(seed).random(QUESTIONS)
    calls: list[Settings] = []

    def measure(settings: Settings) -> Figures:
        calls.append(settings)
        total = base.copy()
        for one in settings:
            rng = np.random.default_rng([seed, SINGLES.index(one)])
            total += (rng.normal(0, noise, QUESTIONS) + planted.get(one, 0.0)) * (rng.random(QUESTIONS) < share)
        return total

    return Search(measure=measure, singles=SINGLES)


def claimed(search: Search, seed: int) -> tuple[bool, float]:
    """Whether a gain is claimed, as `Tuning.proven` does, and how large it is out of fold."""
    fold_of = folds_of([str(i) for i in range(QUESTIONS)], 5, seed)
    plain = search.scores(())
    assert plain is not None
    held = np.zeros(QUESTIONS)
    for fold, settings in crossed(search, fold_of).items():
        part = np.asarray(fold_of) == fold
        scores = search.scores(settings)
        assert scores is not None
        held[part] = (scores - plain)[part]
    gaps = held.tolist()
    found = interval(gaps, samples=1_000)
    whole = search.best(np.ones(QUESTIONS, dtype=np.bool_))
    return bool(whole) and found.low > 0, found.mean


def test_of_noise_a_gain_is_almost_never_claimed() -> None:
    claims = [claimed(made_up(seed, {}), seed) for seed in range(30)]
    assert sum(said for said, _ in claims) <= 1
    assert abs(float(np.mean([gain for _, gain in claims]))) < 0.01


def test_of_noise_that_moves_few_questions_neither() -> None:
    assert sum(claimed(made_up(seed, {}, share=0.04), seed)[0] for seed in range(30)) <= 1


def test_what_is_planted_is_found_and_its_size_is_told_as_it_is() -> None:
    for seed in range(8):
        said, gain = claimed(made_up(seed, {SINGLES[17]: 0.3}), seed)
        assert said
        assert 0.08 < gain < 0.25  # half of the questions, 0.3 each


def test_two_settings_that_add_up_are_both_found() -> None:
    search = made_up(3, {SINGLES[4]: 0.4, SINGLES[20]: 0.3})
    found = search.best(np.ones(QUESTIONS, dtype=np.bool_))
    assert {SINGLES[4], SINGLES[20]} <= set(found)
    assert len({one.name for one in found}) == len(found)


def test_nothing_is_measured_twice() -> None:
    seen: list[Settings] = []
    inner = made_up(1, {SINGLES[2]: 0.5})

    def measure(settings: Settings) -> Figures | None:
        seen.append(settings)
        return inner.measure(settings)

    search = Search(measure=measure, singles=SINGLES)
    crossed(search, folds_of([str(i) for i in range(QUESTIONS)], 5, 0))
    assert len(seen) == len(set(seen))
    assert len(seen) < 37 + 6 * 2 * 6


def test_what_there_was_no_time_for_is_not_chosen() -> None:
    inner = made_up(1, {SINGLES[2]: 0.5})
    search = Search(measure=lambda some: None if SINGLES[2] in some else inner.measure(some), singles=SINGLES)
    assert SINGLES[2] not in search.best(np.ones(QUESTIONS, dtype=np.bool_))


@pytest.mark.parametrize("part", [0, 1])
def test_too_few_questions_choose_nothing(part: int) -> None:
    chosen = np.zeros(QUESTIONS, dtype=np.bool_)
    chosen[:part] = True
    assert made_up(1, {SINGLES[2]: 0.5}).best(chosen) == ()
