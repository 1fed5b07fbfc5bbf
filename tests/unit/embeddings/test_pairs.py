"""`embeddings/pairs/*.tsv`: the pairs of the probe in other languages are whole, in their script, share few words."""

from __future__ import annotations

import unicodedata
from importlib.resources import files

from recall_integrations.embeddings.base import pairs
from tests.rows import each_row

LATIN = ("LATIN",)
SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("en de es fr it pt tr vi ro nl pl sv cs id fi hu".split(), LATIN),
    **dict.fromkeys(("ru", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa"), ("ARABIC",)),
    "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL",),
    "hi": ("DEVANAGARI",),
    "el": ("GREEK",),
    "th": ("THAI",),
    "he": ("HEBREW",),
}
# Letters that the language cannot do without, and those of its neighbours in the same script that it does not have.
OWN = {
    "de": "äöü", "es": "ñáéíóú¿", "fr": "éèêàç", "it": "èàù", "pt": "ãõçáé", "tr": "ışğçü", "vi": "ơưđạế",
    "ro": "ăâîșț", "pl": "ąęłśż", "sv": "åäö", "cs": "ěřůžš", "fi": "äö", "hu": "őűáé", "ru": "ыэя", "uk": "іїє",
    "fa": "پچگکی", "ar": "ةيك", "ja": "のはを",
}  # fmt: skip
FOREIGN = {"ru": "іїєґ", "uk": "ыэъё", "ar": "پچگکی", "fa": "ةيك", "fi": "õüß", "de": "åçñ", "ro": "şţ", "pl": "ěřůšž"}
# Letters in a row that question and answer may share where words are not separated: endings and particles.
RUNS = {"zh": 1, "ja": 2, "th": 4}
SPACED = sorted(SCRIPTS.keys() - RUNS.keys())


def read(code: str) -> list[list[str]]:
    text = (files("recall_integrations.embeddings") / "pairs" / f"{code}.tsv").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return [line.split("\t") for line in text[:-1].split("\n")]


def kind(character: str) -> str:
    return unicodedata.category(character)[0]


def long_words(text: str) -> set[str]:
    """Case-folded, of four letters or more; vowel signs and the joiner of Persian belong to the word."""
    plain = "".join(c if kind(c) in "LMN" or c == "\u200c" else " " for c in text.casefold())
    return {word for word in plain.split() if sum(kind(c) == "L" for c in word) >= 4}


def longest_shared_run(one: str, other: str) -> int:
    letters = "".join(c for c in one if kind(c) in "LMN")
    rest = "".join(c for c in other if kind(c) in "LMN")
    runs = ((start, end) for start in range(len(letters)) for end in range(start + 1, len(letters) + 1))
    return max((end - start for start, end in runs if letters[start:end] in rest), default=0)


def test_there_is_a_file_for_each_language_and_no_other() -> None:
    found = {entry.name for entry in (files("recall_integrations.embeddings") / "pairs").iterdir()}
    assert found == {f"{code}.tsv" for code in SCRIPTS}


@each_row("code", SCRIPTS)
def test_forty_lines_of_two_parts(code: str) -> None:
    rows = read(code)
    assert len(rows) == len(pairs("en")) == 40
    for row in rows:
        assert len(row) == 2
        for part in row:
            assert part
            assert part == " ".join(part.split())
            assert part == unicodedata.normalize("NFC", part)


@each_row("code", SCRIPTS)
def test_nothing_stands_twice(code: str) -> None:
    texts = [part.casefold() for row in read(code) for part in row]
    assert len(set(texts)) == len(texts)


@each_row("code", SCRIPTS)
def test_every_letter_is_of_the_script(code: str) -> None:
    parts = [part for row in read(code) for part in row]
    assert len(parts) > 20
    for part in parts:
        letters = [c for c in part if kind(c) == "L"]
        assert letters
        assert [c for c in letters if not unicodedata.name(c).startswith(SCRIPTS[code])] == [], part


@each_row("code", sorted(OWN))
def test_the_letters_are_those_of_the_language(code: str) -> None:
    text = "".join(part for row in read(code) for part in row).casefold()
    assert [c for c in OWN[code] if c not in text] == []
    assert [c for c in FOREIGN.get(code, "") if c in text] == []


def test_japanese_lines_have_kana() -> None:
    parts = [part for row in read("ja") for part in row]
    assert len(parts) > 20
    for part in parts:
        assert any(unicodedata.name(c).startswith("HIRAGANA") for c in part), part


@each_row("code", sorted(SCRIPTS.keys() - {"en"}))
def test_nothing_is_left_in_english(code: str) -> None:
    english = {part.casefold() for pair in pairs("en") for part in pair}
    assert [part for row in read(code) for part in row if part.casefold() in english] == []


@each_row("code", SPACED)
def test_question_and_answer_share_at_most_one_long_word(code: str) -> None:
    shared = [(question, long_words(question) & long_words(answer)) for question, answer in read(code)]
    assert [entry for entry in shared if len(entry[1]) > 1] == []


@each_row("code", sorted(RUNS))
def test_without_spaces_they_share_no_long_run(code: str) -> None:
    assert [row for row in read(code) if longest_shared_run(*row) > RUNS[code]] == []


def test_the_measures_of_this_test() -> None:
    assert long_words("Как же, ЖЕНА: ми\u0301лая!") == {"жена", "ми\u0301лая"}
    assert long_words("कौन-सी नौकरी") == set()
    assert long_words("कौन-सा अनुबंध") == {"अनुबंध"}
    assert longest_shared_run("他们赢了吗？", "我们输了") == 1
    assert longest_shared_run("車庫です。", "倉庫です") == 3
