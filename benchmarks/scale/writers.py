"""How many memories a second nodes write that all write at once, one `remember` after the other.

    python -m benchmarks.scale.writers --nodes 1 --nodes 2 --nodes 4 --way-ms 1 --disk-ms 3
    python -m benchmarks.scale.writers --threads 1 --threads 4 --threads 16
    python -m benchmarks.scale.writers --threads 1 --threads 16 --directory

Each node is a process, whose threads write to a scope each, for some seconds, without a pause. All run on this machine,
with PostgreSQL: what a network and a disk cost where they are others is added, the network by handing on each message
later, the disk by letting PostgreSQL wait before it calls a commit kept (`commit_delay`).
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.scale.node import Sample
from benchmarks.scale.processes import Server, busy_s, own_server, running, together
from benchmarks.scale.way import Way

SEED = 0


def measure(
    nodes: int, *, seconds: float, threads: int, way_ms: float, disk_ms: float, directory: bool
) -> dict[str, Any]:
    """What so many nodes wrote together: writes a second, how long each took, and what they cost."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-writers-")))
        server = None if directory else stack.enter_context(own_server(folder))
        way, address = None, str(folder / "store")
        if server is not None:
            address = server.address
            _slow_disk(address, disk_ms)
            if way_ms:
                way = stack.enter_context(Way(_socket_of(address), way_ms))
                address = f"postgresql://postgres@127.0.0.1:{way.port}/postgres"
        processes = stack.enter_context(running(address, nodes, seed=SEED, memories=1))
        write = [partial(node.ask, "writing", threads=threads) for node in processes]
        together([partial(one, seconds=1.0) for one in write])
        sent, cpu, busy, began = 0 if way is None else way.ways, _cpu_s(server), busy_s(), time.perf_counter()
        found = together([partial(one, seconds=seconds) for one in write])
        whole, cpu = time.perf_counter() - began, _cpu_s(server) - cpu
        busy, own = busy_s() - busy, cpu + sum(one["cpu_s"] for one in found)
        samples: list[Sample] = [tuple(sample) for one in found for sample in one["samples"]]
        counts = [len(one["samples"]) for one in found]
        p50, p95, p99 = np.percentile([ms for _, _, ms in samples], (50, 95, 99))
    return {
        "engine": "directory" if directory else "postgres",
        "nodes": nodes,
        "threads": threads,
        "way_ms": way_ms,
        "disk_ms": disk_ms,
        "writes_per_s": round(len(samples) / seconds, 1),
        "ms": [round(float(value), 1) for value in (p50, p95, p99)],
        "fewest_of_most": round(min(counts) / max(counts), 2),
        "ways": None if way is None else round((way.ways - sent) / len(samples), 1),
        "node_cpu_ms": round(sum(one["cpu_s"] for one in found) * 1e3 / len(samples), 2),
        "database_cpu_ms": round(cpu * 1e3 / len(samples), 2),
        "others": round(max(0.0, busy - own) / whole / 2, 2),
    }


def _cpu_s(server: Server | None) -> float:
    return 0.0 if server is None else server.cpu_s()


def _slow_disk(address: str, ms: float) -> None:
    """Commits wait for the disk, as they do for users, and so much longer."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET commit_delay = {int(ms * 1e3)}")
        connection.execute("ALTER SYSTEM SET commit_siblings = 0")
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.1)


def _socket_of(address: str) -> str:
    from sqlalchemy import make_url

    url = make_url(address)
    return f"{url.query['host']}/.s.PGSQL.{url.port or 5432}"


def measured(nodes: tuple[int, ...], threads: tuple[int, ...], rounds: int, **how: Any) -> Iterator[dict[str, Any]]:
    """Each number of nodes with each number of threads in turn, and all of it so many times."""
    for _ in range(rounds):
        for each in threads:
            for count in nodes:
                yield measure(count, threads=each, **how)


@click.command()
@click.option("--nodes", multiple=True, default=(1, 2, 4), show_default=True, type=click.IntRange(min=1))
@click.option(
    "--threads",
    multiple=True,
    default=(1,),
    show_default=True,
    type=click.IntRange(min=1),
    help="Of each node, that write.",
)
@click.option("--seconds", default=8.0, show_default=True, type=click.FloatRange(min=0.1))
@click.option("--way-ms", default=0.0, show_default=True, help="That a question and its answer take longer.")
@click.option("--disk-ms", default=0.0, show_default=True, help="That a commit takes longer.")
@click.option("--directory", is_flag=True, help="Into a directory that the nodes share; no PostgreSQL.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(min=1))
def main(nodes: tuple[int, ...], threads: tuple[int, ...], rounds: int, **how: Any) -> None:
    """Print a line of JSON for each number of nodes and of threads."""
    if how["directory"] and (how["way_ms"] or how["disk_ms"]):
        raise click.UsageError("A network and a slower disk are PostgreSQL's: leave out --directory.")
    for found in measured(nodes, threads, rounds, **how):
        click.echo(json.dumps(found))


if __name__ == "__main__":
    main()
