"""Settings of the connections of a store in PostgreSQL."""

from __future__ import annotations

import pytest

from recall_integrations.config import PostgresConfig, RecallConfig
from recall_integrations.config.recall_config import changed_settings, refuse_fixed
from recall_integrations.errors import ConfigError


def test_it_is_a_setting_of_the_store_not_of_a_scope() -> None:
    with pytest.raises(ConfigError, match="the store is opened with it"):
        RecallConfig.from_mapping({"scopes": [{"user_id": "u1", "postgres": {"pool_size": 10}}]})


def test_connections_are_counted_within_bounds() -> None:
    plain = PostgresConfig()
    assert plain.pool_size == 8
    for given in ({"pool_size": 0}, {"pool_size": 1.5}, {"pool_size": True}):
        with pytest.raises(ConfigError, match=f"postgres.{next(iter(given))}"):
            RecallConfig.from_mapping({"postgres": given})
    changed = changed_settings(RecallConfig(), RecallConfig(postgres=PostgresConfig(pool_size=3)))
    assert changed == ("postgres.pool_size",)
    with pytest.raises(ConfigError, match="pool_size cannot change while the store is open"):
        refuse_fixed(changed)
