"""The plan of a query."""

from __future__ import annotations

from recall_integrations.records import record
from recall_integrations.types.memory import MemoryType

PLANS = ("precise", "entity_centric", "temporal", "precision", "exploratory", "balanced")  # names, in the rules' order


@record(frozen=True, slots=True, kw_only=True)
class ArmPlan:
    """One sub-retriever in a plan: its name, its weight in the fusion, and how many candidates it may return."""

    name: str
    weight: float = 1.0
    limit: int = 50


@record(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """One rule of the decision list as it was tried.

    Args:
        rule: its name.
        fired: whether its condition held.
        because: the values it looked at, in words.
        margin: how far the deciding value was from its threshold; positive = on the firing side.
    """

    rule: str
    fired: bool
    because: str
    margin: float | None = None


@record(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """The sub-retrievers that are asked, their weights, and what happens to their candidates.

    Args:
        name: `precise`, `entity_centric`, `temporal`, `precision`, `exploratory` or `balanced`.
        arms: the sub-retrievers, in the order in which their results enter the fusion.
        rerank: whether the cross-encoder stage may run.
        diversity: whether the diversity stage runs.
        type_hints: memory types the query asks for.
        type_filter: whether memories of other types come only after those of `type_hints`, if there are such.
        window_filter: whether entity results outside the temporal window are dropped.
        time_filter: whether memories of the time or the session that is asked for come first, all others only where
            there are too few of these.
        in_order: whether these come in the order in which they were said, for nothing in particular is asked.
        exact_match: whether memories that hold the query's identifiers letter by letter are lifted.
        prefers: memory types of the router mode, which get a small lift; empty for `hybrid`.
        time_bias: whether newer memories are preferred more than usual.
        rewrite: whether the LLM rewrite stage may run (specificity below the precise threshold).
        reason: the rule that decided, in words, and what changed its arms.
        checks: the rules in the order they were tried.
        runner_up: the plan that came closest to being chosen instead.
        runner_up_margin: how far the value that decides between the two plans was from its threshold.
    """

    name: str
    arms: tuple[ArmPlan, ...]
    rerank: bool = False
    diversity: bool = False
    type_hints: tuple[MemoryType, ...] = ()
    type_filter: bool = False
    window_filter: bool = False
    time_filter: bool = False
    in_order: bool = False
    exact_match: bool = False
    prefers: tuple[MemoryType, ...] = ()
    time_bias: bool = False
    rewrite: bool = False
    reason: str = ""
    checks: tuple[RuleCheck, ...] = ()
    runner_up: str | None = None
    runner_up_margin: float | None = None

    def __str__(self) -> str:
        return self.name

    def arm(self, name: str) -> ArmPlan | None:
        """Return the arm called `name`, if the plan asks it."""
        return next((a for a in self.arms if a.name == name), None)
