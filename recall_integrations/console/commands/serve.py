"""`recall serve` and `look`: a store over HTTP. `recall mcp`: to agents. `recall token`: who may ask."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX, parse_scope
from recall_integrations.console.commands.shared import (
    ARGUMENTS,
    CONFIG,
    EMBEDDING,
    PLACE,
    PRIVACY,
    STORE,
    Address,
    Opening,
    Place,
    check_store,
    given,
    is_store,
    line,
    opened,
    progress,
    settings,
)
from recall_integrations.errors import InvalidArgument

if TYPE_CHECKING:
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.store.memory_store import MemoryStore


STOPPED = "Stopped. The store is closed."
FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command("serve")
@STORE
@click.option("--host", default="127.0.0.1", help="Where it listens; elsewhere needs --tokens.")
@click.option("--port", default=8765, type=click.IntRange(0, 65_535), help="0 = a free one.")
@CONFIG
@click.option("--llm", metavar="MODULE:NAME", help="A language model, for rewrites and conversations.")
@click.option("--reranker", metavar="MODULE:NAME", help="A reranker; or the name of a cross-encoder.")
@EMBEDDING
@click.option("--tokens", type=click.Path(dir_okay=False, path_type=Path), help="File of `recall token`.")
@PRIVACY
@click.option("--rate", type=click.FloatRange(min=0), default=0.0, help="Requests per second of "
              "each token, or address (10,000 bytes of a body are one more). 0 = as many as they like.")  # fmt: skip
@click.option("--concurrency", type=click.IntRange(1, 256), default=16, help="Requests at once.")
@click.option("--body-max", type=click.IntRange(min=1), default=8_000_000, help="Bytes.")
@click.option("--k-max", type=click.IntRange(min=1), default=100, help="Hits of one recall.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Of a store in PostgreSQL: where this node, and no other, keeps columns, for a quick start. Each worker has a "
    "part of it. Default: a temporary one.",
)
@click.option("--warm/--no-warm", default=True, help="Load up to 200 scopes, for a minute at most, before it answers.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, help="Processes that answer; more use more processors."
)
@click.option("--socket", "shared", envvar="_RECALL_WORKER_SOCKET", type=int, hidden=True, help="Of a worker.")
@click.option("--worker", envvar="_RECALL_WORKER_NUMBER", type=int, hidden=True, help="Of a worker, from 0.")
@click.option("--parent", envvar="_RECALL_WORKER_PARENT", type=int, hidden=True, help="Which a worker ends with.")
def serve(
    store: Place,
    host: str,
    port: int,
    config_path: str | None,
    embedding: str | None,
    tokens: Path | None,
    workers: int,
    shared: int | None,
    parent: int | None,
    worker: int | None,
    directory: Path | None,
    **options: Any,
) -> None:
    """Serve STORE over HTTP, and a page to look at it.

    STORE is a directory, made if absent. Only this machine reaches it, unless
    --host says otherwise, which needs tokens. SIGTERM lets requests end and
    closes the store; SIGHUP reads --config again.

    \b
    recall serve memories/
    recall token add tokens.json --scope u1
    recall serve memories/ --host 0.0.0.0 --tokens tokens.json --privacy redact
    recall serve memories/ --workers 4
    recall serve postgresql://recall@db/memories --directory /var/lib/recall
    """
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.serving import start
    from recall_integrations.serving.served import Limits, Served
    from recall_integrations.serving.tokens import Tokens

    start.check_installed()
    known = None if tokens is None else Tokens(tokens)
    start.check_access(host, known)
    limits = Limits(workers=workers, **{name: options[name] for name in ("rate", "concurrency", "body_max", "k_max")})
    kept = _kept(store, directory, worker)
    settings(config_path)  # a mistake in it, or in what is loaded here, is told before a store is made
    models = {"llm": given(options["llm"], "--llm"), "reranker": given(options["reranker"])}
    listener = start.listening(host, port) if shared is None else socket.socket(fileno=shared)
    if workers > 1 and shared is None:
        _serve_by_workers(click.get_current_context(), store, workers, listener)
        return
    if parent is not None:
        start.end_with_parent(parent)
    opening = Opening(place=store, config=settings(config_path), embedding=embedding)
    with closing(listener), opening.made(directory=kept) as memories:
        metrics, tracing = start.observers_of(memories)
        observers = list(filter(None, (metrics, tracing)))
        optimizer = QueryOptimizer(memories, config=opening.config, observers=observers, **models)
        rest: dict[str, Any] = {"privacy": options["privacy"], "metrics": metrics}
        served = Served(store=memories, optimizer=optimizer, tokens=known, limits=limits, **rest)
        if options["warm"]:
            _warm(memories)
        if shared is None:
            _say_where(store, start.address_of(listener))
        start.serve(served, listener, reload=partial(_reload, optimizer, config_path), said=_said)
    if shared is None:
        _said(STOPPED)


def _kept(store: Place, directory: Path | None, worker: int | None) -> Path | None:
    """Return the directory in which this process keeps columns; `None` = a temporary one, or that of the store."""
    if directory is None:
        return None
    if not isinstance(store, Address):
        raise InvalidArgument(f"--directory is for a store in PostgreSQL; {store} has its own. Leave it out.")
    return directory if worker is None else directory / f"worker-{worker}"


def _say_where(store: Place, address: str, more: str = "") -> None:
    click.echo(f"Serving {store} at {address}{more}", err=True)
    click.echo(f"  page {address}/ · API {address}/openapi.json · health {address}/health/retrieval", err=True)


def _serve_by_workers(ctx: click.Context, store: Place, count: int, listener: socket.socket) -> None:
    """Start workers with the same arguments, and keep them running until this process is told to stop."""
    from recall_integrations.serving import start

    with closing(listener):
        start.check_possible(count)
        _say_where(store, start.address_of(listener), f", {count} workers")
        served = start.Workers(ctx.meta[ARGUMENTS], count, listener, said=_said).run()
    if not served:
        ctx.exit(1)
    _said(STOPPED)


@click.command("look")
@click.argument("store", type=PLACE, required=False)
@click.option("--demo", is_flag=True, help="Look at the memories of `recall demo`, in a temporary store.")
@click.option("--port", default=0, type=click.IntRange(0, 65_535), help="0 = a free one.")
@CONFIG
@EMBEDDING
@click.pass_context
def look(
    ctx: click.Context, store: Place | None, demo: bool, port: int, config_path: str | None, embedding: str | None
) -> None:
    """Look at STORE in a browser.

    Ask it something and see how the question is read, where it is looked for,
    why each memory is there, and what would be found otherwise. The address is
    printed; only this machine reaches it. Ctrl-C ends it.

    \b
    recall look --demo
    recall look memories/
    """
    if demo == (store is not None):
        raise InvalidArgument("Name one store to look at, such as recall look memories/, or say --demo.")
    if demo and (config_path or embedding):
        raise InvalidArgument("--demo takes neither --config nor --embedding. Name a store of yours for these.")
    if store is None:
        _look_at_the_demo(port)
        return
    check_store(store)
    ctx.invoke(serve, store=store, port=port, config_path=config_path, embedding=embedding, warm=False)


def _look_at_the_demo(port: int) -> None:
    """Serve the page over the memories of `recall demo`, at the time in which these play."""
    from recall_integrations.console.demo import demo_optimizer
    from recall_integrations.serving import start
    from recall_integrations.serving.served import Served

    start.check_installed()
    with closing(start.listening("127.0.0.1", port)) as listener, demo_optimizer() as optimizer:
        _said(f"Serving the memories of recall demo: open {start.address_of(listener)}/ in a browser. Ctrl-C ends it.")
        _said("Ask: When was Inbox3 fixed on 17 March?")
        start.serve(Served(store=optimizer.store, optimizer=optimizer), listener, said=_said)
    _said("Stopped. The temporary store is gone.")


def _said(text: str) -> None:
    click.echo(line(text), err=True)


def _reload(optimizer: QueryOptimizer, config_path: str | None) -> str:
    changed = optimizer.reload(settings(config_path))
    return f"Settings were read again: {', '.join(changed) or 'nothing has changed'}."


def _warm(store: MemoryStore) -> None:
    """Load scopes as first recalls would, as far as memory allows; the largest last, since these stay."""
    scopes = sorted(store.scopes(), key=lambda item: item[1])[-WARM_MAX:]
    with progress("Loading scopes", sum(count for _, count in scopes)) as advance:
        until = time.monotonic() + WARM_S
        for scope, count in scopes:
            if time.monotonic() > until:
                break
            store.warm(scope=scope)
            advance(count)


WARM_MAX = 200  # scopes that are loaded ahead
WARM_S = 60.0  # and no longer than that


# -- tokens ------------------------------------------------------------------------------------------------------------


@click.group("token")
def token() -> None:
    """Who may ask `recall serve --tokens FILE`."""


@token.command("add")
@FILE
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="SCOPE",
    help=f"What it reaches: {SYNTAX} With '*' at the end, all that begin so: u1/*. Repeatable.",
)
@click.option("--name", default="", show_default=False, help="What it is for.")
@click.option(
    "--right",
    "rights",
    multiple=True,
    type=click.Choice(["read", "write", "admin"]),
    help="Repeatable. Default: read and write.",
)
@PRIVACY
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="It ends after so many days.")
def add_token(
    file: Path, scopes: tuple[str, ...], name: str, rights: tuple[str, ...], privacy: str, days: float | None
) -> None:
    """Make a token, print it, and note its digest in FILE.

    It is shown once, on standard output. Clients send it as
    'Authorization: Bearer TOKEN'.
    """
    from recall_integrations.serving.tokens import Tokens

    ends = None if days is None else datetime.now(timezone.utc) + timedelta(days=days)
    made, noted = Tokens(file).add(
        scopes=scopes, name=name, rights=rights or ("read", "write"), privacy=privacy, expires_at=ends
    )
    click.echo(made)
    click.echo(f"It is shown this once. To take it back: recall token revoke {file} {noted.id}", err=True)


@token.command("list")
@FILE
def list_tokens(file: Path) -> None:
    """What is known of the tokens in FILE."""
    from recall_integrations.serving.tokens import Tokens

    now = datetime.now(timezone.utc)
    known = Tokens(file).list()
    if not known:
        click.echo(line(f"{file} holds no token. Make one: recall token add {file} --scope u1"), err=True)
    for one in known:
        ends = "" if one.expires_at is None else f", until {one.expires_at:%Y-%m-%d %H:%M}"
        over = " (over)" if one.expired(now) else ""
        scopes, rights = " ".join(map(str, one.grants)), "+".join(one.rights)
        click.echo(line(f"{one.id}  {one.name or '-'}  {scopes}  {rights}  privacy {one.privacy}{ends}{over}"))


@token.command("revoke")
@FILE
@click.argument("token_id", metavar="ID")
def revoke_token(file: Path, token_id: str) -> None:
    """Take a token back, by its id or name. Servers refuse it from their next request on."""
    from recall_integrations.serving.tokens import Tokens

    gone = Tokens(file).revoke(token_id)
    click.echo(line(f"Revoked {gone.id} {gone.name}".rstrip()))


@click.command("mcp")
@STORE
@click.option("--scope", metavar="SCOPE", help=f"Whose memory it is: {SYNTAX}")
@click.option(
    "--transport", type=click.Choice(["stdio", "streamable-http"]), default="stdio", help="How clients reach it."
)
@click.option("--host", default="127.0.0.1", help="Where HTTP listens; elsewhere needs a token.")
@click.option("--port", default=8000, type=click.IntRange(1, 65_535), help="Of HTTP.")
@click.option(
    "--token",
    envvar="RECALL_MCP_TOKEN",
    metavar="TOKEN",
    help="What clients of HTTP send as 'Authorization: Bearer TOKEN'. Better in RECALL_MCP_TOKEN than in a command.",
)
@PRIVACY
@click.option("--llm", metavar="MODULE:NAME", help="A language model, for rewrites and conversations.")
@opened
def mcp(
    opening: Opening, transport: str, host: str, port: int, token: str | None, privacy: str, llm: str | None
) -> None:
    """Serve STORE to agents that speak MCP.

    They can remember, recall, explain, forget and ask for stats, in one scope;
    with --llm also give a whole conversation to remember.

    STORE is a directory, made if absent, which is said on standard error. With stdio, an agent's client starts this
    command itself; with streamable-http it is at http://HOST:PORT/mcp.
    """
    from recall_integrations.frameworks import mcp as server
    from recall_integrations.optimizer import QueryOptimizer

    model = given(llm, "--llm")
    store, where = opening.place, parse_scope(opening.scope or "")
    if transport != "stdio":
        server.check_access(host, token)
    there = is_store(store)
    with opening.made() as memories:
        if not there:  # it may be a path that was mistyped; standard output is the protocol's
            at = store if isinstance(store, Address) else store.absolute()
            click.echo(line(f"Made a new store at {at}"), err=True)
        if transport != "stdio":
            click.echo(f"Serving {store} at http://{host}:{port}{server.PATH}", err=True)
        optimizer = QueryOptimizer(memories, config=opening.config, llm=model)
        made = server.memory_server(optimizer, scope=where, privacy=privacy)
        server.serve(made, transport, host=host, port=port, token=token)
