"""Results and learned versions as plain data: for `--json` and HTTP, and records whole, for a `RecallClient`.

Keys for `--json` and HTTP are only ever added; a changed meaning raises `format`.

A record of `types/` becomes JSON and comes back with nothing lost (`packed_record`, `record_of`): pydantic reads it by
its annotations. No field is named here, so that a new one travels too. Fields with their default are left out. A number
that JSON lacks travels as text, a time with its offset instead of its zone's name.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import CoreSchema, SchemaValidator

from recall_integrations.adapters.rows import memory_data
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.delivery.highlights import Marking
from recall_integrations.errors import ServerError
from recall_integrations.indexes.times import from_micros
from recall_integrations.types import (
    Hit,
    Memory,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    Scope,
    hit_marked_later,
    marks_of,
)
from recall_integrations.types.facts import Fact
from recall_integrations.types.observing import Feedback

if TYPE_CHECKING:
    from recall_integrations.learning.learner import Status, Step
    from recall_integrations.learning.versions import State


_NAMES: Mapping[str, str] = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))


def name_of(source: str) -> str:
    """Return a source in plain words; a source of the user's own keeps its name, with spaces."""
    return _NAMES.get(source) or source.replace("_", " ")


FORMAT = 1
DECIMALS = 6
EVENTS_TOLD = 20  # of a scope's steps of learning, the last ones


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


def step_data(step: Step) -> dict[str, Any]:
    """Return a step of a run of learning as data."""
    return {
        "scope": scope_text(step.scope),
        "step": step.step,
        "version": step.version or None,
        **_of(step, "because judged took_ms"),
    }


def state_data(state: State) -> dict[str, Any]:
    """Return the state of a scope as data: the versions that serve and are tried, and the last steps, oldest first."""
    return {
        "serving": state.serving,
        "tried": state.candidate or None,
        "since": _instant(state.since),
        "learned_at": _instant(state.learned_at),
        "held_back": state.held_back,
        "steps": [
            {"at": _instant(e.at), "step": e.step, "version": e.version or None, "because": e.because}
            for e in state.events[-EVENTS_TOLD:]
        ],
    }


def status_data(status: Status) -> dict[str, Any]:
    """Return the status of a scope as data."""
    return {
        "scope": scope_text(status.scope),
        **state_data(status.state),
        **_of(status, "versions judged helpful replayed"),
        "ndcg": {label: {"ndcg@5": round(value, 4), "recalls": n} for label, (value, n) in status.ndcg.items()},
        **_of(status, "ndcg_by_plan signatures"),
    }


def feedback_data(feedback: Feedback) -> dict[str, Any]:
    """Return feedback that is kept as data."""
    return {
        "result_id": feedback.result_id,
        "kept": {scope_text(scope): dict(of_ids) for scope, of_ids in feedback.gains.items() if of_ids},
        **_of(feedback, "ignored anew"),
    }


def _instant(micros: int) -> str | None:
    return from_micros(micros).isoformat() if micros else None


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


T = TypeVar("T")
_PLAIN = (str, int, bool, type(None))


def packed_record(value: Any) -> Any:
    """Return a record, or a value in one, as plain data."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): packed_record(item) for key, item in value.items()}
    if is_dataclass(value):
        later = "highlights" if isinstance(value, Hit) and _made_elsewhere(value) is not None else ""
        return {
            name: packed_record(held)
            for name, default in _shape(cast(Any, type(value)))
            if name != later
            and (held := getattr(value, name)) is not default
            and (default is MISSING or held != default)
        }
    if isinstance(value, Sequence):
        return [packed_record(item) for item in value]
    raise TypeError(f"{type(value).__name__} does not travel.")


def record_of(kind: type[T], data: Any) -> T:
    """Return the record of a class that `packed_record` turned into these data."""
    try:
        return cast(T, _reader(cast(Any, kind)).validate_python(data))
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        wrong = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        raise ServerError(
            f"The reply holds no {kind.__name__} of this version ({wrong}). "
            "Use the same version of recall-integrations on both sides."
        ) from e


def packed_marks(result: RecallResult) -> dict[str, Any]:
    """Return what the highlights of a result are made of, if nobody has read them yet: each once, and its hits.

    So they are made where they are read. Where something was redacted, the result itself has them.
    """
    found = [_made_elsewhere(hit) for hit in result.hits]
    distinct = list(dict.fromkeys(marks for marks in found if marks is not None))
    makers = []
    for marks in distinct:
        assert marks.made_of is not None
        parsed, names = marks.made_of
        query = None if parsed == result.query else packed_record(parsed)
        makers.append({"query": query, "names": packed_record(names)})
    return {"makers": makers, "of": [None if marks is None else distinct.index(marks) for marks in found]}


def with_marks(result: RecallResult, data: Any) -> RecallResult:
    """Return the result with highlights that are made when somebody reads them."""
    try:
        makers = [_marking(result, one["query"], one["names"]) for one in data["makers"]]
        hits = [
            hit if which is None else hit_marked_later(hit, makers[which])
            for hit, which in zip(result.hits, data["of"], strict=True)
        ]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as e:
        raise ServerError(f"The reply does not say what highlights are made of ({type(e).__name__}).") from e
    return replace(result, hits=tuple(hits))


def _marking(result: RecallResult, query: Any, names: Mapping[str, Sequence[str]]) -> Marking:
    return Marking(result.query if query is None else record_of(ParsedQuery, query), names)


def _made_elsewhere(hit: Hit) -> Marking | None:
    marks = marks_of(hit)
    return marks if isinstance(marks, Marking) and marks.made_of is not None else None


@functools.cache
def _shape(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return name and default of each field that a record is made with."""
    return tuple(
        (f.name, f.default if f.default is not MISSING else _made(f.default_factory)) for f in fields(kind) if f.init
    )


def _made(factory: Any) -> Any:
    return MISSING if factory is MISSING else factory()


@functools.cache
def _reader(kind: Any) -> SchemaValidator:
    """Return the reader of a record, made once. Memories are taken as they were sent: a withheld one has no text."""
    return SchemaValidator(cast(CoreSchema, _unchecked(TypeAdapter(kind).core_schema)))


def _unchecked(schema: Any) -> Any:
    """Return pydantic's schema without the checks that a new `Memory` makes."""
    if isinstance(schema, dict):
        skips = {"post_init": False} if schema.get("cls") is Memory else {}
        return {name: _unchecked(part) for name, part in schema.items()} | skips
    return [_unchecked(part) for part in schema] if isinstance(schema, list) else schema
