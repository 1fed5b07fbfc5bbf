"""A program that gives the same at every start writes it once."""

from __future__ import annotations

from pathlib import Path

from langchain_core.documents import Document

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, Scope
from recall_integrations.store.duplicates import remember_once

SCOPE = Scope(user_id="u")


def test_what_is_there_is_not_written_again() -> None:
    given = [
        Memory("Tea is ready", id="tea"),
        Memory("The deploy failed", metadata={"n": 1}),
        Memory("ok"),
        Memory("ok"),
    ]
    with MemoryStore.open() as store:
        assert remember_once(store, given, SCOPE) == 4
        version = store.version(store.scope_id(SCOPE) or 0)
        assert remember_once(store, given, SCOPE) == 0
        assert store.version(store.scope_id(SCOPE) or 0) == version
        assert store.count(scope=SCOPE) == 4


def test_a_place_in_a_thread_that_was_not_given_is_no_change() -> None:
    given = [Memory("Tea is ready", thread="t"), Memory("The deploy failed", thread="t", position=7)]
    with MemoryStore.open() as store:
        assert remember_once(store, given, SCOPE) == 2
        assert remember_once(store, given, SCOPE) == 0
        moved = [given[0], Memory("The deploy failed", thread="t", position=8)]
        assert remember_once(store, moved, SCOPE) == 1


def test_what_has_changed_is_replaced_and_what_is_new_is_added() -> None:
    with MemoryStore.open() as store:
        remember_once(store, [Memory("Tea is ready", id="tea")], SCOPE)
        changed = [Memory("Tea is cold", id="tea"), Memory("Tea is ready", metadata={"source": "b"})]
        assert remember_once(store, changed, SCOPE) == 2
        assert store.count(scope=SCOPE) == 2
        tea = store.get("tea", scope=SCOPE)
        assert tea is not None and tea.text == "Tea is cold"


def test_a_retriever_with_a_path_is_there_tomorrow(tmp_path: Path) -> None:
    documents = [Document("Invoice INV-2041 is unpaid", metadata={"team": "sales"}), Document("Tea is ready")]
    for _ in range(2):
        retriever = OptimizedRecallRetriever.from_documents(documents, path=tmp_path / "memories", k=1)
        assert retriever.invoke("is INV-2041 paid?")[0].metadata["team"] == "sales"
        retriever.close()
    with MemoryStore.open(tmp_path / "memories") as store:
        assert store.count() == 2
