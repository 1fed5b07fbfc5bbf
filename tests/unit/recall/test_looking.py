"""Observers of whole recalls: when they are told, of what, and that they cost nobody the answer."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope, errors
from recall_integrations.config import LimitsConfig
from recall_integrations.recall import RecallState, Stage, Turn
from recall_integrations.types.observing import Look, RecallEvent, RecallObserver
from tests.rows import each_row

WHOLE = RecallConfig(limits=LimitsConfig(time_budget_ms=60_000))
WHERE: ContextVar[str] = ContextVar("where", default="")


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember(Memory("Priya runs the deploy", entities=["Priya"]))
        yield store


class Told(RecallObserver):
    """Writes everything down."""

    def __init__(self) -> None:
        self.events: list[RecallEvent] = []
        self.refusals: list[Exception] = []
        self.where: list[str] = []
        self.threads: set[int] = set()

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        self.events.append(event)
        self.where.append(WHERE.get())
        self.threads.add(threading.get_ident())

    def refused(self, error: Exception) -> None:
        self.refusals.append(error)


def test_a_recall_is_told_once_with_what_its_caller_gets(store: MemoryStore) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[told])
    result = optimizer.recall("what does Priya run?", k=3)
    optimizer.flush()
    (event,) = told.events
    assert event.result is result
    assert (event.k, event.privacy, event.error) == (3, "allow", None)
    assert event.took_ms >= result.timings_ms["total"]
    (part,) = event.parts
    assert {arm.name for arm in part.arms} == {name[4:] for name in result.timings_ms if name.startswith("arm.")}
    lexical = next(arm for arm in part.arms if arm.name == "lexical")
    assert (lexical.found, lexical.placed) == (1, 1)
    assert part.hydrated + part.read == 1
    optimizer.recall("what does Priya run?")
    optimizer.flush()
    assert [(part.hydrated, part.read) for part in told.events[1].parts] == [(1, 0)]


def test_they_are_told_in_order_and_with_the_variables_of_the_caller(store: MemoryStore) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[told])
    for i in range(5):
        token = WHERE.set(f"request {i}")
        optimizer.recall("deploy", k=i + 1)
        WHERE.reset(token)
    optimizer.close()
    assert [event.k for event in told.events] == [1, 2, 3, 4, 5]
    assert told.where == [f"request {i}" for i in range(5)]


def test_nobody_has_to_wait_or_flush(store: MemoryStore) -> None:
    done = threading.Event()

    class Waiting(RecallObserver):
        def recalled(self, event: RecallEvent, look: Look | None) -> None:
            done.set()

    optimizer = QueryOptimizer(store, config=WHOLE, observers=[Waiting()])
    optimizer.recall("deploy")
    assert done.wait(30)


def test_an_optimizer_that_goes_tells_what_it_knows(store: MemoryStore) -> None:
    told = Told()
    QueryOptimizer(store, config=WHOLE, observers=[told]).recall("deploy")
    gc.collect()
    assert len(told.events) == 1


def test_several_scopes_are_one_recall_with_a_part_for_each(store: MemoryStore) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[told])
    optimizer.recall("deploy", scopes=[Scope(), Scope(user_id="nobody")])
    optimizer.flush()
    (event,) = told.events
    assert len(event.parts) == len(event.scopes) == 2
    assert len(set(event.scopes)) == 2


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_what_is_withheld_from_the_caller_is_withheld_here(mode: str) -> None:
    told = Told()
    with MemoryStore.open() as store:
        store.remember("My number is +1 415 555 0134", scope=Scope(user_id="somebody@example.com"))
        optimizer = QueryOptimizer(store, config=WHOLE, observers=[told])
        optimizer.recall("what is +1 415 555 0134", scope=Scope(user_id="somebody@example.com"), privacy=mode)
        optimizer.close()
    (event,) = told.events
    assert event.result is not None and event.result.hits
    for hit in event.result.hits:  # the scope of a hit is the one that its caller named
        assert "555 0134" not in f"{hit.memory}{hit.reason}"
    assert "555 0134" not in f"{event.result.query}{event.scopes}" and "somebody" not in f"{event.scopes}"


def test_refusals_and_errors_are_told(store: MemoryStore) -> None:
    class Essential(Stage):
        name, after, essential = "own", "rank", True

        def run(self, state: RecallState, turn: Turn) -> RecallState:
            raise ValueError("broken")

    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, stages=[Essential()], observers=[told])
    with pytest.raises(errors.InvalidQuery) as refused:
        optimizer.recall("")
    with pytest.raises(ValueError, match="broken") as raised:
        optimizer.recall("deploy")
    optimizer.flush()
    assert told.refusals == [refused.value]
    assert [(event.result, event.error) for event in told.events] == [(None, raised.value)]


def test_strict_gives_the_answer_and_the_error(store: MemoryStore) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, observers=[told])
    with pytest.raises(errors.RecallError) as raised:
        optimizer.recall("deploy", time_budget_ms=0.000001, strict=True)
    optimizer.flush()
    (event,) = told.events
    assert event.error is raised.value and event.result is not None


class Broken(RecallObserver):
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def _maybe(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError("call +1 415 555 0134")

    def begin(self) -> Look:
        self._maybe("begin")
        return self  # type: ignore[return-value]

    def stage(self, name: str) -> None:
        self._maybe("stage")

    def ended(self, *_given: Any) -> None:
        self._maybe("ended")

    def over(self) -> None:
        self._maybe("over")

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        self._maybe("recalled")

    def refused(self, error: Exception) -> None:
        self._maybe("refused")


@each_row("where", ["begin", "stage", "ended", "over"])
def test_who_raises_while_it_runs_is_named_and_costs_nothing(store: MemoryStore, where: str) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[Broken(where), told])
    for mode in ("allow", "redact"):
        result = optimizer.recall("deploy", privacy=mode)
        assert result.hits
        assert [(d.stage, d.reason) for d in result.degraded] == [("observer", "error")]
        assert ("0134" in result.degraded[0].detail) == (mode == "allow")
    optimizer.flush()
    assert len(told.events) == 2


@pytest.mark.parametrize("where", ["recalled", "refused"])
def test_who_raises_afterwards_is_logged_once(store: MemoryStore, where: str, caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[Broken(where), told])
    with caplog.at_level(logging.WARNING, "recall_integrations"):
        for _ in range(3):
            assert optimizer.recall("deploy").degraded == ()
            with pytest.raises(errors.InvalidQuery):
                optimizer.recall("")
        optimizer.flush()
    assert (len(told.events), len(told.refusals)) == (3, 3)
    (record,) = caplog.records
    assert "Broken raised RuntimeError" in record.getMessage() and "0134" not in record.getMessage()


def test_without_observers_nothing_is_made(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from recall_integrations.recall import looking

    def never(*_given: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(looking.Looked, "__init__", never)
    monkeypatch.setattr(looking.Looking, "__init__", never)
    optimizer = QueryOptimizer(store, observers=[lambda _event: None])
    assert optimizer.recall("deploy").hits
    optimizer.flush()


def test_the_thresholds_are_those_of_the_scope() -> None:
    settings = {"planner": {"precise_threshold": 0.3, "exploratory_threshold": 0.1}}
    config = RecallConfig.from_mapping({"scopes": [{"user_id": "priya", **settings}]})
    told = Told()
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store, config=config, observers=[told])
        for user in ("priya", "sam"):
            store.remember("Priya runs the deploy", scope=Scope(user_id=user))
            optimizer.recall("who runs it?", scope=Scope(user_id=user), time_budget_ms=60_000)
        optimizer.flush()
    assert [event.thresholds["precise"] for event in told.events] == [0.3, 0.8]
