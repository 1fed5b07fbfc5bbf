"""`recall eval` and `bench`: is it good on one's own data, and what would be better?"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX
from recall_integrations.console.commands.shared import (
    STORE,
    Opening,
    console,
    given,
    k_option,
    line,
    moment,
    named_progress,
    opened,
    seed_option,
)
from recall_integrations.errors import InvalidArgument, MissingBenchmark
from recall_integrations.owner_only import opener
from recall_integrations.text.shortening import number_of

if TYPE_CHECKING:
    from recall_integrations.evaluation.evaluation import Evaluation
    from recall_integrations.evaluation.reports import Comparison


EVAL_HELP = """How good recalls are on your own questions.

Asks the questions in QUERIES of the STORE and says how often the right memories come back, how sure that is, by group,
how long it takes, what scores mean, and what went wrong.

\b
QUERIES: one JSON object per line:
  query      the text
  relevant   ids of the memories that answer it, or {id: grade}
  scope      as for --scope, or {user_id, agent_id, namespace}
  filters    as recalls take them, such as {"types": ["fact"]}
  now        what "yesterday" is relative to: ISO 8601 with an offset
  group      for averages
  id         default: the line number
All but the first two are optional; other keys are ignored.

--make FILE begins such a file: memories drawn from the store, for each of which you write a question.

Which configuration is better? Ask twice, --json before.json with the one, --against before.json with the other.
"""


@click.command("eval", help=EVAL_HELP)
@STORE
@click.argument("queries", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--make", metavar="FILE", type=click.Path(path_type=Path), help="Begin a file of questions, see above.")
@click.option("--count", default=50, type=click.IntRange(min=1), help="With --make: lines at most.")
@k_option(5)
@click.option("--scope", metavar="SCOPE", help=f"Scope of questions that do not say theirs: {SYNTAX}")
@click.option("--now", metavar="TIME", help="The present of questions without a time: ISO 8601. Default: the clock.")
@click.option("--worst", default=10, type=click.IntRange(min=0), help="Questions that are described.")
@click.option("--texts/--no-texts", default=True, help="Whether the report holds texts, or ids only.")
@click.option("--reranker", metavar="NAME", help="Cross-encoder (name or path), or module:function (query, texts) -> "
              "scores.")  # fmt: skip
@click.option("--llm", metavar="MODULE:NAME", help="A function from a prompt to an answer, or a framework's LLM.")
@click.option("--judge", metavar="NAME", help="Cross-encoder, or module:function, that says which hits are relevant; "
              "QUERIES need no labels then.")  # fmt: skip
@click.option("--threshold", type=float, help="Score of the judge from which a memory is relevant.")
@click.option("--against", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Report of an earlier --json: what has changed since, with intervals.")  # fmt: skip
@seed_option("Of the intervals, and of what --make draws.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - for standard output.")
@opened
def eval_(opening: Opening, queries: Path | None, make: Path | None, **options: Any) -> None:
    """How good recalls are; the help is `EVAL_HELP`."""
    if make is not None and queries is None:
        _make(opening, make, options)
    elif queries is None or make is not None:
        raise InvalidArgument("Give a file of QUERIES to measure, or --make FILE to begin one.")
    else:
        _measure(opening, queries, options)


def _make(opening: Opening, make: Path, options: dict[str, Any]) -> None:
    from recall_integrations.evaluation.questions import drawn, write_labels
    from recall_integrations.evaluation.reports import checked_output

    checked_output(make)
    if make.exists():
        raise InvalidArgument(f"{make} is there already, and may hold labels. Give another name.")
    with opening.store() as source:
        rows = list(drawn(source, opening.scope, options["count"], options["seed"]))
    write_labels(rows, make)
    file = line(str(make))
    click.echo(
        f'Wrote {number_of(len(rows), "line")} to {file}. Write a question into each empty "query", in words a user '
        f"would choose, not those of the memory.\nThen: recall eval {opening.place} {file}"
    )


def _measure(opening: Opening, queries: Path, options: dict[str, Any]) -> None:
    from recall_integrations.evaluation.evaluation import evaluate
    from recall_integrations.evaluation.reports import checked_output, compare, read_report

    path = options["json_path"]
    checked_output(None if path == "-" else path)  # before the long run
    before = None if options["against"] is None else read_report(options["against"])
    models = {"reranker": given(options["reranker"]), "llm": given(options["llm"], "--llm")}
    with opening.optimizer(**models) as optimizer, named_progress() as show:
        found = evaluate(
            optimizer, queries, k=options["k"], scope=opening.scope, now=moment(options["now"], "--now", opening.zone),
            worst=options["worst"], texts=options["texts"], judge=given(options["judge"]),
            threshold=options["threshold"], seed=options["seed"], progress=show,
        )  # fmt: skip
    _written(found, None if before is None else compare(before, found, options["seed"]), path)


def _written(found: Evaluation, against: Comparison | None, path: str | None) -> None:
    from recall_integrations.evaluation.reports import of_comparison, of_evaluation

    text = found.to_json(**({} if against is None else {"against": against.as_dict()}))
    if path == "-":
        click.echo(text)
        return
    terminal = console()
    for part in [*of_evaluation(found), *([] if against is None else of_comparison(against))]:
        terminal.print(part)
    if path is None:
        return
    try:
        with open(path, "w", encoding="utf-8", opener=opener) as file:
            file.write(text)
    except OSError as e:
        raise InvalidArgument(f"Cannot write the report {path}: {e.strerror or e}.") from e
    click.echo(f"Report written to {line(path)}")


class _OfTheRepository(click.Group):
    """Lists and runs the commands that a checkout has; without one it lists none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            return sorted(_commands())
        except MissingBenchmark:
            return []

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say where there are commands, if there are none here."""
        try:
            _commands()
        except MissingBenchmark as e:
            formatter.write_paragraph()
            formatter.write_text(str(e))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _commands().get(cmd_name)


def _commands() -> Mapping[str, click.Command]:
    found: Mapping[str, click.Command] = benchmark("commands").COMMANDS
    return found


@click.group("bench", cls=_OfTheRepository)
def bench() -> None:
    """Measure quality and speed. Needs a checkout of the repository."""


NAME = "benchmarks"


def benchmark(module: str) -> ModuleType:
    """Import a module of `benchmarks`, by its name in it, such as `speed.latency`.

    It is looked for next to the installed package (a checkout, or `pip install -e`) and then in the current directory;
    a folder counts where both packages are in it. `sys.path` stays as it is: what is found is loaded from its file, in
    place of any other package that is called `benchmarks`.
    """
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / NAME / "__init__.py").is_file() and (root / "recall_integrations" / "__init__.py").is_file():
            _load(root / NAME)
            return import_module(f"{NAME}.{module}")
    raise MissingBenchmark(
        "What `recall bench` runs lives in the repository of recall-integrations, not in the package. Clone it and run "
        "the command there."
    )


def _load(folder: Path) -> None:
    """Make the package of this folder the one that is called `benchmarks`, if it is not."""
    file = folder / "__init__.py"
    there = sys.modules.get(NAME)
    if there is not None and there.__file__ is not None and Path(there.__file__).resolve() == file.resolve():
        return
    spec = spec_from_file_location(NAME, file, submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    for other in [name for name in sys.modules if name.split(".")[0] == NAME]:
        del sys.modules[other]
    sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])
