from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recall_integrations import Memory
from recall_integrations.adapters.extractor import CallableExtractor
from recall_integrations.extraction import RuleExtractor
from recall_integrations.query.entities.units import key_of
from tests.quick import examples

EXTRACTOR = RuleExtractor(confidence_min=0.0)
PIECES = st.sampled_from(
    """
    Priya Raman Sam Kestrel Inbox3 Project Will May I my me the The team is 's , . ? ! ; " reports report to manages
    works at on and or not if Dr. Inc ABC-123 #123 a@b.co ` ``` # \n Müller 田中 İ ß ǅ 🎉 é McGee of married lives in
    """.split(" ")
)
PROSE = st.lists(PIECES, min_size=1, max_size=40).map(" ".join)
TEXTS = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), PROSE).filter(
    lambda t: bool(t.strip())
)
NAMES = st.sampled_from(["Priya", "Priya Raman", "Will", "kestrel", "🎉", "İ", "the team", "田中"])


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, st.lists(NAMES, max_size=3), st.one_of(st.none(), NAMES))
def test_any_text_gives_names_that_can_be_stored(text: str, declared: list[str], actor: str | None) -> None:
    memory = Memory(text, entities=tuple(declared), actor=actor)
    found = EXTRACTOR.extract(memory)
    assert found == EXTRACTOR.extract(memory)
    known = {" ".join(key_of(e.name)) for e in found.entities}
    assert len(known) == len(found.entities) <= 64
    assert known.isdisjoint(" ".join(key_of(name)) for name in [*declared, *([actor] if actor else [])])
    for entity in found.entities:
        start, end = entity.span
        assert 0 <= start < end <= len(text)
        assert 0 < entity.confidence <= 1
        Memory("x", entities=(entity.name,))  # storable
    allowed = {*(e.name for e in found.entities), *declared, *([actor] if actor else [])}
    for relation in found.relations:
        assert relation.subject in allowed
        assert relation.object in allowed
        assert relation.subject != relation.object


@settings(max_examples=examples(200), deadline=None)
@given(PROSE)
def test_questions_state_nothing(text: str) -> None:
    flat = "".join(c for c in text if c not in ".!;\n?…:`#").strip()
    assume(flat)
    assert EXTRACTOR.extract(Memory(flat + "?", actor="Zoe")).relations == ()


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, st.lists(st.text(max_size=20), max_size=5))
def test_any_function_gives_names_that_can_be_stored(text: str, given_names: list[str]) -> None:
    for entity in CallableExtractor(lambda _: given_names).extract(Memory(text)).entities:
        Memory("x", entities=(entity.name,))
