"""Whose a memory is, where a question says "I" or "my"."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from tests.rows import each_row

USER = [
    "Sarah lives in Berlin with her children.",
    "User lives in Amsterdam.",
    "Tom's dog is called Rex.",
    "User's dog is Bello.",
    "Ben drinks coffee in the morning.",
    "The user drinks tea in the morning.",
    "The office opens at nine.",
]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """With the bundled embedding: vectors of random numbers would leave the order of equals to chance."""
    with MemoryStore.open() as opened:
        yield opened


def first(store: MemoryStore, query: str, user: str = "u1") -> str:
    result = QueryOptimizer(store).recall(query, k=1, scope=Scope(user_id=user), time_budget_ms=60_000)
    return result.hits[0].memory.text


def remembered(store: MemoryStore, texts: list[str], user: str = "u1") -> MemoryStore:
    store.remember_many([Memory(text) for text in texts], scope=Scope(user_id=user))
    return store


@each_row(
    ("query", "answer"),
    [
        ("where do I live?", "User lives in Amsterdam."),
        ("what is my dog called?", "User's dog is Bello."),
        ("what do I drink in the morning?", "The user drinks tea in the morning."),
        ("what is Tom's dog called?", "Tom's dog is called Rex."),
        ("where does Sarah live?", "Sarah lives in Berlin with her children."),
        ("when does the office open?", "The office opens at nine."),
    ],
)
def test_what_is_written_of_the_user_is_who_asks(store: MemoryStore, query: str, answer: str) -> None:
    assert first(remembered(store, USER), query) == answer


@each_row("user", ["Lena", "lena", "lena_berg", "Lena Berg"])
def test_who_is_called_like_the_user_of_the_scope_is_who_asks(store: MemoryStore, user: str) -> None:
    texts = [text.replace("The user", "Lena").replace("User", "Lena") for text in USER]
    remembered(store, texts, user)
    assert first(store, "where do I live?", user) == "Lena lives in Amsterdam."
    assert first(store, "what is my dog called?", user) == "Lena's dog is Bello."


def test_a_declared_name_of_the_user_is_who_asks(store: MemoryStore) -> None:
    remembered(store, [text.replace("The user", "Lena").replace("User", "Lena") for text in USER])
    store.add_entity("Lena Berg", aliases=["u1", "Lena"], scope=Scope(user_id="u1"))
    assert first(store, "where do I live?") == "Lena lives in Amsterdam."


def test_an_actor_called_like_the_user_is_who_asks(store: MemoryStore) -> None:
    said = [("Sarah", "I live in Berlin."), ("lena", "I live in Amsterdam."), ("Sarah", "My dog is called Rex.")]
    said += [("lena", "Bello, our dog, was at the vet."), ("Sarah", "I work at a bakery.")]
    scope = Scope(user_id="Lena")
    store.remember_many([Memory(text, actor=actor) for actor, text in said], scope=scope)
    assert first(store, "where do I live?", "Lena") == "I live in Amsterdam."
    assert first(store, "what is my dog called?", "Lena") == "Bello, our dog, was at the vet."


@each_row(
    ("query", "texts"),
    [
        ("In welcher Stadt wohne ich?", ["Sarah wohnt in Berlin bei ihren Eltern.", "Der Nutzer wohnt in Bremen."]),
        ("Wie heißt mein Hund?", ["Toms Hund heißt Rex.", "Der Hund der Nutzerin heißt Bello."]),
        (
            "¿Cómo se llama mi perro?",
            ["Tomás tiene un perro que se llama Rex.", "El usuario tiene un perro que se llama Bello."],
        ),
        (
            "Où est-ce que j'habite ?",
            ["Sarah habite à Berlin avec ses enfants.", "L'utilisateur habite à Lyon avec ses parents."],
        ),
        ("Как зовут мою собаку?", ["Собаку Тома зовут Рекс.", "Собаку пользователя зовут Белло."]),
        ("我住在哪里？", ["小红住在柏林。", "用户住在阿姆斯特丹。"]),
    ],
)
def test_other_languages_have_their_words_for_the_user(store: MemoryStore, query: str, texts: list[str]) -> None:
    assert first(remembered(store, texts), query) == texts[-1]


def test_we_are_more_than_who_asks(store: MemoryStore) -> None:
    result = QueryOptimizer(remembered(store, USER)).recall(
        "what do we drink in the morning?", k=7, scope=Scope(user_id="u1"), time_budget_ms=60_000
    )
    assert not any(part.source == "owner" for hit in result.hits for part in hit.contributions)


def test_the_reason_says_whose_it_is(store: MemoryStore) -> None:
    hits = (
        QueryOptimizer(remembered(store, USER))
        .recall("where do I live?", k=7, scope=Scope(user_id="u1"), time_budget_ms=60_000)
        .hits
    )
    told = {hit.memory.text: hit.reason for hit in hits}
    assert "about you" in told["User lives in Amsterdam."]
    assert "about somebody else" in told["Sarah lives in Berlin with her children."]
