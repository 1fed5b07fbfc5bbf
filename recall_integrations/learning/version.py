"""A version: steps, arm weights and plans that were learned, a file of JSON each; and the signatures of queries.

A signature is six properties of a parsed query, none of which is a word of it: whether it names entities, asks for a
time, for types, holds a negation, how specific it is (three buckets, at the thresholds of the planner's defaults) and
how long (two): 2⁴ · 3 · 2 = 96.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.feature_sum import STEP_MAX
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery, RetrievalPlan
from recall_integrations.types.judged import RULES
from recall_integrations.types.numbers import is_number
from recall_integrations.types.query import PLANS

VAGUE, SPECIFIC = 0.4, 0.8  # bounds of the three buckets of specificity
LONG = 7  # words from which a query is long
_HAS = ("names", "time", "types", "negation")


def signature_of(parsed: ParsedQuery) -> str:
    """Return the signature of a query, readable: `names+time, specific, short`."""
    has = (
        any(ref.stage != IMPLICIT for ref in parsed.entity_refs),
        parsed.temporal_window is not None or parsed.session is not None,
        bool(parsed.type_cues or parsed.type_filters),
        bool(parsed.negations),
    )
    named = "+".join(name for name, there in zip(_HAS, has, strict=True) if there) or "plain"
    specificity = round(parsed.specificity, 3)
    bucket = "vague" if specificity < VAGUE else "middling" if specificity < SPECIFIC else "specific"
    return f"{named}, {bucket}, {'long' if len(parsed.original.split()) >= LONG else 'short'}"


WEIGHT_MIN, WEIGHT_MAX = 0.1, 3.0  # of an arm
FORMAT = "recall-version-1"
_ID = regex(r"v[0-9]{1,9}")


@record(frozen=True, slots=True, kw_only=True)
class Version:
    """The steps, weights and plans that were learned at one time.

    Args:
        id: `v1`, `v2`, … within its scope.
        parent: the version that served when it was made; `rules` = none.
        made_at: when it was made, microseconds.
        data_from, data_to: times of the first and the last judged recall that it is made from, microseconds.
        judged: number of recalls that it was made from.
        held_out: number of recalls that were kept apart to check it.
        steps: feature → step from the shipped weight.
        arms: arm → factor of its weight in every plan, in [0.1, 3.0].
        plans: signature → name of the plan that replaces the rules'.
        figures: figures that were measured when it was made.
        ranker: version of the shipped weights that the steps are from.
        package: version of the package.
    """

    id: str
    parent: str = RULES
    made_at: int = 0
    data_from: int = 0
    data_to: int = 0
    judged: int = 0
    held_out: int = 0
    steps: Mapping[str, float] = field(default_factory=dict)
    arms: Mapping[str, float] = field(default_factory=dict)
    plans: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    ranker: str = ""
    package: str = ""

    def to_json(self) -> str:
        """Write the version as `from_json` reads it."""
        fields = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("id", "parent", "made_at", "data_from", "data_to")},
            **{name: getattr(self, name) for name in ("judged", "held_out", "ranker", "package")},
            **{name: dict(getattr(self, name)) for name in ("steps", "arms", "plans", "figures")},
        }
        return json.dumps(fields, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    def plan_for(self, signature: str) -> str | None:
        """Return the plan of a signature; `None` = the rules choose."""
        return self.plans.get(signature)

    def applied(self, plan: RetrievalPlan) -> RetrievalPlan:
        """Return a plan with the weights of its arms."""
        if not self.arms:
            return plan
        arms = tuple(
            replace(arm, weight=round(arm.weight * self.arms[arm.name], 6)) if arm.name in self.arms else arm
            for arm in plan.arms
        )
        return replace(plan, arms=arms)


def from_json(text: str, where: str) -> Version:
    """Read a version."""
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(
            f"{where} cannot be read as JSON: {e}. `recall learn STORE rollback` goes back to rules."
        ) from e
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InvalidArgument(f"{where} must be a mapping with format {FORMAT!r}. Another version may have written it.")
    if not isinstance(fields.get("id"), str) or not _ID.fullmatch(fields["id"]):
        raise InvalidArgument(f"{where}: the id {fields.get('id')!r} is none of ours.")
    whole = {name: _whole(fields, name, where) for name in ("made_at", "data_from", "data_to", "judged", "held_out")}
    plans = _mapping(fields, "plans", where)
    wrong = next((name for name in plans.values() if name not in PLANS), None)
    if wrong is not None:
        raise InvalidArgument(f"{where}: there is no plan {wrong!r}. Known: {', '.join(PLANS)}.")
    return Version(
        id=fields["id"],
        parent=str(fields.get("parent", RULES)),
        steps=_numbers(fields, "steps", where, -STEP_MAX, STEP_MAX),
        arms=_numbers(fields, "arms", where, WEIGHT_MIN, WEIGHT_MAX),
        plans={str(k): str(v) for k, v in plans.items()},
        figures=_mapping(fields, "figures", where),
        ranker=str(fields.get("ranker", "")),
        package=str(fields.get("package", "")),
        **whole,
    )


def valid_id(text: str) -> bool:
    """Say whether a text is the id of a version."""
    return _ID.fullmatch(text) is not None


def _mapping(fields: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    given = fields.get(name, {})
    if not isinstance(given, dict):
        raise InvalidArgument(f"{where}: {name!r} must be a mapping, not {type(given).__name__}.")
    return given


def _numbers(fields: Mapping[str, Any], name: str, where: str, low: float, high: float) -> dict[str, float]:
    found = {}
    for key, value in _mapping(fields, name, where).items():
        if not is_number(value) or not math.isfinite(value) or not low <= value <= high:
            raise InvalidArgument(f"{where}: {name}.{key} must be a number from {low:g} to {high:g}, not {value!r}.")
        found[str(key)] = float(value)
    return found


def _whole(fields: Mapping[str, Any], name: str, where: str) -> int:
    value = fields.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgument(f"{where}: {name} must be a whole number from 0 on, not {value!r}.")
    return value
