"""What the benchmarks report: where they ran, and a JSON file."""

from __future__ import annotations

import json
import os
import platform
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
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    except OSError as e:
        raise InvalidArgument(f"Cannot write the report {path}: {e}") from e


def _lines(value: Any) -> str:
    if isinstance(value, Mapping) and value:
        rows = [f"  {json.dumps(str(k), ensure_ascii=False)}: {_dumps(v)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n }"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_dumps(v)}" for v in value) + "\n ]"
    return _dumps(value)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
