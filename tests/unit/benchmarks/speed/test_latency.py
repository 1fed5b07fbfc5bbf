from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks.speed import latency
from benchmarks.speed.latency import Sample, ask, percentiles
from benchmarks.speed.synthetic import synthetic_memories
from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Scope


def test_every_query_is_asked_once_by_each_system_and_the_warm_up_is_not_counted() -> None:
    asked: dict[str, list[str]] = {"recall": [], "peer": []}
    systems = {name: asked[name].append for name in asked}
    plans = [[["w1", "w2"], ["v1"]], [["a1", "a2"], ["b1"]], [["c1"], ["d1"]]]
    samples = list(ask(systems, plans))
    for name, queries in asked.items():
        assert sorted(queries) == ["a1", "a2", "b1", "c1", "d1", "v1", "w1", "w2"]
        assert {(s.query, s.round) for s in samples if s.system == name} == {
            ("a1", 0),
            ("a2", 0),
            ("b1", 0),
            ("c1", 1),
            ("d1", 1),
        }


def test_systems_take_turns_and_none_is_always_first() -> None:
    samples = list(ask({"recall": len, "peer": len}, [[["w"]], [["a", "b", "c", "d"]]]))
    first = [samples[i].system for i in range(0, 8, 2)]
    assert [samples[i].query for i in range(0, 8, 2)] == ["a", "b", "c", "d"]
    assert set(first) == {"recall", "peer"}


def test_a_slow_peer_is_asked_less_but_recall_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "SLOW_MS", 0.5)
    monkeypatch.setattr(latency, "SLOW_QUERIES", 2)

    def slow(query: str) -> None:
        time.sleep(0.002)

    rounds = [[["w"]], [["a", "b", "c"]], [["d", "e"]]]
    samples = list(ask({"recall": slow, "peer": slow}, rounds))
    assert {s.query for s in samples if s.system == "recall"} == {"a", "b", "c", "d", "e"}
    assert {s.query for s in samples if s.system == "peer"} == {"a", "b"}


def test_percentiles_are_per_round_and_the_median_of_rounds_is_reported() -> None:
    samples = [
        Sample(system=system, round=number, query=f"{number}-{i}", ms=float(ms) * (10 if system == "peer" else 1))
        for system in ("peer", "recall")
        for number, times in enumerate([[1, 2, 3], [4, 5, 6], [100, 200, 300]])
        for i, ms in enumerate(times)
    ]
    plan_of = {s.query: "temporal" if s.query.endswith("0") else "precise" for s in samples}
    found = percentiles(samples, plan_of)
    assert list(found) == ["recall", "peer"]
    assert list(found["recall"]) == ["all", "precise", "temporal"]
    assert (found["recall"]["all"].queries, found["recall"]["all"].p50) == (3, 5.0)
    assert found["peer"]["all"].p50 == 50.0
    assert found["recall"]["temporal"].p50 == found["recall"]["temporal"].p99 == 4.0


@pytest.mark.parametrize("wrong", [{"sizes": ()}, {"sizes": (0,)}, {"queries_per_plan": 0}, {"rounds": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        latency.run(Console(file=io.StringIO()), **wrong)  # type: ignore[arg-type]


def test_hnsw_recall_is_measured_only_where_the_index_is_approximate(
    tmp_path: Path, embedding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recall_integrations import MemoryStore

    memories = list(synthetic_memories(300))
    queries = [m.text for m in memories[:20]]
    exact = RecallConfig(retrieval=RetrievalConfig(exact_max=300))
    with MemoryStore.open(tmp_path / "exact", embedding=embedding, config=exact) as store:
        store.remember_many(memories, scope=Scope(user_id="u"))
        assert latency.hnsw_recall(store, Scope(user_id="u"), queries) is None
        assert latency.hnsw_recall(store, Scope(user_id="nobody"), queries) is None
    found_badly = (np.empty(0, np.int64), np.empty(0, np.float32))
    approximate = RecallConfig(retrieval=RetrievalConfig(exact_max=100))
    with MemoryStore.open(tmp_path / "hnsw", embedding=embedding, config=approximate) as store:
        store.remember_many(memories, scope=Scope(user_id="u"))
        assert latency.hnsw_recall(store, Scope(user_id="u"), queries) == pytest.approx(1.0, abs=0.05)
        monkeypatch.setattr(store.semantic, "nearest", lambda home, vector, limit: found_badly)
        assert latency.hnsw_recall(store, Scope(user_id="u"), queries) == 0.0


def test_a_whole_run_on_a_tiny_scope(tmp_path: Path) -> None:
    pytest.importorskip("psutil", reason="psutil (extra `bench`) is not installed")
    out = Console(file=io.StringIO(), width=160)
    file = tmp_path / "latency.json"
    (report,) = latency.run(out, sizes=(60,), queries_per_plan=2, rounds=1, peers=False, json_path=file)
    assert report.size == 60
    assert report.ingest_per_s > 0
    assert report.remember_ms > 0
    assert report.hnsw_recall is None
    assert report.fresh["rss_mb"] >= report.fresh["rss_import_mb"] > 0
    assert report.latency["recall"]["all"].queries == 12
    assert 0 < report.latency["recall"]["all"].p50 <= report.latency["recall"]["all"].p99
    assert list(report.stages_ms)[-1] == "total"
    loaded = json.loads(file.read_text(encoding="utf-8"))
    assert loaded["sizes"][0]["latency"]["recall"]["all"]["queries"] == 12
    assert "60 memories" in out.file.getvalue()  # type: ignore[attr-defined]
