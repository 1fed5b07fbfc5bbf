"""Memories of conversations, with the models and messages of both frameworks, on both engines, in two processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from recall_integrations import MemoryStore, QueryOptimizer, Scope

ANSWERS = (
    "```json\n" + json.dumps([{"text": "I live in Berlin", "turns": [1], "type": "fact"}]) + "\n```",
    json.dumps({"text": "I moved to Lisbon", "turns": [1], "is": "update", "old": 1}),
    json.dumps({"text": "I moved to Lisbon", "turns": [1], "is": "repeat", "old": 1}),
)


class Model(CustomLLM):
    """A model of LlamaIndex that answers from a list."""

    answers: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.answers.pop(0), raw={"usage": {"prompt_tokens": 7, "completion_tokens": 3}})

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("engine", ["directory", "postgres"])
def test_memories_of_conversations_outlive_the_process(
    engine: str, fast_path: Path, request: pytest.FixtureRequest
) -> None:
    place: Any = fast_path / "store" if engine == "directory" else request.getfixturevalue("postgres_url")
    mine = Scope(user_id="mine")
    with MemoryStore.open(place) as store:
        optimizer = QueryOptimizer(store, llm=FakeListChatModel(responses=list(ANSWERS[:1])))
        turns = [HumanMessage("I live in Berlin, by the canal"), AIMessage("Lovely")]
        (berlin,) = optimizer.remember_conversation(turns, thread="a", scope=mine).items
    with MemoryStore.open(place) as store, MemoryStore.open(place) as beside:
        optimizer = QueryOptimizer(store, llm=Model(answers=list(ANSWERS[1:])))
        told = optimizer.remember_conversation([ChatMessage("I moved to Lisbon on Monday")], thread="b", scope=mine)
        (lisbon,) = told.items
        assert (lisbon.decision, lisbon.old) == ("update", berlin.id)
        assert told.usage == {"calls": 1, "tokens_in": 7, "tokens_out": 3}
        reader = QueryOptimizer(beside)
        assert [hit.memory.refs for hit in reader.recall("Lisbon", scope=mine).hits if hit.memory.id == lisbon.id] == [
            told.turns
        ]
        again = optimizer.remember_conversation([ChatMessage("yes, I moved to Lisbon")], thread="c", scope=mine)
        assert (again.items[0].decision, again.items[0].id) == ("repeat", lisbon.id)
        hits = {hit.memory.id: hit for hit in reader.recall("where do I live", k=9, scope=mine).hits}
        assert hits[lisbon.id].memory.refs == (*told.turns, *again.turns)  # another reader sees it at once
        assert hits[berlin.id].superseded_by == lisbon.id and hits[berlin.id].score < hits[lisbon.id].score
        history = beside.history(str(berlin.id), scope=mine)
        assert history.replaced_by[-1] == lisbon.id and len(history.evidence) == 1
    with MemoryStore.open(place) as store:
        store.reindex()  # rows are derived anew from the metadata
        assert store.history(str(lisbon.id), scope=mine).replaced == (berlin.id,)
        assert not store.facts(scope=mine, slot="@replaces", history=True)
