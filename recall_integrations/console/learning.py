"""Output of `recall learn`, `recall feedback` and `recall train`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import yaml
from rich import box
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.console.rendering import pairs
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.tables import change
from recall_integrations.indexes.times import from_micros
from recall_integrations.learning.as_data import named
from recall_integrations.learning.learner import Status, Step
from recall_integrations.learning.shelf import Event, State
from recall_integrations.text.one_line import plain
from recall_integrations.training.calibration import MIN_OUTCOMES
from recall_integrations.training.learn import MIN_QUERIES, Learned
from recall_integrations.types import Scope
from recall_integrations.types.feedback import Feedback
from recall_integrations.types.judged import RULES

EVENTS_SHOWN = 5
SIGNATURES_SHOWN = 5
STEPS = {
    "started": "on trial",
    "promoted": "promoted",
    "rolled_back": "rolled back",
    "extended": "tried for longer",
    "nothing": "nothing better",
    "skipped": "not now",
}
PARTS = {"steps": "weight of", "arms": "arm", "plans": "plan for"}


def show_status(console: Console, every: Sequence[Status], config: RecallConfig) -> None:
    """Print a block for each scope, then how to go on."""
    zone = ZoneInfo(config.timezone)
    for i, status in enumerate(every):
        if i:
            console.print()
        console.print(Text(plain(named(status.scope)) if status.scope else "shared by all scopes", style="bold"))
        _show_one(console, status, config, zone)
    if not any(status.judged for status in every):
        console.print(Text("\nNo recall was judged yet. Say which memories helped: recall feedback STORE --query …"))
    if config.mode != "learned":
        said = f"\nmode is {config.mode} in these settings: rules answer, whatever was learned. mode: learned lets it."
        console.print(Text(said, style="yellow"))


def _show_one(console: Console, status: Status, config: RecallConfig, zone: ZoneInfo) -> None:
    state = status.state
    grid = pairs()
    for label, words in _standing(state, config, zone):
        grid.add_row(label, Text(words))
    if status.scope is not None:
        need = config.learned.min_queries_per_signature
        usable = f"{status.replayed:,} can be learned from" + (f", {need:,} are needed" * (status.replayed < need))
        grid.add_row("judged", Text(f"{status.judged:,} recalls: in {status.helpful:,} something helped, {usable}"))
    for label, (value, count) in sorted(status.ndcg.items(), key=lambda one: (one[0] != RULES, one[0])):
        grid.add_row(f"nDCG@5 {label}", Text(f"{value:.3f} on {count:,}"))
    if status.ndcg_by_plan:
        words = ", ".join(f"{plan} {value:.3f}" for plan, value in status.ndcg_by_plan.items())
        grid.add_row("nDCG@5 by plan", Text(words))
    if status.signatures:
        most = list(status.signatures.items())[:SIGNATURES_SHOWN]
        more = len(status.signatures) - len(most)
        words = "; ".join(f"{name}: {count:,}" for name, count in most) + (f"; {more} more" if more else "")
        grid.add_row("queries", Text(words))
    for i, event in enumerate(reversed(state.events[-EVENTS_SHOWN:])):
        grid.add_row("" if i else "last steps", Text(_event(event, zone)))
    console.print(grid)


def _standing(state: State, config: RecallConfig, zone: ZoneInfo) -> list[tuple[str, str]]:
    """Return rows that describe the serving version and the version on trial."""
    since = f" since {_day(state.since, zone)}" if state.since else ""
    serving = "rules and shipped weights" if state.serving == RULES else state.serving
    rows = [("serves", serving if state.candidate else serving + since)]
    if state.candidate:
        share = config.learned.traffic_fraction_for_new_weights
        rows.append(("on trial", f"{state.candidate}{since}, answers {share:.0%} of the queries"))
    if state.held_back:
        rows.append(("held back", "taken back by hand: nothing is learned until a version is promoted"))
    return rows


def _event(event: Event, zone: ZoneInfo) -> str:
    what = " ".join(part for part in (event.version, STEPS.get(event.step, event.step)) if part)
    return f"{_day(event.at, zone)}  {plain(what)}: {plain(event.because)}"


def show_steps(console: Console, steps: Sequence[Step]) -> None:
    """Print the steps of a run, a row for each scope."""
    if not steps:
        console.print(Text("No recall was judged yet: there is nothing to learn from."))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("scope", "what", "version", "judged", "because"):
        table.add_column(title, justify="right" if title == "judged" else "left", overflow="fold")
    for step in steps:
        table.add_row(
            Text(plain(named(step.scope))),
            Text(STEPS.get(step.step, step.step)),
            step.version or "-",
            f"{step.judged:,}",
            Text(plain(step.because)),
        )
    console.print(table)


def show_difference(
    console: Console, rows: Iterable[tuple[str, object, object]], old: str, new: str, undo: str
) -> None:
    """Print the differences between two versions, the largest first, and how to undo the change."""
    found = list(rows)
    if not found:
        console.print(Text(f"{old} and {new} are the same."))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("what", old, new, "change"):
        table.add_column(plain(title), justify="left" if title == "what" else "right")
    for what, before, after in found:
        part, _, name = what.partition(".")
        changed = f"{after - before:+.3f}" if isinstance(before, float) and isinstance(after, float) else ""
        table.add_row(Text(f"{PARTS.get(part, part)} {plain(name)}"), _value(before), _value(after), changed)
    console.print(table)
    console.print(Text("\nWeights are steps from the shipped ones, of arms factors of what plans give them."))
    console.print(Text(f"To take back what is tried, or else what serves: {undo}"))


def show_state(console: Console, scope: Scope | None, state: State, undo: str, *, config: RecallConfig) -> None:
    """Print the state after a step by hand."""
    of = "For scopes that have learned nothing themselves" if scope is None else f"In {plain(named(scope))}"
    console.print(Text(f"{of}, from the next recall on:"))
    grid = pairs()
    for label, words in _standing(state, config, ZoneInfo(config.timezone)):
        grid.add_row(label, Text(words))
    console.print(grid)
    console.print(Text(f"To undo it: {undo}"), soft_wrap=True)  # a command that is copied is one line


def show_feedback(console: Console, feedback: Feedback) -> None:
    """Print the feedback that was kept, and the ids that were ignored."""
    for scope, of_ids in feedback.gains.items():
        for memory_id, gain in of_ids.items():
            said = "helped" if gain == 1 else "did not help" if gain == 0 else f"helped by {gain:.2f}"
            console.print(Text(f"{plain(memory_id)} {said} ({plain(scope_text(scope))})"))
    if feedback.ignored:
        ids = ", ".join(plain(one) for one in feedback.ignored)
        console.print(Text(f"Not there, and left out: {ids}", style="yellow"))
    if not feedback:
        console.print(Text("Nothing is kept: none of it is about a memory that is there."))


def _value(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else plain(str(value))


def _day(micros: int, zone: ZoneInfo) -> str:
    moment: datetime = from_micros(micros).astimezone(zone)
    return f"{moment:%Y-%m-%d %H:%M}"


FEW = 10 * MIN_QUERIES
KEEP = "Keep the default, ranking.strategy: fixed_weights"


def show_training(learned: Learned, console: Console) -> None:
    """Print the queries, and both rankers' figures on queries that the learned ranker had not seen."""
    console.print(
        f"{learned.queries:,} queries, {learned.usable:,} with a relevant candidate; {learned.folds} folds by "
        f"{learned.grouped_by}"
    )
    table = Table(box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    for head in ("fixed weights", learned.ranker.name, "difference (95 %)"):
        table.add_column(head, justify="right", no_wrap=True)
    for metric, gap in learned.gain.items():
        table.add_row(metric, f"{learned.fixed_weights[metric]:.3f}", f"{learned.learned[metric]:.3f}", change(gap))
    console.print(table)
    console.print(probabilities(learned))


def probabilities(learned: Learned) -> str:
    """Return whether the ranker's scores are probabilities, and how far they are off."""
    held = learned.calibration
    if held is None:
        return (
            f"Fewer than {MIN_OUTCOMES} queries have a relevant candidate, too few to calibrate: scores and confidence "
            "order, and are no probabilities."
        )
    off = f"Expected calibration error: {held.score_error:.3f} of scores, {held.confidence_error:.3f} of the confidence"
    if held.auroc is None:
        return f"{off}. Queries without an answer were not seen (one scope): leave ranking.abstain_below at 0."
    return f"{off}. AUROC of the confidence, own against wrong scope: {held.auroc:.3f}."


def warnings(learned: Learned) -> list[str]:
    """Return the reasons against using the weights."""
    found = []
    if learned.unanswerable or learned.forgotten:
        found.append(
            f"{learned.forgotten:,} labels name no memory of their scope; {learned.unanswerable:,} queries had no "
            "other label and were left out."
        )
    gap = learned.gain["ndcg@10"]
    if not learned.better:
        how = "not better" if gap.mean <= 0 else "not proven to be better: the interval of nDCG@10 reaches below 0"
        more = f" More than {FEW:,} labelled queries would tell more." if learned.queries < FEW else ""
        found.append(f"The {learned.ranker.name} ranker is {how}. {KEEP}.{more}")
    return found


def write(learned: Learned, path: Path) -> None:
    """Write the weights."""
    try:
        path.write_text(learned.ranker.to_json(), encoding="utf-8")
    except OSError as e:
        raise InvalidArgument(f"Cannot write the weights {path}: {e.strerror or e}.") from e


def usage(learned: Learned, path: Path) -> str:
    """Return the part of a configuration file that uses the weights."""
    ranking = {"strategy": learned.ranker.name, "weights": str(path)}
    return str(
        yaml.safe_dump({"recall": {"ranking": ranking}}, sort_keys=False, allow_unicode=True, width=1_000)
    ).strip()
