"""Evidence for each candidate, as named columns, each computed at its first use; and the list of all features.

The meaning of each column stands beside its weight (`features.json`); the symbols are those of `match`. Evidence that
is absent (no thread, actor, time or vector) makes a constant column, which orders nothing, or none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows
from recall_integrations.indexes.kernels import Values
from recall_integrations.ranking.features.conversation import OF_CONVERSATION
from recall_integrations.ranking.features.feature import Feature, FeatureSet, Label, Of
from recall_integrations.ranking.features.match import FeatureInput, Match, once
from recall_integrations.ranking.features.record import OF_RECORD, OF_TEXTS
from recall_integrations.records import record

COMPUTED_BY: Mapping[str, Of] = {**OF_TEXTS, **OF_CONVERSATION, **OF_RECORD}


def _entry(name: str, said: Mapping[str, Any]) -> Feature:
    label = Label(**said["label"]) if "label" in said else None
    most = float(said["worth_max"]) if "worth_max" in said else None  # "inf": JSON has no number for it
    return Feature(name=name, of=COMPUTED_BY[name], **{**said, "label": label, "worth_max": most})


# How each feature counts. The order is that of columns, of sums (floating point: another order gives other last
# digits), and of docs/reference/ranking-features.md.
TABLE = Path(__file__).with_name("features.json")
FEATURES = FeatureSet(_entry(name, said) for name, said in json.loads(TABLE.read_text(encoding="utf-8")).items())
_UNMADE: Values = np.empty(0, dtype=np.float32)  # of a feature that nobody has asked for yet


class Computed(Mapping[str, Values]):
    """Features of a match by name, each computed at its first use; a ranker asks for those that it weighs."""

    def __init__(self, match: Match, known: FeatureSet) -> None:
        self._match, self._known = match, known
        self._made: dict[str, Values | None] = {}

    def get(self, name: str, default: Values | None = None) -> Values | None:  # type: ignore[override]
        """Return the column; `default` where there is none."""
        made = self._made.get(name, _UNMADE)
        if made is _UNMADE:
            made = self._made[name] = self._of(name)
        return default if made is None else made

    def __getitem__(self, name: str) -> Values:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (feature.name for feature in self._known if feature.name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _of(self, name: str) -> Values | None:
        feature, match = self._known.get(name), self._match
        if feature is None or (feature.gated and not any(match.gates[gate] for gate in feature.weight)):
            return None
        made = feature.of(match)
        return made if made is None or made.dtype == np.float32 else made.astype(np.float32)


@record(frozen=True, kw_only=True)
class Features:
    """Columns by name, each float32 `(candidates,)`, finite."""

    rows: Rows  # of the scope, one for each candidate
    columns: Mapping[str, Values]
    links: NDArray[
        np.int64
    ]  # candidate before, after, two before, two after in its thread, `(4, candidates)`; -1 = none
    gates: Mapping[str, float] = field(default_factory=dict)  # factors of `kind.GATES`, for this scope and query
    cosine_worth: float = 1.0  # see `FeatureInput`
    cosine_spread: float = 1.0
    known: FeatureSet = FEATURES  # that the columns belong to

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.rows)

    def __getitem__(self, name: str) -> Values:
        """Return the column; zeros where the name was not computed."""
        found = self.columns.get(name)
        return self._nothing if found is None else found

    @once
    def _nothing(self) -> Values:
        return np.zeros(self.size, dtype=np.float32)

    def table(self, names: tuple[str, ...]) -> Values:
        """Return the columns one after the other, `(names, candidates)`, made once for all who ask for these."""
        made = self._tables.get(names)
        if made is None:
            made = self._tables[names] = stacked([self[name] for name in names], self.size)
        return made

    @once
    def _tables(self) -> dict[tuple[str, ...], Values]:
        return {}

    @once
    def compared(self) -> bool:
        """True if candidates have cosines."""
        return bool(np.logical_or.reduce(self["cosine"]))

    @once
    def beside(self) -> float:
        """Share of the candidates that stand beside another candidate in their thread; there is one at least."""
        return int(np.count_nonzero(np.maximum(self.links[0], self.links[1]) >= 0)) / self.size

    def whole(self) -> Features:
        """Compute all columns and drop the match they were computed from, to be kept."""
        return replace(self, columns=dict(self.columns))


def stacked(columns: Sequence[Values], size: int) -> Values:
    """Stack columns one after the other, `(len(columns), size)`."""
    if not columns:
        return np.empty((0, size), dtype=np.float32)
    joined = np.concatenate(columns).reshape(len(columns), size)  # in one step, and not row by row
    return joined.astype(np.float32, copy=False)


def compute(given: FeatureInput, known: FeatureSet = FEATURES) -> Features:
    """Return all features of all candidates, computed as they are asked for."""
    match = Match(given)
    return Features(
        rows=match.rows,
        columns=Computed(match, known),
        links=match.links(),
        gates=match.gates,
        cosine_worth=given.cosine_worth,
        cosine_spread=given.cosine_spread,
        known=known,
    )
