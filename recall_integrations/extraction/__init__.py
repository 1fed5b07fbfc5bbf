"""What a text names, found when it is remembered: people, organisations, projects, products, identifiers, relations.

    memory ─ Words ─ candidates (names) ─ relations ─▶ Extracted

What a memory declares (`entities`, `actor`, `relations`) always wins: a declared name is never found a second time
under another spelling. The built-in `RuleExtractor` needs no model and prefers silence to a guess; `resolve_extractor`
also takes spaCy, GLiNER or any function, an LLM included.
"""

from __future__ import annotations

from recall_integrations.extraction.records import GRAPH_KINDS, Extracted, ExtractedEntity, Extractor
from recall_integrations.extraction.relations import PATTERNS, RelationFinder, RelationPattern
from recall_integrations.extraction.rules import RuleExtractor

__all__ = [
    "GRAPH_KINDS",
    "PATTERNS",
    "Extracted",
    "ExtractedEntity",
    "Extractor",
    "RelationFinder",
    "RelationPattern",
    "RuleExtractor",
]
