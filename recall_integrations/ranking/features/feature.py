"""Definition of a ranking feature. `features.json` says how each counts; the files beside this one compute them.

A `Feature` is everything there is to say about a column of evidence: how it is computed, how it counts in the sum, and
what it says of a hit. A `FeatureSet` is the features that a ranker looks at, in order; all other code
that needs a list of features (weights, groups, tables in the documents) reads it from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kernels import Values
from recall_integrations.indexes.kind import GATES
from recall_integrations.ranking.features.match import Match
from recall_integrations.records import record
from recall_integrations.types.numbers import is_number

LAST = 99
Of = Callable[[Match], Values | None]


@record(frozen=True, slots=True)
class Label:
    """Words of a feature about a hit, in `hit.reason`.

    Args:
        words: "close in time to what matches".
        place: among what is said where nothing stronger is; lower ones first.
        ruled: a rule of its own in `delivery.explanation` says it, and not only where nothing stronger is said.
    """

    words: str
    place: int = LAST
    ruled: bool = False


@record(frozen=True, slots=True)
class Feature:
    """A column of evidence.

    Args:
        name: of the column and of the contribution.
        formula: what it is, in symbols and words; in docs/reference/ranking-features.md.
        of: computes it for the candidates; `None` = there is nothing to compute it from.
        group: evidence that says much the same; `recall bench` leaves groups out.
        weight: gate (`kind.GATES`) → weight in the fixed sum; empty = it has none.
        floor: the least spread over the candidates that counts; with one it enters sums as a z-score. About the 5th
            percentile of the spread over the candidates of a query. `None` = it enters as it is.
        arm: whose weight in a plan scales it; empty = none's.
        label: what it says of a hit; `None` = nothing.
        gated: computed only where one of the gates of its weights is open.
        decisive: what a query asks for: in a handful of candidates it counts as much as among many.
        worth_max: up to how much of what a cosine of the store's embedding is worth its weight is multiplied with;
            `None` = it is no such cosine.
    """

    name: str
    formula: str
    of: Of
    group: str
    weight: Mapping[str, float] = field(default_factory=dict)
    floor: float | None = None
    arm: str = ""
    label: Label | None = None
    gated: bool = False
    decisive: bool = False
    worth_max: float | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidArgument(f"The name of a feature must be letters, digits and '_', not {self.name!r}.")
        for gate, weight in self.weight.items():
            if gate not in GATES:
                raise InvalidArgument(f"{self.name}: there is no gate {gate!r}. Known: {', '.join(GATES)}.")
            if not is_number(weight) or not math.isfinite(weight):
                raise InvalidArgument(f"{self.name}: the weight must be a finite number, not {weight!r}.")
        if self.floor is not None and not (is_number(self.floor) and 0 < self.floor < math.inf):
            raise InvalidArgument(f"{self.name}: the floor must be a number above 0, not {self.floor!r}.")
        if self.gated and not self.weight:
            raise InvalidArgument(f"{self.name}: gated, but without a weight that a gate could open.")


class FeatureSet:
    """Features in order, for the columns of rankers, for sums, and for tables. Names are distinct.

    Args:
        features: the features. `FeatureSet((*FEATURES, mine))` has one more than the package.

    Raises:
        InvalidArgument: there are two of one name.
    """

    def __init__(self, features: Iterable[Feature]) -> None:
        self._by_name: dict[str, Feature] = {}
        for feature in features:
            if feature.name in self._by_name:
                raise InvalidArgument(f"There are two features {feature.name!r}. Give one of them another name.")
            self._by_name[feature.name] = feature

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Feature:
        return self._by_name[name]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(self._by_name)

    def get(self, name: str) -> Feature | None:
        """Return the feature of a name; `None` = there is none."""
        return self._by_name.get(name)

    @cached_property
    def weights(self) -> dict[str, Mapping[str, float]]:
        """Feature → gate → weight, for the features with a weight in the fixed sum."""
        return {f.name: f.weight for f in self if f.weight}

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group → features."""
        return self._by(lambda feature: feature.group)

    @cached_property
    def evidence(self) -> dict[str, tuple[str, ...]]:
        """Arm → the features that its weight scales."""
        return self._by(lambda feature: feature.arm)

    def _by(self, key: Callable[[Feature], str]) -> dict[str, tuple[str, ...]]:
        keys = dict.fromkeys(filter(None, map(key, self)))
        return {one: tuple(feature.name for feature in self if key(feature) == one) for one in keys}

    @cached_property
    def labels(self) -> dict[str, str]:
        """Feature → words about a hit where nothing stronger is said, in that order."""
        told = [(f.label.place, f.name, f.label.words) for f in self if f.label is not None and not f.label.ruled]
        return {name: words for _, name, words in sorted(told, key=lambda one: one[0])}
