"""Tests of stores in directories, run on PostgreSQL: `TEST_ENGINE=postgres python -m pytest tests/contract`.

`MemoryStore.open` opens a database in place of each directory: the same one again where the directory is the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import MemoryStore
from tests.postgres import Postgres, running

ENGINE = "TEST_ENGINE"


def wanted() -> bool:
    """Whether it was asked for."""
    return os.environ.get(ENGINE) == "postgres"


@contextmanager
def in_place_of_directories() -> Iterator[None]:
    """Inside, each store is in a database of one server."""
    with running() as server, pytest.MonkeyPatch.context() as patched:
        patched.setattr(MemoryStore, "open", classmethod(_Opening(server, MemoryStore.open.__func__)))  # type: ignore[attr-defined]
        yield


class _Opening:
    def __init__(self, server: Postgres, real: Any) -> None:
        self._server, self._real = server, real
        self._urls: dict[str, str] = {}

    def __call__(self, cls: type[MemoryStore], path: Any = None, **given: Any) -> MemoryStore:
        if isinstance(path, str) and "://" in path:
            return self._real(cls, path, **given)  # type: ignore[no-any-return]
        place = None if path is None else str(Path(path).resolve())
        url = self._urls.get(place) if place is not None else None
        if url is None:
            url = self._server.fresh()
            if place is not None:
                self._urls[place] = url
        return self._real(cls, url, **given)  # type: ignore[no-any-return]
