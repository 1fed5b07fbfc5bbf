"""Who is asked, and what each found: ours, ours without facts, vectors alone, BM25 alone, and both by RRF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.peers.single_arms import DenseOnly, Peer, StemmedBM25
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings.base import Embedding
from recall_integrations.evaluation.questions import Question
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore

OURS, NO_FACTS = "ours", "no facts"
VECTORS, BM25, RRF = "vectors", "BM25", "RRF"
SYSTEMS = (OURS, NO_FACTS, VECTORS, BM25, RRF)
RRF_K = 60  # Cormack, Clarke and Büttcher 2009


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One hit of ours: the memory's id, its score, and why it is there."""

    id: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question, and what came back.

    Args:
        dataset: the set's name.
        question: with its gold ids, best first.
        store: the memories that it was asked of, in the order in which they were stored.
        found: our hits, best first.
        first: system → the id that came first; none where nothing did.
    """

    dataset: str
    question: Question
    store: Collection
    found: tuple[Found, ...]
    first: Mapping[str, str]

    def right(self, system: str) -> bool:
        """Whether what came first answers."""
        return self.first.get(system) in self.question.relevant

    @property
    def best(self) -> float:
        """Our best score; 0 where nothing was found."""
        return self.found[0].score if self.found else 0.0


class Fused:
    """BM25 and vectors, each over the whole store, by reciprocal rank fusion."""

    name = RRF

    def __init__(self, *arms: Peer) -> None:
        self._arms, self._size = arms, 0

    def enter(self, collection: Collection) -> None:
        """The arms are filled already."""
        self._size = len(collection.memories)

    def first(self, question: Question) -> str | None:
        """The id with the highest sum of 1 / (60 + place), ties by id."""
        sums: dict[str, float] = {}
        for arm in self._arms:
            for place, one in enumerate(arm.search(question.text, self._size), start=1):
                sums[one] = sums.get(one, 0.0) + 1 / (RRF_K + place)
        return min(sums, key=lambda one: (-sums[one], one), default=None)


def ask(
    data: EvaluationData,
    config: RecallConfig,
    *,
    k: int,
    embedding: Embedding | None = None,
    peers: bool = True,
    asked: Callable[[Question], bool] = lambda _: True,
    told: Callable[[int], None] = lambda _: None,
) -> list[Answered]:
    """Ask every question of a set, each of its own store, through one temporary `MemoryStore`.

    Args:
        data: the set.
        config: ours. Ours without facts is asked, too, where it reads them.
        k: hits that ours is asked for.
        embedding: of every system; `None` = the bundled one.
        peers: whether the others are asked, too.
        asked: which questions.
        told: hears of each question that has been asked.
    """
    answers: list[Answered] = []
    with ExitStack() as stack:
        store = stack.enter_context(MemoryStore.open(config=config, embedding=embedding))
        ours = RecallSystem(QueryOptimizer(store, config=config), time_budget_ms=TIME_BUDGET_MS)
        stack.callback(ours.close)
        plain: RecallSystem | None = None
        if peers and config.facts.read:
            without = replace(config, facts=replace(config.facts, read=False))
            plain = RecallSystem(QueryOptimizer(store, config=without), fills=False, time_budget_ms=TIME_BUDGET_MS)
            stack.callback(plain.close)
        vectors, words = DenseOnly(store.embedding), StemmedBM25()
        both = Fused(vectors, words)
        for collection in data.collections:
            ours.enter(collection)
            if peers:
                vectors.build(collection.memories)
                words.build(collection.memories)
                both.enter(collection)
            for question in filter(asked, collection.questions):
                hits = ours.recall(question, k).hits
                found = tuple(Found(id=h.memory.id or "", score=h.score, reason=h.reason) for h in hits)
                first = {OURS: found[0].id if found else None}
                if plain is not None:
                    first[NO_FACTS] = next(iter(plain.answer(question, k).ids), None)
                if peers:
                    first[VECTORS] = next(iter(vectors.search(question.text, 1)), None)
                    first[BM25] = next(iter(words.search(question.text, 1)), None)
                    first[RRF] = both.first(question)
                answers.append(
                    Answered(
                        dataset=data.name,
                        question=question,
                        store=collection,
                        found=found,
                        first={name: one for name, one in first.items() if one is not None},
                    )
                )
                told(1)
    return answers
