"""`recall train`: ranking weights from one's own queries."""

from __future__ import annotations

from pathlib import Path

import click

from recall_integrations.adapters.scopes import SYNTAX
from recall_integrations.console.commands.shared import (
    CONFIG,
    EMBEDDING,
    STORE,
    console,
    line,
    moment,
    named_progress,
    seed_option,
    settings,
)
from recall_integrations.console.places import Place


@click.command("train")
@STORE
@click.argument("queries", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Where the weights go.")
@click.option("--ranker", default="linear", show_default=True, type=click.Choice(["linear", "trees"]))
@click.option("--scope", metavar="SCOPE", help=f"Scope of queries that do not say theirs: {SYNTAX}")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2), help="Of the cross-validation.")
@seed_option("Of the folds and of what is sampled.")
@click.option("--now", metavar="TIME", help="The present of queries without a time: ISO 8601. Default: the clock.")
@CONFIG
@EMBEDDING
def train(
    store: Place,
    queries: Path,
    out: Path,
    ranker: str,
    scope: str | None,
    folds: int,
    seed: int,
    now: str | None,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Learn ranking weights from labelled QUERIES.

    They are compared with the fixed weights on queries they were not learned from, and written in any case. Trees
    need the extra recall-integrations[rank].

    \b
    QUERIES: one JSON object per line, at least 30, better some hundreds:
      query      the text (or: question)
      relevant   ids of the memories that answer it
      id, category                        optional
      asked_at   what "yesterday" is relative to: ISO 8601 with an offset
      scope      {user_id, agent_id, namespace}, over --scope
    """
    from recall_integrations.console import training
    from recall_integrations.console.opening import existing_store
    from recall_integrations.evaluation.questions import load_jsonl_questions
    from recall_integrations.evaluation.reports import checked_output
    from recall_integrations.store.clock import utc_now
    from recall_integrations.training.learn import learn

    present = moment(now) or utc_now()
    checked_output(out)
    config = settings(config_path)
    questions = load_jsonl_questions(queries)
    with existing_store(store, embedding, config) as source, named_progress() as show:
        learned = learn(
            source, questions, now=present, kind=ranker, scope=scope, folds=folds, seed=seed, config=config,
            progress=show,
        )  # fmt: skip
    training.write(learned, out)
    training.show(learned, console())
    for warning in training.warnings(learned):
        click.echo(f"Warning: {line(warning)}", err=True)
    click.echo(f"Wrote {line(str(out))}. A configuration file uses it with:\n{training.usage(learned, out)}")
