"""Days of use: questions are drawn, answered by what serves, clicked on, and learned from, by the product's own job.

What is simulated is the clock, the people and the store; what decides is `learning.learner.Learner`, with its state
machine, its hold-out and its files. The order of a version is its steps added to the sums of the best candidates of the
replay. Of a plan of its own the replay has the order; steps move the hits of it as they move the others. Weights of
arms are left out: the figures of whole recalls (`wholes`) have them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.clicking import Clicks
from benchmarks.learning.recorded import Asked, Halves
from recall_integrations import RecallConfig
from recall_integrations.config.sections import LearnedConfig
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.learner import Learner, Step
from recall_integrations.learning.measuring import ndcg
from recall_integrations.learning.versions import Shelf, Version, served, to_replay
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope
from recall_integrations.types.judged import ORDER_MAX, RULES, Judged, Order

BEGIN = datetime(2026, 1, 5, tzinfo=timezone.utc)
TENANT = Scope(user_id="tenant")
DAY = timedelta(days=1)
Numbers = NDArray[np.float64]


def order_by(asked: Asked, version: Version | None) -> Order:
    """What a question finds by a version, by its replay."""
    replay = asked.replay
    rules = replay.orders[RULES]
    if version is None:
        return rules
    steps = np.asarray([version.steps.get(name, 0.0) for name in replay.names])
    moved = replay.x @ steps if len(replay.nums) else np.zeros(0)
    planned = replay.orders.get(f"plan:{version.plans.get(asked.signature)}")
    nums, sums = np.asarray(replay.nums), replay.offset.astype(np.float64)
    if planned is not None:
        # The sums of another plan are not kept: its order takes the sums of the rules' order, place by place.
        own = dict(zip(replay.nums, moved.tolist(), strict=True))
        nums, moved = np.asarray(planned), np.asarray([own.get(num, 0.0) for num in planned])
        highest = np.sort(sums)[::-1]
        sums = np.interp(np.arange(len(planned)), np.arange(len(highest)), highest) if len(highest) else moved
    if not len(nums):
        return rules
    best = np.argsort(-(sums + moved), kind="stable")[:ORDER_MAX]
    return tuple(nums[best].tolist())


def quality(asked: Sequence[Asked], orders: Sequence[Order]) -> Numbers:
    """nDCG@5 of each question by its labels."""
    return np.asarray([ndcg(order, one.relevant) for one, order in zip(asked, orders, strict=True)])


class Ledger:
    """What the job needs of a store: judged recalls by scope, and a clock.

    Args:
        config: settings.
    """

    def __init__(self, config: RecallConfig) -> None:
        self.config, self.entity_key = config, b"simulated" * 4
        self.now = BEGIN
        self.rows: dict[Scope, list[Judged]] = {}

    @property
    def judgements(self) -> Ledger:
        return self

    def clock(self) -> datetime:
        return self.now

    def prune(self, _settings: LearnedConfig | None = None) -> int:
        return 0

    def counts(self) -> dict[Scope, int]:
        return {scope: len(rows) for scope, rows in self.rows.items() if rows}

    def of(self, scope: Scope, since: int = 0) -> tuple[Judged, ...]:
        return tuple(one for one in self.rows.get(scope, ()) if one.at >= since)

    @contextmanager
    def while_there(self, scope: Scope) -> Iterator[bool]:
        yield bool(self.rows.get(scope))


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who uses a scope.

    Args:
        scope: whose.
        halves: what is asked, and what is measured.
        clicks: how it is judged.
        recalls: a day.
    """

    scope: Scope = TENANT
    halves: Halves
    clicks: Clicks
    recalls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """What came of some days.

    Args:
        ndcg: scope → for each day the nDCG@5 of each measured question, `(days, questions)`.
        steps: of the job, with the day.
        judged: how many recalls were judged.
        last: scope → what served at the end; `None` = rules.
    """

    ndcg: Mapping[Scope, Numbers]
    steps: tuple[tuple[int, Step], ...]
    judged: int
    last: Mapping[Scope, Version | None]


@dataclass(slots=True, kw_only=True)
class Use:
    """Scopes in use.

    Args:
        people: who ask.
        seed: of chance.
        learned: settings of the job.
    """

    people: Sequence[Person]
    seed: int = 0
    learned: LearnedConfig = field(default_factory=LearnedConfig)
    _orders: dict[tuple[str, str, int], Order] = field(default_factory=dict)

    def days(self, count: int) -> Days:
        """Let so many days pass."""
        config = RecallConfig(mode="learned", learned=self.learned)
        with MemoryStore.open() as kept:
            ledger = Ledger(config)
            ticks = itertools.count()
            shelf = Shelf(kept.learned, ledger.entity_key, timer=lambda: float(2 * next(ticks)))
            learner = Learner(cast(MemoryStore, ledger), config, shelf=shelf)
            draw, numbers = random.Random(self.seed), itertools.count()
            got: dict[Scope, list[Numbers]] = {person.scope: [] for person in self.people}
            steps: list[tuple[int, Step]] = []
            for day in range(count):
                for person in self.people:
                    got[person.scope].append(self._measured(person, shelf))
                    self._asked(person, ledger, shelf, draw, numbers)
                ledger.now += DAY
                steps += [(day, step) for step in learner.run() if step.step != "skipped"]
            last = {p.scope: shelf.version(n := shelf.name_of(p.scope), shelf.state(n).serving) for p in self.people}
            return Days(
                ndcg={scope: np.stack(rows) for scope, rows in got.items()},
                steps=tuple(steps),
                judged=sum(ledger.counts().values()),
                last=last,
            )

    def _asked(self, person: Person, ledger: Ledger, shelf: Shelf, draw: random.Random, numbers: Any) -> None:
        """A day of one scope."""
        at = to_micros(ledger.now)
        there = to_replay(shelf, person.scope)
        rows = ledger.rows.setdefault(person.scope, [])
        for n in range(person.recalls):
            asked = draw.choice(person.halves.learning)
            version, label = self._served(person, shelf, asked)
            gains = person.clicks.on(self._order(person, asked, label, version), asked.relevant, draw)
            if not gains:
                continue
            orders = {f"version:{one.label}": self._order(person, asked, one.label, one.version) for one in there}
            rows.append(
                Judged(
                    result_id=f"{self.seed}-{next(numbers):x}",
                    at=at + n,
                    signature=asked.signature,
                    version=label,
                    gains=gains,
                    replay=replace(asked.replay, orders={**asked.replay.orders, **orders}),
                )
            )

    def _measured(self, person: Person, shelf: Shelf) -> Numbers:
        """Every measured question, answered as on this day."""
        orders = []
        for asked in person.halves.measured:
            version, label = self._served(person, shelf, asked)
            orders.append(self._order(person, asked, label, version))
        return quality(person.halves.measured, orders)

    def _served(self, person: Person, shelf: Shelf, asked: Asked) -> tuple[Version | None, str]:
        share = self.learned.traffic_fraction_for_new_weights
        found = served(shelf, person.scope, asked.text, share)
        return found.version, found.label

    def _order(self, person: Person, asked: Asked, label: str, version: Version | None) -> Order:
        if version is None:
            return asked.replay.orders[RULES]
        key = (str(person.scope), label, id(asked))
        if key not in self._orders:
            self._orders[key] = order_by(asked, version)
        return self._orders[key]
