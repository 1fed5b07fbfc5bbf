"""The retriever where LangChain's users put one: LangChain's and LangGraph's own classes, none of ours."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import time
import uuid
from datetime import datetime, timezone
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumps, loads
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_core.tracers.schemas import Run
from langchain_core.vectorstores import InMemoryVectorStore

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
from recall_integrations.adapters.shapes import OF_MEMORY, OURS
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec

pytestmark = pytest.mark.usefixtures("no_hurry")
NOW = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
WHEN = datetime(2026, 3, 12, 23, 30, tzinfo=timezone.utc)
ASKED = "which database did we choose?"
MEMORIES = [
    Memory("We chose PostgreSQL as the database", id="pg", actor="Priya", event_at=WHEN, metadata={"source": "wiki"}),
    Memory("The database of the old shop is MySQL", id="my", created_at=WHEN, type="fact"),
    Memory("Lunch on Fridays is at the Greek place", id="lunch", actor="Sam", created_at=WHEN, thread="t", position=3),
    Memory("The deploy failed, the certificate had expired", id="deploy", created_at=WHEN, channel="slack"),
    Memory("Reach Lena at lena@example.com about the database", id="mail", created_at=WHEN),
]


@pytest.fixture(scope="module")
def store():
    with MemoryStore.open() as opened:
        opened.remember_many(MEMORIES)
        opened.remember(Memory("The database of the others is Oracle", id="other"), scope=Scope(user_id="u2"))
        yield opened


@pytest.fixture(scope="module")
def retriever(store):
    optimizer = QueryOptimizer(store)
    yield OptimizedRecallRetriever(optimizer=optimizer, k=3, now=NOW, time_budget_ms=60_000)
    optimizer.close()


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_documents_are_langchains_own(retriever):
    found = retriever.invoke(ASKED)
    assert {type(document) for document in found} == {Document}
    first = found[0]
    assert (first.id, first.page_content, first.metadata["source"]) == ("pg", MEMORIES[0].text, "wiki")
    assert first.metadata["recall_actor"] == "Priya"
    assert first.metadata["recall_date"] == "2026-03-12"
    assert first.metadata["recall_event_at"] == WHEN.isoformat()
    assert 0 < first.metadata["recall_score"] <= 1 and first.metadata["recall_reason"]
    assert all(set(OF_MEMORY) < set(document.metadata) for document in found)
    assert {key for document in found for key in document.metadata if key.startswith("recall_")} <= set(OURS)


@pytest.mark.parametrize(
    "through",
    [
        lambda d: pickle.loads(pickle.dumps(d)),
        lambda d: Document.model_validate_json(d.model_dump_json()),
        lambda d: Document(**json.loads(json.dumps(d.model_dump()))),
        lambda d: loads(dumps(d)),
        copy.deepcopy,
        lambda d: d.model_copy(deep=True),
    ],
    ids=["pickle", "json", "dump", "langchain", "deepcopy", "model_copy"],
)
def test_documents_survive(retriever, through):
    for document in retriever.invoke(ASKED):
        again = through(document)
        assert type(again) is Document
        assert (again.id, again.page_content, dict(again.metadata)) == (
            document.id,
            document.page_content,
            dict(document.metadata),
        )
        assert again == document


def test_what_is_written_needs_nothing_of_ours_to_be_read(retriever):
    document = retriever.invoke(ASKED)[0]
    assert b"recall_integrations" not in pickle.dumps(document)
    assert type(pickle.loads(pickle.dumps(document)).metadata) is dict


def test_a_checkpointer_that_is_strict_gives_documents_back(retriever, monkeypatch, caplog):
    graph_of = pytest.importorskip("langgraph.graph")
    memory = pytest.importorskip("langgraph.checkpoint.memory")
    serde = pytest.importorskip("langgraph.checkpoint.serde.jsonplus")
    from typing_extensions import TypedDict

    class State(TypedDict):
        question: str
        found: list[Document]
        about: dict[str, Any]

    def look(state: State) -> dict[str, Any]:
        found = retriever.invoke(state["question"])
        return {"found": found, "about": found[0].metadata}

    graph = graph_of.StateGraph(State)
    graph.add_node("look", look)
    graph.add_edge(graph_of.START, "look")
    saver = memory.InMemorySaver(serde=serde.JsonPlusSerializer(allowed_msgpack_modules=None))
    app = graph.compile(checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    app.invoke({"question": ASKED}, config)
    kept = app.get_state(config).values
    assert kept["found"] == retriever.invoke(ASKED)
    assert {type(document) for document in kept["found"]} == {Document}
    assert kept["about"] == dict(kept["found"][0].metadata)
    assert "Blocked" not in caplog.text and "unregistered" not in caplog.text


def test_two_documents_of_one_memory_are_equal_and_those_of_two_are_not(retriever):
    (one,) = retriever.invoke(ASKED, k=1)
    (same,) = retriever.invoke("PostgreSQL database", k=1)
    assert one.metadata["recall_score"] != same.metadata["recall_score"]
    assert one == same
    assert one != retriever.invoke("lunch", k=1)[0]
    plain = Document(id=one.id, page_content=one.page_content, metadata=dict(one.metadata))
    assert one == plain
    plain.metadata["recall_score"] = 0.0
    assert one != plain  # against what is not of a recall nothing is passed over


def test_keys_of_ours_are_ours():
    ours = {"recall_score": "mine", "recall_duplicates": ["x"], "recall_mine": 1, "n": 2}
    made = OptimizedRecallRetriever.from_texts(["Tea is ready"], metadatas=[ours], k=1)
    (found,) = made.invoke("tea")
    assert found.metadata["recall_score"] == made.recall("tea").hits[0].score
    assert "recall_duplicates" not in found.metadata  # there are none
    assert (found.metadata["recall_mine"], found.metadata["n"]) == (1, 2)
    assert made.recall("tea").hits[0].memory.metadata == ours
    assert made.invoke("tea", filters=Filters(metadata={"recall_score": "mine"}))
    again = OptimizedRecallRetriever.from_documents([found], k=1)  # what came back may go in again
    assert again.invoke("tea")[0].metadata["recall_reason"] == again.recall("tea").hits[0].reason
    made.close()
    again.close()


def test_blocked_texts_and_those_that_could_not_be_redacted_make_no_documents(retriever):
    assert retriever.invoke(ASKED, privacy="block") == []
    assert retriever.recall(ASKED, privacy="block").hits
    redacted = retriever.invoke("how do I reach Lena?", privacy="redact", k=5)
    assert redacted and all(document.page_content for document in redacted)
    assert "lena@example.com" not in str(redacted)


# -- what goes in ------------------------------------------------------------------------------------------------------


def test_documents_without_text_are_left_out_with_a_word(caplog):
    given = [Document(page_content=""), Document(page_content=" \n"), Document(page_content="Tea is ready", id="t")]
    made = OptimizedRecallRetriever.from_documents(given)
    assert [document.id for document in made.invoke("tea")] == ["t"]
    assert "2 of 3 have no text and were left out." in caplog.text
    made.close()


def test_llama_index_documents_go_in_as_well():
    from llama_index.core import Document as LlamaDocument
    from llama_index.core.schema import TextNode

    given = [LlamaDocument(text="Tea is ready", id_="a", metadata={"x": 1}), TextNode(text="Coffee is cold", id_="b")]
    made = OptimizedRecallRetriever.from_documents([*given, Document(page_content="Juice is sour", id="c")], k=1)
    (found,) = made.invoke("tea")
    assert (type(found), found.id, found.metadata["x"]) == (Document, "a", 1)
    assert "recall_node" not in found.metadata
    assert [made.invoke(q)[0].id for q in ("coffee", "juice")] == ["b", "c"]
    made.close()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (["plain"], errors.InvalidArgument, "Document 0 is str.*from_texts"),
        ([Document(page_content="a"), {"page_content": "b"}], errors.InvalidArgument, "Document 1 is dict"),
        ([Document(page_content="a", id="x" * 10_000)], errors.InvalidMemory, "Document 0: .*10,000"),
        ([Document(page_content="a", metadata={"at": NOW})], errors.InvalidMemory, "Document 0: .*metadata"),
        ([Document(page_content="a\ud800")], errors.InvalidMemory, "Document 0: .*surrogate"),
    ],
)
def test_what_cannot_go_in_is_named_and_nothing_is_made(given, error, said):
    with pytest.raises(error, match=said):
        OptimizedRecallRetriever.from_documents(given)


# -- how texts read ----------------------------------------------------------------------------------------------------


def test_an_llm_sees_when_and_by_whom(retriever):
    dated = retriever.model_copy(update={"document_format": "dated"})
    texts = {document.id: document.page_content for document in dated.invoke("database lunch", k=5)}
    assert texts["pg"] == "[2026-03-12, Priya] We chose PostgreSQL as the database"
    assert texts["my"] == "[2026-03-12] The database of the old shop is MySQL"
    assert dated.invoke(ASKED, document_format="text")[0].page_content == MEMORIES[0].text
    in_tokyo = dated.invoke(ASKED, timezone="Asia/Tokyo")[0]
    assert in_tokyo.page_content.startswith("[2026-03-13, Priya]")
    assert in_tokyo.metadata["recall_date"] == "2026-03-13"


async def test_a_template_says_it_in_other_words(retriever):
    template = "{actor} on {when:%d %b %Y}: {text} ({metadata[source]}, {score:.1f})"
    found = await retriever.ainvoke(ASKED, document_format=template)
    assert found[0].page_content.startswith("Priya on 12 Mar 2026: We chose PostgreSQL as the database (wiki, ")
    assert found[1].page_content.endswith(" (, " + format(found[1].metadata["recall_score"], ".1f") + ")")
    with pytest.raises(errors.InvalidArgument, match="no field 'speaker'"):
        retriever.invoke(ASKED, document_format="{speaker}: {text}")
    with pytest.raises(errors.InvalidArgument, match="must hold {text}"):
        OptimizedRecallRetriever(optimizer=retriever.optimizer, document_format="{actor}")


def test_what_the_format_adds_counts_where_tokens_are_counted(retriever):
    from recall_integrations.delivery.packing import estimate_tokens

    for most in (14, 20, 40):
        found = retriever.invoke(ASKED, tokens_max=most, document_format="dated", k=5)
        assert found[0].id == "pg"
        assert sum(estimate_tokens(document.page_content) for document in found) <= most
    assert found[0].page_content == "[2026-03-12, Priya] We chose PostgreSQL as the database"
    short = retriever.invoke(ASKED, tokens_max=14, document_format="dated", k=5)[0]
    assert short.page_content.startswith("[2026-03-12, Priya] We") and short.page_content.endswith("…")
    assert short.metadata["recall_reason"].count("cut to fit the token budget") == 1


def test_hits_below_a_score_are_left_out(retriever):
    whole = retriever.invoke(ASKED, k=5)
    least = whole[1].metadata["recall_score"]
    assert retriever.invoke(ASKED, k=5, score_min=least) == whole[:2]
    assert retriever.model_copy(update={"score_min": least}).invoke(ASKED, k=5) == whole[:2]


# -- in LangChain's own classes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_inside_the_multi_query_retriever_a_memory_comes_once(retriever, mode):
    classic = pytest.importorskip("langchain_classic.retrievers")
    asked = "database PostgreSQL\nwhich database is in use?\nwhat did we choose?"
    multi = classic.MultiQueryRetriever.from_llm(retriever=retriever, llm=FakeListLLM(responses=[asked]))
    found = multi.invoke("database?") if mode == "sync" else await multi.ainvoke("database?")
    assert len(found) > 3
    assert len({document.id for document in found}) == len(found)


def test_inside_the_ensemble_retriever(retriever):
    classic = pytest.importorskip("langchain_classic.retrievers")
    other = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    other.add_documents([Document(page_content=m.text, metadata={"recall_id": m.id}) for m in MEMORIES])
    ensemble = classic.EnsembleRetriever(
        retrievers=[retriever, other.as_retriever(search_kwargs={"k": 5})], weights=[0.9, 0.1], id_key="recall_id"
    )
    found = ensemble.invoke(ASKED)
    assert found[0].id == "pg" and len(found) == len(MEMORIES)
    with_itself = classic.EnsembleRetriever(retrievers=[retriever, retriever], weights=[0.5, 0.5])
    assert with_itself.invoke(ASKED) == retriever.invoke(ASKED)


class Longest(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return sorted(documents, key=lambda document: -len(document.page_content))[:1]


def test_inside_the_contextual_compression_retriever(retriever):
    classic = pytest.importorskip("langchain_classic.retrievers")
    compressors = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    squeezed = classic.ContextualCompressionRetriever(base_compressor=Longest(), base_retriever=retriever)
    assert len(squeezed.invoke(ASKED)) == 1
    embeddings = DeterministicFakeEmbedding(size=8)
    near = compressors.EmbeddingsFilter(embeddings=embeddings, similarity_threshold=-1.0, k=2)
    filtered = classic.ContextualCompressionRetriever(base_compressor=near, base_retriever=retriever)
    assert all(document.metadata["recall_id"] for document in filtered.invoke(ASKED))


def test_as_a_tool(retriever):
    shown = PromptTemplate.from_template("{recall_date} {recall_actor}{recall_thread}: {page_content}")
    tool = create_retriever_tool(
        retriever, "memory", "Looks things up.", document_prompt=shown, response_format="content_and_artifact"
    )
    text = tool.invoke({"query": ASKED})
    assert text.startswith("2026-03-12 Priya: We chose PostgreSQL as the database\n\n2026-03-12 ")
    message = tool.invoke({"type": "tool_call", "id": "1", "name": "memory", "args": {"query": ASKED}})
    assert message.artifact == retriever.invoke(ASKED)


# -- LCEL --------------------------------------------------------------------------------------------------------------


async def test_fields_can_be_configured(retriever):
    made = retriever.configurable_fields(
        k=ConfigurableField(id="k"), scope=ConfigurableField(id="scope"), document_format=ConfigurableField(id="shown")
    )
    assert made.invoke(ASKED) == retriever.invoke(ASKED)
    one = made.with_config(configurable={"k": 1, "shown": "dated"})
    assert [document.page_content for document in one.invoke(ASKED)] == [
        "[2026-03-12, Priya] We chose PostgreSQL as the database"
    ]
    other = await made.ainvoke(ASKED, {"configurable": {"scope": Scope(user_id="u2")}})
    assert [document.id for document in other] == ["other"]
    with pytest.raises(errors.InvalidArgument):
        made.invoke(ASKED, {"configurable": {"k": 0}})
    chosen = retriever.configurable_alternatives(
        ConfigurableField(id="which"), few=retriever.model_copy(update={"k": 1})
    )
    assert len(chosen.invoke(ASKED, {"configurable": {"which": "few"}})) == 1
    assert len(retriever.bind(k=2).invoke(ASKED)) == 2


class Fails(OptimizedRecallRetriever):
    """Fails as often as it is told to."""

    times: int = 10**9

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **given: Any) -> list[Document]:
        if self.times > 0:
            self.times -= 1
            raise errors.IndexUnavailable("down for a moment")
        return super()._get_relevant_documents(query, run_manager=run_manager, **given)


def test_fallbacks_and_retries(retriever):
    down = Fails(optimizer=retriever.optimizer, k=3, now=NOW)
    assert down.with_fallbacks([retriever]).invoke(ASKED) == retriever.invoke(ASKED)
    closed = QueryOptimizer(retriever.optimizer.store)
    closed.close()
    safe = OptimizedRecallRetriever(optimizer=closed).with_fallbacks([retriever])
    assert safe.batch([ASKED, ASKED]) == retriever.batch([ASKED, ASKED])
    nobody = RunnableLambda(lambda _: [])
    assert down.with_fallbacks([nobody], exceptions_to_handle=(errors.IndexUnavailable,)).invoke(ASKED) == []
    twice = Fails(optimizer=retriever.optimizer, k=3, now=NOW, times=2)
    patient = twice.with_retry(retry_if_exception_type=(errors.IndexUnavailable,), wait_exponential_jitter=False)
    assert patient.invoke(ASKED) == retriever.invoke(ASKED)
    with pytest.raises(errors.InvalidQuery):
        retriever.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).invoke(" ")


# -- callbacks ---------------------------------------------------------------------------------------------------------


class Runs(BaseCallbackHandler):
    """Every run: name, parent, inputs, outputs or error, and when."""

    def __init__(self) -> None:
        self.runs: dict[uuid.UUID, dict[str, Any]] = {}

    def on_retriever_start(self, _serialized: Any, query: str, *, run_id: Any, name: str = "", **_: Any) -> None:
        self.runs[run_id] = {"name": name, "parent": None, "inputs": query, "began": time.perf_counter()}

    def on_chain_start(
        self, _serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any, name: str = "", tags: Any, **_: Any
    ) -> None:
        began = time.perf_counter()
        self.runs[run_id] = {"name": name, "parent": parent_run_id, "inputs": inputs, "tags": tags, "began": began}

    def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
        self.runs[run_id].update(outputs=outputs, ended=time.perf_counter())

    on_retriever_end = on_chain_end

    def on_chain_error(self, error: Any, *, run_id: Any, **_: Any) -> None:
        self.runs[run_id].update(error=error, ended=time.perf_counter())

    on_retriever_error = on_chain_error

    def named(self, name: str) -> dict[str, Any]:
        (found,) = (run for run in self.runs.values() if run["name"] == name)
        return found


class AsyncRuns(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.ended = 0

    async def on_chain_start(self, *_: Any, name: str = "", **__: Any) -> None:
        await asyncio.sleep(0)
        self.names.append(name)

    async def on_chain_end(self, *_: Any, **__: Any) -> None:
        self.ended += 1


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_child_run_for_each_stage_and_arm(retriever, mode):
    seen = Runs()
    config: RunnableConfig = {"callbacks": [seen]}
    found = retriever.invoke(ASKED, config) if mode == "sync" else await retriever.ainvoke(ASKED, config)
    (root,) = (run_id for run_id, run in seen.runs.items() if run["parent"] is None)
    arms = next(run_id for run_id, run in seen.runs.items() if run["name"] == "recall.arms")
    stages = [run["name"] for run in seen.runs.values() if run["parent"] == root]
    assert stages == [f"recall.{stage.name}" for stage in retriever.optimizer.stages]
    assert {run["name"] for run in seen.runs.values() if run["parent"] == arms} >= {
        "recall.arm.semantic",
        "recall.arm.lexical",
    }
    assert seen.named("recall.parse")["inputs"] == {"query": ASKED}
    hits = seen.named("recall.deliver")["outputs"]["hits"]
    assert [hit["id"] for hit in hits] == [document.id for document in found]
    for run_id, run in seen.runs.items():
        assert "error" not in run and run["ended"] >= run["began"]
        if run_id != root:
            parent = seen.runs[run["parent"]]
            assert parent["began"] <= run["began"] and run["ended"] <= parent["ended"]
            assert "recall:step" in run["tags"]


async def test_async_handlers_are_told_as_well(retriever):
    seen = AsyncRuns()
    await retriever.ainvoke(ASKED, {"callbacks": [seen]})
    assert {"recall.parse", "recall.arm.lexical", "recall.deliver"} <= set(seen.names)
    assert seen.ended == len(seen.names)


def test_nobody_who_does_not_look_is_told(retriever, monkeypatch):
    from recall_integrations.recall import looking

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody looks on")

    monkeypatch.setattr(looking, "Watched", never)
    assert retriever.invoke(ASKED)


def test_an_arm_that_fails_is_a_run_that_failed_and_the_answer_comes(store):
    class Broken:
        name = "own"

        def search(self, _request: ArmRequest) -> ArmResult:
            raise ValueError("no index")

    optimizer = QueryOptimizer(store, arms=[ArmSpec(name="own", make=lambda _store, _config: Broken)])
    seen = Runs()
    made = OptimizedRecallRetriever(optimizer=optimizer, now=NOW, time_budget_ms=60_000)
    assert made.invoke(ASKED, {"callbacks": [seen]})
    assert "no index" in str(seen.named("recall.arm.own")["error"])
    assert "error" not in seen.named("recall.deliver")
    optimizer.close()


def test_an_error_ends_every_run(store):
    optimizer = QueryOptimizer(store)
    made = OptimizedRecallRetriever(optimizer=optimizer)
    seen = Runs()
    with pytest.raises(errors.InvalidQuery):
        made.invoke(" ", {"callbacks": [seen]})
    assert [type(run["error"]) for run in seen.runs.values()] == [errors.InvalidQuery]
    optimizer.close()


def test_what_is_withheld_is_in_no_run_of_a_stage(retriever):
    seen = Runs()
    retriever.invoke("how do I reach lena@example.com?", {"callbacks": [seen]}, privacy="redact")
    stages = [run for run in seen.runs.values() if run["parent"] is not None]
    assert len(stages) > 5
    assert all(run["inputs"] == {} and run["outputs"] == {} for run in stages)


async def test_events_are_streamed(retriever):
    events = [event async for event in retriever.astream_events(ASKED, version="v2")]
    began = [event["name"] for event in events if event["event"] == "on_chain_start"]
    ended = {event["name"]: event for event in events if event["event"] == "on_chain_end"}
    assert {"recall.plan", "recall.arms", "recall.arm.lexical", "recall.rank", "recall.deliver"} <= set(began)
    assert set(began) == set(ended)
    assert ended["recall.plan"]["data"]["output"]["plan"]
    assert (events[0]["event"], events[-1]["event"]) == ("on_retriever_start", "on_retriever_end")
    root = events[0]["run_id"]
    assert all(root in event["parent_ids"] for event in ended.values())
    few = [event async for event in retriever.astream_events(ASKED, version="v2", exclude_tags=["recall:step"])]
    assert [event["event"] for event in few] == ["on_retriever_start", "on_retriever_end"]


async def test_a_tracer_draws_the_tree(retriever):
    from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

    tracer = RunCollectorCallbackHandler()
    chain = retriever | RunnableLambda(lambda found: [document.id for document in found])
    assert chain.invoke(ASKED, {"callbacks": [tracer]})[0] == "pg"

    def names(run: Run) -> list[str]:
        return [run.name, *(name for child in run.child_runs for name in names(child))]

    (root,) = tracer.traced_runs
    assert {"OptimizedRecallRetriever", "recall.parse", "recall.arm.semantic"} <= set(names(root))
    times = [run for run in root.child_runs[0].child_runs if run.name == "recall.arms"]
    assert times[0].end_time >= times[0].start_time


def test_an_answer_that_was_kept_is_one_run(store):
    optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached"))
    made = OptimizedRecallRetriever(optimizer=optimizer, now=NOW, time_budget_ms=60_000)
    made.invoke(ASKED)
    seen = Runs()
    made.invoke(ASKED, {"callbacks": [seen]})
    assert [run["name"] for run in seen.runs.values()] == ["OptimizedRecallRetriever", "recall.cache"]
    optimizer.close()
