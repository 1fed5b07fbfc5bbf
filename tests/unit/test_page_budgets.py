"""How many words each page of the documentation may have, and turns that its sentences leave out."""

from __future__ import annotations

import re

from tests.pages import name_of, pages, without_blocks
from tests.rows import each_row

_WORD = re.compile(r"\S*\w\S*")
# Page → most words outside of its code. A page that is not named has at most `USUAL`.
BUDGET = {
    "README.md": 1_150,
    "agents.md": 1_010,
    "architecture.md": 1_050,
    "benchmarks.md": 6_960,  # of them 110 for the table under multilingual-e5-small
    "chroma-server.md": 870,
    "client.md": 700,
    "command-line.md": 700,
    "decisions.md": 1_520,
    "doctor.md": 700,
    "facts.md": 1_450,
    "failures.md": 1_450,
    "filters.md": 650,
    "frameworks.md": 1_100,
    "glossary.md": 750,
    "how-it-works.md": 650,
    "internals.md": 1_250,
    "languages.md": 1_900,
    "learning.md": 900,
    "looking-after.md": 650,
    "metrics.md": 1_100,
    "page.md": 750,
    "postgres.md": 1_550,
    "privacy.md": 2_050,
    "query.md": 1_250,
    "ranking.md": 1_700,
    "reliability.md": 2_220,
    "rewriting.md": 850,
    "scale.md": 1_300,
    "serving.md": 1_550,
    "sources.md": 2_900,
    "tutorial.md": 800,
}
USUAL = 600  # a how-to
TOTAL = 53_160  # of them 2,900 for the line-by-line table of the sources
MADE_FROM_CODE = "reference/"
# A turn → what to write in its place.
TURNS = {
    r"\b(?:is|are|was|were|be) told\b": "who says it, or who gets it",
    r"\b[Ww]hoever\b": "you, or a noun",
    r"\b(?:[Tt]hat|[Tt]hose) which\b": "a noun before the clause",
    r"\bwhat serves\b|\bserves a scope\b": "the current version",
    r"\bas ever\b|\b[Ss]ince then\b|\bin the version before\b": "what holds now, without its history",
    r"\bnobody has to\b": "who does it, or nothing",
}
PAGES = {name_of(page): without_blocks(page) for page in pages() if not name_of(page).startswith(MADE_FROM_CODE)}


def words(text: str) -> int:
    return len(_WORD.findall(text))


def too_many(what: str, there: int, most: int) -> str:
    """What to say where there is more than there may be; empty where all is well."""
    remedy = "Say it in fewer words, or raise the budget here and say in the same commit why."
    return f"words of {what}: {there:,} of {most:,}, {there - most:,} too many. {remedy}" if there > most else ""


@each_row("page", PAGES)
def test_a_page_keeps_its_budget(page: str) -> None:
    said = too_many(page, words(PAGES[page]), BUDGET.get(page, USUAL))
    assert not said, said


def test_all_pages_keep_their_budget() -> None:
    said = too_many("all pages", sum(words(text) for text in PAGES.values()), TOTAL)
    assert not said, said


def test_every_budget_is_of_a_page() -> None:
    assert set(BUDGET) <= set(PAGES)


@each_row("page", PAGES)
def test_sentences_of_a_page_leave_turns_out_that_are_read_twice(page: str) -> None:
    text = re.sub(r"`[^`\n]*`", "", PAGES[page])
    found = [(m[0], "write: " + instead) for turn, instead in TURNS.items() for m in re.finditer(turn, text)]
    assert found == [], page


def test_words_are_counted_without_bars_and_code() -> None:
    assert words("| a | two words |\n|---|---|\n") == 3
    assert "3 of 2, 1 too many" in too_many("x", 3, 2) and too_many("x", 2, 2) == ""
