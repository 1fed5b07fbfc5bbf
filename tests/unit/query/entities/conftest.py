"""A language model that is asked about names, and what it is asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from recall_integrations.privacy.door import Door
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.fallback import STAGE, EntityFallback
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard
from recall_integrations.types import Degradation, EntityRef

THRESHOLD = 0.85
OFF_SECONDS = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Model:
    """Answers from a list, the last one again and again; `cost` seconds pass on the clock at each call."""

    def __init__(self, *answers: Any, clock: Clock | None = None, cost: float = 0.0) -> None:
        self.answers, self.clock, self.cost = list(answers), clock, cost
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if self.clock is not None:
            self.clock.now += self.cost
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class AtOnce:
    """Threads that answer before anybody waits."""

    active = hanging = 0

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        _run(future, call, *args)
        return future

    def give_up(self, future: Future[Any]) -> None:
        pass


class Later(AtOnce):
    """Threads whose calls run when the test says so; `limit` at once, given up or not."""

    def __init__(self) -> None:
        self.calls: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self.calls.append((future, call, args))
        return future

    def run(self) -> None:
        future, call, args = self.calls.pop(0)
        _run(future, call, *args)


def _run(future: Future[Any], call: Callable[..., Any], *args: Any) -> None:
    try:
        future.set_result(call(*args))
    except BaseException as e:
        future.set_exception(e)


def _index_of(*names: str, **aliases: Sequence[str]) -> EntityIndex:
    built = EntityIndex()
    for name in names:
        built.add(name, name, aliases.get(name.replace(" ", "_"), ()))
    return built


def _ask(
    fallback: EntityFallback,
    text: str,
    index: EntityIndex,
    *,
    scope_id: int = 1,
    budget_ms: float = 50.0,
    clock: Clock | None = None,
    reserved: list[tuple[int, int]] | None = None,
) -> tuple[tuple[EntityRef, ...], list[str]]:
    refs, problems = fallback.resolve(
        text,
        index.resolve(text, reserved=reserved or []),
        index,
        scope_id=scope_id,
        threshold=THRESHOLD,
        # Its clock stands still: how long a machine takes to get there is no matter of the test.
        deadline=Deadline.after(budget_ms, clock or Clock()),
        reserved=reserved or [],
        door=Door(),
    )
    assert all(isinstance(p, Degradation) and p.stage == STAGE for p in problems)
    return refs, [p.reason for p in problems]


@pytest.fixture
def clock() -> Clock:
    """Stands still, unless it is moved or a model costs time."""
    return Clock()


@pytest.fixture
def later() -> Later:
    """A pool of threads that waits."""
    return Later()


@pytest.fixture(scope="session")
def scripted() -> type[Model]:
    """A model that answers from a list."""
    return Model


@pytest.fixture(scope="session")
def made() -> Callable[..., EntityFallback]:
    """A fallback over a model, which answers at once if nothing else is said. Its clock stands still."""

    def make(
        model: Any,
        threads: Any = None,
        *,
        timeout_ms: float = 1_000.0,
        clock: Any = None,
    ) -> EntityFallback:
        clock = clock or Clock()
        guard = Guard(
            "entities",
            limit_ms=timeout_ms,
            breaker=Breaker("entities", open_s=OFF_SECONDS, clock=clock),
            threads=threads or AtOnce(),
            clock=clock,
        )
        return EntityFallback(model, guard)

    return make


@pytest.fixture(scope="session")
def ask() -> Callable[..., Any]:
    """References after the fallback, and the reasons of what went wrong."""
    return _ask


@pytest.fixture(scope="session")
def index_of() -> Callable[..., EntityIndex]:
    """An index of names, each with itself as id; aliases by name, with underscores."""
    return _index_of


@pytest.fixture(scope="session")
def offered() -> Callable[[str], list[str]]:
    """The names that a prompt lets the model choose from."""

    def names(prompt: str) -> list[str]:
        return [json.loads(line.split(" ", 1)[1]) for line in prompt.splitlines() if line[:1].isdigit()]

    return names


@pytest.fixture
def office() -> EntityIndex:
    """Two people of one first name, and others."""
    return _index_of("Sam Lee", "Sam Roe", "Priya Raman", "Project Kestrel", "Inbox3", "Henrietta")


@pytest.fixture
def crowd() -> EntityIndex:
    """More names than one prompt holds."""
    return _index_of("Project Kestrel", "Priya Raman", *(f"Harbour{i}" for i in range(40)))
