"""What is opened is closed, whatever happens, and a store that is not there is not made."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, Scope
from recall_integrations.cli import main
from recall_integrations.config import RecallConfig
from recall_integrations.console.commands.shared import Opening, check_store, given, is_store
from recall_integrations.errors import InvalidArgument, NotFound, StoreClosed, StorePathError

ANN = Scope("ann", "", "work")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with MemoryStore.open(tmp_path / "s") as store:
        store.remember(Memory("Priya waters the garden", id="a"), scope=ANN)
    return tmp_path / "s"


def test_the_optimizer_answers_in_the_scope_that_is_meant_and_is_closed(path: Path) -> None:
    opening = Opening(place=path, config=RecallConfig(), scope="work")
    with opening.optimizer() as optimizer:
        where = opening.where(optimizer.store)
        assert where == ANN
        assert [hit.memory.id for hit in optimizer.recall("garden", scope=where).hits] == ["a"]
    with pytest.raises(StoreClosed):
        optimizer.recall("garden", scope=where)
    MemoryStore.open(path).close()  # nobody holds the directory


def test_an_error_inside_closes_the_store_too(path: Path) -> None:
    opening = Opening(place=path, config=RecallConfig(), scope="nobody")
    with pytest.raises(NotFound, match="nobody"), opening.store() as store:
        opening.where(store)
    MemoryStore.open(path).close()


def test_what_makes_a_store_is_said_where_there_is_none(tmp_path: Path) -> None:
    none = tmp_path / "none"
    with pytest.raises(StorePathError) as caught:
        check_store(none)
    assert str(caught.value) == (
        f"There is no store at {none}: it does not exist. Make one with `recall add {none} TEXT`, or with `recall "
        f"import FILE {none}`."
    )
    assert CliRunner().invoke(main, ["add", str(none), "Priya likes tea"]).exit_code == 0
    check_store(none)


def test_whether_there_is_a_store(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert is_store(path)
    assert not any(is_store(tmp_path / name) for name in ("none", "file", "empty"))


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StorePathError), Opening(place=tmp_path / "none", config=RecallConfig()).optimizer():
        pass
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ["my_app..models:llm", "my_app.:llm", "json:", "json:loads.", "json:1", "json:nope"])
def test_what_cannot_be_imported_is_said(text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        given(text, "--llm")
