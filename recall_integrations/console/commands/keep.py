"""`recall add`, `import`, `export`, `entity`, `forget`, `compact` and `reindex`: what changes a store by hand."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX, parse_scope, scope_text
from recall_integrations.console.commands.shared import (
    SCOPE,
    STORE,
    check_store,
    deferred_interrupt,
    filter_options,
    is_store,
    line,
    moment,
    named_progress,
    nothing_left,
    opened,
    progress,
    steps,
)
from recall_integrations.errors import EmbeddingMismatch, NotFound, RecallError
from recall_integrations.text.shortening import number_of

if TYPE_CHECKING:
    from recall_integrations.console.commands.shared import Opening
    from recall_integrations.store.importing import ImportReport
    from recall_integrations.store.memory_store import MemoryStore
    from recall_integrations.types import Filters, Memory, Scope


SHOWN = 10  # memories that are shown of what would go
CHARS = 200  # of each


@click.command("add")
@STORE
@click.argument("text")
@SCOPE
@click.option("--id", "memory_id", metavar="ID", help="Its id; one that is there already is replaced.")
@click.option("--type", "kind", default="observation", metavar="TYPE", help="What it is.")
@click.option("--actor", metavar="NAME", help="Who said or did it.")
@click.option("--thread", metavar="NAME", help="The conversation it comes from.")
@click.option("--entity", "entities", multiple=True, metavar="NAME", help="What it is about. Repeatable.")
@click.option("--at", metavar="TIME", help="When it happened: a day, or ISO 8601.")
@click.option("--expires", metavar="TIME", help="From when on it is not there any more.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["keep", "replace", "skip"]),
    default="keep",
    help="If another memory says the same.",
)
@opened
def add(
    opening: Opening,
    text: str,
    memory_id: str | None,
    kind: str,
    at: str | None,
    expires: str | None,
    on_duplicate: Any,
    **fields: Any,
) -> None:
    """Remember TEXT in STORE and print its id.

    STORE is a directory, made if absent. TEXT "-" is read from standard input.
    """
    from recall_integrations.types import Memory

    said = sys.stdin.read() if text == "-" else text
    zone = opening.zone
    fields |= {"event_at": moment(at, "--at", zone), "expires_at": moment(expires, "--expires", zone)}
    memory = Memory(said, id=memory_id, type=kind, **fields)
    where = parse_scope(opening.scope or "")
    stored: list[str] = []
    with nothing_left(opening.place, lambda: len(stored)), opening.made() as target:
        stored.append(target.remember(memory, scope=where, on_duplicate=on_duplicate))
    click.echo(line(stored[0]))


@click.command("export")
@STORE
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--format", type=click.Choice(["jsonl"]), default="jsonl", expose_value=False,
              help="What FILE is to hold.")  # fmt: skip
@click.option("--scope", metavar="SCOPE", help="Only this scope. Default: all of them.")
@filter_options
@opened
def export(opening: Opening, file: str, filters: Filters | None) -> None:
    """Write the memories of STORE to FILE.

    One JSON object a line: `recall import FILE STORE --format jsonl` makes the same memories of it,
    with their ids, times and scopes. FILE "-" is standard output.
    """
    with opening.store() as source:
        where: Any = "all" if opening.scope is None else opening.where(source)
        target: Any = sys.stdout.buffer if file == "-" else file
        with named_progress() as show:
            count = source.export(target, scope=where, filters=filters, progress=show)
    click.echo(f"Exported {number_of(count, 'memory')}.", err=file == "-")


@click.command("forget")
@STORE
@click.argument("ids", metavar="[ID]...", nargs=-1)
@SCOPE
@click.option("--user", metavar="USER", help="All that is known of a user, in every scope of theirs.")
@click.option("--everything", is_flag=True, help="All of the scope.")
@filter_options
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@opened
def forget(
    opening: Opening,
    ids: tuple[str, ...],
    user: str | None,
    everything: bool,
    filters: Filters | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove memories from STORE.

    By ID, by what they are, all of a scope, or all of a user. It shows what
    would go, and asks. What goes is in no recall any more; `recall compact
    STORE` then removes it from every file.

    \b
    recall forget STORE m1 m2 --scope u1
    recall forget STORE --scope u1 --type observation --before 2025-01-01T00:00:00Z
    recall forget STORE --scope u1 --everything
    recall forget STORE --user u1
    """
    _check_way(ids, opening.scope, user, everything, filters)
    with opening.store() as target:
        if user is None:
            scopes = [opening.where(target)]
            where = scope_text(scopes[0])
            named: dict[str, Any] = {"scope": scopes[0], "ids": ids or None, "filters": filters}
        else:
            scopes = [found for found, _ in target.scopes() if found.user_id == user]
            where = f"{number_of(len(scopes), 'scope')} of {user!r}"
            named = {"user_id": user, "filters": filters}
        some = _some(target, scopes, ids, filters)
        count = len(some) if ids else sum(target.count(scope=one, filters=filters) for one in scopes)
        if not count and ids:
            raise NotFound(f"The scope {where} has no memory {', '.join(map(repr, ids))}.")
        if not count:
            if filters is None and not dry_run:
                target.forget(**named)  # names that were declared there
            click.echo(line(f"There is nothing to forget in {where}."))
            return
        if dry_run or not yes:
            for memory in some[:SHOWN]:
                click.echo(line(f"{memory.id}: {memory.text}")[:CHARS])
            if count > SHOWN:
                click.echo(f"… and {count - SHOWN:,} more")
        what = f"{number_of(count, 'memory')} in {where}"
        if dry_run:
            click.echo(line(f"Would forget {what}. Nothing was removed."))
        elif not yes and not click.confirm(line(f"Forget {what}?")):
            click.echo("Nothing was removed.")
        else:
            what = f"{number_of(target.forget(**named), 'memory')} in {where}"
            click.echo(line(f"Forgot {what}. `recall compact` removes it from every file."))


def _check_way(
    ids: tuple[str, ...], scope: str | None, user: str | None, everything: bool, filters: Filters | None
) -> None:
    """Refuse what says in no way, or in two, what to forget."""
    ways = [bool(ids), user is not None, everything or (filters is not None and user is None and not ids)]
    if sum(ways) != 1 or (everything and filters is not None) or (ids and filters is not None):
        raise click.UsageError("Say what to forget: IDs, filters (such as --type), --everything, or --user.")
    if user is not None and scope is not None:
        raise click.UsageError("--user means all scopes of a user: leave out --scope, or give only that.")
    for option, given in (("--user", user), ("--scope", scope)):
        if given is not None and not given.strip():  # a variable of a script that is not set
            raise click.UsageError(f"{option} is blank. The default scope is written --scope '-'.")


def _some(store: MemoryStore, scopes: list[Scope], ids: tuple[str, ...], filters: Filters | None) -> list[Memory]:
    """Return the memories of these ids, or the first few that meet filters."""
    if ids:
        return [memory for one in dict.fromkeys(ids) if (memory := store.get(one, scope=scopes[0])) is not None]
    found = (memory for one in scopes for memory in store.list(scope=one, filters=filters, limit=SHOWN))
    return list(islice(found, SHOWN))


@click.command("compact")
@STORE
@opened
def compact(opening: Opening) -> None:
    """Remove for good what was forgotten.

    No file of STORE holds it afterwards, nor what has expired. Indexes and
    database are made anew from what stands, if anything was forgotten since
    the last time. It takes as much disk again meanwhile. STORE
    must not be open elsewhere. Stopped on the way, nothing is lost: run it again.
    """
    from rich.filesize import decimal

    with opening.store() as target, steps() as advance:
        done = target.compact(progress=advance)
    if done.ended:
        click.echo(f"Removed {number_of(done.ended, 'memory')} that had expired.")
    if done.rebuilt:
        click.echo(f"Compacted {opening.place}: {decimal(done.bytes_before)} before, {decimal(done.bytes_after)} now.")
    else:
        click.echo(f"Nothing was forgotten since {opening.place} was last compacted.")
    for path in done.left:
        click.echo(f"{path} holds what a repair put aside, as it was found. Remove it if it may go.", err=True)


BAD_ROWS_SHOWN = 100


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@STORE
@click.option("--format", metavar="FORMAT", help="Of PATH. Default: found out by its content.")
@click.option("--scope", metavar="SCOPE", help=f"Scope of entries that do not say theirs: {SYNTAX}")
@click.option("--dry-run", is_flag=True, help="Only show what would be stored.")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows of jsonl and list them, instead of stopping.")
@click.option("--forget-gone", is_flag=True, help="Forget notes that are no longer in the folder PATH.")
@opened
def import_(opening: Opening, path: Path, dry_run: bool, **how: Any) -> None:
    """Put what is in PATH, a file, folder or zip, into STORE.

    STORE is a directory, made if absent.

    \b
    FORMAT is one of:
      chatgpt, claude     conversations.json, or the zip that you were sent
      slack               the folder or zip of an export
      discord             JSON of DiscordChatExporter
      whatsapp            the text (or zip) of "Export chat"
      mem0                JSON of what its get_all returns
      markdown            a folder of notes: Obsidian, basic-memory
      mbox                e-mails
      csv                 a table; the first row names the columns
      jsonl               as `recall export` writes it

    Times, roles and threads are kept. Entries that cannot be read are listed and left out. An import that was
    interrupted continues when it is run again: an entry that is in the store already is left alone, one that has
    changed replaces what was there. Memories whose expires_at has passed are left out.

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
    An unknown key is an error: other data belongs into metadata. A bad row
    leaves STORE as it was, unless --skip-bad leaves the row out.

    A row without an id gets one from its content, so it is found again. If you edit such a row and import it again,
    the old one stays: give an id to rows that change.
    """
    _import(path, opening, dry_run, how)


def _import(path: Path, opening: Opening, dry_run: bool, how: dict[str, Any]) -> None:
    from recall_integrations.store.importing import Importer

    scope, zone = parse_scope(opening.scope or ""), opening.zone
    importer = Importer(None)
    with ExitStack() as stack:
        if dry_run:
            there = is_store(opening.place)
            importer = Importer(stack.enter_context(opening.store()) if there else None, dry_run=True)
        else:
            stack.enter_context(nothing_left(opening.place, lambda: importer.report.rows))
            importer = Importer(stack.enter_context(opening.made()))
        check, shown = stack.enter_context(deferred_interrupt()), stack.enter_context(progress("Importing", None))

        def advance(done: int) -> None:
            shown(done)
            check()

        try:
            importer.read(path, scope, zone=zone, advance=advance, **how)
        except (RecallError, KeyboardInterrupt):
            if importer.report.rows and not dry_run:
                click.echo(_counts(importer.report) + ". Run the command again to continue.", err=True)
            raise
    _show_import(importer.report, dry_run)
    if importer.report.bad and not importer.report.rows:
        click.get_current_context().exit(1)


def _show_import(report: ImportReport, dry_run: bool) -> None:
    for bad in report.bad[:BAD_ROWS_SHOWN]:
        click.echo(f"Skipped {line(bad.where)}: {line(bad.problem)}", err=True)
    if len(report.bad) > BAD_ROWS_SHOWN:
        click.echo(f"Skipped {len(report.bad) - BAD_ROWS_SHOWN:,} more.", err=True)
    if report.others:
        names = ", ".join(report.others[:3]) + (", …" if len(report.others) > 3 else "")
        click.echo(line(f"In no known format: {number_of(len(report.others), 'file')} ({names})"), err=True)
    click.echo(f"{_counts(report)}.")
    if not dry_run:
        return
    for name, counts in (("format", report.formats), ("role", report.roles)):
        if counts:
            click.echo(f"{name:8} {', '.join(f'{count:,} {key}' for key, count in counts.most_common())}")
    click.echo(f"threads  {len(report.threads):,}")
    if report.first is not None and report.last is not None:
        click.echo(f"times    {report.first:%Y-%m-%d} to {report.last:%Y-%m-%d}")
    for memory in report.samples:
        when = "" if memory.event_at is None else f"{memory.event_at:%Y-%m-%d} "
        who = "" if memory.actor is None else f"{memory.actor}: "
        click.echo("  " + line(f"{when}{who}{memory.text}")[:CHARS])
    click.echo("Nothing was stored.")


def _counts(report: ImportReport) -> str:
    words = [f"{report.new:,} new", f"{report.replaced:,} replaced", f"{report.unchanged:,} unchanged"]
    for count, said in (
        (report.forgotten, "forgotten"),
        (report.ended, "left out that have come to their end"),
        (report.empty, "left out without text"),
        (report.repeated, "left out that came twice"),
        (len(report.bad), "skipped"),
    ):
        words += [f"{count:,} {said}"] if count else []
    scopes = [scope_text(s) for s in report.scopes]
    where = f" in {scopes[0]}" if len(scopes) == 1 else f" in {number_of(len(scopes), 'scope')}" if scopes else ""
    return f"Memories: {', '.join(words)}{where}"


@click.command("entity")
@STORE
@click.argument("name")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="Another name for it; may be given several times."
)
@SCOPE
@opened
def entity(opening: Opening, name: str, aliases: tuple[str, ...]) -> None:
    """Declare an entity and other names for it.

    Queries with any of the names find the memories with any other, in this scope.
    """
    with opening.store() as target:
        where = opening.where(target)
        entity_id = target.add_entity(name, aliases=aliases, scope=where)
    also = f", also called {', '.join(aliases)}" if aliases else ""
    click.echo(line(f"{name}{also}: {entity_id} in {scope_text(where)}"))


@click.command("reindex")
@STORE
@opened
def reindex(opening: Opening) -> None:
    """Make the indexes of STORE anew.

    BM25 is made from the texts in the database, and every vector with the embedding given. This is how a store
    changes to another embedding: name the new one with --embedding, and from then on always.
    """
    check_store(opening.place)
    with steps() as advance, ExitStack() as stack:
        try:
            store = stack.enter_context(opening.made())
        except EmbeddingMismatch:  # opening with `reindex` makes the vectors anew; BM25 does not depend on them
            store = stack.enter_context(opening.made(reindex=True))
        else:
            store.reindex(progress=advance)
        click.echo(f"Rebuilt the indexes of {opening.place} with the embedding {store.embedding.fingerprint}.")
