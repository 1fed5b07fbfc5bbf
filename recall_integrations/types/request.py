"""The arguments of a recall."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.types import Filters, Scope, TemporalWindow


class Step(Protocol):
    """A step of a recall that is under way: the recall itself, one of its stages, an arm.

    It is called when something begins or ends, in the thread in which that happens; arms work in threads of their own.
    Its errors cost nobody the answer: the result names them.
    """

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Step:
        """Begin a step inside of this one.

        Args:
            name: the stage (`parse`, …, `deliver`), `cache` for an answer that was kept, `arm.<name>`, or `scope` where
                several are searched, with the stages inside.
            inputs: input of the step, as JSON has it. Empty unless `privacy="allow"`.
        """
        ...

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End the step. Called once.

        Args:
            outputs: output of the step, as JSON has it. Unless `privacy="allow"`, only its problems (`degraded`).
            error: error with which it failed, though the recall may go on.
        """
        ...


Window = TemporalWindow | Literal[False] | None


@record(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The checked arguments of `QueryOptimizer.recall`, whose docstring says what they mean.

    `load_wait_ms` and `llm_wait_ms` say how long it may wait beyond its time until what it needs is in memory, and for
    an LLM that rewrites; 0 where the caller says what time there is.

    A recall of several `scopes` is one recall of each, as a `part` of it: the whole applies what holds for all hits.
    """

    text: str
    k: int
    scope: Scope
    filters: Filters
    now: datetime
    time_budget_ms: float
    tokens_max: int | None
    privacy: str
    window: Window
    zone: ZoneInfo | None
    context: int
    vector: NDArray[np.float32] | None
    score_min: float | None = None
    watch: Step | None = None
    scopes: tuple[Scope, ...] = ()
    part: bool = False
    as_of: datetime | None = None
    load_wait_ms: float = 0.0
    llm_wait_ms: float = 0.0
