"""The line in which threads wait to write: who goes with whom, and what becomes of them when one fails or is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pytest

from recall_integrations.store.batches import Asked, Company, Line

SOON_S = 20.0


@dataclass(frozen=True)
class Write:
    """Something that is written."""

    name: str
    needs: Set[Hashable] = frozenset()
    leaves: Set[Hashable] = frozenset()


class Office:
    """Writes what stands in line, when it is let; remembers what went together."""

    def __init__(self, most: int = 64) -> None:
        self.open = threading.Event()
        self.turns: list[list[str]] = []
        self.fails: Callable[[Sequence[Asked]], None] = lambda _: None
        self.refuses: list[BaseException] = []
        self.line: Line = Line(self._lead, most)
        self.said: dict[str, object] = {}
        self._threads: list[threading.Thread] = []

    def _lead(self, take: Callable[[], Sequence[Asked]]) -> None:
        assert self.open.wait(SOON_S)
        if self.refuses:
            raise self.refuses.pop()
        asked = take()
        self.turns.append([one.request.name for one in asked])
        for one in asked:
            one.answer = one.request.name.upper()
        self.fails(asked)

    def come(self, write: Write, *, alone: bool = False) -> None:
        """Another thread asks for it, and stands in the line."""
        waiting = len(self.line._threads)

        def ask() -> None:
            try:
                self.said[write.name] = self.line.ask(write, alone=alone)
            except BaseException as e:
                self.said[write.name] = e

        self._threads.append(threading.Thread(target=ask))
        self._threads[-1].start()
        until = time.monotonic() + SOON_S
        while len(self.line._threads) == waiting:
            assert time.monotonic() < until
            time.sleep(0.001)

    def close(self) -> None:
        """Wait until all have gone home."""
        self.open.set()
        for thread in self._threads:
            thread.join(SOON_S)
            assert not thread.is_alive()
        assert not self.line._waiting and self.line._leader is None and not self.line._threads


def test_who_finds_nobody_writes_at_once() -> None:
    office = Office()
    office.open.set()
    assert [office.line.ask(Write(name)) for name in "ab"] == ["A", "B"]
    assert office.turns == [["a"], ["b"]]


def test_those_who_wait_go_together_in_the_order_in_which_they_came() -> None:
    office = Office(most=3)
    for name in "abcdefgh":
        office.come(Write(name))
    office.close()
    assert office.turns == [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]
    assert office.said == {name: name.upper() for name in "abcdefgh"}


def test_what_goes_alone_is_passed_by_nobody() -> None:
    office = Office()
    for name in "abcde":
        office.come(Write(name), alone=name in "ad")
    office.close()
    assert office.turns == [["a"], ["b", "c"], ["d"], ["e"]]


def test_what_needs_to_see_another_one_goes_after_it() -> None:
    office = Office()
    office.come(Write("a", needs={"id"}, leaves={"id", "scope"}))
    office.come(Write("b", leaves={"scope"}))
    office.come(Write("c", needs={"id"}, leaves={"id", "scope"}))
    office.come(Write("d", needs={"thread"}, leaves={"thread"}))
    office.come(Write("e", needs={"scope"}))
    office.close()
    assert office.turns == [["a", "b"], ["c", "d"], ["e"]]


def test_what_fails_as_a_whole_each_is_told_by_an_error_of_its_own() -> None:
    office = Office()

    def fail(asked: Sequence[Asked]) -> None:
        asked[1].has_failed(KeyError("mine"))
        raise ValueError("of all") from OSError("the disk")

    office.fails = fail
    for name in "abc":
        office.come(Write(name))
    office.close()
    first, own, last = (office.said[name] for name in "abc")
    assert isinstance(own, KeyError) and isinstance(first, Company) and isinstance(last, Company)
    assert isinstance(first.__cause__, ValueError) and isinstance(last.__cause__, ValueError)
    assert first.__cause__ is not last.__cause__
    assert isinstance(last.__cause__.__cause__, OSError)


def test_what_fails_by_itself_raises_what_went_wrong() -> None:
    office = Office()
    office.open.set()
    office.refuses = [ValueError("no turn")]
    with pytest.raises(ValueError, match="no turn"):
        office.line.ask(Write("a"))
    assert office.line.ask(Write("b")) == "B"


def test_who_gets_no_turn_takes_nobody_with_it() -> None:
    office = Office()
    for name in "abc":
        office.come(Write(name))
    office.refuses = [ValueError("no turn")]
    office.close()
    assert isinstance(office.said["a"], ValueError)
    assert office.turns == [["b", "c"]] and (office.said["b"], office.said["c"]) == ("B", "C")


def test_whose_writer_is_interrupted_is_written_once_more() -> None:
    office, interrupted = Office(), []

    def fail(_asked: object) -> None:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt

    office.fails = fail
    for name in "abc":
        office.come(Write(name))
    office.close()
    assert isinstance(office.said["a"], KeyboardInterrupt)
    assert (office.said["b"], office.said["c"]) == ("B", "C")
    assert office.turns == [["a", "b", "c"], ["b", "c"]]


def test_who_is_interrupted_while_waiting_is_waited_for_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office()
    office.come(Write("a"))
    wait = threading.Event.wait

    def interrupted(event: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "b" and event is not office.open:
            raise KeyboardInterrupt
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    said: list[Any] = []

    def ask() -> None:
        try:
            office.line.ask(Write("b"))
        except KeyboardInterrupt as e:
            said.append(e)

    thread = threading.Thread(target=ask, name="b")
    thread.start()
    thread.join(SOON_S)
    assert said and len(office.line._waiting) == 1
    office.come(Write("c"))
    office.close()
    assert office.turns == [["a", "c"]]


def test_who_stands_in_it_is_known() -> None:
    """A handler of a signal that writes would wait for the thread that it runs on."""
    office, found = Office(), []
    office.open.set()
    office.fails = lambda _: found.append(office.line.has_me)
    office.line.ask(Write("a"))
    assert found == [True] and not office.line.has_me


def test_many_threads_get_each_what_is_theirs() -> None:
    office = Office(most=5)
    office.open.set()
    wrong: list[str] = []

    def ask(thread: int) -> None:
        for n in range(200):
            name = f"t{thread}-{n}"
            if office.line.ask(Write(name), alone=n % 7 == 0) != name.upper():
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON_S)
    assert not wrong and sorted(name for turn in office.turns for name in turn) == sorted(
        f"t{thread}-{n}" for thread in range(8) for n in range(200)
    )
    assert max(map(len, office.turns)) <= 5
