"""Settings of feedback, and of the plans and weights that are learned from it."""

from __future__ import annotations

from typing import Annotated, Literal

from recall_integrations.config.checking import Share, Switch, in_range, section

CADENCES = {"daily": 1, "weekly": 7, "monthly": 30}  # days


@section("learned")
class LearnedConfig:
    """Feedback, and what is learned from it (docs/learning.md). Only `mode: learned` answers by what was learned.

    Args:
        feedback: whether recalls are remembered for a while, in memory, so that feedback on them can be given.
        keep_text: whether the text of a judged query is kept with its feedback, as the privacy mode of the recall lets
            it through; else only numbers are.
        keep_days: after so many days feedback is removed.
        min_queries_per_signature: judged recalls from which anything is learned of a scope, and from which a signature
            gets a plan of its own.
        update_cadence: `daily`, `weekly` or `monthly`: how often something is learned, and how long it is tried.
        traffic_fraction_for_new_weights: share of the recalls that a new version answers while it is tried.
        rollback_on_ndcg_regression: whether a version that serves is rolled back where rules are better by now.
        position_bias: how fast people look at fewer hits from place to place, the `η` of `1 / place^η`; 0 = they look
            at all of them (docs/learning.md).
    """

    feedback: Switch = True
    keep_text: Switch = False
    keep_days: Annotated[int, in_range(1, 3_650)] = 90
    min_queries_per_signature: Annotated[int, in_range(1, 1_000_000)] = 30
    update_cadence: Literal["daily", "weekly", "monthly"] = "weekly"
    traffic_fraction_for_new_weights: Share = 0.1
    rollback_on_ndcg_regression: Switch = True
    position_bias: Annotated[float, in_range(0, 3)] = 1.0

    @property
    def cadence_days(self) -> int:
        """Days of `update_cadence`."""
        return CADENCES[self.update_cadence]
