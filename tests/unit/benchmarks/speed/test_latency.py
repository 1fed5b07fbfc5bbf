from __future__ import annotations

import io
import json
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.speed import asking, latency
from benchmarks.speed.asking import Percentiles, Sample, ask, percentiles
from benchmarks.speed.crowd import Crowd, crowd
from benchmarks.speed.hostile import PIECES, hostile
from benchmarks.speed.latency import SizeReport
from benchmarks.speed.latency_tables import markdown, targets
from benchmarks.speed.nearest import dense_recall
from benchmarks.speed.synthetic import synthetic_memories
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Scope
from tests.rows import each_row


def test_every_query_is_asked_once_by_each_system_and_the_warm_up_is_not_counted() -> None:
    asked: dict[str, list[str]] = {"recall": [], "peer": []}
    systems = {name: asked[name].append for name in asked}
    rounds = [[["w1", "w2"], ["v1"]], [["a1", "a2"], ["b1"]], [["c1"], ["d1"]]]
    samples = list(ask(systems, dict.fromkeys(systems, rounds)))
    for name, queries in asked.items():
        assert sorted(queries) == ["a1", "a2", "b1", "c1", "d1", "v1", "w1", "w2"]
        assert {(s.query, s.round) for s in samples if s.system == name} == {
            ("a1", 0),
            ("a2", 0),
            ("b1", 0),
            ("c1", 1),
            ("d1", 1),
        }


def test_an_entry_point_has_queries_of_its_own_at_the_same_places() -> None:
    rounds = {"recall": [[["w"]], [["a", "b"]]], "recall, invoke": [[["v"]], [["c", "d"]]]}
    samples = list(ask(dict.fromkeys(rounds, len), rounds))
    at = {(s.system, s.place): s.query for s in samples}
    assert at == {
        ("recall", 1): "a",
        ("recall, invoke", 1): "c",
        ("recall", 2): "b",
        ("recall, invoke", 2): "d",
    }


def test_systems_take_turns_and_none_is_always_first() -> None:
    rounds = [[["w"]], [["a", "b", "c", "d"]]]
    samples = list(ask({"recall": len, "peer": len}, {"recall": rounds, "peer": rounds}))
    first = [samples[i].system for i in range(0, 8, 2)]
    assert [samples[i].query for i in range(0, 8, 2)] == ["a", "b", "c", "d"]
    assert set(first) == {"recall", "peer"}


def test_a_slow_peer_is_asked_less_but_recall_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SLOW_MS", 0.5)
    monkeypatch.setattr(asking, "SLOW_QUERIES", 2)

    def slow(query: str) -> None:
        time.sleep(0.002)

    rounds = [[["w"]], [["a", "b", "c"]], [["d", "e"]]]
    names = ("recall", "recall, LangChain's invoke", "peer")
    samples = list(ask(dict.fromkeys(names, slow), dict.fromkeys(names, rounds)))
    for name in names[:2]:
        assert {s.query for s in samples if s.system == name} == {"a", "b", "c", "d", "e"}
    assert {s.query for s in samples if s.system == "peer"} == {"a", "b"}


def test_percentiles_are_per_round_and_the_median_of_rounds_is_reported() -> None:
    samples = [
        Sample(
            system=system,
            round=number,
            place=10 * number + i,
            query=f"{system}-{number}-{i}",
            ms=float(ms) * (10 if system == "peer" else 1),
        )
        for system in ("peer", "recall", "recall, invoke")
        for number, times in enumerate([[1, 2, 3], [4, 5, 6], [100, 200, 300]])
        for i, ms in enumerate(times)
    ]
    plan_at = {s.place: "temporal" if s.place % 10 == 0 else "precise" for s in samples}
    found = percentiles(samples, plan_at)
    assert list(found) == ["recall", "recall, invoke", "peer"]
    assert list(found["recall"]) == ["all", "precise", "temporal"]
    assert list(found["recall, invoke"]) == ["all"]
    assert (found["recall"]["all"].queries, found["recall"]["all"].p50) == (3, 5.0)
    assert found["peer"]["all"].p50 == 50.0
    assert found["peer"]["temporal"].p50 == 40.0
    assert found["recall"]["temporal"].p50 == found["recall"]["temporal"].p99 == 4.0


def test_many_threads_ask_every_query_twice_and_what_was_left_out_is_counted() -> None:
    asked: list[str] = []
    lock = threading.Lock()

    def search(query: str) -> bool:
        with lock:
            asked.append(query)
        time.sleep(0.001)
        return query == "q3"

    queries = [f"q{i}" for i in range(40)]
    found = crowd(search, queries, threads=8)
    assert sorted(asked) == sorted(queries * 2)
    assert found.degraded == 1  # of the recalls among many: the other was asked alone
    assert found.gain > 1.5  # they sleep
    assert 0 < found.p50 <= found.p95 <= found.p99


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_query_that_raises_among_many_is_no_figure() -> None:
    def search(query: str) -> bool:
        raise ValueError(query)

    with pytest.raises(InvalidArgument, match="4 of 4"):
        crowd(search, [f"q{i}" for i in range(8)], threads=1)


def test_hostile_queries_are_as_long_as_they_are_said_to_be() -> None:
    seen: list[str] = []
    found = hostile(lambda text, _now: seen.append(text), chars=200)
    assert list(found) == list(PIECES)
    assert all(190 <= len(text) <= 200 for text in seen)
    assert all(ms >= 0 for ms in found.values())


def _report(size: int, *, p50: float = 1.0, p95: float = 1.2, peer: float | None = 2.0) -> SizeReport:
    def of(p50: float, p95: float) -> dict[str, Percentiles]:
        return {"all": Percentiles(queries=10, p50=p50, p95=p95, p99=p95)}

    return SizeReport(
        size=size,
        ingest_per_s=2_000.0,
        remember_ms=Percentiles(queries=10, p50=9.0, p95=12.0, p99=12.0),
        bytes_per_memory={"all": 900.0, "record": 900.0},
        fresh={
            "frameworks_ms": 900.0, "import_ms": 90.0, "open_ms": 60.0, "first_recall_ms": 50.0, "rss_mb": 200.0,
            "rss_modules_mb": 150.0, "beyond_mb": 50.0,
        },
        latency={"recall": of(p50, p95), **({} if peer is None else {"LlamaIndex fusion": of(peer, peer)})},
        crowd=Crowd(threads=16, per_s=150.0, alone_per_s=100.0, p50=50.0, p95=60.0, p99=70.0, degraded=0),
        stages_ms={"parse": 0.5, "total": 1.0},
        floors_ms={"embed a query": 0.05},
        hostile_ms={"times": 0.5, "names": 2.0} if size == 10_000 else {},
        dense_recall=0.98,
    )  # fmt: skip


def test_targets_say_what_was_met_and_what_was_not() -> None:
    reports = [
        _report(10_000),
        _report(100_000, p50=4.0, p95=5.0, peer=4.0),
        _report(1_000_000, p50=8.0, p95=20.0, peer=None),
    ]
    found = {t.what: (round(t.found, 3), t.met) for t in targets(reports)}
    assert found["10,000: p50 ÷ LlamaIndex fusion's"] == (0.5, True)
    assert found["100,000: p50 ÷ LlamaIndex fusion's"] == (1.0, False)
    assert found["1,000,000 ÷ 100,000: p50"] == (2.0, True)
    assert found["1,000,000 ÷ 100,000: p95"] == (4.0, False)
    assert found["10,000: p95 ÷ p50"] == (1.2, True)
    assert found["1,000,000: p95 ÷ p50"] == (2.5, False)
    assert found["16 threads ÷ one, throughput"] == (1.5, False)
    assert found["hostile query, worst"] == (2.0, False)
    assert found["100,000: remember_many"] == (2_000.0, False)
    assert found["10,000: open and first recall of a fresh process"] == (110.0, False)
    assert found["100,000: open and first recall of a fresh process"] == (110.0, True)
    assert found["10,000: import beyond both frameworks"] == (90.0, True)
    assert found["10,000: dense recall@10"] == (0.98, False)


def test_the_page_holds_every_size_and_what_was_missed() -> None:
    page = markdown([_report(10_000), _report(100_000, p50=4.0, p95=5.0, peer=4.0)])
    assert "| 10,000 | all | 1.0 / 1.2 / 1.2 | 2.0 / 2.0 / 2.0 | 0.50 |" in page
    assert "| 100,000 | all | 4.0 / 5.0 / 5.0 | 4.0 / 4.0 / 4.0 | 1.00 |" in page
    assert "| floor: embed a query | 0.05 | 0.05 |" in page
    assert "| 100,000: p50 ÷ LlamaIndex fusion's | 1.00 | ≤ 0.75 | **missed** |" in page


@each_row("wrong", [{"sizes": ()}, {"sizes": (0,)}, {"queries_per_plan": 0}, {"rounds": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        latency.run(Console(file=io.StringIO()), **wrong)  # type: ignore[arg-type]


def test_dense_recall_is_that_of_the_semantic_arm(
    tmp_path: Path, embedding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recall_integrations import MemoryStore
    from recall_integrations.arms.retrievers import SemanticRetriever

    scope = Scope(user_id="u")
    memories = list(synthetic_memories(300))
    queries = [f"anything about {m.text}" for m in memories[:20]]
    with MemoryStore.open(tmp_path / "store", embedding=embedding) as store:
        store.remember_many(memories, scope=scope)
        assert dense_recall(store, scope, queries) == 1.0
        assert dense_recall(store, Scope(user_id="nobody"), queries) == 1.0
        search = SemanticRetriever.search

        def worse(arm: SemanticRetriever, request: ArmRequest) -> ArmResult:
            found = search(arm, request)
            return replace(found, rows=found.rows[5:], scores=found.scores[5:])

        monkeypatch.setattr(SemanticRetriever, "search", worse)
        assert dense_recall(store, scope, queries) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_a_whole_run_on_a_tiny_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil", reason="psutil (extra `bench`) is not installed")
    monkeypatch.setattr(latency, "fresh_process", partial(latency.fresh_process, runs=1))
    out = Console(file=io.StringIO(), width=160)
    file = tmp_path / "latency.json"
    (report,) = latency.run(out, sizes=(60,), queries_per_plan=2, rounds=1, peers=False, json_path=file)
    assert report.size == 60
    assert report.ingest_per_s > 0
    assert 0 < report.remember_ms.p50 <= report.remember_ms.p95
    assert report.dense_recall == 1.0
    assert report.bytes_per_memory["all"] == pytest.approx(
        sum(held for part, held in report.bytes_per_memory.items() if part != "all")
    )
    assert report.bytes_per_memory["record"] > 0
    assert report.fresh["rss_mb"] > report.fresh["rss_modules_mb"] > 0
    assert set(report.latency) == {"recall", "recall, LangChain's invoke", "recall, LlamaIndex's retrieve"}
    assert report.crowd is not None and report.crowd.threads == 16
    assert set(report.floors_ms) == {"embed a query", "compare all vectors", "read ten memories"}
    assert report.latency["recall"]["all"].queries == 12
    assert 0 < report.latency["recall"]["all"].p50 <= report.latency["recall"]["all"].p99
    assert list(report.stages_ms)[-1] == "total"
    loaded = json.loads(file.read_text(encoding="utf-8"))
    assert loaded["sizes"][0]["latency"]["recall"]["all"]["queries"] == 12
    assert "60 memories" in out.file.getvalue()  # type: ignore[attr-defined]
