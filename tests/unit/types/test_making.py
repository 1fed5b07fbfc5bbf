from __future__ import annotations

from dataclasses import replace

import pytest

from recall_integrations.records import changed
from recall_integrations.types import RuleCheck, TemporalWindow


def test_a_record_is_changed_as_by_replace() -> None:
    check = RuleCheck(rule="a", fired=True, because="b", margin=0.5)
    assert changed(check, fired=False) == replace(check, fired=False)
    assert check.fired
    with pytest.raises(TypeError, match="no such field"):
        changed(check, colour="red")


def test_a_record_that_checks_its_fields_is_left_to_its_constructor() -> None:
    with pytest.raises(TypeError, match="checks its fields"):
        changed(TemporalWindow(), confidence=7.0)
