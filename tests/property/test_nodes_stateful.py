"""Several nodes over one PostgreSQL: what one did, all find at their next call, as stores over one directory do."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.postgres import Postgres
from tests.property.test_several_processes_stateful import SeveralStores
from tests.quick import examples


def test_nodes_over_one_database_agree(postgres: Postgres) -> None:
    class Nodes(SeveralStores):
        """Each rule of the machine is done by one of the nodes, and then by another."""

        url = ""

        def where(self) -> str:
            if not self.url:
                self.url = postgres.fresh()
            return self.url

        def _collections_agree(self) -> None:
            """Vectors are read from the record."""

        def teardown(self) -> None:
            super().teardown()
            if self.url:
                postgres.drop(self.url)

    run_state_machine_as_test(
        Nodes,
        settings=settings(
            max_examples=examples(20),
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            phases=[Phase.generate],
        ),
    )
