from __future__ import annotations

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.ranking.features.reading import titled
from recall_integrations.text import stems
from tests.columns import TextRow, columns_of

TEXTS = (
    "Amber Lantern is a film about a lighthouse.",
    "The lantern was amber, and Amber Lantern a ship.",
    "Priya Raman directed Amber Lantern.",
    "Kestrel",
)


def ask(query: str, documents: list[bool] | None = None) -> list[float]:
    columns = columns_of([TextRow(num=i, text=text) for i, text in enumerate(TEXTS)], Lexicon())
    mask = np.asarray([True] * len(TEXTS) if documents is None else documents)
    return titled(columns, np.arange(len(TEXTS)), mask, stems(query)).tolist()


def test_the_subject_stands_in_the_query_word_by_word() -> None:
    assert ask("When was Amber Lantern released?") == [1, 0, 0, 0]
    assert ask("Which lantern is amber?") == [0, 1, 0, 0]
    assert ask("an amber ship's lantern") == [0, 0, 0, 0]


def test_one_word_is_a_subject_where_there_is_no_more() -> None:
    assert ask("who leads Kestrel") == [0, 0, 0, 1]


def test_only_documents_begin_with_their_subject() -> None:
    assert ask("Amber Lantern by Priya Raman", [False, True, True, True]) == [0, 0, 1, 0]


def test_nothing_is_asked() -> None:
    assert ask("what is it") == [0, 0, 0, 0]
    assert ask("zzgl qqvx") == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("told", "told_later", "query"),
    [
        ("The dishwasher leaks.", "Repaired the dishwasher with a new hose.", "Does the dishwasher leak?"),
        ("Our gym opens at six.", "The gym now opens at half past seven.", "When does our gym open?"),
    ],
)
def test_notes_stored_as_documents_rank_as_notes(told: str, told_later: str, query: str) -> None:
    notes = [told, "We had fish on Monday.", told_later, "Rosa plays the cello."]
    retriever = OptimizedRecallRetriever.from_texts(notes)
    assert retriever.invoke(query)[0].page_content == told_later
    with MemoryStore.open() as store:
        store.remember_many(notes)
        assert QueryOptimizer(store).recall(query).hits[0].memory.text == told_later


def test_notes_stored_as_documents_tell_times() -> None:
    notes = ["We eat out on Fridays.", "The regatta is on 20 September 2031.", "Rosa plays the cello."]
    hit = OptimizedRecallRetriever.from_texts(notes).invoke("what happens on 20 September 2031?")[0]
    assert hit.page_content == notes[1]
    assert "20 September 2031" in hit.metadata["recall_reason"]


def test_a_document_among_notes_keeps_its_title() -> None:
    subjects = ("Kestrel database", "Harbour crane", "Vacation policy", "Laptop encryption")
    rules = "The rules were set by the board in spring and hold for all offices, contractors and guests of the house. "
    with MemoryStore.open() as store:
        for subject in subjects:
            store.remember(Memory(f"{subject}. " + 4 * rules, id=subject, type="chunk"))
            store.remember_many([f"{name} asked about the {subject.lower()} again" for name in ("Tom", "Ida", "Max")])
        store.remember_many([f"Lunch number {i} was soup with bread" for i in range(60)])
        found = QueryOptimizer(store).recall("what are the rules of the harbour crane?").hits
    assert found[0].memory.id == "Harbour crane"
