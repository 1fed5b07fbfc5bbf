"""A small store whose questions and answers are known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import Memory, MemoryStore, Scope

THINGS = "lantern kettle ladder anchor basket candle hammer mirror pillow ribbon saddle ticket".split()
ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")


@pytest.fixture(scope="session")
def shelves() -> Iterator[MemoryStore]:
    """Of each thing, where it lies; for two users."""
    with MemoryStore.open() as store:
        for scope in (ANN, BOB):
            said = [
                Memory(f"The {thing} of {scope.user_id} lies on the upper shelf", id=f"{scope.user_id}-{thing}")
                for thing in THINGS
            ]
            store.remember_many(said, scope=scope)
        yield store


@pytest.fixture
def asked() -> list[dict[str, object]]:
    """A question for each thing, half of each user."""
    return [
        {
            "query": f"where is the {thing}?",
            "relevant": [f"{user}-{thing}"],
            "scope": user,
            "group": "short" if len(thing) < 7 else "long",
        }
        for i, thing in enumerate(THINGS)
        for user in [("ann", "bob")[i % 2]]
    ]
