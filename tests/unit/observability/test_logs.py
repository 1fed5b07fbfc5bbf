"""A line of JSON for each recall: what it says, what it never says, and when there is none."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope, errors
from recall_integrations.config import LimitsConfig
from recall_integrations.observability.logs import NAME, REQUEST_ID, RecallLog

MINE = Scope(user_id="user-of-mine")
CALM = LimitsConfig(time_budget_ms=60_000)  # a busy machine must not cut a recall short
WHOLE = RecallConfig(limits=CALM)


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember(Memory("Zanzibar has the best cloves", id="id-secret", entities=["Zanzibar"]), scope=MINE)
        yield store


def asked(store: MemoryStore, log: RecallLog, query: str, **given: Any) -> None:
    """A recall, and what is told of it."""
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[log])
    optimizer.recall(query, scope=MINE, **given)
    optimizer.close()


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == NAME]


def test_a_line_has_the_fields_of_the_designs(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, NAME)
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[RecallLog()])
    token = REQUEST_ID.set("req-1")
    try:
        result = optimizer.recall("cloves of Zanzibar", scope=MINE)
    finally:
        REQUEST_ID.reset(token)
    optimizer.flush()
    (line,) = lines(caplog)
    assert (line["event"], line["requestId"], line["plan"]) == ("recall", "req-1", result.plan.name)
    assert line["stagesLatency"] == dict(result.timings_ms)
    assert line["contributionShares"] == {"chunks": 0.0, "observations": 1.0, "summaries": 0.0}
    assert line["finalTopK"] == 1 and line["effectiveTimeMs"] > 0
    assert line["scores"]["max"] == pytest.approx(result.hits[0].score, abs=1e-3)
    wanted = {"routerMode", "rerankUsed", "thresholdsUsed", "graphSeeds", "graphEdgesUsed", "graphBoostApplied"}
    wanted |= {
        "rewriteStrategy",
        "rewriteReason",
        "rewriteDurationMs",
        "rewriteUsed",
        "rewriteProvider",
        "rewriteModel",
    }
    wanted |= {"hydrationCacheHit"}
    assert wanted <= line.keys()
    assert caplog.records[0].recall == line  # type: ignore[attr-defined]


@pytest.mark.parametrize("privacy", ["allow", "redact", "block"])
@pytest.mark.parametrize("content", [False, True])
def test_content_only_where_asked_for_and_allowed(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, privacy: str, content: bool
) -> None:
    caplog.set_level(logging.INFO, NAME)
    asked(store, RecallLog(content=content), "Zanzibar?", privacy=privacy)
    (record,) = (r for r in caplog.records if r.name == NAME)
    told = content and privacy == "allow"
    text = record.getMessage()
    assert ("Zanzibar" in text, "id-secret" in text) == (told, told)
    assert "user-of-mine" not in text


def test_without_the_observer_or_the_level_there_is_no_line(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, NAME)
    QueryOptimizer(store).recall("cloves", scope=MINE)
    caplog.set_level(logging.ERROR, NAME)
    asked(store, RecallLog(), "cloves")
    assert lines(caplog) == []


def test_what_is_refused_or_raises_is_a_warning(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[RecallLog()])
    with pytest.raises(errors.InvalidQuery):
        optimizer.recall("   ", scope=MINE)
    with pytest.raises(errors.RecallError):
        optimizer.recall("cloves", scope=MINE, time_budget_ms=0.000001, strict=True)
    optimizer.flush()
    assert [record.levelno for record in caplog.records if record.name == NAME] == [logging.WARNING] * 2
    first, second = lines(caplog)
    assert (first["event"], first["error"]) == ("refused", "INVALID_QUERY")
    assert second["error"] in ("TIMEOUT", "DEGRADATION_FAILED")


def test_threads_write_whole_lines(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, NAME)
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[RecallLog()])
    threads = [threading.Thread(target=optimizer.recall, args=("cloves",), kwargs={"scope": MINE}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    optimizer.flush()
    assert len(lines(caplog)) == 8
