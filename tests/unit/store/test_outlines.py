"""What stands around rows that were drawn from a scope which is not read whole."""

from __future__ import annotations

import numpy as np

from recall_integrations.store.outlines import linked


def test_rows_are_linked_to_those_beside_them() -> None:
    links = linked(np.asarray([3, 5, 8, 9]), {5: {-1: 3, 1: 8}, 9: {}})
    assert links.tolist() == [[-1, 0, 1, -1], [1, 2, -1, -1]]


def test_what_was_removed_between_two_statements_is_passed_over() -> None:
    """Then its row is not there any more: those before and after it stand beside each other."""
    links = linked(np.asarray([3, 8]), {5: {-1: 3, 1: 8}})
    assert links.tolist() == [[-1, 0], [1, -1]]
    assert linked(np.asarray([3]), {3: {1: 5}, 5: {-1: 3}}).tolist() == [[-1], [-1]]


def test_nothing_is_linked_where_nothing_stands_around() -> None:
    assert linked(np.asarray([3, 5]), {}).tolist() == [[-1, -1], [-1, -1]]
    assert linked(np.empty(0, dtype=np.int64), {3: {1: 5}}).tolist() == [[], []]
