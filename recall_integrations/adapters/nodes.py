"""LlamaIndex: nodes as memories, hits as nodes, and a recall as instrumentation sees it, with a span for each step.

The other fields of a node (relationships, keys that are hidden from the LLM, templates, its place in
the document, …) are kept in the memory's metadata under `recall_node`, and are restored with the node.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
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
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler
from pydantic import ValidationError

from recall_integrations.adapters.shapes import (
    IF_ANY,
    NODE,
    OF_MEMORY,
    OF_RECALL,
    SCORE,
    Format,
    NodeDetails,
    metadata_of,
    own,
)
from recall_integrations.errors import NotSearched
from recall_integrations.types import Hit, Memory, MemoryType
from recall_integrations.types.messages import told_by

if TYPE_CHECKING:
    from langchain_core.documents import Document

# As the frameworks' own stores: a document comes back as a text node, and so does a node of a kind that is not known.
KINDS: dict[str, type[BaseNode]] = {kind.class_name(): kind for kind in (TextNode, IndexNode, ImageNode, Node)}
_KIND = "class_name"
_ELSEWHERE = {"id_", "text", "text_resource", "metadata", "embedding", "obj"}
_HIDDEN = [*OF_RECALL, *OF_MEMORY, *IF_ANY]


def memory_of_node(node: BaseNode) -> Memory | None:
    """Return the memory that a node makes, a `chunk`: it keeps the id, the document becomes the thread, and the
    metadata may give the time (`messages.WHEN`). `None` where the node has no text.
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
    """Return nodes as documents of LangChain, with the score in the metadata."""
    from langchain_core.documents import Document

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
    memory, metadata = hit.memory, NodeDetails(metadata_of(hit, text, zone, highlights, result_id))
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


OWNER = "OptimizedRecallRetriever"
dispatcher = get_dispatcher(__name__)
_NOBODY = (NullEventHandler, NullSpanHandler)  # what the root has from the begin


class RecallStepEvent(BaseEvent):
    """The event that a stage or an arm of a recall has ended."""

    step: str  # name of the stage or arm: `parse`, …, `arm.lexical`
    inputs: dict[str, Any]  # its input and its result, as JSON types
    outputs: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        return "RecallStepEvent"


class RecallNotSearchedEvent(BaseEvent):
    """The event that a recall returned an empty list because it could look at nothing; memories may exist."""

    message: str  # the reason

    @classmethod
    def class_name(cls) -> str:
        return "RecallNotSearchedEvent"


def _given(step: str, inputs: Mapping[str, Any]) -> None:
    """Serve as the signature of spans: handlers see these arguments."""


_SIGNATURE = inspect.signature(_given)


class Span:
    """A step of a recall that the dispatcher sees (`types.watching.Step`)."""

    def __init__(self, span_id: str | None, name: str = "", inputs: Mapping[str, Any] | None = None) -> None:
        self._id, self._name, self._inputs = span_id, name, dict(inputs or {})

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Span:
        inner = Span(f"{OWNER}.{name}-{uuid.uuid4()}", name, inputs)
        dispatcher.span_enter(
            id_=str(inner._id), bound_args=_SIGNATURE.bind(name, inner._inputs), parent_id=self._id, tags={}
        )
        return inner

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        span_id, bound = str(self._id), _SIGNATURE.bind(self._name, self._inputs)
        if error is None:
            event = RecallStepEvent(step=self._name, inputs=self._inputs, outputs=dict(outputs), span_id=span_id)
            dispatcher.event(event)
            dispatcher.span_exit(id_=span_id, bound_args=bound, result=dict(outputs))
        else:
            dispatcher.event(ExceptionEvent(exception=error, span_id=span_id))
            dispatcher.span_drop(id_=span_id, bound_args=bound, err=error)


def span() -> Span | None:
    """Return the step for a recall inside of the open span; `None` where nobody listens."""
    return Span(active_span_id.get()) if _listened() else None


def event_not_searched(error: NotSearched) -> None:
    """Tell the dispatcher that nothing could be looked at."""
    dispatcher.event(RecallNotSearchedEvent(message=str(error), span_id=active_span_id.get()))


@contextmanager
def errors_told() -> Iterator[None]:
    """Send an event for an error in the block: LlamaIndex itself only says that retrieving began."""
    try:
        yield
    except Exception as e:
        dispatcher.event(ExceptionEvent(exception=e, span_id=active_span_id.get()))
        raise


def _listened() -> bool:
    here = dispatcher
    while True:
        if any(not isinstance(h, _NOBODY) for h in (*here.event_handlers, *here.span_handlers)):
            return True
        if not here.propagate:
            return False
        here = here.parent
