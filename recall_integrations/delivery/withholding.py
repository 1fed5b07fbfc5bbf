"""What a result says besides its hits, under the privacy modes: names and details that came from the memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recall_integrations.privacy import redactor as privacy
from recall_integrations.query.entities.implicit import USER
from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import Degradation, EntityRef, ParsedQuery, RetrievalPlan

DETAIL_CHARS_MAX = 1_000  # longer ones quote what they were given


def withheld(
    parsed: ParsedQuery, plan: RetrievalPlan, degraded: Sequence[Degradation], mode: str
) -> tuple[ParsedQuery, RetrievalPlan, tuple[Degradation, ...]]:
    """What else a result says, under the privacy mode: canonical names come from the store, details from exceptions."""
    if mode == "allow":
        return parsed, plan, tuple(degraded)
    blocked = mode == "block"

    def shown_name(ref: EntityRef) -> str:
        if ref.stage == IMPLICIT:
            return USER
        return ref.mention if blocked else privacy.redact(ref.name)[0]

    def shown(ref: EntityRef) -> EntityRef:
        name = shown_name(ref)
        hidden = blocked or name != ref.name  # the id begins with the name
        return replace(ref, name=name, entity_id=f"ent_{ref.entity_id.rpartition('_')[2]}" if hidden else ref.entity_id)

    names = {r.name: shown_name(r) for r in parsed.entity_refs if r.stage != IMPLICIT}

    def without_names(text: str) -> str:
        for name in sorted(names, key=lambda n: (-len(n), n)):
            text = text.replace(name, names[name])
        return text

    own = {token.stem for token in parsed.tokens}
    return (
        replace(
            parsed,
            entity_refs=tuple(map(shown, parsed.entity_refs)),
            corrections=(),  # what a word was corrected to comes from the memories
            corrected_query=None,
            terms=tuple(t for t in parsed.terms if t in own),
            weaker_terms=(),  # they come from the memories too
        ),
        replace(
            plan,
            reason=without_names(plan.reason),
            checks=tuple(replace(c, because=without_names(c.because)) for c in plan.checks),
        ),
        tuple(replace(d, detail="" if blocked else privacy.redact(d.detail[:DETAIL_CHARS_MAX])[0]) for d in degraded),
    )
