"""What speaks for a candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recall_integrations.facts.latest import Candidate, Question, evidence, latest_model
from recall_integrations.facts.latest.evidence import FEATURES, sentences
from recall_integrations.facts.reader import slot_reader

GYM = Question(text="where do I lift weights these days?", subjects=("",), slots=("gym",))


def seen(question: Question, *candidates: Candidate) -> list[dict[str, float]]:
    model = latest_model()
    found = evidence(question, candidates, slot_reader(), model.comparing, [True] * len(candidates))
    assert found.shape == (len(candidates), len(FEATURES)) and found.dtype == np.float32 and np.isfinite(found).all()
    return [dict(zip(FEATURES, row, strict=True)) for row in found.tolist()]


def one(text: str = "My gym is Ironworks", score: float = 0.5, **more: Any) -> Candidate:
    return Candidate(**{"text": text, "score": score, "of": (True,), "speaker": "", **more})


def test_of_whom_it_speaks_and_what_was_read_of_it() -> None:
    told, other, hers, nothing = seen(
        GYM,
        one(told=(("", "gym"),), first=True),
        one("My car is a Volvo", told=(("", "car"),)),
        one("Priya's gym is the Y", told=(("priya", "gym"),), of=(False,), speaker="sam", beneath=True),
        one("so tired", of=(False,)),
    )
    names = ("of_first", "of_any", "speaks", "read", "same", "other_slot", "other_subject", "first", "beneath")
    assert [told[name] for name in names] == [1, 1, 1, 1, 1, 0, 0, 1, 0]
    assert [other[name] for name in names] == [1, 1, 1, 1, 0, 1, 0, 0, 0]
    assert [hers[name] for name in names] == [0, 0, 0, 1, 0, 0, 1, 0, 1]
    assert [nothing[name] for name in names] == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert told["told_asked"] > other["told_asked"] > nothing["told_asked"] == 0


def test_what_the_slot_reader_sees_in_the_sentence_that_tells_most() -> None:
    tells, chat = seen(
        GYM, one("The train was late. I lift at Ironworks now, mornings only."), one("The train was late.")
    )
    assert tells["tells"] > chat["tells"] and tells["states"] > chat["states"] and chat["nothing"] > tells["nothing"]
    assert tells["asks_one"] == chat["asks_one"] > 0 and tells["asks_none"] < 0.5


def test_scores_are_taken_beside_each_other() -> None:
    first, second, *_ = seen(GYM, one(score=0.8), one(score=0.2), *[one(score=0.6)] * 10)
    assert first["score"] > 0 > second["score"] and second["of_best"] < 0
    first, second = seen(GYM, one(score=0.8), one(score=0.2))  # the others are taken to be found by the way
    assert first["score"] > second["score"] > 0
    assert first["of_best"] == pytest.approx(0, abs=2e-3)
    assert (first["place"], second["place"], first["found"], second["found"]) == (0, 0.125, *[pytest.approx(0.8)] * 2)
    (alone,) = seen(GYM, one(score=0.0))
    assert alone["score"] == 0


def test_what_the_best_candidate_holds_of_the_query_and_another_lacks() -> None:
    question = Question(text="what is my budget for sneakers and socks?", subjects=("",))
    best, other = seen(question, one("Sneakers and socks: my budget is 90 euros"), one("My budget is 900 euros"))
    assert (best["lacks"], other["lacks"]) == (0, 2)
    assert best["slot_known"] == 0 and best["named"] == 1 == best["of_user"] and best["long"] > other["long"]


def test_sentences_that_ask_are_left_out() -> None:
    assert list(sentences("New gym? Boulderhaus. I like it.")) == ["Boulderhaus.", "I like it."]
    assert list(sentences("Really?")) == list(sentences("")) == []
    assert len(list(sentences("One. " * 50))) == 4
    (asked,) = seen(GYM, one("New gym?"))
    assert asked["nothing"] >= 0


def test_of_whom_each_speaks_beside_the_others() -> None:
    question = Question(text="where does Mei have the account?", subjects=("mei",))
    hers, mine, told = seen(
        question,
        one("Mei has the account at Starling", speaker="ruben", of=(True,)),
        one("I have the account at Monzo", speaker="ruben", of=(False,)),
        one("it's Starling for me", speaker="mei", told=(("sam", "bank"),)),
    )
    assert (hers["names_first"], hers["silent_first"], hers["others"]) == (1, 0, 0)
    assert (mine["names_any"], mine["silent_any"], mine["first_person"]) == (0, 0, 1)
    assert (told["names_first"], told["silent_first"], told["whom"]) == (1, 1, 1)
    about_ruben, about_sam, _ = seen(
        Question(text="which bank?", subjects=("",)),
        one("Ruben's bank is Monzo", speaker="", of=(True,)),
        one("So Sam took the savings elsewhere", speaker="", of=(True,)),
        one("savings", speaker="ruben", told=(("sam", "bank"),)),
    )
    assert (about_ruben["others"], about_ruben["owners"], about_ruben["silent_first"]) == (1, 1, 0)
    assert (about_sam["others"], about_sam["capitals"]) == (1, 1)


def test_how_much_of_the_question_each_holds() -> None:
    question = Question(text="when is the last day for the weekly review?", subjects=("weekly review",))
    weekly, fair = seen(
        question, one("18 April, last day for the weekly review"), one("10 June, last day for the fair")
    )
    assert weekly["covers"] > fair["covers"] > 0 and weekly["covers_less"] == 0 < fair["covers_less"]
    assert weekly["covers_other"] == pytest.approx(fair["covers"])
    (alone,) = seen(Question(text="?", subjects=()), one("anything", of=()))
    assert alone["covers"] == alone["covers_other"] == alone["whom"] == alone["names_any"] == 0


@pytest.mark.parametrize("text", ["When we moved in the code was 1234", "my first car", "I used to lift at the Y"])
def test_words_for_what_was(text: str) -> None:
    was, now = seen(GYM, one(text), one("I lift at Ironworks"))
    assert (was["long_ago"], now["long_ago"]) == (1, 0)


@pytest.mark.parametrize("text", ["first week at Bosch", "I run once a week", "tea before work, always"])
def test_words_that_only_look_like_it(text: str) -> None:
    assert seen(GYM, one(text))[0]["long_ago"] == 0


def test_of_a_long_text_the_beginning_is_looked_at() -> None:
    begins = "My gym is Ironworks. " * 40
    short, long = seen(GYM, one(begins[:600]), one(begins[:600] + " where do I lift weights these days " * 10_000))
    assert short["covers"] == long["covers"] and short["long"] == long["long"]
