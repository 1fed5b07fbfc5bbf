"""A store in one language, asked in it and in others; the plan says where they do not meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import MemoryStore, QueryOptimizer

GERMAN = (
    "Anna hat gestern den Bericht an die Bank geschickt",
    "Der Arzt sagt, ich darf keine Erdnüsse mehr essen",
    "Wir haben das Haus am See für den Sommer gemietet",
    "Die Häuser in der Straße werden im Herbst gestrichen",
    "Mein Bruder spielt jeden Donnerstag Fußball mit Müller",
    "Das Auto steht seit Montag in der Werkstatt",
    "Im Garten wachsen Tomaten und Bohnen",
    "Ich habe den Zug nach Wien verpasst",
    "Unsere Katze schläft am liebsten auf dem Klavier",
    "Die Rechnung vom Zahnarzt ist noch nicht bezahlt",
)


@pytest.fixture
def german() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(GERMAN)
        yield QueryOptimizer(store)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Welches Haus haben wir gemietet?", 2),
        ("Was wächst im Garten?", 6),
        ("Wer hat die Berichte geschickt?", 0),  # "Berichte": another form
        ("Muller Fussball", 4),  # without umlaut, no language told: that of the scope
        ("Was darf ich nicht essen?", 1),
    ],
)
def test_asked_in_its_own_language(german: QueryOptimizer, query: str, place: int) -> None:
    result = german.recall(query)
    assert result.hits[0].memory.text == GERMAN[place]
    assert result.query.language == "de" and result.query.memories_in is None
    assert "close in meaning" not in result.hits[0].reason  # the bundled vectors know no German


def test_asked_in_another_language_the_plan_says_so_and_names_still_help(german: QueryOptimizer) -> None:
    result = german.recall("What did Anna send to the office?")
    assert result.hits[0].memory.text == GERMAN[0]
    assert result.query.memories_in == "de"
    assert "asked in English, while the memories are in German" in result.plan.reason


def test_a_scope_of_both_is_asked_in_either() -> None:
    english = [f"The {thing} is in the cellar" for thing in "bike ladder saw drill rope tent stove lamp kayak".split()]
    with MemoryStore.open() as store:
        store.remember_many([*GERMAN, *english])
        optimizer = QueryOptimizer(store)
        for query, text in (("Where is the kayak?", english[-1]), ("Was schläft auf dem Klavier?", GERMAN[8])):
            result = optimizer.recall(query)
            assert result.hits[0].memory.text == text
            assert result.query.memories_in is None
            assert "while the memories are" not in result.plan.reason
