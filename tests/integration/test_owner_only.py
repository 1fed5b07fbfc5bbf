"""A store is its owner's: other users of the machine may read nothing of it, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.cli import main
from recall_integrations.store.doctor import examine, repair

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def used(path: Path) -> None:
    with MemoryStore.open(path) as store:
        store.remember_many([f"The code of door {i} is {i}{i}{i}." for i in range(30)])
        optimizer = QueryOptimizer(store)
        assert optimizer.recall("the code of door 7?").hits
        optimizer.close()


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    used(tmp_path / "above" / "store")
    assert not (tmp_path / "above" / "store").stat().st_mode & FOR_OTHERS
    assert examine(tmp_path / "above" / "store").clean


def test_in_a_directory_that_all_may_enter_nothing_of_it_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    used(tmp_path / "store")
    assert (tmp_path / "store").stat().st_mode & stat.S_IROTH  # it was there: whoever made it decides
    shut = [p for p in (tmp_path / "store").iterdir() if p.is_dir() or p.name.startswith("recall.db")]
    assert {"recall.db"} < {p.name for p in shut}
    assert [p.name for p in shut if p.stat().st_mode & FOR_OTHERS and not p.name.endswith("checked")] == []
    assert examine(tmp_path / "store").clean


def test_the_doctor_finds_a_store_that_all_may_read_and_shuts_them_out(tmp_path: Path) -> None:
    used(tmp_path / "store")
    (tmp_path / "store").chmod(0o755)
    (tmp_path / "store" / "recall.db").chmod(0o644)
    (found,) = examine(tmp_path / "store").of("problem")
    assert (found.name, "Every user of this machine may read" in found.says) == ("directory", True)
    assert repair(tmp_path / "store").clean
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o750
    assert examine(tmp_path / "store").clean


def test_a_report_is_for_who_asked_for_it(tmp_path: Path) -> None:
    used(tmp_path / "store")
    labels = tmp_path / "queries.jsonl"
    with MemoryStore.open(tmp_path / "store") as store:
        known = next(iter(QueryOptimizer(store).recall("the code of door 7?").hits)).memory.id
    labels.write_text(f'{{"query": "the code of door 7?", "relevant": ["{known}"]}}\n', encoding="utf-8")
    report = tmp_path / "report.json"
    done = CliRunner().invoke(main, ["eval", str(tmp_path / "store"), str(labels), "--json", str(report)])
    assert done.exit_code == 0, done.output
    assert not report.stat().st_mode & FOR_OTHERS
