"""What it is taught from what takes whose place, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.facts import teaching_matching, teaching_superseding
from benchmarks.facts.teaching_superseding import LATER, examples, followed, found_anew, taught
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument
from recall_integrations.facts.latest.superseding import NAMES, Superseding
from tests.unit.benchmarks.facts.asked import Asked, followed_by

GYM = followed_by(
    "which gym?",
    [("~", "Rain"), ("-", "I lift at PureGym"), ("~", "The gym is loud"), ("+", "Joined the Y"), ("~", "So sore")],
)


def test_what_told_it_once_is_followed_by_what_tells_it_anew() -> None:
    assert list(followed(GYM)) == [(1, 3, [2, 4]), (3, None, [4])]
    made = examples([GYM], ())
    for row, text in (
        (made.asked[0], "which gym?"),
        (made.earlier[0], "I lift at PureGym"),
        (made.later[0, 0], "Joined the Y"),
        (made.later[0, 1], "The gym is loud"),
        (made.earlier[1], "Joined the Y"),
        (made.later[1, 1], "So sore"),
    ):
        assert row[row >= 0].tolist() == bundled().ids_of(text)
    assert (made.later[1, 0] == -1).all() and made.later.shape[:2] == (2, LATER)


def test_where_nothing_was_told_after_it_there_is_nothing_to_learn_of_it() -> None:
    assert list(followed(followed_by("which gym?", [("~", "Rain"), ("+", "Joined the Y")]))) == []
    asked_of_then = followed_by("which gym, last year?", [("+", "PureGym"), ("-", "The Y"), ("~", "Rain")])
    assert list(followed(asked_of_then)) == [(0, None, [2])]
    with pytest.raises(InvalidArgument, match="nothing to learn"):
        examples([], ())


def test_of_a_hand_some_are_taken_and_parts_are_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching_superseding, "OF_A_HAND", 3)
    told = [("-", "PureGym"), ("+", "The Y")]
    found = [followed_by(f"which gym, {n}?", told, group) for group in ("hand", "scenes") for n in range(9)]
    made = examples(found, {"hand"})
    assert (made.groups == "hand").sum() == 3 and (made.groups == "scenes").sum() == 9
    assert np.array_equal(made.asked, examples(found, {"hand"}).asked)
    assert len(made.part({"hand"}).groups) == 3 and set(made.part({"hand"}, others=True).groups) == {"scenes"}


def made_up() -> list[Asked]:
    told = {"gym": "I lift at {}", "car": "I drive a {}", "home": "I rent a flat in {}", "job": "I bake for {}"}
    names = "Anker Borg Cedar Dune Elm Fjord Grove Harbour Isle Juno".split()
    return [
        followed_by(
            f"which {noun} is it these days?",
            [
                ("-", text.format(name)),
                ("~", f"Somebody spoke of {name} on the radio"),
                ("+", f"Enough of {name}, another one since Monday"),
                ("~", f"The {noun} was in the news"),
            ],
        )
        for noun, text in told.items()
        for name in names
    ]


def test_it_learns_and_reads_as_it_learned() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    found = made_up()
    learned = taught(examples(found, ()), epochs=20)
    assert found_anew(found, learned) > 0.95 and set(learned.weights) == set(NAMES)
    told, mentions = "I bake for Anker", "The job was in the news"
    assert learned.supersedes("which job is it these days?", [(told, mentions)])[0] < 0  # nothing takes its place


def test_what_ships_reads_as_it_was_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways to reckon, with torch and with numpy, agree."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(teaching_matching, "DROPOUT", 0.0)
    comparing = teaching_superseding._Comparing()
    one, made = made_up()[0], examples(made_up()[:1], ())
    with torch.no_grad():
        comparing.of_earlier.normal_(0, 0.3)
        asked, earlier, later = (
            torch.from_numpy(each.astype(np.int64)) for each in (made.asked, made.earlier, made.later)
        )
        by_torch = comparing.compared(asked, earlier, later)[0, :3].numpy()
    texts = [one.candidates[place].text for place in (0, 2, 1, 3)]
    found = Superseding(*comparing.rounded()).supersedes(one.query, [(texts[0], later) for later in texts[1:]])
    assert found == pytest.approx(by_torch, abs=0.02)  # rounded to half precision
