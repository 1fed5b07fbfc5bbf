"""Says which of many parameters the quick suite runs. `-m slow`, which `.ci/run` does as well, runs the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def only(parameters: Iterable[Any], *quick: Any) -> list[Any]:
    """All parameters; those that are not among `quick` are marked slow."""
    made = list(parameters)
    missing = [wanted for wanted in quick if wanted not in made]
    assert not missing, f"{missing} are no parameters"
    return [each if each in quick else pytest.param(each, marks=pytest.mark.slow) for each in made]
