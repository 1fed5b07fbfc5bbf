"""What LlamaIndex's agents and pipelines keep in a store: `Memory`, `IngestionPipeline`, tools of a `FunctionAgent`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery

from recall_integrations import MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidMemory, InvalidScope
from recall_integrations.frameworks.chat_history import remember_turns
from recall_integrations.frameworks.llamaindex_ingestion import EmbeddedByStore, RecallVectorStore
from recall_integrations.frameworks.llamaindex_memory import RecallMemoryBlock
from recall_integrations.frameworks.tools import memory_tools

pytestmark = pytest.mark.usefixtures("no_hurry")
U1 = Scope(user_id="u1")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as made:
        yield made


def said(role: str, text: str, **more: Any) -> ChatMessage:
    return ChatMessage(role=role, content=text, additional_kwargs=more)


# -- memory ------------------------------------------------------------------------------------------------------------


async def test_what_falls_out_of_the_short_memory_comes_back(store: MemoryStore) -> None:
    block = RecallMemoryBlock(store=store, scope=U1)
    memory = Memory.from_defaults(session_id="s1", token_limit=60, token_flush_size=10, memory_blocks=[block])
    await memory.aput_messages(
        [
            said("user", "My sister Priya moved to Lisbon in March."),
            said("assistant", "I will keep that in mind, and ask how she likes it there."),
            said("user", "The weather is fine, and I like to go out for a walk now."),
            said("assistant", "Enjoy it then, it is going to rain soon enough."),
            said("user", "Where did my sister move?"),
        ]
    )
    messages = await memory.aget()
    assert messages[0].role == "system" and "user] My sister Priya moved to Lisbon" in str(messages[0].content)
    assert {m.thread for m in store.reader.fetch_ids(1, _ids(store)).values()} == {"s1"}
    assert store.count() == 0 and store.count(scope=U1) >= 2
    other = Memory.from_defaults(session_id="s2", memory_blocks=[RecallMemoryBlock(store=store, scope=U1)])
    assert "Lisbon" in str((await other.aget(input="Where does Priya live?"))[0].content)


def _ids(store: MemoryStore) -> list[str]:
    return list(store.view(1).ids)


async def test_messages_of_every_kind(store: MemoryStore) -> None:
    block = RecallMemoryBlock(store=store, scope=U1)
    call = ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"query": "ravens"})
    messages = [
        ChatMessage(role="user", blocks=[TextBlock(text="Look at this raven"), ImageBlock(url="http://x/y.png")]),
        ChatMessage(role="assistant", blocks=[call]),
        ChatMessage(role="tool", content="Ravens are corvids.", additional_kwargs={"tool_call_id": "1"}),
        ChatMessage(role="user", blocks=[ImageBlock(url="http://x/z.png")]),
        ChatMessage(role="assistant", content=None),
    ]
    await block.aput(messages, from_short_term_memory=True, session_id="s1")
    await block.aput(messages, from_short_term_memory=True, session_id="s1")  # tried again after an error
    texts = [m.text for m in store.reader.fetch_ids(1, _ids(store)).values()]
    assert texts == ["Look at this raven", 'called search(query="ravens")', "Ravens are corvids."]
    assert await block.aget([messages[3]]) == "" == await block.aget([]) == await block.aget(None)
    assert "corvids" in await block.aget([said("user", "what are ravens?"), said("assistant", "Hm.")])
    assert "raven" in await block.aget([said("user", "ravens? " * 4_000)])


async def test_one_session_alone_and_truncation(store: MemoryStore) -> None:
    block = RecallMemoryBlock(store=store, scope=U1, this_session_only=True, k=2, score_min=0)
    for session in ("s1", "s2"):
        await block.aput([said("user", f"Tea in {session}"), said("user", f"Sea in {session}")], session_id=session)
    found = await block.aget([said("user", "tea?")], session_id="s2")
    assert found.splitlines()[0].endswith("user] Tea in s2") and "s1" not in found
    assert await block.atruncate(found, 1) == found.splitlines()[0]
    assert await block.atruncate(found, 1_000) is None
    quiet = RecallMemoryBlock(store=store, accept_short_term_memory=False)
    await quiet.aput([said("user", "hush")], from_short_term_memory=True)
    assert store.count() == 0


def test_a_block_needs_a_store() -> None:
    with pytest.raises(InvalidArgument, match="Give a MemoryStore"):
        RecallMemoryBlock(store="memories/")


# -- ingestion ---------------------------------------------------------------------------------------------------------


def pipeline(sink: RecallVectorStore) -> IngestionPipeline:
    return IngestionPipeline(
        transformations=[SentenceSplitter(chunk_size=64, chunk_overlap=0), EmbeddedByStore()],
        vector_store=sink,
        docstore=SimpleDocumentStore(),
    )


async def test_documents_are_split_stored_replaced_and_deleted(store: MemoryStore) -> None:
    sink = RecallVectorStore(store=store, scope=U1)
    pipe = pipeline(sink)
    first = Document(text="The deploy is on Friday. " * 20, doc_id="d1", metadata={"team": "kestrel"})
    second = Document(text="Tea is ready.", doc_id="d2")
    assert len(pipe.run(documents=[first, second])) == store.count(scope=U1) > 2
    assert pipe.run(documents=[first, second]) == []
    (node,) = await pipe.arun(documents=[Document(text="The deploy is on Monday.", doc_id="d1"), second])
    assert store.count(scope=U1) == 2
    memory = store.get(node.node_id, scope=U1)
    assert memory is not None and (memory.thread, memory.type, memory.text) == (
        "d1",
        "chunk",
        "The deploy is on Monday.",
    )
    await sink.adelete("d1")
    sink.delete_ref_doc("nothing")
    assert store.count(scope=U1) == 1
    sink.delete_nodes(_ids(store))
    assert store.count(scope=U1) == 0


def test_nodes_of_a_sink(store: MemoryStore) -> None:
    sink = RecallVectorStore(store=QueryOptimizer(store))
    nodes = [TextNode(text="green tea", id_="a"), TextNode(text="  ", id_="b"), TextNode(text="ravens", id_="c")]
    assert sink.add(nodes) == ["a", "b", "c"] and store.count() == 2
    with pytest.raises(InvalidMemory, match="node 'x"):
        sink.add([TextNode(text="more", id_="d"), TextNode(text="bad", id_="x" * 10_000)])
    assert store.count() == 2 and sink.client is store
    index = VectorStoreIndex.from_vector_store(sink, embed_model=MockEmbedding(3))
    assert [n.node_id for n in index.as_retriever(similarity_top_k=1).retrieve("which tea?")] == ["a"]
    found = sink.query(VectorStoreQuery(query_str="tea", similarity_top_k=2, doc_ids=["none"]))
    assert found.ids == []
    found = sink.query(
        VectorStoreQuery(query_str="tea", filters=MetadataFilters.from_dicts([{"key": "kind", "value": "x"}]))
    )
    assert found.ids == []
    (again,) = sink.get_nodes(["c", "nothing"])
    assert (again.node_id, again.get_content()) == ("c", "ravens")
    kept = MetadataFilters.from_dicts([{"key": "kind", "value": "bird"}])
    sink.add(
        [
            TextNode(text="crows", id_="e", metadata={"kind": "bird"}),
            TextNode(text="x", id_="f", metadata={"kind": "bird"}),
        ]
    )
    assert [n.node_id for n in sink.get_nodes(filters=kept)] == ["e", "f"]
    assert [n.node_id for n in sink.get_nodes(["f", "c"], kept)] == ["f"]
    sink.delete_nodes(["f", "c"], kept)
    assert {n.node_id for n in sink.get_nodes()} == {"a", "c", "e"}
    sink.delete_nodes(filters=kept)
    index.delete_ref_doc("a")
    assert store.count() == 1
    sink.clear()
    assert store.count() == 0


# -- tools -------------------------------------------------------------------------------------------------------------


async def test_an_agent_remembers_recalls_and_forgets(store: MemoryStore) -> None:
    def calls(name: str, **kwargs: Any) -> ChatMessage:
        block = ToolCallBlock(tool_call_id=name, tool_name=name, tool_kwargs=kwargs)
        return ChatMessage(role="assistant", blocks=[block])

    turns = iter(
        [
            calls("remember_this", text="Priya likes green tea", type="preference"),
            calls("recall_memory", query="what does Priya drink?", since=None),
            calls("recall_memory"),
            calls("forget_this", memory_id="nope"),
            ChatMessage(role="assistant", content="Green tea."),
        ]
    )
    answers: list[str] = []

    def generate(messages: Any, **_more: Any) -> ChatMessage:
        answers.extend(str(m.content) for m in messages[-1:] if m.role == "tool")
        return next(turns)

    llm = MockFunctionCallingLLM(response_generator=generate, is_chat_model=True)
    agent = FunctionAgent(tools=list(memory_tools(store, scope=lambda: U1, framework="llamaindex")), llm=llm)
    assert str(await agent.run("What does Priya drink?")) == "Green tea."
    assert answers[0].startswith("Remembered (id: ") and "Priya likes green tea (id: " in answers[1]
    assert "Field required" in answers[2] and "Recall it first" in answers[3]


@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
def test_schemas_are_simple(store: MemoryStore, framework: Any) -> None:
    for tool in memory_tools(store, framework=framework):
        schema = tool.args if framework == "langchain" else tool.metadata.get_parameters_dict()["properties"]
        assert 1 <= len(schema) <= 4
        assert all(
            field["type"] in ("string", "integer") and len(field["description"]) < 80 for field in schema.values()
        )


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"query": "tea", "since": "monday"}, "since is 'monday', which is no date"),
        ({"query": " "}, "The query is empty"),
        ({"query": "tea", "since": "2026-03-12", "until": "2026-03-11"}, "after must lie before"),
        ({"query": "tea", "since": "2026-03-13"}, "Nothing is remembered"),
        ({"query": "tea", "since": "2026-03-12", "until": "2026-03-12"}, "green tea"),
        ({"query": "tea", "until": "9999-12-31"}, "green tea"),
        ({"query": "tea", "until": "2026-03-12T09:00:00Z"}, "green tea"),
        ({"query": "tea", "until": "2026-03-12T08:59:59Z"}, "Nothing is remembered"),
    ],
)
def test_days_and_mistakes(store: MemoryStore, given: dict[str, str], answer: str) -> None:
    recall, remember, _ = memory_tools(store)
    assert "Remembered" in remember.invoke({"text": "green tea", "happened_on": "2026-03-12T09:00:00Z"})
    assert "Unknown memory type" in remember.invoke({"text": "tea", "type": "song"})
    assert answer in recall.invoke(given)


def test_another_framework_is_an_error(store: MemoryStore) -> None:
    given: Any = "haystack"
    with pytest.raises(InvalidArgument, match="'langchain'"):
        memory_tools(store, framework=given)


@pytest.mark.parametrize("bridge", [RecallMemoryBlock, RecallVectorStore])
def test_an_argument_that_is_not_known_is_no_default_scope(store: MemoryStore, bridge: Any) -> None:
    with pytest.raises(InvalidArgument, match="Unknown argument user_id.*scope"):
        bridge(store=store, user_id="u1")


def test_a_scope_that_nobody_knows_is_not_everybodys(store: MemoryStore) -> None:
    store.remember("Priya likes green tea")
    recall, remember, forget = memory_tools(store, scope=lambda: None)  # type: ignore[arg-type, return-value]
    for told in (recall.invoke({"query": "tea"}), remember.invoke({"text": "Tea"}), forget.invoke({"memory_id": "m"})):
        assert "returned None" in told
    with pytest.raises(InvalidScope, match="returned None"):
        remember_turns(store, scope=lambda: None)({"messages": ["x"]}, {})  # type: ignore[arg-type, return-value]
    assert store.count() == 1


def test_filters_without_a_condition_remove_nothing(store: MemoryStore) -> None:
    sink = RecallVectorStore(store=store)
    sink.add([TextNode(text="alpha", id_="a"), TextNode(text="beta", id_="b")])
    with pytest.raises(InvalidFilter, match=r"clear\(\)"):
        sink.delete_nodes(filters=MetadataFilters(filters=[]))
    sink.delete_nodes("ab")  # type: ignore[arg-type]  # one id, and not two of a letter
    assert store.count() == 2
    sink.delete_nodes("a")  # type: ignore[arg-type]
    assert [node.node_id for node in sink.get_nodes()] == ["b"]


def test_what_is_no_node_is_named(store: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="nodes; an item of it is str"):
        RecallVectorStore(store=store).add(["text"])  # type: ignore[list-item]


@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
def test_models_write_null_and_capitals(store: MemoryStore, framework: Any) -> None:
    recall, remember, _ = memory_tools(store, framework=framework)

    def call(tool: Any, **given: Any) -> str:
        return str(tool.invoke(given) if framework == "langchain" else tool.call(**given).content)

    for kind in (None, "", "Preference"):
        assert call(remember, text="Priya likes green tea", type=kind).startswith("Remembered")
    assert sorted(memory.type.value for memory in store.list()) == ["fact", "fact", "preference"]
    assert call(recall, query="tea", limit=None).count("green tea") == 3


def test_every_model_is_told_which_types_there_are(store: MemoryStore) -> None:
    ours, theirs = memory_tools(store)[1], memory_tools(store, framework="llamaindex")[1]
    told = convert_to_openai_tool(ours)["function"]["parameters"]["properties"]["type"]
    assert told["enum"] == ["fact", "preference", "event", "skill", "observation"]
    assert theirs.metadata.get_parameters_dict()["properties"]["type"]["enum"] == told["enum"]
