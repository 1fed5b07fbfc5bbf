"""`recall eval` and `bench`: is it good on one's own data, and what would be better?

`recall feedback`: whether a recall helped. `recall learn`: what follows from that, and how to undo it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX, scope_text
from recall_integrations.console.commands.shared import (
    AS_JSON,
    NOW,
    SCOPE,
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
    tell,
)
from recall_integrations.errors import InvalidArgument, MissingBenchmark, NotFound
from recall_integrations.owner_only import opener
from recall_integrations.text.shortening import number_of

if TYPE_CHECKING:
    from recall_integrations.console.commands.shared import Opening, Place
    from recall_integrations.evaluation.evaluation import Evaluation
    from recall_integrations.evaluation.reports import Comparison
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.types import Scope

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
    """Import the commands of a checkout: the one of the installed package (`pip install -e`), or the current directory.

    A folder counts where both packages are in it.
    """
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if all((root / package / "__init__.py").is_file() for package in ("benchmarks", "recall_integrations")):
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            found: Mapping[str, click.Command] = import_module("benchmarks.commands").COMMANDS
            return found
    raise MissingBenchmark(
        "What `recall bench` runs lives in the repository of recall-integrations, not in the package. Clone it and run "
        "the command there."
    )


@click.group("bench", cls=_OfTheRepository)
def bench() -> None:
    """Measure quality and speed. Needs a checkout of the repository."""


THUMBS = {"up": 1.0, "down": 0.0}


# -- feedback ----------------------------------------------------------------------------------------------------------


def _rating(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    if value in THUMBS:
        return THUMBS[value]
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter("write up, down, or a number from 0 to 1.") from None


@click.command("feedback")
@STORE
@click.argument("result_id", required=False)
@click.option("--query", metavar="TEXT", help="What was asked: needed, since each process knows only its own recalls.")
@click.option("--helpful", multiple=True, metavar="ID", help="A memory that answered it. Repeatable.")
@click.option("--wrong", multiple=True, metavar="ID", help="A memory that had nothing to do with it. Repeatable.")
@click.option("--cited", multiple=True, metavar="ID", help="A memory that the answer quotes; counts half. Repeatable.")
@click.option("--rating", callback=_rating, metavar="up|down|0..1", help="Of the whole answer; counts a third.")
@click.option("--asked-again", is_flag=True, help="Whoever asked asked much the same at once.")
@SCOPE
@k_option(5, "How many hits were shown.")
@NOW
@AS_JSON
@opened
def feedback(
    opening: Opening, result_id: str | None, query: str | None, k: int, now: str | None, as_json: bool, **said: Any
) -> None:
    """Say whether a recall of STORE helped.

    RESULT_ID is `id` of `recall search --json`, and may be left out. The query is
    asked again: what it finds now counts as what was shown. No text of it is
    kept (docs/learning.md).

    \b
    recall feedback STORE --query "who runs the deploy?" --helpful m1 --wrong m7
    recall feedback STORE --query "who runs the deploy?" --rating down --scope u1
    """
    from recall_integrations.console.rendering import show_feedback
    from recall_integrations.delivery.as_data import feedback_data

    if query is None:
        told = "Say what was asked: --query TEXT"
        if result_id is None:
            raise InvalidArgument(f"{told}, with --helpful ID, --wrong ID, --cited ID, --rating or --asked-again.")
        raise NotFound(f"{told}. Which recall {result_id!r:.60} was, only the process knows that answered it.")
    present = moment(now, "--now", opening.zone)
    with opening.optimizer() as asked:
        where = opening.where(asked.store)
        found = asked.recall(query, scope=where, k=k, now=present)
        if result_id is not None:
            found = replace(found, id=result_id)
        kept = asked.feedback(found, **said, scope=where, query=query, now=present)
        asked.flush()  # its replay
    tell(as_json, {"scope": scope_text(where), **feedback_data(kept)}, lambda on: show_feedback(on, kept))


# -- learning ----------------------------------------------------------------------------------------------------------


@click.group("learn")
@STORE
@click.pass_context
def learn(ctx: click.Context, store: Place) -> None:
    """See what STORE has learned from feedback, and undo it.

    Nothing of it answers a recall unless `mode: learned` is set where the
    store is used. Rules are the floor (docs/learning.md).

    \b
    recall learn STORE status
    recall learn STORE run
    recall learn STORE promote v1 --scope u1
    recall learn STORE rollback --scope u1
    """
    ctx.obj = store


def _where(opening: Opening, optimizer: QueryOptimizer) -> Scope | None:
    return None if opening.scope is None else opening.where(optimizer.store)


def _again(store: Place, scope: Scope, words: str) -> str:
    """Return a command line that may be copied and run."""
    import shlex

    return shlex.join(["recall", "learn", str(store), *words.split(), "--scope", scope_text(scope)])


@learn.command("status")
@SCOPE
@AS_JSON
@opened
def status(opening: Opening, as_json: bool) -> None:
    """How each scope stands: what serves, what is tried, how good.

    nDCG@5 is by what was judged: 1 = what helped stood first. `rules` is what
    the shipped weights find, a version what it finds.
    """
    from recall_integrations.console.rendering import show_status
    from recall_integrations.delivery.as_data import status_data

    config = opening.config
    with opening.optimizer() as optimizer:
        found = optimizer.learner().status(_where(opening, optimizer))
    data = {"mode": config.mode, "scopes": [status_data(one) for one in found]}
    tell(as_json, data, lambda on: show_status(on, found, config))


@learn.command("run")
@click.option("--force", is_flag=True, help="Whatever was learned lately, and decide now about what is tried.")
@SCOPE
@AS_JSON
@opened
def run(opening: Opening, force: bool, as_json: bool) -> None:
    """Learn from what was judged, and decide about what is tried.

    It may be ended at any time: what was done stays. `recall serve` does it by
    itself with mode: learned.
    """
    from recall_integrations.console.rendering import show_steps
    from recall_integrations.delivery.as_data import step_data

    with opening.optimizer() as optimizer, named_progress() as show:
        where = _where(opening, optimizer)
        steps = optimizer.learn(
            where, force=force, progress=lambda _scope, done, total: show("Learning, scopes", done, total)
        )
    tell(as_json, {"steps": [step_data(step) for step in steps]}, lambda on: show_steps(on, steps))


@learn.command("promote")
@click.argument("version")
@SCOPE
@AS_JSON
@opened
def promote(opening: Opening, version: str, as_json: bool) -> None:
    """Let VERSION answer all recalls of a scope from now on."""
    _by_hand(opening, version, as_json)


@learn.command("rollback")
@SCOPE
@AS_JSON
@opened
def rollback(opening: Opening, as_json: bool) -> None:
    """Take back what is tried, or else what serves.

    What served before serves again, and nothing is learned there until a
    version is promoted.
    """
    _by_hand(opening, None, as_json)


def _by_hand(opening: Opening, version: str | None, as_json: bool) -> None:
    from recall_integrations.console.rendering import show_state
    from recall_integrations.delivery.as_data import state_data

    with opening.optimizer() as optimizer:
        where, learner = opening.where(optimizer.store), optimizer.learner()
        state = learner.rollback(where) if version is None else learner.promote(version, where)
    undo = _again(opening.place, where, f"promote {state.events[-1].version}" if version is None else "rollback")
    data = {"scope": scope_text(where), **state_data(state)}
    tell(as_json, data, lambda on: show_state(on, where, state, undo, config=opening.config))
