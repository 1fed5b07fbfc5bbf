"""The place of learned weights: texts, under the name of a scope and a name of their own.

In a directory these are files, `learning/<digest>/`: each is written beside its place and moved there, so that a reader
sees the old one or the new one, and a process that is killed leaves both whole. In a database they are rows
(`learned_rows`), which all nodes see. The digest is keyed, so that neither tells whose it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from recall_integrations.errors import StoreError, StoreLocked
from recall_integrations.owner_only import make_directory
from recall_integrations.store.turns import OfFile
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations.store.nodes import LearnedRows

Kept: TypeAlias = "LearnedFiles | LearnedRows"
LEARNING = "learning"
LEARNS = "LOCK.learning"  # of the process that learns
TAKEN = "Another process is learning from this store. Try again when it is done."
_DIGEST_BYTES = 12


def name_of(scope: Scope, key: bytes) -> str:
    """Return the name under which the texts of a scope are kept, by the store's key."""
    said = json.dumps([scope.user_id, scope.agent_id, scope.namespace], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=key[:64]).hexdigest()


class LearnedFiles:
    """Texts of scopes in a directory. Methods raise `StoreError` where a text cannot be read, written or removed."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / LEARNING
        self._lock = OfFile(directory / LEARNS)

    def sign(self, name: str, of: str) -> object | None:
        """Return the time of the last write and the number of the file."""
        path = self.path / name / of
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        except OSError as e:
            raise _cannot("read", path, e) from e
        return found.st_mtime_ns, found.st_ino

    def read(self, name: str, of: str) -> str | None:
        """Read the text of a file; `None` where there is none."""
        path = self.path / name / of
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as e:
            raise StoreError(f"{path} is no text: it is damaged.") from e
        except OSError as e:
            raise _cannot("read", path, e) from e

    def put(self, name: str, of: str, text: str) -> None:
        """Write a file."""
        path = self.path / name / of
        try:
            make_directory(path.parent)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as e:
            raise StoreError(f"Cannot write {path}: {e.strerror or e}. What serves stays as it was.") from e

    def names(self) -> tuple[str, ...]:
        """List the directories."""
        if not self.path.is_dir():
            return ()
        return tuple(sorted(path.name for path in self.path.iterdir() if path.is_dir()))

    def texts(self, name: str) -> tuple[str, ...]:
        """List the files of a scope."""
        there = self.path / name
        return tuple(sorted(path.name for path in there.glob("*.json"))) if there.is_dir() else ()

    def remove(self, name: str) -> None:
        """Remove the directory of a scope."""
        path = self.path / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
        except OSError as e:
            raise _cannot("remove", path, e) from e

    @contextmanager
    def alone(self, wait_s: float) -> Iterator[None]:
        """Keep other processes from learning and from switching weights inside the block."""
        if not self._lock.acquire(wait_s):
            raise StoreLocked(TAKEN)
        try:
            yield
        finally:
            self._lock.release()

    def shown(self, name: str, of: str) -> str:
        """Return the path of a file."""
        return str(self.path / name / of)


def _cannot(what: str, path: Path, error: OSError) -> StoreError:
    return StoreError(f"Cannot {what} {path}: {error.strerror or error}.")
