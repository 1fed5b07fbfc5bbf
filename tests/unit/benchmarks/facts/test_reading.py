"""What rules read in the turns of a data set."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.datasets.data import Collection
from benchmarks.facts import reading
from recall_integrations import Memory, Scope


def test_each_fact_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    memories = (
        Memory("My locker code is 4711", id="a", actor="Ana"),
        Memory("Tea is ready", id="b", actor="Ben"),
    )

    class Loaded:
        collections = (Collection(name="x", scope=Scope(), memories=memories, questions=()),)

    monkeypatch.setattr(reading, "load", lambda _data, _name: Loaded())
    found = list(reading.lines(Path()))
    assert found == [(1, ["ana | open:locker code | is | 4711 | 0.90 | My locker code is 4711"]), (2, [])]
