"""What each rule does: the same questions over the same memories, with the rule and without it.

The default configuration is asked first, then one configuration for each switch that differs from it in that switch
only: every rule of `config.PLAN_RULES`, and the correction of typos. All optimizers share one store, so that memories
and vectors are the same. Differences are *with* minus *without* the switch, whichever of the two is the default: a
positive one speaks for the rule. Intervals are 95 % of a paired bootstrap over questions (`evaluation/metrics.py`).

A question is *changed* if it was asked differently (other arms, switches, terms or second reading) or answered
differently. The deadline is far off, so that a busy machine changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.planning import plans
from benchmarks.quality import comparison, kinds
from benchmarks.quality.metrics import average
from benchmarks.quality.paired import paired_difference
from benchmarks.quality.report import QualityReport
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from benchmarks.quality.tables import interval
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from recall_integrations.config import PLAN_RULES, RecallConfig
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output, compact_table
from recall_integrations.types import RecallResult

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

BASE = "default"
SPELLING = "spelling"
SWITCHES = (*PLAN_RULES, SPELLING)
METRICS = ("recall@5", "ndcg@10")
K = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one switch does.

    Args:
        switch: a rule of the planner, or `spelling`.
        default: whether it is on by default.
        asked: questions that were asked differently: other arms, switches, terms or second reading.
        answered: questions with other ids, or another order, among the first ten.
        without: metric → mean over all questions without it.
        gain: metric → with minus without, over all questions.
        changed: number of questions that were asked or answered differently.
        changed_gain: metric → with minus without over those; empty where there are none.
    """

    switch: str
    default: bool
    asked: int
    answered: int
    without: Mapping[str, float]
    gain: Mapping[str, Interval]
    changed: int
    changed_gain: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesReport:
    """The outcome on a data set.

    Args:
        dataset: its name.
        questions: asked of it.
        base: metric → mean of the default configuration.
        effects: one for each switch.
        degraded: results that were not made as they should have been.
        asked: every question with its plan and with the balanced one.
    """

    dataset: str
    questions: int
    base: Mapping[str, float]
    effects: tuple[Effect, ...]
    degraded: int = 0
    asked: tuple[plans.Asked, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON, without the single questions."""
        effects = [asdict(effect) for effect in self.effects]
        return {"questions": self.questions, "base": self.base, "effects": effects, "degraded": self.degraded}


class SwitchedSystem(RecallSystem):
    """One configuration over a store that others use too. Notes how each question was asked.

    Args:
        name: of the configuration.
        optimizer: under this configuration.
        fills: whether `enter` remembers the collection; one system of several does.
    """

    def __init__(self, name: str, optimizer: QueryOptimizer, *, fills: bool) -> None:
        super().__init__(optimizer, name=name, fills=fills, time_budget_ms=TIME_BUDGET_MS)
        self.asked: dict[str, object] = {}

    def recall(self, question: Question, k: int) -> RecallResult:
        """As any other, with a note."""
        result = super().recall(question, k)
        self.asked[question.id] = asked_as(result)
        return result


def asked_as(result: RecallResult) -> object:
    """All of a plan that acts, and what was looked for; not the reasons that it gives."""
    plan, query = result.plan, result.query
    acts = replace(plan, reason="", checks=(), runner_up=None, runner_up_margin=None)
    return acts, query.terms, query.corrected_query


def switched(config: RecallConfig, switch: str) -> tuple[RecallConfig, bool]:
    """The configuration with one switch turned over, and whether it was on in `config`."""
    if switch == SPELLING:
        return replace(config, query=replace(config.query, spelling=not config.query.spelling)), config.query.spelling
    rules = config.planner.rules
    on = switch in rules
    turned = tuple(rule for rule in rules if rule != switch) if on else (*rules, switch)
    return replace(config, planner=replace(config.planner, rules=turned)), on


def run(
    data_path: str | Path,
    console: Console,
    *,
    dataset: str | Sequence[str] = "locomo",
    everything: bool = False,
    limit: int | None = None,
    json_path: str | Path | None = None,
) -> tuple[RulesReport, ...]:
    """Ask every question under every configuration, print the tables, and write the report if asked.

    Args:
        data_path: the file or folder with the data (see `benchmarks.datasets`).
        console: where tables and progress go.
        dataset: one or several of `datasets.loading.DATASETS`.
        everything: every data set that the folder has, instead.
        limit: ask at most this many questions of each, spread evenly over the data set. Default: all.
        json_path: file for the report.

    Raises:
        InvalidArgument: an unknown data set, bad data, a limit under 1, a report that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    extras.check(extras.METRICS)
    output = checked_output(json_path)
    missing: list[str] = []
    if everything:
        there, missing = kinds.found(data_path)
        names = list(there)
    else:
        names = [dataset] if isinstance(dataset, str) else list(dict.fromkeys(dataset))
    for name in missing:
        console.print(f"{name}: not in {data_path}")
    loaded = [load(data_path, name) for name in names]  # a bad file is found before the long run
    reports = []
    by_kind: dict[str, list[plans.Asked]] = {}
    for data in loaded:
        report = measure(data, console, limit=limit)
        show(report, console)
        reports.append(report)
        by_kind.setdefault(plans.title(data.name), []).extend(report.asked)
    lines = plans.lines(by_kind)
    plans.show(lines, console)
    payload = {
        "format": 2,
        "datasets": {report.dataset: report.as_dict() for report in reports},
        "plans": [line.as_dict() for line in lines],
        "missing": missing,
        "environment": {"config": RecallConfig().fingerprint, **environment()},
    }
    write_report(output, payload, console)
    return tuple(reports)


def measure(
    data: EvaluationData, console: Console, *, limit: int | None = None, switches: Sequence[str] = SWITCHES
) -> RulesReport:
    """The default configuration against each switch turned over, and against the balanced plan, on one store.

    Raises:
        InvalidArgument: no question has a gold id, or `limit` is under 1.
        MissingExtra: a package of the `bench` extra is missing.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    base = RecallConfig()
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=base))
        optimizers: dict[str, QueryOptimizer] = {BASE: QueryOptimizer(store, config=base)}
        optimizers |= {switch: QueryOptimizer(store, config=switched(base, switch)[0]) for switch in switches}
        optimizers[plans.BALANCED] = plans.balanced(store, config=plans.unfiltered(base))
        optimizers[plans.SAME_FILTERS] = plans.balanced(store, config=base)
        systems = []
        for name, optimizer in optimizers.items():
            system = SwitchedSystem(name, optimizer, fills=name == BASE)
            stack.callback(system.close)
            systems.append(system)
        compared = comparison.compare(data, systems, console, k=K, limit=limit)
    asked = {system.name: system.asked for system in systems}
    return RulesReport(
        dataset=data.name,
        questions=len(compared.questions),
        base=_means(compared, BASE),
        effects=tuple(effect(compared, asked, switch, default=switched(base, switch)[1]) for switch in switches),
        degraded=sum(bool(a.degraded) for answers in compared.answers.values() for a in answers.values()),
        asked=_by_plan(compared),
    )


def _by_plan(compared: QualityReport) -> tuple[plans.Asked, ...]:
    """Every question under its plan and under the balanced one."""
    scores, balanced = compared.scores, compared.answers[plans.BALANCED]
    return tuple(
        plans.Asked(
            question=f"{compared.dataset}/{q}",
            plan=answer.plan,
            chosen=scores[BASE][q][plans.METRIC],
            balanced=scores[plans.BALANCED][q][plans.METRIC],
            same_filters=scores[plans.SAME_FILTERS][q][plans.METRIC],
            moved=answer.ids[:K] != balanced[q].ids[:K],
        )
        for q, answer in compared.answers[BASE].items()
    )


def effect(compared: QualityReport, asked: Mapping[str, Mapping[str, object]], switch: str, *, default: bool) -> Effect:
    """What a switch did.

    Args:
        compared: the answers under `BASE` and under the name of the switch, which stands for it turned over.
        asked: configuration → question id → how it was asked.
        switch: its name.
        default: whether it is on under `BASE`.
    """
    base, other = compared.answers[BASE], compared.answers[switch]
    differently = {q for q in base if asked[BASE][q] != asked[switch][q]}
    moved = {q for q in base if base[q].ids[:K] != other[q].ids[:K]}
    having, lacking = (BASE, switch) if default else (switch, BASE)
    changed = differently | moved
    return Effect(
        switch=switch,
        default=default,
        asked=len(differently),
        answered=len(moved),
        without=_means(compared, lacking),
        gain=_gains(compared, having, lacking, base.keys()),
        changed=len(changed),
        changed_gain=_gains(compared, having, lacking, changed),
    )


def _means(compared: QualityReport, name: str) -> dict[str, float]:
    values = average(compared.scores[name].values()).values
    return {metric: values[metric] for metric in METRICS}


def _gains(compared: QualityReport, having: str, lacking: str, questions: AbstractSet[str]) -> dict[str, Interval]:
    if not questions:
        return {}
    one, other = ({q: row for q, row in compared.scores[name].items() if q in questions} for name in (having, lacking))
    return {metric: paired_difference(one, other, metric) for metric in METRICS}


def show(report: RulesReport, console: Console) -> None:
    """Print the table."""
    means = ", ".join(f"{metric} {value:.3f}" for metric, value in report.base.items())
    title = f"{report.dataset}: {report.questions:,} questions; default {means}"
    table = compact_table(title)
    table.add_column("rule", no_wrap=True)
    for column in ("asked", "moved", *METRICS):
        table.add_column(column, justify="right", no_wrap=True)
    for e in report.effects:
        name = e.switch if e.default else f"{e.switch} *"
        gains = [interval(e.gain[metric]) for metric in METRICS]
        table.add_row(name, f"{e.asked:,}", f"{e.answered:,}", *gains)
        if e.changed_gain:
            changed = [interval(e.changed_gain[metric]) for metric in METRICS]
            table.add_row(f"  of {e.changed:,} changed", "", "", *changed, style="dim")
    console.print(table)
    console.print(
        "Gain: with minus without the rule, and 95 % bootstrap interval. asked: questions asked differently; moved: "
        "with another top ten; changed: either. * off by default."
    )
    console.print(f"Degraded results: {report.degraded:,}")
