"""What a reply is about counts for it, where its question does not say so."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.lexicon import Lexicon, QueryTerms
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.ranking.features.compute import FEATURES, Features, compute
from recall_integrations.ranking.features.conversation import DECAY
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.text import stem
from tests.columns import TextRow, columns_of
from tests.rows import each_row


def columns(*turns: tuple[str | None, str], thread: str | None = "t") -> TextColumns:
    rows = [
        TextRow(num=i + 1, text=text, actor=actor, thread=thread, position=i) for i, (actor, text) in enumerate(turns)
    ]
    return columns_of(rows, Lexicon())


def run(scope: TextColumns, *words: str, rows: list[int] | None = None, known: FeatureSet = FEATURES) -> Features:
    query = QueryTerms(stems=tuple(stem(w) for w in words), words=words, sequence=tuple(stem(w) for w in words))
    at = np.arange(scope.size) if rows is None else np.asarray(rows)
    given = FeatureInput(columns=scope, rows=at, query=query, frequency=lambda _: 1, count=scope.size)
    return compute(given, known)


CHAT = (("Sam", "My tomatoes thrive."), ("Priya", "How many?"), ("Sam", "Eleven so far"), ("Priya", "Lovely"))


def test_a_reply_has_what_stands_before_its_question() -> None:
    found = run(columns(*CHAT), "tomatoes")["subject_match"]
    np.testing.assert_allclose(found, [0, 0, DECAY, 0], rtol=1e-5)


@pytest.mark.parametrize("between", [1, 2])
def test_farther_away_counts_less(between: int) -> None:
    chat = (CHAT[0], *[("Henrietta", "Mhm")] * between, *CHAT[1:3])
    found = run(columns(*chat), "tomatoes")["subject_match"]
    np.testing.assert_allclose(found[-1], DECAY ** (1 + between), rtol=1e-5)


def test_of_two_people_only_what_stands_right_before_the_question_counts() -> None:
    chat = (CHAT[0], ("Sam", "Mhm"), *CHAT[1:3])
    assert run(columns(*chat), "tomatoes")["subject_match"][-1] == pytest.approx(0, abs=1e-6)


def test_four_turns_are_the_end() -> None:
    chat = (CHAT[0], *[("Henrietta", "Mhm")] * 3, *CHAT[1:3])
    assert run(columns(*chat), "tomatoes")["subject_match"][-1] == 0


def test_only_the_reply_need_be_a_candidate() -> None:
    assert run(columns(*CHAT), "tomatoes", rows=[2])["subject_match"].tolist() == pytest.approx([DECAY])


@each_row(
    "chat",
    [
        (CHAT[0], ("Priya", "How many."), CHAT[2]),
        (CHAT[0], ("Sam", "How many?"), CHAT[2]),
        (CHAT[0], CHAT[1], ("Sam", "What eleven?")),
        (CHAT[0], ("Priya", "How many tomatoes?"), CHAT[2]),  # that is `asked_before`
        (CHAT[0], CHAT[1], ("Sam", "Eleven tomatoes")),
    ],
)
def test_nothing_is_added_to_what_says_it_or_answers_nobody(chat: tuple[tuple[str, str], ...]) -> None:
    found = run(columns(*chat), "tomatoes")["subject_match"][-1]
    assert found == pytest.approx(0, abs=1e-6)


def test_without_threads_the_sum_is_the_same_to_the_last_bit() -> None:
    scope = columns(*CHAT, thread=None)
    without = FeatureSet(f for f in FEATURES if f.name != "subject_match")
    old = FixedWeights(known=without).score(run(scope, "tomatoes", "many", known=without))
    new = FixedWeights().score(run(scope, "tomatoes", "many"))
    assert "subject_match" not in new.added
    assert new.scores.tobytes() == old.scores.tobytes()


def test_a_turn_of_very_many_words_and_turns_of_one() -> None:
    long = columns(("Sam", "tomatoes " + "word " * 100_000), *CHAT[1:])
    assert run(long, "tomatoes")["subject_match"][2] == pytest.approx(DECAY)
    short = columns(*[("Sam" if n % 2 else "Priya", "what?" if n % 2 else "so") for n in range(10_000)])
    found = run(short, "tomatoes")["subject_match"]
    assert np.isfinite(found).all()
