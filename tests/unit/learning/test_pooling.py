"""Shared weights: what one scope can do to them is bounded, whatever it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.learning.making import SCOPES_MIN, STEP_LENGTH, influence_max, pooled, trimmed_mean


def shared(judged, **given):
    return pooled(judged, version_id="v1", now=9, parent=None, least=30, position_bias=1.0, **given)


def test_too_few_scopes_share_nothing(judged_of) -> None:
    made = shared({f"s{i}": judged_of(60, seed=i) for i in range(SCOPES_MIN - 1)})
    assert made.version is None and made.too_few


def test_what_all_teach_is_shared(judged_of) -> None:
    version = shared({f"s{i}": judged_of(60, seed=i) for i in range(8)}).version
    assert version is not None and max(version.steps, key=lambda name: version.steps[name]) == "passage_match"
    assert version.figures["scopes"] == 8 and version.plans == {}


@pytest.mark.parametrize("poison", ["inverted", "random"])
def test_one_scope_cannot_turn_them(judged_of, poison) -> None:
    good = {f"s{i}": judged_of(60, seed=i) for i in range(8)}
    bad = judged_of(900, seed=99, inverted=True) if poison == "inverted" else judged_of(900, noise=1.0, strength=0.0)
    clean, poisoned = shared(good).version, shared({**good, "bad": bad}).version
    assert clean is not None and poisoned is not None
    moved = {name: abs(poisoned.steps.get(name, 0.0) - clean.steps.get(name, 0.0)) for name in clean.steps}
    assert max(moved.values()) <= influence_max(9)
    assert max(poisoned.steps, key=lambda name: poisoned.steps[name]) == "passage_match"


@given(
    st.lists(st.floats(-STEP_LENGTH, STEP_LENGTH), min_size=SCOPES_MIN, max_size=30),
    st.floats(-STEP_LENGTH, STEP_LENGTH),
    st.floats(-STEP_LENGTH, STEP_LENGTH),
)
def test_the_bound_of_one_scope_holds(others: list[float], one: float, other: float) -> None:
    first = trimmed_mean([*({"a": step} for step in others), {"a": one}]).get("a", 0.0)
    second = trimmed_mean([*({"a": step} for step in others), {"a": other}]).get("a", 0.0)
    assert abs(first - second) <= influence_max(len(others) + 1) + 1e-4


def test_a_fifth_of_the_scopes_cannot_leave_what_the_others_say() -> None:
    honest = [{"a": 0.4 + i / 100} for i in range(8)]
    assert 0.4 <= trimmed_mean([*honest, {"a": -1.0}, {"a": -1.0}])["a"] <= 0.47
