"""What changes the order after ranking, on scores that can be checked by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.vector_column import VectorColumn
from recall_integrations.ranking.arranging.arrange import (
    FOLD_POOL,
    NEGATION_POOL,
    demote_negated,
    diversified,
    folded,
    wanted_first,
)
from recall_integrations.ranking.fusion import Fused
from recall_integrations.types import Memory
from tests.columns import without_words
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def view(vectors: Sequence[Sequence[float]] | None, size: int | None = None) -> ScopeView:
    n = len(vectors) if vectors is not None else size or 0
    return ScopeView(
        scope_id=1,
        version=1,
        seq=n,
        nums=np.arange(1, n + 1, dtype=np.int64),
        ids=[f"m{i:04}" for i in range(n)],
        at=np.full(n, to_micros(NOW), dtype=np.int64),
        dated=np.ones(n, dtype=np.bool_),
        text=without_words(n),
        types=np.zeros(n, dtype=np.int8),
        importance=np.full(n, 0.5, dtype=np.float32),
        alive=np.ones(n, dtype=np.bool_),
        vectors=None if vectors is None else VectorColumn.of(np.asarray(vectors, dtype=np.float32)),
    )


def fused(scores: Sequence[float], rows: Sequence[int] | None = None) -> Fused:
    """Candidates whose every column is told by the row, so that a column that is left behind shows."""
    at = np.arange(len(scores), dtype=np.int64) if rows is None else np.asarray(rows, dtype=np.int64)
    return Fused(
        rows=at,
        scores=np.asarray(scores, dtype=np.float32),
        added={"semantic": at.astype(np.float32)},
        raw={"semantic": 10 * at.astype(np.float32)},
        ranks={"semantic": (100 * at).astype(np.int32)},
    )


def rows_of(found: Fused) -> list[int]:
    """The rows in order, after checking that the columns came along and the scores fall."""
    np.testing.assert_array_equal(found.added["semantic"], found.rows)
    np.testing.assert_array_equal(found.raw["semantic"], 10 * found.rows)
    np.testing.assert_array_equal(found.ranks["semantic"], 100 * found.rows)
    assert len(found.scores) == len(found.rows)
    assert (np.diff(found.scores) <= 0).all()
    return [int(row) for row in found.rows]


def saying(texts: Sequence[str]) -> Callable[[Rows], list[str]]:
    return lambda rows: [texts[row] for row in rows.tolist()]


# -- wanted ----------------------------------------------------------------------------------------------------------


def test_wanted_come_first_and_the_others_score_no_more_than_the_last_of_them() -> None:
    wanted = np.array([False, True, False, True])
    found = wanted_first(fused([0.9, 0.6, 0.5, 0.2]), wanted)
    assert rows_of(found) == [1, 3, 0, 2]
    assert found.scores == pytest.approx([0.6, 0.2, 0.2, 0.2])


def test_where_all_or_none_are_wanted_nothing_changes() -> None:
    for wanted in (np.ones(3, dtype=np.bool_), np.zeros(3, dtype=np.bool_)):
        found = wanted_first(fused([0.9, 0.6, 0.5]), wanted)
        assert rows_of(found) == [0, 1, 2]
        assert found.scores == pytest.approx([0.9, 0.6, 0.5])


# -- diversity -------------------------------------------------------------------------------------------------------


def test_a_repeat_yields_to_something_new_and_the_scores_stay_where_they_are() -> None:
    found = diversified(fused([0.9, 0.8, 0.5]), view([EAST, EAST, NORTH]), 3, 0.5)
    assert rows_of(found) == [0, 2, 1]
    assert found.scores == pytest.approx([0.9, 0.8, 0.5])


def test_relevance_weighs_by_log_odds() -> None:
    # by hand: log odds of .5, .1, .01 are 0, -2.20, -4.60: relevances 1, .52, 0. With share .7 row 1 is worth .07
    # (.7 · .52 - .3) and row 2 nothing. As plain probabilities they would be 1, .18, 0, and row 2 would come first.
    found = diversified(fused([0.5, 0.1, 0.01]), view([EAST, EAST, NORTH]), 3, 0.7)
    assert rows_of(found) == [0, 1, 2]


def test_relevance_takes_the_whole_scale_however_close_the_scores_are() -> None:
    """0.6 and 0.5 are 0.4 in log odds: the best stays the best, and the worst counts nothing beside a repeat."""
    found = diversified(fused([0.6, 0.55, 0.5]), view([EAST, EAST, NORTH]), 3, 0.7)
    assert rows_of(found) == [0, 1, 2]
    found = diversified(fused([0.6, 0.55, 0.5]), view([EAST, EAST, NORTH]), 3, 0.5)
    assert rows_of(found) == [0, 2, 1]


def test_all_alike_and_equally_good_keep_their_order() -> None:
    """Nothing to tell them by: no division by a spread of nothing."""
    found = diversified(fused([0.4] * 5), view([EAST] * 5), 3, 0.7)
    assert rows_of(found) == [0, 1, 2, 3, 4]
    assert found.scores == pytest.approx([0.4] * 5)
    found = diversified(fused([0.4] * 3), view([EAST, EAST, NORTH]), 3, 0.7)
    assert rows_of(found) == [0, 2, 1]


def test_certain_and_impossible_are_no_trap() -> None:
    assert rows_of(diversified(fused([1.0, 1.0, 0.0]), view([EAST, NORTH, WEST]), 3, 0.9)) == [0, 1, 2]


@pytest.mark.parametrize(("k", "first"), [(3, 19), (15, 29)])
def test_diversity_looks_at_the_best_twice_k_or_twenty(k: int, first: int) -> None:
    """A new one that stands right at the end of those looked at comes up; one place further down it does not."""
    for place, moves in ((first, True), (first + 1, False)):
        vectors = [EAST] * 40
        vectors[place] = NORTH
        found = rows_of(diversified(fused(np.linspace(0.6, 0.5, 40).tolist()), view(vectors), k, 0.1))
        assert sorted(found) == list(range(40))
        assert (found[1] == place) is moves, place
        assert found[max(2 * k, 20) :] == list(range(max(2 * k, 20), 40))


def test_without_vectors_or_with_two_candidates_the_order_stays() -> None:
    given = fused([0.9, 0.8, 0.7])
    assert diversified(given, view(None, 3), 3, 0.1) is given
    two = fused([0.9, 0.8])
    assert diversified(two, view([EAST, EAST]), 3, 0.1) is two
    assert rows_of(diversified(given, view([EAST, EAST, NORTH]), 3, 0.1)) == [0, 2, 1]  # three are enough


# -- negation --------------------------------------------------------------------------------------------------------


def test_what_is_denied_goes_below_all_others_and_is_named() -> None:
    texts = ["the frontend", "the budget", "the harbour"]
    found, denied = demote_negated(fused([0.9, 0.8, 0.3]), ["frontend"], saying(texts), 3, 0.6)
    assert rows_of(found) == [1, 2, 0]
    assert found.scores == pytest.approx([0.8, 0.3, 0.3])
    assert denied == {0}


def test_rows_that_are_denied_are_rows_of_the_view() -> None:
    texts = ["", "", "", "the frontend", "", "the budget"]
    found, denied = demote_negated(fused([0.9, 0.8], rows=[3, 5]), ["frontend"], saying(texts), 3, 0.6)
    assert rows_of(found) == [5, 3]
    assert denied == {3}


@each_row(("k", "place"), [(1, 2), (3, 6), (3, 30), (3, NEGATION_POOL - 1), (40, 2 * 40 - 1)])
def test_a_denied_candidate_far_down_is_found(k: int, place: int) -> None:
    """Others that go down bring up what stood beyond rank 2k: `NEGATION_POOL` candidates are looked at, however few."""
    texts = ["the budget"] * 100
    texts[place] = "the frontend"
    found, denied = demote_negated(fused(np.linspace(0.9, 0.1, 100).tolist()), ["frontend"], saying(texts), k, 0.6)
    seen = max(NEGATION_POOL, 2 * k)
    assert denied == {place}
    assert rows_of(found) == [*(r for r in range(seen) if r != place), place, *range(seen, 100)]


def test_what_stands_below_those_compared_scores_no_more_than_they() -> None:
    texts = ["the frontend"] + ["the budget"] * 59
    scores = [0.9] + [0.5] * 59
    found, _ = demote_negated(fused(scores), ["frontend"], saying(texts), 3, 0.6)
    assert rows_of(found)[: NEGATION_POOL + 1] == [*range(1, NEGATION_POOL), 0, NEGATION_POOL]
    assert found.scores[NEGATION_POOL - 1] == pytest.approx(0.45)
    assert found.scores[NEGATION_POOL:] == pytest.approx([0.45] * 10)


def test_no_terms_or_no_candidates_read_no_text() -> None:
    def read(_rows: Rows) -> list[str]:
        raise AssertionError("no text is needed")

    given, nothing = fused([0.9, 0.8]), fused([])
    assert demote_negated(given, [], read, 3, 0.6) == (given, frozenset())
    assert demote_negated(nothing, ["frontend"], read, 3, 0.6) == (nothing, frozenset())


# -- repeats ---------------------------------------------------------------------------------------------------------


def remembering(texts: list[str], **fields: Any) -> Callable[[Rows], list[tuple[int, Memory]]]:
    """Memories of these texts; `fields`: what each has besides."""
    made = [Memory(text, **{name: own[i] for name, own in fields.items()}) for i, text in enumerate(texts)]
    return lambda rows: [(row, made[row]) for row in rows.tolist()]


def test_a_repeat_is_listed_with_its_leader_and_the_others_keep_their_own_scores() -> None:
    texts = ["I like tea", "I like tea", "the harbour", "the budget"]
    found, into = folded(fused([0.9, 0.8, 0.5, 0.2]), view([EAST, EAST, NORTH, WEST]), remembering(texts), 2, 0.9)
    assert rows_of(found) == [0, 2, 3]
    assert found.scores == pytest.approx([0.9, 0.5, 0.2])
    assert into == {0: [1]}


def test_leaders_and_repeats_are_rows_of_the_view() -> None:
    texts = ["-", "-", "I like tea", "the harbour", "I like tea", "the budget"]
    vectors = [NORTH, NORTH, EAST, NORTH, EAST, WEST]
    found, into = folded(fused([0.9, 0.8, 0.5, 0.2], rows=[4, 2, 3, 5]), view(vectors), remembering(texts), 2, 0.9)
    assert rows_of(found) == [4, 3, 5]
    assert into == {4: [2]}


def test_repeats_fill_the_places_that_nothing_else_takes() -> None:
    texts = ["I like tea"] * 3 + ["the harbour"]
    vectors = [EAST, EAST, EAST, NORTH]
    found, into = folded(fused([0.9, 0.8, 0.7, 0.2]), view(vectors), remembering(texts), 3, 0.9)
    assert rows_of(found) == [0, 1, 3]
    assert found.scores == pytest.approx([0.9, 0.8, 0.2])  # each keeps its own score, and stands where that puts it
    assert into == {0: [2]}


@each_row("k", [1, 2, 5, 8])
def test_where_all_say_the_same_k_of_them_come(k: int) -> None:
    found, into = folded(fused([0.5] * 8), view([EAST] * 8), remembering(["I like tea"] * 8), k, 0.9)
    assert len(found.rows) >= k
    assert rows_of(found)[0] == 0
    listed = [row for rows in into.values() for row in rows]
    assert sorted([*rows_of(found), *listed]) == list(range(8))


def test_more_are_looked_at_until_there_are_k_that_say_something_else() -> None:
    """Eight repeats before them: twice k are not enough to find the two others."""
    texts = ["I like tea"] * 8 + ["the harbour", "the budget"]
    vectors = [EAST] * 8 + [NORTH, WEST]
    found, into = folded(fused(np.linspace(0.9, 0.1, 10).tolist()), view(vectors), remembering(texts), 3, 0.9)
    assert rows_of(found) == [0, 8, 9]
    assert into == {0: [1, 2, 3, 4, 5, 6, 7]}


def test_repeats_are_looked_for_in_so_many_at_most() -> None:
    asked: list[int] = []

    def read(rows: Rows) -> list[tuple[int, Memory]]:
        asked.append(len(rows))
        return [(row, Memory("I like tea")) for row in rows.tolist()]

    size = 2 * FOLD_POOL + 100
    found, into = folded(fused([0.5] * size), view([EAST] * size), read, 5, 0.9)
    assert max(asked) < 2 * FOLD_POOL
    assert len(into[0]) == max(asked) - 1
    assert len(found.rows) == size - max(asked) + 1


def test_close_vectors_alone_are_no_repeat_and_far_ones_cost_no_text() -> None:
    given = fused([0.9, 0.8])
    same, into = folded(given, view([EAST, EAST]), remembering(["I ran 5 km", "I ran 9 km"]), 2, 0.9)
    assert same is given and into == {}

    def read(_rows: Rows) -> list[tuple[int, Memory]]:
        raise AssertionError("no text is needed")

    assert folded(given, view([EAST, NORTH]), read, 2, 0.9) == (given, {})
    near = [0.89, float(np.sqrt(1 - 0.89**2))]
    assert folded(given, view([EAST, near]), read, 2, 0.9) == (given, {})
    assert folded(given, view([EAST, EAST]), read, 2, 1.01) == (given, {})  # switched off
    assert folded(fused([0.9]), view([EAST]), read, 2, 0.9)[1] == {}


def test_a_cosine_right_at_the_threshold_is_close() -> None:
    at = [0.875, float(np.sqrt(1 - 0.875**2))]  # eighths are the same in float16
    _, into = folded(fused([0.9, 0.8, 0.7]), view([EAST, at, WEST]), remembering(["tea", "tea", "x"]), 2, 0.875)
    assert into == {0: [1]}
    _, into = folded(fused([0.9, 0.8, 0.7]), view([EAST, at, WEST]), remembering(["tea", "tea", "x"]), 2, 0.91)
    assert into == {}


MARCH = [datetime(2026, 3, day, 8, tzinfo=timezone.utc) for day in (1, 4, 4, 9)]


@each_row(
    ("fields", "kept"),
    [
        ({"event_at": MARCH}, [0, 1, 3]),  # two of the 4th are one run
        ({"event_at": [*MARCH[:2], None, None]}, [0, 1]),  # of no day: as if of any
        ({"event_at": MARCH, "type": ["preference"] * 4}, [0]),  # what is so is no other thing on another day
        ({"thread": ["a", "a", "b", "b"]}, [0, 2]),
        ({"channel": ["mail", "mail", "mail", "chat"]}, [0, 3]),
        ({"actor": ["Ana", "Ben", "Ana", "Ben"]}, [0, 1]),
        ({"refs": [["one.md"], ["two.md"], ["one.md"], []]}, [0, 1, 3]),
    ],
)
def test_equal_words_of_other_days_or_sources_are_no_repeats(fields: dict[str, list[Any]], kept: list[int]) -> None:
    texts = ["I ran 5 km"] * 4 + ["the harbour"] * 1
    given = {name: [*own, own[0]] for name, own in fields.items()}
    found, _ = folded(fused([0.9, 0.8, 0.7, 0.6, 0.1]), view([EAST] * 4 + [NORTH]), remembering(texts, **given), 2, 0.9)
    assert rows_of(found) == [*kept, 4]


def test_what_is_gone_repeats_nothing() -> None:
    found, into = folded(fused([0.9, 0.8, 0.7]), view([EAST] * 3), lambda _: [(2, Memory("tea"))], 2, 0.9)
    assert rows_of(found) == [0, 1, 2] and into == {}
