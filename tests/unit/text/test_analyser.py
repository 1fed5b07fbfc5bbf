from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from recall_integrations.text import STOP_WORDS, WORD_CHARS_MAX, fold, stem, stems, tokenize
from tests.rows import each_row


def words(text: str) -> list[str]:
    return [t.word for t in tokenize(text)]


@each_row(
    ("text", "expected"),
    [
        ("", []),
        (" \n!?--", []),
        ("Hello, World", ["hello", "world"]),
        ("Priya's and Priya’s", ["priya", "and", "priya"]),
        ("don't", ["don't"]),
        ("snake_case kebab-case", ["snake", "case", "kebab", "case"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("v1.2 3rd", ["v1", "2", "3rd"]),
        ("日本語", ["日", "日本", "本", "本語", "語"]),
        ("日", ["日"]),
        ("abc日本def", ["abc", "日", "日本", "本", "def"]),
        ("🎉", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_spans_point_into_the_text() -> None:
    text = "Ask Priya's team, 日本語!"
    assert len(tokenize(text)) > 3
    for token in tokenize(text):
        assert fold(text[token.start : token.end]) == token.word


def test_long_words_are_cut() -> None:
    assert words("x" * 10_000) == ["x" * WORD_CHARS_MAX]


def test_stems_are_content_words_in_order() -> None:
    assert stems("The meetings about running, and the runner") == ["meet", "run", "runner"]
    assert stems("what is it about") == []
    assert stems("Kestrel kestrels") == ["kestrel", "kestrel"]
    assert stem("prefers") == stem("preferring") == "prefer"


def test_stop_words_are_in_normal_form() -> None:
    assert {w for w in STOP_WORDS if words(w) != [w]} <= {"he's", "here's", "how's", "it's", "let's", "she's", "that's",
        "there's", "what's", "when's", "where's", "who's", "why's"}  # fmt: skip


def test_threads_do_not_share_a_stemmer() -> None:
    texts = [f"running meetings number {i} preferred" for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stems, texts)) == [stems(t) for t in texts]
