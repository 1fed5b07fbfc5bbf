"""Several stores over one directory, as processes have them: what one did, all find at their next call.

Locks of files keep two objects of a process apart as they keep processes apart, so this tries in one process what
`tests/integration/test_several_processes.py` tries with real ones.
"""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, precondition, rule

from recall_integrations.errors import StoreLocked
from recall_integrations.store.memory_store import MemoryStore
from tests.property.test_store_stateful import NAMES, StoreMachine, scopes
from tests.quick import examples

STORES = 3


class SeveralStores(StoreMachine):
    """Each rule of the machine is done by one of the stores, and then by another."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[MemoryStore] = []
        self.declared: dict[object, set[str]] = {}

    def _open(self) -> None:
        if hasattr(self, "store"):
            place = self.stores.index(self.store)
            super()._open()
            self.stores[place] = self.store
            return
        for _ in range(STORES):
            super()._open()
            self.stores.append(self.store)

    @rule(which=st.integers(0, STORES - 1))
    def another(self, which: int) -> None:
        self.store = self.stores[which]

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self._open()

    @rule()
    def reindex(self) -> None:
        """What needs the store alone is refused, and changes nothing."""
        with pytest.raises(StoreLocked, match="open in"):
            self.store.reindex()
        with pytest.raises(StoreLocked, match="open in"):
            self.store.compact()

    @rule(scope=scopes, name=st.sampled_from(NAMES))
    def declare(self, scope: object, name: str) -> None:
        self.store.add_entity(name, scope=scope)  # type: ignore[arg-type]
        self.declared.setdefault(scope, set()).add(name)

    @invariant()
    @precondition(lambda self: len(self.stores) == STORES)
    def all_of_them_agree(self) -> None:
        current = self.store
        for store in self.stores:
            self.store = store
            super().all_ways_of_reading_agree()
            self._names_agree()
        self.store = current
        assert sum(store._parts.directory.keeps() for store in self.stores) <= 1

    def all_ways_of_reading_agree(self) -> None:
        """Asked of each."""

    def _names_agree(self) -> None:
        for scope, names in self.declared.items():
            scope_id = self.store.scope_id(scope)  # type: ignore[arg-type]
            assert scope_id is not None
            for name in names:
                assert self.store.entities(scope_id).index.lookup(name)

    def teardown(self) -> None:
        for store in self.stores[1:]:
            store.close()
        if self.stores:
            self.store = self.stores[0]
            self.store.close()
            super()._open()
        super().teardown()


SeveralStores.TestCase.settings = settings(
    max_examples=examples(40),
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
)
test_stores_over_one_directory_agree = SeveralStores.TestCase
