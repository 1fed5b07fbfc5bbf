"""The place of an index: a directory named after its epoch (`lexical.3`), so that a new one can be made beside it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection

from recall_integrations.database.meta import get_meta, put_meta


def of(connection: Connection, name: str) -> int:
    """Read the epoch of an index."""
    value = get_meta(connection, f"{name}_epoch") or "0"
    return int(value) if value.isdecimal() else 0


def advance(connection: Connection, name: str) -> int:
    """Begin the next epoch of an index in the caller's transaction, and return it."""
    epoch = of(connection, name) + 1
    put_meta(connection, f"{name}_epoch", str(epoch))
    return epoch


def sweep(directory: Path, name: str, keep: Sequence[Path]) -> None:
    """Remove the directories of an index except `keep`: replaced ones, and unfinished ones."""
    for path in directory.glob(f"{name}.*"):
        if path not in keep:
            remove(path)


def remove(path: Path) -> None:
    """Remove a directory or a file, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
