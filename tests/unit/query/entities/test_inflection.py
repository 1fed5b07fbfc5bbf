from __future__ import annotations

import pytest

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import root_of
from tests.rows import each_row

NAMES = ["Приянка", "Иван Петров", "Anna", "Lucía", "Ahmet", "Ayşe", "Marek Nowak", "Müller", "Matti", "Анна", "Hans"]


@pytest.fixture
def index() -> EntityIndex:
    found = EntityIndex()
    for name in NAMES:
        found.add(name, name)
    return found


@each_row(
    ("text", "name"),
    [
        ("Что было у Приянки вчера?", "Приянка"),
        ("Расскажи об Иване Петрове", "Иван Петров"),
        ("Wo ist Annas Bericht?", "Anna"),
        ("¿Dónde vive Lucia?", "Lucía"),
        ("Was sagte Muller gestern?", "Müller"),
        ("Ahmet'in doğum günü ne zaman?", "Ahmet"),
        ("Ayşe'nin arabası nerede?", "Ayşe"),
        ("Co powiedziała Annie jej mama?", "Anna"),
        ("Mitä Matille kuuluu?", "Matti"),
        ("Où est la voiture d'Anna ?", "Anna"),
        ("Где живёт мать Анны?", "Анна"),
    ],
)
def test_a_form_of_a_name_resolves(index: EntityIndex, text: str, name: str) -> None:
    ref = next(r for r in index.resolve(text) if r.entity_id == name)
    assert 0.5 <= ref.confidence < 0.96  # an exact name has .96
    assert text[slice(*ref.span)] == ref.mention


def test_what_somebody_has_is_no_family_name(index: EntityIndex) -> None:
    """German nouns are in upper case: that "Bericht" is makes "Anna" no less sure."""
    (ref,) = index.resolve("Wo ist Annas Bericht?")
    (alone,) = index.resolve("Wo ist Annas neuer Bericht?")
    assert ref.confidence == alone.confidence > 0.85


def test_an_exact_name_goes_before_a_form(index: EntityIndex) -> None:
    index.add("Анне", "Анне")
    assert [r.entity_id for r in index.resolve("где живёт Анне")] == ["Анне"]


def test_one_root_of_two_names_is_shared(index: EntityIndex) -> None:
    index.add("Александр", "Александр")
    index.add("Александра", "Александра")
    found = index.resolve("Что сказали Александру вчера?")
    assert all(r.confidence < 0.85 for r in found)


def test_never_in_english(index: EntityIndex) -> None:
    index.add("Marko", "Marko")
    assert index.mentions("we asked Marku about the work") == []
    assert [r.entity_id for r in index.resolve("Что Marko сказал вчера?")] == ["Marko"]
    assert index.mentions("Annas of the world, she said to them") == []


def test_what_is_stored_is_linked_too(index: EntityIndex) -> None:
    text = "У Приянки есть собака, и у Ивана Петрова тоже"
    assert [(m.entity_id, text[m.start : m.end]) for m in index.mentions(text)] == [
        ("Приянка", "Приянки"),
        ("Иван Петров", "Ивана Петрова"),
    ]


def test_names_that_come_later_are_known(index: EntityIndex) -> None:
    assert index.resolve("Что сказала Ольга?") == ()
    index.add("Ольга", "Ольга")
    assert [r.entity_id for r in index.resolve("Что сказали Ольге?")] == ["Ольга"]


def test_roots() -> None:
    assert root_of("annie", "pl") == root_of("anna", "pl")
    assert root_of("приянке", "uk") == root_of("приянка", "uk")
    assert root_of("anna", "es") == "anna"  # Spanish does not inflect names: María is not Mario
