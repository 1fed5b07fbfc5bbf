"""How long one waits for a connection of a pool."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import TimeoutError as PoolTimeout

from recall_integrations.database.connections import within
from recall_integrations.database.postgres import mapped_errors, open_postgres
from recall_integrations.errors import StoreError

AGES_S = 600.0  # who waits so long does not come to the end of a test


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    opened = open_postgres(postgres_url, pool_size=1, pool_timeout_s=AGES_S)
    yield opened
    opened.dispose()


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_one_waits_no_longer_than_for_the_server(engine: Engine, seconds: float) -> None:
    for _ in range(2):
        with engine.connect(), engine.connect():
            with within(seconds), pytest.raises(PoolTimeout):
                engine.connect()
            with within(seconds), pytest.raises(StoreError, match="none was free in time"), mapped_errors(engine):
                engine.connect()
        engine.dispose()  # makes another pool, in which it is the same


def test_one_that_is_free_is_had_with_no_time_left(engine: Engine) -> None:
    with within(0):
        engine.connect().close()


def test_where_nothing_bounds_it_the_setting_does(postgres_url: str) -> None:
    opened = open_postgres(postgres_url, pool_size=1, pool_timeout_s=0.05)
    with opened.connect(), opened.connect(), pytest.raises(PoolTimeout), within(AGES_S):
        opened.connect()
    with opened.connect(), opened.connect(), pytest.raises(PoolTimeout):
        opened.connect()
    opened.dispose()
