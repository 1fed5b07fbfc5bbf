"""What two hits say differently, and what of it the query asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.ranking.arranging.pairs import Differences, Words, stems_of

Compare = Callable[..., Differences]


@pytest.fixture
def compare() -> Compare:
    """The second text beside the first, for a query."""

    def made(query: str, upper: str, lower: str, turn: float = 1.0) -> Differences:
        with MemoryStore.open() as store:
            store.remember_many([Memory(upper), Memory(lower)])
            parsed = QueryOptimizer(store).parse(query)
            scope = store.scope_id(Scope())
            assert scope is not None
            text = store.view(scope).text
            assert text is not None
            words = Words(text, rows := np.asarray([0, 1]), parsed, stems_of(text, rows))
            return words.differences([(0, 1)], np.asarray([turn]))

    return made


def test_another_word_before_a_shared_word_of_the_query_is_another_thing(compare: Compare) -> None:
    found = compare("what does the cat eat?", "The cat eats dry food", "The dog eats canned food")
    assert found.columns["before"][0] == found.columns["upper_alone"][0] > 0
    assert found.columns["behind"][0] == 0


def test_another_word_behind_what_both_say_is_another_value(compare: Compare) -> None:
    found = compare("where does my sister live?", "My sister lives in Graz", "My sister has moved to Linz")
    assert found.columns["behind"][0] > 0 == found.columns["before"][0]


def test_what_the_newer_one_says_has_the_sign_of_time(compare: Compare) -> None:
    texts = ("The code is 4417", "The code was changed")
    later, earlier = compare("the code", *texts), compare("the code", *texts, turn=-1.0)
    assert np.abs(later.told).max() > 0
    # The newer one of the second is the upper one: another text.
    assert not np.allclose(later.told, earlier.told)


def test_words_of_the_query_that_both_hold_are_no_difference(compare: Compare) -> None:
    found = compare("the code", "The code is 4417", "The code is 2093")
    assert found.columns["upper_alone"][0] == found.columns["lower_alone"][0] == 0
    assert not found.alone.any()
