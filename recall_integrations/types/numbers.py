"""What counts as a number where a caller gives one. `True` is an `int` to Python, and a mistake here."""

from __future__ import annotations

from typing import TypeGuard


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is an `int` or a `float`, and no `bool`. NaN and infinities are: a range check leaves them out."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is an `int`, and no `bool`."""
    return isinstance(value, int) and not isinstance(value, bool)
