"""Scores that mean something: from a ranker's order to probabilities.

A ranker's score orders the candidates of one query and says nothing across queries. A `Calibration` belongs to one
version of one ranker and adds two models over evidence that holds across queries:

- **confidence** `c`: the probability that at least one of the first `k` candidates is relevant. A logistic model (Platt
  2000): `logit c = bias + Σ weight · input + a·z + b·z²`, inputs of `RESULT`, `z = ln(k / 10)`; `k` counts at most the
  candidates, and `z` at most to where `a·z + b·z²` stops to rise.
- **probability** of each candidate: whether this memory answers, whatever the others do. A logistic model with a hidden
  layer: `logit p = bias + Σ weight · input + Σ out · tanh(into · input + bias)`, inputs of `HIT`. What a word of the
  query that nothing stands for is worth depends on how many memories there are, and on the embedding: the hidden layer
  holds that. It looks at the best `BEST` candidates; of those behind, the odds fall with the score. A sole candidate,
  of a scope with one memory or behind a narrow filter, has no other to stand out from: it has a model of its own,
  which has the greater part behind a filter, the fewer memories meet it.

Every input is clipped to the range that was seen in fitting, so that a scope unlike any other cannot push a
probability to an extreme. The probabilities are then sorted along the order the candidates are returned in
(rearrangement: Chernozhukov, Fernández-Val and Galichon 2009): they fall with the order, keep their sum, and a reranker
or the diversity stage shares them out anew.

The two models are fitted apart and may contradict each other: that one of ten hits is relevant is at most as probable
as the sum of their probabilities (Boole's inequality), and at least as probable as the best of them. `within` keeps the
confidence of a result between the two.

A probability holds for a mix of queries. The share of queries that have an answer in the scope, which the shipped
weights assume, is in `about`, with what they were fitted on and how well they hold elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kernels import Values, weighted
from recall_integrations.ranking.features.compute import Features
from recall_integrations.records import record
from recall_integrations.text import idf
from recall_integrations.text.analyser import K1

if TYPE_CHECKING:
    from recall_integrations.ranking.feature_sum import Ranking


LOGIT_MAX = 12.0  # a model's probability is never closer to 0 or 1 than 6e-6
Doubles = NDArray[np.float64]


@record(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Hidden layer of a logistic model: `Σ out · tanh(into · input + bias)`, inputs clipped."""

    into: Doubles  # float64 `(units, inputs)`
    bias: Doubles  # bias, out: float64 `(units,)`
    out: Doubles

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], inputs: int) -> Hidden:
        """Read a layer from a file that `scripts/` has written."""
        into, bias, out = (np.asarray(kept[name], dtype=np.float64) for name in ("into", "bias", "out"))
        if into.shape != (len(bias), inputs) or bias.shape != out.shape:
            raise ValueError("the hidden layer does not fit the inputs")
        if not all(np.isfinite(part).all() for part in (into, bias, out)):
            raise ValueError("a weight of the hidden layer is not a finite number")
        return cls(into=into, bias=bias, out=out)


@record(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Logistic model with the logit `bias + Σ weight · clip(input, low, high)`, plus that of a hidden layer."""

    names: tuple[str, ...]  # the inputs, in the order of the other three
    weights: Doubles  # weights, low, high: float64 `(len(names),)`
    low: Doubles
    high: Doubles
    bias: float  # logit where all inputs are 0
    hidden: Hidden | None = None  # `None` = none

    def logits(self, x: Doubles) -> Doubles:
        """Compute the logit of each row of `(n, inputs)`."""
        columns = np.minimum(np.maximum(x, self.low), self.high).T
        z = weighted(self.weights, columns) + self.bias
        if self.hidden is not None:
            made = np.tanh(self.hidden.into @ columns + self.hidden.bias[:, None])
            z += weighted(self.hidden.out, made)
        return np.minimum(np.maximum(z, -LOGIT_MAX), LOGIT_MAX)

    def logit(self, x: Doubles) -> float:
        """Compute the logit of one row, `(inputs,)`."""
        return float(self.logits(x[None, :])[0])

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], names: tuple[str, ...]) -> Logistic:
        """Read a model from a file that `scripts/` has written."""
        inputs = kept["inputs"]
        if set(inputs) != set(names):
            raise ValueError(f"inputs differ from this version's: {sorted(set(inputs) ^ set(names))}")
        table = np.asarray([inputs[name] for name in names], dtype=np.float64).reshape(-1, 3)
        bias = float(kept["bias"])
        if not (np.isfinite(table).all() and math.isfinite(bias)) or (table[:, 1] > table[:, 2]).any():
            raise ValueError("a weight or a bound is not a finite number, or a lower bound is above the upper one")
        hidden = None if kept.get("hidden") is None else Hidden.from_dict(kept["hidden"], len(names))
        weights, low, high = table.T
        return cls(names=names, weights=weights, low=low, high=high, bias=bias, hidden=hidden)


SHIPPED = Path(__file__).with_name("calibration.json")
FORMAT = "recall-calibration-4"
K = 10  # where z = 0
TOP = 5
BEST = 64  # candidates that the model of hits looks at
EQUAL = 0.5  # scores that are no farther apart say the same
KINDS = ("people", "crowd", "roles", "apart", "notes", "unsaid", "untold", "long", "documents")
_IDF_MIN, _IDF_MAX = math.exp(-2), math.exp(5)
LOGIT_END = 30.0  # of one for another k, which is led back to that of the model

_OWN = (
    *("weakest", "focal_match", "focal_word", "soft_match", "near_match", "near_match_w1", "passage_match"),
    *("lead_match", "asked_before", "asking_share", "by_user"),
    *("by_asked_role", "bigram_match", "speaker_named", "date_match", "date_words_asked", "cosine", "idf_coverage"),
)
_ANY = (
    *("weakest", "focal_match", "focal_word", "focus", "idf_coverage", "soft_match", "near_match"),
    *("thread_best_soft_match", "passage_match", "cosine", "speaker_named"),
)
# The same for all candidates of a query, in the order of `_shared`: 1 / the embedding's spread where candidates have
# cosines, else 0; share of the candidates that stand beside another one in their thread; ln of the number of
# candidates; 1 / that number; the gates.
_SHARED = ("vectors", "beside", "size", "few", *KINDS)
# "x_any": the best x of any candidate; "x_top": of the five best by score; s1, s2, s10: first, second, tenth score (of
# fewer candidates the last); "gap2": s1 − s2; "unknown": share of the query's Σ idf that no memory of the scope
# holds; "idf": ln Σ idf of the query's stems, between −2 and 5, 0 where no candidate holds a stem. Cosines are in units
# of the embedding's spread. Of `speaker_named`, "top" is the share of the top that is by an actor whom the query names.
RESULT = (
    *("unknown", "unknown²", *(f"{name}_any" for name in _ANY)),
    *("weakest_top", "focal_match_top", "focal_word_top", "soft_match_top", "soft_match_top²", "near_match_top"),
    *("near_match_top²", "near_match_w1_top", "passage_match_top", "lead_match_top", "asked_before_top"),
    *("bigram_match_top", "cosine_top", "date_match_top", "speaker_named_top", "s1", "gap2", "gap10", "idf"),
    *("idf·unknown", "idf·idf_coverage_any", "idf·soft_match_top", "idf·near_match_top", "size·unknown"),
    *("size·weakest_top", "size·near_match_top", "size·cosine_top", *_SHARED),
)
# "above": ln(1 + the candidates whose score is better by more than `EQUAL`); "equals": ln of those at most so far away;
# "gap": the score − s1; "next": the score − the next lower one; "lift": the cosine − its mean over the candidates.
HIT = (
    *("above", "equals", "gap", "next", "s1", "gap2", "gap10", "idf", "unknown", "lift"),
    *(*_OWN, *(f"{name}_any" for name in _ANY), *_SHARED),
)
# What both models read, once for the two: those of `_OWN` first.
_READ = tuple(dict.fromkeys((*_OWN, *_ANY)))
READ = (*_READ, "bm25", "bm25_of_ceiling")  # all columns that a calibration looks at
# What `result_inputs` computes, in that order, and where the inputs of `RESULT` are among it.
_COMPUTED = (
    *(f"{name}_top" for name in _READ),
    *(f"{name}_any" for name in _READ),
    *("unknown", "unknown²", "soft_match_top²", "near_match_top²", "s1", "gap2", "gap10"),
    *("idf", "idf·unknown", "idf·idf_coverage_any", "idf·soft_match_top", "idf·near_match_top"),
    *("size·unknown", "size·weakest_top", "size·near_match_top", "size·cosine_top"),
    *_SHARED,
)
_PICKED = np.asarray([_COMPUTED.index(name) for name in RESULT])
_SOFT, _NEAR, _COVERAGE = (_READ.index(name) for name in ("soft_match", "near_match", "idf_coverage"))
_NAMED, _WEAKEST, _COSINE = (_READ.index(name) for name in ("speaker_named", "weakest", "cosine"))
_ANY_READ = np.asarray([_READ.index(name) for name in _ANY])
_AGAIN = "Make them again with scripts/fit_calibration.py."


@record(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Conversion of the scores of one version of a ranker into probabilities. Threads may share one."""

    ranker: str  # ranker, ranker_version: whose scores it is for
    ranker_version: str
    version: str  # of these weights; part of the cache key
    result: Logistic  # over the inputs of `RESULT`
    per_k: tuple[float, float]  # `a`, at least 0, and `b`, at most 0
    hit: Logistic  # hit, sole: over the inputs of `HIT`
    sole: Logistic  # of the only candidate
    about: Mapping[str, Any]  # what it was fitted on; kept as it is

    @classmethod
    def load(cls, ranker: str, version: str | None = None, path: str | Path = SHIPPED) -> Calibration | None:
        """Load the calibration of a ranker; `None` where the file has none for it."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise InvalidArgument(f"Cannot read the calibrations {str(path)!r}: {e}.") from e
        found = from_json(text, str(path)).get(ranker)
        return found if found is not None and version in (None, found.ranker_version) else None

    def confidence(self, features: Features, ranking: Ranking, unknown: float, *, k: int = K) -> float:
        """Compute the probability that at least one of the `k` best candidates is relevant; 0 without candidates."""
        if not features.size or k < 1:
            return 0.0
        if features.size == 1:
            return float(self.probabilities(features, ranking, None, unknown)[0])
        logit = self.result.logit(result_inputs(features, ranking.scores, unknown))
        return _probability(logit + self._gain(min(k, features.size)))

    def probabilities(
        self,
        features: Features,
        ranking: Ranking,
        order: Sequence[int] | NDArray[np.int64] | None,
        unknown: float,
        share: float = 1.0,
    ) -> Values:
        """Compute each candidate's probability of relevance, float32 `(candidates,)`, falling along `order`.

        `share`: of the scope's memories that meet the filters. The fewer do, the less a candidate that stands out from
        the others says, and the less it says that the scope knows a word: the model of a sole candidate has its part.
        """
        size, scores = features.size, ranking.scores
        if not size:
            return np.zeros(0, dtype=np.float32)
        ranked = (-scores).argsort(kind="stable")
        falling = scores[ranked].astype(np.float64)
        z = falling - falling[min(size, BEST) - 1]
        inputs, alone = hit_inputs(features, scores, ranked, unknown), 1.0 if size == 1 else 1 - share
        logits = self.hit.logits(inputs) if alone < 1 else np.zeros(len(inputs))
        if alone > 0:
            logits = (1 - alone) * logits + alone * self.sole.logits(inputs)
        best = np.sort(logits)[::-1]
        z += best[-1]
        z[:BEST] = best
        out = np.empty(size, dtype=np.float32)
        chance = 1 / (1 + np.exp(-np.maximum(z, -LOGIT_END)))
        out[ranked if order is None else _completed(order, ranked)] = chance
        return out

    def _gain(self, k: int) -> float:
        """Compute `a·z + b·z²`."""
        a, b = self.per_k
        z = math.log(k / K)
        if b < 0:
            z = min(z, -a / (2 * b))
        return (a + b * z) * z


def within(confidence: float, scores: Iterable[float]) -> float:
    """Limit the confidence to at most the sum of the hits' scores, and at least the best of them."""
    known = tuple(scores)
    return min(max(confidence, *known, 0.0), math.fsum(known))


def unknown_share(stems: Sequence[str], frequency: Callable[[str], int], count: int) -> float:
    """Return the share of the stems' Σ idf that no memory of the scope holds; 1 without stems or memories."""
    known = missing = 0.0
    for stem in stems:
        held = frequency(stem)
        worth = idf(held, count)
        known, missing = (known, missing + worth) if held == 0 else (known + worth, missing)
    whole = known + missing
    return missing / whole if whole > 0 and count > 0 else 1.0


def result_inputs(features: Features, scores: Values, unknown: float) -> Doubles:
    """Return the inputs of `RESULT`, in its order. There is at least one candidate."""
    top = (-scores).argsort(kind="stable")[: max(TOP, K)]
    first = scores[top].tolist()
    table = _table(features)
    among = table.take(top[:TOP], axis=1)
    best, every = np.maximum.reduce(among, axis=1).tolist(), np.maximum.reduce(table, axis=1).tolist()
    best[_NAMED] = float(np.add.reduce(among[_NAMED]) / np.float32(among.shape[1]))
    worth, size = _stems_idf(features), math.log(features.size)
    soft, near = best[_SOFT], best[_NEAR]
    made = [
        *best,
        *every,
        *(unknown, unknown**2, soft**2, near**2),
        *(first[0], first[0] - first[min(1, len(first) - 1)], first[0] - first[-1]),
        *(worth, worth * unknown, worth * every[_COVERAGE], worth * soft, worth * near),
        *(size * unknown, size * best[_WEAKEST], size * near, size * best[_COSINE]),
        *_shared(features),
    ]
    inputs: Doubles = np.asarray(made).take(_PICKED)
    return inputs


def hit_inputs(features: Features, scores: Values, ranked: NDArray[np.int64], unknown: float) -> Doubles:
    """Return the inputs of `HIT` for the best `BEST` candidates; row `i` is candidate `ranked[i]`."""
    falling = scores[ranked].astype(np.float64)
    own = falling[:BEST]
    first, last = float(falling[0]), len(falling) - 1
    above = np.searchsorted(-falling, -(own + EQUAL))
    table = _table(features)
    out = np.empty((len(HIT), len(own)))  # input by input, as the columns lie
    out[0] = np.log1p(above)
    out[1] = np.log(np.searchsorted(-falling, EQUAL - own, side="right") - above)
    out[2] = own - first
    out[3] = own - falling[np.minimum(np.arange(1, len(own) + 1), last)]
    out[4:9] = np.asarray(
        (first, first - falling[min(1, last)], first - falling[min(K - 1, last)], _stems_idf(features), unknown)
    )[:, None]
    out[9] = table[_COSINE].take(ranked[:BEST]) - np.add.reduce(table[_COSINE]) / len(falling)
    end = 10 + len(_OWN)
    out[10:end] = table[: len(_OWN)].take(ranked[:BEST], axis=1)
    out[end : end + len(_ANY)] = np.maximum.reduce(table.take(_ANY_READ, axis=0), axis=1)[:, None]
    out[end + len(_ANY) :] = np.asarray(_shared(features))[:, None]
    turned: Doubles = out.T
    return turned


def _table(features: Features) -> Values:
    """Return the columns of `_READ`, with the cosine in units of the embedding's spread."""
    table: Values = features.table(_READ)
    if features.cosine_spread == 1:
        return table
    scaled: Values = table.copy()
    scaled[_COSINE] /= np.float32(features.cosine_spread)
    return scaled


def _stems_idf(features: Features) -> float:
    """Compute the input `idf`."""
    share = float(np.maximum.reduce(features["bm25_of_ceiling"]))
    whole = float(np.maximum.reduce(features["bm25"])) / (share * (K1 + 1)) if share > 0 else 1.0
    return math.log(min(max(whole, _IDF_MIN), _IDF_MAX))


def _shared(features: Features) -> list[float]:
    """Return the inputs that are the same for all candidates, in the order of `_SHARED`."""
    gates = features.gates
    return [
        1 / features.cosine_spread if features.compared else 0.0,
        features.beside,
        math.log(features.size),
        1 / features.size,
        *[gates.get(gate, 0.0) for gate in KINDS],
    ]


def from_json(text: str, where: str = "the calibrations") -> dict[str, Calibration]:
    """Read calibrations, by the ranker's name."""
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{where} cannot be read as JSON: {e}. {_AGAIN}") from e
    rankers = fields.get("rankers") if isinstance(fields, dict) and fields.get("format") == FORMAT else None
    if not isinstance(rankers, dict):
        raise InvalidArgument(f"{where} must be a mapping with format {FORMAT!r} and 'rankers'. {_AGAIN}")
    return {name: _calibration(name, kept, f"{where}: the calibration of {name!r}") for name, kept in rankers.items()}


def _calibration(ranker: str, kept: Mapping[str, Any], where: str) -> Calibration:
    try:
        return Calibration(
            ranker=ranker,
            ranker_version=str(kept["ranker_version"]),
            version=str(kept["version"]),
            result=Logistic.from_dict(kept["confidence"], RESULT),
            per_k=_per_k(kept["confidence"]["per_k"]),
            hit=Logistic.from_dict(kept["hit"], HIT),
            sole=Logistic.from_dict(kept["sole"], HIT),
            about=dict(kept["about"]),
        )
    except (KeyError, TypeError, ValueError) as e:
        raise InvalidArgument(f"{where} is not whole: {e!r}. {_AGAIN}") from e


def _per_k(kept: Sequence[Any]) -> tuple[float, float]:
    a, b = (float(v) for v in kept)
    if not (math.isfinite(a) and math.isfinite(b) and a >= 0 >= b):
        raise ValueError(f"per_k must be a finite number of at least 0 and one of at most 0, not {kept!r}")
    return a, b


def _completed(order: Sequence[int] | NDArray[np.int64], ranked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `order`, then the candidates of `ranked` that it leaves out."""
    listed = np.asarray(order, dtype=np.int64)
    if len(listed) == len(ranked):
        return listed
    rest = np.ones(len(ranked), dtype=np.bool_)
    rest[listed] = False
    return np.concatenate([listed, ranked[rest[ranked]]])


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-min(max(logit, -LOGIT_END), LOGIT_END)))
