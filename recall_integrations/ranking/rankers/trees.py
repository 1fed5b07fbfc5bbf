"""A ranker of boosted trees: LambdaMART in LightGBM (Burges 2010; Ke et al. 2017), behind the extra `rank`.

It looks at all features, also at those that are for trees only (`Feature.detail`), as values and (where they have a
floor) as z-scores over the candidates, and at how the candidates around a candidate score (`around.AROUND`), in two
passes:

    first pass    candidates ─ the `FIRST_PASS` best of the fixed weights ─▶ trees + .2 · linear sum
    second pass   the `SECOND_PASS` best of the first pass ─▶ mean of several models + .1 · linear sum

The first pass sees what the fixed weights makes of the neighbours, the second what the first pass makes of them.
The linear sum is a logistic regression over the same columns; trees of a few hundred queries are rough, and it smooths
them. What is not looked at again follows in the order of the pass before.

What a feature added is its SHAP value (LightGBM's `pred_contrib`) in the second pass, value and z-score together, and
`first` for what the first pass said; computed only when asked, since it takes longer than the scores.

The model is kept as JSON: the columns it expects, the linear weights, and LightGBM's own texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument, MissingExtra, installing
from recall_integrations.ranking.calibration.model import Calibration
from recall_integrations.ranking.features.around import AROUND, around
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.rankers import weight_files
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranking, spread_scores
from recall_integrations.records import record

FORMAT = "recall-trees-2"
FIRST_PASS, SECOND_PASS = 60, 30
LINEAR_FIRST, LINEAR_SECOND = 0.2, 0.1
BELOW = 0.5  # distance of candidates that the first pass did not look at below the lowest that it did
Z = "z:"  # in front of a column that is a z-score


def columns_of(known: FeatureSet) -> tuple[str, ...]:
    """Return the default columns of trees, in order."""
    usual = (name for name in known.main if not known[name].optional)
    return (*usual, *known.detail, *(Z + name for name in known.floors), *AROUND)


@record(frozen=True, slots=True, kw_only=True)
class TreesModel:
    """Learned trees and weights.

    Args:
        columns: columns of the first pass, in order; the second sees those of `AROUND` behind them.
        linear: weight of each column.
        first: LightGBM's text of the first pass.
        second: text of each model of the second pass.
    """

    columns: tuple[str, ...]
    linear: tuple[float, ...]
    first: str
    second: tuple[str, ...]


class TreesRanker:
    """A trained model. Threads may share one.

    Args:
        model: what was learned.
        version: of the model.
        about: what it was trained on; kept as it is.
        explain: compute what each feature added (SHAP); else `added` holds one entry, `trees`.
        calibration: turns its scores into probabilities.
        known: the features that there are.

    Raises:
        MissingExtra: LightGBM is not installed.
        InvalidArgument: the model cannot be read, or asks for an unknown feature.
    """

    name = "trees"
    detail = True

    def __init__(
        self,
        model: TreesModel,
        *,
        version: str = "unnamed",
        about: Mapping[str, Any] | None = None,
        explain: bool = False,
        calibration: Calibration | None = None,
        known: FeatureSet = FEATURES,
    ) -> None:
        there = {*known.main, *columns_of(known)}
        unknown = [c for c in model.columns if c not in there]
        if unknown:
            raise InvalidArgument(f"The trees ask for the unknown feature {unknown[0]!r}. Train them again.")
        if len(model.linear) != len(model.columns) or not np.isfinite(model.linear).all() or not model.second:
            raise InvalidArgument("The trees need a finite linear weight for each column. Train them again.")
        self.model = model
        self.version = version
        self.about = dict(about or {})
        self.explain = explain
        self.calibration = calibration
        self.known = known
        self._linear = np.asarray(model.linear, dtype=np.float32)
        self._first = booster(model.first, len(model.columns))
        self._second = [booster(text, len(model.columns) + len(AROUND)) for text in model.second]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the first pass."""
        return self.model.columns

    def score(self, features: Features) -> Ranking:
        """Return the second pass's sum for each candidate that it looks at; the others follow below the lowest."""
        if not features.size:
            return Ranking(scores=np.zeros(0, dtype=np.float32), added={})
        u = fixed_scores(features)
        among, matrix = looked_at(u), tree_matrix(features, self.columns, u)
        sums = matrix * self._linear
        own = predicted(self._first, matrix[among])[:, 0] + np.float32(LINEAR_FIRST) * sums[among].sum(axis=1)
        first = in_order(own, among, u)
        best = looked_at_again(first, u)
        again = np.hstack([matrix[best], around_first(features, first)[best]])
        parts = np.mean([predicted(b, again, explain=self.explain) for b in self._second], axis=0)
        linear = sums[best] * np.float32(LINEAR_SECOND)
        found = np.asarray(parts.sum(axis=1) + linear.sum(axis=1), dtype=np.float32)
        scores = first + (found.min() - first[best].min())
        scores[best] = found
        if not self.explain:
            return Ranking(scores=scores, added={"trees": scores})
        return Ranking(scores=scores, added=self._explained(scores, best, parts, linear))

    def _explained(self, scores: Values, best: NDArray[np.int64], parts: Values, linear: Values) -> dict[str, Values]:
        """Return each feature's part of the scores of candidates in `best`; for the others all of it is `first`."""
        added: dict[str, Values] = {"first": scores - parts[0, -1]}  # the last column is a constant
        added["first"][best] = parts[:, len(self.columns) : -1].sum(axis=1)
        for i, column in enumerate(self.columns):
            name = column.removeprefix(Z)
            added.setdefault(name, np.zeros_like(scores))[best] += parts[:, i] + linear[:, i]
        return added

    def described(
        self, *, version: str, about: Mapping[str, Any], calibration: Calibration | None = None
    ) -> TreesRanker:
        """Return the same trees under another version and description, with that version's calibration."""
        return TreesRanker(
            self.model, version=version, about=about, explain=self.explain, calibration=calibration, known=self.known
        )

    def to_json(self) -> str:
        """Write the model as `from_json` reads it."""
        fields = {
            "format": FORMAT,
            "version": self.version,
            "about": self.about,
            "columns": list(self.columns),
            "linear": list(self.model.linear),
            "first": self.model.first,
            "second": list(self.model.second),
            "calibration": weight_files.kept_calibration(self.calibration),
        }
        return json.dumps(fields, ensure_ascii=False) + "\n"


def looked_at(u: Values) -> NDArray[np.int64]:
    """Return the places of the candidates for the first pass, rising, by the fixed weights' scores of all."""
    return np.sort(np.argsort(-u, kind="stable")[:FIRST_PASS])


def in_order(own: Values, best: NDArray[np.int64], u: Values) -> Values:
    """Return first-pass scores of all candidates: `own` for those in `best`; the others follow in the order of `u`."""
    scores: Values = (own.min() - np.float32(BELOW) + u - u[best].min()).astype(np.float32)
    scores[best] = own
    return scores


def looked_at_again(first: Values, u: Values) -> NDArray[np.int64]:
    """Return the places of the candidates for the second pass, rising; of equal ones those with the better `u`."""
    return np.sort(np.lexsort((-u, -first))[:SECOND_PASS])


def around_first(features: Features, first: Values) -> Values:
    """Compute `AROUND` of the first pass, `(candidates, AROUND)`, with one score for all that it did not look at."""
    best = np.argsort(-first, kind="stable")[:FIRST_PASS]
    level = np.full_like(first, first[best].min() - BELOW)
    level[best] = first[best]
    made = around(features, level)
    return np.stack([made[name] for name in AROUND], axis=1).astype(np.float32, copy=False)


def fixed_scores(features: Features) -> Values:
    """Score the candidates by the fixed weights."""
    return _fixed_weights(features.known).score(features).scores


@lru_cache(maxsize=8)
def _fixed_weights(known: FeatureSet) -> FixedWeights:
    return FixedWeights(known=known)


def tree_matrix(features: Features, columns: Sequence[str], u: Values) -> Values:
    """Return the input of the first pass, `(candidates, columns)`; `u` as `fixed_scores` gives it."""
    spread = [c.removeprefix(Z) for c in columns if c.startswith(Z)]
    z = dict(zip(spread, spread_scores(features, spread).T, strict=True))
    beside = around(features, u) if not AROUND.keys().isdisjoint(columns) else {}
    made = [z[c.removeprefix(Z)] if c.startswith(Z) else beside.get(c, features[c]) for c in columns]
    return np.stack(made, axis=1).astype(np.float32, copy=False)


def predicted(model: Any, matrix: Values, *, explain: bool = False) -> Values:
    """Return the sums, `(rows, 1)`; to explain, each column's part of them, and a constant."""
    made = model.predict(matrix, num_threads=1, pred_contrib=explain)
    return np.asarray(made, dtype=np.float32).reshape(len(matrix), -1)


def booster(text: str, columns: int) -> Any:
    """Load LightGBM's model from its text.

    Raises:
        MissingExtra: LightGBM is not installed.
        InvalidArgument: it cannot be read, or expects another number of columns.
    """
    engine = require_lightgbm()
    try:
        made = engine.Booster(model_str=text)
    except engine.basic.LightGBMError as e:
        raise InvalidArgument(f"The trees cannot be read: {e}. Train them again.") from e
    if made.num_feature() != columns:
        raise InvalidArgument(
            f"The trees expect {made.num_feature()} columns, and {columns} are named. Train them again."
        )
    return made


def from_json(
    text: str, where: str = "the trees", *, explain: bool = False, known: FeatureSet = FEATURES
) -> TreesRanker:
    """Read a model of known features.

    Raises:
        InvalidArgument: not trees of this package.
        MissingExtra: LightGBM is not installed.
    """
    fields = weight_files.parsed(text, FORMAT, where)
    version = str(fields.get("version", "unnamed"))
    try:
        model = TreesModel(
            columns=tuple(map(str, fields["columns"])),
            linear=tuple(float(w) for w in fields["linear"]),
            first=str(fields["first"]),
            second=tuple(str(text) for text in fields["second"]),
        )
    except (KeyError, TypeError, ValueError) as e:
        raise InvalidArgument(f"{where} is not whole: {e!r}. Train them again with `recall train`.") from e
    return TreesRanker(
        model,
        version=version,
        about=weight_files.about(fields),
        explain=explain,
        calibration=weight_files.own_calibration(fields, "trees", version, where),
        known=known,
    )


def load(path: str | Path, *, explain: bool = False, known: FeatureSet = FEATURES) -> TreesRanker:
    """Read a model from a file.

    Raises:
        InvalidArgument: the file cannot be read, or does not hold trees of this package.
        MissingExtra: LightGBM is not installed.
    """
    return from_json(weight_files.read(path, "the trees"), str(path), explain=explain, known=known)


def require_lightgbm() -> Any:
    """Import and return LightGBM.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import lightgbm
    except (ImportError, OSError) as e:  # OSError: the wheel is there, the OpenMP library is not
        raise MissingExtra(f"Boosted trees need LightGBM ({e}). Install it with: {installing('rank')}") from e
    return lightgbm
