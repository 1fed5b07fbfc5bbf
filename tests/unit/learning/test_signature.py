"""96 signatures, none of which holds a word of the query."""

from __future__ import annotations

from recall_integrations.learning.versions import signature_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import EntityRef, MemoryType, ParsedQuery, TemporalWindow
from tests.rows import each_row


def parsed(text: str = "where is it", **fields: object) -> ParsedQuery:
    return ParsedQuery(original=text, **fields)  # type: ignore[arg-type]


def ref(stage: str = "exact") -> EntityRef:
    return EntityRef(entity_id="e1", name="Priya", mention="Priya", span=(0, 5), confidence=1.0, stage=stage)


@each_row(
    ("query", "signature"),
    [
        (parsed(), "plain, vague, short"),
        (parsed("one two three four five six seven", specificity=0.4), "plain, middling, long"),
        (parsed(entity_refs=(ref(),), specificity=0.8), "names, specific, short"),
        (parsed(entity_refs=(ref(IMPLICIT),)), "plain, vague, short"),
        (parsed(negations=("tea",), type_cues=(MemoryType.FACT,)), "types+negation, vague, short"),
        (
            parsed(temporal_window=TemporalWindow(start=None, end=None, span=(0, 1), confidence=1.0)),
            "time, vague, short",
        ),
    ],
)
def test_of_a_query(query: ParsedQuery, signature: str) -> None:
    assert signature_of(query) == signature
