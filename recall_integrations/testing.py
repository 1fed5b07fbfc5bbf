"""Contract suites for parts that users may plug in, and fakes to test with. pytest collects subclasses:

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
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult, whole
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.embeddings.base import Embedding
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems
from recall_integrations.types import ArmPlan, Memory, MemoryType, RecallResult, Relation, RetrievalPlan

__all__ = ["ArmContract", "EmbeddingContract", "HashEmbedding", "SteppingClock"]


class HashEmbedding:
    """A deterministic stand-in: the sum of a pseudo-random vector per stem, so texts that share words are close.

    Args:
        dimensions: length of the vectors.
        name: part of the fingerprint, so that a test can have two that differ.
    """

    remote = False

    def __init__(self, dimensions: int = 16, *, name: str = "hash") -> None:
        self.dimensions = dimensions
        self.fingerprint = f"{name}:{dimensions}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape `(len(texts), dimensions)`; a text without a stem gives zeros."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            for word in stems(text):
                seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
                rows[place] += np.random.default_rng(seed).standard_normal(self.dimensions)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape `(dimensions,)`."""
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
    """The contract of embeddings, on which the store relies. A subclass gives a fixture `embedding`."""

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


class _Failing:
    """An arm that raises."""

    def __init__(self, name: str) -> None:
        self.name = name

    def search(self, _request: ArmRequest) -> ArmResult:
        raise RuntimeError("out of order")


class _Late(_Failing):
    """An arm that answers nobody until its event is set."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.over = threading.Event()

    def search(self, request: ArmRequest) -> ArmResult:
        self.over.wait(60)
        return super().search(request)


class _Watched:
    """An arm that keeps the ids it returned."""

    def __init__(self, arm: Arm) -> None:
        self.name, self._arm = arm.name, arm
        self.gave: list[list[str]] = []

    def search(self, request: ArmRequest) -> ArmResult:
        found = self._arm.search(request)
        self.gave.append([request.view.ids[row] for row in found.rows.tolist()])
        return found


class ArmContract:
    """The contract of arms, on which a recall relies, for the arm alone and in a recall.

    A subclass gives `spec`, and a query for which the arm finds something; where the arm needs more than texts, times,
    names and types, also `memories`: forty of them, with the ids `m00` to `m39`.
    """

    spec: ArmSpec
    QUERY = "who does Sam report to since March 2026?"
    NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
    REASON = ""  # words that the reason of a hit of it holds; default: the registration's
    LATE_MS = 500.0  # the time of a recall whose arm is late

    def arm(self, store: MemoryStore) -> Arm:
        """Return the arm under test over `store`."""
        return whole(self.spec.make(store, store.config))

    def memories(self) -> list[Memory]:
        """Return forty memories in which every arm finds something, several of them equal but for the id."""
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
        """Ask the arm the query, and return its result."""
        from recall_integrations.optimizer import QueryOptimizer

        optimizer = QueryOptimizer(store)
        try:
            parsed = optimizer.parse(self.QUERY, now=self.NOW)
            hints = optimizer.plan(parsed).type_hints or (MemoryType.FACT,)
        finally:
            optimizer.close()
        scope_id = next(store.scope_id(scope) for scope, _ in store.scopes())
        assert scope_id is not None
        view = store.view(scope_id)
        vectors = store.embedding.embed_query(self.QUERY)[None, :]
        arm = self.arm(store)
        request = ArmRequest(
            parsed=parsed,
            plan=RetrievalPlan(name="balanced", arms=(ArmPlan(name=arm.name),), type_hints=hints),
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
            gone = {f"m{i:02}" for i in range(0, 40, 8)}
            for memory_id in sorted(gone):
                store.forget(memory_id)
            store.remember(Memory("Sam reports to Priya, note 9", id="m01", type="fact", actor="Sam"))
            found = self.ask(store, limit=40)
            view = store.view(1)
            assert view.alive[found.rows].all()
            assert len(found.rows) and not gone & {view.ids[row] for row in found.rows.tolist()}

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

    # -- in a recall -----------------------------------------------------------------------------------------------

    def recall(self, store: MemoryStore, arm: Arm | None, *, time_budget_ms: float = 60_000.0) -> RecallResult:
        """Recall the query with `arm` in the place of the one under test; `None` = without any."""
        from recall_integrations.optimizer import QueryOptimizer

        made = _Failing(self.spec.name) if arm is None else arm
        spec = replace(self.spec, make=lambda _store, _config: lambda: made)
        if arm is None:
            spec = replace(spec, applies=lambda _parsed, _plan: False)
        with closing(QueryOptimizer(store, arms=[spec])) as optimizer:
            return optimizer.recall(self.QUERY, k=10, now=self.NOW, time_budget_ms=time_budget_ms)

    def test_it_is_asked(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            arm = _Watched(self.arm(store))
            result = self.recall(store, arm)
            assert arm.name == self.spec.name
            assert result.plan.arm(arm.name) is not None
            assert len(arm.gave) == 1 and arm.gave[0]
            assert f"arm.{arm.name}" in result.timings_ms and result.degraded == ()

    def test_what_it_finds_is_ranked_and_says_so(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            arm = _Watched(self.arm(store))
            hits = self.recall(store, arm).hits
            parts = [(str(hit.memory.id), part) for hit in hits for part in hit.contributions]
            told = {i: part for i, part in parts if part.source == self.spec.name}
            assert told
            assert {i: arm.gave[0].index(i) + 1 for i in told} == {i: part.rank for i, part in told.items()}
            assert all(part.score is not None and np.isfinite(part.score) for part in told.values())

    def test_its_hits_are_explained(self) -> None:
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            arm = _Watched(self.arm(store))
            reasons = [hit.reason for hit in self.recall(store, arm).hits if hit.memory.id in arm.gave[0]]
            assert reasons and all(reasons)
            assert any((self.REASON or self.spec.reason) in reason for reason in reasons)

    def test_without_it_the_answer_is_that_of_the_others(self) -> None:
        """Check that an arm that raises or is late is named, and costs only its own finds."""
        with MemoryStore.open() as store:
            store.remember_many(self.memories())
            without = self.recall(store, None)
            assert without.hits and without.degraded == ()
            late = _Late(self.spec.name)
            broken = {
                "error": self.recall(store, _Failing(self.spec.name)),
                "timeout": self.recall(store, late, time_budget_ms=self.LATE_MS),
            }
            late.over.set()
            for reason, result in broken.items():
                assert [(d.stage, d.reason) for d in result.degraded] == [(self.spec.name, reason)]
                assert [(h.memory.id, h.score) for h in result.hits] == [(h.memory.id, h.score) for h in without.hits]
