"""The history that an index was made from: a point of the journal, noted in the index's directory.

An index and the database are two things, and one of them can be put back alone: `recall.db` from a backup, without its
WAL after a kill, or a directory of an index. Numbers of memories may agree then, while the memories differ. So
each entry of the journal has a digest of itself and of all before it (`journal.append`), and before an index applies
changes, the last of them is noted beside its files with that digest. The index holds nothing beyond that point, so it
belongs to a database whose journal has the same digest there.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

MARK = "recall.history"
BYTES = 16  # of a digest


class Point(NamedTuple):
    """A place in a journal."""

    seq: int = 0  # number of an entry; 0 = before the first
    digest: str = ""  # of all entries up to it, in hexadecimal digits; empty = none


def digest(before: str, seq: int, scope_id: int, op: str, num: int, content: str | None) -> str:
    """Digest an entry and all before it.

    `content`: the indexed text of the memory; `None` = none.
    """
    said = f"{before} {seq} {scope_id} {op} {num} {content or ''}"
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=BYTES).hexdigest()


def note(directory: Path, point: Point) -> None:
    """Note how far the index in a directory may have come. No sync: a process that is killed loses nothing."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / MARK
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(point), encoding="ascii")
    draft.replace(target)


def noted(directory: Path) -> Point | None:
    """Read the noted point; `None` where there is none, or it cannot be read."""
    try:
        seq, said = json.loads((directory / MARK).read_text(encoding="ascii"))
    except (OSError, ValueError, TypeError):
        return None
    return Point(seq, said) if isinstance(seq, int) and isinstance(said, str) else None
