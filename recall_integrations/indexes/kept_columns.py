"""Conversion of a scope's columns to plain arrays and back, for a file of them (`store.column_files`).

Only living rows go in: no trace of forgotten ones. Words, stems and names are numbered anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import Scratch, packed, packed_of, sequence_of, unpacked
from recall_integrations.indexes.columns import ROLES, Postings, postings_of
from recall_integrations.indexes.columns_builder import ColumnsBuilder
from recall_integrations.indexes.kind import Counted, KindCounter
from recall_integrations.indexes.lexicon import Ids, Lexicon, WordBlock
from recall_integrations.indexes.vector_column import GROWING
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types.roles import NO_ROLE, ROLE_CODES, role_of

Arrays = dict[str, NDArray[Any]]
Rows = NDArray[np.int64]
_PLAIN = ("lengths", "positions", "roles", "questions")  # per row, kept as they are
_OF_TEXTS = (*_PLAIN, "before", "after", "threads", "actors")
_STARTS = ("starts", "more_starts")
_VALUES = ("words", "more", "asked")
_WORDS = ("keys", "stems", "roots", "dated", "rows", "factors")  # of `WordBlock`
_POSTINGS = ("stems", "begins", "rows", "counts", "tops")  # of `Postings`
TEXTS_GROWING = tuple(f"text.{name}" for name in (*_OF_TEXTS, *_STARTS, *_VALUES))  # when a memory is added


def text_arrays_of(builder: ColumnsBuilder) -> Arrays:
    """Return the text columns of the living rows as arrays. The caller keeps writers out."""
    n = builder.n
    alive = builder.alive[:n]
    rows = np.flatnonzero(alive)
    new_row = np.cumsum(alive) - 1
    found: Arrays = {f"text.{name}": getattr(builder, name)[:n][rows] for name in _PLAIN}
    for name in ("before", "after"):
        links = getattr(builder, name)[:n][rows]
        found[f"text.{name}"] = np.where(links >= 0, new_row[links], -1)
    starts, words, kept = _runs(builder.starts, builder.words, alive, rows)
    more_starts, more, _ = _runs(builder.more_starts, builder.more, alive, rows)
    found["text.starts"], found["text.more_starts"] = starts, more_starts
    found["text.asked"] = builder.asked[: len(kept)] if len(rows) == n else builder.asked[: len(kept)][kept]
    threads, thread_codes = _renumbered(builder.threads[:n][rows])
    actors, actor_codes = _renumbered(builder.actors[:n][rows])
    found["text.threads"], found["text.actors"] = threads, actors
    found.update(_named("text.thread", [builder.thread_names[code] for code in thread_codes]))
    found.update(_named("text.actor", [builder.actor_names[code] for code in actor_codes]))
    own = [builder.stems_of_actor[code] for code in actor_codes]
    stems = _numbered(found, builder.lexicon, words, more, own)
    _speakers(found, own, stems)
    roles = found["text.roles"]
    counted = KindCounter.counted(threads, actors, roles.astype(np.int32), found["text.lengths"])
    found["text.kind_pairs"], found["text.kind_totals"] = counted.pairs, np.asarray(counted.totals, dtype=np.int64)
    return found


def builder_of(
    lexicon: Lexicon, arrays: Arrays, buffers: Arrays | None = None, scratch: Scratch | None = None
) -> ColumnsBuilder:
    """Return a builder as if the rows had been appended to it, one after the other."""
    n, buffers = len(arrays["nums"]), arrays if buffers is None else buffers
    builder = ColumnsBuilder(lexicon, 0, scratch)
    of_words: dict[str, Any] = {name: arrays[f"words.{name}"] for name in _WORDS}
    block = WordBlock(root_count=int(arrays["words.root_count"][0]), **of_words)
    for name in (*_OF_TEXTS, *_STARTS):
        column, rows = arrays[f"text.{name}"], n + (name in _STARTS)
        if column.shape != (rows,):
            raise ValueError(f"text.{name} has the shape {column.shape} for {n} rows")
        setattr(builder, name, buffers[f"text.{name}"])
    found = lexicon.take(block)
    words, more, kept = buffers["text.words"], buffers["text.more"], _postings(arrays, n)
    numbers = None
    if found is not None:
        ids, numbers = found
        words = _renamed(ids, arrays["text.words"], len(words), builder)
        more = _renamed(ids, arrays["text.more"], len(more), builder)
        kept = _translated(kept, numbers).moved(builder.scratch)
    builder.n = n
    builder.nums = buffers["nums"]
    builder.alive = np.ones(min(len(getattr(builder, name)) for name in ("nums", *_OF_TEXTS)), dtype=np.bool_)
    builder.words, builder.more, builder.asked = words, more, buffers["text.asked"]
    builder.postings = (kept,)
    builder.thread_names = sequence_of(arrays["text.thread_names"], arrays["text.thread_ends"])
    builder.thread_codes = None
    totals = tuple(arrays["text.kind_totals"].tolist())
    builder.kinds = KindCounter(Counted(pairs=arrays["text.kind_pairs"], totals=totals))
    _restore_actors(builder, arrays, numbers)
    return builder


def _renamed(ids: Ids, words: Ids, size: int, builder: ColumnsBuilder) -> Ids:
    """Return a buffer of `size` that begins with `words`, translated to the ids in the lexicon."""
    made = builder.scratch.empty(size, np.int32)
    made[: len(words)] = ids[words]
    return made


def _runs(starts: Rows, values: Ids, alive: NDArray[np.bool_], rows: Rows) -> tuple[Rows, Ids, NDArray[np.bool_]]:
    """Return starts and values of the living rows, and a mask of the kept values."""
    if len(rows) == len(alive):
        end = int(starts[len(alive)])
        return starts[: len(alive) + 1], values[:end], np.ones(end, dtype=np.bool_)
    counts = np.diff(starts[: len(alive) + 1])
    kept = np.repeat(alive, counts)
    return np.concatenate([[0], np.cumsum(counts[rows])]).astype(np.int64), values[: len(kept)][kept], kept


def _renumbered(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], list[int]]:
    """Renumber codes by first occurrence, -1 unchanged; return them and the old codes in that order."""
    there, first = np.unique(codes[codes >= 0], return_index=True)
    order = there[np.argsort(first)]
    table = np.full(int(codes.max(initial=-1)) + 2, -1, dtype=np.int32)  # the last is that of -1
    table[order] = np.arange(len(order), dtype=np.int32)
    return table[codes], order.tolist()


def _named(what: str, given: Sequence[str]) -> Arrays:
    blob, ends = packed(given)
    return {f"{what}_names": blob, f"{what}_ends": ends}


def _numbered(found: Arrays, lexicon: Lexicon, words: Ids, more: Ids, own: Sequence[Sequence[int]]) -> Ids:
    """Add the words that occur to `found`, with numbers of their own; return the stems that occur, rising."""
    ids = np.flatnonzero(np.bincount(np.concatenate([words, more]))).astype(np.int32)
    spoken = np.asarray(sorted({number for numbers in own for number in numbers}), dtype=np.int32)
    stems = np.union1d(lexicon.stems[ids], spoken).astype(np.int32)
    block = lexicon.block(ids, stems)
    table = np.zeros(int(ids.max(initial=-1)) + 1, dtype=np.int32)
    table[ids] = np.arange(len(ids), dtype=np.int32)
    found["text.words"], found["text.more"] = table[words], table[more]
    found.update({f"words.{name}": getattr(block, name) for name in _WORDS})
    found["words.root_count"] = np.asarray([block.root_count], dtype=np.int64)
    n = len(found["text.lengths"])
    occurrences = []
    for starts, held in ((found["text.starts"], found["text.words"]), (found["text.more_starts"], found["text.more"])):
        occurrences.append((block.stems[held], np.repeat(np.arange(n), np.diff(starts))))
    made = postings_of(0, n, occurrences)
    found.update({f"postings.{name}": getattr(made, name) for name in _POSTINGS})
    return stems


def _speakers(found: Arrays, own: Sequence[Sequence[int]], stems: Ids) -> None:
    """Add the stems of the actors' names, and each actor's count of memories in each role, to `found`."""
    flat = np.asarray([number for numbers in own for number in numbers], dtype=np.int32)
    found["text.actor_stems"] = np.searchsorted(stems, flat).astype(np.int32)
    found["text.actor_begins"] = np.cumsum([0, *map(len, own)], dtype=np.int64)
    actors = found["text.actors"]
    spoken = np.flatnonzero(actors >= 0)
    pairs = actors[spoken].astype(np.int64) * ROLES + found["text.roles"][spoken]
    found["text.spoke_pairs"], found["text.spoke_counts"] = np.unique(pairs, return_counts=True)


def _restore_actors(builder: ColumnsBuilder, arrays: Arrays, numbers: Ids | None) -> None:
    names = unpacked(arrays["text.actor_names"], arrays["text.actor_ends"])
    flat = arrays["text.actor_stems"] if numbers is None else numbers[arrays["text.actor_stems"]]
    begins, stems = arrays["text.actor_begins"].tolist(), flat.tolist()
    own = [sorted(stems[a:b]) for a, b in pairwise(begins)]
    pairs, counts = arrays["text.spoke_pairs"].tolist(), arrays["text.spoke_counts"].tolist()
    in_role: dict[int, list[int]] = {}
    in_name: dict[int, list[int]] = {}
    for actor, role in (divmod(pair, ROLES) for pair in pairs):
        if role != NO_ROLE:
            in_role.setdefault(role, []).append(actor)
        for number in own[actor]:
            in_name.setdefault(number, []).append(actor)
    builder.actor_names = names
    builder.actor_codes = {name: code for code, name in enumerate(names)}
    builder.stems_of_actor = own
    builder.named_roles = [ROLE_CODES[role_of(name)] for name in names]
    builder.spoke = dict(zip(pairs, counts, strict=True))
    builder.role_actors = {role: tuple(actors) for role, actors in in_role.items()}
    builder.actor_words = {number: tuple(dict.fromkeys(actors)) for number, actors in in_name.items()}


def _postings(arrays: Arrays, n: int) -> Postings:
    kept: dict[str, Any] = {name: arrays[f"postings.{name}"] for name in _POSTINGS}
    return Postings(first=0, end=n, **kept)


def _translated(kept: Postings, numbers: Ids) -> Postings:
    """Return the postings with other numbers of the stems."""
    stems = numbers[kept.stems]
    order = np.argsort(stems)
    counts = np.diff(kept.begins)[order]
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.arange(begins[-1]) + np.repeat(kept.begins[:-1][order] - begins[:-1], counts)
    return Postings(
        first=kept.first,
        end=kept.end,
        stems=stems[order],
        begins=begins,
        rows=kept.rows[at],
        counts=kept.counts[at],
        tops=kept.tops[order],
    )


if TYPE_CHECKING:
    from recall_integrations.indexes.scope_views import Columns


_PER_ROW = ("nums", "at", "dated", "types", "importance", "lengths")
_SHARE, _LEAST = 8, 1_000  # of its length, the room behind an array; and entries at least


def arrays_of(columns: Columns) -> Arrays:
    """Return the columns of the living rows as arrays. The caller keeps writers out."""
    rows = np.flatnonzero(columns.alive[: columns.n])
    chosen = slice(columns.n) if len(rows) == columns.n else rows  # nothing is copied where nothing was forgotten
    found: Arrays = {name: getattr(columns, name)[chosen] for name in _PER_ROW}
    found["ids"], found["id_ends"] = packed_of(columns.ids, rows)
    if columns.vectors is not None:
        found.update(columns.vectors.kept(rows))
    found.update(text_arrays_of(columns.text))
    return found


def room_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the rows of room behind each array that grows with a written memory, before it must be copied."""
    grows = {*_PER_ROW, *TEXTS_GROWING, *GROWING}
    return {name: max(len(array) // _SHARE, _LEAST) for name, array in arrays.items() if name in grows}


def restore(columns: Columns, arrays: Arrays, buffers: Arrays) -> None:
    """Fill empty columns with the arrays of `arrays_of`, but for vectors and texts."""
    n = len(arrays["nums"])
    for name in _PER_ROW:
        if arrays[name].shape != (n,):
            raise ValueError(f"{name} has the shape {arrays[name].shape} for {n} rows")
        setattr(columns, name, buffers[name])
    capacity = min(len(buffers[name]) for name in _PER_ROW)
    columns.ids = sequence_of(arrays["ids"], arrays["id_ends"])
    columns.alive = np.ones(capacity, dtype=np.bool_)
    if len(columns.ids) != n or (columns.vectors is not None and len(columns.vectors) != n):
        raise ValueError(f"there are not as many ids or vectors as rows, {n}")
    columns.n = columns.living = n
    columns.length = int(np.maximum(columns.lengths[:n], PIVOT).sum(dtype=np.int64))
