"""What `scale` measured, as tables: for the terminal, and in Markdown as they stand in docs/scale-figures.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks.scale.model import ACTIVE, Model, sizing
from benchmarks.scale.node import COLD, WARM, WRITE, WRITTEN
from benchmarks.scale.scale import Large, Load, Place, Times

TO_REACH = {"precise": 18.0, "entity_centric": 32.0, "exploratory": 45.0, "balanced": 50.0}  # ms, p99 at 10 M memories


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A table: its title, names of columns (the first is a text, the others are numbers), and rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(place: Place, console: Console) -> None:
    """Print what was measured in one place."""
    console.rule(place.name)
    for table in _of(place):
        _print(table, console)


def show_model(fitted: Mapping[str, Model], console: Console) -> None:
    """Print what is reckoned."""
    console.rule("Model")
    for name, one in fitted.items():
        _print(_model(name, one), console)


def markdown(places: Sequence[Place], fitted: Mapping[str, Model]) -> str:
    """All tables, in Markdown."""
    tables = [table for place in places for table in _of(place)]
    tables += [_model(name, one) for name, one in fitted.items()]
    return "\n\n".join(_markdown(table) for table in tables) + "\n"


def _of(place: Place) -> Iterator[Rows]:
    yield _loads(place)
    if place.large:
        yield _large(place.name, place.large)
    yield _plans(place)


def _title(place: Place) -> str:
    filled = place.filled
    rate = f"stored at {filled.per_s:,.0f} a second by {filled.processes} processes" if filled.per_s else "there before"
    whole = filled.bytes["all"]
    parts = [f"{part} {size / whole:.0%}" for part, size in filled.bytes.items() if part != "all" and size > whole / 50]
    return (
        f"{place.name}: {filled.memories:,} memories in {filled.scopes:,} scopes, {rate}; {whole / 1e6:,.0f} MB, "
        f"{whole / filled.memories:,.0f} bytes a memory ({', '.join(parts)})"
    )


def _loads(place: Place) -> Rows:
    loads = place.loads
    figures: list[tuple[str, Callable[[Load], str]]] = [
        ("calls a second", lambda one: f"{one.per_s:,.0f}"),
        *((f"{kind}, ms", partial(_kind, kind)) for kind in (WARM, WRITTEN, COLD, WRITE)),
        ("open, ms", lambda one: f"{one.open_ms:,.0f}"),
        ("node with one user, MB", lambda one: f"{one.empty_mb:,.0f}"),
        ("node with all active users, MB", lambda one: f"{one.full_mb:,.0f}"),
        ("processor a call: node + database, ms", lambda one: _cpu(one.node_cpu_ms, one.database_cpu_ms)),
        ("the same, of a cold recall", lambda one: _cpu(*one.cold_cpu_ms)),
        ("taken by others on this machine", lambda one: "" if one.others is None else f"{one.others:.0%}"),
        ("something left out", lambda one: str(one.degraded)),
    ]
    rows = [[name, *(figure(one) for one in loads)] for name, figure in figures]
    columns = ["p50 / p95 / p99", *(_nodes(one) for one in loads)]
    return Rows(title=_title(place), columns=columns, rows=rows)


def _nodes(load: Load) -> str:
    return "1 node" if load.nodes == 1 else f"{load.nodes} nodes"


def _kind(kind: str, load: Load) -> str:
    return _three(load.times.get(kind))


def _large(name: str, large: Sequence[Large]) -> Rows:
    rows = [[f"{one.size:,}", _three(one.warm), f"{one.cold_ms:,.0f}"] for one in large]
    columns = ["memories in the scope", f"{WARM}, ms", f"{COLD}, ms"]
    return Rows(title=f"{name}: large scopes, one node alone; p50 / p95 / p99", columns=columns, rows=rows)


def _plans(place: Place) -> Rows:
    """What was to be reached, and the slowest recall in a hundred of each plan: under load, cold ones left out."""
    columns = [
        "plan",
        "to reach at 10 M",
        *map(_nodes, place.loads),
        *(f"scope of {one.size:,}" for one in place.large),
    ]
    cells: list[Mapping[str, Times]] = [*(one.plans for one in place.loads), *(one.plans for one in place.large)]
    plans = [*TO_REACH, *sorted({plan for cell in cells for plan in cell} - TO_REACH.keys())]
    rows = [
        [
            plan,
            f"{TO_REACH[plan]:.0f}" if plan in TO_REACH else "",
            *(f"{cell[plan].p99:.1f}" if plan in cell else "" for cell in cells),
        ]
        for plan in plans
    ]
    return Rows(title=f"{place.name}: p99 by plan, ms", columns=columns, rows=rows)


def _model(name: str, model: Model) -> Rows:
    warm, cold = model.warm_p50, model.cold
    database = (
        "" if model.per_s_of_database is None else f", {model.per_s_of_database:,.0f} a second one of the database"
    )
    title = (
        f"Model, {name}: warm {warm.at_none:.1f} ms + {warm.per_thousand:.3f} for each thousand memories of the scope "
        f"(within {warm.off:.0%} of what was measured), cold {cold.at_none:.1f} + {cold.per_thousand:.2f} (within "
        f"{cold.off:.0%}); {model.per_s_of_node:,.0f} calls a second take one processor of a node{database}; "
        f"{model.stored_bytes:,.0f} bytes a memory stored, {model.node_bytes:,.0f} on a node"
    )
    rows = [
        [
            f"{one.users:,} × {one.memories:,}",
            f"{one.stored_gb:,.1f}",
            f"{one.node_gb:,.1f}",
            f"{one.warm_p50:.1f} / {one.warm_p99:.1f}",
            f"{one.cold:,.0f}",
        ]
        for one in sizing(model)
    ]
    columns = ["users × memories", "stored, GB", f"node with {ACTIVE:.0%} of it, GB", "warm p50 / p99, ms", "cold, ms"]
    return Rows(title=title, columns=columns, rows=rows)


def _three(times: Times | None) -> str:
    return "" if times is None else f"{times.p50:.1f} / {times.p95:.1f} / {times.p99:.1f}"


def _cpu(node: float, database: float | None) -> str:
    return f"{node:.1f}" if database is None else f"{node:.1f} + {database:.1f}"


def _print(rows: Rows, console: Console) -> None:
    table = Table(title=rows.title, title_justify="left")
    for place, column in enumerate(rows.columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows.rows:
        table.add_row(*row)
    console.print(table)


def _markdown(rows: Rows) -> str:
    lines = [rows.columns, ["---", *["---:"] * (len(rows.columns) - 1)], *rows.rows]
    return "\n".join([f"{rows.title}:", "", *(f"| {' | '.join(cells)} |" for cells in lines)])
