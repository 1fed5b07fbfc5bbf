"""A small JSON file that threads and processes share: the state of components outlives the process."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError
from pydantic_core import to_json

from recall_integrations.config.checking import validated

T = TypeVar("T")
CACHE_FILE, CONTRACT_FILE = "rewrites.json", "rewriting.json"  # in the directory of a store
LOCK_SECONDS = 0.05  # seconds that a recall waits for another process, at most


class SharedFile(Generic[T]):
    """A value in a file, and in memory. Threads share it. `kind` is its type, by which the file is checked.

    Where the file cannot be read or written, the value of this process goes on to count; `trouble` says why. Without a
    path it is in memory only.
    """

    def __init__(self, path: Path | None, kind: Any, *, nothing: Callable[[], T]) -> None:
        self._path, self._kind, self._nothing = path, kind, nothing
        self._lock = threading.Lock()
        self._value = nothing()
        self._seen: tuple[int, int, int] | None = None
        self.trouble = ""

    def read(self) -> T:
        """Return the value as the file says now: costs one `stat`, microseconds. The caller must not change it."""
        with self._lock:
            self._refresh()
            return self._value

    def update(self, change: Callable[[T], T]) -> T:
        """Replace the value by what `change` makes of it, with nobody else in between; return the new one."""
        with self._lock:
            if self._path is None:
                self._value = change(self._value)
                return self._value
            try:
                if not self._path.parent.is_dir():  # the lock would make it
                    raise FileNotFoundError(f"{self._path.parent} is no directory.")
                with FileLock(f"{self._path}.lock", timeout=LOCK_SECONDS):
                    self._refresh()
                    self._write(self._path, change(self._value))
                    self.trouble = ""
            except (OSError, Timeout) as e:
                self.trouble = f"{type(e).__name__}: {e}"
                self._refresh()
                self._value = change(self._value)
            return self._value

    def _refresh(self) -> None:
        if self._path is None:
            return
        try:
            sign = _sign(self._path)
            if sign != self._seen:
                self._value = validated(self._kind).validate_json(self._path.read_bytes(), strict=True)
                self._seen = sign
        except FileNotFoundError:
            if self._seen is not None:  # somebody removed it: nothing is known
                self._value, self._seen = self._nothing(), None
        except OSError as e:
            self.trouble = f"{type(e).__name__}: {e}"
        except ValidationError as e:  # its own words quote the file
            self.trouble = f"It holds nothing of ours: {e.errors()[0]['msg']}."

    def _write(self, path: Path, value: T) -> None:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(to_json(value, indent=1))
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._value, self._seen = value, _sign(path)


def _sign(path: Path) -> tuple[int, int, int]:
    """Return a signature that changes whenever the file is replaced."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
