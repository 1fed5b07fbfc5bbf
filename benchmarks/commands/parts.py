"""What one part of recall is worth, and how often it is right: from `rules` to `negation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.shared import DATA, REPORT
from recall_integrations.console.commands.shared import CONFIG, console, named_progress, seed_option, settings
from recall_integrations.errors import InvalidArgument


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
    from benchmarks.planning.rules import run

    run(path, console(), dataset=datasets or "locomo", everything=everything, limit=limit, json_path=json_path)


REWRITING_HELP = """What a rewriter is worth, and what a bad one costs.

Asks the questions of the kinds of memory in PATH without a language model and with scripted ones: a good one that
answers from the labels' own words (an upper bound), one that paraphrases without knowledge, one that asks something
else, and a hostile one. For each kind, and for its paraphrases: recall@5 and relevant first hits, how often the model
was asked and its phrasings used, and what that took beside the model. Then: what asking only below a confidence of the
first answer would give, and the threshold that the other kinds choose for each.

A rewriter is judged by each answer alone: breakers, the service level and the cache of rewrites are off.

\b
--json writes one object; keys are only ever added (format is 1):
  format, k
  kinds       {kind: {datasets, questions, recall@5, ndcg@10, first, below,
              share, changes, value, differences {rewriter: {mean, low, high}}}}
  thresholds  [{below, share, changes {rewriter: {metric: mean}}, value}]
  left_out    [{kind, chosen, always}]; each as in thresholds
  questions   {question: {confidence, SYSTEM: {asked, used, reason, ms,
              recall@5, ndcg@10, first}}}; the system "recall" has no rewriter
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
    from benchmarks.rewriting.rewriting import run

    run(path, console(), config=settings(config_path), **options)


@click.command("reranking")
@DATA
@click.option("--kind", "only", multiple=True, metavar="KIND", help="Only this; several times for more. Default: all.")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(min=1), help="Questions of each set.")
@click.option("--model", metavar="NAME", help="A cross-encoder, by name or path, beside the scripted rerankers.")
@seed_option("Of the noise.")
@CONFIG
@REPORT
def reranking(path: Path, config_path: str | None, **options: Any) -> None:
    """What a reranker is worth.

    Asks without one, with a perfect, a good, a noisy and a random one, and with a model of yours; as configured, and in
    every plan.
    """
    from benchmarks.reranking import run

    run(path, console(), config=settings(config_path), **options)


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
        from benchmarks.facts import assistant

        assistant.run(data_path, console(), config=settings(config_path), json_path=json_path)
        return
    if cost_path is not None:
        from benchmarks.facts import cost

        cost.run(cost_path, console(), config=settings(config_path), json_path=json_path)
        return
    from benchmarks.facts.measuring import run

    with named_progress() as told:
        run(
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
    from benchmarks.learning.learning import run

    with named_progress() as told:
        run(
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
    from benchmarks.privacy.alarms import run

    run(path, console(), datasets=datasets, show=show, chars=chars, recalls=recalls, json_path=json_path)


@click.command("temporal")
@DATA
@click.option("--misses", is_flag=True, help="Also print every expression that was not read as labelled.")
@click.option(
    "--language", metavar="CODE", help="Read every text in this language. Default: the one its row says, or en."
)
@click.option("--half", type=click.Choice(["even", "odd"]), help="Only the even or only the odd rows, counted from 0.")
@click.option("--peer/--no-peer", default=True, show_default=False, help="With or without dateparser beside it.")
def temporal(path: Path, misses: bool, language: str | None, half: str | None, peer: bool) -> None:
    """How many labelled date expressions are read right.

    PATH holds them as JSON Lines.
    """
    from benchmarks.accuracy.dates import run

    run(path, misses, console(), language=language, half=half, peer=peer)


@click.command("negation")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE..."
)
@click.option("--language", metavar="CODE", help="Of the questions. Default: by the file's name or its folder's.")
@click.option("--misses", is_flag=True, help="Also print every question that was not read as labelled.")
def negation(files: tuple[Path, ...], language: str | None, misses: bool) -> None:
    """How often what questions leave out is read right.

    FILE holds them as JSON Lines: query, excluded (list of terms; none where it is left out), optional half.
    """
    from benchmarks.accuracy.negation import run

    run(files, console(), language=language, misses=misses)
