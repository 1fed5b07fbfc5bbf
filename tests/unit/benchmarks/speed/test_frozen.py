from __future__ import annotations

import gc

import pytest

from benchmarks.speed.asking import frozen


def test_what_was_there_before_is_frozen_and_only_meanwhile() -> None:
    before = gc.get_freeze_count()
    with frozen():
        assert gc.get_freeze_count() > before
        assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_an_error_inside_leaves_nothing_frozen() -> None:
    with pytest.raises(ValueError, match="inside"), frozen():
        raise ValueError("inside")
    assert gc.get_freeze_count() == 0
