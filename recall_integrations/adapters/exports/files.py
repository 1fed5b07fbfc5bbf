"""Files of an export (one alone, those of a folder, those in a zip archive), and what reading them yields."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TypeVar

from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.types import Memory, Scope

HEAD = 8_192  # bytes that recognise a format
BOM = b"\xef\xbb\xbf"
ODD = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, csv.Error)
T = TypeVar("T")
Made = Memory | tuple[Memory, Mapping[str, str]] | None


class Entry(NamedTuple):
    """One entry of an export: a memory, or the problem with it; neither where it says nothing."""

    where: str  # "general/2026-03-01.json, message 3"
    memory: Memory | None = None
    scope: Mapping[str, str] = {}  # parts of the scope that the entry names
    problem: str = ""
    row: Mapping[str, Any] | None = None  # what an id is made of; default: the memory


def entries(where: str, items: Iterable[T], make: Callable[[T], Made]) -> Iterator[Entry]:
    """Yield what `make` makes of each item; an item in another shape than it expects becomes a problem."""
    rest, number = iter(items), 0
    while True:
        number += 1
        try:
            made = make(next(rest))
            memory, scope = made if isinstance(made, tuple) else (made, {})
            Scope(**scope)  # only checked
        except StopIteration:
            return
        except InvalidInput as e:
            yield Entry(f"{where} {number}", problem=str(e).rstrip("."))
        except ODD as e:
            yield Entry(f"{where} {number}", problem=odd(e))
        else:
            yield Entry(f"{where} {number}", memory, scope)


def odd(error: Exception) -> str:
    """Say that something is not as the format has it."""
    why = f": {error} is missing" if isinstance(error, KeyError) else f": {error}" if type(error) is csv.Error else ""
    return f"not in the shape of this format{why}"


@dataclass(eq=False, kw_only=True)
class File:
    """A file of an export. What is read of it is kept until `forget`."""

    name: str  # from the folder or the archive on, with "/" on every system
    export: str  # name of the folder or archive that was given, or of the folder of a single file
    open: Callable[[], IO[bytes]]
    beside: Mapping[str, File]  # all files of the export, by name
    path: Path | None = None  # `None` in an archive

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def folder(self) -> str:
        """Name of the export with a digest of where its folder is: two folders of one name are told apart."""
        root = self.path and self.path.absolute().parents[self.name.count("/")].resolve()
        return f"{self.export}-{blake2b(os.fsencode(root or ''), digest_size=6).hexdigest()}"

    @cached_property
    def head(self) -> bytes:
        with self.open() as opened:
            return opened.read(HEAD).removeprefix(BOM)

    @cached_property
    def text(self) -> str:
        """Its text: UTF-8, UTF-16 with a mark, or else Windows-1252. A line ends with a line feed."""
        with self.open() as opened:
            data = opened.read()
        try:
            found = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        except UnicodeDecodeError:
            found = data.decode("cp1252", "replace")
        return found.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def json(self) -> Any:
        try:
            return json.loads(self.text) if self.head.lstrip()[:1] in (b"{", b"[") else None
        except (ValueError, RecursionError):
            return None

    def items(self, key: str, found: Any = None) -> list[Any]:
        """Return its JSON (or that part of it), if that is a list of objects with `key`; else an empty list."""
        found = self.json if found is None else found
        is_list = isinstance(found, list) and any(isinstance(one, dict) and key in one for one in found[:9])
        return found if is_list else []

    def forget(self) -> None:
        for name in ("head", "text", "json"):
            self.__dict__.pop(name, None)


@contextmanager
def opened(source: Any) -> Iterator[dict[str, File]]:
    """Yield the files at a path, by name and in its order; or parsed JSON as one file. Hidden files are left out."""
    files: dict[str, File] = {}

    def add(name: str, export: str, opener: Callable[[], Any], path: Path | None = None) -> None:
        if not any(part.startswith(".") or part == "__MACOSX" for part in name.split("/")):
            files[name] = File(name=name, export=export, open=opener, beside=files, path=path)

    if isinstance(source, Mapping | list):
        data = json.dumps(source, default=str).encode()
        add("data", "data", lambda: io.BytesIO(data))
        yield files
        return
    path = Path(source)
    try:
        if path.is_dir():
            for found in sorted(p for p in path.rglob("*") if p.is_file()):
                add(found.relative_to(path).as_posix(), path.resolve().name, partial(found.open, "rb"), found)
            yield files
        elif path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                if any(info.flag_bits & 1 for info in archive.infolist()):
                    raise InvalidArgument(f"{path} needs a password. Unpack it, and give the folder.")
                for name in sorted(name for name in archive.namelist() if not name.endswith("/")):
                    add(name, path.stem, partial(archive.open, name))
                yield files
        else:
            add(path.name.lstrip("."), path.resolve().parent.name, partial(path.open, "rb"), path)
            yield files
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as e:
        hint = "" if isinstance(e, OSError) else " Get the archive anew; or unpack it, and give the folder."
        raise InvalidArgument(f"Cannot read {path}: {getattr(e, 'strerror', None) or e}.{hint}") from e
