"""Whatever a request holds, the API answers as its own OpenAPI says: no failure, no status or shape but those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served

EXAMPLES = 3  # of each operation
HOST = "testserver"  # as the ASGI client of schemathesis calls itself
# What a schema cannot say (times with an offset, filters, names of zones) is refused with 422, and documented as that;
# 503 and 504 are answers, to who gives no time.
HEALTH = list(HealthCheck)
NOT_HELD = [checks.positive_data_acceptance, not_a_server_error]


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    with MemoryStore.open() as store:
        store.remember_many([Memory(text="The deploy is on Friday", id="m1", actor="Priya")], scope=Scope("u1"))
        served = Served(store=store, optimizer=QueryOptimizer(store), hosts=(HOST,))
        app = create_app(served)
        yield schemathesis.openapi.from_asgi("/openapi.json", app)


def asked(operation: Any, mode: GenerationMode, examples: int) -> None:
    """Ask an operation so many times for what its schema allows, or forbids."""

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=HEALTH)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        reply = case.call_and_validate(excluded_checks=NOT_HELD, timeout=30)
        assert reply.status_code != 500, reply.text

    run()


@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_it_answers_as_it_says(api: Any, mode: GenerationMode, examples: int) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) > 9
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or operation.path_parameters):
            continue
        asked(operation, mode, examples)
