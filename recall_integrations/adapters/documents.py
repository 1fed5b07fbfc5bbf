"""LangChain's documents: as memories, and hits as documents."""

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
    """Return the memory that a document makes, a `chunk`. It keeps the id and the metadata, which may give the time
    (`moments.WHEN`). `None` where the document has no text.
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
    """Return hits as plain documents, in order, without hits whose text is withheld: they would say nothing."""
    return [_document(hit, text_of(hit, zone), zone, highlights, result_id) for hit in hits if hit.memory.text]


def _document(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> Document:
    metadata = Details({**own(hit.memory.metadata), **said_of(hit, zone)})
    if result_id:
        metadata[RESULT] = result_id
    if highlights:
        metadata.update(places_of(hit, text))
    return _documents.like({"id": hit.memory.id, "page_content": text, "metadata": metadata})
