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

    Exit code 0: the tables are as this version needs them, and what the server
    holds is as it should be, or could not be looked at. 1: they are not.
    """
    from recall_integrations.database import upgrading

    with _engine(store) as engine:
        found = upgrading.check(engine)
        if found.ready:
            click.echo(f"{store}: version {found.version}, as this package needs it.")
            ctx.exit(0 if _served_well(engine) else 1)
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
