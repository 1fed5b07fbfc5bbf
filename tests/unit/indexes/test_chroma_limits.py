"""What is said of a request that is too large for a Chroma server: which setting makes it smaller."""

from __future__ import annotations

import pytest

from recall_integrations.indexes.vector_server import BATCH, RESULTS, of_a_quota, of_a_request
from tests.scripted_chroma import quota


@pytest.mark.parametrize(
    ("what", "action", "setting"),
    [
        ("Number of records", "Upsert", BATCH),
        ("Number of records", "Delete", BATCH),
        ("Number of results", "Query", RESULTS),
        ("Limit value", "Get", RESULTS),
    ],
)
def test_the_setting_is_named_and_its_figure(what: str, action: str, setting: str) -> None:
    said = f"a secret. {quota(what, action, 2_000, 300)} of a secret"
    told = of_a_request(said)
    assert told == (
        f"its limit of '{what}' for '{action}' is 300, and a request had 2,000. Set {setting} to 300 or less, or have "
        "the limit raised there."
    )
    assert of_a_quota(said) == told


def test_what_the_client_says() -> None:
    told = of_a_request("Batch size 500 exceeds maximum batch size 166")
    assert told.startswith("it takes 166 vectors at once, and a request had 500. Set vectors.batch_max to 166 or less")


@pytest.mark.parametrize("what", ["Collection size (records)", "Number of collections", "Embedding dimension"])
def test_a_quota_that_no_setting_keeps_to(what: str) -> None:
    said = quota(what, "Upsert", 9, 8)
    assert not of_a_request(said)
    told = of_a_quota(said)
    assert what in told and "Have that quota raised there" in told


def test_a_text_of_any_length_is_cut() -> None:
    assert len(of_a_quota("Quota exceeded " + "x" * 10_000)) < 400


@pytest.mark.parametrize(
    "said", ["", "wrong dimension", "no database 'quota'", quota("Number of concurrent reads", "Query", 11, 10)]
)
def test_what_is_about_something_else(said: str) -> None:
    assert not of_a_request(said) and not of_a_quota(said)
