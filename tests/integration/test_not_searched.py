"""Whoever shows an answer tells "nothing is known" from "nothing could be looked at"."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from langchain_core.callbacks import BaseCallbackHandler
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload, LlamaDebugHandler
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import ChatMessage
from llama_index.core.vector_stores import VectorStoreQuery
from llama_index_instrumentation import get_dispatcher

from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig
from recall_integrations.adapters.documents import NOT_SEARCHED
from recall_integrations.cli import main
from recall_integrations.config import LimitsConfig
from recall_integrations.delivery import showing
from recall_integrations.errors import NotSearched
from recall_integrations.frameworks.langgraph import RecallStore
from recall_integrations.frameworks.llamaindex_ingestion import RecallVectorStore
from recall_integrations.frameworks.llamaindex_memory import RecallMemoryBlock
from recall_integrations.frameworks.mcp import memory_server
from recall_integrations.frameworks.tools import memory_tools
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Limits, Served

QUERY = "what is the cat called?"
ITEM = {"text": "My cat is called Otto"}
NOT_YET = "Memory is not available yet"
NOTHING = "Nothing is remembered about that"
IMPATIENT = RecallConfig(limits=LimitsConfig(time_budget_ms=50, load_wait_ms=0))


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueryOptimizer]:
    """A store that has just been opened, and whose memories stay on their way as long as the test runs."""
    with RecallStore.open(tmp_path / "store") as items:
        items.put(("users", "u1"), "cat", ITEM)
    go = threading.Event()
    with MemoryStore.open(tmp_path / "store") as store:
        view = store.view
        monkeypatch.setattr(store, "view", lambda scope_id: go.wait(60) and view(scope_id))
        monkeypatch.setattr(showing, "_told", set())
        yield QueryOptimizer(store, config=IMPATIENT)
        go.set()


def test_tools_say_that_memory_is_not_available_yet(cold: QueryOptimizer) -> None:
    asked = memory_tools(cold)[0].invoke({"query": QUERY})
    called = str(memory_tools(cold, framework="llamaindex")[0].call(query=QUERY))
    for said in (asked, called):
        assert said.startswith(NOT_YET) and "load: timeout" in said and NOTHING not in said


async def test_tools_say_so_without_blocking(cold: QueryOptimizer) -> None:
    said = await memory_tools(cold)[0].ainvoke({"query": QUERY})
    assert said.startswith(NOT_YET)


async def test_mcp_answers_with_an_error(cold: QueryOptimizer) -> None:
    async with mcp.Client(memory_server(cold)) as client:
        for tool in ("recall", "explain"):
            result = await client.call_tool(tool, {"query": QUERY})
            said: Any = result.content[0]
            assert result.is_error and NOT_YET in said.text and NOTHING not in said.text


async def test_the_block_says_so_in_the_prompt(cold: QueryOptimizer) -> None:
    said = await RecallMemoryBlock(store=cold)._aget([ChatMessage(QUERY)])
    assert said.startswith(NOT_YET) and "\n" not in said


def test_the_store_of_langgraph_raises(cold: QueryOptimizer) -> None:
    items = RecallStore(cold)
    with pytest.raises(NotSearched, match=NOT_YET):
        items.search(("users",), query=QUERY)
    assert [item.key for item in items.search(("users",))] == ["cat"]  # without a query nothing is searched


async def test_retrievers_warn_once_for_a_cause(cold: QueryOptimizer, caplog: pytest.LogCaptureFixture) -> None:
    retriever = OptimizedRecallRetriever(optimizer=cold)
    with caplog.at_level(logging.WARNING, logger="recall_integrations"):
        assert retriever.invoke(QUERY) == retriever.retrieve(QUERY) == []
        assert await retriever.ainvoke(QUERY) == await retriever.aretrieve(QUERY) == []
        assert RecallVectorStore(store=cold).query(VectorStoreQuery(query_str=QUERY)).nodes == []
    (warned,) = [record for record in caplog.records if "could be searched" in record.getMessage()]
    assert "load: timeout" in warned.getMessage() and "cat" not in warned.getMessage()


class Handler(BaseCallbackHandler):
    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.tags: list[list[str]] = []

    def on_chain_error(self, error: BaseException, **_more: Any) -> None:
        self.errors.append(error)

    def on_retriever_end(self, _documents: Any, *, tags: list[str] | None = None, **_more: Any) -> None:
        self.tags.append(tags or [])


async def test_callbacks_of_langchain_are_told(cold: QueryOptimizer) -> None:
    retriever, handler = OptimizedRecallRetriever(optimizer=cold), Handler()
    retriever.invoke(QUERY, config={"callbacks": [handler], "tags": ["mine"]})
    await retriever.ainvoke(QUERY, config={"callbacks": [handler], "tags": ["mine"]})
    assert [type(error) for error in handler.errors] == [NotSearched, NotSearched]
    assert [set(tags) for tags in handler.tags] == [{"mine", NOT_SEARCHED}] * 2


def test_callbacks_of_llamaindex_are_told(cold: QueryOptimizer) -> None:
    seen: list[Any] = []

    class Events(BaseEventHandler):
        def handle(self, event: Any, **_more: Any) -> None:
            seen.append(event)

    dispatcher, events, debug = get_dispatcher(), Events(), LlamaDebugHandler(print_trace_on_end=False)
    dispatcher.add_event_handler(events)
    try:
        OptimizedRecallRetriever(optimizer=cold, callback_manager=CallbackManager([debug])).retrieve(QUERY)
    finally:
        dispatcher.event_handlers.remove(events)
    (told,) = [event for event in seen if event.class_name() == "RecallNotSearchedEvent"]
    assert NOT_YET in told.message
    ((started, _ended),) = debug.get_event_pairs(CBEventType.EXCEPTION)
    assert started.payload is not None and isinstance(started.payload[EventPayload.EXCEPTION], NotSearched)


def test_http_has_a_field(cold: QueryOptimizer) -> None:
    with TestClient(
        create_app(Served(store=cold.store, optimizer=cold, limits=Limits())), base_url="http://localhost"
    ) as client:
        reply = client.post("/recall", json={"query": QUERY})
        assert reply.status_code == 200 and reply.json()["searched"] is False and reply.json()["hits"] == []
        refused = client.post("/recall", json={"query": QUERY, "strict": True})
        assert refused.status_code == 504 and refused.json()["result"]["searched"] is False


def test_the_command_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember("My cat is called Otto")
    go, view = threading.Event(), MemoryStore.view
    monkeypatch.setattr(MemoryStore, "view", lambda self, scope_id: go.wait(60) and view(self, scope_id))
    monkeypatch.setenv("RECALL_LIMITS__TIME_BUDGET_MS", "50")
    monkeypatch.setenv("RECALL_LIMITS__LOAD_WAIT_MS", "0")
    try:
        said = CliRunner().invoke(main, ["search", str(tmp_path / "store"), QUERY], env={"COLUMNS": "200"})
    finally:
        go.set()
    assert said.exit_code == 0 and NOT_YET in said.output and "Nothing found" not in said.output


def test_what_was_looked_at_reads_as_before(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        optimizer = QueryOptimizer(store)
        assert memory_tools(optimizer)[0].invoke({"query": QUERY}).startswith(NOTHING)
        assert OptimizedRecallRetriever(optimizer=optimizer).invoke(QUERY) == []
        assert RecallStore(optimizer).search(("users",), query=QUERY) == []
