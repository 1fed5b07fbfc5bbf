"""The retriever where LlamaIndex's users put one: LlamaIndex's own classes, none of ours."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime, timezone
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.span import SimpleSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.postprocessor import PrevNextNodePostprocessor, SimilarityPostprocessor
from llama_index.core.prompts import PromptTemplate, RichPromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever, RouterRetriever
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import RetrieverTool
from pydantic import Field

from recall_integrations import (
    Memory,
    MemoryStore,
    OptimizedRecallRetriever,
    QueryOptimizer,
    RecallConfig,
    RewritingConfig,
    errors,
)
from recall_integrations.adapters.nodes import RecallStepEvent
from recall_integrations.adapters.shapes import OURS

pytestmark = pytest.mark.usefixtures("no_hurry")
WHEN = datetime(2026, 3, 12, tzinfo=timezone.utc)
NOW = datetime(2026, 3, 20, tzinfo=timezone.utc)
ASKED = "which database did we choose?"
TEXT = """The shop began with MySQL.
It locked up under load.
We chose PostgreSQL as the database in March.
The move took a week.
Lunch on Fridays is at the Greek place.
The deploy failed since the certificate had expired."""


def nodes_as_parsed() -> list[TextNode]:
    document = Document(text=TEXT, id_="handbook")
    parser = SentenceWindowNodeParser.from_defaults(window_size=1, sentence_splitter=str.splitlines)
    nodes = parser.get_nodes_from_documents([document])
    assert len(nodes) >= 4
    for node in nodes:
        node.metadata.update(file="handbook.md", secret="4711")
        node.excluded_llm_metadata_keys.append("secret")
        node.excluded_embed_metadata_keys.append("file")
        node.metadata_template, node.metadata_separator = "{key} = {value}", " | "
        if "metadata_seperator" in type(node).model_fields:  # the oldest LlamaIndex has it twice
            node.metadata_seperator = " | "
        node.text_template, node.mimetype = "<{metadata_str}> {content}", "text/markdown"
    return nodes  # type: ignore[return-value]


@pytest.fixture(scope="module")
def nodes():
    return nodes_as_parsed()


@pytest.fixture(scope="module")
def retriever(nodes):
    made = OptimizedRecallRetriever.from_nodes(nodes, k=3, now=NOW, time_budget_ms=60_000)
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain():
    with MemoryStore.open() as store:
        store.remember(Memory("We chose PostgreSQL as the database", id="pg", actor="Priya", event_at=WHEN, thread="t"))
        store.remember(Memory("Lunch is at the Greek place", id="lunch", created_at=WHEN))
        optimizer = QueryOptimizer(store)
        yield OptimizedRecallRetriever(optimizer=optimizer, now=NOW, time_budget_ms=60_000)
        optimizer.close()


# -- nodes come back as they went in -----------------------------------------------------------------------------------


def without_ours(node: Any) -> dict[str, Any]:
    values: dict[str, Any] = node.model_dump()
    values["metadata"] = {key: value for key, value in values["metadata"].items() if key not in OURS}
    for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
        values[name] = [key for key in values[name] if key not in OURS]
    return values


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_nodes_come_back_as_they_went_in(retriever, nodes, mode):
    given = {node.node_id: node for node in nodes}
    found = retriever.retrieve(ASKED) if mode == "sync" else await retriever.aretrieve(ASKED)
    assert len(found) == 3
    for one in found:
        node, before = one.node, given[one.node.node_id]
        assert type(node) is TextNode and type(one) is NodeWithScore
        assert without_ours(node) == before.model_dump()
        assert node.hash == before.hash
        for shown in MetadataMode:
            if shown is not MetadataMode.ALL:
                assert node.get_content(metadata_mode=shown) == before.get_content(metadata_mode=shown)
        assert node.get_content(metadata_mode=MetadataMode.LLM) == f"<file = handbook.md> {before.text}"
        assert {NodeRelationship.SOURCE, NodeRelationship.PREVIOUS} & set(node.relationships)
        assert node.start_char_idx is not None
        assert node.metadata["recall_score"] == one.score
        assert node.metadata["recall_reason"] and node.metadata["recall_thread"] == "handbook"
        assert "recall_reason" in repr(node.metadata)


def test_the_nodes_before_and_after_are_found(retriever, nodes):
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    found = retriever.retrieve(ASKED)[:1]
    place = [node.node_id for node in nodes].index(found[0].node.node_id)
    around = PrevNextNodePostprocessor(docstore=docstore, num_nodes=1, mode="both")
    more = [one.node.node_id for one in around.postprocess_nodes(found)]
    assert more == [node.node_id for node in nodes[max(0, place - 1) : place + 2]]
    assert len(more) > 1


def test_nodes_of_memories_are_text_nodes(plain):
    found = plain.retrieve(ASKED)[0]
    node = found.node
    assert type(node) is TextNode
    assert (node.node_id, node.text, node.ref_doc_id) == ("pg", "We chose PostgreSQL as the database", "t")
    assert node.metadata["recall_actor"] == "Priya" and node.metadata["recall_date"] == "2026-03-12"
    assert node.get_content(metadata_mode=MetadataMode.LLM) == node.text


def pickled(node: Any) -> Any:
    return pickle.loads(pickle.dumps(node))


def dumped(node: Any, through: Any) -> dict[str, Any]:
    """What a node holds, without what the oldest LlamaIndex loses of its own nodes on that way."""
    plain = TextNode(text="x")
    plain.metadata_separator = " | "
    lost = set() if through(plain).metadata_separator == " | " else {"metadata_separator"}
    return {name: value for name, value in node.model_dump().items() if name not in lost}


@pytest.mark.parametrize(
    "through",
    [
        pickled,
        lambda n: TextNode.model_validate_json(n.model_dump_json()),
        lambda n: TextNode.from_json(n.to_json()),
        lambda n: TextNode.from_dict(json.loads(json.dumps(n.to_dict()))),
        lambda n: n.model_copy(deep=True),
        copy.deepcopy,
    ],
    ids=["pickle", "json", "to_json", "to_dict", "model_copy", "deepcopy"],
)
@pytest.mark.parametrize("which", ["retriever", "plain"])
def test_nodes_survive(request, which, through):
    for one in request.getfixturevalue(which).retrieve(ASKED):
        again = through(one.node)
        assert type(again) is TextNode
        assert dumped(again, through) == dumped(one.node, through)
        assert again.relationships == one.node.relationships
        scored = pickle.loads(pickle.dumps(one))  # LlamaIndex reads no JSON of a node with a score
        assert scored.score == one.score
        assert dumped(scored.node, pickled) == dumped(one.node, pickled)


def test_a_workflow_and_a_checkpointer_give_nodes_back(retriever):
    serializers = pytest.importorskip("workflows.context.serializers")
    serde = pytest.importorskip("langgraph.checkpoint.serde.jsonplus")
    node = retriever.retrieve(ASKED)[0].node
    for kind in (serializers.JsonSerializer, serializers.PickleSerializer):

        def through(one: Any, kind: Any = kind) -> Any:
            return kind().deserialize(kind().serialize(one))

        assert dumped(through(node), through) == dumped(node, through)
    strict = serde.JsonPlusSerializer(allowed_msgpack_modules=[("llama_index.core.schema", "TextNode")])
    assert strict.loads_typed(strict.dumps_typed(node)).model_dump() == node.model_dump()


def test_an_index_node_leads_to_what_it_stands_for():
    target = TextNode(text="PostgreSQL 15 on two machines", id_="target")
    inner = OptimizedRecallRetriever.from_texts(["Fridays: the Greek place"], ids=["inner"])
    given = [
        IndexNode(text="about the database", index_id="db", obj=target, id_="i1"),
        IndexNode(text="about lunch", index_id="lunch", obj=inner, id_="i2"),
        IndexNode(text="about nothing that is there", index_id="gone", id_="i3"),
    ]
    made = OptimizedRecallRetriever.from_nodes(given, k=1)
    assert made.retrieve("database")[0].node.node_id == "target"
    assert made.retrieve("lunch")[0].node.node_id == "inner"
    (left,) = made.retrieve("nothing there")
    assert (type(left.node), left.node.index_id) == (IndexNode, "gone")
    made.close()
    inner.close()


def test_images_and_documents_and_nodes_of_other_kinds():
    class Own(TextNode):
        colour: str = "red"

    given = [
        ImageNode(text="a cat on a red sofa", image_path="cat.png", id_="image"),
        ImageNode(image_path="nothing said.png", id_="silent"),
        Document(text="The deploy failed", id_="document", metadata={"file": "a.md"}),
        Node(text_resource=MediaResource(text="minutes of the meeting"), id_="node", metadata={"file": "b.md"}),
        Own(text="green tea in the kitchen", id_="own"),
    ]
    made = OptimizedRecallRetriever.from_nodes(given, k=1)

    def found(query: str) -> Any:
        return made.retrieve(query)[0].node

    assert (type(found("cat sofa")), found("cat sofa").image_path) == (ImageNode, "cat.png")
    assert type(found("deploy")) is TextNode and found("deploy").metadata["file"] == "a.md"
    assert type(found("minutes meeting")) is Node
    assert found("minutes meeting").hash == found("the meeting's minutes").hash
    assert (type(found("green tea")), found("green tea").node_id) == (TextNode, "own")
    assert made.optimizer.store.count() == 4
    made.close()


def test_bad_nodes_are_named_and_nothing_is_made():
    good = TextNode(text="a", id_="a")
    for bad, error, said in (
        (TextNode(text="b", id_="x" * 10_000), errors.InvalidMemory, "Node 1: .*10,000"),
        (TextNode(text="b", metadata={"at": NOW}), errors.InvalidMemory, "Node 1: .*metadata"),
        ("text", errors.InvalidArgument, "Document 1 is str"),
    ):
        with pytest.raises(error, match=said):
            OptimizedRecallRetriever.from_nodes([good, bad])
    made = OptimizedRecallRetriever.from_nodes([LangChainDocument(page_content="Tea is ready", id="t")])
    assert made.retrieve("tea")[0].node.node_id == "t"
    made.close()


def test_keys_of_ours_in_a_node_are_ours():
    given = TextNode(text="Tea is ready", id_="t", metadata={"recall_score": 7, "recall_context": "x", "n": 1})
    made = OptimizedRecallRetriever.from_nodes([given])
    found = made.retrieve("tea")[0]
    assert found.node.metadata["recall_score"] == found.score != 7
    assert "recall_context" not in found.node.metadata and found.node.metadata["n"] == 1
    made.close()


# -- how texts read ----------------------------------------------------------------------------------------------------


def test_an_llm_sees_when_and_by_whom(plain):
    dated = plain.model_copy(update={"document_format": "dated"})
    engine = RetrieverQueryEngine.from_args(dated, llm=MockLLM())
    answer = engine.query(ASKED)
    assert "[2026-03-12, Priya] We chose PostgreSQL" in str(answer)
    template = plain.model_copy(update={"document_format": "{actor}> {text}"})
    assert [one.node.text for one in template.retrieve(ASKED)] == [
        "Priya> We chose PostgreSQL as the database",
        "> Lunch is at the Greek place",
    ]
    assert plain.model_copy(update={"privacy": "block"}).retrieve(ASKED) == []


# -- in LlamaIndex's own classes ---------------------------------------------------------------------------------------


def test_in_a_query_engine(retriever):
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=MockLLM(), node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)]
    )
    answer = engine.query(ASKED)
    assert "chose PostgreSQL" in str(answer)
    assert "4711" not in str(answer) and "recall_" not in str(answer)
    assert len(answer.source_nodes) == 3


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_in_a_fusion_over_several_queries_a_node_comes_once(retriever, nodes, mode):
    from llama_index.core import VectorStoreIndex

    other = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8)).as_retriever(similarity_top_k=3)

    class Three(MockLLM):
        def complete(self, *_: Any, **__: Any) -> Any:
            return super().complete("PostgreSQL database\nwhat did we choose?\nthe move in March", formatted=True)

    fusion = QueryFusionRetriever(
        [retriever, other], llm=Three(), num_queries=4, mode=mode, similarity_top_k=20, use_async=False
    )
    found = [one.node.node_id for one in fusion.retrieve(ASKED)]
    assert len(found) == len(set(found)) >= 4


def test_in_a_router(retriever, plain):
    def tool(one: OptimizedRecallRetriever, about: str) -> RetrieverTool:
        return RetrieverTool.from_defaults(one, description=about)

    class Second(MockLLM):
        def predict(self, *_: Any, **__: Any) -> str:
            return json.dumps([{"choice": 2, "reason": "since"}])

    router = RouterRetriever(
        LLMSingleSelector.from_defaults(llm=Second()),
        [tool(retriever, "the handbook"), tool(plain, "notes")],
        llm=MockLLM(),
    )
    assert [one.node.node_id for one in router.retrieve(ASKED)] == ["pg", "lunch"]


def test_in_a_recursive_retriever(retriever, plain):
    root = OptimizedRecallRetriever.from_nodes([IndexNode(text="about the database", index_id="notes")])
    recursive = RecursiveRetriever("root", retriever_dict={"root": root, "notes": plain})
    assert recursive.retrieve("database")[0].node.node_id == "pg"
    root.close()


def test_a_tool_of_a_retriever(plain):
    tool = RetrieverTool.from_defaults(plain, description="notes")
    assert "We chose PostgreSQL as the database" in str(tool.call(ASKED))


def test_a_bundle_that_went_through_another_retriever(retriever, nodes):
    from llama_index.core import VectorStoreIndex

    bundle = QueryBundle(ASKED)
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8))
    index.as_retriever().retrieve(bundle)
    assert bundle.embedding is not None and len(bundle.embedding) == 8
    assert retriever.retrieve(bundle)[0].node.node_id == retriever.retrieve(ASKED)[0].node.node_id


# -- instrumentation ---------------------------------------------------------------------------------------------------


class Events(BaseEventHandler):
    seen: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Events"

    def handle(self, event: Any, **_: Any) -> None:
        self.seen.append(event)


class Spans(BaseSpanHandler[SimpleSpan]):
    ended: dict[str, Any] = Field(default_factory=dict)
    dropped: dict[str, Any] = Field(default_factory=dict)
    parents: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        return "Spans"

    def new_span(self, id_: str, *, parent_span_id: Any = None, **_: Any) -> Any:
        self.parents[id_] = parent_span_id
        return SimpleSpan(id_=id_, parent_id=parent_span_id)

    def prepare_to_exit_span(self, id_: str, *, result: Any = None, **_: Any) -> Any:
        self.ended[id_] = result
        return self.open_spans.get(id_)

    def prepare_to_drop_span(self, id_: str, *, err: Any = None, **_: Any) -> Any:
        self.dropped[id_] = err
        return self.open_spans.get(id_)


@pytest.fixture
def watched():
    root = get_dispatcher()
    events, spans = Events(), Spans()
    before = list(root.event_handlers), list(root.span_handlers)
    root.add_event_handler(events)
    root.add_span_handler(spans)
    yield events, spans
    root.event_handlers, root.span_handlers = before


def named(ids: Any) -> set[str]:
    return {span_id.split("-", 1)[0] for span_id in ids}


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_stages_and_arms_are_spans_and_events(plain, watched, mode):
    events, spans = watched
    found = plain.retrieve(ASKED) if mode == "sync" else await plain.aretrieve(ASKED)
    stages = {f"OptimizedRecallRetriever.{stage.name}" for stage in plain.optimizer.stages}
    assert stages | {"OptimizedRecallRetriever.arm.lexical"} <= named(spans.ended)
    assert not spans.dropped and not spans.open_spans
    for span_id, parent in spans.parents.items():
        if ".arm." in span_id:
            assert parent.startswith("OptimizedRecallRetriever.arms-")
        elif span_id.split("-", 1)[0] in stages:
            assert "retrieve-" in parent
    steps = {event.step: event for event in events.seen if isinstance(event, RecallStepEvent)}
    assert [hit["id"] for hit in steps["deliver"].outputs["hits"]] == [one.node.node_id for one in found]
    assert steps["deliver"].span_id in spans.ended
    assert steps["parse"].inputs == {"query": ASKED}
    assert [type(e) for e in events.seen if isinstance(e, RetrievalStartEvent | RetrievalEndEvent)] == [
        RetrievalStartEvent,
        RetrievalEndEvent,
    ]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_nobody_who_does_not_look_is_told(plain, monkeypatch, mode):
    from recall_integrations.recall import looking

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody looks on")

    monkeypatch.setattr(looking, "Watched", never)
    assert plain.retrieve(ASKED) if mode == "sync" else await plain.aretrieve(ASKED)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_what_fails_is_told_too(plain, watched, mode):
    events, spans = watched
    with pytest.raises(errors.InvalidQuery):
        if mode == "sync":
            plain.retrieve(" ")
        else:
            await plain.aretrieve(" ")
    told = [event for event in events.seen if isinstance(event, ExceptionEvent)]
    assert [type(event.exception) for event in told] == [errors.InvalidQuery]
    assert told[0].span_id in spans.dropped
    assert any(isinstance(error, errors.InvalidQuery) for error in spans.dropped.values())
    assert not spans.open_spans


def test_an_arm_that_fails_is_a_span_that_was_dropped(plain, watched):
    from recall_integrations.arms.retrievers import ArmSpec

    class Broken:
        name = "own"

        def search(self, _request: Any) -> Any:
            raise ValueError("no index")

    events, spans = watched
    optimizer = QueryOptimizer(plain.optimizer.store, arms=[ArmSpec(name="own", make=lambda _s, _c: Broken)])
    made = OptimizedRecallRetriever(optimizer=optimizer, now=NOW, time_budget_ms=60_000)
    assert made.retrieve(ASKED)
    assert named(spans.dropped) == {"OptimizedRecallRetriever.arm.own"}
    assert ["no index" in str(e.exception) for e in events.seen if isinstance(e, ExceptionEvent)] == [True]
    optimizer.close()


class Legacy(BaseCallbackHandler):
    def __init__(self) -> None:
        super().__init__([], [])
        self.ended: list[Any] = []

    def on_event_start(self, event_type: Any, payload: Any = None, event_id: str = "", **_: Any) -> str:
        return event_id

    def on_event_end(self, event_type: Any, payload: Any = None, event_id: str = "", **_: Any) -> None:
        self.ended.append((event_type, payload))

    def start_trace(self, trace_id: Any = None) -> None: ...

    def end_trace(self, trace_id: Any = None, trace_map: Any = None) -> None: ...


def test_the_older_callbacks_hear_of_errors(plain):
    seen = Legacy()
    made = OptimizedRecallRetriever(optimizer=plain.optimizer, callback_manager=CallbackManager([seen]))
    made.retrieve(ASKED)
    with pytest.raises(errors.InvalidQuery):
        made.retrieve(" ")
    (first, found), (second, failed) = seen.ended
    assert first == second == CBEventType.RETRIEVE
    assert found[EventPayload.NODES] and isinstance(failed[EventPayload.EXCEPTION], errors.InvalidQuery)


# -- prompts -----------------------------------------------------------------------------------------------------------


def test_the_prompt_of_the_rewrite_can_be_read_and_set(plain):
    asked: list[str] = []

    def llm(prompt: str) -> str:
        asked.append(prompt)
        return "the store that tables are kept in"

    config = RecallConfig(rewriting=RewritingConfig(mode="full", cache_s=0))
    optimizer = QueryOptimizer(plain.optimizer.store, llm=llm, config=config)
    made = OptimizedRecallRetriever(optimizer=optimizer, now=NOW, time_budget_ms=60_000)
    prompts = made.get_prompts()
    assert list(prompts) == ["rewrite_prompt"]
    assert isinstance(prompts["rewrite_prompt"], PromptTemplate) and "{query}" in prompts["rewrite_prompt"].template
    for n, template in enumerate(
        (
            PromptTemplate("1 Say {query} in other words."),
            PromptTemplate("2 Say {query_str} in other words."),
            RichPromptTemplate("3 Say {{ query }} in other words."),
            PromptTemplate("4 Say {q} in other words.", template_var_mappings={"query": "q"}),
        ),
        start=1,
    ):
        made.update_prompts({"rewrite_prompt": template, "unknown": template})
        made.retrieve(f"something about the storage of thing {n}")
        assert asked[-1] == f'{n} Say "something about the storage of thing {n}" in other words.'
    assert made.get_prompts()["rewrite_prompt"].template == "4 Say {query} in other words."
    with pytest.raises(errors.InvalidArgument, match="must hold {query}"):
        made.update_prompts({"rewrite_prompt": PromptTemplate("Say it.")})
    assert made.get_prompts(config={}) == []  # as LangChain asks
    twin = pickle.loads(pickle.dumps(plain))
    assert twin.get_prompts() == {}  # there is nobody to ask
    twin.optimizer.close()
    optimizer.close()
