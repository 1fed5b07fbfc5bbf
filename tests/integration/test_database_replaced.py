"""A database that is put in place of the one that is open: no write into the file that is gone is confirmed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recall_integrations import MemoryStore
from recall_integrations.errors import StoreError


def test_a_write_into_a_replaced_database_is_not_confirmed(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember("before")
    backup = tmp_path / "backup.db"
    shutil.copy(tmp_path / "store" / "recall.db", backup)
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember("while it is open")
        backup.replace(tmp_path / "store" / "recall.db")
        for write in (
            lambda: store.remember("into a file that is gone"),
            lambda: store.remember_many(["one", "two"]),
            lambda: store.forget(scope=store.scopes()[0][0]),
        ):
            with pytest.raises(StoreError, match=r"was replaced or removed .* open it again"):
                write()
    with MemoryStore.open(tmp_path / "store") as store:
        assert {"before"} <= {memory.text for memory in store.iterate()} <= {"before", "while it is open"}  # by its WAL
        store.remember("after")


def test_a_removed_database_is_noticed(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember("before")
        (tmp_path / "store" / "recall.db").unlink()
        with pytest.raises(StoreError, match="was replaced or removed"):
            store.remember("into nothing")
