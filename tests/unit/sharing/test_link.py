from __future__ import annotations

import logging
import subprocess
import sys
import time

import pytest

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config.shared import Address, SharedConfig
from recall_integrations.errors import ConfigError
from recall_integrations.sharing.link import Link, linked
from tests.fake_redis import FakeRedis
from tests.needs import needed

SECRET = "s3cret-word"
NEEDS = "needs redis-py: pip install 'recall-integrations[redis]'"


def test_what_a_function_makes_of_the_client_is_given() -> None:
    assert Link(FakeRedis(), 2_000).ask(lambda client: client.ping()) is True


def test_after_a_failure_nothing_is_asked_for_a_while_and_then_again(caplog: pytest.LogCaptureFixture) -> None:
    client = FakeRedis()
    link = Link(client, 2_000, "Redis at somewhere", open_s=0.05)
    client.fails = True
    with caplog.at_level(logging.INFO, "recall_integrations"):
        assert [link.ask(lambda client: client.ping()) for _ in range(5)] == [None] * 5
        assert client.calls == 1
        link.later(lambda client: client.ping())  # what can wait is not done either
        link.flush()
        assert client.calls == 1
        client.fails = False
        time.sleep(0.06)
        assert link.ask(lambda client: client.ping()) is True
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "Redis at somewhere cannot be used (ConnectionError): each process goes on by itself.",
        "Redis at somewhere answers again.",
    ]


def test_one_that_hangs_costs_the_time_limit_once() -> None:
    client = FakeRedis()
    client.delay_s = 1.0
    link, began = Link(client, 20), time.monotonic()
    assert [link.ask(lambda client: client.ping()) for _ in range(20)] == [None] * 20
    assert time.monotonic() - began < 0.5
    assert client.calls == 1


def test_what_can_wait_is_bounded() -> None:
    client = FakeRedis()
    client.delay_s = 0.001
    link = Link(client, 2_000)
    for _ in range(2_000):
        link.later(lambda client: client.ping())
    link.flush()
    assert 200 <= client.calls < 2_000


@pytest.mark.parametrize("given", [f"redis://:{SECRET}@127.0.0.1:1/0", f"rediss://bob:{SECRET}@[::1]:1", ""])
def test_a_password_is_nowhere_to_be_seen(given: str) -> None:
    config = RecallConfig(shared=SharedConfig(redis=given))
    assert isinstance(config.shared.redis, Address)
    assert SECRET not in f"{config!r} {config} {config.shared.redis} {config.fingerprint}"
    assert config.shared.redis.password == (SECRET if given else "")


@pytest.mark.parametrize(
    "given",
    [
        f"http://:{SECRET}@host",
        f"redis://:{SECRET}@",
        f"redis://:{SECRET}@host:99999",
        f"redis://host/0?password={SECRET}",
        f"redis://:{SECRET}@host/zero",
        f"redis://:{SECRET}@[host/0",
        f"redis://host#{SECRET}",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(ConfigError) as refused:
        RecallConfig.from_mapping({"shared": {"redis": given}})
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("prefix", ["", "a b", "a" * 65, "ä", "*"])
def test_a_prefix_is_a_plain_word(prefix: str) -> None:
    with pytest.raises(ConfigError, match=r"shared\.prefix"):
        SharedConfig(prefix=prefix)


def test_the_password_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    needed("redis", NEEDS)
    monkeypatch.setenv("RECALL_REDIS_PASSWORD", SECRET)
    link = linked(SharedConfig(redis="redis://127.0.0.1:1/0"))
    assert link is not None
    given = link.ask(lambda client: client.connection_pool.connection_kwargs.get("password"))
    link.flush()
    assert given in (SECRET, None)  # `None`: the first look for it has failed by then


def test_what_is_shared_acts_on_no_answer() -> None:
    plain = RecallConfig()
    assert RecallConfig(shared=SharedConfig(redis="redis://h:1", timeout_ms=7)).fingerprint == plain.fingerprint


def test_nobody_who_has_no_redis_loads_its_client() -> None:
    script = "import sys; from recall_integrations import *; store = MemoryStore.open(); store.remember('tea')\n"
    script += "QueryOptimizer(store).recall('tea'); assert 'redis' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_an_optimizer_without_its_redis_answers() -> None:
    needed("redis", NEEDS)
    shared = SharedConfig(redis=f"redis://:{SECRET}@127.0.0.1:1/0")
    with MemoryStore.open() as store:
        store.remember("Priya drinks tea")
        optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached", shared=shared))
        assert optimizer.recall("tea").hits
        assert optimizer.recall("tea").cache.hit
        assert SECRET not in repr(optimizer.health())
        optimizer.close()
