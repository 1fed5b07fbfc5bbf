"""The directory of an index: its name by epoch (`semantic.3`), and a seal on its files, so that damage shows at open.

HNSW does not notice a changed byte, which can take the process down. At `close` a checksum of every file is noted;
files that do not agree at the next open are damage. After a crash there is no seal; the mark of an attempt to open that
never ended says that the directory is better not opened again.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection

from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.owner_only import make_directory

FORMER = "lexical"  # of the index of words that earlier versions kept beside the columns


def epoch_of(connection: Connection, name: str) -> int:
    """Read the epoch of an index."""
    value = get_meta(connection, f"{name}_epoch") or "0"
    return int(value) if value.isdecimal() else 0


def next_epoch(connection: Connection, name: str) -> int:
    """Begin the next epoch of an index in the caller's transaction, and return it."""
    epoch = epoch_of(connection, name) + 1
    put_meta(connection, f"{name}_epoch", str(epoch))
    return epoch


def sweep_epochs(directory: Path, name: str, keep: Sequence[Path]) -> None:
    """Remove the directories of an index except `keep`: replaced ones, and unfinished ones."""
    for path in directory.glob(f"{name}.*"):
        if path not in keep:
            remove_path(path)


def remove_path(path: Path) -> None:
    """Remove a directory or a file, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


SEAL = "recall.seal"
TRYING = "recall.opening"
_BLOCK = 1 << 20

Entry = tuple[int, int, int]  # size, time of change in ns, CRC-32


def seal(directory: Path, known: dict[str, Entry]) -> None:
    """Note the state of a directory that no process writes to any more; `known` are entries of an earlier seal."""
    if not directory.is_dir():
        return
    entries = {name: _entry(directory / name, known.get(name)) for name in _sealed_names(directory)}
    target = directory / SEAL
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(entries), encoding="utf-8")
    draft.replace(target)


def broken_seal(directory: Path) -> tuple[str | None, dict[str, Entry]]:
    """Describe the damage to a sealed directory (`None`: nothing, or no seal); return that and the seal's entries.

    Damage is what two looks find: a disk may fail to read once.
    """
    found = _looked_at(directory)
    return found if found[0] is None else _looked_at(directory)


def _looked_at(directory: Path) -> tuple[str | None, dict[str, Entry]]:
    if (directory / TRYING).exists():
        return "an earlier attempt to open it did not end", {}
    try:
        loaded = json.loads((directory / SEAL).read_text(encoding="utf-8"))
        entries: dict[str, Entry] = {str(name): (int(v[0]), int(v[1]), int(v[2])) for name, v in loaded.items()}
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError, AttributeError, TypeError, IndexError):
        return "its seal cannot be read", {}
    for name, noted in entries.items():
        try:
            found = _entry(directory / name, noted)
        except OSError:
            return f"{name} is missing or cannot be read", {}
        if (found[0], found[2]) != (noted[0], noted[2]):
            return f"{name} was changed or damaged", {}
    return None, entries


def unseal(directory: Path) -> None:
    """Remove the seal: the directory is about to be written to."""
    (directory / SEAL).unlink(missing_ok=True)


def mark_trying(directory: Path, begun: bool) -> None:
    """Mark that opening has begun, or remove the mark."""
    mark = directory / TRYING
    if begun:
        make_directory(directory)
        mark.touch()
    else:
        mark.unlink(missing_ok=True)


def _sealed_names(directory: Path) -> list[str]:
    found = (p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file())
    return sorted(n for n in found if not n.startswith("recall.") and not n.endswith((".lock", "-wal", "-shm")))


def _entry(path: Path, known: Entry | None) -> Entry:
    state = path.stat()
    if known is not None and known[:2] == (state.st_size, state.st_mtime_ns):
        return known
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return state.st_size, state.st_mtime_ns, checksum
