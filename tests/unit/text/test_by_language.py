from __future__ import annotations

from recall_integrations.text import analyser, by_language
from recall_integrations.text.by_language import LANGUAGES, SEP, content, language_of, stem, stems, without_marks
from tests.rows import each_row


@each_row(
    ("language", "query", "memory"),
    [
        ("de", "Haus", "Häuser"),
        ("es", "coche", "coches"),
        ("fr", "l'année", "années"),
        ("it", "anno", "dell'anno"),
        ("ru", "Приянка", "Приянки"),
        ("ru", "Москва", "в Москве"),
        ("ru", "живет", "живёт"),
        ("ru", "Иванов", "Ивано\u0301в"),
        ("ar", "المدرسة", "مدرسه"),
        ("ar", "احمد", "أحمد"),
        ("ar", "محمد", "مُحَمَّد"),
        ("ar", "كتاب", "كتـــاب"),
        ("he", "שלום", "שָׁלוֹם"),
        ("tr", "IŞIK", "ışık"),
        ("tr", "İstanbul", "istanbul'da"),
        ("hi", "लड़का", "लड़के"),
        ("el", "καφές", "ΚΑΦΈΣ"),
        ("fa", "کتاب", "كتاب"),
    ],
)
def test_forms_of_one_word_meet(language: str, query: str, memory: str) -> None:
    wanted, held = stems(query, language), stems(memory, language)
    assert wanted
    assert set(wanted) <= set(held)


def test_english_is_as_the_analyser_has_it() -> None:
    text = "She didn't buy Priya’s houses in São Paulo; 3 of them were sold"
    assert language_of(text) is None
    assert stems(text) == stems(text, None) == analyser.stemmed(content(text))
    assert content(text) == [t.word for t in analyser.tokenize(text) if t.word not in analyser.STOP_WORDS]
    assert stem("houses") == analyser.stem("houses")


def test_stop_words_are_those_of_the_language() -> None:
    assert content("Ich habe die Schlüssel in der Küche, was sonst?", "de")[0].startswith("schlüssel")
    assert "die" in content("They die", None)
    assert stems("the NFL в Москве", "ru") == ["nfl", "москв"]  # English words of a text in another script


def test_a_stem_that_is_not_the_english_one_goes_with_its_word() -> None:
    assert content("Häuser 2019 Berlin", "de") == [f"häuser{SEP}haus", "2019", "berlin"]


def test_what_no_stemmer_is_for_stays() -> None:
    assert stems("mieszkam domy houses", "pl") == ["mieszkam", "domy", "houses"]


@each_row(
    ("text", "expected"),
    [
        ("แกงเขียว", ["แกง", "งเขี", "เขีย", "ยว"]),
        ("ไป", ["ไป"]),
        ("ကျောင်း", ["ကျောင်း"]),
        ("ខ្មែរ", ["ខ្មែរ"]),
        ("ｶﾞｽ", ["ガス"]),
        ("韓国語API", ["韓", "韓国", "国", "国語", "語", "api"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("ＡＢＣ－１２", ["abc", "12"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("foo\u200dbar", ["foobar"]),
    ],
)
def test_scripts(text: str, expected: list[str]) -> None:
    assert [t.word for t in analyser.tokenize(text)] == expected


def test_spans_lie_where_the_word_is() -> None:
    text = "ab ｶﾞｽ กิน ซ้ำ"
    for token in analyser.tokenize(text):
        assert 0 <= token.start < token.end <= len(text)
    assert [text[t.start : t.end] for t in analyser.tokenize(text)] == ["ab", "ｶﾞｽ", "กิน", "ซ้ำ"]


@each_row(
    ("word", "plain"),
    [("lucía", "lucia"), ("müller", "muller"), ("søren", "soren"), ("łódź", "lodz"), ("นํ้า", "นํ้า"), ("plain", "plain")],
)
def test_without_marks(word: str, plain: str) -> None:
    assert without_marks(word) == plain


@each_row("language", LANGUAGES)
def test_every_language_reads_every_script(language: str) -> None:
    text = "Anna's Häuser l'été don't Приянки مدرسة 日本 ไทย שלום 123 İI ß"
    assert all(stems(text, language))
    assert all(stem(word, language) for word in ("anna", "ß", "ال", "'", "1"))
    assert len(content(text, language)) == len(stems(text, language))


def test_version_is_noted() -> None:
    assert by_language.ANALYSER_VERSION >= 2
