"""Names that are ordinary words, declared on purpose."""

from __future__ import annotations

import warnings

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from tests.rows import each_row

SCOPE = Scope(user_id="u1")


def named(store: MemoryStore, query: str) -> list[str]:
    refs = QueryOptimizer(store).parse(query, scope=SCOPE).entity_refs
    return [ref.name for ref in refs if ref.stage != "implicit"]


@each_row(
    ("name", "aliases", "query"),
    [
        ("Invoices", ["billing"], "who runs billing now?"),
        ("Greta Lind", ["the chief"], "what does the chief want?"),
        ("api", [], "how fast is the api?"),
        ("Platform", [], "who is in platform?"),
    ],
)
def test_an_ordinary_word_that_was_declared_is_a_name_in_lower_case(
    store: MemoryStore, name: str, aliases: list[str], query: str
) -> None:
    store.remember(Memory(f"A note about {aliases[0] if aliases else name.lower()}."), scope=SCOPE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.add_entity(name, aliases=aliases, scope=SCOPE)
    assert named(store, query) == [name]


@each_row("query", ["will it rain tomorrow?", "may I leave?", "who was in the office?"])
def test_verbs_months_and_titles_need_their_capital(store: MemoryStore, query: str) -> None:
    for name in ("Will", "May", "The Office"):
        store.add_entity(name, scope=SCOPE)
    assert named(store, query) == []
    assert named(store, "what did Will say of May?") == ["Will", "May"]


def test_a_word_that_only_memories_name_stays_a_word(store: MemoryStore) -> None:
    store.remember(Memory("Search is slow.", entities=["Search"]), scope=SCOPE)
    assert named(store, "where do I search?") == []


@each_row("alias", ["it", "us", "who"])
def test_a_name_that_no_query_can_mean_is_warned_of(store: MemoryStore, alias: str) -> None:
    with pytest.warns(UserWarning, match=f"says '{alias}' will not find the entity 'Kestrel'"):
        store.add_entity("Kestrel", aliases=[alias], scope=SCOPE)


def test_what_earlier_memories_say_in_lower_case_is_linked(store: MemoryStore) -> None:
    store.remember(Memory("We moved billing to May."), scope=SCOPE)
    entity_id = store.add_entity("Invoices", aliases=["billing"], scope=SCOPE)
    scope_id = store.scope_id(SCOPE)
    assert scope_id is not None
    found = store.entities(scope_id).index.mentions("Somebody took billing over.")
    assert [mention.entity_id for mention in found] == [entity_id]
