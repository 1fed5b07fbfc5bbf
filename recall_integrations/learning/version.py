"""A version: steps, arm weights and plans that were learned, a file of JSON each; and the signatures of queries.

A signature is six properties of a parsed query, none of which is a word of it: whether it names entities, asks for a
time, for types, holds a negation, how specific it is (three buckets, at the thresholds of the planner's defaults) and
how long (two): 2⁴ · 3 · 2 = 96.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from recall_integrations.errors import InvalidArgument
from recall_integrations.patterns import regex
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.feature_sum import STEP_MAX
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery, RetrievalPlan
from recall_integrations.types.judged import RULES
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
VersionId = Annotated[str, Field(pattern=r"^v[0-9]{1,9}$")]
Step = Annotated[float, Field(ge=-STEP_MAX, le=STEP_MAX, strict=True)]
Weight = Annotated[float, Field(ge=WEIGHT_MIN, le=WEIGHT_MAX, strict=True)]
Plan = Annotated[str, Field(pattern=f"^({'|'.join(PLANS)})$")]
Count = Annotated[int, Field(ge=0, strict=True)]


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

    id: VersionId
    parent: str = RULES
    made_at: Count = 0
    data_from: Count = 0
    data_to: Count = 0
    judged: Count = 0
    held_out: Count = 0
    steps: Mapping[str, Step] = field(default_factory=dict)
    arms: Mapping[str, Weight] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    ranker: str = ""
    package: str = ""

    def to_json(self) -> str:
        """Write the version as `from_json` reads it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

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
    try:
        return TypeAdapter(Version).validate_python(fields)
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        raise InvalidArgument(f"{where}: {'.'.join(map(str, first['loc']))} is damaged: {first['msg']}.") from e


def valid_id(text: str) -> bool:
    """Say whether a text is the id of a version."""
    return _ID.fullmatch(text) is not None
