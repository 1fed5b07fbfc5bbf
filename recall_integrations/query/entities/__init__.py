"""Resolve the entities that a text names, in memory for one scope.

    text ─ units ─▶ Reading ─ Cascade over State (names, aliases, parts, trigrams) ─▶ EntityRef …

Exact name, alias, part of a name, trigram-fuzzy: the first three stages of the resolution cascade. The fourth stage, a
language model that is asked about the rest, is in `choice` and `fallback`.
"""

from __future__ import annotations

from recall_integrations.query.entities.index import EntityIndex, Mention

__all__ = ["EntityIndex", "Mention"]
