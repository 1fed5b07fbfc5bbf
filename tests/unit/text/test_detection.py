from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from recall_integrations.text import detection
from recall_integrations.text.detection import CHARS_MAX, NAMES, UNKNOWN, Language, detect_language, listed
from tests.rows import each_row

TOLD = {
    "de": [
        "Wo wohnt Anna?",
        "Ich mag Tee",
        "Meine Tochter heißt Lena",
        "Der Termin ist am Montag",
        "ich hasse Koriander",
        "Mei arbeitet an der Fassade",
    ],
    "es": [
        "¿Dónde vive Lucía?",
        "Me gusta el senderismo",
        "quiero un café",
        "El informe para el director del hospital queda en el cajón",  # English has "el" and "del" in names only
        "El ensayo se retrasó dos días por el cambio de sala",  # "dos" is no more Portuguese than Spanish
        "Pasó a ser su jefe en enero",
    ],
    "fr": ["Où habite Marie ?", "Qu'est-ce que Paul a dit hier ?", "J’ai mangé une pizza", "Je préfère le thé"],
    "it": ["Ho mangiato la pizza", "Non mi piace il coriandolo", "Cosa ha detto Paolo ieri?"],
    "pt": ["Quando é o aniversário do João?", "Não gosto de coentro"],
    "nl": ["Wanneer is de vergadering?", "Ik hou van koffie"],
    "sv": ["Jag gillar inte kaffe"],
    "tr": ["Ahmet'in doğum günü ne zaman?"],
    "pl": ["Gdzie mieszka Anna?", "Nie lubię kolendry"],
    "ru": ["Что сказала Анна?", "в Москву"],
    "uk": ["Її звати Олена"],
    "bg": ["Къде живее Иван?"],
    "el": ["Μου αρέσει ο καφές"],
    "he": ["אני אוהב קפה"],
    "ar": ["كم نقطة تخلى عنها الدفاع؟"],
    "fa": ["من چای دوست دارم"],
    "hi": ["मुझे चाय पसंद है"],
    "th": ["ฉันชอบกาแฟ"],
    "ko": ["저는 커피를 좋아해요"],
    "ja": ["お茶が好きです", "東京タワー"],
    "zh": ["我喜欢喝茶", "黑豹队在 NFL 的防守"],
    "en": ["The café in Zürich was great", "What did François say about the meeting?", "We ate at La Bamba de Mexico"],
}
NOT_TOLD = [
    "", " ", "ok", "lol", "Wow!", "Müller", "Das Café", "I love El Niño", "Los Angeles", "Rio de Janeiro", "Oh no .",
    "Take care!", "Kunde", "Costa del Sol", "c'mon", "aGVsbG8gd29ybGQ=", "def foo(x): return x", "🎉🎉", "\u202e\u200d",
    "tlhIngan Hol Dajatlh'a'", "12:30", "La La Land was great", "Van Gogh",
]  # fmt: skip


@each_row(("code", "text"), [(code, text) for code, texts in TOLD.items() for text in texts])
def test_one_line_is_told(code: str, text: str) -> None:
    found = detect_language(text)
    assert found.code == code
    assert 0 < found.confidence <= 1


@each_row("text", NOT_TOLD)
def test_what_could_be_anything_is_never_another_language(text: str) -> None:
    assert detect_language(text).code in {None, "en"}


def test_unknown_has_no_confidence() -> None:
    assert detect_language("lol") == UNKNOWN == Language(None, 0.0)


def test_a_text_is_what_most_of_it_is() -> None:
    assert detect_language("She wrote 山田 on the card and we asked her what it means").code == "en"
    assert detect_language("Als ich „The Lord of the Rings“ las, war ich noch in der Schule").code == "de"


def test_a_beginning_that_does_not_tell_is_read_on() -> None:
    names = "Lena Kestrel Orlando Henrietta " * (CHARS_MAX // 25)
    assert detect_language(names).code is None
    assert detect_language(names + "und dann sind wir nicht mehr nach Hause gegangen, weil es regnete").code == "de"


@each_row("code", NAMES)
def test_the_lists_are_where_they_are_looked_for(code: str) -> None:
    """If the package that ships them moves them, stop words of other languages would silently be gone."""
    assert len(listed(code)) > 40


def test_a_language_without_a_list_has_no_stop_words() -> None:
    assert listed("pl") == listed("xx") == frozenset()


@each_row("text", ["先週の会議", "会議は三時", "上司は誰？", "田中さんの電話番号", "花子以外の誕生日"])
def test_a_little_kana_makes_it_japanese(text: str) -> None:
    assert detect_language(text).code == "ja"


@each_row("text", ["Visita al dentista", "recetas sin huevo", "hotel sin patio", "Riunione con Marco"])
def test_words_that_english_shares_are_no_english(text: str) -> None:
    assert detect_language(text).code != "en"


@each_row(
    "text",
    [
        *("Nora likes tea", "Ellen likes tea", "I use a Dell", "Mia plays chess", "Ella likes tea"),  # given names
        *("Ana uses a Nosso", "Call Mina", "Pizza, Dina sings"),  # inside a sentence
    ],
)
def test_a_name_is_no_word_of_another_language(text: str) -> None:
    assert detect_language(text).code is None


@each_row(
    ("code", "text"),
    [
        ("de", "Lieblingsessen Meiner Kinder"),  # in a title, capitals tell nothing
        ("sv", "Pizza Mina, mina pizza"),  # it is also without one
        ("de", "Hat man Sie angerufen?"),
        ("de", "Herr März wohnt nebenan."),  # months and days are no names
        ("de", "Anna hat am Montag Zeit"),
        ("es", "la cena con Ana el Domingo"),
        ("fr", "Elle habite Lyon"),
        ("sv", "Dina barn sover"),
        ("es", "¿Dónde vive Nora?"),
        ("es", "Mi apellido es Una"),  # beside words of a language they have a vote
        ("it", "Il Mio Numero È Cinque"),
    ],
)
def test_a_word_with_a_capital_is_not_always_a_name(code: str, text: str) -> None:
    assert detect_language(text).code == code


@pytest.mark.parametrize("text", ["Am Bahnhof in Rom", "Mia madre lavora in banca"])
def test_a_tie_of_words_that_english_shares_is_no_english(text: str) -> None:
    assert detect_language(text).code is None


# Each speaks for several languages, with shares that sum up to a bound: what is added first must not tell.
SHARED = [
    "care se han quedado sin desarrollar. un",
    "los problemas pendientes no il resueltos en",
    "classroom and the é som greenery outside the att window serving as Neunte Doktor dachte, dass er",
    "på som les salary, and I",
    "una at edad de un ikke entre você",
    "ă nu des to help veterans.",
    "week, la we recommend Wang Zengqi's collection wo es zehn Jahre blieb. Als",
    "umm we got ta get up early and catch that plane for New York",
    "me on June 7, no candles though — areas for improvement",
]
_TELL = """
import json, sys
from recall_integrations.text.detection import detect_language
from recall_integrations.text.detection import leanings
print(json.dumps([(detect_language(text), leanings(text)) for text in json.loads(sys.stdin.read())]))
"""


def test_every_process_tells_the_same() -> None:
    """The words of a text are a set, whose order is another one in every process."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _TELL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        for seed in range(3)
    ]
    told = [process.communicate(json.dumps(SHARED), timeout=60)[0] for process in running]
    assert len(set(told)) == 1
    assert len(json.loads(told[0])) == len(SHARED)


def test_votes_are_shared_without_a_rest() -> None:
    """Else a sum of shares would fall short of a whole vote."""
    shares = {share for each in detection._votes().values() for _, share in each}
    assert len(shares) > 10
    assert all(detection.VOTE % share == 0 for share in shares)
    assert all(detection.VOTE % len(codes.split()) == 0 for codes in detection._MARKS.values())
