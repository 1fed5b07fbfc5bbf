"""Large arrays outside of memory: files of named arrays that are mapped, scratch files, and packed strings.

    magic · length of the header · its CRC-32 · when it was written │ header (JSON) │ arrays, each from a multiple of 64

A file that still has the time noted inside, and its length, is mapped without being read; any other is read whole once
and compared with its checksums. Room behind an array is a hole that takes no disk: whoever maps it appends there.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record

DRAFT = ".new"  # what a file is called while it is being written
_MAGIC = b"RCLARR\x02\n"
_HEAD = struct.Struct("<8sIIq")  # magic, bytes of the header, its CRC-32, time of change in ns
_ALIGNED = 64
_BLOCK = 1 << 20
_HEADER_MAX = 1 << 24
_TYPES = frozenset({"<i8", "<i4", "<i2", "|i1", "|u1", "|b1", "<f8", "<f4", "<f2"})
Arrays = Mapping[str, NDArray[Any]]
Place = tuple[Any, tuple[int, ...], int, int, int]  # type, shape, first byte and checksum of an array, rows of room


class Unfit(Exception):
    """A file cannot be used; the message says why."""


@record(frozen=True, slots=True, kw_only=True)
class Opened:
    """A mapped file; the mapping ends when the last of its arrays is freed."""

    tags: Mapping[str, Any]  # plain data that says what the file is of
    arrays: dict[str, NDArray[Any]]  # may be written to, which changes neither the file nor another mapping of it
    buffers: dict[str, NDArray[Any]]  # the same memory, with the room behind each
    size: int  # bytes of the file


def draft(path: Path, tags: Mapping[str, Any], arrays: Arrays, room: Mapping[str, int] | None = None) -> Path:
    """Write a file beside its target, for `place` to put there; return its path."""
    beside = path.with_name(path.name + DRAFT)
    try:
        with beside.open("wb") as file:
            _fill(file, tags, arrays, room or {})
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    return beside


def place(beside: Path, path: Path) -> None:
    """Move a draft to `path`, in place of the file there."""
    beside.replace(path)
    _sync_directory(path.parent)


def read_tags(path: Path) -> Mapping[str, Any]:
    """Read the tags of a file without its arrays."""
    with path.open("rb") as file:
        tags, _, _ = _header(file, os.fstat(file.fileno()).st_size)
    return tags


def mapped(path: Path) -> Opened:
    """Map a file into memory; read it whole first if it was touched since it was written."""
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        tags, listed, written = _header(file, state.st_size)
        if state.st_mtime_ns != written:
            _verify(file, listed)
            with suppress(OSError):  # where it may not be set, it is read whole the next time as well
                os.utime(path, ns=(state.st_atime_ns, written))
        held = _held(file)
    buffers = {
        name: np.frombuffer(held, dtype=dtype, count=math.prod(whole), offset=begin).reshape(whole)
        if math.prod(whole := _with_room(shape, room))
        else np.empty(whole, dtype=dtype)
        for name, (dtype, shape, begin, _crc, room) in listed.items()
    }
    arrays = {name: buffers[name][: listed[name][1][0]] if listed[name][4] else buffers[name] for name in buffers}
    return Opened(tags=tags, arrays=arrays, buffers=buffers, size=state.st_size)


def mapping_of(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the mapped file that holds an array; `None` if none does."""
    held: Any = array
    while isinstance(held, np.ndarray | memoryview):
        held = held.base if isinstance(held, np.ndarray) else held.obj
    return held if isinstance(held, mmap.mmap) else None


def let_go(array: NDArray[Any]) -> bool:
    """Give back the memory pages read from a mapped array, which nobody wrote to; say whether there were any."""
    held, advice = mapping_of(array), getattr(mmap, "MADV_DONTNEED", None)
    if held is None or advice is None:
        return False
    first = np.frombuffer(held, dtype=np.uint8, count=1)
    begin = array.ctypes.data - first.ctypes.data
    whole = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE  # the page that it begins in may be another's as well
    length = (begin + array.nbytes - whole) // mmap.PAGESIZE * mmap.PAGESIZE
    if length <= 0:
        return False
    held.madvise(advice, whole, length)
    return True


def _held(file: BinaryIO) -> mmap.mmap | bytearray:
    if os.name == "nt":  # a mapped file could be neither replaced nor removed there
        file.seek(0)
        return bytearray(file.read())
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _with_room(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    return (shape[0] + room, *shape[1:]) if room else shape


def _fill(file: BinaryIO, tags: Mapping[str, Any], arrays: Arrays, room: Mapping[str, int]) -> None:
    listed: dict[str, list[Any]] = {}
    sound = {name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    at = 0  # from the end of the header on
    for name, array in sound.items():
        at += -at % _ALIGNED
        data, rows = array.reshape(-1).view(np.uint8).data, room.get(name, 0)
        listed[name] = [array.dtype.str, list(array.shape), at, zlib.crc32(data), rows]
        at += math.prod(_with_room(array.shape, rows)) * array.itemsize
    header = json.dumps({"tags": dict(tags), "arrays": listed, "bytes": at}, separators=(",", ":")).encode()
    header += b" " * (-(_HEAD.size + len(header)) % _ALIGNED)
    begin = _HEAD.size + len(header)
    for name, array in sound.items():
        file.seek(begin + listed[name][2])
        file.write(array.reshape(-1).view(np.uint8).data)
    file.truncate(begin + at)
    file.flush()
    written = os.fstat(file.fileno()).st_mtime_ns
    file.seek(0)
    file.write(_HEAD.pack(_MAGIC, len(header), zlib.crc32(header), written) + header)
    file.flush()
    os.fsync(file.fileno())
    os.utime(file.name, ns=(written, written))


def _header(file: BinaryIO, size: int) -> tuple[Mapping[str, Any], dict[str, Place], int]:
    """Read the tags, the arrays with type, shape, place and checksum, and the time of writing."""
    if sys.byteorder != "little":
        raise Unfit("its numbers are of another byte order than this machine's")
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or head[: len(_MAGIC)] != _MAGIC:
        raise Unfit("it is none of ours, or of another version")
    _, length, checksum, written = _HEAD.unpack(head)
    text = file.read(length) if length <= _HEADER_MAX else b""
    if len(text) != length or zlib.crc32(text) != checksum:
        raise Unfit("its header is damaged")
    try:
        found = json.loads(text)
        begin = _HEAD.size + length
        if begin + found["bytes"] != size:
            raise Unfit(f"it has {size:,} bytes and should have {begin + found['bytes']:,}")
        listed = {name: _place(entry, begin, size) for name, entry in found["arrays"].items()}
        return found["tags"], listed, written
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise Unfit("its header cannot be read") from e


def _place(entry: list[Any], begin: int, size: int) -> Place:
    kind, shape, place, checksum, room = entry
    if (
        kind not in _TYPES
        or any(not isinstance(n, int) or n < 0 for n in (*shape, place, room))
        or (room and not shape)
    ):
        raise Unfit("its header names an array that cannot be")
    dtype = np.dtype(kind)
    if place % _ALIGNED or begin + place + math.prod(_with_room(tuple(shape), room)) * dtype.itemsize > size:
        raise Unfit("an array lies outside of it")
    return dtype, tuple(shape), begin + place, checksum, room


def _verify(file: BinaryIO, listed: Mapping[str, Place]) -> None:
    for name, (dtype, shape, begin, noted, _room) in listed.items():
        file.seek(begin)
        left, checksum = math.prod(shape) * dtype.itemsize, 0
        while left:
            block = file.read(min(left, _BLOCK))
            if not block:
                raise Unfit(f"it ends within {name!r}")
            checksum, left = zlib.crc32(block, checksum), left - len(block)
        if checksum != noted:
            raise Unfit(f"{name!r} in it is damaged")


def _sync_directory(directory: Path) -> None:
    with suppress(OSError):  # not every system opens directories
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
