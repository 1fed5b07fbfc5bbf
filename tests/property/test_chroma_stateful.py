"""The machines of stores, with large scopes on a server of vectors that goes and comes back as they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from recall_integrations.arms import retrievers as semantic
from recall_integrations.config import RecallConfig, VectorsConfig
from recall_integrations.indexes import vectors
from recall_integrations.indexes.pg_tables import table_of
from recall_integrations.indexes.pg_vectors import PgVectors
from recall_integrations.indexes.vector_server import VectorServer
from recall_integrations.indexes.vectors import CollectionServer
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import collections, filling
from tests import chroma
from tests.chroma import Proxy
from tests.postgres import Postgres
from tests.property.test_several_processes_stateful import SeveralStores
from tests.property.test_store_stateful import StoreMachine

pytestmark = pytest.mark.slow
MACHINE = settings(
    max_examples=12,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scopes are large, and nobody waits for long."""
    for where, name, value in (
        (semantic, "SUBSET_MAX", 0),
        (collections, "SLICE", 2),
        (collections, "PAUSE_S", 0.02),
        (collections, "PAUSE_MAX_S", 0.1),
        (collections, "LEASE_S", 0.1),
        (collections, "FRESH_S", 0.01),
        (vectors, "OPEN_S", 0.05),
        (filling, "QUIET_S", 0.0),
    ):
        monkeypatch.setattr(where, name, value)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with chroma.running() as server, closing(Proxy(server.port)) as made:
        yield made


class OnServer(StoreMachine):
    """What is large is on a server; whether that is there or not, nothing is lost."""

    proxy: Proxy

    def server(self) -> CollectionServer:
        """Another connection to it."""
        return VectorServer(VectorsConfig(address=self.proxy.address))

    def config(self) -> RecallConfig:
        return replace(super().config(), vectors=VectorsConfig(address=self.proxy.address))

    @rule()
    def it_goes_away(self) -> None:
        self.proxy.cut()

    @rule()
    def it_comes_back(self) -> None:
        self.proxy.refuses = False

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self._open()

    @rule()
    def all_is_there_in_the_end(self) -> None:
        self.it_comes_back()
        assert self.store.indexes.settle(60)
        self._collections_agree()

    @invariant()
    @precondition(lambda self: hasattr(self, "store"))
    def each_is_found_by_its_text(self) -> None:
        with closing(QueryOptimizer(self.store)) as optimizer:
            for scope, expected in self.oracle.items():
                for text in set(expected.values()):
                    found = optimizer.recall(text, scope=scope, k=5, time_budget_ms=60_000)
                    assert text in [hit.memory.text for hit in found.hits], found.degraded
                    assert {d.reason for d in found.degraded} <= {"vectors.away"}

    def _collections_agree(self) -> None:
        with closing(self.server()) as server:
            for scope in self.oracle:
                scope_id = self.store.scope_id(scope)
                home = "" if scope_id is None else self.store.indexes.home_of(scope_id)
                if scope_id is not None and home:
                    view = self.store.view(scope_id)
                    held = server.nums(home) if view.count else np.empty(0, dtype=np.int64)
                    assert held.tolist() == view.nums[view.alive].tolist()

    def teardown(self) -> None:
        self.it_comes_back()
        super().teardown()


def test_a_store_whose_server_comes_and_goes(proxy: Proxy) -> None:
    class Machine(OnServer):
        pass

    Machine.proxy = proxy
    run_state_machine_as_test(Machine, settings=MACHINE)


def test_nodes_over_one_database_and_one_server(proxy: Proxy, postgres: Postgres) -> None:
    class Nodes(OnServer, SeveralStores):
        url = ""

        def where(self) -> str:
            if not self.url:
                self.url = postgres.fresh()
            return self.url

        @rule()
        def reopen(self) -> None:
            self.store.close()
            self._open()

        @rule()
        def reindex(self) -> None:
            """It needs the store alone."""

        def teardown(self) -> None:
            super().teardown()
            if self.url:
                postgres.drop(self.url)

    Nodes.proxy = proxy
    run_state_machine_as_test(Nodes, settings=MACHINE)


def test_nodes_over_one_database_with_pgvector(postgres: Postgres) -> None:
    """Tables of collections are dropped as they run."""

    class Nodes(OnServer, SeveralStores):
        url = ""

        def where(self) -> str:
            if not self.url:
                self.url = postgres.fresh()
            return self.url

        def server(self) -> CollectionServer:
            return PgVectors(self.where(), VectorsConfig(address="pgvector"))

        def config(self) -> RecallConfig:
            return replace(StoreMachine.config(self), vectors=VectorsConfig(address="pgvector"))

        @rule()
        def it_goes_away(self) -> None:
            with closing(self.server()) as server:
                homes = server.homes()
            with self.store.engine.begin() as connection:
                for home in homes[:1]:
                    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table_of(home)}")

        @rule()
        def it_comes_back(self) -> None:
            """It has never been away."""

        @rule()
        def reopen(self) -> None:
            self.store.close()
            self._open()

        @rule()
        def reindex(self) -> None:
            """It needs the store alone."""

        def teardown(self) -> None:
            super().teardown()
            if self.url:
                postgres.drop(self.url)

    run_state_machine_as_test(Nodes, settings=MACHINE)


def test_stores_over_one_directory_and_one_server(proxy: Proxy) -> None:
    class Stores(OnServer, SeveralStores):
        @rule()
        def reopen(self) -> None:
            self.store.close()
            self._open()

        @rule()
        def reindex(self) -> None:
            """It needs the store alone."""

    Stores.proxy = proxy
    run_state_machine_as_test(Stores, settings=MACHINE)
