"""Runs of letters, and that a table of them gives what the words give."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.indexes.lexicon import LETTERS_MAX, RunTable, runs
from tests.rows import each_row

WORDS = ["stadion", "fussballstadion", "an", "a", "город", "городской", "黑豹", "회의실", ""]


@each_row(
    ("word", "own"),
    [
        ("stadt", ["^sta", "stad", "tadt", "adt$"]),
        ("an", ["^an$"]),
        ("a", ["^a$"]),
        ("黑豹", ["^黑豹$"]),
        ("회의실", ["^회의", "회의실", "의실$"]),
        ("aaaaa", ["^aaa", "aaaa", "aaa$"]),
    ],
)
def test_runs_of_a_word(word: str, own: list[str]) -> None:
    assert runs(word) == own


def test_a_word_without_end_is_cut() -> None:
    assert len(runs("".join(chr(97 + i % 26) for i in range(100_000)))) <= LETTERS_MAX


@given(st.lists(st.lists(st.integers(0, len(WORDS) - 1), max_size=12), max_size=6))
def test_a_table_gives_the_runs_of_each_word_whatever_was_asked_before(asked: list[list[int]]) -> None:
    table = RunTable(lambda word: WORDS[word])
    numbers: dict[str, int] = {}
    for words in asked:
        flat, counts = table.of(np.asarray(words, dtype=np.int32))
        own = np.split(flat, np.cumsum(counts)[:-1]) if words else []
        assert len(own) == len(words)
        for word, found in zip(words, own, strict=True):
            assert len(found) == len(runs(WORDS[word]))
            for run, number in zip(runs(WORDS[word]), found.tolist(), strict=True):
                assert numbers.setdefault(run, number) == number
    assert len(set(numbers.values())) == len(numbers) == len(table)


def test_words_that_are_asked_for_add_nothing() -> None:
    table = RunTable(lambda word: WORDS[word])
    assert table.numbers_of(["stadion"]).tolist() == []
    flat, _ = table.of(np.asarray([0], dtype=np.int32))
    assert table.numbers_of(["stadion", "stadion"]).tolist() == sorted(flat.tolist())
    assert len(table.numbers_of(["fussballstadion"])) == len({*runs("stadion")} & {*runs("fussballstadion")}) == 5
    assert len(table) == len(runs("stadion"))


def test_a_table_grows() -> None:
    table = RunTable(lambda word: f"wort{word}")
    ids = np.arange(5_000, dtype=np.int32)
    table.of(ids[::-1])
    flat, counts = table.of(ids)
    assert counts.tolist() == [len(runs(f"wort{i}")) for i in ids.tolist()]
    assert len(flat) == counts.sum()


def test_threads_share_a_table() -> None:
    table = RunTable(lambda word: f"wort{word}")
    found: list[list[int]] = [[] for _ in range(4)]

    def read(mine: list[int]) -> None:
        for start in range(0, 2_000, 50):
            mine.extend(table.of(np.arange(start, start + 50, dtype=np.int32))[0].tolist())

    threads = [threading.Thread(target=read, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] and all(mine == found[0] for mine in found)
