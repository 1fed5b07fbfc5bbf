"""What `QueryOptimizer.feedback` gives back."""

from __future__ import annotations

from collections.abc import Mapping

from recall_integrations.records import record
from recall_integrations.types.memory import Scope


@record(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Feedback that is kept.

    Args:
        result_id: of the recall.
        gains: scope → memory → what was said of it: 1 = it helped, 0 = it did not.
        ignored: ids that name no memory of the scope, or one that was forgotten or replaced meanwhile.
        anew: whether the recall was not remembered any more, and its query was asked again.
        kinds: in which ways something was said: `helpful`, `wrong`, `cited`, `rating`, `asked_again`.
    """

    result_id: str
    gains: Mapping[Scope, Mapping[str, float]]
    ignored: tuple[str, ...] = ()
    anew: bool = False
    kinds: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.gains.values())
