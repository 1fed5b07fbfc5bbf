from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from recall_integrations import MemoryStore
from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, tables
from recall_integrations.query import warming
from recall_integrations.query.by_table import cues, negation, person, sessions
from recall_integrations.query.by_table.wording import Wording

GERMAN = (
    "Der Arzt sagt, ich darf keine Erdnüsse essen",
    "Das Auto steht in der Werkstatt",
    "Im Garten wachsen Tomaten",
)
TERSE = ("Vendí la moto", "Pagué el alquiler", "Reservé hotel en Sevilla", "Coche al taller", "Cena con Lucía")


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_making", {})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    codes: list[str] = []
    monkeypatch.setattr(warming, "prepare", codes.append)
    yield codes


@pytest.mark.parametrize("language", READ)
def test_no_query_has_to_make_a_pattern_afterwards(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warming.prepare(language)

    def fail(*_: object) -> None:
        raise AssertionError("made by a query")

    monkeypatch.setattr("recall_integrations.query.by_table.wording.pattern", fail)
    text = "a not b, 1. x: 2023-05-08"
    negation.find_negations(text, language)
    negation.leaves_out(text, "May", language)
    sessions.read_session(text, language=language)
    person.asked_role(text, language)
    person.first_person(text, language)
    cues.type_cues(text, language)
    cues.relations(text, language)
    cues.intents(text, language)
    cues.courtesies(text, language)
    cues.no_keywords(text, language)
    for section, read in (("negation", negation), ("sessions", sessions), ("person", person)):
        words = read.words_of(language)
        if not tables(language).sections[section]:
            assert not words.section
            continue
        assert isinstance(words, Wording)


def test_a_language_is_made_once_and_others_are_passed_over(asked: list[str]) -> None:
    warming.warm(["de", "pl", "en", "es"])
    warming.settle("de")
    warming.settle("es")
    warming.warm(["es", "de"])
    assert sorted(asked) == ["de", "es"]
    assert warming.is_warm("de") and not warming.is_warm("pl")


def test_a_query_waits_for_what_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    go, done = threading.Event(), threading.Event()

    def slowly(_code: str) -> None:
        go.wait(5)
        done.set()

    monkeypatch.setattr(warming, "prepare", slowly)
    warming.warm(["de"])
    assert not done.is_set()
    threading.Timer(0.05, go.set).start()
    warming.settle("de")
    assert done.is_set()
    warming.settle("fr")  # nobody makes it


def test_tables_that_cannot_be_read_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_code: str) -> None:
        raise InvalidArgument("de.yaml: no")

    monkeypatch.setattr(warming, "prepare", broken)
    warming.warm(["de"])
    warming.settle("de")
    assert "de.yaml: no" in caplog.text


def test_without_threads_the_first_query_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    warming.warm(["de"])
    assert not warming.is_warm("de")
    warming.settle("de")


def test_a_store_warms_what_is_written_in_it(asked: list[str], tmp_path: object) -> None:
    path = f"{tmp_path}/store"
    with MemoryStore.open(path) as store:
        store.remember_many(["The bike is in the cellar", "El Niño", "Müller called"])
        assert not warming._making
        store.remember_many(GERMAN)
        assert list(warming._making) == ["de"]
        store.warm()
    assert asked == ["de"]
    warming._making.clear()
    with MemoryStore.open(path):
        assert list(warming._making) == ["de"]


def test_terse_notes_are_warmed_when_they_are_told_together(asked: list[str], tmp_path: object) -> None:
    path = f"{tmp_path}/store"
    with MemoryStore.open(path) as store:
        store.remember(TERSE[0])
        assert not warming._making
        for text in TERSE[1:]:
            store.remember(text)
        assert list(warming._making) == ["es"]
    warming._making.clear()
    with MemoryStore.open(path):
        assert list(warming._making) == ["es"]


def test_a_stray_memory_warms_nothing_at_open(asked: list[str], tmp_path: object) -> None:
    path = f"{tmp_path}/store"
    with MemoryStore.open(path) as store:
        store.remember_many([*(f"The thing number {i} is in the cellar" for i in range(60)), GERMAN[0]])
    assert not warming._making
    with MemoryStore.open(path):
        assert not warming._making
