"""A tuning as tables for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from recall_integrations.evaluation.labelled.tables import change, head
from recall_integrations.evaluation.terminal import compact_table
from recall_integrations.evaluation.tuning.tune import Tuning

SHOWN = 8  # of the single settings


def of_tuning(found: Tuning) -> list[RenderableType]:
    """What `recall tune` shows."""
    figure = head(found.figure)
    table = compact_table(f"{found.questions:,} questions, {found.folds} folds by {found.grouped_by}")
    for name in ("", figure, "95 % interval"):
        table.add_column(name, justify="right" if name else "left")
    one = found.before
    table.add_row("now", f"{one.mean:.4f}", f"{one.low:.4f} to {one.high:.4f}")
    for name, gain in (("gain where it was searched", found.in_fold), ("gain on other questions", found.out_of_fold)):
        table.add_row(name, f"{gain.mean:+.4f}", f"{gain.low:+.4f} to {gain.high:+.4f}")
    parts: list[RenderableType] = [table, Text(found.reason)]
    if found.moved:
        moved = compact_table("Settings that the search moved")
        for name in ("setting", "from", "to", "in folds"):
            moved.add_column(name)
        for each in found.moved:
            moved.add_row(each.name, str(each.before), str(each.after), f"{each.folds} of {found.folds}")
        parts.append(moved)
    singles = compact_table(f"Single settings on all questions, the best {min(SHOWN, len(found.tried))} (no proof)")
    for name in ("setting", "to", f"{figure} (95 %)", "moved"):
        singles.add_column(name, justify="left" if name in ("setting", "to") else "right")
    for row in found.tried[:SHOWN]:
        singles.add_row(row.name, str(row.value), change(row.gain), f"{row.moved:,}")
    parts.append(singles)
    if not found.complete:
        parts.append(Text(f"The time was over after {found.trials:,} trials; more minutes would try the rest."))
    if found.labels_needed:
        needed = ", ".join(f"{effect:g}: {count:,}" for effect, count in found.labels_needed.items())
        parts.append(Text(f"Questions that would show a gain of {needed}"))
    if found.missing:
        gone, lost = sum(map(len, found.missing.values())), len(found.unanswerable)
        parts.append(
            Text(f"Labels that name no memory of their scope: {gone:,}; questions not asked for that: {lost:,}")
        )
    return parts
