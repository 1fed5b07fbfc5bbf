"""Patterns that are compiled at their first use, and the collector that waits while modules are loaded."""

from __future__ import annotations

import copy
import gc
import pickle
import re

import pytest

from recall_integrations.collector import paused
from recall_integrations.patterns import regex


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    mine, plain = regex(r"(?P<word>\w+)!", re.I), re.compile(r"(?P<word>\w+)!", re.I)
    text = "Yes! NO! maybe"
    assert [m.span() for m in mine.finditer(text)] == [m.span() for m in plain.finditer(text)]
    assert mine.sub("?", text) == plain.sub("?", text)
    assert mine.findall(text, 2) == plain.findall(text, 2)
    assert (mine.pattern, mine.flags, mine.groupindex) == (plain.pattern, plain.flags, plain.groupindex)
    assert repr(mine) == repr(plain)


def test_it_is_compiled_at_the_first_use_and_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compiled = re.compile
    monkeypatch.setattr(re, "compile", lambda text, flags=0: (made.append(text), compiled(text, flags))[1])
    mine = regex("a+")
    assert mine.pattern == "a+"
    assert not made
    assert mine.search("caat")
    assert mine.match("caat") is None
    assert mine.search("caat")
    assert made == ["a+"]


def test_a_mistake_is_raised_at_the_first_use() -> None:
    mine = regex("(")
    with pytest.raises(re.error):
        mine.search("x")


def test_copies_work() -> None:
    mine = regex("a+")
    for other in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert other.search("caat")


def test_the_collector_is_off_inside_and_on_afterwards() -> None:
    assert gc.isenabled()
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(ImportError), paused():
        raise ImportError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
