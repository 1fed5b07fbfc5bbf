from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.quality import difference
from recall_integrations.errors import InvalidArgument


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def console() -> Console:
    return Console(file=io.StringIO(), width=100)


def row(ids: list[str], *, category: str = "who", plan: str = "precise", relevant: tuple[str, ...] = ("yes",)) -> Any:
    return {
        "dataset": "toy",
        "category": category,
        "relevant": relevant,
        "plan": plan,
        "ids": {"recall": ids, "peer": []},
    }


def report(file: Path, **rankings: Any) -> Path:
    file.write_text(json.dumps({"format": 2, "rankings": {f"toy:{q}": r for q, r in rankings.items()}}))
    return file


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    a = report(
        tmp_path / "a.json",
        better=row(["no", "yes"]),
        best=row(["no"], category="when"),
        worse=row(["yes"], plan="balanced"),
        same=row(["yes"]),
        gone=row(["yes"]),
    )
    b = report(
        tmp_path / "b.json",
        better=row(["yes"]),
        best=row(["yes"], category="when"),
        worse=row(["no", "no2", "yes"], plan="temporal"),
        same=row(["yes", "no"]),
    )
    return a, b


def test_better_worse_and_the_biggest_movers(two: tuple[Path, Path]) -> None:
    found = difference.run(*two, console(), metric="mrr@10")
    assert (found.total.better, found.total.worse, found.total.same) == (2, 1, 1)
    assert found.total.change.mean == pytest.approx((0.5 + 1 - 2 / 3) / 4)
    assert [m.question for m in found.moves] == ["toy:best", "toy:worse", "toy:better"]
    assert [m.places for m in found.moves] == [(None, 1), (1, 3), (2, 1)]
    assert found.only == (1, 0)
    assert (found.categories["toy: when"].better, found.categories["toy: who"].worse) == (1, 1)
    assert set(found.plans) == {"precise", "balanced > temporal"}


def test_the_tables_list_as_many_as_asked_for(two: tuple[Path, Path], tmp_path: Path) -> None:
    out = console()
    difference.run(*two, out, metric="mrr@10", questions=1, json_path=tmp_path / "d.json")
    text = out.file.getvalue()  # type: ignore[attr-defined]
    for part in ("Better: 1 of 2", "toy:best", "- > 1", "Worse: 1 of 1", "toy:worse", "1 in A, 0 in B"):
        assert part in text
    assert "toy:better" not in text
    loaded = json.loads((tmp_path / "d.json").read_text())
    assert len(loaded["moves"]) == 3 and loaded["total"]["better"] == 2
    none = console()
    difference.run(*two, none, questions=0)
    assert "toy:best" not in none.file.getvalue()  # type: ignore[attr-defined]


def test_two_systems_of_one_run(two: tuple[Path, Path]) -> None:
    found = difference.run(two[0], two[0], console(), other="peer", metric="recall@5")
    assert (found.systems, found.total.better, found.total.worse) == (("recall", "peer"), 0, 4)
    assert set(found.plans) == {"precise", "balanced"}  # those of our side


def test_what_cannot_be_compared_is_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    a, _ = two
    with pytest.raises(InvalidArgument, match=r"no system 'nobody'.*recall, peer"):
        difference.read(a, "nobody")
    with pytest.raises(InvalidArgument, match="Unknown metric"):
        difference.run(a, a, console(), metric="precision")
    with pytest.raises(InvalidArgument, match="no question in common"):
        difference.run(a, report(tmp_path / "c.json", other=row(["yes"])), console())
    with pytest.raises(InvalidArgument, match=r"gold ids of 1 questions, such as 'toy:same'"):
        difference.run(a, report(tmp_path / "c.json", same=row(["yes"], relevant=("no",))), console())
    for text in ("[]", "{}", '{"format": 2}', '{"format": 2, "rankings": {}}', "not JSON"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InvalidArgument, match="is not a report of"):
            difference.read(tmp_path / "bad.json")
    with pytest.raises(InvalidArgument, match="is not a report of"):
        difference.read(tmp_path / "absent.json")
