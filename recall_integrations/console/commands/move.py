"""`recall move`: a store goes to another place."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recall_integrations.console.commands.shared import CONFIG, EMBEDDING, is_quiet, named_progress, settings
from recall_integrations.console.places import PLACE, Place, opens

if TYPE_CHECKING:
    from recall_integrations.evaluation.moved import Verified
    from recall_integrations.store.moving.moving import Behind, Moved

SHOWN = 10  # differences
TOLD_S = 10.0  # between two lines that say how far behind the target is
FAR = 50_000  # changes behind: a database keeps twice as many in its journal


@click.command("move")
@click.argument("source", type=PLACE)
@click.argument("target", type=PLACE)
@click.option("--follow", is_flag=True, help="Go on bringing what is written to SOURCE, until Ctrl-C or SIGTERM.")
@click.option(
    "--until-quiet",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --follow: end by itself when nothing was written for so long.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=0, min_open=True),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: how often to look at SOURCE.",
)
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
    follow: bool,
    until_quiet: float | None,
    every: float,
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

    Or ask with --follow, which goes on and says how far behind TARGET is; stop
    what writes; end it with Ctrl-C or SIGTERM (or let --until-quiet do that);
    and begin with TARGET. It compares nothing then: ask with --verify-only.

    \b
    recall move memories/ postgresql://recall@localhost/memories
    recall move memories/ postgresql://recall@localhost/memories --follow
    recall move postgresql://recall@localhost/memories backup/
    """
    from recall_integrations.console.opening import check_store
    from recall_integrations.evaluation.moved import verify

    if verify_only and follow:
        raise click.UsageError("--verify-only brings nothing, and --follow goes on bringing: ask for one of them.")
    if until_quiet is not None and not follow:
        raise click.UsageError("--until-quiet is for --follow.")
    check_store(source)
    given = settings(config_path)
    if follow:
        _follow(source, target, until_quiet, every)
        return
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
    from recall_integrations.store.moving import moving

    with deferred_interrupt() as stopped, named_progress() as show:
        try:
            moved = moving.move(opens(source), opens(target), progress=show, stopped=stopped)
        except KeyboardInterrupt:
            click.echo("Stopped. Ask for the same again: it goes on where it was.", err=True)
            raise
    _tell_moved(source, moved)


def _follow(source: Place, target: Place, until_quiet: float | None, every: float) -> None:
    from recall_integrations.console.interrupt import asked_to_end
    from recall_integrations.store.moving import moving

    with asked_to_end() as ends, named_progress() as show:
        following = _Following(source, target, ends, until_quiet)
        try:
            moved = moving.move(
                opens(source),
                opens(target),
                progress=show,
                stopped=following.stopped,
                goes_on=following.goes_on,
                every_s=every,
            )
        except KeyboardInterrupt:
            click.echo(f"Stopped before {target} was whole. Ask for the same again: it goes on where it was.", err=True)
            raise
    click.echo(
        f"Followed {source} for {following.seconds:.1f} s: {following.brought:,} changes were brought, at most "
        f"{following.most:,} were to be brought at a look, and none is left."
    )
    _tell_moved(source, moved)


class _Following:
    """Says how far behind the target is, and when to end."""

    def __init__(self, source: Place, target: Place, ends: Callable[[], bool], until_quiet: float | None) -> None:
        self._source, self._target, self._ends, self._until_quiet = source, target, ends, until_quiet
        self._began: float | None = None
        self._due = 0.0
        self._away = ""
        self._far = False
        self.brought = self.most = 0

    @property
    def seconds(self) -> float:
        """Seconds since following began."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def stopped(self) -> None:
        """Raise `KeyboardInterrupt` if somebody asked for the end before following began."""
        if self._began is None and self._ends():
            raise KeyboardInterrupt

    def goes_on(self, behind: Behind) -> bool:
        """Print the progress; say whether to go on following. See `moving.move`."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        self.most = max(self.most, behind.changes, behind.brought - self.brought)
        self.brought = behind.brought
        if behind.away != self._away:
            self._away = behind.away
            self._due = now  # also that it is back
            if behind.away:
                click.echo(f"{behind.away} It is looked for again.", err=True)
        if behind.changes > FAR and not self._far:
            click.echo(
                f"{self._target} is {behind.changes:,} changes behind, and falls back: beyond {2 * FAR:,} the journal "
                "of a database does not tell them any more, and it would have to begin anew.",
                err=True,
            )
        self._far = behind.changes > FAR
        if now >= self._due and not behind.away and not is_quiet():
            self._due = now + TOLD_S
            click.echo(
                f"Following {self._source}: {behind.brought:,} changes brought, {behind.changes:,} behind "
                f"({behind.lag_s:.1f} s).",
                err=True,
            )
        quiet = self._until_quiet is not None and behind.quiet_s >= self._until_quiet and not behind.away
        return not quiet and not self._ends()


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
