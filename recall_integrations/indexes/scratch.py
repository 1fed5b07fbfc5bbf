"""Large arrays that need not stay in memory: each in an unnamed file, whose pages the system may write out.

What is read of a scope here and there (its full vectors, its words, which rows hold them) is most of it. Mapped from
the scope's file it takes no memory that others need; read from the database it would, were it not put here.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import mapping_of
from recall_integrations.records import record

SMALLEST = 8_000_000  # bytes of an array from which it has a file
FREE_MIN = 200_000_000  # bytes that stay free on the disk
_TWICE_MAX = 1 << 20  # entries up to which a buffer is made twice as long when it is full; longer ones a quarter longer
Number = TypeVar("Number", bound=np.generic)


@record(frozen=True, slots=True)
class Scratch:
    """Maker of the large arrays of one store."""

    directory: Path | None = None  # directory of the files; `None` = arrays are plain memory

    def empty(self, shape: int | tuple[int, ...], dtype: type[Number] | np.dtype[Number]) -> NDArray[Number]:
        """Return an array without content, in a file where it is large and the disk has room, else in memory."""
        made = np.dtype(dtype)
        size = int(np.prod(shape)) * made.itemsize
        held = self._mapped(size) if size >= SMALLEST else None
        if held is None:
            return np.empty(shape, dtype=made)
        return np.frombuffer(held, dtype=made, count=size // made.itemsize).reshape(shape)

    def grown(self, old: NDArray[Number], used: int, size: int) -> NDArray[Number]:
        """Return a buffer of `size` rows that begins with the first `used` of `old`."""
        new = self.empty((size, *old.shape[1:]), old.dtype)
        new[:used] = old[:used]
        return new

    def moved(self, array: NDArray[Number]) -> NDArray[Number]:
        """Return the array, out of memory where it is large."""
        if self.directory is None or array.nbytes < SMALLEST or mapping_of(array) is not None:
            return array
        return self.grown(array, len(array), len(array))

    def _mapped(self, size: int) -> mmap.mmap | None:
        reserve = getattr(os, "posix_fallocate", None)  # without it, a full disk would end the process at a write
        if self.directory is None or reserve is None:
            return None
        try:
            if shutil.disk_usage(self.directory).free < size + FREE_MIN:
                return None
            with tempfile.TemporaryFile(dir=self.directory) as file:
                reserve(file.fileno(), 0, size)
                return mmap.mmap(file.fileno(), size)
        except OSError:
            return None


def roomier(size: int) -> int:
    """Return the new length of a full buffer of `size` entries."""
    return 2 * size if size < _TWICE_MAX else size + size // 4


def held(array: NDArray[Any]) -> int:
    """Return the bytes of memory for an array that is read here and there: 0 where it is in a file."""
    return 0 if mapping_of(array) is not None else array.nbytes


grown = Scratch().grown  # in plain memory
