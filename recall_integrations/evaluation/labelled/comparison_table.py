"""A comparison as tables for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from recall_integrations.evaluation.labelled.comparison import Comparison
from recall_integrations.evaluation.labelled.tables import change, head
from recall_integrations.evaluation.terminal import compact_table
from recall_integrations.text.one_line import plain

NAME = 24


def of_comparison(found: Comparison) -> list[RenderableType]:
    """Return the parts that `recall ab` shows."""
    first = found.compared[0].name
    means = compact_table(f"{found.questions:,} questions, k = {found.k}, relevant by {plain(found.judge, NAME)}")
    means.add_column("")
    for name in (*map(head, found.figures), "p50 ms", "p95 ms", "reranked", "rewritten"):
        means.add_column(name, justify="right")
    for one in found.compared:
        row = [f"{one.averages[figure].mean:.3f}" for figure in found.figures]
        row += [f"{one.latency.p50:.1f}", f"{one.latency.p95:.1f}", f"{one.reranked:,}", f"{one.rewritten:,}"]
        means.add_row(plain(f"{one.name} {one.title}".strip(), NAME), *row)
    parts: list[RenderableType] = [means]
    if found.differences:
        changes = compact_table(f"Minus {plain(first, NAME)} (95 % of a paired bootstrap)")
        for name in ("", "figure", "change", "", "chance", "moved", "ms"):
            changes.add_column(name, justify="left" if name in ("", "figure") else "right")
        for each in found.differences:
            for i, figure in enumerate(found.figures):
                start = (plain(each.name, NAME), f"{each.moved:,}", f"{each.ms.mean:+.1f}") if not i else ("", "", "")
                changes.add_row(
                    start[0], head(figure), change(each.changes[figure]), each.verdict(figure),
                    f"{each.chances[figure]:.3f}", *start[1:],
                )  # fmt: skip
        parts.append(changes)
    parts += [Text(f"{plain(name, 40)}: not asked. {why}") for name, why in found.skipped.items()]
    parts += [Text(one) for one in found.notes]
    parts += [Text(f"Warning: {one}", style="yellow") for one in found.warnings]
    if found.missing:
        gone, lost = sum(map(len, found.missing.values())), len(found.unanswerable)
        parts.append(f"Labels that name no memory of their scope: {gone:,}; questions not asked for that: {lost:,}")
    for each in found.differences:
        if each.labels_needed:
            needed = ", ".join(f"{effect:g}: {count:,}" for effect, count in each.labels_needed.items())
            last = head(found.figures[-2])
            parts.append(Text(f"Questions that would show a change of {last} by {plain(each.name, NAME)} of {needed}"))
    return parts
