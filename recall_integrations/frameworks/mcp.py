"""A store as a server of the Model Context Protocol: `remember`, `recall`, `explain`, `forget` and `stats`.

With an optimizer that has an LLM also `remember_conversation`. With `mode: learned` also `feedback`; the last line of
an answer then holds the id that `feedback` takes.

A server has one scope, chosen at its start; no argument of a tool reaches another one.
"""

from __future__ import annotations

import asyncio
import functools
import hmac
import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recall_integrations import __version__
from recall_integrations.config.checking import is_loopback
from recall_integrations.errors import InvalidArgument, RecallError, extra
from recall_integrations.frameworks import tools as words
from recall_integrations.frameworks.given import WhichScope
from recall_integrations.frameworks.tools import AgentMemory

with extra("mcp", "The MCP server"):
    import uvicorn
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import ToolAnnotations

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Asked

PATH = "/mcp"
INSTRUCTIONS = (
    "Long-term memory. Recall before you answer anything that may have come up before; remember what will matter later."
)


def memory_server(
    store: Any,
    *,
    scope: WhichScope = None,
    name: str = "recall",
    privacy: str = "allow",
    score_min: float | None = None,
) -> MCPServer[Any]:
    """Return a server of the official SDK, to be run (`serve`), mounted, or given to the SDK's client.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one. It stays open when the server ends.
        scope: of the memory; default `Scope()`.
        name: the name that clients show.
        privacy: what is withheld from answers, `allow`, `redact` or `block`; no argument of a tool changes it.
        score_min: least score of a memory that is shown, 0 to 1; default `ranking.score_min`, or .15 where that is 0.
    """
    memory = AgentMemory(store, scope, privacy, score_min)
    server: MCPServer[Any] = MCPServer(name, instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    def stats() -> str:
        where = memory.scope
        return json.dumps({"scope": str(where), "memories": memory.store.count(scope=where)})

    reads, again = ToolAnnotations(read_only_hint=True), ToolAnnotations(idempotent_hint=True)
    adds, llm = ToolAnnotations(destructive_hint=False), memory.optimizer.has_llm
    tools: list[tuple[str, str, ToolAnnotations, Callable[..., Any]]] = [
        ("remember", words.REMEMBER, adds, memory.remember),
        *([("remember_conversation", words.CONVERSE, adds, memory.remember_conversation)] if llm else ()),
        ("recall", words.RECALL, reads, memory.arecall),
        ("explain", "Recall, and say of each memory why it was found.", reads, memory.explain),
        ("forget", words.FORGET, again, memory.forget),
        ("stats", "How much is remembered.", reads, stats),
    ]
    if memory.judged:
        judges = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
        tools.append(("feedback", words.JUDGE, judges, memory.judge))
    for tool, says, hints, call in tools:
        # As text alone: with `structured_output` the client gets every answer twice.
        server.add_tool(_told(call), name=tool, description=says, annotations=hints, structured_output=False)
    return server


def serve(
    server: MCPServer[Any],
    transport: str = "stdio",
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
) -> None:
    """Run a server until it is stopped.

    Args:
        server: a server from `memory_server`.
        transport: `stdio`, or `streamable-http` at `http://HOST:PORT/mcp`.
        host: the host to listen on. Any but this machine needs a token.
        port: the port to listen on.
        token: the token that clients must send as `Authorization: Bearer TOKEN`.

    Raises:
        InvalidArgument: an unknown transport, or a host that others reach without a token. Nothing was started.
    """
    if transport == "stdio":
        server.run("stdio")
        return
    app = http_app(server, transport, host=host, token=token)
    uvicorn.run(app, host=host, port=port, log_level="warning")


def http_app(
    server: MCPServer[Any], transport: str = "streamable-http", *, host: str = "127.0.0.1", token: str | None = None
) -> Any:
    """Return the ASGI application that `serve` runs, for a web server of your own.

    Raises:
        InvalidArgument: as `serve`.
    """
    if transport != "streamable-http":
        raise InvalidArgument(f"The transport is {transport!r}. Use 'stdio' or 'streamable-http'.")
    check_access(host, token)
    if token is None:
        return server.streamable_http_app(host=host, streamable_http_path=PATH)
    # Names of hosts are checked because of browsers that were led here, and these have no token; a proxy has its own.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Any = server.streamable_http_app(host=host, streamable_http_path=PATH, transport_security=unchecked)
    return _behind(app, token)


def check_access(host: str, token: str | None) -> None:
    """Check that a server may listen on `host`."""
    if token is not None and (not token.strip() or not token.isascii()):
        raise InvalidArgument("The token is blank, or has other characters than ASCII. Make one: openssl rand -hex 32.")
    if token is None and not is_loopback(host):
        raise InvalidArgument(
            f"Whoever reaches {host} could read and change these memories. Give a token, which clients send as "
            "'Authorization: Bearer TOKEN' (--token, or RECALL_MCP_TOKEN), or listen on 127.0.0.1."
        )


def _behind(app: ASGIApp, token: str) -> ASGIApp:
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Asked, receive: Receive, send: Send) -> None:
        given = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"Send the token: Authorization: Bearer TOKEN"})

    return checked


def _told(call: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors of ours into tool errors with their message; others stay hidden from the client, and are logged."""

    @functools.wraps(call)
    async def told(**given: Any) -> Any:
        try:
            return await (call(**given) if inspect.iscoroutinefunction(call) else asyncio.to_thread(call, **given))
        except RecallError as e:
            raise ToolError(str(e.args[0]) if e.args else str(e)) from e

    return told
