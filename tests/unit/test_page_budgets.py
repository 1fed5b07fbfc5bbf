"""How many words each page of the documentation may have, and turns that its sentences leave out."""

from __future__ import annotations

import re

from tests.pages import ROOT, name_of, pages, without_blocks
from tests.rows import each_row

_WORD = re.compile(r"\S*\w\S*")
# Page → most words outside of its code. A page that is not named has at most `USUAL`.
BUDGET = {
    "README.md": 960,
    "architecture.md": 950,
    "benchmarks.md": 6_650,
    "decisions.md": 1_230,
    "facts.md": 1_320,
    "failures.md": 970,
    "http-api.md": 940,
    "internals.md": 1_120,
    "languages.md": 1_680,
    "learning.md": 800,
    "postgres-reference.md": 920,
    "privacy-modes.md": 900,
    "query.md": 1_150,
    "ranking.md": 1_490,
    "recognised.md": 670,
    "reliability.md": 1_785,
    "rewriting.md": 810,
    "scale-figures.md": 700,
    "sources.md": 2_760,
    "tutorial.md": 650,
}
USUAL = 600  # a how-to
TOTAL = 43_330  # without the tables of `FIGURES`; at most 45,000
FIGURES = "benchmarks.md"  # its tables are looked up, not read
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
_HOW_TO = re.compile(r"^  - How-to:\n(.*?)^  - \w", re.DOTALL | re.MULTILINE)
_NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
HOW_TOS = [
    page for part in _HOW_TO.findall(_NAVIGATION) for page in re.findall(r": ([\w/-]+\.md)$", part, re.MULTILINE)
]
PAGES = {name_of(page): without_blocks(page) for page in pages() if not name_of(page).startswith(MADE_FROM_CODE)}


def words(text: str) -> int:
    return len(_WORD.findall(text))


def without_tables(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


def too_many(what: str, there: int, most: int) -> str:
    """What to say where there is more than there may be; empty where all is well."""
    remedy = "Say it in fewer words, or raise the budget here and say in the same commit why."
    return f"words of {what}: {there:,} of {most:,}, {there - most:,} too many. {remedy}" if there > most else ""


@each_row("page", PAGES)
def test_a_page_keeps_its_budget(page: str) -> None:
    said = too_many(page, words(PAGES[page]), BUDGET.get(page, USUAL))
    assert not said, said


@each_row("page", HOW_TOS)
def test_a_how_to_is_short(page: str) -> None:
    said = too_many(page, words(PAGES[page]), USUAL)
    assert not said, said


def test_how_tos_are_those_of_the_navigation() -> None:
    assert len(HOW_TOS) > 30 and {"install.md", "metrics.md", "read-a-trace.md"} <= set(HOW_TOS)
    assert not {"index.md", "facts.md", "benchmarks.md"} & set(HOW_TOS)


def test_all_pages_keep_their_budget() -> None:
    read = {**PAGES, FIGURES: without_tables(PAGES[FIGURES])}
    said = too_many("all pages", sum(words(text) for text in read.values()), TOTAL)
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
    assert without_tables("a\n| b |\nc") == "a\nc"
    assert "3 of 2, 1 too many" in too_many("x", 3, 2) and too_many("x", 2, 2) == ""
