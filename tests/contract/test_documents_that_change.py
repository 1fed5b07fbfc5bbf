"""Sources that are given again: what changed is replaced, what is gone is forgotten, by each framework's own means."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from llama_index.core import Document as LlamaDocument
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter

from recall_integrations import MemoryStore, OptimizedRecallRetriever, Scope
from recall_integrations.adapters.documents import memory_of_document
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.frameworks.langchain_documents import RecallDocuments
from recall_integrations.frameworks.llamaindex_ingestion import RecallVectorStore
from tests.rows import each_row

U1 = Scope("u1")
PORT, COAST = "The ferry leaves at nine.", "Tickets are sold on the pier."


def split(port: str, *others: tuple[str, str]) -> list[Document]:
    """Split one source of two paragraphs, and others, into a chunk for each paragraph."""
    sources = [Document(f"{port}\n\n{COAST}", metadata={"source": "ferry.md"})]
    sources += [Document(text, metadata={"source": name}) for name, text in others]
    chunks = []  # by paragraph, as a splitter of LangChain with `add_start_index` makes them
    for source in sources:
        for paragraph in source.page_content.split("\n\n"):
            at = {**source.metadata, "start_index": source.page_content.index(paragraph)}
            chunks.append(Document(paragraph, metadata=at))
    return chunks


def texts(store: MemoryStore, scope: Scope = U1) -> set[str]:
    return {memory.text for memory in store.iterate(scope=scope)}


@pytest.mark.parametrize("cleanup", ["incremental", "full", "scoped_full"])
def test_index_of_langchain_replaces_and_forgets(cleanup: Any) -> None:
    manager = InMemoryRecordManager("memories")
    manager.create_schema()
    with MemoryStore.open() as store:
        documents = RecallDocuments(store, scope=U1)

        def put(chunks: list[Document]) -> dict[str, int]:
            done = index(chunks, manager, documents, cleanup=cleanup, source_id_key="source", key_encoder="sha256")
            return {name.removeprefix("num_"): count for name, count in done.items() if count}

        store.remember("Mine", scope=U1)
        assert put(split(PORT, ("inn.md", "The inn is full."))) == {"added": 3}
        assert put(split(PORT, ("inn.md", "The inn is full."))) == {"skipped": 3}
        changed = split("The ferry leaves at noon.", ("inn.md", "The inn is full."))
        assert put(changed) == {"added": 1, "skipped": 2, "deleted": 1}
        assert texts(store) == {"Mine", "The ferry leaves at noon.", COAST, "The inn is full."}
        found = documents.similarity_search("when does the ferry leave?", k=1, filter={"source": "ferry.md"})
        assert [one.page_content for one in found] == ["The ferry leaves at noon."]
        assert documents.get_by_ids([found[0].id or "", "none"])[0].page_content == found[0].page_content
        if cleanup == "full":
            assert put(split(PORT)) == {"added": 1, "skipped": 1, "deleted": 2}
            assert texts(store) == {"Mine", PORT, COAST}


def test_a_store_of_documents_checks_what_it_is_given() -> None:
    with MemoryStore.open() as store:
        documents = RecallDocuments(store)
        assert documents.add_texts(["one", " "], [{"a": 1}, {}], ids=["1", "2"]) == ["1"]
        with pytest.raises(InvalidArgument, match="ids has 1 items for 2 documents"):
            documents.add_documents([Document("a"), Document("b")], ids=["1"])
        with pytest.raises(InvalidMemory, match="Document 1: .*metadata"):
            documents.add_documents([Document("a"), Document("b", metadata={"x": object()})])
        with pytest.raises(InvalidArgument, match="delete takes ids"):
            documents.delete()
        assert documents.delete(["1", "none"]) and store.count() == 0
    made = RecallDocuments.from_texts(["Tea is at five"], ids=["tea"])
    assert made.similarity_search("tea", k=1)[0].id == "tea"


def test_refresh_ref_docs_of_llamaindex_replaces_and_keeps() -> None:
    def given(port: str) -> list[LlamaDocument]:
        return [LlamaDocument(text=f"{port}\n\n\n{COAST}", doc_id="ferry"), LlamaDocument(text="Full.", doc_id="inn")]

    with MemoryStore.open() as store:
        context = StorageContext.from_defaults(vector_store=RecallVectorStore(store=store, scope=U1))
        made = VectorStoreIndex.from_documents(
            given(PORT), storage_context=context, embed_model=MockEmbedding(3),
            transformations=[SentenceSplitter(chunk_size=12, chunk_overlap=0)],
        )  # fmt: skip
        assert texts(store) == {PORT, COAST, "Full."}
        assert made.refresh_ref_docs(given(PORT)) == [False, False]
        assert made.refresh_ref_docs(given("The ferry leaves at noon.")) == [True, False]
        assert texts(store) == {"The ferry leaves at noon.", COAST, "Full."}
        assert {memory.thread for memory in store.iterate(scope=U1)} == {"ferry", "inn"}
        made.delete_ref_doc("ferry", delete_from_docstore=True)
        assert texts(store) == {"Full."}


@pytest.mark.parametrize("forget_gone", [False, True])
def test_from_documents_forgets_the_old_chunks_of_the_same_sources(tmp_path: Path, forget_gone: bool) -> None:
    def texts_of(chunks: list[Any]) -> set[str]:
        made = OptimizedRecallRetriever.from_documents(chunks, path=tmp_path, scope=U1, forget_gone=forget_gone)
        try:
            return texts(made.optimizer.store)
        finally:
            made.close()

    assert texts_of(split(PORT, ("inn.md", "The inn is full."))) == {PORT, COAST, "The inn is full."}
    changed = texts_of(split("The ferry leaves at noon."))
    assert changed == {"The ferry leaves at noon.", COAST, "The inn is full."} | (set() if forget_gone else {PORT})
    splitter = SentenceSplitter(chunk_size=12, chunk_overlap=0)
    sources = [LlamaDocument(text=text, id_="n") for text in ("One boat.", "Two boats.")]
    nodes = [splitter.get_nodes_from_documents([source]) for source in sources]
    texts_of(nodes[0])
    assert {"One boat.", "Two boats."} & texts_of(nodes[1]) == {"Two boats."} | (
        set() if forget_gone else {"One boat."}
    )


def test_sources_that_became_blank_are_forgotten(tmp_path: Path) -> None:
    def kept(*given: Any) -> set[str]:
        made = OptimizedRecallRetriever.from_documents(given, path=tmp_path, scope=U1, forget_gone=True)
        with contextlib.closing(made):
            return texts(made.optimizer.store)

    tea, salt = Document("Tea.", metadata={"source": "a"}), LlamaDocument(text="Salt.", id_="n")
    chunk = SentenceSplitter().get_nodes_from_documents([LlamaDocument(text="Rice.", id_="m")])
    assert kept(tea, salt, *chunk) == {"Tea.", "Salt.", "Rice."}
    assert kept(Document(" ", metadata={"source": "a"}), LlamaDocument(text="", id_="n")) == {"Rice."}
    assert kept(LlamaDocument(text="", id_="m")) == set()


@each_row("place", [{"start_index": -1}, {"start_index": 5, "page": -1}])
def test_a_negative_place_is_none(place: dict[str, int]) -> None:
    memory = memory_of_document(Document("Tea.", metadata={"source": "a", **place}))
    assert memory is not None and (memory.thread, memory.position) == (None, None)


def test_chunks_that_tell_their_start_have_neighbours() -> None:
    retriever = OptimizedRecallRetriever.from_documents(split(PORT))
    hit = retriever.recall("where are tickets sold?", k=1, context=1).hits[0]
    assert (hit.memory.text, [one.text for one in hit.context]) == (COAST, [PORT])
    retriever.close()


@pytest.mark.parametrize("document", [Document("x"), LlamaDocument(text="x")])
def test_remember_many_names_what_takes_documents(document: Any) -> None:
    said = "Item 0 is Document.*from_documents.*RecallDocuments"
    with MemoryStore.open() as store, pytest.raises(InvalidMemory, match=said):
        store.remember_many([document])
