"""The breaker by examples, then against a model of it, with the clock and several owners of one file."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from recall_integrations.resilience.breaker import Breaker, BreakerState, Pass, Shelf
from tests.quick import examples


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock, shelf: Shelf | None = None, failures: int = 3) -> Breaker:
    breaker = Breaker("llm", failures_max=failures, open_s=300, clock=clock, shelf=shelf)
    for _ in range(failures):
        breaker.failed(Pass(), "timeout")
    return breaker


def test_it_opens_after_failures_in_a_row_and_lets_one_try() -> None:
    clock = Clock()
    breaker = Breaker("llm", clock=clock)
    for outcome in ("bad", "bad", "good", "bad", "bad"):
        given = breaker.enter()
        assert given == Pass() and breaker.state == "closed"
        breaker.succeeded(given) if outcome == "good" else breaker.failed(given)
    given = breaker.enter()
    assert given is not None
    breaker.failed(given, "timeout")
    assert (breaker.state, breaker.refuses(), breaker.enter(), breaker.left_s) == ("open", True, None, 300)
    clock.now += 299
    assert breaker.enter() is None
    clock.now += 1
    assert (breaker.state, breaker.refuses(), breaker.left_s) == ("half_open", False, 0)
    trial = breaker.enter()
    assert trial == Pass(trial=True)
    assert breaker.enter() is None and breaker.state == "half_open"  # one trial at a time
    breaker.failed(trial)
    assert breaker.state == "open" and breaker.enter() is None
    clock.now += 300
    trial = breaker.enter()
    assert trial is not None
    breaker.succeeded(trial)
    assert breaker.state == "closed" and breaker.known == BreakerState()


def test_while_it_is_open_only_the_trial_decides() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 200
    breaker.succeeded(Pass())
    breaker.failed(Pass())  # begun before it opened
    assert breaker.left_s == 100


def test_a_trial_that_nobody_waited_for_is_for_the_next_to_make() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 300
    trial = breaker.enter()
    assert trial is not None
    breaker.released(trial)
    assert breaker.enter() == Pass(trial=True)


def test_a_trial_that_never_reports_back_does_not_block_for_ever() -> None:
    clock = Clock()
    breaker = opened(clock, failures=1)
    clock.now += 300
    assert breaker.enter()
    clock.now += 299
    assert breaker.enter() is None
    clock.now += 1
    assert breaker.enter()


def test_a_clock_that_jumps_back_an_hour_makes_no_pause_longer() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now -= 3_600
    assert breaker.enter() is None and breaker.left_s == 300
    clock.now += 300
    assert breaker.enter() == Pass(trial=True)


# -- the file


def test_what_is_known_survives_and_is_shared(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "breakers.json"
    opened(clock, Shelf(path))
    other = Breaker("llm", open_s=300, clock=clock, shelf=Shelf(path))
    assert other.state == "open" and other.known.why == "timeout"
    assert Breaker("reranker", shelf=Shelf(path)).state == "closed"
    clock.now += 300
    first, second = Breaker("llm", open_s=300, clock=clock, shelf=Shelf(path)), other
    trial = first.enter()
    assert trial == Pass(trial=True) and second.enter() is None
    first.succeeded(trial)
    assert second.state == "closed"


def test_nothing_is_written_while_all_works(tmp_path: Path) -> None:
    breaker = Breaker("llm", shelf=Shelf(tmp_path / "breakers.json"))
    given = breaker.enter()
    assert given is not None
    breaker.succeeded(given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"llm": 3}', '{"llm": {"failures": "x", "since": 0}}', "\x00", "null"]
)
def test_a_file_that_is_none_is_as_if_nothing_were_known(tmp_path: Path, text: str) -> None:
    path = tmp_path / "breakers.json"
    path.write_text(text)
    shelf = Shelf(path)
    breaker = Breaker("llm", shelf=shelf)
    assert breaker.enter() == Pass() and shelf.trouble
    for _ in range(3):
        breaker.failed(Pass())
    assert Breaker("llm", shelf=Shelf(path)).state == "open"


def test_a_file_that_is_removed_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "breakers.json"
    breaker = opened(Clock(), Shelf(path))
    path.unlink()
    assert breaker.state == "closed"


def test_where_nothing_can_be_written_this_process_still_knows(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "missing" / "breakers.json")
    breaker = opened(Clock(), shelf)
    assert breaker.state == "open" and shelf.trouble
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["b.json", None])
def test_threads_that_count_at_once_lose_nothing(tmp_path: Path, name: str | None) -> None:
    shelf = Shelf(tmp_path / name if name else None)

    def count() -> None:
        for _ in range(10):
            shelf.change("x", lambda known: BreakerState(failures=known.failures + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shelf.of("x").failures == 40
    assert {path.name for path in tmp_path.iterdir()} <= {"b.json", "b.json.lock"}


# -- the model


class BreakerModel(RuleBasedStateMachine):
    """Two owners of one state, calls that overlap, a clock that goes on and now and then back."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        shelf = Shelf()
        self.owners = [Breaker("x", failures_max=3, open_s=10, clock=self.clock, shelf=shelf) for _ in range(2)]
        self.calls: list[Pass] = []
        self.failures = 0
        self.until = -math.inf  # when the next trial may begin
        self.trial: Pass | None = None

    @property
    def is_open(self) -> bool:
        return self.failures >= 3

    @rule(owner=st.integers(0, 1))
    def enters(self, owner: int) -> None:
        given = self.owners[owner].enter()
        if not self.is_open:
            assert given == Pass()
        elif self.clock.now >= self.until:
            assert given == Pass(trial=True)
            self.until, self.trial = self.clock.now + 10, given
            self.calls = [call for call in self.calls if not call.trial]  # one that did not report back counts no more
        else:
            assert given is None
        if given is not None:
            self.calls.append(given)

    @precondition(lambda self: self.calls)
    @rule(owner=st.integers(0, 1), data=st.data(), ends=st.sampled_from(["well", "badly", "left"]))
    def ends(self, owner: int, data: st.DataObject, ends: str) -> None:
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        breaker = self.owners[owner]
        decides = call.trial or not self.is_open
        if ends == "well":
            breaker.succeeded(call)
            self.failures = 0 if decides else self.failures
        elif ends == "badly":
            breaker.failed(call)
            if decides:
                self.failures = min(3, self.failures + 1)
                self.until = self.clock.now + 10
        else:
            breaker.released(call)
            if call.trial:
                self.until = -math.inf
        if call.trial:
            self.trial = None

    @rule(seconds=st.floats(0, 12))
    def waits(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def says_what_it_does(self) -> None:
        for breaker in self.owners:
            refuses = self.is_open and self.clock.now < self.until
            assert breaker.refuses() == refuses
            assert breaker.state in ("closed" if not self.is_open else "open", "half_open")
            assert (breaker.state == "closed") == (not self.is_open)
            assert 0 <= breaker.left_s <= 10


TestBreakerModel = BreakerModel.TestCase
TestBreakerModel.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
