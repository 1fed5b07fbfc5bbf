"""What a plan is said to be worth, on figures that are known."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from benchmarks.planning import plans
from benchmarks.planning.plans import BY_FILTERS, COSTS, PAYS, TOO_FEW, UNPROVEN, Asked, balanced
from benchmarks.quality.kinds import KINDS
from recall_integrations import MemoryStore, RecallConfig, Scope
from tests.rows import each_row


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def asked(plan: str, gaps: Sequence[float], *, filters: float = 0.0, moved: bool = True) -> list[Asked]:
    """Questions on which the plan has .5 and balanced that minus a gap; the filters are worth `filters` of it."""
    return [
        Asked(
            question=f"{plan}/{i}",
            plan=plan,
            chosen=0.5,
            balanced=0.5 - gap,
            same_filters=0.5 - gap + filters,
            moved=moved,
        )
        for i, gap in enumerate(gaps)
    ]


def test_a_plan_on_a_kind() -> None:
    found = plans.lines({"chats": asked("temporal", [0.2, 0.4] * 10, filters=0.1) + asked("precise", [0.0])})
    assert [(line.plan, line.kind, line.questions) for line in found] == [
        ("precise", "chats", 1),
        ("temporal", "chats", 20),
    ]
    temporal = found[1]
    assert (temporal.chosen, temporal.moved) == (0.5, 20)
    assert temporal.balanced == pytest.approx(0.2)
    assert temporal.gain.mean == pytest.approx(0.3)
    assert temporal.gain.low < 0.3 < temporal.gain.high
    assert temporal.gain_same_filters.mean == pytest.approx(0.2)


@each_row(
    ("gaps", "filters", "moved", "verdict"),
    [
        ([0.1] * 10, 0.0, True, PAYS),
        ([0.1] * 10, 0.05, True, PAYS),
        ([0.1] * 10, 0.1, True, BY_FILTERS),
        ([0.1] * 10, 0.2, True, BY_FILTERS),
        ([-0.1] * 10, 0.0, True, COSTS),
        ([0.1, -0.1] * 10, 0.0, True, UNPROVEN),
        ([0.1] * 9, 0.0, True, TOO_FEW),
        ([0.0] * 100, 0.0, False, TOO_FEW),
    ],
)
def test_the_verdict_in_words(gaps: list[float], filters: float, moved: bool, verdict: str) -> None:
    (line,) = plans.lines({"chats": asked("precision", gaps, filters=filters, moved=moved)})
    assert line.verdict == verdict
    assert line.as_dict()["verdict"] == verdict
    assert f"precision: {verdict}: chats" in plans.in_words([line])


def test_kinds_of_one_verdict_are_named_together_and_plans_in_the_order_of_the_rules() -> None:
    found = plans.lines(
        {
            "chats": asked("balanced", [0.1] * 20) + asked("temporal", [0.1] * 20),
            "phones": asked("temporal", [-0.1] * 20),
            "documents": asked("temporal", [0.1] * 20),
        }
    )
    assert plans.in_words(found) == (
        "precise: no question got it",
        "entity_centric: no question got it",
        "temporal: pays: chats, documents; does not pay here: phones",
        "precision: no question got it",
        "exploratory: no question got it",
        "balanced: pays: chats",
    )


def test_the_table_fits_a_terminal() -> None:
    out = Console(file=io.StringIO(), width=80)
    names = [kind.title for kind in KINDS]
    plans.show(plans.lines({name: asked("entity_centric", [0.1, -0.1] * 1000, filters=0.1) for name in names}), out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    for part in ("entity_centric", *names, "same filters", "2,000", "no difference proven"):
        assert part in text


@each_row(
    ("dataset", "title"),
    [
        ("locomo", "chats of two people"),
        ("locomo-when", "a day or session asked for"),
        ("hotpotqa_train", "encyclopaedia chains"),
        ("languages/de", "other languages"),
        ("jsonl", "jsonl"),
    ],
)
def test_the_kind_of_a_data_set(dataset: str, title: str) -> None:
    assert plans.title(dataset) == title


def test_the_balanced_plan_is_asked_whatever_was_chosen_and_filters_can_be_left_out() -> None:
    config, scope = RecallConfig(), Scope(namespace="toy")
    with MemoryStore.open(config=config) as store:
        store.remember("Sam bakes bread.", scope=scope)
        query = "What did Sam say in the first session of May 2025?"
        with_filters = balanced(store, config=config)
        without = balanced(store, config=plans.unfiltered(config))
        for optimizer in (with_filters, without):
            plan = optimizer.recall(query, scope=scope, time_budget_ms=60_000).plan
            optimizer.close()
            assert plan.name == "balanced" and not (plan.rerank or plan.diversity or plan.window_filter)
            assert {arm.weight for arm in plan.arms} == {1.0}
        assert with_filters.config == config
        assert not {*plans.FILTERS} & {*without.config.planner.rules}
        assert {*without.config.planner.rules} | {*plans.FILTERS} == {*config.planner.rules}
