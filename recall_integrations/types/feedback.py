"""The return value of `QueryOptimizer.feedback`."""

from __future__ import annotations

from collections.abc import Mapping

from recall_integrations.records import record
from recall_integrations.types.memory import Scope


@record(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Feedback that is kept.

    Args:
        result_id: id of the recall's result.
        gains: scope → memory → gain: 1 = it helped, 0 = it did not. Of one recall the surest 64 of a scope are kept.
        ignored: ids that name no memory of the scope, or one that was forgotten or replaced meanwhile.
        anew: whether the recall was not remembered any more, and its query was asked again.
        kinds: kinds of feedback: `helpful`, `wrong`, `cited`, `rating`, `asked_again`.
    """

    result_id: str
    gains: Mapping[Scope, Mapping[str, float]]
    ignored: tuple[str, ...] = ()
    anew: bool = False
    kinds: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.gains.values())
