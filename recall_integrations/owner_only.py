"""Make files and directories that only their owner may read: a store holds what people said."""

from __future__ import annotations

import os
from pathlib import Path

DIRECTORY_MODE, FILE_MODE, OTHERS = 0o700, 0o600, 0o007


def make_directory(path: Path) -> None:
    """Make a directory, and those above it; one that is there keeps its mode."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file; one that is there stays as it is."""
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY, FILE_MODE))


def opener(path: str, flags: int) -> int:
    """Open a file for `open(..., opener=opener)`: a new one is its owner's."""
    return os.open(path, flags, FILE_MODE)


def others_read(path: Path) -> bool:
    """Say whether other users of the machine, outside of its group, may read a file or enter a directory."""
    return os.name != "nt" and bool(path.stat().st_mode & OTHERS)
