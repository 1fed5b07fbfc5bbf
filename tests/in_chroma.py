"""Tests of stores, run with every scope in Chroma: `TEST_ENGINE=chroma python -m pytest tests/contract`.

`MemoryStore.open` chooses `vectors.index: chroma`, and the semantic arm waits until the collections have everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from recall_integrations import MemoryStore, RecallConfig
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import SemanticRetriever
from tests.on_postgres import ENGINE


def wanted() -> bool:
    """Whether it was asked for."""
    return os.environ.get(ENGINE) == "chroma"


@contextmanager
def every_scope() -> Iterator[list[str]]:
    """Inside, each store in a directory has all scopes in Chroma; the notes of what the semantic arm found."""
    opened, searched, notes = MemoryStore.open.__func__, SemanticRetriever.search, list[str]()  # type: ignore[attr-defined]

    def chosen(cls: type[MemoryStore], path: Any = None, **given: Any) -> MemoryStore:
        config = given.get("config") or RecallConfig()
        if isinstance(config, RecallConfig) and not (isinstance(path, str) and "://" in path):
            given["config"] = replace(config, vectors=replace(config.vectors, index="chroma"))
        return opened(cls, path, **given)  # type: ignore[no-any-return]

    def filled(arm: SemanticRetriever, request: ArmRequest) -> ArmResult:
        arm._index().settle(60)  # type: ignore[attr-defined]
        found = searched(arm, request)
        notes.append(found.note)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MemoryStore, "open", classmethod(chosen))
        patched.setattr(SemanticRetriever, "search", filled)
        yield notes
        assert not notes or "hnsw" in notes, "Chroma was never asked"
