"""Recalls that begin where the arms of an earlier one ended.

A setting of the ranking changes nothing that was looked up. So what a recall knew when its arms were done is kept, and
the stages behind them, those of a real optimizer under other settings, go on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any

from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.config import RecallConfig
from recall_integrations.evaluation.datasets.questions import Question
from recall_integrations.evaluation.labelled.asking import Answered, answered
from recall_integrations.evaluation.tuning.knobs import RANKED
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.recall.runner import Stage, StageEvent, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types.making import changed

BUDGET_MS = 60_000.0  # so far off that a busy machine changes nothing
BEFORE = ("parse", "plan", "embed")
ARMS = "arms"
FRONTS = 3  # configurations of the stages before the ranking whose states are kept


class Remembered:
    """A reranker that is asked for each pair of query and text once; its scores do not depend on other texts."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._kept: dict[tuple[str, str], float | None] = {}
        self.name = reranker.name
        self.local = bool(getattr(reranker, "local", False))

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`."""
        new = [text for text in dict.fromkeys(texts) if (query, text) not in self._kept]
        if new:
            self._kept.update(((query, text), score) for text, score in zip(new, self._scored(query, new), strict=True))
        return [self._kept[query, text] for text in texts]

    def _scored(self, query: str, texts: Sequence[str]) -> list[float | None]:
        return self._reranker.scores(query, texts)


class _Left(Stage):
    """A stage that is not gone through."""

    def __init__(self, name: str) -> None:
        self.name = name

    def applies(self, _state: RecallState) -> bool:
        return False

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        return state


class _Given(Stage):
    """In the place of the arms: what they found before."""

    name = ARMS
    essential = True

    def __init__(self) -> None:
        self.state: RecallState | None = None

    def applies(self, _state: RecallState) -> bool:
        return True

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        assert self.state is not None
        return changed(self.state, request=state.request, door=state.door, level=state.level)


class Replays:
    """Questions, asked under many configurations.

    Args:
        store: where the memories are.
        questions: that are asked.
        k: hits of a recall.
        now: the present of questions that have none.
        reranker: as `QueryOptimizer` takes it.
    """

    def __init__(
        self, store: MemoryStore, questions: Sequence[Question], k: int, now: datetime, reranker: Any = None
    ) -> None:
        self._store, self._questions, self._k, self._now = store, questions, k, now
        found = resolve_reranker(reranker)
        self._reranker = None if found is None else Remembered(found)
        self._fronts: dict[str, list[RecallState]] = {}

    def warm(self) -> None:
        """Load the scopes that are asked."""
        for scope in dict.fromkeys(question.scope for question in self._questions):
            self._store.warm(scope=scope)

    def asked(self, config: RecallConfig) -> list[Answered]:
        """Real recalls, one for each question."""
        with closing(QueryOptimizer(self._store, config=config, reranker=self._reranker)) as optimizer:
            optimizer.warm()
            return [self._answer(optimizer, question) for question in self._questions]

    def replayed(self, config: RecallConfig) -> list[Answered]:
        """The same answers; what was looked up before under the same settings is not looked up again."""
        front = replace(config, **{name: getattr(RecallConfig(), name) for name in RANKED}).fingerprint
        if front not in self._fronts:
            return self._recorded(config, front)
        given = _Given()
        stages = [*map(_Left, BEFORE), given]
        with closing(QueryOptimizer(self._store, config=config, reranker=self._reranker, stages=stages)) as optimizer:
            answers = []
            for question, state in zip(self._questions, self._fronts[front], strict=True):
                given.state = state
                answers.append(self._answer(optimizer, question))
            return answers

    def _recorded(self, config: RecallConfig, front: str) -> list[Answered]:
        states: list[RecallState] = []

        def keep(event: StageEvent) -> None:
            if event.stage == ARMS and event.state is not None:
                states.append(event.state)

        with closing(
            QueryOptimizer(self._store, config=config, reranker=self._reranker, observers=[keep])
        ) as optimizer:
            answers = [self._answer(optimizer, question) for question in self._questions]
        if len(states) == len(self._questions):  # else a recall ended before its arms: it is asked again each time
            while len(self._fronts) >= FRONTS:
                self._fronts.pop(list(self._fronts)[1 if len(self._fronts) > 1 else 0])  # the first is the base
            self._fronts[front] = states
        return answers

    def _answer(self, optimizer: QueryOptimizer, question: Question) -> Answered:
        return answered(optimizer, question, self._k, self._now, BUDGET_MS)
