"""Columns made of plain lists of memories, for tests: the store reads rows that were cut at writing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes import columns_builder
from recall_integrations.indexes.columns import WORDS_MAX, TextColumns, asked_words, is_question
from recall_integrations.indexes.columns_builder import TextBlock
from recall_integrations.indexes.lexicon import Ids, Lexicon
from recall_integrations.records import record
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import content, language_of, length_in_words


@record(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A memory as input of `ColumnsBuilder.append`."""

    num: int  # the memory's number in the store; rising over all rows of a scope
    text: str = ""  # without the actor in front. May be empty where `words` is given
    words: Ids | None = None  # ids of its content words, or `None` to have `text` cut into words
    asks: bool | None = None  # whether the text is a question; `None` = look at `text`
    asked: Sequence[bool] | None = None  # for each word whether its sentence asks; `None` = look at `text`
    length: int | None = None  # content words, where `words` holds only a part of them
    # ids of the words that BM25 reads besides, or `None` to have them cut: those of the actor's name, and those of the
    # text that are too many to be kept
    more: Ids | None = None
    actor: str | None = None  # with `thread`: names, `None` = none
    role: str | None = None  # a role's name; `None` = that of the actor's name, if it is the spelling of one
    thread: str | None = None
    position: int | None = None  # place in the thread; without meaning where there is no thread


def append(builder: columns_builder.ColumnsBuilder, rows: Iterable[TextRow]) -> None:
    """Add memories, rising by `num` and above all present ones."""
    added = list(rows)
    if not added:
        return
    lists = _word_lists(builder, added)
    others = [_others(builder, row, ids) for row, ids in zip(added, lists, strict=True)]
    builder.extend(
        TextBlock(
            nums=[row.num for row in added],
            words=np.concatenate([ids[:WORDS_MAX] for ids in lists]),
            counts=[min(len(ids), WORDS_MAX) for ids in lists],
            lengths=[
                _length(builder, row.text, ids) if row.length is None else row.length
                for row, ids in zip(added, lists, strict=True)
            ],
            asks=[is_question(row.text) if row.asks is None else row.asks for row in added],
            actors=[row.actor for row in added],
            roles=[row.role for row in added],
            threads=[row.thread for row in added],
            positions=[row.position for row in added],
            asked=np.concatenate([_asked(row, len(ids)) for row, ids in zip(added, lists, strict=True)]),
            more=np.concatenate(others),
            more_counts=[len(ids) for ids in others],
        )
    )


def _word_lists(builder: columns_builder.ColumnsBuilder, added: Sequence[TextRow]) -> list[Ids]:
    """Return the word ids of each row. New words enter the lexicon together."""
    texts = [content(row.text) if row.words is None else [] for row in added]
    fresh = builder.lexicon.ids_of(chain.from_iterable(texts))
    ends = np.cumsum([len(words) for words in texts]).tolist()
    return [
        fresh[end - len(words) : end] if row.words is None else np.asarray(row.words, dtype=np.int32)
        for row, words, end in zip(added, texts, ends, strict=True)
    ]


def _others(builder: columns_builder.ColumnsBuilder, row: TextRow, ids: Ids) -> Ids:
    """Return the ids of the further words that BM25 reads, for a row whose words are all in `ids`."""
    if row.more is not None:
        return np.asarray(row.more, dtype=np.int32)
    name = [] if row.actor is None else content(row.actor, language_of(row.text))
    return np.concatenate([builder.lexicon.ids_of(name), ids[WORDS_MAX:]])


def _length(builder: columns_builder.ColumnsBuilder, text: str, ids: Ids) -> int:
    """Count the content words of a text, as `store.words` does."""
    return len(ids) if text.isascii() else length_in_words([builder.lexicon.word(i) for i in ids.tolist()])


class ColumnsBuilder(columns_builder.ColumnsBuilder):
    """A builder that cuts texts itself."""

    def append(self, rows: Iterable[TextRow]) -> None:
        append(self, rows)


def _asked(row: TextRow, count: int) -> NDArray[np.bool_]:
    """Flag the kept words that stand in a sentence that asks."""
    flags = row.asked
    if flags is None:
        flags = asked_words(row.text) if row.words is None and is_question(row.text) else ()
    kept = np.zeros(min(count, WORDS_MAX), dtype=np.bool_)
    kept[: len(flags)] = np.asarray(flags[: len(kept)], dtype=np.bool_)
    return kept


def columns_of(rows: Iterable[TextRow], lexicon: Lexicon) -> TextColumns:
    """Build the columns of a plain list of memories."""
    builder = ColumnsBuilder(lexicon)
    builder.append(rows)
    return builder.snapshot()


def saying(store: MemoryStore, scope_id: int, *stems: str) -> list[int]:
    """Return the numbers of the living memories that hold one of the stems, rising."""
    view = store.view(scope_id)
    return sorted({int(view.nums[row]) for stem in stems for row in view.text.holding(stem)[0].tolist()})


def without_words(count: int) -> TextColumns:
    """Return the columns of so many empty texts."""
    builder = columns_builder.ColumnsBuilder(Lexicon())
    append(builder, [TextRow(num=num) for num in range(1, count + 1)])
    return builder.snapshot()
