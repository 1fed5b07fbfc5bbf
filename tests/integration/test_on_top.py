"""Retrievers on top of real vector stores: theirs is asked, read once, followed, and never changed."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb import EmbeddingFunction
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

from recall_integrations import Filters, Hit, MemoryStore, OptimizedRecallRetriever, Scope, errors
from recall_integrations.observability import progress

TEXTS = (
    "We chose PostgreSQL as the database",
    "Lunch on Fridays is at the Greek place",
    "The deploy failed because a certificate had expired",
    "Priya likes green tea",
    "Sam plays football on Sundays",
    "The budget review was moved to April",
)
IDS = [f"m{i}" for i in range(len(TEXTS))]
ABOUT = [
    {
        "speaker": ("Priya", "Sam")[i % 2],
        "session_id": f"s{i // 3}",
        "timestamp": f"2026-03-{10 + i}T10:00:00Z",
        "turn": i % 3,
        "likes": i,
    }
    for i in range(len(TEXTS))
]
FOUND = {"actor": "speaker", "role": None, "event_at": "timestamp", "thread": "session_id", "position": "turn"}
LATE = "The library closes at nine in the evening"
READING = {"get", "query", "count", "name", "metadata", "configuration", "_embed", "_embedding_function"}


def vector(text: str, scale: float = 1.0) -> list[float]:
    """Counts of words, each in a place by its hash."""
    found = np.full(96, 1e-3)
    for word in text.lower().split():
        found[int(hashlib.md5(word.strip("?.,").encode()).hexdigest(), 16) % 96] += scale
    return [float(number) for number in found]


class Counted:
    """What an embedding was asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []


class ChromaFunction(EmbeddingFunction[Any]):
    def __init__(self) -> None:
        self.asked = Counted()

    def __call__(self, input: Any) -> Any:
        self.asked.texts += input
        return [np.asarray(vector(text), dtype=np.float32) for text in input]

    @staticmethod
    def name() -> str:
        return "counting-words"

    def get_config(self) -> dict[str, Any]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> ChromaFunction:
        return ChromaFunction()


class Words(Embeddings):
    def __init__(self) -> None:
        self.asked = Counted()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.texts += texts
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.texts.append(text)
        return vector(text)


class Distinct(Words):
    """No two texts are equally far from a third."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        seed = int(hashlib.md5(text.encode()).hexdigest(), 16) % 2**32
        return [float(x) for x in np.asarray(vector(text)) + np.random.default_rng(seed).normal(size=96) / 5]


class WordsToo(BaseEmbedding):  # type: ignore[misc]
    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)


class Spy:
    """A collection; what is asked of it is noted."""

    def __init__(self, collection: Any) -> None:
        self.collection, self.used = collection, []

    def __getattr__(self, name: str) -> Any:
        self.used.append(name)
        return getattr(self.collection, name)


Top = Callable[..., OptimizedRecallRetriever]


@pytest.fixture
def top() -> Iterator[Callable[[str], Top]]:
    """Makes retrievers that are closed afterwards, and are in no hurry."""
    made: list[OptimizedRecallRetriever] = []

    def by(name: str) -> Top:
        def make(*args: Any, **given: Any) -> OptimizedRecallRetriever:
            build = getattr(OptimizedRecallRetriever, name)
            made.append(build(*args, **{"time_budget_ms": 60_000, **given}))
            return made[-1]

        return make

    yield by
    for retriever in made:
        retriever.close()


@pytest.fixture
def collection() -> Any:
    return filled("cosine")


def filled(space: str, function: Any = None, texts: tuple[str, ...] = TEXTS) -> Any:
    made = chromadb.EphemeralClient().create_collection(
        f"chat-{uuid.uuid4().hex}", embedding_function=function or ChromaFunction(), metadata={"hnsw:space": space}
    )
    if texts:
        made.add(ids=IDS[: len(texts)], documents=list(texts), metadatas=ABOUT[: len(texts)])
    return made


def documents() -> list[Document]:
    return [Document(text, id=i, metadata=dict(m)) for text, i, m in zip(TEXTS, IDS, ABOUT, strict=True)]


def nodes() -> list[TextNode]:
    return [
        TextNode(id_=i, text=text, metadata={**m, "hidden": "x"}, excluded_llm_metadata_keys=["hidden"])
        for text, i, m in zip(TEXTS, IDS, ABOUT, strict=True)
    ]


def index(store: Any = None) -> VectorStoreIndex:
    context = None if store is None else StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes(), storage_context=context, embed_model=WordsToo())


def ids(found: list[Any]) -> list[str]:
    return [str(d.id) if isinstance(d, Document) else d.node.node_id for d in found]


# -- one of each ---------------------------------------------------------------------------------------------------


def in_memory() -> InMemoryVectorStore:
    store = InMemoryVectorStore(Words())
    store.add_documents(documents())
    return store


def langchain_chroma() -> Chroma:
    store = Chroma(f"lc-{uuid.uuid4().hex}", embedding_function=Words())
    store.add_documents(documents())
    return store


def llama_chroma() -> VectorStoreIndex:
    made = chromadb.EphemeralClient().create_collection(f"li-{uuid.uuid4().hex}")
    return index(ChromaVectorStore(chroma_collection=made))


EACH: list[tuple[str, Callable[[], Any]]] = [
    ("from_chroma", lambda: filled("cosine")),
    ("from_chroma", lambda: filled("l2")),
    ("from_chroma", lambda: filled("ip")),
    ("from_vectorstore", in_memory),
    ("from_vectorstore", langchain_chroma),
    ("from_index", index),
    ("from_index", llama_chroma),
]


@pytest.mark.parametrize(("name", "make"), EACH)
def test_each_finds_by_meaning_words_names_and_times(top: Any, name: str, make: Callable[[], Any]) -> None:
    retriever = top(name)(make(), k=2)
    assert retriever.fields == FOUND
    result = retriever.recall("which database did we choose?")
    assert (result.hits[0].memory.id, result.degraded) == ("m0", ())
    assert "arm.semantic" in result.timings_ms
    assert retriever.recall("what happened on 12 March 2026?", k=1).hits[0].memory.id == "m2"
    [best, _] = retriever.invoke("what does Priya like to drink?")
    assert (best.id, best.page_content, best.metadata["likes"]) == ("m3", TEXTS[3], 3)
    said = ("recall_actor", "recall_thread", "recall_position", "recall_date")
    assert [best.metadata[key] for key in said] == ["Sam", "s1", 0, "2026-03-13"]
    assert "recall_digest" not in best.metadata
    assert ids(retriever.retrieve("what does Priya like to drink?"))[0] == "m3"


@pytest.mark.parametrize(("name", "make"), EACH)
def test_each_is_followed(top: Any, name: str, make: Callable[[], Any]) -> None:
    theirs = make()
    retriever = top(name)(theirs, k=1)
    assert str(retriever.refresh()) == "0 added, 0 replaced, 0 forgotten"
    if name == "from_chroma":
        theirs.add(ids=["late"], documents=[LATE], metadatas=[{"speaker": "Sam"}])
    elif name == "from_vectorstore":
        theirs.add_documents([Document(LATE, id="late", metadata={"speaker": "Sam"})])
    else:
        theirs.insert_nodes([TextNode(id_="late", text=LATE, metadata={"speaker": "Sam"})])
    assert ids(retriever.invoke("when does the library close?")) == ["late"]  # without a refresh
    assert str(retriever.refresh()) == "0 added, 0 replaced, 0 forgotten"
    (theirs.delete_nodes if name == "from_index" else theirs.delete)(["m1", "m4"])
    assert str(retriever.refresh()) == "0 added, 0 replaced, 2 forgotten"
    assert retriever.optimizer.store.count() == len(TEXTS) - 1
    assert retriever.optimizer.store.get("m1") is None


def _apart(hits: Sequence[Hit]) -> list[set[tuple[str | None, str]]]:
    """The hits in order, those together whose scores are no farther apart than .001."""
    groups: list[set[tuple[str | None, str]]] = []
    last = math.inf
    for hit in hits:
        if last - hit.score > 0.001:
            groups.append(set())
        groups[-1].add((hit.memory.id, hit.reason))
        last = hit.score
    return groups


def test_it_ranks_as_a_store_of_its_own_does(top: Any) -> None:
    """The same documents with the same embedding give the same answers, wherever the vectors are.

    Theirs are not rounded, so the last of forty candidates may be another one, which moves scores a little, and two
    that say the same may change places.
    """
    subjects = ("database", "deploy", "lunch", "budget", "certificate", "library", "football", "tea")
    given = [
        Document(f"the {subjects[i % 8]} and the {subjects[i * 3 % 7]} were talked about in week {i}", id=f"d{i}")
        for i in range(300)
    ]
    theirs = InMemoryVectorStore(Distinct())
    theirs.add_documents(given)
    over = top("from_vectorstore")(theirs, k=10)
    own = OptimizedRecallRetriever.from_documents(given, embedding=Distinct(), k=10, time_budget_ms=60_000)
    for query in ("what about the database and the deploy?", "lunch in week 17", "who talked of certificates", "tea"):
        ours, same = over.recall(query), own.recall(query)
        assert _apart(ours.hits) == _apart(same.hits)
        assert [h.score for h in ours.hits] == pytest.approx([h.score for h in same.hits], abs=0.02)
    own.close()


# -- what is theirs stays theirs -------------------------------------------------------------------------------------


def contents(collection: Any) -> list[Any]:
    got = collection.get(include=["documents", "metadatas", "embeddings"])
    vectors = [found.tolist() for found in got["embeddings"]]
    return sorted(zip(got["ids"], got["documents"], got["metadatas"], vectors, strict=True), key=lambda row: row[0])


def test_their_collection_is_only_read(top: Any, collection: Any) -> None:
    spy = Spy(collection)
    retriever = top("from_chroma")(spy, k=3)
    before = contents(collection)
    retriever.invoke("which database?")
    collection.add(ids=["late"], documents=[LATE])
    retriever.invoke("when does the library close?")
    retriever.refresh()
    collection.delete(ids=["late"])
    retriever.refresh()
    assert set(spy.used) <= READING
    assert contents(collection) == before


def test_nothing_is_embedded_again(top: Any, collection: Any) -> None:
    asked = collection._embedding_function.asked
    asked.texts.clear()
    retriever = top("from_chroma")(collection)
    retriever.refresh()
    retriever.invoke("which database did we choose?")
    assert not set(asked.texts) & {*TEXTS, *(f"{m['speaker']}: {t}" for m, t in zip(ABOUT, TEXTS, strict=True))}
    assert asked.texts.count("which database did we choose?") == 1


def test_a_few_changes_among_many_need_no_embedding_either(top: Any) -> None:
    store = InMemoryVectorStore(Words())
    store.add_documents([Document(f"note number {i} about things", id=f"d{i}") for i in range(2_500)])
    retriever = top("from_vectorstore")(store)
    store.embedding.asked.texts.clear()
    for i in range(0, 2_500, 97):
        store.store[f"d{i}"]["text"] = f"changed {i}"
    assert retriever.refresh().replaced == 26
    assert store.embedding.asked.texts == []


def test_of_many_that_are_new_at_once_none_counts_as_refused(top: Any) -> None:
    store = InMemoryVectorStore(Words())
    store.add_documents([Document(f"note number {i} about things", id=f"d{i}") for i in range(700)])
    retriever = top("from_vectorstore")(store, k=700)
    store.add_documents([Document(f"library shelf {i}", id=f"s{i}") for i in range(600)])
    given = {"time_budget_ms": 60_000.0}
    assert len([hit for hit in retriever.recall("library shelf", **given) if hit.memory.text.startswith("lib")]) == 600
    copy = retriever.optimizer.store
    gone = [f"s{i}" for i in range(600)]
    copy.forget(gone)  # behind the back of the retriever: the next recall that names one reads it again
    retriever.recall("library shelf", **given)
    assert copy.count() == 1_300


def test_cosines_are_those_of_their_vectors(top: Any, collection: Any) -> None:
    retriever = top("from_chroma")(collection)
    view = retriever.optimizer.store.view(retriever.optimizer.store.scope_id(Scope()))
    rows = np.arange(view.size)
    ours = dict(zip([view.ids[row] for row in rows], view.vectors_of(rows), strict=True))
    for i, text in zip(IDS, TEXTS, strict=True):
        theirs = np.asarray(vector(text))
        np.testing.assert_allclose(ours[i], theirs / np.linalg.norm(theirs), atol=1e-3)


def test_l2_is_asked_with_a_vector_of_the_length_it_has(top: Any) -> None:
    made = chromadb.EphemeralClient().create_collection(f"l2-{uuid.uuid4().hex}", metadata={"hnsw:space": "l2"})
    made.add(ids=["far", "near"], documents=["one", "two"], embeddings=[[9.0, 0.0], [1.0, 0.8]])
    given = lambda texts: np.asarray([[1.2, 0.1]] * len(texts))  # noqa: E731
    asked: list[Any] = []
    spy = Spy(made)
    query = made.query
    spy.query = lambda **how: asked.append(how["query_embeddings"]) or query(**how)  # type: ignore[attr-defined]
    retriever = top("from_chroma")(spy, embedding=given)
    retriever.recall("anything")
    np.testing.assert_allclose(asked[-1], [[1.2, 0.1]], rtol=1e-6)


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_a_kept_copy_is_opened_without_reading(top: Any, collection: Any, tmp_path: Path) -> None:
    top("from_chroma")(collection, path=tmp_path / "copy").close()
    spy = Spy(collection)
    gets: list[dict[str, Any]] = []
    spy.get = lambda **how: gets.append(how) or collection.get(**how)  # type: ignore[attr-defined]
    retriever = top("from_chroma")(spy, path=tmp_path / "copy")
    assert retriever.fields == FOUND
    assert not any("documents" in how["include"] for how in gets)
    assert ids(retriever.invoke("which database did we choose?"))[0] == "m0"
    retriever.close()
    collection.add(ids=["late"], documents=[LATE])
    collection.delete(ids=["m1"])  # as many as before
    gets.clear()
    retriever = top("from_chroma")(spy, path=tmp_path / "copy")
    assert [how["ids"] for how in gets if "documents" in how["include"]] == [["late"]]
    assert retriever.optimizer.store.count() == len(TEXTS)
    assert retriever.optimizer.store.get("m1") is None


def test_a_copy_that_was_not_finished_is(top: Any, collection: Any, tmp_path: Path, monkeypatch: Any) -> None:
    from recall_integrations.adapters.sources import ChromaSource
    from recall_integrations.ontop import following

    monkeypatch.setattr(following, "BATCH", 2)
    read, calls = ChromaSource.read, []

    def breaking(self: Any, wanted: Any) -> Any:
        calls.append(wanted)
        if len(calls) == 3:
            raise RuntimeError("pulled out")
        return read(self, wanted)

    monkeypatch.setattr(ChromaSource, "read", breaking)
    with pytest.raises(RuntimeError, match="pulled out"):
        top("from_chroma")(collection, path=tmp_path / "copy")
    retriever = top("from_chroma")(collection, path=tmp_path / "copy")
    assert retriever.optimizer.store.count() == len(TEXTS)


def test_other_fields_are_read_anew(top: Any, collection: Any, tmp_path: Path) -> None:
    top("from_chroma")(collection, path=tmp_path / "copy").close()
    retriever = top("from_chroma")(collection, path=tmp_path / "copy", fields={"actor": None})
    assert retriever.fields["actor"] is None
    assert retriever.optimizer.store.get("m0").actor is None
    assert str(retriever.refresh()) == "0 added, 0 replaced, 0 forgotten"


def test_a_path_is_of_one_collection(top: Any, collection: Any, tmp_path: Path) -> None:
    top("from_chroma")(collection, path=tmp_path / "copy").close()
    with pytest.raises(errors.StorePathError, match="holds a copy of the Chroma collection .*Give another path"):
        top("from_chroma")(filled("cosine"), path=tmp_path / "copy")
    with MemoryStore.open(tmp_path / "own") as own:
        own.remember("mine")
    with pytest.raises(errors.StorePathError):
        top("from_chroma")(collection, path=tmp_path / "own")
    with MemoryStore.open(tmp_path / "own") as own:
        assert own.count() == 1


def test_what_changed_is_replaced(top: Any, collection: Any) -> None:
    retriever = top("from_chroma")(collection, k=1)
    collection.update(ids=["m3"], documents=["Priya prefers black coffee now"])
    collection.update(ids=["m4"], metadatas=[{"speaker": "Lena"}])
    assert str(retriever.refresh()) == "0 added, 2 replaced, 0 forgotten"
    assert retriever.invoke("what does Priya prefer to drink?")[0].page_content == "Priya prefers black coffee now"
    assert retriever.optimizer.store.get("m4").actor == "Lena"


# -- bad weather -----------------------------------------------------------------------------------------------------


def test_an_empty_collection_is_read_when_something_is_in_it(top: Any) -> None:
    empty = filled("cosine", texts=())
    retriever = top("from_chroma")(empty, k=1)
    assert retriever.invoke("anything at all?") == []
    empty.add(ids=IDS, documents=list(TEXTS), metadatas=ABOUT)
    assert ids(retriever.invoke("which database did we choose?")) == ["m0"]
    assert retriever.fields == FOUND


def test_what_has_no_text_is_left_out_and_counted(top: Any, collection: Any, tmp_path: Path) -> None:
    collection.add(ids=["blank", "none"], documents=[" ", ""], embeddings=[vector("blank"), vector("none")])
    retriever = top("from_chroma")(collection, path=tmp_path / "copy")
    assert retriever.optimizer.store.count() == len(TEXTS)
    assert str(retriever.refresh()) == "0 added, 0 replaced, 0 forgotten, 2 left out"
    before = retriever.optimizer.store.version(1)
    retriever.invoke("blank")  # named by theirs each time
    assert retriever.optimizer.store.version(1) == before


def test_where_theirs_fails_words_still_answer(top: Any, collection: Any) -> None:
    spy = Spy(collection)
    retriever = top("from_chroma")(spy, k=1)

    def away(**_how: Any) -> Any:
        raise ConnectionError("away")

    spy.query = away  # type: ignore[attr-defined]
    result = retriever.recall("which database did we choose?")
    assert result.hits[0].memory.id == "m0"
    assert [(d.stage, "away" in d.detail) for d in result.degraded] == [("semantic", True)]


def test_another_embedding_is_an_error_that_says_so(top: Any, collection: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="have 96 numbers, those of its embedding 3. Pass embedding="):
        top("from_chroma")(collection, embedding=lambda texts: np.ones((len(texts), 3)))


def test_a_collection_without_a_function_needs_an_embedding(top: Any) -> None:
    bare = chromadb.EphemeralClient().create_collection(f"bare-{uuid.uuid4().hex}", embedding_function=None)
    bare.add(ids=IDS, documents=list(TEXTS), embeddings=[vector(text) for text in TEXTS])
    with pytest.raises(errors.InvalidArgument, match="has no embedding function. Pass embedding="):
        top("from_chroma")(bare)
    assert ids(top("from_chroma")(bare, embedding=Words(), k=1).invoke("which database did we choose?")) == ["m0"]


def test_wrong_things_are_refused_before_anything_is_made(top: Any, collection: Any, tmp_path: Path) -> None:
    for name, what in (
        ("from_chroma", "a Chroma collection"),
        ("from_vectorstore", "LangChain"),
        ("from_index", "Llama"),
    ):
        with pytest.raises(errors.InvalidArgument, match=f"takes a.*{what}|takes {what}"):
            top(name)(["texts"])
    with pytest.raises(errors.InvalidArgument, match="Unknown argument colour"):
        top("from_chroma")(collection, path=tmp_path / "copy", colour="red")
    with pytest.raises(errors.InvalidArgument, match="one scope"):
        top("from_chroma")(collection, path=tmp_path / "copy", scopes=[{}])
    assert not (tmp_path / "copy").exists()
    with pytest.raises(errors.InvalidArgument, match="'speakr', which no document has. Did you mean 'speaker'"):
        top("from_chroma")(collection, path=tmp_path / "copy", fields={"actor": "speakr"})


def test_only_what_is_on_top_can_be_refreshed() -> None:
    retriever = OptimizedRecallRetriever.from_texts(["one"])
    with pytest.raises(errors.InvalidArgument, match="a store of its own"):
        retriever.refresh()
    assert retriever.fields == {}
    retriever.close()


def test_how_far_it_is_is_shown(top: Any, collection: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0)  # where there is no terminal, lines begin later
    top("from_chroma")(collection)
    assert capsys.readouterr().err == ""
    top("from_chroma")(collection, progress=True)
    shown = capsys.readouterr().err
    assert "Reading the Chroma collection" in shown
    assert "6 of 6" in shown


def test_a_retriever_that_holds_their_store_is_not_pickled(top: Any, collection: Any) -> None:
    import copy
    import pickle

    retriever = top("from_chroma")(collection, k=1)
    with pytest.raises(errors.InvalidArgument, match="cannot be pickled. Make it where it is used"):
        pickle.dumps(retriever)
    assert ids(copy.deepcopy(retriever).invoke("which database did we choose?")) == ["m0"]


# -- filters, async, others ------------------------------------------------------------------------------------------


def test_selective_filters_keep_k(top: Any) -> None:
    store = InMemoryVectorStore(Words())
    text = "the database was chosen in meeting number {}"
    store.add_documents([Document(text.format(i), id=f"d{i}", metadata={"rare": i % 100 == 0}) for i in range(800)])
    retriever = top("from_vectorstore")(store, k=5)
    found = retriever.invoke("which database was chosen?", filters=Filters(metadata={"rare": True}))
    assert len(found) == 5
    assert all(d.metadata["rare"] for d in found)


async def test_the_asynchronous_side_finds_what_is_new_too(top: Any, collection: Any) -> None:
    retriever = top("from_chroma")(collection, k=1)
    collection.add(ids=["late"], documents=[LATE])
    assert ids(await retriever.ainvoke("when does the library close?")) == ["late"]
    assert ids(await retriever.aretrieve("which database did we choose?")) == ["m0"]


def test_nodes_come_back_as_theirs(top: Any) -> None:
    for theirs in (index(), llama_chroma()):
        node = top("from_index")(theirs, k=1).retrieve("which database did we choose?")[0].node
        assert (node.node_id, node.metadata["hidden"], "hidden" in node.excluded_llm_metadata_keys) == ("m0", "x", True)


def test_a_collection_that_llama_index_filled_gives_its_nodes(top: Any) -> None:
    theirs = llama_chroma().vector_store.client
    node = top("from_chroma")(theirs, embedding=WordsToo(), k=1).retrieve("which database did we choose?")[0].node
    assert (node.node_id, node.metadata["hidden"], "hidden" in node.excluded_llm_metadata_keys) == ("m0", "x", True)


def test_documents_of_an_index_are_threads(top: Any) -> None:
    made = VectorStoreIndex.from_documents(
        [LlamaDocument(text=text, id_=f"doc-{i}") for i, text in enumerate(TEXTS)], embed_model=WordsToo()
    )
    retriever = top("from_index")(made, k=1)
    assert retriever.fields["thread"] == "ref_doc_id"
    assert retriever.retrieve("which database did we choose?")[0].node.ref_doc_id == "doc-0"


class Closed(VectorStore):
    """A store that can be searched and nothing else."""

    def __init__(self) -> None:
        self.inner = in_memory()
        self.searched: list[str] = []

    @property
    def embeddings(self) -> None:
        return None

    @classmethod
    def from_texts(cls, *args: Any, **given: Any) -> Any:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **_given: Any) -> list[Document]:
        self.searched.append(query)
        return self.inner.similarity_search(query, k=k)


def test_a_store_that_cannot_be_listed_names_the_way(top: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="vector store Closed cannot be listed.*Pass documents="):
        top("from_vectorstore")(Closed())
    with pytest.raises(errors.InvalidMemory, match="Item 0 of documents has no id"):
        top("from_vectorstore")(Closed(), documents=[Document("no id")])
    with pytest.raises(errors.InvalidArgument, match="Item 0 of documents is str"):
        top("from_vectorstore")(Closed(), documents=["text"])


def test_where_vectors_cannot_be_read_their_order_is_the_evidence(top: Any, tmp_path: Path) -> None:
    theirs = Closed()
    retriever = top("from_vectorstore")(theirs, documents=documents(), k=2, path=tmp_path / "copy")
    result = retriever.recall("which database did we choose?")
    assert (result.hits[0].memory.id, result.degraded) == ("m0", ())
    assert "near by the vector store Closed" in result.hits[0].reason
    assert theirs.searched == ["which database did we choose?"]
    with pytest.raises(errors.InvalidArgument, match="Pass documents="):
        retriever.refresh()
    assert str(retriever.refresh(documents=documents()[1:])) == "0 added, 0 replaced, 1 forgotten"
    retriever.close()
    again = top("from_vectorstore")(theirs, path=tmp_path / "copy")  # what is kept needs no documents
    assert again.optimizer.store.count() == len(TEXTS) - 1
    with pytest.raises(errors.InvalidArgument, match="says itself what is in it"):
        top("from_vectorstore")(in_memory()).refresh(documents=documents())
    for name, made in (
        ("from_vectorstore", langchain_chroma()),
        ("from_index", index()),
        ("from_index", llama_chroma()),
    ):
        with pytest.raises(errors.InvalidArgument, match="says itself what is in it"):
            top(name)(made, documents=documents())


def test_names_in_texts_are_found_where_it_is_asked_for(top: Any, collection: Any) -> None:
    retriever = top("from_chroma")(collection, extractor=lambda text: ["PostgreSQL"] if "PostgreSQL" in text else [])
    assert "PostgreSQL" in [ref.name for ref in retriever.recall("who chose PostgreSQL?").query.entity_refs]
