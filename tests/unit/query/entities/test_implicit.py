from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.config import RecallConfig
from recall_integrations.planning.planner import make_plan
from recall_integrations.query.by_table.person import first_person
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.features import entity_density
from recall_integrations.query.findings import implicit_user
from recall_integrations.text import tokenize
from recall_integrations.types import ParsedQuery, Scope
from tests.rows import each_row


@each_row("user_id", ["u1", "Sam", "sam@example.org", "Henrietta O'Neill", "田中", "🚀", "x" * 300])
def test_the_id_is_the_one_that_a_memory_of_the_user_would_make(user_id: str) -> None:
    ref = implicit_user(Scope(user_id=user_id))
    assert (ref.entity_id, ref.name) == (entity_id_of(user_id, b""), user_id)
    assert (ref.stage, ref.confidence, ref.span, ref.mention) == ("implicit", 1.0, (0, 0), "")


@given(st.text(min_size=1, max_size=50).filter(str.strip))
def test_the_id_is_derived_as_the_store_does(name: str) -> None:
    try:
        scope = Scope(user_id=name)
    except ValueError:
        return
    assert implicit_user(scope).entity_id == entity_id_of(name, b"")


def test_the_default_scope_has_a_user_too() -> None:
    ref = implicit_user(Scope(), EntityIndex())
    assert (ref.entity_id, ref.name) == (entity_id_of("user", b""), "user")


def test_a_known_name_or_alias_is_that_entity() -> None:
    index = EntityIndex()
    index.add(entity_id_of("Sam Lee", b""), "Sam Lee", ["sam@example.org"])
    for user_id in ("sam@example.org", "sam lee", "SAM LEE"):
        ref = implicit_user(Scope(user_id=user_id), index)
        assert (ref.entity_id, ref.name) == (entity_id_of("Sam Lee", b""), "Sam Lee")


def test_an_alias_of_several_entities_is_none_of_them() -> None:
    index = EntityIndex()
    index.add("e1", "Sam Lee", ["sam"])
    index.add("e2", "Sam Roe", ["sam"])
    assert implicit_user(Scope(user_id="sam"), index).entity_id == entity_id_of("sam", b"")


def test_a_name_goes_before_others_aliases() -> None:
    index = EntityIndex()
    index.add("e1", "Sam Lee", ["sam"])
    index.add(entity_id_of("Sam", b""), "Sam")
    ref = implicit_user(Scope(user_id="sam"), index)
    assert (ref.entity_id, ref.name) == (entity_id_of("Sam", b""), "Sam")


def test_the_user_says_nothing_about_the_query() -> None:
    user = implicit_user(Scope(user_id="u1"))
    text = "what did I work on"
    assert entity_density(tokenize(text), [user], None) == 0
    config = RecallConfig()
    with_user = make_plan(ParsedQuery(original=text, entity_refs=(user,), specificity=0.5), config)
    assert with_user == make_plan(ParsedQuery(original=text, specificity=0.5), config)


@each_row(
    "text",
    [
        "What did I recommend to Sarah?",
        "who is my manager",
        "I'm allergic to what",
        "what I’ve said",
        "did we ship it",
        "who told us about Kestrel",
        "tell me what I said about Kestrel",
        "did Sam tell me about Kestrel",
        "what did you give me",
        "a friend of mine",
        "our roadmap",
        "WHO TOLD US",
        "phase I: what did we do",
    ],
)
def test_first_person(text: str) -> None:
    assert first_person(text)


@each_row(
    "text",
    [
        "",
        "what did Priya say",
        "tell me about Kestrel",
        "please show me the latest deploys",
        "could you give us the minutes",
        "let us look at Kestrel",
        "which US cities did Sam visit",
        "how is the us economy",
        "what did Priya say in Phase I",
        "who won World War I",
        "one tool, i.e. Kestrel",
        "is the I/O slow",
        "the exit on I-95",
        "is A.I. any good",
        "who works in the coal mine",
        "where is the mine",
    ],
)
def test_not_first_person(text: str) -> None:
    assert not first_person(text)


@given(st.text(max_size=200))
def test_first_person_takes_any_text(text: str) -> None:
    span = first_person(text)
    assert span is None or 0 <= span[0] < span[1] <= len(text)
