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
            f"{store} is a directory, whose tables are brought up to date when it is opened. `recall db` is for "
            "databases: postgresql://user@host:5432/name."
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
    recall db upgrade postgresql://recall@localhost/memories
    """


@db.command("check")
@STORE
@click.pass_context
def check(ctx: click.Context, store: Place) -> None:
    """Say what `recall db upgrade` would do. Nothing is changed.

    Where large scopes have their vectors on a Chroma server, it is compared
    with the record: RECALL_VECTORS__ADDRESS says where it is.

    Roles that were isolated (`recall db isolate`) are listed.

    Exit code 0: the tables are as this version needs them, no tenant sees what
    is not its own, and what the server holds is as it should be, or could not
    be looked at. 1: they are not.
    """
    from recall_integrations.database import upgrading

    with _engine(store) as engine:
        found = upgrading.check(engine)
        if found.ready:
            click.echo(f"{store}: version {found.version}, as this package needs it.")
            well = [_isolated_well(engine), _served_well(engine)]
            ctx.exit(0 if all(well) else 1)
    if not found.version:
        click.echo(f"{store}: no tables yet. `recall db upgrade` makes version {found.newest}.")
    elif found.pending:
        click.echo(f"{store}: version {found.version}. `recall db upgrade` brings it to {found.newest}.")
    for lock in found.locks if found.version else ():  # of tables that are there
        click.echo(f"  keeps others waiting while it runs: {lock}")
    for difference in found.differences:
        click.echo(f"  not as it should be: {difference}")
    ctx.exit(1)


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


@db.command("upgrade")
@STORE
@click.option(
    "--lock-timeout",
    default=3.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long a statement waits for others, who wait behind it meanwhile.",
)
def upgrade(store: Place, lock_timeout: float) -> None:
    """Bring the tables of STORE to this version, or make them.

    Others go on reading and writing. Each version is a transaction of its own;
    one that cannot get a lock in time gives up, and can be asked for again.
    """
    from recall_integrations.database import upgrading

    with _engine(store) as engine:
        made = upgrading.upgrade(engine, lock_timeout_ms=max(1, round(lock_timeout * 1000)))
        version = upgrading.check(engine).version
    if made:
        click.echo(f"{store}: upgraded to version {version}.")
    else:
        click.echo(f"{store}: version {version} already.")


@db.command("isolate")
@STORE
@click.option("--role", metavar="ROLE", help="Of the server. It has to be there, and may log in.")
@click.option("--user", metavar="USER", help="First part of the scopes that it sees: its user_id.")
@click.option("--undo", is_flag=True, help="Take back what the role was given. Memories stay.")
@click.option("--again", is_flag=True, help="For every role that was isolated: what a newer version adds.")
def isolate(store: Place, role: str | None, user: str | None, undo: bool, again: bool) -> None:
    """Let a role of the server see the scopes of one user only.

    The database itself keeps it so, by row-level security: whoever has the
    password of the role meets nothing of anybody else. Run it as the owner of
    the tables. After an upgrade, run it --again.

    \b
    recall db isolate postgresql://recall@localhost/memories --role ann --user ann
    recall stats postgresql://ann@localhost/memories
    recall db isolate postgresql://recall@localhost/memories --again
    """
    from recall_integrations.database import tenants

    if [bool(user), undo, again].count(True) != 1 or again == bool(role):
        raise InvalidArgument("Give --role ROLE with --user USER or with --undo; or --again alone.")
    with _engine(store) as engine:
        if role is None:
            for one in tenants.isolate_again(engine):
                click.echo(f"{store}: role {one.role} sees the scopes of user {one.user_id} only.")
        elif user is None:
            had = tenants.give_back(engine, role)
            said = f"role {role} sees nothing any more." if had else f"role {role} was not isolated. Nothing to do."
            click.echo(f"{store}: {said}")
        else:
            tenants.isolate(engine, role, user)
            click.echo(f"{store}: role {role} sees the scopes of user {user} only. Start its nodes anew.")
