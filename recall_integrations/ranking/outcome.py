"""What the rerank stage did and what its gate saved, for the result of a recall."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOutcome:
    """What the optional rerank did.

    Args:
        reranker: its name; empty where none is configured.
        reason: a reason code:
            `skip.disabled` no reranker; `skip.plan` the plan does without; `skip.few` too few candidates;
            `skip.breaker` it failed several times in a row and is off for a while; `skip.cold` its model is still being
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
        trimmed: candidates that `rerank_threshold` left out.
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
