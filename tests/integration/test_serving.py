"""A server as it is: a process of `recall serve`, and uvicorn in a thread, on addresses of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.cli import main
from recall_integrations.serving import start
from recall_integrations.serving.served import Limits, Served

TEXTS = [f"Note {i}: the {w} of team {i % 7} moved to day {i % 28}" for i, w in enumerate(("deploy", "review") * 50)]


@contextmanager
def running(served: Served) -> Iterator[tuple[str, Any]]:
    """A server in a thread, and its address."""
    listener = start.listening("127.0.0.1", 0)
    server = start.server_of(served, stop_s=5)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield start.address_of(listener), server
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with MemoryStore.open() as store:
        store.remember_many([Memory(text=text, id=f"n{i}") for i, text in enumerate(TEXTS)], scope=Scope("u1"))
        store.warm(scope=Scope("u1"))
        yield Served(store=store, optimizer=QueryOptimizer(store), limits=Limits(concurrency=8))


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with running(served) as (address, _):
        yield address


def test_a_hundred_clients_at_once_are_answered(address: str) -> None:
    async def ask() -> list[httpx.Response | BaseException]:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(base_url=address, limits=limits, timeout=30) as client:
            asked = (
                client.get("/experience/search", params={"intent": f"test query {i}", "top_k": 5, "scope": "u1"})
                for i in range(100)
            )
            return await asyncio.gather(*asked, return_exceptions=True)

    began = time.monotonic()
    replies = asyncio.run(ask())
    took = time.monotonic() - began
    well = [r for r in replies if isinstance(r, httpx.Response) and r.status_code == 200]
    assert len(well) > 95 and took < 5 * (3 if os.environ.get("PYTEST_XDIST_WORKER") else 1)


def test_the_event_loop_answers_while_recalls_run(served: Served, address: str) -> None:
    hold, recall = threading.Event(), served.optimizer.recall

    def slow(*args: Any, **arguments: Any) -> Any:
        hold.wait(10)
        return recall(*args, **arguments)

    served.optimizer.recall = slow  # type: ignore[method-assign]
    try:
        done: list[int] = []

        def ask() -> None:
            body = {"query": "deploy", "scope": "u1", "time_budget_ms": 30_000}
            done.append(httpx.post(f"{address}/recall", json=body, timeout=30).status_code)

        asking = [threading.Thread(target=ask) for _ in range(10)]  # more than there are places
        for thread in asking:
            thread.start()
        while served.reads.active < 8 or served.reads.waiting < 2:
            time.sleep(0.01)
        assert httpx.get(f"{address}/health/live", timeout=5).status_code == 200
        health = httpx.get(f"{address}/health/retrieval", timeout=5).json()
        assert (health["active"], health["waiting"]) == (8, 2)
        hold.set()
        for thread in asking:
            thread.join(20)
    finally:
        hold.set()
        del served.optimizer.recall  # type: ignore[method-assign]
    assert done == [200] * 10


def test_what_is_under_way_when_it_stops_is_answered() -> None:
    with MemoryStore.open() as store:
        store.remember("The deploy is on Friday")
        own = Served(store=store, optimizer=QueryOptimizer(store))
        recall, begun = own.optimizer.recall, threading.Semaphore(0)

        def slow(*args: Any, **arguments: Any) -> Any:
            begun.release()
            time.sleep(0.5)
            return recall(*args, **arguments)

        own.optimizer.recall = slow  # type: ignore[method-assign]
        replies: list[int | str] = []
        with running(own) as (address, server):

            def ask() -> None:
                try:
                    body = {"query": "deploy", "time_budget_ms": 9_000}
                    replies.append(httpx.post(f"{address}/recall", json=body, timeout=20).status_code)
                except httpx.HTTPError as e:
                    replies.append(type(e).__name__)

            asking = [threading.Thread(target=ask) for _ in range(12)]
            for thread in asking:
                thread.start()
            for _ in asking:
                begun.acquire(timeout=10)
            server.should_exit = True
            for thread in asking:
                thread.join(20)
        assert replies == [200] * 12


def test_a_body_bomb_ends_with_its_connection(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = f"POST /recall HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        connection.sendall((head + "Content-Length: 9999999999\r\n\r\n").encode())
        said = connection.recv(65_536)
        assert b"413" in said.split(b"\r\n", 1)[0]


@pytest.mark.parametrize("part", [b"X-Long: " + b"a" * 900, b"X-Many: a\r\n" * 70])
def test_headers_without_end_end_with_their_connection(address: str, part: bytes) -> None:
    host, port = address.removeprefix("http://").split(":")
    sent = 0
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET /health/live HTTP/1.1\r\nHost: {host}:{port}\r\n".encode() + part)
        rest = part if part.endswith(b"\n") else b"a" * 900
        try:
            while sent < 4_000_000:
                connection.sendall(rest)
                sent += len(rest)
        except OSError:
            return  # closed on the other side, before it has read that much
    pytest.fail("all of it was read")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    done = CliRunner().invoke(main, ["token", "add", str(path), "--scope", "u1", "--name", "app"])
    assert done.exit_code == 0, done.output
    return path, next(line for line in done.output.splitlines() if line.startswith("recall_"))


def test_tokens_are_listed_and_taken_back(tokens: tuple[Path, str], tmp_path: Path) -> None:
    path, token = tokens
    run = CliRunner().invoke
    listed = run(main, ["token", "list", str(path)]).output
    assert "app" in listed and "u1/-/-" in listed and token not in listed
    other = str(tmp_path / "t.json")
    made = run(main, ["token", "add", other, "--scope", "*", "--right", "admin", "--days", "1"]).output
    token_id = made.split("_")[1]
    assert "until" in run(main, ["token", "list", other]).output
    assert f"Revoked {token_id}" in run(main, ["token", "revoke", other, token_id]).output
    assert run(main, ["token", "revoke", other, token_id]).exit_code == 1


def test_others_need_a_token(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for more in ([], ["--tokens", str(tmp_path / "none.json")]):
        done = CliRunner().invoke(main, ["serve", str(store), "--host", "0.0.0.0", *more])
        assert done.exit_code == 1 and "recall token add" in done.output
    assert not store.exists()


def test_the_command_serves_reads_its_settings_again_and_stops(tmp_path: Path, tokens: tuple[Path, str]) -> None:
    path, token = tokens
    store, config = tmp_path / "store", tmp_path / "recall.yaml"
    config.write_text("recall: {ranking: {score_min: 0.0}}\n")
    with MemoryStore.open(store) as filled:
        filled.remember("The deploy is on Friday", scope=Scope("u1"))
    arguments = ["serve", str(store), "--port", "0", "--tokens", str(path), "--config", str(config)]
    process = subprocess.Popen(
        [sys.executable, "-m", "recall_integrations.cli", *arguments], stderr=subprocess.PIPE, text=True
    )
    lines: list[str] = []
    assert process.stderr is not None
    try:
        for line in process.stderr:
            lines.append(line)
            if "page" in line:
                break
        address = re.findall(r"at (http://\S+)", "".join(lines))[0]
        with httpx.Client(base_url=address, timeout=20, headers={"authorization": f"Bearer {token}"}) as client:
            asked = {"query": "when is the deploy?"}
            assert len(client.post("/recall", json=asked).json()["hits"]) == 1
            if os.name == "posix":
                for text, said in (
                    ("recall: {ranking: {score_min: 1.0}}\n", "read again"),
                    ("recall: {ranking: 5}\n", "stay as they"),
                ):
                    config.write_text(text)
                    process.send_signal(signal.SIGHUP)
                    assert said in process.stderr.readline()
                    assert client.post("/recall", json=asked).json()["hits"] == []
            client.post("/remember", json={"memory": "Sam has the keys"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        rest = process.stderr.read()
        assert "The store is closed" in rest and "Traceback" not in rest and token not in "".join(lines) + rest
    finally:
        process.kill()
    with MemoryStore.open(store) as again:
        assert again.count(scope=Scope("u1")) == 2


def test_what_replies_look_like_is_in_openapi(address: str) -> None:
    schema = httpx.get(f"{address}/openapi.json").json()
    assert {"/recall", "/remember", "/forget", "/experience/search", "/health/retrieval"} <= set(schema["paths"])
    assert "Problem" in schema["components"]["schemas"] and "$defs" not in json.dumps(schema)
    assert schema["paths"]["/recall"]["post"]["responses"]["422"]["content"].keys() == {"application/problem+json"}
