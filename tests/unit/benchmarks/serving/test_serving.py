from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.serving import serving
from benchmarks.serving.load import Load, closed, open_loop


@pytest.mark.slow
def test_every_load_is_measured_and_none_fails(tmp_path: Path) -> None:
    target, out = tmp_path / "r.json", Console(file=io.StringIO(), width=160)
    report = serving.run(out, memories=200, clients=4, seconds=2, json_path=target)
    assert list(report.rows) == [
        "local, one caller", "local, 4 threads", "served, one client", "served, random moments", "served, 4 clients",
    ]  # fmt: skip
    for row in report.rows.values():
        assert row.answered and not row.errors and row.p50 <= row.p95 <= row.p99
    assert json.loads(target.read_text())["serving"]["memories"] == 200
    assert "served, 4 clients" in out.file.getvalue()  # type: ignore[attr-defined]


async def test_what_is_due_counts_and_what_fails_is_named() -> None:
    reply = json.dumps({"degraded": [], "timings_ms": {"total": 1.0}}).encode()
    statuses = iter([200, 503])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            status = next(statuses, 200)
            await asyncio.sleep(0.01)
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(reply), reply))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port, bodies = server.sockets[0].getsockname()[1], iter(lambda: b"{}", None)
    load = await closed("127.0.0.1", port, bodies, clients=1, seconds=0.1)
    assert load.errors == {"503": 1} and min(load.ms) > 9 and min(load.overhead_ms) > 8
    moments = await open_loop("127.0.0.1", port, bodies, per_s=200, seconds=0.2, clients=1)
    assert max(moments.ms) > 20  # with one connection they wait for each other, and that counts
    server.close()
    gone = await closed("127.0.0.1", port, bodies, clients=1, seconds=0.05)
    assert gone.errors and not gone.ms
    assert Load().per_s == 0
