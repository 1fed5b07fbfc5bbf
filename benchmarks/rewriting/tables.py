"""What a run found, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.text import Text

from benchmarks.quality.tables import interval
from benchmarks.rewriting import thresholds
from benchmarks.rewriting.measuring import METRICS
from benchmarks.rewriting.thresholds import Groups, LeftOut, Step
from benchmarks.rewriting.writers import GOOD
from recall_integrations.evaluation.reports import compact_table

RECALL, NDCG, FIRST = METRICS
MEAN = "mean of kinds"


def show_kinds(groups: Groups, titles: Mapping[str, str], console: Console) -> None:
    """A block for each kind, and one for their mean: without a rewriter, and with each."""
    table = compact_table("Without a rewriter; with one minus without (95 % interval)")
    table.add_column("kind, rewriter", no_wrap=True)
    for column in ("asked", "used", "recall@5", "first", "+ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for kind, own in groups.items():
        _block(titles[kind], {kind: own}, table.add_row)
        if paraphrased := [m.paraphrased for m in own if m.paraphrases]:
            _block("its paraphrases", {kind: paraphrased}, table.add_row)
    if len(groups) > 1:
        table.add_section()
        _block(MEAN, groups, table.add_row)
    console.print(table)
    console.print(
        "asked, used: share of the questions about which the model was asked, and for which its phrasings were "
        "searched for. first: share of relevant first hits. +ms: median of what a recall that asked took more; the "
        "model itself takes none. "
        f"{GOOD}: written from the labels' own words, an upper bound that no model reaches."
    )


def _block(title: str, groups: Groups, add: Callable[..., None]) -> None:
    parts = thresholds.weighed(groups)
    none = {metric: thresholds.plain(groups, metric) for metric in METRICS}
    add(Text(title, style="bold"), "", "", *(f"{none[metric]:.3f}" for metric in (RECALL, FIRST)), "")
    for name, means in thresholds.step(groups, 1.0).changes.items():
        gap = thresholds.difference(groups, name, RECALL)
        asked, used = (sum(w * m.share(name, field) for w, m in parts) for field in ("asked", "used"))
        extra = [ms for _, m in parts for ms in m.extra_ms(name)]
        add(
            f"  {name}",
            f"{asked:.0%}",
            f"{used:.0%}",
            interval(gap),
            f"{means[FIRST]:+.3f}",
            f"{np.median(extra):.1f}" if extra else "",
        )


def show_thresholds(found: Sequence[Step], kinds: Sequence[str], console: Console) -> None:
    """What each threshold gains and loses, over kinds that may be fitted on."""
    names = list(found[0].changes)
    table = compact_table("Asked below a confidence of the first answer: recall@5, with minus without")
    table.min_width = 76
    table.add_column("below", no_wrap=True)
    for column in ("asked", *names, f"{GOOD} nDCG", "value"):
        table.add_column(column, justify="right", no_wrap=True)
    best = thresholds.chosen(found)
    for one in found:
        means = [f"{one.changes[name][RECALL]:+.3f}" for name in names]
        gain = one.changes[GOOD][NDCG] if GOOD in one.changes else 0.0
        below = f"{one.below:g}{' *' if one is best else ''}"
        table.add_row(below, f"{one.share:.0%}", *means, f"{gain:+.3f}", f"{one.value:+.3f}")
    console.print(table)
    console.print(f"Mean of {', '.join(kinds)}; each counts the same. * the least that has 95 % of the greatest value.")


def show_left_out(found: Sequence[LeftOut], console: Console) -> None:
    """Each kind at the threshold that the others choose, and asked always."""
    if not found:
        return
    names = list(found[0].chosen.changes)
    table = compact_table("Each kind at the threshold that the other kinds choose, and asked always")
    table.add_column("kind", no_wrap=True)
    for column in ("below", "asked", *names):
        table.add_column(column, justify="right", no_wrap=True)
    for one in found:
        table.add_row(one.kind, f"{one.chosen.below:g}", *_line(one.chosen, names))
        table.add_row("", "always", *_line(one.always, names), style="dim")
    console.print(table)


def _line(one: Step, names: Sequence[str]) -> list[str]:
    return [f"{one.share:.0%}", *(f"{one.changes[name][RECALL]:+.3f}" for name in names)]
