from __future__ import annotations

import re

from recall_integrations.text import stop_words
from recall_integrations.text.by_language import content
from recall_integrations.text.detection import CONTENT, NAMES, content_words, listed
from tests.rows import each_row


def unpointed(language: str) -> set[str]:
    """Words of a list, and the halves of double ones, as they are written without points."""
    words = {part for word in listed(language) for part in (word, *word.split("-"))}
    return words | {re.sub("[\u064b-\u0652]", "", word) for word in words}


def test_a_language_without_content_words_has_none() -> None:
    assert content_words("fr") == content_words("tlh") == frozenset()


@each_row("language", sorted(CONTENT))
def test_they_are_no_stop_words_any_more(language: str) -> None:
    assert language in NAMES
    assert not content_words(language) & stop_words(language)
    points = unpointed(language)
    assert {w for w in content_words(language) if w not in points} == set()  # nothing that no list holds
    for word in content_words(language):
        assert content(word, language), word


@each_row("language", sorted(CONTENT))
def test_most_of_a_list_stays(language: str) -> None:
    assert len(stop_words(language)) > 0.6 * len(listed(language))


@each_row(
    ("language", "about", "function"),
    [
        ("ar", "أسكن يناير ثلاثة دولار قط عدس صباح ذهب علم", "في من هذا كان الذي ماذا أين هل لا كل ليس عند أصبح"),
        ("id", "bulan tahun bapak bekerja tiga mata", "yang dan tidak dengan apa siapa adalah sudah"),
        ("ro", "trei mâine fata", "şi în care cu este"),
        ("es", "estado siente", "estaba de qué los"),
        ("he", "נגר", "של את"),
        ("hu", "cikk új", "és hogy"),
        ("de", "weg", "und der nicht"),
    ],
)
def test_what_is_looked_for_and_what_is_not(language: str, about: str, function: str) -> None:
    assert len(content(about, language)) == len(about.split())
    assert content(function, language) == []
