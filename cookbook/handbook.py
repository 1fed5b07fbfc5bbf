"""The handbook of the made-up company of `company.py`: seven pages, and questions about them."""

from __future__ import annotations

from itertools import pairwise

from company import rows
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode


def nodes() -> list[TextNode]:
    """The paragraphs in order: each knows its page, and what comes before and after it on that page."""
    made = [
        TextNode(
            id_=name,
            text=f"{section}. {text}",
            metadata={"page": page, "team": team, "year": int(year)},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=page)},
        )
        for page, section, team, year, name, text in rows("handbook.txt")
    ]
    for before, after in pairwise(made):
        if before.metadata["page"] == after.metadata["page"]:
            before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
            after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    return made


def questions() -> list[tuple[str, list[str]]]:
    """Each question with the ids of the paragraphs that answer it, the best one first."""
    return [(text, ids.split(",")) for text, ids in rows("handbook_questions.txt")]
