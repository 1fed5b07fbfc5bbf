"""LangChain's documents and LlamaIndex's nodes: as memories, and hits as either.

The other fields of a node (relationships, keys that are hidden from the LLM, templates, its place in
the document, …) are kept in the memory's metadata under `recall_node`, and are restored with the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from langchain_core.documents import Document
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import ValidationError

from recall_integrations.adapters.shapes import (
    IF_ANY,
    NODE,
    OF_MEMORY,
    OF_RECALL,
    RESULT,
    SCORE,
    Details,
    Format,
    NodeDetails,
    own,
    places_of,
    said_of,
)
from recall_integrations.types import Hit, Memory, MemoryType
from recall_integrations.types.memory import ID_CHARS_MAX
from recall_integrations.types.messages import told_by
from recall_integrations.types.numbers import is_whole

PAGE_CHARS = 1_000_000  # at most on a page


def memory_of_document(document: Document) -> Memory | None:
    """Return the memory that a document makes, a `chunk`. It keeps the id and the metadata, which may give the time
    (`moments.WHEN`). A chunk that tells its `source` and `start_index` has its place in that. `None` where the
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
    metadata = Details(_shown(hit, text, zone, highlights, result_id))
    return Document.model_construct(id=hit.memory.id, page_content=text, metadata=metadata)


def _shown(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> dict[str, Any]:
    """Return the metadata that a result of a hit shows."""
    answer = {RESULT: result_id} if result_id else {}
    return own(hit.memory.metadata) | said_of(hit, zone) | answer | (places_of(hit, text) if highlights else {})


# As the frameworks' own stores: a document comes back as a text node, and so does a node of a kind that is not known.
KINDS: dict[str, type[BaseNode]] = {kind.class_name(): kind for kind in (TextNode, IndexNode, ImageNode, Node)}
_KIND = "class_name"
_ELSEWHERE = {"id_", "text", "text_resource", "metadata", "embedding", "obj"}
_HIDDEN = [*OF_RECALL, *OF_MEMORY, *IF_ANY]


def memory_of_node(node: BaseNode) -> Memory | None:
    """Return the memory that a node makes, a `chunk`: it keeps the id, the document becomes the thread, and the
    metadata may give the time (`moments.WHEN`). `None` where the node has no text.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    if not text.strip():
        return None
    return Memory(
        text, id=node.node_id, type=MemoryType.CHUNK, event_at=told_by(node.metadata)[0],
        thread=getattr(node, "ref_doc_id", None), metadata={**own(node.metadata), **node_besides(node)},
    )  # fmt: skip


def node_besides(node: BaseNode) -> dict[str, Any]:
    """Return the fields of a node besides text and metadata, under the key that keeps them; empty without any."""
    bare = node.model_copy(update={"obj": None}) if isinstance(node, IndexNode) else node
    besides = bare.model_dump(mode="json", exclude=_ELSEWHERE, exclude_defaults=True)
    besides = {name: value for name, value in besides.items() if name not in _ELSEWHERE}
    if besides.get(_KIND) not in KINDS:
        besides[_KIND] = TextNode.class_name()
    return {} if besides == {_KIND: TextNode.class_name()} else {NODE: besides}


def objects_of(nodes: Iterable[Any]) -> dict[str, Any]:
    """Return the objects that index nodes lead to, by `index_id`."""
    found = (node for node in nodes if isinstance(node, IndexNode))
    return {node.index_id: node.obj for node in found if node.obj is not None}


def nodes_of(
    hits: Iterable[Hit], text_of: Format, zone: tzinfo, *, highlights: bool = False, result_id: str = ""
) -> list[NodeWithScore]:
    """Return hits as plain nodes with their scores, in order, without hits whose text is withheld."""
    nodes = [(_node(hit, text_of(hit, zone), zone, highlights, result_id), hit) for hit in hits if hit.memory.text]
    return [NodeWithScore(node=node, score=hit.score) for node, hit in nodes]


def documents_of_nodes(nodes: Iterable[NodeWithScore]) -> list[Document]:
    """Return nodes as documents, with the score in the metadata."""
    scored = ((n.node, {} if n.score is None else {SCORE: n.score}) for n in nodes)
    return [Document(n.get_content(), id=n.node_id, metadata={**n.metadata, **score}) for n, score in scored]


def nodes_of_documents(documents: Iterable[Document]) -> list[NodeWithScore]:
    """Return documents as text nodes, with the score that is in the metadata."""
    hidden = dict.fromkeys(("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"), _HIDDEN)
    nodes = [
        (TextNode(text=d.page_content, metadata=d.metadata, **hidden, **({"id_": d.id} if d.id else {})), d)
        for d in documents
    ]
    return [NodeWithScore(node=node, score=d.metadata.get(SCORE)) for node, d in nodes]


def _node(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> BaseNode:
    memory, metadata = hit.memory, NodeDetails(_shown(hit, text, zone, highlights, result_id))
    kept = memory.metadata.get(NODE)
    node = None if not isinstance(kept, dict) else _again(kept, memory, text)
    if node is None:
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=memory.thread)} if memory.thread else {}
        node = TextNode(id_=memory.id or "", text=text, relationships=source)
    values = node.__dict__  # an assignment would validate it, and make the metadata a plain dict
    for name in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        values[name] = [*values[name], *_HIDDEN]
    if isinstance(node, Node):  # its hash reads all metadata, whatever they are as text
        metadata = NodeDetails((key, value) for key, value in metadata.items() if key not in OF_RECALL)
    values["metadata"] = metadata
    return node


def _again(kept: dict[str, Any], memory: Memory, text: str) -> BaseNode | None:
    """Return the node as it was; `None` where its kept fields make no node, as after a redaction."""
    kind = KINDS.get(str(kept.get(_KIND)), TextNode)
    known = kind.model_fields  # some go by another name where LlamaIndex makes a node
    names = [name for name in kept if name in known and name not in _ELSEWHERE]
    fields = {known[name].alias or name: kept[name] for name in names}
    try:
        node = kind(id_=memory.id or "", **fields)
        node.set_content(text)
    except (ValidationError, TypeError, ValueError):
        return None
    return node
