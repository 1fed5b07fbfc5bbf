"""Evidence for each candidate, as named columns: what the rankers add up.

Computed once per query in numpy over the candidates and, where threads are known, their neighbours. What each column is
stands beside its weight, in the files that `registry` lists; the symbols are those of `match`. Evidence that is absent
(no thread, actor, time or vector) makes a constant column, which orders nothing, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature, FeatureSet
from recall_integrations.ranking.features.given import FeatureInput
from recall_integrations.ranking.features.match import Match
from recall_integrations.ranking.features.registry import FEATURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Columns by name, each float32 `(candidates,)`, finite.

    Args:
        rows: of the scope, one for each candidate.
        columns: the features.
        links: candidate before, after, two before, two after each in its thread, `(4, candidates)`; -1 = none.
        session: candidates of one thread have one number; -1 = no thread.
        gates: factors of `kind.GATES`, for this scope and this query.
        cosine_worth: see `FeatureInput`.
        known: what the columns are.
    """

    rows: Rows
    columns: Mapping[str, Values]
    links: NDArray[np.int64]
    session: NDArray[np.int64]
    gates: Mapping[str, float] = field(default_factory=dict)
    cosine_worth: float = 1.0
    known: FeatureSet = FEATURES

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.rows)

    def __getitem__(self, name: str) -> Values:
        """The column; zeros where the name was not computed."""
        found = self.columns.get(name)
        return np.zeros(self.size, dtype=np.float32) if found is None else found

    def matrix(self, names: Sequence[str]) -> Values:
        """The columns side by side, `(candidates, names)`."""
        return np.stack([self[name] for name in names], axis=1) if names else np.empty((self.size, 0), np.float32)


def compute(given: FeatureInput, known: FeatureSet = FEATURES) -> Features:
    """All features of all candidates."""
    match = Match(given)
    columns: dict[str, Values] = {}
    for feature in known:
        made = feature.of(match) if _wanted(feature, match) else None
        if made is not None:
            columns[feature.name] = np.asarray(made, dtype=np.float32)
    return Features(
        rows=match.rows,
        columns=columns,
        links=match.links(),
        session=np.where(match.threaded, match.session, -1),
        gates=match.gates,
        cosine_worth=given.cosine_worth,
        known=known,
    )


def _wanted(feature: Feature, match: Match) -> bool:
    if feature.detail and not match.given.detail:
        return False
    return not feature.gated or any(match.gates[gate] for gate in feature.weight)
