"""What is said of a request that is too large for a Chroma server: which limit it broke."""

from __future__ import annotations

from recall_integrations.indexes.vector_server import of_a_quota, of_a_request
from tests.rows import each_row
from tests.scripted_chroma import quota


@each_row(
    ("what", "action"),
    [
        ("Number of records", "Upsert"),
        ("Number of records", "Delete"),
        ("Number of results", "Query"),
        ("Limit value", "Get"),
    ],
)
def test_the_limit_is_named_and_its_figure(what: str, action: str) -> None:
    said = f"a secret. {quota(what, action, 2_000, 300)} of a secret"
    told = of_a_request(said)
    assert told == (
        f"its limit of '{what}' for '{action}' is 300, and a request had 2,000. Have the limit raised there."
    )
    assert of_a_quota(said) == told


def test_what_the_client_says() -> None:
    told = of_a_request("Batch size 500 exceeds maximum batch size 166")
    assert told.startswith("it takes 166 vectors at once, and a request had 500. Have the limit raised")


@each_row("what", ["Collection size (records)", "Number of collections", "Embedding dimension"])
def test_a_quota_of_something_else_than_a_request(what: str) -> None:
    said = quota(what, "Upsert", 9, 8)
    assert not of_a_request(said)
    told = of_a_quota(said)
    assert what in told and "Have the limit raised there" in told


def test_a_text_of_any_length_is_cut() -> None:
    assert len(of_a_quota("Quota exceeded " + "x" * 10_000)) < 400


@each_row("said", ["", "wrong dimension", "no database 'quota'", quota("Number of concurrent reads", "Query", 11, 10)])
def test_what_is_about_something_else(said: str) -> None:
    assert not of_a_request(said) and not of_a_quota(said)
