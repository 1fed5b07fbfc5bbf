"""The question that is put to the model, and what its answer may choose."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.fallback import (
    Question,
    near_names,
    parse_answer,
    prompt_for,
    questions_for,
    shown,
)

IndexOf = Callable[..., EntityIndex]
TEXT = "did Sam meet Etta at the harbour"


def asked_about(index: EntityIndex) -> list[Question]:
    return questions_for(TEXT, index.resolve(TEXT), index, 0.85)


# -- the question ------------------------------------------------------------------------------------------------------


def test_in_a_large_scope_similar_names_are_offered(crowd: EntityIndex) -> None:
    assert [name for _, name in near_names(crowd, "Kestral", 20)] == ["Project Kestrel"]
    assert [name for _, name in near_names(crowd, "Priya Kestrel", 1)] == ["Priya Raman"]  # a tie: by id
    assert near_names(crowd, "Zanzibar", 20) == []
    crowd.add("z", "Sarah Raman Ortiz")
    assert [i for i, _ in near_names(crowd, "Sarah Raman", 20)] == ["z", "Priya Raman"]  # both words before one


def test_the_prompt_numbers_candidates_throughout(office: EntityIndex) -> None:
    questions = asked_about(office)
    numbers = [line.split()[0] for line in prompt_for(TEXT, questions).splitlines() if line[:1].isdigit()]
    assert numbers == [str(n) for n in range(1, 9)]


# -- the answer --------------------------------------------------------------------------------------------------------


@given(answer=st.one_of(st.text(), st.from_regex(r"([A-E]: ?([0-9]{1,2}|none)\n){0,4}", fullmatch=True)))
def test_an_answer_can_only_choose_what_was_offered(answer: str, index_of: IndexOf) -> None:
    index = index_of("Sam Lee", "Sam Roe", "Priya Raman", "Henrietta")
    questions = asked_about(index)
    assert len(questions) == 2
    for place, choice in parse_answer(answer, questions).items():
        assert choice is None or choice in questions[place].names


# -- names and queries are data ----------------------------------------------------------------------------------------


@given(st.text(max_size=400), st.integers(1, 60))
def test_shown_text_is_one_short_line(text: str, limit: int) -> None:
    line = shown(text, limit)
    assert len(line) <= limit
    assert line.splitlines() in ([], [line])
    assert line == line.strip()
