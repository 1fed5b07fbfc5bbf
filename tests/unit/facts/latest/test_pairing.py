"""How well a statement answers a question."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.pairing import Pairing, towers_of
from recall_integrations.facts.reader.vectors import vector_of

QUESTION = "which gym do I go to?"
TEXTS = [("Joined Ironworks this week.", "Rain again."), ("The gym bag is blue",), ("",)]


def test_without_learning_it_is_the_cosine() -> None:
    plain = np.eye(bundled().dimensions)
    paired = Pairing(towers_of(plain, plain)).paired(QUESTION, TEXTS)
    of = [[float(vector_of(QUESTION) @ vector_of(part)) for part in parts] for parts in TEXTS]
    assert paired == pytest.approx([max(own) for own in of], abs=1e-5) and paired[2] == 0


def test_each_side_has_its_own_tower() -> None:
    size = bundled().dimensions
    turned = towers_of(np.eye(size), -np.eye(size))
    paired = Pairing(turned).paired(QUESTION, TEXTS[1:2])
    assert paired == pytest.approx([-float(vector_of(QUESTION) @ vector_of(TEXTS[1][0]))], abs=1e-5)
    assert turned.asked.dtype == turned.told.dtype == np.int8 and turned.scales == pytest.approx([1 / 127, 1 / 127])


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("what do I drive?", "Traded the Golf for a Zoe", "A drive along the coast would be lovely"),
        ("where do I live?", "We settled in Porto after the wedding", "A live concert, where nobody sat down"),
        ("what phone do I use?", "Switched over to a Pixel on Friday", "No phones at the table, please"),
    ],
)
def test_what_ships_looks_beyond_words_that_are_shared(question: str, answer: str, other: str) -> None:
    answers, mentions = latest_model().comparing.pairing.paired(question, [(answer,), (other,)])
    plain = [float(vector_of(question) @ vector_of(text)) for text in (answer, other)]
    assert answers - mentions > plain[0] - plain[1] + 0.1
