"""`recall train` on a terminal: what was learned, whether it helps, and how to use it."""

from __future__ import annotations

from pathlib import Path

import yaml
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.tables import change
from recall_integrations.training.calibration import MIN_OUTCOMES
from recall_integrations.training.learn import MIN_QUERIES, Learned

FEW = 10 * MIN_QUERIES
KEEP = "Keep the default, ranking.strategy: fixed_weights"


def show(learned: Learned, console: Console) -> None:
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
