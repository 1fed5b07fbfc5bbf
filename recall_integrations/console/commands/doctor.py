"""`recall doctor`: what is wrong with a store, and mending it."""

from __future__ import annotations

import click

from recall_integrations.console.commands.shared import EMBEDDING, STORE, console, named_progress
from recall_integrations.console.places import Place, directory


@click.command("doctor")
@STORE
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@EMBEDDING
@click.pass_context
def doctor(ctx: click.Context, store: Place, repair: bool, as_json: bool, embedding: str | None) -> None:
    """Find out what is wrong with STORE.

    Nothing is changed without --repair. STORE must not be open in another process. Every check is named with its
    state: ok; notice (worth knowing, the answers are right); problem; mended; skipped (another problem is in the way).

    Exit code 0: no problem is left. 1: some are, or could not be looked for.

    --repair makes words, counts, the journal and both indexes anew from the memories, removes what belongs to nothing,
    and moves memories that cannot be read into put_aside.jsonl in STORE. --embedding is needed only where vectors are
    missing.

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, path, clean, repaired
      checks    [{name, state, says, examples, remedy}]
    """
    from recall_integrations.console import rendering
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.delivery import as_data as data
    from recall_integrations.store import doctor as doctoring

    path = directory(
        store, "recall doctor", "Its tables are looked at by `recall db check`; the server checks its own files."
    )

    with deferred_interrupt() as check, named_progress() as show:

        def advance(what: str, done: int, total: int) -> None:
            show(what.capitalize(), done, total)
            check()

        if repair:
            found = doctoring.repair(path, embedding=embedding, progress=advance)
        else:
            found = doctoring.examine(path, progress=advance)
    if as_json:
        click.echo(data.dumps(found.as_data()))
    else:
        rendering.show_findings(console(), found)
    ctx.exit(0 if found.clean else 1)
