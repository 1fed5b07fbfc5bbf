"""What moved a candidate, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.delivery.explanation import Sheet
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.vector_column import VectorColumn
from recall_integrations.planning.planner import Asked
from recall_integrations.ranking.arranging import arrange
from recall_integrations.ranking.arranging.moves import HAIR, giving, longest_falling, moved, placed, sums
from recall_integrations.ranking.fusion import Fused
from recall_integrations.types import Contribution, Memory
from tests.columns import without_words


def candidates(*values: float) -> Fused:
    """Row i has what the i-th value says, in two parts."""
    whole = np.asarray(values, dtype=np.float32)
    return Fused(
        rows=np.arange(len(values), dtype=np.int64),
        scores=np.linspace(0.9, 0.1, len(values), dtype=np.float32),
        added={"cosine": whole - 1, "bm25": np.ones_like(whole)},
        raw={},
        ranks={},
    )


def view(vectors: list[list[float]]) -> ScopeView:
    n = len(vectors)
    return ScopeView(
        scope_id=1,
        version=1,
        seq=n,
        nums=np.arange(1, n + 1, dtype=np.int64),
        ids=[f"m{i}" for i in range(n)],
        at=np.zeros(n, dtype=np.int64),
        dated=np.ones(n, dtype=np.bool_),
        text=without_words(n),
        types=np.zeros(n, dtype=np.int8),
        importance=np.full(n, 0.5, dtype=np.float32),
        alive=np.ones(n, dtype=np.bool_),
        vectors=VectorColumn.of(np.asarray(vectors, dtype=np.float32)),
    )


def total(fused: Fused) -> list[float]:
    return [float(v) for v in sum(np.asarray(part, dtype=np.float64) for part in fused.added.values())]


def test_a_negation_takes_from_what_is_about_it_and_from_nothing_else() -> None:
    texts = ["budget", "garden", "tea", "budget cuts"]
    fused, denied = arrange.demote_negated(
        candidates(5, 3, 2, 1), ["budget"], lambda rows: [texts[r] for r in rows], 3, 0.6
    )
    assert fused.rows.tolist() == [1, 2, 0, 3]
    assert denied == {0, 3}
    # Below 2, which stands, by a hair; the last was there already.
    assert fused.added["negation"].tolist() == pytest.approx([0, 0, -3 - HAIR, 0])
    assert total(fused) == pytest.approx([3, 2, 2 - HAIR, 1])
    assert np.isnan(fused.raw["negation"]).tolist() == [True, True, False, False]
    sheet = Sheet(fused, range(4), {}, {})
    made = {place: sheet.contributions(place) for place in range(4)}
    says = {place: [c for c in parts if c.source == "negation"] for place, parts in made.items()}
    assert [len(says[place]) for place in range(4)] == [0, 0, 1, 1]
    assert says[2][0].score > 0.6  # how much it is about it
    assert says[3][0].added == 0


def test_more_matched_terms_take_more() -> None:
    texts = ["budget tea", "budget", "garden"]
    fused, _ = arrange.demote_negated(
        candidates(5, 4, 1), ["budget", "tea"], lambda rows: [texts[r] for r in rows], 3, 0.3
    )
    assert fused.rows.tolist() == [2, 1, 0]
    assert total(fused) == pytest.approx([1, 1 - HAIR, 1 - 2 * HAIR])


def test_without_a_match_a_negation_says_nothing() -> None:
    fused, denied = arrange.demote_negated(candidates(2, 1), ["tea"], lambda rows: ["garden"] * len(rows), 2, 0.6)
    assert not denied and "negation" not in fused.added and "negation" not in fused.raw


def test_diversity_takes_from_what_says_the_same() -> None:
    columns = view([[1, 0], [1, 0], [0, 1]])
    fused = arrange.diversified(candidates(5, 4.9, 4.8), columns, 3, 0.1)
    assert fused.rows.tolist() == [0, 2, 1]
    assert fused.scores.tolist() == pytest.approx([0.9, 0.5, 0.1])  # shared out, as ever
    # Either could have been the one that moved: the later of equals in length is.
    assert sorted(abs(v) for v in fused.added["diversity"].tolist()) == pytest.approx([0, 0, 0.1 + HAIR], abs=1e-6)
    assert np.all(np.diff(total(fused)) < 0)


def test_types_asked_for_come_first_and_take_from_those_above_them() -> None:
    fused = arrange.wanted_first(candidates(5, 4, 3, 2), np.asarray([False, True, False, True]))
    assert fused.rows.tolist() == [1, 3, 0, 2]
    assert fused.added["type_first"].tolist() == pytest.approx([0, 0, -3 - HAIR, -1 - 2 * HAIR])
    assert total(fused) == pytest.approx([4, 2, 2 - HAIR, 2 - 2 * HAIR])


def asked(mask: list[bool], order: list[int] | None) -> Asked:
    rows = None if order is None else np.asarray(order, dtype=np.int64)
    return Asked(mask=np.asarray(mask), count=sum(mask), order=rows, confidence=0.8, words="on the day you asked for")


def test_a_time_that_decides_takes_from_what_lies_outside() -> None:
    fused = arrange.asked_first(candidates(5, 4, 3), asked([False, True, True], None))
    assert fused.rows.tolist() == [1, 2, 0]
    assert fused.added["time_first"].tolist() == pytest.approx([0, 0, -2 - HAIR])


def test_the_order_of_a_conversation_moves_as_few_as_it_can() -> None:
    fused = arrange.asked_first(candidates(5, 4, 3, 2), asked([True, True, True, False], [2, 0, 1]))
    assert fused.rows.tolist() == [2, 0, 1, 3]
    assert fused.added["time_first"].tolist() == pytest.approx([2 + HAIR, 0, 0, 0])
    assert fused.scores[:3].tolist() == pytest.approx([0.8] * 3)


def test_folding_moves_nothing() -> None:
    memories = [Memory(text) for text in ("Kestrel launches in June", "Kestrel launches in June.", "tea")]
    columns = view([[1, 0], [1, 0], [0, 1]])

    def found(rows: Rows) -> list[tuple[int, Memory]]:
        return [(row, memories[row]) for row in rows.tolist()]

    given = candidates(5, 4, 3)
    assert arrange.folded(given, columns, found, 3, 0.9) == (given, {})  # a repeat fills up, at its own place
    fused, into = arrange.folded(given, columns, found, 2, 0.9)
    assert fused.rows.tolist() == [0, 2] and into == {0: [1]}
    assert list(fused.added) == list(given.added)


def test_where_there_is_no_room_the_hairs_share_the_gap() -> None:
    gap = HAIR / 2
    before = np.asarray([9.0, 8.0, 1.0, 7.0, 1.0 - gap])
    stays = np.asarray([False, False, True, False, True])
    after = placed(np.asarray([9.0, 1.0, 7.0, 8.0, 1.0 - gap]), np.asarray([True, True, False, False, True]))
    assert after.tolist() == pytest.approx([9, 1, 1 - gap / 3, 1 - 2 * gap / 3, 1 - gap], abs=1e-12)
    # What need not move does not.
    assert placed(before, stays).tolist() == pytest.approx([9, 8, 1, 1 - gap / 2, 1 - gap], abs=1e-12)


def test_what_stays_between_equals_gets_no_hair() -> None:
    after = placed(np.asarray([2.0, 5.0, 2.0, 1.0]), np.asarray([True, False, True, True]))
    assert after.tolist() == [2, 2, 2, 1]


def test_the_longest_falling_stays() -> None:
    mask = longest_falling(np.asarray([3.0, 3.0, 9.0, 3.0, 2.0, 5.0]))
    assert mask.tolist() == [True, True, False, True, True, False]
    assert longest_falling(np.asarray([])).tolist() == []


def test_two_steps_of_one_name_add_up() -> None:
    fused = giving(giving(candidates(2, 1), "time_first", np.asarray([1.0, 0.0])), "time_first", np.asarray([1.0, 0.0]))
    assert fused.added["time_first"].tolist() == [2, 0]
    assert sums(fused).tolist() == [4, 1]


def test_an_order_that_only_leaves_some_out_moves_nothing() -> None:
    fused = moved(candidates(3, 2, 1), np.asarray([0, 2]), np.asarray([0.9, 0.1], dtype=np.float32), "diversity")
    assert fused.rows.tolist() == [0, 2] and "diversity" not in fused.added


def test_what_a_reranker_says_stands_for_what_it_added() -> None:
    fused = giving(candidates(2, 1), "rerank", np.asarray([-1.0, 1.0]))
    said = Contribution(source="rerank", rank=1, score=0.4, added=1.0)
    sheet = Sheet(fused, [0, 1], {1: said}, {})
    made = {place: sheet.contributions(place) for place in (0, 1)}
    assert [c for c in made[1] if c.source == "rerank"] == [said]
    assert [c.added for c in made[0] if c.source == "rerank"] == [-1]
