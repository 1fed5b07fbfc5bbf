"""The one gate to the packages that only some of these bridges need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recall_integrations.errors import MissingExtra, installing


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Around the import of foreign packages.

    Args:
        name: the extra that brings them.
        what: what is made of them, for the message.

    Raises:
        MissingExtra: one of them is not installed.
    """
    try:
        yield
    except ImportError as e:
        raise MissingExtra(f"{what} needs another package ({e}). Install it with: {installing(name)}") from e
