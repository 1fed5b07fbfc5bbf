"""The store against a plain dict: whatever is done, every way of reading it agrees, and nothing crosses scopes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.errors import InvalidMemory
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope
from tests import in_collections
from tests.columns import saying
from tests.quick import examples

SCOPES = (Scope(), Scope(user_id="u1"), Scope(user_id="u1", namespace="n"))
IDS = ("a", "b/c", 'q"uote', "Ünï", "x" * 200)
WORDS = ("kestrel", "osprey", "falcon", "merlin")
NAMES = ("Priya Raman", "Sam Okafor")


class HashEmbedding:
    """Sixteen numbers from the characters of a text."""

    fingerprint, dimensions, remote = "hash:16", 16, False

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.random.default_rng([ord(c) for c in t]).normal(size=16) for t in texts]
        matrix = np.asarray(rows, dtype=np.float32).reshape(len(texts), 16)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


memories = st.builds(
    lambda word, name, n: f"{name} saw a {word} {n}",
    st.sampled_from(WORDS),
    st.sampled_from(NAMES),
    st.integers(0, 3),
)
batches = st.dictionaries(st.sampled_from(IDS), memories, max_size=4)
scopes = st.sampled_from(SCOPES)


class StoreMachine(RuleBasedStateMachine):
    """`exact_max=3` gives some scopes a Chroma collection, which is filled beside what is done here; some have none."""

    def __init__(self) -> None:
        super().__init__()
        fast = Path("/dev/shm")
        self.directory = Path(tempfile.mkdtemp(prefix="recall-test-", dir=fast if fast.is_dir() else None))
        self.oracle: dict[Scope, dict[str, str]] = {scope: {} for scope in SCOPES}
        self.embedding = HashEmbedding()
        self.cache_mb = 16

    @initialize(cache_mb=st.sampled_from([0, 16]))
    def start(self, cache_mb: int) -> None:
        self.cache_mb = cache_mb
        self._open()

    def _open(self) -> None:
        self.store = MemoryStore.open(self.where(), embedding=self.embedding, config=self.config())

    def config(self) -> RecallConfig:
        """What it is opened with."""
        return RecallConfig(retrieval=RetrievalConfig(exact_max=3, cache_mb=self.cache_mb))

    def where(self) -> str | Path:
        """What is opened."""
        return self.directory

    @rule(scope=scopes, memory_id=st.sampled_from(IDS), text=memories)
    def remember(self, scope: Scope, memory_id: str, text: str) -> None:
        assert self.store.remember(Memory(text, id=memory_id), scope=scope) == memory_id
        self.oracle[scope][memory_id] = text

    @rule(scope=scopes, batch=batches, size=st.integers(1, 3))
    def remember_many(self, scope: Scope, batch: dict[str, str], size: int) -> None:
        given = [Memory(text, id=i) for i, text in batch.items()]
        assert self.store.remember_many(given, scope=scope, batch_size=size) == list(batch)
        self.oracle[scope].update(batch)

    @rule(scope=scopes, memory_id=st.sampled_from(IDS))
    def a_batch_with_an_id_twice_changes_nothing(self, scope: Scope, memory_id: str) -> None:
        with pytest.raises(InvalidMemory, match="Item 1"):
            self.store.remember_many([Memory("one", id=memory_id), Memory("two", id=memory_id)], scope=scope)

    @rule(scope=scopes, memory_id=st.sampled_from(IDS))
    def forget(self, scope: Scope, memory_id: str) -> None:
        assert self.store.forget(memory_id, scope=scope) == (memory_id in self.oracle[scope])
        self.oracle[scope].pop(memory_id, None)

    @rule(scope=scopes, name=st.sampled_from(NAMES))
    def add_entity(self, scope: Scope, name: str) -> None:
        entity_id = self.store.add_entity(name, aliases=[name.split(maxsplit=1)[0]], scope=scope)
        assert self.store.add_entity(name, scope=scope) == entity_id

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self._open()
        assert self.store.stats()["notices"] == []

    @rule()
    def reindex(self) -> None:
        self.store.reindex()

    @invariant()
    @precondition(lambda self: hasattr(self, "store"))
    def all_ways_of_reading_agree(self) -> None:
        for scope, expected in self.oracle.items():
            found = {i: m.text for i in IDS if (m := self.store.get(i, scope=scope)) is not None}
            assert found == expected
            assert self.store.count(scope=scope) == len(expected)
            scope_id = self.store.scope_id(scope)
            if scope_id is None:
                assert not expected
                continue
            self._view_agrees(scope_id, expected)
            self._lexical_agrees(scope_id, expected)
        assert self.store.indexes.lag == {"semantic": 0}

    def _view_agrees(self, scope_id: int, expected: dict[str, str]) -> None:
        view = self.store.view(scope_id)
        rows = np.flatnonzero(view.alive)
        ids = [view.ids[row] for row in rows]
        assert sorted(ids) == sorted(expected)
        fetched = self.store.fetch(scope_id, view.nums[rows].tolist())
        assert {m.id: m.text for m in fetched.values()} == expected
        vectors = view.vectors_of(rows)
        assert vectors is not None
        wanted = self.embedding.embed_documents([expected[i] for i in ids])
        np.testing.assert_allclose(vectors, wanted, atol=2e-3)

    def _lexical_agrees(self, scope_id: int, expected: dict[str, str]) -> None:
        view = self.store.view(scope_id)
        assert saying(self.store, scope_id, *WORDS) == sorted(view.nums[view.alive].tolist())
        for word in WORDS:
            said = {view.ids[row] for row in view.rows_of(saying(self.store, scope_id, word))}
            assert said == {i for i, text in expected.items() if word in text}

    def _collections_agree(self) -> None:
        for scope in self.oracle:
            scope_id = self.store.scope_id(scope)
            home = "" if scope_id is None else self.store.indexes.home_of(scope_id)
            if scope_id is not None and home:
                view = self.store.view(scope_id)
                held = in_collections.nums(self.store).get(home, np.empty(0, dtype=np.int64))
                assert held.tolist() == view.nums[view.alive].tolist()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.indexes.settle(60)
            self._collections_agree()
            self.store.close()
        shutil.rmtree(self.directory, ignore_errors=True)


StoreMachine.TestCase.settings = settings(
    max_examples=examples(40),
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
)
test_store_agrees_with_a_dict = StoreMachine.TestCase
