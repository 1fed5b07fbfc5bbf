"""Questions of a data set with what the real store finds, replayed once each, so that days of use take seconds.

A replay is what the product itself makes of a judged recall (`judging.feedback`): the order by the rules, by every
other plan, without each arm, and the features of the best candidates.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.datasets.data import EvaluationData
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.judging.feedback import Replays
from recall_integrations.learning.versions import Shelf, signature_of
from recall_integrations.types import Scope
from recall_integrations.types.judged import Replay

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and what the store finds.

    Args:
        text: the query.
        scope: where.
        signature: of the query.
        relevant: number of a memory → its grade.
        replay: what is found.
        question: as the data set has it.
    """

    text: str
    scope: Scope
    signature: str
    relevant: Mapping[int, float] = field(hash=False)
    replay: Replay = field(hash=False)
    question: Question = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """A data set in two.

    Args:
        name: of the data set.
        learning: questions that people ask in the simulation.
        measured: those that are only measured.
    """

    name: str
    learning: tuple[Asked, ...]
    measured: tuple[Asked, ...]


@contextmanager
def opened(data: EvaluationData, config: RecallConfig | None = None) -> Iterator[MemoryStore]:
    """A temporary store with a data set."""
    with MemoryStore.open(config=config or RecallConfig()) as store:
        for collection in data.collections:
            store.remember_many(collection.memories, scope=collection.scope)
        yield store


def halved(
    data: EvaluationData, store: MemoryStore, *, questions: int | None = None, seed: int = 0, told: Told | None = None
) -> Halves:
    """Ask every question once, and part them.

    Args:
        data: that `store` holds.
        store: with its memories.
        questions: at most so many, drawn; `None` = all.
        seed: of what is drawn.
        told: called with the name of the data set, how many were asked and how many there are.
    """
    drawn = [q for q in data.questions if q.relevant]
    random.Random(seed).shuffle(drawn)
    found = tuple(_asked(drawn[:questions], data.name, store, told))
    return Halves(name=data.name, learning=found[::2], measured=found[1::2])


def _asked(questions: Sequence[Question], name: str, store: MemoryStore, told: Told | None) -> Iterator[Asked]:
    optimizer = QueryOptimizer(store, config=store.config)
    replays = Replays(optimizer, Shelf(store.learned, store.entity_key))
    try:
        for number, question in enumerate(questions, start=1):
            request = optimizer.checked_request(question.text, scope=question.scope, now=question.asked_at, k=10)
            nums = store.numbers(question.scope, list(question.relevant))
            replay = replays.of(request, question.scope, nums.values())
            if told is not None:
                told(name, number, len(questions))
            if replay is None or not nums:
                continue
            parsed = optimizer.parse(question.text, scope=question.scope, now=question.asked_at)
            yield Asked(
                text=question.text,
                scope=question.scope,
                signature=signature_of(parsed),
                relevant={nums[one]: grade for one, grade in question.graded.items() if one in nums},
                replay=replay,
                question=question,
            )
    finally:
        replays.close()
        optimizer.close()
