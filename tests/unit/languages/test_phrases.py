"""What the signs of a phrase mean, and that places are those of the text as it was written."""

from __future__ import annotations

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages.phrases import alternatives, pattern, said
from tests.rows import each_row


def _finds(phrase: str, text: str, **slots: str) -> str | None:
    wanted = pattern([phrase], slots)
    assert wanted is not None
    found = wanted.search(said(text).text)
    return None if found is None else found.group()


@each_row(
    ("phrase", "text", "found"),
    [
        ("ohne", "Kuchen OHNE Zucker", "OHNE"),
        ("ohne", "ohnehin", None),
        (
            "habe ich .. gesagt",
            "Was habe ich dir neulich über node.js gesagt?",
            "habe ich dir neulich über node.js gesagt",
        ),
        ("habe ich .. gesagt", "habe ich gesagt", "habe ich gesagt"),
        ("habe ich .. gesagt", "habe ich. Gesagt", None),
        ("habe ich .. gesagt", "habe ich a b c d e f g h i gesagt", None),
        ("mein*", "meiner", "meiner"),
        ("*aste", "hablaste", "hablaste"),
        ("[bitte] nicht", "nicht", "nicht"),
        ("[bitte|doch] nicht", "doch nicht", "doch nicht"),
        ("que no sean [de]", "que no sean mías", "que no sean"),
        ("que no sean [de]", "que no sean de Ana", "que no sean de"),
        ("(a|b) c", "b c", "b c"),
        ("haben =Sie", "haben Sie", "haben Sie"),
        ("haben =Sie", "haben sie", None),
        ("#. Sitzung", "12. Sitzung", "12. Sitzung"),
        ("~와 다른", "회의와 다른", "와 다른"),
        ("^who is", "hey, who is she", "who is"),
        ("^who is", "a man who is ill", None),
        ("außer", "ausser mir", "ausser"),
        ("für", "fuer Anna", "fuer"),
        ("según", "segun Ana", "segun"),
        ("qué", "que", None),
        ("l'", "l'ail", "l'"),
        ("除了", "我除了你", "除了"),
        ("第 # 次", "第３次", "第3次"),
        ("को छोड़कर", "राहुल को छोड़कर", "को छोड़कर"),
        ("को", "कोई", None),
    ],
)
def test_the_signs_of_a_phrase(phrase: str, text: str, found: str | None) -> None:
    assert _finds(phrase, text) == found


def test_of_two_phrases_the_one_of_more_words_is_taken() -> None:
    wanted = pattern(["que no tengan [nada]", "que no (tengan|tienen) [nada] que ver con"])
    assert wanted is not None
    found = wanted.match("que no tengan nada que ver con Ana")
    assert found is not None
    assert found.group().endswith("con")


def test_slots_are_the_lists_they_name() -> None:
    assert _finds("du <said>", "du sagtest", said=alternatives(["sagtest", "meintest"])) == "du sagtest"
    assert pattern([]) is None
    assert _finds("du <said>", "du ", said=alternatives([])) is None


@each_row("phrase", ["(a", "a)", "<nobody> a", "]", "a <b"])
def test_a_phrase_that_cannot_be_read_is_named(phrase: str) -> None:
    with pytest.raises(InvalidArgument, match="phrase"):
        pattern([phrase])


@each_row(
    ("text", "word", "original"),
    [
        ("a  \n b", "b", "b"),
        ("Excepto Luci\u0301a hoy", "Lucía", "Luci\u0301a"),
        ("不是Ｐｙｔｈｏｎ", "Python", "Ｐｙｔｈｏｎ"),
        ("ab\u200dcd", "abcd", "ab\u200dcd"),
        ("quarter d\u2019ail", "d'ail", "d\u2019ail"),
    ],
)
def test_places_are_those_of_the_original(text: str, word: str, original: str) -> None:
    read = said(text)
    at = read.text.index(word)
    start, end = read.span(at, at + len(word))
    assert text[start:end] == original
