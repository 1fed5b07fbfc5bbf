"""The cast, what mentions it, and the queries about it."""

from __future__ import annotations

from benchmarks.speed.cast import cast, mixed_queries, populated


def test_the_cast_has_different_names_and_grows_at_its_end() -> None:
    names = cast(500)
    assert len(set(names)) == 500
    assert cast(100) == names[:100]
    assert cast(100, seed=1) != names[:100]
    assert {n.partition(" ")[0] == "Project" for n in names} == {True, False}


def test_every_name_is_mentioned() -> None:
    memories = list(populated(30, cast(10)))
    for i, name in enumerate(cast(10)):
        assert name in memories[i].text and name in memories[i].entities


def test_the_queries_are_of_all_kinds_and_the_same_for_a_seed() -> None:
    queries = mixed_queries(70, cast(50))
    assert queries == mixed_queries(70, cast(50))
    assert [sum(kind == k for k, _ in queries) for kind in dict.fromkeys(k for k, _ in queries)] == [10] * 7
    assert queries != mixed_queries(70, cast(50), seed=1)
