from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.serving import start
from recall_integrations.serving.tokens import Tokens
from tests.rows import each_row


@each_row("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_this_machine_needs_no_token(host: str) -> None:
    start.check_access(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org", ""])
def test_any_other_address_does(host: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="recall token add"):
        start.check_access(host, None)
    tokens = Tokens(tmp_path / "t.json")
    with pytest.raises(InvalidArgument, match="recall token add .*t.json --scope u1"):
        start.check_access(host, tokens)
    tokens.add(scopes=["u1"])
    start.check_access(host, tokens)


def test_a_place_that_is_taken_is_said() -> None:
    with closing(start.listening("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert start.address_of(listener) == f"http://127.0.0.1:{port}"
        with pytest.raises(InvalidArgument, match="Choose another"):
            start.listening("127.0.0.1", port)


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGHUP")
def test_settings_are_read_again_one_after_the_other_and_every_failure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    running: list[int] = []
    calls = iter([ValueError("odd"), None, None])

    def reload() -> str:
        running.append(1)
        failure = next(calls)
        time.sleep(0.02)
        assert len(running) == 1
        running.clear()
        if failure is not None:
            raise failure
        return "read"

    def run(**_given: Any) -> None:
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.005)  # the handler runs between two steps
        for thread in threading.enumerate():
            if thread.name == "recall-reload":
                thread.join(5)

    monkeypatch.setattr(start, "server_of", lambda *_given: SimpleNamespace(run=run))
    told: list[str] = []
    learning = SimpleNamespace(start=lambda: told.append("start"), stop=lambda: told.append("stop"))
    served: Any = SimpleNamespace(ready=True, learning=learning)
    start.serve(served, None, reload=reload, said=lines.append)  # type: ignore[arg-type]
    assert told == ["start", "stop"] and served.ready is False
    assert sorted(lines) == ["Settings stay as they were: ValueError: odd", "read", "read"]
