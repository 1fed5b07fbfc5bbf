"""Figures of a ranking, by hand and against trec_eval."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.evaluation.metrics import figures, hit_names, names
from tests.rows import each_row

IDS = "abcdefghij"


def test_figures_by_hand() -> None:
    found = figures(["x", "a", "y", "b"], {"a": 2.0, "b": 1.0, "c": 1.0}, 5)
    assert found["recall@1"] == 0
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["hit@1"] == 0
    assert found["hit@5"] == 1
    assert found["precision@3"] == pytest.approx(1 / 3)
    assert found["mrr@5"] == 0.5
    best = 2 + 1 / math.log2(3) + 1 / 2
    assert found["ndcg@5"] == pytest.approx((2 / math.log2(3) + 1 / math.log2(5)) / best)


def test_an_id_that_comes_twice_counts_once() -> None:
    assert figures(["a", "a", "b"], {"b": 1.0}, 2) == figures(["a", "b"], {"b": 1.0}, 2)


@each_row("k", [1, 2, 3, 5, 10])
def test_what_is_named_is_counted_and_looks_no_further_than_what_came(k: int) -> None:
    found = figures(["a"], {"a": 1.0}, k)
    assert set(names(k)) | set(hit_names(k)) <= set(found)
    assert all(name.startswith("precision") or int(name.split("@")[1]) <= k for name in names(k))


def test_nothing_relevant_and_nothing_found_are_zero() -> None:
    assert set(figures(["a", "b"], {}, 5).values()) == {0.0}
    assert set(figures([], {"a": 1.0}, 5).values()) == {0.0}


@given(
    st.lists(st.sampled_from(IDS), unique=True, max_size=10),
    st.dictionaries(st.sampled_from(IDS), st.integers(1, 3), min_size=1),
)
def test_they_are_those_of_trec_eval(ids: list[str], grades: dict[str, int]) -> None:
    found = figures(ids, {one: float(grade) for one, grade in grades.items()}, 10)
    measures = {
        ir_measures.R @ 1: "recall@1", ir_measures.R @ 5: "recall@5", ir_measures.R @ 10: "recall@10",
        ir_measures.P @ 3: "precision@3", ir_measures.nDCG @ 10: "ndcg@10", ir_measures.RR @ 10: "mrr@10",
    }  # fmt: skip
    run = {"q": {one: -float(place) for place, one in enumerate(ids)}}
    theirs = ir_measures.calc_aggregate(list(measures), {"q": grades}, run) if ids else dict.fromkeys(measures, 0.0)
    for measure, name in measures.items():
        assert found[name] == pytest.approx(theirs[measure], abs=1e-9), name
