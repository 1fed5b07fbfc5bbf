"""What is opened is closed, whatever happens, and a store that is not there is not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.console.opening import existing_optimizer
from recall_integrations.errors import NotFound, StoreClosed, StorePathError

ANN = Scope("ann", "", "work")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with MemoryStore.open(tmp_path / "s") as store:
        store.remember(Memory("Priya waters the garden", id="a"), scope=ANN)
    return tmp_path / "s"


def test_the_optimizer_answers_in_the_scope_that_is_meant_and_is_closed(path: Path) -> None:
    with existing_optimizer(path, scope="work") as (optimizer, where):
        assert where == ANN
        assert [hit.memory.id for hit in optimizer.recall("garden", scope=where).hits] == ["a"]
    with pytest.raises(StoreClosed):
        optimizer.recall("garden", scope=where)
    MemoryStore.open(path).close()  # nobody holds the directory


def test_an_error_inside_closes_the_store_too(path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), existing_optimizer(path, scope="ann"):
        raise ValueError("inside")
    with pytest.raises(NotFound, match="nobody"), existing_optimizer(path, scope="nobody"):
        pass
    MemoryStore.open(path).close()


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StorePathError), existing_optimizer(tmp_path / "none"):
        pass
    assert not (tmp_path / "none").exists()
