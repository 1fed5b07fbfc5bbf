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

    Roles that were isolated (`recall db isolate`) are listed.

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
            well = [_isolated_well(engine), _served_well(engine)]
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
    """Print how many scopes PostgreSQL is asked of, and how many of their memories are not counted yet."""
    from recall_integrations.store.large_scopes import look

    with engine.connect() as connection:
        found = look(connection, None, None)
    if found:
        lacking = sum(one.memories - one.counted for one in found.values() if not one.whole)
        rest = f"; {lacking:,} of their memories are not counted yet, which a node does" if lacking else ""
        click.echo(f"large scopes: PostgreSQL is asked of {len(found):,}, and no node reads them whole{rest}.")


def _served_well(engine: Engine) -> bool:
    """Print the state of the collections that a Chroma server holds of the store; say whether there is no problem."""
    from recall_integrations.config import checked_config
    from recall_integrations.store import homes
    from recall_integrations.store.doctor.findings import PROBLEM
    from recall_integrations.store.doctor.indexes import examine_served

    with engine.connect() as connection:
        remedy = "A node makes them anew when it opens the store."
        told = examine_served(connection, homes.noted(connection), checked_config(None).vectors, remedy)
    if told is None:
        return True
    click.echo(f"{told.name}: {told.state}. {told.says} {told.remedy}".rstrip())
    for example in told.examples:
        click.echo(f"  {example}")
    return told.state != PROBLEM


def _isolated_well(engine: Engine) -> bool:
    """Print the isolated roles, and what they lack; say whether they lack nothing."""
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
