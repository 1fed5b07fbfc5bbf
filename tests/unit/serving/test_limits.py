from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from recall_integrations import Scope
from recall_integrations.errors import InvalidArgument
from recall_integrations.serving.problems import Refused
from recall_integrations.serving.served import CALLERS_MAX, Limits, Pool, Rates
from tests.rows import each_row


def test_a_bucket_holds_two_seconds_and_fills_with_time() -> None:
    now = [0.0]
    rates = Rates(5, clock=lambda: now[0])
    assert [rates.wait_s("a") for _ in range(10)] == [0.0] * 10
    assert rates.wait_s("a") == pytest.approx(0.2)
    assert rates.wait_s("b") == 0.0  # everybody has their own
    now[0] = 0.2
    assert rates.wait_s("a") == 0.0 and rates.wait_s("a") > 0
    now[0] = 1e6
    assert sum(rates.wait_s("a") == 0.0 for _ in range(50)) == 10


def test_nobody_is_counted_without_a_rate_and_few_are_remembered() -> None:
    assert all(Rates(0).wait_s("a") == 0.0 for _ in range(1_000))
    rates = Rates(1, clock=lambda: 0.0)
    for caller in range(CALLERS_MAX + 10):
        rates.wait_s(str(caller))
    assert len(rates) == CALLERS_MAX


@each_row("bad", [{"k_max": 0}, {"rate": -1}, {"body_max": float("nan")}, {"queue": True}])
def test_limits_are_positive(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        Limits(**bad)


async def test_a_pool_takes_turns_and_sends_away_who_would_wait_too_long() -> None:
    pool, hold = Pool("test", places=1, queue=1, wait_s=0.1), threading.Event()
    first = asyncio.ensure_future(pool.run(lambda: hold.wait(5)))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(pool.run(lambda: 2))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="wait already"):
        await pool.run(lambda: 3)
    with pytest.raises(Refused, match="no place within") as refused:
        await second
    assert refused.value.status == 503 and refused.value.headers["Retry-After"] == "1"
    hold.set()
    assert await first and await pool.run(lambda: 4) == 4
    assert (pool.active, pool.waiting) == (0, 0)


async def test_who_gives_up_frees_the_place_when_the_work_has_ended() -> None:
    pool, hold = Pool("test", places=1, queue=1, wait_s=5), threading.Event()
    running = asyncio.ensure_future(pool.run(lambda: hold.wait(5)))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert pool.active == 1
    hold.set()
    assert await pool.run(lambda: 2) == 2


async def test_what_a_call_raises_is_raised_and_frees_the_place() -> None:
    pool = Pool("test", places=1, queue=0, wait_s=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0)
    assert pool.active == 0


@each_row(
    "came, wanted",
    [
        (
            ["a/x 1", "a/x 2", "a/x 3", "b/x 1", "b/x 2", "c/x 1"],
            ["b/x 1", "c/x 1", "a/x 1", "b/x 2", "a/x 2", "a/x 3"],
        ),
        (["a/x 1", "a/x 2", "a/y 1", "b/x 1"], ["b/x 1", "a/y 1", "a/x 1", "a/x 2"]),  # scopes of a caller
    ],
)
def test_places_go_round_among_tenants(came: list[str], wanted: list[str]) -> None:
    def tenant(name: str) -> tuple[str, Scope]:
        caller, _, scope = name.partition(" ")[0].partition("/")
        return caller, Scope(scope)

    async def asked() -> list[str]:
        pool, order = Pool("test", places=1, queue=9, wait_s=5), ["a/x 0"]

        async def work(name: str) -> None:
            await pool.enter(tenant(name))
            order.append(name)

        await pool.enter(tenant(order[0]))
        await pool.enter(("d", Scope()))  # has the place that is kept
        tasks = [asyncio.ensure_future(work(name)) for name in came]
        await asyncio.sleep(0)
        while pool.waiting:
            assert pool.active == 2
            pool.leave(tenant(order[-1]))
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)
        return order[1:]

    assert asyncio.run(asked()) == wanted


async def test_a_tenant_that_has_no_place_finds_one_that_is_kept() -> None:
    pool, hold = Pool("test", places=2, queue=9, wait_s=5), threading.Event()
    greedy = [asyncio.ensure_future(pool.run(partial(hold.wait, 5), ("greedy", None))) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert pool.active == 2
    assert await pool.run(lambda: 1, ("other", None)) == 1
    hold.set()
    await asyncio.gather(*greedy)


async def test_a_full_queue_sends_away_who_waits_most() -> None:
    pool, hold = Pool("test", places=1, queue=2, wait_s=5), threading.Event()
    working = [asyncio.ensure_future(pool.run(partial(hold.wait, 5), (who, None))) for who in ("greedy", "third")]
    greedy = [asyncio.ensure_future(pool.run(lambda: 1, ("greedy", None))) for _ in range(2)]
    await asyncio.sleep(0.01)
    other = asyncio.ensure_future(pool.run(lambda: 2, ("other", None)))
    with pytest.raises(Refused, match="wait already"):
        await greedy[1]
    hold.set()
    assert (await other, await greedy[0]) == (2, 1)
    await asyncio.gather(*working)


def test_bytes_of_bodies_count_as_requests() -> None:
    now = [0.0]
    rates = Rates(5, clock=lambda: now[0])
    assert rates.wait_s("a") == 0.0
    rates.spend("a", 7_000_000)  # 700 requests, of which there were nine
    assert rates.wait_s("a") == pytest.approx((700 - 9 + 1) / 5)
    assert rates.wait_s("b") == 0.0
    now[0] = 139.0
    assert rates.wait_s("a") == 0.0
