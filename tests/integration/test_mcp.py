"""`recall mcp`, asked by the SDK's own client: in the process, over stdio, and over HTTP on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope, __version__
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from recall_integrations.frameworks.mcp import check_access, http_app, memory_server

TOOLS = ["remember", "recall", "explain", "forget", "stats"]
TOKEN = "a-token-of-the-test"
SILENT = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}


async def said(client: Any, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content[0].text
    assert len(result.content) == 1 and result.structured_content is None  # the answer comes once
    return str(result.content[0].text)


async def refused(client: Any, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    return str(result.content[0].text)


async def everything(client: Any) -> None:
    """What an agent does with its memory, whatever the transport."""
    assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
    told = await said(client, "remember", text="Priya likes green tea", type="preference", happened_on="2026-03-12")
    memory_id = told.removeprefix("Remembered (id: ").removesuffix(").")
    line = f"1. [2026-03-12] Priya likes green tea (id: {memory_id})"
    assert await said(client, "recall", query="what does Priya drink?") == line
    assert await said(client, "recall", query="what does Priya drink?", as_of="2026-03-12") == line
    assert "Nothing is remembered" in await said(client, "recall", query="tea", since="2026-03-13")
    explained = await said(client, "explain", query="which tea does Priya like?")
    assert explained.startswith("Plan: ") and line in explained and "tea" in explained.splitlines()[-1]
    assert json.loads(await said(client, "stats"))["memories"] == 1
    assert await said(client, "forget", memory_id=memory_id) == f"Forgotten (id: {memory_id})."
    assert "Recall it first" in await refused(client, "forget", memory_id=memory_id)
    assert "Field required" in await refused(client, "remember")
    assert "is no date" in await refused(client, "recall", query="tea", until="soon")
    assert "Unknown memory type" in await refused(client, "remember", text="tea", type="song")


async def test_in_the_process() -> None:
    with MemoryStore.open() as store:
        store.remember(Memory("Sam hates tea"))
        async with mcp.Client(memory_server(store, scope=Scope(user_id="u1"))) as client:
            await everything(client)
            server = client.server_info
            assert server is not None and (server.name, server.version) == ("recall", __version__)
            assert client.instructions and "Long-term memory" in client.instructions
            remembering = (await client.list_tools()).tools[0].input_schema
            assert "preference" in remembering["properties"]["type"]["enum"]
            schema = (await client.list_tools()).tools[1].input_schema
            assert schema["required"] == ["query"] and schema["properties"]["limit"]["maximum"] == 20
        assert store.count() == 1


async def test_with_mode_learned_an_agent_says_what_it_has_used() -> None:
    with MemoryStore.open() as store:
        store.remember(Memory("Sam hates tea", id="m1"), scope=Scope("u1"))
        optimizer = QueryOptimizer(store, config=RecallConfig(mode="learned"))
        async with mcp.Client(memory_server(optimizer, scope=Scope("u1"))) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [*TOOLS, "feedback"]
            for tool in ("recall", "explain"):
                answer = (await said(client, tool, query="tea?")).splitlines()[-1]
                assert answer.startswith("(answer: ")
                assert await said(client, "feedback", answer_id=answer, used=["m1"]) == "Noted: m1."
            assert "last line" in await refused(client, "feedback", answer_id="x", wrong=["m1"])
            assert "Say something" in await refused(client, "feedback", answer_id=answer)
        assert store.judgements.counts() == {Scope("u1"): 2}


async def test_with_a_language_model_an_agent_gives_a_whole_conversation() -> None:
    answers = iter(['{"text": "I live in Berlin", "turns": [1], "type": "fact"}', "I am sorry, I cannot."])
    turns = [{"role": "user", "content": "Well, I live in Berlin"}, {"role": "assistant", "content": "Nice!"}]
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store, llm=lambda _prompt: next(answers))
        async with mcp.Client(memory_server(optimizer, scope=Scope("u1"))) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [
                "remember", "remember_conversation", *TOOLS[1:]
            ]  # fmt: skip
            first, new = (await said(client, "remember_conversation", turns=turns)).splitlines()
            assert first.startswith("Stored 2 turns (thread: ") and new.startswith("new: I live in Berlin (id: ")
            thread = first.partition("(thread: ")[2].removesuffix(").")
            grown = [*turns, {"role": "user", "content": "And I own a boat"}]
            lines = (await said(client, "remember_conversation", turns=grown, thread=thread)).splitlines()
            assert lines[0] == f"Stored 3 turns (thread: {thread})." and lines[1].startswith("1 of them were not read")
            assert "role" in await refused(client, "remember_conversation", turns=[{"content": "x"}])
        assert store.count(scope=Scope("u1")) == 4 and store.count() == 0


async def test_over_stdio(tmp_path: Path) -> None:
    command = ["-m", "recall_integrations.cli", "mcp", str(tmp_path / "s"), "--scope", "u1"]
    given = mcp.StdioServerParameters(command=sys.executable, args=command, env=SILENT, cwd=str(Path.cwd()))
    async with mcp.Client(given) as client:
        await everything(client)
    with MemoryStore.open(tmp_path / "s") as store:
        assert [str(scope) for scope, _ in store.scopes()] == ["u1/-/-"]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def served(path: Path, **environment: str) -> Iterator[str]:
    """`recall mcp` over HTTP in a process of its own, until it answers."""
    port = free_port()
    command = [sys.executable, "-m", "recall_integrations.cli", "mcp", str(path), "--transport", "streamable-http"]
    process = subprocess.Popen(
        [*command, "--port", str(port)], env={**SILENT, **environment}, stderr=subprocess.PIPE, text=True
    )
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=30)


@asynccontextmanager
async def with_token(url: str, token: str) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
        mcp.Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def test_over_http(tmp_path: Path) -> None:
    with served(tmp_path / "s") as url:
        async with mcp.Client(url) as client:
            await everything(client)


async def test_over_http_with_a_token(tmp_path: Path) -> None:
    import httpx2

    with served(tmp_path / "s", RECALL_MCP_TOKEN=TOKEN) as url:
        async with with_token(url, TOKEN) as client:
            await everything(client)
        async with httpx2.AsyncClient() as http:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
                assert (await http.post(url, json={}, headers=headers)).status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org"])
def test_nobody_else_reaches_it_without_a_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Give a token"):
        check_access(host, None)
    check_access(host, TOKEN)
    command = ["mcp", str(tmp_path / "s"), "--transport", "streamable-http", "--host", host]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1 and "RECALL_MCP_TOKEN" in done.output
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("token", ["", "  ", "tökèn"])
def test_a_token_that_is_none_is_an_error(token: str) -> None:
    with pytest.raises(InvalidArgument, match="token"):
        check_access("127.0.0.1", token)


def test_this_machine_needs_none() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_access(host, None)
    with MemoryStore.open() as store, pytest.raises(InvalidArgument, match="'stdio' or 'streamable-http'"):
        http_app(memory_server(store), "sse")
