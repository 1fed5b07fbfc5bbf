"""The contract that rewriting has to keep to stay on: shares of fallbacks and of empty answers, and median time.

Outside of it the step switches itself off and says so (`skip.slo`). Now and then one call goes through as a probe;
three good ones in a row switch it on again. The record is kept beside the store, so it outlives the process.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from recall_integrations.records import record
from recall_integrations.resilience.shared_file import SharedFile
from recall_integrations.types.numbers import is_number

WINDOW = 50  # calls that are looked at
CALLS_MIN = 20  # fewer say nothing: one empty answer in ten is no pattern
PROBES_MIN = 3  # good ones in a row switch it on again
PROBE_SECONDS = 60.0  # between two probes
SUCCESS, EMPTY, FAILED = "success", "empty", "failed"
OUTCOMES = (SUCCESS, EMPTY, FAILED)


@record(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the contract: shares in [0, 1] of the recent calls, and milliseconds."""

    fallback: float = 0.2  # share of calls that gave nothing to search for, whatever the reason
    empty: float = 0.05  # share of calls that came back empty
    median_ms: float = 1_200.0  # median time of calls


@record(frozen=True, slots=True, kw_only=True)
class Kept:
    """The record: recent calls as (outcome, milliseconds), and why and since when the step is off."""

    calls: tuple[tuple[str, float], ...] = ()  # oldest first. While it is off, the probes.
    off: str = ""  # why it is off; empty = it is on
    probed: float = 0.0  # when it was switched off, or the last probe; seconds of the clock


class Contract:
    """The record of calls, compared with the limits. Threads and, through its file, processes share it."""

    def __init__(self, limits: Limits, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._limits, self._clock = limits, clock
        self._own = Kept()
        self._file = None if path is None else SharedFile(path, nothing=Kept, decode=_decoded, encode=_encoded)

    def refuses(self) -> str:
        """Return why no call may be made now; empty = one may. While the step is off, one a minute may, as a probe."""
        known = self._known
        return known.off if known.off and 0 <= self._clock() - known.probed < PROBE_SECONDS else ""

    def begun(self) -> None:
        """Note that a call was begun: while the step is off, the probe of this minute."""
        if self._known.off:
            self._update(lambda kept: replace(kept, probed=self._clock()))

    @property
    def _known(self) -> Kept:
        return self._own if self._file is None else self._file.read()

    def record(self, outcome: str, ms: float) -> None:
        """Note that a call has ended."""

        def counted(kept: Kept) -> Kept:
            calls = (*kept.calls, (outcome, ms))[-WINDOW:]
            if kept.off:
                return self._probed(replace(kept, calls=calls))
            broken = self._broken(calls)
            return Kept(off=broken, probed=self._clock()) if broken else replace(kept, calls=calls)

        self._update(counted)

    def _probed(self, kept: Kept) -> Kept:
        last = kept.calls[-PROBES_MIN:]
        good = [outcome == SUCCESS and ms <= self._limits.median_ms for outcome, ms in last]
        if not good[-1]:
            return replace(kept, calls=())
        return Kept() if len(good) == PROBES_MIN and all(good) else kept

    def _broken(self, calls: tuple[tuple[str, float], ...]) -> str:
        """Return the part of the contract that is broken, in words; empty = none is."""
        if len(calls) < CALLS_MIN:
            return ""
        n, limits = len(calls), self._limits
        fallback = sum(outcome != SUCCESS for outcome, _ in calls) / n
        empty = sum(outcome == EMPTY for outcome, _ in calls) / n
        median = statistics.median(ms for _, ms in calls)
        if fallback > limits.fallback:
            return f"{fallback:.0%} of the last {n} rewrites gave nothing; at most {limits.fallback:.0%} may."
        if empty > limits.empty:
            return f"{empty:.0%} of the last {n} rewrites were empty; at most {limits.empty:.0%} may be."
        if median > limits.median_ms:
            return f"The last {n} rewrites took {median:.0f} ms (median); at most {limits.median_ms:.0f} are allowed."
        return ""

    def _update(self, change: Callable[[Kept], Kept]) -> None:
        if self._file is None:
            self._own = change(self._own)
        else:
            self._file.update(change)


def _encoded(kept: Kept) -> str:
    return json.dumps({"off": kept.off, "probed": kept.probed, "calls": kept.calls})


def _decoded(text: str) -> Kept:
    loaded = json.loads(text)
    if not isinstance(loaded, Mapping) or not is_number(loaded.get("probed")) or not isinstance(loaded.get("off"), str):
        raise ValueError("What is known of rewriting must be a JSON object.")
    calls = loaded.get("calls")
    if not isinstance(calls, list) or not all(
        isinstance(call, list) and len(call) == 2 and call[0] in OUTCOMES and is_number(call[1]) for call in calls
    ):
        raise ValueError("The calls of rewriting must be a list of pairs.")
    return Kept(off=loaded["off"], probed=loaded["probed"], calls=tuple((outcome, ms) for outcome, ms in calls))
