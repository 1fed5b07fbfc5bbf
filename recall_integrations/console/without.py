"""`recall explain --without`: which places change where something is left out."""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from recall_integrations.counterfactual.recalls import Counterfactuals, LeftOut, Move
from recall_integrations.text.one_line import plain

MOVES_SHOWN = 10


def show_without(console: Console, found: Counterfactuals) -> None:
    """Print a line for each part that was left out, and below it the memories that stand elsewhere then."""
    console.print()
    console.print(Rule(Text("what would be found without"), align="left", style="dim"))
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("without", overflow="fold")
    table.add_column("as an option", no_wrap=True)
    table.add_column("what changes", overflow="fold")
    for one in sorted(found.without, key=lambda one: -one.effect):
        table.add_row(plain(one.label), _keys(one), Text(one.summary), style="" if one.effect else "dim")
        for move in [move for move in one.moves if move.moved][:MOVES_SHOWN]:
            table.add_row(
                "", Text(f"{_place(move, after=False)} → {_place(move, after=True)}"), Text(plain(move.id, 60))
            )
    console.print(table)


def _keys(one: LeftOut) -> Text:
    return Text(", ".join(part.key for part in one.parts) if len(one.parts) == 1 else "all of these")


def _place(move: Move, *, after: bool) -> str:
    """Return the place of a memory: plain among the hits, in brackets among the candidates beyond them."""
    place, hit = (move.after, move.hit_after) if after else (move.before, move.hit_before)
    return "not found" if place is None else f"{place}" if hit else f"({place})"
