"""What cannot be redacted in time is not shown."""

from __future__ import annotations

import threading

import pytest

from recall_integrations.delivery.showing import AT_ONCE_CHARS, Showing, Shown
from recall_integrations.privacy.door import Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Memory
from tests.rows import each_row

LONG_TEXT = Memory("call 030 1234567 " + "tea " * AT_ONCE_CHARS, id="long", actor="Sam")


@each_row("memory", [LONG_TEXT, Memory("call 030 1234567", id="short")])
@each_row("mode", ["allow", "redact", "block"])
def test_with_time_it_is_what_the_mode_says(memory: Memory, mode: str) -> None:
    showing = Shown(Door(mode), Deadline.after(60_000), Showing())
    assert showing.of(memory) == Door(mode).memory(memory)
    assert showing.problems == []


CROWD = Memory("met them", id="crowd", entities=[f"Person {i}" for i in range(200)])


@pytest.mark.parametrize("memory", [LONG_TEXT, CROWD])
def test_what_takes_too_long_is_withheld(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    release, door = threading.Event(), Door("redact")
    monkeypatch.setattr(door, "memory", lambda _memory: release.wait(60))
    showing = Shown(door, Deadline.after(5), Showing())
    shown = showing.of(memory)
    release.set()
    assert shown == Door("block").memory(memory) and shown.text == "" and shown.entities == ()
    assert [(d.stage, d.reason) for d in showing.problems] == [("privacy", "timeout")]


def test_short_texts_are_redacted_even_if_the_time_is_over() -> None:
    showing = Shown(Door("redact"), Deadline.after(0), Showing())
    assert "1234567" not in showing.of(Memory("call 030 1234567", id="short")).text
    assert showing.problems == []


def test_while_as_many_as_may_be_are_under_way_one_waits() -> None:
    beside, texts = Showing(), 12
    seen: list[Memory] = []

    def shows() -> None:
        seen.append(Shown(Door("redact"), Deadline.after(60_000), beside).of(LONG_TEXT))

    threads = [threading.Thread(target=shows) for _ in range(texts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [Door("redact").memory(LONG_TEXT)] * texts


def test_a_redaction_that_fails_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_memory: Memory) -> Memory:
        raise ValueError("no")

    door = Door("redact")
    monkeypatch.setattr(door, "memory", fails)
    showing = Shown(door, Deadline.after(60_000), Showing())
    assert showing.of(LONG_TEXT).text == ""
    assert [(d.stage, d.reason) for d in showing.problems] == [("privacy", "error")]
