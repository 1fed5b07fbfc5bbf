"""What choosing a plan is worth: each plan against the balanced one on the questions that got it.

A question is asked three times: with the plan that was chosen for it; with the balanced plan's arms and weights,
without rerank, diversity and filters (*balanced*); and with those arms and the filters that the query asks for by type,
time or session (*same filters*), which sets the plan apart from `planner.rules`. Other rules act in all three.
Differences are the plan minus the other, nDCG@10, with a 95 % interval of a paired bootstrap over questions. The
questions of a kind's data sets are taken together, each the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from typing import Any

from rich.console import Console

from benchmarks.quality.kinds import KINDS
from benchmarks.quality.paired import paired_difference
from benchmarks.quality.tables import interval
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.config import RecallConfig
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.reports import compact_table
from recall_integrations.learning.versions import BY_RULES, Served
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.planning.planner import RULES, make_plan
from recall_integrations.recall.plan import Plan
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ParsedQuery, RetrievalPlan

METRIC = "ndcg@10"
BALANCED, SAME_FILTERS = "balanced for everything", "balanced, same filters"
FILTERS = ("type_filter", "window_filter", "time_filter")
PLANS = tuple(rule.plan for rule in RULES)
FEW = 10  # questions with another answer under which nothing is said: a bootstrap of so few knows too little
PAYS, BY_FILTERS, COSTS = "pays", "pays by the filters alone", "does not pay here"
UNPROVEN, TOO_FEW = "no difference proven", "too few"
VERDICTS = (PAYS, BY_FILTERS, COSTS, UNPROVEN, TOO_FEW)


class _Balanced(Plan):
    """Takes the balanced plan for everything."""

    def __init__(self, store: MemoryStore, config: RecallConfig) -> None:
        super().__init__(store, config, BUILT_IN)
        self._settings = config

    def made(self, parsed: ParsedQuery, served: Served = BY_RULES) -> RetrievalPlan:
        """The balanced plan, with what `planner.rules` adds to it."""
        return make_plan(parsed, self._settings, given="balanced")


def balanced(store: MemoryStore, config: RecallConfig) -> QueryOptimizer:
    """An optimizer that asks everything with the balanced plan."""
    return QueryOptimizer(store, config=config, stages=[_Balanced(store, config)])


def unfiltered(config: RecallConfig) -> RecallConfig:
    """Without the rules that filter."""
    rules = tuple(rule for rule in config.planner.rules if rule not in FILTERS)
    return replace(config, planner=replace(config.planner, rules=rules))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question asked three times.

    Args:
        question: its id, unlike that of any other data set.
        plan: that was chosen for it.
        chosen, balanced, same_filters: nDCG@10.
        moved: whether the first ten are others than those of *balanced*, or in another order.
    """

    question: str
    plan: str
    chosen: float
    balanced: float
    same_filters: float
    moved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """A plan on a kind.

    Args:
        plan: its name.
        kind: title of the kind.
        questions: that got the plan.
        moved: how many of them are answered otherwise with *balanced*.
        chosen, balanced: mean nDCG@10.
        gain: the plan minus *balanced*.
        gain_same_filters: the plan minus *same filters*.
    """

    plan: str
    kind: str
    questions: int
    moved: int
    chosen: float
    balanced: float
    gain: Interval
    gain_same_filters: Interval

    @property
    def verdict(self) -> str:
        """Whether the plan pays, in words: one of `VERDICTS`."""
        if self.moved < FEW:
            return TOO_FEW
        if self.gain.low > 0:
            return PAYS if self.gain_same_filters.low > 0 else BY_FILTERS
        return COSTS if self.gain.high < 0 else UNPROVEN

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "verdict": self.verdict}


def title(dataset: str) -> str:
    """Of the kind of a data set; of one's own, its name."""
    for kind in KINDS:
        if any(fnmatch(dataset, name) or dataset.startswith(f"{name}_") for name in kind.files):
            return kind.title
    return dataset


def lines(asked: Mapping[str, Sequence[Asked]]) -> tuple[PlanLine, ...]:
    """Plan by plan, as the rules try them, and kind by kind, as they were asked.

    Args:
        asked: title of a kind → its questions.
    """
    return tuple(
        _line(plan, kind, own)
        for plan in PLANS
        for kind, questions in asked.items()
        if (own := [q for q in questions if q.plan == plan])
    )


def _line(plan: str, kind: str, asked: Sequence[Asked]) -> PlanLine:
    chosen = _scores((q.question, q.chosen) for q in asked)
    balanced = _scores((q.question, q.balanced) for q in asked)
    same = _scores((q.question, q.same_filters) for q in asked)
    return PlanLine(
        plan=plan,
        kind=kind,
        questions=len(asked),
        moved=sum(q.moved for q in asked),
        chosen=sum(q.chosen for q in asked) / len(asked),
        balanced=sum(q.balanced for q in asked) / len(asked),
        gain=paired_difference(chosen, balanced, METRIC),
        gain_same_filters=paired_difference(chosen, same, METRIC),
    )


def _scores(values: Iterable[tuple[str, float]]) -> dict[str, dict[str, float]]:
    return {question: {METRIC: value} for question, value in values}


def in_words(found: Sequence[PlanLine]) -> tuple[str, ...]:
    """For each plan where it pays, where it does not, and where nothing is proven."""
    said = []
    for plan in PLANS:
        where = {v: ", ".join(x.kind for x in found if (x.plan, x.verdict) == (plan, v)) for v in VERDICTS}
        words = "; ".join(f"{v}: {kinds}" for v, kinds in where.items() if kinds)
        said.append(f"{plan}: {words or 'no question got it'}")
    return tuple(said)


def show(found: Sequence[PlanLine], console: Console) -> None:
    """Print the table, and what it says."""
    table = compact_table(f"Each plan against balanced for everything, {METRIC}")
    for column in ("plan, kind", "asked", "moved", "plan", "bal."):
        table.add_column(column, justify="left" if column == "plan, kind" else "right", no_wrap=True)
    table.add_column("plan minus balanced", justify="right", no_wrap=True)
    plan = ""
    for line in found:
        if line.plan != plan:
            plan = line.plan
            table.add_row(plan, style="bold")
        figures = (f"{line.questions:,}", f"{line.moved:,}", f"{line.chosen:.3f}", f"{line.balanced:.3f}")
        table.add_row(line.kind, *figures, interval(line.gain))
        if line.gain_same_filters != line.gain:
            table.add_row("  same filters", "", "", "", "", interval(line.gain_same_filters), style="dim")
    console.print(table)
    for words in in_words(found):
        console.print(words, markup=False)
    console.print(
        "asked: questions that got the plan; moved: answered otherwise by the balanced plan's arms without rerank, "
        "diversity and filters; same filters: these arms with the filters by type, time and session. "
        f"{TOO_FEW}: fewer than {FEW} moved."
    )
