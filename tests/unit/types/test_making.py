from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from recall_integrations.records import changed, maker
from recall_integrations.types import ArmPlan, RuleCheck, TemporalWindow
from recall_integrations.types.query import QueryToken


def test_a_record_is_made_as_by_its_constructor() -> None:
    made = maker(QueryToken)((0, 3), "tea", ("stop",), None)
    assert made == QueryToken(span=(0, 3), stem="tea", roles=("stop",), rarity=None)
    assert repr(made).startswith("QueryToken(span=(0, 3)")
    with pytest.raises(FrozenInstanceError):
        made.stem = "x"  # type: ignore[misc]


def test_all_fields_are_due() -> None:
    with pytest.raises(TypeError):
        maker(QueryToken)((0, 3), "tea")
    with pytest.raises(ValueError, match="shorter|longer"):
        maker(ArmPlan)("graph")
    assert maker(ArmPlan)("graph", 2.0, 9) == ArmPlan(name="graph", weight=2.0, limit=9)


def test_a_record_is_changed_as_by_replace() -> None:
    check = RuleCheck(rule="a", fired=True, because="b", margin=0.5)
    assert changed(check, fired=False) == replace(check, fired=False)
    assert check.fired
    with pytest.raises(TypeError, match="no such field"):
        changed(check, colour="red")


def test_a_record_that_checks_its_fields_is_left_to_its_constructor() -> None:
    with pytest.raises(TypeError, match="checks its fields"):
        changed(TemporalWindow(), confidence=7.0)
