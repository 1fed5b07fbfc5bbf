from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations.arms.second_hop import Via
from recall_integrations.delivery.explanation import called, led, named_in, reason, shared_words
from recall_integrations.delivery.highlights import Marking
from recall_integrations.privacy.door import Door
from recall_integrations.types import Contribution, EntityRef, Memory, ParsedQuery, TemporalWindow
from tests.rows import each_row

MEMORY = Memory("Priya Raman grew up by the sea.", id="m1", type="chunk")


FILM = Memory(
    "Amber Lantern is a film. It was shot in winter.", id="3f2a77c1-0c1e-4b5e-9b0a-5a1de7f1c9aa", type="chunk"
)


def via(name: str = "Priya Raman", *, about: bool = True) -> Via:
    return Via(row=0, name=name, about=about)


@each_row(
    ("way", "mode", "said"),
    [
        (via(), "allow", "leads on from “Amber Lantern is a film”: about Priya Raman"),
        (via(about=False), "allow", "leads on from “Amber Lantern is a film”: both name Priya Raman"),
        (via(), "redact", "leads on from “Amber Lantern is a film”: about Priya Raman"),
        (via(), "block", "leads on from another document"),
        (via(about=False), "block", "leads on from another document"),
        (None, "allow", ""),
        (None, "block", ""),
    ],
)
def test_how_a_document_was_reached(way: Via | None, mode: str, said: str) -> None:
    assert led(way, FILM, Door(mode)) == said


def test_a_document_that_is_gone_is_not_named() -> None:
    assert led(via(), None) == "leads on from another document"


@each_row(
    ("text", "metadata", "name"),
    [
        ("Amber Lantern. A film of 1999.", {}, "Amber Lantern"),
        ("## Amber Lantern\n\nA film", {}, "Amber Lantern"),
        ("Amber Lantern is a film about a lighthouse", {}, "Amber Lantern is a film about …"),
        ("whatever", {"title": "The Film"}, "The Film"),
        ("version 2.1 is out", {"title": 3}, "version 2.1 is out"),
        ("小" * 80, {}, "小" * 60 + "…"),
        ("***", {}, ""),
    ],
)
def test_what_a_document_is_called(text: str, metadata: dict[str, object], name: str) -> None:
    assert called(Memory(text, metadata=metadata)) == name


def test_a_name_that_is_personal_data_is_redacted() -> None:
    assert "555" not in led(via("+1 415 555 2671"), FILM, Door("redact"))


def test_a_way_is_no_link_to_what_the_query_names() -> None:
    graph = Contribution(source="graph", score=0.0, added=3.0)
    text = reason(ParsedQuery(original="where"), MEMORY, (graph,), way=led(via(), FILM))
    assert "about Priya Raman" in text
    assert "linked" not in text


def test_a_reason_does_not_say_that_the_memory_says_the_date() -> None:
    text = "what did Priya plant in the last week of August"
    span = (text.index("the last"), len(text))
    window = TemporalWindow(start=None, end=None, span=span, confidence=0.9)
    parsed = ParsedQuery(original=text, temporal_window=window, terms=("plant", "week", "august"))
    memory = Memory("Last week in August I planted 2 trees")
    assert shared_words(parsed, memory) == ["plant", "august"]


def test_a_name_is_not_a_part_of_a_word() -> None:
    sam = EntityRef(entity_id="e", name="Sam", mention="Sam", span=(0, 3), confidence=0.9, stage="exact")
    parsed = ParsedQuery(original="Sam 100,000", entity_refs=(sam,), terms=("100", "000"))
    assert named_in(parsed, Memory("the same 100,000 yen")) == []
    assert named_in(parsed, Memory("Sam's yen")) == ["Sam"]
    assert shared_words(parsed, Memory("the same 100,000 yen")) == []


@each_row(
    ("name", "text", "said"),
    [
        ("Zoé", "Zoéline is here", False),
        ("Zoé", "Is Zoé's bike here?", True),
        ("Лена", "Леналида уже здесь", False),
        ("Лена", "Лена уже здесь", True),
        ("Ωmega", "the Ωmegas", False),
        ("李明", "我和李明在北京", True),  # scripts without spaces
        ("ミカ", "昨日ミカさんと話した", True),
        ("สมชาย", "เมื่อวานสมชายไปตลาด", True),
    ],
)
def test_a_name_outside_ascii_is_no_part_of_a_word_either(name: str, text: str, said: bool) -> None:
    ref = EntityRef(entity_id="e", name=name, mention=name, span=(0, len(name)), confidence=0.9, stage="exact")
    parsed = ParsedQuery(original=name, entity_refs=(ref,))
    assert named_in(parsed, Memory(text)) == [name] * said
    marked = Marking(parsed)(Memory(text))
    assert [text[h.start : h.end] for h in marked if h.kind == "name"] == [name] * said


def test_links_to_everything_are_said_only_where_nothing_else_is() -> None:
    graph, near = (Contribution(source=s, score=0.5, added=0.5) for s in ("graph", "semantic"))
    assert "linked" not in reason(ParsedQuery(original="where"), Memory("a fact"), (graph, near))


def test_support_of_the_graph_is_a_link() -> None:
    graph = Contribution(source="graph", score=0.5, added=0.5)
    assert "linked to names in the newest memories" in reason(ParsedQuery(original="where"), Memory("a fact"), (graph,))
    assert "linked to names that come up often" in reason(ParsedQuery(original="where"), MEMORY, (graph,))


def test_who_asks_is_a_link_only_where_the_graph_starts_from_there() -> None:
    graph = Contribution(source="graph", score=0.5, added=0.5)
    user = EntityRef(entity_id="e", name="user", mention="my", span=(0, 2), confidence=1.0, stage="implicit")
    badge = ParsedQuery(original="my badge", entity_refs=(user,))
    manager = ParsedQuery(original="my manager", entity_refs=(user,), predicate_hints=("manages",))
    assert reason(badge, Memory("a fact"), (graph,)) == "linked to names in the newest memories"
    assert reason(manager, Memory("a fact"), (graph,)) == "linked to who asks"


@each_row(
    ("role", "added", "said"),
    [("user", 0.1, True), ("assistant", 0.1, True), ("user", 0.0, False), ("user", -0.1, False), (None, 0.1, False)],
)
def test_who_said_it_is_a_reason_where_it_counted(role: str | None, added: float, said: bool) -> None:
    memory = Memory("I cannot eat peanuts.", id="m1", role=role)
    parsed = ParsedQuery(original="what about peanuts", terms=("peanut",))
    text = reason(parsed, memory, (Contribution(source="by_asked_role", score=1.0, added=added),))
    assert text == "says: peanuts" + (f"; the {role} said it" if said else "")


def said_by(memory: Memory, **parts: tuple[float, float]) -> str:
    """The reason of a memory by the score and what was added of each source."""
    made = tuple(Contribution(source=name, score=score, added=added) for name, (score, added) in parts.items())
    return reason(ParsedQuery(original="which colour", terms=("colour",)), memory, made)


@each_row(("told", "answers"), [((0.5, 0.1), True), ((0.9, 5.0), True), ((0.4, 5.0), False), ((0.9, 0.0), False)])
def test_an_answer_to_a_question_close_to_the_query(told: tuple[float, float], answers: bool) -> None:
    wanted = "answers a question close to yours" if answers else "weak match"
    assert said_by(Memory("Dark green."), asked_before=told) == wanted


def test_a_likely_hit_without_a_word_in_common_is_no_weak_match() -> None:
    query, near = ParsedQuery(original="who plays music"), Contribution(source="semantic", score=0.3, added=0.5)
    said = {score: reason(query, Memory("The violin is Lena's"), (near,), score=score) for score in (0.29, 0.3)}
    assert said == {0.29: "weak match, nearest in meaning (0.30)", 0.3: "in other words, nearest in meaning (0.30)"}
    far = Contribution(source="semantic", score=0.04, added=0.5)
    assert reason(query, Memory("The violin is Lena's"), (far,), score=0.9) == "weak match, nearest in meaning (0.04)"


def test_what_the_user_said_is_a_reason_where_it_counted() -> None:
    mine = Memory("The colour is green", role="user")
    assert said_by(mine, by_user=(1.0, 3.0)) == "says: colour; the user said it"
    assert said_by(mine, by_user=(1.0, 0.1)) == "says: colour"  # few here speak with an assistant
    assert (
        said_by(mine, by_user=(1.0, 3.0), by_asked_role=(1.0, 2.0)) == "says: colour; the user said it"
    )  # and only once
    named = Memory("The colour is green", actor="user")  # read from the name
    assert said_by(named, by_user=(1.0, 3.0)) == "says: colour; the user said it"


def test_a_reply_to_a_short_question_is_about_what_was_said_before() -> None:
    assert said_by(Memory("Eleven."), subject_match=(0.8, 0.9)) == "about what was said before"
    assert said_by(Memory("Eleven."), subject_match=(0.8, 0.1)) == "weak match"


def test_who_takes_part_is_a_reason_where_no_name_is() -> None:
    words = "who is asked about takes part in the conversation"
    assert said_by(Memory("Dark green."), cast_present=(1.0, 0.8)) == words
    assert said_by(Memory("Dark green."), cast_present=(0.0, 0.8)) == said_by(
        Memory("Dark green."), cast_present=(1.0, 0.1)
    )
    ann = EntityRef(entity_id="e", name="Ann", mention="Ann", span=(0, 3), confidence=0.9, stage="exact")
    parsed = ParsedQuery(original="Ann", entity_refs=(ann,))
    cast = Contribution(source="cast_present", score=1.0, added=0.8)
    assert reason(parsed, Memory("hello", actor="Ann"), (cast,)) == "entities overlap: Ann"


@each_row(
    ("source", "words"),
    [
        ("exchange_bm25", "what is said beside it matches"),
        ("near_in_time", "close in time to what matches"),
        ("feedback", "shares words with what matches best"),
    ],
)
def test_what_stands_near_is_said_of_weak_matches_only(source: str, words: str) -> None:
    assert said_by(Memory("Dark green."), **{source: (2.0, 0.7)}) == f"weak match; {words}"
    assert said_by(Memory("Dark green."), **{source: (2.0, 0.2)}) == "weak match"
    assert said_by(Memory("Its colour"), **{source: (2.0, 0.7)}) == "says: colour"


@pytest.mark.parametrize(("language", "said"), [("de", ["besprochen"]), ("en", ["woche", "besprochen"])])
def test_words_that_only_say_when_are_those_of_the_querys_language(language: str, said: list[str]) -> None:
    now = datetime(2026, 6, 1, tzinfo=timezone.utc)
    parsed = ParsedQuery(
        original="letzte Woche besprochen",
        temporal_window=TemporalWindow(start=None, end=now, span=(0, 12), confidence=0.9),
        terms=("woch", "besproch"),
        stems=(("woche", "woch"), ("besprochen", "besproch")),
        language=language,
    )
    assert shared_words(parsed, Memory("Woche"), said=("woch", "besproch")) == said
