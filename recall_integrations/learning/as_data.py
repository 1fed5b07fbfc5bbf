"""Learned versions and steps as plain data, for `--json` and HTTP. Keys are only ever added."""

from __future__ import annotations

from typing import Any

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.indexes.times import from_micros
from recall_integrations.learning.learner import Status, Step
from recall_integrations.learning.shelf import Event, State
from recall_integrations.types.observing import Feedback

EVENTS_TOLD = 20  # the last ones


def step_data(step: Step) -> dict[str, Any]:
    """Return a step of a run as data."""
    return {
        "scope": scope_text(step.scope),
        "step": step.step,
        "version": step.version or None,
        "because": step.because,
        "judged": step.judged,
        "took_ms": step.took_ms,
    }


def state_data(state: State) -> dict[str, Any]:
    """Return the state of a scope as data: the versions that serve and are tried, and the last steps, oldest first."""
    return {
        "serving": state.serving,
        "tried": state.candidate or None,
        "since": _time(state.since),
        "learned_at": _time(state.learned_at),
        "held_back": state.held_back,
        "steps": [_event(one) for one in state.events[-EVENTS_TOLD:]],
    }


def status_data(status: Status) -> dict[str, Any]:
    """Return the status of a scope as data."""
    return {
        "scope": scope_text(status.scope),
        **state_data(status.state),
        "versions": list(status.versions),
        "judged": status.judged,
        "helpful": status.helpful,
        "replayed": status.replayed,
        "ndcg": {label: {"ndcg@5": round(value, 4), "recalls": n} for label, (value, n) in status.ndcg.items()},
        "ndcg_by_plan": dict(status.ndcg_by_plan),
        "signatures": dict(status.signatures),
    }


def feedback_data(feedback: Feedback) -> dict[str, Any]:
    """Return feedback that is kept as data."""
    return {
        "result_id": feedback.result_id,
        "kept": {scope_text(scope): dict(of_ids) for scope, of_ids in feedback.gains.items() if of_ids},
        "ignored": list(feedback.ignored),
        "anew": feedback.anew,
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "at": _time(event.at),
        "step": event.step,
        "version": event.version or None,
        "because": event.because,
    }


def _time(micros: int) -> str | None:
    return from_micros(micros).isoformat() if micros else None
