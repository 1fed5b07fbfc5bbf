"""Where a replica is, by what its address leaves out."""

from __future__ import annotations

import pytest

from recall_integrations.database.postgres import parsed
from recall_integrations.database.replicas import beside

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
