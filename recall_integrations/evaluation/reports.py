"""What the benchmarks need to report: where they ran, and a JSON file."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.console import Console

_PACKAGES = (
    "recall-integrations",
    "chromadb",
    "tantivy",
    "numpy",
    "langchain-core",
    "langchain-classic",
    "langchain-community",
    "llama-index-core",
    "llama-index-retrievers-bm25",
    "ir-measures",
)


def environment() -> dict[str, Any]:
    """Python, processor count and package versions; nothing that names the machine."""
    versions = {name: found for name in _PACKAGES if (found := _version(name))}
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "packages": versions,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def checked_output(path: str | Path | None) -> Path | None:
    """The path of a report, checked before the long run that ends in writing it.

    Raises:
        InvalidArgument: it is a folder, or its folder does not exist.
    """
    if path is None:
        return None
    file = Path(path)
    if file.is_dir():
        raise InvalidArgument(f"{file} is a folder. Give the name of a file in it.")
    if not file.parent.is_dir():
        raise InvalidArgument(f"The folder {file.parent} does not exist. Make it first.")
    return file


def write_report(output: Path | None, payload: Mapping[str, Any], console: Console) -> None:
    """Write a report that was asked for (see `checked_output`, `write_json`), and say so.

    Raises:
        InvalidArgument: the file cannot be written.
    """
    if output is not None:
        write_json(output, payload)
        console.print(f"Report written to {output}")


def write_json(path: Path, payload: Mapping[str, Any]) -> None:
    """Write a report, keys in the given order, one line per entry of each top-level mapping or list.

    Raises:
        InvalidArgument: the file cannot be written.
    """
    parts = [f" {json.dumps(key)}: {_lines(value)}" for key, value in payload.items()]
    try:
        write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")
    except OSError as e:
        raise InvalidArgument(f"Cannot write the report {path}: {e}") from e


def write_whole(path: str | Path, text: str) -> None:
    """Write a file, all of it or nothing: what was there stays until the new one is on disk.

    A pipe or a device is written to, and so is a file that can be written but not replaced; a link stays one.

    Raises:
        OSError: it cannot be written.
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


def _lines(value: Any) -> str:
    if isinstance(value, Mapping) and value:
        rows = [f"  {json.dumps(str(k), ensure_ascii=False)}: {_dumps(v)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n }"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_dumps(v)}" for v in value) + "\n ]"
    return _dumps(value)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
