"""The one place that imports packages which only some of these bridges need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recall_integrations.errors import MissingExtra, installing


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Turn an import error in the block into `MissingExtra`."""
    try:
        yield
    except ImportError as e:
        raise MissingExtra(f"{what} needs another package ({e}). Install it with: {installing(name)}") from e
