"""LangChain's standard retriever suite, over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.serving import RecallClient, start
from recall_integrations.serving.served import Served

TEXTS = [
    "The deploy failed because the certificate had expired",
    "Priya prefers written updates over meetings",
    "The staging database runs PostgreSQL 15",
    "Lunch on Fridays is at the Greek place",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with MemoryStore.open() as store:
        store.remember_many(TEXTS)
        listener = start.listening("127.0.0.1", 0)
        server = start.server_of(Served(store=store, optimizer=QueryOptimizer(store)), stop_s=5)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield start.address_of(listener)
        server.should_exit = True
        thread.join(20)
        listener.close()


class TestRecallClient(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def served(self, address: str) -> None:
        self.address = address

    @property
    def retriever_constructor(self) -> type[RecallClient]:
        return RecallClient

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"url": self.address}

    @property
    def retriever_query_example(self) -> str:
        return "why did the deploy fail?"
