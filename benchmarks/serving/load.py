"""Clients of a server, as light as they can be: they run on the processors that the server needs."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

HEAD = "POST /recall HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
TIMEOUT_S = 60.0


@dataclass
class Load:
    """What clients saw.

    Args:
        ms: of each answered request, from when it was due.
        overhead_ms: of each, what the recall by its own account did not take.
        errors: what went wrong → how often.
        degraded: answers in which something was left out.
        seconds: how long it went on.
    """

    ms: list[float] = field(default_factory=list)
    overhead_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    degraded: int = 0
    seconds: float = 0.0

    @property
    def per_s(self) -> float:
        """Answers per second."""
        return len(self.ms) / self.seconds if self.seconds else 0.0

    def at(self, percent: float) -> float:
        """A percentile of the answers, in milliseconds."""
        return float(np.percentile(self.ms, percent)) if self.ms else float("nan")


class Client:
    """One connection that is kept."""

    def __init__(self, host: str, port: int, load: Load) -> None:
        self._host, self._port, self._load = host, port, load
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, body: bytes, due: float) -> None:
        """Ask, and note what came of it."""
        load = self._load
        try:
            status, reply = await asyncio.wait_for(self._asked(body), TIMEOUT_S)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as e:
            load.errors[type(e).__name__] += 1
            self.close()
            return
        took = (time.perf_counter() - due) * 1e3
        if status != 200:
            load.errors[str(status)] += 1
            return
        load.ms.append(took)
        said = json.loads(reply)
        load.degraded += bool(said["degraded"])
        load.overhead_ms.append(took - said["timings_ms"]["total"])

    async def _asked(self, body: bytes) -> tuple[int, bytes]:
        if self._writer is None or self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        head = HEAD.format(self._host, self._port, len(body))
        self._writer.write(head.encode() + body)
        said = await self._reader.readuntil(b"\r\n\r\n")
        lines = said.split(b"\r\n")
        size = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
        return int(lines[0].split()[1]), await self._reader.readexactly(size)

    def close(self) -> None:
        """Let go of the connection."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def bodies(queries: Sequence[str], scope: str, now: str, k: int) -> Iterator[bytes]:
    """Requests without end."""
    while True:
        for query in queries:
            yield json.dumps({"query": query, "scope": scope, "now": now, "k": k}).encode()


async def closed(host: str, port: int, asked: Iterator[bytes], *, clients: int, seconds: float) -> Load:
    """Each client asks again as soon as it was answered."""
    load = Load()
    until = time.perf_counter() + seconds

    async def one() -> None:
        client = Client(host, port, load)
        while (due := time.perf_counter()) < until:
            await client.ask(next(asked), due)
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    load.seconds = time.perf_counter() - began
    return load


async def open_loop(
    host: str, port: int, asked: Iterator[bytes], *, per_s: float, seconds: float, clients: int, seed: int = 0
) -> Load:
    """Requests come at random moments, whether others were answered or not; a late one is late for whoever waits."""
    load, rng = Load(), random.Random(seed)
    free: asyncio.Queue[Client] = asyncio.Queue()
    for _ in range(clients):
        free.put_nowait(Client(host, port, load))

    async def one(due: float) -> None:
        client = await free.get()
        await client.ask(next(asked), due)
        free.put_nowait(client)

    began, tasks = time.perf_counter(), []
    due = began
    while due < began + seconds:
        due += rng.expovariate(per_s)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.ensure_future(one(due)))
    await asyncio.gather(*tasks)
    load.seconds = time.perf_counter() - began
    while not free.empty():
        free.get_nowait().close()
    return load


def threads(search: Callable[[str], bool], queries: Sequence[str], *, callers: int, seconds: float) -> Load:
    """The same without a server: threads that recall, each again as soon as it was answered.

    Args:
        search: recalls, and says whether something was left out.
        queries: asked in turn.
        callers: at once.
        seconds: how long.
    """
    import threading

    load, lock = Load(), threading.Lock()
    began = time.perf_counter()

    def one(number: int) -> None:
        at, ms, degraded = number * 7, [], 0
        while (due := time.perf_counter()) < began + seconds:
            degraded += search(queries[at % len(queries)])
            ms.append((time.perf_counter() - due) * 1e3)
            at += 1
        with lock:
            load.ms += ms
            load.degraded += degraded

    running = [threading.Thread(target=one, args=(number,)) for number in range(callers)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    load.seconds = time.perf_counter() - began
    return load
