"""How a store answers that many users share: in PostgreSQL and in a directory, with one node, two and four.

Protocol. `users` scopes of `memories` synthetic memories each, and a few large scopes, are stored by several processes
at once with `remember_many`; PostgreSQL is told to look at its tables (`ANALYZE`), which it does by itself some minutes
later, and without which it reads whole tables where it need not. Then, for each number of nodes (a process each, the
bundled embedding, `k = 5`, queries of all plans in turn): the nodes are opened; each asks the scopes of `active` users
for the first time (cold), all nodes at once; then each asks random ones of them, one recall after the other, and writes
a memory instead of every so manyth recall (load). Nothing sends a user to one node, so each follows what the others
write. Then the first node alone asks each large scope, once and again. A recall is one of these: cold (the scope is not
on the node), written to (somebody wrote to it since this node asked it), warm. The same is done with a directory, in
the same run.

All of it, PostgreSQL too, runs on the processors of this machine: with as many nodes as these, latencies are those of a
busy machine, and what is answered a second no longer grows. What one recall takes of a processor, in the node and in
PostgreSQL, is measured as well, so that other machines can be reckoned (`model`).
"""

from __future__ import annotations

import itertools
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.scale import people
from benchmarks.scale.node import COLD, WARM, WRITE, WRITTEN, Sample
from benchmarks.scale.processes import NodeProcess, Server, busy_s, own_server, running, server_here, together
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.latency import bytes_by_part
from recall_integrations import MemoryStore
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.observability.progress import Told
from recall_integrations.types import Scope

DIRECTORY, POSTGRES = "directory", "PostgreSQL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds of so many calls."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How a store was filled.

    Args:
        memories, scopes: in it.
        per_s: memories stored a second, by all processes together; 0 = they were there.
        processes: that stored them.
        bytes: part of the store → bytes; `all` = all of it.
    """

    memories: int
    scopes: int
    per_s: float
    processes: int
    bytes: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What so many nodes answered.

    Args:
        nodes: how many.
        open_ms: until a node was open, the median.
        times: kind of call (`cold`, `written to`, `warm`, `write`) → how long.
        plans: plan → how long recalls of it took under load, but cold ones.
        per_s: calls a second under load, of all nodes together.
        node_cpu_ms, database_cpu_ms: of a processor for each call under load; `None` = not known.
        cold_cpu_ms: as both, for each cold recall.
        empty_mb, full_mb: resident memory of a node that has asked one user, and of one that has asked all active
            users; medians.
        others: share of this machine's processors that was taken by others under load; `None` = not known.
        degraded: recalls that left something out.
    """

    nodes: int
    open_ms: float
    times: dict[str, Times]
    plans: dict[str, Times]
    per_s: float
    node_cpu_ms: float
    database_cpu_ms: float | None
    cold_cpu_ms: tuple[float, float | None]
    empty_mb: float
    full_mb: float
    others: float | None
    degraded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """One large scope, asked by one node alone.

    Args:
        size: memories in it.
        cold_ms: the first recall, the median over the runs with each number of nodes.
        warm: the others.
        plans: plan → how long.
    """

    size: int
    cold_ms: float
    warm: Times
    plans: dict[str, Times]


@dataclass(slots=True, kw_only=True)
class Place:
    """What was measured of a store in one place."""

    name: str
    filled: Filled
    loads: list[Load] = field(default_factory=list)
    large: list[Large] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be measured; as the options of the command say."""

    users: int
    memories: int
    active: int
    nodes: Sequence[int]
    large: Sequence[int]
    seconds: float
    writes: float
    processes: int
    seed: int

    @property
    def total(self) -> int:
        """Memories in all scopes."""
        return self.users * self.memories + sum(self.large)

    def asked(self) -> list[int]:
        """The active users, in the order in which they are asked first."""
        return random.Random(self.seed).sample(range(self.users), min(self.active, self.users))


def run(
    console: Console,
    *,
    wanted: Wanted,
    told: Told,
    address: str | None = None,
    directory: bool = True,
    json_path: str | Path | None = None,
    markdown_path: str | Path | None = None,
) -> list[Place]:
    """Measure, print the tables, and write the reports that are asked for.

    Args:
        console: where tables go.
        wanted: what is to be measured.
        told: how far it is.
        address: of an empty database, or of one that an earlier run filled alike; `None` = a PostgreSQL is started.
        directory: measure a directory too.
        json_path: file for the report.
        markdown_path: file for the tables in Markdown.

    Raises:
        InvalidArgument: the database holds something else, or a report could not be written.
        MissingExtra: there is no PostgreSQL to start, or no driver.
    """
    from benchmarks.scale import model, tables

    output, page = checked_output(json_path), checked_output(markdown_path)
    places = []
    with tempfile.TemporaryDirectory(prefix="recall-scale-") as folder:
        for name in (DIRECTORY, POSTGRES) if directory else (POSTGRES,):
            with _place(name, Path(folder), address) as (where, server, sizes):
                place = _measured(name, where, server, sizes, wanted, told)
            places.append(place)
            tables.show(place, console)
            fitted = {one.name: model.fitted(one, wanted) for one in places}
            report = {
                "environment": environment(),
                "wanted": asdict(wanted),
                "places": [asdict(one) for one in places],
                "model": {name: asdict(one) for name, one in fitted.items()},
            }
            write_report(output, report, console)  # after each place: a large one takes hours
            if page is not None:
                page.write_text(tables.markdown(places, fitted), encoding="utf-8")
    tables.show_model(fitted, console)
    return places


@contextmanager
def _place(
    name: str, folder: Path, address: str | None
) -> Iterator[tuple[str, Server | None, Callable[[], dict[str, float]]]]:
    """Where a store is, the server if it was started here, and how many bytes it takes."""
    with ExitStack() as stack:
        if name == DIRECTORY:
            path = folder / "store"
            yield str(path), None, partial(_bytes_of_directory, path)
            return
        server = stack.enter_context(own_server(folder)) if address is None else server_here(address)
        where = server.address if address is None and server is not None else str(address)
        yield where, server, partial(_bytes_of_database, where)


def _measured(
    name: str,
    address: str,
    server: Server | None,
    sizes: Callable[[], dict[str, float]],
    wanted: Wanted,
    told: Told,
) -> Place:
    per_s = fill(name, address, wanted, told)
    if name == POSTGRES:
        _look_at_tables(address)
    scopes = wanted.users + len(wanted.large)
    place = Place(
        name=name,
        filled=Filled(memories=wanted.total, scopes=scopes, per_s=per_s, processes=wanted.processes, bytes=sizes()),
    )
    larges: dict[int, list[list[Sample]]] = defaultdict(list)
    for count in wanted.nodes:
        what = f"{name}, {count} {'node' if count == 1 else 'nodes'}"
        told(what, 0, 3)
        with running(address, count, seed=wanted.seed, memories=wanted.memories) as nodes:
            place.loads.append(_load(nodes, server, wanted, partial(told, what)))
            for size in wanted.large:
                larges[size].append(nodes[0].ask("large", size=size)["samples"])
        told(what, 3, 3)
    place.large = [_large(size, runs) for size, runs in larges.items()]
    return place


# -- filling ---------------------------------------------------------------------------------------------------------


def fill(name: str, address: str, wanted: Wanted, told: Told) -> float:
    """Store what is wanted and not there yet, so that a run that was ended goes on; memories stored a second.

    Args:
        name: of the place, for who is told.
        address: of the store.
        wanted: what is to be in it.
        told: how far it is.

    Returns:
        0 if everything was there.

    Raises:
        InvalidArgument: it holds something else.
    """
    with MemoryStore.open(address) as store:
        there = dict(store.scopes())
        _check_alike(store, there, wanted)
    users = [number for number in range(wanted.users) if there.get(people.user(number), 0) < wanted.memories]
    large = [size for size in wanted.large if there.get(people.large(size), 0) < size]
    if not users and not large:
        return 0.0
    done = [0] * wanted.processes
    what, total = f"{name}, filling", len(users) * wanted.memories + sum(large)
    told(what, 0, total)

    def note(process: int, count: int) -> None:
        done[process] = count
        told(what, sum(done), total)

    with running(address, wanted.processes, seed=wanted.seed, memories=wanted.memories) as nodes:
        began = time.perf_counter()
        found = together(
            [
                partial(
                    node.ask,
                    "fill",
                    partial(note, i),
                    users=users[i :: wanted.processes],
                    large=large[i :: wanted.processes],
                )
                for i, node in enumerate(nodes)
            ]
        )
        seconds = time.perf_counter() - began
    return float(sum(one["memories"] for one in found) / seconds)


def _check_alike(store: MemoryStore, there: dict[Scope, int], wanted: Wanted) -> None:
    """Each scope that is there is one of those that are wanted, and so is what it begins with."""
    users, seed = wanted.users, wanted.seed
    expected = {people.user(number): partial(people.memories_of, number, 1, seed) for number in range(users)}
    expected |= {people.large(size): partial(people.memories_of_large, size, seed) for size in wanted.large}
    for scope in there:
        first = next(expected[scope]()) if scope in expected else None
        if first is None or (known := store.get(str(first.id), scope=scope)) is None or known.text != first.text:
            raise InvalidArgument(
                f"The store holds other memories than this run needs: those of {scope.user_id}. Give an empty one, or "
                "the same --users, --memories, --large and --seed as the run that filled it."
            )


def _bytes_of_directory(path: Path) -> dict[str, float]:
    return bytes_by_part(path, 1)


def _look_at_tables(address: str) -> None:
    from sqlalchemy import text

    from recall_integrations.database.postgres import open_postgres

    engine = open_postgres(address)
    try:
        with engine.begin() as connection:
            connection.execute(text("ANALYZE"))
    finally:
        engine.dispose()


def _bytes_of_database(address: str) -> dict[str, float]:
    from sqlalchemy import text

    from recall_integrations.database.postgres import open_postgres

    query = (
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 2 DESC"
    )
    engine = open_postgres(address)
    try:
        with engine.connect() as connection:
            whole = float(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
            return {"all": whole, **{str(table): float(size) for table, size in connection.execute(text(query))}}
    finally:
        engine.dispose()


# -- asking ----------------------------------------------------------------------------------------------------------


def _load(
    nodes: Sequence[NodeProcess], server: Server | None, wanted: Wanted, told: Callable[[int, int], None]
) -> Load:
    users = wanted.asked()
    cpu = [_cpu(server)]
    cold = together([partial(node.ask, "first", users=users) for node in nodes])
    cpu.append(_cpu(server))
    told(1, 3)
    busy, began = busy_s(), time.perf_counter()
    under_load = together(
        [partial(node.ask, "load", users=users, seconds=wanted.seconds, writes=wanted.writes) for node in nodes]
    )
    seconds, busy = time.perf_counter() - began, busy_s() - busy
    cpu.append(_cpu(server))
    told(2, 3)
    samples: list[Sample] = [tuple(s) for one in (*cold, *under_load) for s in one["samples"]]
    loaded: list[Sample] = [tuple(s) for one in under_load for s in one["samples"]]
    database = [None if server is None else (b - a) * 1e3 for a, b in itertools.pairwise(cpu)]
    own = sum(one["cpu_s"] for one in under_load) + (cpu[2] - cpu[1])
    firsts = (len(users) - 1) * len(nodes)
    return Load(
        nodes=len(nodes),
        open_ms=_median(node.opened["open_ms"] for node in nodes),
        times=_by(0, samples),
        plans=_by(1, [s for s in loaded if s[0] in (WARM, WRITTEN)]),
        per_s=sum(len(one["samples"]) / one["seconds"] for one in under_load),
        node_cpu_ms=sum(one["cpu_s"] for one in under_load) * 1e3 / len(loaded),
        database_cpu_ms=None if database[1] is None else database[1] / len(loaded),
        cold_cpu_ms=(
            sum(one["cpu_s"] for one in cold) * 1e3 / firsts,
            None if database[0] is None else database[0] / firsts,
        ),
        empty_mb=_median(one["settled_mb"] for one in cold),
        full_mb=_median(one["rss_mb"] for one in cold),
        others=max(0.0, busy - own) / (seconds * (os.cpu_count() or 1)) if busy else None,
        degraded=sum(one["degraded"] for one in (*cold, *under_load)),
    )


def _cpu(server: Server | None) -> float:
    return 0.0 if server is None else server.cpu_s()


def _large(size: int, runs: Sequence[Sequence[Sample]]) -> Large:
    warm = [sample for run in runs for sample in run[1:]]
    return Large(
        size=size,
        cold_ms=_median(run[0][2] for run in runs),
        warm=times([ms for _, _, ms in warm]),
        plans=_by(1, warm),
    )


def _by(place: int, samples: Sequence[Sample]) -> dict[str, Times]:
    """Times by kind or plan."""
    groups: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        groups[str(sample[place])].append(sample[2])
    order = [COLD, WRITTEN, WARM, WRITE]
    return {
        name: times(groups[name])
        for name in sorted(groups, key=lambda name: (order.index(name) if name in order else len(order), name))
    }


def times(ms: Sequence[float]) -> Times:
    """Percentiles of milliseconds; there is one at least."""
    p50, p95, p99 = (float(value) for value in np.percentile(ms, (50, 95, 99)))
    return Times(count=len(ms), p50=p50, p95=p95, p99=p99)


def _median(values: Iterator[float] | Any) -> float:
    return float(np.median(list(values)))
