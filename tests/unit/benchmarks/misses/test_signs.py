from __future__ import annotations

from benchmarks.misses.signs import SIGNS, SignReader
from recall_integrations.types import Memory, ParsedQuery, TemporalWindow
from tests.rows import each_row

SAID = (
    ("Sam", "Where did you leave the keys?"),
    ("Priya", "In the blue drawer"),
    ("Sam", "Found them"),
    ("Priya", "Good luck"),
    ("Sam", "Kestrel starts at noon"),
)
MEMORIES = [Memory(text, id=f"m{i}", actor=actor, thread="chat") for i, (actor, text) in enumerate(SAID)]
ALONE = [Memory("Kestrel starts at noon", id="n0"), Memory("In the blue drawer", id="n1")]


def query(*terms: str, window: TemporalWindow | None = None) -> ParsedQuery:
    return ParsedQuery(original=" ".join(terms), terms=terms, temporal_window=window)


@each_row(
    ("terms", "gold", "winners", "expected"),
    [
        (("priya", "key"), ["m1"], ["m0", "m4"], ("beside", "no word")),
        (("priya", "key"), ["m1"], ["m4"], ("no word",)),
        (("sam", "drawer"), ["m1"], ["m3"], ("beside", "other actor")),
        (("sam", "priya", "drawer"), ["m1"], ["m4"], ()),
        (("drawer",), ["m1", "m2"], ["m1"], ("beside", "many gold")),
        (("drawer", "key"), ["m1", "m4"], ["m1", "m0"], ("beside",)),
    ],
)
def test_what_is_seen_of_a_miss(
    terms: tuple[str, ...], gold: list[str], winners: list[str], expected: tuple[str, ...]
) -> None:
    assert SignReader(MEMORIES).read(query(*terms), gold, winners, ()) == expected


def test_a_time_that_was_read_and_a_repeat_that_was_left_out() -> None:
    window = TemporalWindow(start=None, end=None, confidence=0.9)
    found = SignReader(MEMORIES).read(query("drawer", window=window), ["m1"], ["m4"], {"m1": "m4"})
    assert found == ("dated", "folded")


def test_without_threads_and_actors_nothing_is_beside_or_by_another() -> None:
    assert SignReader(ALONE).read(query("kestrel"), ["n1"], ["n0"], ()) == ("no word",)


def test_the_signs_are_those_that_are_explained() -> None:
    from benchmarks.misses import signs

    assert all(f"- `{sign}`: " in (signs.__doc__ or "") for sign in SIGNS)
