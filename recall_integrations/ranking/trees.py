"""A ranker of boosted trees: LambdaMART in LightGBM (Burges 2010; Ke et al. 2017), behind the extra `rank`.

It looks at all features, those of `features.DETAIL` included, as values and (where `ranker.FLOORS` has them) as
z-scores over the candidates, and at what the un-learned ranker makes of a candidate and of those around it (`AROUND`):
evidence comes in runs of turns. What a feature added is its SHAP value (LightGBM's `pred_contrib`), value and z-score
together; computed only when asked, since it takes longer than the scores.

The trees order the `AMONG` candidates that the un-learned ranker puts first; the others follow in its order. That costs
a quarter of the time for the 200 candidates of a conversation, and no quality.

The model is kept as JSON: the columns it expects and LightGBM's own text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.ranking.features import DETAIL, FORMULAS, Features, Values
from recall_integrations.ranking.ranker import FLOORS, Ranking, Unlearned, spread_scores

FORMAT = "recall-trees-1"
AMONG = 60
Z = "z:"  # in front of a column that is a z-score
OPTIONAL = frozenset({"graph", "recency", "importance"})  # not in every training set; left out unless asked for
_FIRST = Unlearned()

# From the un-learned score `u` of all candidates; a neighbour that is no candidate counts as the worst of them.
AROUND: Mapping[str, str] = {
    "u": "u",
    "u_gap": "u − the best u",
    "u_rank": "ln(1 + candidates with a better u)",
    "u_b1": "u of the text before",
    "u_a1": "u of the text after",
    "u_b2": "u of the text two before",
    "u_a2": "u of the text two after",
    "u_win": "the best of these four",
    "u_other": "the best u of another candidate of the thread",
    "u_mean": "mean of the three best u of the thread",
    "u_top": "candidates of the thread among the 20 best",
}
COLUMNS = (
    *(name for name in FORMULAS if name not in OPTIONAL),
    *DETAIL,
    *(Z + name for name in FLOORS),
    *AROUND,
)


class TreesRanker:
    """A trained model. Threads may share one.

    Args:
        model: LightGBM's text of the model.
        columns: what it was trained on, in order.
        version: of the model.
        about: what it was trained on; kept as it is.
        explain: compute what each feature added (SHAP); else `added` holds one entry, `trees`.

    Raises:
        MissingExtra: LightGBM is not installed.
        InvalidArgument: the model cannot be read, or asks for an unknown feature.
    """

    name = "trees"
    detail = True

    def __init__(
        self,
        model: str,
        columns: Sequence[str],
        *,
        version: str = "unnamed",
        about: Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> None:
        known = {*FORMULAS, *DETAIL, *AROUND, *(Z + name for name in FLOORS)}
        unknown = [c for c in columns if c not in known]
        if unknown:
            raise InvalidArgument(f"The trees ask for the unknown feature {unknown[0]!r}. Train them again.")
        self.columns = tuple(columns)
        self.version = version
        self.about = dict(about or {})
        self.explain = explain
        self._text = model
        engine = require_lightgbm()
        try:
            self._booster = engine.Booster(model_str=model)
        except engine.basic.LightGBMError as e:
            raise InvalidArgument(f"The trees cannot be read: {e}. Train them again.") from e
        if self._booster.num_feature() != len(self.columns):
            raise InvalidArgument(
                f"The trees expect {self._booster.num_feature()} columns, and {len(self.columns)} are named. "
                "Train them again."
            )

    def score(self, features: Features) -> Ranking:
        """The trees' sum for each candidate that they look at; what follows goes on from the lowest of them."""
        if not features.size:
            return Ranking(scores=np.zeros(0, dtype=np.float32), added={})
        matrix = tree_matrix(features, self.columns)
        best, first = looked_at(features)
        parts = self._predict(matrix[best])
        own = parts.sum(axis=1)
        scores = first + (own.min() - first[best].min())
        scores[best] = own
        if not self.explain:
            return Ranking(scores=scores, added={"trees": scores})
        added: dict[str, Values] = {}
        if len(best) < len(scores):  # what follows has its place by `u` alone
            added["u"] = scores - parts[0, -1]  # the last column is a constant
            added["u"][best] = 0
        for i, column in enumerate(self.columns):
            name = column.removeprefix(Z)
            added.setdefault(name, np.zeros_like(scores))[best] += parts[:, i]
        return Ranking(scores=scores, added=added)

    def _predict(self, matrix: Values) -> Values:
        """`(rows, 1)`: the sums; to explain, what each column adds to them, and a constant."""
        made = self._booster.predict(matrix, num_threads=1, pred_contrib=self.explain)
        return np.asarray(made, dtype=np.float32).reshape(len(matrix), -1)

    def described(self, *, version: str, about: Mapping[str, Any]) -> TreesRanker:
        """The same trees under another version and description."""
        return TreesRanker(self._text, self.columns, version=version, about=about, explain=self.explain)

    def to_json(self) -> str:
        """As `from_json` reads it."""
        fields = {
            "format": FORMAT,
            "version": self.version,
            "about": self.about,
            "columns": list(self.columns),
            "model": self._text,
        }
        return json.dumps(fields, ensure_ascii=False) + "\n"


def looked_at(features: Features) -> tuple[NDArray[np.int64], Values]:
    """Places of the candidates that trees order, rising, and the un-learned scores of all."""
    first = _FIRST.score(features).scores
    return np.sort(np.argsort(-first, kind="stable")[:AMONG]), first


def tree_matrix(features: Features, columns: Sequence[str]) -> Values:
    """What trees look at, `(candidates, columns)`."""
    spread = [c.removeprefix(Z) for c in columns if c.startswith(Z)]
    z = dict(zip(spread, spread_scores(features, spread).T, strict=True))
    around = _around(features) if not AROUND.keys().isdisjoint(columns) else {}
    made = [z[c.removeprefix(Z)] if c.startswith(Z) else around.get(c, features[c]) for c in columns]
    return np.stack(made, axis=1).astype(np.float32, copy=False)


def _around(features: Features) -> dict[str, Values]:
    """The columns of `AROUND`."""
    size, session = features.size, features.session
    if not size:
        return {}
    u = _FIRST.score(features).scores
    order = np.argsort(-u, kind="stable")
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    worst = u.min()
    beside = np.append(u, worst)[features.links]  # -1, none, is the last
    out = {"u": u, "u_gap": u - u[order[0]], "u_rank": np.log1p(place)}
    out.update(zip(("u_b1", "u_a1", "u_b2", "u_a2"), beside, strict=True))
    out["u_win"] = beside.max(axis=0)
    codes = np.where(session >= 0, session, session.max(initial=0) + 1 + np.arange(size))  # no thread: on its own
    by_thread = order[np.argsort(codes[order], kind="stable")]  # thread by thread, the best first
    threads = codes[by_thread]
    heads = np.flatnonzero(np.diff(threads, prepend=-1))
    counts = np.diff(np.append(heads, size))
    of = np.repeat(np.arange(len(heads)), counts)
    nth = np.arange(size) - heads[of]
    falling = u[by_thread]
    second = np.where(counts > 1, falling[np.minimum(heads + 1, size - 1)], worst)
    other, mean, top = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    other[by_thread] = np.where(nth == 0, second[of], falling[heads][of])
    best = np.add.reduceat(np.where(nth < 3, falling, 0), heads) / np.minimum(counts, 3)
    mean[by_thread] = best[of]
    top[by_thread] = np.add.reduceat((place[by_thread] < 20).astype(np.float32), heads)[of]
    return {**out, "u_other": other, "u_mean": mean, "u_top": top}


def from_json(text: str, where: str = "the trees", *, explain: bool = False) -> TreesRanker:
    """Read a model.

    Raises:
        InvalidArgument: not trees of this package.
        MissingExtra: LightGBM is not installed.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{where} cannot be read as JSON: {e}. Train them again with `recall train`.") from e
    if (
        not isinstance(fields, dict)
        or fields.get("format") != FORMAT
        or not isinstance(fields.get("model"), str)
        or not isinstance(fields.get("columns"), list)
    ):
        raise InvalidArgument(f"{where} must be a mapping with format {FORMAT!r}. Train them again.")
    return TreesRanker(
        fields["model"],
        [str(c) for c in fields["columns"]],
        version=str(fields.get("version", "unnamed")),
        about=fields["about"] if isinstance(fields.get("about"), dict) else {},
        explain=explain,
    )


def load(path: str | Path, *, explain: bool = False) -> TreesRanker:
    """Read a model from a file.

    Raises:
        InvalidArgument: the file cannot be read, or does not hold trees of this package.
        MissingExtra: LightGBM is not installed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidArgument(f"Cannot read the trees {str(path)!r}: {e}.") from e
    return from_json(text, str(path), explain=explain)


def require_lightgbm() -> Any:
    """The module.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import lightgbm
    except (ImportError, OSError) as e:  # OSError: the wheel is there, the OpenMP library is not
        raise MissingExtra(
            f"Boosted trees need LightGBM ({e}). Install it with: pip install 'recall-integrations[rank]'"
        ) from e
    return lightgbm
