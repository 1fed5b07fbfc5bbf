"""One object in both frameworks: parity, call-time arguments, and the places where people put a retriever."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.runnables import RunnablePassthrough
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from recall_integrations import (
    Filters,
    Memory,
    MemoryStore,
    OptimizedRecallRetriever,
    QueryOptimizer,
    RecallConfig,
    Scope,
    errors,
)
from recall_integrations.config import LimitsConfig
from recall_integrations.errors import InvalidArgument, InvalidMemory, InvalidQuery
from tests.rows import each_row

NOW = datetime(2026, 6, 15, 12, tzinfo=timezone.utc)
QUERIES = [
    "who is Sarah's manager?",
    "what happened with the deploy yesterday?",
    "something about certificates",
    "which database do we use, not MySQL",
    "xyzzy",
]


@pytest.fixture(scope="module")
def store():
    with MemoryStore.open() as opened:
        for scope, owner in ((Scope(user_id="u1"), "first"), (Scope(user_id="u2"), "second")):
            opened.remember_many(
                [
                    Memory(
                        f"{text} ({owner})",
                        id=f"{owner}-{i}",
                        actor=actor,
                        type=kind,
                        event_at=NOW - timedelta(days=i),
                        created_at=NOW - timedelta(days=i),
                        thread="t",
                        metadata={"n": i},
                    )
                    for i, (text, actor, kind) in enumerate(
                        [
                            ("Sarah reports to Priya since spring", "Sam", "fact"),
                            ("The deploy failed because a certificate had expired", "Sam", "event"),
                            ("We use PostgreSQL as our database", "Priya", "fact"),
                            ("We tried MySQL as a database once", "Priya", "event"),
                            ("Certificates are renewed by a cron job", "Sam", "skill"),
                            ("I prefer tea over coffee", "Sarah", "preference"),
                            ("Lunch on Fridays is at the Greek place", "Sarah", "observation"),
                        ]
                    )
                ],
                scope=scope,
            )
        yield opened


@pytest.fixture(scope="module")
def retriever(store):
    optimizer = QueryOptimizer(store)
    yield OptimizedRecallRetriever(optimizer=optimizer, k=4, scope=Scope(user_id="u1"), now=NOW)
    optimizer.close()


def test_it_is_both(retriever):
    assert isinstance(retriever, LangChainRetriever)
    assert isinstance(retriever, LlamaIndexRetriever)


@pytest.mark.parametrize("query", QUERIES)
async def test_parity(retriever, query):
    """Same ids, order, scores and texts through every door."""
    hits = [(h.memory.id, h.memory.text, h.score) for h in retriever.recall(query)]
    assert hits

    def documents(found):
        return [(d.id, d.page_content, d.metadata["recall_score"]) for d in found]

    def nodes(found):
        return [(n.node.node_id, n.node.text, n.score) for n in found]

    assert documents(retriever.invoke(query)) == hits
    assert documents(await retriever.ainvoke(query)) == hits
    assert documents(retriever.batch([query, "lunch"])[0]) == hits
    assert documents((await retriever.abatch([query]))[0]) == hits
    assert nodes(retriever.retrieve(query)) == hits
    assert nodes(await retriever.aretrieve(query)) == hits
    assert nodes(retriever.retrieve(QueryBundle(query))) == hits


def test_arguments_at_call_time(retriever):
    assert len(retriever.invoke("database", k=1)) == 1
    assert [len(found) for found in retriever.batch(["database", "lunch"], k=2)] == [2, 2]
    other = retriever.invoke("database", scope=Scope(user_id="u2"))
    assert other and all(d.id.startswith("second") for d in other)
    only = retriever.invoke("database", filters=Filters(types=["preference"]), k=7)
    assert [d.metadata["recall_type"] for d in only] == ["preference"]
    tomorrow = retriever.recall("what happened yesterday?", now=NOW + timedelta(days=1))
    assert tomorrow.query.temporal_window.holds(NOW)


async def test_arguments_at_call_time_async(retriever):
    assert len(await retriever.ainvoke("database", k=1)) == 1


def test_arguments_when_made(store):
    optimizer = QueryOptimizer(store)
    made = OptimizedRecallRetriever(
        optimizer=optimizer, k=7, scope=Scope(user_id="u2"), filters=Filters(actors=["Priya"]), now=NOW
    )
    assert {d.id for d in made.invoke("database")} == {"second-2", "second-3"}
    optimizer.close()


def test_five_come_where_nobody_says_how_many():
    made = OptimizedRecallRetriever.from_texts([f"the database of team {i}" for i in range(8)])
    assert len(made.invoke("database")) == len(made.retrieve("database")) == 5
    made.optimizer.close()


def test_a_misspelt_argument_is_an_error(retriever):
    with pytest.raises(errors.InvalidArgument, match="top_k"):
        retriever.invoke("database", top_k=3)
    with pytest.raises(errors.InvalidArgument, match="top_k"):
        OptimizedRecallRetriever(optimizer=retriever.optimizer, top_k=3)
    with pytest.raises(errors.InvalidArgument, match="optimizer"):
        OptimizedRecallRetriever()
    for bad in (0, -1, "x", True):
        with pytest.raises(errors.InvalidArgument):
            OptimizedRecallRetriever(optimizer=retriever.optimizer, k=bad)


def test_user_metadata_is_kept(retriever):
    found = retriever.invoke("which database do we use?", k=1)[0]
    assert found.metadata["n"] == 2
    assert found.metadata["recall_actor"] == "Priya"
    assert found.metadata["recall_reason"]
    assert retriever.retrieve("which database do we use?")[0].node.metadata["recall_reason"]


def test_in_a_langchain_chain(retriever):
    prompt = ChatPromptTemplate.from_template("Context: {context}\nQuestion: {question}")
    chain = (
        {
            "context": retriever | (lambda docs: "\n".join(d.page_content for d in docs)),
            "question": RunnablePassthrough(),
        }
        | prompt
        | FakeListLLM(responses=["PostgreSQL"])
    )
    assert chain.invoke("which database do we use?") == "PostgreSQL"
    assert chain.get_graph().nodes  # asks every runnable for its prompts


def test_in_a_llama_index_query_engine(retriever):
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query("which database do we use?")
    assert "PostgreSQL" in str(answer)
    assert answer.source_nodes[0].node.node_id == "first-2"
    assert engine.get_prompts()  # walks through the prompts of all its parts


def test_inside_llama_index_fusion(retriever):
    fusion = QueryFusionRetriever(
        [retriever, retriever],
        llm=MockLLM(),
        num_queries=1,
        mode="reciprocal_rerank",
        similarity_top_k=3,
        use_async=False,
    )
    found = [n.node.node_id for n in fusion.retrieve("which database do we use?")]
    assert found == [d.id for d in retriever.invoke("which database do we use?", k=3)]


def test_inside_langchain_ensemble(retriever):
    classic = pytest.importorskip("langchain_classic.retrievers")
    ensemble = classic.EnsembleRetriever(retrievers=[retriever, retriever], weights=[0.5, 0.5])
    found = [d.id for d in ensemble.invoke("which database do we use?")]
    assert found == [d.id for d in retriever.invoke("which database do we use?")]


def test_documents_of_one_memory_are_equal_whatever_the_query(retriever):
    """LangChain's MultiQueryRetriever keeps what is not in the list yet."""
    unique = []
    for query in ("which database do we use?", "PostgreSQL", "database"):
        unique.extend(d for d in retriever.invoke(query) if d not in unique)
    assert len(unique) == len({d.id for d in unique})


def test_a_document_that_cannot_be_kept_is_named():
    documents = [
        Document(page_content="fine"),
        Document(page_content="bad", metadata={"at": datetime.now(timezone.utc)}),
    ]
    with pytest.raises(errors.InvalidMemory, match="Document 1"):
        OptimizedRecallRetriever.from_documents(documents)


def test_nodes_keep_their_hash_between_queries(retriever):
    hashes = {
        query: {n.node.node_id: n.node.hash for n in retriever.retrieve(query)}
        for query in ("database", "certificates")
    }
    shared = set(hashes["database"]) & set(hashes["certificates"])
    assert shared
    assert all(hashes["database"][i] == hashes["certificates"][i] for i in shared)


def test_an_embedding_that_another_retriever_left_in_a_bundle_is_not_the_querys(retriever):
    embed = retriever.optimizer.store.embedding.embed_query
    tea = embed("tea or coffee").tolist()
    expected = [n.node.node_id for n in retriever.retrieve("which database do we use?")]
    for left in (tea, [1.0, 2.0], [float("nan")] * 256, []):
        bundle = QueryBundle("which database do we use?", embedding=left)
        assert [n.node.node_id for n in retriever.retrieve(bundle)] == expected
    ours = retriever.model_copy(update={"bundle_embedding": True})
    assert ours.retrieve(QueryBundle("what about it", embedding=tea))[0].node.node_id == "first-5"
    for foreign in ([1.0, 2.0], [float("nan")] * 256, []):
        bundle = QueryBundle("which database do we use?", embedding=foreign)
        assert [n.node.node_id for n in ours.retrieve(bundle)] == expected


async def test_strings_that_a_query_bundle_brings_are_embedded_instead(retriever):
    instead = QueryBundle("what about it", custom_embedding_strs=["tea or coffee"], embedding=[1.0, 2.0])
    assert retriever.retrieve(instead)[0].node.node_id == "first-5"
    assert (await retriever.aretrieve(instead))[0].node.node_id == "first-5"


def test_events_reach_langchain_callbacks(retriever):
    from langchain_core.callbacks import BaseCallbackHandler

    class Seen(BaseCallbackHandler):
        def __init__(self):
            self.events = []

        def on_retriever_start(self, *_args, **_kwargs):
            self.events.append("start")

        def on_retriever_end(self, documents, **_kwargs):
            self.events.append(len(documents))

        def on_retriever_error(self, error, **_kwargs):
            self.events.append(type(error).__name__)

    seen = Seen()
    retriever.invoke("database", config={"callbacks": [seen]}, k=2)
    with pytest.raises(errors.InvalidQuery):
        retriever.invoke("  ", config={"callbacks": [seen]})
    assert seen.events == ["start", 2, "start", "InvalidQuery"]


async def test_async_does_not_block_the_loop(store):
    """LlamaIndex's default `aretrieve` runs the sync code in the loop; ours must leave it free."""

    loop = asyncio.get_running_loop()
    free: list[bool] = []

    class Asking:
        """Goes on when the loop has done something meanwhile."""

        fingerprint, dimensions, remote = store.embedding.fingerprint, 256, False
        embed_documents = store.embedding.embed_documents

        @staticmethod
        def embed_query(text):
            ran = threading.Event()
            loop.call_soon_threadsafe(ran.set)
            free.append(ran.wait(30))
            return store.embedding.embed_query(text)

    with MemoryStore.open(embedding=Asking()) as asking:
        asking.remember("hello world")
        optimizer = QueryOptimizer(asking, config=RecallConfig(limits=LimitsConfig(time_budget_ms=60_000)))
        made = OptimizedRecallRetriever(optimizer=optimizer)
        await made.aretrieve("hello")
        await made.ainvoke("hello")
        optimizer.close()
    assert free == [True, True]


def test_pickle_in_the_same_process(retriever):
    twin = pickle.loads(pickle.dumps(retriever))
    assert twin is not retriever
    assert (twin.k, twin.scope, twin.now) == (retriever.k, retriever.scope, retriever.now)
    assert [d.id for d in twin.invoke("database")] == [d.id for d in retriever.invoke("database")]
    twin.optimizer.close()


def test_pickle_into_another_process(tmp_path):
    with MemoryStore.open(tmp_path / "s") as first:
        first.remember(Memory("The wifi password is hunter2", id="w"))
        optimizer = QueryOptimizer(first)
        pickled = pickle.dumps(OptimizedRecallRetriever(optimizer=optimizer, k=1))
        optimizer.close()
    (tmp_path / "r.pickle").write_bytes(pickled)
    code = "import pickle, sys; r = pickle.load(open(sys.argv[1], 'rb')); print(r.invoke('wifi password')[0].id)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r.pickle")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "w", done.stderr


def test_copies_share_the_store(retriever):
    for twin in (copy.copy(retriever), copy.deepcopy(retriever), retriever.model_copy(update={"k": 2})):
        assert twin.optimizer.store is retriever.optimizer.store
        assert twin.invoke("database")
    assert len({retriever, copy.copy(retriever)}) == 2


def test_from_texts():
    made = OptimizedRecallRetriever.from_texts(
        ["Pods restart when memory runs out", "Revenue rose by a tenth"], ids=["a", "b"], metadatas=[{"x": 1}, {}], k=1
    )
    found = made.invoke("why do pods restart?")
    assert [(d.id, d.metadata["x"]) for d in found] == [("a", 1)]
    made.close()
    with pytest.raises(errors.StoreClosed):
        made.invoke("pods")
    with pytest.raises(errors.InvalidArgument, match="ids"):
        OptimizedRecallRetriever.from_texts(["a", "b"], ids=["x"])


def test_from_documents_and_nodes():
    documents = [
        Document(id="a", page_content="Pods restart", metadata={"x": 1}),
        Document(page_content="Revenue rose"),
    ]
    made = OptimizedRecallRetriever.from_documents(documents, k=1)
    assert made.invoke("pods restart")[0].id == "a"
    made.close()
    nodes = [TextNode(id_="n1", text="Pods restart", metadata={"x": 1}), TextNode(id_="n2", text="Revenue rose")]
    made = OptimizedRecallRetriever.from_nodes(nodes, k=1)
    found = made.retrieve("pods restart")[0]
    assert (found.node.node_id, found.node.metadata["x"]) == ("n1", 1)
    made.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"now": "2020"}, "now must be a datetime, not str"),
        ({"privacy": "no"}, "privacy mode 'no'"),
        ({"tokens_max": "3"}, "tokens_max must be"),
        ({"timezone": "Mars"}, "time zone 'Mars'"),
        ({"score_min": 2}, "score_min must be"),
        ({"time_budget_ms": 0}, "time_budget_ms must be"),
        ({"window": "march"}, "window must be"),
        ({"context": -1}, "context must be"),
        ({"k": "3"}, "k must be a whole number"),
        ({"search_kwargs": {"k": 3}}, "Unknown argument search_kwargs. Did you mean k=5, filters"),
        ({"similarity_top_k": 3}, "Did you mean k=5"),
        ({"filter": {}, "score_threshold": 0.2}, "Did you mean filters=.*, score_min=0.3"),
    ],
)
def test_what_a_call_refuses_is_refused_when_it_is_made(retriever, tmp_path, given, said):
    with pytest.raises(InvalidArgument, match=said):
        OptimizedRecallRetriever(optimizer=retriever.optimizer, **given)
    with pytest.raises(InvalidArgument, match=said):
        OptimizedRecallRetriever.from_texts(["Tea is at five"], path=tmp_path / "memories", **given)
    assert not (tmp_path / "memories").exists()


@pytest.mark.parametrize("given", ["hello", None, 5, Document("hello"), TextNode(text="hello"), {"text": "hello"}])
@pytest.mark.parametrize("made", ["from_texts", "from_documents", "from_nodes"])
def test_a_single_one_is_no_list(made, given):
    with pytest.raises(InvalidArgument, match=f"Give a list of .*, not {type(given).__name__}"):
        getattr(OptimizedRecallRetriever, made)(given)


def test_a_text_that_cannot_be_kept_is_named():
    with pytest.raises(InvalidMemory, match="Text 0: .*Use from_documents"):
        OptimizedRecallRetriever.from_texts([Document("a")])


def test_blank_texts_are_left_out_with_their_metadata(caplog):
    made = OptimizedRecallRetriever.from_texts(["a", " ", "tea"], ids=["1", "2", "3"], metadatas=[{}, {}, {"n": 3}])
    assert made.invoke("tea", k=1)[0].metadata["n"] == 3
    assert made.optimizer.store.count() == 2 and "1 of 3 have no text" in caplog.text
    made.close()


@each_row(
    "call, given, said",
    [
        (lambda r: r.invoke, {"top_k": 1}, "Did you mean k=5. A call takes: "),
        (lambda r: r.invoke, {"limit": 1}, "Did you mean k=5. A call takes: "),
        (lambda r: r.retrieve, {"similarity_top_k": 1}, "Did you mean k=5. A call takes: "),
        (lambda r: r.optimizer.recall, {"score_threshold": 0.1}, "Did you mean score_min=0.3. QueryOptimizer.recall"),
        (lambda r: r.optimizer.recall, {"scor_min": 0.1}, "Did you mean score_min=..."),
        (lambda r: lambda _q, **given: r.as_retriever(**given), {"search_kwargs": {"k": 1}}, "Did you mean k=5, "),
        (
            lambda r: lambda _q, **given: QueryOptimizer(r.optimizer.store, **given),
            {"models": 1},
            "QueryOptimizer takes",
        ),
        (lambda r: r.optimizer.store.remember, {"user_id": "u1"}, r"Did you mean scope=Scope\(user_id"),
        (lambda r: r.optimizer.store.remember, {"metadata": {}}, r"Did you mean memory=Memory\(text, "),
        (lambda r: lambda _q, **given: r.optimizer.store.list(**given), {"top_k": 1}, "Did you mean limit=5"),
        (lambda _: lambda _q, **given: Filters(**given), {"source": "wiki"}, "Did you mean metadata="),
    ],
)
def test_a_call_says_which_argument_was_meant(retriever, call, given, said):
    before = retriever.optimizer.store.count()
    with pytest.raises(InvalidArgument, match=f"Unknown argument .* {said}"):
        call(retriever)("tea", **given)
    assert retriever.optimizer.store.count() == before


def test_a_method_of_another_memory_is_named_as_ours(retriever):
    with pytest.raises(AttributeError, match=r"no 'as_retriever'. Did you mean OptimizedRecallRetriever\("):
        retriever.optimizer.store.as_retriever(search_kwargs={"k": 1})


async def test_an_unknown_argument_is_refused_where_the_call_is_awaited(retriever):
    assert inspect.iscoroutinefunction(retriever.optimizer.arecall)
    with pytest.raises(InvalidArgument, match="Did you mean k=5. QueryOptimizer.arecall"):
        await retriever.optimizer.arecall("tea", top_k=1)


class Documented(OptimizedRecallRetriever):
    def _get_relevant_documents(self, query, *, run_manager, **given):
        found = super()._get_relevant_documents(query, run_manager=run_manager, **given)
        return [Document(f"mine: {one.page_content}", id=one.id, metadata=one.metadata) for one in found]


class DocumentedAlone(OptimizedRecallRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        found = super()._get_relevant_documents(query, run_manager=run_manager)
        return [Document(f"mine: {one.page_content}", id=one.id, metadata=one.metadata) for one in found]


class Recalled(OptimizedRecallRetriever):
    def recall(self, query, **given):
        found = super().recall(query, **given)
        own = [replace(one, memory=replace(one.memory, text=f"mine: {one.memory.text}")) for one in found.hits]
        return replace(found, hits=tuple(own))


class Noded(OptimizedRecallRetriever):
    def _retrieve(self, query_bundle):
        found = super()._retrieve(query_bundle)
        return [
            NodeWithScore(node=TextNode(text=f"mine: {one.text}", id_=one.node_id), score=one.score) for one in found
        ]


class Both(Documented, Noded): ...


class NodedByLangChain(OptimizedRecallRetriever):
    def _retrieve(self, query_bundle):
        found = [(one, one.metadata["recall_score"]) for one in self.invoke(query_bundle.query_str, k=self.k)]
        return [
            NodeWithScore(node=TextNode(text=f"mine: {d.page_content}", id_=d.id), score=score) for d, score in found
        ]


class DocumentedByLlamaIndex(OptimizedRecallRetriever):
    def _get_relevant_documents(self, query, *, run_manager, k=None):
        found = self.retrieve(query, k=k or self.k)
        return [Document(f"mine: {one.text}", id=one.node_id, metadata=one.metadata) for one in found]


class NodedByAwaiting(OptimizedRecallRetriever):
    def _retrieve(self, query_bundle):
        with ThreadPoolExecutor(1) as pool:
            asked = copy_context().run
            found = pool.submit(asked, asyncio.run, super()._aretrieve(query_bundle)).result()
        return [NodeWithScore(node=TextNode(text=f"mine: {n.text}", id_=n.node_id), score=n.score) for n in found]


OVERRIDES = [
    *(Documented, DocumentedAlone, Recalled, Noded, Both),
    *(NodedByLangChain, DocumentedByLlamaIndex, NodedByAwaiting),
]


@pytest.mark.parametrize("kind", OVERRIDES)
async def test_what_a_subclass_overrides_is_heard_by_both_frameworks_and_awaited(kind):
    made = kind.from_texts(["Tea is at five", "The deploy failed"], ids=["tea", "deploy"])
    documents = [made.invoke("tea", k=1), await made.ainvoke("tea", k=1), *made.batch(["tea"], k=1)]
    nodes = [made.retrieve("tea", k=1), await made.aretrieve("tea", k=1)]
    assert {(one.page_content, one.id) for (one,) in documents} == {("mine: Tea is at five", "tea")}
    assert {(one.text, one.node_id) for (one,) in nodes} == {("mine: Tea is at five", "tea")}
    assert nodes[0][0].score == documents[0][0].metadata.get("recall_score", nodes[0][0].score) > 0.3
    assert made.k == 5 and len(made.retrieve("tea")) == 2
    assert len(made.as_retriever(k=1).retrieve("tea")) == 1
    made.close()


class DocumentedWithOwn(OptimizedRecallRetriever):
    def _get_relevant_documents(self, query, *, run_manager, mark=""):
        found = super()._get_relevant_documents(query, run_manager=run_manager)
        return [Document(f"{mark}{one.page_content}", metadata=one.metadata) for one in found]

    async def _aget_relevant_documents(self, query, *, run_manager):
        return await super()._aget_relevant_documents(query, run_manager=run_manager)


async def test_an_override_gets_an_argument_of_its_own_whatever_the_other_takes():
    with closing(DocumentedWithOwn.from_texts(["Tea is at five", "The deploy failed"])) as made:
        assert [one.page_content for one in made.invoke("tea", k=1, mark="mine: ")] == ["mine: Tea is at five"]
        assert [one.page_content for one in await made.ainvoke("tea", k=1)] == ["Tea is at five"]


async def test_a_vector_that_an_override_cannot_take_is_refused():
    with closing(Noded.from_texts(["Tea is at five"])) as made:
        vector = made.optimizer.store.embedding.embed_query("tea")
        with pytest.raises(InvalidArgument, match="Unknown argument query_vector"):
            made.invoke("tea", query_vector=vector)
        with pytest.raises(InvalidArgument, match="Unknown argument query_vector"):
            await made.ainvoke("tea", query_vector=vector)


def test_highlights_can_be_asked_for_in_a_call(retriever):
    assert "recall_highlights" in retriever.invoke("tea", k=1, highlights=True)[0].metadata
    assert "recall_highlights" not in retriever.invoke("tea", k=1)[0].metadata


def test_a_query_over_the_limit_is_cut_in_the_middle_everywhere(retriever):
    long = "when is tea? " + "pasted " * 10_000 + " when is tea?"
    assert retriever.invoke(long) and retriever.retrieve(long)
    result = retriever.recall(long)
    assert [one.reason for one in result.degraded] == ["query.long"]
    assert len(result.query.original) == 32_768 and result.query.original.endswith("when is tea?")


def test_a_model_of_openai_by_its_name_says_how(tmp_path):
    with pytest.raises(InvalidArgument, match=r"model of OpenAI.*OpenAIEmbeddings\(model"):
        OptimizedRecallRetriever.from_texts(["a"], path=tmp_path / "m", embedding="text-embedding-3-small")
    assert not (tmp_path / "m").exists()


def test_a_mapping_in_a_chain_says_what_to_do(retriever):
    with pytest.raises(InvalidQuery, match=r"itemgetter\('question'\)"):
        retriever.invoke({"question": "what is tea?"})


def test_the_key_of_what_is_no_json_is_named():
    when = datetime(2026, 3, 12, tzinfo=timezone.utc)
    with pytest.raises(InvalidMemory, match=r"Document 0: Memory.metadata\['when'\] cannot .*isoformat"):
        OptimizedRecallRetriever.from_documents([Document("a", metadata={"source": "wiki", "when": when})])
