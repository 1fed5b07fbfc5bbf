"""`recall feedback`: whether a recall helped. `recall learn`: what follows from that, and how to undo it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.console.commands.shared import (
    AS_JSON,
    NOW,
    SCOPE,
    STORE,
    k_option,
    moment,
    named_progress,
    opened,
    tell,
)
from recall_integrations.errors import InvalidArgument, NotFound

if TYPE_CHECKING:
    from recall_integrations.console.commands.shared import Opening, Place
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.types import Scope

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
    from recall_integrations.learning.as_data import feedback_data

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
    from recall_integrations.learning.as_data import status_data

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
    from recall_integrations.learning.as_data import step_data

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
    from recall_integrations.learning.as_data import state_data

    with opening.optimizer() as optimizer:
        where, learner = opening.where(optimizer.store), optimizer.learner()
        state = learner.rollback(where) if version is None else learner.promote(version, where)
    undo = _again(opening.place, where, f"promote {state.events[-1].version}" if version is None else "rollback")
    data = {"scope": scope_text(where), **state_data(state)}
    tell(as_json, data, lambda on: show_state(on, where, state, undo, config=opening.config))
