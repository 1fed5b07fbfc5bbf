"""Tells what counts as a number where a caller gives one. `True` is an `int` to Python, and a mistake here.

Numbers of numpy are numbers: `whole` and `real` turn them into Python's.
"""

from __future__ import annotations

import math
import operator
from typing import TypeGuard, cast

import numpy as np


def is_number(value: object) -> TypeGuard[int | float]:
    """Say whether a value is an `int` or a `float`, and no `bool`. NaN and infinities pass: check the range too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Say whether a value is an `int`, and no `bool`."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole(value: object) -> object:
    """Return a whole number of any library as an `int`; anything else, and every kind of `bool`, as it is."""
    if value is None or isinstance(value, (int, str, bytes, np.bool_)) or not hasattr(value, "__index__"):
        return value
    try:
        return operator.index(value)
    except TypeError:  # an array of several numbers
        return value


def real(value: object) -> object:
    """Return a number of numpy, and a whole one of any library, as Python's; anything else as it is.

    An `int` that no float holds becomes an infinity: range checks then say what is wrong.
    """
    plain: object = value.item() if isinstance(value, np.floating) else whole(value)
    if is_whole(plain) and abs(plain) > _FLOAT_MAX:
        return math.inf if plain > 0 else -math.inf
    return plain


_FLOAT_MAX = 2**1023


def shown(value: object, chars: int = 60) -> str:
    """Show a value in a message: short, and never an error, however large it is."""
    try:
        text = repr(value)
    except ValueError:  # an `int` of more digits than Python writes
        return f"a number of about {int(cast(int, value).bit_length() * math.log10(2)):,} digits"
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep"
    return text if len(text) <= chars else f"{text[: chars - 1]}…"
