"""Of whom a question asks, and of whom a text speaks."""

from __future__ import annotations

import pytest

from recall_integrations.facts.latest.whom import asked_of, may_be_of, speaks_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ruben's usual at the counter?", ("ruben",)),
        ("Henrietta’s trade?", ("henrietta",)),
        ("what does Priya Raman drink", ("priya raman",)),
        ("Noon. Hungry. Dmitri's regular spot?", ("dmitri",)),
        ("Planning the buffet, i.e. Which faith do I have?", ("", "alex")),
        ("how tall is alex", ("alex",)),  # a user whose name is known
        ("what is my sister's car", ("'s sister",)),
        ("what is my mother-in-law's address", ("'s mother-in-law",)),
        ("where does my older sister live", ("'s older sister",)),
        ("what is my best friend called", ("'s best friend",)),
        ("who is my boss", ("", "alex")),
        ("Anne-Marie's car?", ("anne-marie",)),
        ("Priya  Raman's car", ("priya raman", "raman")),
        ("Email Lena's report", ("email lena", "lena")),
        ("Today's menu?", ()),
        ("tell me what Priya drinks", ("priya",)),
        ("remind me what I drink", ("", "alex")),
        ("tell me something", ()),
        ("Sofia drives what", ("sofia",)),  # known
        ("Elias drives what", ()),  # the first word of a sentence has a capital anyway
        ("what will Tom need on Monday in March", ("tom",)),
        ("which hall is the weekly review in", ("weekly review",)),
        ("how much money is there for the summer fair", ("summer fair",)),
        ("what does Tom bring to the summer fair", ("tom",)),  # people before things
        ("what does grandpa do in the evening", ("grandpa",)),
        ("sofia birthday", ("sofia",)),
        ("what is lena's shoe size", ("lena",)),
        ("what time is it", ()),
        ("", ()),
    ],
)
def test_of_whom_a_question_asks(text: str, wanted: tuple[str, ...]) -> None:
    assert asked_of(text, (), ("alex",), {"sofia"}) == wanted


def test_names_that_were_found_in_it_count_without_words_that_are_none() -> None:
    assert asked_of("which sam is it", ("which sam",), (), ()) == ("sam",)
    assert asked_of("what did which", ("which",), (), ()) == ()


def test_who_says_it_need_not_say_of_whom() -> None:
    moved = speaks_of("Moved to Lisbon", "priya", ("priya",), {"mei"})
    assert (moved.names, moved.silent, moved.first, moved.capitals) == ((False,), (True,), False, 1)
    said = speaks_of("I moved to Lisbon", "priya", ("priya", "mei"), {"mei", "priya"})
    assert (said.names, said.silent, said.first) == ((True, False), (True, False), True)


def test_who_speaks_of_others_does_not_speak_of_themselves() -> None:
    of_mei = speaks_of("Mei moved to Lisbon, her new city", "priya", ("priya",), {"mei", "priya"})
    assert (of_mei.names, of_mei.silent, of_mei.others, of_mei.third) == ((False,), (False,), 1, True)
    of_kin = speaks_of("my sister moved to Tom's flat", "priya", ("priya",), ())
    assert (of_kin.names, of_kin.silent, of_kin.kin, of_kin.owners, of_kin.first) == (
        (False,),
        (False,),
        True,
        1,
        False,
    )
    asked = speaks_of("my sister moved", "", ("'s sister",), ())
    assert (asked.names, asked.kin) == ((True,), False)
    assert speaks_of("my sister moved", "priya", ("mei's sister",), ()).names == (False,)
    assert speaks_of("Mei's sister moved", "priya", ("mei's sister",), ()).names == (True,)


def test_we_is_nobody_in_particular_and_relations_may_have_an_adjective() -> None:
    team = speaks_of("We decided to use Postgres for billing", "", ("",), ())
    assert (team.names, team.silent, team.first) == ((False,), (True,), False)
    older = speaks_of("my older sister has a room in Gera", "", ("",), ())
    assert (older.kin, older.first, older.silent) == (True, False, (False,))
    assert speaks_of("my older sister has a room", "", ("'s older sister",), ()).names == (True,)
    assert speaks_of("my sister and my car", "", ("",), ()).first


def test_a_name_of_two_words_is_named_by_both() -> None:
    assert speaks_of("Priya Raman moved", "sam", ("priya raman",), ()).names == (True,)
    assert speaks_of("Priya moved", "sam", ("priya raman",), ()).names == (False,)
    assert speaks_of("The weekly review is in hall 2", "", ("weekly review",), ()).names == (True,)


def test_what_is_counted_ends_somewhere() -> None:
    many = speaks_of("So Ann, Bea, Cid and Dan saw Ann's, Bea's and Cid's", "", ("",), {"ann", "bea", "cid", "dan"})
    assert (many.others, many.owners, many.capitals) == (2, 2, 3)
    assert speaks_of("", "", ("",), {"ann"}).silent == (True,)


@pytest.mark.parametrize(
    ("text", "speaker", "subject", "wanted"),
    [
        ("moved to Lisbon", "priya", "priya", True),
        ("my sister moved to Lisbon", "priya", "priya", False),
        ("my dog moved in", "priya", "priya", True),
        ("Mei's moved to Lisbon", "priya", "priya", False),
        ("I hear Mei's moved to Lisbon", "priya", "priya", True),
        ("Priya moved to Lisbon", "mei", "priya", True),
        ("moved to Lisbon", "mei", "priya", False),
        ("moved to Lisbon", "mei", "", False),
        ("my sister moved", "mei", "'s sister", True),
    ],
)
def test_of_whom_a_text_may_speak(text: str, speaker: str, subject: str, wanted: bool) -> None:
    assert may_be_of(text, speaker, subject) is wanted
