"""What the pairing is taught from, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.facts import teaching_pairs
from benchmarks.facts.teaching_pairs import BESIDE, TELLING, nearest, pairs
from recall_integrations.errors import InvalidArgument
from recall_integrations.facts.reader.vectors import vector_of
from tests.unit.benchmarks.facts.asked import asked


def test_what_tells_it_comes_before_what_does_not() -> None:
    made = pairs([asked("which gym?", "Joined the Y. Good pool.", "The gym is loud")], ())
    assert made.told.shape[:2] == (1, TELLING + BESIDE) and made.there.sum() == 3
    assert np.allclose(made.told[0, 0, 1], vector_of("Good pool."), atol=1e-3)
    assert np.allclose(made.told[0, TELLING, 0], vector_of("The gym is loud"), atol=1e-3)


def test_of_a_hand_some_are_taken_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching_pairs, "OF_A_HAND", 3)
    found = [asked(f"which gym, {n}?", "Joined the Y", "Rain", group) for group in ("hand", "scenes") for n in range(9)]
    made = pairs(found, {"hand"})
    assert (made.groups == "hand").sum() == 3 and (made.groups == "scenes").sum() == 9
    assert np.array_equal(made.asked, pairs(found, {"hand"}).asked)
    assert len(made.part({"hand"}).groups) == 3 and set(made.part({"hand"}, others=True).groups) == {"scenes"}


def test_where_nothing_answers_there_is_nothing_to_learn() -> None:
    with pytest.raises(InvalidArgument, match="nothing to learn"):
        pairs([], ())


def test_it_learns() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    told = {"gym": "I lift at {}", "car": "I drive a {}", "home": "I rent a flat in {}", "job": "I bake for {}"}
    names = "Anker Borg Cedar Dune Elm Fjord Grove Harbour Isle Juno".split()
    found = [
        asked(f"which {noun} is it these days, {n}?", text.format(name), f"The {noun} was in the news, {n} of them")
        for noun, text in told.items()
        for n, name in enumerate(names)
    ]
    made = pairs(found, ())
    towers = teaching_pairs.taught(made)
    assert nearest(made, towers) > 0.95 > 0.5 > nearest(made)
