"""Decides whether a version that a share of the recalls got is promoted or rolled back. Rules are the floor.

Both answer whole recalls of the same query, as the replays of judged recalls found them, and are compared, each
recall counted by its inverse propensity (`measuring`). None of these recalls was there when the version was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recall_integrations.learning.measuring import Gap, bootstrap, compared, order_of
from recall_integrations.records import record
from recall_integrations.types.judged import RULES, Judged

LEAST = 30  # number of judged recalls below which nothing is decided
ENOUGH = 600  # number of judged recalls with which it is decided before the time is over
EARLY, LATE = 0.99, 0.90  # probabilities of the intervals: while it is tried, and at the end
SLACK = 0.01  # nDCG by which the lower end may lie below 0: that it is better was shown when it was made
WINDOWS_MAX = 4  # times that it is tried, at most, where too little was judged
PROMOTED, ROLLED_BACK, EXTENDED, WAITING = "promoted", "rolled_back", "extended", ""


@record(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on a version."""

    step: str  # `promoted`, `rolled_back`, `extended`, or empty: the trial goes on
    because: str  # reason in words
    gap: Gap | None = None  # gap to the version that served before; `None` = nothing was compared
    floor: Gap | None = None  # gap to the rules


def decided(
    judged: Sequence[Judged], tried: str, before: str, *, position_bias: float, over: bool, windows: int = 0
) -> Verdict:
    """Decide on a version on trial."""
    every = {level: _gaps({"": judged}, tried, before, position_bias, level) for level in (EARLY, LATE)}
    return _verdict(every, over=over, windows=windows)


def decided_shared(
    judged: Mapping[str, Sequence[Judged]],
    tried: str,
    before: str,
    *,
    position_bias: float,
    over: bool,
    windows: int = 0,
) -> Verdict:
    """Decide on a shared version on trial: every scope counts the same, however much was judged there."""
    every = {level: _gaps(judged, tried, before, position_bias, level) for level in (EARLY, LATE)}
    return _verdict(every, over=over, windows=windows)


def regressed(judged: Sequence[Judged], serving: str, *, position_bias: float) -> Verdict:
    """Decide whether a version that serves all is rolled back, as it is worse than rules by now."""
    gap = compared(judged, order_of(serving), RULES, position_bias)
    if gap.n >= LEAST and gap.high < 0:
        return Verdict(step=ROLLED_BACK, because=f"worse than rules: {told(gap)}", floor=gap)
    return Verdict(step=WAITING, because=told(gap), floor=gap)


def _gaps(
    judged: Mapping[str, Sequence[Judged]], tried: str, before: str, position_bias: float, level: float
) -> tuple[Gap, Gap, int]:
    """Return the gaps to what served before, and to rules; and the number of recalls compared."""
    found = []
    count = 0
    for other in (before, RULES):
        of_scopes = [
            compared(own, order_of(tried), order_of(other), position_bias, level=level) for own in judged.values()
        ]
        of_scopes = [gap for gap in of_scopes if gap.n]
        count = sum(gap.n for gap in of_scopes)
        if len(judged) == 1:
            found.append(of_scopes[0] if of_scopes else Gap(mean=0.0, low=0.0, high=0.0, n=0))
        else:
            found.append(bootstrap(np.asarray([gap.mean for gap in of_scopes]), level=level))
    return found[0], found[1], count


def _verdict(every: Mapping[float, tuple[Gap, Gap, int]], *, over: bool, windows: int) -> Verdict:
    early, floor, count = every[EARLY]
    if count >= LEAST and (early.high < 0 or floor.high < 0):
        worse, against = (early, "what served before") if early.high < 0 else (floor, "rules")
        return Verdict(step=ROLLED_BACK, because=f"worse than {against}: {told(worse)}", gap=early, floor=floor)
    late, floor, _ = every[LATE]
    if not over and count < ENOUGH:
        return Verdict(step=WAITING, because=f"on trial: {told(late)}", gap=late, floor=floor)
    if count < LEAST:
        if windows + 1 < WINDOWS_MAX:
            return Verdict(step=EXTENDED, because=f"{count} recalls were judged, {LEAST} are needed", gap=late)
        return Verdict(step=ROLLED_BACK, because=f"{count} recalls were judged in {WINDOWS_MAX} times", gap=late)
    good = late.mean > 0 and late.low > -SLACK and floor.mean > 0 and floor.low > -SLACK
    if good:
        return Verdict(step=PROMOTED, because=f"better: {told(late)}", gap=late, floor=floor)
    return Verdict(step=ROLLED_BACK, because=f"not better: {told(late)}", gap=late, floor=floor)


def told(gap: Gap) -> str:
    """Write a gap in words: "nDCG@5 +0.031 (+0.012 to +0.049) on 214"."""
    return f"nDCG@5 {gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f}) on {gap.n}"
