"""`recall mcp`: a store as a server of the Model Context Protocol."""

from __future__ import annotations

import click

from recall_integrations.adapters.scopes import SYNTAX, parse_scope
from recall_integrations.console.commands.shared import CONFIG, EMBEDDING, STORE, line, opened_with
from recall_integrations.console.places import Address, Place, opens


@click.command("mcp")
@STORE
@click.option("--scope", metavar="SCOPE", help=f"Whose memory it is: {SYNTAX}")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "streamable-http"]),
    default="stdio",
    show_default=True,
    help="How clients reach it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where HTTP listens; elsewhere needs a token.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65_535), help="Of HTTP.")
@click.option(
    "--token",
    envvar="RECALL_MCP_TOKEN",
    metavar="TOKEN",
    help="What clients of HTTP send as 'Authorization: Bearer TOKEN'. Better in RECALL_MCP_TOKEN than in a command.",
)
@CONFIG
@EMBEDDING
def mcp(
    store: Place,
    scope: str | None,
    transport: str,
    host: str,
    port: int,
    token: str | None,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Serve STORE to agents that speak MCP.

    They can remember, recall, explain, forget and ask for stats, in one scope.

    STORE is a directory, made if absent, which is said on standard error. With stdio, an agent's client starts this
    command itself; with streamable-http it is at http://HOST:PORT/mcp.
    """
    from recall_integrations.console.opening import is_store
    from recall_integrations.frameworks import mcp as server
    from recall_integrations.store.memory_store import MemoryStore

    where = parse_scope(scope or "")
    if transport != "stdio":
        server.check_access(host, token)
    opening = opened_with(embedding, config_path)
    there = is_store(store)
    with MemoryStore.open(opens(store), **opening) as memories:
        if not there:  # it may be a path that was mistyped; standard output is the protocol's
            at = store if isinstance(store, Address) else store.absolute()
            click.echo(line(f"Made a new store at {at}"), err=True)
        if transport != "stdio":
            click.echo(f"Serving {store} at http://{host}:{port}{server.PATH}", err=True)
        server.serve(server.memory_server(memories, scope=where), transport, host=host, port=port, token=token)
