"""Values of a scope's memories under a key of their metadata, and the memories that hold each value.

A value is kept once, and a test is asked of the values, however many memories hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import grown
from recall_integrations.types.filters import ORDER, Instant, Test, instant, token
from recall_integrations.types.numbers import is_number

EXACT_MAX = 2.0**53  # whole numbers below are what they are as a float, and those above stay above
_NO_TIME = np.iinfo(np.int64).min
_ROW_BYTES, _VALUE_BYTES = 12, 160

Nums = NDArray[np.int64]


class KeyColumn:
    """Column of one metadata key. It only grows; its user holds the lock of the scope."""

    def __init__(self) -> None:
        self._nums, self._codes, self._n = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), 0
        self._values: list[Any] = []
        self._code_of: dict[Hashable, int] = {}
        self._text_bytes = 0
        self._numbers = np.empty(0, dtype=np.float64)  # NaN: the value is none
        self._times = np.empty(0, dtype=np.int64)
        self._folded: dict[str, list[int]] = {}
        self._folded_upto = 0

    def __len__(self) -> int:
        return self._n

    @property
    def nums(self) -> Nums:
        """Numbers of all memories that hold the key, rising."""
        return self._nums[: self._n]

    @property
    def bytes(self) -> int:
        """Approximate memory of the column, in bytes."""
        return _ROW_BYTES * len(self._nums) + _VALUE_BYTES * len(self._values) + self._text_bytes

    def extend(self, nums: Sequence[int], values: Iterable[Any]) -> None:
        """Add memories with higher numbers than all present ones."""
        codes = [self._coded(value) for value in values]
        end = self._n + len(codes)
        if end > len(self._nums):
            capacity = max(end, 2 * len(self._nums))
            self._nums, self._codes = grown(self._nums, self._n, capacity), grown(self._codes, self._n, capacity)
        self._nums[self._n : end], self._codes[self._n : end] = nums, codes
        self._n = end

    def _coded(self, value: Any) -> int:
        key = token(value)
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self._values)
            self._values.append(value)
            self._text_bytes += len(value) if isinstance(value, str) else 0
        return code

    def without(self, gone: NDArray[np.bool_]) -> KeyColumn:
        """Return a copy without memories that are gone, and without values that nobody holds any more."""
        kept = KeyColumn()
        codes = self._codes[: self._n][~gone].tolist()
        kept.extend(self.nums[~gone].tolist(), (self._values[code] for code in codes))
        return kept

    # -- asking ------------------------------------------------------------------------------------------------------

    def holding(self, test: Test) -> Nums:
        """Return the memories whose value meets a test, rising."""
        if test.op == "$exists":
            return self.nums
        codes = self._meeting(test)
        if isinstance(codes, np.ndarray):
            return self.nums[codes[self._codes[: self._n]]]
        return self.of(codes)

    def of(self, codes: Sequence[int]) -> Nums:
        """Return the memories that hold one of a few values, rising."""
        own = self._codes[: self._n]
        if not codes:
            return np.empty(0, dtype=np.int64)
        return self.nums[own == codes[0] if len(codes) == 1 else np.isin(own, codes)]

    def named(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of values that are one of these names, in any case of their letters."""
        for code in range(self._folded_upto, len(self._values)):
            if isinstance(self._values[code], str):
                self._folded.setdefault(folded(self._values[code]), []).append(code)
        self._folded_upto = len(self._values)
        return [code for name in dict.fromkeys(map(folded, names)) for code in self._folded.get(name, ())]

    def _meeting(self, test: Test) -> NDArray[np.bool_] | list[int]:
        """Find the values that meet a test: return their numbers, or a flag for each value."""
        op, operand = test.op, test.operand
        if test.shown is not None:
            values = map(test.shown, self._values)
            return np.fromiter(map(test.predicate, values), dtype=np.bool_, count=len(self._values))
        if op == "$eq" and not isinstance(operand, Instant):
            return [] if (code := self._code_of.get(token(operand))) is None else [code]
        if op == "$in" and not any(isinstance(item, Instant) for item in operand):
            found = (self._code_of.get(key) for key in dict.fromkeys(map(token, operand)))
            return [code for code in found if code is not None]
        if op in ORDER and isinstance(operand, Instant):
            self._times = self._read(self._times, _micros)
            return self._in_order(op, self._times, operand.micros)
        if op in ORDER and is_number(operand) and abs(operand) < EXACT_MAX:
            self._numbers = self._read(self._numbers, _float)
            return self._in_order(op, self._numbers, operand)
        return np.fromiter(map(test.predicate, self._values), dtype=np.bool_, count=len(self._values))

    def _in_order(self, op: str, column: NDArray[Any], bound: float) -> NDArray[np.bool_]:
        there = column != _NO_TIME if column.dtype == np.int64 else column == column  # noqa: PLR0124 - not of NaN
        found: NDArray[np.bool_] = np.asarray(ORDER[op](column, bound) & there, dtype=np.bool_)
        return found

    def _read(self, known: NDArray[Any], of: Callable[[Any], float]) -> NDArray[Any]:
        """Return the numbers of all values, given those of the first so many."""
        more = [of(value) for value in self._values[len(known) :]]
        return np.concatenate([known, np.asarray(more, dtype=known.dtype)]) if more else known


def folded(name: str) -> str:
    """Fold the case of a name's letters and reduce its spaces to single ones."""
    return " ".join(name.casefold().split())


def _micros(value: Any) -> int:
    return _NO_TIME if (micros := instant(value)) is None else micros


def _float(value: Any) -> float:
    """Return a value as a number. One that a float cannot hold is beyond all that are compared this way."""
    if not is_number(value):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
