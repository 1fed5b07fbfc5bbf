"""Reports: tables for a terminal of 100 columns, files, whose path is checked before the work, and comparisons of two.

The console prints the tables, `.table()` gives their text. Differences between two evaluations (`recall eval --against
REPORT`) are of the same questions (paired), with bootstrap intervals.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.evaluation import LABELS, Evaluation, Worst
from recall_integrations.evaluation.metrics import OVERALL, Interval, chance, deviation, intervals, labels_needed
from recall_integrations.evaluation.questions import read_text
from recall_integrations.text.shortening import number_of, plain


def compact_table(title: str) -> Table:
    """Return a table without a frame, for figures that need the width; the caller adds its columns."""
    return Table(title=title, title_justify="left", box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0))


WIDTH = 100
HEADS = {"recall": "R", "precision": "P", "ndcg": "nDCG", "mrr": "MRR", "hit": "hit"}
WORST_SHOWN, CAME_SHOWN, TEXT_SHOWN = 3, 3, 90
FEW = 30  # questions, below which a bootstrap has seen too little to say how sure a mean is


def text_of(parts: Iterable[RenderableType]) -> str:
    """Return the text that a terminal would show, without colours."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        color_system=None,
        force_jupyter=False,  # in a notebook it would show itself, and leave the text empty
    )
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def head(name: str) -> str:
    """Return the heading of a figure: `R@5` for `recall@5`; the cut of MRR is left out."""
    kind, _, cut = name.partition("@")
    return HEADS.get(kind, kind) if kind == "mrr" else f"{HEADS.get(kind, kind)}@{cut}"


def of_evaluation(found: Evaluation) -> list[RenderableType]:
    """Return the parts that `recall eval` shows."""
    parts = _averages(found)
    ms = found.latency
    parts.append(f"Latency: p50 {ms.p50:.1f} ms, p95 {ms.p95:.1f} ms of {number_of(ms.recalls, 'recall')}")
    parts.append(f"Scores are off by {found.calibration_error:.3f} on the average (expected calibration error)")
    if found.judge != LABELS:
        parts.append(Text(f"Relevant is what {plain(found.judge, 60)} says of the hits"))
    if found.questions < FEW:
        parts.append(f"Fewer than {FEW} questions: intervals are narrower than they should be. Label more.")
    if found.reranked or found.rewritten:
        parts.append(f"Recalls that were reranked: {found.reranked:,}; with phrasings of an LLM: {found.rewritten:,}")
    parts += [Text(line) for line in left_out(found)]
    if found.worst:
        parts.append(Text(f"\nWorst {min(WORST_SHOWN, len(found.worst))} of {len(found.worst)} in the report:"))
        parts += [_worst(one) for one in found.worst[:WORST_SHOWN]]
    return parts


def left_out(found: Evaluation) -> list[str]:
    """Return a line for each kind of label, question, line or step that was left out, with their number."""
    lines = []
    gone = sum(map(len, found.missing.values()))
    if gone:
        first = next(iter(found.missing.values()))[0]
        lines.append(f"Labels that name no memory of their scope, left out: {gone:,} (such as {plain(first, 60)!r})")
    if found.unanswerable:
        some = ", ".join(plain(one, 40) for one in found.unanswerable[:5])
        lines.append(f"Questions without any label in the store, not asked: {len(found.unanswerable):,} ({some})")
    if found.unwritten or found.unlabelled:
        lines.append(f"Lines without a query: {found.unwritten:,}; without a relevant id: {found.unlabelled:,}")
    if found.degraded:
        said = ", ".join(f"{reason} {count}" for reason, count in found.degraded.items())
        lines.append(f"Recalls in which something was left out: {said}")
    return lines


def _averages(found: Evaluation) -> list[RenderableType]:
    overall = next(iter(found.averages.values()))
    table = compact_table(f"{number_of(found.questions, 'question')}, k = {found.k}")
    for name in ("", "mean", "95 % interval"):
        table.add_column(name, justify="right" if name else "left")
    for name, one in overall.items():
        table.add_row(head(name), f"{one.mean:.3f}", f"{one.low:.3f} to {one.high:.3f}")
    if len(found.averages) == 1:
        return [table]
    groups = compact_table("By group")
    groups.add_column("", overflow="fold")
    for name in ("asked", *map(head, overall)):
        groups.add_column(name, justify="right")
    for group, row in found.averages.items():
        groups.add_row(plain(group, 24), f"{found.sizes[group]:,}", *(f"{one.mean:.3f}" for one in row.values()))
    return [table, groups]


def _worst(one: Worst) -> Text:
    lines = [f"  {plain(one.id, 40)} [{one.plan}] {plain(one.query, TEXT_SHOWN)}"]
    for wanted in one.expected[:CAME_SHOWN]:
        place = "not found" if wanted.place is None else f"at {wanted.place}"
        lines.append(f"    expected {place}: {plain(wanted.id, 40)}  {plain(wanted.text, TEXT_SHOWN)}")
    for rank, hit in enumerate(one.came[:CAME_SHOWN], start=1):
        sign = "+" if hit.relevant else "-"
        lines.append(f"    {rank} {sign} {hit.score:.2f} {plain(hit.id, 40)}  {plain(hit.text, TEXT_SHOWN)}")
        if hit.reason:
            lines.append(f"        {plain(hit.reason, TEXT_SHOWN)}")
    return Text("\n".join(lines))


def of_comparison(found: Comparison) -> list[RenderableType]:
    """Return the parts that `recall eval --against` shows below its own."""
    on = number_of(found.questions, "question")
    table = compact_table(f"Minus the report before, on {on} (95 % of a paired bootstrap)")
    for name in ("figure", "change", "", "chance"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for name, one in found.changes.items():
        change = f"{one.mean:+.3f} ({one.low:+.3f} {one.high:+.3f})"
        table.add_row(head(name), change, found.verdict(name), f"{found.chances[name]:.3f}")
    parts: list[RenderableType] = [
        table,
        f"Answers that moved: {found.moved:,}. Time of a recall: {found.ms.mean:+.1f} ms",
    ]
    if found.labels_needed:
        needed = ", ".join(f"{effect:g}: {count:,}" for effect, count in found.labels_needed.items())
        parts.append(f"Questions that would show a change of {head(list(found.changes)[-2])} of {needed}")
    return parts


def checked_output(path: str | Path | None) -> Path | None:
    """Check the path of a report before the long run that ends in writing it; return the path."""
    if path is None:
        return None
    file = Path(path)
    if file.is_dir():
        raise InvalidArgument(f"{file} is a folder. Give the name of a file in it.")
    if not file.parent.is_dir():
        raise InvalidArgument(f"The folder {file.parent} does not exist. Make it first.")
    return file


SURE = 0.05  # chance below which a difference is one
EFFECTS = (0.05, 0.02, 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An evaluation minus an earlier one, on the questions that both asked.

    Args:
        questions: that both asked.
        changes: figure → mean change with its 95 % interval.
        chances: figure → share of random signs that give as large a change.
        ms: change of the time of a recall.
        moved: questions that were answered with other ids, or in another order.
        labels_needed: change of the last figure but one → questions that would show it.
    """

    questions: int
    changes: Mapping[str, Interval]
    chances: Mapping[str, float]
    ms: Interval
    moved: int
    labels_needed: Mapping[float, int]

    def verdict(self, figure: str) -> str:
        """Return `better` or `worse` if the interval excludes 0 and the test of signs agrees; else `not told apart`."""
        one = self.changes[figure]
        if self.chances[figure] > SURE or one.low <= 0 <= one.high:
            return "not told apart"
        return "better" if one.mean > 0 else "worse"

    def table(self) -> str:
        """Return the table as text, for a terminal or a notebook."""
        return text_of(of_comparison(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return {**asdict(self), "verdicts": {figure: self.verdict(figure) for figure in self.changes}}


def compare(before: Evaluation | Mapping[str, Any], after: Evaluation | Mapping[str, Any], seed: int = 0) -> Comparison:
    """Compare two evaluations, or their reports as `Evaluation.as_dict` makes them.

    Raises:
        InvalidArgument: one of them is no report, or they share no question, or have other figures.
    """
    first, second = map(_report, (before, after))
    shared = [one for one in first["answers"] if one in second["answers"]]
    shown, others = ([name for name in one["averages"][OVERALL] if "@" in name] for one in (first, second))
    if not shared or shown != others:
        raise InvalidArgument("The reports share no question, or have other figures. Ask the same, with the same k.")
    pairs = [(first["answers"][one], second["answers"][one]) for one in shared]
    gaps = np.asarray([[b[name] - a[name] for name in shown] for a, b in pairs], dtype=np.float64)
    spread = deviation(gaps[:, -2].tolist())
    return Comparison(
        questions=len(shared),
        changes=dict(zip(shown, intervals(gaps, seed=seed), strict=True)),
        chances={name: chance(gaps[:, i].tolist(), seed=seed) for i, name in enumerate(shown)},
        ms=intervals(np.asarray([[b["ms"] - a["ms"]] for a, b in pairs]), seed=seed)[0],
        moved=sum(a["ids"] != b["ids"] for a, b in pairs),
        labels_needed={effect: labels_needed(spread, effect) for effect in EFFECTS} if spread else {},
    )


def _report(given: Evaluation | Mapping[str, Any]) -> Mapping[str, Any]:
    return given.as_dict() if isinstance(given, Evaluation) else given


def read_report(path: str | Path) -> Mapping[str, Any]:
    """Read a report that `recall eval --json` wrote."""
    try:
        found = json.loads(read_text(Path(path)))
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{path} is not JSON: {e}") from e
    if not isinstance(found, dict) or not {"answers", "averages"} <= found.keys():
        raise InvalidArgument(f"{path} is no report of `recall eval --json`.")
    return found
