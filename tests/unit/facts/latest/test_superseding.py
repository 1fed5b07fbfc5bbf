"""What takes whose place among what was told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.attention import FARTHEST
from recall_integrations.facts.latest.superseding import (
    EARLIER,
    NAMES,
    NOTHING,
    SUPERSEDED,
    Superseding,
    Told,
    superseded,
)

QUESTION = "which gym do I go to?"
PAIRS = [
    ("My gym is PureGym on Harrow Road", "Cancelled PureGym, I lift at the Y now"),
    ("My gym is PureGym on Harrow Road", ""),
    ("", "word " * 200),
    ("☃ ☃", "The gym bag is blue"),
]


def superseding() -> Superseding:
    """What ships."""
    return latest_model().comparing.superseding


def test_a_pair_is_read_the_same_whatever_it_is_read_beside() -> None:
    together = superseding().supersedes(QUESTION, PAIRS)
    alone = [superseding().supersedes(QUESTION, [pair])[0] for pair in PAIRS]
    assert together == pytest.approx(alone, abs=1e-4) and np.isfinite(together).all()
    assert together.dtype == np.float32 and np.abs(together).max() <= FARTHEST


def test_what_is_kept_of_a_text_changes_nothing() -> None:
    first = Superseding(superseding().weights, superseding().length)
    cold = first.supersedes(QUESTION, PAIRS)
    first.supersedes("who is my dentist?", [pair[::-1] for pair in PAIRS])
    assert np.array_equal(first.supersedes(QUESTION, PAIRS), cold)


@pytest.mark.parametrize(
    ("question", "earlier", "later", "astray"),
    [
        (
            "which gym do I go to?",
            "My gym is PureGym on Harrow Road",
            "Cancelled PureGym, it's the Y for me from now on",
            "The Y looks lovely from the train, my sister swears by it",
        ),
        (
            "who is on call for the parser?",
            "Yusuf is on call for the parser",
            "Wiebke takes over from Yusuf",
            "Yusuf had pizza with Wiebke",
        ),
        (
            "what do I drive?",
            "I drive a Golf",
            "Sold the Golf, a Zoe stands in the yard now",
            "Drove my brother's Volvo to the lake on Sunday",
        ),
        (
            "where do I live?",
            "I rent a flat in Berlin",
            "Unpacked the last box, Porto feels like home already",
            "Three days in Porto for the conference, then back",
        ),
    ],
)
def test_what_ships_tells_a_change_from_what_leads_astray(question: str, earlier: str, later: str, astray: str) -> None:
    changes, mentions = superseding().supersedes(question, [(earlier, later), (earlier, astray)])
    assert changes > mentions + 0.5


def test_weights_are_named_and_of_half_precision() -> None:
    assert tuple(superseding().weights) == NAMES
    assert {one.dtype for one in superseding().weights.values()} == {np.dtype(np.float16)}


class _Known(Superseding):
    """Logits by the later text."""

    def __init__(self, **logits: float) -> None:
        self.logits = logits
        self.asked: list[tuple[str, str]] = []

    def supersedes(self, question: str, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.asked += pairs
        return np.asarray([self.logits[later] for _, later in pairs], dtype=np.float32)


def columns(by: Superseding, at: Sequence[int | None], match: Sequence[float]) -> list[dict[str, float]]:
    texts = [f"t{number}" for number in range(len(at))]
    found = superseded("q", Told(texts=texts, at=at, match=np.asarray(match, dtype=np.float32)), by)
    assert found.shape == (len(at), len(SUPERSEDED)) and found.dtype == np.float32
    return [dict(zip(SUPERSEDED, row, strict=True)) for row in found.tolist()]


def test_later_ones_may_take_the_place_of_what_answers() -> None:
    told, takes, not_so = columns(_Known(t1=np.log(3), t2=-np.log(4)), [1, 3, 2], [0.0, -5.0, -5.0])
    whole = 1 + 3 + 0.25  # nothing, and both
    assert told["superseded"] == pytest.approx(np.log(3)) and told["supersedes"] == NOTHING
    assert told["superseded_share"] == pytest.approx(3.25 / whole)
    assert takes["supersedes_best"] == pytest.approx(np.log(3))
    assert takes["supersedes_best_share"] == pytest.approx(3 / whole)
    assert takes["supersedes_share"] == pytest.approx(0.5 * 3 / whole)  # it answers the question by a half
    assert not_so["supersedes"] == pytest.approx(-np.log(4))


def test_equal_times_and_what_does_not_count_take_no_place() -> None:
    by = _Known()
    for at in ([5, 5], [5, None], [None, 7], [7], []):
        for row in columns(by, at, [0.0] * len(at)):
            assert [row[name] for name in SUPERSEDED[::2]] == [NOTHING] * 3
            assert [row[name] for name in SUPERSEDED[1::2]] == [0.0] * 3
    assert by.asked == []


def test_of_those_that_answer_it_best_it_is_asked_ties_by_place() -> None:
    by = _Known(**{f"t{number}": 0.0 for number in range(6)})
    columns(by, [1, 2, 3, 4, 5, 6], [0.0, 2.0, 0.0, 0.0, 0.0, 3.0])
    assert dict.fromkeys(earlier for earlier, _ in by.asked) == dict.fromkeys(("t1", "t0"))  # nothing is later than t5
    assert EARLIER == 3
