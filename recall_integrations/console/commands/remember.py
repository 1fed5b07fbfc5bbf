"""`recall import`, `entity` and `reindex`: what fills a store and makes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX, find_scope, parse_scope, scope_text
from recall_integrations.console.commands.shared import (
    CONFIG,
    EMBEDDING,
    SCOPE,
    STORE,
    line,
    named_progress,
    opened_with,
    progress,
    settings,
)
from recall_integrations.console.places import Place, opens
from recall_integrations.errors import InvalidArgument, InvalidMemory, RecallError

if TYPE_CHECKING:
    from recall_integrations.console.importing import ImportReport
    from recall_integrations.types import Scope

BAD_ROWS_SHOWN = 100


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@STORE
@click.option("--format", "kind", type=click.Choice(["jsonl", "locomo"]), required=True, help="What PATH holds.")
@click.option("--scope", metavar="SCOPE", help=f"Scope of rows that do not say theirs: {SYNTAX}")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and list them, instead of stopping at the first.")
@CONFIG
@EMBEDDING
def import_(
    path: Path,
    store: Place,
    kind: str,
    scope: str | None,
    skip_bad: bool,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Put the memories in PATH into STORE.

    STORE is a directory, made if absent.

    The whole file is read before anything is stored: a bad row leaves STORE
    as it was, unless --skip-bad leaves the row out. Memories whose expires_at
    has passed are left out.

    An import that was interrupted continues when it is run again: a row that is in the store already is left alone,
    one that has changed replaces what was there.

    \b
    jsonl: one JSON object per line. Only "text" is required:
      text, id, type, actor, role, channel, event_at, created_at, expires_at,
      importance, entities, relations, thread, position, refs, metadata
      user_id, agent_id, namespace        the scope, each over --scope
    Times are ISO 8601 with an offset (2026-03-01T12:00:00+00:00). relations
    is a list of [subject, predicate, object] or of such with a confidence.
    type is fact, preference, event, skill, chunk, observation or summary.
    role is user, assistant, system or tool; left out, it is that of an actor
    called "User", "AI" or the like.
    An unknown key is an error: other data belongs into metadata.

    A row without an id gets one from its content, so it is found again. If you edit such a row and import it again,
    the old one stays: give an id to rows that change.

    locomo: the file of the LoCoMo benchmark. Each conversation gets a scope of its own, 'locomo/-/conv-26' for
    the conversation conv-26.
    """
    if kind == "locomo" and (scope is not None or skip_bad):
        raise click.UsageError(
            "--scope and --skip-bad are for --format jsonl: LoCoMo has its own scopes and no rows to skip."
        )
    if kind == "jsonl" and path.is_dir():
        raise InvalidArgument(f"{path} is a directory. Give the JSON Lines file itself.")
    default, opening = parse_scope(scope or ""), opened_with(embedding, config_path)
    rows = _locomo(path) if kind == "locomo" else None
    total = path.stat().st_size if rows is None else len(rows)
    if rows is None and not skip_bad:
        _check(path, default, total)
    _import(path, store, rows, default, skip_bad=skip_bad, opening=opening, total=total)


def _import(
    path: Path,
    store: Place,
    rows: list[Any] | None,
    default: Scope,
    *,
    skip_bad: bool,
    opening: dict[str, Any],
    total: int,
) -> None:
    """Store rows, or those of a JSON Lines file where none are given."""
    from recall_integrations.console.importing import Importer, ImportReport
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.console.opening import nothing_left
    from recall_integrations.store.memory_store import MemoryStore

    report = ImportReport()
    with nothing_left(store, lambda: report.rows), MemoryStore.open(opens(store), **opening) as target:
        importer = Importer(target)
        report = importer.report
        try:
            with deferred_interrupt() as check, progress("Importing", total) as shown:

                def advance(done: int) -> None:
                    shown(done)
                    check()

                if rows is None:
                    importer.jsonl(path, default, skip_bad=skip_bad, advance=advance)
                else:
                    importer.store_all(rows, advance)
        except (RecallError, KeyboardInterrupt):
            if report.rows:
                click.echo(_counts(report) + ". Run the command again to continue.", err=True)
            raise
    _show_import(report)


def _check(path: Path, default: Scope, total: int) -> None:
    """Read the whole file before a store is made or changed."""
    from recall_integrations.console.importing import Importer
    from recall_integrations.console.interrupt import deferred_interrupt

    with deferred_interrupt() as check, progress("Reading", total) as shown:

        def advance(done: int) -> None:
            shown(done)
            check()

        try:
            Importer(None).check(path, default, advance)
        except InvalidMemory as e:
            raise InvalidMemory(f"{e} Nothing was stored. --skip-bad leaves such rows out and lists them.") from e


def _locomo(path: Path) -> list[Any]:
    from recall_integrations.console.locomo import conversations

    # read whole first: nothing is stored if the file is no LoCoMo file
    return [(told.scope, memory) for told in conversations(path) for memory in told.memories]


def _show_import(report: ImportReport) -> None:
    for bad in report.bad[:BAD_ROWS_SHOWN]:
        click.echo(f"Skipped line {bad.line}: {line(bad.problem)}", err=True)
    if len(report.bad) > BAD_ROWS_SHOWN:
        click.echo(f"Skipped {len(report.bad) - BAD_ROWS_SHOWN:,} more lines.", err=True)
    click.echo(f"{_counts(report)}.")


def _counts(report: ImportReport) -> str:
    words = [f"{report.new:,} new", f"{report.replaced:,} replaced", f"{report.unchanged:,} unchanged"]
    if report.ended:
        words.append(f"{report.ended:,} left out that have come to their end")
    if report.bad:
        words.append(f"{len(report.bad):,} skipped")
    scopes = [scope_text(s) for s in report.scopes]
    where = f" in {scopes[0]}" if len(scopes) == 1 else f" in {len(scopes):,} scopes" if scopes else ""
    return f"Memories: {', '.join(words)}{where}"


@click.command("entity")
@STORE
@click.argument("name")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="Another name for it; may be given several times."
)
@SCOPE
@CONFIG
@EMBEDDING
def entity(
    store: Place,
    name: str,
    aliases: tuple[str, ...],
    scope: str | None,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Declare an entity and other names for it.

    Queries with any of the names find the memories with any other, in this scope.
    """
    from recall_integrations.console.opening import existing_store

    with existing_store(store, embedding, settings(config_path)) as target:
        where = find_scope(scope, target.scopes())
        entity_id = target.add_entity(name, aliases=aliases, scope=where)
    also = f", also called {', '.join(aliases)}" if aliases else ""
    click.echo(line(f"{name}{also}: {entity_id} in {scope_text(where)}"))


@click.command("reindex")
@STORE
@CONFIG
@EMBEDDING
def reindex(store: Place, config_path: str | None, embedding: str | None) -> None:
    """Make the indexes of STORE anew.

    BM25 is made from the texts in the database, and every vector with the embedding given. This is how a store
    changes to another embedding: name the new one with --embedding, and from then on always.
    """
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.console.opening import rebuild

    config = settings(config_path)
    with deferred_interrupt() as check, named_progress() as show:

        def advance(name: str, done: int, total: int | None) -> None:
            show(name.capitalize(), done, total)
            check()

        fingerprint = rebuild(store, embedding, advance, config)
    click.echo(f"Rebuilt the indexes of {store} with the embedding {fingerprint}.")
