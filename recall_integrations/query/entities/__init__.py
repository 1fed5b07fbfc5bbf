"""Resolve the entities that a text names, in memory for one scope: exact name, alias, part of a name, trigram-fuzzy."""

from __future__ import annotations

from recall_integrations.query.entities.index import EntityIndex, Mention

__all__ = ["EntityIndex", "Mention"]
