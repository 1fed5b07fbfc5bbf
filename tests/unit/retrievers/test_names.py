from __future__ import annotations

import pytest

from recall_integrations.ranking.lexicon import Lexicon
from recall_integrations.retrievers.names import CHARS_MAX, NAMES_MAX, WORDS_MAX, beginning, names_in, said_in
from recall_integrations.text import stem


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("then Priya Raman met Sam.", ["Priya Raman", "Sam"]),
        ("The Journal of Kestrel Studies appeared in Bath", ["The Journal of Kestrel Studies", "Bath"]),
        ("by Henrietta J. Smith and Jean-Luc", ["Henrietta J. Smith", "Jean-Luc"]),
        ("Priya's Inbox3 sank. Sarah's did not", ["Priya's Inbox3", "Sarah"]),
        ("Kestrel 11 flew in 2005, Sam’s did not", ["Kestrel 11", "Sam"]),
        ("ended the rule of the 3rd house of Amber", ["Amber"]),
        ("élan is no name, Élodie and ZOË are", ["Élodie", "ZOË"]),
        ("He said. It is The Who", []),  # only words that say nothing
        ("nothing written large, 1999 neither", []),
        ("小さい北京", []),
        ("", []),
    ],
)
def test_runs_of_words_with_capitals_are_names(text: str, names: list[str]) -> None:
    assert list(names_in(text).values()) == names


def test_a_name_counts_once_whatever_its_small_words() -> None:
    assert names_in("Bank of Bath, and the Bank for Bath") == {("bank", "bath"): "Bank of Bath"}


def test_headings_and_long_texts_are_bounded() -> None:
    assert names_in(" ".join(f"Word{i}" for i in range(WORDS_MAX))) != {}
    assert names_in(" ".join(f"Word{i}" for i in range(WORDS_MAX + 1))) == {}
    assert len(names_in(", ".join(f"Name{i}" for i in range(2 * NAMES_MAX)))) == NAMES_MAX
    assert names_in("x " * (CHARS_MAX // 2) + "Kestrel") == {}


def test_names_as_numbers_of_stems() -> None:
    lexicon = Lexicon()
    lexicon.ids_of(["lanterns", "amber", "sam"])
    said = said_in("Amber Lanterns, said Sam", lexicon)
    assert said.names == ("Amber Lanterns", "Sam")
    assert said.stems.shape == (2, WORDS_MAX)
    numbers = [lexicon.stem_of(stem(word)) for word in ("amber", "lanterns", "sam")]
    assert said.stems[:, :3].tolist() == [[*numbers[:2], -1], [numbers[2], -1, -1]]
    assert len(said.keys) == len(set(said.keys.tolist())) == 2


def test_a_text_without_names() -> None:
    said = said_in("nobody", Lexicon())
    assert (said.names, said.stems.shape, said.keys.shape) == ((), (0, WORDS_MAX), (0,))


def test_the_beginning_of_a_name() -> None:
    assert beginning("The Journal of Kestrel Studies", 2) == "The Journal of Kestrel"
    assert beginning("Kestrel Studies", 2) == "Kestrel Studies"
