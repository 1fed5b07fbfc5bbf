"""Settings of a store in PostgreSQL: what may be the address of a replica, and that it holds no password."""

from __future__ import annotations

import pytest

from recall_integrations.config import PostgresConfig, RecallConfig
from recall_integrations.config.changes import changed_settings, refuse_fixed
from recall_integrations.errors import ConfigError


def test_what_may_be_an_address() -> None:
    given = ("postgresql://replica:5433", "postgres://me@[::1]/memories?sslmode=require", "postgresql:///?host=/run")
    assert PostgresConfig(replicas=" ".join(given)).addresses == given
    assert RecallConfig.from_mapping({"postgres": {"replicas": "\n".join(given)}}).postgres.addresses == given
    assert PostgresConfig().addresses == ()


@pytest.mark.parametrize("address", ["replica:5432", "http://replica", "postgresql://", "postgresql://h:port", "///"])
def test_what_may_not(address: str) -> None:
    with pytest.raises(ConfigError, match=r"postgres\.replicas"):
        PostgresConfig(replicas=address)


@pytest.mark.parametrize("address", ["postgresql://me:sesame@host", "postgresql://host?password=sesame"])
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigError, match="PGPASSWORD") as refused:
        PostgresConfig(replicas=address)
    assert "sesame" not in str(refused.value)


def test_each_is_given_once() -> None:
    with pytest.raises(ConfigError, match="once"):
        PostgresConfig(replicas="postgresql://host postgresql://host")


def test_it_is_a_setting_of_the_store_not_of_a_scope() -> None:
    with pytest.raises(ConfigError, match="the store is opened with it"):
        RecallConfig.from_mapping({"scopes": [{"user_id": "u1", "postgres": {"stale_max_s": 10}}]})
    changed = changed_settings(RecallConfig(), RecallConfig(postgres=PostgresConfig(stale_max_s=3)))
    assert changed == ("postgres.stale_max_s",)
    with pytest.raises(ConfigError, match="cannot change while the store is open"):
        refuse_fixed(changed)


def test_connections_are_counted_and_waited_for_within_bounds() -> None:
    plain = PostgresConfig()
    assert (plain.pool_size, plain.pool_timeout_ms) == (8, 30_000)
    for given in ({"pool_size": 0}, {"pool_size": 1.5}, {"pool_size": True}, {"pool_timeout_ms": 0}):
        with pytest.raises(ConfigError, match=f"postgres.{next(iter(given))}"):
            RecallConfig.from_mapping({"postgres": given})
    changed = changed_settings(RecallConfig(), RecallConfig(postgres=PostgresConfig(pool_size=3, pool_timeout_ms=5)))
    assert changed == ("postgres.pool_size", "postgres.pool_timeout_ms")
    with pytest.raises(ConfigError, match="pool_size cannot change while the store is open"):
        refuse_fixed(changed)


def test_it_comes_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_POSTGRES__REPLICAS", "postgresql://one postgresql://two")
    monkeypatch.setenv("RECALL_POSTGRES__STALE_MAX_S", "30")
    found = RecallConfig.load().postgres
    assert found.addresses == ("postgresql://one", "postgresql://two") and found.stale_max_s == 30
