"""Hits on a terminal with what speaks for them marked."""

from __future__ import annotations

import io

from rich.console import Console

from recall_integrations import Hit, Memory
from recall_integrations.console.rendering import shown_text
from recall_integrations.types import Highlight

TEXT = "Priya said\n the \x1b[31mdeploy slipped"
AT = TEXT.index("deploy")
HIT = Hit(
    memory=Memory(TEXT, id="m"),
    score=0.5,
    highlights=(
        Highlight(start=0, end=5, kind="name", of="Priya"),
        Highlight(start=AT, end=AT + 6, kind="word", of="deploy"),
    ),
)


def console(**options: object) -> Console:
    return Console(file=io.StringIO(), width=80, **options)  # type: ignore[arg-type]


def test_colours_mark_where_there_are_any() -> None:
    shown = shown_text(console(force_terminal=True, color_system="truecolor"), HIT, 100)
    assert shown.plain == "Priya said the \ufffd[31mdeploy slipped"
    assert [(s.start, s.end, s.style) for s in shown.spans] == [(0, 5, "bold cyan"), (20, 26, "bold")]


def test_without_colours_signs_mark_only_where_somebody_asks_why() -> None:
    assert shown_text(console(), HIT, 100).plain == "Priya said the \ufffd[31mdeploy slipped"
    assert shown_text(console(), HIT, 100, signs=True).plain == "*Priya* said the \ufffd[31m*deploy* slipped"


def test_of_a_long_text_that_part_is_shown_which_is_marked() -> None:
    text = "word " * 200 + "zebra." + " word" * 200
    at = text.index("zebra")
    hit = Hit(memory=Memory(text), score=0.5, highlights=(Highlight(start=at, end=at + 5, kind="word"),))
    shown = shown_text(console(), hit, 60, signs=True).plain
    assert "*zebra*" in shown and shown.startswith("…") and shown.endswith("…") and len(shown) <= 64


def test_what_is_withheld_says_so() -> None:
    class Bare:
        memory, highlights = Memory("x"), ()

    object.__setattr__(Bare.memory, "text", "")
    assert shown_text(console(), Bare(), 60).plain == "(text withheld)"  # type: ignore[arg-type]
