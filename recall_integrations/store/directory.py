"""The directory of a store: whether a path can be one, and how large it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from recall_integrations.errors import StoreCorrupt, StorePathError
from recall_integrations.store.journal import LEXICAL, SEMANTIC

DATABASE = "recall.db"


def check_directory(directory: Path) -> None:
    """Make the directory if it is absent; refuse what is not a store and not empty.

    Raises:
        StorePathError: a file, not accessible, or a directory of other things.
        StoreCorrupt: indexes without their database.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise StorePathError(
                f"{directory} is a file. Give a directory for the store, or a path that does not exist yet."
            )
        directory.mkdir(parents=True, exist_ok=True)
        names = sorted(p.name for p in directory.iterdir() if not p.name.startswith("."))
        present = DATABASE in names and (directory / DATABASE).stat().st_size > 0
    except (OSError, ValueError) as e:  # ValueError: a NUL in the path
        raise StorePathError(
            f"Cannot use {str(directory)!r} as a store: {getattr(e, 'strerror', None) or e}. "
            "Check the path and its permissions."
        ) from e
    others = [n for n in names if n not in ("LOCK", DATABASE)]
    if present or not others:
        return
    # An empty database would be filled anew and everything derived from the lost one thrown away.
    if any(n.startswith((f"{LEXICAL}.", f"{SEMANTIC}.", f"{DATABASE}-")) for n in others):
        raise StoreCorrupt(
            f"{directory} holds recall indexes but no {DATABASE} (or an empty one): the database, which the indexes "
            "are derived from, is missing. Restore it from a backup, or remove the directory to start an empty store. "
            "Nothing was touched."
        )
    if DATABASE in names:
        return
    raise StorePathError(
        f"{directory} holds other files ({', '.join(others[:3])}) and no recall store. Give an empty or new directory."
    )


def size_of(directory: Path) -> int:
    """Bytes of all files below it."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):  # index files come and go
            total += path.stat().st_size if path.is_file() else 0
    return total
