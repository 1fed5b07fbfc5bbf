"""Text columns that were kept and read back are those that the living rows alone would make."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.indexes import kept_columns
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.lexicon import Lexicon
from tests.columns import ColumnsBuilder, TextRow, append
from tests.quick import examples

WORDS = st.sampled_from("budget kestrel lucía lucia running runs harbour über 2024 monday don't sam 木".split())
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
NAMES = st.sampled_from([None, "Sam Moreau", "user", "assistant", "Ana Lucía", "木村"])


@st.composite
def rows(draw: st.DrawFn, first: int = 1, most: int = 8) -> list[TextRow]:
    count = draw(st.integers(0, most))
    return [
        TextRow(
            num=first + 2 * i,
            text=draw(TEXTS) + draw(st.sampled_from(["", "?", ". Really?"])),
            actor=draw(NAMES),
            role=draw(st.sampled_from([None, "user", "assistant"])),
            thread=draw(st.sampled_from([None, "t1", "t2", "t3"])),
            position=draw(st.integers(0, 4)),
        )
        for i in range(count)
    ]


def made(given_rows: list[TextRow], lexicon: Lexicon) -> ColumnsBuilder:
    builder = ColumnsBuilder(lexicon)
    for row in given_rows:
        builder.append([row])
    return builder


def meaning(columns: TextColumns, keep: np.ndarray) -> dict[str, Any]:
    """All that columns say of rows, without numbers that differ from one lexicon to the next."""
    place = {-1: -1, **{int(row): i for i, row in enumerate(keep)}}
    lexicon = columns.lexicon
    words = [columns.words[columns.starts[row] : columns.starts[row + 1]] for row in keep]
    terms = sorted({lexicon.stem_text(n) for n in range(len(lexicon._stem_texts))})
    held = {term: columns.holding(term) for term in terms}
    return {
        "words": [[lexicon.word(i) for i in ids] for ids in words],
        "stems": [[lexicon.stem_text(lexicon.stems[i]) for i in ids] for ids in words],
        "dated": [lexicon.dated[ids].tolist() for ids in words],
        "asked": [columns.asked[columns.starts[row] : columns.starts[row + 1]].tolist() for row in keep],
        "lengths": columns.lengths[keep].tolist(),
        "questions": columns.questions[keep].tolist(),
        "threads": [columns.thread_names[c] if c >= 0 else None for c in columns.threads[keep]],
        "actors": [columns.actor_names[c] if c >= 0 else None for c in columns.actors[keep]],
        "roles": columns.roles[keep].tolist(),
        "before": [place[i] for i in columns.previous(keep).tolist()],
        "after": [place[i] for i in columns.following(keep).tolist()],
        "in_role": {r: [columns.actor_names[c] for c in codes] for r, codes in columns.role_actors.items()},
        "in_name": {
            lexicon.stem_text(n): sorted(columns.actor_names[c] for c in codes)
            for n, codes in columns.actor_words.items()
        },
        "kind": columns.kind,
        "holding": {
            t: ([place[int(r)] for r in found], counts.tolist()) for t, (found, counts) in held.items() if len(found)
        },
    }


@settings(max_examples=examples(60), deadline=None)
@given(rows(), st.sets(st.integers(0, 7)), rows(first=101), st.sets(st.integers(0, 15)), st.booleans(), st.booleans())
def test_what_was_kept_goes_on_as_if_nothing_had_happened(
    old: list[TextRow], gone: set[int], new: list[TextRow], later: set[int], shared: bool, roomy: bool
) -> None:
    builder = made(old, Lexicon())
    builder.kill([row.num for i, row in enumerate(old) if i in gone])
    living = [row for i, row in enumerate(old) if i not in gone]
    nums = np.asarray([row.num for row in living], dtype=np.int64)

    arrays = kept_columns.text_arrays_of(builder)
    lexicon = Lexicon()
    if shared:  # words of another scope are there already
        lexicon.ids_of(["zebra", "kestrel", "runs"])
    arrays = {**arrays, "nums": nums}
    room = kept_columns.room_of(arrays) if roomy else {}
    buffers = {
        name: np.concatenate([a, np.full((room.get(name, 0), *a.shape[1:]), 99, dtype=a.dtype)])
        for name, a in arrays.items()
    }
    read = kept_columns.builder_of(lexicon, arrays, buffers)

    expected = made(living, Lexicon())
    everything = np.arange(len(living))
    assert meaning(read.snapshot(), everything) == meaning(expected.snapshot(), everything)

    before = read.snapshot()
    for other in (read, expected):
        append(other, new)
    whole = living + new
    dead = [row.num for i, row in enumerate(whole) if i in later]
    for other in (read, expected):
        other.kill(dead)
    keep = np.asarray([i for i, row in enumerate(whole) if row.num not in dead], dtype=np.int64)
    assert meaning(read.snapshot(), keep) == meaning(expected.snapshot(), keep)
    assert before.size == len(living)


@settings(max_examples=examples(30), deadline=None)
@given(rows(), st.sets(st.integers(0, 7)))
def test_nothing_of_what_was_forgotten_is_kept(old: list[TextRow], gone: set[int]) -> None:
    builder = made(old, Lexicon())
    builder.kill([row.num for i, row in enumerate(old) if i in gone])
    living = [row for i, row in enumerate(old) if i not in gone]
    arrays, alone = kept_columns.text_arrays_of(builder), kept_columns.text_arrays_of(made(living, Lexicon()))
    for name in ("words.keys", "words.roots", "text.thread_names", "text.actor_names"):
        assert sorted(bytes(arrays[name]).split(b"\n")) == sorted(bytes(alone[name]).split(b"\n"))


def test_vectors_of_words_come_back_to_the_bit() -> None:
    first = made([TextRow(num=1, text="the kestrel flew over Monday's harbour")], Lexicon())
    arrays = kept_columns.text_arrays_of(first)
    for words in ([], ["harbour", "zebra"]):
        lexicon = Lexicon()
        lexicon.ids_of(words)
        kept_columns.builder_of(lexicon, {**arrays, "nums": np.asarray([1])})
        ids = lexicon.ids_of(["kestrel", "harbour"])
        own = first.snapshot().lexicon
        assert np.array_equal(lexicon.vectors(ids), own.vectors(own.ids_of(["kestrel", "harbour"])))
