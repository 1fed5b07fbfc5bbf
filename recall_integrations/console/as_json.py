"""Results as plain data for `--json`. Keys are only ever added; `format` is raised if the meaning of one changes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recall_integrations.console.scopes import scope_text
from recall_integrations.records import Hit, Memory, ParsedQuery, RecallResult, RetrievalPlan, Scope
from recall_integrations.store.rows import from_micros

FORMAT = 1
DECIMALS = 6


def dumps(payload: object) -> str:
    """Indented JSON; text stays readable."""
    return json.dumps(payload, ensure_ascii=False, indent=2, allow_nan=False)


def result_data(result: RecallResult, scope: Scope, k: int) -> dict[str, Any]:
    """A whole recall."""
    return {
        "format": FORMAT,
        "query": result.query.original,
        "scope": scope_text(scope),
        "k": k,
        "now": _time(result.query.now),
        "plan": result.plan.name,
        "reason": result.plan.reason,
        "confidence": _number(result.confidence),
        "hits": [_hit(hit) for hit in result.hits],
        "parsed": _parsed(result.query),
        "arms": [{"name": a.name, "weight": a.weight, "limit": a.limit} for a in result.plan.arms],
        "rules": _rules(result.plan),
        "rewrite": {"strategy": result.rewrite.strategy, "reason": result.rewrite.reason},
        "degraded": [{"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in result.degraded],
        "timings_ms": {name: _number(ms) for name, ms in result.timings_ms.items()},
    }


def stats_data(stats: Mapping[str, Any], scopes: Sequence[tuple[Scope, int]]) -> dict[str, Any]:
    """What `MemoryStore.stats` says, with scopes and times as text."""
    first, last = (None if t is None else from_micros(t).isoformat() for t in stats["event_at"])
    kept = {name: value for name, value in stats.items() if name != "event_at"}
    return {
        "format": FORMAT,
        **kept,
        "scopes": [{"scope": scope_text(scope), "memories": count} for scope, count in scopes],
        "first_event": first,
        "last_event": last,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.memory.id,
        "score": _number(hit.score),
        "reason": hit.reason,
        "memory": memory_data(hit.memory),
        "contributions": [
            {"source": c.source, "rank": c.rank, "score": _number(c.score), "added": _number(c.added)}
            for c in hit.contributions
        ],
    }


def memory_data(memory: Memory) -> dict[str, Any]:
    """A memory with the keys that `recall import --format jsonl` reads."""
    return {
        "id": memory.id,
        "text": memory.text,
        "type": memory.type.value,
        "actor": memory.actor,
        "channel": memory.channel,
        "event_at": _time(memory.event_at),
        "created_at": _time(memory.created_at),
        "importance": memory.importance,
        "entities": list(memory.entities),
        "relations": [[r.subject, r.predicate, r.object, r.confidence] for r in memory.relations],
        "thread": memory.thread,
        "position": memory.position,
        "refs": list(memory.refs),
        "metadata": dict(memory.metadata),
    }


def _parsed(parsed: ParsedQuery) -> dict[str, Any]:
    window = parsed.temporal_window
    return {
        "entities": [
            {
                "id": r.entity_id,
                "name": r.name,
                "mention": r.mention,
                "span": list(r.span),
                "confidence": _number(r.confidence),
                "stage": r.stage,
            }
            for r in parsed.entity_refs
        ],
        "window": None
        if window is None
        else {
            "start": _time(window.start),
            "end": _time(window.end),
            "span": list(window.span),
            "confidence": _number(window.confidence),
        },
        "negations": list(parsed.negations),
        "predicate_hints": list(parsed.predicate_hints),
        "type_hints": [t.value for t in parsed.type_hints],
        "terms": list(parsed.terms),
        "rewrites": list(parsed.rewrites),
        "specificity": _number(parsed.specificity),
        "features": {
            "entity_density": _number(parsed.features.entity_density),
            "temporal": _number(parsed.features.temporal),
            "lexical_rarity": _number(parsed.features.lexical_rarity),
            "type_cues": _number(parsed.features.type_cues),
        },
    }


def _rules(plan: RetrievalPlan) -> list[dict[str, Any]]:
    return [{"rule": c.rule, "fired": c.fired, "because": c.because, "margin": _number(c.margin)} for c in plan.checks]


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), DECIMALS)
