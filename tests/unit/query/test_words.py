from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.query.findings import QueryWords, ScopeKnowledge
from recall_integrations.text import analyser
from recall_integrations.text.detection import UNTOLD, Count, Spoken, counted
from tests.rows import each_row

NOW = dt.datetime(2026, 3, 4, 12, tzinfo=dt.timezone.utc)
Held = Callable[[str], int]


def scope(**counts: int) -> Held:
    return lambda term: counts.get(term, 0)


def known(frequency: Held = lambda _term: 0, memories: int = 0, **more: Any) -> ScopeKnowledge:
    return ScopeKnowledge(frequency=frequency, memories=memories, **more)


def read(text: str, memories: int, held: dict[str, int] | None = None, **languages: int) -> QueryWords:
    """A query to a scope of so many memories, some told to be in other languages than English."""
    scope_languages = Spoken(memories, {code: Count(told=n) for code, n in languages.items()})
    return QueryWords(text, known(scope(**(held or {})), memories, spoken=scope_languages))


def test_a_query_is_stemmed_by_its_own_language() -> None:
    words = read("Wo sind die Häuser?", 3, {"haus": 3}, de=3)
    assert words.language == "de"
    assert words.stem("häuser") == "haus"
    assert words.stopped == {"wo", "sind", "die"}


def test_in_a_scope_of_english_nothing_changes() -> None:
    asked: list[str] = []

    def frequency(term: str) -> int:
        asked.append(term)
        return int(term == "hous")

    words = QueryWords("the houses of Hans", known(frequency, 10))
    assert words.language is None
    assert [words.stem(w) for w in ("houses", "hans", "went")] == [analyser.stem(w) for w in ("houses", "hans", "went")]
    assert words.weaker("houses") == ()
    assert set(asked) <= {"hous", "han", "hans", "went", "go"}


def test_a_query_that_tells_nothing_is_read_as_most_of_the_scope_is() -> None:
    assert read("Büro Schlüssel", 10, de=6, fr=1).language == "de"
    assert read("Büro Schlüssel", 10, de=4, fr=1).language is None
    assert read("where are the keys", 10, de=9).language is None  # plainly English


NOTES = ("Vendí la moto", "Pagué el alquiler", "Reservé hotel en Sevilla", "Coche al taller", "Cena con Lucía")


def test_terse_notes_are_read_together() -> None:
    words = QueryWords("reunión sin Ana", known(memories=5, spoken=Spoken(5, counted(NOTES))))
    assert words.language == "es"
    assert words.memories_in is None
    assert QueryWords("reunión sin Ana", known(memories=5)).language is None  # nothing known of the scope


def test_asked_in_english_terse_notes_are_in_their_language() -> None:
    scope_languages = Spoken(10, counted([*NOTES, *(f"{note} otra vez" for note in NOTES)]))
    assert QueryWords("What did I book in the city?", known(memories=10, spoken=scope_languages)).memories_in == "es"


def test_a_short_query_may_be_what_was_missing() -> None:
    few = Spoken(4, {UNTOLD: Count(told=4), "es": Count(hints=2, votes=24)})
    assert QueryWords("alquiler", known(memories=4, spoken=few)).language is None
    assert QueryWords("moto ayer", known(memories=4, spoken=few)).language == "es"
    assert QueryWords("moto ayer", known(memories=40, spoken=Spoken(40, few.counts))).language is None


def test_a_stem_that_nobody_holds_gives_way_to_one_that_is_held() -> None:
    words = read("clientes", 5, {"client": 1, "haus": 1}, es=1, de=1)
    assert words.stem("clientes") == "client"
    assert words.stem("häuser") == "haus"
    assert words.stem("nothing") == analyser.stem("nothing")


def test_accents_left_out_or_put_in() -> None:
    alike = {"lucia": ("lucía",), "lucía": ("lucia",)}
    only_plain = QueryWords("Lucía", known(scope(lucia=2), 5, alike=lambda term: alike.get(term, ())))
    assert (only_plain.stem("lucía"), only_plain.weaker("lucía")) == ("lucia", ())
    both = QueryWords("Lucia", known(scope(**{"lucia": 2, "lucía": 1}), 5, alike=lambda term: alike.get(term, ())))
    assert (both.stem("lucia"), both.weaker("lucia")) == ("lucia", ("lucía",))


def test_an_index_that_fails_costs_only_its_knowledge() -> None:
    def fail(_term: str) -> int:
        raise OSError("gone")

    words = QueryWords("Wo sind die Häuser?", known(fail, 3))
    assert words.stem("häuser") == "haus"


# -- in a store ----------------------------------------------------------------------------------------------------


@pytest.fixture
def ask() -> Callable[[list[str], str], list[str]]:
    def asked(texts: list[str], query: str) -> list[str]:
        with MemoryStore.open() as store:
            store.remember_many([Memory(text=text, id=str(i)) for i, text in enumerate(texts)])
            result = QueryOptimizer(store).recall(query, k=len(texts), now=NOW)
            return [hit.memory.text for hit in result.hits]

    return asked


FILLERS = ["We bought apples", "The train was late", "Sam sings in a choir"]


@each_row(
    ("memory", "query"),
    [
        ("Lucía vive en Madrid", "Lucia"),
        ("Lucia vive en Madrid", "Lucía"),
        ("Müller", "Muller"),
        ("Muller", "Müller"),
        ("Annas Häuser in Berlin sind verkauft", "Haus"),
        ("Я был в Москве", "Москва"),
        ("代码ＡＢＣ－１２３", "ABC-123"),
        ("code ABC-123", "ＡＢＣ－１２３"),
        ("ฉันชอบกินแกงเขียวหวาน", "แกงเขียวหวาน"),
        ("IŞIK projesi bugün başladı ve çok iyi", "ışık"),
        ("ذهبت إلى المدرسة أمس", "مدرسة"),
    ],
)
def test_finds(ask: Callable[[list[str], str], list[str]], memory: str, query: str) -> None:
    assert ask([*FILLERS, memory], query)[0] == memory


def test_the_exact_form_goes_first(ask: Callable[[list[str], str], list[str]]) -> None:
    texts = ["Told by Lucia", "Told by Lucía", *FILLERS]
    assert ask(texts, "Lucia")[:2] == ["Told by Lucia", "Told by Lucía"]
    assert ask(texts, "Lucía")[:2] == ["Told by Lucía", "Told by Lucia"]


def test_languages_side_by_side(ask: Callable[[list[str], str], list[str]]) -> None:
    texts = [
        "The meeting is on Monday",
        "Das Treffen mit den Kunden ist am Montag",
        "La reunión con los clientes es el lunes",
    ]
    assert ask(texts, "Wann treffe ich die Kunden?")[0] == texts[1]
    assert ask(texts, "¿Cuándo es la reunión con el cliente?")[0] == texts[2]
    assert ask(texts, "When are the meetings?")[0] == texts[0]


def test_full_width_letters_are_read_and_quoted_as_they_are() -> None:
    with MemoryStore.open() as store:
        store.remember("nothing of it")
        optimizer = QueryOptimizer(store)
        parsed = optimizer.parse("What happened on ２０２６－０３－０１ with ＡＢＣ－１２３?", now=NOW)
    assert parsed.temporal_window is not None and parsed.temporal_window.start is not None
    assert parsed.temporal_window.start.date() == dt.date(2026, 3, 1)
    assert parsed.original[slice(*parsed.temporal_window.span)] == "２０２６－０３－０１"
    assert "ＡＢＣ－１２３" in [i.text for i in parsed.identifiers]
