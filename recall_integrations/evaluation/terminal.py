"""What reports show on a terminal, in one style."""

from __future__ import annotations

from rich.box import SIMPLE
from rich.table import Table


def compact_table(title: str) -> Table:
    """A table without a frame, for figures that need the width; its columns are to be added."""
    return Table(title=title, title_justify="left", box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
