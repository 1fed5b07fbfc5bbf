from __future__ import annotations

import math
import random

import pytest

from benchmarks.quality import metrics
from benchmarks.quality.paired import METRICS
from benchmarks.shared.extras import require
from recall_integrations.errors import InvalidArgument, MissingExtra


@pytest.fixture
def library() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")


def one(ranked: list[str], relevant: list[str]) -> dict[str, float]:
    return metrics.score({"q": ranked}, {"q": relevant})["q"]


@pytest.mark.usefixtures("library")
class TestScore:
    def test_by_hand_two_relevant_at_places_one_and_three(self) -> None:
        found = one(["a", "x", "b"], ["a", "b"])
        ideal = 1 + 1 / math.log2(3)
        assert found["recall@1"] == 0.5
        assert found["recall@5"] == 1.0
        assert found["ndcg@10"] == pytest.approx((1 + 1 / math.log2(4)) / ideal)
        assert found["mrr@10"] == 1.0

    def test_by_hand_first_relevant_at_place_six(self) -> None:
        found = one(["1", "2", "3", "4", "5", "r"], ["r"])
        assert found["recall@5"] == 0.0
        assert found["recall@10"] == 1.0
        assert found["ndcg@10"] == pytest.approx(1 / math.log2(7))
        assert found["mrr@10"] == pytest.approx(1 / 6)

    def test_nothing_beyond_place_ten_counts(self) -> None:
        assert set(one([*map(str, range(10)), "r"], ["r"]).values()) == {0.0}

    def test_the_ideal_of_ndcg_holds_relevant_ids_that_were_not_found(self) -> None:
        assert one(["a"], ["a", "b", "c"])["ndcg@10"] == pytest.approx(1 / (1 + 1 / math.log2(3) + 1 / 2))

    def test_the_order_of_the_list_decides_and_not_that_of_the_ids(self) -> None:
        # trec_eval breaks ties by id, falling: were all scores equal, "z" would come first.
        assert one(["a", "z"], ["a"])["mrr@10"] == 1.0
        assert one(["z", "a"], ["a"])["mrr@10"] == 0.5

    def test_a_repeated_id_counts_once_at_its_first_place(self) -> None:
        found = one(["x", "a", "a", "b"], ["a", "b"])
        assert found["ndcg@10"] == one(["x", "a", "b"], ["a", "b"])["ndcg@10"]
        assert found["recall@10"] == 1.0

    def test_an_unanswered_question_scores_zero_and_is_not_dropped(self) -> None:
        found = metrics.score({"q": ["a"], "empty": []}, {"q": ["a"], "empty": ["b"], "missing": ["c"]})
        assert list(found) == ["q", "empty", "missing"]
        assert set(found["empty"].values()) == set(found["missing"].values()) == {0.0}

    def test_agrees_with_the_formulas_on_random_rankings(self) -> None:
        rng = random.Random(0)
        pool = [f"d{i}" for i in range(30)]
        for _ in range(50):
            ranked, relevant = rng.sample(pool, rng.randint(0, 15)), rng.sample(pool, rng.randint(1, 12))
            hits = [doc in relevant for doc in ranked]
            gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
            ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
            expected = {f"recall@{k}": sum(hits[:k]) / len(relevant) for k in (1, 5, 10)}
            expected["ndcg@10"] = gain / ideal
            expected["mrr@10"] = next((1 / (place + 1) for place, hit in enumerate(hits[:10]) if hit), 0.0)
            assert one(ranked, relevant) == pytest.approx(expected)


def test_questions_without_gold_and_unknown_questions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="'q' has no relevant id"):
        metrics.score({}, {"q": []})
    with pytest.raises(InvalidArgument, match="'other'"):
        metrics.score({"other": ["a"]}, {"q": ["a"]})


def test_a_missing_package_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"no_such_package_here.*\[bench\]"):
        require("no_such_package_here")


def row(value: float) -> dict[str, float]:
    return dict.fromkeys(METRICS, value)


def test_averages_are_over_questions_per_category_and_overall_first() -> None:
    scores = {"1": row(1.0), "2": row(0.0), "3": row(0.5)}
    found = metrics.by_category(scores, {"1": "z", "2": "a", "3": "a"})
    assert list(found) == ["overall", "a", "z"]
    assert found["overall"].values["ndcg@10"] == 0.5
    assert (found["a"].questions, found["a"].values["mrr@10"]) == (2, 0.25)
    assert metrics.average([]).questions == 0
    with pytest.raises(InvalidArgument, match="'3' has no category"):
        metrics.by_category(scores, {"1": "z", "2": "a"})
