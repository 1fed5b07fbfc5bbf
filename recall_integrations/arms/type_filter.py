"""The type-filter arm: memories of the types that the optimizer expects, most similar first.

Only the optimizer sets type hints; without one there is nothing to filter by and the arm stays silent.
"""

from __future__ import annotations

import numpy as np

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.indexes.scope_view import of_types


class TypeFilterRetriever:
    """Memories of the hinted types."""

    name = "type_filter"

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates with a score in [0, 1]: half for the type, half by similarity (or recency)."""
        hints, view = request.plan.type_hints, request.view
        if not hints or not view.size:
            return ArmResult.empty(self.name, "no type hint")
        mask = view.alive & of_types(view, hints)
        if request.allowed is not None:
            mask &= request.allowed
        rows = np.flatnonzero(mask)
        if not len(rows):
            return ArmResult.empty(self.name, "no memory of that type")
        return request.nearest(self.name, rows, 0.5, 0.5, note=f"{len(rows)} of type {', '.join(hints)}")
