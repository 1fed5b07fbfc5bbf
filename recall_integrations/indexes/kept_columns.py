"""Conversion of a scope's columns to plain arrays and back, for a file of them (`store.column_files`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes import kept_text
from recall_integrations.indexes import names as strings
from recall_integrations.indexes.array_file import mapping_of
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.indexes.scratch import Scratch
from recall_integrations.indexes.vector_column import GROWING, SPARSE
from recall_integrations.text.bm25 import PIVOT

if TYPE_CHECKING:
    from recall_integrations.indexes.scope_view import Columns

Arrays = dict[str, NDArray[Any]]
_PER_ROW = ("nums", "at", "dated", "types", "importance", "lengths")
_SHARE, _LEAST = 8, 1_000  # of its length, the room behind an array; and entries at least


def arrays_of(columns: Columns) -> Arrays:
    """Return the columns of the living rows as arrays. The caller keeps writers out."""
    rows = np.flatnonzero(columns.alive[: columns.n])
    chosen = slice(columns.n) if len(rows) == columns.n else rows  # nothing is copied where nothing was forgotten
    found: Arrays = {name: getattr(columns, name)[chosen] for name in _PER_ROW}
    found["ids"], found["id_ends"] = strings.packed_of(columns.ids, rows)
    if columns.vectors is not None:
        found.update(columns.vectors.kept(rows))
    if columns.text is not None:
        found.update(kept_text.arrays_of(columns.text))
    return found


def room_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the rows of room behind each array that grows with a written memory, before it must be copied."""
    grows = {*_PER_ROW, *kept_text.GROWING, *GROWING}
    return {name: max(len(array) // _SHARE, _LEAST) for name, array in arrays.items() if name in grows}


def resident_bytes(arrays: Arrays, *, vectors: bool, texts: bool) -> int:
    """Count the bytes that restoring the arrays holds in memory, without mapped arrays that are read here and there."""
    apart = (*SPARSE, *(kept_text.SPARSE if texts else ()))
    wanted = {
        name: array
        for name, array in arrays.items()
        if (vectors or not name.startswith("vectors.")) and (texts or not name.startswith(kept_text.PREFIXES))
    }
    return sum(a.nbytes for name, a in wanted.items() if name not in apart or mapping_of(a) is None)


def restore(
    columns: Columns,
    arrays: Arrays,
    lexicon: Lexicon | None,
    buffers: Arrays | None = None,
    scratch: Scratch | None = None,
) -> None:
    """Fill empty columns with the arrays of `arrays_of`."""
    n, buffers = len(arrays["nums"]), arrays if buffers is None else buffers
    for name in _PER_ROW:
        if arrays[name].shape != (n,):
            raise ValueError(f"{name} has the shape {arrays[name].shape} for {n} rows")
        setattr(columns, name, buffers[name])
    capacity = min(len(buffers[name]) for name in _PER_ROW)
    columns.ids = strings.sequence_of(arrays["ids"], arrays["id_ends"])
    columns.alive = np.ones(capacity, dtype=np.bool_)
    if len(columns.ids) != n or (columns.vectors is not None and len(columns.vectors) != n):
        raise ValueError(f"there are not as many ids or vectors as rows, {n}")
    columns.text = None if lexicon is None else kept_text.builder_of(lexicon, arrays, buffers, scratch)
    columns.n = columns.living = n
    columns.length = int(np.maximum(columns.lengths[:n], PIVOT).sum(dtype=np.int64))
