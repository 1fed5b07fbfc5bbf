"""A store as a server of the Model Context Protocol: `remember`, `recall`, `explain`, `forget` and `stats`.

With `mode: learned` also `feedback`; the last line of an answer then holds the id that `feedback` takes.

A server has one scope, chosen at its start; no argument of a tool reaches another one.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from recall_integrations import __version__
from recall_integrations.config.hosts import is_loopback
from recall_integrations.delivery.searched import checked
from recall_integrations.errors import InvalidArgument, RecallError, extra
from recall_integrations.frameworks import tools as words
from recall_integrations.frameworks.given import WhichScope
from recall_integrations.frameworks.tools import AgentMemory
from recall_integrations.types import RecallResult

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

READS = ToolAnnotations(read_only_hint=True)
Query = Annotated[str, Field(description=words.QUERY)]
Since = Annotated[words.Maybe, Field(description=words.SINCE)]
Until = Annotated[words.Maybe, Field(description=words.UNTIL)]
AsOf = Annotated[words.Maybe, Field(description=words.AS_OF)]


def memory_server(store: Any, *, scope: WhichScope = None, name: str = "recall") -> MCPServer[Any]:
    """Return a server of the official SDK, to be run (`serve`), mounted, or given to the SDK's client.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one. It stays open when the server ends.
        scope: of the memory; default `Scope()`.
        name: the name that clients show.
    """
    memory = AgentMemory(store, scope)
    server: MCPServer[Any] = MCPServer(name, instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    def remember(
        text: Annotated[str, Field(description=words.TEXT)],
        type: Annotated[words.Kind, Field(description=words.TYPE)] = "fact",
        happened_on: Annotated[words.Maybe, Field(description=words.HAPPENED_ON)] = "",
    ) -> str:
        with _told():
            return memory.remember(text, type, happened_on)

    async def recall(
        query: Query, limit: words.Limit = words.LIMIT_USUAL, since: Since = "", until: Until = "", as_of: AsOf = ""
    ) -> str:
        with _told():
            return await memory.arecall(query, limit, since, until, as_of)

    async def explain(
        query: Query, limit: words.Limit = words.LIMIT_USUAL, since: Since = "", until: Until = "", as_of: AsOf = ""
    ) -> str:
        with _told():
            result = await memory.optimizer.arecall(query, **memory.asked(limit, since, until, as_of))
            return _explained(memory, result)

    def forget(memory_id: Annotated[str, Field(description=words.MEMORY_ID)]) -> str:
        with _told():
            return memory.forget(memory_id)

    def stats() -> str:
        with _told():
            where = memory.scope
            return json.dumps({"scope": str(where), "memories": memory.store.count(scope=where)})

    def feedback(
        answer_id: Annotated[str, Field(description=words.ANSWER_ID)],
        used: Annotated[list[str] | None, Field(description=words.USED)] = None,
        wrong: Annotated[list[str] | None, Field(description=words.WRONG)] = None,
    ) -> str:
        with _told():
            return memory.judge(answer_id, used or (), wrong or ())

    server.add_tool(remember, description=words.REMEMBER, annotations=ToolAnnotations(destructive_hint=False))
    server.add_tool(recall, description=words.RECALL, annotations=READS)
    server.add_tool(explain, description="Recall, and say of each memory why it was found.", annotations=READS)
    server.add_tool(forget, description=words.FORGET, annotations=ToolAnnotations(idempotent_hint=True))
    server.add_tool(stats, description="How much is remembered.", annotations=READS)
    if memory.judged:
        idempotent = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
        server.add_tool(feedback, description=words.JUDGE, annotations=idempotent)
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
    """Return the application behind a check of the token."""
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


@contextmanager
def _told() -> Iterator[None]:
    """Turn errors of ours into tool errors with their message; others stay hidden from the client, and are logged."""
    try:
        yield
    except RecallError as e:
        raise ToolError(str(e.args[0]) if e.args else str(e)) from e


def _explained(memory: AgentMemory, result: RecallResult) -> str:
    parsed = checked(result).query
    lines = [f"Plan: {result.plan.name} ({result.plan.reason})"]
    if parsed.entity_refs:
        lines.append(f"About: {', '.join(ref.name for ref in parsed.entity_refs)}")
    if parsed.temporal_window is not None:
        start, end = parsed.temporal_window.start, parsed.temporal_window.end
        lines.append(
            f"When: {'…' if start is None else start.isoformat()} to {'…' if end is None else end.isoformat()}"
        )
    lines += [f"Left out: {d.stage} ({d.reason})" for d in result.degraded]
    for place, hit in enumerate(result.hits, start=1):
        lines += [f"{place}. {memory.said(hit)}", f"   {hit.score:.2f}: {hit.reason}"]
    lines += memory.answered(result)
    return "\n".join(lines if result.hits else [*lines, "Nothing is remembered about that."])
