"""`recall tune`: settings that are better on one's own questions, if there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from recall_integrations.console.commands.evaluate import (
    JSON,
    QUESTIONS_NOW,
    QUESTIONS_SCOPE,
    RERANKER,
    checked_json,
    written,
)
from recall_integrations.console.commands.shared import (
    CONFIG,
    EMBEDDING,
    STORE,
    k_option,
    line,
    moment,
    named_progress,
    seed_option,
    settings,
)
from recall_integrations.console.places import Place
from recall_integrations.errors import InvalidArgument


@click.command("tune")
@STORE
@click.argument("queries", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", "out", required=True, metavar="FILE.yaml", type=click.Path(path_type=Path),
              help="Where the configuration goes.")  # fmt: skip
@click.option("--minutes", default=10.0, show_default=True, type=click.FloatRange(min=0.01),
              help="After which nothing more is tried.")  # fmt: skip
@click.option("--metric", default="ndcg", show_default=True, type=click.Choice(["ndcg", "recall", "mrr"]))
@k_option(10, "Hits that the metric looks at.")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2), help="Of the cross-validation.")
@QUESTIONS_SCOPE
@QUESTIONS_NOW
@RERANKER
@seed_option("Of the folds and the intervals.")
@JSON
@CONFIG
@EMBEDDING
def tune(store: Place, queries: Path, out: Path, **options: Any) -> None:
    """Look for settings that are better on your own questions.

    Turns the few settings that matter, each time on a part of the labelled QUERIES (as for eval, at least 30, better
    some hundreds), and measures what was found on the other part. A configuration with other settings is written only
    if that gain is one: its interval lies above 0. Else FILE.yaml has the settings that were there, with the reason.
    """
    from recall_integrations.console.objects import given
    from recall_integrations.console.opening import existing_store
    from recall_integrations.evaluation.reports import checked_output, write_whole
    from recall_integrations.evaluation.tuning.table import of_tuning
    from recall_integrations.evaluation.tuning.tune import tune as search

    checked_output(out)
    checked_json(options)
    config, reranker = settings(options["config_path"]), given(options["reranker"])
    with existing_store(store, options["embedding"], config) as source, named_progress() as show:
        found = search(
            source, queries, config=config, reranker=reranker, metric=options["metric"], k=options["k"],
            scope=options["scope"], now=moment(options["now"]), folds=options["folds"], minutes=options["minutes"],
            seed=options["seed"], progress=show,
        )  # fmt: skip
    written(found, of_tuning(found), options)
    try:
        write_whole(out, found.yaml())
    except OSError as e:
        raise InvalidArgument(f"Cannot write the configuration {out}: {e.strerror or e}.") from e
    what = "with the settings that are better" if found.proven else "with the settings that were there, and the reason"
    click.echo(f"Wrote {line(str(out))}, {what}.", err=options["json_path"] == "-")
