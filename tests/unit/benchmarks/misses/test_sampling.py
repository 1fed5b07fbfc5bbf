from __future__ import annotations

from benchmarks.misses.sampling import spread_sample

GROUPS = {"a": [f"a{i}" for i in range(60)], "b": [f"b{i}" for i in range(30)], "c": ["c0"]}


def test_the_sample_is_in_proportion_with_one_of_each_at_least() -> None:
    sample = spread_sample(GROUPS, 10, 0)
    assert [one[0] for one in sample] == ["a"] * 6 + ["b"] * 3 + ["c"]
    assert len(set(sample)) == 10
    assert [one[0] for one in spread_sample(GROUPS, 2, 0)] == ["a", "b", "c"]
    assert spread_sample({}, 10, 0) == ()


def test_all_are_taken_where_as_many_are_wanted_or_no_count_is_given() -> None:
    assert len(spread_sample(GROUPS, None, 0)) == len(spread_sample(GROUPS, 91, 0)) == 91
    assert len(spread_sample(GROUPS, 90, 0)) == 90


def test_it_depends_on_the_seed_and_not_on_the_order() -> None:
    turned = {name: own[::-1] for name, own in reversed(GROUPS.items())}
    assert spread_sample(turned, 10, 0) == spread_sample(GROUPS, 10, 0) != spread_sample(GROUPS, 10, 1)


def test_an_id_that_leaves_moves_no_more_than_one_other() -> None:
    sample = spread_sample(GROUPS, 10, 0)
    without = {**GROUPS, "a": [one for one in GROUPS["a"] if one != sample[0]]}
    assert set(sample) - set(spread_sample(without, 10, 0)) == {sample[0]}
