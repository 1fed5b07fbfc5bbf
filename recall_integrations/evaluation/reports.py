"""Files of reports: the path is checked before the work, and the file is written whole."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from recall_integrations.errors import InvalidArgument


def checked_output(path: str | Path | None) -> Path | None:
    """Check the path of a report before the long run that ends in writing it; return the path."""
    if path is None:
        return None
    file = Path(path)
    if file.is_dir():
        raise InvalidArgument(f"{file} is a folder. Give the name of a file in it.")
    if not file.parent.is_dir():
        raise InvalidArgument(f"The folder {file.parent} does not exist. Make it first.")
    return file


def write_whole(path: str | Path, text: str) -> None:
    """Write a file, all of it or nothing: what was there stays until the new one is on disk.

    A pipe or a device is written to, and so is a file that can be written but not replaced; a link stays one.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    file = file.resolve()
    draft = file.with_name(f".{file.name[:100]}.{os.getpid()}.draft")
    try:
        with draft.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        if file.exists():
            shutil.copymode(file, draft)
        draft.replace(file)
    except OSError as e:
        if e.errno not in (errno.EACCES, errno.EPERM, errno.EBUSY):  # of the folder, or of what is mounted there
            raise
        file.write_text(text, encoding="utf-8")
    finally:
        draft.unlink(missing_ok=True)
