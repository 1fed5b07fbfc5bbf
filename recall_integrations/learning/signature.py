"""Groups queries that are alike: about a hundred signatures (docs/learning.md).

A signature is six properties of a parsed query, none of which is a word of it: whether it names entities, asks for a
time, for types, holds a negation, how specific it is (three buckets, at the thresholds of the planner's defaults) and
how long (two): 2⁴ · 3 · 2 = 96.
"""

from __future__ import annotations

from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import ParsedQuery

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


def signatures() -> tuple[str, ...]:
    """Return all signatures."""
    found = []
    for bits in range(2 ** len(_HAS)):
        named = "+".join(name for i, name in enumerate(_HAS) if bits >> i & 1) or "plain"
        found += [f"{named}, {b}, {s}" for b in ("vague", "middling", "specific") for s in ("short", "long")]
    return tuple(sorted(found))
