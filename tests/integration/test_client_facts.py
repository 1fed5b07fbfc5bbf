"""`RecallClient.facts`, and what a recall through a client carries of facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import Filters, MemoryStore, QueryOptimizer
from recall_integrations.errors import InvalidArgument
from recall_integrations.serving import RecallClient
from recall_integrations.serving.client import AT_ONCE
from recall_integrations.serving.limits import Limits
from recall_integrations.serving.served import Served
from tests.contract.test_serving_facts import NUMBER, U1, U2, told
from tests.integration.test_client import running


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                told("m1", 1, "phone_number", "555-0101"),
                told("m2", 6, "phone_number", "555-0202"),
                told("p1", 2, "employer", "Initech", subject="Priya"),
            ],
            scope=U1,
        )
        store.remember(told("x1", 2, "home", "Rome"), scope=U2)
        yield Served(store=store, optimizer=QueryOptimizer(store))


@pytest.fixture(scope="module")
def remote(served: Served) -> Iterator[RecallClient]:
    with running(served) as address, RecallClient(address, scope=U1) as client:
        yield client


def test_the_client_has_the_same_facts_as_the_store(served: Served, remote: RecallClient) -> None:
    march, store = datetime(2026, 3, 1, tzinfo=timezone.utc), served.store
    asked: dict[str, Any]
    for asked in (
        {},
        {"history": True},
        {"subject": ""},
        {"subject": "Priya"},
        {"slot": "phone_number", "as_of": march},
        {"scope": U2},
    ):
        assert remote.facts(**{"scope": U1, **asked}) == list(store.facts(**{"scope": U1, **asked}))
    assert remote.facts() == list(store.facts(U1))
    with pytest.raises(InvalidArgument, match="as_of"):
        remote.facts(as_of=datetime(2026, 3, 1))


def test_the_client_reads_all_pages(remote: RecallClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.serving.client.AT_ONCE", 1)
    assert AT_ONCE > 1 and len(remote.facts(history=True)) == 3
    assert Limits().memories_max >= AT_ONCE


def test_a_recall_through_the_client_carries_them(served: Served, remote: RecallClient) -> None:
    own = served.optimizer
    march = datetime(2026, 3, 1, tzinfo=timezone.utc)
    asked: dict[str, Any]
    for asked in ({}, {"as_of": march}, {"filters": Filters(current_only=True)}):
        asked["now"] = datetime(2026, 9, 1, tzinfo=timezone.utc)
        here, there = own.recall(NUMBER, scope=U1, **asked), remote.recall(NUMBER, **asked)
        assert there.facts == here.facts and there.facts is not None
        assert [(h.memory.id, h.superseded_by, h.valid_from, h.valid_to, h.reason) for h in there] == [
            (h.memory.id, h.superseded_by, h.valid_from, h.valid_to, h.reason) for h in here
        ]
    documents = {d.id: d.metadata for d in remote.invoke(NUMBER, k=2)}
    assert documents["m1"]["recall_superseded_by"] == "m2"
    assert documents["m1"]["recall_valid_to"] == documents["m2"]["recall_valid_from"] == "2026-06-05T00:00:00+00:00"
    assert "recall_superseded_by" not in documents["m2"]
    nodes = {n.node.node_id: n.node.metadata for n in remote.retrieve(NUMBER)}
    assert nodes["m1"]["recall_superseded_by"] == "m2"
