"""What the tests of spellers look at."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recall_integrations.query.spelling import Speller
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope


@pytest.fixture(scope="session")
def speller_of() -> Callable[..., Speller]:
    """The speller of a scope, which there is."""

    def find(store: MemoryStore, scope: Scope = Scope()) -> Speller:
        scope_id = store.scope_id(scope)
        assert scope_id is not None
        found = store.speller(scope_id)
        assert found is not None
        return found

    return find
