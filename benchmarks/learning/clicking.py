"""People who click: what they look at, what they take for an answer, and how often they say nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from recall_integrations.types.judged import Gain, Order

SHOWN = 5  # hits of a recall, as by default


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """How people click. Whoever looks at a hit clicks a relevant one with `1 − noise`, another one with `noise`.

    Args:
        eta: they look at place `p` with a probability of `p^-eta`.
        noise: how often they are wrong.
        silent: share of the recalls of which nothing is said.
        inverted: whether they click what does not answer, and nothing else: to harm.
        blind: whether they click anything, whatever it says.
    """

    eta: float = 1.0
    noise: float = 0.2
    silent: float = 0.3
    inverted: bool = False
    blind: bool = False

    def on(self, order: Order, relevant: Mapping[int, float], draw: random.Random) -> tuple[Gain, ...]:
        """What is clicked of an order; none = nothing was said.

        Args:
            order: memories, best first.
            relevant: number → grade of those that answer.
            draw: chance.
        """
        if draw.random() < self.silent:
            return ()
        said = []
        for place, num in enumerate(order[:SHOWN], start=1):
            if draw.random() >= place**-self.eta:
                continue
            good = (num in relevant) != self.inverted
            if draw.random() < (0.5 if self.blind else 1 - self.noise if good else self.noise):
                said.append(Gain(num=num, gain=1.0, place=place))
        return tuple(said)
