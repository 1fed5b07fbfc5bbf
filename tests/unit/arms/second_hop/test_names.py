from __future__ import annotations

from recall_integrations.arms.second_hop import CHARS_MAX, NAME_WORDS_MAX, NAMES_MAX, beginning, names_in, said_in
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.text import content, stem
from tests.rows import each_row


def names(text: str) -> list[str]:
    return list(names_in(text).values())


@each_row(("text", "wanted"),
    [
        ("then Priya Raman met Sam.", ["Priya Raman", "Sam"]),
        ("The Journal of Kestrel Studies appeared", ["Journal of Kestrel Studies", "Kestrel Studies"]),
        ("by Henrietta J. Smith and Jean-Luc", ["Henrietta J. Smith", "Jean-Luc"]),
        ("then Priya's Inbox3 sank. Norvik's did not", ["Priya's Inbox3", "Norvik"]),
        ("to Kestrel 11 in 2005, with Sam’s", ["Kestrel 11", "Sam"]),
        ("ended the rule of the 3rd house of Norvik", ["Norvik"]),
        ("élan is no name, and Élodie and ZOË are", ["Élodie", "ZOË"]),
        ("He said. It is The Who", []),  # only words that say nothing
        ("Priya said so", ["Priya"]),
        ("However Priya Raman left", ["However Priya Raman", "Priya Raman"]),
        ("the series “Neighbours” and a Neighbour", ["Neighbours"]),
        ("Visit Norvik Harbour, by boat and train", ["Visit Norvik Harbour", "Norvik Harbour"]),
        ("nothing written large, 1999 neither", []),
        ("小さい北京", []),
        ("", []),
    ])  # fmt: skip
def test_runs_of_words_with_capitals_are_names(text: str, wanted: list[str]) -> None:
    assert names(text) == wanted


@each_row(
    "text",
    [
        "Everything is ready. Switching costs little! Certainly. Here's how:",
        "we met on Monday, in March, on May 15",
        "we used the API of a Table",
        "```\nclass Lantern(Norvik): pass\n```\nand `Kestrel Client`",
        "see https://example.org/Norvik/Lantern or write to Norvik@example.org",
    ],
)
def test_what_capitals_do_not_make_a_name(text: str) -> None:
    assert names(text) == []


def test_a_name_counts_once_whatever_its_small_words() -> None:
    assert list(names_in("at the Bank of Bath, and the Bank for Bath")) == [("bank", "bath")]


def test_long_runs_and_long_texts_are_bounded() -> None:
    assert names_in("at " + " ".join(f"Norv{i}" for i in range(NAME_WORDS_MAX))) != {}
    assert names_in("at " + " ".join(f"Norv{i}" for i in range(NAME_WORDS_MAX + 1))) == {}
    assert len(names_in(", ".join(f"Norv{i}" for i in range(2 * NAMES_MAX)))) == NAMES_MAX
    assert names_in("x " * (CHARS_MAX // 2) + "Kestrel") == {}


def test_names_as_numbers_of_stems() -> None:
    lexicon = Lexicon()
    lexicon.ids_of(["lanterns", "amber", "sam"])
    said = said_in("in Amber Lanterns, said to Sam", lexicon)
    assert said.names == ("Amber Lanterns", "Sam")
    assert said.stems.shape == (2, NAME_WORDS_MAX)
    numbers = [lexicon.stem_of(stem(word)) for word in ("amber", "lanterns", "sam")]
    assert said.stems[:, :3].tolist() == [[*numbers[:2], -1], [numbers[2], -1, -1]]
    assert len(said.keys) == len(set(said.keys.tolist())) == 2


def test_a_text_without_names() -> None:
    said = said_in("nobody", Lexicon())
    assert (said.names, said.stems.shape, said.keys.shape) == ((), (0, NAME_WORDS_MAX), (0,))


def test_the_beginning_of_a_name() -> None:
    assert beginning("The Journal of Kestrel Studies", 2) == "The Journal of Kestrel"
    assert beginning("Kestrel Studies", 2) == "Kestrel Studies"


SPANISH = (
    "Tras la muerte de Edison la empresa de Nikola Tesla se hundió. El consejo no lo supo. Durante años no pasó nada."
)
GERMAN = "Der Vertrag mit der Stadt wurde von Priya Raman in Norvik unterschrieben, und die Stadt hat ihn bezahlt."


def test_the_words_of_a_name_are_those_of_its_text() -> None:
    lexicon = Lexicon()
    lexicon.ids_of(content(SPANISH))
    before = len(lexicon)
    said = said_in(SPANISH, lexicon)
    assert len(lexicon) == before
    assert set(said.names) >= {"Nikola Tesla", "Edison"}


def test_one_large_word_is_no_name_where_every_noun_is_large() -> None:
    assert names(GERMAN) == ["Priya Raman"]
