"""Scores that mean something: from a ranker's order to probabilities.

A ranker's score orders the candidates of one query and says nothing across queries. A `Calibration` belongs to one
version of one ranker and adds two logistic models (Platt 2000) over evidence that is not relative to the query:

- **confidence** `c`: the probability that at least one of the first `k` candidates is relevant.
  `logit c = bias + Σ weight · input + a·z + b·z²`, inputs of `RESULT`, `z = ln(k / 10)`; `k` counts at most the
  candidates, and `z` at most to where `a·z + b·z²` stops to rise.
- **probability** of each candidate: `logit p = bias + Σ weight · input`, inputs of `HIT`, one of which is `logit c` at
  k = 10. No candidate gets more than `c` at k = 10.

Every input is clipped to the range that was seen in fitting, so that a scope unlike any other cannot push a
probability to an extreme. The probabilities are then sorted along the order the candidates are returned in
(rearrangement: Chernozhukov, Fernández-Val and Galichon 2009): they fall with the order, keep their sum, and a reranker
or the diversity stage shares them out anew.

The two models are fitted apart and may contradict each other: that one of ten hits is relevant is at most as probable
as the sum of their probabilities (Boole's inequality; the product of the complements would take the hits for
independent, but where one is the answer the others mostly are not). Where the first `K` add up to less than the
confidence for `K`, all are raised in proportion. Of a result, which may hold fewer, `within` lowers the confidence.

A probability holds for a mix of queries. The share of queries that have an answer in the scope, which the shipped
weights assume, is in `about`, with what they were fitted on and how well they hold elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers.feature_sum import Ranking
from recall_integrations.records import record
from recall_integrations.text import idf
from recall_integrations.text.bm25 import K1

SHIPPED = Path(__file__).resolve().parent / "weights" / "calibration.json"
FORMAT = "recall-calibration-2"
K = 10  # where z = 0
TOP = 5
KINDS = ("people", "crowd", "roles", "apart", "long", "documents")
_IDF_MIN, _IDF_MAX = math.exp(-2), math.exp(5)
LOGIT_MAX = 12.0  # a model's probability is never closer to 0 or 1 than 6e-6
LOGIT_END = 30.0  # of one for another k, which is led back to that of the model

# "top": among the five best by score; "any": among all candidates; s1, s2, s10: first, second, tenth score.
RESULT: Mapping[str, str] = {
    "unknown": "share of the query's Σ idf that no memory of the scope holds",
    "unknown²": "unknown²",
    "idf_coverage_any": "the best idf_coverage of any",
    "soft_match_any": "the best soft_match of any",
    "near_match_any": "the best near_match of any",
    "thread_best_soft_match_any": "the best thread_best_soft_match of any",
    "passage_match_any": "the best passage_match of any",
    "cosine_any": "the best cosine of any",
    "speaker_named_any": "1 where any is by an actor whom the query names",
    "soft_match_top": "the best soft_match of the top",
    "soft_match_top²": "soft_match_top²",
    "near_match_top": "the best near_match of the top",
    "near_match_top²": "near_match_top²",
    "near_match_w1_top": "the best near_match_w1 of the top",
    "passage_match_top": "the best passage_match of the top",
    "lead_match_top": "the best lead_match of the top",
    "asked_before_top": "the best asked_before of the top",
    "bigram_match_top": "the best bigram_match of the top",
    "cosine_top": "the best cosine of the top",
    "date_match_top": "the best date_match of the top",
    "speaker_named_top": "share of the top that is by an actor whom the query names",
    "s1": "s1",
    "gap2": "s1 − s2 (with fewer candidates, − the last score)",
    "gap10": "s1 − s10 (with fewer candidates, − the last score)",
    "idf": "ln Σ idf of the query's stems, between −2 and 5; 0 where no candidate holds a stem",
    "idf·unknown": "idf · unknown",
    "idf·idf_coverage_any": "idf · idf_coverage_any",
    "idf·soft_match_top": "idf · soft_match_top",
    "idf·near_match_top": "idf · near_match_top",
    "vectors": "1 where candidates have cosines",
    "beside": "share of the candidates that stand beside another candidate in their thread",
    "size": "ln of the number of candidates",
    **{gate: f"the gate {gate!r} (`kind.GATES`)" for gate in KINDS},
}
# `place`: 0 for the candidate with the best score, 1 for the next.
HIT: Mapping[str, str] = {
    "confidence": "logit c at k = 10",
    "place": "ln(1 + place)",
    "gap": "the score − s1",
    "confidence·place": "confidence · place",
    "confidence·gap": "confidence · gap",
    "next": "the score − the next lower one (of the last candidate: 0)",
    "soft_match": "soft_match",
    "near_match": "near_match",
    "near_match_w1": "near_match_w1",
    "passage_match": "passage_match",
    "lead_match": "lead_match",
    "asked_before": "asked_before",
    "asking_share": "asking_share",
    "by_user": "by_user",
    "by_asked_role": "by_asked_role",
    "bigram_match": "bigram_match",
    "speaker_named": "speaker_named",
    "date_match": "date_match",
    "date_words_asked": "date_words_asked",
    "cosine": "cosine",
    "vectors": "1 where candidates have cosines",
    "beside": "share of the candidates that stand beside another candidate in their thread",
    "size": "ln of the number of candidates",
    **{gate: f"the gate {gate!r} (`kind.GATES`)" for gate in KINDS},
}
_OWN = (
    "soft_match",
    "near_match",
    "near_match_w1",
    "passage_match",
    "lead_match",
    "asked_before",
    "asking_share",
    "by_user",
    "by_asked_role",
    "bigram_match",
    "speaker_named",
    "date_match",
    "date_words_asked",
    "cosine",
)
_TOP = (
    "soft_match",
    "near_match",
    "near_match_w1",
    "passage_match",
    "lead_match",
    "asked_before",
    "bigram_match",
    "cosine",
    "date_match",
    "speaker_named",
)
_ANY = (
    "idf_coverage",
    "soft_match",
    "near_match",
    "thread_best_soft_match",
    "passage_match",
    "cosine",
    "speaker_named",
)
# What both models read, once for the two: those of `_OWN` first.
_READ = tuple(dict.fromkeys((*_OWN, *_TOP, *_ANY)))
# What `result_inputs` computes, in that order, and where the inputs of `RESULT` are among it.
_COMPUTED = (
    *(f"{name}_top" for name in _READ),
    *(f"{name}_any" for name in _READ),
    *("unknown", "unknown²", "soft_match_top²", "near_match_top²", "s1", "gap2", "gap10"),
    *("idf", "idf·unknown", "idf·idf_coverage_any", "idf·soft_match_top", "idf·near_match_top"),
    *("vectors", "beside", "size", *KINDS),
)
_PICKED = np.asarray([_COMPUTED.index(name) for name in RESULT])
_SOFT, _NEAR, _COVERAGE = (_READ.index(name) for name in ("soft_match", "near_match", "idf_coverage"))
_NAMED = _READ.index("speaker_named")
Doubles = NDArray[np.float64]
_LOG_PLACES: Doubles = np.log1p(np.arange(1_024))
_AGAIN = "Make them again with scripts/fit_calibration.py."


@record(frozen=True, slots=True, kw_only=True)
class Logistic:
    """A logistic model: `bias + Σ weight · clip(input, low, high)` is the logit.

    Args:
        names: the inputs, in the order of the other three.
        weights, low, high: float64 `(len(names),)`.
        bias: logit where all inputs are 0.
    """

    names: tuple[str, ...]
    weights: Doubles
    low: Doubles
    high: Doubles
    bias: float

    def logits(self, x: Doubles) -> Doubles:
        """Of each row, or of the one row, of `x`."""
        kept = np.minimum(np.maximum(x, self.low), self.high)
        z: Doubles = np.einsum("...i,i->...", kept, self.weights) + self.bias
        return np.minimum(np.maximum(z, -LOGIT_MAX), LOGIT_MAX)

    def logit(self, x: Doubles) -> float:
        """Of one row, `(inputs,)`."""
        kept = np.minimum(np.maximum(x, self.low), self.high)
        return min(max(float(kept @ self.weights) + self.bias, -LOGIT_MAX), LOGIT_MAX)

    def logits_of(self, columns: Doubles) -> Doubles:
        """Of each column of `(inputs, n)`, which are clipped in place."""
        np.maximum(columns, self.low[:, None], out=columns)
        np.minimum(columns, self.high[:, None], out=columns)
        z = weighted(self.weights, columns)
        z += self.bias
        np.maximum(z, -LOGIT_MAX, out=z)
        np.minimum(z, LOGIT_MAX, out=z)
        return z

    def to_dict(self) -> dict[str, Any]:
        """As it is kept."""
        rows = zip(self.names, self.weights.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return {
            "bias": round(self.bias, 5),
            "inputs": {name: [round(w, 5), round(low, 5), round(high, 5)] for name, w, low, high in rows},
        }


@record(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What turns the scores of one version of a ranker into probabilities. Threads may share one.

    Args:
        ranker, ranker_version: whose scores it is for.
        version: of these weights; part of the cache key.
        result: over the inputs of `RESULT`.
        per_k: `a`, at least 0, and `b`, at most 0.
        hit: over the inputs of `HIT`.
        about: what it was fitted on; kept as it is.
    """

    ranker: str
    ranker_version: str
    version: str
    result: Logistic
    per_k: tuple[float, float]
    hit: Logistic
    about: Mapping[str, Any]

    @classmethod
    def load(cls, ranker: str, version: str | None = None, path: str | Path = SHIPPED) -> Calibration | None:
        """The calibration of a ranker; `None` where the file has none for it.

        Args:
            ranker: its name.
            version: its version; `None` = any. Scores of other weights need another calibration.
            path: the file. Default: that of the package.

        Raises:
            InvalidArgument: the file cannot be read, or does not hold calibrations of this package.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise InvalidArgument(f"Cannot read the calibrations {str(path)!r}: {e}.") from e
        found = from_json(text, str(path)).get(ranker)
        return found if found is not None and version in (None, found.ranker_version) else None

    def confidence(self, features: Features, ranking: Ranking, unknown: float, *, k: int = K) -> float:
        """Probability that at least one of the `k` best candidates is relevant; 0 without candidates.

        Args:
            features: of the candidates.
            ranking: of the ranker this belongs to.
            unknown: see `unknown_share`.
            k: how many are returned.
        """
        if not features.size or k < 1:
            return 0.0
        logit = self.result.logit(result_inputs(features, ranking.scores, unknown))
        return _probability(logit + self._gain(min(k, features.size)))

    def probabilities(
        self,
        features: Features,
        ranking: Ranking,
        order: Sequence[int] | NDArray[np.int64] | None,
        confidence: float,
        *,
        k: int = K,
    ) -> Values:
        """Probability of relevance of each candidate, float32 `(candidates,)`, falling along `order`.

        Args:
            features: of the candidates.
            ranking: of the ranker this belongs to.
            order: candidates as they are returned, best first. `None` = by score, ties by place. Those it leaves out
                follow by score.
            confidence: what `confidence` gave for the same candidates and the same `k`.
            k: see `confidence`.
        """
        size, scores = features.size, ranking.scores
        if not size:
            return np.zeros(0, dtype=np.float32)
        ranked = (-scores).argsort(kind="stable")
        logit = _logit(confidence) - self._gain(min(max(k, 1), size))
        z = np.minimum(self.hit.logits_of(hit_inputs(features, scores, ranked, logit).T), logit)
        whole = _probability(logit + self._gain(min(K, size)))
        z.sort()
        odds_against = np.exp(-z[::-1])
        odds_against += 1
        falling = _adding_up(1 / odds_against, whole)
        out = np.empty(size, dtype=np.float32)
        out[ranked if order is None else _completed(order, ranked)] = falling
        return out

    def _gain(self, k: int) -> float:
        """`a·z + b·z²`."""
        a, b = self.per_k
        z = math.log(k / K)
        if b < 0:
            z = min(z, -a / (2 * b))
        return (a + b * z) * z

    def to_dict(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "ranker_version": self.ranker_version,
            "version": self.version,
            "about": dict(self.about),
            "confidence": {**self.result.to_dict(), "per_k": [round(v, 5) for v in self.per_k]},
            "hit": self.hit.to_dict(),
        }


def within(confidence: float, scores: Iterable[float]) -> float:
    """The confidence, at most what the scores of the hits add up to."""
    return min(confidence, math.fsum(scores))


def unknown_share(stems: Sequence[str], frequency: Callable[[str], int], count: int) -> float:
    """Share of the stems' Σ idf that no memory of the scope holds; 1 without stems or memories.

    Args:
        stems: of the query.
        frequency: memories of the scope that hold a stem.
        count: memories of the scope.
    """
    known = missing = 0.0
    for stem in stems:
        held = frequency(stem)
        worth = idf(held, count)
        known, missing = (known, missing + worth) if held == 0 else (known + worth, missing)
    whole = known + missing
    return missing / whole if whole > 0 and count > 0 else 1.0


def result_inputs(features: Features, scores: Values, unknown: float) -> Doubles:
    """The inputs of `RESULT`, in its order. There is at least one candidate."""
    top = (-scores).argsort(kind="stable")[: max(TOP, K)]
    first = scores[top].tolist()
    table = features.table(_READ)
    among = table.take(top[:TOP], axis=1)
    best, every = np.maximum.reduce(among, axis=1).tolist(), np.maximum.reduce(table, axis=1).tolist()
    best[_NAMED] = float(np.add.reduce(among[_NAMED]) / np.float32(among.shape[1]))
    share = float(np.maximum.reduce(features["bm25_of_ceiling"]))
    whole = float(np.maximum.reduce(features["bm25"])) / (share * (K1 + 1)) if share > 0 else 1.0
    stems_idf = math.log(min(max(whole, _IDF_MIN), _IDF_MAX))
    soft, near = best[_SOFT], best[_NEAR]
    made = [
        *best,
        *every,
        *(unknown, unknown**2, soft**2, near**2),
        *(first[0], first[0] - first[min(1, len(first) - 1)], first[0] - first[-1]),
        *(stems_idf, stems_idf * unknown, stems_idf * every[_COVERAGE], stems_idf * soft, stems_idf * near),
        *_shared(features),
    ]
    inputs: Doubles = np.asarray(made).take(_PICKED)
    return inputs


def hit_inputs(features: Features, scores: Values, ranked: NDArray[np.int64], logit: float) -> Doubles:
    """The inputs of `HIT` for the candidates in `ranked`, `(candidates, inputs)`; row `i` is candidate `ranked[i]`."""
    falling = scores[ranked].astype(np.float64)
    out = np.empty((len(HIT), len(ranked)))  # input by input, as the columns lie
    out[0] = logit
    out[1] = _LOG_PLACES[: len(ranked)] if len(ranked) <= len(_LOG_PLACES) else np.log1p(np.arange(len(ranked)))
    np.subtract(falling, falling[0], out=out[2])
    np.multiply(out[1:3], logit, out=out[3:5])
    np.subtract(falling[:-1], falling[1:], out=out[5, :-1])
    out[5, -1] = 0
    own = 6 + len(_OWN)
    out[6:own] = features.table(_READ)[: len(_OWN)].take(ranked, axis=1)
    out[own:] = np.asarray(_shared(features))[:, None]
    turned: Doubles = out.T
    return turned


def _shared(features: Features) -> list[float]:
    """What is the same for all candidates, in the order in which `RESULT` and `HIT` end."""
    gates = features.gates
    return [
        float(features.compared),
        features.beside,
        math.log(features.size),
        *[gates.get(gate, 0.0) for gate in KINDS],
    ]


def from_json(text: str, where: str = "the calibrations") -> dict[str, Calibration]:
    """Read calibrations, by the ranker's name.

    Raises:
        InvalidArgument: not calibrations of this package; the message says what is wrong.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{where} cannot be read as JSON: {e}. {_AGAIN}") from e
    rankers = fields.get("rankers") if isinstance(fields, dict) and fields.get("format") == FORMAT else None
    if not isinstance(rankers, dict):
        raise InvalidArgument(f"{where} must be a mapping with format {FORMAT!r} and 'rankers'. {_AGAIN}")
    return {name: _calibration(name, kept, f"{where}: the calibration of {name!r}") for name, kept in rankers.items()}


def to_json(calibrations: Mapping[str, Calibration]) -> str:
    """As `from_json` reads it."""
    rankers = {name: calibrations[name].to_dict() for name in sorted(calibrations)}
    return json.dumps({"format": FORMAT, "rankers": rankers}, indent=1, ensure_ascii=False) + "\n"


def _calibration(ranker: str, kept: Mapping[str, Any], where: str) -> Calibration:
    try:
        return Calibration(
            ranker=ranker,
            ranker_version=str(kept["ranker_version"]),
            version=str(kept["version"]),
            result=_logistic(kept["confidence"], RESULT),
            per_k=_per_k(kept["confidence"]["per_k"]),
            hit=_logistic(kept["hit"], HIT),
            about=dict(kept["about"]),
        )
    except (KeyError, TypeError, ValueError) as e:
        raise InvalidArgument(f"{where} is not whole: {e!r}. {_AGAIN}") from e


def _per_k(kept: Sequence[Any]) -> tuple[float, float]:
    a, b = (float(v) for v in kept)
    if not (math.isfinite(a) and math.isfinite(b) and a >= 0 >= b):
        raise ValueError(f"per_k must be a finite number of at least 0 and one of at most 0, not {kept!r}")
    return a, b


def _logistic(kept: Mapping[str, Any], expected: Mapping[str, str]) -> Logistic:
    inputs = kept["inputs"]
    if set(inputs) != set(expected):
        raise ValueError(f"inputs differ from this version's: {sorted(set(inputs) ^ set(expected))}")
    table = np.asarray([inputs[name] for name in expected], dtype=np.float64).reshape(-1, 3)
    bias = float(kept["bias"])
    if not (np.isfinite(table).all() and math.isfinite(bias)) or (table[:, 1] > table[:, 2]).any():
        raise ValueError("a weight or a bound is not a finite number, or a lower bound is above the upper one")
    return Logistic(names=tuple(expected), weights=table[:, 0], low=table[:, 1], high=table[:, 2], bias=bias)


def _adding_up(falling: Doubles, confidence: float) -> Doubles:
    """With the first `K` adding up to the confidence at least, raised in proportion; so none is above it."""
    total = float(np.add.reduce(falling[:K]))
    return falling if total >= confidence else falling * (confidence / total)


def _completed(order: Sequence[int] | NDArray[np.int64], ranked: NDArray[np.int64]) -> NDArray[np.int64]:
    """`order`, then those of `ranked` that it leaves out."""
    listed = np.asarray(order, dtype=np.int64)
    if len(listed) == len(ranked):
        return listed
    rest = np.ones(len(ranked), dtype=np.bool_)
    rest[listed] = False
    return np.concatenate([listed, ranked[rest[ranked]]])


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-min(max(logit, -LOGIT_END), LOGIT_END)))


def _logit(probability: float) -> float:
    if not probability > 0:
        return -LOGIT_END
    return math.log(probability / (1 - probability)) if probability < 1 else LOGIT_END
