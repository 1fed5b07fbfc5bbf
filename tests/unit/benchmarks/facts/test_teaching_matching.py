"""What the matching is taught from, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.facts import teaching_matching
from benchmarks.facts.teaching_matching import BESIDE, TELLING, Examples, examples, nearest, taught
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument
from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.matching import NAMES, Matching
from tests.unit.benchmarks.facts.asked import Asked, asked


def test_what_tells_it_comes_before_what_does_not() -> None:
    made = examples([asked("which gym?", "Joined the Y", "The gym is loud")], ())
    assert made.told.shape[:2] == (1, TELLING + BESIDE) and (made.told >= 0).any(axis=2).sum() == 2
    for row, text in (
        (made.asked[0], "which gym?"),
        (made.told[0, 0], "Joined the Y"),
        (made.told[0, 2], "The gym is loud"),
    ):
        assert row[row >= 0].tolist() == bundled().ids_of(text)


def test_of_a_hand_some_are_taken_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching_matching, "OF_A_HAND", 3)
    found = [asked(f"which gym, {n}?", "Joined the Y", "Rain", group) for group in ("hand", "scenes") for n in range(9)]
    made = examples(found, {"hand"})
    assert (made.groups == "hand").sum() == 3 and (made.groups == "scenes").sum() == 9
    assert np.array_equal(made.asked, examples(found, {"hand"}).asked)
    assert len(made.part({"hand"}).groups) == 3 and set(made.part({"hand"}, others=True).groups) == {"scenes"}


def test_where_nothing_answers_there_is_nothing_to_learn() -> None:
    with pytest.raises(InvalidArgument, match="nothing to learn"):
        examples([], ())


def made_up() -> list[Asked]:
    told = {"gym": "I lift at {}", "car": "I drive a {}", "home": "I rent a flat in {}", "job": "I bake for {}"}
    names = "Anker Borg Cedar Dune Elm Fjord Grove Harbour Isle Juno".split()
    return [
        asked(f"which {noun} is it these days, {n}?", text.format(name), f"The {noun} was in the news, {n} of them")
        for noun, text in told.items()
        for n, name in enumerate(names)
    ]


def test_it_learns_and_reads_as_it_learned() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    found = made_up()
    learned = taught(examples(found, ()), epochs=20)
    assert nearest(found, learned) > 0.95 and set(learned.weights) == set(NAMES)


def test_what_ships_reads_as_it_was_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways to reckon, with torch and with numpy, agree."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(teaching_matching, "DROPOUT", 0.0)
    reading = teaching_matching.Reading()
    made: Examples = examples(made_up()[:3], ())
    with torch.no_grad():
        asked_of, told = (torch.from_numpy(one.astype(np.int64)) for one in (made.asked, made.told))
        by_torch = reading.logits(asked_of, told)[:, (0, TELLING)].numpy()
    matching = Matching(*reading.rounded())
    for one, logits in zip(made_up()[:3], by_torch, strict=True):
        texts = [one.candidates[1].text, one.candidates[0].text]
        assert matching.matched(one.query, texts) == pytest.approx(logits, abs=0.02)  # rounded to half precision
    assert latest_model().comparing.matching.length == pytest.approx(matching.length, rel=1e-5)
