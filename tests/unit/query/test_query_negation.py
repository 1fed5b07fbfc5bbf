from __future__ import annotations

from collections.abc import Callable

import pytest

from recall_integrations.query.by_table.negation import find_negations
from tests.rows import each_row

EXCLUDES = [
    ("what did I do that wasn't related to the frontend?", ["frontend"]),
    ("what did I do that was not related to the frontend", ["frontend"]),
    ("tasks that aren't related to billing", ["billing"]),
    ("which tasks are not related to the frontend?", ["frontend"]),
    ("something not about work", ["work"]),
    ("projects I worked on, not Python", ["Python"]),
    ("which language do I like, not Python or Java", ["Python", "Java"]),
    ("languages I know, but not Python, Java or Go", ["Python", "Java", "Go"]),
    ("my week without meetings", ["meetings"]),
    ("my day without meetings and calls", ["meetings", "calls"]),
    ("my day without any meetings", ["meetings"]),
    ("everything except the budget", ["budget"]),
    ("everyone except for Sam", ["Sam"]),
    ("what did I cook, excluding desserts?", ["desserts"]),
    ("someone other than Priya", ["Priya"]),
    ("anything but sushi", ["sushi"]),
    ("everything but the tests", ["tests"]),
    ("what else did I read besides Dune?", ["Dune"]),
    ("apart from running, what sports do I do", ["running"]),
    ("aside from the offsite what happened in May", ["offsite"]),
    ("what did I do outside of work", ["work"]),
    ("my notes, no meetings", ["meetings"]),
    ("show recipes with no nuts", ["nuts"]),
    ("but no spreadsheets please", ["spreadsheets"]),
    ("non-frontend work from last month", ["frontend"]),
    ("work that doesn't involve the frontend", ["frontend"]),
    ("which trips didn't involve flying?", ["flying"]),
    ("recipes that don't use eggs", ["eggs"]),
    ("dishes which do not contain gluten", ["gluten"]),
    ("meals that weren't vegetarian", ["vegetarian"]),
    ("mugs that aren't red", ["red"]),
    ("which pets do I have that aren't cats?", ["cats"]),
    ("music that's not jazz", ["jazz"]),
    ("notes that did not mention Sam", ["Sam"]),
    ("recipes that do not have mushrooms", ["mushrooms"]),
    ("don't show me Kestrel, what projects are there?", ["Kestrel"]),
    ("restaurants that are not in Berlin", ["Berlin"]),
    ("restaurants not in Berlin", ["Berlin"]),
    ("songs not by Queen", ["Queen"]),
    ("that tool I like, it's not Slack", ["Slack"]),
    ("the trip last year, it wasn't the Paris trip", ["Paris trip"]),
    ("please don't include standups", ["standups"]),
    ("what happened in May? do not mention the layoffs", ["layoffs"]),
    ("ignore meetings, what did I do?", ["meetings"]),
    ("talks about databases, leave out Oracle", ["Oracle"]),
    ("notes that have nothing to do with taxes", ["taxes"]),
    ("memories unrelated to the house move", ["house move"]),
    ('books not tagged with "machine learning"', ["machine learning"]),
    ("anything not “machine learning” related", ["machine learning"]),
    ("what isn't about frontend-related things", ["frontend"]),
    ("languages, not C++ and not C#", ["C++", "C#"]),
    ("frameworks other than Node.js or .NET", ["Node.js", ".NET"]),
    ("projects that arent about kubernetes", ["kubernetes"]),
    ("the one that isn’t about Kestrel", ["Kestrel"]),
    ("NOT PYTHON", ["PYTHON"]),
    ("cities, not München", ["München"]),
    ("notes, not 日本語", ["日本語"]),
    ("not the University of Oxford, the other one", ["University of Oxford"]),
    ("what did I write not using Excel", ["Excel"]),
    ("except Python, Java and Go, what do I know", ["Python", "Java", "Go"]),
    ("Besides Python, what do I know", ["Python"]),
    ("not Python, what else did I write", ["Python"]),
    ("hobbies, not running or swimming", ["running", "swimming"]),
    ("No meetings, please", ["meetings"]),
    ("No meetings please", ["meetings"]),
    ("no tea", ["tea"]),
    ("my week without meetings the boss and Priya called for", ["meetings"]),  # what follows is no part of the list
]

KEEPS = [
    "is Sam not in Berlin?",
    "no news from Kate?",
    "no milk left, where do I buy it?",
    "not only Python but also Java",
    "why not Python?",
    "why did I not go to Paris",
    "I couldn't find the report",
    "couldn't find Priya's email",
    "don't forget the milk",
    "don't forget to call Sam",
    "I have no idea about taxes",
    "not sure about the budget",
    "I'm not sure what Sam likes",
    "didn't Priya say she likes tea?",
    "isn't it the frontend?",
    "isn't the meeting about the budget?",
    "wasn't it about Kestrel?",
    "who does not like Python?",
    "who doesn't eat meat",
    "who isn't in Berlin",
    "which team isn't using Python?",
    "who is not from Paris?",
    "nothing but Python",
    "nobody except Sam",
    "no one other than Sam came",
    "who wasn't at the party except Sam",
    "none other than Sam",
    "what can't I live without coffee",
    "I never leave without my keys",
    "that goes without saying",
    "without a doubt the best restaurant",
    "no longer employed at Acme",
    "no one likes Mondays",
    "no problem with the deploy?",
    "is there no way to Paris",
    "there is no Python in the project",
    "why did Sam have no lunch",
    "did it work or not",
    "did I go to Paris or not yesterday",
    "whether or not Sam came",
    "I hope not",
    "I decided not to go to Paris",
    "not yet finished tasks",
    "not necessarily Python",
    "what am I not happy about",
    "what did Priya not like about the plan",
    "did Priya not attend the offsite",
    "why wasn't the demo about the frontend shown",
    "why don't I like cilantro",
    "Sam doesn't like Python",
    "I haven't seen Dune",
    "we didn't deploy on Friday",
    "what didn't work in the release",
    "tests that are not passing",
    "tickets that weren't closed",
    "what if it's not working",
    "it's not fair",
    "that's not what I meant",
    "I can't remember the name of the restaurant",
    "what did I say about not eating meat",
    "finish the report without asking Sam",
    "the movie was not bad",
    "not at all spicy curry",
    "non-profit organisations I support",
    "non-fiction books",
    "do I need a non-stop flight",
    "I'm not about to quit",
    "who did not mention the budget",
    "did I ignore Sam's advice",
    "what did I order instead of pizza",
    "why did we choose Postgres rather than MySQL",
    "knot tying and notation",
    "notes about the note app",
    "notable cannot-miss events",
    "10 minus 3",
    "when was Priya not in Berlin",
    "when was Priya Raman not in Berlin",
    "no tea?",
    "No tea for Sam?",
    "no",
    "not",
    "without",
    "except",
    "not me",
    "no.",
    "",
    "   ",
]


@each_row(("query", "terms"), EXCLUDES)
def test_excluded_terms_are_found(query: str, terms: list[str]) -> None:
    assert [n.term for n in find_negations(query)] == terms


@each_row("query", KEEPS)
def test_what_is_asked_for_is_not_excluded(query: str) -> None:
    assert find_negations(query) == ()


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert len(EXCLUDES) >= 30
    assert len(KEEPS) >= 30


@each_row(
    ("query", "terms"),
    [
        ("coffee but no milk", ["milk"]),
        ("hotel and no Berlin please", ["Berlin"]),
        ("coffee please no milk", ["milk"]),
        ("stew, just no meat", ["meat"]),
        ("there is no milk", []),
        ("we had no milk", []),
        ("Which hotel has a pool but no gym?", []),
        ("I called the dentist and no answer", []),
        ("Why is there no milk and no bread at home?", []),
        ("what did I say about no car and no dog", []),
        ("receipt but no laptop?", []),
    ],
)
def test_no_behind_keywords_excludes(query: str, terms: list[str]) -> None:
    assert [n.term for n in find_negations(query)] == terms


def test_spans_cover_cue_and_term() -> None:
    text = "my week without any meetings stuff today"
    (found,) = find_negations(text)
    assert text[slice(*found.span)] == "without any meetings stuff"
    assert text[slice(*found.term_span)] == "meetings"


def test_spans_of_a_list_share_their_start() -> None:
    text = "languages, not Python or Java"
    first, second = find_negations(text)
    assert text[slice(*first.span)] == "not Python"
    assert text[slice(*second.span)] == "not Python or Java"


def test_spans_count_characters_of_the_original_where_case_folding_changes_lengths() -> None:
    text = "İİ ßß groß, not Straße"
    (found,) = find_negations(text)
    assert (found.term, text[slice(*found.term_span)]) == ("Straße", "Straße")


def test_equal_terms_are_reported_once() -> None:
    assert [n.term for n in find_negations("not Python, and not python")] == ["Python"]


def test_a_non_word_gives_the_rest_of_the_word() -> None:
    text = "non-frontend work"
    (found,) = find_negations(text)
    assert text[slice(*found.term_span)] == "frontend"
    assert found.span == (0, found.term_span[1])


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    "piece",
    ["not ", "not a, ", "no x or ", "isn't ", "non-", "-", "'", "without the of ", '"not "', "a-", "except x, "],
)
def test_the_cost_is_linear_on_repetition(piece: str, linear: Callable[..., None]) -> None:
    linear(find_negations, piece)
