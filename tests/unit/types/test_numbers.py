from __future__ import annotations

import math

from recall_integrations.types.numbers import is_number, is_whole
from tests.rows import each_row


@each_row(
    ("value", "number", "whole"),
    [
        *((0, True, True), (-3, True, True), (2.5, True, False), (1.0, True, False), (math.nan, True, False)),
        *((True, False, False), (False, False, False), ("1", False, False), (None, False, False), (1j, False, False)),
    ],
)
def test_what_is_a_number(value: object, number: bool, whole: bool) -> None:
    assert (is_number(value), is_whole(value)) == (number, whole)
