"""Writes a line of JSON for each recall, for whoever collects logs.

    logging.getLogger("recall_integrations.recall").addHandler(handler)
    optimizer = QueryOptimizer(store, observers=[RecallLog()])

Nothing is written unless this observer is given, and the logger lets `INFO` through.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from recall_integrations.errors import RecallError
from recall_integrations.types import Hit, MemoryType, RecallResult
from recall_integrations.types.observing import Look, RecallEvent, RecallObserver

DECIMALS = 4
BUDGET = frozenset({"reduced_top_k", "simplified_scoring", "minimal", "budget.tokens", "skip.budget", "timeout"})


def fields(event: RecallEvent) -> dict[str, Any]:
    """Return the fields of a recall. Those with parts (`stagesLatency`, `thresholdsUsed`, …) are mappings."""
    said: dict[str, Any] = {
        "privacyMode": event.privacy,
        "k": event.k,
        "effectiveTimeMs": round(event.took_ms, DECIMALS),
        "scopeDigest": list(event.scopes),
    }
    error = event.error
    if error is not None:
        said["error"] = code_of(error)
    result = event.result
    if result is None:
        return said
    rerank, query, rewrite = result.rerank, result.query, result.rewrite
    provider, _, model = rewrite.provider.partition(" ")
    graph = [arm for part in event.parts for arm in part.arms if arm.name == "graph"]
    short = next((d.reason for d in result.degraded if d.reason in BUDGET), "")  # of time or tokens
    said |= {
        "plan": result.plan.name,
        "version": result.version,
        "routerMode": query.router.mode,
        "language": query.language,
        "specificity": round(query.specificity, DECIMALS),
        "finalTopK": len(result.hits),
        "confidence": None if result.confidence is None else round(result.confidence, DECIMALS),
        "stagesLatency": dict(result.timings_ms),
        "rerankUsed": rerank.used,
        "rerankReason": rerank.reason,
        "thresholdsUsed": dict(event.thresholds),
        "contributionShares": shares(result.hits),
        "cacheStrategy": result.cache.strategy,
        "cacheReason": result.cache.reason,
        # Whether all that was delivered was in memory.
        "hydrationCacheHit": any(part.hydrated for part in event.parts) and not any(part.read for part in event.parts),
        "level": max([part.level for part in event.parts], default=0),
        "degraded": [f"{d.stage}:{d.reason}" for d in result.degraded],
        "graphSeeds": sum(arm.seeds for arm in graph),
        "graphEdgesUsed": sum(arm.edges for arm in graph),
        "graphBoostApplied": any(arm.placed for arm in graph),
        "budgetApplied": bool(short),
        "budgetReason": short,
        "rewriteStrategy": rewrite.strategy,
        "rewriteReason": rewrite.reason,
        "rewriteDurationMs": round(rewrite.duration_ms, DECIMALS),
        "rewriteUsed": rewrite.used,
        "rewriteProvider": provider,
        "rewriteModel": model,
        "rewriteUsage": dict(rewrite.usage),
    }
    if scores := sorted(hit.score for hit in result.hits):
        named = {"min": scores[0], "median": scores[len(scores) // 2], "max": scores[-1]}
        said["scores"] = {name: round(value, DECIMALS) for name, value in named.items()}
    return said


def shares(hits: tuple[Hit, ...]) -> dict[str, float]:
    """Return the shares of hits that are chunks of documents, summaries, and all other memories."""
    if not hits:
        return {"chunks": 0.0, "observations": 0.0, "summaries": 0.0}
    types = [hit.memory.type for hit in hits]
    each = 1 / len(types)
    chunks, summaries = types.count(MemoryType.CHUNK) * each, types.count(MemoryType.SUMMARY) * each
    rest = max(0.0, 1 - chunks - summaries)
    return {"chunks": round(chunks, 3), "observations": round(rest, 3), "summaries": round(summaries, 3)}


def rationale(result: RecallResult) -> dict[str, list[str]]:
    """Return ids of the named entities, of hits that state the relation asked for, and of hits that a name led to."""
    by = {str(hit.memory.id): {part.source for part in hit.contributions if part.score > 0} for hit in result.hits}
    return {
        "entities": [ref.entity_id for ref in result.query.entity_refs if ref.mention],
        "edges": [hit for hit, sources in by.items() if "edge" in sources],
        "evidence": [hit for hit, sources in by.items() if "graph" in sources],
    }


def code_of(error: BaseException) -> str:
    """Return the code of one of our errors, else the name of its class."""
    return error.code if isinstance(error, RecallError) else type(error).__name__


def flat(said: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the fields as attributes of a span: names with a prefix, mappings taken apart, empty fields left out."""
    found: dict[str, Any] = {}
    for name, value in said.items():
        if isinstance(value, dict):
            own = f"{prefix}{name}."
            for part, inner in value.items():
                found[own + part] = inner
        elif value is not None and value != []:
            found[prefix + name] = value
    return found


NAME = "recall_integrations.recall"
# A server may set it around a recall; it comes along into our threads.
REQUEST_ID: ContextVar[str] = ContextVar("recall_integrations_request_id", default="")


class RecallLog(RecallObserver):
    """Writes a line for each recall that has ended, and for each that was refused. Threads share it.

    The line is the message of the record, so that any handler and formatter does; `record.recall` has its fields.

    Args:
        logger: name of the logger that gets them; default `recall_integrations.recall`.
        content: whether lines hold the query and the ids of hits. Under `privacy="redact"` and `"block"`
            they never do.
        level: level of the records; for recalls that raised it is at least `WARNING`.
    """

    def __init__(self, logger: str = NAME, *, content: bool = False, level: int = logging.INFO) -> None:
        self._logger, self._content, self._level = logging.getLogger(logger), content, level

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Write the line of a recall."""
        level = self._level if event.error is None else max(self._level, logging.WARNING)
        if not self._logger.isEnabledFor(level):
            return
        said = fields(event)
        if self._content and event.privacy == "allow" and event.result is not None:
            result = event.result
            said["query"] = result.query.original
            said["rationaleIds"] = rationale(result)
            said["hits"] = [hit.memory.id for hit in result.hits]
        self._write(level, "recall", said)

    def refused(self, error: Exception) -> None:
        """Write why a recall was refused."""
        level = max(self._level, logging.WARNING)
        if self._logger.isEnabledFor(level):
            self._write(level, "refused", {"error": code_of(error)})

    def _write(self, level: int, kind: str, said: dict[str, Any]) -> None:
        request = REQUEST_ID.get()
        line = {"event": kind, **({"requestId": request} if request else {}), **said}
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)
        self._logger.log(level, "%s", text, extra={"recall": line})
