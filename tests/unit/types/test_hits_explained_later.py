"""A hit whose reasons are made when they are read is a hit like any other."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
import weakref

import pytest

from recall_integrations.types import (
    Contribution,
    Highlight,
    Hit,
    Memory,
    hit_explained_later,
    hit_like,
    hit_marked_later,
)
from tests.rows import each_row

MEMORY = Memory("Priya moved the deploy", id="m1", entities=["Priya"])
PART = Contribution(source="lexical", rank=1, score=2.5, added=0.5)
WHOLE = Hit(memory=MEMORY, score=0.75, reason="says: deploy", contributions=(PART,), duplicates=("m2",))


class Why:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def contributions(self) -> tuple[Contribution, ...]:
        self.asked.append("contributions")
        return (PART,)

    def reason(self, memory: Memory) -> str:
        assert memory == MEMORY
        self.asked.append("reason")
        return "says: deploy"


def later(why: Why | None = None) -> Hit:
    return hit_explained_later(why or Why(), memory=MEMORY, score=0.75, duplicates=("m2",))


def test_nothing_is_made_before_it_is_read_and_nothing_twice() -> None:
    why = Why()
    hit = later(why)
    assert (hit.memory, hit.score, hit.duplicates, hit.context) == (MEMORY, 0.75, ("m2",), ())
    assert why.asked == []
    assert hit.contributions == (PART,) and hit.contributions is hit.contributions
    assert why.asked == ["contributions"]
    assert hit.reason == hit.reason == "says: deploy"
    assert why.asked.count("reason") == 1


@pytest.mark.parametrize("names", [("reason", "contributions"), ("contributions", "reason")])
def test_what_it_was_made_from_is_let_go_when_all_is_read(names: tuple[str, str]) -> None:
    why = Why()
    hit = later(why)
    held = weakref.ref(why)
    for name in names:
        assert held() is not None
        assert getattr(hit, name)
    assert why.asked == list(names)
    del why
    assert held() is None


@each_row(
    "same",
    [
        lambda hit: hit,
        copy.copy,
        copy.deepcopy,
        lambda hit: pickle.loads(pickle.dumps(hit)),
        lambda hit: dataclasses.replace(hit, score=0.75),
    ],
)
def test_it_equals_one_that_was_made_whole(same: object) -> None:
    made = same(later())  # type: ignore[operator]
    assert made == WHOLE and made == WHOLE
    assert hash(made) == hash(WHOLE) and repr(made) == repr(WHOLE)
    assert dataclasses.asdict(made) == dataclasses.asdict(WHOLE)


def test_it_is_frozen_and_has_no_other_attributes() -> None:
    hit = later()
    with pytest.raises(dataclasses.FrozenInstanceError):
        hit.reason = "another"  # type: ignore[misc]
    assert not hasattr(hit, "reasons")
    with pytest.raises(AttributeError):
        hit.reasons  # type: ignore[attr-defined] # noqa: B018


def test_fields_are_those_of_a_hit() -> None:
    names = ("memory", "score", "reason", "contributions", "duplicates", "context", "scope", "superseded_by")
    names = (*names, "valid_from", "valid_to", "highlights")
    assert tuple(f.name for f in dataclasses.fields(later())) == names


def test_threads_may_read_one_at_once() -> None:
    for _ in range(50):
        hit, found = later(), []
        begin = threading.Barrier(4)

        def read(hit: Hit = hit, found: list[object] = found, begin: threading.Barrier = begin) -> None:
            begin.wait()
            found.append((hit.reason, hit.contributions))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [("says: deploy", (PART,))] * 4


class Marks:
    """Marks the first word of whatever text it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, memory: Memory) -> tuple[Highlight, ...]:
        self.asked.append(memory.text)
        return (Highlight(start=0, end=len(memory.text.split()[0]), kind="word"),)


def test_highlights_are_made_when_read_and_once() -> None:
    marks = Marks()
    hit = hit_explained_later(Why(), marks, memory=MEMORY, score=0.75)
    assert hit.reason and hit.contributions and marks.asked == []
    assert hit.highlights is hit.highlights
    assert [(h.start, h.end) for h in hit.highlights] == [(0, 5)] and len(marks.asked) == 1


def test_a_hit_without_marks_has_no_highlights() -> None:
    assert later().highlights == () and WHOLE.highlights == ()


def test_another_text_has_highlights_of_its_own() -> None:
    marks = Marks()
    hit = hit_marked_later(WHOLE, marks)
    other = hit_like(hit, memory=Memory("A text", id="m1"))
    assert marks.asked == [] and (other.score, other.reason) == (0.75, "says: deploy")
    assert [(h.start, h.end) for h in other.highlights] == [(0, 1)]
    assert hit_like(other, score=0.5).highlights is other.highlights
    assert hit_like(hit, highlights=()).highlights == ()
    assert pickle.loads(pickle.dumps(hit)).highlights == hit.highlights
