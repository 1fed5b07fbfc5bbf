"""Large requests to `/remember` leave turns to others, over HTTP as it is."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import StoreError
from recall_integrations.serving.served import Served
from recall_integrations.store.given import CHARACTERS
from tests.integration.test_serving import running

WORDS = ("harbour", "crane", "ledger", "Tuesday", "Otto", "moved", "the", "of", "to", "paid", "42", "blue", "window")
LONG = [" ".join(WORDS[(i * k) % 13] for i in range(1_000)) + "." for k in range(1, 201)]  # 1.2 million characters


def test_others_write_while_two_large_requests_are_in_flight(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        served = Served(store=store, optimizer=QueryOptimizer(store))
        with running(served) as (address, _):
            body = {"memories": LONG, "scope": "greedy"}
            replies: list[httpx.Response] = []

            def ask() -> None:
                replies.append(httpx.post(f"{address}/remember", json=body, timeout=120))

            greedy = [threading.Thread(target=ask) for _ in range(2)]
            for thread in greedy:
                thread.start()
            while served.writes.active < 2:
                time.sleep(0.01)
            for n in range(3):
                small = {"memory": f"Tea is ready, {n}", "scope": "other"}
                assert httpx.post(f"{address}/remember", json=small, timeout=60).status_code == 200
            assert not replies  # neither of them has ended
            for thread in greedy:
                thread.join(120)
        assert [reply.status_code for reply in replies] == [200, 200]
        assert store.count(scope=Scope("greedy")) == 2 * len(LONG)


def test_a_large_request_that_fails_half_way_says_what_was_stored(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        served = Served(store=store, optimizer=QueryOptimizer(store))
        whole, asked = store.remember_many, []

        def fails_at_the_second(*given: Any, **more: Any) -> Any:
            asked.append(given)
            if len(asked) == 2:
                raise StoreError("The disk is full.")
            return whole(*given, **more)

        store.remember_many = fails_at_the_second  # type: ignore[method-assign]
        with running(served) as (address, _):
            reply = httpx.post(f"{address}/remember", json={"memories": LONG}, timeout=60)
        stored = reply.json()["stored"]
        assert reply.status_code == 503 and reply.json()["code"] == "STORE_ERROR"
        assert 0 < len(stored) == store.count() < len(LONG) and f"first {len(stored)} of 200" in reply.json()["message"]
        assert store.get(stored[-1]) is not None


@pytest.mark.parametrize("size", [10, CHARACTERS])
def test_a_request_that_is_refused_stores_nothing(tmp_path: Path, size: int) -> None:
    with MemoryStore.open(tmp_path) as store:
        served = Served(store=store, optimizer=QueryOptimizer(store))
        with running(served) as (address, _):
            long = [{"text": "x" * (size // 2), "id": str(n % 3)} for n in range(4)]  # "0" twice
            reply = httpx.post(f"{address}/remember", json={"memories": long}, timeout=60)
        assert reply.status_code == 422 and "repeats the id" in reply.json()["message"]
        assert store.count() == 0
