"""Bridges to agents' frameworks, a file each. No other part of the package imports them, but for `extra`."""

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
