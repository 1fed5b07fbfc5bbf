from __future__ import annotations

import threading

import pytest

from recall_integrations.sharing.phrasings import SharedPhrasings
from tests.fake_redis import FakeRedis, shared

PHRASINGS = ("the storage backend", "which database")


def of(client: FakeRedis, secret: bytes = b"k" * 32) -> SharedPhrasings:
    return SharedPhrasings(shared(client, secret=secret), ttl_s=180, limit_s=2)


def test_what_one_process_was_told_the_other_finds_for_a_while() -> None:
    client = FakeRedis()
    one, other = of(client), of(client)
    assert one.asked_once("key", lambda: PHRASINGS) == PHRASINGS
    assert other.get("key") == PHRASINGS
    assert other.get("another key") is None
    assert of(client, b"x" * 32).get("key") is None
    client.now += 181
    assert other.get("key") is None


def test_who_asks_the_same_meanwhile_waits_for_the_answer() -> None:
    client = FakeRedis()
    asked, begun, go_on = [], threading.Event(), threading.Event()

    def slow() -> tuple[str, ...]:
        asked.append(1)
        begun.set()
        go_on.wait(5)
        return PHRASINGS

    first = threading.Thread(target=lambda: of(client).asked_once("key", slow))
    first.start()
    assert begun.wait(5)
    found: list[tuple[str, ...]] = []
    second = threading.Thread(target=lambda: found.append(of(client).asked_once("key", slow)))
    second.start()
    go_on.set()
    first.join(5)
    second.join(5)
    assert found == [PHRASINGS]
    assert len(asked) == 1


def test_one_that_died_is_not_waited_for_for_ever() -> None:
    client = FakeRedis()
    one = SharedPhrasings(shared(client), ttl_s=180, limit_s=0.2)
    client.set(shared(client).sealing.key("asking", "key"), b"dead", px=60_000)
    assert one.asked_once("key", lambda: PHRASINGS) == PHRASINGS


def test_what_a_model_raises_is_raised_and_the_turn_is_given_back() -> None:
    client = FakeRedis()
    link = shared(client)
    one = SharedPhrasings(link, ttl_s=180, limit_s=2)

    def fails() -> tuple[str, ...]:
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        one.asked_once("key", fails)
    link.link.flush()
    assert client.held == {}


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b"nonsense", b"[]"])
def test_what_is_damaged_is_not_there(value: bytes) -> None:
    client = FakeRedis()
    common = shared(client)
    name = common.sealing.key("rewrite", "key")
    client.set(name, common.sealing.sealed(name, value) or b"", px=1_000)
    assert of(client).get("key") is None


def test_without_redis_the_model_is_asked() -> None:
    client = FakeRedis()
    client.fails = True
    assert of(client).asked_once("key", lambda: PHRASINGS) == PHRASINGS
    assert of(client).get("key") is None
