"""Results as plain data, for `--json` and HTTP. Keys are only ever added; a changed meaning raises `format`."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from recall_integrations.adapters.rows import memory_data
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.indexes.times import from_micros
from recall_integrations.types import Hit, ParsedQuery, RecallResult, RetrievalPlan, Scope
from recall_integrations.types.facts import Fact

_NAMES: Mapping[str, str] = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))


def name_of(source: str) -> str:
    """Return a source in plain words; a source of the user's own keeps its name, with spaces."""
    return _NAMES.get(source) or source.replace("_", " ")


FORMAT = 1
DECIMALS = 6


def dumps(payload: object) -> str:
    """Return indented JSON in which text stays readable."""
    return json.dumps(payload, ensure_ascii=False, indent=2, allow_nan=False)


def result_data(result: RecallResult, scope: Scope, k: int | None, *, highlights: bool = True) -> dict[str, Any]:
    """Return a whole recall as data; without `highlights`, to look for which takes a quarter as long as the recall."""
    return {
        "format": FORMAT,
        "query": result.query.original,
        "scope": scope_text(scope),
        "k": k,
        "now": _time(result.query.now),
        "plan": result.plan.name,
        "reason": result.plan.reason,
        **_of(result, "confidence searched"),
        "hits": [_hit(hit, highlights) for hit in result.hits],
        "parsed": _parsed(result.query),
        "arms": [{"name": a.name, "weight": a.weight, "limit": a.limit} for a in result.plan.arms],
        "rules": _each(result.plan.checks, "rule fired because margin"),
        "rewrite": _of(result.rewrite, "strategy reason provider duration_ms used saved_ms refused moved usage"),
        "rerank": _of(result.rerank, "reranker reason used duration_ms candidates scored moved"),
        "facts": _of(result.facts, "subject slot mode at first beneath confidence"),
        "cache": {"strategy": result.cache.strategy, "reason": result.cache.reason, "age_ms": result.cache.age_ms},
        "degraded": _each(result.degraded, "stage reason detail"),
        "notes": _each(result.notes, "reason detail"),
        "timings_ms": {name: _number(ms) for name, ms in result.timings_ms.items()},
        **_of(result, "id version"),
    }


def explanation_data(
    found: RecallResult | ParsedQuery,
    plan: RetrievalPlan,
    scope: Scope,
    *,
    asked: Collection[str],
    k: int | None = None,
) -> dict[str, Any]:
    """Return the data of `recall explain`: the keys of a recall and more. Without a recall `searched` is false, too.

    `asked` names the arms that have something to look for.
    """
    searched = isinstance(found, RecallResult)
    result = found if isinstance(found, RecallResult) else RecallResult(hits=(), query=found, plan=plan)
    parsed = replace(result.query, type_hints=plan.type_hints)
    whole = result_data(replace(result, query=parsed, plan=plan), scope, k)
    verdict = parsed.conversational
    return {
        **whole,
        "searched": searched and result.searched,
        "tokens": [{"text": parsed.original[slice(*t.span)], **_of(t, "span roles rarity")} for t in parsed.tokens],
        "parsed": {
            **whole["parsed"],
            **_of(parsed, "language unread memories_in type_cues type_filters"),
            "identifiers": _each(parsed.identifiers, "text kind span"),
            "corrections": [
                {**_of(c, "word spelling"), "stem": c.correction, **_of(c, "similarity frequency")}
                for c in parsed.corrections
            ],
            "router": _of(parsed.router, "mode reason graph_bias time_bias"),
            "conversational": {
                "verdict": verdict.conversational,
                **_of(verdict, "domain_signal stopword_ratio has_code rare because"),
            },
        },
        "runner_up": None
        if plan.runner_up is None
        else {"plan": plan.runner_up, "margin": _number(plan.runner_up_margin)},
        "switches": _of(
            plan,
            "type_filter window_filter time_filter in_order exact_match time_bias rewrite rerank diversity prefers",
        ),
        "arms": [
            {**arm, "asked": arm["name"] in asked, "ms": _number(result.timings_ms.get(f"arm.{arm['name']}"))}
            for arm in whole["arms"]
        ],
    }


def stats_data(stats: Mapping[str, Any], scopes: Sequence[tuple[Scope, int]]) -> dict[str, Any]:
    """Return the figures of `MemoryStore.stats`, with scopes and times as text."""
    first, last = (None if t is None else from_micros(t).isoformat() for t in stats["event_at"])
    kept = {name: value for name, value in stats.items() if name != "event_at"}
    return {
        "format": FORMAT,
        **kept,
        "scopes": [{"scope": scope_text(scope), "memories": count} for scope, count in scopes],
        "first_event": first,
        "last_event": last,
    }


def facts_data(facts: Iterable[Fact], at: datetime) -> list[dict[str, Any]]:
    """Return facts as they may be seen, with whether each `holds` at a time."""
    return [
        {
            **_of(fact, "subject slot value"),
            "holds": fact.held_at(at),
            **_of(fact, "valid_from valid_to told_at memory_id said_by superseded_by ended confidence by"),
        }
        for fact in facts
    ]


def _hit(hit: Hit, highlights: bool) -> dict[str, Any]:
    return {
        "id": hit.memory.id,
        **_of(hit, "score reason"),
        "scope": None if hit.scope is None else scope_text(hit.scope),
        "memory": memory_data(hit.memory),
        "contributions": [
            {"source": c.source, "name": name_of(c.source), **_of(c, "rank score added")} for c in hit.contributions
        ],
        "duplicates": list(hit.duplicates),
        "context": [memory_data(memory) for memory in hit.context],
        **_of(hit, "superseded_by valid_from valid_to"),
        "highlights": [
            {"start": h.start, "end": h.end, "kind": h.kind, "of": h.of, "weight": h.weight}
            for h in (hit.highlights if highlights else ())
        ],
    }


def _parsed(parsed: ParsedQuery) -> dict[str, Any]:
    return {
        "entities": [{"id": r.entity_id, **_of(r, "name mention span confidence stage")} for r in parsed.entity_refs],
        "window": _of(parsed.temporal_window, "start end span confidence alternatives"),
        "session": _of(parsed.session, "places part numbered span confidence found because"),
        **_of(parsed, "talk negations predicate_hints type_hints terms rewrites specificity"),
        "features": _of(parsed.features, "entity_density temporal lexical_rarity type_cues"),
        **_of(parsed, "asked_role asked_role_strength asides"),
    }


def _of(record: object, names: str) -> Any:
    """Return fields of a record as JSON has them: times and enumerations as text, numbers rounded."""
    return None if record is None else {name: _plain(getattr(record, name)) for name in names.split()}


def _each(records: Iterable[object], names: str) -> list[Any]:
    return [_of(record, names) for record in records]


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), DECIMALS)
