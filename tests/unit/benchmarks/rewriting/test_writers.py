"""Scripted rewriters on a handful of memories."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.rewriting import writers
from benchmarks.rewriting.writers import (
    GOOD,
    HOSTILE,
    INSTRUCTION,
    MADE_UP,
    NOISY,
    PARAPHRASE,
    SYNONYMS,
    WRITERS,
    Scripted,
)
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope
from tests.rows import each_row

SCOPE = Scope(namespace="toy")
MEMORIES = (
    Memory("The deployment of Kestrel waits for the signature.", id="m0", actor="Sam"),
    Memory(
        "A tabby cat called Miso sleeps on the radiator.",
        id="m1",
        actor="Priya",
        event_at=datetime(2026, 3, 4, tzinfo=timezone.utc),
    ),
    Memory("The deployment of Falcon waits for the budget.", id="m2"),
)
QUESTIONS = (
    Question(id="q0", text="What does the deployment wait for?", relevant=("m0", "gone"), scope=SCOPE),
    Question(id="q1", text='Which "pet" lives with — Priya?', relevant=("m1",), scope=SCOPE),
    Question(id="q2", text="Which pet lives where it is warm?", relevant=("m1", "m0", "m2"), scope=SCOPE),
)


def data(*questions: Question, memories: tuple[Memory, ...] = MEMORIES) -> EvaluationData:
    collection = Collection(name="toy", scope=SCOPE, memories=memories, questions=questions or QUESTIONS)
    return EvaluationData(name="toy", collections=(collection,))


def lines(name: str, question: Question, **options: object) -> list[str]:
    return list(writers.writers(data(**options))[name](question))  # type: ignore[arg-type]


def words(text: str) -> set[str]:
    return {word.strip("?,.").casefold() for word in text.split()}


@each_row("name", WRITERS)
@each_row("question", QUESTIONS)
def test_each_writes_the_same_again_and_three_lines_at_most(name: str, question: Question) -> None:
    written = lines(name, question)
    assert 1 <= len(written) <= 3
    assert written == lines(name, question)
    assert all(line.strip("?") for line in written)


def test_the_good_one_has_the_labels_words_and_those_of_the_query() -> None:
    line, *others = lines(GOOD, QUESTIONS[0])
    assert not others  # what is not there cannot be quoted
    assert words(line) == {"deployment", "wait", "waits", "signature"}
    assert len(lines(GOOD, QUESTIONS[2])) == 3


def test_of_a_long_memory_the_rarest_words_are_taken() -> None:
    common = " ".join(f"common{letter}" for letter in "abcdefghijkl")
    memories = tuple(Memory(f"{common} rare{letter}", id=f"m{i}") for i, letter in enumerate("wxyz"))
    question = Question(id="q", text="Which one is it?", relevant=("m2",), scope=SCOPE)
    (line,) = writers.writers(data(question, memories=memories))[GOOD](question)
    assert "rarey" in line
    assert len(line.split()) <= writers.QUERY_WORDS + writers.MEMORY_WORDS


def test_names_and_numbers_are_not_plain() -> None:
    assert writers.plain("Miso ate 3 fish at 7pm with great joy.") == ["ate", "fish", "great", "joy"]
    assert writers.plain("Der Hund schläft unter dem alten Tisch in der Küche.") == [
        *("Hund", "schläft", "alten", "Tisch", "Küche")
    ]


def test_the_paraphrase_knows_nothing_else_than_the_query() -> None:
    for line in lines(PARAPHRASE, QUESTIONS[0]):
        assert words(line) <= words(QUESTIONS[0].text) | {"release"}  # the table's word for "deploy…" at most


def test_a_made_up_memory_is_the_answer_in_other_words_without_names() -> None:
    (line,) = lines(MADE_UP, QUESTIONS[1])
    assert words(line) < words(MEMORIES[1].text) | set(SYNONYMS.values()) and "miso" not in words(line)


def test_the_noisy_one_asks_something_else_twice() -> None:
    good, *others = lines(NOISY, QUESTIONS[0])
    assert [good] == lines(GOOD, QUESTIONS[0]) and sorted(others) == sorted(q.text for q in QUESTIONS[1:])


def test_the_hostile_one_draws_another_memory_up() -> None:
    said, drawn = lines(HOSTILE, QUESTIONS[1])
    relevant = words(MEMORIES[1].text)
    assert {"pet", "lives", "priya"} <= words(drawn)
    assert not (words(drawn) - words("pet lives with Priya")) & relevant
    assert said in (MEMORIES[0].text, MEMORIES[2].text)
    assert lines(HOSTILE, QUESTIONS[2]) == [INSTRUCTION]  # no memory is foreign to it


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_prompt_that_holds_the_question_is_answered(ascii_only: bool) -> None:
    llm, question = Scripted(lambda _: ["one", "two"]), QUESTIONS[1]
    prompt = f"Say it in other words: {json.dumps(question.text, ensure_ascii=ascii_only)}"
    assert llm(prompt) == ""
    llm.next(question)
    assert llm("Is 'deploiment' a misspelling of 'deployment'?") == ""
    assert llm.asked == set()
    assert llm(prompt) == "1. one\n2. two"
    assert llm.asked == {"q1"}


def test_so_is_one_that_holds_its_beginning() -> None:
    question = Question(id="long", text="word " * 2_000, relevant=("m0",))
    llm = Scripted(lambda _: ["one"])
    llm.next(question)
    assert llm(json.dumps(question.text[:500])) == "1. one"


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=200))
def test_any_text_is_written_about(query: str, text: str) -> None:
    memories = (Memory("The memory of somebody else.", id="m0"), *_memory(text))
    question = Question(id="q", text=query, relevant=("m1",), scope=SCOPE)
    for write in writers.writers(data(question, memories=memories)).values():
        assert len(write(question)) <= 3


def _memory(text: str) -> tuple[Memory, ...]:
    return (Memory(text, id="m1"),) if text.strip() and "\x00" not in text else ()
