"""The one gate to the packages of the `bench` extra."""

from __future__ import annotations

import importlib
from typing import Any

from recall_integrations.errors import MissingExtra, installing


def require(module: str) -> Any:
    """Import `module`.

    Raises:
        MissingExtra: it, or something it imports, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise MissingExtra(f"The benchmarks need {module!r} ({e}). Install it with: {installing('bench')}") from e


METRICS = "ir_measures"
PROCESSES = "psutil"


def check(*modules: str) -> None:
    """Before a long run: whether it can come to its end.

    Args:
        modules: what it needs at the end.

    Raises:
        MissingExtra: one is not installed.
    """
    for module in modules:
        require(module)
