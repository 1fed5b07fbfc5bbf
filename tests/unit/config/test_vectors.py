"""Settings of a server of vectors: what may be an address, and that no token is a setting."""

from __future__ import annotations

from dataclasses import fields

import pytest

from recall_integrations.config import RecallConfig, VectorsConfig
from recall_integrations.config.recall_config import changed_settings, refuse_fixed
from recall_integrations.config.sections import OF_CHROMA
from recall_integrations.errors import ConfigError
from tests.rows import each_row


@each_row("address", ["http://localhost:8000", "https://api.trychroma.com", "http://[::1]:8000", "pgvector", ""])
def test_what_may_be_an_address(address: str) -> None:
    assert VectorsConfig(address=address).address == address


@each_row(
    "address",
    [
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host?a=b",
        "http://host#x",
        "postgresql://h",
        "PGVECTOR",
        "pgvector ",
    ],
)
def test_what_may_not(address: str) -> None:
    with pytest.raises(ConfigError, match=r"vectors\.address"):
        VectorsConfig(address=address)


@each_row("address", ["https://me:sesame@host", "https://me:sesame@host:port"])
def test_a_password_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigError, match=r"vectors\.token_variable") as refused:
        VectorsConfig(address=address)
    assert "sesame" not in str(refused.value)


@each_row("name", ["tenant", "database"])
@each_row("value", ["", " ", "a/b"])
def test_names_on_the_server(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"vectors\\.{name}"):
        RecallConfig.from_mapping({"vectors": {name: value}})


def test_it_is_a_setting_of_the_store_not_of_a_scope() -> None:
    with pytest.raises(ConfigError, match="the store is opened with it"):
        RecallConfig.from_mapping({"scopes": [{"user_id": "u1", "vectors": {"timeout_ms": 10}}]})
    changed = changed_settings(RecallConfig(), RecallConfig(vectors=VectorsConfig(address="http://host:8000")))
    assert changed == ("vectors.address",)
    with pytest.raises(ConfigError, match="cannot change while the store is open"):
        refuse_fixed(changed)


def test_it_comes_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_VECTORS__ADDRESS", "http://host:8000")
    monkeypatch.setenv("RECALL_VECTORS__TOKEN_VARIABLE", "CHROMA_TOKEN")
    assert RecallConfig.load().vectors == VectorsConfig(address="http://host:8000", token_variable="CHROMA_TOKEN")


@each_row(
    ("name", "value"),
    [
        ("token_variable", "TOKEN"),
        ("tenant", "birds"),
        ("database", "swans"),
    ],
)
def test_what_is_of_a_chroma_server_is_refused_beside_pgvector(name: str, value: str | int) -> None:
    with pytest.raises(ConfigError, match=rf"vectors\.{name} has no effect with vectors\.address 'pgvector'"):
        RecallConfig.from_mapping({"vectors": {"address": "pgvector", name: value}})
    assert VectorsConfig(address="pgvector", timeout_ms=100).timeout_ms == 100


def test_what_is_of_a_chroma_server_is_as_nobody_set_it() -> None:
    assert set(OF_CHROMA) | {"index", "address", "timeout_ms"} == {field.name for field in fields(VectorsConfig)}


@each_row(
    ("address", "most"),
    [
        ("https://api.trychroma.com", (300, 300)),
        ("https://API.trychroma.com:8000", (300, 300)),
        ("https://europe-west1.gcp.trychroma.com", (300, 300)),
        ("http://localhost:8000", (500, 20_000)),
        ("https://trychroma.com.example", (500, 20_000)),
        ("https://nottrychroma.com", (500, 20_000)),
        ("", (500, 20_000)),
    ],
)
def test_a_request_is_as_large_as_its_server_takes(address: str, most: tuple[int, int]) -> None:
    settings = VectorsConfig(address=address)
    assert (settings.batch, settings.results) == most
