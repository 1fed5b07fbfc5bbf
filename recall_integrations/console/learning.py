"""Output of `recall learn` and `recall feedback`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.console.rendering import pairs
from recall_integrations.indexes.times import from_micros
from recall_integrations.learning.learner import Status, Step
from recall_integrations.learning.versions import Event, State
from recall_integrations.text.shortening import number_of, plain
from recall_integrations.types import Scope
from recall_integrations.types.judged import RULES
from recall_integrations.types.observing import Feedback

EVENTS_SHOWN = 5
SIGNATURES_SHOWN = 5
STEPS = {
    "started": "on trial",
    "promoted": "promoted",
    "rolled_back": "rolled back",
    "nothing": "nothing better",
    "skipped": "not now",
}


def show_status(console: Console, every: Sequence[Status], config: RecallConfig) -> None:
    """Print a block for each scope, then how to go on."""
    zone = ZoneInfo(config.timezone)
    for i, status in enumerate(every):
        if i:
            console.print()
        console.print(Text(plain(scope_text(status.scope)), style="bold"))
        _show_one(console, status, config, zone)
    if not any(status.judged for status in every):
        console.print(Text("No recall was judged yet. Say which memories helped: recall feedback STORE --query …"))
    if config.mode != "learned":
        said = f"\nmode is {config.mode} in these settings: rules answer, whatever was learned. mode: learned lets it."
        console.print(Text(said, style="yellow"))


def _show_one(console: Console, status: Status, config: RecallConfig, zone: ZoneInfo) -> None:
    state = status.state
    grid = pairs(_standing(state, config, zone))
    need = config.learned.min_queries_per_signature
    judged = number_of(status.judged, "recall")
    usable = f"{status.replayed:,} can be learned from" + (f", {need:,} are needed" * (status.replayed < need))
    grid.add_row("judged", Text(f"{judged}: in {status.helpful:,} something helped, {usable}"))
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
            Text(plain(scope_text(step.scope))),
            Text(STEPS.get(step.step, step.step)),
            step.version or "-",
            f"{step.judged:,}",
            Text(plain(step.because)),
        )
    console.print(table)


def show_state(console: Console, scope: Scope, state: State, undo: str, *, config: RecallConfig) -> None:
    """Print the state after a step by hand."""
    console.print(Text(f"In {plain(scope_text(scope))}, from the next recall on:"))
    console.print(pairs(_standing(state, config, ZoneInfo(config.timezone))))
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


def _day(micros: int, zone: ZoneInfo) -> str:
    moment: datetime = from_micros(micros).astimezone(zone)
    return f"{moment:%Y-%m-%d %H:%M}"
