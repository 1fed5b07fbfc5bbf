"""LangChain's standard retriever suite, without a skip."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer

TEXTS = [
    "The deploy failed because the certificate had expired",
    "Priya prefers written updates over meetings",
    "The staging database runs PostgreSQL 15",
    "Lunch on Fridays is at the Greek place",
    "Certificates are renewed by a cron job on the gateway",
]


class TestOptimizedRecallRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def optimizer(self):
        with MemoryStore.open() as store:
            store.remember_many(TEXTS)
            self.shared = QueryOptimizer(store)
            yield
            self.shared.close()

    @property
    def retriever_constructor(self) -> type[OptimizedRecallRetriever]:
        return OptimizedRecallRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"optimizer": self.shared}

    @property
    def retriever_query_example(self) -> str:
        return "why did the deploy fail?"
