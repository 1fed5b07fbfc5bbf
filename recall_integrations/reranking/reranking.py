"""The rerank stage: gate, reranker under its time limit, new order, threshold, outcome. It never raises.

The gate asks, in this order: does the plan want it, are there enough candidates, is the reranker working and loaded,
could it change the answer, does it fit into the time. The first *no* decides and is the reason code.

**Could it change the answer?** (`skip.certain`) Let `p_1 ≥ … ≥ p_n` be the calibrated scores (probabilities of
relevance) and `d_i = 1 / log2(i + 1)` the weight of place i (that of nDCG), 0 beyond k. What is expected now is
`Σ d_i · p_i`. A perfect reranker puts the R relevant candidates first and reaches `F(R) = d_1 + … + d_R`. F is concave,
so by Jensen's inequality, however the candidates depend on each other, `E[F(R)] ≤ F(Σ p_i)` with F interpolated. The
difference, the regret, is the most that any reranker can add, in hits at the first place. The rerank is skipped if it
is at most `regret_max`; not where a threshold on the reranker's scores may drop hits however sure the order is.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from dataclasses import field, replace
from enum import Enum
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from recall_integrations.config import RerankConfig
from recall_integrations.errors import RecallError
from recall_integrations.records import record
from recall_integrations.reranking.reranker import Judged, LoadedReranker, Reranker, judge
from recall_integrations.resilience.breaker import Pass
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import for_whom, sentences
from recall_integrations.resilience.guard import (
    BUSY,
    CANCELLED,
    EMPTY,
    LATE,
    OPEN,
    SUCCESS,
    TIMEOUT,
    Answer,
    Estimate,
    Guard,
)
from recall_integrations.types import Degradation, RerankOutcome

MIN_K = 3  # fewer candidates than this are not worth a rerank
Calibrated = NDArray[np.floating]


@record(frozen=True, slots=True, kw_only=True)
class GateInput:
    """Input of the gate."""

    allowed: bool  # whether the plan lets the cross-encoder run
    calibrated: Calibrated  # scores of the candidates for the reranker, falling, in [0, 1]
    k: int  # number of hits wanted
    open_breaker: bool = False  # whether the reranker failed so often lately that it is off
    ready: bool = True  # whether its model is loaded
    trims: bool = False  # whether a threshold on its scores may drop hits
    estimate: Estimate | None = None  # of the time of this rerank; `None` = unknown, or not asked for yet
    remaining_ms: float = math.inf  # time left for the whole recall
    probe: bool = False  # run even if it was slow, to see whether it still is


def should_rerank(given: GateInput, least: float, budget_ms: float) -> tuple[bool, str]:
    """Decide whether to rerank, and return the reason code: `run`, or why not (`RerankOutcome.reason`).

    `least` is `rerank.regret_max`, `budget_ms` the longest wait for the reranker.
    """
    if not given.allowed:
        return False, "skip.plan"
    if len(given.calibrated) < MIN_K:
        return False, "skip.few"
    if given.open_breaker:
        return False, "skip.breaker"
    if not given.ready:
        return False, "skip.cold"
    if not given.trims and regret_max(given.calibrated, given.k) <= least:
        return False, "skip.certain"
    if given.remaining_ms <= 0:
        return False, "skip.budget"
    if given.estimate is not None and not given.probe:
        if given.estimate.median_ms > given.remaining_ms:
            return False, "skip.budget"
        if given.estimate.p95_ms > budget_ms:
            return False, "skip.slow"
    return True, "run"


def regret_max(calibrated: Calibrated, k: int) -> float:
    """Return the most that a perfect reranker could add, in hits at the first place; see the module."""
    p = np.asarray(calibrated, dtype=np.float64)
    k = min(k, len(p))
    weights = 1 / np.log2(np.arange(2, k + 2))
    relevant = float(p.sum())
    perfect = float(np.interp(relevant, np.arange(k + 1), np.concatenate([[0.0], np.cumsum(weights)])))
    return max(0.0, perfect - float(weights @ p[:k]))


# About what 512 tokens hold: what a cross-encoder does not read costs nothing. And the fixed cost of a pair.
PAIR_CHARS_MAX, PAIR_CHARS = 2_000, 64


def work_of(query: str, texts: Sequence[str]) -> float:
    """Return the size of a rerank, about proportional to its time: `Σ min(|query| + |text|, 2000) + 64` characters."""
    return float(sum(min(len(query) + len(text), PAIR_CHARS_MAX) + PAIR_CHARS for text in texts))


LOGIT, PROBABILITY = "logit", "probability"
HIGHLY, RELEVANT_FROM, WEAK_FROM = -8.0, -10.0, -12.0
_MODEL = "ms-marco-minilm-l"  # the family shares its data, its loss and so its scale
_TINY = 1e-300


class Band(str, Enum):
    """Relevance of a text to the query, by a cross-encoder's score."""

    HIGHLY_RELEVANT = "highly relevant"
    RELEVANT = "relevant"
    WEAK = "weak"
    IRRELEVANT = "irrelevant"

    def __str__(self) -> str:
        return self.value


def band(score: float, scale: str = LOGIT) -> Band | None:
    """Return the band of a score; `None` on a scale that is neither `logit` nor `probability`."""
    if scale == PROBABILITY:
        score = math.log(max(score, _TINY)) - math.log(max(1.0 - score, _TINY))
    elif scale != LOGIT:
        return None
    if score > HIGHLY:
        return Band.HIGHLY_RELEVANT
    if score >= RELEVANT_FROM:
        return Band.RELEVANT
    return Band.WEAK if score >= WEAK_FROM else Band.IRRELEVANT


def has_bands(model: str) -> bool:
    """Say whether the bands were made for this cross-encoder, by its name or the name of its folder."""
    return _MODEL in model.casefold()


COARSE_FACTOR = 10  # arms are asked for at least this many times k candidates


def coarse_of(k: int, arm_limit: int = 0) -> int:
    """Return the number of candidates to ask of an arm where a reranker is to order them."""
    return max(arm_limit, COARSE_FACTOR * k)


ODDS_MAX = 1e3  # of a candidate's score, so that a certain one can still be overtaken
FIRST_GAP, FIRST_SEEN = 2.5, 1.0  # deviations taken for granted, as if some two recalls had shown them
RECALLS = 64  # of a scope that count, the latest
SPREADS = 3  # deviations of the usual recall: a recall with a sentinel of -1e9 counts no more than that
SCORE_MAX = 1e100  # so that squares stay finite
SCOPES = 512  # whose trust is kept, those asked latest
WITHIN_MIN = 0.05  # of the variance; without a bound, scores that were always right would be certain


class Trust:
    """Measure what a reranker's scores say about relevance, from recalls alone: no labels are needed.

    Let `s` be the scores of the n candidates of a recall less their mean, and `r` the share of each in the odds of
    all, by the calibrated scores that they have. If the reranker puts what answers a gap `g` above the others, `Σ r·s`
    is `g·(Σ r² − 1/n)` in the mean, and 0 for scores without a meaning. So the ratio of both, summed over recalls,
    estimates the gap. By linear discriminant analysis (Fisher 1936) a score is then worth `g / v` log-odds beside those
    of the ranking, where `v`, the variance beside the gap, is that of `s` less `g²·(1 − 1/n)/n`: a reranker decides the
    order as far as it is sure and has earned it. One of these belongs to one scope: what others recall changes nothing
    here. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Of each recall: Σ r·s and the deviation of s, in this order, with Σ r² − 1/n and (1 − 1/n)/n.
        self._recalls: deque[tuple[float, float, float, float]] = deque(maxlen=RECALLS)

    def weight(self, odds: NDArray[np.float64], centered: NDArray[np.float64]) -> float:
        """Count a recall, and return the log-odds that a unit of its scores is worth, at least 0.

        Args:
            odds: of the candidates, two at least.
            centered: their scores less the mean, not all alike.
        """
        share, of_one = odds / odds.sum(), 1 / len(odds)
        now = (float(share @ centered), float(centered.std()), float(share @ share) - of_one, of_one * (1 - of_one))
        with self._lock:
            self._recalls.append(now)
            above, deviation, seen, mixed = np.asarray(self._recalls).T
        bounded = np.minimum(deviation, SPREADS * np.median(deviation))
        variance = float(np.mean(bounded * bounded))
        told = float(np.sum(above * (bounded / deviation))) + FIRST_SEEN * FIRST_GAP * math.sqrt(variance)
        gap = told / (float(np.sum(seen)) + FIRST_SEEN)
        return max(gap, 0.0) / max(variance - gap * gap * float(np.mean(mixed)), WITHIN_MIN * variance)


def reordered(
    calibrated: NDArray[np.floating],
    scores: Sequence[float | None],
    trust: Trust,
    unscored: AbstractSet[int] = frozenset(),
) -> NDArray[np.int64]:
    """Return the new order of candidates: places before, best first. Ties go to the candidate that came first.

    Args:
        calibrated: scores that the candidates have, falling, in [0, 1].
        scores: the reranker's, higher is better; `None` = it dropped the candidate, which goes last.
        trust: what the reranker's scores have been worth; counts this recall.
        unscored: places that the reranker had no time for: they stay, the others change among themselves.
    """
    order = np.arange(len(scores), dtype=np.int64)
    places = np.asarray([i for i in range(len(scores)) if i not in unscored], dtype=np.int64)
    kept = np.asarray([i for i in places if scores[i] is not None], dtype=np.int64)
    worth = np.full(len(scores), -np.inf)
    if len(kept):
        p = np.clip(np.asarray(calibrated, dtype=np.float64)[kept], 1 / ODDS_MAX, 1 - 1 / ODDS_MAX)
        odds = p / (1 - p)
        given = np.clip(np.asarray([scores[i] for i in kept], dtype=np.float64), -SCORE_MAX, SCORE_MAX)
        given -= given.mean()
        worth[kept] = np.log(odds)
        if given.std() > 0:
            worth[kept] += trust.weight(odds, given) * given
    order[places] = places[np.lexsort((places, -worth[places]))]
    return order


STAGE = "rerank"
WORKER_SHARE = 0.9  # of its time, for a reranker that stops by itself, so that its answer is there before we give up


@record(frozen=True, slots=True, kw_only=True)
class RerankRequest:
    """The input of a rerank."""

    query: str  # as the user asked it
    calibrated: NDArray[np.floating]  # scores of all candidates, falling, in [0, 1]
    # returns the texts of the first n candidates; called only if the gate allows the rerank
    texts: Callable[[int], Sequence[str]]
    k: int  # number of hits wanted
    allowed: bool  # whether the plan lets it run
    deadline: Deadline  # of the recall
    scope: int = 0  # whose recall it is


@record(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The reranker's judgement of one candidate."""

    score: float  # on the reranker's own scale
    rank: int  # 1-based place by the reranker's scores
    band: Band | None = None  # meaning of the score, where it is known


@record(frozen=True, slots=True, kw_only=True)
class Reranked:
    """The result of a rerank."""

    # places before, best first; shorter than before if a threshold left some out. Scores are shared out: the i-th keeps
    # the i-th score.
    order: NDArray[np.int64]
    outcome: RerankOutcome  # for the result
    judged: Mapping[int, Judgement] = field(default_factory=dict)  # by place before
    degraded: tuple[Degradation, ...] = ()  # steps that failed or were cut short


class RerankStage:
    """The rerank stage of one reranker."""

    def __init__(self, reranker: Reranker, settings: RerankConfig, guard: Guard) -> None:
        self._reranker = reranker
        self._settings = settings
        self._guard = guard
        self._warming: tuple[Future[Any], Pass] | None = None
        self._lock = threading.Lock()
        self._banded = has_bands(reranker.name)
        self._trust: LRUCache[int, Trust] = LRUCache(SCOPES)

    @property
    def reranker(self) -> Reranker:
        """The reranker of the stage."""
        return self._reranker

    @property
    def name(self) -> str:
        """Name of the reranker."""
        return self._reranker.name

    @property
    def local(self) -> bool:
        """True if the reranker runs in this process and passes nothing on: it may see what a caller may not."""
        return bool(getattr(self._reranker, "local", False))

    def warm(self) -> Future[Any] | None:
        """Start to load the reranker's model in a thread; return `None` if there is nothing to load or it is loaded."""
        if not isinstance(self._reranker, LoadedReranker) or self._reranker.ready:
            return None
        with self._lock:
            if self._warming is None:
                given = self._guard.breaker.enter() or Pass()
                self._warming = (self._guard.threads.submit(self._reranker.warm), given)
            return self._warming[0]

    def run(self, request: RerankRequest) -> Reranked:
        """Rerank, or return the reason why not."""
        n = min(self._settings.top_n, len(request.calibrated))
        outcome = RerankOutcome(reranker=self._reranker.name, candidates=n)
        failed = self._load_failure()
        if failed is not None and request.allowed:
            return self._left(request, replace(outcome, reason="failure.load"), failed)
        given = self._seen(request, n)
        go, reason = should_rerank(given, self._settings.regret_max, self._guard.limit_ms)
        if n >= 2 and request.allowed:
            outcome = replace(outcome, regret_max=regret_max(given.calibrated, request.k))
        if not go:
            return self._skipped(request, outcome, reason)
        try:
            texts = request.texts(n)
        except Exception as e:  # noqa: BLE001 - the store may fail here; the order before stands
            return self._left(request, replace(outcome, reason="failure.error"), e)
        work = work_of(request.query, texts)
        pace = self._guard.pace
        given = replace(given, estimate=pace.estimate(work), remaining_ms=request.deadline.remaining_ms())
        go, reason = should_rerank(given, self._settings.regret_max, self._guard.limit_ms)
        probe = not go and reason in ("skip.slow", "skip.budget") and given.remaining_ms > 0 and pace.refused()
        if not go and not probe:
            return self._skipped(request, outcome, reason)
        return self._ask(request, texts, work, outcome, probe)

    # -- before --------------------------------------------------------------------------------------------------------

    def _seen(self, request: RerankRequest, n: int) -> GateInput:
        return GateInput(
            allowed=request.allowed,
            calibrated=request.calibrated[:n],
            k=request.k,
            open_breaker=self._guard.breaker.refuses(for_whom.get()),
            ready=not isinstance(self._reranker, LoadedReranker) or self._reranker.ready,
            trims=self._settings.threshold is not None,
            remaining_ms=request.deadline.remaining_ms(),
        )

    def _load_failure(self) -> BaseException | None:
        """Return the error that kept the model from loading, once for each try."""
        with self._lock:
            if self._warming is None or not self._warming[0].done():
                return None
            (loading, given), self._warming = self._warming, None
        error = loading.exception()
        if error is None:
            self._guard.breaker.succeeded(given)
        else:
            self._guard.breaker.failed(given, type(error).__name__)
        return error

    def _skipped(self, request: RerankRequest, outcome: RerankOutcome, reason: str) -> Reranked:
        name, why = self._reranker.name, f"{self._reranker.name} takes longer than there is time."
        if reason == "skip.cold":
            self.warm()
        said = {
            "skip.cold": "Its model is being loaded. QueryOptimizer.warm() waits for it.",
            OPEN: f"{name} failed several times in a row.",
            BUSY: f"As many calls of {name} as may be have not returned.",
            "skip.slow": why,
            "skip.budget": why,
        }
        degraded = (_degradation(reason, said[reason]),) if reason in said else ()
        saved = outcome.candidates
        done = replace(outcome, reason=reason, pairs_saved=saved, saved_ms=self._guard.pace.median_ms(saved))
        return Reranked(order=_same(request), outcome=done, degraded=degraded)

    # -- the rerank ----------------------------------------------------------------------------------------------------

    def _ask(
        self, request: RerankRequest, texts: Sequence[str], work: float, outcome: RerankOutcome, probe: bool
    ) -> Reranked:
        n = len(texts)
        limit = request.deadline.child(self._guard.limit_ms)
        worker = limit.child(limit.remaining_ms() * WORKER_SHARE)
        guard = self._guard
        given = (judge, self._reranker, request.query, texts, worker)
        begun = guard.begin(limit, *given, work=work, pieces=n, paced=False, probe=probe)
        if isinstance(begun, Answer):
            return self._skipped(request, outcome, begun.reason)

        def done(judged: Judged) -> tuple[float, int]:
            scored = [text for i, text in enumerate(texts) if i not in judged.unscored]
            return work_of(request.query, scored), len(scored)

        answer = guard.ended(begun, lambda judged: len(judged.unscored) == n, done)
        outcome = replace(outcome, duration_ms=answer.took_ms)
        if answer.reason == SUCCESS and answer.value is not None:
            scored = n - len(answer.value.unscored)
            return self._ordered(request, answer.value, replace(outcome, scored=scored, used=True))
        if answer.reason == CANCELLED:  # nobody waits any more: no fault of the reranker
            worker.cancel()
            return self._left(request, replace(outcome, reason="skip.budget"), None)
        if answer.reason == EMPTY:  # it stopped in time by itself, with nothing
            guard.pace.record(LATE * answer.took_ms, work, n)
        if answer.reason in (EMPTY, TIMEOUT):
            worker.cancel()
            return self._left(request, replace(outcome, reason="failure.timeout"), TimeoutError())
        return self._left(request, replace(outcome, reason="failure.error"), answer.error, answer.told)

    def _left(
        self, request: RerankRequest, outcome: RerankOutcome, error: BaseException | None, told: str = ""
    ) -> Reranked:
        """Leave the order as it is, and name the reason."""
        if error is None:
            return Reranked(order=_same(request), outcome=outcome)
        if outcome.reason == "failure.timeout":
            reason, detail = "timeout", f"{self._reranker.name} did not answer within {outcome.duration_ms:.0f} ms."
        else:
            reason = error.code.lower() if isinstance(error, RecallError) else "error"
            detail = sentences(f"{type(error).__name__}: {error}", told)
        return Reranked(order=_same(request), outcome=outcome, degraded=(_degradation(reason, detail),))

    def _ordered(self, request: RerankRequest, judged: Judged, outcome: RerankOutcome) -> Reranked:
        settings, n, k = self._settings, outcome.candidates, request.k
        first = reordered(request.calibrated[:n], judged.scores, self._trust_of(request.scope), judged.unscored)
        order = np.concatenate([first, np.arange(n, len(request.calibrated), dtype=np.int64)])
        degraded: tuple[Degradation, ...] = ()
        reason = "success"
        if judged.unscored:
            reason = "success.partial"
            detail = f"The time sufficed for {outcome.scored} of {n} candidates."
            degraded = (_degradation("partial", detail),)
        elif settings.threshold is not None:
            low = settings.threshold
            kept = [i for i in first.tolist() if (score := judged.scores[i]) is not None and score >= low]
            outcome = replace(outcome, trimmed=len(order) - len(kept))
            order = np.asarray(kept, dtype=np.int64)
        moved = sum(int(place != i) for i, place in enumerate(order[:k].tolist()))
        return Reranked(
            order=order,
            outcome=replace(outcome, reason=reason, moved=moved),
            judged=self._judgements(judged),
            degraded=degraded,
        )

    def _trust_of(self, scope: int) -> Trust:
        with self._lock:
            return self._trust.setdefault(scope, Trust())

    def _judgements(self, judged: Judged) -> dict[int, Judgement]:
        scale = getattr(self._reranker, "scale", "") if self._banded else ""
        scored = [(score, i) for i, score in enumerate(judged.scores) if score is not None and i not in judged.unscored]
        scored.sort(key=lambda item: (-item[0], item[1]))
        return {
            i: Judgement(score=score, rank=rank, band=band(score, scale)) for rank, (score, i) in enumerate(scored, 1)
        }


def _same(request: RerankRequest) -> NDArray[np.int64]:
    return np.arange(len(request.calibrated), dtype=np.int64)


def _degradation(reason: str, detail: str) -> Degradation:
    return Degradation(stage=STAGE, reason=reason, detail=detail)
