"""Most texts name nobody, which their words alone tell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.entities import EntityIndex
from tests.rows import each_row

NAMES = (
    "Priya Raman",
    "Kestrel",
    "C++",
    "O'Brien",
    "x" * 70,
    "3M",
    "Приянка",
    "小明",
    "a+b",
    "It's Me",
    "- -",
    "R2-D2",
)
PARTS = [
    *NAMES,
    "priya",
    "Raman's",
    "kestrels",
    "KESTREL",
    "o’brien",
    "it",
    "me",
    "c",
    "r2",
    "d2",
    "Приянки",
    ".",
    "\n",
]
SAID = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join))


def index() -> EntityIndex:
    made = EntityIndex()
    for number, name in enumerate(NAMES):
        made.add(f"e{number}", name)
    return made


INDEX = index()


@given(SAID)
def test_where_it_says_no_nothing_is_mentioned(said: str) -> None:
    looked = EntityIndex.may_mention
    try:
        EntityIndex.may_mention = lambda *_: True  # type: ignore[method-assign]
        found = INDEX.mentions(said)
    finally:
        EntityIndex.may_mention = looked  # type: ignore[method-assign]
    assert INDEX.mentions(said) == found


@each_row("said", ["we went home", "kestrels hover", "", "priyanka"])
def test_it_says_no(said: str) -> None:
    assert not INDEX.may_mention(said)


def test_nobody_is_known() -> None:
    assert not EntityIndex().may_mention("Приянка says C++")
