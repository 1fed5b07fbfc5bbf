"""What cannot be redacted in time is not shown."""

from __future__ import annotations

import threading

import pytest

from recall_integrations.delivery import privacy
from recall_integrations.delivery.showing import AT_ONCE_CHARS, Shown
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Memory

LONG_TEXT = Memory("call 030 1234567 " + "tea " * AT_ONCE_CHARS, id="long", actor="Sam")


@pytest.mark.parametrize("memory", [LONG_TEXT, Memory("call 030 1234567", id="short")])
@pytest.mark.parametrize("mode", ["allow", "redact", "block"])
def test_with_time_it_is_what_the_mode_says(memory: Memory, mode: str) -> None:
    showing = Shown(mode, Deadline.after(60_000))
    assert showing.of(memory) == privacy.apply(memory, mode)
    assert showing.problems == []


def test_a_long_text_that_takes_too_long_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    release, apply = threading.Event(), privacy.apply

    def slow(memory: Memory, mode: str) -> Memory:
        if mode == "redact":
            release.wait(60)
        return apply(memory, mode)

    monkeypatch.setattr(privacy, "apply", slow)
    showing = Shown("redact", Deadline.after(5))
    shown = showing.of(LONG_TEXT)
    release.set()
    assert shown == apply(LONG_TEXT, "block") and shown.text == ""
    assert [(d.stage, d.reason) for d in showing.problems] == [("privacy", "timeout")]


def test_short_texts_are_redacted_even_if_the_time_is_over() -> None:
    showing = Shown("redact", Deadline.after(0))
    assert "1234567" not in showing.of(Memory("call 030 1234567", id="short")).text
    assert showing.problems == []
