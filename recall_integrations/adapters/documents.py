"""LangChain's documents: memories of them, and hits as them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from langchain_core.documents import Document

from recall_integrations.adapters.formats import Format
from recall_integrations.adapters.shapes import RESULT, Details, Made, own, places_of, said_of
from recall_integrations.types import Hit, Memory, MemoryType
from recall_integrations.types.moments import told_by

_documents = Made(Document(id="", page_content="", metadata={}))


def memory_of_document(document: Document) -> Memory | None:
    """The memory that a document makes, a `chunk`; its id stays, and so do its metadata, which may say when it was
    (`moments.WHEN`). `None` where it has no text.

    Raises:
        InvalidMemory: it cannot be stored; the message names the field.
    """
    if not document.page_content.strip():
        return None
    event_at, _ = told_by(document.metadata)
    return Memory(
        document.page_content, id=document.id, type=MemoryType.CHUNK, event_at=event_at, metadata=document.metadata
    )


def documents_of(
    hits: Iterable[Hit], text_of: Format, zone: tzinfo, *, highlights: bool = False, result_id: str = ""
) -> list[Document]:
    """Hits as plain documents, in order. Those whose text is withheld are left out: without it they say nothing.

    Args:
        hits: of a recall.
        text_of: their text.
        zone: in which dates are days.
        highlights: whether their metadata say what speaks for them.
        result_id: of the recall.
    """
    return [_document(hit, text_of(hit, zone), zone, highlights, result_id) for hit in hits if hit.memory.text]


def _document(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> Document:
    metadata = Details({**own(hit.memory.metadata), **said_of(hit, zone)})
    if result_id:
        metadata[RESULT] = result_id
    if highlights:
        metadata.update(places_of(hit, text))
    return _documents.like({"id": hit.memory.id, "page_content": text, "metadata": metadata})
