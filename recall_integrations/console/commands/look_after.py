"""`recall doctor`, `db` and `move`: the state of a store, and another place for it.

`recall config`: what holds and why, whether a file is right, and what there is to set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_integrations.adapters.scopes import SYNTAX, parse_scope
from recall_integrations.console.commands.shared import (
    AS_JSON,
    CONFIG,
    EMBEDDING,
    PLACE,
    STORE,
    Address,
    Place,
    check_store,
    deferred_interrupt,
    line,
    named_progress,
    opens,
    steps,
    tell,
)
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.text.shortening import number_of

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from recall_integrations.config.loading import Value
    from recall_integrations.evaluation.moved import Verified


@click.command("doctor")
@STORE
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@AS_JSON
@EMBEDDING
@click.pass_context
def doctor(ctx: click.Context, store: Place, repair: bool, as_json: bool, embedding: str | None) -> None:
    """Find out what is wrong with STORE.

    Nothing is changed without --repair. STORE must not be open in another process. Every check is named with its
    state: ok; notice (worth knowing, the answers are right); problem; mended; skipped (another problem is in the way).

    Exit code 0: no problem is left. 1: some are, or could not be looked for.

    --repair makes counts, words, the journal and the semantic index anew from the memories, removes what belongs to
    nothing, and moves memories that cannot be read into put_aside.jsonl in STORE. Where vectors are wrong, it makes all
    of them anew, as `recall reindex` does, with --embedding.

    --json prints one object, with these checks; keys are only ever added (format is 1).
    """
    from recall_integrations.console import rendering
    from recall_integrations.store import doctor as doctoring

    if isinstance(store, Address):
        raise InvalidArgument(
            f"`recall doctor` is for a store in a directory; {store} is a database. Its tables are looked at by "
            "`recall db check`; the server checks its own files."
        )
    with steps() as advance:
        if repair:
            found = doctoring.repair(store, embedding=embedding, progress=advance)
        else:
            found = doctoring.examine(store, progress=advance)
    tell(as_json, found.as_data(), lambda on: rendering.show_findings(on, found))
    ctx.exit(0 if found.clean else 1)


@contextmanager
def _engine(store: Place) -> Iterator[Engine]:
    from recall_integrations.database.postgres import open_postgres

    if not isinstance(store, Address):
        raise InvalidArgument(
            f"{store} is a directory, which `recall doctor` looks over. `recall db` is for databases: "
            "postgresql://user@host:5432/name."
        )
    engine = open_postgres(store.given)
    try:
        yield engine
    finally:
        engine.dispose()


@click.group("db")
def db() -> None:
    """Look after the tables of a store in PostgreSQL.

    STORE is an address: postgresql://user@host:5432/name. Give the password in
    PGPASSWORD or a password file; one in the address is in the list of
    processes.

    \b
    recall db check postgresql://recall@localhost/memories
    recall db isolate postgresql://recall@localhost/memories --role ann --user ann
    """


@db.command("check")
@STORE
@click.pass_context
def check_database(ctx: click.Context, store: Place) -> None:
    """Say whether the tables are as a store needs them. Nothing is changed.

    Roles that were isolated (`recall db isolate`) are listed.

    Exit code 0: the tables are as this package needs them, and no tenant sees
    what is not its own. 1: they are not.
    """
    from recall_integrations.database.postgres import check_tables
    from recall_integrations.database.schema import check_version

    with _engine(store) as engine:
        found = check_tables(engine)
        if found.ready:
            click.echo(f"{store}: version {found.version}, as this package needs it.")
            ctx.exit(0 if _isolated_well(engine) else 1)
    if not found.version:
        click.echo(f"{store}: no tables yet. Who opens a store there makes them: recall add, import or serve.")
    else:
        check_version(found.version, f"The store {store}")
        click.echo(f"{store}: version {found.version}, but with other tables.")
    for difference in found.differences:
        click.echo(f"  not as it should be: {difference}")
    ctx.exit(1)


def _isolated_well(engine: Engine) -> bool:
    from recall_integrations.database import tenants

    with engine.connect() as connection:
        known, lacking = tenants.tenants(connection), list(tenants.lacking(connection))
    for one in known:
        click.echo(f"role {one.role}: sees the scopes of user {one.user_id}.")
    for what in lacking:
        click.echo(f"  not as it should be: {what}")
    return not lacking


@db.command("isolate")
@STORE
@click.option("--role", metavar="ROLE", required=True, help="Of the server. It has to be there, and may log in.")
@click.option("--user", metavar="USER", help="First part of the scopes that it sees: its user_id.")
@click.option("--undo", is_flag=True, help="Take back what the role was given. Memories stay.")
def isolate(store: Place, role: str, user: str | None, undo: bool) -> None:
    """Let a role of the server see the scopes of one user only.

    The database itself keeps it so, by row-level security: whoever has the
    password of the role meets nothing of anybody else. Run it as the owner of
    the tables. Run it once more where `recall db check` says that something
    lacks.

    \b
    recall db isolate postgresql://recall@localhost/memories --role ann --user ann
    recall stats postgresql://ann@localhost/memories
    """
    from recall_integrations.database import tenants

    if bool(user) == undo:
        raise InvalidArgument("Give --role ROLE with --user USER or with --undo.")
    with _engine(store) as engine:
        if user is None:
            had = tenants.give_back(engine, role)
            said = f"role {role} sees nothing any more." if had else f"role {role} was not isolated. Nothing to do."
            click.echo(f"{store}: {said}")
        else:
            tenants.isolate(engine, role, user)
            click.echo(f"{store}: role {role} sees the scopes of user {user} only. Start its nodes anew.")


SHOWN = 10  # differences


@click.command("move")
@click.argument("source", type=PLACE)
@click.argument("target", type=PLACE)
@click.option("--verify-only", is_flag=True, help="Bring nothing; compare what is at both places.")
@click.option("--no-verify", is_flag=True, help="Compare nothing afterwards.")
@click.pass_context
def move(ctx: click.Context, source: Place, target: Place, verify_only: bool, no_verify: bool) -> None:
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
    from recall_integrations.evaluation.moved import verify

    check_store(source)
    if not verify_only:
        _bring(source, target)
    if no_verify:
        return
    check_store(target)
    with named_progress() as show:
        found = verify(opens(source), opens(target), progress=show)
    _tell(found)
    if found.differences:
        ctx.exit(1)


def _bring(source: Place, target: Place) -> None:
    from recall_integrations.store import moving

    with deferred_interrupt() as stopped, named_progress() as show:
        try:
            moved = moving.move(opens(source), opens(target), progress=show, stopped=stopped)
        except KeyboardInterrupt:
            click.echo("Stopped. Ask for the same again: it goes on where it was.", err=True)
            raise
    again = ", which had been begun before" if moved.went_on else ""
    what = f"{number_of(moved.memories, 'memory')} of {number_of(moved.scopes, 'scope')}"
    click.echo(f"Moved {what} in {moved.seconds:.1f} s{again}. Who writes to {source} waited for {moved.held_s:.1f} s.")


def _tell(found: Verified) -> None:
    for said in found.differences[:SHOWN]:
        click.echo(f"Not the same: {said}.", err=True)
    if len(found.differences) > SHOWN:
        click.echo(f"And {len(found.differences) - SHOWN:,} more.", err=True)
    written = f"; {number_of(found.written, 'scope')} written to since, and left out" if found.written else ""
    same = "The same at both places" if not found.differences else "Compared"
    click.echo(f"{same}: {number_of(found.rows, 'row')} of {number_of(found.scopes, 'scope')}{written}.")


# -- settings ----------------------------------------------------------------------------------------------------------


@click.group("config")
def config() -> None:
    """Settings: what holds, and whether a file of them is right."""


@config.command("show")
@CONFIG
@click.option("--scope", metavar="SCOPE", help=f"As they hold in this scope: {SYNTAX}")
@click.option("--changed", is_flag=True, help="Only those that are not as by default.")
@AS_JSON
def show(config_path: str | None, scope: str | None, changed: bool, as_json: bool) -> None:
    """Show every setting, its value, and where that was said.

    A call's argument stands over the environment (RECALL_PLANNER__ARM_LIMIT=20), that over an entry of `scopes`, that
    over the rest of the file, and that over the default.

    --json prints one object, with `settings` by their path, each a value and its origin; keys are only ever added
    (format is 1).
    """
    from recall_integrations.config.loading import DEFAULT, loaded_here
    from recall_integrations.delivery import as_data as data

    found = loaded_here(config_path)
    where = None if scope is None else parse_scope(scope)
    values = [v for v in found.values(where) if not changed or v.origin != DEFAULT]
    if as_json:
        entries = [{**asdict(e), "settings": dict(e.settings)} for e in found.config.scopes]
        told = {
            "format": 1,
            "file": found.file,
            "fingerprint": (found.config if where is None else found.config.for_scope(where)[0]).fingerprint,
            "scope": scope,
            "settings": {v.setting.path: {"value": v.value, "origin": v.origin} for v in values},
            "scopes": [{**entry, "origin": found.entries[i]} for i, entry in enumerate(entries)],
        }
        click.echo(data.dumps(told))
        return
    for section in dict.fromkeys(value.setting.section for value in values):
        _show_section(section, [value for value in values if value.setting.section == section])
    for i, entry in enumerate(found.config.scopes if scope is None else ()):
        click.echo(line(f"scopes[{i}]  {entry}") + click.style(f"  {line(found.entries[i])}", dim=True))


def _show_section(section: str, values: list[Value]) -> None:
    from recall_integrations.config.loading import DEFAULT

    if section:
        click.secho(section, bold=True)
    indent = "  " if section else ""
    wide = max(len(f"{v.setting.name}: {v.shown}") for v in values)
    for value in values:
        said = f"{value.setting.name}: {value.shown}"
        if value.origin == DEFAULT:
            click.echo(f"{indent}{line(said)}")
        else:
            click.echo(f"{indent}{line(said):{min(wide, 50)}}" + click.style(f"  {line(value.origin)}", dim=True))


@config.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_context
def check_file(ctx: click.Context, file: Path) -> None:
    """Say whether FILE can be used, and if not, all that is wrong with it.

    A line for each mistake: the file, its line and column, what is wrong, and what was probably meant. Exit code 0: it
    can be used. 1: it cannot. Neither the environment nor a store is looked at.
    """
    from recall_integrations.config.loading import loaded
    from recall_integrations.config.recall_config import RecallConfig, changed_settings

    try:
        found = loaded(file, {})
    except ConfigError as e:
        said = [says for _, says in e.mistakes] or [str(e)]
        for each in said:
            click.echo(line(each), err=True)
        click.echo(f"{number_of(len(said), 'mistake')}. {line(str(file))} cannot be used.", err=True)
        ctx.exit(1)
    for says in found.fixed:
        click.echo(line(says), err=True)
    count = len(changed_settings(RecallConfig(), found.config))
    click.echo(
        f"{line(str(file))} is right. {count} {'setting is' if count == 1 else 'settings are'} not as by default."
    )


@config.command("schema")
def schema() -> None:
    """Print the JSON schema of a file of settings.

    Editors that speak YAML complete and check a file whose first line is

    \b
      # yaml-language-server: $schema=FILE
    """
    from recall_integrations.config.schema import schema as made

    click.echo(json.dumps(made(), indent=1, ensure_ascii=False))


@config.command("example")
@click.option(
    "--schema", default="", metavar="FILE", help="Begin with the line that tells editors where the schema is."
)
def example(schema: str) -> None:
    """Print a file of all settings, each with its default behind a #.

    \b
    recall config example > recall.yaml
    """
    from recall_integrations.config.schema import example as made

    click.echo(made(schema), nl=False)
