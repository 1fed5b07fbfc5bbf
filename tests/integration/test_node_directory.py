"""A node of PostgreSQL with a directory of its own: a start reads columns there, and shows nothing that is older."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.errors import StoreLocked
from recall_integrations.indexes import array_file
from recall_integrations.indexes.scope_views import ScopeViews
from recall_integrations.store import column_files
from recall_integrations.store.column_files import ROWS_MIN
from tests.postgres import Postgres

SCOPE = Scope(user_id="u1")
COUNT = ROWS_MIN + 10  # enough for a file, also when some are forgotten
QUESTIONS = ("Who saw kestrels at the harbour?", "What did Sam count in report 7?", "otters")
Answers = list[list[tuple[str | None, str, float]]]


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However full the disk is."""
    monkeypatch.setattr(column_files, "FREE_MIN", 0)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Scopes whose columns were read from the database."""
    found: list[int] = []
    load = ScopeViews._load
    monkeypatch.setattr(ScopeViews, "_load", lambda self, i, upto: (found.append(i), load(self, i, upto))[1])
    yield found


@pytest.fixture
def path(postgres_url: str, tmp_path: Path) -> Path:
    """The directory of a node that was asked something, and closed."""
    path = tmp_path / "node"
    with MemoryStore.open(postgres_url, directory=path) as store:
        store.remember_many([memory(n) for n in range(COUNT)], scope=SCOPE)
        answers(store)
    assert len(files(path)) == 1
    return path


def memory(n: int) -> Memory:
    seen = ("kestrels", "otters", "swans", "herons")[n % 4]
    return Memory(f"In report {n} of the harbour Sam counted {n % 17} {seen}", id=f"m{n}", thread=f"t{n % 5}")


def files(path: Path) -> list[Path]:
    return sorted((path / column_files.COLUMNS).glob(f"*{column_files.SUFFIX}"))


def answers(store: MemoryStore) -> Answers:
    """What is found, with scores; read from memory, and not from what was answered before."""
    optimizer = QueryOptimizer(store)
    results = [optimizer.recall(question, scope=SCOPE, k=20) for question in QUESTIONS]
    assert not any(result.degraded for result in results)
    return [[(hit.memory.id, hit.memory.text, round(hit.score, 6)) for hit in result.hits] for result in results]


def of_a_cold_node(url: str) -> Answers:
    with MemoryStore.open(url) as store:
        return answers(store)


def test_a_start_reads_the_directory_and_not_the_database(postgres_url: str, path: Path, loads: list[int]) -> None:
    with MemoryStore.open(postgres_url, directory=path) as store:
        warm = answers(store)
        assert not loads
    assert warm == of_a_cold_node(postgres_url) and all(warm)
    assert loads  # the other one has no directory


def test_what_another_node_wrote_in_between_is_seen(postgres_url: str, path: Path, loads: list[int]) -> None:
    with MemoryStore.open(postgres_url) as other:
        other.remember(Memory("Henrietta saw kestrels at the harbour", id="new"), scope=SCOPE)
        wanted = answers(other)
    assert "new" in [found for found, _, _ in wanted[0]]
    loads.clear()
    with MemoryStore.open(postgres_url, directory=path) as store:
        assert answers(store) == wanted
        assert not loads  # only what is new was read


def test_what_another_node_forgot_in_between_is_not_seen(postgres_url: str, path: Path) -> None:
    with MemoryStore.open(postgres_url) as other:
        gone = [found for found, _, _ in answers(other)[0]][:3]
        for memory_id in gone:
            other.forget(str(memory_id), scope=SCOPE)
        other.remember(Memory("Nothing of note was seen", id="m7"), scope=SCOPE)  # in place of another text
        wanted = answers(other)
    held = files(path)[0].read_bytes()
    assert all(str(memory_id).encode() in held for memory_id in gone)
    with MemoryStore.open(postgres_url, directory=path) as store:
        assert not files(path)  # it held what was forgotten
        assert answers(store) == wanted
        assert not {found for found, _, _ in answers(store)[0]} & set(gone)
    assert array_file.mapped(files(path)[0]).arrays["nums"].shape == (COUNT - len(gone),)


def test_a_database_that_was_put_back_does_not_get_what_came_after(
    postgres: Postgres, postgres_url: str, path: Path, loads: list[int]
) -> None:
    """As where a replica took over that lacked the last writes."""
    behind = postgres.fresh_of(postgres_url)
    with MemoryStore.open(postgres_url, directory=path) as store:
        store.remember_many([memory(n) for n in range(COUNT, 3 * COUNT)], scope=SCOPE)
    assert array_file.mapped(files(path)[0]).arrays["nums"].shape == (3 * COUNT,)
    postgres.take_over(behind, make_url(postgres_url))
    wanted = of_a_cold_node(postgres_url)
    loads.clear()
    with MemoryStore.open(postgres_url, directory=path) as store:
        assert answers(store) == wanted and store.count(scope=SCOPE) == COUNT
        assert loads


def test_two_nodes_have_not_the_same_directory(postgres_url: str, path: Path) -> None:
    with (
        MemoryStore.open(postgres_url, directory=path),
        pytest.raises(StoreLocked, match="Give each node one of its own"),
    ):
        MemoryStore.open(postgres_url, directory=path)
