"""Contract suites for what users may plug in, and fakes to test with. pytest collects subclasses:

    class TestMyEmbedding(EmbeddingContract):
        @pytest.fixture
        def embedding(self):
            return resolve_embedding(my_embeddings)

The suites need pytest (`pip install "recall-integrations[test]"`); the fakes do not.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult
from recall_integrations.embeddings.base import Embedding
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems
from recall_integrations.types import ArmPlan, Memory, MemoryType, Relation, RetrievalPlan

__all__ = ["ArmContract", "EmbeddingContract", "HashEmbedding", "SteppingClock"]


class HashEmbedding:
    """A deterministic stand-in: the sum of a pseudo-random vector per stem, so texts are close that share words.

    Args:
        dimensions: length of the vectors.
        name: part of the fingerprint, so that a test can have two that differ.
    """

    remote = False

    def __init__(self, dimensions: int = 16, *, name: str = "hash") -> None:
        self.dimensions = dimensions
        self.fingerprint = f"{name}:{dimensions}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape `(len(texts), dimensions)`; a text without a stem gives zeros."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            for word in stems(text):
                seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
                rows[place] += np.random.default_rng(seed).standard_normal(self.dimensions)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape `(dimensions,)`."""
        row: NDArray[np.float32] = self.embed_documents([text])[0]
        return row


class SteppingClock:
    """A wall clock that advances by `step` at every reading."""

    def __init__(self, start: datetime, step: timedelta = timedelta(seconds=1)) -> None:
        self._now, self._step, self._lock = start, step, threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            now, self._now = self._now, self._now + self._step
            return now


class EmbeddingContract:
    """What the store relies on. A subclass gives a fixture `embedding`."""

    TEXTS = ("The deploy failed", "Tea is ready", "naïve café 東京 🚀", "a " * 3_000, "?")

    def test_documents_have_the_promised_shape(self, embedding: Embedding) -> None:
        found = embedding.embed_documents(list(self.TEXTS))
        assert found.shape == (len(self.TEXTS), embedding.dimensions)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()

    def test_vectors_are_unit_or_zero(self, embedding: Embedding) -> None:
        lengths = np.linalg.norm(embedding.embed_documents(list(self.TEXTS)), axis=1)
        assert all(abs(n - 1) < 1e-3 or n == 0 for n in lengths.tolist())

    def test_no_texts_no_vectors(self, embedding: Embedding) -> None:
        assert embedding.embed_documents([]).shape == (0, embedding.dimensions)

    def test_a_query_is_one_vector(self, embedding: Embedding) -> None:
        found = embedding.embed_query("why did the deploy fail?")
        assert found.shape == (embedding.dimensions,) and found.dtype == np.float32

    def test_the_same_text_gives_the_same_vector(self, embedding: Embedding) -> None:
        first = embedding.embed_documents(["The deploy failed", "Tea is ready"])
        again = embedding.embed_documents(["Tea is ready", "The deploy failed"])
        np.testing.assert_allclose(first, again[::-1], atol=1e-5)

    def test_the_fingerprint_is_stable_text(self, embedding: Embedding) -> None:
        assert isinstance(embedding.fingerprint, str) and embedding.fingerprint
        assert embedding.fingerprint == embedding.fingerprint
        assert isinstance(embedding.remote, bool)

    def test_a_store_can_use_it(self, embedding: Embedding) -> None:
        with MemoryStore.open(embedding=embedding) as store:
            store.remember_many(["The deploy failed", "Tea is ready"])
            assert store.stats()["vectors"] == 2


class ArmContract:
    """What fusion relies on. A subclass gives `arm(store)`, and a query that the arm has something to say about."""

    QUERY = "who does Sam report to since March 2026?"

    def arm(self, store: MemoryStore) -> Arm:
        """The arm under test over `store`."""
        raise NotImplementedError

    @staticmethod
    def memories() -> list[Memory]:
        """Forty memories that every arm finds something in, several of them equal but for the id."""
        march = datetime(2026, 3, 10, tzinfo=timezone.utc)
        return [
            Memory(
                f"Sam reports to Priya, note {i // 4}",
                id=f"m{i:02}",
                type=MemoryType.FACT if i % 2 else MemoryType.EVENT,
                actor="Sam" if i % 3 else "Lena",
                event_at=march + timedelta(days=i // 4),
                created_at=march,
                relations=[Relation("Sam", "reports_to", "Priya")] if i % 5 == 0 else [],
            )
            for i in range(40)
        ]

    def ask(self, store: MemoryStore, *, limit: int = 10, allowed: NDArray[np.bool_] | None = None) -> ArmResult:
        """Ask the arm the query."""
        from recall_integrations.optimizer import QueryOptimizer

        optimizer = QueryOptimizer(store)
        try:
            parsed = optimizer.parse(self.QUERY, now=datetime(2026, 6, 1, tzinfo=timezone.utc))
        finally:
            optimizer.close()
        scope_id = next(store.scope_id(scope) for scope, _ in store.scopes())
        assert scope_id is not None
        view = store.view(scope_id)
        vectors = store.embedding.embed_query(self.QUERY)[None, :]
        arm = self.arm(store)
        request = ArmRequest(
            parsed=parsed,
            plan=RetrievalPlan(name="balanced", arms=(ArmPlan(name=arm.name),), type_hints=(MemoryType.FACT,)),
            view=view,
            vectors=vectors,
            similarities=view.scan(vectors),
            terms=parsed.terms,
            allowed=allowed,
            limit=limit,
            deadline=Deadline.after(60_000),
        )
        return arm.search(request)

    def test_results_are_ranked_distinct_and_within_the_limit(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            found = self.ask(store, limit=7)
            assert 0 < len(found.rows) <= 7
            assert len(set(found.rows.tolist())) == len(found.rows) == len(found.scores)
            assert np.isfinite(found.scores).all()
            assert (np.diff(found.scores) <= 0).all()

    def test_ties_are_broken_by_id_whatever_the_order_of_arrival(self) -> None:
        def ids(memories: list[Memory]) -> list[str]:
            with MemoryStore.open() as store:
                store.remember_many(memories)
                found = self.ask(store, limit=9)
                view = store.view(1)
                return [view.ids[row] for row in found.rows.tolist()]

        assert ids(self.memories()) == ids(self.memories()[::-1])

    def test_nothing_that_is_not_allowed(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            allowed = np.zeros(40, dtype=np.bool_)
            allowed[::3] = True
            found = self.ask(store, limit=40, allowed=allowed)
            assert len(found.rows)
            assert allowed[found.rows].all()

    def test_nothing_that_was_forgotten_or_replaced(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            for i in range(0, 40, 2):
                store.forget(f"m{i:02}")
            store.remember(Memory("Sam reports to Priya, note 9", id="m01", type="fact", actor="Sam"))
            found = self.ask(store, limit=40)
            view = store.view(1)
            assert view.alive[found.rows].all()
            assert all(int(view.ids[row][1:]) % 2 for row in found.rows.tolist())

    def test_an_empty_scope_is_no_error(self) -> None:
        with MemoryStore.open() as store:
            store.remember(Memory("gone", id="x"))
            store.forget("x")
            assert not len(self.ask(store).rows)

    def test_the_same_question_gets_the_same_answer(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            first, again = self.ask(store), self.ask(store)
            assert first.rows.tolist() == again.rows.tolist()
            assert first.scores.tolist() == again.scores.tolist()
