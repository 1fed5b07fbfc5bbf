"""A query with its words marked by the part they play.

On a terminal with colours the words are highlighted. Elsewhere each is underlined with the sign of its role, and the
name of the role stands below it:

    what did Priya say about the deplyment yesterday, not the frontend?
    .... ... =====     ..... ... ????????? ~~~~~~~~~  xxxxxxxxxxxxxxxx
             entity              corrected time       negated
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recall_integrations.delivery.highlights import Mark, marks
from recall_integrations.text.one_line import plain
from recall_integrations.types import ParsedQuery
from recall_integrations.types.readings import CORRECTED, ENTITY, IDENTIFIER, NEGATED, RARE, ROLES, SESSION, STOP, TIME

QUERY_CHARS_SHOWN = 2_000
ITEMS_SHOWN = 12
LABEL_ROWS_MAX = 4  # labels that do not fit into these are left out; the sign above them still says what they are


class Look(NamedTuple):
    """The look of a role: the style of its words on a terminal, and the sign below them elsewhere."""

    style: str
    sign: str


# Words on a ground of their own can be read on dark and on light terminals.
LOOKS: dict[str, Look] = {
    ENTITY: Look("black on bright_cyan", "="),
    TIME: Look("black on bright_magenta", "~"),
    SESSION: Look("black on bright_blue", "+"),
    NEGATED: Look("black on bright_red", "x"),
    IDENTIFIER: Look("black on bright_green", "#"),
    CORRECTED: Look("black on bright_yellow", "?"),
    RARE: Look("bold underline", "*"),
    STOP: Look("dim", "."),
}


def show_query(console: Console, parsed: ParsedQuery) -> None:
    """Print the query with its words marked by role, and a legend of the roles that occur."""
    shown = "".join(plain(c) or " " for c in parsed.original[:QUERY_CHARS_SHOWN])
    found = [Mark(m.start, min(m.end, len(shown)), m.role) for m in marks(parsed) if m.start < len(shown)]
    coloured = console.color_system is not None and not console.no_color
    reordered = any(_right_to_left(c) for c in shown)  # a terminal may move its words: nothing can stand below them
    console.print()
    for start, end in _lines(shown, max(console.width - 2, 1)):
        line = Text(shown[start:end].rstrip())
        inside = [Mark(max(m.start, start), min(m.end, end), m.role) for m in found if m.start < end and m.end > start]
        if coloured:
            for m in inside:
                line.stylize(LOOKS[m.role].style, m.start - start, m.end - start)
        _print(console, line)
        if not coloured and not reordered:
            for below in _below(shown, start, inside):
                _print(console, Text(below, style="dim"))
    if len(parsed.original) > QUERY_CHARS_SHOWN:
        _print(console, Text(f"… and {len(parsed.original) - QUERY_CHARS_SHOWN:,} characters more", style="dim"))
    if reordered and not coloured:
        for role in ROLES:
            said = [shown[m.start : m.end] for m in found if m.role == role]
            if said and role != STOP:
                console.print(Text(f"  {role}: {some(said)}"))
    _show_legend(console, [role for role in LOOKS if any(m.role == role for m in found)], coloured)


def _show_legend(console: Console, roles: Sequence[str], coloured: bool) -> None:
    legend = Text("  ")
    for role in roles:
        if coloured:
            legend.append(f" {role} ", LOOKS[role].style).append("  ")
        else:
            legend.append(f"{LOOKS[role].sign * 2} {role}  ", "dim")
    if roles:
        legend.rstrip()
        console.print()
        console.print(legend)


def _right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL", "AN")


def _lines(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield spans of `text` that each fit `width` cells: cut at spaces, and within words that are longer."""
    start = at = 0
    for match in re.finditer(r"\S+\s*|\s+", text):
        if at > start and cell_len(text[start : match.end()].rstrip()) > width:
            yield start, at
            start = at
        at = match.end()
        while at - start > 1 and cell_len(text[start:at].rstrip()) > width:
            cut = start + 1
            while cell_len(text[start : cut + 1]) <= width:
                cut += 1
            yield start, cut
            start = cut
    if at > start:
        yield start, at


def _below(text: str, start: int, inside: Sequence[Mark]) -> list[str]:
    """Return the rows below one line of the query: the signs, then the names of the roles."""
    signs, labels = "", []
    for m in inside:
        column, width = cell_len(text[start : m.start]), cell_len(text[m.start : m.end])
        signs += " " * (column - len(signs)) + LOOKS[m.role].sign * width
        if m.role != STOP and width:
            labels.append((column, m.role))
    return [row for row in (signs, *label_rows(labels)) if row.strip()]


def label_rows(labels: Iterable[tuple[int, str]]) -> list[str]:
    """Place each label at its column, in the first row that is free there."""
    rows: list[str] = []
    for column, label in labels:
        at = next((i for i, row in enumerate(rows) if not row or len(row) < column), len(rows))
        if at == LABEL_ROWS_MAX:
            continue
        rows.extend([""] * (at + 1 - len(rows)))
        rows[at] += " " * (column - len(rows[at])) + label
    return rows


def some(items: Iterable[str]) -> str:
    """Join the first few items into one line for display."""
    every = [plain(item, 60) for item in items]
    more = len(every) - ITEMS_SHOWN
    return ", ".join(every[:ITEMS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _print(console: Console, line: Text) -> None:
    """Print a line that was cut to fit; it starts two columns in."""
    console.print(Text("  ").append_text(line), no_wrap=True, overflow="ignore", crop=True)
