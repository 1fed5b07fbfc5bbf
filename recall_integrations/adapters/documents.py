"""LangChain: documents as memories, hits as documents, and a recall as callbacks see it, with a run for each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document

from recall_integrations.adapters.shapes import Details, Format, metadata_of
from recall_integrations.errors import NotSearched
from recall_integrations.types import Hit, Memory, MemoryType
from recall_integrations.types.memory import ID_CHARS_MAX
from recall_integrations.types.messages import told_by
from recall_integrations.types.numbers import is_whole

PAGE_CHARS = 1_000_000  # at most on a page


def memory_of_document(document: Document) -> Memory | None:
    """Return the memory that a document makes, a `chunk`. It keeps the id and the metadata, which may give the time
    (`messages.WHEN`). A chunk that tells its `source` and `start_index` has its place in that. `None` where the
    document has no text.
    """
    if not document.page_content.strip():
        return None
    event_at, _ = told_by(document.metadata)
    thread, position = _place(document.metadata)
    return Memory(
        document.page_content, id=document.id, type=MemoryType.CHUNK, event_at=event_at, thread=thread,
        position=position, metadata=document.metadata,
    )  # fmt: skip


def _place(metadata: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Return the thread and the position of a chunk that a text splitter made with `add_start_index=True`."""
    source, start, page = (metadata.get(key) for key in ("source", "start_index", "page"))
    page = page if is_whole(page) else 0
    if not is_whole(start) or min(start, page) < 0 or not isinstance(source, str) or not source.isprintable():
        return None, None
    return (source.strip() or None, page * PAGE_CHARS + start) if len(source) <= ID_CHARS_MAX else (None, None)


def documents_of(
    hits: Iterable[Hit], text_of: Format, zone: tzinfo, *, highlights: bool = False, result_id: str = ""
) -> list[Document]:
    """Return hits as plain documents, in order, without hits whose text is withheld: they would say nothing.

    They are not validated: what they hold was when it was remembered.
    """
    return [_document(hit, text_of(hit, zone), zone, highlights, result_id) for hit in hits if hit.memory.text]


def _document(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> Document:
    metadata = Details(metadata_of(hit, text, zone, highlights, result_id))
    return Document.model_construct(id=hit.memory.id, page_content=text, metadata=metadata)


TAG = "recall:step"  # of every such run: who does not want them excludes it
NOT_SEARCHED = "recall:not_searched"  # a tag of a retriever's run that has ended without having looked at anything


class Run:
    """A step of a recall that callbacks see (`types.watching.Step`)."""

    def __init__(self, run: CallbackManagerForRetrieverRun | CallbackManagerForChainRun) -> None:
        self._run = run

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Run:
        manager = self._run.get_child(TAG)
        return Run(manager.on_chain_start(None, dict(inputs), name=f"recall.{name}"))

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        if isinstance(self._run, CallbackManagerForRetrieverRun):
            return  # LangChain ends it
        if error is None:
            self._run.on_chain_end(dict(outputs))
        else:
            self._run.on_chain_error(error)


def run_of(manager: CallbackManagerForRetrieverRun) -> Run | None:
    """Return the step for callbacks of a retriever's run; `None` where there are no callbacks."""
    return Run(manager) if manager.inheritable_handlers else None


def tell_not_searched(
    run: CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun,
    told: CallbackManagerForRetrieverRun,
    error: NotSearched,
) -> None:
    """Tell callbacks that the list is empty because nothing could be looked at: by a step that failed, and by a tag."""
    run.tags = [*run.tags, NOT_SEARCHED]  # a list of its own: the other belongs to all runs of the call
    Run(told).begin("searched", {}).end({}, error)
