"""The text of a hit with its highlights marked, and the part of it that says most."""

from __future__ import annotations

import html

import pytest

from recall_integrations import Hit, Memory
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Highlight
from recall_integrations.types.result import pieces
from tests.rows import each_row

TEXT = "Priya said <b>the deploy</b> slipped. Nobody knew why."


def places(*words: str, text: str = TEXT, kind: str = "word", weight: float = 1.0) -> tuple[Highlight, ...]:
    return tuple(
        Highlight(start=text.index(word), end=text.index(word) + len(word), kind=kind, weight=weight) for word in words
    )


def hit(text: str, highlights: tuple[Highlight, ...]) -> Hit:
    return Hit(memory=Memory(text, id="m"), score=0.5, highlights=highlights)


def test_marks_stand_around_highlights() -> None:
    assert (
        hit(TEXT, places("Priya", "slipped")).marked("[", "]").startswith("[Priya] said <b>the deploy</b> [slipped].")
    )


def test_the_caller_escapes_and_the_marks_stay() -> None:
    shown = hit(TEXT, places("said", "deploy")).marked("<mark>", "</mark>", escape=html.escape)
    assert shown.startswith("Priya <mark>said</mark> &lt;b&gt;the <mark>deploy</mark>&lt;/b&gt;")


def test_a_passage_holds_words_and_only_one_of_both_is_marked() -> None:
    passage = Highlight(start=0, end=37, kind="passage")
    found = hit(TEXT, (passage, *places("deploy", "Nobody")))
    assert found.passage == TEXT[:37]
    assert found.marked("[", "]").count("[") == 2
    assert found.marked("[", "]", kinds=("passage",)) == f"[{TEXT[:37]}]{TEXT[37:]}"


@each_row("kinds", [("word",), ("passage",), ("word", "passage"), ()])
def test_pieces_make_up_the_text(kinds: tuple[str, ...]) -> None:
    found = (Highlight(start=0, end=37, kind="passage"), *places("deploy", "Nobody"))
    assert "".join(part for part, _ in pieces(TEXT, found, kinds)) == TEXT


def test_of_a_short_text_the_snippet_is_all_of_it() -> None:
    assert hit(TEXT, places("deploy")).snippet(200, "[", "]") == TEXT.replace("deploy", "[deploy]")
    assert hit(TEXT, ()).passage == TEXT


def test_a_snippet_holds_the_heaviest_place() -> None:
    text = "Nothing here. " * 30 + "The deploy slipped again. " + "Nothing there. " * 30
    found = hit(text, places("deploy", "slipped", text=text))
    shown = found.snippet(60)
    assert shown.startswith("…The deploy slipped again.") and shown.endswith("…")
    assert len(shown) <= 62
    assert found.snippet(60, "<", ">").count("<") == 2


def test_a_snippet_without_highlights_is_the_beginning() -> None:
    assert hit("word " * 100, ()).snippet(22) == "word word word word…"


@each_row("chars", [0, -1, True, 1.5, "9", None])
def test_how_long_a_snippet_is_has_to_be_a_number(chars: object) -> None:
    with pytest.raises(InvalidArgument, match="whole number from 1 on"):
        hit(TEXT, ()).snippet(chars)  # type: ignore[arg-type]
