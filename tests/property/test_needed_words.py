"""A phrase whose words a text lacks is looked for in vain: lists find the same, whether or not that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.languages import READ
from recall_integrations.query.by_table import negation, person, sessions
from recall_integrations.query.by_table.wording import Wording

_WORD = re.compile(r"[^\s()|\[\]<>;]+")


def lists_of(language: str) -> Iterator[tuple[Wording, str]]:
    for read in (negation, person, sessions):
        words = read.words_of(language)
        yield from (
            (words, name) for name in words.section if name != "words" and name in words._known and words.phrases(name)
        )


LANGUAGES = [language for language in (*READ, "en") if any(lists_of(language))]


def said_in(language: str) -> list[str]:
    """Return words and ends of words that stand in the lists of a language, and some signs."""
    every = {word for words, _ in lists_of(language) for word in _WORD.findall(str(words.section))}
    return [*sorted({part.strip("'\",") for part in every} - {""}), "'s", "-", ",", "42", "Anna", "İ"]


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data())
def test_the_same_is_found_as_by_one_pattern_of_all_phrases(language: str, data: st.DataObject) -> None:
    words, name = data.draw(st.sampled_from(list(lists_of(language))))
    said = data.draw(st.lists(st.sampled_from(said_in(language)), min_size=1, max_size=12))
    own = [word for phrase in words.phrases(name) for word in _WORD.findall(phrase)]
    said += data.draw(st.lists(st.sampled_from(own or ["a"]), max_size=6))
    text = data.draw(st.sampled_from([" ", ", ", "  "])).join(data.draw(st.permutations(said)))
    whole = words.pattern(name)
    assert [m.span() for m in words.matches(name, text)] == [m.span() for m in whole.finditer(text)]
    assert words.says(name, text) == (whole.search(text) is not None)
    assert words.is_one(name, text) == (whole.fullmatch(text) is not None)


@pytest.mark.parametrize("text", ["", "#", "from #", "a from"])
def test_a_phrase_that_may_be_empty_is_found_once_at_a_place(text: str) -> None:
    words = sessions.words_of("en")  # its `frames` is one optional word
    found = [m.span() for m in islice(words.matches("frames", text), 9)]
    assert found == [m.span() for m in words.pattern("frames").finditer(text)]
