"""The command line on a store in PostgreSQL: every command by an address, and no password in what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import make_url

from recall_integrations import MemoryStore
from recall_integrations.cli import main
from recall_integrations.console.commands.shared import Address, opens
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.schema import put_meta

SECRET = "tulip-4711"
ROW = {"id": "m1", "text": "Priya moved the launch of Project Kestrel to May.", "event_at": "2024-05-01T10:00:00Z"}


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture
def address(postgres_url: str) -> str:
    return make_url(postgres_url).set(password=SECRET).render_as_string(hide_password=False)


def test_a_store_by_its_address(address: str, tmp_path: Path) -> None:
    found = invoke("db", "check", address)
    assert found.exit_code == 1 and "no tables yet" in found.output
    assert invoke("search", address, "anything").exit_code == 1  # reading makes no store
    found = invoke("db", "check", address)
    assert found.exit_code == 1 and "no tables yet" in found.output
    MemoryStore.open(address).close()
    assert invoke("db", "check", address).exit_code == 0

    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    steps = [
        ("import", str(rows), address, "--format", "jsonl", "--scope", "u1"),
        ("add", address, "The staging password is kept by Sam.", "--scope", "u1"),
        ("entity", address, "Project Kestrel", "--alias", "Kestrel", "--scope", "u1"),
        ("search", address, "when is the launch of Kestrel?", "--scope", "u1"),
        ("explain", address, "when is the launch of Kestrel?", "--scope", "u1"),
        ("stats", address),
        ("facts", address, "--scope", "u1"),
        ("learn", address, "status"),
        ("export", address, str(tmp_path / "out.jsonl")),
        ("forget", address, "m1", "--scope", "u1", "--yes"),
        ("reindex", address),
        ("compact", address),
    ]
    for step in steps:
        done = invoke(*step)
        assert done.exit_code == 0, (step[0], done.output)
        assert SECRET not in done.output, step[0]
        if step[0] == "search":
            assert "launch of Project Kestrel" in done.output
    assert "launch of Project Kestrel" in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_tables_of_another_version_are_named_with_what_to_do(address: str) -> None:
    MemoryStore.open(address).close()
    engine = open_postgres(address)
    with engine.begin() as connection:
        put_meta(connection, "schema_version", "16")
    engine.dispose()
    for words in (("db", "check", address), ("stats", address), ("add", address, "Tea is ready")):
        found = invoke(*words)
        assert found.exit_code == 1 and SECRET not in found.output
        assert "schema version 16" in found.output and "recall export" in found.output, words


@pytest.mark.parametrize("words", [("doctor", "{}"), ("doctor", "{}", "--repair")])
def test_what_is_about_files_says_so(words: tuple[str, ...], address: str) -> None:
    found = invoke(*(word.format(address) for word in words))
    assert found.exit_code == 1
    assert "recall db check" in found.output and SECRET not in found.output


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("postgresql://", "no address of a PostgreSQL database"),
        ("mysql://root:tulip-4711@localhost/x", "no address of a PostgreSQL database"),
        ("postgresql://u:tulip-4711@127.0.0.1:1/x", "127.0.0.1"),
    ],
)
def test_an_address_that_leads_nowhere(given: str, says: str) -> None:
    found = invoke("stats", given)
    assert found.exit_code == 1
    assert says in found.output and SECRET not in found.output


def test_db_is_for_databases(tmp_path: Path) -> None:
    found = invoke("db", "check", str(tmp_path))
    assert found.exit_code == 1 and "postgresql://" in found.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shown", [str, repr])
def test_an_address_as_text_has_no_password(shown: Callable[[object], str]) -> None:
    place = Address("postgresql://priya:tulip-4711@db:5432/memories")
    assert "tulip" not in shown(place) and "priya" in shown(place) and "memories" in shown(place)
    assert "tulip" in str(opens(place))
