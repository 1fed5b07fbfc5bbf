"""The one gate to the packages that only metrics and traces need."""

from __future__ import annotations

import importlib
from typing import Any

from recall_integrations.errors import MissingExtra, installing


def needed(module: str, extra: str, what: str) -> Any:
    """Import `module`."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise MissingExtra(f"{what} needs another package ({e}). Install it with: {installing(extra)}") from e
