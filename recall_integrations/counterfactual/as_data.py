"""Counterfactuals as plain data, for `--json` and the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from recall_integrations.counterfactual.parts import Part
from recall_integrations.counterfactual.recalls import Counterfactuals, LeftOut

TEXT_CHARS = 240  # of a memory that comes in
DECIMALS = 6


def counterfactuals_data(found: Counterfactuals) -> dict[str, Any]:
    """Return counterfactuals as `{parts, without}`.

    `parts` are `{key, kind, label}`; each of `without` is `{parts, label, reached, effect, summary, degraded, moves}`,
    and a move `{id, text, before, after, hit_before, hit_after, score_before, score_after}`.
    """
    return {
        "parts": [part_data(part) for part in found.parts],
        "without": [_left_out(one, found) for one in found.without],
    }


def part_data(part: Part) -> dict[str, str]:
    """Return a part as plain data."""
    return {"key": part.key, "kind": part.kind, "label": part.label}


def _left_out(one: LeftOut, found: Counterfactuals) -> dict[str, Any]:
    less = one.result
    texts = {hit.memory.id: hit.memory.text for hit in (*found.whole.hits, *(less.hits if less is not None else ()))}
    return {
        "parts": [part.key for part in one.parts],
        "label": one.label,
        "reached": less is not None,
        "effect": one.effect,
        "summary": one.summary,
        "degraded": [
            {"stage": d.stage, "reason": d.reason, "detail": d.detail} for d in (() if less is None else less.degraded)
        ],
        "moves": [
            {
                **asdict(move),
                "text": _short(texts.get(move.id, "")),
                "score_before": _rounded(move.score_before),
                "score_after": _rounded(move.score_after),
            }
            for move in one.moves
        ],
    }


def _short(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rstrip()}…"


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, DECIMALS)
