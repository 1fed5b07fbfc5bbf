"""Which entities a text names, resolved in memory for one scope.

    text ─ units ─▶ Reading ─ Cascade over State (names, aliases, parts, trigrams) ─▶ EntityRef …

Exact name, alias, part of a name, trigram-fuzzy: the first three stages of the resolution cascade. What an LLM makes of
the rest is added elsewhere.
"""

from __future__ import annotations

from recall_integrations.query.entities.index import EntityIndex, Mention

__all__ = ["EntityIndex", "Mention"]
