"""What a recall gives back, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recall_integrations.types.memory import Memory
from recall_integrations.types.plan import RetrievalPlan
from recall_integrations.types.query import ParsedQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one source added to a hit.

    Args:
        source: an arm (`semantic`, `lexical`, …), a ranking term (`recency`, `importance`, …), or what moved the hit
            after ranking (`rerank`, `diversity`, `type_first`, `time_first`, `negation`, `duplicate`).
        rank: 1-based place in that arm's list; `None` for terms that do not rank.
        score: the source's own score (cosine, BM25, …), on its own scale.
        added: what it added to the sum that orders the hits, or took from it, in the ranker's units.
        note: what the score means in words, where that is known (`relevant`).
    """

    source: str
    rank: int | None = None
    score: float
    added: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found.

    Args:
        memory: the memory; under `privacy="redact"` every text in it is redacted, under `"block"` it has none.
        score: probability that the memory is relevant, in [0, 1], calibrated for `ranking.strategy: fixed_weights`
            (docs/ranking.md); of the other strategies a number in [0, 1] that only orders. Hits come in falling order
            of it. A reranker or the diversity stage changes the order and shares out the scores.
        reason: why it is here, in words.
        contributions: what each source added, largest first. Their sums fall along the hits, but for the rounding of
            float32.
        duplicates: ids of memories that say the same, best first; a place is theirs only where nothing else is left.
        context: with `recall(context=n)`, the memories up to n places before and after in the same thread, in order;
            without the hit itself, withheld as it is under `redact` and `block`.
    """

    memory: Memory
    score: float
    reason: str = ""
    contributions: tuple[Contribution, ...] = ()
    duplicates: tuple[str, ...] = ()
    context: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Degradation:
    """A step that was skipped, cut short or failed.

    Args:
        stage: name of the stage or arm.
        reason: a reason code, such as `timeout`, `error`, `skip.budget`, `index.rebuilt`.
        detail: for people.
    """

    stage: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOutcome:
    """What the optional LLM rewrite did.

    Args:
        strategy: `disabled` there is no LLM, or it is not to be asked; `skipped` it was not asked; `llm` its phrasings
            were searched for; `cache` those of a like query of the last minutes were; `fallback` it was asked, and gave
            nothing that could be searched for in time.
        reason: a reason code:
            `success`; `cache_hit`;
            `skip.disabled`; `skip.privacy` no text may leave the recall; `skip.specific` the query says plainly what it
            is after; `skip.plan` the plan does without; `skip.literal_query` all of it is quoted; `skip.identifier` all
            of it is ids, paths or URLs; `skip.command` it begins with show, find, list, get or open;
            `skip.short_query` it is no more than three words; `skip.sure` the first answer is sure enough;
            `skip.no_memories` there is nothing to find; `skip.budget` it does not fit into the time that is left;
            `skip.busy` as many calls as may be have not returned; `skip.slo` it fell back, came back empty or was slow
            too often lately; `circuit_open` it failed three times in a row;
            `failure.timeout`; `failure.error`; `failure.cancelled`; `failure.empty`; `failure.off_topic` what it gave
            is not about the query.
        provider: the class of the LLM, and its model where it says that; empty where there is none.
        duration_ms: from the question to the answer, or until it was given up; 0 if nothing was asked.
        used: whether phrasings were searched for.
        saved_ms: where nothing was asked, what asking would have taken, by the median of recent calls; `None` = that is
            not known.
        refused: of the phrasings, how many were not about the query.
        moved: of the first k places, how many hold another memory than without it.
    """

    strategy: str = "disabled"
    reason: str = "skip.disabled"
    provider: str = ""
    duration_ms: float = 0.0
    used: bool = False
    saved_ms: float | None = None
    refused: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOutcome:
    """What the result cache did (docs/caching.md).

    Args:
        strategy: `disabled`, `miss` (the answer was computed) or `hit` (it was kept from an earlier recall, and
            `query`, `plan`, `rewrite` and `rerank` say what was done for that one).
        reason: a reason code:
            `skip.disabled` nothing is kept; `same` the query was asked in the same letters; `alike` it was written
            differently and reads the same; of an answer that was computed, `kept` for later or why not:
            `degraded` it is not whole; `unsettled` the reranker or the rewriter was left out for now, or the scope's
            vocabulary is still being read; `written` the scope was written to meanwhile.
        age_ms: of a hit, how long ago the answer was computed.
    """

    strategy: str = "disabled"
    reason: str = "skip.disabled"
    age_ms: float = 0.0

    @property
    def hit(self) -> bool:
        """Whether the answer was kept from an earlier recall."""
        return self.strategy == "hit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOutcome:
    """What the optional rerank did.

    Args:
        reranker: its name; empty where none is configured.
        reason: a reason code:
            `skip.disabled` no reranker; `skip.plan` the plan does without; `skip.few` too few candidates;
            `skip.privacy` under `privacy="block"` none outside of this process is asked;
            `skip.breaker` it failed several times in a row and is off for a while; `skip.busy` as many calls as may be
            have not returned; `skip.cold` its model is still being
            loaded; `skip.certain` even a perfect reranker could add next to nothing; `skip.stable` its recent reranks
            never overcame such gaps; `skip.budget` it does not fit into the time that is left; `skip.slow` it does not
            fit into its own budget; `success`; `success.partial` the time sufficed for some of the candidates only;
            `failure.timeout`, `failure.error`, `failure.load`.
        used: whether the order is the reranker's.
        duration_ms: time of the stage, 0 if it was skipped.
        candidates: how many it could have scored.
        scored: how many it scored.
        pairs_saved: pairs of query and text that the gate spared it; 0 if it ran, or failed.
        saved_ms: what these would have taken, by the median of its recent runs; `None` = not known yet.
        moved: of the first k places, how many hold another memory than before.
        regret_max: the most that a perfect reranker could have added, as `gate.regret_max` computes it; `None` = the
            gate did not come so far.
        trimmed: candidates that `rerank.threshold` left out.
        audited: whether the gate let it run although it may have been certain, to learn how far it moves candidates.
    """

    reranker: str = ""
    reason: str = "skip.disabled"
    used: bool = False
    duration_ms: float = 0.0
    candidates: int = 0
    scored: int = 0
    pairs_saved: int = 0
    saved_ms: float | None = None
    moved: int = 0
    regret_max: float | None = None
    trimmed: int = 0
    audited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer of `QueryOptimizer.recall`. Iterating over it gives its hits.

    Args:
        hits: best first, ties by id.
        query: the query as it was understood; under `privacy="redact"` it speaks of the redacted query, under `"block"`
            it has no words.
        plan: what was done about it.
        rewrite: what the LLM rewrite did.
        rerank: what the cross-encoder did, and what its gate saved.
        cache: whether the answer was kept from an earlier recall.
        degraded: what did not work or was left out; empty when all went well.
        timings_ms: milliseconds per stage, and `total`; those of a hit of the cache are `cache` and `total`.
        confidence: probability that at least one hit is relevant, at most the sum of their scores, 0 where nothing was
            found; where the scores are not calibrated, the best hit's score.
    """

    hits: tuple[Hit, ...]
    query: ParsedQuery
    plan: RetrievalPlan
    rewrite: RewriteOutcome = field(default_factory=RewriteOutcome)
    rerank: RerankOutcome = field(default_factory=RerankOutcome)
    cache: CacheOutcome = field(default_factory=CacheOutcome)
    degraded: tuple[Degradation, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None

    @property
    def degradation_steps(self) -> tuple[str, ...]:
        """Under pressure, what was left out, in order: `reduced_top_k`, `simplified_scoring`, `minimal`."""
        return tuple(d.reason for d in self.degraded if d.stage == "admission")

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
