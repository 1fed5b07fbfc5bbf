"""What `redact` changes of memories, by kind, and microseconds a character: on these memories and on hostile texts.

Nobody labelled what is personal in the data sets: a count is an upper bound of the false alarms, and `--show` prints
what to look at. Times are of the processor, of texts redacted one by one in one thread.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console

from benchmarks.datasets.loading import load
from benchmarks.privacy.recalls import MODES, Cost, measured
from benchmarks.shared.reports import environment, write_report
from recall_integrations.evaluation.reports import checked_output, compact_table
from recall_integrations.privacy.redactor import Redactor, find
from recall_integrations.types import Memory

AROUND = 40  # characters shown on both sides
# Pieces that are repeated: what the recognisers look for, over and over, and never to an end.
HOSTILE = (
    *("1", "1 ", "1-", "12 ", "1234 ", "+", "+1 ", "@", "a@", "a@a.", "eyJ", "eyJ-", "-", "[[(", "(1", "_", "://"),
    *("a://b:", "a", "Aa ", "-----BEGIN PRIVATE KEY-----", "5551234567 ", "4111111111111111 ", "DE89", "call ", "::"),
    *("password: ", "sk-", "12 Oak ", "2024-", "10:30 ", "%40", "\u200b", "\uff11"),
)


@dataclass(frozen=True, slots=True)
class Alarms:
    """What was changed of one data set.

    Args:
        dataset: its name.
        memories: how many there are.
        changed: how many of them have a placeholder in any field.
        kinds: how many placeholders of each kind.
        us_per_char: microseconds for a character of a text.
        shown: (kind, what was replaced with what stands around it).
    """

    dataset: str
    memories: int
    changed: int
    kinds: dict[str, int]
    us_per_char: float
    shown: tuple[tuple[str, str], ...] = field(default=())


def run(
    path: Path,
    console: Console,
    *,
    datasets: Sequence[str],
    show: int = 0,
    chars: int = 100_000,
    recalls: int = 100,
    json_path: str | None = None,
) -> None:
    """Count, measure and print; `recall bench privacy`.

    Args:
        path: with the data sets in it.
        console: where tables go.
        datasets: their names.
        show: replacements of each kind that are printed.
        chars: length of each hostile text.
        recalls: questions of each data set that are asked in all modes; 0 = none.
        json_path: file for the report.

    Raises:
        InvalidArgument: an unknown data set, or one that cannot be read.
    """
    output = checked_output(json_path)
    loaded = [load(path, name) for name in datasets]
    found = [alarms(data.name, (m for c in data.collections for m in c.memories), show=show) for data in loaded]
    table = compact_table("Changed by redact")
    for heading in ("data", "memories", "changed", "in 1,000", "kinds", "µs a character"):
        table.add_column(heading, justify="left" if heading in ("data", "kinds") else "right")
    for row in found:
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(row.kinds.items()))
        rate = f"{1_000 * row.changed / max(1, row.memories):.2f}"
        table.add_row(
            row.dataset, f"{row.memories:,}", f"{row.changed:,}", rate, kinds or "none", f"{row.us_per_char:.2f}"
        )
    console.print(table)
    for row in found:
        for kind, sample in row.shown:
            console.print(f"{row.dataset}  {kind}  {sample}", markup=False, highlight=False)
    costs = dict(hostile(chars))
    table = compact_table(f"Hostile texts of {chars:,} characters, the slowest first")
    table.add_column("repeated")
    table.add_column("µs a character", justify="right")
    for piece, cost in sorted(costs.items(), key=lambda item: -item[1]):
        table.add_row(repr(piece), f"{cost:.2f}")
    console.print(table)
    asked = [measured(data, recalls) for data in loaded] if recalls else []
    _show_recalls(asked, console)
    report = {
        "alarms": [asdict(row) for row in found],
        "hostile": costs,
        "recalls": [asdict(row) for row in asked],
        "environment": environment(),
    }
    write_report(output, report, console)


def _show_recalls(costs: Sequence[Cost], console: Console) -> None:
    if not costs:
        return
    table = compact_table("A recall in each mode, processor milliseconds (median), and how much more than allow")
    table.add_column("data")
    for mode in MODES:
        table.add_column(mode, justify="right")
    for row in costs:
        cells = [f"{row.p50_ms[mode]:.2f} ({row.more[mode]:+.1%})" for mode in MODES]
        table.add_row(f"{row.dataset} ({row.recalls})", *cells)
    console.print(table)


def alarms(name: str, memories: Iterable[Memory], *, show: int = 0) -> Alarms:
    """Redact each memory by itself and count."""
    total = changed = chars = 0
    seconds = 0.0
    kinds: Counter[str] = Counter()
    shown: dict[str, list[str]] = {}
    for memory in memories:
        total += 1
        chars += len(memory.text)
        began = time.process_time()
        Redactor().text(memory.text)
        seconds += time.process_time() - began
        redactor = Redactor()
        redactor.memory(memory)
        changed += bool(redactor.counts)
        kinds.update(redactor.counts)
        if redactor.counts and show:
            for start, end, kind in find(memory.text):
                if len(samples := shown.setdefault(kind, [])) < show:
                    samples.append(_sample(memory.text, start, end))
    listed = tuple((kind, sample) for kind, samples in sorted(shown.items()) for sample in samples)
    return Alarms(name, total, changed, dict(kinds), seconds * 1e6 / max(1, chars), listed)


def _sample(text: str, start: int, end: int) -> str:
    around = text[max(0, start - AROUND) : start] + "»" + text[start:end] + "«" + text[end : end + AROUND]
    return around.replace("\n", " ")


def hostile(chars: int) -> Iterator[tuple[str, float]]:
    """Microseconds a character to redact each of `HOSTILE`, repeated to this length."""
    for piece in HOSTILE:
        text = (piece * (chars // len(piece) + 1))[:chars]
        began = time.process_time()
        find(text)
        yield piece, (time.process_time() - began) * 1e6 / chars
