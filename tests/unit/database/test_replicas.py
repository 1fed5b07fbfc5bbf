"""Where a replica is, by what its address leaves out."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from recall_integrations.database.postgres import parsed
from recall_integrations.database.replicas import Replica, beside

PRIMARY = parsed("postgresql://recall:sesame@db.example:5433/memories?sslmode=require&options=-csearch_path%3Done")


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("postgresql://replica", "recall:sesame@replica/memories"),
        ("postgres://replica:6000/", "recall:sesame@replica:6000/memories"),
        ("postgresql://reader@replica/copy", "reader:sesame@replica/copy"),
    ],
)
def test_what_it_does_not_name_is_as_in_the_primarys(address: str, wanted: str) -> None:
    found = beside(PRIMARY, address)
    assert found.render_as_string(hide_password=False).startswith(f"postgresql+psycopg://{wanted}?")
    assert found.query == {"sslmode": "require", "options": "-csearch_path=one"}


def test_a_socket_or_a_host_of_the_query_is_its_own() -> None:
    primary = parsed("postgresql:///memories?host=/run/one&port=6000")
    assert beside(primary, "postgresql:///?host=/run/two").query == {"host": "/run/two"}
    assert beside(primary, "postgresql://replica").query == {}
    assert beside(PRIMARY, "postgresql://replica?sslmode=disable").query["sslmode"] == "disable"


@pytest.mark.parametrize(
    ("error", "ready"),
    [(PoolTimeout("all are in use"), True), (OperationalError("SELECT 1", None, OSError("gone")), False)],
)
def test_one_that_everybody_reads_did_not_fail(error: Exception, ready: bool) -> None:
    replica = Replica(PRIMARY, timeout_s=1.0, tenant=None)
    replica._engine, replica.ready = create_engine("sqlite://"), True

    def work(_engine: Engine) -> None:
        raise error

    with pytest.raises(type(error)):
        replica.read(work)
    assert replica.ready is ready


def test_it_need_not_be_the_one_that_takes_writes() -> None:
    primary = parsed("postgresql://recall@one:6000,two:6000/memories?target_session_attrs=read-write&sslmode=require")
    found = beside(primary, "postgresql://two:6001")
    assert (found.host, found.port, found.query) == ("two", 6001, {"sslmode": "require"})
    wanted = {"sslmode": "require", "target_session_attrs": "standby"}
    assert beside(primary, "postgresql://two?target_session_attrs=standby").query == wanted
