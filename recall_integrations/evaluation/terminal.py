"""The one style of tables in reports on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE
from rich.table import Table


def compact_table(title: str) -> Table:
    """Return a table without a frame, for figures that need the width; the caller adds its columns."""
    return Table(title=title, title_justify="left", box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
