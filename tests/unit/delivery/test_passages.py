"""The passage of a long text."""

from __future__ import annotations

import numpy as np

from recall_integrations.delivery.highlights import LONG_CHARS, PASSAGE_CHARS, best_passage, units
from tests.rows import each_row

FILL = "Nothing of it is said in this sentence, which goes on for a while. "


def passage(text: str, *words: str) -> str | None:
    """The passage where each of the words counts the same."""
    starts = sorted((text.index(word), row) for row, word in enumerate(words))
    worth = np.zeros((len(words), len(starts)), dtype=np.float32)
    for column, (_, row) in enumerate(starts):
        worth[row, column] = 1 / len(words)
    found = best_passage(text, np.asarray([start for start, _ in starts], dtype=np.int64), worth)
    return None if found is None else text[found.start : found.end]


def test_it_is_the_sentences_that_hold_most() -> None:
    text = FILL * 5 + "The zebra came at noon and ate. The llama came later, and it ate as well. " + FILL * 5
    found = passage(text, "zebra", "llama")
    assert found is not None
    assert found.startswith("The zebra") or found.startswith("Nothing")
    assert "zebra" in found and "llama" in found
    assert len(found) <= PASSAGE_CHARS + 4


def test_one_that_is_longer_has_to_say_more() -> None:
    zebra = "The zebra came at noon, and nobody had asked it to come there, but it did so all the same."
    assert passage(f"{FILL * 4}{zebra} {FILL * 4}", "zebra") == zebra


def test_a_short_text_has_none() -> None:
    assert passage("The zebra came. " + "x" * (LONG_CHARS - 16), "zebra") is None


def test_words_that_say_too_little_make_none() -> None:
    text = FILL * 12
    assert best_passage(text, np.asarray([0, 5], dtype=np.int64), np.full((1, 2), 0.1, dtype=np.float32)) is None
    assert best_passage(text, np.asarray([], dtype=np.int64), np.zeros((1, 0), dtype=np.float32)) is None


@each_row("text", ["x" * 5_000, "word " * 1_000, "数据库" * 900, "a. " * 900, "\n" * 900, FILL * 40])
def test_parts_are_no_longer_than_a_passage_and_end_with_the_text(text: str) -> None:
    ends = units(text)
    assert ends[-1] == len(text)
    lengths = np.diff([0, *ends])
    assert lengths.min() > 0 and lengths.max() <= PASSAGE_CHARS
