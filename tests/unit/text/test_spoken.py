from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.text.detection import NO_LANGUAGES, UNTOLD, WHOLE, Count, Spoken, counted, leanings
from tests.rows import each_row

TERSE = {
    language: notes.split("; ")
    for language, notes in {
        "de": "Zahnarzt gestern; Telekom bezahlt; Weber hat die Rechnung bezahlt; Auto repariert; Termin ohne Anna",
        "es": "Vendí la moto; reunión sin Ana; Pagué el alquiler; Llamé a mamá; Coche al taller; Cena con Lucía",
        "fr": "Payé le loyer hier; Vendu la moto; Acheté du pain; Voiture au garage; Perdu les clés; Vélo réparé",
        "it": "Pagato affitto ieri; Venduto la moto; Comprato il pane; Perso le chiavi; Bolletta pagata; Bici rotta",
        "pt": "Paguei o aluguel; Vendi a moto; Comprei pão; Carro na oficina; Perdi as chaves; Senha trocada",
    }.items()
}
ENGLISH = (
    "Sold the bike; Dentist Tuesday; Milk, eggs, bread; Call mom; Meeting without Ana; Email Müller; Lucia dinner; "
    "Taco Tuesday at El Sol; Son soccer practice; Die cast model; Visa bill"
).split("; ")


def scope(*texts: str) -> Spoken:
    return Spoken(len(texts), counted(texts))


@each_row("language", sorted(TERSE))
def test_a_scope_of_terse_notes_is_in_their_language(language: str) -> None:
    found = scope(*TERSE[language])
    assert found.leading == language
    assert found.languages[0] == language == found.kept_in[0]
    assert found.memories_in(language) > found.memories_in("en")


def test_terse_notes_in_english_are_english() -> None:
    for start in range(len(ENGLISH) - 4):
        found = scope(*ENGLISH[start : start + 5])
        assert found.leading is None
        assert found.leading_with("taco sin carne") is None


def test_a_few_notes_among_english_ones_change_nothing() -> None:
    found = scope(
        *TERSE["es"], *(f"The {thing} is in the cellar" for thing in "bike saw drill rope tent stove".split())
    )
    assert found.leading is None
    assert found.memories_in("en") == found.memories - sum(found.told.values())


def test_one_or_two_notes_are_no_handful() -> None:
    assert scope("Vendí la moto", "Pagué el alquiler").leading is None
    assert NO_LANGUAGES.leading_with("Vendí la moto") is None


def test_more_than_half_lead_whatever_the_others_say() -> None:
    counts = {"de": Count(told=6), "fr": Count(told=1), UNTOLD: Count(told=1)}
    assert Spoken(10, counts).leading == "de"
    assert Spoken(10, counts).languages == ("de", "fr")
    assert Spoken(10, counts).english == 2
    assert Spoken(10, {"de": Count(told=4), "fr": Count(told=1)}).leading is None


def test_a_stray_memory_is_none_that_a_scope_is_kept_in() -> None:
    assert Spoken(1_000, {"de": Count(told=20)}).kept_in == ()
    assert Spoken(1_000, {"de": Count(told=21)}).kept_in == ("de",)
    assert Spoken(1_000, {"de": Count(told=20)}).languages == ("de",)


@each_row("text", ["", "123", "ok", "我的猫", "Привет", "lol"])
def test_what_says_nothing_speaks_for_nothing(text: str) -> None:
    assert leanings(text) == {}


def test_a_text_gives_one_vote_in_all() -> None:
    found = leanings("Rechnung Telekom bezahlt, Besprechung verschoben, Schlüssel verloren")
    assert max(found, key=found.__getitem__) == "de"
    assert sum(found.values()) <= WHOLE + len(found)  # rounded


@given(
    st.lists(st.text(max_size=60) | st.sampled_from([*ENGLISH, *TERSE["de"], *TERSE["es"]]), max_size=12), st.randoms()
)
def test_the_order_does_not_matter_and_what_goes_is_gone(texts: list[str], random: object) -> None:
    whole = counted(texts)
    random.shuffle(shuffled := list(texts))  # type: ignore[attr-defined]
    assert counted(shuffled) == whole
    rest = counted(texts[1:])
    first = counted(texts[:1])
    assert {c: rest.get(c, Count()).plus(first.get(c, Count())) for c in {*rest, *first}} == whole


@given(st.text(max_size=400), st.integers(3, 50))
def test_any_text_is_read(text: str, memories: int) -> None:
    found = leanings(text)
    assert all(0 < share <= WHOLE for share in found.values())
    assert Spoken(memories, counted([text])).leading_with(text) is None  # twice the same is no handful
