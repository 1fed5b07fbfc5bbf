"""What becomes of a version on trial: by whole recalls of both, and never below rules."""

from __future__ import annotations

import pytest

from recall_integrations.learning.measuring import ENOUGH, LEAST, decided, regressed


def of(judged_of, n, share, *, seed=0, before=None):
    orders = {"version:v2": share}
    if before is not None:
        orders["version:v1"] = before
    return judged_of(n, seed=seed, orders=orders)


def verdict(judged, *, before="rules", over=True):
    return decided(judged, "v2", before, over=over)


def test_a_good_one_is_promoted_and_a_bad_one_is_not(judged_of) -> None:
    assert verdict(of(judged_of, 100, 0.95)).step == "promoted"
    assert verdict(of(judged_of, 100, 0.05)).step == "rolled_back"


def test_a_bad_one_is_caught_before_its_time_is_over(judged_of) -> None:
    found = verdict(of(judged_of, 60, 0.02), over=False)
    assert found.step == "rolled_back" and "worse than" in found.because
    assert verdict(of(judged_of, LEAST - 5, 0.02), over=False).step == ""  # too few to say so


def test_a_good_one_waits_for_its_time_or_for_enough(judged_of) -> None:
    assert verdict(of(judged_of, 100, 0.95), over=False).step == ""
    assert verdict(of(judged_of, ENOUGH, 0.95), over=False).step == "promoted"


def test_with_too_little_feedback_the_trial_goes_on(judged_of) -> None:
    found = verdict(of(judged_of, LEAST - 1, 1.0))
    assert found.step == "" and f"{LEAST} are needed" in found.because


def test_better_than_what_served_but_worse_than_rules_is_rolled_back(judged_of) -> None:
    judged = of(judged_of, 150, 0.2, before=0.02)
    assert verdict(judged, before="v1").step == "rolled_back"
    assert verdict(of(judged_of, 150, 0.98, before=0.5), before="v1").step == "promoted"


@pytest.mark.parametrize(("share", "step"), [(0.02, "rolled_back"), (0.9, "")])
def test_what_serves_is_checked_against_rules(judged_of, share, step) -> None:
    assert regressed(of(judged_of, 100, share), "v2").step == step
