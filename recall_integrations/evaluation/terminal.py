"""What the benchmarks show on a terminal, in one style."""

from __future__ import annotations

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


def compact_table(title: str) -> Table:
    """A table without a frame, for figures that need the width; its columns are to be added."""
    return Table(title=title, title_justify="left", box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0))


def progress(console: Console) -> Progress:
    """Bars that count, and leave nothing behind; none where nobody watches."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
