"""One timed recall, and what many of them come to."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recall_integrations import RecallResult

ANSWERED, NAMED, FAILED = "answered", "named", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One recall.

    Args:
        budget_ms: what it was given.
        ms: what it took.
        outcome: `answered`: it has hits; `named`: it has none, and `degraded` says why; `failed`: it raised, or has
            none and says nothing.
        reasons: `stage:reason` of `degraded`; of one that raised, the error.
    """

    budget_ms: float
    ms: float
    outcome: str
    reasons: tuple[str, ...] = ()

    @property
    def over_ms(self) -> float:
        """Milliseconds beyond the budget."""
        return max(0.0, self.ms - self.budget_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Many recalls.

    Args:
        recalls: how many.
        success: share of those that did not fail.
        answered: share of those with hits.
        p50_ms, p99_ms: what they took.
        over_p50_ms, over_p99_ms, over_max_ms: beyond their budgets.
        reasons: `stage:reason` → in how many of them, most often first.
    """

    recalls: int
    success: float
    answered: float
    p50_ms: float
    p99_ms: float
    over_p50_ms: float
    over_p99_ms: float
    over_max_ms: float
    reasons: dict[str, int]


def timed(ask: Callable[[], RecallResult], budget_ms: float) -> Sample:
    """Ask once. What it raises is a failed sample."""
    begin = time.perf_counter()
    try:
        result = ask()
    except Exception as e:  # noqa: BLE001 - counted
        return _failed(begin, budget_ms, e)
    return _sample(begin, budget_ms, result)


async def timed_async(ask: Callable[[], Awaitable[RecallResult]], budget_ms: float) -> Sample:
    """The same for a coroutine."""
    begin = time.perf_counter()
    try:
        result = await ask()
    except Exception as e:  # noqa: BLE001 - counted
        return _failed(begin, budget_ms, e)
    return _sample(begin, budget_ms, result)


def _failed(begin: float, budget_ms: float, error: Exception) -> Sample:
    ms = (time.perf_counter() - begin) * 1e3
    return Sample(budget_ms=budget_ms, ms=ms, outcome=FAILED, reasons=(f"raised:{type(error).__name__}",))


def _sample(begin: float, budget_ms: float, result: RecallResult) -> Sample:
    ms = (time.perf_counter() - begin) * 1e3
    reasons = tuple(f"{d.stage}:{d.reason}" for d in result.degraded)
    outcome = ANSWERED if result.hits else NAMED if reasons else FAILED
    return Sample(budget_ms=budget_ms, ms=ms, outcome=outcome, reasons=reasons)


class Ledger:
    """Samples of a long run in a few bytes each, so that the run's memory is not theirs. Not for several threads."""

    def __init__(self) -> None:
        self._numbers = array("d")
        self._kinds: dict[tuple[str, tuple[str, ...]], int] = {}

    def add(self, sample: Sample) -> None:
        """One more."""
        kind = self._kinds.setdefault((sample.outcome, sample.reasons), len(self._kinds))
        self._numbers.extend((sample.budget_ms, sample.ms, kind))

    def samples(self) -> list[Sample]:
        """All of them, in order."""
        kinds, numbers = list(self._kinds), iter(self._numbers)
        return [
            Sample(budget_ms=budget, ms=ms, outcome=kinds[int(kind)][0], reasons=kinds[int(kind)][1])
            for budget, ms, kind in zip(numbers, numbers, numbers, strict=True)
        ]


def figures(samples: Sequence[Sample]) -> Figures:
    """What samples come to. There must be one at least."""
    took = np.asarray([s.ms for s in samples])
    over = np.asarray([s.over_ms for s in samples])
    outcomes = Counter(s.outcome for s in samples)
    return Figures(
        recalls=len(samples),
        success=1 - outcomes[FAILED] / len(samples),
        answered=outcomes[ANSWERED] / len(samples),
        p50_ms=_percentile(took, 50),
        p99_ms=_percentile(took, 99),
        over_p50_ms=_percentile(over, 50),
        over_p99_ms=_percentile(over, 99),
        over_max_ms=round(float(over.max()), 3),
        reasons=counted(s.reasons for s in samples),
    )


def counted(reasons: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Reason → in how many results, most often first."""
    counts = Counter(reason for each in reasons for reason in set(each))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _percentile(values: np.ndarray[tuple[int], np.dtype[np.float64]], q: float) -> float:
    return round(float(np.percentile(values, q)), 3)
