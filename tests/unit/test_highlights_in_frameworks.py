"""Both frameworks' metadata say what speaks for a hit, where that is asked for."""

from __future__ import annotations

import json

import pytest

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer
from recall_integrations.errors import InvalidArgument


def test_metadata_have_places_of_the_text_only_where_they_are_asked_for() -> None:
    with MemoryStore.open() as store:
        store.remember(Memory("The deploy is on Friday", id="m"))
        plain = OptimizedRecallRetriever(optimizer=QueryOptimizer(store), k=1)
        marked = plain.model_copy(update={"highlights": True})
        assert "recall_highlights" not in plain.invoke("when is the deploy?")[0].metadata
        document, node = marked.invoke("when is the deploy?")[0], marked.retrieve("when is the deploy?")[0].node
        dated = marked.invoke("when is the deploy?", document_format="[{type}] {text}")[0]
    assert document.metadata["recall_highlights"] == node.metadata["recall_highlights"]
    for shown in (document, dated):
        words = [shown.page_content[start:end] for start, end, _ in shown.metadata["recall_highlights"]]
        assert words == ["deploy", "Friday"]
    assert "recall_highlights" in node.excluded_llm_metadata_keys
    json.dumps(document.metadata)


def test_it_is_yes_or_no() -> None:
    with MemoryStore.open() as store, pytest.raises(InvalidArgument, match="highlights"):
        OptimizedRecallRetriever(optimizer=QueryOptimizer(store), highlights="yes")
