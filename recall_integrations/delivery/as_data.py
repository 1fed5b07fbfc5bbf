"""Sources of contributions in plain words, for whoever reads JSON without the table of docs/ranking.md."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.indexes.times import from_micros
from recall_integrations.types import Hit, Memory, ParsedQuery, RecallResult, RetrievalPlan, RewriteOutcome, Scope
from recall_integrations.types.result import Decision, RerankOutcome

_NAMES = {
    "semantic": "found by meaning",
    "lexical": "found by its words",
    "graph": "found by the names it mentions",
    "temporal": "found by its time",
    "type_filter": "found by its type",
    "bm25": "words of the query (BM25)",
    "bm25_counted": "words of the query, counted (BM25)",
    "bm25_of_best": "words of the query against the best text",
    "bm25_of_ceiling": "words of the query against what is possible",
    "idf_coverage": "share of the query's rare words",
    "passage_match": "best passage",
    "char_bm25": "words spelled alike",
    "lead_match": "how the text begins",
    "soft_match": "words alike in meaning",
    "near_match": "words that stand close together",
    "bigram_match": "pairs of words",
    "log_length": "length",
    "near_match_w1": "words close together, with its neighbours",
    "near_match_w2": "words close together, with two neighbours on each side",
    "previous_log_length": "length of what stands before it",
    "thread_bm25": "words of the query in its thread",
    "thread_best_bm25": "words of the query in the best text of its thread",
    "thread_best_soft_match": "words alike in meaning in the best text of its thread",
    "feedback": "words shared with what matches best",
    "near_in_time": "close in time to what matches",
    "cosine": "meaning (cosine)",
    "cosine_w1": "meaning, with its neighbours (cosine)",
    "speaker_named": "the query names who said it",
    "names_speaker": "it names who is asked about",
    "cast_present": "who is asked about takes part in its thread",
    "asked_before": "answers a question close to the query",
    "subject_match": "what it is about was said before",
    "speaker_prior_match": "what its speaker said before",
    "previous_question_match": "the question before it",
    "exchange_match": "question and answer together",
    "is_question": "it asks something",
    "asking_share": "how much of it asks something",
    "previous_is_question": "a question stands before it",
    "by_user": "the user said it",
    "by_asked_role": "said in the role that is asked for",
    "exchange_bm25": "words of the query in what is said beside it",
    "date_words": "it says a date",
    "date_words_asked": "it says a date, and one is asked for",
    "told_asked": "it tells when something was, and that is asked",
    "date_match": "its date is the one asked for",
    "edge": "states the link asked for",
    "title": "is about what is named",
    "exact": "holds the id letter by letter",
    "owner": "whether it is about who asks",
    "denial": "whether it denies what the question denies",
    "router": "kind of memory preferred",
    "profile": "like most of what is kept",
    "recency": "how new it is",
    "importance": "how important it is",
    "rewrite": "found by other words",
    "rerank": "reranker",
    "diversity": "moved so that others say something else",
    "type_first": "moved for its type",
    "time_first": "moved for its time",
    "negation": "moved for what the query excludes",
}


def name_of(source: str) -> str:
    """Return a source in plain words; a source of the user's own keeps its name, with spaces."""
    return _NAMES.get(source) or source.replace("_", " ")


FORMAT = 1
DECIMALS = 6


def dumps(payload: object) -> str:
    """Return indented JSON in which text stays readable."""
    return json.dumps(payload, ensure_ascii=False, indent=2, allow_nan=False)


def result_data(result: RecallResult, scope: Scope, k: int | None, *, highlights: bool = True) -> dict[str, Any]:
    """Return a whole recall as data."""
    return {
        "format": FORMAT,
        "query": result.query.original,
        "scope": scope_text(scope),
        "k": k,
        "now": _time(result.query.now),
        "plan": result.plan.name,
        "reason": result.plan.reason,
        "confidence": _number(result.confidence),
        "searched": result.searched,
        "hits": [_hit(hit, highlights) for hit in result.hits],
        "parsed": _parsed(result.query),
        "arms": [{"name": a.name, "weight": a.weight, "limit": a.limit} for a in result.plan.arms],
        "rules": _rules(result.plan),
        "rewrite": _rewrite(result.rewrite),
        "rerank": _rerank(result.rerank),
        "facts": _decision(result.facts),
        "cache": {"strategy": result.cache.strategy, "reason": result.cache.reason, "age_ms": result.cache.age_ms},
        "degraded": [{"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in result.degraded],
        "notes": [{"reason": note.reason, "detail": note.detail} for note in result.notes],
        "timings_ms": {name: _number(ms) for name, ms in result.timings_ms.items()},
        "id": result.id,
        "version": result.version,
    }


def _rewrite(outcome: RewriteOutcome) -> dict[str, Any]:
    return {
        "strategy": outcome.strategy,
        "reason": outcome.reason,
        "provider": outcome.provider,
        "duration_ms": _number(outcome.duration_ms),
        "used": outcome.used,
        "saved_ms": _number(outcome.saved_ms),
        "refused": outcome.refused,
        "moved": outcome.moved,
    }


def _decision(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    return {
        "subject": decision.subject,
        "slot": decision.slot,
        "mode": decision.mode,
        "at": _time(decision.at),
        "first": list(decision.first),
        "beneath": list(decision.beneath),
        "confidence": _number(decision.confidence),
    }


def _rerank(outcome: RerankOutcome) -> dict[str, Any]:
    return {
        "reranker": outcome.reranker,
        "reason": outcome.reason,
        "used": outcome.used,
        "duration_ms": _number(outcome.duration_ms),
        "candidates": outcome.candidates,
        "scored": outcome.scored,
        "moved": outcome.moved,
    }


def explanation_data(
    found: RecallResult | ParsedQuery,
    plan: RetrievalPlan,
    scope: Scope,
    *,
    asked: Collection[str],
    k: int | None = None,
) -> dict[str, Any]:
    """Return the data of `recall explain`: the keys of a recall and more. Without a recall `searched` is false, too."""
    searched = isinstance(found, RecallResult)
    result = found if isinstance(found, RecallResult) else RecallResult(hits=(), query=found, plan=plan)
    parsed = replace(result.query, type_hints=plan.type_hints)
    whole = result_data(replace(result, query=parsed, plan=plan), scope, k)
    timings = result.timings_ms
    return {
        **whole,
        "searched": searched and result.searched,
        "tokens": [
            {
                "text": parsed.original[t.span[0] : t.span[1]],
                "span": list(t.span),
                "roles": list(t.roles),
                "rarity": _number(t.rarity),
            }
            for t in parsed.tokens
        ],
        "parsed": {**whole["parsed"], **_readings(parsed)},
        "runner_up": None
        if plan.runner_up is None
        else {"plan": plan.runner_up, "margin": _number(plan.runner_up_margin)},
        "switches": {
            "type_filter": plan.type_filter,
            "window_filter": plan.window_filter,
            "time_filter": plan.time_filter,
            "in_order": plan.in_order,
            "exact_match": plan.exact_match,
            "time_bias": plan.time_bias,
            "rewrite": plan.rewrite,
            "rerank": plan.rerank,
            "diversity": plan.diversity,
            "prefers": [t.value for t in plan.prefers],
        },
        "arms": [
            {**arm, "asked": arm["name"] in asked, "ms": _number(timings.get(f"arm.{arm['name']}"))}
            for arm in whole["arms"]
        ],
    }


def _readings(parsed: ParsedQuery) -> dict[str, Any]:
    router, verdict = parsed.router, parsed.conversational
    return {
        "language": parsed.language,
        "unread": list(parsed.unread),
        "memories_in": parsed.memories_in,
        "type_cues": [t.value for t in parsed.type_cues],
        "type_filters": [t.value for t in parsed.type_filters],
        "identifiers": [{"text": i.text, "kind": i.kind, "span": list(i.span)} for i in parsed.identifiers],
        "corrections": [
            {
                "word": c.word,
                "spelling": c.spelling,
                "stem": c.correction,
                "similarity": _number(c.similarity),
                "frequency": c.frequency,
            }
            for c in parsed.corrections
        ],
        "router": {
            "mode": router.mode,
            "reason": router.reason,
            "graph_bias": router.graph_bias,
            "time_bias": router.time_bias,
        },
        "conversational": {
            "verdict": verdict.conversational,
            "domain_signal": _number(verdict.domain_signal),
            "stopword_ratio": _number(verdict.stopword_ratio),
            "has_code": verdict.has_code,
            "rare": list(verdict.rare),
            "because": verdict.because,
        },
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


def _hit(hit: Hit, highlights: bool) -> dict[str, Any]:
    return {
        "id": hit.memory.id,
        "score": _number(hit.score),
        "reason": hit.reason,
        "scope": None if hit.scope is None else scope_text(hit.scope),
        "memory": memory_data(hit.memory),
        "contributions": [
            {
                "source": c.source,
                "name": name_of(c.source),
                "rank": c.rank,
                "score": _number(c.score),
                "added": _number(c.added),
            }
            for c in hit.contributions
        ],
        "duplicates": list(hit.duplicates),
        "context": [memory_data(memory) for memory in hit.context],
        "superseded_by": hit.superseded_by,
        "valid_from": _time(hit.valid_from),
        "valid_to": _time(hit.valid_to),
        "highlights": [
            {"start": h.start, "end": h.end, "kind": h.kind, "of": h.of, "weight": h.weight}
            for h in (hit.highlights if highlights else ())
        ],
    }


def memory_data(memory: Memory) -> dict[str, Any]:
    """Return a memory with the keys that `recall import --format jsonl` reads."""
    return {
        "id": memory.id,
        "text": memory.text,
        "type": memory.type.value,
        "actor": memory.actor,
        "role": None if memory.role is None else memory.role.value,
        "channel": memory.channel,
        "event_at": _time(memory.event_at),
        "created_at": _time(memory.created_at),
        "expires_at": _time(memory.expires_at),
        "importance": memory.importance,
        "entities": list(memory.entities),
        "relations": [[r.subject, r.predicate, r.object, r.confidence] for r in memory.relations],
        "thread": memory.thread,
        "position": memory.position,
        "refs": list(memory.refs),
        "metadata": dict(memory.metadata),
    }


def _parsed(parsed: ParsedQuery) -> dict[str, Any]:
    window, session = parsed.temporal_window, parsed.session
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
        "session": None
        if session is None
        else {
            "places": list(session.places),
            "part": session.part,
            "numbered": session.numbered,
            "span": list(session.span),
            "confidence": _number(session.confidence),
            "found": session.found,
            "because": session.because,
        },
        "talk": parsed.talk,
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
        "asked_role": None if parsed.asked_role is None else parsed.asked_role.value,
        "asked_role_strength": _number(parsed.asked_role_strength),
    }


def _rules(plan: RetrievalPlan) -> list[dict[str, Any]]:
    return [{"rule": c.rule, "fired": c.fired, "because": c.because, "margin": _number(c.margin)} for c in plan.checks]


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), DECIMALS)
