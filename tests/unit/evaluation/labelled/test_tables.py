"""Reports as text."""

from __future__ import annotations

import rich.console

from recall_integrations import Memory, MemoryStore
from recall_integrations.evaluation import evaluate
from recall_integrations.evaluation.reports import of_evaluation, text_of
from tests.rows import each_row


def test_in_a_notebook_it_is_text_as_well(monkeypatch):
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    assert text_of(["one", "two"]) == "one\ntwo\n"


@each_row(("questions", "warned"), [(1, True), (2, True), (30, False)])
def test_few_questions_are_said_to_be_few(questions: int, warned: bool) -> None:
    with MemoryStore.open() as store:
        store.remember_many([Memory("We chose PostgreSQL for the importer", id="m1")])
        labels = [{"query": f"which database, {n}?", "relevant": ["m1"]} for n in range(questions)]
        said = text_of(of_evaluation(evaluate(store, labels)))
    assert ("Fewer than 30 questions" in said) is warned
    one = questions == 1
    assert ("1 question, k = " in said) is ("of 1 recall\n" in said) is one and "1 questions" not in said
