"""Many strings in one block of bytes, for a scope's ids and the names of its threads, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

LISTED_MAX = 20_000  # so many are kept as a list: a megabyte or two, and faster to look up


def packed(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Join strings as UTF-8; return the bytes, and where each begins and the last one ends."""
    parts = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.fromiter(accumulate(chain((0,), map(len, parts))), dtype=np.int64, count=len(parts) + 1)
    return np.frombuffer(b"".join(parts), dtype=np.uint8), ends


def packed_of(names: Sequence[str], rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack some of the strings, given by rising places, as `packed` does, without decoding packed ones."""
    if not isinstance(names, Names):
        return packed([names[row] for row in rows.tolist()])
    blob, ends = names.kept(rows[rows < names.unchanged])
    more, more_ends = packed([names[row] for row in rows[rows >= names.unchanged].tolist()])
    return np.concatenate([blob, more]), np.concatenate([ends, ends[-1] + more_ends[1:]])


def unpacked(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Return the strings from the output of `packed`."""
    data, bounds = blob.tobytes(), ends.tolist()
    try:
        text = data.decode("ascii")  # then a character is a byte
        return [text[a:b] for a, b in pairwise(bounds)]
    except UnicodeDecodeError:
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]


def sequence_of(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str] | Names:
    """Return the strings as a list or as `Names`, by their number; both can be added to."""
    return unpacked(blob, ends) if len(ends) <= LISTED_MAX else Names(blob, ends)


class Names(Sequence[str]):
    """Packed strings, and strings that were added since. Each is decoded when it is asked for."""

    __slots__ = ("_added", "_begins", "_blob", "_count")

    def __init__(self, blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self._blob = blob.tobytes()  # its slices are made twice as fast as those of a view
        self._begins = ends.data
        self._count = len(ends) - 1
        self._added: list[str] = []

    def __len__(self) -> int:
        return self._count + len(self._added)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if index >= self._count:
            return self._added[index - self._count]
        if index < 0:
            raise IndexError("no string has this place")
        return self._blob[self._begins[index] : self._begins[index + 1]].decode("utf-8", "surrogatepass")

    @property
    def unchanged(self) -> int:
        """Number of strings at first."""
        return self._count

    def kept(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Pack some of the strings that were there at first, as `packed` does."""
        begins = np.asarray(self._begins)
        lengths = begins[rows + 1] - begins[rows]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        blob = np.frombuffer(self._blob, dtype=np.uint8)
        if len(rows) == self._count:
            return blob, ends
        return blob[np.arange(ends[-1]) + np.repeat(begins[rows] - ends[:-1], lengths)], ends

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def append(self, name: str) -> None:
        """Add a string at the end."""
        self._added.append(name)

    def extend(self, names: Iterable[str]) -> None:
        """Add several strings at the end."""
        self._added.extend(names)
