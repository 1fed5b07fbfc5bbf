"""`recall db`: the tables of a store that is in a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from recall_integrations.console.commands.shared import STORE
from recall_integrations.console.places import Address, Place
from recall_integrations.errors import InvalidArgument

if TYPE_CHECKING:
    from sqlalchemy import Engine


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
def check(ctx: click.Context, store: Place) -> None:
    """Say whether the tables are as a store needs them. Nothing is changed.

    Where large scopes have their vectors on a Chroma server or in pgvector,
    they are compared with the record: RECALL_VECTORS__ADDRESS says where.

    How many scopes PostgreSQL is asked of, as they are too large to be read
    whole, and how far their words are counted.

    Roles that were isolated (`recall db isolate`) are listed, and on Citus
    which tables are shared out (`recall db distribute`).

    Exit code 0: the tables are as this package needs them, no tenant sees what
    is not its own, and what the server holds is as it should be, or could not
    be looked at. 1: they are not.
    """
    from recall_integrations.database import tables
    from recall_integrations.database.meta import check_version

    with _engine(store) as engine:
        found = tables.check(engine)
        if found.ready:
            click.echo(f"{store}: version {found.version}, as this package needs it.")
            well = [_isolated_well(engine), _distributed_well(engine), _served_well(engine)]
            _say_large(engine)
            ctx.exit(0 if all(well) else 1)
    if not found.version:
        click.echo(f"{store}: no tables yet. Who opens a store there makes them: recall add, import or serve.")
    else:
        check_version(found.version, f"The store {store}")
        click.echo(f"{store}: version {found.version}, but with other tables.")
    for difference in found.differences:
        click.echo(f"  not as it should be: {difference}")
    ctx.exit(1)


def _say_large(engine: Engine) -> None:
    """Say how far scopes are counted that PostgreSQL is asked of."""
    from recall_integrations.store.large_scopes import look

    with engine.connect() as connection:
        found = look(connection, None, None)
    if found:
        lacking = sum(one.memories - one.counted for one in found.values() if not one.whole)
        rest = f"; {lacking:,} of their memories are not counted yet, which a node does" if lacking else ""
        click.echo(f"large scopes: PostgreSQL is asked of {len(found):,}, and no node reads them whole{rest}.")


def _served_well(engine: Engine) -> bool:
    """Whether nothing is wrong with what a Chroma server holds of the store; says what is."""
    from recall_integrations.config import checked_config
    from recall_integrations.store.doctor import served
    from recall_integrations.store.doctor.findings import PROBLEM

    with engine.connect() as connection:
        remedy = "A node makes them anew when it opens the store."
        told = served.examine(connection, served.noted(connection), checked_config(None).vectors, remedy)
    if told is None:
        return True
    click.echo(f"{told.name}: {told.state}. {told.says} {told.remedy}".rstrip())
    for example in told.examples:
        click.echo(f"  {example}")
    return told.state != PROBLEM


def _distributed_well(engine: Engine) -> bool:
    """Whether tables are where they ought to be on Citus, if it is there; says where they are."""
    from recall_integrations.database import distributing

    with engine.connect() as connection:
        version = distributing.version_of_citus(connection)
        if not version:
            return True
        found = distributing.placed(connection)
    shared = [one.table for one in found if one.done and not one.otherwise]
    left = [one.table for one in found if one.by_scope and not one.done and not one.otherwise]
    if not shared and not any(one.otherwise for one in found):
        click.echo(f"Citus {version} is there, and no table is shared out (`recall db distribute`).")
        return True
    click.echo(f"Citus {version}: shared out by {distributing.COLUMN}: {', '.join(shared)}.")
    for one in found:
        if one.otherwise:
            click.echo(f"  not as it should be: {one.table} is {one.otherwise}.")
    if left:
        click.echo(f"  not as it should be: not shared out yet: {', '.join(left)}. Run `recall db distribute`.")
    return not left and not any(one.otherwise for one in found)


def _isolated_well(engine: Engine) -> bool:
    """Whether nothing lacks where roles are tenants'; says who they are, and what lacks."""
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


@db.command("distribute")
@STORE
@click.option("--dry-run", is_flag=True, help="Check, and print the statements. Nothing is changed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def distribute(store: Place, dry_run: bool, yes: bool) -> None:
    """Share out the tables of STORE over the workers of Citus, by scope.

    STORE is the address of the coordinator; the extension has to be there, and
    nobody may have the store open. A scope's memories and all that hangs on
    them go to one shard; the journal and the list of scopes stay on the
    coordinator, to which all nodes go.

    This was never run on a real Citus: read docs/postgres.md first, and try it
    on a copy.

    \b
    recall db distribute postgresql://recall@coordinator/memories --dry-run
    """
    from recall_integrations.database import distributing

    with _engine(store) as engine:
        todo = distributing.checked(engine)
        if not todo:
            click.echo(f"{store}: all that is to be shared out is.")
            return
        if dry_run:
            for statement in todo:
                click.echo(f"{statement};")
            return
        if not yes:
            click.confirm(
                "This was never run on a real Citus, and a node may see a change before its rows (docs/postgres.md). "
                f"Share out {len(todo) // 2} tables?",
                abort=True,
            )
        distributing.distribute(engine)
    click.echo(f"{store}: {len(todo) // 2} tables are shared out by {distributing.COLUMN}.")
