"""The policy of retries, through the parts that go by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import RerankConfig, RewritingConfig
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import may_pass
from recall_integrations.resilience.guard import Guard
from tests.rows import each_row

TEXTS = [f"The deploy of week {n} failed because of a certificate" for n in range(30)]


class Replied(Exception):
    """As clients of models raise it."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class Flaky:
    """Fails so many times, then works."""

    def __init__(self, fails: int, error: BaseException, works: Callable[..., Any]) -> None:
        self.left, self.error, self.works, self.calls = fails, error, works, 0

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return self.works(*given)


@each_row(
    ("error", "again"),
    [
        (ConnectionError("reset"), True),
        (RuntimeError("busy"), False),
        (Replied(429), True),
        (Replied(503), True),
        (Replied(400), False),
        (Replied(401), False),
        (Replied(404), False),
        (TypeError("not callable"), False),
        (UnicodeEncodeError("utf-8", "x", 0, 1, "surrogate"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_what_may_pass_is_tried_again(error: BaseException, again: bool) -> None:
    assert may_pass(error) is again
    wrapped = ValueError("ours")
    wrapped.__cause__ = error
    assert may_pass(wrapped) is again or isinstance(error, KeyboardInterrupt)


def recalled(fails: int, part: str) -> tuple[Flaky, dict[str, tuple[str, str]]]:
    """One recall with a part that fails at first; what is degraded, by stage."""
    error = ConnectionError("connection reset")
    works: dict[str, Callable[..., Any]] = {
        "rewrite": lambda _prompt: "certificate expiry",
        "rerank": lambda _query, texts: [0.5] * len(texts),
        "embed": lambda texts: np.ones((len(texts), 4), dtype=np.float32),
    }
    flaky = Flaky(0, error, works[part])
    given = {"rewrite": {"llm": flaky}, "rerank": {"reranker": flaky}, "embed": {}}[part]
    embedding = flaky if part == "embed" else None
    config = RecallConfig(rewriting=RewritingConfig(mode="full"), rerank=RerankConfig(regret_max=0.0))
    with MemoryStore.open(embedding=embedding) as store:
        store.remember_many([Memory(text) for text in TEXTS])
        with closing(QueryOptimizer(store, config=config, **given)) as optimizer:  # type: ignore[arg-type]
            optimizer.warm()
            flaky.left, flaky.calls = fails, 0
            result = optimizer.recall("anything about that deploy problem", time_budget_ms=60_000)
    assert result.hits
    return flaky, {d.stage: (d.reason, d.detail) for d in result.degraded}


@pytest.mark.parametrize("part", ["rewrite", "rerank", "embed"])
def test_a_part_that_fails_once_is_no_degradation_and_twice_is_told(part: str) -> None:
    flaky, degraded = recalled(1, part)
    assert flaky.calls >= 2 and part not in degraded, degraded
    flaky, degraded = recalled(99, part)
    reason, detail = degraded[part]
    assert reason in ("llm_error", "rerank_error", "embedding_error", "error")
    assert ". Tried 2 times, the first time:" in detail and ".. " not in detail


def test_nothing_is_tried_again_beyond_its_time() -> None:
    now = [0.0]
    slow = Flaky(9, ConnectionError(), str)

    def takes_all() -> None:
        now[0] += 1.0
        slow()

    Guard("x", attempts=3).call(Deadline(0.5, lambda: now[0]), takes_all)
    assert slow.calls == 1


def test_a_slow_model_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.resilience.guard.AGAIN_S", 0.0)
    failing = Flaky(9, ConnectionError(), str)
    Guard("x", attempts=3).call(Deadline.after(60_000.0), failing)
    assert failing.calls == 1


def test_a_write_embeds_once_more_before_it_goes_without() -> None:
    flaky = Flaky(0, ConnectionError("reset"), lambda texts: np.ones((len(texts), 4), dtype=np.float32))
    with MemoryStore.open(embedding=flaky) as store:
        store.remember("one")
        flaky.left, flaky.calls = 1, 0
        store.remember("two")
        assert flaky.calls == 2 and store.stats()["index_lag"]["semantic"] == 0


def test_a_write_that_waits_no_longer_embeds_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, lost, failing = list[int](), threading.Event(), threading.Event()

    def slow(texts: list[str]) -> Any:
        calls.append(len(texts))
        if failing.is_set():
            lost.wait(5)
            raise ConnectionError("reset")
        return np.ones((len(texts), 4), dtype=np.float32)

    with MemoryStore.open(embedding=slow) as store:
        store.remember("one")
        monkeypatch.setattr(store._parts.asking, "_limit_s", 0.2)
        calls.clear()
        failing.set()
        store.remember("two")
        tried = len(calls)
        lost.set()
        time.sleep(0.3)  # longer than any pause
        assert len(calls) == tried
