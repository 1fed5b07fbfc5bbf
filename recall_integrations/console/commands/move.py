"""`recall move`: a store goes to another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recall_integrations.console.commands.shared import CONFIG, EMBEDDING, named_progress, settings
from recall_integrations.console.places import PLACE, Place, opens

if TYPE_CHECKING:
    from recall_integrations.evaluation.moved import Verified
    from recall_integrations.store.moving import Moved

SHOWN = 10  # differences


@click.command("move")
@click.argument("source", type=PLACE)
@click.argument("target", type=PLACE)
@click.option("--verify-only", is_flag=True, help="Bring nothing; compare what is at both places.")
@click.option("--no-verify", is_flag=True, help="Compare nothing afterwards.")
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Questions that are asked at both places.",
)
@CONFIG
@EMBEDDING
@click.pass_context
def move(
    ctx: click.Context,
    source: Place,
    target: Place,
    verify_only: bool,
    no_verify: bool,
    sample: int,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Bring the store at SOURCE to TARGET, and compare both.

    Each is a directory or the address of a database. SOURCE stays as it is, and
    others may read and write it meanwhile; at the end who writes waits for a
    moment. TARGET is empty, or where the same move was stopped: it goes on.

    Ask while your app runs, which takes long; stop what writes; ask once more,
    which brings what came since; and begin with TARGET.

    \b
    recall move memories/ postgresql://recall@localhost/memories
    recall move postgresql://recall@localhost/memories backup/
    """
    from recall_integrations.console.opening import check_store
    from recall_integrations.evaluation.moved import verify

    check_store(source)
    given = settings(config_path)
    if not verify_only:
        _bring(source, target)
    if no_verify:
        return
    check_store(target)
    with named_progress() as show:
        found = verify(opens(source), opens(target), sample=sample, embedding=embedding, config=given, progress=show)
    _tell(found)
    if found.differences:
        ctx.exit(1)


def _bring(source: Place, target: Place) -> None:
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.store import moving

    with deferred_interrupt() as stopped, named_progress() as show:
        try:
            moved = moving.move(opens(source), opens(target), progress=show, stopped=stopped)
        except KeyboardInterrupt:
            click.echo("Stopped. Ask for the same again: it goes on where it was.", err=True)
            raise
    _tell_moved(source, moved)


def _tell_moved(source: Place, moved: Moved) -> None:
    again = ", which had been begun before" if moved.went_on else ""
    click.echo(
        f"Moved {moved.memories:,} memories of {moved.scopes:,} scopes in {moved.seconds:.1f} s{again}. "
        f"Who writes to {source} waited for {moved.held_s:.1f} s."
    )


def _tell(found: Verified) -> None:
    for said in found.differences[:SHOWN]:
        click.echo(f"Not the same: {said}.", err=True)
    if len(found.differences) > SHOWN:
        click.echo(f"And {len(found.differences) - SHOWN:,} more.", err=True)
    written = f"; {found.written:,} scopes were written to since and were left out" if found.written else ""
    same = "The same at both places" if not found.differences else "Compared"
    click.echo(f"{same}: {found.rows:,} rows of {found.scopes:,} scopes, {found.recalls:,} recalls{written}.")
    if found.not_asked:
        click.echo(f"No questions were asked: {found.not_asked}", err=True)
