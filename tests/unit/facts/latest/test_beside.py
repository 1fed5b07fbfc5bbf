"""What speaks for a candidate beside the others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.latest.beside import BESIDE, alike, drawn, spoken, taken_up, wanted

HELD = [frozenset("volvo clutch".split()), frozenset("volvo zoe trade".split()), frozenset("rain".split())]


def test_columns_are_named() -> None:
    assert len(BESIDE) == 7 + len(spoken("")) + len(wanted("")) + 7 and len(set(BESIDE)) == len(BESIDE)


def test_who_takes_up_the_words_of_an_earlier_one() -> None:
    shares = [np.asarray([share, 0, 0], dtype=np.float32) for share in (0.5, 1, 0.25, 0.75)]
    covers, told, paired, matched = shares
    given = (covers, told, paired, matched)
    found = taken_up(frozenset(("car",)), HELD, [10, 20, 5], given)
    up = dict(zip(BESIDE, found.T.tolist(), strict=False))
    assert up["takes_up_told"][1] == pytest.approx(2 * up["takes_up"][1]) and up["takes_up"][1] > 0
    assert up["takes_up_paired"][1] == pytest.approx(up["takes_up"][1] / 2)
    assert up["takes_up_matched"][1] == pytest.approx(up["takes_up"][1] * 1.5)
    assert up["takes_up"][0] == up["takes_up"][2] == 0 and up["taken_up"][0] > 0 == up["taken_up"][1]
    assert up["later_first"] == [0, 1, 0] and up["later_most"] == [0, 1, 0]
    of_question = taken_up(frozenset(("volvo",)), HELD, [10, 20, 5], given)
    assert not of_question[:, :5].any()  # a word of the question is nothing that is taken up
    unknown = taken_up(frozenset(), HELD, [10, None, 5], given)
    assert not unknown[:, 5].any() and not unknown[1].any()  # whose time nobody knows is neither later nor earlier
    assert not taken_up(frozenset(), HELD, [20, 10, 5], given)[1, 0]  # nor one that comes later


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Cancelled Netflix last night", "changes"),
        ("Jun handed the parser over to Wiebke", "changes"),
        ("gym now: Fit4", "for_now"),
        ("would love to live in Porto", "wishes"),
        ("Hana is in Kyoto for the weekend", "passing"),
        ("plate is YF25 TRU", "digits"),
    ],
)
def test_how_a_text_speaks(text: str, name: str) -> None:
    names = BESIDE[7 : 7 + len(spoken(""))]
    assert dict(zip(names, spoken(text), strict=True))[name]
    assert not any(spoken("the tea tasted of nothing"))


def test_what_a_question_wants() -> None:
    assert wanted("number plate of the van") == (True, False, False)
    assert wanted("who's Ines' dentist") == (False, True, False)
    assert wanted("where do I live") == (False, False, True)


def seen(question: str, *texts: str) -> NDArray[np.float32]:
    vectors = [bundled().embed_documents([text]) for text in texts]
    return alike(question, [drawn(text) for text in texts], vectors, np.zeros(len(texts), dtype=np.float32))


def test_what_means_the_same_is_more_alike_than_what_does_not() -> None:
    texts = ["We bought a bicycle", "The soup was too salty", "?"]
    found = seen("which bike do I ride?", *texts)
    columns = dict(zip(BESIDE[-7:], found.T.tolist(), strict=True))
    assert columns["akin"][0] > columns["akin"][1] and columns["near"][0] > columns["near"][1]
    assert columns["near_first"][0] == pytest.approx(1, abs=1e-5) and np.isfinite(found).all()
    same = seen("bicycle", "bicycle")
    assert same[0, 0] == pytest.approx(1, abs=1e-5) and same[0, 1] < 0.99  # the word itself is no other word
    assert np.isfinite(seen("", "x")).all()
